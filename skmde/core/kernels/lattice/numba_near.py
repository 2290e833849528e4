"""Compiled loops over the pairs of items closer than a radius: the core of a split penalty.

``softening.py`` has the mathematics. Items are sorted into cells whose side is the radius, so the
partners of an item are in its own cell and in those around it. In two dimensions, cells have the
shape (planes, 1, columns), so that the loops are the same as in three.

A piece of the work is a range of planes. It adds to the gradient of its own items and of those of
the next plane, so all even pieces may run at once, and then all odd ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, jit
from skmde.core.kernels.numba_edges import BLOCK, scatter, sum_of
from skmde.core.kernels.numba_maps import evaluate


@jit()
def sort_by_cell(X: Any, low: Any, side: float, shape: Any, cells: Any, starts: Any) -> Any:
    """Order of the items by cell.

    Parameters
    ----------
    X : array of shape (n, m)
        Positions, m = 2 or 3.
    low : array of shape (m,)
        Corner of the cells' box.
    side : float
        Side of a cell.
    shape : tuple of 3 int
        Numbers of planes, rows and columns.
    cells : array of shape (n,), int64
        Receives the cell of each item, in the order that is returned.
    starts : array of shape (n_cells + 1,), int64
        Receives the first position of each cell.

    Returns
    -------
    order : array of shape (n,), int64
    """
    n, m = X.shape
    own = np.empty(n, np.int64)
    starts[:] = 0
    for i in range(n):
        plane = min(max(int((X[i, 0] - low[0]) / side), 0), shape[0] - 1)
        row = 0
        if m == 3:
            row = min(max(int((X[i, 1] - low[1]) / side), 0), shape[1] - 1)
        column = min(max(int((X[i, m - 1] - low[m - 1]) / side), 0), shape[2] - 1)
        own[i] = (plane * shape[1] + row) * shape[2] + column
        starts[own[i] + 1] += 1
    for c in range(starts.shape[0] - 1):
        starts[c + 1] += starts[c]
    place, order = starts[:-1].copy(), np.empty(n, np.int64)
    for i in range(n):
        k = place[own[i]]
        order[k], cells[k] = i, own[i]
        place[own[i]] += 1
    return order


@jit(fastmath=CONTRACT)
def soft_polynomial(coefficients: Any, y: Any) -> Any:
    """The polynomial of the soft part, its derivative, and half of its second derivative."""
    top = coefficients.shape[0] - 1
    p, dp, ddp = coefficients[top], 0 * y, 0 * y
    for e in range(top - 1, -1, -1):
        ddp = ddp * y + dp
        dp = dp * y + p
        p = p * y + coefficients[e]
    return p, dp, ddp


@jit(fastmath=CONTRACT)
def _add_cores(
    kind: int,
    params: Any,
    coefficients: Any,
    square: Any,
    X: Any,
    ours: Any,
    theirs: Any,
    w: Any,
    d2: Any,
    d: Any,
    D: Any,
    value: Any,
    slope: Any,
    G: Any,
) -> float:
    """Add the gradient of the cores of some pairs, and return the sum of the cores."""
    f = d2.dtype.type
    evaluate(kind, params, w, w, d2, d, D, value, slope)
    inverse = f(1) / square
    twice = f(2) * inverse
    for k in range(d2.shape[0]):
        p, dp, _ = soft_polynomial(coefficients, d2[k] * inverse - f(1))
        value[k] -= w[k] * p
        slope[k] -= w[k] * twice * dp
    scatter(X, ours, theirs, slope, G)
    return sum_of(value)


@jit(fastmath=CONTRACT)
def add_near_pairs(
    kind: int,
    params: Any,
    coefficients: Any,
    radius: Any,
    X: Any,
    charges: Any,
    cells: Any,
    starts: Any,
    shape: Any,
    first: int,
    last: int,
    G: Any,
) -> float:
    """Add the gradient of the cores of pairs whose first item is in the planes ``first:last``.

    Parameters
    ----------
    kind, params : int and array of shape (2,)
        The penalty.
    coefficients : array
        Of the soft part.
    radius : float
    X : array of shape (n, m)
        Positions, sorted by cell.
    charges : array of shape (n,)
    cells, starts, shape : arrays and tuple
        From `sort_by_cell`.
    first, last : int
    G : array of shape (n, m)

    Returns
    -------
    energy : float
        Sum of the cores.
    """
    m, square = X.shape[1], radius * radius
    d2, w = np.empty(BLOCK, X.dtype), np.empty(BLOCK, X.dtype)
    d, D = np.empty(BLOCK, X.dtype), np.empty(BLOCK, X.dtype)
    value, slope = np.empty(BLOCK, X.dtype), np.empty(BLOCK, X.dtype)
    ours, theirs = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    count, total = 0, 0.0
    size = shape[1] * shape[2]
    for i in range(starts[first * size], starts[last * size]):
        plane, within = cells[i] // size, cells[i] % size
        row, column = within // shape[2], within % shape[2]
        left, right = max(column - 1, 0), min(column + 1, shape[2] - 1)
        for step in range(5):  # this row, the next one, and three of the next plane
            p = plane + (step > 1)
            r = row + (step if step < 2 else step - 3)
            if p >= shape[0] or r < 0 or r >= shape[1]:
                continue
            line = (p * shape[1] + r) * shape[2]
            start = i + 1 if step == 0 else starts[line + left]
            for j in range(start, starts[line + right + 1]):
                x, y = X[i, 0] - X[j, 0], X[i, 1] - X[j, 1]
                s = x * x + y * y
                if m == 3:
                    z = X[i, 2] - X[j, 2]
                    s += z * z
                if s < square:
                    ours[count], theirs[count] = i, j
                    d2[count], w[count] = s, charges[i] * charges[j]
                    count += 1
                    if count == BLOCK:
                        total += _add_cores(
                            kind, params, coefficients, square, X, ours, theirs, w, d2, d, D,
                            value, slope, G,
                        )  # fmt: skip
                        count = 0
    if count:
        c = count
        total += _add_cores(
            kind, params, coefficients, square, X, ours[:c], theirs[:c], w[:c], d2[:c], d[:c],
            D[:c], value[:c], slope[:c], G,
        )  # fmt: skip
    return total
