"""Tables of the nearest neighbours of fitted items, to which further items can be added."""

from __future__ import annotations

import copy

import numpy as np

from skmde.preprocessing.neighbors.joint_index import joined_rows
from skmde.preprocessing.neighbors.known_rows import KeptRows, KnownRows, twins
from skmde.preprocessing.neighbors.precomputed import joined_neighbors, precomputed_queries
from skmde.preprocessing.neighbors.search import nearest_neighbors
from skmde.preprocessing.neighbors.selection import drop_far


class NeighborTables:
    """Tables of the nearest neighbours of fitted items, and the index that finds those of others.

    Parameters
    ----------
    X : ndarray, sparse matrix, or pair of arrays
        Rows; or distances, for the metric "precomputed".
    n_neighbors : int or None
        Number of neighbours per item.
    grows : bool, default=True
        Whether further items may be added. If so, the rows are kept.
    **search : dict
        Further arguments of :func:`~skmde.preprocessing.nearest_neighbors`.

    Attributes
    ----------
    indices, distances : ndarray of shape (n, k)
        The neighbours of each item, and their distances.
    reach : ndarray of shape (n,)
        Distance from each item to its farthest neighbour; 0 if it has no neighbour. An unseen item
        within this distance would be a neighbour.
    index : NeighborIndex, JointIndex or None
        The search index; None for precomputed distances.
    known : KnownRows or None
        Hash codes of the rows; None if there is no index.
    """

    def __init__(self, X, n_neighbors, *, grows=True, **search):
        self._asked, self._search = n_neighbors, search
        indices, distances, self.index = nearest_neighbors(X, n_neighbors, **search)
        self.known = None
        if self.index is not None:
            self.known = KeptRows(X) if grows else KnownRows(X)
        self._use(indices, distances)

    def _use(self, indices, distances):
        self.indices, self.distances = indices, distances
        self.reach = np.where(indices >= 0, distances, 0.0).max(axis=1, initial=0.0)

    def of_unseen(self, X, n_neighbors=None):
        """The nearest fitted items of each unseen item.

        Parameters
        ----------
        X : ndarray, sparse matrix, or pair of arrays
            Rows; or distances to the fitted items.
        n_neighbors : int, default=None
            Number of neighbours per item; None means as many as the tables have.

        Returns
        -------
        indices, distances : ndarray of shape (q, k)
            Sorted by distance; -1 and infinity where there is no neighbour.
        twin : ndarray of shape (q,), int
            The fitted item that each row equals or is at distance 0 from; -1 if there is none.
            See :func:`~skmde.preprocessing.neighbors.known_rows.twins`.
        """
        n, k = self.indices.shape
        k = k if n_neighbors is None else n_neighbors
        most, given = self._search.get("max_distance"), self.index is None
        if given:
            indices, distances = precomputed_queries(X, k, n_train=n, max_distance=most)
            known = np.full(len(indices), -1)
        else:
            indices, distances = self.index.kneighbors(X, k)
            if most is not None:
                indices, distances = drop_far(indices, distances, most)
            known = self.known.find(X)
        twin = twins(known, indices[:, 0], distances[:, 0], self.reach, given=given)
        return indices, distances, twin

    def of_others(self, X, own, n_neighbors=None):
        """The nearest other fitted items of each of some fitted items.

        Parameters
        ----------
        X : ndarray, sparse matrix, or pair of arrays
            Their rows, in the form in which they were given.
        own : ndarray of shape (q,), int
            Their indices.
        n_neighbors : int, default=None
            As for `of_unseen`.

        Returns
        -------
        indices, distances : ndarray of shape (q, k)
        """
        n, k = self.indices.shape
        k = min((k if n_neighbors is None else n_neighbors) + 1, n)
        indices, distances, _ = self.of_unseen(X, k)
        if indices.shape[1] < k:  # of tables that are given, which may leave out the item itself
            none = np.full((len(indices), 1), -1)
            indices, distances = np.hstack([indices, none]), np.hstack([distances, none + np.inf])
        others = indices != own[:, None]
        others[others.all(axis=1), -1] = False  # a row may have many duplicates
        kept = len(own), indices.shape[1] - 1
        return indices[others].reshape(kept), distances[others].reshape(kept)

    def extended(self, X):
        """New tables of the fitted items together with further ones.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (q, d), or (q, n + q) for precomputed distances, or
            pair of arrays of shape (q, k)
        """
        other = copy.copy(self)
        old = self.indices, self.distances
        if self.known is None:
            found = joined_neighbors(*old, X, self._asked)
        else:
            rows = self.known.joined(X)
            other.known = KeptRows(rows)
            *found, other.index = joined_rows(self.index, old, rows, self._asked, **self._search)
        most = self._search.get("max_distance")
        other._use(*(found if most is None else drop_far(*found, most)))
        return other
