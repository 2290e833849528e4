"""The backend of fused Triton kernels, for sums over listed pairs on a GPU.

Torch operations serve the rest: functions that are not in ``fused/functions.py``, embeddings of
many dimensions, and all other sums. They serve the listed pairs, too, where Triton cannot compile.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import torch

from skmde._utils.device import OutOfMemory
from skmde._utils.ranks.group import Ranks, checksum
from skmde.core.kernels.backend_base import Run, Sums, Value
from skmde.core.kernels.fused.pairs import PairSums, is_fused
from skmde.core.kernels.torch_backend import TorchBackend, share_of_runs

logger = logging.getLogger(__name__)

_works: set[Any] = set()  # kernels that have been compiled in this process


class TritonBackend(TorchBackend):
    """Fused kernels for listed pairs, torch operations for all else."""

    def edge_sums(
        self,
        runs: Sequence[Run],
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        ranks: Ranks | None = None,
    ) -> Sums:
        shape = n_items, n_components, dtype
        fused = [run for run in runs if is_fused(run.function, n_components)]
        own = fused if ranks is None else share_of_runs(fused, ranks)
        parts = _compiled(own, *shape) if fused else None
        if parts is None:
            return super().edge_sums(runs, *shape, ranks)
        others = [run for run in runs if not is_fused(run.function, n_components)]
        rest = super().edge_sums(others, *shape, ranks) if others else None

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            total = torch.zeros((), dtype=torch.float64, device=X.device)
            gradient = torch.zeros_like(X)
            for number, part in enumerate(parts):
                value, forces = part(X)
                total = total + value * scale
                gradient = forces * scale if number == 0 else gradient.add_(forces, alpha=scale)
            if ranks is not None:
                total = ranks.total(gradient, total.view(1), checksum(X))[0]
            if rest is None:
                return total, gradient
            more, forces = rest(X, scale)
            return total + more, gradient + forces

        return sums


def _compiled(
    runs: Sequence[Run], n_items: int, n_components: int, dtype: torch.dtype
) -> list[PairSums] | None:
    """The sums of runs, whose kernels work; None if Triton cannot compile them."""
    parts = [PairSums(run, n_items, n_components, dtype) for run in runs]
    for part, run in zip(parts, runs, strict=True):
        if part.kernel in _works:  # as for each batch of a stochastic solve
            continue
        try:
            part(torch.zeros((n_items, n_components), dtype=dtype, device=run.i.device))
        except OutOfMemory:
            raise
        except Exception as error:  # a compiler or a driver is missing; Triton has no common class
            logger.warning("Triton cannot compile its kernels, so torch computes them: %s", error)
            return None
        _works.add(part.kernel)
    return parts
