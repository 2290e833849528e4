"""The backend of torch operations, for any device and any distortion function."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from skmde._utils.ranks.group import Ranks, checksum
from skmde.core.kernels import torch_reference
from skmde.core.kernels.backend_base import (
    Backend,
    Run,
    Sums,
    Value,
    charges_of,
)
from skmde.core.kernels.lattice import torch_convolution
from skmde.core.kernels.lattice.convolution import ACCURACIES
from skmde.core.kernels.lattice.layouts import Layouts
from skmde.core.kernels.lattice.torch_summation import TorchSummation
from skmde.core.kernels.torch_blocks import CALL
from skmde.functions.base import Loss, Penalty


class TorchBackend(Backend):
    """Torch operations, for any device and any distortion function."""

    def supports(self, function: Penalty | Loss) -> bool:
        return True

    def edge_sums(
        self,
        runs: Sequence[Run],
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        ranks: Ranks | None = None,
    ) -> Sums:
        if ranks is not None:
            runs = share_of_runs(runs, ranks)
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
            if gradient is None:  # no pairs are left for this rank
                gradient = torch.zeros_like(X)
            if ranks is None:
                return value, gradient
            numbers = torch.as_tensor(value, dtype=torch.float64, device=X.device).view(1)
            gradient = gradient.contiguous()
            return ranks.total(gradient, numbers, checksum(X))[0], gradient

        return sums

    def product_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        ranks: Ranks | None = None,
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
        ranks: Ranks | None = None,
    ) -> Sums | None:
        if n_components > 3 or not Layouts.exist(function):
            return None
        charges = charges_of(item_weights, n_items, dtype).to(self.device)
        summation = TorchSummation(
            function, Layouts(function, ACCURACIES[accuracy]), charges, ranks
        )

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            points = torch.cat([X, torch.zeros_like(X)], dim=1) if n_components == 1 else X
            result = summation.energy(points)
            if result is None:
                return np.nan, torch.full_like(X, np.nan)
            value, gradient = result
            gradient = gradient.to(dtype)[:, :n_components] * scale
            return value * scale, gradient.contiguous()

        return sums

    def history_dots(self, H: torch.Tensor, g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch_reference.history_dots(H, g, y)

    def combine(
        self, H: torch.Tensor, coefficients: np.ndarray, g: torch.Tensor, scale: float
    ) -> torch.Tensor:
        c = torch.as_tensor(coefficients).to(device=g.device, dtype=g.dtype)
        return torch_reference.combine(H, c, g, scale)


def share_of_runs(runs: Sequence[Run], ranks: Ranks) -> list[Run]:
    """A rank's share of the pairs: a stretch of their list.

    A callable may hold one parameter for each of its pairs, and is called with all of them. So one
    rank takes the whole run.
    """
    own, before = ranks.share(sum(len(run.i) for run in runs)), 0
    shares = []
    for number, run in enumerate(runs):
        start, stop = max(own.start - before, 0), min(own.stop - before, len(run.i))
        before += len(run.i)
        if not _takes_any_pairs(run):
            start, stop = (0, len(run.i)) if number % ranks.size == ranks.rank else (0, 0)
        if start < stop:
            shares.append(_part(run, start, stop))
    return shares


def _takes_any_pairs(run: Run) -> bool:
    """Whether a distortion function can be called with some of the pairs only."""
    size = torch_reference.block_size(run.function, torch.device("cpu"), CALL + 1)
    return run.function.varies_by_pair or size == CALL


def _part(run: Run, start: int, stop: int) -> Run:
    cut, function = slice(start, stop), run.function
    if function.varies_by_pair:
        function = function.of_pairs(np.arange(start, stop), len(run.i))
    deviations = None if run.deviations is None else run.deviations[cut]
    return Run(function, run.i[cut], run.j[cut], run.weights[cut], deviations)
