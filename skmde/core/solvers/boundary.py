r"""Steps of projected L-BFGS within a set that has a boundary, such as a box or a disc.

The tangents at X are a cone T. X is stationary if no direction of T decreases E to first order:
G = -P_T(-g) = 0 for the gradient g. A quasi-Newton direction computed from G and projected need not
decrease E. So, as in two-metric projection (Bertsekas 1982), the solver first finds out which parts
of the embedding press against the boundary: those that the set cuts off from a gradient step,
X - tau g, where tau is the scale of the quasi-Newton matrix. They include parts that are not at the
boundary yet, but near it. Let F project onto the directions in which these parts move along the
boundary, and all others move freely. Then

    V = -F B^{-1} F g - tau (G - F G),      X_+ = P(X + t V).

The first part is a quasi-Newton step in the face of the set, the second one takes held parts to the
boundary. Both decrease E, and so does what the projection P leaves of them for small t: it only
cuts parts off that go against g. The quasi-Newton pairs are s = F X_+ - F X and y = F g_+ - F g,
with F at X_+ and at X: they hold the curvature of E along the face, and that of the face itself.

Along the arc P(X + t V), the slope of E jumps upwards where a part reaches the boundary. So the
line search looks for the weak Wolfe conditions, which some step always meets.

Where the solver works in variables Z with X = C Z, B^{-1} becomes C B^{-1} C.

References
----------
Bertsekas, Projected Newton methods for optimization problems with simple constraints, SIAM J.
Control Optim. 20 (1982).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from skmde._linalg.reductions import add_multiple, dot
from skmde.constraints import Constraint
from skmde.core.checkpoints.saved import Saved, to_array, to_tensor
from skmde.core.objectives.base import Objective
from skmde.core.solvers.line_search import strong_wolfe
from skmde.core.solvers.steps import Point, Steps

if TYPE_CHECKING:
    from skmde.core.solvers.lbfgs import LBFGS

Tensor = torch.Tensor


@dataclass
class BoundaryPoint(Point):
    """An iterate with the gradient of the objective, which is not projected."""

    gradient: Tensor | None = None


class BoundarySteps(Steps):
    """One run of the algorithm within a set that has a boundary."""

    def __init__(
        self,
        settings: LBFGS,
        objective: Objective,
        constraint: Constraint,
        memory_size: int,
        like: Tensor,
    ) -> None:
        super().__init__(settings, objective, constraint, memory_size, like)
        self.wolfe = replace(settings.wolfe, weak=True)

    def start(self, X: Tensor) -> Point:
        X = X.detach().clone().contiguous()
        value, gradient, G = self._evaluate_within(X)
        numbers = self._read(value, dot(G, G), dot(X, X))
        self.size = numbers[2] ** 0.5
        return BoundaryPoint(
            0.0, X, self._variables(X), G, numbers[0], 0.0, numbers[1], gradient=gradient
        )

    def state(self, point: Point) -> Saved:
        assert isinstance(point, BoundaryPoint) and point.gradient is not None
        return {**super().state(point), "gradient": to_array(point.gradient)}

    def resume(self, saved: Saved, like: torch.Tensor) -> Point:
        gradient = to_tensor(saved["gradient"], like)
        return BoundaryPoint(**vars(super().resume(saved, like)), gradient=gradient)

    def advance(self, point: Point) -> Point | None:
        assert isinstance(point, BoundaryPoint)
        while True:
            move, held = self._direction(point)
            move, limit = self._limited(point.X, move)
            slope, longest = self._read(self._slope(point.X, point.gradient, move), limit)
            if slope < 0:
                found = self._search_arc(point, move, slope, longest)
                if found is not None:
                    self._keep_pair(point, found, held)
                    return found
            if len(self.pairs) == 0:
                return None
            self.pairs.clear()

    def _direction(self, point: BoundaryPoint) -> tuple[Tensor, Tensor]:
        """The step V of the embedding, and the parts that are held at the boundary."""
        X, g = point.X, point.gradient
        assert g is not None
        rate = self.pairs.rate or self.scale.step
        held = self.constraint.held(add_multiple(X, g, -rate))
        face = self._scaled(self._face(X, g, held))
        if len(self.pairs):
            numbers = self._read(dot(face, face), self.pairs.inner_products(face))
            self.pairs.turn_to(np.asarray(numbers[1:]).reshape(-1, 2))
            V, _ = self.pairs.direction(face, numbers[0])
        else:
            V = -rate * face
        G = self.constraint.project_gradient(X, g).contiguous()
        rest = add_multiple(G, self._face(X, G, held), -1.0)
        if self.groups is not None:
            rest = self._scaled(self._scaled(rest))
            rest = add_multiple(rest, self._face(X, rest, held), -1.0)
        return add_multiple(self._face(X, self._scaled(V), held), rest, -rate), held

    def _search_arc(
        self, point: BoundaryPoint, move: Tensor, slope: float, longest: float
    ) -> BoundaryPoint | None:
        start = replace(point, step=0.0, slope=slope)

        def evaluate(step: float) -> BoundaryPoint:
            X = self.constraint.project(add_multiple(point.X, move, step)).contiguous()
            value, gradient, G = self._evaluate_within(X)
            along = self._slope(X, gradient, move)
            numbers = self._read(value, along, dot(G, G))
            Z = self._variables(X)
            trial = BoundaryPoint(step, X, Z, G, numbers[0], numbers[1], numbers[2])
            trial.gradient = gradient
            return trial

        noise = self.noise * max(abs(point.value), 1e-30 * self.scale.value)
        step = self._first_step(point)
        return strong_wolfe(evaluate, start, step, self.wolfe, noise, longest).trial

    def _keep_pair(self, point: BoundaryPoint, found: BoundaryPoint, held: Tensor) -> None:
        """Store the pair of a step, restricted to the face."""
        assert point.gradient is not None and found.gradient is not None
        step = add_multiple(found.X, point.X, -1.0)
        s = self._variables(self._face(found.X, step, held))
        here = self._scaled(self._face(point.X, point.gradient, held))
        there = self._scaled(self._face(found.X, found.gradient, held))
        dots = self._read(self.pairs.stage(s, torch.zeros_like(s), there, here))
        self.pairs.accept(np.asarray(dots).reshape(-1, 2))

    def _evaluate_within(self, X: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Value, gradient, and projected gradient with respect to the variables."""
        self.n_evaluations += 1
        value, gradient = self.objective.value_and_gradient(X)
        G = self.constraint.project_gradient(X, gradient).contiguous()
        return value, gradient.contiguous(), self._scaled(G)

    def _slope(self, X: Tensor, gradient: Tensor | None, move: Tensor) -> Tensor:
        """Derivative of the objective along the arc: what the boundary leaves of the step."""
        assert gradient is not None
        return dot(gradient, self.constraint.project_tangent(X, move).contiguous())

    def _face(self, X: Tensor, Z: Tensor, held: Tensor) -> Tensor:
        return self.constraint.project_face(X, Z, held).contiguous()

    def _scaled(self, Z: Tensor) -> Tensor:
        """C Z, which takes gradients to those of the variables, and variables to embeddings."""
        return Z if self.groups is None else self.groups.outside(Z)

    def _along(self, X: Tensor, V: Tensor) -> Tensor:
        return V  # the arc bends along the set
