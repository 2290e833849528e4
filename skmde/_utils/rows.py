"""Unseen rows, a block at a time: memory does not grow with their number."""

from __future__ import annotations

import scipy.sparse as sp

_ENTRIES = 1 << 22  # of a block's table of distances
_FEWEST_ROWS = 64


def count_rows(X):
    """Number of rows of an array, a sparse matrix, or a pair of tables."""
    return len(X[0]) if isinstance(X, tuple) else X.shape[0]


def blocks_of_rows(X, n_columns):
    """X in blocks of rows, of which a table with so many columns takes little memory.

    Parameters
    ----------
    X : ndarray, sparse matrix, or pair of ndarray
        Rows; of a pair, in both.
    n_columns : int
        Number of training samples that each row is compared with.

    Yields
    ------
    block : same type as X
        A csr_array or csr_matrix where X is sparse and there is more than one.
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
