"""The base class of solvers, and `solve`, which adds checks, a progress bar and a warning.

A solver minimises an average distortion E(X) over a constraint set (monograph, chapter 6). It
stops when the Frobenius norm of the projected gradient G is at most a tolerance; G = 0 is the
stationarity condition (monograph, chapter 5). E, G and the tolerance are in the units of the
objective that the solver is given.

A solver lists the methods that it needs of every term of an objective (`requires`), and ends with a
:class:`~skmde.core.solvers.result.Status`. To add a solver, write one subclass of `Solver` in a
file of its own; of `ResumableSolver` if a checkpoint can keep its state.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch

from skmde._linalg.reductions import dot
from skmde._utils.ranks.together import all_called
from skmde._utils.warn import warn
from skmde.constraints import Constraint
from skmde.core.checkpoints.checkpoint import Checkpoint
from skmde.core.checkpoints.facts import Facts, digest
from skmde.core.checkpoints.saved import Keeper
from skmde.core.objectives.base import Objective
from skmde.core.solvers.progress import progress_bar
from skmde.core.solvers.result import Callback, SolveResult, Status
from skmde.core.solvers.scale import Scale
from skmde.exceptions import ConvergenceWarning

# Growth of the embedding, and relative decrease of the value, at which a solve without a minimum is
# told from one that has not ended yet.
_LARGE, _NOTICEABLE = 1e3, 1e-4
_SHORT = 0.1  # length of a step that looks for kinks, in square roots of rounding errors
# More iterations are worthwhile if the last tenth of them decreased the value by this part of it.
# Smaller decreases promise less than about one percent. A value far below its unit is that of a
# good embedding, and is not judged by itself.
_WORTHWHILE, _GOOD = 1e-3, 1e-3
_TURNED = 0.9  # part of G, along G, that a kink leaves at most
_FAR_ABOVE = 10.0  # ratio to the tolerance from which a residual norm is far above it
_USUAL = 10.0  # longest row of a gradient, relative to the median, that does not stand out
_REACHES = np.geomspace(1e-5, 1.0, 11)  # lengths of trial steps, relative to the embedding


class Solver(ABC):
    """An algorithm that minimises an objective over a constraint set; settings are attributes."""

    #: Names of the methods that every term of the objective must have.
    requires: ClassVar[tuple[str, ...]] = ("value_and_gradient",)

    max_iter: int
    scale: Scale = Scale()  # the units of the objective

    @abstractmethod
    def minimize(
        self,
        objective: Objective,
        constraint: Constraint,
        X: torch.Tensor,
        callbacks: Sequence[Callback] = (),
    ) -> SolveResult:
        """Minimise the objective from a feasible starting point.

        Parameters
        ----------
        objective : Objective
            The function to minimise.
        constraint : Constraint
            The constraint set.
        X : torch.Tensor of shape (n, m)
            Starting point, in the constraint set; not modified.
        callbacks : sequence of callable
            Each is called with a `SolverState` after every iteration. A callback that returns True
            stops the solve.

        Returns
        -------
        result : SolveResult
            The best finite iterate. A solver never raises for numerical reasons.
        """

    def check(self, objective: Objective) -> None:
        """Check that every term of the objective has the methods that the solver needs.

        Raises
        ------
        TypeError
            If a term lacks one of them. The message names the term, the solver and the methods.
        """
        for term in getattr(objective, "terms", (objective,)):
            missing = [name for name in self.requires if not hasattr(term, name)]
            if missing:
                raise TypeError(
                    f"{type(term).__name__} is not compatible with solver {type(self).__name__}: "
                    f"missing {', '.join(missing)}."
                )


class ResumableSolver(Solver):
    """A solver that can go on from the state of a solve that was interrupted.

    After each iteration it offers its state to a keeper. From a kept state it makes the same
    iterations, to the last bit, as the solve that went on. Callbacks see the iterate of that state
    again, since they may have been interrupted as well.
    """

    @abstractmethod
    def settings(self) -> Facts:
        """The settings on which the iterates depend, by the names that users give them.

        `max_iter` and `tol`, which say when to stop, are not among them.
        """

    @abstractmethod
    def minimize(
        self,
        objective: Objective,
        constraint: Constraint,
        X: torch.Tensor,
        callbacks: Sequence[Callback] = (),
        keeper: Keeper | None = None,
    ) -> SolveResult:
        """Minimise the objective; see :meth:`Solver.minimize`.

        Parameters
        ----------
        objective, constraint, X, callbacks
            As there. Where a state is resumed, X must be the same.
        keeper : Keeper, optional
            Keeps the state, and has the one to go on from.
        """


def solve(
    solver: Solver,
    objective: Objective,
    constraint: Constraint,
    start: torch.Tensor,
    *,
    callbacks: Sequence[Callback] = (),
    verbose: int = 0,
    checkpoint: Checkpoint | None = None,
    facts: Facts | None = None,
) -> SolveResult:
    """Run a solver, with a progress bar and a warning on failure; see :meth:`Solver.minimize`.

    With a checkpoint, a solve that it has the state of goes on. `facts` then tell the problem from
    others, by name; functions that have no name are told by the value and the gradient at `start`.

    Raises
    ------
    TypeError
        If a term of the objective lacks a method that the solver needs.
    ValueError
        If the average distortion is NaN at the starting point.

    Warns
    -----
    ConvergenceWarning
        If the solver could not decrease the average distortion although the gradient is far above
        its tolerance, for reasons other than kinks and rounding errors; if the items move apart
        without end, if the starting point has no finite value or gradient, or if the solve ended at
        `max_iter` while the average distortion still decreased noticeably.
    """
    solver.check(objective)
    with progress_bar(verbose, solver.max_iter) as bar:
        everything = objective, constraint, start, all_called([*callbacks, *bar])
        if checkpoint is None:
            result = solver.minimize(*everything)
        else:
            result = _resumed(solver, checkpoint, facts or {}, *everything)
    if _grows_without_end(objective, constraint, start, result):
        status = Status.UNBOUNDED
        result = replace(result, status=status, reason=status.sentence())
    if math.isnan(result.value):
        raise ValueError(
            "The average distortion is NaN at the starting point, so there is nothing to minimise. "
            "Check that the distortion function is finite for all distances, also for 0."
        )
    _warn_if_failed(solver, objective, constraint, result)
    _warn_if_unfinished(solver, result)
    return result


def _resumed(
    solver: Solver,
    checkpoint: Checkpoint,
    facts: Facts,
    objective: Objective,
    constraint: Constraint,
    start: torch.Tensor,
    callbacks: Sequence[Callback],
) -> SolveResult:
    if not isinstance(solver, ResumableSolver):
        raise ValueError(
            f"{type(solver).__name__} cannot be interrupted and resumed; leave checkpoint None."
        )
    value, gradient = objective.value_and_gradient(start)
    G = constraint.project_gradient(start, gradient)
    own = {
        "coordinates of the starting point": digest(start),
        "value and gradient at the starting point": digest(np.float64(float(value)), G),
    }
    keeper = checkpoint.next_solve({**facts, **solver.settings(), **own})
    return solver.minimize(objective, constraint, start, callbacks, keeper)


def _grows_without_end(
    objective: Objective, constraint: Constraint, start: torch.Tensor, result: SolveResult
) -> bool:
    """Whether the items are far apart, and every larger embedding has a smaller value.

    A solver notices items that move apart fast. Where repulsion grows with the logarithm of the
    distance, they move apart slowly.
    """
    if result.status in (Status.NOT_FINITE, Status.STOPPED):
        return False
    sizes = [math.sqrt(float(dot(X, X))) for X in (start, result.X)]
    if not _LARGE * max(sizes[0], math.sqrt(len(start))) < sizes[1] < math.inf:
        return False
    larger = [constraint.project(result.X * scale).contiguous() for scale in (2.0, 1000.0)]
    values = [result.value, *(float(objective.value_and_gradient(X)[0]) for X in larger)]
    least = _NOTICEABLE * abs(values[0])
    return values[0] - values[1] > least and values[1] - values[2] > least


def _projected_gradient(
    objective: Objective, constraint: Constraint, X: torch.Tensor
) -> torch.Tensor:
    return constraint.project_gradient(X, objective.value_and_gradient(X)[1]).contiguous()


def _is_at_a_kink(objective: Objective, constraint: Constraint, result: SolveResult) -> bool:
    """Whether the value rises along -G because of a kink, and not because G is wrong.

    A loss like |d - delta| has kinks at its best embeddings, where G is one of many subgradients. A
    short step along -G then ends where the gradient points back, or where many kinks meet, a part
    of it. The gradient of a function that is wrong hardly turns.
    """
    X = result.X

    G = _projected_gradient(objective, constraint, X)
    size = math.sqrt(float(dot(X, X)) / float(dot(G, G)))
    step = _SHORT * math.sqrt(torch.finfo(X.dtype).eps) * size
    there = constraint.project(X - step * G).contiguous()
    turned = _projected_gradient(objective, constraint, there)
    return float(dot(turned, G)) <= _TURNED * float(dot(G, G))


def _better_is_near(
    solver: Solver, objective: Objective, constraint: Constraint, result: SolveResult
) -> bool:
    """Whether a step of all items but a few decreases the value noticeably.

    A few pairs that are far stiffer than the others stop a solver long before the other items are
    at their best: they hold nearly the whole gradient, or get it as soon as they move. So rows of
    G that are much longer than the median do not move, and neither do rows in which it changes
    much more than in the median row.
    """
    X = result.X

    def step(V: torch.Tensor, reach: float) -> torch.Tensor:
        size, length = (math.sqrt(float(dot(x, x))) for x in (X, V))
        return constraint.project(X + (reach * size / length) * V).contiguous()

    G = _projected_gradient(objective, constraint, X)
    V = torch.where(_usual_rows(G), -G, 0.0)
    if not 0 < float(dot(V, V)) < math.inf:
        return False
    changes = _projected_gradient(objective, constraint, step(V, float(_REACHES[0]))) - G
    calm = torch.where(_usual_rows(changes), V, 0.0)
    directions = [V, calm] if 0 < float(dot(calm, calm)) < math.inf else [V]
    trials = (step(V, float(reach)) for V in directions for reach in _REACHES)
    least = min(float(objective.value_and_gradient(trial)[0]) for trial in trials)
    return result.value - least > _noticeable(solver, result.value)


def _usual_rows(G: torch.Tensor) -> torch.Tensor:
    """Which rows of a gradient are not much longer than the median; shape (n, 1)."""
    lengths = torch.linalg.vector_norm(G, dim=1, keepdim=True)
    return lengths <= _USUAL * lengths[lengths > 0].nanmedian()


def _noticeable(solver: Solver, value: float) -> float:
    """Decrease of a value which promises that more iterations are worthwhile."""
    return _WORTHWHILE * max(abs(value), _GOOD * solver.scale.value)


def _warn_if_failed(
    solver: Solver, objective: Objective, constraint: Constraint, result: SolveResult
) -> None:
    norms = result.history.residual_norm
    # X may already be as good as the precision allows. `gain` bounds the first-order change of the
    # value if every item moves by its own length. The tolerance is a multiple of sqrt(eps), because
    # rounding changes the slopes of d ** 1.5 by that much where items coincide. The second test
    # covers a value that is itself only the rounding error of the coordinates.
    gain = norms[-1] * float(torch.linalg.matrix_norm(result.X))
    eps, value = torch.finfo(result.X.dtype).eps, abs(result.value)
    settled = gain <= 30 * eps**0.5 * value or value <= 100 * eps * gain
    tol = getattr(solver, "tol", 0.0) * solver.scale.gradient
    is_good = 0 <= result.value < _GOOD * solver.scale.value
    stuck = result.status is Status.NO_DESCENT and norms[-1] > _FAR_ABOVE * tol and not is_good
    if stuck:
        wrong = not settled and not _is_at_a_kink(objective, constraint, result)
        stuck = wrong or _better_is_near(solver, objective, constraint, result)
    endless = result.status is Status.UNBOUNDED
    if stuck or endless or result.status is Status.NOT_FINITE:
        advice = (
            "Use less repulsion, or a repulsive penalty that grows less than the attractive one."
            if endless
            else "Check that the distortion function has the right gradient, and whether a few "
            "weights or distances differ from the others by many powers of ten."
        )
        warn(
            f"The solve stopped early: {result.reason} (iteration {result.n_iter}, average "
            f"distortion {result.value:.6g}, residual norm {result.residual_norm:.3g}). {advice}",
            ConvergenceWarning,
        )


def _warn_if_unfinished(solver: Solver, result: SolveResult) -> None:
    """Warn if more iterations are likely to gain more than about one percent."""
    if result.status is not Status.MAX_ITER or result.n_iter == 0:
        return
    last = max(result.n_iter // 10, 1)
    decrease = result.history.value[-1 - last] - result.value
    if decrease > _noticeable(solver, result.value):
        warn(
            f"The solve ended at max_iter={solver.max_iter}, while the average distortion still "
            f"decreased: from {result.value + decrease:.6g} to {result.value:.6g} in the last "
            f"{'iteration' if last == 1 else f'{last} iterations'}. Increase max_iter, or give a "
            "better starting point.",
            ConvergenceWarning,
        )
