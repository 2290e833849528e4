"""Compiled loops between points and a lattice: spread charges, read a potential and its gradient.

The lattice is two-dimensional. Positions are in units of its spacing, counted from node (0, 0). A
B-spline of degree 3 or 5 joins a point to the 4 x 4 or 6 x 6 nodes around it;
``core/kernels/lattice/convolution.py`` has the mathematics.

Points are sorted into *stripes* of `STRIPE` rows of nodes. The nodes of a point lie in its own
stripe and in the next one at most. So several threads can spread the points of all even stripes at
once, and then those of all odd ones. Within a stripe the points keep their order, so the bits of a
sum do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, jit

STRIPE = 8  # rows of nodes; at least the number of nodes that a spline spans


@jit()
def sort_by_stripe(U: Any, order: Any, bounds: Any) -> None:
    """Sort points by stripe: those of stripe s are ``order[bounds[s]:bounds[s + 1]]``.

    Parameters
    ----------
    U : array of shape (n, 2)
        Positions.
    order : array of shape (n,), int32
        Receives the indices of the points.
    bounds : array of shape (n_stripes + 1,), int64
        Receives the first position of each stripe.
    """
    bounds[:] = 0
    for i in range(U.shape[0]):
        bounds[int(U[i, 0]) // STRIPE + 1] += 1
    for s in range(bounds.shape[0] - 1):
        bounds[s + 1] += bounds[s]
    place = bounds[:-1].copy()
    for i in range(U.shape[0]):
        s = int(U[i, 0]) // STRIPE
        order[place[s]] = i
        place[s] += 1


@jit(fastmath=CONTRACT)
def cubic(t: Any, f: Any) -> Any:
    """Weights of the 4 nodes around a point at distance `t` in [0, 1) from the second one."""
    u, sixth, third = f(1) - t, f(1 / 6), f(2 / 3)
    a, d = sixth * u * u * u, sixth * t * t * t
    b = third - t * t * (f(1) - f(0.5) * t)
    return a, b, f(1) - a - b - d, d


@jit(fastmath=CONTRACT)
def cubic_slopes(t: Any, f: Any) -> Any:
    """Derivatives of `cubic`."""
    u, half = f(1) - t, f(0.5)
    a, d = -half * u * u, half * t * t
    b = t * (f(1.5) * t - f(2))
    return a, b, -a - b - d, d


@jit(fastmath=CONTRACT)
def quintic(t: Any, f: Any) -> Any:
    """Weights of the 6 nodes around a point at distance `t` in [0, 1) from the third one."""
    u = f(1) - t
    x, y, scale = t * t, u * u, f(1 / 120)
    a, e = scale * y * y * u, scale * x * x * t
    c = f(11 / 20) + x * (f(-1 / 2) + x * (f(1 / 4) - t * f(1 / 12)))
    d = f(11 / 20) + y * (f(-1 / 2) + y * (f(1 / 4) - u * f(1 / 12)))
    p = f(1) + t
    b = f(17 / 40) + p * (
        f(5 / 8) + p * (f(-7 / 4) + p * (f(5 / 4) + p * (f(-3 / 8) + p * f(1 / 24))))
    )
    return a, b, c, d, f(1) - a - b - c - d - e, e


@jit(fastmath=CONTRACT)
def quintic_slopes(t: Any, f: Any) -> Any:
    """Derivatives of `quintic`."""
    u = f(1) - t
    x, y, scale = t * t, u * u, f(1 / 24)
    a, e = -scale * y * y, scale * x * x
    c = t * (f(-1) + x * (f(1) - t * f(5 / 12)))
    d = -u * (f(-1) + y * (f(1) - u * f(5 / 12)))
    p = f(1) + t
    b = f(5 / 8) + p * (f(-7 / 2) + p * (f(15 / 4) + p * (f(-3 / 2) + p * f(5 / 24))))
    return a, b, c, d, -a - b - c - d - e, e


@jit(fastmath=CONTRACT)
def quintic_curvatures(t: Any, f: Any) -> Any:
    """Second derivatives of `quintic`."""
    u = f(1) - t
    x, y = t * t, u * u
    a, e = f(1 / 6) * y * u, f(1 / 6) * x * t
    c = f(-1) + x * (f(3) - t * f(5 / 3))
    d = f(-1) + y * (f(3) - u * f(5 / 3))
    p = f(1) + t
    b = f(-7 / 2) + p * (f(15 / 2) + p * (f(-9 / 2) + p * f(5 / 6)))
    return a, b, c, d, -a - b - c - d - e, e


@jit(fastmath=CONTRACT)
def _deposit(Q: Any, r: int, c: int, charge: Any, rows: Any, columns: Any) -> None:
    """Add a point's charge to the nodes from (r, c) on."""
    for a in range(len(rows)):
        line, weight = Q[r + a], charge * rows[a]
        for b in range(len(columns)):
            line[c + b] += weight * columns[b]


@jit(fastmath=CONTRACT)
def spread(degree: int, U: Any, charges: Any, order: Any, start: int, stop: int, Q: Any) -> None:
    """Add the charges of the points ``order[start:stop]`` to the nodes `Q`."""
    f = Q.dtype.type
    for k in range(start, stop):
        i = np.uintp(order[k])
        r, c = int(U[i, 0]), int(U[i, 1])
        t, u = U[i, 0] - f(r), U[i, 1] - f(c)
        if degree == 3:
            _deposit(Q, r - 1, c - 1, charges[i], cubic(t, f), cubic(u, f))
        else:
            _deposit(Q, r - 2, c - 2, charges[i], quintic(t, f), quintic(u, f))


@jit(fastmath=CONTRACT)
def _read(P: Any, r: int, c: int, rows: Any, drows: Any, columns: Any, dcolumns: Any) -> Any:
    """Potential at a point, and its two derivatives, from the nodes from (r, c) on."""
    zero = P.dtype.type(0)
    value, slope0, slope1 = zero, zero, zero
    for a in range(len(rows)):
        line = P[r + a]
        along, dalong = zero, zero
        for b in range(len(columns)):
            x = line[c + b]
            along += columns[b] * x
            dalong += dcolumns[b] * x
        value += rows[a] * along
        slope0 += drows[a] * along
        slope1 += rows[a] * dalong
    return value, slope0, slope1


@jit(fastmath=CONTRACT)
def _own(C: Any, t: Any, u: Any, weights: Any) -> Any:
    """Potential of a point's own unit charge at the point, and half of its two derivatives.

    `C` is from ``splines.own_polynomial``. Of `weights`, only the length is used.
    """
    f = C.dtype.type
    one, last = f(1), len(weights) - 1
    y, z = t * (one - t), u * (one - u)
    value, slope0, slope1 = f(0), f(0), f(0)
    for a in range(last, -1, -1):
        row = C[a]
        along, dalong = row[last], f(0)
        for b in range(last - 1, -1, -1):
            dalong = dalong * z + along
            along = along * z + row[b]
        slope0 = slope0 * y + value
        value = value * y + along
        slope1 = slope1 * y + dalong
    half = f(0.5)
    return value, (half - t) * slope0, (half - u) * slope1


@jit(fastmath=CONTRACT)
def gather(
    degree: int,
    U: Any,
    charges: Any,
    order: Any,
    start: int,
    stop: int,
    P: Any,
    own_part: Any,
    scale: Any,
    G: Any,
) -> float:
    """Energy of the points ``order[start:stop]`` in the potential of all other points.

    Parameters
    ----------
    degree : int
        3 or 5.
    U : array of shape (n, 2)
        Positions.
    charges : array of shape (n,)
    order : array of shape (n,), int32
        See `sort_by_stripe`.
    start, stop : int
        Range of `order`.
    P : array
        Potential of all points at the nodes, a coefficient of the spline for each node.
    own_part : array of shape (degree + 1, degree + 1)
        Polynomial of the potential of a charge at its own place; see ``splines.py``.
    scale : float
        Multiplies the gradient.
    G : array of shape (n, 2)
        Receives the gradient of the energy of all pairs with respect to the position.

    Returns
    -------
    energy : float
        Sum of charge times potential. Each pair is counted twice if the range is all of `order`.
    """
    f = P.dtype.type
    total = 0.0
    for k in range(start, stop):
        i = np.uintp(order[k])
        r, c = int(U[i, 0]), int(U[i, 1])
        t, u = U[i, 0] - f(r), U[i, 1] - f(c)
        if degree == 3:
            rows, drows = cubic(t, f), cubic_slopes(t, f)
            columns, dcolumns = cubic(u, f), cubic_slopes(u, f)
            value, g0, g1 = _read(P, r - 1, c - 1, rows, drows, columns, dcolumns)
            own, h0, h1 = _own(own_part, t, u, rows)
        else:
            rows5, drows5 = quintic(t, f), quintic_slopes(t, f)
            columns5, dcolumns5 = quintic(u, f), quintic_slopes(u, f)
            value, g0, g1 = _read(P, r - 2, c - 2, rows5, drows5, columns5, dcolumns5)
            own, h0, h1 = _own(own_part, t, u, rows5)
        q = charges[i]
        total += q * (value - q * own)
        G[i, 0] = scale * q * (g0 - q * h0)
        G[i, 1] = scale * q * (g1 - q * h1)
    return total


@jit(fastmath=CONTRACT)
def read_expansion(P: Any, U: Any, out: Any) -> None:
    """Potential, gradient and Hessian at places, from the coefficients of a spline of degree 5.

    Parameters
    ----------
    P : array
        One coefficient for each node, float64.
    U : array of shape (q, 2)
        Places, in units of the spacing from node (0, 0); at least 3 nodes within the lattice.
    out : array of shape (q, 6)
        Receives the potential, its two derivatives, and its second derivatives 00, 01 and 11, in
        units of the spacing.
    """
    f = np.float64
    for i in range(U.shape[0]):
        r, c = int(U[i, 0]), int(U[i, 1])
        t, u = U[i, 0] - r, U[i, 1] - c
        w, dw, ddw = quintic(t, f), quintic_slopes(t, f), quintic_curvatures(t, f)
        v, dv, ddv = quintic(u, f), quintic_slopes(u, f), quintic_curvatures(u, f)
        p = p0 = p1 = p00 = p01 = p11 = 0.0
        for a in range(6):
            along = dalong = ddalong = 0.0
            for b in range(6):
                x = P[r - 2 + a, c - 2 + b]
                along += v[b] * x
                dalong += dv[b] * x
                ddalong += ddv[b] * x
            p += w[a] * along
            p0 += dw[a] * along
            p1 += w[a] * dalong
            p00 += ddw[a] * along
            p01 += dw[a] * dalong
            p11 += w[a] * ddalong
        out[i, 0], out[i, 1], out[i, 2] = p, p0, p1
        out[i, 3], out[i, 4], out[i, 5] = p00, p01, p11
