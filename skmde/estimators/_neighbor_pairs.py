"""Neighbours as pairs that attract each other: of the fitted rows, and of unseen ones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde.estimators._known_rows import KeptRows
from skmde.preprocessing._selection import drop_far
from skmde.preprocessing.neighbors import nearest_neighbors
from skmde.preprocessing.precomputed import joined_neighbors, precomputed_queries
from skmde.preprocessing.weights import neighbor_graph

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
        Further arguments of :func:`~skmde.preprocessing.neighbors.nearest_neighbors`.
    """

    def __init__(self, X, n_neighbors, max_distance, *, metric, **search):
        given = n_neighbors
        precomputed = isinstance(metric, str) and metric == "precomputed"
        as_stored = precomputed and (isinstance(X, tuple) or sp.issparse(X))
        if n_neighbors is None and max_distance is None and not as_stored:
            n_neighbors = default_n_neighbors(X.shape[0])
        indices, distances, self._index = nearest_neighbors(
            X, n_neighbors, metric=metric, max_distance=max_distance, **search
        )
        self.graph = neighbor_graph(indices, distances)
        self._max_distance = max_distance
        # What further items need to join these: the rows, or else their neighbours.
        self._known = None if precomputed else KeptRows(X)
        self._tables = (indices, distances) if precomputed else None
        self._search = {"metric": metric, **search}
        self._asked = n_neighbors
        # An unseen sample at most this far away would be a neighbour of the fitted one.
        self._reach = np.where(indices >= 0, distances, 0.0).max(axis=1, initial=0.0)
        if given is None:
            given = max(1, int(np.ceil(np.mean(np.count_nonzero(indices >= 0, axis=1)))))
        self._n_neighbors = min(given, max(len(indices) - 1, 1))

    def settle(self):
        """Keep only what further rows need."""
        self.graph = None

    def extended(self, X):
        """The pairs of the fitted items and further ones.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (q, d), or (q, n + q) for precomputed distances, or
            pair of arrays of shape (q, k)
        """
        if self._known is not None:
            X = self._known.joined(X)
        else:
            X = joined_neighbors(*self._tables, X, self._asked)
        return NeighborPairs(X, self._asked, self._max_distance, **self._search)

    def of_unseen(self, X):
        """Neighbours of unseen rows, their weights, and the fitted row that each equals, or -1."""
        if self._known is None:
            indices, distances = precomputed_queries(
                X, self._n_neighbors, n_train=len(self._reach), max_distance=self._max_distance
            )
            # These often come from matrix products, which leave a sample at a distance of rounding
            # from itself: compare with how far the fitted sample's neighbours are.
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
