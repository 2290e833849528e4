r"""Projected L-BFGS (monograph, section 6.1, algorithm 1).

From a feasible X_0, for k = 0, 1, ...:

    G_k = T_X(grad E(X_k))              projected onto the tangent space of the constraint set
    stop if ||G_k||_F <= tol
    V_k = -B_k^{-1} G_k                 quasi-Newton, from the last M pairs (``history.py``)
    t_k by a line search                modified strong Wolfe conditions (``line_search.py``)
    X_{k+1} = P(X_k + t_k V_k)          projected onto the constraint set

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
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from skmde._linalg.reductions import add_multiple, dot, quantile_of_lengths, shorten_rows
from skmde.constraints import Constraint
from skmde.core.objectives.base import Objective
from skmde.core.solvers.base import Solver
from skmde.core.solvers.history import CurvaturePairs
from skmde.core.solvers.line_search import WolfeConstants, strong_wolfe
from skmde.core.solvers.result import (
    Callback,
    History,
    SolveResult,
    SolverState,
    Status,
    asks_to_stop,
)
from skmde.core.solvers.scale import Scale
from skmde.core.tight_groups import TightGroups

_WINDOW = 10  # iterations over which a decrease is averaged
_MOST_UNITS = 3.0  # of a value that may hold a large constant
_FEW = 0.1  # share of the items that may move farther than the usual step
# A value below this part of its unit is that of a good embedding. A step is then worthwhile if it
# gains this part of the value, however small the gradient is.
_GOOD, _NOTICEABLE = 1e-2, 1e-3
_FAR = 1e12  # growth of the norm of X beyond which the items diverge


@dataclass
class _Point:
    """An iterate or a trial of the line search, with its numbers on the host."""

    step: float
    X: torch.Tensor
    Z: torch.Tensor  # the variables
    G: torch.Tensor  # with respect to the variables
    value: float
    slope: float
    squared_norm: float
    dots: np.ndarray | None = None

    @property
    def residual_norm(self) -> float:
        return math.sqrt(max(self.squared_norm, 0.0))


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
        solve = _Solve(self, objective, constraint, memory_size, X)
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


class _Solve:
    """One run of the algorithm: objective, constraint, pairs and counters."""

    def __init__(
        self,
        settings: LBFGS,
        objective: Objective,
        constraint: Constraint,
        memory_size: int,
        like: torch.Tensor,
    ) -> None:
        self.scale, self.groups = settings.scale, settings.groups
        self.objective = objective
        self.constraint = constraint
        self.wolfe = settings.wolfe
        self.limits = settings.max_step, settings.usual_step
        self.pairs = CurvaturePairs(memory_size, like, objective.backend)
        self.noise = 4.0 * torch.finfo(like.dtype).eps
        self.size = 0.0  # Frobenius norm of the starting point
        self.n_evaluations = 0

    def start(self, X: torch.Tensor) -> _Point:
        X = X.detach().clone().contiguous()
        value, G = self._evaluate(X)
        numbers = self._read(value, dot(G, G), dot(X, X))
        self.size = math.sqrt(numbers[2])
        return _Point(0.0, X, self._variables(X), G, numbers[0], 0.0, numbers[1])

    def may_gain(self, point: _Point, values: list[float]) -> bool:
        """Whether more steps may gain a noticeable part of a value far below its unit.

        The gradient of a good embedding is far below its unit too, although a much better one may
        be near. ||G|| ||Z|| bounds the gain to first order, if every item moves by its own length;
        so does the last step, in practice.
        """
        value = abs(point.value)
        part = _NOTICEABLE * value
        is_good = self.scale.negligible < value < _GOOD * self.scale.value
        if not is_good or (len(values) > 1 and values[-2] - point.value <= part):
            return False
        (squared_size,) = self._read(dot(point.Z, point.Z))
        return point.residual_norm * math.sqrt(squared_size) > part

    def runs_away(self, point: _Point) -> bool:
        """Whether the value is negative and the items diverge, so that there is no minimum."""
        if point.value >= 0:
            return False
        (squared_size,) = self._read(dot(point.X, point.X))
        return math.sqrt(squared_size) > _FAR * max(self.size, math.sqrt(len(point.X)))

    def advance(self, point: _Point) -> _Point | None:
        """The next iterate, or None if neither the quasi-Newton direction nor -G decreases E."""
        while True:
            V, slope = self.pairs.direction(point.G, point.squared_norm)
            if len(self.pairs) == 0:
                V, slope = self.scale.step * V, self.scale.step * slope
            full = V
            V, longest = self._limited(point.X, V)
            if V is not full:
                slope = self._read(dot(point.G, V))[0]
            if slope < 0:
                found = self._search(point, V, slope, longest)
                if found is not None:
                    return found
            if len(self.pairs) == 0:
                return None
            self.pairs.clear()

    def _limited(self, X: torch.Tensor, V: torch.Tensor) -> tuple[torch.Tensor, float]:
        """The direction within the limits of a move, and the longest step along it."""
        max_step, usual_step = self.limits
        longest = math.inf
        if usual_step is not None:
            length = quantile_of_lengths(V, 1 - _FEW)
            longest = usual_step / length if length > 0 else math.inf
            if longest < 1:
                V, longest = longest * V, 1.0
        if max_step is not None:
            V = self._along(X, shorten_rows(V, max_step))
        return V, longest

    def _along(self, X: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        """The direction along the constraint set."""
        if self.constraint.needs_projection:
            return self.constraint.project_tangent(X, V).contiguous()
        # The set is flat, and steps are not projected.
        project = self.constraint.project
        return add_multiple(project(X + V).contiguous(), project(X).contiguous(), -1.0)

    def _search(
        self, point: _Point, V: torch.Tensor, slope: float, longest: float
    ) -> _Point | None:
        start = replace(point, step=0.0, slope=slope)
        latest: list[_Point] = []
        move = self._move(point.X, V)

        def evaluate(step: float) -> _Point:
            trial = self._trial(point, V, move, step)
            latest[:] = [trial]
            return trial

        noise = self.noise * max(abs(point.value), 1e-30 * self.scale.value)
        step = self._first_step(point)
        outcome = strong_wolfe(evaluate, start, step, self.wolfe, noise, longest)
        trial = outcome.trial
        if trial is None:
            return None
        if trial is not latest[0]:
            # The slot holds the pair of a later trial: stage the accepted one again.
            trial.dots = self._numbers_of(point, trial.X, trial.G, trial.value, V).dots
        assert trial.dots is not None
        self.pairs.accept(trial.dots)
        return trial

    def _first_step(self, point: _Point) -> float:
        """1; along -G, at most the step whose length is the norm of the starting point."""
        length = self.scale.step * point.residual_norm
        if len(self.pairs) or not 0 < self.size < length:
            return 1.0
        return self.size / length

    def _move(self, X: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        """The step of the embedding for a step of the variables."""
        if self.groups is None:
            return V
        move = self.groups.outside(V)
        return self.constraint.project_tangent(X, move).contiguous()

    def _variables(self, X: torch.Tensor) -> torch.Tensor:
        return X if self.groups is None else self.groups.inside(X)

    def _trial(self, point: _Point, V: torch.Tensor, move: torch.Tensor, step: float) -> _Point:
        X = add_multiple(point.X, move, step)
        if self.constraint.needs_projection:
            X = self.constraint.project(X).contiguous()
        value, G = self._evaluate(X)
        trial = self._numbers_of(point, X, G, value, V)
        trial.step = step
        return trial

    def _evaluate(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        self.n_evaluations += 1
        value, gradient = self.objective.value_and_gradient(X)
        G = self.constraint.project_tangent(X, gradient).contiguous()
        return value, G if self.groups is None else self.groups.outside(G)

    def _numbers_of(
        self, point: _Point, X: torch.Tensor, G: torch.Tensor, value: Any, V: torch.Tensor
    ) -> _Point:
        """A trial with its inner products, which are read from the device at once."""
        Z = self._variables(X)
        dots = self.pairs.stage(Z, point.Z, G, point.G)
        numbers = self._read(value, dot(G, V), dot(G, G), dots)
        table = np.asarray(numbers[3:]).reshape(-1, 2)
        return _Point(0.0, X, Z, G, numbers[0], numbers[1], numbers[2], table)

    def _read(self, *values: Any) -> list[float]:
        flat = [torch.as_tensor(v, dtype=torch.float64).reshape(-1) for v in values]
        device = self.objective.backend.device
        numbers: list[float] = torch.cat([v.to(device) for v in flat]).tolist()
        return numbers
