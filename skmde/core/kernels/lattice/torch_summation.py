"""Sums of a penalty over all pairs in torch."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch

from skmde._linalg.reductions import dot
from skmde._utils.ranks.group import Ranks
from skmde.core.kernels.lattice import torch_convolution
from skmde.core.kernels.lattice.layouts import Layout, Layouts
from skmde.core.kernels.lattice.softening import softened_values
from skmde.core.kernels.lattice.summation import Summation
from skmde.core.kernels.lattice.torch_convolution import TorchLattice
from skmde.functions.base import Penalty

Choice = tuple[Layout | None, float]

_PAIRS = 1 << 21  # pairs that are computed at once


class TorchSummation(Summation):
    """Sums by torch operations; see the base class."""

    def __init__(
        self,
        penalty: Penalty,
        layouts: Layouts,
        charges: torch.Tensor,
        ranks: Ranks | None = None,
    ) -> None:
        super().__init__(penalty, layouts, charges, ranks)
        self._total = float(charges.abs().double().sum())

    def choice(self, X: torch.Tensor, low: np.ndarray, high: np.ndarray) -> Choice:
        """The penalty's own lattice wherever it fits, in two dimensions.

        On a GPU, its transforms take less time than a copy of the positions to the host, which the
        choice among other layouts needs, and than the waits of their sums of close pairs.
        """
        if X.shape[1] > 2:  # a lattice in space has many more nodes than items
            return super().choice(X, low, high)
        layout, work = self.layouts.best(X, low, high, self.host, math.inf)
        is_plain = layout is not None and not layout.radius
        return layout, 0.0 if is_plain else work

    def lattice(self, layout: Layout) -> TorchLattice:
        values = softened_values(
            self.softening(layout), lambda squares: self.penalty.value(squares.sqrt())
        )
        return TorchLattice(values, layout.grid, self._total)

    def pairs(
        self, X: torch.Tensor, charges: torch.Tensor, stops: np.ndarray
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return torch_convolution.add_later_pairs(self.penalty, X, charges, stops)

    def cores(
        self, X: torch.Tensor, charges: torch.Tensor, layout: Layout
    ) -> tuple[torch.Tensor, torch.Tensor]:
        soft = self.softening(layout)
        assert soft is not None
        # the square of the radius must be within the range of the dtype
        is_usual = 1e-15 < layout.radius < 1e15
        P = X if layout.grid.dtype is None and is_usual else X.double()
        order, ranges = _neighbor_cells(P, layout.radius)
        P, c = P[order], charges.to(P.dtype)[order]
        value = torch.zeros((), dtype=torch.float64, device=X.device)
        gradient = torch.zeros_like(P)
        for starts, stops in ranges:
            for items in _blocks(stops - starts):
                own = torch.arange(items.start, items.stop, device=X.device)
                candidates = (stops - starts)[items]
                i = own.repeat_interleave(candidates)
                first = candidates.cumsum(0) - candidates
                within = torch.arange(len(i), device=X.device) - first[i - items.start]
                j = starts[i] + within
                difference = P[i] - P[j]
                d2 = (difference**2).sum(dim=1)
                near = (d2 < layout.radius**2) & (i != j)
                i, j, difference, d2 = i[near], j[near], difference[near], d2[near]
                w, d = c[i] * c[j], d2.sqrt()
                polynomial, slope = soft.polynomial(d2)
                values = self.penalty.weighted_value(d, w) - w * polynomial
                slopes = self.penalty.weighted_slope(d, w) - w * slope
                value = value + 0.5 * dot(values, torch.ones_like(values))
                counts = torch.bincount(i - items.start, minlength=len(own))
                gradient[items] += torch.segment_reduce(
                    slopes[:, None] * difference, "sum", lengths=counts, axis=0
                )
        result = torch.empty_like(X)
        result[order] = gradient.to(X.dtype)
        return value, result

    def zeros(self, X: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(X, dtype=torch.float64)

    @staticmethod
    def corners(X: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
        return torch_convolution.corners(X)

    @staticmethod
    def host(X: torch.Tensor) -> np.ndarray:
        return np.asarray(X.cpu().numpy())

    @staticmethod
    def like(P: np.ndarray, X: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(P).to(X.device)


def _neighbor_cells(
    P: torch.Tensor, side: float
) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]]:
    """Sort items into cells.

    Returns
    -------
    order : torch.Tensor of shape (n,)
        The items, sorted by cell.
    ranges : list of (starts, stops), torch.Tensor of shape (n,)
        Positions in `order` of the items in three cells next to each other, for each of the 3 or 9
        such rows around the cell of an item.
    """
    m = P.shape[1]
    cells = ((P.double() - P.double().amin(dim=0)) / side).long() + 1
    shape = cells.amax(dim=0) + 2
    strides = [int(shape[a + 1 :].prod()) for a in range(m)]
    keys, order = torch.sort(
        (cells * torch.tensor(strides, device=P.device)).sum(dim=1), stable=True
    )
    ranges = []
    for offset in itertools.product((-1, 0, 1), repeat=m - 1):
        there = keys + sum(o * stride for o, stride in zip(offset, strides, strict=False))
        starts = torch.searchsorted(keys, there - 1)
        ranges.append((starts, torch.searchsorted(keys, there + 1, right=True)))
    return order, ranges


def _blocks(counts: torch.Tensor) -> list[slice]:
    """Ranges of items with about `_PAIRS` candidates each."""
    total = counts.cumsum(0)
    n_blocks = max(1, -(-int(total[-1]) // _PAIRS))
    targets = torch.arange(1, n_blocks, device=counts.device) * _PAIRS
    bounds = [0, *torch.searchsorted(total, targets).tolist(), len(counts)]
    return [slice(a, b) for a, b in itertools.pairwise(bounds) if a < b]
