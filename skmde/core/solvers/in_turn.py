"""Several solvers, each of which starts where the last one stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from skmde.constraints import Constraint
from skmde.core.checkpoints.facts import Facts
from skmde.core.checkpoints.saved import InnerKeeper, Keeper, Saved, part, under
from skmde.core.objectives.base import Objective
from skmde.core.solvers.base import ResumableSolver
from skmde.core.solvers.result import Callback, History, SolveResult, SolverState, Status
from skmde.core.solvers.scale import Scale

_NUMBERS = "stage", "n_iter", "n_evaluations"  # of states


@dataclass(frozen=True)
class InTurn(ResumableSolver):
    """Solvers that run one after the other; the last one's result is reported.

    Parameters
    ----------
    solvers : sequence of Solver
        At least one. The last one makes the iterations that the others have left.
    max_iter : int
        Number of iterations of all solvers together.
    snapshot_every : int, optional
        Keep a copy of every `snapshot_every`-th iterate in the history; None keeps none.
    alone : Solver, optional
        Takes the place of the last solver if the others make no step, or end at a larger value than
        that of the starting point. It begins at the starting point. None means the last solver.
    """

    solvers: Sequence[Any]
    max_iter: int = 300
    snapshot_every: int | None = None
    alone: Any = None

    @property
    def scale(self) -> Scale:  # type: ignore[override]
        """The units of the objective, as the last solver has them."""
        last: Scale = self.solvers[-1].scale
        return last

    @property
    def tol(self) -> float:
        """The tolerance of the last solver; 0 if it has none."""
        return float(getattr(self.solvers[-1], "tol", 0.0))

    def check(self, objective: Objective) -> None:
        """Check the objective for all solvers."""
        for solver in self.solvers:
            solver.check(objective)

    def settings(self) -> Facts:
        found: Facts = {}
        for solver in self.solvers:
            found |= solver.settings()
        return found | {"snapshot_every": str(self.snapshot_every)}

    def minimize(
        self,
        objective: Objective,
        constraint: Constraint,
        X: torch.Tensor,
        callbacks: Sequence[Callback] = (),
        keeper: Keeper | None = None,
    ) -> SolveResult:
        start, history, done, evaluations, stage = X, History(), 0, 0, 0
        saved = None if keeper is None else keeper.saved
        if saved is not None:
            history = History.resumed(part("history", saved))
            stage, done, evaluations = (saved[name] for name in _NUMBERS)
        if self.snapshot_every is not None:
            keep = _keeping(history, self.snapshot_every)
            keep(SolverState.at(0, 0.0, 0.0, X))
            callbacks = [*callbacks, keep]

        def state() -> Saved:
            numbers = dict(zip(_NUMBERS, (number, done, evaluations), strict=True))
            return {**numbers, **under("history", history.state())}

        for number, solver in list(enumerate(self.solvers))[stage:]:
            last = number == len(self.solvers) - 1
            if last and self.alone is not None:
                if done == 0 or history.value[-1] > history.value[0]:
                    solver, X = self.alone, start
            limit = self.max_iter - done
            current = replace(solver, max_iter=limit if last else min(limit, solver.max_iter))
            later = [_counting_from(done, callback) for callback in callbacks]
            inner = []
            if keeper is not None:
                inner.append(InnerKeeper(keeper, saved and part("inner", saved), state, done))
            result = current.minimize(objective, constraint, X, later, *inner)
            saved = None
            history.append(result.history, after=done)
            done, evaluations = done + result.n_iter, evaluations + result.n_evaluations
            X = result.X
            if result.status in (Status.STOPPED, Status.NOT_FINITE, Status.CONVERGED):
                break
        scale = current.scale
        reason = result.status.sentence(
            residual_norm=result.residual_norm / scale.gradient,
            tol=getattr(current, "tol", 0.0),
            max_iter=self.max_iter,
        )
        return replace(
            result, n_iter=done, n_evaluations=evaluations, history=history, reason=reason
        )


def _counting_from(done: int, callback: Callback) -> Callback:
    def seen(state: SolverState) -> bool | None:
        return callback(state.after(done))

    return seen


def _keeping(history: History, every: int) -> Callback:
    def keep(state: SolverState) -> None:
        # A resumed solve shows its last iterate once more.
        last = history.snapshots[-1][0] if history.snapshots else -1
        if state.iteration % every == 0 and state.iteration > last:
            history.snapshots.append((state.iteration, state.X.copy()))

    return keep
