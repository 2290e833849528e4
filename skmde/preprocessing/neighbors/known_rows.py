"""Recognition of training rows among the rows given to ``transform``.

The distance 0 does not identify them: the cosine distance of a zero row from its copy is 1, some
metrics give a row a positive distance from itself, and an approximate search may miss it. So each
row has a hash code of 64 bits. It is the sum over the row's nonzero entries of a hash of value and
column. The same numbers have the same code in a dense or a sparse row of any dtype. The
probability that any two of a million different rows have the same code is 3e-8.

A row without a known code that is at distance 0 from a training row also counts as equal to it
(`twins`), and gets that row's coordinates (`with_twins`).
"""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp

from skmde._utils.jit import jit
from skmde._utils.random import GOLDEN, splitmix64
from skmde._utils.rows import as_csr

_BLOCK_BYTES = 1 << 22
_ROUNDING = 1e-6  # rounding error of a given distance of 0, relative to the reach


class KnownRows:
    """The hash codes of training rows.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training rows.
    """

    def __init__(self, X):
        self._use(row_codes(X))

    def _use(self, codes):
        order = np.argsort(codes, kind="stable")
        self.codes = codes[order]
        self.rows = order.astype(np.int32)

    def with_further(self, X):
        """The codes of the rows of a square matrix after further items are added to it.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (q, n + q)
            The rows of the further items. Their columns are those of the first n rows, too.
        """
        rows, n = sp.coo_array(as_csr(X)), len(self.rows)
        old = rows.col < n
        columns = rows.data[old], (rows.col[old], n + rows.row[old])
        codes = row_codes(sp.csr_array(columns, shape=(n, rows.shape[1])))
        codes[self.rows] += self.codes  # the code of a row is the sum of those of its entries
        other = copy.copy(self)
        other._use(np.concatenate([codes, row_codes(X)]))
        return other

    def find(self, X):
        """For each row of `X`, the index of the first equal training row, or -1 if there is none.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (q, d)

        Returns
        -------
        rows : ndarray of shape (q,), int32
        """
        codes = row_codes(X)
        at = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[at] == codes, self.rows[at], np.int32(-1))


class KeptRows(KnownRows):
    """Training rows, kept so that further rows can join them.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training rows. They are not copied.
    """

    def __init__(self, X):
        super().__init__(X)
        self._X = X

    def joined(self, X):
        """The training rows followed by the rows of `X`, of shape (n + q, d)."""
        if not np.array_equal(row_codes(self._X)[self.rows], self.codes):
            raise ValueError(
                "The array that was given to fit has been modified since, so samples cannot be "
                "added to it. Fit again, and do not modify the array."
            )
        if sp.issparse(self._X):
            return sp.csr_array(sp.vstack([sp.csr_array(self._X), as_csr(X)]))
        return np.concatenate([self._X, X.toarray() if sp.issparse(X) else X])


def twins(known, nearest, distances, reach, *, given):
    """The training row that each row equals: the one with the same code, or one at distance 0.

    Precomputed distances often come from matrix products, so that a row's distance from itself is
    not exactly 0. They count as 0 if they are at most 1e-6 times the training row's reach.

    Parameters
    ----------
    known : ndarray of shape (q,), int
        The training row with the same code as each row; -1 if there is none.
    nearest : ndarray of shape (q,), int
        The training row nearest to each row; -1 if there is none.
    distances : ndarray of shape (q,)
        The distance to the nearest training row.
    reach : ndarray of shape (n,)
        The distance from each training row to its farthest neighbour.
    given : bool
        Whether the distances are precomputed, rather than computed from rows.

    Returns
    -------
    twin : ndarray of shape (q,), int
        The training row that each row equals; -1 if there is none.
    """
    tolerance = _ROUNDING if given else 0.0
    same = (nearest >= 0) & (distances <= tolerance * reach[nearest])
    return np.where(known >= 0, known, np.where(same, nearest, -1))


def with_twins(place, twin, embedding):
    """Coordinates of rows: copied from the training row that a row equals, or else placed.

    Parameters
    ----------
    place : callable
        Takes a mask of shape (q,) that selects the rows that equal no training row, and returns
        their coordinates. It is not called if there are no such rows.
    twin : ndarray of shape (q,), int
        The training row that each row equals, or -1.
    embedding : ndarray of shape (n, m)
        Coordinates of the training rows.

    Returns
    -------
    coordinates : ndarray of shape (q, m), float64
    """
    same = twin >= 0
    coordinates = np.empty((len(twin), embedding.shape[1]))
    coordinates[same] = embedding[twin[same]]
    if not same.all():
        coordinates[~same] = place(~same)
    return coordinates


def row_codes(X):
    """A hash code of 64 bits for each row: the sum of those of its entries that are not 0."""
    codes = np.zeros(X.shape[0], np.uint64)
    if sp.issparse(X):
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data.astype(np.float64).view(np.uint64)
        _add_sparse(values, X.indices.astype(np.int64), X.indptr.astype(np.int64), codes)
        return codes
    step = max(1, _BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, X.shape[0], step):
        block = np.ascontiguousarray(X[start : start + step], np.float64)
        _add_dense(block.view(np.uint64), codes[start : start + step])
    return codes


@jit(inline="always")
def _mixed(bits, column):
    """Hash of a value and its column by splitmix64; 0 for the values 0.0 and -0.0."""
    if bits << np.uint64(1) == np.uint64(0):
        return np.uint64(0)
    z = bits + (np.uint64(column) + np.uint64(1)) * GOLDEN
    return splitmix64(z)


@jit()
def _add_dense(bits, codes):
    for r in range(bits.shape[0]):
        total = codes[r]
        for c in range(bits.shape[1]):
            total += _mixed(bits[r, c], c)
        codes[r] = total


@jit()
def _add_sparse(bits, columns, indptr, codes):
    for r in range(codes.shape[0]):
        total = codes[r]
        for t in range(indptr[r], indptr[r + 1]):
            total += _mixed(bits[t], columns[t])
        codes[r] = total
