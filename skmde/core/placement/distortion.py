r"""Average distortion of an item among anchored items, with its first two derivatives.

Item r at x has pairs with anchored items k at x_k, of weight w_rk and penalty p. Its average
distortion is

    f_r(x) = sum_k w_rk p(||x - x_k||) / sum_k |w_rk|.

Let u = x - x_k, d = ||u||, slope s = p'(d) / d and curvature c = p''(d). The gradient of a term is
w s u and its Hessian is w (s I + (c - s) u u^T / d^2). Below a tiny floor of d, a parabola in d
with the same value and slope at the floor replaces the term. So all results are finite even if a
slope or a barrier is infinite at d = 0, and a kink there (p = d) becomes a smooth minimum.

The results of a row depend on that row only, to the last bit: sums run in the order of the pairs,
and penalties are called so that the rounding of an element does not depend on its position.
Built-in penalties are compiled; others are evaluated in torch. Lengths are in units of the
embedding; numbers are float64.

References
----------
Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 2.4.2 (incremental embedding).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from skmde._utils.jit import jit
from skmde.core.kernels.numba_maps import expand
from skmde.core.placement.calls import (
    BLOCK,
    PAD,
    UNITS,
    call_in_torch,
    dtype_and_device,
    squared_distances,
)
from skmde.core.placement.field import FrozenField
from skmde.core.placement.newton import Expansion, Floats, Rows
from skmde.functions.base import Penalty
from skmde.functions.kinds import D_FLOOR

# Pairs per call of the compiled maps, so that their arrays stay in the first-level cache.
_PAIRS = 256


@jit()
def _add_values(w: Any, v: Any, k: int, value: Any) -> None:
    """Add the terms of each row, in order."""
    for b in range(value.shape[0]):
        for e in range(b * k, b * k + k):
            if w[e] != 0.0:
                value[b] += v[e]


@jit()
def _add_expansions(
    points: Any,
    rows: Any,
    anchors: Any,
    indices: Any,
    floor: float,
    precision: float,
    w: Any,
    square: Any,
    v: Any,
    s: Any,
    c: Any,
    value: Any,
    rounding: Any,
    gradient: Any,
    hessian: Any,
) -> None:
    """Add value, gradient and Hessian of the terms of each row, in order.

    ``v``, ``s`` and ``c`` are the weighted value, slope and curvature at the distance
    ``sqrt(square)``, or at the floor if that is larger.
    """
    m = points.shape[1]
    k = indices.shape[1]
    u = np.empty(m)
    for b in range(rows.shape[0]):
        for neighbor in range(k):
            e = b * k + neighbor
            if w[e] == 0.0:
                continue
            term, bend = v[e], 0.0
            if square[e] < floor * floor:
                term += 0.5 * s[e] * (square[e] - floor * floor)
            else:
                bend = (c[e] - s[e]) / square[e]
            value[b] += term
            rounding[b] += precision * abs(term)
            j = indices[rows[b], neighbor]
            for i in range(m):
                u[i] = points[b, i] - anchors[j, i]
                gradient[b, i] += s[e] * u[i]
                hessian[b, i, i] += s[e]
                bend_i = bend * u[i]
                for h in range(i + 1):
                    hessian[b, i, h] += bend_i * u[h]
        for i in range(m):
            for h in range(i):
                hessian[b, h, i] = hessian[b, i, h]


@jit()
def _gather(
    points: Any,
    rows: Any,
    anchors: Any,
    indices: Any,
    weights: Any,
    floor: float,
    w: Any,
    square: Any,
    d2: Any,
) -> int:
    """Write padded weights and squared distances of rows; return their padded number."""
    k = indices.shape[1]
    squared_distances(points, rows, anchors, indices, square)
    for b in range(rows.shape[0]):
        for e in range(k):
            w[b * k + e] = weights[rows[b], e]
    size = -(-rows.shape[0] * k // PAD) * PAD
    for e in range(size):
        d2[e] = max(square[e], floor * floor)
    return size


@jit()
def _add_built_in(
    points: Any,
    rows: Any,
    anchors: Any,
    indices: Any,
    weights: Any,
    kind: int,
    params: Any,
    floor: float,
    precision: float,
    only_values: bool,
    value: Any,
    rounding: Any,
    gradient: Any,
    hessian: Any,
) -> None:
    """Add value, gradient and Hessian of the terms of each row under a built-in penalty.

    With ``only_values``, ``rounding``, ``gradient`` and ``hessian`` are not written. A separate
    function for values would double the compilation time.

    The length of all vectorised loops over pairs is a multiple of `PAD`, so that no pair is left
    to a remainder loop, which might round differently.
    """
    k = indices.shape[1]
    step = max(1, _PAIRS // k)
    size = -(-step * k // PAD) * PAD
    w, square, d2 = np.zeros(size), np.ones(size), np.ones(size)
    d, D = np.empty(size), np.empty(size)
    v, s, c = np.empty(size), np.empty(size), np.empty(size)
    for begin in range(0, rows.shape[0], step):
        end = min(begin + step, rows.shape[0])
        x, r = points[begin:end], rows[begin:end]
        n = _gather(x, r, anchors, indices, weights, floor, w, square, d2)
        expand(kind, params, w[:n], w[:n], d2[:n], d[:n], D[:n], v[:n], s[:n], c[:n])
        if only_values:
            _add_values(w, v, k, value[begin:end])
            continue
        _add_expansions(
            x,
            r,
            anchors,
            indices,
            floor,
            precision,
            w,
            square,
            v,
            s,
            c,
            value[begin:end],
            rounding[begin:end],
            gradient[begin:end],
            hessian[begin:end],
        )


class _Terms(NamedTuple):
    """Pairs with the same penalty: their items and weights, the penalty, and how to call it.

    ``kernel`` is the kind and the parameters of a compiled penalty, None for one evaluated in
    torch.
    """

    indices: Rows
    weights: Floats
    penalty: Penalty
    kernel: tuple[int, Floats] | None
    dtype: torch.dtype
    device: torch.device


class AnchoredDistortion:
    """Average distortion of each item as a function of its coordinates.

    A :class:`~skmde.core.placement.newton.RowObjective`. Each row needs a pair of nonzero weight.

    Parameters
    ----------
    anchors : ndarray of shape (n, m)
        Coordinates of the anchored items; float64, C-contiguous.
    floor : float, default=0.0
        Below this distance, the parabola described above replaces the penalty. The floor is at
        least `D_FLOOR`, the floor of the penalties themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.core.placement.distortion import AnchoredDistortion
    >>> from skmde.penalties import Quadratic
    >>> distortion = AnchoredDistortion(np.array([[0.0], [4.0]]))
    >>> distortion.add_terms(np.array([[0, 1]]), np.array([[1.0, 3.0]]), Quadratic())
    >>> distortion.expand(np.array([[2.0]]), np.array([0])).gradient
    array([[-2.]])
    """

    def __init__(self, anchors: Floats, floor: float = 0.0) -> None:
        self.anchors = anchors
        self.floor = max(floor, D_FLOOR)
        self._terms: list[_Terms] = []
        self._field: FrozenField | None = None
        self._origin: Any = 0.0
        self._total: Any = 0.0

    def add_terms(self, indices: Rows, weights: Floats, penalty: Penalty) -> None:
        """Add pairs of each row with anchored items.

        Parameters
        ----------
        indices : int64 ndarray of shape (q, k)
            The anchored items.
        weights : float64 ndarray of shape (q, k)
            Weights. Pairs of negative weight repel; a weight of 0 means that there is no such pair.
        penalty : Penalty
            The penalty of these pairs.
        """
        if indices.shape[1] == 0:
            return
        parameters = penalty.kernel_parameters()
        kernel = parameters and (parameters[0], np.array(parameters[1:]))
        self._terms.append(_Terms(indices, weights, penalty, kernel, *dtype_and_device(penalty)))
        # cumsum adds in an order that does not depend on the number of rows; sum may not.
        self._total = self._total + np.cumsum(np.abs(weights), axis=1)[:, -1]

    def add_field(self, field: FrozenField, origin: Floats) -> None:
        """Add the repulsion of all training items to each row.

        Parameters
        ----------
        field : FrozenField
        origin : ndarray of shape (m,)
            Place of the coordinates' origin in the field.
        """
        self._field, self._origin = field, origin
        self._total = self._total + field.total

    def _blocks(self, terms: _Terms, points: Floats, rows: Rows) -> Iterator[tuple[Any, ...]]:
        """Cut the rows into blocks for torch; yield squared distances, w and d of each block."""
        step = max(1, BLOCK // terms.indices.shape[1])
        for begin in range(0, rows.size, step):
            block = slice(begin, begin + step)
            weights = terms.weights[rows[block]].ravel()
            w = np.zeros(-(-weights.size // PAD) * PAD)
            w[: weights.size] = weights
            square = np.ones(w.size)
            squared_distances(points[block], rows[block], self.anchors, terms.indices, square)
            yield block, square, w, np.maximum(np.sqrt(square), self.floor)

    def values(self, points: Floats, rows: Rows) -> Floats:
        """Average distortion of items at given points.

        Parameters
        ----------
        points : ndarray of shape (B, m)
            A point for each item.
        rows : int64 ndarray of shape (B,)
            The items.

        Returns
        -------
        ndarray of shape (B,)
            The average distortions. A distance below the floor counts as the floor.
        """
        value = np.zeros(rows.size)
        for terms in self._terms:
            p = terms.penalty
            if terms.kernel is not None:
                at = points, rows, self.anchors, terms.indices, terms.weights
                unused = value, np.empty((0, 0)), np.empty((0, 0, 0))
                _add_built_in(*at, *terms.kernel, self.floor, 0.0, True, value, *unused)
                continue
            for block, _, w, d in self._blocks(terms, points, rows):
                (v,) = call_in_torch(terms.dtype, terms.device, [p.weighted_value], d, w)
                _add_values(w, v, terms.indices.shape[1], value[block])
        if self._field is not None:
            m = points.shape[1]
            unused = np.zeros(rows.size), np.zeros((rows.size, m)), np.zeros((rows.size, m, m))
            self._field.add(points + self._origin, value, *unused)
        return value / self._total[rows]

    def expand(self, points: Floats, rows: Rows) -> Expansion:
        """Average distortion of items at given points, with gradients and Hessians.

        Parameters
        ----------
        points : ndarray of shape (B, m)
            A point for each item.
        rows : int64 ndarray of shape (B,)
            The items.

        Returns
        -------
        Expansion
            Values, gradients and Hessians of the B functions.
        """
        m = points.shape[1]
        value, rounding = np.zeros(rows.size), np.zeros(rows.size)
        gradient, hessian = np.zeros((rows.size, m)), np.zeros((rows.size, m, m))
        sums = value, rounding, gradient, hessian
        for terms in self._terms:
            p = terms.penalty
            precision = UNITS * torch.finfo(terms.dtype).eps
            if terms.kernel is not None:
                at = points, rows, self.anchors, terms.indices, terms.weights
                _add_built_in(*at, *terms.kernel, self.floor, precision, False, *sums)
                continue
            functions = [p.weighted_value, p.weighted_slope, p.weighted_curvature]
            for block, square, w, d in self._blocks(terms, points, rows):
                v, s, c = call_in_torch(terms.dtype, terms.device, functions, d, w)
                part = points[block], rows[block], self.anchors, terms.indices
                out = (total[block] for total in sums)
                _add_expansions(*part, self.floor, precision, w, square, v, s, c, *out)
        if self._field is not None:
            self._field.add(points + self._origin, *sums)
        return Expansion(*sums).divided_by(self._total[rows])
