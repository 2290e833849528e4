r"""Average loss of an item with original distances to anchored items, with two derivatives.

Item r at x has original distances delta_rk and weights w_rk to the anchored items k at x_k, which
are the same in every row. With a loss l, its average loss is

    f_r(x) = sum_k w_rk l(delta_rk, ||x - x_k||) / sum_k w_rk.

A loss may have a kink at d = delta. Then its minima are where kinks meet, and derivatives alone do
not find them. So the loss can be smoothed, by evaluating it at a distance between delta and d,

    delta + sign(r) (sqrt(r^2 + eps^2) - eps),     r = d - delta.

The smaller eps is, the less the loss changes.

The results of a row depend on that row only, to the last bit. Lengths are in units of the
embedding; numbers are float64.

References
----------
Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 2.4.2 (incremental embedding).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from skmde._utils.jit import jit
from skmde.core.kernels.numba_losses import loss_derivatives
from skmde.core.placement.calls import (
    BLOCK,
    PAD,
    UNITS,
    call_in_torch,
    dtype_and_device,
    squared_distances,
)
from skmde.core.placement.newton import Expansion, Floats, Rows
from skmde.functions import kinds
from skmde.functions.base import Loss
from skmde.functions.kinds import D_FLOOR

# Floor of d. Compiled losses have no floor of their own; this one keeps them finite at d = 0.
_LEAST = 1e-12
_IN_TORCH = -1
_SMOOTH = (kinds.SQUARED, kinds.WEIGHTED_SQUARED, kinds.HUBER_LOSS, kinds.SOFT_FRACTIONAL)


@jit()
def _add_losses(
    points: Any,
    rows: Any,
    anchors: Any,
    deviations: Any,
    weights: Any,
    kind: int,
    a: float,
    unit: float,
    epsilon: float,
    table: Any,
    floor: float,
    precision: float,
    value: Any,
    rounding: Any,
    gradient: Any,
    hessian: Any,
) -> None:
    """Add value, gradient and Hessian of the losses of each row, in order.

    ``table`` holds the losses and derivatives if they are computed in torch.
    """
    n, m = anchors.shape
    u = np.empty(m)
    for i in range(rows.shape[0]):
        x, row_deviations, row_weights = points[i], deviations[rows[i]], weights[rows[i]]
        G, H = gradient[i], hessian[i]
        values = errors = slopes = 0.0
        for k in range(n):
            w, delta = row_weights[k], row_deviations[k]
            if w == 0.0:
                continue
            square = 0.0
            for j in range(m):
                u[j] = x[j] - anchors[k, j]
                square += u[j] * u[j]
            d = max(np.sqrt(square), floor)
            r = d - delta
            side, near, change, turn = np.sign(r), r, 1.0, 0.0
            if epsilon > 0.0:
                side = 1.0 if r >= 0.0 else -1.0
                root = np.sqrt(r * r + epsilon * epsilon)
                near = r * (abs(r) / (root + epsilon))
                inverse = 1.0 / root
                change = abs(r) * inverse
                turn = side * (epsilon * inverse) ** 2 * inverse
            if kind == _IN_TORCH:
                e = i * n + k
                v, g, c = table[0, e], table[1, e], table[2, e]
            else:
                v, g, c = loss_derivatives(kind, a, unit, delta, delta + near, near, side)
            c = w * (c * change * change + g * turn)
            g = w * (g * change)
            v = w * v
            inverse = 1.0 / d
            s, bend = g * inverse, 0.0
            if square < floor * floor:
                v += 0.5 * s * (square - floor * floor)
            else:
                bend = (c - s) * inverse * inverse
            values += v
            # the rounding error of the residual is that of the two distances it is computed from
            errors += abs(v) + abs(g) * (d + delta)
            slopes += s
            for j in range(m):
                G[j] += s * u[j]
                bend_j = bend * u[j]
                for h in range(j + 1):
                    H[j, h] += bend_j * u[h]
        value[i] += values
        rounding[i] += precision * errors
        for j in range(m):
            H[j, j] += slopes
            for h in range(j):
                H[h, j] = H[j, h]


class AnchoredLoss:
    """Average loss of each item with given original distances as a function of its coordinates.

    A :class:`~skmde.core.placement.newton.RowObjective` whose rows all have the same anchored
    items. Built-in losses are evaluated in a compiled loop, others in torch.

    Parameters
    ----------
    anchors : ndarray of shape (n, m)
        Coordinates of the anchored items; float64, C-contiguous, of order one.
    deviations : ndarray of shape (q, n)
        Original distances, at least 0 and finite.
    weights : ndarray of shape (q, n)
        Weights, at least 0. A weight of 0 means that there is no such pair. Each row needs a
        weight above 0.
    loss : Loss
        The loss.
    unit : float, default=1.0
        Unit of the lengths above: the loss is evaluated at ``unit * deviations``. All values are
        divided by the same number, so that they are of order one.

    Attributes
    ----------
    smooth : bool
        Whether the loss is known to have no kink.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.core.placement.losses import AnchoredLoss
    >>> from skmde.losses import SquaredLoss
    >>> anchors, deviations = np.array([[0.0], [4.0]]), np.array([[1.0, 1.0]])
    >>> AnchoredLoss(anchors, deviations, np.ones((1, 2)), SquaredLoss()).values(
    ...     np.array([[1.0]]), np.array([0])
    ... )
    array([2.])
    """

    def __init__(
        self, anchors: Floats, deviations: Floats, weights: Floats, loss: Loss, unit: float = 1.0
    ) -> None:
        self.anchors = anchors
        self.deviations = deviations
        self.weights = weights
        self.loss = loss
        self.unit = unit
        self.epsilon = 0.0
        self._kind, self._parameter, _ = loss.kernel_parameters() or (_IN_TORCH, 0.0, 0.0)
        self.smooth = self._kind in _SMOOTH
        self.smooth |= self._kind == kinds.POWER_LOSS and self._parameter >= 2.0
        self.has_poles = self._kind in (kinds.FRACTIONAL, kinds.SOFT_FRACTIONAL)
        self._dtype, self._device = dtype_and_device(loss)
        self._floor, self._divisor = _LEAST, 1.0
        if self._kind == _IN_TORCH:
            self._floor = D_FLOOR
            pairs = np.array([1.0, 1.0, 2.0, 0.5] * 16), np.array([0.5, 2.0, 1.0, 1.0] * 16)
            strength = np.abs(self._in_torch(*pairs)[1]).max()
            if np.isfinite(strength) and strength > 0.0:
                self._divisor = float(strength)
        # cumsum adds in an order that does not depend on the number of rows; sum may not.
        self._total = np.cumsum(weights, axis=1)[:, -1]

    def smoothed(self, epsilon: float) -> AnchoredLoss:
        """A copy with the loss smoothed over the length `epsilon`; 0 restores the loss itself."""
        other = copy.copy(self)
        other.epsilon = epsilon
        return other

    def values(self, points: Floats, rows: Rows) -> Floats:
        """Average loss of items, shape (B,), at given points, shape (B, m)."""
        return self.expand(points, rows).value

    def expand(self, points: Floats, rows: Rows) -> Expansion:
        """Average loss of items at given points, with gradients and Hessians.

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
        B, m = points.shape
        sums = np.zeros(B), np.zeros(B), np.zeros((B, m)), np.zeros((B, m, m))
        in_torch = self._kind == _IN_TORCH
        size = max(1, BLOCK // len(self.anchors)) if in_torch else max(1, B)
        table = np.empty((3, 0))
        precision = UNITS * torch.finfo(self._dtype).eps
        for begin in range(0, B, size):
            block = slice(begin, begin + size)
            if in_torch:
                table = self._table(points[block], rows[block])
            _add_losses(
                points[block],
                rows[block],
                self.anchors,
                self.deviations,
                self.weights,
                self._kind,
                self._parameter,
                self.unit,
                self.epsilon,
                table,
                self._floor,
                precision,
                *(part[block] for part in sums),
            )
        return Expansion(*sums).divided_by(self._total[rows])

    def _table(self, points: Floats, rows: Rows) -> Floats:
        """Losses of all pairs of some rows, and their two derivatives."""
        n = len(self.anchors)
        delta = np.ones(-(-rows.size * n // PAD) * PAD)
        delta[: rows.size * n] = self.deviations[rows].ravel()
        square = np.ones(delta.size)
        everyone = np.broadcast_to(np.arange(n), (len(self.deviations), n))
        squared_distances(points, rows, self.anchors, everyone, square)
        d = np.maximum(np.sqrt(square), self._floor)
        if self.epsilon > 0.0:
            r = d - delta
            near = r * r / (np.sqrt(r * r + self.epsilon**2) + self.epsilon)
            # exactly at the original distance, the slope is that of neither side
            side = np.where(r >= 0.0, 1.0, -1.0)
            d = delta + side * np.maximum(near, 1e-14 * (1.0 + delta))
            d = np.maximum(d, 0.0)
        return self._in_torch(delta, d) / self._divisor

    def _in_torch(self, delta: Floats, d: Floats) -> Floats:
        functions = [self.loss.value, self.loss.slope, self.loss.curvature]
        pair = self.unit * delta, self.unit * d
        v, s, c = call_in_torch(self._dtype, self._device, functions, *pair)
        return np.stack([v, self.unit**2 * (s * np.maximum(d, D_FLOOR)), self.unit**2 * c])
