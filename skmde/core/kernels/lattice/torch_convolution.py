"""Sums over all pairs in torch: on a lattice, or exactly.

``convolution.py`` has the mathematics of the lattice and its compiled twin. Charges are spread in
fixed point, because integers have the same sum in any order: a GPU's threads add them in no fixed
order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from skmde._linalg.reductions import dot
from skmde._utils.ranks.group import Ranks
from skmde.core.kernels.lattice.convolution import Grid, half_length
from skmde.core.kernels.lattice.splines import (
    SLOPES,
    WEIGHTS,
    self_products,
    spline_transform,
)
from skmde.functions.base import Penalty

_PAIRS = 1 << 22  # pairs that are computed at once
_NODES = 1 << 25  # nodes around points that are computed at once


class TorchLattice:
    """Sums of one function over all pairs; see :class:`~skmde.core.kernels.lattice.Lattice`.

    Parameters
    ----------
    values : callable
        Takes a tensor of squared distances, float64, and returns p.
    grid : Grid
    total : float
        Sum of the magnitudes of all charges.
    """

    def __init__(
        self, values: Callable[[torch.Tensor], torch.Tensor], grid: Grid, total: float
    ) -> None:
        self._values, self._grid = values, grid
        # the sum of all charges is below 2 ** 62 in fixed point
        self._unit = 2.0 ** (61 - np.ceil(np.log2(total))) if total > 0 else 1.0
        self._kept: tuple[Any, ...] | None = None

    def energy(
        self,
        X: torch.Tensor,
        charges: torch.Tensor,
        low: np.ndarray,
        high: np.ndarray,
        ranks: Ranks | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The energy and its gradient, for positions of shape (n, m) in a box, m = 2 or 3."""
        origin, shape = self._grid.box(low, high)
        dtype, degree = self._dtype_for(X), self._grid.degree
        if ranks is not None:  # each spreads and reads its own charges
            n, own_rows = len(X), ranks.share(len(X))
            X, charges = X[own_rows], charges[own_rows]
        q = charges.to(dtype)
        U = X.to(dtype) / self._grid.spacing
        U = U - torch.as_tensor(origin, dtype=dtype, device=X.device)
        first = U.long()
        t = U - first
        # The weights are sums and products, which serve tensors as well as numbers.
        axes = range(len(shape))
        weights, slopes = WEIGHTS[degree].py_func, SLOPES[degree].py_func
        w, dw = (
            [torch.stack(tuple(f(t[:, a], float)), dim=1) for a in axes] for f in (weights, slopes)
        )
        steps = [int(np.prod(shape[a + 1 :])) for a in axes]
        around = itertools.product(range(degree + 1), repeat=len(shape))
        offsets = torch.tensor([int(np.dot(offset, steps)) for offset in around], device=X.device)
        corner = ((first - (degree - 1) // 2) * torch.tensor(steps, device=X.device)).sum(dim=1)
        blocks = _blocks(len(q), len(offsets))
        Q = torch.zeros(int(np.prod(shape)), dtype=torch.int64, device=X.device)
        for rows in blocks:
            charge = (q[rows, None] * _outer([x[rows] for x in w])).double() * self._unit
            nodes = corner[rows, None] + offsets
            Q.index_add_(0, nodes.view(-1), charge.round().long().view(-1))
        if ranks is not None:
            ranks.add_up(Q)
        P, own_part = self._potential((Q.double() / self._unit).to(dtype).view(shape))
        value, gradient = torch.empty_like(q), [torch.empty_like(q) for _ in axes]
        for rows in blocks:
            p = P[corner[rows, None] + offsets]
            near = [x[rows] for x in w]
            value[rows] = (_outer(near) * p).sum(dim=1)
            for a in axes:
                inclined = [*near[:a], dw[a][rows], *near[a + 1 :]]
                gradient[a][rows] = (_outer(inclined) * p).sum(dim=1)
        own, halves = _own(own_part, t)
        inverse = 1 / self._grid.spacing
        forces = [q * (g - q * h) * inverse for g, h in zip(gradient, halves, strict=True)]
        found = torch.stack([q, value - q * own, *forces], dim=1)
        if ranks is not None:
            found = ranks.rows_of_all(found, n)
        energy = 0.5 * dot(found[:, 0].contiguous(), found[:, 1].contiguous())
        return energy, found[:, 2:].to(X.dtype)

    def local_energy(
        self, X: torch.Tensor, charges: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The energy, and its gradient, of a group of items that may be far from the origin."""
        h = self._grid.spacing
        local = X.double() - torch.floor(X.double().amin(dim=0) / h) * h
        local = local.to(self._dtype_for(X))
        return self.energy(local, charges, *corners(local))

    def _dtype_for(self, X: torch.Tensor) -> torch.dtype:
        return X.dtype if self._grid.dtype is None else torch.float64

    def _potential(self, Q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The potential at the nodes, flat, and the polynomial of a charge's own part."""
        halves = tuple(half_length(side) for side in Q.shape)
        if self._kept is None or self._kept[0] != halves:
            self._kept = None  # its memory is free before the next one is made
            self._kept = halves, *self._transform(halves, Q)
        _, H, own = self._kept
        lengths = tuple(2 * m for m in halves)
        P = torch.fft.irfftn(torch.fft.rfftn(Q, s=lengths) * H, s=lengths)
        return P[tuple(slice(side) for side in Q.shape)].reshape(-1), own

    def _transform(
        self, halves: tuple[int, ...], like: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Transform of p over that of the B-spline, for a lattice of 2 m nodes along each axis."""
        degree, h, count = self._grid.degree, self._grid.spacing, len(halves)
        squares = torch.zeros((), dtype=torch.float64, device=like.device)
        for m in halves:
            k = torch.arange(2 * m, device=like.device, dtype=torch.float64)
            squares = squares[..., None] + (torch.minimum(k, 2 * m - k) * h) ** 2
        H = torch.fft.rfftn(self._values(squares)).real
        for axis, m in enumerate(halves):
            length = 2 * m if axis < count - 1 else m + 1
            spline = torch.from_numpy(spline_transform(degree, np.pi * np.arange(length) / m))
            shape = [1] * count
            shape[axis] = length
            H = H / (spline**2).to(like.device).view(shape)
        near = torch.fft.irfftn(H, s=tuple(2 * m for m in halves))
        own = near[(slice(degree + 1),) * count]
        products = torch.from_numpy(self_products(degree)).to(like.device)
        for axis in range(count):  # as in `own_polynomial`, but nothing is read from the device
            own = torch.tensordot(products, own, ([0], [axis])).movedim(0, axis)
        return H.to(like.dtype), own.to(like.dtype).contiguous()


def _outer(factors: list[torch.Tensor]) -> torch.Tensor:
    """Products of the weights along each axis, shape (n, number of nodes around a point)."""
    product = factors[0]
    for factor in factors[1:]:
        product = (product[:, :, None] * factor[:, None, :]).flatten(1)
    return product


def _blocks(n: int, n_around: int) -> list[slice]:
    """Ranges of points whose nodes are computed at once."""
    step = max(1, _NODES // n_around)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def corners(X: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the box of the rows of `X`, on the host."""
    low, high = torch.stack(torch.aminmax(X, dim=0)).cpu().numpy()
    return low, high


def _own(C: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Potential of a point's own unit charge at the point, and half of its derivatives."""
    n, m = t.shape
    z = t * (1 - t)
    # The last axis of the polynomial's coefficients is summed first.
    value = C.unsqueeze(-1).expand(*C.shape, n)
    slopes: list[torch.Tensor] = []
    for axis in reversed(range(m)):
        y = z[:, axis]
        slopes = [_horner(slope, y)[0] for slope in slopes]
        value, slope = _horner(value, y)
        slopes.append(slope)
    return value, [(0.5 - t[:, a]) * slope for a, slope in enumerate(reversed(slopes))]


def _horner(C: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Polynomials in y and their derivatives; the coefficients are along the last axis but one."""
    value, slope = C[..., -1, :], torch.zeros_like(C[..., -1, :])
    for k in range(C.shape[-2] - 2, -1, -1):
        slope = slope * y + value
        value = value * y + C[..., k, :]
    return value, slope


def add_later_pairs(
    penalty: Penalty, X: torch.Tensor, charges: torch.Tensor, stops: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum of a penalty over the pairs (i, j) with ``j >= stops[i]``, and its gradient.

    The weight of a pair is the product of its items' charges. `stops` increases, and ``stops[i]``
    is larger than i. Pairs are computed in blocks, each of which has at least one item's.
    """
    n, m = X.shape
    value = torch.zeros((), dtype=torch.float64, device=X.device)
    gradient = torch.zeros_like(X)
    limit = torch.finfo(X.dtype).max
    bounds = torch.from_numpy(stops).to(X.device)
    positions = torch.arange(n, device=X.device)
    start = 0
    while start < n:
        first = int(stops[start])
        if first >= n:
            break
        stop = min(n, start + max(1, _PAIRS // (n - first)))
        ours, theirs = slice(start, stop), slice(first, n)
        differences = [X[ours, a, None] - X[None, theirs, a] for a in range(m)]
        d = sum(e * e for e in differences).clamp(max=limit).sqrt()  # type: ignore[union-attr]
        used = positions[None, theirs] >= bounds[ours, None]
        w = torch.where(used, charges[ours, None] * charges[None, theirs], 0.0).view(-1)
        values = penalty.weighted_value(d.view(-1), w)
        slopes = penalty.weighted_slope(d.view(-1), w).view(d.shape)
        value = value + dot(values, torch.ones_like(values))
        for a, e in enumerate(differences):
            forces = slopes * e
            gradient[ours, a] += forces.sum(dim=1)
            gradient[theirs, a] -= forces.sum(dim=0)
        start = stop
    return value, gradient
