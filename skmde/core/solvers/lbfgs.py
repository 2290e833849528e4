r"""Projected L-BFGS (monograph, section 6.1, algorithm 1).

From a feasible X_0, for k = 0, 1, ...:

    G_k = T_X(grad E(X_k))              projected onto the tangent space of the constraint set
    stop if ||G_k||_F <= tol
    V_k = -B_k^{-1} G_k                 quasi-Newton, from the last M pairs (``history.py``)
    t_k by a line search                modified strong Wolfe conditions (``line_search.py``)
    X_{k+1} = P(X_k + t_k V_k)          projected onto the constraint set

A set with a boundary has other steps, which ``boundary.py`` explains.

X is in the units of the embedding, E and G in those of the objective. `tol` has no unit: it is
multiplied by the gradient's unit in a :class:`~skmde.core.solvers.scale.Scale`, which also gives
the length of a first step along -G.

Where some pairs are much stiffer than others, the solver works in variables Z with X = C Z, in
which all are alike (``skmde/core/tight_groups.py``). G is then the gradient with respect to Z: C
times the projected gradient. The quasi-Newton pairs are those of Z. Steps are projected onto the
tangent space. The slope along a step is the same for both, since the projected gradient is in that
space.

The solver never raises for numerical reasons. It returns the best finite iterate, and the reason
why it stopped. Each evaluation of E reads from the device once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from skmde.constraints import Constraint
from skmde.core.objectives.base import Objective
from skmde.core.solvers.base import Solver
from skmde.core.solvers.boundary import BoundarySteps
from skmde.core.solvers.line_search import WolfeConstants
from skmde.core.solvers.result import (
    Callback,
    History,
    SolveResult,
    SolverState,
    Status,
    asks_to_stop,
)
from skmde.core.solvers.scale import Scale
from skmde.core.solvers.steps import Steps
from skmde.core.tight_groups import TightGroups

_WINDOW = 10  # iterations over which a decrease is averaged
_MOST_UNITS = 3.0  # of a value that may hold a large constant


@dataclass(frozen=True)
class LBFGS(Solver):
    """Projected L-BFGS.

    Parameters
    ----------
    tol : float
        Stop when the Frobenius norm of the projected gradient is at most `tol` times its unit.
    max_iter : int
        Maximum number of iterations.
    memory_size : int
        Number of pairs in the quasi-Newton matrix.
    wolfe : WolfeConstants
        Constants of the line search.
    max_step : float, optional
        Longest move of an item in one unit step, in the units of the embedding: rows of the search
        direction that are longer are shortened to it. None sets no limit.
    usual_step : float, optional
        Longest move of nine tenths of the items in an iteration, in the units of the embedding. The
        whole step is shortened to it, so that its shape stays. None sets no limit.
    min_decrease : float
        Stop when the mean decrease of the value over the last 10 iterations is less than this
        fraction of its magnitude, or of 3 units if that is less.
    snapshot_every : int, optional
        Keep a copy of every `snapshot_every`-th iterate in the history; None keeps none.
    scale : Scale
        The units of the objective.
    groups : TightGroups, optional
        Gives the variables of the solver; None means the embedding itself.
    """

    tol: float = 1e-5
    max_iter: int = 300
    memory_size: int = 10
    wolfe: WolfeConstants = field(default_factory=WolfeConstants)
    max_step: float | None = None
    usual_step: float | None = None
    min_decrease: float = 0.0
    snapshot_every: int | None = None
    scale: Scale = field(default_factory=Scale)
    groups: TightGroups | None = None

    def minimize(
        self,
        objective: Objective,
        constraint: Constraint,
        X: torch.Tensor,
        callbacks: Sequence[Callback] = (),
    ) -> SolveResult:
        memory_size = max(1, min(self.memory_size, self.max_iter))  # one pair a step at most
        steps = BoundarySteps if constraint.has_boundary else Steps
        solve = steps(self, objective, constraint, memory_size, X)
        tol = self.tol * self.scale.gradient
        point = solve.start(X)
        history = History()
        started = time.perf_counter()

        def record(iteration: int) -> None:
            history.value.append(point.value)
            history.residual_norm.append(point.residual_norm)
            history.step_size.append(point.step)
            history.seconds.append(time.perf_counter() - started)
            every = self.snapshot_every
            if every is not None and iteration % every == 0:
                history.snapshots.append((iteration, point.X.detach().cpu().numpy().copy()))

        record(0)
        iteration, status = 0, None
        if not (math.isfinite(point.value) and math.isfinite(point.squared_norm)):
            status = Status.NOT_FINITE
        while status is None:
            is_small = point.residual_norm <= tol
            is_last = iteration >= self.max_iter
            if is_small and (is_last or not solve.may_gain(point, history.value)):
                status = Status.CONVERGED
                break
            if is_last:
                status = Status.MAX_ITER
                break
            following = solve.advance(point)
            if following is None:
                status = Status.CONVERGED if is_small else Status.NO_DESCENT
                break
            point = following
            iteration += 1
            record(iteration)
            state = SolverState.at(iteration, point.value, point.residual_norm, point.X)
            if asks_to_stop(callbacks, state):
                status = Status.STOPPED
            elif solve.runs_away(point):
                status = Status.UNBOUNDED
            elif point.residual_norm > tol and self._has_settled(history.value):
                status = Status.SETTLED
        X = point.X
        if iteration and not constraint.needs_projection:
            X = constraint.project(X).contiguous()  # removes the accumulated rounding error
        return SolveResult(
            X=X,
            value=point.value,
            residual_norm=point.residual_norm,
            n_iter=iteration,
            n_evaluations=solve.n_evaluations,
            status=status,
            reason=status.sentence(
                residual_norm=point.residual_norm / self.scale.gradient,
                tol=self.tol,
                max_iter=self.max_iter,
            ),
            history=history,
        )

    def _has_settled(self, values: list[float]) -> bool:
        if len(values) <= _WINDOW or self.min_decrease == 0.0:
            return False
        decrease = values[-1 - _WINDOW] - values[-1]
        # A constant, such as that of a logarithm of a large sum, says nothing about the solve.
        magnitude = min(abs(values[-1]), _MOST_UNITS * self.scale.value)
        return decrease < _WINDOW * self.min_decrease * magnitude
