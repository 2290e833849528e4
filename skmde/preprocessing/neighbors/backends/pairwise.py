"""Exact neighbours under any metric, from scikit-learn's pairwise distances of blocks of rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from skmde._utils.threads import run_rows
from skmde._utils.validation import ROUNDING
from skmde.preprocessing.neighbors.backends.base import RowSearch
from skmde.preprocessing.neighbors.backends.kernels import scan_sparse_rows
from skmde.preprocessing.neighbors.backends.sparse import compiled_rows, sparse_distances
from skmde.preprocessing.neighbors.metrics.counts import counted_distances, is_counted
from skmde.preprocessing.neighbors.metrics.fitted import skips_missing
from skmde.preprocessing.neighbors.metrics.names import for_sklearn
from skmde.preprocessing.neighbors.selection import nearest_columns

__all__ = ["PairwiseSearch", "PairwiseSparseSearch", "squared_differences"]

_BLOCK_ENTRIES = 1 << 20
_QUERIES = 64  # sparse rows in a piece of work
_FEW = 32  # distances that tell the unit of the metric


class PairwiseSearch(RowSearch):
    """Compares each query with all rows, under a metric of scikit-learn or pynndescent.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d)
        Sparse rows are made dense block by block, if the metric needs that.
    metric : str or callable
        A metric that `sklearn.metrics.pairwise_distances` accepts, or a name of pynndescent.
    metric_params : dict or None
    """

    def __init__(self, rows, metric, metric_params):
        self.rows = rows
        self.metric = metric
        self.metric_params = dict(metric_params or {})
        self._center = self._some_center()
        self._scale = self._typical_distance()

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query, with distances (not squared) in the metric's units."""
        n = self.rows.shape[0]
        n_queries = queries.shape[0]
        indices = np.empty((n_queries, k), np.int32)
        distances = np.empty((n_queries, k))

        def piece(start, stop):
            block = self.between(queries[start:stop], self.rows)
            indices[start:stop], distances[start:stop] = nearest_columns(
                block, k, exclude[start:stop]
            )

        # A user's function may not be thread-safe.
        counted = is_counted(self.metric, self.metric_params)
        n_jobs = 1 if not counted and callable(for_sklearn(self.metric)) else n_jobs
        run_rows(piece, n_queries, max(1, _BLOCK_ENTRIES // n), n_jobs)
        return indices, distances

    def between(self, queries, rows):
        """Distances from each query to each of `rows`: (q, r), float64."""
        block = self._computed(queries, rows)
        undefined = np.isnan(block)
        if undefined.any():
            block[undefined] = self._undefined(queries, rows, *np.nonzero(undefined))
        if block.min(initial=0.0) < 0:
            largest = np.maximum(block.max(axis=1, initial=0.0), self._scale)
            wrong = np.argwhere(block < -ROUNDING * largest[:, None])
            if len(wrong):
                i, j = wrong[0]
                raise ValueError(
                    f"The metric {self.metric!r} is negative, {block[i, j]}, between the rows "
                    f"{queries[[i]]} and {rows[[j]]}. A distance must be at least 0. If the "
                    "metric is a similarity, return a decreasing function of it; else change the "
                    "metric or the data."
                )
            np.maximum(block, 0.0, out=block)
        return block

    def _computed(self, queries, rows):
        try:
            if is_counted(self.metric, self.metric_params):
                block = counted_distances(queries, rows, self.metric)
            elif sp.issparse(rows):
                block = sparse_distances(
                    queries, rows, self.metric, self.metric_params, self._by_sklearn
                )
            else:
                block = self._by_sklearn(queries, rows)
            return np.array(block, dtype=np.float64)
        except Exception as error:
            # The metrics of pynndescent are compiled and raise numba's errors.
            metric = for_sklearn(self.metric)
            by_name = not callable(self.metric) and (callable(metric) or type(error) is TypeError)
            if not by_name:
                raise
            kind = "sparse" if sp.issparse(queries) else "dense"
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"metric={self.metric!r} cannot be computed for {kind} data and metric_params="
                f"{self.metric_params!r} ({reason}). Change the metric, its parameters or the data."
            ) from error

    def _some_center(self):
        """A point near the rows, from which they are measured; None if the metric needs none.

        scikit-learn computes "nan_euclidean" from inner products, which far from the origin are so
        large that nothing is left of small distances.
        """
        missing = self.metric_params.get("missing_values", np.nan)
        if self.metric != "nan_euclidean" or not np.isnan(missing):
            return None
        some = self.rows[:_FEW]
        some = some.toarray() if sp.issparse(some) else np.asarray(some, dtype=np.float64)
        there = ~np.isnan(some)
        return np.where(there, some, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)

    def _by_sklearn(self, queries, rows):
        if self._center is not None:
            queries, rows = queries - self._center, rows - self._center
        return pairwise_distances(
            queries,
            rows,
            metric=for_sklearn(self.metric),
            ensure_all_finite="allow-nan" if skips_missing(self.metric) else True,
            **self.metric_params,
        )

    def _typical_distance(self):
        """The largest of a few distances, to which rounding errors are relative."""
        block = np.abs(self._computed(self.rows[:1], self.rows[:_FEW]))
        return float(block.max(initial=0.0, where=np.isfinite(block)))

    def _undefined(self, queries, rows, left, right):
        """Distances of pairs where the metric is 0/0: 0 if all have equal rows, else an error."""
        if self.metric == "hellinger":
            # The root of 1 minus a product that rounding errors took above 1: the rows agree.
            return 0.0
        for i, j in zip(left, right, strict=True):
            a, b = queries[[i]], rows[[j]]
            if (a != b).sum() > 0:
                raise ValueError(
                    f"The metric {self.metric!r} is not defined (NaN) between some rows, such as "
                    f"{a} and {b}. Remove these rows (often they are constant or zero) or choose "
                    "another metric."
                )
        return 0.0


class PairwiseSparseSearch(RowSearch):
    """Exact Euclidean neighbours of sparse rows.

    Parameters
    ----------
    rows : csr_array of shape (n, d), float64
    """

    def __init__(self, rows):
        self.rows = rows

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query; see `RowSearch.search`."""
        rows, postings = compiled_rows(self.rows), compiled_rows(self.rows.T)
        norms = _squared_norms(self.rows)
        starts, *entries = compiled_rows(queries)
        indices = np.full((queries.shape[0], k), -1, np.int32)
        squared = np.full((queries.shape[0], k), np.inf)

        def piece(start, stop):
            part = slice(start, stop)
            block = (starts[start : stop + 1], *entries)
            found = indices[part], squared[part]
            scan_sparse_rows(block, exclude[part], rows, postings, norms, *found)

        run_rows(piece, queries.shape[0], _QUERIES, n_jobs)
        return indices, squared


def _squared_norms(rows):
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def squared_differences(a, b, left, right):
    """Squared distances of rows `left` of `a` and `right` of `b`, both sparse, from differences."""
    out = np.empty(len(left))
    step = max(1, _BLOCK_ENTRIES // max(1, (a.nnz + b.nnz) // (a.shape[0] + b.shape[0])))
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        out[part] = _squared_norms(a[left[part]] - b[right[part]])
    return out
