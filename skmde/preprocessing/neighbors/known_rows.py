"""Recognising training rows among the rows given to ``transform``.

A distance of 0 cannot tell them: under the cosine distance a zero row is at distance 1 from
its own copy, some metrics give a row a distance from itself, and an approximate search may
overlook it. So each row has a code of 64 bits, a sum over its nonzero entries of a mixture of
value and column: equal for a dense row, a sparse one and another dtype of the same numbers. Two
of a million different rows have the same code with a probability of 3e-8.

A row that has no known code but is at distance 0 from a training row counts as equal to it, too
(`twins`), and takes what belongs to that row (`with_twins`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.jit import jit
from skmde._utils.random import GOLDEN, splitmix64

_BLOCK_BYTES = 1 << 22
_ROUNDING = 1e-6  # of the reach: error of a given distance of 0


class KnownRows:
    """The codes of training rows.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training rows.
    """

    def __init__(self, X):
        codes = _row_codes(X)
        order = np.argsort(codes, kind="stable")
        self.codes = codes[order]
        self.rows = order.astype(np.int32)

    def find(self, X):
        """The first training row that equals each row of `X`, -1 where none does.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (q, d)

        Returns
        -------
        rows : ndarray of shape (q,), int32
        """
        codes = _row_codes(X)
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
        """The training rows and then those of `X`, shape (n + q, d)."""
        if not np.array_equal(_row_codes(self._X)[self.rows], self.codes):
            raise ValueError(
                "The array that was given to fit has been changed since, so no samples can "
                "join it. Fit again, with an array that stays as it is."
            )
        if sp.issparse(self._X):
            return sp.csr_array(sp.vstack([sp.csr_array(self._X), sp.csr_array(X)]))
        return np.concatenate([self._X, X.toarray() if sp.issparse(X) else X])


def twins(known, nearest, distances, reach, *, given):
    """The training row that each row equals: the one of its code, or one at distance 0.

    Distances that are given often come from matrix products, which leave a row at a distance of
    rounding from itself: they count as 0 up to 1e-6 of the training row's reach.

    Parameters
    ----------
    known : ndarray of shape (q,), int
        Training rows that were found by their codes, -1 where there is none.
    nearest : ndarray of shape (q,), int
        The training row nearest to each row; -1 where there is none.
    distances : ndarray of shape (q,)
        How far it is.
    reach : ndarray of shape (n,)
        How far the neighbours of each training row are from it.
    given : bool
        Whether distances are given, rather than computed from rows.

    Returns
    -------
    twin : ndarray of shape (q,), int
        -1 for rows that equal none.
    """
    tolerance = _ROUNDING if given else 0.0
    same = (nearest >= 0) & (distances <= tolerance * reach[nearest])
    return np.where(known >= 0, known, np.where(same, nearest, -1))


def with_twins(place, twin, embedding):
    """Coordinates of rows: of those that equal a training row its own, and others.

    Parameters
    ----------
    place : callable
        Takes a mask of shape (q,), the rows that equal no training row, and returns their
        coordinates. It is not called if there are none.
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


def _row_codes(X):
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
    """splitmix64's number for a value in a column; 0 for 0.0 and -0.0."""
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
