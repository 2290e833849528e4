r"""The repulsion of all training items at any place: a frozen field.

With strengths s_j of the training items at x_j, and the repulsive penalty p,

    phi(x) = -sum_j s_j p(||x - x_j||).

For many items, phi is a spline on a lattice (``core/kernels/lattice/convolution.py``), computed
once. Then the value, the gradient and the Hessian at a place take 36 terms, however many items
there are. A place outside the lattice gets the exact sum. Items too far apart for one lattice are
cut into groups (``far_groups.py`` there). At a place within the lattice of a group, all other items
are summed exactly.

The results of a place depend on that place only, to the last bit. Lengths are in units of the
embedding; numbers are float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skmde._utils.jit import jit
from skmde.core.kernels import numba_maps
from skmde.core.kernels.lattice import numba_loops
from skmde.core.kernels.lattice.convolution import FROZEN, Lattice
from skmde.core.kernels.lattice.far_groups import Plan, bounded
from skmde.core.placement.calls import PAD, UNITS
from skmde.core.placement.newton import Floats, Rows
from skmde.functions.base import Penalty

_MARGIN = 5.0  # lengths of the penalty around the items, in which the lattice is used


class _Patch(NamedTuple):
    """The potential of the items ``start:stop`` in a box, a spline on a lattice."""

    start: int
    stop: int
    low: Floats
    high: Floats
    P: Floats
    origin: Floats


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
        self.total = float(np.cumsum(np.asarray(strengths, np.float64))[-1])
        lattice = Lattice(
            lambda squares: numba_maps.values_at(self._kind, self._params, squares),
            FROZEN.grid(length),
            n_threads,
        )
        flat = np.zeros((len(items), 2))
        flat[:, : items.shape[1]] = items
        margin = _MARGIN * length
        ranges = [(0, len(items))]
        if not lattice.grid.fits(flat.min(axis=0) - margin, flat.max(axis=0) + margin):
            flat = bounded(flat)
            plan = Plan(flat, lattice.grid)
            ranges = [(group.start, group.stop) for group in plan.groups]
            flat, strengths = flat[plan.order], strengths[plan.order]
        self._items = np.ascontiguousarray(flat[:, : items.shape[1]].T)
        self._strengths = np.ascontiguousarray(strengths, dtype=np.float64)
        self._spacing = lattice.spacing
        self._patches: list[_Patch] = []
        left = float(lattice.grid.max_nodes)  # of all lattices together
        for start, stop in ranges:
            own, charges = flat[start:stop], self._strengths[start:stop]
            low, high = own.min(axis=0) - margin, own.max(axis=0) + margin
            left -= lattice.grid.n_nodes(low, high)
            if left < 0:
                break
            P, origin = lattice.potential(own, charges, low, high)
            self._patches.append(_Patch(start, stop, low, high, P, origin))

    def add(
        self, points: Floats, value: Floats, rounding: Floats, gradient: Floats, hessian: Floats
    ) -> None:
        """Add phi and its first two derivatives at points of shape (B, m)."""
        m, n = points.shape[1], len(self._strengths)
        flat = np.zeros((len(points), 2))
        flat[:, :m] = points
        results = value, rounding, gradient, hessian
        items = self._kind, self._params, self._items, self._strengths
        is_left = np.ones(len(points), dtype=bool)
        for start, stop, low, high, P, origin in self._patches:
            near: Rows = np.flatnonzero(((flat >= low) & (flat <= high)).all(axis=1) & is_left)
            is_left[near] = False
            self._read(P, flat[near] / self._spacing - origin, near, *results)
            _add_exactly(*items, start, stop, points, near, *results)
        _add_exactly(*items, n, n, points, np.flatnonzero(is_left), *results)

    def _read(
        self,
        P: Floats,
        U: Floats,
        rows: Rows,
        value: Floats,
        rounding: Floats,
        gradient: Floats,
        hessian: Floats,
    ) -> None:
        """Add the potential of a lattice, and its derivatives, for some of the points."""
        m = gradient.shape[1]
        out = np.zeros((len(rows), 6))
        numba_loops.read_expansion(P, U, out)
        inverse = 1.0 / self._spacing
        value[rows] -= out[:, 0]
        rounding[rows] += UNITS * np.finfo(np.float64).eps * np.abs(out[:, 0])
        gradient[rows] -= inverse * out[:, 1 : 1 + m]
        hessian[rows, 0, 0] -= inverse**2 * out[:, 3]
        if m == 2:
            for a, b, column in ((0, 1, 4), (1, 0, 4), (1, 1, 5)):
                hessian[rows, a, b] -= inverse**2 * out[:, column]


@jit()
def _add_exactly(
    kind: int,
    params: Any,
    items: Any,
    strengths: Any,
    skip: int,
    until: int,
    points: Any,
    rows: Any,
    value: Any,
    rounding: Any,
    gradient: Any,
    hessian: Any,
) -> None:
    """Add the sums over all items but ``skip:until``, for some of the points.

    The items have shape (m, n).
    """
    m, n = items.shape
    size = 8 * PAD
    w, d2 = np.empty(size), np.empty(size)
    d, D = np.empty(size), np.empty(size)
    v, s, c = np.empty(size), np.empty(size), np.empty(size)
    u = np.empty(m)
    for r in rows:
        for start, stop in ((0, skip), (until, n)):
            for first in range(start, stop, size):
                count = min(size, stop - first)
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
