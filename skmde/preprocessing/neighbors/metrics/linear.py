"""Metrics that are a simpler metric of linearly mapped rows.

    seuclidean           the Euclidean distance of x / sqrt(V)
    mahalanobis          the Euclidean distance of x W, with W W^T = VI
    minkowski, with w    the same without weights, of x w^(1/p)
    sqeuclidean, with w  the same without weights, of x sqrt(w)

V and VI come from the training rows, if they are not given. So the rows are mapped once, and every
search supports these metrics and finds the same neighbours.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from skmde._utils.jit import jit
from skmde._utils.threads import one_blas_thread, run_rows
from skmde._utils.warn import warn
from skmde.preprocessing.neighbors.metrics.parameters import as_floats, checked_variances

__all__ = ["LinearMap", "linear_form"]

_MOST_FEATURES = 8192  # a covariance of more features takes gigabytes, and minutes to invert
_PIECE = 256
_BLOCK_ROWS = 4096


class LinearMap:
    """Rows minus `center`, times one factor for each feature, times a matrix.

    Parameters
    ----------
    center : ndarray of shape (d,) or None
        Never subtracted from sparse rows, unless there is a matrix.
    factors : ndarray of shape (d,)
    matrix : ndarray of shape (d, r), default=None
    """

    def __init__(self, center, factors, matrix=None):
        self.center, self.factors, self.matrix = center, factors, matrix

    def apply(self, X):
        """The mapped rows, in float64; sparse only if `X` is sparse and there is no matrix."""
        if sp.issparse(X) and self.matrix is None:
            return sp.csr_array(sp.csr_array(X, dtype=np.float64) @ sp.diags_array(self.factors))
        if self.matrix is None:
            return self._scaled(X)
        out = np.empty((X.shape[0], self.matrix.shape[1]))

        def piece(start, stop):
            block = X[start:stop]
            block = block.toarray() if sp.issparse(block) else block
            _multiply(self._scaled(block), self.matrix, out[start:stop])

        run_rows(piece, X.shape[0], _PIECE, None)
        return out

    def _scaled(self, X):
        Z = np.array(X, dtype=np.float64, order="C")
        if self.center is not None:
            Z -= self.center
        Z *= self.factors
        return Z


@jit()
def _multiply(rows, matrix, out):
    """``rows @ matrix``. Unlike that of BLAS, a product depends on no other row and no thread."""
    out[:] = 0.0
    for i in range(rows.shape[0]):
        for t in range(rows.shape[1]):
            x = rows[i, t]
            if x != 0.0:
                for j in range(matrix.shape[1]):
                    out[i, j] += x * matrix[t, j]


def linear_form(metric, params, X):
    """The map for a metric of this module.

    Parameters
    ----------
    metric : str or callable
    params : dict
        Parameters that have been checked.
    X : ndarray or csr_array of shape (n, d)
        Training rows.

    Returns
    -------
    map : LinearMap or None
        None if the metric needs no map.
    metric : str or callable
        The metric of the mapped rows.
    params : dict
        Its parameters.
    """
    if callable(metric):
        return None, metric, params
    if metric == "seuclidean":
        center, variances = _moments(X)
        if "V" in params:
            variances = checked_variances(params["V"], X.shape[1])
        else:
            variances[variances == 0] = 1.0
        return LinearMap(center, 1 / np.sqrt(variances)), "euclidean", {}
    if metric == "mahalanobis":
        return _whitening(params, X), "euclidean", {}
    if metric == "sqeuclidean" and "w" in params:
        return LinearMap(None, np.sqrt(params["w"])), metric, {}
    if metric == "minkowski" and "w" in params:
        p = params["p"]
        factors = LinearMap(None, params["w"] ** (1 / p) if np.isfinite(p) else params["w"])
        plain = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(p)
        return factors, plain or metric, {} if plain else {"p": p}
    return None, metric, params


def _moments(X):
    """Mean (None for sparse rows) and variance of each column, with n - 1 in the denominator."""
    n = X.shape[0]
    if sp.issparse(X):
        columns = sp.csc_array(X, dtype=np.float64)
        columns.sum_duplicates()
        stored = np.diff(columns.indptr)
        mean = np.asarray(columns.sum(axis=0)).ravel() / n
        columns.data = (columns.data - np.repeat(mean, stored)) ** 2
        squares = np.asarray(columns.sum(axis=0)).ravel() + (n - stored) * mean**2
        return None, squares / max(n - 1, 1)
    mean = X.mean(axis=0, dtype=np.float64)
    squares = np.zeros(X.shape[1])
    for start in range(0, n, _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS] - mean
        squares += np.einsum("ij,ij->j", block, block)
    constant = np.all(X == X[:1], axis=0)
    squares[constant] = 0.0  # a rounded mean is not a spread
    return mean, squares / max(n - 1, 1)


def _whitening(params, X):
    """The map of the Mahalanobis distance."""
    n, d = X.shape
    if d > _MOST_FEATURES:
        raise ValueError(
            f"metric='mahalanobis' needs a matrix of {d} x {d} numbers for {d} features; at most "
            f"{_MOST_FEATURES} features are supported. Reduce them first, with PCA for example."
        )
    if "V" in params and "VI" in params:
        raise ValueError(
            "metric='mahalanobis' got both the covariance V and its inverse VI; pass one of them."
        )
    center, variances = _moments(X)
    if center is None:
        center = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    if "VI" in params:
        inverse = _checked_square(params["VI"], "VI", d)
        scales = np.sqrt(np.maximum(np.diag(inverse), 0))
        scales[scales == 0] = 1.0
        values, vectors = _eigen(inverse / np.outer(scales, scales), "VI")
        return LinearMap(center, scales, vectors * np.sqrt(values))
    if "V" in params:
        covariance = _checked_square(params["V"], "V", d)
        variances = np.maximum(np.diag(covariance), 0)
    else:
        covariance = None
    # In units of their own spreads, features of any unit are resolved equally well.
    scales = np.sqrt(np.where(variances > 0, variances, 1.0))
    if covariance is None:
        correlation = _products(LinearMap(center, 1 / scales), X) / max(n - 1, 1)
    else:
        correlation = covariance / np.outer(scales, scales)
    values, vectors = _eigen(correlation, "V")
    kept = values > 0
    if covariance is not None and not kept.all():
        raise ValueError(
            f"metric='mahalanobis' needs the inverse of V, but V has rank {kept.sum()} and {d} "
            "features. Remove dependent features, or pass a generalised inverse as VI."
        )
    if covariance is None and 1 < n <= kept.sum() + 1:
        warn(
            f"metric='mahalanobis': the {n} rows span {kept.sum()} dimensions, so all rows are "
            "equally far from each other. Reduce the features first, or pass V or VI.",
        )
    return LinearMap(center, 1 / scales, vectors[:, kept] / np.sqrt(values[kept]))


def _products(scaling, X):
    """Sums of the products of all pairs of columns of the scaled rows."""
    total = np.zeros((X.shape[1], X.shape[1]))
    with one_blas_thread():  # the last bits of a product depend on the threads
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            block = X[start : start + _BLOCK_ROWS]
            block = scaling.apply(block.toarray() if sp.issparse(block) else block)
            total += block.T @ block
    return total


def _eigen(matrix, name):
    """Eigenvalues, 0 if they are rounding errors, and eigenvectors of a symmetric matrix."""
    with one_blas_thread():
        values, vectors = scipy.linalg.eigh(matrix)
    rounding = 10 * len(values) * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
    if values.min(initial=0.0) < -max(rounding, 1e-8 * np.abs(values).max(initial=0.0)):
        raise ValueError(
            f"metric='mahalanobis' needs a matrix {name} without negative eigenvalues, which would "
            f"give negative squared distances; the smallest is {values.min():.3g} times the "
            "diagonal. Check the matrix."
        )
    values[values <= rounding] = 0.0
    return values, vectors


def _checked_square(values, name, d):
    values = as_floats(values, name)
    if values.shape != (d, d):
        raise ValueError(
            f"metric='mahalanobis' needs the {'inverse ' * (name == 'VI')}covariance {name} of "
            f"shape ({d}, {d}), got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"metric_params[{name!r}] must be finite.")
    return (values + values.T) / 2
