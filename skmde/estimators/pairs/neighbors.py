"""Neighbours as pairs that attract each other: of the fitted rows, and of unseen ones."""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp

from skmde.preprocessing.graphs.weights import neighbor_graph
from skmde.preprocessing.neighbors.precomputed import precomputed_queries
from skmde.preprocessing.neighbors.selection import drop_far
from skmde.preprocessing.neighbors.tables import NeighborTables

_ROUNDING = 1e-6  # relative error of a precomputed distance of 0


def default_n_neighbors(n_samples):
    """PyMDE's rule: 1% of all pairs, but 5 to 15 neighbours each, and no more than there are."""
    return max(1, min(max(min(15, int(0.01 * (n_samples - 1) / 2)), 5), n_samples - 1))


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
        Further arguments of :func:`~skmde.preprocessing.nearest_neighbors`.
    """

    def __init__(self, X, n_neighbors, max_distance, *, metric, **search):
        given = n_neighbors
        precomputed = isinstance(metric, str) and metric == "precomputed"
        as_stored = precomputed and (isinstance(X, tuple) or sp.issparse(X))
        if n_neighbors is None and max_distance is None and not as_stored:
            n_neighbors = default_n_neighbors(X.shape[0])
        self._max_distance = max_distance
        self._use(
            NeighborTables(X, n_neighbors, metric=metric, max_distance=max_distance, **search)
        )
        if given is None:
            given = max(1, int(np.ceil(np.mean(np.count_nonzero(self._there, axis=1)))))
        n = self.graph.shape[0]
        self._n_neighbors = min(given, max(n - 1, 1))

    def _use(self, tables):
        self._tables = tables
        self.graph = neighbor_graph(tables.indices, tables.distances)
        # An unseen sample at most this far away would be a neighbour of the fitted one.
        self._reach = np.where(self._there, tables.distances, 0.0).max(axis=1, initial=0.0)

    @property
    def _there(self):
        return self._tables.indices >= 0

    def drop_training_state(self):
        """Keep only what further rows need."""
        self.graph = None

    def extended(self, X):
        """The pairs of the fitted items and further ones; see `NeighborTables.extended`."""
        other = copy.copy(self)
        other._use(self._tables.extended(X))
        return other

    def _search(self, X):
        """Neighbours of unseen rows, and their distances."""
        tables, k, most = self._tables, self._n_neighbors, self._max_distance
        if tables.index is None:
            return precomputed_queries(X, k, n_train=len(self._reach), max_distance=most)
        indices, distances = tables.index.kneighbors(X, k)
        return (indices, distances) if most is None else drop_far(indices, distances, most)

    def support(self, X):
        """Mean reach of each unseen row's neighbours, divided by its own; at most 1."""
        indices, distances = self._search(X)
        there = indices >= 0
        counts = there.sum(axis=1)
        reach = np.where(there, self._reach[indices], 0.0).sum(axis=1) / np.maximum(counts, 1)
        own = np.where(there, distances, 0.0).max(axis=1)
        ratio = np.divide(reach, own, out=np.ones(len(own)), where=own > reach)
        return np.where(counts > 0, ratio, 0.0)

    def of_unseen(self, X):
        """Neighbours of unseen rows, their weights, and the fitted row that each equals, or -1."""
        indices, distances = self._search(X)
        if self._tables.index is None:
            # These often come from matrix products, which leave a sample at a distance of rounding
            # from itself: compare with how far the fitted sample's neighbours are.
            tolerance, twin = _ROUNDING, np.full(len(indices), -1)
        else:
            tolerance, twin = 0.0, self._tables.known.find(X)
        nearest = indices[:, 0]
        same = distances[:, 0] <= tolerance * self._reach[nearest]
        twin = np.where(twin >= 0, twin, np.where(same, nearest, -1))
        mutual = distances <= self._reach[indices]
        return indices, np.where(indices >= 0, 1.0 + mutual, 0.0), twin
