"""Exact neighbours of rows with few features, by scikit-learn's ball tree.

The tree skips rows by the triangle inequality, so it finds the neighbours under true metrics only.
A user's function may break the inequality, so it is tried on a sample first (`obeys_triangles`).

A tree returns any of several rows at the same distance. So it is asked for one row more than
wanted. Where the last ones are at the same distance, all rows up to this distance are compared by
index.
"""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import BallTree

from skmde._utils.threads import run_rows
from skmde.preprocessing.neighbors.backends.base import RowSearch
from skmde.preprocessing.neighbors.backends.pairwise import PairwiseSearch
from skmde.preprocessing.neighbors.selection import drop_self, sort_rows

__all__ = ["TreeSearch", "obeys_triangles", "suits_tree"]

# As in scikit-learn; with more features, a tree skips few rows.
_MOST_FEATURES = 15
_METRICS = frozenset("canberra chebyshev haversine l1 manhattan".split())
_SAMPLE, _CHECKED, _EVERY = 32, 16, 4
_PIECE = 256
_ROUNDING = 1e-9


def suits_tree(rows, metric, params):
    """Whether the tree is made for these rows, if the metric is one.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    metric : str or callable
    params : dict
    """
    if rows.shape[1] > _MOST_FEATURES or not np.isfinite(rows).all():
        return False
    if callable(metric):
        return True
    return metric in _METRICS or (metric == "minkowski" and params["p"] >= 1 and "w" not in params)


def obeys_triangles(rows, function, params):
    """Whether a user's function of two rows seems to be a metric.

    It has to be finite, symmetric and keep the triangle inequality among some rows, some of their
    neighbours, and middles of pairs of them, which the tree compares, too. Of pairs that are far
    apart, a function that levels off would hide how it grows. For some rows, the tree has to find
    the neighbours that comparing all rows finds.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    function : callable
    params : dict
    """
    some = rows[np.linspace(0, len(rows) - 1, _SAMPLE).astype(int)]
    points = np.concatenate([some, (some + some[::-1]) / 2, rows.mean(axis=0)[None]])
    checked = np.linspace(0, len(rows) - 1, _CHECKED).astype(np.int32)
    k = min(_CHECKED, len(rows) - 1)
    every = PairwiseSearch(rows, function, params)
    try:
        if not _keeps_triangles(every.between(points, points)):
            return False
        neighbors, expected = every.search(rows[checked], k, checked, 1)
        if not np.isfinite(expected).all():
            return False
        for own, others in zip(checked[::_EVERY], neighbors[::_EVERY], strict=True):
            close = rows[others]
            close = np.concatenate([rows[[own]], close, (rows[own] + close) / 2])
            if not _keeps_triangles(every.between(close, close)):
                return False
        _, found = TreeSearch(rows, function, params).search(rows[checked], k, checked, 1)
    except Exception:  # of the user's function, which the exact search reports
        return False
    return np.allclose(found, expected, rtol=_ROUNDING, atol=_ROUNDING * expected.max())


def _keeps_triangles(D):
    """Whether all distances are finite, symmetric, and no longer than detours by a third point."""
    rounding = _ROUNDING * D.max()
    if not np.isfinite(rounding) or np.abs(D - D.T).max() > rounding:
        return False
    return not (D > (D[:, :, None] + D[None]).min(axis=1) + rounding).any()


class TreeSearch(RowSearch):
    """Searches a ball tree.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
        Finite rows.
    metric : str or callable
    params : dict
    """

    def __init__(self, rows, metric, params):
        self.rows = rows
        self.metric, self.params = metric, dict(params or {})
        self._tree = self._built()

    def _built(self):
        metric = _checked(self.metric) if callable(self.metric) else self.metric
        return BallTree(self.rows, metric=metric, **self.params)

    def __getstate__(self):
        return {**self.__dict__, "_tree": None}  # quickly built anew

    def __setstate__(self, state):
        self.__dict__.update(state)

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query, with distances (not squared) in the metric's units."""
        try:
            return self._by_tree(queries, k, exclude, n_jobs)
        except Exception:
            if not callable(self.metric):
                raise
        # It finds the pair of rows for which a user's function fails or is negative.
        return PairwiseSearch(self.rows, self.metric, self.params).search(
            queries, k, exclude, n_jobs
        )

    def _by_tree(self, queries, k, exclude, n_jobs):
        if self._tree is None:
            self._tree = self._built()
        n = len(self.rows)
        indices = np.full((len(queries), k), -1, np.int32)
        distances = np.full((len(queries), k), np.inf)

        def piece(start, stop):
            found = self._nearest(queries[start:stop], min(k + 2, n), exclude[start:stop])
            width = min(k, found[0].shape[1])
            indices[start:stop, :width] = found[0][:, :width]
            distances[start:stop, :width] = found[1][:, :width]

        # A user's function may not be thread-safe.
        run_rows(piece, len(queries), _PIECE, 1 if callable(self.metric) else n_jobs)
        return indices, distances

    def _nearest(self, queries, width, exclude):
        """At least ``width - 2`` nearest rows, sorted by (distance, index)."""
        values, items = self._tree.query(queries, width)
        furthest = values.max(axis=1)
        items, values = drop_self(*sort_rows(items, values), exclude, width)
        wanted = max(width - 2, 1)
        tied = np.flatnonzero(values[:, wanted - 1] >= furthest) if width < len(self.rows) else ()
        for q in tied:
            near, far = self._tree.query_radius(
                queries[[q]], furthest[q] * (1 + _ROUNDING), return_distance=True
            )
            all_tied = drop_self(*sort_rows(np.stack(near), np.stack(far)), exclude[[q]], width)
            items[q], values[q] = (part[0] for part in all_tied)
        return items, values


def _checked(function):
    """A function of two rows that raises an error where it is negative or NaN."""

    def distance(a, b, **params):
        value = function(a, b, **params)
        if value >= 0:
            return value
        raise ValueError(f"A distance is {value}.")

    return distance
