"""Sums over items, and sums of arrays, with the same bits for any number of threads.

torch and BLAS split long sums into one piece per thread, so their last bits depend on the number
of threads. The solver and the constraints need sums that do not. On the CPU, this module computes
them in float64, in an order that depends only on the shape. On other devices it uses torch
operations, and does not copy results to the host.

All arrays are ``(n, m)`` or flat, float32 or float64, and C-contiguous on the CPU.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from skmde._utils.device import empty, is_cpu
from skmde._utils.jit import CONTRACT, REASSOCIATE, jit
from skmde._utils.threads import count_threads, run_pieces

_PRODUCTS_PER_PIECE = 1 << 23  # about a millisecond


@jit(fastmath=REASSOCIATE)
def _dot(a: Any, b: Any) -> float:
    total = 0.0
    for k in range(a.shape[0]):
        total += np.float64(a[k]) * np.float64(b[k])
    return total


@jit(fastmath=REASSOCIATE)
def _gram(a: Any, b: Any) -> Any:
    n, m = a.shape
    q = b.shape[1]
    out = np.zeros((m, q))
    if m == 2 and q == 2:
        s00 = s01 = s10 = s11 = 0.0
        for r in range(n):
            a0, a1 = np.float64(a[r, 0]), np.float64(a[r, 1])
            b0, b1 = np.float64(b[r, 0]), np.float64(b[r, 1])
            s00 += a0 * b0
            s01 += a0 * b1
            s10 += a1 * b0
            s11 += a1 * b1
        out[0, 0], out[0, 1], out[1, 0], out[1, 1] = s00, s01, s10, s11
        return out
    # Four rows at a time: each entry of the result is read and written a quarter as often.
    whole = n - n % 4
    rows = np.empty((4, q))
    for r in range(0, whole, 4):
        for s in range(4):
            for e in range(q):
                rows[s, e] = b[r + s, e]
        for c in range(m):
            x0, x1 = np.float64(a[r, c]), np.float64(a[r + 1, c])
            x2, x3 = np.float64(a[r + 2, c]), np.float64(a[r + 3, c])
            for e in range(q):
                out[c, e] += x0 * rows[0, e] + x1 * rows[1, e] + x2 * rows[2, e] + x3 * rows[3, e]
    for r in range(whole, n):
        for c in range(m):
            x = np.float64(a[r, c])
            for e in range(q):
                out[c, e] += x * b[r, e]
    return out


@jit(fastmath=REASSOCIATE)
def _column_sums(a: Any) -> Any:
    n, m = a.shape
    out = np.zeros(m)
    if m == 2:
        s0 = s1 = 0.0
        for r in range(n):
            s0 += np.float64(a[r, 0])
            s1 += np.float64(a[r, 1])
        out[0], out[1] = s0, s1
        return out
    for r in range(n):
        for c in range(m):
            out[c] += np.float64(a[r, c])
    return out


def _flat(tensor: torch.Tensor) -> Any:
    return tensor.detach().reshape(-1).numpy()


def _matrix(tensor: torch.Tensor) -> Any:
    return tensor.detach().contiguous().numpy()


@jit(fastmath=CONTRACT)
def _add_multiple(a: Any, b: Any, factor: float, out: Any) -> None:
    f = out.dtype.type(factor)
    for k in range(a.shape[0]):
        out[k] = a[k] + f * b[k]


def add_multiple(
    a: torch.Tensor,
    b: torch.Tensor,
    factor: float | torch.Tensor,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``a + factor * b`` for contiguous tensors of the same shape.

    A factor that is a scalar tensor is not copied from its device.

    On the CPU it uses a single thread. The threads of torch would keep spinning for a while and
    occupy the cores that the solver's own threads need next.
    """
    if out is None:
        out = empty(a.shape, a)
    if is_cpu(a):
        _add_multiple(_flat(a), _flat(b), float(factor), _flat(out))
        return out
    if isinstance(factor, torch.Tensor):
        return torch.addcmul(a, b, factor.to(b.dtype), out=out)
    return torch.add(a, b, alpha=factor, out=out)


def dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Inner product of two tensors of the same shape, as a float64 scalar tensor."""
    if is_cpu(a):
        return torch.tensor(_dot(_flat(a), _flat(b)), dtype=torch.float64)
    return torch.sum(a * b, dtype=torch.float64)


def gram(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a.T @ b`` for ``a`` of shape (n, m) and ``b`` of shape (n, q), in float64."""
    if is_cpu(a):
        x, y = _matrix(a), _matrix(b)
        n, m = x.shape
        size = max(_PRODUCTS_PER_PIECE // max(m * y.shape[1], 1), 1)
        pieces = [(x[k : k + size], y[k : k + size]) for k in range(0, n, size)]
        total = np.zeros((m, y.shape[1]))
        for part in run_pieces(_gram, pieces, count_threads()):
            total += part
        return torch.from_numpy(total)
    return a.double().T @ b.double()


def column_means(a: torch.Tensor) -> torch.Tensor:
    """Mean of each column of ``a``, shape (m,), in float64."""
    if is_cpu(a):
        return torch.from_numpy(_column_sums(_matrix(a)) / max(a.shape[0], 1))
    return a.mean(dim=0, dtype=torch.float64)


@jit(fastmath=CONTRACT)
def _shorten_rows(a: Any, longest: float, out: Any) -> None:
    for r in range(a.shape[0]):
        squares = 0.0
        for c in range(a.shape[1]):
            squares += np.float64(a[r, c]) ** 2
        length = np.sqrt(squares)
        factor = out.dtype.type(longest / length if length > longest else 1.0)
        for c in range(a.shape[1]):
            out[r, c] = factor * a[r, c]


def quantile_of_lengths(a: torch.Tensor, share: float) -> torch.Tensor:
    """The smallest Euclidean length that at least a share of the rows of ``a`` do not exceed.

    A scalar tensor.
    """
    lengths = torch.linalg.vector_norm(a, dim=1)
    rank = max(1, math.ceil(share * len(lengths)))
    if is_cpu(a):
        return lengths.kthvalue(rank).values
    # A GPU selects by one of its multiprocessors, and torch refuses this in deterministic mode.
    return lengths.sort().values[rank - 1]


def shorten_rows(a: torch.Tensor, longest: float) -> torch.Tensor:
    """A copy of ``a`` whose rows have at most the Euclidean length `longest`."""
    if is_cpu(a):
        out = empty(a.shape, a)
        _shorten_rows(_matrix(a), longest, _matrix(out))
        return out
    lengths = torch.linalg.vector_norm(a, dim=1, keepdim=True)
    return a * (longest / lengths).clamp(max=1.0)


def bounding_box(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest entry of each column, in a tenth of the time of ``X.min(axis=0)``.

    numpy reduces the first axis of an array with few columns row by row.

    Parameters
    ----------
    X : array of shape (n, m)
        With n > 0. NaN in a column gives NaN.

    Returns
    -------
    low, high : arrays of shape (m,)
    """
    low, high = ([reduced(x) for x in X.T] for reduced in (np.min, np.max))
    return np.array(low, X.dtype), np.array(high, X.dtype)
