"""Compiled sums over long vectors, with the same bits for any number of threads.

A caller splits vectors into pieces, whose number depends only on the length, and adds the results
of the pieces in order. Within a piece, runs of `RUN` numbers are summed in their own precision with
SIMD instructions. The sums of the runs are added in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, REASSOCIATE, jit

RUN = 1024  # numbers per run; a run stays in the cache while it is combined with other vectors


@jit(fastmath=REASSOCIATE)
def _two_dots(h: Any, g: Any, y: Any) -> Any:
    a = b = h.dtype.type(0)
    for k in range(h.shape[0]):
        a += h[k] * g[k]
        b += h[k] * y[k]
    return np.float64(a), np.float64(b)


@jit()
def history_dots(H: Any, g: Any, y: Any, start: int, stop: int, out: Any) -> None:
    """Inner products of every row of `H` with `g` and with `y`, over ``start:stop``.

    Runs of `RUN` numbers are summed in their own precision with SIMD instructions. The sums of the
    runs are added in float64.
    """
    out[:] = 0.0
    for first in range(start, stop, RUN):
        last = min(first + RUN, stop)
        for r in range(H.shape[0]):
            a, b = _two_dots(H[r, first:last], g[first:last], y[first:last])
            out[r, 0] += a
            out[r, 1] += b


@jit(fastmath=CONTRACT)
def _accumulate_multiple(c: Any, h: Any, out: Any) -> None:
    for k in range(h.shape[0]):
        out[k] += c * h[k]


@jit(fastmath=CONTRACT)
def combine(
    H: Any, coefficients: Any, g: Any, scale: float, start: int, stop: int, out: Any
) -> None:
    """``out = coefficients @ H + scale * g`` for positions ``start:stop``."""
    factor = out.dtype.type(scale)
    for first in range(start, stop, RUN):
        last = min(first + RUN, stop)
        for k in range(first, last):
            out[k] = factor * g[k]
        for r in range(H.shape[0]):
            c = out.dtype.type(coefficients[r])
            if c != 0:
                _accumulate_multiple(c, H[r, first:last], out[first:last])


@jit(fastmath=REASSOCIATE)
def _dot_run(a: Any, b: Any) -> float:
    total = a.dtype.type(0)
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return np.float64(total)


@jit(fastmath=REASSOCIATE)
def _four_dots(a: Any, b0: Any, b1: Any, b2: Any, b3: Any) -> Any:
    s0 = s1 = s2 = s3 = a.dtype.type(0)
    for k in range(a.shape[0]):
        x = a[k]
        s0 += x * b0[k]
        s1 += x * b1[k]
        s2 += x * b2[k]
        s3 += x * b3[k]
    return s0, s1, s2, s3


@jit()
def row_products(A: Any, B: Any, lower: bool, start: int, stop: int, out: Any) -> None:
    """Inner products of the rows of `A` with the rows of `B`, over ``start:stop``.

    With `lower`, only the products on and below the diagonal are computed.
    """
    out[:] = 0.0
    for first in range(start, stop, RUN):
        last = min(first + RUN, stop)
        for r in range(A.shape[0]):
            a, count = A[r, first:last], r + 1 if lower else B.shape[0]
            fours = count - count % 4
            for q in range(0, fours, 4):
                b0, b1 = B[q, first:last], B[q + 1, first:last]
                b2, b3 = B[q + 2, first:last], B[q + 3, first:last]
                s0, s1, s2, s3 = _four_dots(a, b0, b1, b2, b3)
                out[r, q] += s0
                out[r, q + 1] += s1
                out[r, q + 2] += s2
                out[r, q + 3] += s3
            for q in range(fours, count):
                out[r, q] += _dot_run(a, B[q, first:last])


@jit()
def row_combinations(coefficients: Any, A: Any, start: int, stop: int, out: Any) -> None:
    """``out = coefficients @ A`` for positions ``start:stop``."""
    for first in range(start, stop, RUN):
        last = min(first + RUN, stop)
        for q in range(coefficients.shape[0]):
            out[q, first:last] = 0
            for r in range(A.shape[0]):
                if coefficients[q, r] != 0:
                    _accumulate_multiple(coefficients[q, r], A[r, first:last], out[q, first:last])


@jit(fastmath=CONTRACT)
def momentum_step(
    X: Any,
    velocity: Any,
    gains: Any,
    gradient: Any,
    size: float,
    momentum: float,
    longest: float,
    out: Any,
) -> None:
    """One step of gradient descent with momentum and a gain for each coordinate, into `out`.

    A gain rises by 0.2 while the coordinate keeps its direction, and falls by a fifth when it
    turns (Jacobs 1988, the rule of t-SNE). Rows of the velocity that are longer than `longest`
    are shortened to it. All arrays have shape (n, m).
    """
    f = out.dtype.type
    rate, decay, least = f(size), f(momentum), f(0.01)
    rise, fall, zero = f(0.2), f(0.8), f(0)
    for r in range(X.shape[0]):
        squares = 0.0
        for c in range(X.shape[1]):
            g, v = gradient[r, c], velocity[r, c]
            gain = gains[r, c]
            gain = max(gain + rise if g * v < zero else gain * fall, least)
            v = decay * v - rate * gain * g
            gains[r, c] = gain
            velocity[r, c] = v
            squares += np.float64(v) * np.float64(v)
        length = np.sqrt(squares)
        factor = f(longest / length if length > longest else 1.0)
        for c in range(X.shape[1]):
            velocity[r, c] *= factor
            out[r, c] = X[r, c] + velocity[r, c]
