"""The nearest neighbours of fitted items, which further items may join."""

from __future__ import annotations

import copy

from skmde._utils.known_rows import KeptRows
from skmde.preprocessing.neighbors.joint_index import joined_rows
from skmde.preprocessing.neighbors.precomputed import joined_neighbors
from skmde.preprocessing.neighbors.search import nearest_neighbors
from skmde.preprocessing.neighbors.selection import drop_far


class NeighborTables:
    """Tables of neighbours, and what finds those of other items.

    Parameters
    ----------
    X : ndarray, sparse matrix, or pair of arrays
        Rows; or distances, for the metric "precomputed".
    n_neighbors : int or None
    **search : dict
        Further arguments of :func:`~skmde.preprocessing.nearest_neighbors`.

    Attributes
    ----------
    indices, distances : ndarray of shape (n, k)
    index : NeighborIndex or JointIndex, or None for precomputed distances
    known : KeptRows or None
        The rows, if there is an index.
    """

    def __init__(self, X, n_neighbors, **search):
        self._asked, self._search = n_neighbors, search
        self.indices, self.distances, self.index = nearest_neighbors(X, n_neighbors, **search)
        self.known = None if self.index is None else KeptRows(X)

    def extended(self, X):
        """The same for the fitted items and further ones.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (q, d), or (q, n + q) for precomputed distances, or
            pair of arrays of shape (q, k)
        """
        other = copy.copy(self)
        old = self.indices, self.distances
        if self.known is None:
            other.indices, other.distances = joined_neighbors(*old, X, self._asked)
        else:
            rows = self.known.joined(X)
            other.known = KeptRows(rows)
            found = joined_rows(self.index, old, rows, self._asked, **self._search)
            other.indices, other.distances, other.index = found
        most = self._search.get("max_distance")
        if most is not None:
            other.indices, other.distances = drop_far(other.indices, other.distances, most)
        return other
