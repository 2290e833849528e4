"""Neighbours by path length in a graph, as pairs that attract each other (monograph, 4.3.3)."""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp

from skmde._utils.rows import as_csr
from skmde.estimators.neighborhoods.weights import NeighborWeights
from skmde.estimators.pairs.matrix_distances import nonzero_counts
from skmde.estimators.samples.support import support_of_rows
from skmde.preprocessing.dimension import intrinsic_dimension
from skmde.preprocessing.graphs.adjacency import as_adjacency, with_further_rows
from skmde.preprocessing.graphs.near_nodes import NearNodes
from skmde.preprocessing.graphs.path_lengths import path_lengths
from skmde.preprocessing.neighbors.known_rows import KnownRows, row_codes
from skmde.preprocessing.neighbors.precomputed import distances_to_training
from skmde.preprocessing.neighbors.selection import (
    checked_limits,
    clamp_neighbors,
    nearest_stored,
)

_FOR_DIMENSION = 15  # neighbours that the intrinsic dimension is estimated from
_MOST_EDGES = 256  # of an unseen node; tables of all edges of a hub would be too large
_LANDMARKS = 32  # nodes by whose path lengths the distances of pairs are estimated


class PathPairs:
    """The nodes nearest to each node of a graph by path length, a `PairSource`.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n)
        Lengths of edges.
    n_neighbors : int or None
        None means all nodes within `max_distance`; without that, those that an edge leads to,
        unless the graph joins all pairs of nodes.
    max_distance : float, array-like of shape (n,), or None
        Limit of the length of a path.
    default : callable
        The number of neighbours for a number of nodes, for a graph that joins all pairs.
    weights : NeighborWeights, default=None
        Weights of pairs; None means 2 for mutual neighbours and 1 for others.
    random_state : int
        Seeds the choice among nodes at the same distance.
    n_jobs : int or None

    Attributes
    ----------
    n_neighbors : int
        As given, and less than the number of nodes; or the mean number of neighbours of a node.
    """

    def __init__(
        self, X, n_neighbors, max_distance, *, default, weights=None, random_state, n_jobs
    ):
        self._weights = NeighborWeights() if weights is None else weights
        if n_neighbors is None and max_distance is None and joins_all_pairs(X):
            n_neighbors = default(X.shape[0])
        self._asked, self._random_state, self._n_jobs = n_neighbors, random_state, n_jobs
        self._use(X, checked_limits(max_distance, X.shape[0]))
        # rows as they were given, which may store an edge in one direction only, and in full
        self._known = [KnownRows(X), KnownRows(self._search.adjacency)]
        given = n_neighbors
        if given is None:
            given = max(1, int(np.ceil(self._near.nnz / self.n_items)))
        self.n_neighbors = min(given, max(self.n_items - 1, 1))

    def _use(self, X, limits):
        adjacency, _ = as_adjacency(X)
        n = self.n_items = adjacency.shape[0]
        self._search, self._limits = NearNodes(adjacency, self._random_state), limits
        if self._takes_edges():
            self._near = adjacency
        else:
            k = None if self._asked is None else clamp_neighbors(self._asked, n)
            self._near = self._search.of_nodes(k, limits, self._n_jobs)
        counts = np.diff(self._near.indptr)
        self._reach = np.zeros(n)
        np.maximum.at(self._reach, np.repeat(np.arange(n), counts), self._near.data)
        self._graph = self._weights.graph(self._near)

    def _takes_edges(self):
        return self._asked is None and self._limits is None

    def pairs(self):
        return self._graph

    def lengths(self):
        """Symmetric graph of the distances of neighbours, in the largest as the unit; above 0."""
        near = self._near.copy()
        near.data = np.maximum(near.data / (near.data.max(initial=0.0) or 1.0), 1e-9)
        return sp.csr_array(near.maximum(near.T))

    def dimension(self):
        """Intrinsic dimension of the nodes, NaN if there are too few distances."""
        rows = np.repeat(np.arange(self.n_items), np.diff(self._near.indptr))
        table = nearest_stored(
            rows, self._near.indices, self._near.data, self.n_items, _FOR_DIMENSION
        )
        return intrinsic_dimension(table[1])

    def estimated_lengths(self, edges):
        """Lower bounds of the path lengths of pairs, from the paths to some nodes.

        They are exact if the graph has few nodes. Infinity for nodes in different components.
        """
        nodes = np.unique(np.linspace(0, self.n_items - 1, _LANDMARKS).astype(int))
        bound = np.zeros(len(edges))
        for lengths in path_lengths(self._search.adjacency, nodes, self._n_jobs):
            one, other = lengths[edges[:, 0]], lengths[edges[:, 1]]
            both = np.isfinite(one) & np.isfinite(other)
            gap = np.abs(np.where(both, one, 0.0) - np.where(both, other, 0.0))
            gap[np.isfinite(one) != np.isfinite(other)] = np.inf
            np.maximum(bound, gap, out=bound)
        return bound

    def extended(self, X):
        """The source of the nodes of the graph and further ones, which change paths as well."""
        other = copy.copy(self)
        rows, limits = as_csr(X), self._limits
        if np.ndim(limits):
            near = self._limits_of(self._checked(rows[:, : self.n_items]))
            limits = np.append(limits, near)
        other._use(with_further_rows(self._search.adjacency, rows), limits)
        other._known = [known.with_further(X) for known in self._known]
        return other

    def drop_training_state(self):
        self._graph = None

    def of_unseen(self, X):
        indices, distances = self._nearest(X, self._asked)
        at_zero = np.where(distances[:, 0] == 0, indices[:, 0], -1)
        given, full = (known.find(X) for known in self._known)
        # A node without edges and one at distance 0 of another both have no number in their rows.
        told = (indices[:, 0] >= 0) & (nonzero_counts(as_csr(X)) > 0)
        known = np.where(told, np.where(given >= 0, given, full), -1)
        twin = np.where(known >= 0, known, at_zero)
        others = np.where(twin[:, None] >= 0, np.inf, distances)  # a twin needs no pairs
        return indices, self._weights_of(indices, others), twin

    def of_others(self, X, own):
        """As `of_unseen`, for nodes of the graph, as if they were not in it."""
        indices, distances = self._nearest(X, self._asked, own)
        return indices, self._weights_of(indices, distances)

    def nearest(self, X, k):
        """Indices of the k nodes nearest to each unseen one, -1 where there are fewer."""
        rows = self._checked(X)
        near = self._search.of_rows(rows, min(k, self.n_items), owners=row_codes(rows))
        return _as_tables(near)[0]

    def support(self, X):
        """Mean reach of each unseen row's neighbours, divided by the row's own reach; at most 1."""
        indices, distances = self._nearest(X, self._asked)
        return support_of_rows(indices, distances, self._reach[indices])

    def support_of_fitted(self):
        """The support that each node would have, were it an unseen one.

        Without a node, its neighbours reach as far as their next one; see `NeighborPairs`.
        """
        near, n = self._near, self.n_items
        counts = np.diff(near.indptr)
        rows = np.repeat(np.arange(n), counts)
        reach, dimension = self._reach[near.indices], self.dimension()
        if np.isfinite(dimension) and dimension > 0:
            k = self.n_neighbors
            reach = np.where(near.data <= reach, reach * ((k + 1) / k) ** (1 / dimension), reach)
        mean = np.bincount(rows, reach, minlength=n) / np.maximum(counts, 1)
        ratio = np.divide(mean, self._reach, out=np.ones(n), where=self._reach > mean)
        return np.where(counts > 0, ratio, 0.0)

    def _nearest(self, X, k, own=None):
        """Neighbours of further nodes, and the lengths of the paths to them."""
        rows = self._checked(X)
        if own is not None:
            rows = _without_columns(rows, own)
        if self._takes_edges():
            return _as_tables(rows, min(_MOST_EDGES, self.n_items))
        owners = row_codes(rows) if own is None else own.astype(np.uint64)
        k = None if k is None else min(k, self.n_items)
        has_own = own is not None and np.ndim(self._limits) > 0
        limits = self._limits[own] if has_own else self._limits_of(rows)
        found = self._search.of_rows(
            rows, k, limits, skipped=own, owners=owners, n_jobs=self._n_jobs
        )
        return _as_tables(found)

    def _limits_of(self, rows):
        """The limits of further nodes: that of the node at the end of the shortest edge."""
        if np.ndim(self._limits) == 0:
            return self._limits
        nearest = _as_tables(rows)[0][:, 0]
        return np.where(nearest >= 0, self._limits[nearest], 0.0)

    def _weights_of(self, indices, distances):
        if self._asked is not None:
            mutual = distances <= self._reach[indices]
        elif np.ndim(self._limits):
            mutual = distances <= self._limits[indices]
        else:
            mutual = indices >= 0
        return self._weights.of_pairs(distances, mutual)

    def _checked(self, X):
        """The edges of further nodes; in a dense matrix, 0 means that there is none."""
        rows = sp.csr_array(as_csr(distances_to_training(X, self.n_items)), dtype=np.float64)
        if np.isfinite(rows.data).all():
            return rows
        rows = rows.tocoo()
        kept = np.isfinite(rows.data)
        entries = rows.data[kept], (rows.row[kept], rows.col[kept])
        return sp.csr_array(entries, shape=rows.shape)


def joins_all_pairs(X):
    """Whether a graph has an edge between any two nodes, and so says nothing of neighbours."""
    adjacency, _ = as_adjacency(X)
    return adjacency.nnz == X.shape[0] * (X.shape[0] - 1)


def _without_columns(rows, columns):
    """The rows without one entry of each."""
    rows = rows.tocoo()
    kept = rows.col != columns[rows.row]
    entries = rows.data[kept], (rows.row[kept], rows.col[kept])
    return sp.csr_array(entries, shape=rows.shape)


def _as_tables(near, most=None):
    """Tables of the entries of each row, or of the `most` smallest ones."""
    counts = np.diff(near.indptr)
    rows = np.repeat(np.arange(near.shape[0]), counts)
    k = max(1, int(counts.max(initial=0)))
    k = k if most is None else min(k, most)
    return nearest_stored(rows, near.indices, near.data, near.shape[0], k)
