r"""B-splines on a lattice: their Fourier transform, and the potential of a charge at its own place.

A charge is spread over d + 1 nodes along each axis, with the weights w_a(t) of a B-spline of
degree d, where t in [0, 1) is the place of the charge between two nodes. If S is the potential of a
unit charge at a node, apart from interpolation, then the charge itself contributes

    sum_{p, q} S_pq r_p(t) r_q(u),    r_p(t) = (1 + [p > 0]) sum_a w_a(t) w_{a+p}(t)

to the potential that is read at its place (t, u). The function r_p is a polynomial of degree d in
t (1 - t), because it does not change if the axis is reversed. So the charge's own part is a
polynomial in t (1 - t) and u (1 - u), whose coefficients are computed once for a lattice.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from skmde.core.kernels.lattice.numba_loops import (
    cubic,
    cubic_slopes,
    quintic,
    quintic_slopes,
)

WEIGHTS: dict[int, Any] = {3: cubic, 5: quintic}
SLOPES: dict[int, Any] = {3: cubic_slopes, 5: quintic_slopes}


def spline_transform(degree: int, w: np.ndarray) -> np.ndarray:
    """Fourier transform of the B-spline's values at the nodes."""
    if degree == 3:
        return np.asarray((4 + 2 * np.cos(w)) / 6)
    return np.asarray((66 + 52 * np.cos(w) + 2 * np.cos(2 * w)) / 120)


@cache
def self_products(degree: int) -> np.ndarray:
    """Coefficients of r_p as a polynomial in t (1 - t): row p, column k for the power k."""
    t = np.linspace(0.0, 0.5, degree + 1)
    w = np.array([WEIGHTS[degree].py_func(x, float) for x in t])
    products = [
        (1 if p == 0 else 2) * (w[:, : degree + 1 - p] * w[:, p:]).sum(axis=1)
        for p in range(degree + 1)
    ]
    powers = np.vander(4 * t * (1 - t), degree + 1, increasing=True)
    coefficients = np.linalg.solve(powers, np.array(products).T).T
    return np.asarray(coefficients * 4.0 ** np.arange(degree + 1))


def own_polynomial(S: np.ndarray, degree: int) -> np.ndarray:
    """Coefficients of the potential of a unit charge at its own place.

    Parameters
    ----------
    S : array of shape (degree + 1,) * m
        Potential of a unit charge at a node, at distances of 0 to `degree` nodes along each axis.
    degree : int

    Returns
    -------
    array of shape (degree + 1,) * m
        Entry (k, l) is the coefficient of (t (1 - t))^k (u (1 - u))^l.
    """
    for axis in range(S.ndim):
        S = np.moveaxis(np.tensordot(self_products(degree), S, (0, axis)), 0, axis)
    return np.ascontiguousarray(S)
