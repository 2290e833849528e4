"""The problem that an anchored embedding solves: pairs with a free item, functions, and anchors.

The average distortion is that of the pairs that have a free item: a pair of two anchors adds a
constant, and is left out. Places are in the units of the anchors' values. What is handed to the
solver is relative to the anchors' mean, and for a loss that has no unit of its own in units of the
original distances, so that neither offset nor scale costs precision.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import torch

from skmde._distortion import Loss
from skmde._threads import count_threads
from skmde.constraints import Anchored
from skmde.core.anchored_quadratic import place_quadratic
from skmde.core.edges import EdgeList
from skmde.core.objective import Objective
from skmde.core.problem import MDE
from skmde.estimators._original_distances import root_mean_square, scaled
from skmde.penalties import Huber, Linear, Quadratic

# The linear penalty's kink at 0 stalls the solver: it is rounded over these parts of the anchors'
# extent first, one after the other.
_ROUNDINGS = (0.3, 0.03, 0.003, 0.0003)
_PRECISE = (1e-6, 1e6)  # sizes of an embedding that float32 does well


class AnchoredSolution(NamedTuple):
    """The outcome of a solve.

    Attributes
    ----------
    X : ndarray of shape (n_items, m), float64
    value : float
        Average distortion.
    gradient : ndarray of shape (n_items, m)
        Its gradient, of anchors, too.
    n_iter : int
    history : dict of ndarray
    """

    X: np.ndarray
    value: float
    gradient: np.ndarray
    n_iter: int
    history: dict


class AnchoredProblem:
    """Pairs, functions and anchors.

    Parameters
    ----------
    n_items : int
    edges : ndarray of shape (p, 2), int
    functions : pair (Penalty, Penalty or None), or Loss
    anchors, values : ndarrays of shape (n_anchors,) and (n_anchors, m)
    weights : ndarray of shape (p,)
        Negative for pairs under the second penalty.
    distances : ndarray of shape (p,) or None
        Original distances, for a loss.
    device : torch.device
    n_jobs : int or None

    Attributes
    ----------
    edges, weights, distances : ndarrays or None
        Those of pairs with a free item.
    """

    def __init__(
        self, n_items, edges, functions, anchors, values, *, weights, distances, device, n_jobs
    ):
        free = np.ones(n_items, dtype=bool)
        free[anchors] = False
        kept = free[edges].any(axis=1)
        if not kept.all():
            edges, weights = edges[kept], weights[kept]
            distances = None if distances is None else distances[kept]
        self.n_items, self.functions = n_items, functions
        self.edges, self.weights, self.distances = edges, weights, distances
        self.anchors, self.values = anchors, values
        self._free, self._device, self._n_jobs = free, device, n_jobs

    @property
    def center(self):
        """Mean of the anchors' places."""
        largest = np.abs(self.values).max() or 1.0
        return largest * (self.values / largest).mean(axis=0)

    def place_quadratic(self):
        """Where the quadratic penalty would put the items that attract each other."""
        attract = self.weights > 0
        return place_quadratic(
            self.edges[attract], self.weights[attract], self.n_items, self.anchors, self.values
        )

    def solve_exactly(self):
        """The solution under the quadratic penalty alone."""
        begin = time.perf_counter()
        placement = self.place_quadratic()
        value, gradient = self._evaluate(placement.X)
        last = {
            "value": value,
            "residual_norm": self.residual_norm(gradient),
            "step_size": 0.0,
            "seconds": time.perf_counter() - begin,
        }
        history = {name: np.array([number]) for name, number in last.items()}
        return AnchoredSolution(placement.X, value, gradient, placement.n_iter, history)

    @property
    def is_quadratic(self):
        """Whether the quadratic penalty is all there is."""
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
        """Projected L-BFGS from a starting point.

        Parameters
        ----------
        start : ndarray of shape (n_items, m), float64
            Its anchored rows do not count.
        dtype : dtype
            float32 is taken for its word only where it is precise enough.
        **options : dict
            Further arguments of :meth:`skmde.MDE.embed`, `tol`, `max_iter` and `memory_size` among
            them.
        """
        center = self.center
        unit, factor = self._unit()
        places = (self.values - center) / unit
        size = np.abs(places).max()
        if not (_PRECISE[0] < size < _PRECISE[1]):
            dtype = np.float64

        def embed(functions, X, **options):
            problem = MDE(
                self.n_items,
                self.values.shape[1],
                self.edges,
                functions,
                Anchored(self.anchors, places),
                weights=self.weights.astype(dtype),
                deviations=deviations,
                device=self._device,
                n_jobs=self._n_jobs,
            )
            if not np.isfinite(problem.average_distortion(X)):
                raise ValueError(
                    "The average distortion is infinite at the starting point, as a barrier is "
                    "where items are too close together. Give an array as init in which they are "
                    "not."
                )
            problem.embed(X, **options)
            return problem

        deviations = None if self.distances is None else scaled(self.distances, 1 / unit, dtype)
        X = (start - center) / unit
        X[self.anchors] = places
        X = X.astype(dtype)
        if self._is_linear:
            limits = {name: options[name] for name in ("max_iter", "memory_size")}
            for threshold in (part * size for part in _ROUNDINGS):
                # this is 2 * threshold times as steep as the linear penalty
                tol = 2 * threshold * options["tol"]
                X = embed((Huber(float(threshold)), None), X, tol=tol, **limits).X
        problem = embed(self.functions, X, **options)
        X = center + unit * problem.X.cpu().double().numpy()
        X[self.anchors] = self.values
        history = problem.result.history.as_arrays()
        history["value"] *= factor
        history["residual_norm"] *= factor / unit
        value, gradient = self._evaluate(X)
        return AnchoredSolution(X, value, gradient, problem.result.n_iter, history)

    def _unit(self):
        """Unit of length of the solver, and what its values are to be multiplied by."""
        if self.distances is None or self.functions.kernel_parameters() is None:
            return 1.0, 1.0
        degree, size = self.functions.degree, root_mean_square(self.distances)
        if degree is None or not size > 0:
            return 1.0, 1.0
        with np.errstate(over="ignore", under="ignore"):
            return size, float(np.float64(size) ** degree)

    def _evaluate(self, X):
        """Average distortion and its gradient at X, in float64; 0 if there is no pair."""
        if len(self.edges) == 0:
            return 0.0, np.zeros_like(X)
        edges = EdgeList.build(
            self.edges,
            self.n_items,
            self.functions,
            weights=self.weights,
            deviations=self.distances,
            dtype=torch.float64,
            device=self._device,
        )
        n_threads = count_threads(self._n_jobs)
        n, m = X.shape
        objective = Objective(edges, n, m, dtype=torch.float64, n_threads=n_threads)
        # relative to the center, where differences of places are exact
        value, gradient = objective.value_and_gradient(
            torch.from_numpy(X - self.center).to(self._device)
        )
        return float(value), gradient.cpu().numpy()

    def residual_norm(self, gradient):
        """Frobenius norm of the rows of free items."""
        return float(np.linalg.norm(gradient[self._free]))
