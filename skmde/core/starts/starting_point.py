"""Where a solve of an MDE problem starts.

The starting point is in the constraint set, of a size at which the distortion functions tell how to
change it, and its items do not coincide. It is in the units of the embedding.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from skmde._linalg.components import component_labels
from skmde._linalg.frame import Frame, Unit
from skmde._linalg.reductions import dot
from skmde.constraints import Centered, Constraint
from skmde.core.objectives.base import Objective
from skmde.core.objectives.edge_term import Edges
from skmde.core.objectives.edges import EdgeList, known_deviations
from skmde.core.solvers.base import solve
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.starts.coincident import separate_coincident
from skmde.core.starts.fixed_items import start_over_fixed
from skmde.exceptions import ConvergenceWarning

# Size of a start, relative to a usual one, from which it is scaled: under losses, and penalties.
_UNUSUAL = 1e4, 100.0
_NOISE = 1e-4  # of a random start, that separates items which coincide


@dataclass(frozen=True)
class Starts:
    """Starting points of a problem.

    Parameters
    ----------
    edges : Edges
    constraint : Constraint
    shape : tuple of int
        Numbers of items and of components.
    device : torch.device
    objective : callable
        Returns the objective for a dtype.
    kept : dict
        Arguments of `solve` by which a checkpoint keeps the state of a solve for a start.
    """

    edges: Edges
    constraint: Constraint
    shape: tuple[int, int]
    device: torch.device
    objective: Callable[[torch.dtype], Objective]
    kept: dict[str, Any] = field(default_factory=dict)

    def given(self, X: torch.Tensor, solver: LBFGS) -> torch.Tensor:
        """The starting point for an embedding of the user, shape (n, m)."""
        delta, is_free = self.edges.deviations, self.constraint.is_free
        most = _UNUSUAL[delta is None]
        if delta is not None and solver.max_iter:
            if is_free and bool((X == X[0]).all()):
                X, most = torch.zeros_like(X), 1.0  # the noise gets the usual size
            X = self._apart(X, delta)
        if is_free and solver.max_iter:
            X = self._of_usual_size(X, solver.scale.length, most)
        return self._feasible(X)

    def random(self, random_state: Any, solver: LBFGS) -> torch.Tensor:
        """A random starting point.

        If items are fixed and there are original distances, the problem is first solved without the
        constraint.
        """
        generator, dtype = np.random.default_rng(random_state), self.edges.dtype
        has_fixed = len(self.constraint.fixed_items) > 0
        if not has_fixed or self.edges.deviations is None:
            return self._drawn(generator, dtype, self.constraint)
        return self._feasible(self._solved_freely(generator, dtype, solver))

    def _feasible(self, start: torch.Tensor) -> torch.Tensor:
        """The start over the fixed items, in the constraint set, with items apart."""
        if len(self.constraint.fixed_items):
            start = self._over_fixed(start)
        constraint = self.constraint
        start = checked_projection(constraint, constraint.arrange(start))
        movable = constraint.is_free or constraint.has_boundary
        if movable and self.shape[0] > 1 and bool((start == start[0]).all()):
            # Coincident items exert no force on each other, so the solver cannot separate them.
            noise = self._drawn(np.random.default_rng(0), start.dtype, constraint)
            if constraint.has_boundary:  # from the boundary, noise leads inwards
                return checked_projection(constraint, start + _NOISE * (noise - start))
            start = start + _NOISE * noise
        return start

    def _apart(self, start: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """The start without coincident items, unless their original distance is 0."""
        X, pairs_at = start.cpu().numpy(), self.edges.pairs_at
        return torch.from_numpy(separate_coincident(X, 0, delta.cpu().numpy(), pairs_at)).to(start)

    def _of_usual_size(self, start: torch.Tensor, length: float, most: float) -> torch.Tensor:
        """The start, scaled to a usual length if it is more than `most` times larger or smaller.

        Losses cannot tell how to change an embedding whose distances are all 0, or all infinite,
        beside the deviations. Many penalties are flat there, too. They may have lengths of their
        own, so a start under penalties is only scaled if that decreases the average distortion.
        """
        X = start.cpu().double().numpy()
        frame = Frame.centered(X)
        inside = frame.inside(X)
        size = float(np.sqrt(np.mean(inside**2)))
        usual = length / math.sqrt(2 * self.shape[1])
        if not size > 0 or 1 / most <= frame.length * size / usual <= most:
            return start
        scaled = torch.from_numpy(usual / size * inside).to(start)
        if self.edges.deviations is None:
            objective = self.objective(start.dtype)
            given, new = (float(objective.value_and_gradient(x)[0]) for x in (start, scaled))
            if given <= new:
                return start
        return scaled

    def _solved_freely(
        self, generator: np.random.Generator, dtype: torch.dtype, solver: LBFGS
    ) -> torch.Tensor:
        """The solution without the constraint, from a random starting point."""
        free = Centered()
        start = self._drawn(generator, dtype, free)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return solve(solver, self.objective(dtype), free, start, **self.kept).X

    def _over_fixed(self, start: torch.Tensor) -> torch.Tensor:
        """A start that is laid over the items of given coordinates by a rigid motion."""
        labels = None
        if isinstance(self.edges, EdgeList):
            pairs = torch.stack([self.edges.i, self.edges.j], dim=1)
            labels = component_labels(pairs[self.edges.weights > 0].cpu().numpy(), self.shape[0])
        moved = start_over_fixed(
            start.cpu().double().numpy(),
            np.asarray(self.constraint.fixed_items),
            np.asarray(self.constraint.fixed_coordinates, dtype=np.float64),
            labels,
        )
        return torch.from_numpy(moved).to(start)

    def _drawn(
        self, generator: np.random.Generator, dtype: torch.dtype, constraint: Constraint
    ) -> torch.Tensor:
        t = known_deviations(self.edges)
        if t is None or not (constraint.is_free or constraint.has_boundary):
            return constraint.initialize(*self.shape, generator, dtype, self.device)
        bounded = constraint.has_boundary  # then the start is as large as the set allows
        free = Centered() if bounded else constraint
        X = free.initialize(*self.shape, generator, dtype, self.device)
        # Scale X to the original distances: normal vectors are about sqrt(2 m) apart.
        unit = Unit(float(t.max()) or 1.0)
        part = unit.inside(t)
        mean_square = float(dot(part, part)) / (2 * self.shape[1] * len(t))
        X = X * unit.outside(math.sqrt(mean_square))
        return checked_projection(constraint, constraint.arrange(X)) if bounded else X


def checked_projection(constraint: Constraint, start: torch.Tensor) -> torch.Tensor:
    """The projection onto a constraint set, which a user may have written.

    Raises
    ------
    ValueError
        If it is no tensor of the same shape, or not finite.
    """
    X = constraint.project(start)
    if not isinstance(X, torch.Tensor) or X.shape != start.shape:
        got = tuple(X.shape) if isinstance(X, torch.Tensor) else type(X).__name__
        raise ValueError(
            f"{constraint!r}: project must return a tensor of shape {tuple(start.shape)}; got "
            f"{got}. Check the constraint with skmde.constraints.check_constraint."
        )
    if not bool(torch.isfinite(X).all()):
        raise ValueError(
            f"{constraint!r}: project returned NaN or infinite entries for the starting point. "
            "Check the constraint with skmde.constraints.check_constraint."
        )
    return X.contiguous()
