"""What a solver is, and a solve with a progress bar and a warning if it failed.

A solver says what it needs of the terms of an objective (`requires`) and ends with a
:class:`~skmde.core.solvers.result.Status`. A new solver is one subclass of `Solver` in a file of
its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch

from skmde._utils.warn import warn
from skmde.constraints import Constraint
from skmde.core.objectives.base import Objective
from skmde.core.solvers.progress import progress_bar
from skmde.core.solvers.result import Callback, SolveResult, Status
from skmde.exceptions import ConvergenceWarning

_FIRST_STEPS = 2  # iterations after which a solve that ends is not taken for a failed one


class Solver(ABC):
    """A method that minimises an objective over a constraint set; its settings are attributes."""

    #: Names of the methods that every term of the objective must have.
    requires: ClassVar[tuple[str, ...]] = ("value_and_gradient",)

    max_iter: int

    @abstractmethod
    def minimize(
        self,
        objective: Objective,
        constraint: Constraint,
        X: torch.Tensor,
        callbacks: Sequence[Callback] = (),
    ) -> SolveResult:
        """Minimise the objective from a feasible start.

        Parameters
        ----------
        objective : Objective
            What to minimise.
        constraint : Constraint
            Where.
        X : torch.Tensor of shape (n, m)
            Feasible start; not changed.
        callbacks : sequence of callable
            Each is called with a `SolverState` after every iteration; True stops the solve.

        Returns
        -------
        result : SolveResult
            The best finite iterate. No solver raises for numerical reasons.
        """

    def check(self, objective: Objective) -> None:
        """Refuse an objective whose terms lack something that the solver needs.

        Raises
        ------
        TypeError
            The message names the term, the solver and what is missing.
        """
        for term in getattr(objective, "terms", (objective,)):
            missing = [name for name in self.requires if not hasattr(term, name)]
            if missing:
                raise TypeError(
                    f"{type(term).__name__} is not compatible with solver {type(self).__name__}: "
                    f"missing {', '.join(missing)}."
                )


def solve(
    solver: Solver,
    objective: Objective,
    constraint: Constraint,
    start: torch.Tensor,
    *,
    callbacks: Sequence[Callback] = (),
    verbose: int = 0,
) -> SolveResult:
    """Minimise from a feasible start; see :meth:`Solver.minimize`.

    Raises
    ------
    TypeError
        If a term of the objective lacks something that the solver needs.

    Warns
    -----
    ConvergenceWarning
        If no finite, sensible solution could be reached.
    """
    solver.check(objective)
    with progress_bar(verbose, solver.max_iter) as bar:
        result = solver.minimize(objective, constraint, start, [*callbacks, *bar])
    _warn_if_failed(result)
    return result


def _warn_if_failed(result: SolveResult) -> None:
    norms = result.history.residual_norm
    # As good as the precision allows: moving every item by its own length would change the value,
    # to first order, by some square roots of a rounding: what rounding changes in the
    # slopes of d ** 1.5 where items coincide. Or the value itself is but rounding of positions.
    gain = norms[-1] * float(torch.linalg.matrix_norm(result.X))
    eps, value = torch.finfo(result.X.dtype).eps, abs(result.value)
    settled = gain <= 30 * eps**0.5 * value or value <= 100 * eps * gain
    # Later on it is the kink of a loss, or rounding, that ends the solve.
    begun = result.n_iter > _FIRST_STEPS
    stuck = result.status is Status.NO_DESCENT and norms[-1] > 0.01 * norms[0]
    stuck = stuck and not (settled or begun)
    endless = result.status is Status.UNBOUNDED
    if stuck or endless or result.status is Status.NOT_FINITE:
        advice = (
            "Give a repulsive penalty that grows less than the attractive one, or less repulsion."
            if endless
            else "Check the scale of the data and of the starting point."
        )
        warn(
            f"The solve stopped early: {result.reason} (iteration {result.n_iter}, average "
            f"distortion {result.value:.6g}, residual norm {result.residual_norm:.3g}). {advice}",
            ConvergenceWarning,
        )
