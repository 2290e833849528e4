"""Compiled loops between points and a lattice of three dimensions.

They are those of ``numba_loops.py``, which has the notation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, jit
from skmde.core.kernels.lattice.numba_loops import (
    cubic,
    cubic_slopes,
    quintic,
    quintic_curvatures,
    quintic_slopes,
)


@jit(fastmath=CONTRACT)
def _deposit(Q: Any, p: int, r: int, c: int, charge: Any, w: Any, v: Any, u: Any) -> None:
    """Add a point's charge to the nodes from (p, r, c) on."""
    for a in range(len(w)):
        for b in range(len(v)):
            line, weight = Q[p + a, r + b], charge * w[a] * v[b]
            for e in range(len(u)):
                line[c + e] += weight * u[e]


@jit(fastmath=CONTRACT)
def spread(degree: int, U: Any, charges: Any, order: Any, start: int, stop: int, Q: Any) -> None:
    """Add the charges of the points ``order[start:stop]`` to the nodes `Q`."""
    f = Q.dtype.type
    for k in range(start, stop):
        i = np.uintp(order[k])
        p, r, c = int(U[i, 0]), int(U[i, 1]), int(U[i, 2])
        t0, t1, t2 = U[i, 0] - f(p), U[i, 1] - f(r), U[i, 2] - f(c)
        q = charges[i]
        if degree == 3:
            _deposit(Q, p - 1, r - 1, c - 1, q, cubic(t0, f), cubic(t1, f), cubic(t2, f))
        else:
            _deposit(Q, p - 2, r - 2, c - 2, q, quintic(t0, f), quintic(t1, f), quintic(t2, f))


@jit(fastmath=CONTRACT)
def _read(P: Any, p: int, r: int, c: int, w: Any, dw: Any, v: Any, dv: Any, u: Any, du: Any) -> Any:
    """Potential at a point, and its three derivatives, from the nodes from (p, r, c) on."""
    zero = P.dtype.type(0)
    value, slope0, slope1, slope2 = zero, zero, zero, zero
    for a in range(len(w)):
        plane, plane1, plane2 = zero, zero, zero
        for b in range(len(v)):
            line = P[p + a, r + b]
            along, dalong = zero, zero
            for e in range(len(u)):
                x = line[c + e]
                along += u[e] * x
                dalong += du[e] * x
            plane += v[b] * along
            plane1 += dv[b] * along
            plane2 += v[b] * dalong
        value += w[a] * plane
        slope0 += dw[a] * plane
        slope1 += w[a] * plane1
        slope2 += w[a] * plane2
    return value, slope0, slope1, slope2


@jit(fastmath=CONTRACT)
def _own(C: Any, t0: Any, t1: Any, t2: Any, weights: Any) -> Any:
    """Potential of a point's own unit charge at the point, and half of its three derivatives."""
    f = C.dtype.type
    one, zero, last = f(1), f(0), len(weights) - 1
    x, y, z = t0 * (one - t0), t1 * (one - t1), t2 * (one - t2)
    value, slope0, slope1, slope2 = zero, zero, zero, zero
    for a in range(last, -1, -1):
        plane, plane1, plane2 = zero, zero, zero
        for b in range(last, -1, -1):
            row = C[a, b]
            along, dalong = row[last], zero
            for e in range(last - 1, -1, -1):
                dalong = dalong * z + along
                along = along * z + row[e]
            plane1 = plane1 * y + plane
            plane = plane * y + along
            plane2 = plane2 * y + dalong
        slope0 = slope0 * x + value
        value = value * x + plane
        slope1 = slope1 * x + plane1
        slope2 = slope2 * x + plane2
    half = f(0.5)
    return value, (half - t0) * slope0, (half - t1) * slope1, (half - t2) * slope2


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

    Parameters and results are those of the function for two dimensions.
    """
    f = P.dtype.type
    total = 0.0
    for k in range(start, stop):
        i = np.uintp(order[k])
        p, r, c = int(U[i, 0]), int(U[i, 1]), int(U[i, 2])
        t0, t1, t2 = U[i, 0] - f(p), U[i, 1] - f(r), U[i, 2] - f(c)
        if degree == 3:
            w, dw = cubic(t0, f), cubic_slopes(t0, f)
            v, dv = cubic(t1, f), cubic_slopes(t1, f)
            u, du = cubic(t2, f), cubic_slopes(t2, f)
            value, g0, g1, g2 = _read(P, p - 1, r - 1, c - 1, w, dw, v, dv, u, du)
            own, h0, h1, h2 = _own(own_part, t0, t1, t2, w)
        else:
            w5, dw5 = quintic(t0, f), quintic_slopes(t0, f)
            v5, dv5 = quintic(t1, f), quintic_slopes(t1, f)
            u5, du5 = quintic(t2, f), quintic_slopes(t2, f)
            value, g0, g1, g2 = _read(P, p - 2, r - 2, c - 2, w5, dw5, v5, dv5, u5, du5)
            own, h0, h1, h2 = _own(own_part, t0, t1, t2, w5)
        q = charges[i]
        total += q * (value - q * own)
        G[i, 0] = scale * q * (g0 - q * h0)
        G[i, 1] = scale * q * (g1 - q * h1)
        G[i, 2] = scale * q * (g2 - q * h2)
    return total


@jit(fastmath=CONTRACT)
def read_expansion(P: Any, U: Any, out: Any) -> None:
    """Potential, gradient and Hessian at places, from the coefficients of a spline of degree 5.

    Parameters
    ----------
    P : array
        One coefficient for each node, float64.
    U : array of shape (q, 3)
        Places, in units of the spacing from node (0, 0, 0); at least 3 nodes within the lattice.
    out : array of shape (q, 10)
        Receives the potential, its derivatives, and its second derivatives 00, 01, 02, 11, 12 and
        22, in units of the spacing.
    """
    f = np.float64
    for i in range(U.shape[0]):
        p, r, c = int(U[i, 0]), int(U[i, 1]), int(U[i, 2])
        t0, t1, t2 = U[i, 0] - p, U[i, 1] - r, U[i, 2] - c
        w, dw, ddw = quintic(t0, f), quintic_slopes(t0, f), quintic_curvatures(t0, f)
        v, dv, ddv = quintic(t1, f), quintic_slopes(t1, f), quintic_curvatures(t1, f)
        u, du, ddu = quintic(t2, f), quintic_slopes(t2, f), quintic_curvatures(t2, f)
        out[i] = 0.0
        for a in range(6):
            # derivatives within the plane: none, 1, 2, 11, 12 and 22
            n, n1, n2, n11, n12, n22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for b in range(6):
                along = dalong = ddalong = 0.0
                for e in range(6):
                    x = P[p - 2 + a, r - 2 + b, c - 2 + e]
                    along += u[e] * x
                    dalong += du[e] * x
                    ddalong += ddu[e] * x
                n += v[b] * along
                n1 += dv[b] * along
                n2 += v[b] * dalong
                n11 += ddv[b] * along
                n12 += dv[b] * dalong
                n22 += v[b] * ddalong
            out[i, 0] += w[a] * n
            out[i, 1] += dw[a] * n
            out[i, 2] += w[a] * n1
            out[i, 3] += w[a] * n2
            out[i, 4] += ddw[a] * n
            out[i, 5] += dw[a] * n1
            out[i, 6] += dw[a] * n2
            out[i, 7] += w[a] * n11
            out[i, 8] += w[a] * n12
            out[i, 9] += w[a] * n22
