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
which all are alike (``core/scales/tight_groups.py``). G is then the gradient with respect to Z: C
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
from skmde.core.checkpoints.facts import Facts
from skmde.core.checkpoints.saved import Keeper, Saved, part, under
from skmde.core.objectives.base import Objective
from skmde.core.scales.tight_groups import TightGroups
from skmde.core.solvers.base import ResumableSolver
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
from skmde.core.solvers.steps import Point, Steps

_WINDOW = 10  # iterations over which a decrease is averaged
_MOST_UNITS = 3.0  # of a value that may hold a large constant


@dataclass(frozen=True)
class LBFGS(ResumableSolver):
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

    def settings(self) -> Facts:
        return {
            "memory_size": str(self.memory_size),
            "snapshot_every": str(self.snapshot_every),
        }

    def minimize(
        self,
        objective: Objective,
        constraint: Constraint,
        X: torch.Tensor,
        callbacks: Sequence[Callback] = (),
        keeper: Keeper | None = None,
    ) -> SolveResult:
        memory_size = max(1, min(self.memory_size, self.max_iter))  # one pair a step at most
        steps = BoundarySteps if constraint.has_boundary else Steps
        solve = steps(self, objective, constraint, memory_size, X)
        saved = None if keeper is None else keeper.saved
        started = time.perf_counter()
        if saved is None:
            point, history, iteration = solve.start(X), History(), 0
            has_failed = False  # to find a step from the iterate
            self._record(history, iteration, point, started)
        else:
            point, history = (
                solve.resume(part("steps", saved), X),
                History.resumed(part("history", saved)),
            )
            iteration, has_failed = saved["iteration"], saved["has_failed"]
            started -= history.seconds[-1]

        def state() -> Saved:
            return {
                "iteration": iteration,
                "has_failed": has_failed,
                **under("steps", solve.state(point)),
                **under("history", history.state()),
            }

        while True:
            seen = SolverState.at(iteration, point.value, point.residual_norm, point.X)
            if iteration and asks_to_stop(callbacks, seen):
                status: Status | None = Status.STOPPED
            else:
                status = self._end(solve, point, iteration, history.value)
            if status is not None:
                break
            following = None if has_failed else solve.advance(point)
            if following is None:
                has_failed = True
                is_small = point.residual_norm <= self._least_norm
                status = Status.CONVERGED if is_small else Status.NO_DESCENT
                break
            point = following
            iteration += 1
            self._record(history, iteration, point, started)
            if keeper is not None:
                keeper.offer(iteration, state)
        if keeper is not None and status is not Status.NOT_FINITE:
            keeper.offer(iteration, state, last=True)
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

    @property
    def _least_norm(self) -> float:
        return self.tol * self.scale.gradient

    def _record(self, history: History, iteration: int, point: Point, started: float) -> None:
        history.value.append(point.value)
        history.residual_norm.append(point.residual_norm)
        history.step_size.append(point.step)
        history.seconds.append(time.perf_counter() - started)
        every = self.snapshot_every
        if every is not None and iteration % every == 0:
            history.snapshots.append((iteration, point.X.detach().cpu().numpy().copy()))

    def _end(
        self, solve: Steps, point: Point, iteration: int, values: list[float]
    ) -> Status | None:
        """Why the solve ends at an iterate; None if it goes on."""
        if iteration == 0:
            if not (math.isfinite(point.value) and math.isfinite(point.squared_norm)):
                return Status.NOT_FINITE
        elif solve.runs_away(point):
            return Status.UNBOUNDED
        is_small = point.residual_norm <= self._least_norm
        if iteration and not is_small and self._has_settled(values):
            return Status.SETTLED
        is_last = iteration >= self.max_iter
        if is_small and (is_last or not solve.may_gain(point, values)):
            return Status.CONVERGED
        return Status.MAX_ITER if is_last else None

    def _has_settled(self, values: list[float]) -> bool:
        if len(values) <= _WINDOW or self.min_decrease == 0.0:
            return False
        decrease = values[-1 - _WINDOW] - values[-1]
        # A constant, such as that of a logarithm of a large sum, says nothing about the solve.
        magnitude = min(abs(values[-1]), _MOST_UNITS * self.scale.value)
        return decrease < _WINDOW * self.min_decrease * magnitude
