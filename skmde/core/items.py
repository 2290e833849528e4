"""What every MDE problem has: items, a constraint, a device, and the result of its last solve."""

from __future__ import annotations

import torch

from skmde._utils.device import resolve_device
from skmde._utils.threads import count_threads
from skmde.constraints import Constraint, resolve_constraint
from skmde.core.kernels.backend import Backend, choose_backend
from skmde.core.rounds import check_positive_integer
from skmde.core.solvers.result import SolveResult


class ItemsProblem:
    """Base class of the problems; see :class:`skmde.MDE` for the parameters and attributes."""

    def __init__(
        self,
        n_items: int,
        n_components: int,
        constraint: str | Constraint | None,
        device: str | torch.device | None,
        n_jobs: int | None,
    ) -> None:
        check_positive_integer("n_items", n_items)
        check_positive_integer("n_components", n_components)
        self.n_items, self.n_components = int(n_items), int(n_components)
        self.device = resolve_device(device)
        self.n_jobs = n_jobs
        count_threads(n_jobs)  # raises if n_jobs is invalid
        self.constraint = resolve_constraint(constraint)
        self.constraint.validate(self.n_items, self.n_components)
        self.X: torch.Tensor | None = None
        self.value: float | None = None
        self.residual_norm: float | None = None
        self.result: SolveResult | None = None

    @property
    def _backend(self) -> Backend:
        return choose_backend(self.device, count_threads(self.n_jobs))

    def _keep(self, result: SolveResult) -> torch.Tensor:
        """Store the result of a solve, and return its embedding."""
        self.result = result
        self.X, self.value, self.residual_norm = result.X, result.value, result.residual_norm
        return result.X
