"""Sums over all pairs in torch: on a lattice, or exactly.

``lattice.py`` has the mathematics of the lattice and its compiled twin. Charges are spread in fixed
point, because integers have the same sum in any order: a GPU's threads add them in no fixed order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skmde._linalg.reductions import dot
from skmde.core.kernels.lattice import numba_loops
from skmde.core.kernels.lattice.convolution import Grid, half_length, spline_transform
from skmde.functions.base import Penalty

_PAIRS = 1 << 22  # pairs that are computed at once

# The weights are sums and products, which serve tensors as well as numbers.
_WEIGHTS: dict[int, tuple[Any, Any]] = {
    3: (numba_loops.cubic, numba_loops.cubic_slopes),
    5: (numba_loops.quintic, numba_loops.quintic_slopes),
}


class TorchLattice:
    """Sums of one penalty over all pairs; see :class:`~skmde.core.kernels.lattice.Lattice`.

    Parameters
    ----------
    penalty : Penalty
    grid : Grid
    total : float
        Sum of the magnitudes of all charges.
    """

    def __init__(self, penalty: Penalty, grid: Grid, total: float) -> None:
        self._penalty, self._grid = penalty, grid
        # the sum of all charges is below 2 ** 62 in fixed point
        self._unit = 2.0 ** (61 - np.ceil(np.log2(total))) if total > 0 else 1.0
        self._kept: tuple[Any, ...] | None = None

    def energy(
        self, X: torch.Tensor, charges: torch.Tensor, low: np.ndarray, high: np.ndarray
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The energy and its gradient, for positions of shape (n, 2) in a box."""
        origin, (rows, columns) = self._grid.box(low, high)
        dtype = self._dtype_for(X)
        q = charges.to(dtype)
        U = X.to(dtype) / self._grid.spacing
        U = U - torch.as_tensor(origin, dtype=dtype, device=X.device)
        first = U.long()
        t = U - first
        weights, slopes = (f.py_func for f in _WEIGHTS[self._grid.degree])
        w, dw = ([f(t[:, a], float) for a in (0, 1)] for f in (weights, slopes))
        margin = (self._grid.degree - 1) // 2
        corner = (first[:, 0] - margin) * columns + first[:, 1] - margin
        nodes = [
            (a, b, corner + (a * columns + b)) for a in range(len(w[0])) for b in range(len(w[1]))
        ]
        Q = torch.zeros(rows * columns, dtype=torch.int64, device=X.device)
        for a, b, node in nodes:
            charge = (q * w[0][a] * w[1][b]).double() * self._unit
            Q.index_add_(0, node, charge.round().long())
        P, S = self._potential((Q.double() / self._unit).to(dtype).view(rows, columns))
        value, g0, g1 = (torch.zeros_like(q) for _ in range(3))
        for a, b, node in nodes:
            p = P.index_select(0, node)
            value += w[0][a] * w[1][b] * p
            g0 += dw[0][a] * w[1][b] * p
            g1 += w[0][a] * dw[1][b] * p
        own, h0, h1 = _own(S, w, dw)
        inverse = 1 / self._grid.spacing
        gradient = torch.stack([q * (g0 - q * h0), q * (g1 - q * h1)], dim=1) * inverse
        return 0.5 * dot(q, value - q * own), gradient.to(X.dtype)

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
        """The potential at the nodes, flat, and the part `S` of it that is a node's own."""
        rows, columns = Q.shape
        m0, m1 = half_length(rows), half_length(columns)
        if self._kept is None or self._kept[0] != (m0, m1):
            self._kept = None  # its memory is free before the next one is made
            self._kept = (m0, m1), *self._transform(m0, m1, Q)
        _, H, S = self._kept
        shape = 2 * m0, 2 * m1
        P = torch.fft.irfft2(torch.fft.rfft2(Q, s=shape) * H, s=shape)
        return P[:rows, :columns].reshape(-1), S

    def _transform(self, m0: int, m1: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Transform of p over that of the B-spline, for a lattice of (2 m0, 2 m1) nodes."""
        degree, h = self._grid.degree, self._grid.spacing
        squares = []
        for m in (m0, m1):
            k = torch.arange(2 * m, device=like.device, dtype=torch.float64)
            squares.append((torch.minimum(k, 2 * m - k) * h) ** 2)
        d = (squares[0][:, None] + squares[1][None, :]).sqrt_()
        H = torch.fft.rfft2(self._penalty.value(d)).real
        for axis, angles in enumerate(
            (np.pi * np.arange(2 * m0) / m0, np.pi * np.arange(m1 + 1) / m1)
        ):
            spline = torch.from_numpy(spline_transform(degree, angles)).to(like.device)
            H = H / torch.unsqueeze(spline**2, 1 - axis)
        own = torch.fft.irfft2(H, s=(2 * m0, 2 * m1))[: degree + 1, : degree + 1]
        return H.to(like.dtype), own.to(like.dtype, copy=True)


def corners(X: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the box of the rows of `X`, on the host."""
    low, high = torch.stack(torch.aminmax(X, dim=0)).cpu().numpy()
    return low, high


def _own(S: torch.Tensor, w: Any, dw: Any) -> tuple[torch.Tensor, ...]:
    """Potential of a point's own unit charge at the point, and half of its two derivatives."""
    width = len(w[0])
    # products of two weights of an axis, p nodes apart, and half of their derivatives
    near = []
    for v, dv in zip(w, dw, strict=True):
        pairs = []
        for p in range(width):
            factor, ends = (1.0 if p == 0 else 2.0), range(width - p)
            product = sum(v[a] * v[a + p] for a in ends) * factor
            slope = sum(dv[a] * v[a + p] + v[a] * dv[a + p] for a in ends) * (0.5 * factor)
            pairs.append((product, slope))
        near.append(pairs)
    value, h0, h1 = (torch.zeros_like(w[0][0]) for _ in range(3))
    for p, (r, dr) in enumerate(near[0]):
        along = sum(S[p, q] * s for q, (s, _) in enumerate(near[1]))
        dalong = sum(S[p, q] * ds for q, (_, ds) in enumerate(near[1]))
        value += r * along
        h0 += dr * along
        h1 += r * dalong
    return value, h0, h1


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
