"""The problem whose original distances are to be kept as they are, under a loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from skmde._linalg.frame import Unit
from skmde._linalg.scaling import root_mean_square, scaled
from skmde.constraints import Constraint
from skmde.core.monotone.descent import Descent
from skmde.core.monotone.problem import pair_indices
from skmde.core.problem import MDE
from skmde.core.scales.precision import has_moderate_weights, is_far, is_moderate, resolves
from skmde.core.solvers.result import callbacks_in_units
from skmde.estimators.mds.solution import Solution
from skmde.estimators.pairs.base import Pairs
from skmde.estimators.pairs.stress import stress_ratio
from skmde.functions.base import Loss
from skmde.functions.powers import Quadratic
from skmde.functions.residual_losses import SquaredLoss
from skmde.preprocessing.graphs.components import pack_components


@dataclass
class MetricProblem:
    """Pairs with original distances, a loss and a constraint.

    Attributes
    ----------
    n_items, n_components : int
    pairs : Pairs
    loss : Loss
    constraint : Constraint
    device : torch.device
    nothing_free : bool
        Whether all items are fixed, so that the pairs do not count.
    scale : float
        Factor of the original distances.
    unit : Unit
        The solver's unit of length.
    dtype : dtype
        Of the solver.
    """

    n_items: int
    n_components: int
    pairs: Pairs
    loss: Loss
    constraint: Constraint
    device: Any
    nothing_free: bool = False
    scale: float = 1.0
    unit: Unit = field(default_factory=Unit)
    dtype: Any = np.float32
    is_rugged = False  # most starts lead to good local minima

    def __post_init__(self):
        m = self.n_components
        distances, weights = self.pairs.distances, self.pairs.weights
        self.scale, self.unit, self.dtype = _units(
            distances, self.loss, self.constraint, self.n_items, m
        )
        if not has_moderate_weights(weights):
            self.dtype = np.float64

    @property
    def length(self):
        """Typical length of a starting point."""
        return root_mean_square(self.pairs.distances) or 1.0

    def first_guess(self, source):
        """The source and the pairs from which a start is made."""
        return source, self.pairs

    def descent(self):
        """A quick descent to local minima in any dimension, or None if there is none."""
        is_squared = type(self.loss) is SquaredLoss
        if not is_squared or not self.constraint.is_free or self.pairs.labels is not None:
            return None
        pairs = pair_indices(self.pairs.edges, self.n_items)
        return Descent(*pairs, self.pairs.weights, distances=self.pairs.distances)

    def solve(self, start, options, n_jobs):
        """Solve from a starting point in units of the original distances.

        Parameters
        ----------
        start : ndarray of shape (n_items, n_components), float64
        options : dict
            Of :meth:`skmde.MDE.embed`. Callbacks receive states in units of the embedding.
        n_jobs : int or None
        """
        unit, pairs, constraint = self.unit, self.pairs, self.constraint
        factor = 0.0 if self.nothing_free else unit.power(self.loss.degree)
        weights = pairs.weights
        problem = MDE(
            self.n_items,
            self.n_components,
            pairs.edges,
            self.loss,
            constraint,
            weights=None if weights is None else weights.astype(self.dtype),
            deviations=scaled(pairs.distances, self.scale / unit.size, self.dtype),
            device=self.device,
            n_jobs=n_jobs,
        )
        callbacks = callbacks_in_units(
            options["callbacks"], lambda Z: unit.outside(Z.double()), factor, factor / unit.size
        )
        start = scaled(start, self.scale / unit.size, self.dtype)
        found = problem.embed(start, **{**options, "callbacks": callbacks})
        errors = problem.average_distortion(distortion="squared")
        squares = problem.average_distortion(distortion=Quadratic())
        result = problem.result

        def finished(coordinates):
            return unit.outside(constraint.finish(coordinates.cpu().double()).numpy())

        embedding, move = packed(finished(found), pairs.labels, constraint)
        history = result.history.as_arrays()
        history["value"] *= factor
        history["residual_norm"] *= factor / unit.size
        return Solution(
            embedding=embedding,
            value=result.value * factor,
            residual_norm=result.residual_norm * factor / unit.size,
            distortion=result.value * factor,
            stress=0.0 if self.nothing_free else stress_ratio(errors, squares),
            n_iter=result.n_iter,
            converged=result.converged,
            reason=result.reason,
            history=history,
            snapshots=[
                (k, finished(torch.from_numpy(X)) + move) for k, X in result.history.snapshots
            ],
        )


def packed(embedding, labels, constraint):
    """The embedding with its connected components side by side, and how far items were moved."""
    if labels is None or not constraint.is_free:
        return embedding, 0.0
    moved = pack_components(embedding, labels, rescale=False)
    return moved, moved - embedding


def _units(distances, loss, constraint, n, m):
    """Factor of the original distances, unit of length of the solver, and its dtype."""
    size, fixed = root_mean_square(distances), constraint.fixed_coordinates
    if not size > 0 and (constraint.fixes_unit or not fixed.size):
        return 1.0, Unit(), np.float32
    precise = constraint.has_own_distance or not resolves(distances)
    dtype = np.float64 if precise else np.float32
    if constraint.fixes_unit:
        return constraint.natural_length(n, m) / size, Unit(), dtype
    # A change of units is harmless unless the loss or the constraint has a length scale of its
    # own. A subclass of a loss may have one.
    degree = loss.degree if loss.kernel_parameters() is not None else None
    if degree is not None and constraint.is_free:
        return 1.0, Unit(size), dtype
    largest = max(size, np.abs(fixed).max(initial=0.0))
    precise = is_moderate(largest) and not is_far(fixed, size)
    return 1.0, Unit(), dtype if precise else np.float64
