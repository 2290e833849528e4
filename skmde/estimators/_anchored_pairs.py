"""The pairs of an anchored embedding: neighbours, a graph of weights, or distances.

Each class answers two questions for :class:`AnchoredMDE`: which pairs the fitted samples form, and
where unseen samples go. A source of attraction (`NeighborPairs`, `WeightedPairs`) gives a graph of
weights, and for unseen rows tables of fitted items and weights. `DistancePairs` gives original
distances.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde.estimators._known_rows import KnownRows
from skmde.estimators._original_distances import (
    GraphDistances,
    MatrixDistances,
    NeighborPaths,
    RowDistances,
    weighted_pairs,
)
from skmde.estimators._preserve_neighbors import default_n_neighbors
from skmde.estimators._transform_distances import place_by_distances
from skmde.preprocessing._adjacency import as_adjacency
from skmde.preprocessing._selection import drop_far
from skmde.preprocessing.graphs import connected_components
from skmde.preprocessing.neighbors import nearest_neighbors
from skmde.preprocessing.precomputed import precomputed_queries
from skmde.preprocessing.sampling import all_edges
from skmde.preprocessing.weights import neighbor_graph

_ROUNDING = 1e-6  # relative error of a precomputed distance of 0
_MAX_PAIRS = 10_000_000
_MAX_ANCHORS = 1000  # fitted samples that place an unseen one by distances


class NeighborPairs:
    """Nearest neighbours: weight 2 where each is a neighbour of the other, else 1.

    Parameters
    ----------
    X : ndarray, sparse matrix, or pair of arrays
        Checked input, as :class:`PreserveNeighbors` takes it.
    n_neighbors : int or None
    max_distance : float or None
    metric : str or callable
    **search : dict
        Further arguments of :func:`~skmde.preprocessing.neighbors.nearest_neighbors`.
    """

    def __init__(self, X, n_neighbors, max_distance, *, metric, **search):
        precomputed = isinstance(metric, str) and metric == "precomputed"
        as_stored = precomputed and (isinstance(X, tuple) or sp.issparse(X))
        if n_neighbors is None and max_distance is None and not as_stored:
            n_neighbors = default_n_neighbors(X.shape[0])
        indices, distances, self._index = nearest_neighbors(
            X, n_neighbors, metric=metric, max_distance=max_distance, **search
        )
        self.graph = neighbor_graph(indices, distances)
        self._max_distance = max_distance
        self._known = None if precomputed else KnownRows(X)
        # An unseen sample at most this far away would be a neighbour of the fitted one.
        self._reach = np.where(indices >= 0, distances, 0.0).max(axis=1, initial=0.0)
        if n_neighbors is None:
            n_neighbors = max(1, int(np.ceil(np.mean(np.count_nonzero(indices >= 0, axis=1)))))
        self._n_neighbors = min(n_neighbors, len(indices) - 1)

    def settle(self, rng):
        """Keep only what unseen rows need."""
        self.graph = None

    def of_unseen(self, X):
        """Neighbours of unseen rows, their weights, and the fitted row that each equals, or -1."""
        if self._known is None:
            indices, distances = precomputed_queries(
                X, self._n_neighbors, n_train=len(self._reach), max_distance=self._max_distance
            )
            tolerance, twin = _ROUNDING, np.full(len(indices), -1)
        else:
            indices, distances = self._index.kneighbors(X, self._n_neighbors)
            if self._max_distance is not None:
                indices, distances = drop_far(indices, distances, self._max_distance)
            tolerance, twin = 0.0, self._known.find(X)
        nearest = indices[:, 0]
        same = distances[:, 0] <= tolerance * self._reach[nearest]
        twin = np.where(twin >= 0, twin, np.where(same, nearest, -1))
        mutual = distances <= self._reach[indices]
        return indices, np.where(indices >= 0, 1.0 + mutual, 0.0), twin


class WeightedPairs:
    """A graph whose entries are weights.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n)
        Weights, at least 0; what a sparse one stores are the pairs, zeros included.
    """

    def __init__(self, X):
        _check_weights(X.data if sp.issparse(X) else X)
        self.graph, _ = as_adjacency(X, quantity="weight")
        self._known = KnownRows(X)

    def settle(self, rng):
        """Keep only what unseen rows need."""
        self.graph = None

    def of_unseen(self, X):
        """Items joined to unseen rows, their weights, and the fitted row that each equals."""
        n = len(self._known.rows)
        rows = sp.csr_array(X)
        if rows.shape[1] != n:
            raise ValueError(
                f"The weights of unseen samples must have one column for each of the {n} fitted "
                f"ones; got shape {rows.shape}."
            )
        _check_weights(rows.data)
        counts = np.diff(rows.indptr)
        q, k = rows.shape[0], max(1, int(counts.max(initial=0)))
        column = np.arange(len(rows.data)) - np.repeat(rows.indptr[:-1], counts)
        at = np.repeat(np.arange(q), counts), column
        indices, weights = np.full((q, k), -1), np.zeros((q, k))
        indices[at], weights[at] = rows.indices, rows.data
        return indices, weights, np.where(counts > 0, self._known.find(X), -1)


class DistancePairs:
    """Original distances, as :class:`PreserveDistances` takes them.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Checked input.
    n_neighbors : int or None
        Replaces distances by those along shortest paths in the graph of nearest neighbours.
    max_distance : float or None
        Pairs farther apart are left out.
    metric : str or callable
    rng : numpy.random.Generator

    Attributes
    ----------
    originals : object of :mod:`skmde.estimators._original_distances`
    edges, distances : ndarrays of shape (p, 2) and (p,)
    labels : ndarray of shape (n,)
        Which samples are joined by a chain of pairs.
    """

    def __init__(
        self,
        X,
        n_neighbors,
        max_distance,
        *,
        metric,
        metric_params,
        algorithm,
        rng,
        n_jobs,
        device,
        verbose,
    ):
        paths = {"n_jobs": n_jobs, "verbose": verbose}
        named = metric if isinstance(metric, str) else None
        if named == "graph":
            self.originals = GraphDistances(X, max_distance, **paths)
        elif n_neighbors is not None:
            self.originals = NeighborPaths(
                X,
                n_neighbors,
                max_distance,
                metric=metric,
                metric_params=metric_params,
                algorithm=algorithm,
                random_state=rng,
                device=device,
                **paths,
            )
        elif named == "precomputed":
            self.originals = MatrixDistances(X)
        else:
            self.originals = RowDistances(X, metric, metric_params, n_jobs)
        pairs, _ = weighted_pairs(self.originals, None, _MAX_PAIRS, rng)
        n = self.originals.n_items
        self.distances = pairs.distances.astype(np.float64)
        self.edges = all_edges(n) if pairs.edges is None else pairs.edges
        self._max_distance = np.inf if max_distance is None else max_distance
        near = self.distances <= self._max_distance
        self.edges, self.distances = self.edges[near], self.distances[near]
        ones = np.ones(len(self.edges), np.int8)
        _, self.labels = connected_components(sp.csr_array((ones, self.edges.T), shape=(n, n)))

    def settle(self, rng):
        """Choose the samples that place unseen ones, and keep only what that needs."""
        self._anchors = self.originals.choose_anchors(_MAX_ANCHORS, rng)
        self.edges = self.distances = self.labels = None

    def place(self, X, embedding, loss, n_threads):
        """Places of unseen samples, float64."""
        D, twin = self.originals.of_unseen(X)
        D[self._max_distance < D] = np.inf
        same = twin >= 0
        places = np.empty((len(D), embedding.shape[1]))
        places[same] = embedding[twin[same]]
        if not same.all():
            anchors = embedding[self._anchors]
            places[~same] = place_by_distances(anchors, D[~same], loss, n_threads=n_threads)
        return places


def _check_weights(weights):
    for wrong, what in ((np.isnan(weights), "NaN"), (np.isinf(weights), "infinity")):
        if wrong.any():
            raise ValueError(
                f"X contains {what}, but holds weights. Set the weights of pairs that do not "
                "exist to 0, or leave them out of a sparse matrix."
            )
    if (weights < 0).any():
        raise ValueError(
            f"Negative values in data: weights must be at least 0; got {weights.min()}."
        )
