"""The backend of torch operations, for any device and any distortion function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from skmde.core.kernels import torch_reference
from skmde.core.kernels.backend_base import (
    Backend,
    Run,
    Sums,
    Value,
    charges_of,
)
from skmde.core.kernels.lattice import torch_convolution
from skmde.core.kernels.lattice.convolution import ACCURACIES, Grid
from skmde.core.kernels.lattice.far_groups import Plan, bounded, grouped_energy
from skmde.core.kernels.lattice.torch_convolution import TorchLattice
from skmde.functions.base import Loss, Penalty


class TorchBackend(Backend):
    """Torch operations, for any device and any distortion function."""

    def supports(self, function: Penalty | Loss) -> bool:
        return True

    def edge_sums(
        self, runs: Sequence[Run], n_items: int, n_components: int, dtype: torch.dtype
    ) -> Sums:
        plans = [
            (
                run,
                torch_reference.Incidence.of(run.i, run.j, n_items),
                torch_reference.block_size(run.function, self.device, len(run.i)),
            )
            for run in runs
        ]

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            value: Value = 0.0
            gradient: torch.Tensor | None = None
            for run, incidence, block in plans:
                total, part = torch_reference.value_and_gradient(
                    run.function,
                    X,
                    run.i,
                    run.j,
                    run.weights,
                    run.deviations,
                    incidence,
                    block,
                )
                value = value + total * scale
                part = part * scale
                gradient = part if gradient is None else gradient + part
            assert gradient is not None
            return value, gradient

        return sums

    def product_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
    ) -> Sums:
        charges = charges_of(item_weights, n_items, dtype).to(self.device)
        stops = np.arange(1, n_items + 1)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            value, gradient = torch_convolution.add_later_pairs(function, X, charges, stops)
            return value * scale, gradient * scale

        return sums

    def lattice_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        accuracy: str,
    ) -> Sums | None:
        length = function.smooth_length
        if length is None or n_components > 2:
            return None
        grid = ACCURACIES[accuracy].grid(length)
        charges = charges_of(item_weights, n_items, dtype).to(self.device)
        magnitude = float(charges.abs().double().sum())

        @cache
        def lattice_of(grid: Grid) -> TorchLattice:
            return TorchLattice(function, grid, magnitude)

        def add_pairs(
            P: torch.Tensor, c: torch.Tensor, stops: np.ndarray
        ) -> tuple[torch.Tensor, torch.Tensor]:
            return torch_convolution.add_later_pairs(function, P, c, stops)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            points = torch.cat([X, torch.zeros_like(X)], dim=1) if n_components == 1 else X
            low, high = torch_convolution.corners(points)
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                return np.nan, torch.full_like(X, np.nan)
            if grid.fits(low, high):
                value, gradient = lattice_of(grid).energy(points, charges, low, high)
            else:
                host = bounded(points.cpu().numpy())
                points, plan = torch.from_numpy(host).to(self.device), Plan(host, grid)
                zeros = torch.zeros_like(points, dtype=torch.float64)
                value, total = grouped_energy(points, charges, plan, zeros, lattice_of, add_pairs)
                gradient = total.to(dtype)
            return value * scale, (gradient[:, :n_components] * scale).contiguous()

        return sums

    def history_dots(self, H: torch.Tensor, g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch_reference.history_dots(H, g, y)

    def combine(
        self, H: torch.Tensor, coefficients: np.ndarray, g: torch.Tensor, scale: float
    ) -> torch.Tensor:
        c = torch.as_tensor(coefficients).to(device=g.device, dtype=g.dtype)
        return torch_reference.combine(H, c, g, scale)
