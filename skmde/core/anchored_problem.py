"""The anchored MDE problem: pairs with a free item, their functions, and anchors.

Minimise the average distortion (monograph, section 2.3) of the pairs that have a free item, where
the anchors have given coordinates (monograph, section 2.4.2). A pair of two anchors would add a
constant, so it is left out. Coordinates are in the units of the anchors' values.

A soft anchor is a free item with one further pair, the *pull*. The pull joins the item to a
*target*: a further item that is fixed at the anchor's value. Its penalty is quadratic.

The unit and offset of the coordinates must not affect precision or the number of iterations:

- The solver works in a `Frame` around the anchors' mean. For a loss that is homogeneous (has a
  degree), the unit is the root mean square of the original distances. For attraction only, the unit
  is the root mean square of the anchors' centred coordinates, and the distortion is divided by that
  of the quadratic solution. Otherwise, the solver gets the unit of ``scales/typical_scale.py``.
- A strong pull makes the problem ill-conditioned. The variable of a soft anchor is therefore its
  difference from the anchor's value, in a unit that is shorter if the pull outweighs the pairs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from skmde._linalg.frame import Frame, Unit
from skmde._linalg.scaling import root_mean_square
from skmde._utils.device import solving_device
from skmde._utils.threads import count_threads
from skmde.constraints import Anchored, Centered, Constraint
from skmde.constraints.rows import project_rows
from skmde.core.all_pairs_repulsion import AllPairsRepulsion
from skmde.core.anchored_rows import AnchoredRows
from skmde.core.checkpoints.checkpoint import Checkpoint
from skmde.core.checkpoints.facts import Facts, described
from skmde.core.kernels.backend import Backend, choose_backend
from skmde.core.objectives.base import Term
from skmde.core.objectives.edge_term import EdgeTerm
from skmde.core.objectives.edges import EdgeList
from skmde.core.objectives.repulsion import RepulsiveTerm
from skmde.core.objectives.rescaled import Rescaled
from skmde.core.objectives.total import Total
from skmde.core.scales.precision import (
    check_above_zero,
    has_moderate_weights,
    is_moderate,
    resolves,
    resolves_units,
)
from skmde.core.scales.tight_groups import TightGroups, find_tight_groups
from skmde.core.scales.typical_scale import typical_scale, unit_of_attraction
from skmde.core.solvers.base import solve
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import Callback, SolveResult, callbacks_in_units
from skmde.core.solvers.scale import Scale
from skmde.core.spectral.placement import QuadraticPlacement, loose_items, place_quadratic
from skmde.exceptions import ConvergenceWarning
from skmde.functions.base import Loss, Penalty
from skmde.functions.powers import Linear, Quadratic
from skmde.functions.residual_losses import SquaredLoss
from skmde.functions.thresholds import Huber

# The kink of the linear penalty at 0 stalls the solver. Solves with the Huber penalty come first,
# with thresholds of these fractions of the anchors' extent, in this order.
_HUBER_THRESHOLDS = (0.3, 0.03, 0.003, 0.0003)
_STIFF = 100.0  # float32 is not precise enough if pulls outweigh pairs by this factor
_EXACT = "the problem is quadratic and was solved exactly"

Functions = Loss | tuple[Penalty, Penalty | None]


class AnchoredSolution(NamedTuple):
    """The solution of an anchored problem.

    Attributes
    ----------
    X : ndarray of shape (n_items, m), float64
        The embedding.
    value : float
        Average distortion.
    gradient : ndarray of shape (n_items, m)
        Gradient of the average distortion. Rows of anchors, also of soft ones, do not include the
        pulls.
    residual_norm : float
        Frobenius norm of the gradient with respect to the free items, including the pulls.
    n_iter : int
        Number of iterations.
    history : dict of ndarray
        See :meth:`~skmde.core.solvers.result.History.as_arrays`.
    converged : bool
        Whether the tolerance was reached; true for an exact solution.
    reason : str
        What stopped the solve, as a sentence.
    snapshots : sequence of tuple of (int, ndarray of shape (n_items, m))
        Iteration and iterate of each snapshot; empty for an exact solution.
    """

    X: np.ndarray
    value: float
    gradient: np.ndarray
    residual_norm: float
    n_iter: int
    history: dict[str, np.ndarray]
    converged: bool
    reason: str
    snapshots: Sequence[tuple[int, np.ndarray]] = ()


class _Variables(NamedTuple):
    """The relation between the solver's variables and coordinates.

    Attributes
    ----------
    frame : Frame
        Center and unit of the objective's coordinates.
    factor : float
        Factor from the distortion in this unit to the distortion in the anchors' unit.
    values, offset : ndarrays of shape (n_anchors, m) and (n_all, m)
        In the frame: the anchors' values, and the origin of each item's variables.
    stiffness : ndarray of shape (n_all,)
        Weight of the pull on each item, relative to the weights of its pairs; 0 without a pull.
    size, length : float
        In the frame: the largest coordinate of an anchor, and the unit of the solver's variables.
    is_moderate : bool
        Whether float32 is precise enough.
    """

    frame: Frame
    factor: float
    values: np.ndarray
    offset: np.ndarray
    stiffness: np.ndarray
    size: float
    length: float
    is_moderate: bool


class AnchoredProblem:
    """The anchored MDE problem: pairs, functions and anchors.

    Parameters
    ----------
    n_items : int
    edges : ndarray of shape (p, 2), int
    functions : pair (Penalty, Penalty or None), or Loss
    weights : ndarray of shape (p,)
        Negative for pairs with the second, repulsive penalty.
    deviations : ndarray of shape (p,) or None
        Original distances, for a loss.
    anchors, values : ndarrays of shape (n_anchors,) and (n_anchors, m)
        Indices of the anchored items, and their coordinates.
    anchor_weight : float or None
        Weight of the pulls of soft anchors; None for fixed anchors.
    repulsion : {"all", "normalized"} or None, default=None
        Repulsion of all pairs under the second penalty, besides the edges; see `MDE`. Pairs of two
        fixed anchors repel, too. None means that only edges repel.
    repulsive_weight : float, default=1.0
        Weight of the repulsion of all pairs.
    item_weights : ndarray of shape (n_items,), optional
        Factors of the items in that repulsion; None means 1.
    rows : Constraint, optional
        A set that acts on rows, in which free items stay. Anchors must be fixed.
    device : torch.device
    n_jobs : int or None

    Attributes
    ----------
    edges, weights, deviations : ndarrays or None
        The edges with a free item, their weights and original distances.
    """

    def __init__(
        self,
        n_items: int,
        edges: np.ndarray,
        functions: Functions,
        weights: np.ndarray,
        deviations: np.ndarray | None = None,
        *,
        anchors: np.ndarray,
        values: np.ndarray,
        anchor_weight: float | None = None,
        repulsion: str | None = None,
        repulsive_weight: float = 1.0,
        item_weights: np.ndarray | None = None,
        rows: Constraint | None = None,
        device: torch.device,
        n_jobs: int | None,
    ) -> None:
        self._rows = rows
        self._repulsion, self._item_weights = repulsion, item_weights
        self._repulsive_weight = repulsive_weight
        self.n_items, self.functions = n_items, functions
        self.anchors, self.values = anchors, values
        self._anchor_weight = anchor_weight
        self._fixed = anchors  # fixed items: the anchors, or the targets of pulls
        if anchor_weight is None:
            free = np.ones(n_items, dtype=bool)
            free[anchors] = False
            kept = free[edges].any(axis=1)
            if not kept.all():
                edges, weights = edges[kept], weights[kept]
                deviations = None if deviations is None else deviations[kept]
        else:
            self._fixed = n_items + np.arange(len(anchors))
        self.edges, self.weights, self.deviations = edges, weights, deviations
        self._device, self._n_jobs = solving_device(device), n_jobs
        self._placement: QuadraticPlacement | None = None
        self._groups: TightGroups | None = None

    @property
    def _n_all(self) -> int:
        """Number of items, including the targets of pulls."""
        return self.n_items + (0 if self._anchor_weight is None else len(self.anchors))

    @property
    def center(self) -> np.ndarray:
        """Mean of the anchors' coordinates."""
        origin: np.ndarray = Frame.around(self.values).origin
        return origin

    def count_loose(self) -> tuple[int, int]:
        """Number of loose items and of their components, in the graph of attractive pairs."""
        edges = self.edges[self.weights > 0]
        loose, n_parts = loose_items(edges, self.n_items, self.anchors)
        return int(np.count_nonzero(loose)), n_parts

    def quadratic_solution(self) -> QuadraticPlacement:
        """The solution for the attractive pairs under the quadratic penalty."""
        if self._placement is None:
            attract = self.weights > 0
            edges, weights = self.edges[attract], self.weights[attract]
            if self._anchor_weight is not None:
                edges = np.concatenate([edges, self._pulls()])
                weights = np.append(weights, np.full(len(self.anchors), self._anchor_weight))
            placement = place_quadratic(edges, weights, self._n_all, self._fixed, self.values)
            self._placement = placement
        return self._placement

    def _solve_exactly(self) -> AnchoredSolution:
        """The exact solution, if the quadratic penalty is the only function."""
        begin = time.perf_counter()
        placement = self.quadratic_solution()
        value, gradient = self._evaluate(placement.X)
        last = {
            "value": value,
            "residual_norm": self._residual_norm(gradient),
            "step_size": 0.0,
            "seconds": time.perf_counter() - begin,
        }
        history = {name: np.array([number]) for name, number in last.items()}
        found = placement.X, value, gradient, placement.n_iter, history
        return self._solution(*found, True, _EXACT)

    @property
    def _is_quadratic(self) -> bool:
        """Whether the quadratic penalty is the only function."""
        if len(self.edges) == 0:
            return True
        if isinstance(self.functions, Loss) or self._rows is not None:
            return False
        if self._repulsion is not None:
            return False
        attract, repel = self.functions
        return type(attract) is Quadratic and (repel is None or not (self.weights < 0).any())

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.functions, tuple) and (
            type(self.functions[0]) is Linear and self.functions[1] is None
        )

    def solve(
        self,
        start: np.ndarray | Callable[[], np.ndarray],
        dtype: Any,
        *,
        callbacks: Sequence[Callback] = (),
        verbose: int = 0,
        checkpoint: Checkpoint | None = None,
        **settings: Any,
    ) -> AnchoredSolution:
        """Solve exactly if the problem is quadratic, otherwise by projected L-BFGS.

        Parameters
        ----------
        start : ndarray of shape (n_items, m), float64, or callable
            Starting point. Rows of fixed anchors are ignored. A callable is called only for
            L-BFGS.
        dtype : dtype
            The solver uses float64 anyway if float32 is not precise enough.
        callbacks : sequence of callable
            They receive iterates in the units of the anchors' values.
        verbose : int
            1 shows a progress bar.
        checkpoint : Checkpoint, optional
            Keeps the states of the solves.
        **settings : dict
            Settings of :class:`~skmde.core.solvers.lbfgs.LBFGS`.
        """
        if self._is_quadratic:
            return self._solve_exactly()
        X = start() if callable(start) else start
        variables = self._variables()
        if self.deviations is not None:
            check_above_zero(float(self.deviations.max()) / variables.frame.unit)
        groups = self._groups = self._tight_groups(variables.frame.unit)
        if groups is not None:
            settings["groups"] = groups
        if not (variables.is_moderate and resolves_units(groups.shortest if groups else 1.0)):
            dtype = np.float64
        if self._is_linear:
            smooth = LBFGS(**{**settings, "snapshot_every": None})
            for threshold in (float(part * variables.size) for part in _HUBER_THRESHOLDS):
                # Beyond the threshold, the Huber penalty is about 2 * threshold times the linear
                # penalty. The pulls are scaled by the same factor.
                smoothed = Huber(threshold), None
                pull = 2 * threshold
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # only a start
                    X, *_ = self._run(
                        variables, smoothed, X, dtype, smooth, pull, checkpoint=checkpoint
                    )
        X, result, history, snapshots = self._run(
            variables,
            self.functions,
            X,
            dtype,
            LBFGS(**settings),
            callbacks=callbacks,
            verbose=verbose,
            checkpoint=checkpoint,
        )
        value, gradient = self._evaluate(X)
        found = X, value, gradient, result.n_iter, history
        return self._solution(*found, result.converged, result.reason, snapshots)

    def _run(
        self,
        variables: _Variables,
        functions: Functions,
        start: np.ndarray,
        dtype: Any,
        solver: LBFGS,
        pull: float = 1.0,
        callbacks: Sequence[Callback] = (),
        verbose: int = 0,
        checkpoint: Checkpoint | None = None,
    ) -> tuple[np.ndarray, SolveResult, dict[str, np.ndarray], list[tuple[int, np.ndarray]]]:
        """Coordinates of all items, result, history and snapshots of one L-BFGS solve."""
        frame, factor = variables.frame, variables.factor
        inside = np.empty((self._n_all, start.shape[1]))
        inside[: len(start)] = frame.inside(start)
        inside[self._fixed] = variables.values
        pull *= frame.unit**2 / factor
        stiffness = variables.stiffness
        if solver.groups is not None:  # the items of a tight group have one length
            column = torch.from_numpy(stiffness[:, None]).to(self._device)
            stiffness = solver.groups.together(column).cpu().numpy()[:, 0]
        lengths = variables.length / np.sqrt(1 + pull * stiffness)

        def tensor(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array.astype(dtype)).to(self._device)

        X = tensor(inside)
        if solver.groups is not None and solver.max_iter:
            X = solver.groups.contracted(X)
        average = self._objective(functions, X.dtype, frame.unit, pull)
        objective = Rescaled(average, tensor(variables.offset), tensor(lengths[:, None]))
        Z = objective.from_original(X)
        if np.isinf(float(objective.value_and_gradient(Z)[0])):
            raise ValueError(
                "The average distortion is infinite at the starting point: a barrier penalty is "
                "infinite if two items are too close. Use a penalty that is finite there, or pass "
                "`fit` an array as init in which no two items are close."
            )
        if self._attracts_only:
            quadratic = frame.inside(self.quadratic_solution().X[: self.n_items])
            X[: self.n_items] = torch.from_numpy(quadratic)
            assert isinstance(functions, tuple)
            objective.unit = unit_of_attraction(average, X, functions[0])
        values = objective.unit * factor
        norms = values / (frame.unit * variables.length)
        if not self._attracts_only:
            solver = replace(solver, scale=self._scale(average))

        def outside(Z: torch.Tensor) -> np.ndarray:
            X: np.ndarray = frame.outside(objective.to_original(Z).cpu().double().numpy())
            if self._rows is not None:
                X = project_rows(self._rows, X)
            X[self._fixed] = self.values
            return X

        def seen(Z: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(outside(Z)[: self.n_items])

        anchored = Anchored(self._fixed, Z[self._fixed])
        if self._rows is not None:

            def variables_of(X: torch.Tensor) -> torch.Tensor:
                inside = torch.from_numpy(frame.inside(X.cpu().numpy()))
                return objective.from_original(inside.to(self._device))

            def coordinates(Z: torch.Tensor) -> torch.Tensor:
                X = objective.to_original(Z.double()).cpu().numpy()
                return torch.from_numpy(frame.outside(X)).to(self._device)

            more = self._rows, coordinates, variables_of
            anchored = AnchoredRows(anchored.anchors, anchored.values, *more)
            Z = anchored.project(Z)
        result = solve(
            solver,
            objective,
            anchored,
            Z,
            callbacks=callbacks_in_units(callbacks, seen, values, norms),
            verbose=verbose,
            checkpoint=checkpoint,
            facts=None if checkpoint is None else self._facts(functions),
        )
        history = result.history.as_arrays()
        history["value"] *= values
        history["residual_norm"] *= norms
        snapshots = [
            (number, seen(torch.from_numpy(Z).to(self._device)).numpy())
            for number, Z in result.history.snapshots
        ]
        return outside(result.X), result, history, snapshots

    def _facts(self, functions: Functions) -> Facts:
        """What tells this problem from others in a checkpoint."""
        own = {
            "n_items": self.n_items,
            "device": self._device,
            "edges": self.edges,
            "weights": self.weights,
            "deviations": self.deviations,
            "distortion": functions,
            "anchors": self.anchors,
            "values of the anchors": self.values,
            "anchor_weight": self._anchor_weight,
            "repulsion": self._repulsion,
            "repulsive_weight": self._repulsive_weight,
            "item_weights": self._item_weights,
            "constraint": self._rows,
        }
        return {name: described(value) for name, value in own.items()}

    def _scale(self, average: Total) -> Scale:
        """Unit of the average distortion; pulls do not count."""
        term = average.terms[0]
        assert isinstance(term, EdgeTerm) and isinstance(term.edges, EdgeList)
        pairs = term.edges
        if self._anchor_weight is not None:
            pairs = replace(pairs, segments=pairs.segments[:-1])
        tight = np.inf if self._groups is None else self._groups.tight
        return typical_scale(pairs, Centered(), self.values.shape[1], tight)

    def _variables(self) -> _Variables:
        unit, factor = self._unit()
        frame = Frame(self.center, unit)
        values = frame.inside(self.values)
        offset = np.zeros((self._n_all, values.shape[1]))
        if self._anchor_weight is not None:
            offset[self.anchors] = values
        size = float(np.abs(values).max())
        length = root_mean_square(np.abs(values).ravel()) if self._attracts_only else 1.0
        stiffness = self._stiffness()
        stiffest = stiffness.max() * unit**2 / factor
        moderate = is_moderate(size) and stiffest < _STIFF and resolves(self.deviations)
        moderate = moderate and has_moderate_weights(self.weights)
        length = length or 1.0
        return _Variables(frame, factor, values, offset, stiffness, size, length, bool(moderate))

    def _solution(
        self,
        X: np.ndarray,
        value: float,
        gradient: np.ndarray,
        n_iter: int,
        history: dict[str, np.ndarray],
        converged: bool,
        reason: str,
        snapshots: Sequence[tuple[int, np.ndarray]] = (),
    ) -> AnchoredSolution:
        """The solution for the items, without the targets of pulls."""
        own = gradient[: self.n_items].copy()
        if self._anchor_weight is not None:
            own[self.anchors] += gradient[self._fixed]  # cancels the gradient of the pull
        norm = self._residual_norm(gradient)
        numbers = value, own, norm, n_iter, history, converged, reason, snapshots
        return AnchoredSolution(X[: self.n_items], *numbers)

    @property
    def _attracts_only(self) -> bool:
        """Whether the functions are penalties, and no pair repels."""
        if self._repulsion is not None:
            return False
        return isinstance(self.functions, tuple) and not (self.weights < 0).any()

    def _stiffness(self) -> np.ndarray:
        """Weight of the pull on each item, relative to the weights of its pairs, or 0."""
        found = np.zeros(self._n_all)
        if self._anchor_weight is not None:
            ends, weights = self.edges.ravel(), np.repeat(np.abs(self.weights), 2)
            degrees = np.bincount(ends, weights, minlength=self._n_all)[self.anchors]
            typical = degrees.mean() or 1.0
            found[self.anchors] = self._anchor_weight / np.where(degrees > 0, degrees, typical)
        return found

    def _unit(self) -> tuple[float, float]:
        """The objective's unit of length, and the factor from its values to the original ones."""
        if isinstance(self.functions, Loss):
            function, lengths = self.functions, self.deviations
        elif self._attracts_only:
            function, lengths = self.functions[0], np.abs(self.values - self.center).ravel()
        else:
            return 1.0, 1.0
        degree, size = function.degree, root_mean_square(lengths)
        if degree is None or function.kernel_parameters() is None or not size > 0:
            return 1.0, 1.0
        return size, Unit(size).power(degree)

    def _pulls(self) -> np.ndarray:
        """The pairs of soft anchors and their targets."""
        return np.stack([self.anchors, self._fixed], axis=1)

    def _pairs(self, functions: Functions, dtype: torch.dtype, unit: float) -> EdgeList:
        """The pairs in a unit of length, without pulls."""
        return EdgeList.build(
            self.edges,
            self._n_all,
            functions,
            weights=self.weights,
            deviations=None if self.deviations is None else self.deviations / unit,
            dtype=dtype,
            device=self._device,
        )

    def _tight_groups(self, unit: float) -> TightGroups | None:
        if self.deviations is None:
            return None
        pairs = self._pairs(self.functions, torch.float64, unit)
        return find_tight_groups(pairs, self._n_all, self._fixed)

    def _objective(
        self, functions: Functions, dtype: torch.dtype, unit: float = 1.0, pull: float = 1.0
    ) -> Total:
        """Average distortion of all pairs, in a unit of length, with pulls multiplied by `pull`."""
        edges = self._pairs(functions, dtype, unit)
        if self._anchor_weight is not None:
            zeros = None if self.deviations is None else np.zeros(len(self.anchors))
            pulls = EdgeList.build(
                self._pulls(),
                self._n_all,
                Quadratic() if self.deviations is None else SquaredLoss(),
                weights=np.full(len(self.anchors), pull * self._anchor_weight),
                deviations=zeros,
                dtype=dtype,
                device=self._device,
            )
            edges = edges.joined(pulls)
        m, backend = self.values.shape[1], choose_backend(self._device, count_threads(self._n_jobs))
        terms: list[Term] = [EdgeTerm(edges, self._n_all, m, dtype=dtype, backend=backend)]
        if self._repulsion is not None:
            terms.append(self._repulsive_term(functions, edges, dtype, backend))
        return Total(terms, backend)

    def _repulsive_term(
        self, functions: Functions, edges: EdgeList, dtype: torch.dtype, backend: Backend
    ) -> RepulsiveTerm:
        """Repulsion of all pairs of items; targets of pulls do not repel."""
        assert isinstance(functions, tuple) and functions[1] is not None
        assert self._repulsion is not None
        weights = np.zeros(self._n_all)
        weights[: self.n_items] = 1.0 if self._item_weights is None else self._item_weights
        alike = bool((weights == 1).all())
        tensor = None if alike else torch.from_numpy(weights).to(self._device)
        repulsion = AllPairsRepulsion(self._repulsion, functions[1], self._repulsive_weight, tensor)
        mean_weight = float(self.weights[self.weights > 0].sum()) / len(edges)
        shape = self._n_all, self.values.shape[1], len(edges), mean_weight
        return repulsion.term(*shape, dtype=dtype, backend=backend)

    def effective_repulsive_weight(self, X: np.ndarray) -> float:
        """Weight of the repulsion of all pairs that has the same gradient at an embedding."""
        if self._repulsion == "all":
            return self._repulsive_weight
        objective = self._objective(self.functions, torch.float64)
        term = objective.terms[1]
        assert isinstance(term, RepulsiveTerm)
        everything = np.zeros((self._n_all, X.shape[1]))
        everything[: self.n_items] = X - self.center
        energy, _ = term.energy(torch.from_numpy(everything).to(self._device))
        return float(term.slope(energy)) * len(self.edges)

    def _evaluate(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Average distortion and its gradient at X, in float64; zeros if there are no pairs."""
        if len(self.edges) == 0:
            return 0.0, np.zeros_like(X)
        # In the frame, differences lose no precision, and the floors of functions are far below.
        unit, factor = self._unit()
        objective = self._objective(self.functions, torch.float64, unit, unit**2 / factor)
        inside = torch.from_numpy(Frame(self.center, unit).inside(X)).to(self._device)
        value, gradient = objective.value_and_gradient(inside)
        return factor * float(value), factor / unit * gradient.cpu().numpy()

    def _residual_norm(self, gradient: np.ndarray) -> float:
        """Frobenius norm of the rows of free items, with respect to the solver's variables."""
        free = gradient.copy()
        free[self._fixed] = 0
        if self._groups is not None:
            tensor = torch.from_numpy(free).to(self._device)
            free = self._groups.outside(tensor).cpu().numpy()
        unit = Unit.largest(free)
        return float(unit.outside(np.linalg.norm(unit.inside(free))))
