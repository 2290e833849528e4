"""Tables of the nearest neighbours of fitted items, to which further items can be added."""

from __future__ import annotations

import copy

import numpy as np

from skmde.preprocessing.neighbors.joint_index import joined_rows
from skmde.preprocessing.neighbors.known_rows import KeptRows, KnownRows, twins
from skmde.preprocessing.neighbors.precomputed import (
    joined_neighbors,
    precomputed_neighbors,
    precomputed_queries,
)
from skmde.preprocessing.neighbors.search import nearest_neighbors
from skmde.preprocessing.neighbors.selection import checked_limits, drop_far
from skmde.preprocessing.neighbors.similarities import similarity_distances, similarity_rows


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
        if search.get("device") is not None:
            search["device"] = str(search["device"])  # which every version of skops can write
        self._asked, self._search = n_neighbors, search
        indices, distances, self.index = nearest_neighbors(X, n_neighbors, **search)
        self.known = None
        if self.index is not None:
            self.known = KeptRows(X) if grows else KnownRows(X)
        self._keep_limits(len(indices))
        self._use(indices, distances)

    def _keep_limits(self, n):
        limits = checked_limits(self._search.get("max_distance"), n)
        self._search["max_distance"] = limits

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
        given = self.index is None
        if given:
            indices, distances = precomputed_queries(X, k, n_train=n)
            known = np.full(len(indices), -1)
        else:
            indices, distances = self.index.kneighbors(X, k)
            known = self.known.find(X)
        nearest = indices[:, 0]
        most = self._limits_of(nearest)
        if most is not None:
            indices, distances = drop_far(indices, distances, most)
        twin = twins(known, indices[:, 0], distances[:, 0], self.reach, given=given)
        return indices, distances, twin

    def _limits_of(self, nearest):
        """The limits of unseen items: each has that of the fitted item nearest to it."""
        limits = self._search["max_distance"]
        return limits if np.ndim(limits) == 0 else np.where(nearest >= 0, limits[nearest], 0.0)

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
        other._search = self._search_of_all(X)
        old = self.indices, self.distances
        if self.known is None:
            found = joined_neighbors(*old, X, self._asked)
        else:
            rows = self.known.joined(X)
            other.known = KeptRows(rows)
            *found, other.index = joined_rows(self.index, old, rows, self._asked, **other._search)
        most = other._search["max_distance"]
        other._use(*(found if most is None else drop_far(*found, most)))
        return other

    def _search_of_all(self, X):
        """The arguments of the search, with limits for further items, too."""
        limits = self._search["max_distance"]
        if np.ndim(limits) == 0:
            return self._search
        near = self.index.kneighbors(X, 1) if self.index is not None else self._given_nearest(X)
        return {**self._search, "max_distance": np.append(limits, self._limits_of(near[0][:, 0]))}

    def _given_nearest(self, X):
        n = len(self.indices)
        if isinstance(X, tuple):
            X = np.where(X[0] < n, X[0], -1), X[1]
        else:
            X = X[:, :n]
        return precomputed_queries(X, 1, n_train=n)


class SimilarityTables(NeighborTables):
    """Tables of the neighbours of largest similarity; distances are reciprocals of similarities.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n)
        Similarities.
    n_neighbors : int or None
        Number of neighbours per item.
    max_distance : float, ndarray of shape (n,), or None
        Limit of the distances.
    """

    def __init__(self, X, n_neighbors, *, max_distance=None):
        self._asked, self._search = n_neighbors, {"max_distance": max_distance}
        self.index = self.known = None
        self._known_rows = KnownRows(X)
        self._keep_limits(X.shape[0])
        distances, limits = similarity_distances(X), self._search["max_distance"]
        self._use(*precomputed_neighbors(distances, n_neighbors, max_distance=limits))

    def of_unseen(self, X, n_neighbors=None):
        """As for distances, but only a row with the same numbers is equal to a fitted item."""
        rows = similarity_rows(X, len(self.indices))
        indices, distances, _ = super().of_unseen(rows, n_neighbors)
        return indices, distances, np.where(indices[:, 0] >= 0, self._known_rows.find(X), -1)

    def extended(self, X):
        other = super().extended(similarity_rows(X, len(self.indices)))
        other._known_rows = self._known_rows.with_further(X)
        return other
