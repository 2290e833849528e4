"""What every MDE problem has: items, a constraint, a device, and the result of its last solve."""

from __future__ import annotations

import torch

from skmde._utils.device import resolve_device, solving_device
from skmde._utils.memory.amounts import as_text
from skmde._utils.threads import count_threads
from skmde.constraints import Constraint, resolve_constraint
from skmde.core.kernels.backend import Backend, choose_backend
from skmde.core.rounds import check_positive_integer
from skmde.core.solvers.result import SolveResult

# Bytes on a device: of a pair, whose both directions are stored, and of an entry of the embedding
# for each vector of a solver, in float32. float64 takes at most twice as much.
_PAIR, _ENTRY = 60.0, 4.0


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
        self.device = solving_device(resolve_device(device))
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


def needed_on_device(problem: ItemsProblem, n_pairs: int, memory_size: int) -> str:
    """What a solve needs of a device's memory, and what lowers the need: a sentence or two."""
    vectors = 2 * (memory_size + 1) + 10
    needed = _PAIR * n_pairs + _ENTRY * vectors * problem.n_items * problem.n_components
    return (
        f"This solve needs about {as_text(needed)} there ({n_pairs:,} pairs, {vectors} arrays of "
        f"{problem.n_items:,} x {problem.n_components} coordinates; twice as much in float64). "
        "Reduce memory_size, pass fewer edges, or use solver='stochastic', which takes the pairs "
        "in batches."
    )
