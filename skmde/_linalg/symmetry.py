"""Matrices that should be symmetric: the average of both directions, with one warning.

A difference of at most `SYMMETRY_TOLERANCE`, relative to the largest entry, is rounding error and
gives no warning.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.warn import warn

__all__ = ["mean_of_stored_directions", "symmetric_matrix", "warn_of_asymmetry"]

SYMMETRY_TOLERANCE = 1e-5  # of the largest entry
_BLOCK_ENTRIES = 1 << 20


def symmetric_matrix(matrix, entries, *, exact=True):
    """A square matrix, or the average of it and its transpose, with a warning.

    Parameters
    ----------
    matrix : ndarray or csr_array of shape (n, n)
        Not written to. Where only one direction of a dense matrix is finite, it alone counts.
    entries : str
        Plural noun for the entries, for the message.
    exact : bool, default=True
        Whether rounding differences are averaged as well. If not, a dense matrix without larger
        differences is returned as it is, which saves a copy.

    Returns
    -------
    matrix : ndarray or csr_array of shape (n, n)
        A new array if it is sparse; a dense one may be the caller's.

    Warns
    -----
    UserWarning
        If the directions differ by more than rounding.
    """
    if sp.issparse(matrix):
        return _symmetric_sparse(matrix, entries)
    gap, largest = _dense_gap(matrix)
    beyond_rounding = warn_of_asymmetry(entries, gap, largest)
    if gap == 0 or not (exact or beyond_rounding):
        return matrix
    there = matrix.astype(np.float64, copy=False)
    back = there.T
    average = there / 2 + back / 2
    missing = ~np.isfinite(average)
    if missing.any():
        np.copyto(average, np.minimum(there, back), where=missing)
    return average


def mean_of_stored_directions(matrix, entries):
    """A sparse matrix with the average of each two entries that are stored in both directions.

    An entry that is stored in one direction only is kept, as that of a dense matrix is whose other
    direction is infinite. Where one of two stored entries is infinite, the other counts.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Not written to.
    entries : str
        Plural noun for the entries, for the message.

    Returns
    -------
    matrix : csr_array of shape (n, n)
        The caller's, if directions differ by rounding only.

    Warns
    -----
    UserWarning
        If the directions differ by more than rounding.
    """
    n = matrix.shape[0]
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(matrix.indptr))
    codes, back = rows * n + matrix.indices, matrix.indices * np.int64(n) + rows
    order = np.argsort(codes, kind="stable")
    at = order[np.minimum(np.searchsorted(codes, back, sorter=order), max(len(codes) - 1, 0))]
    there = matrix.data.astype(np.float64)
    other = np.where(codes[at] == back, there[at], there)
    finite = np.isfinite(there)
    both = finite & np.isfinite(other)
    gap = np.abs(there[both] - other[both]).max(initial=0.0)
    largest = np.abs(there[finite]).max(initial=0.0)
    one_sided = (finite != np.isfinite(other)).any()
    if not warn_of_asymmetry(entries, np.inf if one_sided else gap, largest):
        return matrix
    average = np.where(both, there / 2 + other / 2, np.minimum(there, other))
    return sp.csr_array((average, matrix.indices, matrix.indptr), shape=matrix.shape)


def warn_of_asymmetry(entries, gap, largest):
    """Warn if two directions differ by more than rounding, and say whether they do.

    Parameters
    ----------
    entries : str
        Plural noun for the entries, for the message.
    gap, largest : float
        Size of the largest difference, and of the largest entry. A difference is infinite where
        one direction alone is known.
    """
    if gap <= SYMMETRY_TOLERANCE * largest:
        return False
    differ = f"largest difference {gap:.3g}" if gap < float("inf") else "some known one way only"
    alone = "" if gap < float("inf") else ", and a direction that is known alone as it is"
    warn(
        f"The {entries} are not symmetric ({differ}); using the average of the two directions"
        f"{alone}."
    )
    return True


def _symmetric_sparse(matrix, entries):
    mirrored = sp.csr_array(matrix.T)
    same = all(
        np.array_equal(getattr(matrix, part), getattr(mirrored, part))
        for part in ("indptr", "indices", "data")
    )
    if not same:
        warn_of_asymmetry(entries, abs(matrix - mirrored).max(), abs(matrix).max())
        mirrored = sp.csr_array(matrix / 2 + mirrored / 2)
        mirrored.sort_indices()
    return mirrored


def _dense_gap(matrix):
    """Largest difference between two directions, and largest size of a finite entry."""
    n = len(matrix)
    step = max(1, _BLOCK_ENTRIES // max(n, 1))
    gap = largest = 0.0
    for start in range(0, n, step):
        there = matrix[start : start + step].astype(np.float64)
        back = matrix[:, start : start + step].T.astype(np.float64)
        finite = np.isfinite(there), np.isfinite(back)
        both = finite[0] & finite[1]
        if (finite[0] != finite[1]).any():
            gap = np.inf
        if not both.all():
            there, back = there[both], back[both]
        largest = max(largest, np.abs(there).max(initial=0.0))
        gap = max(gap, np.abs(there - back).max(initial=0.0))
    return gap, largest
