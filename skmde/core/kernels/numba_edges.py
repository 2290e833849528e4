"""Fused CPU kernels: value and gradient of the average distortion.

Edges are processed in blocks that fit in the first-level cache, in three steps: compute squared
distances, map them to (value, slope) in a separate loop (``numba_maps.py``), and add the forces to
the gradient. Each *piece* of the edge list has a gradient of its own. The gradients are then
summed in order, so the result does not depend on which thread processes which piece. Timings:
``benchmarks/kernel.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, REASSOCIATE, jit
from skmde.core.kernels.numba_maps import evaluate

BLOCK = 256  # edges; seven arrays of this length stay in a 32 kB cache
ROW_BLOCK = 2048  # pairs of one item; their memory is contiguous, so second-level cache suffices
CHUNK = 8192  # entries of a long vector that `collect` sums at a time


@jit(fastmath=REASSOCIATE)
def sum_of(values: Any) -> float:
    # float64 costs no time here. Near a minimum, rounding errors make the line search stop.
    total = 0.0
    for k in range(values.shape[0]):
        total += np.float64(values[k])
    return total


@jit(fastmath=CONTRACT)
def squared_lengths(X: Any, i: Any, j: Any, d2: Any) -> None:
    """Squared embedding distances of pairs, at most the largest finite number."""
    m = X.shape[1]
    limit = np.finfo(X.dtype).max
    if m == 2:
        for k in range(i.shape[0]):
            a, b = np.uintp(i[k]), np.uintp(j[k])
            x, y = X[a, 0] - X[b, 0], X[a, 1] - X[b, 1]
            d2[k] = min(x * x + y * y, limit)
    elif m == 3:
        for k in range(i.shape[0]):
            a, b = np.uintp(i[k]), np.uintp(j[k])
            x, y, z = X[a, 0] - X[b, 0], X[a, 1] - X[b, 1], X[a, 2] - X[b, 2]
            d2[k] = min(x * x + y * y + z * z, limit)
    else:
        for k in range(i.shape[0]):
            d2[k] = min(_squared_distance(X[np.uintp(i[k])], X[np.uintp(j[k])]), limit)


@jit(fastmath=REASSOCIATE)
def _squared_distance(x: Any, y: Any) -> Any:
    total = x.dtype.type(0)
    for c in range(x.shape[0]):
        e = x[c] - y[c]
        total += e * e
    return total


@jit(fastmath=CONTRACT)
def scatter(X: Any, i: Any, j: Any, slope: Any, G: Any) -> None:
    """Add slope (x_i - x_j) to row i of G and subtract it from row j.

    Edges are sorted by i, so the sum of row i stays in registers until i changes.
    """
    m = X.shape[1]
    if m == 2:
        row = np.uintp(i[0])
        s0 = s1 = X.dtype.type(0)
        for k in range(i.shape[0]):
            a, b = np.uintp(i[k]), np.uintp(j[k])
            if a != row:
                G[row, 0] += s0
                G[row, 1] += s1
                s0 = s1 = X.dtype.type(0)
                row = a
            x, y = slope[k] * (X[a, 0] - X[b, 0]), slope[k] * (X[a, 1] - X[b, 1])
            s0 += x
            s1 += y
            G[b, 0] -= x
            G[b, 1] -= y
        G[row, 0] += s0
        G[row, 1] += s1
    elif m == 3:
        for k in range(i.shape[0]):
            a, b = np.uintp(i[k]), np.uintp(j[k])
            for c in range(3):
                x = slope[k] * (X[a, c] - X[b, c])
                G[a, c] += x
                G[b, c] -= x
    else:
        for k in range(i.shape[0]):
            a, b = np.uintp(i[k]), np.uintp(j[k])
            s = slope[k]
            for c in range(m):
                x = s * (X[a, c] - X[b, c])
                G[a, c] += x
                G[b, c] -= x


@jit(fastmath=CONTRACT)
def add_edges(
    kind: int,
    params: Any,
    X: Any,
    i: Any,
    j: Any,
    w: Any,
    delta: Any,
    start: int,
    stop: int,
    G: Any,
) -> float:
    """Add the gradient of the edges ``start:stop`` to `G` and return the sum of their values.

    For losses, `delta` holds the original distances. For penalties it is not read and may be `w`.
    """
    d2 = np.empty(BLOCK, X.dtype)
    d = np.empty(BLOCK, X.dtype)
    D = np.empty(BLOCK, X.dtype)
    value = np.empty(BLOCK, X.dtype)
    slope = np.empty(BLOCK, X.dtype)
    total = 0.0
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        c = last - first
        squared_lengths(X, i[first:last], j[first:last], d2[:c])
        evaluate(
            kind,
            params,
            w[first:last],
            delta[first:last],
            d2[:c],
            d[:c],
            D[:c],
            value[:c],
            slope[:c],
        )
        total += sum_of(value[:c])
        scatter(X, i[first:last], j[first:last], slope[:c], G)
    return total


@jit()
def _halves(count: int) -> Any:
    """Which part is added to which, one after the other, to add up each half before the whole."""
    steps = np.empty((count - 1, 2), np.int64)
    left, stack = count - 1, [(0, count)]
    while stack:
        low, high = stack.pop()
        if high - low > 1:
            middle = (low + high) // 2
            left -= 1
            steps[left, 0], steps[left, 1] = low, middle
            stack.append((low, middle))
            stack.append((middle, high))
    return steps


@jit()
def collect(parts: Any, scale: float, start: int, stop: int, out: Any) -> None:
    """``out = scale * sum(parts)`` for flat positions ``start:stop``; sets the parts to 0.

    Each half of the parts is added up before the whole, and so are its halves. So two, four or
    eight processes, which add up some of the parts each, get the same bits.
    """
    factor, steps = out.dtype.type(scale), _halves(parts.shape[0])
    for first in range(start, stop, CHUNK):
        last = min(first + CHUNK, stop)
        for q in range(steps.shape[0]):
            to, other = parts[steps[q, 0]], parts[steps[q, 1]]
            for k in range(first, last):
                to[k] += other[k]
                other[k] = 0
        for k in range(first, last):
            out[k] = parts[0, k] * factor
            parts[0, k] = 0


@jit(fastmath=CONTRACT)
def _row_squares(XT: Any, i: int, first: int, last: int, d2: Any) -> None:
    """Squared distances from item `i` to the items ``first:last``."""
    limit = np.finfo(XT.dtype).max
    if XT.shape[0] == 2:
        a, b, x, y = XT[0, i], XT[1, i], XT[0, first:last], XT[1, first:last]
        for k in range(d2.shape[0]):
            u, v = x[k] - a, y[k] - b
            d2[k] = min(u * u + v * v, limit)
        return
    d2[:] = 0
    for c in range(XT.shape[0]):
        a, x = XT[c, i], XT[c, first:last]
        for k in range(d2.shape[0]):
            u = x[k] - a
            d2[k] += u * u
    for k in range(d2.shape[0]):
        d2[k] = min(d2[k], limit)


@jit(fastmath=REASSOCIATE)
def _row_forces(a: Any, x: Any, slope: Any, g: Any) -> Any:
    """Subtract the force slope (a - x) from each entry of `g`; return the sum of the forces."""
    total = x.dtype.type(0)
    for k in range(x.shape[0]):
        force = slope[k] * (a - x[k])
        g[k] -= force
        total += force
    return total


@jit(fastmath=CONTRACT)
def add_all_pairs(
    kind: int, params: Any, XT: Any, w: Any, delta: Any, start: int, stop: int, GT: Any
) -> float:
    """Like `add_edges`, but for all pairs ``i < j`` with i in ``start:stop``, without index arrays.

    `XT` and `GT` have shape (m, n), so that all loops run over contiguous memory. `w` and `delta`
    hold all pairs row by row. An empty `w` means that all weights are 1; an empty `delta` is not
    read.
    """
    m, n = XT.shape
    d2 = np.empty(ROW_BLOCK, XT.dtype)
    d = np.empty(ROW_BLOCK, XT.dtype)
    D = np.empty(ROW_BLOCK, XT.dtype)
    value = np.empty(ROW_BLOCK, XT.dtype)
    slope = np.empty(ROW_BLOCK, XT.dtype)
    ones = np.ones(ROW_BLOCK, XT.dtype)
    total = 0.0
    for i in range(start, stop):
        own = i * (2 * n - i - 1) // 2 - i - 1  # the pair (i, j) has index own + j
        for first in range(i + 1, n, ROW_BLOCK):
            last = min(first + ROW_BLOCK, n)
            c = last - first
            weights = w[own + first : own + last] if w.shape[0] else ones[:c]
            targets = delta[own + first : own + last] if delta.shape[0] else ones[:c]
            _row_squares(XT, i, first, last, d2[:c])
            evaluate(kind, params, weights, targets, d2[:c], d[:c], D[:c], value[:c], slope[:c])
            total += sum_of(value[:c])
            for q in range(m):
                GT[q, i] += _row_forces(XT[q, i], XT[q, first:last], slope[:c], GT[q, first:last])
    return total


@jit(fastmath=CONTRACT)
def add_later_pairs(
    kind: int, params: Any, XT: Any, charges: Any, stops: Any, start: int, stop: int, GT: Any
) -> float:
    """Like `add_all_pairs`, for the pairs (i, j) with ``j >= stops[i]``; penalties only.

    The weight of a pair is the product of its items' charges. ``stops[i]`` is larger than i.
    """
    m, n = XT.shape
    d2 = np.empty(ROW_BLOCK, XT.dtype)
    d = np.empty(ROW_BLOCK, XT.dtype)
    D = np.empty(ROW_BLOCK, XT.dtype)
    w = np.empty(ROW_BLOCK, XT.dtype)
    value = np.empty(ROW_BLOCK, XT.dtype)
    slope = np.empty(ROW_BLOCK, XT.dtype)
    total = 0.0
    for i in range(start, stop):
        for first in range(stops[i], n, ROW_BLOCK):
            last = min(first + ROW_BLOCK, n)
            c = last - first
            others = charges[first:last]
            for k in range(c):
                w[k] = charges[i] * others[k]
            _row_squares(XT, i, first, last, d2[:c])
            evaluate(kind, params, w[:c], w[:c], d2[:c], d[:c], D[:c], value[:c], slope[:c])
            total += sum_of(value[:c])
            for q in range(m):
                GT[q, i] += _row_forces(XT[q, i], XT[q, first:last], slope[:c], GT[q, first:last])
    return total
