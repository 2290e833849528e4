"""Metrics of booleans, from the numbers of features that two rows share.

Such a metric depends only on how many features both rows, one of them, or none of them have. One
matrix product counts these for all pairs, sparse or dense. The counts are whole numbers, so they
are exact in any order of summation. scikit-learn and SciPy compare two rows at a time, which takes
10 to 100 times as long, and scikit-learn does not accept sparse rows.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde.preprocessing.neighbors.metrics.names import is_boolean

__all__ = ["counted_distances", "is_counted"]

_EXACT = 1 << 24  # counts up to this number are exact in float32


def is_counted(metric, params):
    """Whether :func:`counted_distances` computes the metric."""
    return not params and is_boolean(metric)


def counted_distances(queries, rows, metric):
    """Distances from each query to each row.

    Parameters
    ----------
    queries : ndarray or csr_array of shape (q, d)
    rows : ndarray or csr_array of shape (r, d)
        Nonzero entries are features that the row has.
    metric : str

    Returns
    -------
    distances : ndarray of shape (q, r), float64
        NaN where the metric is 0 / 0.
    """
    both, first, second = _counts(queries, rows)
    d = rows.shape[1]
    first, second = first[:, None] - both, second - both
    unequal = first + second
    with np.errstate(invalid="ignore"):  # 0 / 0: the caller decides
        if metric == "jaccard":
            return np.where(unequal == 0, 0.0, unequal / (both + unequal))
        if metric == "dice":
            return unequal / (2 * both + unequal)
        if metric == "sokalsneath":
            return 2 * unequal / (both + 2 * unequal)
        if metric in ("rogerstanimoto", "sokalmichener"):
            return 2 * unequal / (d + unequal)
        if metric == "russellrao":
            return (d - both) / d
        if metric == "matching":
            return unequal / d
        if metric == "kulsinski":
            return np.where(unequal == 0, 0.0, (unequal - both + d) / (unequal + d))
        neither = d - both - unequal  # yule
        crossed = first * second
        return np.where(crossed == 0, 0.0, 2 * crossed / (both * neither + crossed))


def _counts(queries, rows):
    """The features that both rows have, and that each row has, in float64."""
    if sp.issparse(rows):
        a, b = (sp.csr_array(part != 0, dtype=np.float64) for part in (queries, rows))
        both = (a @ b.T).toarray()
    else:
        dtype = np.float32 if rows.shape[1] <= _EXACT else np.float64
        a, b = ((part != 0).astype(dtype) for part in (queries, rows))
        both = (a @ b.T).astype(np.float64)
    return both, *(np.asarray(part.sum(axis=1), np.float64).ravel() for part in (a, b))
