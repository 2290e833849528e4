"""Shift and scaling of data to the origin and unit spread, to keep precision.

Distances are computed in float32 where that is fast. Data far from the origin (`X + 1e8`) or of
extreme size (`X * 1e25`) would lose precision or overflow. It is therefore first converted to

    Z = (X - c) * 2^-e

in float64. Both operations are chosen to minimise rounding errors: `c` is a multiple of a power of
two near the spread of the data, and `2^-e` is a power of two. Integer data therefore stays on a
grid, and equal distances stay equal. Data near the origin and of moderate spread is not changed. If
it is also large, it is not copied, because the nearest neighbours of scikit-learn do not copy
their data either.

Units: `Z` is dimensionless. A distance in `Z`, multiplied by `2^e`, is in the units of `X`.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from skmde._utils.memory.mapped import empty_like_data
from skmde._utils.threads import count_threads, run_pieces

__all__ = ["Scaling", "root_mean_square", "scaled", "unit_rows"]

_BLOCK_BYTES = 1 << 22
_BLOCK_NUMBERS = 1 << 20  # summed at a time

# Entries are clipped to this magnitude, in multiples of the unit, so that squared differences are
# finite.
_REACH = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e150}


# Data is not shifted if its largest entry is at most this multiple of its spread: few digits are
# lost.
_WELL_PLACED = 64.0
_MODERATE = (1e-6, 1e6)

# Unchanged arrays larger than this are kept by reference instead of copied.
_LARGE_BYTES = 1 << 26


def _block_rows(n_features):
    return max(1, _BLOCK_BYTES // (8 * max(n_features, 1)))


def _power_of_two_below(x):
    """The largest power of two that is at most `x`."""
    return math.ldexp(1.0, math.frexp(x)[1] - 1)


class Scaling:
    """A shift and a power-of-two factor fitted to data.

    Attributes
    ----------
    center : ndarray of shape (n_features,) or None
        Subtracted from every row; None if nothing is subtracted.
    unit : float
        Length that becomes 1, in units of the data.
    """

    def __init__(self, center=None, unit=1.0):
        self.center = center
        self.unit = unit

    @classmethod
    def fit(cls, X, *, shift, scale):
        """Choose shift and factor for `X`.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n_samples, n_features)
            Finite data. Sparse data is never shifted.
        shift : bool
            Whether a shift of all rows leaves the distances unchanged.
        scale : bool
            Whether scaling the data scales all distances by one factor.
        """
        values = X.data if sp.issparse(X) else X
        if values.size == 0 or not (shift or scale):
            return cls()
        # Halved, so that the difference of two entries is finite in float64.
        largest = max(abs(float(values.max())), abs(float(values.min()))) / 2
        if largest == 0.0:
            return cls()
        coarse = _power_of_two_below(largest)
        if sp.issparse(X):
            return cls(None, coarse if scale else 1.0)
        mean, spread = _mean_and_spread(X, coarse)
        if spread == 0.0:
            spread = coarse
        if 2 * largest <= _WELL_PLACED * spread and _MODERATE[0] < spread < _MODERATE[1]:
            return cls()
        unit = _power_of_two_below(spread)
        center = None
        if shift:
            center = np.rint(mean / unit) * unit
            if not center.any():
                center = None
        return cls(center, unit if scale else 1.0)

    def apply(self, X, dtype):
        """Return the scaled rows as a C-contiguous array (or CSR array) of `dtype`.

        The result is a new array, except for large arrays that need no change.
        """
        if sp.issparse(X):
            Z = sp.csr_array(X, dtype=np.float64, copy=True)
            Z.sum_duplicates()
            Z.data /= self.unit
            return Z.astype(dtype)
        unchanged = self.center is None and self.unit == 1
        if unchanged and X.dtype == dtype and X.flags.c_contiguous and X.nbytes > _LARGE_BYTES:
            return X
        Z = empty_like_data(X, X.shape, dtype)
        if unchanged and dtype == np.float64 and X.dtype != np.float64:
            Z[:] = X  # other dtypes cannot exceed _REACH
            return Z
        step = _block_rows(X.shape[1])
        for start in range(0, len(X), step):
            block = X[start : start + step].astype(np.float64)
            if self.center is not None:
                block -= self.center
            block /= self.unit
            np.clip(block, -_REACH[Z.dtype], _REACH[Z.dtype], out=block)
            Z[start : start + step] = block
        return Z


def _mean_and_spread(X, coarse):
    """Column means, and the largest standard deviation of a column, in units of `X`.

    Entries are divided by `coarse` first, so that squares do not overflow or underflow.
    """
    n, n_features = X.shape
    step = _block_rows(n_features)
    blocks = [(X[start : start + step],) for start in range(0, n, step)]
    n_threads = count_threads(None)

    def total(block):
        return (block.astype(np.float64) / coarse).sum(axis=0)

    mean = sum(run_pieces(total, blocks, n_threads)) / n

    def squares(block):
        rest = block.astype(np.float64)
        rest /= coarse
        rest -= mean
        return np.einsum("ij,ij->j", rest, rest)

    largest = sum(run_pieces(squares, blocks, n_threads)).max()
    return mean * coarse, math.sqrt(largest / n) * coarse


def unit_rows(X, dtype, *, center=False):
    """Scale rows to length 1. Rows of zeros stay zero.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
    dtype : numpy dtype
    center : bool, default=False
        Whether to subtract from each row its mean first (correlation distance). Dense data only.

    Returns
    -------
    U : ndarray or csr_array of shape (n_samples, n_features)
    zero : ndarray of shape (n_samples,), bool
        Rows of length zero, which have no direction.
    """
    if sp.issparse(X):
        U = sp.csr_array(X, dtype=np.float64, copy=True)
        U.sum_duplicates()
        largest = np.asarray(abs(U).max(axis=1).todense()).ravel()
        counts = np.diff(U.indptr)
        U.data /= np.repeat(np.where(largest > 0, largest, 1.0), counts)
        norms = np.sqrt(np.asarray(U.multiply(U).sum(axis=1)).ravel())
        U.data /= np.repeat(np.where(norms > 0, norms, 1.0), counts)
        return U.astype(dtype), norms == 0
    U = empty_like_data(X, X.shape, dtype)
    zero = np.empty(len(X), bool)
    step = _block_rows(X.shape[1])
    for start in range(0, len(X), step):
        block = X[start : start + step].astype(np.float64)
        largest = np.abs(block).max(axis=1, initial=0.0)
        block /= np.where(largest > 0, largest, 1.0)[:, None]
        if center:
            block -= block.mean(axis=1, keepdims=True)
            # The centred entries of a constant row are rounding error, not a direction.
            block[np.abs(block).max(axis=1, initial=0.0) < 1e-14] = 0.0
        norms = np.sqrt(np.einsum("ij,ij->i", block, block))
        block /= np.where(norms > 0, norms, 1.0)[:, None]
        U[start : start + step] = block
        zero[start : start + step] = norms == 0
    return U, zero


def root_mean_square(values, weights=None):
    """Root of the (weighted) mean square, in float64, without overflow or underflow."""
    largest = float(values.max(initial=0.0))
    if not largest > 0:
        return 0.0
    total = 0.0
    for start in range(0, len(values), _BLOCK_NUMBERS):
        part = slice(start, start + _BLOCK_NUMBERS)
        squares = (values[part].astype(np.float64) / largest) ** 2
        total += float((squares if weights is None else squares * weights[part]).sum())
    return largest * float(np.sqrt(total / len(values)))


def scaled(values, factor, dtype):
    """``values * factor`` as an array of `dtype`, with a single rounding."""
    out = np.empty(values.shape, dtype)
    return np.multiply(values, factor, out=out, casting="unsafe")
