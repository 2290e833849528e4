"""The problem that an anchored embedding solves: pairs with a free item, functions, and anchors.

The average distortion is that of the pairs that have a free item: a pair of two anchors adds a
constant, and is left out. Coordinates are in the units of the anchors' values. What is handed to
the solver is relative to the anchors' mean, and for a loss that has no unit of its own in units of
the original distances, so that neither offset nor scale costs precision.

A soft anchor is a pair more: of the item, which is free, and a further item that is fixed at the
place, under the quadratic penalty.

Neither the unit of coordinates nor stiff pulls may slow a solve down or end it early. Under
attraction alone, which has no scale that would count, the solver sees coordinates as large as 1 and
a distortion of 1; and it sees a soft anchor's distance from its place larger the more the pull
outweighs the pairs.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import torch

from skmde._linalg.scaling import root_mean_square
from skmde._utils.threads import count_threads
from skmde.constraints import Anchored
from skmde.core.kernels.backend import choose_backend
from skmde.core.objectives.edge_term import EdgeTerm
from skmde.core.objectives.edges import EdgeList
from skmde.core.objectives.rescaled import Rescaled
from skmde.core.objectives.total import Total
from skmde.core.solvers.base import solve
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import in_units
from skmde.core.spectral.placement import loose_items, place_quadratic
from skmde.functions.base import Loss
from skmde.functions.powers import Linear, Quadratic
from skmde.functions.residual_losses import SquaredLoss
from skmde.functions.thresholds import Huber

# The linear penalty's kink at 0 stalls the solver: it is rounded over these parts of the anchors'
# extent first, one after the other.
_ROUNDINGS = (0.3, 0.03, 0.003, 0.0003)
_PRECISE = (1e-6, 1e6)  # sizes of an embedding that float32 does well
_STIFF = 100.0  # pulls that outweigh pairs by so much are beyond float32


class AnchoredSolution(NamedTuple):
    """The outcome of a solve.

    Attributes
    ----------
    X : ndarray of shape (n_items, m), float64
    value : float
        Average distortion.
    gradient : ndarray of shape (n_items, m)
        Its gradient in the items; of anchors, soft ones too, that of the pairs alone.
    residual_norm : float
        Frobenius norm of the gradient in the items that move.
    n_iter : int
    history : dict of ndarray
    """

    X: np.ndarray
    value: float
    gradient: np.ndarray
    residual_norm: float
    n_iter: int
    history: dict


class _Frame(NamedTuple):
    """What a solver sees of coordinates: relative to the center, in some unit, divided by a length.

    Attributes
    ----------
    center : ndarray of shape (m,)
    unit, factor : float
        Unit of length, and what the distortion in it is to be multiplied by.
    coordinates, offset : ndarrays of shape (n_anchors, m) and (n_items, m)
        The anchors' coordinates, and from where each item's variables are counted.
    stiffness : ndarray of shape (n_items,)
        How much the pull at each item outweighs its pairs; 0 for those that are not pulled.
    size, length : float
        Of the largest place, and of a typical one if the solver is to see it as 1.
    is_moderate : bool
        Whether float32 does it.
    """

    center: np.ndarray
    unit: float
    factor: float
    coordinates: np.ndarray
    offset: np.ndarray
    stiffness: np.ndarray
    size: float
    length: float
    is_moderate: bool


class AnchoredProblem:
    """Pairs, functions and anchors.

    Parameters
    ----------
    n_items : int
    edges : ndarray of shape (p, 2), int
    functions : pair (Penalty, Penalty or None), or Loss
    weights : ndarray of shape (p,)
        Negative for pairs under the second penalty.
    distances : ndarray of shape (p,) or None
        Original distances, for a loss.
    anchors, values : ndarrays of shape (n_anchors,) and (n_anchors, m)
    anchor_weight : float or None
        Weight of the pull that a soft anchor feels; None for anchors that do not move.
    device : torch.device
    n_jobs : int or None

    Attributes
    ----------
    edges, weights, distances : ndarrays or None
        Those of pairs with a free item.
    """

    def __init__(
        self,
        n_items,
        edges,
        functions,
        weights,
        distances=None,
        *,
        anchors,
        values,
        anchor_weight=None,
        device,
        n_jobs,
    ):
        self.n_items, self.functions = n_items, functions
        self.anchors, self.values = anchors, values
        self._anchor_weight = anchor_weight
        self._fixed = anchors  # of n_items and those that soft anchors are pulled to
        if anchor_weight is None:
            free = np.ones(n_items, dtype=bool)
            free[anchors] = False
            kept = free[edges].any(axis=1)
            if not kept.all():
                edges, weights = edges[kept], weights[kept]
                distances = None if distances is None else distances[kept]
        else:
            self._fixed = n_items + np.arange(len(anchors))
        self.edges, self.weights, self.distances = edges, weights, distances
        self._device, self._n_jobs = device, n_jobs
        self._placement = None

    @property
    def _n_all(self):
        """Items, and those that soft anchors are pulled to."""
        return self.n_items + (0 if self._anchor_weight is None else len(self.anchors))

    @property
    def center(self):
        """Mean of the anchors' coordinates."""
        largest = np.abs(self.values).max() or 1.0
        return largest * (self.values / largest).mean(axis=0)

    def count_loose(self):
        """Number of items that no chain of attractive pairs joins to an anchor, and their parts."""
        edges = self.edges[self.weights > 0]
        loose, n_parts = loose_items(edges, self.n_items, self.anchors)
        return int(np.count_nonzero(loose)), n_parts

    def place_quadratic(self):
        """Where the quadratic penalty would put the items that attract each other."""
        if self._placement is None:
            attract = self.weights > 0
            edges, weights = self.edges[attract], self.weights[attract]
            if self._anchor_weight is not None:
                edges = np.concatenate([edges, self._pulls()])
                weights = np.append(weights, np.full(len(self.anchors), self._anchor_weight))
            placement = place_quadratic(edges, weights, self._n_all, self._fixed, self.values)
            self._placement = placement
        return self._placement

    def _solve_exactly(self):
        """The solution under the quadratic penalty alone."""
        begin = time.perf_counter()
        placement = self.place_quadratic()
        value, gradient = self._evaluate(placement.X)
        last = {
            "value": value,
            "residual_norm": self._residual_norm(gradient),
            "step_size": 0.0,
            "seconds": time.perf_counter() - begin,
        }
        history = {name: np.array([number]) for name, number in last.items()}
        return self._solution(placement.X, value, gradient, placement.n_iter, history)

    @property
    def _is_quadratic(self):
        """Whether the quadratic penalty is all there is."""
        if len(self.edges) == 0:
            return True
        if isinstance(self.functions, Loss):
            return False
        attract, repel = self.functions
        return type(attract) is Quadratic and (repel is None or not (self.weights < 0).any())

    @property
    def _is_linear(self):
        return isinstance(self.functions, tuple) and (
            type(self.functions[0]) is Linear and self.functions[1] is None
        )

    def solve(self, start, dtype, **options):
        """The solution: exact, or by projected L-BFGS from a starting point.

        Parameters
        ----------
        start : ndarray of shape (n_items, m), float64, or callable
            Rows of anchors that do not move do not count.
        dtype : dtype
            float32 is taken for its word only where it is precise enough.
        **options : dict
            Further arguments of :func:`~skmde.core.solvers.base.solve`; callbacks see iterates in
            the units of the anchors' values.
        """
        if self._is_quadratic:
            return self._solve_exactly()
        X = start() if callable(start) else start
        frame = self._frame()
        if not frame.is_moderate:
            dtype = np.float64
        if self._is_linear:
            limits = {name: options[name] for name in ("max_iter", "memory_size", "tol")}
            for threshold in (float(part * frame.size) for part in _ROUNDINGS):
                # relative to the linear penalty the rounded one is multiplied by twice that
                rounded = Huber(threshold), None
                X, _, _ = self._run(frame, rounded, X, dtype, pull=2 * threshold, **limits)
        X, n_iter, history = self._run(frame, self.functions, X, dtype, **options)
        value, gradient = self._evaluate(X)
        return self._solution(X, value, gradient, n_iter, history)

    def _run(self, frame, functions, start, dtype, pull=1.0, callbacks=(), verbose=0, **settings):
        """Coordinates of all items, number of iterations and history of a solve."""
        center, unit = frame.center, frame.unit
        X = np.empty((self._n_all, len(center)))
        X[: len(start)] = (start - center) / unit
        X[self._fixed] = frame.coordinates
        pull *= unit**2 / frame.factor
        scale = frame.length / np.sqrt(1 + pull * frame.stiffness)
        arrays = frame.offset, scale[:, None], X
        offset, scale, X = (torch.from_numpy(A.astype(dtype)).to(self._device) for A in arrays)
        objective = Rescaled(self._objective(functions, X.dtype, unit, pull), offset, scale)
        Z = objective.from_original(X)
        if not np.isfinite(float(objective.value_and_gradient(Z)[0])):
            raise ValueError(
                "The average distortion is infinite at the starting point, as a barrier is where "
                "items are too close together. Take a penalty that is finite there, or give `fit` "
                "an array as init in which they are apart."
            )
        if self._attracts_only:
            X[: self.n_items] = torch.from_numpy(
                (self.place_quadratic().X[: self.n_items] - center) / unit
            )
            value = float(objective.value_and_gradient(objective.from_original(X))[0])
            objective.unit = value if 0 < value < np.inf else 1.0
        values = objective.unit * frame.factor
        norms = values / (unit * frame.length)

        def original(Z):
            X = center + unit * objective.to_original(Z).cpu().double().numpy()
            X[self._fixed] = self.values
            return X

        def seen(Z):
            return torch.from_numpy(original(Z)[: self.n_items])

        result = solve(
            LBFGS(**settings),
            objective,
            Anchored(self._fixed, Z[self._fixed]),
            Z,
            callbacks=in_units(callbacks, seen, values, norms),
            verbose=verbose,
        )
        history = result.history.as_arrays()
        history["value"] *= values
        history["residual_norm"] *= norms
        return original(result.X), result.n_iter, history

    def _frame(self):
        center = self.center
        unit, factor = self._unit()
        coordinates = (self.values - center) / unit
        offset = np.zeros((self._n_all, coordinates.shape[1]))
        if self._anchor_weight is not None:
            offset[self.anchors] = coordinates
        size = float(np.abs(coordinates).max())
        length = root_mean_square(np.abs(coordinates).ravel()) if self._attracts_only else 1.0
        stiffness = self._stiffness()
        stiffest = stiffness.max() * unit**2 / factor
        moderate = _PRECISE[0] < size < _PRECISE[1] and stiffest < _STIFF
        length = length or 1.0
        return _Frame(center, unit, factor, coordinates, offset, stiffness, size, length, moderate)

    def _solution(self, X, value, gradient, n_iter, history):
        """X and all that is known of it, for the items."""
        own = gradient[: self.n_items].copy()
        if self._anchor_weight is not None:
            own[self.anchors] += gradient[self._fixed]  # minus the pull's
        norm = self._residual_norm(gradient)
        return AnchoredSolution(X[: self.n_items], value, own, norm, n_iter, history)

    @property
    def _attracts_only(self):
        """Whether penalties, and no repulsion, make the distortion."""
        return isinstance(self.functions, tuple) and not (self.weights < 0).any()

    def _stiffness(self):
        """How much the pull at each item outweighs its pairs; 0 for those that are not pulled."""
        found = np.zeros(self._n_all)
        if self._anchor_weight is not None:
            ends, weights = self.edges.ravel(), np.repeat(np.abs(self.weights), 2)
            degrees = np.bincount(ends, weights, minlength=self._n_all)[self.anchors]
            typical = degrees.mean() or 1.0
            found[self.anchors] = self._anchor_weight / np.where(degrees > 0, degrees, typical)
        return found

    def _unit(self):
        """Unit of length of the solver, and what its values are to be multiplied by."""
        if isinstance(self.functions, Loss):
            function, lengths = self.functions, self.distances
        elif self._attracts_only:
            function, lengths = self.functions[0], np.abs(self.values - self.center).ravel()
        else:
            return 1.0, 1.0
        degree, size = function.degree, root_mean_square(lengths)
        if degree is None or function.kernel_parameters() is None or not size > 0:
            return 1.0, 1.0
        with np.errstate(over="ignore", under="ignore"):
            return size, float(np.float64(size) ** degree)

    def _pulls(self):
        """The pairs of soft anchors and what they are pulled to."""
        return np.stack([self.anchors, self._fixed], axis=1)

    def _objective(self, functions, dtype, unit=1.0, pull=1.0):
        """Average distortion of all pairs, in some unit of length, its pulls multiplied."""
        options = {"dtype": dtype, "device": self._device}
        delta = self.distances
        edges = EdgeList.build(
            self.edges,
            self._n_all,
            functions,
            weights=self.weights,
            deviations=None if delta is None else delta / unit,
            **options,
        )
        if self._anchor_weight is not None:
            zeros = None if delta is None else np.zeros(len(self.anchors))
            pulls = EdgeList.build(
                self._pulls(),
                self._n_all,
                Quadratic() if delta is None else SquaredLoss(),
                weights=np.full(len(self.anchors), pull * self._anchor_weight),
                deviations=zeros,
                **options,
            )
            edges = edges.joined(pulls)
        m, backend = self.values.shape[1], choose_backend(self._device, count_threads(self._n_jobs))
        return Total([EdgeTerm(edges, self._n_all, m, dtype=dtype, backend=backend)], backend)

    def _evaluate(self, X):
        """Average distortion and its gradient at X, in float64; 0 if there is no pair."""
        if len(self.edges) == 0:
            return 0.0, np.zeros_like(X)
        # relative to the center, where differences of coordinates are exact
        value, gradient = self._objective(self.functions, torch.float64).value_and_gradient(
            torch.from_numpy(X - self.center).to(self._device)
        )
        return float(value), gradient.cpu().numpy()

    def _residual_norm(self, gradient):
        """Frobenius norm of the rows of free items."""
        free = np.ones(len(gradient), dtype=bool)
        free[self._fixed] = False
        largest = np.abs(gradient[free]).max(initial=0.0) or 1.0
        return float(largest * np.linalg.norm(gradient[free] / largest))
