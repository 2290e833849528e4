r"""The repulsion of all training items at any place: a frozen field.

With strengths s_j of the training items at x_j, and the repulsive penalty p,

    phi(x) = -sum_j s_j p(||x - x_j||).

For many items, phi is a spline on a lattice (``core/kernels/lattice/convolution.py``), computed
once, and the cores of the items near the place, if the penalty is split (``softening.py`` there).
So the value, the gradient and the Hessian at a place take a number of terms that hardly depends on
the number of items. A place outside the lattice gets the exact sum. Items too far apart for one
lattice are cut into groups (``plan.py`` there). At a place within the lattice of a group, all other
items are summed exactly.

The results of a place depend on that place only, to the last bit. Lengths are in units of the
embedding; numbers are float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skmde._linalg.reductions import bounding_box
from skmde._utils.jit import jit
from skmde.core.kernels import numba_maps
from skmde.core.kernels.lattice import numba_loops, numba_loops_3d
from skmde.core.kernels.lattice.compiled_summation import Cells, CompiledSummation
from skmde.core.kernels.lattice.convolution import FROZEN, Lattice
from skmde.core.kernels.lattice.layouts import Layout, Layouts
from skmde.core.kernels.lattice.numba_near import soft_polynomial
from skmde.core.kernels.lattice.plan import Plan, bounded, enough_work
from skmde.core.placement.calls import PAD, UNITS
from skmde.core.placement.newton import Floats, Rows
from skmde.functions.base import Penalty

# Around the items, in which the lattice is used: lengths of the penalty, or, if the penalty has no
# length, a fraction of the extent of the items.
_MARGIN, _MARGIN_OF_EXTENT = 5.0, 0.05
_BLOCK = 8 * PAD  # items that are evaluated at once


class _Patch(NamedTuple):
    """The potential of the items ``start:stop`` in a box."""

    start: int
    stop: int
    low: Floats
    high: Floats
    layout: Layout
    P: Floats
    origin: Floats
    cells: Cells | None
    strengths: Floats  # in the order of the cells


class FrozenField:
    """The field of items that do not move.

    Parameters
    ----------
    items : ndarray of shape (n, m)
        Their places, m at most 3.
    strengths : ndarray of shape (n,)
        At least 0.
    penalty : Penalty
        One that :meth:`exists` for.
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
        kernel = penalty.kernel_parameters()
        assert kernel is not None
        self._kind, self._params = kernel[0], np.array(kernel[1:])
        self.total = float(np.cumsum(np.asarray(strengths, np.float64))[-1])
        layouts = Layouts(penalty, FROZEN)
        self._sums = CompiledSummation(penalty, layouts, strengths, n_threads=n_threads)
        flat = items
        if items.shape[1] == 1:
            flat = np.concatenate([items, np.zeros_like(items)], axis=1)
        low, high = bounding_box(flat)
        extent = float((high - low).max())
        length = penalty.smooth_length
        margin = _MARGIN_OF_EXTENT * extent if length is None else _MARGIN * length
        layout, work = layouts.best(flat, low - margin, high + margin)
        groups = [] if layout is None else [(0, len(items), layout)]
        if layout is None or work > enough_work(len(items)):
            flat = bounded(flat)
            plan = Plan(flat, layouts)
            groups = [(g.start, g.stop, g.layout) for g in plan.lattices if g.is_own]
            flat, strengths = flat[plan.order], strengths[plan.order]
        self._items = np.ascontiguousarray(flat[:, : items.shape[1]])
        self._strengths = np.ascontiguousarray(strengths, dtype=np.float64)
        self._patches: list[_Patch] = []
        left = float(FROZEN.max_nodes)  # of all lattices together
        for start, stop, layout in groups:
            own, charges = flat[start:stop], self._strengths[start:stop]
            low, high = bounding_box(own)
            low, high = low - margin, high + margin
            left -= layout.grid.n_nodes(low, high)
            if left < 0:
                break
            lattice: Lattice = self._sums.lattice(layout)
            P, origin = lattice.potential(own, charges, low, high)
            cells = Cells(own, layout.radius) if layout.radius else None
            kept = charges if cells is None else charges[cells.order]
            self._patches.append(_Patch(start, stop, low, high, layout, P, origin, cells, kept))

    @staticmethod
    def exists(penalty: Penalty, n_components: int) -> bool:
        """Whether there is a field of a penalty in `n_components` dimensions."""
        built_in = penalty.kernel_parameters() is not None
        return built_in and n_components <= 3 and Layouts.exist(penalty)

    def add(
        self, points: Floats, value: Floats, rounding: Floats, gradient: Floats, hessian: Floats
    ) -> None:
        """Add phi and its first two derivatives at points of shape (B, m)."""
        m, n = points.shape[1], len(self._strengths)
        flat = np.zeros((len(points), max(m, 2)))
        flat[:, :m] = points
        results = value, rounding, gradient, hessian
        items = self._kind, self._params, self._items, self._strengths
        is_left = np.ones(len(points), dtype=bool)
        for patch in self._patches:
            inside = ((flat >= patch.low) & (flat <= patch.high)).all(axis=1)
            near: Rows = np.flatnonzero(inside & is_left)
            is_left[near] = False
            self._read(patch, flat, near, *results)
            _add_exactly(*items, patch.start, patch.stop, points, near, *results)
        _add_exactly(*items, n, n, points, np.flatnonzero(is_left), *results)

    def _read(
        self,
        patch: _Patch,
        flat: Floats,
        rows: Rows,
        value: Floats,
        rounding: Floats,
        gradient: Floats,
        hessian: Floats,
    ) -> None:
        """Add the potential of a patch, and its derivatives, for some of the points."""
        m, d = gradient.shape[1], flat.shape[1]
        out = np.zeros((len(rows), 1 + d + d * (d + 1) // 2))
        spacing = patch.layout.grid.spacing
        loops = numba_loops if d == 2 else numba_loops_3d
        loops.read_expansion(patch.P, flat[rows] / spacing - patch.origin, out)
        value[rows] -= out[:, 0]
        rounding[rows] += UNITS * np.finfo(np.float64).eps * np.abs(out[:, 0])
        gradient[rows] -= out[:, 1 : 1 + m] / spacing
        column = 1 + d
        for a in range(d):
            for b in range(a, d):
                if b < m:
                    hessian[rows, a, b] -= out[:, column] / spacing**2
                    if a != b:
                        hessian[rows, b, a] -= out[:, column] / spacing**2
                column += 1
        soft = self._sums.softening(patch.layout)
        if patch.cells is not None and soft is not None:
            cells = patch.cells
            _add_cores(
                self._kind,
                self._params,
                np.array(soft.coefficients),
                soft.radius,
                cells.points,
                patch.strengths,
                cells.low,
                cells.starts,
                cells.shape,
                flat,
                rows,
                value,
                rounding,
                gradient,
                hessian,
            )


@jit()
def _add_cores(
    kind: int,
    params: Any,
    coefficients: Any,
    radius: float,
    items: Any,
    strengths: Any,
    low: Any,
    starts: Any,
    shape: Any,
    flat: Any,
    rows: Any,
    value: Any,
    rounding: Any,
    gradient: Any,
    hessian: Any,
) -> None:
    """Add the cores of the items closer than the radius, for some of the points.

    The items, of shape (n, 2) or (n, 3), and the arguments up to `shape` are those of ``Cells``.
    """
    d_flat, square = items.shape[1], radius * radius
    near, scratch = np.empty(_BLOCK, np.int64), np.empty((7, _BLOCK))
    for r in rows:
        plane = int(np.floor((flat[r, 0] - low[0]) / radius))
        row = 0
        if d_flat == 3:
            row = int(np.floor((flat[r, 1] - low[1]) / radius))
        column = int(np.floor((flat[r, d_flat - 1] - low[d_flat - 1]) / radius))
        left, right = max(column - 1, 0), min(column + 1, shape[2] - 1)
        count = 0
        for p in range(max(plane - 1, 0), min(plane + 1, shape[0] - 1) + 1):
            for q in range(max(row - 1, 0), min(row + 1, shape[1] - 1) + 1):
                if left > right:
                    continue
                line = (p * shape[1] + q) * shape[2]
                stop = starts[line + right + 1]
                for j in range(starts[line + left], stop):
                    total = 0.0
                    for i in range(d_flat):
                        total += (flat[r, i] - items[j, i]) ** 2
                    if total < square:
                        near[count] = j
                        count += 1
                    if count == _BLOCK:
                        _add_block(
                            kind, params, coefficients, square, items, strengths, near, count,
                            scratch, flat, r, value, rounding, gradient, hessian,
                        )  # fmt: skip
                        count = 0
        if count:
            _add_block(
                kind, params, coefficients, square, items, strengths, near, count, scratch, flat,
                r, value, rounding, gradient, hessian,
            )  # fmt: skip


@jit()
def _add_block(
    kind: int,
    params: Any,
    coefficients: Any,
    square: float,
    items: Any,
    strengths: Any,
    near: Any,
    count: int,
    scratch: Any,
    points: Any,
    r: int,
    value: Any,
    rounding: Any,
    gradient: Any,
    hessian: Any,
) -> None:
    """Add the items ``near[:count]`` to the field at point r, and to its derivatives.

    With `coefficients` of a soft part, their cores are added.
    """
    m = gradient.shape[1]
    w, d2, d, D = scratch[0], scratch[1], scratch[2], scratch[3]
    v, s, c = scratch[4], scratch[5], scratch[6]
    w[:], d2[:] = 0.0, 1.0
    for e in range(count):
        j, total = np.uintp(near[e]), 0.0
        for i in range(items.shape[1]):
            total += (points[r, i] - items[j, i]) ** 2
        w[e], d2[e] = -strengths[j], total
    numba_maps.expand(kind, params, w, w, d2, d, D, v, s, c)
    if len(coefficients):
        for e in range(count):
            p, dp, ddp = soft_polynomial(coefficients, d2[e] / square - 1.0)
            slope = 2.0 * dp / square
            v[e] -= w[e] * p
            s[e] -= w[e] * slope
            c[e] -= w[e] * (slope + 8.0 * ddp * d2[e] / square**2)
    u = np.empty(m)
    for e in range(count):
        value[r] += v[e]
        rounding[r] += UNITS * 2.3e-16 * abs(v[e])
        bend = (c[e] - s[e]) / d2[e] if d2[e] > 0.0 else 0.0
        for i in range(m):
            u[i] = points[r, i] - items[np.uintp(near[e]), i]
            gradient[r, i] += s[e] * u[i]
            hessian[r, i, i] += s[e]
        for i in range(m):
            for h in range(m):
                hessian[r, i, h] += bend * u[i] * u[h]


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
    """Add the sums over all items but ``skip:until``, for some of the points."""
    n, no_soft_part = len(items), np.empty(0)
    near, scratch = np.empty(_BLOCK, np.int64), np.empty((7, _BLOCK))
    for r in rows:
        for start, stop in ((0, skip), (until, n)):
            for first in range(start, stop, _BLOCK):
                count = min(_BLOCK, stop - first)
                for e in range(count):
                    near[e] = first + e
                _add_block(
                    kind, params, no_soft_part, 1.0, items, strengths, near, count, scratch,
                    points, r, value, rounding, gradient, hessian,
                )  # fmt: skip
