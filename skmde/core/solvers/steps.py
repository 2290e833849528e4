"""The steps of projected L-BFGS: search direction, line search, and the numbers of an iterate.

``lbfgs.py`` has the algorithm and its settings, ``boundary.py`` the steps within a set that has a
boundary. X is in the units of the embedding, values and gradients in those of the objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from skmde._linalg.reductions import add_multiple, dot, quantile_of_lengths, shorten_rows
from skmde._utils.device import is_cpu
from skmde.constraints import Constraint
from skmde.core.checkpoints.saved import Saved, part, to_array, to_tensor, under
from skmde.core.kernels.backend import Value
from skmde.core.objectives.base import Objective
from skmde.core.solvers.history import CurvaturePairs
from skmde.core.solvers.line_search import strong_wolfe

if TYPE_CHECKING:
    from skmde.core.solvers.lbfgs import LBFGS

_FEW = 0.1  # share of the items that may move farther than the usual step
# A value below this part of its unit is that of a good embedding. A step is then worthwhile if it
# gains this part of the value, however small the gradient is.
_GOOD, _NOTICEABLE = 1e-2, 1e-3
_FAR = 1e12  # growth of the norm of X beyond which the items diverge


@dataclass
class Point:
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


class Steps:
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

    def start(self, X: torch.Tensor) -> Point:
        X = X.detach().clone().contiguous()
        value, G = self._evaluate(X)
        numbers = self._read(value, dot(G, G), dot(X, X))
        self.size = math.sqrt(numbers[2])
        return Point(0.0, X, self._variables(X), G, numbers[0], 0.0, numbers[1])

    def state(self, point: Point) -> Saved:
        """All that decides the steps that follow an iterate, as copies."""
        return {
            "X": to_array(point.X),
            "G": to_array(point.G),
            "step": point.step,
            "value": point.value,
            "squared_norm": point.squared_norm,
            "size": self.size,
            "n_evaluations": self.n_evaluations,
            **under("pairs", self.pairs.state()),
        }

    def resume(self, saved: Saved, like: torch.Tensor) -> Point:
        """The iterate of a state, from which the next steps go on."""
        self.size, self.n_evaluations = saved["size"], saved["n_evaluations"]
        self.pairs.resume(part("pairs", saved))
        X, G = to_tensor(saved["X"], like), to_tensor(saved["G"], like)
        numbers = saved["value"], 0.0, saved["squared_norm"]
        return Point(saved["step"], X, self._variables(X), G, *numbers)

    def may_gain(self, point: Point, values: list[float]) -> bool:
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

    def runs_away(self, point: Point) -> bool:
        """Whether the value is negative and the items diverge, so that there is no minimum."""
        if point.value >= 0:
            return False
        (squared_size,) = self._read(dot(point.X, point.X))
        return math.sqrt(squared_size) > _FAR * max(self.size, math.sqrt(len(point.X)))

    def advance(self, point: Point) -> Point | None:
        """The next iterate, or None if neither the quasi-Newton direction nor -G decreases E."""
        while True:
            V, slope = self.pairs.direction(point.G, point.squared_norm)
            if len(self.pairs) == 0:
                V, slope = self.scale.step * V, self.scale.step * slope
            full = V
            V, longest = self._limited(point.X, V)
            found = self._search(point, V, slope if V is full else dot(point.G, V), longest)
            if found is not None:
                return found
            if len(self.pairs) == 0:
                return None
            self.pairs.clear()

    def _limited(self, X: torch.Tensor, V: torch.Tensor) -> tuple[torch.Tensor, Value]:
        """The direction within the limits of a move, and the longest step along it."""
        max_step, usual_step = self.limits
        longest: Value = math.inf
        if usual_step is not None:
            length = quantile_of_lengths(V, 1 - _FEW)
            if is_cpu(V):
                longest = usual_step / float(length) if length > 0 else math.inf
                if longest < 1:
                    V, longest = longest * V, 1.0
            else:  # the step is read later, with the numbers of the first trial
                longest = usual_step / length
                V, longest = V * longest.clamp(max=1.0), longest.clamp(min=1.0)
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

    def _search(self, point: Point, V: torch.Tensor, slope: Value, longest: Value) -> Point | None:
        """The accepted trial; None if there is none or if E rises along the direction.

        The slope and the longest step may be on the device. They are read with the numbers of the
        first trial, so that the host waits once.
        """
        unread = (slope, longest) if isinstance(slope, torch.Tensor) else ()
        if not unread and not slope < 0:
            return None
        move = self._move(point.X, V)
        first, read = self._trial(point, V, move, self._first_step(point), *unread)
        start_slope, limit = read if unread else (float(slope), float(longest))
        if not start_slope < 0:
            return None
        start = replace(point, step=0.0, slope=start_slope)
        latest, known = [first], {first.step: first}

        def evaluate(step: float) -> Point:
            trial = known.pop(step, None)
            if trial is None:
                trial, _ = self._trial(point, V, move, step)
            latest[:] = [trial]
            return trial

        noise = self.noise * max(abs(point.value), 1e-30 * self.scale.value)
        outcome = strong_wolfe(evaluate, start, first.step, self.wolfe, noise, limit)
        trial = outcome.trial
        if trial is None:
            return None
        if trial is not latest[0]:
            # The slot holds the pair of a later trial: stage the accepted one again.
            again, _ = self._numbers_of(point, trial.X, trial.G, trial.value, V)
            trial.dots = again.dots
        assert trial.dots is not None
        self.pairs.accept(trial.dots)
        return trial

    def _first_step(self, point: Point) -> float:
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

    def _trial(
        self, point: Point, V: torch.Tensor, move: torch.Tensor, step: float, *others: Value
    ) -> tuple[Point, list[float]]:
        """The trial at a step, and the numbers that are read with its own."""
        X = add_multiple(point.X, move, step)
        if self.constraint.needs_projection:
            X = self.constraint.project(X).contiguous()
        value, G = self._evaluate(X)
        trial, numbers = self._numbers_of(point, X, G, value, V, *others)
        trial.step = step
        return trial, numbers

    def _evaluate(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        self.n_evaluations += 1
        value, gradient = self.objective.value_and_gradient(X)
        G = self.constraint.project_tangent(X, gradient).contiguous()
        return value, G if self.groups is None else self.groups.outside(G)

    def _numbers_of(
        self,
        point: Point,
        X: torch.Tensor,
        G: torch.Tensor,
        value: Value,
        V: torch.Tensor,
        *others: Value,
    ) -> tuple[Point, list[float]]:
        """A trial with its inner products, and others, which are read from the device at once."""
        Z = self._variables(X)
        dots = self.pairs.stage(Z, point.Z, G, point.G)
        numbers = self._read(value, dot(G, V), dot(G, G), *others, dots)
        end = 3 + len(others)
        table = np.asarray(numbers[end:]).reshape(-1, 2)
        return Point(0.0, X, Z, G, numbers[0], numbers[1], numbers[2], table), numbers[3:end]

    def _read(self, *values: Any) -> list[float]:
        flat = [torch.as_tensor(v, dtype=torch.float64).reshape(-1) for v in values]
        device = self.objective.backend.device
        numbers: list[float] = torch.cat([v.to(device) for v in flat]).tolist()
        return numbers
