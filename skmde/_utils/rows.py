"""Rows: their number, their sparse form, and blocks, so that memory does not grow with them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

_ENTRIES = 1 << 22  # entries of the table of distances from a block to the training samples
_FEWEST_ROWS = 64


def as_csr(X):
    """X as a CSR array, in float64 if scipy has no sparse form of its dtype."""
    if not sp.issparse(X) and (X.dtype == np.float16 or not X.dtype.isnative):
        X = X.astype(np.float64)
    return sp.csr_array(X)


def count_rows(X):
    """Number of rows of an array, a sparse matrix, or a pair of tables."""
    return len(X[0]) if isinstance(X, tuple) else X.shape[0]


def rows_of(X, items):
    """Some rows of an array, a sparse matrix, or a pair of tables."""
    if isinstance(X, tuple):
        return tuple(table[items] for table in X)
    return (X.tocsr() if sp.issparse(X) else X)[items]


def blocks_of_rows(X, n_columns):
    """Cut X into blocks of rows whose tables with `n_columns` columns need little memory.

    Parameters
    ----------
    X : ndarray, sparse matrix, or pair of ndarray
        The rows. Both arrays of a pair are cut.
    n_columns : int
        Number of training samples that each row is compared with.

    Yields
    ------
    block : same type as X
        If X is sparse and there are several blocks, each is a csr_array or csr_matrix.
    """
    n_rows = count_rows(X)
    size = max(_FEWEST_ROWS, _ENTRIES // n_columns)
    if n_rows <= size:
        yield X
        return
    if sp.issparse(X):
        X = X.tocsr()
    for start in range(0, n_rows, size):
        part = slice(start, start + size)
        yield tuple(table[part] for table in X) if isinstance(X, tuple) else X[part]
