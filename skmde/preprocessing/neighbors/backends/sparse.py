"""Distances of sparse rows, under any metric.

For the correlation, a sparse product gives the products of the rows minus their means. scikit-learn
has sparse versions of few other metrics. Metrics that sum over features skip those of which neither
row has an entry. For all others, blocks of rows are made dense. Metrics of
booleans are those of :mod:`skmde.preprocessing.neighbors.metrics.counts`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._linalg.scaling import unit_rows
from skmde.preprocessing.neighbors.backends import kernels
from skmde.preprocessing.neighbors.backends.kernels import sums_over_features
from skmde.preprocessing.neighbors.metrics.names import is_boolean

__all__ = ["compiled_rows", "has_sparse_form", "sparse_distances"]

_BLOCK_NUMBERS = 1 << 22  # of a block of rows that is made dense
_OF_SKLEARN = frozenset("cityblock cosine euclidean l1 l2 manhattan".split())
_OVER_FEATURES = {
    "braycurtis": kernels.BRAYCURTIS,
    "canberra": kernels.CANBERRA,
    "chebyshev": kernels.CHEBYSHEV,
    "hamming": kernels.HAMMING,
    "minkowski": kernels.MINKOWSKI,
}
_CLOSE = 1e-6  # smaller correlation distances are computed again from differences


def has_sparse_form(metric, params):
    """Whether distances of sparse rows are computed without making the rows dense."""
    if callable(metric):
        return False
    if metric == "minkowski":
        return set(params or ()) == {"p"}
    return not params and (
        is_boolean(metric) or metric in ("correlation", *_OF_SKLEARN, *_OVER_FEATURES)
    )


def sparse_distances(queries, rows, metric, params, dense):
    """Distances from each query to each row.

    Parameters
    ----------
    queries : csr_array of shape (q, d)
    rows : csr_array of shape (r, d)
    metric : str or callable
    params : dict
    dense : callable
        Takes two arrays of rows and returns their distances; it also takes sparse rows for the
        metrics that scikit-learn has for them.

    Returns
    -------
    distances : ndarray of shape (q, r), float64
    """
    out = np.empty((queries.shape[0], rows.shape[0]))
    if has_sparse_form(metric, params):
        if metric == "correlation":
            return _correlation(queries, rows)
        if metric in _OF_SKLEARN:
            return dense(queries, rows)
        parts = compiled_rows(queries), compiled_rows(rows)
        exponent = float((params or {}).get("p", 1))
        sums_over_features(_OVER_FEATURES[metric], exponent, rows.shape[1], *parts, out)
        return out
    step = max(1, _BLOCK_NUMBERS // rows.shape[1])
    for i in range(0, out.shape[0], step):
        block = queries[i : i + step].toarray()
        for j in range(0, out.shape[1], step):
            part = rows[j : j + step].toarray()
            out[i : i + step, j : j + step] = dense(block, part)
    return out


def _correlation(queries, rows):
    """Correlation distance; 1 where a row is constant, as for dense rows."""
    d = rows.shape[1]
    (a, mean_a, norm_a), (b, mean_b, norm_b) = (_prepared(part) for part in (queries, rows))
    products = (a @ b.T).toarray() - d * mean_a[:, None] * mean_b
    norms = norm_a[:, None] * norm_b
    out = np.ones(products.shape)
    np.divide(products, norms, out=products, where=norms > 0)
    np.subtract(1.0, products, out=out, where=norms > 0)
    left, right = np.nonzero(out < _CLOSE)
    step = max(1, _BLOCK_NUMBERS // d)
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        units = (
            unit_rows(rows_of[these].toarray(), np.float64, center=True)[0]
            for rows_of, these in ((queries, left[part]), (rows, right[part]))
        )
        difference = next(units) - next(units)
        out[left[part], right[part]] = np.einsum("ij,ij->i", difference, difference) / 2
    return out


def _prepared(rows):
    """Rows with largest entry 1, their means, and their norms after subtracting the means."""
    largest = abs(rows).max(axis=1).toarray().ravel()
    scaled = sp.csr_array(sp.diags_array(1 / np.where(largest > 0, largest, 1.0)) @ rows)
    d = rows.shape[1]
    mean = np.asarray(scaled.sum(axis=1)).ravel() / d
    counts = np.diff(scaled.indptr)
    rest = (scaled.data - np.repeat(mean, counts)) ** 2
    owner = np.repeat(np.arange(rows.shape[0]), counts)
    squares = np.bincount(owner, rest, rows.shape[0]) + (d - counts) * mean**2
    norms = np.sqrt(squares)
    norms[norms < 1e-14 * np.sqrt(d)] = 0.0
    return scaled, mean, norms


def compiled_rows(X):
    """The arrays of a sparse matrix in CSR form, in types that kernels are compiled for."""
    X = X.tocsr()
    return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float64)
