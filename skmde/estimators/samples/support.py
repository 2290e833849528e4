"""How well training samples support unseen ones, by the distances to their nearest ones.

The reach of a sample is the distance to the farthest of its neighbours. The support of an unseen
sample is the mean reach of its neighbours, divided by its own reach; at most 1. Neighbours come
from tables of all training samples, or, where only some samples place the others, the landmarks,
from these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_NEAREST = 15  # landmarks that count as neighbours


def support_of_rows(indices, distances, reach):
    """Mean reach of the neighbours of each row, divided by the row's own reach; at most 1.

    Parameters
    ----------
    indices, distances : ndarray of shape (q, k)
        Neighbours; -1 where there is none.
    reach : ndarray of shape (q, k)
        Their reach.

    Returns
    -------
    support : ndarray of shape (q,)
        0 for a row without neighbours.
    """
    there = indices >= 0
    counts = there.sum(axis=1)
    mean = np.where(there, reach, 0.0).sum(axis=1) / np.maximum(counts, 1)
    own = np.where(there, distances, 0.0).max(axis=1, initial=0.0)
    ratio = np.divide(mean, own, out=np.ones(len(own)), where=own > mean)
    return np.where(counts > 0, ratio, 0.0)


def support_by_tables(tables, X, n_neighbors):
    """The support of unseen samples by tables of the neighbours of all training samples."""
    indices, distances, _ = tables.of_unseen(X, n_neighbors)
    return support_of_rows(indices, distances, tables.reach[indices])


def support_of_tables(tables, n_neighbors, dimension):
    """The support that each training sample would have, were it an unseen one.

    Without a sample, its neighbours reach as far as their next one, which is farther than the
    farthest by ((k + 1) / k)^(1 / dimension), as a rule.
    """
    reach, k = tables.reach[tables.indices], n_neighbors
    if np.isfinite(dimension) and dimension > 0:
        mutual = tables.distances <= reach
        reach = np.where(mutual, reach * ((k + 1) / k) ** (1 / dimension), reach)
    return support_of_rows(tables.indices, tables.distances, reach)


class LandmarkTables(NamedTuple):
    """The landmarks nearest to each landmark: one more than count as neighbours.

    Attributes
    ----------
    indices, distances : ndarray of shape (n_landmarks, k + 1)
        Sorted by distance; -1 and infinity where there is none.
    """

    indices: np.ndarray
    distances: np.ndarray

    @classmethod
    def of(cls, D):
        """The tables of distances between landmarks, a square matrix that is overwritten."""
        np.fill_diagonal(D, np.inf)
        return cls(*_nearest(D, _NEAREST + 1))

    def within(self, max_distance):
        """The tables without landmarks that are farther apart."""
        near = self.distances <= max_distance
        distances = np.where(near, self.distances, np.inf)
        return LandmarkTables(np.where(near, self.indices, -1), distances)

    def support(self, D):
        """The support of unseen samples by their distances to the landmarks; shape (q, L)."""
        k = self.indices.shape[1] - 1
        indices, distances = _nearest(D, k)
        return support_of_rows(indices, distances, self._reach(k)[indices])

    def support_of_fitted(self):
        """The support that each landmark would have, were it an unseen sample."""
        k = self.indices.shape[1] - 1
        near = self.indices[:, :k]
        reach, next_one = self._reach(k)[near], self.distances[near, -1]
        is_neighbor = (near[near] == np.arange(len(near))[:, None, None]).any(axis=2)
        without = np.where(is_neighbor & np.isfinite(next_one), next_one, reach)
        return support_of_rows(near, self.distances[:, :k], without)

    def _reach(self, k):
        there = self.indices[:, :k] >= 0
        return np.where(there, self.distances[:, :k], 0.0).max(axis=1, initial=0.0)


def _nearest(D, k):
    """Columns and values of the k smallest entries of each row, sorted; -1 for infinite ones."""
    k = min(k, D.shape[1])
    indices = np.argpartition(D, k - 1, axis=1)[:, :k]
    distances = np.take_along_axis(D, indices, axis=1)
    order = np.argsort(distances, axis=1, kind="stable")
    indices, distances = (np.take_along_axis(a, order, axis=1) for a in (indices, distances))
    return np.where(np.isfinite(distances), indices, -1), distances
