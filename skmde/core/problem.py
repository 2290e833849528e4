"""The MDE problem: items, edges, distortion functions and a constraint.

Minimise E(X) = (1/p) sum_k f_k(d_k) over the embeddings X in a constraint set (monograph, sections
2.3 and 2.4). d_k is the embedding distance of edge k, and f_k its distortion function (chapter 4).
Distances, and original distances (*deviations*), are in the units of the embedding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from skmde._linalg.reductions import dot
from skmde._utils.device import cpu_by_default, memory_errors, resolve_device, solving_device
from skmde._utils.ranks.together import agreed_seed, check_result, together
from skmde._utils.renamed_arguments import suggest_renamed
from skmde._utils.validation import check_magnitude
from skmde._utils.warn import warn
from skmde._views.facts import as_html, counted
from skmde._views.thumbnail import thumbnail
from skmde.constraints import Constraint
from skmde.core.all_pairs_repulsion import AllPairsRepulsion
from skmde.core.batches.stored import StoredBatches
from skmde.core.checkpoints.checkpoint import Checkpoint, PathLike, opened
from skmde.core.checkpoints.problem_facts import problem_facts
from skmde.core.items import needed_on_device
from skmde.core.kernels.backend import Backend
from skmde.core.objectives.all_pairs import AllPairs, AllPairsTerm
from skmde.core.objectives.attraction_repulsion import AttractionRepulsion
from skmde.core.objectives.base import Term
from skmde.core.objectives.edge_term import Edges, EdgeTerm
from skmde.core.objectives.edges import Distortion, EdgeList, penalty_weights
from skmde.core.objectives.terms import (
    DistortionTerm,
    as_terms,
    common_dtype,
    distortion_of_all,
    joined_terms,
)
from skmde.core.objectives.total import Total
from skmde.core.problem_values import ProblemValues
from skmde.core.rounds import (
    check_solve_numbers,
    check_solver,
    generator_of_batches,
    sizes,
)
from skmde.core.scales.precision import (
    check_above_zero,
    resolves_units,
    suits_float32,
)
from skmde.core.scales.tight_groups import find_tight_groups
from skmde.core.scales.typical_scale import typical_scale
from skmde.core.solvers.base import Solver, solve
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import SolveResult, SolverState, Status, facts_of
from skmde.core.solvers.scale import Scale
from skmde.core.solvers.stochastic import Stochastic
from skmde.core.starts.starting_point import Starts, checked_projection
from skmde.exceptions import ConvergenceWarning
from skmde.functions.thresholds import Hinge

# Decrease of the norm of an embedding below which it may have collapsed to a point, and excess of a
# point's value, relative to that of the embedding, from which it has not.
_COLLAPSED, _AS_GOOD = 0.1, 1e-3


class MDE(ProblemValues):
    r"""A minimum-distortion embedding problem.

    Find vectors :math:`x_1, \ldots, x_n` of dimension m that minimise the average distortion
    :math:`\frac{1}{p} \sum_{(i, j)} f_{ij}(\|x_i - x_j\|)` over the p edges, subject to a
    constraint (monograph, section 2.3). The estimators are built on this class; use it directly
    for problems that they do not cover.

    Parameters
    ----------
    n_items : int
        Number of items, n.
    n_components : int
        Dimension of the embedding, m.
    edges : array-like of shape (p, 2), integers, None, or list of DistortionTerm
        Pairs of items. An item cannot be paired with itself. None means all pairs, in the order
        of ``skmde.preprocessing.all_edges``; this is several times faster than a list of them.
        A list of :class:`DistortionTerm` gives several lists of pairs a distortion function,
        weights and deviations each; the average is over the p pairs of all terms.
    distortion : str, Penalty, Loss, callable, or pair (attractive, repulsive)
        With `deviations`, a loss. Otherwise a penalty, or a pair of penalties: the first for edges
        with positive weight, the second for edges with negative weight. A callable takes and
        returns torch tensors, and may hold one parameter for each edge. Not given if `edges` are
        terms.
    constraint : None, {"centered", "standardized"} or Constraint, default=None
        None means centered.
    weights : array-like of shape (p,), default=None
        Weight of each edge, which multiplies its penalty or loss; 1 if None.
    deviations : array-like of shape (p,), default=None
        Original distance of each edge, at least 0. The embedding will have the same units.
    repulsion : {"all", "normalized"} or None, default=None
        Repulsion of all pairs of items under the second of two penalties, besides the edges.
        "all" adds :math:`-\frac{\rho}{p} \sum_{i < j} s_i s_j\, p(d_{ij})` with the weight
        :math:`\rho` = `repulsive_weight` and the items' factors s. "normalized" adds the logarithm
        of the sum, as in t-SNE: the weight adapts to the embedding, and `repulsive_weight` is
        one over t-SNE's exaggeration. With None, only edges repel. Of several terms, one has a
        pair of penalties.
    repulsive_weight : float, default=1.0
        Weight of the repulsion of all pairs.
    item_weights : array-like of shape (n_items,), default=None
        Factor of each item in the repulsion of all pairs; 1 if None.
    accuracy : {"fast", "precise"}, default="fast"
        Accuracy of the sums over all pairs of more than 1,000 items; see Notes.
    device : None, str or torch.device, default=None
        None is the CPU; "auto" takes a GPU if there is one.
    n_jobs : int, default=None
        Maximum number of threads for the compiled kernels; None means torch's number of threads.
        The result does not depend on it.

    Attributes
    ----------
    X : torch.Tensor of shape (n_items, n_components)
        The embedding; None before `embed` is called.
    value, residual_norm : float
        Average distortion, and Frobenius norm of the projected gradient, at `X`.
    result : SolveResult
        The result of the last solve: iterations, history, and what stopped it. ``result.converged``
        says whether it reached `tol`, ``result.reason`` is a sentence.

    Raises
    ------
    ValueError
        If the sizes, edges, weights, deviations, functions or device are invalid. The message names
        the invalid one.

    See Also
    --------
    mde : Embed latent vectors for a plot; replaces the function of the same name in scvi-tools.
    DistortionTerm : Pairs of items and their distortion, one of several terms of an MDE problem.
    StreamedMDE : A minimum-distortion embedding problem whose pairs do not fit in memory.
    PreserveNeighbors : Minimum-distortion embedding that keeps nearest neighbours together.

    Notes
    -----
    `differences`, `distances`, `distortions` and `average_distortion` can be differentiated once
    by torch, if they are given a tensor that requires a gradient. The gradient of a distance of 0
    is 0.

    The problem is solved in float64 if any of `weights`, `deviations` and the starting point
    is float64, or if float32 does not resolve the deviations: if the shortest one above 0 is less
    than 1e-4 of the longest, or if the losses of short ones are so steep that these pairs are held
    1000 times as stiffly as an item is by all others. The same holds if the longest deviation is
    not between 1e-6 and 1e6, or the largest weight not between 1e-12 and 1e12, since products of
    them leave the range of float32. Otherwise it is solved in float32, which takes half the time.
    Its precision is enough for plots, and for use as features in other methods.

    Items that are held so stiffly are solved for in variables of their own: their common position,
    and their offsets from it in a unit that makes these as stiff as the rest. Otherwise one pair
    of near duplicates would stall the solver. The same holds for a few items that penalties
    attract with huge weights, unless all pairs repel. Norms of gradients are with respect to these
    variables.

    Examples
    --------
    The corners of a square, from the original distances of five pairs:

    >>> import numpy as np
    >>> from skmde import MDE
    >>> edges = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [0, 2]])
    >>> deviations = np.array([1.0, 1.0, 1.0, 1.0, 2.0**0.5])
    >>> problem = MDE(4, 2, edges, "squared", deviations=deviations)
    >>> X = problem.embed(random_state=0)
    >>> bool(problem.average_distortion() < 1e-6)
    True
    >>> problem.distances().numpy().round(2)
    array([1.  , 1.  , 1.  , 1.  , 1.41])
    """

    @suggest_renamed({"embedding_dim": ["n_components"], "distortion_function": ["distortion"]})
    def __init__(
        self,
        n_items: int,
        n_components: int,
        edges: Any,
        distortion: Distortion | tuple[Distortion | None, Distortion | None] | None = None,
        constraint: str | Constraint | None = None,
        *,
        weights: Any = None,
        deviations: Any = None,
        repulsion: str | None = None,
        repulsive_weight: float = 1.0,
        item_weights: Any = None,
        accuracy: str = "fast",
        device: str | torch.device | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(n_items, n_components, constraint, device, n_jobs)
        terms = self._checked_terms(edges, distortion, weights, deviations)
        self._edges = self._built(terms)
        self._check_magnitudes()
        fixed = np.asarray(self.constraint.fixed_items)
        # Repulsion of all pairs does without groups.
        has_groups = repulsion is None
        self._groups = find_tight_groups(self._edges, self.n_items, fixed) if has_groups else None
        units = math.inf if self._groups is None else self._groups.shortest
        if not (
            resolves_units(units) and suits_float32(self._edges.weights, self._edges.deviations)
        ):
            self._edges = self._edges.to(dtype=torch.float64)
        self._repulsion = AllPairsRepulsion.checked(
            repulsion,
            distortion_of_all(terms, repulsion),
            repulsive_weight,
            item_weights,
            accuracy,
            self.n_items,
            self.device,
        )

    def __repr__(self) -> str:
        functions = ", ".join(repr(s.function) for s in self._edges.segments)
        return (
            f"MDE({self.n_items} items, {self.n_components} components, {len(self._edges)} edges, "
            f"{functions}, {self.constraint!r})"
        )

    def _repr_html_(self) -> str:
        found = {
            "items": f"{self.n_items:,} in {counted(self.n_components, 'dimension')}",
            "pairs": f"{len(self._edges):,}",
            "functions": ", ".join(repr(run.function) for run in self._edges.segments),
            "constraint": repr(self.constraint),
        }
        if self._repulsion is not None:
            repulsion = self._repulsion
            found["repulsion"] = f"{repulsion.kind}, {repulsion.penalty!r}, {repulsion.weight:.3g}"
        if self.result is None:
            return as_html(found | {"embedding": "none yet; call embed()"})
        return as_html(found | facts_of(self.result), thumbnail(self.result.X))

    def _checked_terms(
        self, edges: Any, distortion: Any, weights: Any, deviations: Any
    ) -> list[DistortionTerm]:
        terms = as_terms(edges)
        if terms is None:
            if distortion is None:
                raise ValueError(
                    "distortion is missing: pass the distortion function of the edges."
                )
            return [DistortionTerm(edges, distortion, weights, deviations)]
        given = {"distortion": distortion, "weights": weights, "deviations": deviations}
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise ValueError(
                f"edges are terms, which have their own distortion, weights and deviations; got "
                f"{' and '.join(extra)}, too. Pass the constraint by name: constraint=..."
            )
        return terms

    def _built(self, terms: list[DistortionTerm]) -> Edges:
        dtype = common_dtype(*(x for term in terms for x in (term.weights, term.deviations)))
        if self.constraint.has_own_distance:
            if any(term.deviations is None for term in terms):
                raise ValueError(
                    f"{self.constraint!r} has distances of its own, which are compared with "
                    "original distances: pass deviations, or a constraint without them."
                )
            dtype = torch.float64
        if len(terms) > 1:
            return joined_terms(terms, self.n_items, dtype=dtype, device=self.device)
        term = terms[0]
        build = AllPairs.build if term.edges is None else partial(EdgeList.build, term.edges)
        return build(
            self.n_items,
            term.distortion,
            weights=term.weights,
            deviations=term.deviations,
            dtype=dtype,
            device=self.device,
        )

    def _check_magnitudes(self) -> None:
        deviations = self._edges.deviations
        check_magnitude(self._edges.weights.cpu().numpy(), "weights")
        if deviations is not None:
            check_magnitude(deviations.cpu().numpy(), "deviations", small=False)
            check_above_zero(float(deviations.max()))

    def to(self, device: str | torch.device | None) -> MDE:
        """Move the problem, and the embedding if there is one, to a device.

        Parameters
        ----------
        device : None, str or torch.device
            None is the CPU; "auto" takes a GPU if there is one.

        Returns
        -------
        self : MDE
            The same problem.

        Raises
        ------
        ValueError
            If there is no such device on this machine.
        """
        self.device = solving_device(resolve_device(device))
        self._edges = self._edges.to(device=self.device)
        if self._groups is not None:
            self._groups = self._groups.to(self.device)
        if self._repulsion is not None:
            self._repulsion = self._repulsion.to(self.device)
        if self.X is not None:
            self.X = self.X.to(self.device)
        return self

    @suggest_renamed({"eps": ["tol"], "print_every": ["callbacks"]})
    def embed(
        self,
        X: Any = None,
        *,
        tol: float = 1e-5,
        max_iter: int = 300,
        memory_size: int = 10,
        random_state: Any = None,
        callbacks: Callable[[SolverState], Any] | Sequence[Callable[[SolverState], Any]] = (),
        snapshot_every: int | None = None,
        verbose: int = 0,
        checkpoint: PathLike | Checkpoint | None = None,
        solver: str = "lbfgs",
        batch_size: int | None = None,
        n_rounds: int | None = None,
    ) -> torch.Tensor:
        r"""Solve the problem by projected L-BFGS (monograph, section 6.1).

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            Starting point; the array is not modified. If some items are anchored, it is first
            rotated, reflected and shifted so that these items are nearest to their coordinates.
            Then it is projected onto the constraint set. If it is 10,000 times as large or small as
            the deviations, it is scaled to them, unless the constraint sets a unit. Under
            penalties, a start that is 100 times larger or smaller than 1 is scaled to 1 if that
            decreases the average distortion. None means a random starting point. If items are
            anchored and there are original distances, the problem is first solved without the
            anchors from this random point.
        tol : float, default=1e-5
            Stop when the Frobenius norm of the projected gradient is at most `tol` times a unit,
            which follows every common factor of the weights, of the functions and, for losses, of
            the deviations with the losses' own lengths. For penalties, the unit is the mean of
            :math:`|w\, p'(1)|`. For losses, it is the mean of
            :math:`|w\, l(\delta, 2 \delta)|`, divided by the root mean square of the deviations,
            a length L; penalties beside losses count as :math:`|w\, p'(L)|`.
            Deviations above 10 times the median count as that much, and so do items whose pairs
            have above 100 times the share of the median item: huge weights and far items leave no
            other pair unsolved. If the average distortion is less than 1% of the losses' mean, as
            in a good embedding, the last step must also have gained at most 0.1% of it.
        max_iter : int, default=300
            Maximum number of iterations; 0 returns the starting point.
        memory_size : int, default=10
            Number of past steps from which the quasi-Newton matrix is built.
        random_state : int, numpy Generator or None, default=None
            Seed of the random starting point.
        callbacks : callable or sequence of callable
            Each is called after every iteration with a state that has `iteration`, `X`, `value`
            and `residual_norm`. A callback that returns True stops the solve.
        snapshot_every : int, default=None
            Keep a copy of every `snapshot_every`-th iterate in ``result.history.snapshots``.
        verbose : int, default=0
            1 shows a progress bar.
        checkpoint : str or path-like, default=None
            A file to which the state of the solver is written every few seconds. If it exists, the
            solve goes on from there, and ends with the same bits as one that was not interrupted.
            `max_iter` may then be larger, and `tol` smaller; all else must be the same, but for
            `callbacks`, `verbose` and the number of threads. Without a seed, that of the file is
            used. Callbacks see the iterate of the file once more. The file stays at the end. For
            ``solver="stochastic"``, `n_rounds` may be larger, and `tol` must be the same.
        solver : {"lbfgs", "stochastic"}, default="lbfgs"
            "stochastic" divides the pairs into random batches and takes one batch after the other
            (monograph, section 6.2): see :doc:`/large`. Not for repulsion of all pairs. It ends
            after `n_rounds` rounds, of at most 5 iterations of L-BFGS (20 in the first round).
            An iteration in ``result``, for callbacks and for snapshots is then a round. The values
            in ``result.history`` are averages over the pairs of the next round; the last one is
            that over all pairs.
        batch_size : int, default=None
            Largest number of pairs in a batch; None means a tenth of all pairs.
        n_rounds : int, default=None
            Number of batches that are taken; None means 100.

        Returns
        -------
        X : torch.Tensor of shape (n_items, n_components)
            The embedding, on the problem's device.

        Raises
        ------
        ValueError
            If the starting point has the wrong shape or is not finite, if a parameter is invalid,
            or if the average distortion of the starting point is NaN. If `checkpoint` is a file of
            another problem or version, or no checkpoint.
        OSError
            If the checkpoint cannot be written, or if another solve is writing it.

        Warns
        -----
        ConvergenceWarning
            If the solver could not decrease the average distortion, if the items move apart without
            end or collapse to a point because nothing holds them apart, or if the starting point
            has no finite value or gradient. Also if the solve ended at `max_iter` while the
            average distortion still decreased, by more than 0.1% in the last tenth of the
            iterations; more iterations are then likely to gain more than 1%.
        """
        check_solve_numbers(tol, max_iter, memory_size, snapshot_every)
        is_stochastic = check_solver(solver, batch_size, n_rounds)
        callbacks = [callbacks] if callable(callbacks) else list(callbacks or ())
        repulsion = self._repulsion
        limits = {"max_iter": max_iter, "tol": tol}
        settings = {**limits, "memory_size": memory_size, "solver": solver}
        settings |= {"batch_size": batch_size, "n_rounds": n_rounds, "checkpoint": checkpoint}
        settings |= {"random_state": random_state, "the starting point X": X}
        with (
            together(lambda: self._held_by_ranks() | settings),
            cpu_by_default(),
            memory_errors(lambda: needed_on_device(self, len(self._edges), memory_size)),
            opened(checkpoint, **limits) as checkpoint,
        ):
            random_state = agreed_seed(random_state)
            kept = {} if checkpoint is None else self._kept_in(checkpoint)
            if random_state is None and checkpoint is not None:
                random_state = checkpoint.seed()
            lbfgs = LBFGS(
                tol,
                max_iter,
                memory_size,
                snapshot_every=snapshot_every,
                scale=self._scale(),
                groups=self._groups,
            )
            start = self._starting_point(X, random_state, lbfgs, kept)
            if self._groups is not None and max_iter:
                start = checked_projection(self.constraint, self._groups.contracted(start))
            chosen: Solver = lbfgs
            if is_stochastic:
                chosen = self._in_rounds(lbfgs, start.dtype, batch_size, n_rounds, random_state)
            elif repulsion is not None:
                chosen = self._with_warm_start(repulsion, lbfgs)
            result = solve(
                chosen,
                self._objective(start.dtype),
                self.constraint,
                start,
                callbacks=callbacks,
                verbose=verbose,
                **kept,
            )
            if max_iter:
                self._warn_if_collapsed(start, result)
                self._warn_if_all_repel(result)
            check_result(result.X)
        return self._keep(result)

    def _held_by_ranks(self) -> dict[str, Any]:
        """What all ranks of a group must hold."""
        edges = self._edges
        listed = (edges.i, edges.j, edges.order) if isinstance(edges, EdgeList) else ()
        return {
            "edges": listed,
            "weights": edges.weights if listed else edges.given_weights,  # type: ignore[union-attr]
            "deviations": edges.deviations,
            "distortion": [segment.function for segment in edges.segments],
            "n_items": self.n_items,
            "n_components": self.n_components,
            "constraint": self.constraint,
            "repulsion": self._repulsion,
            "device": self.device,
        }

    def _with_warm_start(self, repulsion: AllPairsRepulsion, lbfgs: LBFGS) -> Solver:
        """The solver for repulsion of all pairs; its longest steps suit penalties, not losses."""
        if self._edges.deviations is not None:
            return lbfgs
        return repulsion.solver(lbfgs, self.constraint)

    def _in_rounds(
        self,
        lbfgs: LBFGS,
        dtype: torch.dtype,
        batch_size: int | None,
        n_rounds: int | None,
        random_state: Any,
    ) -> Solver:
        """The stochastic solver, with batches of the stored pairs."""
        if self._repulsion is not None:
            raise ValueError(
                f"repulsion={self._repulsion.kind!r} is not compatible with solver='stochastic': "
                "the repulsion of all pairs is no list of pairs that could be divided into "
                "batches. Use solver='lbfgs', or repulsive pairs of negative weight."
            )
        size, count = sizes(len(self._edges), batch_size, n_rounds)
        generator = generator_of_batches(random_state)

        return Stochastic(
            lbfgs,
            StoredBatches(self._edges, size, generator),
            lambda edges: self._pair_term(edges, dtype, self._backend),
            count if lbfgs.max_iter else 0,
            generator=generator,
        )

    def _scale(self) -> Scale:
        tight = math.inf if self._groups is None else self._groups.tight
        return typical_scale(self._edges, self.constraint, self.n_components, tight)

    def _warn_if_collapsed(self, start: torch.Tensor, result: SolveResult) -> None:
        """Warn if too little holds the items apart, so that a single point is as good."""
        judged = self._edges.deviations is None and self.constraint.is_free and self.n_items > 1
        norms = [math.sqrt(float(dot(X, X))) for X in (result.X, start)]
        # A tiny start is that of an embedding that has collapsed before.
        if not (judged and norms[0] < _COLLAPSED * max(norms[1], math.sqrt(self.n_items))):
            return
        point, _ = self._objective(start.dtype).value_and_gradient(torch.zeros_like(start))
        if float(point) - result.value <= _AS_GOOD * abs(result.value):
            holds = "nothing holds" if self._repulsion is None else "the repulsion does not hold"
            warn(
                f"The embedding collapsed: its norm is {norms[0]:.3g}, that of the start was "
                f"{norms[1]:.3g}, and {holds} the items apart. Add repulsion (negative weights, "
                "repulsion='all', or a larger repulsive_weight), anchors, or "
                "constraint='standardized'.",
                ConvergenceWarning,
            )

    def _warn_if_all_repel(self, result: SolveResult) -> None:
        """Warn if nothing draws any pair together, so that the size of the result is arbitrary."""
        told = (Status.UNBOUNDED, Status.NOT_FINITE)  # which have a warning of their own
        if not self.constraint.is_free or self._repulsion is not None or result.status in told:
            return
        edges = self._edges
        if edges.deviations is not None or len(edges) == 0 or bool((edges.weights >= 0).any()):
            return
        for segment in edges.segments:
            # A hinge does not repel beyond its margin. What a user's function does is not known.
            function = segment.function
            if isinstance(function, Hinge) or function.kernel_parameters() is None:
                return
        warn(
            "All weights are negative, so all pairs repel, and nothing holds the items together: "
            "the size of the embedding is arbitrary. Give positive weights to pairs that attract, "
            "or use constraint='standardized'.",
            ConvergenceWarning,
        )

    def _objective(self, dtype: torch.dtype) -> Total:
        backend = self._backend
        pairs = self._pair_term(self._edges, dtype, backend)
        if self._repulsion is None:
            return Total([pairs], backend)
        shape = self.n_items, self.n_components
        weights = penalty_weights(self._edges)
        return self._repulsion.objective(pairs, weights, *shape, dtype=dtype, backend=backend)

    def _pair_term(self, edges: Edges, dtype: torch.dtype, backend: Backend) -> Term:
        edges = self._measured(edges.to(dtype=dtype))
        m = self.n_components
        if isinstance(edges, AllPairs):
            term = AllPairsTerm.build(edges, m, dtype=dtype, backend=backend)
            if term is not None:
                return term
        return EdgeTerm(edges, self.n_items, m, dtype=dtype, backend=backend)

    def effective_repulsive_weight(self) -> float:
        """Weight of the repulsion of all pairs that has the same gradient at the embedding.

        It is `repulsive_weight` for ``repulsion="all"``. For "normalized", it depends on the
        embedding.

        Returns
        -------
        weight : float
            Weight of a pair of items, in the units of the weights of edges.

        Raises
        ------
        ValueError
            If not all pairs repel, or if there is no embedding yet.
        """
        if self._repulsion is None:
            raise ValueError("repulsion is None: there is no repulsion of all pairs.")
        embedding = self._embedding(None)
        objective = self._objective(embedding.dtype)
        assert isinstance(objective, AttractionRepulsion)
        energy, _ = objective.repulsion.energy(embedding)
        return float(objective.repulsion.slope(energy)) * len(self._edges)

    def _kept_in(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """The checkpoint, and what tells this problem from others in it, for `solve`."""
        facts = problem_facts(self.n_items, self._edges, self.constraint, self._repulsion)
        return {"checkpoint": checkpoint, "facts": facts}

    def _starting_point(
        self, X: Any, random_state: Any, solver: LBFGS, kept: dict[str, Any]
    ) -> torch.Tensor:
        starts = Starts(
            self._edges,
            self.constraint,
            (self.n_items, self.n_components),
            self.device,
            self._objective,
            kept,
        )
        if X is None:
            return starts.random(random_state, solver)
        return starts.given(self._embedding(X, "the starting point X").detach(), solver)
