"""Original distances along shortest paths, in a given graph or in one of nearest neighbours."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde.estimators.pairs.base import (
    Pairs,
    in_kept_dtype,
    kept_dtype,
    of_positive_weight,
    sample_items,
)
from skmde.estimators.pairs.matrix_distances import MatrixDistances, reach_of_entries
from skmde.estimators.samples.support import LandmarkTables
from skmde.preprocessing.graphs.adjacency import as_adjacency, with_further_rows
from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.graphs.path_lengths import path_lengths
from skmde.preprocessing.graphs.shortest_paths import shortest_paths
from skmde.preprocessing.neighbors.known_rows import KnownRows
from skmde.preprocessing.neighbors.precomputed import distances_to_training
from skmde.preprocessing.pairs.sampling import edges_from

_BLOCK_ENTRIES = 1 << 20
_MAX_LENGTHS = 1 << 24  # path lengths kept for placing unseen items
_ALL_PATHS = 50_000_000


class GraphDistances(MatrixDistances):
    """Lengths of shortest paths in a graph, a `DistanceSource`.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Lengths of edges.
    max_path_length : float or None
        Pairs farther apart are left out.
    n_jobs : int or None
    verbose : int
    """

    def __init__(self, graph, max_path_length, n_jobs, verbose):
        self._matrix, _ = as_adjacency(graph)
        self._graph = self._matrix
        self._known = KnownRows(graph)
        self._reach = reach_of_entries(self._matrix)
        self.n_items = self._matrix.shape[0]
        self._max_path_length = max_path_length
        self._n_jobs = n_jobs
        self._verbose = verbose

    def pairs(self, max_pairs, rng, weights=None):
        if weights is not None:
            # Whether a pair has a path is known only after the search, so sample pairs after it.
            few = self.n_items * (self.n_items - 1) // 2 <= _ALL_PATHS
            found = self.pairs(np.inf if few else max_pairs, rng)
            return of_positive_weight(found, weights, max_pairs, rng)
        found = shortest_paths(
            self._matrix,
            max_length=self._max_path_length,
            max_pairs=max_pairs,
            random_state=rng,
            n_jobs=self._n_jobs,
            verbose=self._verbose,
            dtype=kept_dtype(min(max_pairs, self.n_items * (self.n_items - 1) // 2)),
        )
        n_parts, labels = connected_components(self._matrix)
        return Pairs(
            found.edges, found.distances, labels if n_parts > 1 else None, found.n_unreachable
        )

    def pairs_from(self, first, max_pairs, rng):
        edges = edges_from(first, self.n_items, max_pairs, rng)
        sources, starts = np.unique(edges[:, 1], return_index=True)  # they are sorted
        starts = np.append(starts, len(edges))
        found = np.empty(len(edges))
        size = max(1, _BLOCK_ENTRIES // self.n_items)
        for k in range(0, len(sources), size):
            some = sources[k : k + size]
            own = slice(starts[k], starts[k + len(some)])
            table = path_lengths(self._matrix, some, self._n_jobs)
            found[own] = table[np.searchsorted(some, edges[own, 1]), edges[own, 0]]
        limit = np.inf if self._max_path_length is None else self._max_path_length
        joined = np.isfinite(found)
        near = joined & (found <= limit)
        return Pairs(
            edges[near],
            in_kept_dtype(found[near]),
            n_unreachable=len(found) - int(np.count_nonzero(joined)),
        )

    def extended(self, X):
        graph = with_further_rows(self._graph, X)
        return GraphDistances(graph, self._max_path_length, self._n_jobs, self._verbose)

    def from_items(self, items):
        """Path lengths from some items to all items."""
        return path_lengths(self._matrix, items)

    def choose_landmarks(self, most, rng, among=None):
        most = min(most, max(50, _MAX_LENGTHS // self.n_items))
        self._landmarks = sample_items(self.n_items, most, rng, among)
        self._lengths = path_lengths(self._matrix, self._landmarks)
        return self._landmarks

    def landmark_tables(self):
        return LandmarkTables.of(self._lengths[:, self._landmarks])

    def of_unseen(self, X):
        """Path lengths to the landmarks, and the training item that each row equals, or -1.

        If a row lacks the distance to a landmark, its paths start with the edges that the row
        gives, as for a further node of the graph.
        """
        X = distances_to_training(X, self.n_items)
        D, twin = self._as_given(X)
        for r in np.flatnonzero(np.isinf(D).any(axis=1)):
            items, lengths = _finite_entries(X, r)
            if len(items):
                D[r] = (self._lengths[:, items] + lengths).min(axis=1)
        return D, twin


class NeighborPaths(GraphDistances):
    """Lengths of shortest paths in the graph of nearest neighbours, as in Isomap.

    Parameters
    ----------
    tables : NeighborTables
    max_path_length : float or None
        Pairs farther apart are left out.
    n_jobs : int or None
    verbose : int
    """

    def __init__(self, tables, max_path_length, n_jobs, verbose):
        self._tables = tables
        n, k = tables.indices.shape
        there = tables.indices >= 0
        rows = np.repeat(np.arange(n), k)[there.ravel()]
        entries = tables.distances[there], (rows, tables.indices[there])
        graph = sp.csr_array(entries, shape=(n, n))
        super().__init__(graph, max_path_length, n_jobs, verbose)
        self._graph = self._known = self._reach = None  # the tables replace them

    def extended(self, X):
        tables = self._tables.extended(X)
        return NeighborPaths(tables, self._max_path_length, self._n_jobs, self._verbose)

    def of_unseen(self, X):
        """Path lengths over each row's neighbours, and the training row that it equals, or -1."""
        indices, distances, twin = self._tables.of_unseen(X)
        D = np.full((len(indices), len(self._lengths)), np.inf)
        for column in range(indices.shape[1]):
            over = self._lengths[:, indices[:, column]].T + distances[:, column, None]
            np.minimum(D, np.where(indices[:, column, None] >= 0, over, np.inf), out=D)
        return D, twin


def _finite_entries(X, row):
    """Columns and values of a row's finite entries."""
    if sp.issparse(X):
        stored = slice(X.indptr[row], X.indptr[row + 1])
        columns, values = X.indices[stored], X.data[stored]
    else:
        columns, values = np.arange(X.shape[1]), X[row]
    there = np.isfinite(values)
    return columns[there], values[there].astype(np.float64)
