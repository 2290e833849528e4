r"""Gradient descent with momentum, while the repulsion rises: the warm start of neighbour maps.

If all pairs repel at full strength from the start, groups of neighbours are torn apart before they
have found each other. So the repulsion begins weakly. Let A(X) be the attraction and R(X) the
energy of the repulsion, whose weight in the objective is lambda (``objectives/repulsion.py``). The
solver descends along the gradient of A + l_t R, with l_t in three stages:

1. l_t = c / (4 R), where c is the total attraction: t-SNE's *early exaggeration*, by 4. The
   embedding is small.
2. l_t rises geometrically to lambda.
3. l_t = lambda. Large embeddings still decrease the objective much when this stage ends. So it
   may be longer: until 25 iterations decrease the objective by less than c / 20.

A step is x <- x + v with v <- mu v - eta g (grad A + l_t grad R). The gains g of the coordinates
rise while a coordinate keeps its direction, and fall when it turns (Jacobs 1988; van der Maaten and
Hinton 2008). The Hessian of the attraction has the scale of the mean degree of an item, and falls
with the distances of neighbours, which grow as rho^(1/4) with the weight rho of a repulsive pair,
relative to that of a light attractive pair.
So eta is 2 rho^(1/4), at most 2, divided by the mean degree.

The solver is no descent method: it overshoots, which carries items past each other, and it stops
far from a stationary point. Projected L-BFGS continues from its last iterate.

If the starting point is so spread out already that the first weight would exceed a fifth of a fixed
lambda, as in a solution, the solver makes no step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from skmde._linalg.reductions import add_multiple, dot
from skmde._utils.device import read_numbers
from skmde.constraints import Constraint
from skmde.core.checkpoints.facts import Facts
from skmde.core.checkpoints.saved import Keeper, Saved, part, to_array, to_tensor, under
from skmde.core.kernels.backend import Step
from skmde.core.objectives.attraction_repulsion import AttractionRepulsion
from skmde.core.objectives.base import Objective
from skmde.core.solvers.base import ResumableSolver
from skmde.core.solvers.result import (
    Callback,
    History,
    SolveResult,
    SolverState,
    Status,
    asks_to_stop,
)
from skmde.core.solvers.scale import Scale

_EXAGGERATION = 4.0
_STAGES = (50, 60, 75)  # iterations of the three stages
_SPREAD = 0.2  # share of lambda
_SPAN, _WORTHWHILE = 25, 0.05  # iterations, and their decrease, in units of the attraction
_ARRAYS, _NUMBERS = ("X", "velocity", "gains"), ("iteration", "n_evaluations", "begin")  # of states
_LEVEL = 5  # iterations with the same l_t in the second stage


@dataclass(frozen=True)
class RisingRepulsion(ResumableSolver):
    """Gradient descent with momentum, while the repulsion rises; see the module.

    Parameters
    ----------
    tol : float
        Stop when the Frobenius norm of the projected gradient is at most `tol` times its unit.
    max_iter : int
        Number of iterations. If there are fewer than 185, all stages are shortened.
    max_more : int
        Number of iterations by which the last stage may be longer.
    max_step : float
        Longest move of an item in an iteration, in the units of the embedding.
    scale : Scale
        The units of the objective.
    """

    tol: float = 1e-5
    max_iter: int = sum(_STAGES)
    max_more: int = 75
    max_step: float = 5.0
    scale: Scale = field(default_factory=Scale)

    def check(self, objective: Objective) -> None:
        """Check that the objective has an attraction and a repulsion.

        Raises
        ------
        TypeError
            If it has not.
        """
        if not isinstance(objective, AttractionRepulsion):
            raise TypeError(
                "RisingRepulsion needs an objective with an attraction and a repulsion; got "
                f"{type(objective).__name__}."
            )

    def settings(self) -> Facts:
        longest = self.max_iter + self.max_more
        return {
            "length of the warm start, which max_iter sets up to 300,": (
                f"{self.max_iter} to {longest} iterations"
            )
        }

    def minimize(
        self,
        objective: Objective,
        constraint: Constraint,
        X: torch.Tensor,
        callbacks: Sequence[Callback] = (),
        keeper: Keeper | None = None,
    ) -> SolveResult:
        assert isinstance(objective, AttractionRepulsion)
        started, history = time.perf_counter(), History()
        repulsion = objective.repulsion
        X = X.detach().clone().contiguous()
        velocity, gains = torch.zeros_like(X), torch.ones_like(X)
        stages = [min(n, self.max_iter * n // sum(_STAGES)) for n in _STAGES]
        attraction = objective.mean_weight
        begin, status = 0.0, Status.MAX_ITER
        iteration = evaluations = 0
        last, total, norm = X, math.nan, math.nan
        saved = None if keeper is None else keeper.saved
        if saved is not None:
            X, velocity, gains = (to_tensor(saved[name], X) for name in _ARRAYS)
            iteration, evaluations, begin = (saved[name] for name in _NUMBERS)
            history = History.resumed(part("history", saved))
            started -= history.seconds[-1] if history.seconds else 0.0

        def state() -> Saved:
            """The state before the iterate was evaluated."""
            arrays = (to_array(array) for array in (X, velocity, gains))
            now = iteration, evaluations - 1, begin
            before = {name: numbers[:-1] for name, numbers in history.state().items()}
            return {
                **dict(zip(_ARRAYS, arrays, strict=True)),
                **dict(zip(_NUMBERS, now, strict=True)),
                **under("history", before),
            }

        while True:
            parts = objective.parts(X)
            evaluations += 1
            gradient, forces = parts[1], parts[3]
            full = add_multiple(gradient, forces, repulsion.slope(parts[2]))
            G = constraint.project_gradient(X, full)
            value, energy, squares = read_numbers(parts[0], parts[2], dot(G, G))
            slope = float(repulsion.slope(energy))
            former = last, total, norm
            last, total, norm = X, value + float(repulsion.value(energy)), math.sqrt(squares)
            is_finite = math.isfinite(total) and math.isfinite(norm)
            if iteration and not is_finite:
                (X, total, norm), iteration, status = former, iteration - 1, Status.NO_DESCENT
                break
            history.value.append(total)
            history.residual_norm.append(norm)
            history.step_size.append(0.0 if iteration == 0 else 1.0)
            history.seconds.append(time.perf_counter() - started)
            if keeper is not None and iteration:
                keeper.offer(iteration, state)
            if iteration and asks_to_stop(callbacks, SolverState.at(iteration, total, norm, X)):
                status = Status.STOPPED
                break
            if not is_finite:
                status = Status.NOT_FINITE
                break
            # Items that are far apart for a moment have a small gradient, too.
            if norm <= self.tol * self.scale.gradient and total <= history.value[0]:
                status = Status.CONVERGED
                break
            weakest = attraction / (_EXAGGERATION * abs(energy)) if energy else slope
            is_spread = iteration == 0 and not repulsion.adapts and weakest > _SPREAD * slope
            if is_spread or self._has_ended(iteration - sum(stages), history.value, attraction):
                break
            early = iteration < stages[0]
            if early or iteration == stages[0]:
                begin = weakest
            level = (iteration - stages[0]) // _LEVEL
            share = min(1.0, level * _LEVEL / max(stages[1] - _LEVEL, 1))
            weight = begin if early else begin ** (1 - share) * slope**share
            repulsive = slope * objective.n_pairs * objective.item_weight**2
            strength = min(1.0, repulsive / objective.light) ** 0.25
            size = (1.0 if early else 2.0 * strength) * len(X) / (attraction or 1.0)
            if iteration == stages[0]:
                velocity.zero_()
                gains.fill_(1.0)
            step = Step(size, 0.8 if early else 0.9, self.max_step)
            G = constraint.project_gradient(X, add_multiple(gradient, forces, weight)).contiguous()
            X = objective.backend.momentum_step(X, velocity, gains, G, step)
            X = constraint.project(X).contiguous()
            iteration += 1
        if keeper is not None and status not in (Status.NO_DESCENT, Status.NOT_FINITE):
            keeper.offer(iteration, state, last=True)
        return SolveResult(
            X=X,
            value=total,
            residual_norm=norm,
            n_iter=iteration,
            n_evaluations=evaluations,
            status=status,
            reason=status.sentence(
                residual_norm=norm / self.scale.gradient, tol=self.tol, max_iter=self.max_iter
            ),
            history=history,
        )

    def _has_ended(self, more: int, values: list[float], attraction: float) -> bool:
        """Whether no iterations follow those of the stages, of which `more` have been made."""
        if more < 0:
            return False
        if more >= self.max_more or len(values) <= _SPAN:
            return True
        return values[-1 - _SPAN] - values[-1] < _WORTHWHILE * attraction
