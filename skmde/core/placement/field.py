r"""The repulsion of all training items at any place: a frozen field.

With strengths s_j of the training items at x_j, and the repulsive penalty p,

    phi(x) = -sum_j s_j p(||x - x_j||).

For many items, phi is a spline on a lattice (``core/kernels/lattice.py``), computed once. Then the
value, the gradient and the Hessian at a place take 36 terms, however many items there are. A
place outside the lattice gets the exact sum.

The results of a place depend on that place only, to the last bit. Lengths are in units of the
embedding; numbers are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import jit
from skmde.core.kernels import numba_lattice, numba_maps
from skmde.core.kernels.lattice import FROZEN, Lattice
from skmde.core.placement.calls import PAD, UNITS
from skmde.core.placement.newton import Floats, Rows
from skmde.functions.base import Penalty

_MARGIN = 5.0  # lengths of the penalty around the items, in which the lattice is used


class FrozenField:
    """The field of items that do not move.

    Parameters
    ----------
    items : ndarray of shape (n, m)
        Their places, m = 1 or 2.
    strengths : ndarray of shape (n,)
        At least 0.
    penalty : Penalty
        Built in, with a `smooth_length`.
    n_threads : int
        The result does not depend on it.

    Attributes
    ----------
    total : float
        Sum of the strengths.
    """

    def __init__(
        self, items: Floats, strengths: Floats, penalty: Penalty, n_threads: int = 1
    ) -> None:
        kernel, length = penalty.kernel_parameters(), penalty.smooth_length
        assert kernel is not None and length is not None
        self._kind, self._params = kernel[0], np.array(kernel[1:])
        self._items = np.ascontiguousarray(items.T, dtype=np.float64)
        self._strengths = np.ascontiguousarray(strengths, dtype=np.float64)
        self.total = float(np.cumsum(self._strengths)[-1])
        lattice = Lattice(
            lambda squares: numba_maps.values_at(self._kind, self._params, squares),
            length,
            FROZEN,
            n_threads,
        )
        flat = np.zeros((len(items), 2))
        flat[:, : items.shape[1]] = items
        self._low = flat.min(axis=0) - _MARGIN * length
        self._high = flat.max(axis=0) + _MARGIN * length
        self._spacing = lattice.spacing
        self._P, self._origin = lattice.potential(flat, self._strengths, self._low, self._high)

    def add(
        self, points: Floats, value: Floats, rounding: Floats, gradient: Floats, hessian: Floats
    ) -> None:
        """Add phi and its first two derivatives at points of shape (B, m)."""
        m = points.shape[1]
        flat = np.zeros((len(points), 2))
        flat[:, :m] = points
        near = np.flatnonzero(((flat >= self._low) & (flat <= self._high)).all(axis=1))
        out = np.zeros((len(near), 6))
        U = flat[near] / self._spacing - self._origin
        numba_lattice.read_expansion(self._P, U, out)
        inverse = 1.0 / self._spacing
        value[near] -= out[:, 0]
        rounding[near] += UNITS * np.finfo(np.float64).eps * np.abs(out[:, 0])
        gradient[near] -= inverse * out[:, 1 : 1 + m]
        hessian[near, 0, 0] -= inverse**2 * out[:, 3]
        if m == 2:
            for a, b, column in ((0, 1, 4), (1, 0, 4), (1, 1, 5)):
                hessian[near, a, b] -= inverse**2 * out[:, column]
        is_far = np.ones(len(points), dtype=bool)
        is_far[near] = False
        far: Rows = np.flatnonzero(is_far)
        kernel = self._kind, self._params, self._items, self._strengths
        _add_exactly(*kernel, points, far, value, rounding, gradient, hessian)


@jit()
def _add_exactly(
    kind: int,
    params: Any,
    items: Any,
    strengths: Any,
    points: Any,
    rows: Any,
    value: Any,
    rounding: Any,
    gradient: Any,
    hessian: Any,
) -> None:
    """Add the sums over all items, of shape (m, n), for some of the points."""
    m, n = items.shape
    size = 8 * PAD
    w, d2 = np.empty(size), np.empty(size)
    d, D = np.empty(size), np.empty(size)
    v, s, c = np.empty(size), np.empty(size), np.empty(size)
    u = np.empty(m)
    for r in rows:
        for first in range(0, n, size):
            count = min(size, n - first)
            w[:], d2[:] = 0.0, 1.0
            for e in range(count):
                w[e] = -strengths[first + e]
                d2[e] = 0.0
                for i in range(m):
                    d2[e] += (points[r, i] - items[i, first + e]) ** 2
            numba_maps.expand(kind, params, w, w, d2, d, D, v, s, c)
            for e in range(count):
                value[r] += v[e]
                rounding[r] += UNITS * 2.3e-16 * abs(v[e])
                bend = (c[e] - s[e]) / d2[e] if d2[e] > 0.0 else 0.0
                for i in range(m):
                    u[i] = points[r, i] - items[i, first + e]
                    gradient[r, i] += s[e] * u[i]
                    hessian[r, i, i] += s[e]
                for i in range(m):
                    for h in range(m):
                        hessian[r, i, h] += bend * u[i] * u[h]
