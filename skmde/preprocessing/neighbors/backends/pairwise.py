"""Exact neighbours under any metric, from scikit-learn's pairwise distances of blocks of rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from skmde._utils.threads import run_rows
from skmde.preprocessing.neighbors.backends.base import RowSearch
from skmde.preprocessing.neighbors.metrics import for_sklearn
from skmde.preprocessing.neighbors.selection import nearest_columns, nearest_stored

__all__ = ["PairwiseSearch", "PairwiseSparseSearch", "squared_differences"]

_BLOCK_ENTRIES = 1 << 20


def _fitted_params(X, metric, metric_params):
    """The metric's parameters. Those that depend on data are computed from the training rows.

    Otherwise scikit-learn would compute them from each block of rows.
    """
    params = dict(metric_params or {})
    if metric == "seuclidean" and "V" not in params:
        params["V"] = np.var(X, axis=0, ddof=1)
        params["V"][params["V"] == 0] = 1.0
    if metric == "mahalanobis" and "VI" not in params and "V" not in params:
        params["VI"] = np.linalg.pinv(np.atleast_2d(np.cov(X.T)))
    d = X.shape[1]
    # SciPy checks neither: it reads beyond the end of a small matrix, and accepts any exponent.
    if metric == "mahalanobis" and np.shape(params.get("VI")) != (d, d):
        raise ValueError(
            f"metric='mahalanobis' needs the inverse covariance VI of shape ({d}, {d}), got "
            f"metric_params={metric_params!r}."
        )
    if metric == "minkowski" and not float(params.get("p", 2)) > 0:
        raise ValueError(f"metric='minkowski' needs a positive p, got p={params['p']!r}.")
    return params


class PairwiseSearch(RowSearch):
    """Compares each query with all rows, under a metric of scikit-learn or pynndescent.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d)
    metric : str or callable
        A metric that `sklearn.metrics.pairwise_distances` accepts, or a name of pynndescent.
    metric_params : dict or None
    """

    def __init__(self, rows, metric, metric_params):
        self.rows = rows
        self.metric = metric
        self.metric_params = _fitted_params(rows, metric, metric_params)

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
        n_jobs = 1 if callable(for_sklearn(self.metric)) else n_jobs
        run_rows(piece, n_queries, max(1, _BLOCK_ENTRIES // n), n_jobs)
        return indices, distances

    def between(self, queries, rows):
        """Distances from each query to each of `rows`: (q, r), float64."""
        metric = for_sklearn(self.metric)
        try:
            block = pairwise_distances(queries, rows, metric=metric, **self.metric_params)
        except Exception as error:
            # The metrics of pynndescent are compiled and raise numba's errors.
            by_name = not callable(self.metric) and (callable(metric) or type(error) is TypeError)
            if not by_name:
                raise
            kind = "sparse" if sp.issparse(queries) else "dense"
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"metric={self.metric!r} cannot be computed for {kind} data and metric_params="
                f"{self.metric_params!r} ({reason}). Change the metric, its parameters or the data."
            ) from error
        block = np.array(block, dtype=np.float64)
        undefined = np.isnan(block)
        if undefined.any():
            block[undefined] = self._undefined(queries, rows, *np.nonzero(undefined))
        return block

    def _undefined(self, queries, rows, left, right):
        """Distances of pairs where the metric is 0/0: 0 if all have equal rows, else an error."""
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
    """Exact Euclidean neighbours of sparse rows that are too large for a dense array.

    A matrix product finds the candidates, with a tolerance for its rounding error. Their distances
    are then computed from differences, so equal rows have distance exactly 0.

    Parameters
    ----------
    rows : csr_array of shape (n, d), float64
    """

    def __init__(self, rows):
        self.rows = rows

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query; see `RowSearch.search`."""
        n = self.rows.shape[0]
        n_queries = queries.shape[0]
        norms = _squared_norms(self.rows)
        transposed = self.rows.T.tocsr()
        indices = np.empty((n_queries, k), np.int32)
        squared = np.empty((n_queries, k))

        def piece(start, stop):
            block = queries[start:stop]
            own = _squared_norms(block)
            rough = own[:, None] + norms - 2 * (block @ transposed).toarray()
            rows = np.flatnonzero(exclude[start:stop] >= 0)
            rough[rows, exclude[start:stop][rows]] = np.inf
            slack = 1e-12 * (own[:, None] + norms.max(initial=0.0))
            width = min(k, n)
            last = np.partition(rough, width - 1, axis=1)[:, width - 1 : width]
            left, right = np.nonzero((rough <= last + slack) & np.isfinite(rough))
            exact = squared_differences(block, self.rows, left, right)
            indices[start:stop], squared[start:stop] = nearest_stored(
                left, right, exact, stop - start, k
            )

        run_rows(piece, n_queries, max(1, _BLOCK_ENTRIES // n), n_jobs)
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
