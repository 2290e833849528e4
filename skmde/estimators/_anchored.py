"""Embeddings in which some samples have given coordinates."""

from __future__ import annotations

import os
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import torch

from skmde._utils.device import cpu_by_default, resolve_device
from skmde._utils.rows import count_rows, rows_of
from skmde._utils.sklearn_compat import Interval, StrOptions, check_is_fitted, fit_context
from skmde._utils.threads import count_threads
from skmde._utils.warn import warn
from skmde._utils.workers import by_workers
from skmde._views.facts import counted
from skmde.core.anchored_problem import AnchoredProblem
from skmde.estimators.base.atomic import stage
from skmde.estimators.base.input import as_output, output_dtype
from skmde.estimators.base.peer_arguments import suggest_peer_arguments
from skmde.estimators.base.snapshots import SnapshotsMixin
from skmde.estimators.base.typing import (
    Callbacks,
    Data,
    Device,
    LossLike,
    Metric,
    Parameters,
    Path,
    PenaltyLike,
    RandomState,
)
from skmde.estimators.judging.problem import Repulsion, SolvedProblem
from skmde.estimators.pairs.anchored import MAX_PAIRS, anchored_pairs, why_no_support
from skmde.estimators.pairs.neighbors import default_n_neighbors
from skmde.estimators.planning.costs import (
    all_pairs,
    distance_stages,
    expected_neighbors,
    neighbor_stages,
)
from skmde.estimators.representation.texts import distance_facts, penalty_facts
from skmde.estimators.samples.anchors import known_coordinates
from skmde.estimators.samples.reach import warn_if_out_of_reach
from skmde.estimators.starts.anchored import (
    anchored_start,
    given_anchored_start,
    without_coincident,
)
from skmde.estimators.unseen.extension import GrowingMixin
from skmde.estimators.unseen.support import SupportMixin
from skmde.functions.base import Loss, Penalty
from skmde.functions.registry import NAMED_LOSSES, PENALTIES, resolve_loss, resolve_penalty
from skmde.functions.repulsive import check_attractive, check_repulsive
from skmde.preprocessing.neighbors.search import ALGORITHMS


class AnchoredMDE(SupportMixin, GrowingMixin, SnapshotsMixin):
    r"""Minimum-distortion embedding in which some samples have given coordinates.

    Samples with given coordinates are the anchors; all others are free samples. The coordinates of
    the free samples minimise the average distortion

    .. math:: \frac{1}{p} \sum_{(i, j)} w_{ij}\, p_{ij}(\|x_i - x_j\|)

    over the pairs that contain a free sample. The pairs are pairs of neighbours, or the edges of a
    given graph. With the quadratic penalty every free sample is at the weighted mean of its
    neighbours. This is the quadratic placement problem, or the harmonic function of semi-supervised
    learning, and it is solved exactly. With a `loss` the embedding preserves original distances
    instead.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding. None uses the dimension of the given coordinates.
    attractive_penalty : str, Penalty or callable, default="quadratic"
        Penalty of attractive pairs; see :mod:`skmde.penalties`. With a convex, non-decreasing
        penalty, such as "linear", "huber" or "cubic", the problem has a unique minimum value,
        which the solver reaches from any starting point.
    repulsive_penalty : str, Penalty, callable or None, default=None
        Penalty of repulsive pairs. With None there are none.
    repulsion : {"sampled", "all", "normalized"}, default="sampled"
        Pairs that repel: a sample of all other pairs, or all pairs; see
        :class:`PreserveNeighbors`.
    repulsive_weight : float, default=1.0
        Weight of a pair that repels.
    repulsive_fraction : float, default=None
        For ``repulsion="sampled"``: number of repulsive pairs, as a multiple of the number of
        attractive ones. None means 1.
    loss : str, Loss or callable, default=None
        Loss of original distances, in place of penalties; see :mod:`skmde.losses`.
    anchor_weight : float, default=None
        None fixes the anchors at their given coordinates. A number makes the anchors soft: they can
        move, and each has an additional pair of this weight, under the quadratic penalty, with a
        point fixed at its given coordinates.
    n_neighbors : int, default=None
        Number of neighbours of each sample. None chooses the number that gives about 1% of all
        pairs, at least 5 and at most 15. With a precomputed sparse graph or neighbour tables, None
        uses all stored entries, unless they are the distances of all pairs; with `max_distance`,
        all samples within that distance. With a `loss`, the original distances are the lengths of
        shortest paths in the graph of this many neighbours; None uses the distances themselves. If
        there are more than 10 million such pairs, 10 million are sampled.
    metric : str or callable, default="euclidean"
        Any metric that scikit-learn or pynndescent names, or a function of two rows.
        "precomputed": X holds distances, in the forms that :class:`PreserveNeighbors` takes or,
        with a `loss`, in the forms that :class:`PreserveDistances` takes. "affinity": X is a graph
        whose entries are the pairs: a sparse or dense matrix (n_samples, n_samples) of weights of
        at least 0, or a networkx graph with weights. "graph", only with a `loss`: X is a graph of
        edge lengths, and the original distances are the lengths of shortest paths.
    metric_params : dict, default=None
        Additional parameters of the metric. For a networkx graph under "graph", "weight" is the
        name of the edge attribute that holds the lengths.
    max_distance : float, default=None
        Samples farther apart than this do not form a pair.
    neighbors_algorithm : {"auto", "exact", "faiss", "pynndescent", "torch"}, default="auto"
        Algorithm of the neighbour search; see :class:`PreserveNeighbors`.
    init : {"auto", "random"} or array, default="auto"
        Starting point of an iterative solve. "auto" is the quadratic solution or, with a `loss`,
        classical scaling aligned to the anchors. An array has shape (n_samples, n_components); it
        is rotated, reflected and shifted so that its rows for anchors are nearest to the anchors'
        coordinates. "random" places the free samples about the anchors, and may lead to a local
        minimum. The exact solution of a quadratic problem needs no starting point.
    max_iter : int, default=300
        Maximum number of iterations of an iterative solve.
    tol : float, default=1e-5
        Tolerance: the solver stops when the Frobenius norm of the gradient with respect to the free
        samples is at most `tol` times a unit. With attraction only, coordinates are measured in
        units in which the anchors have size 1 and the distortion of the quadratic solution is 1.
        Otherwise the unit is as in :class:`PreserveNeighbors` or, with a `loss`, as in
        :class:`PreserveDistances`.
    memory_size : int, default=10
        Number of past steps in the quasi-Newton approximation.
    random_state : int, RandomState instance or None, default=None
        Seeds the repulsive pairs, approximate neighbours and random starting points. With an
        integer, fits of the same data on one machine are identical to the last bit, for any
        number of threads.
    n_jobs : int, default=None
        Maximum number of threads. None means torch's number.
    device : None, str or torch.device, default=None
        Device of an iterative solve. None is the CPU; "auto" uses a GPU if there is one.
    memory_limit : float, str or None, default=None
        Memory that `fit` may need, beyond what is in use: bytes, or a text such as "4GB". None
        means what is free. `fit` raises an error before it begins if it needs more; `plan` says how
        much. The same holds for `extend`.
    callbacks : list of callable, default=None
        Functions called after every iteration of an iterative solve with a state that has the
        attributes `iteration`, `X`, `value` and `residual_norm`, in units of the coordinates. The
        solver stops if one of them returns True.
    snapshot_every : int, default=None
        Keep a copy of the embedding after every so many iterations, as for
        :func:`skmde.plotting.animate`; see ``snapshots_``. Each takes the memory of the embedding,
        and twice that during `fit`. None keeps none.
    verbose : int, default=0
        1 shows a progress bar, and the seconds of each stage, on stderr.
    checkpoint : str or path-like, default=None
        A file to which `fit` writes the state of the solver every few seconds. If it exists, `fit`
        resumes from it, and ends with the same bits as a fit that was not interrupted. The data and
        the parameters must be the same; but `max_iter` may be larger and `tol` smaller, and
        `callbacks`, `n_jobs` and `verbose` are free. See :ref:`interrupted`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The embedding, in the float dtype of X. Fixed anchors have exactly their given coordinates,
        converted to this dtype.
    anchors_ : ndarray of shape (n_anchors,)
        Indices of the anchors, in ascending order.
    forces_ : ndarray of shape (n_anchors, n_components)
        Forces that the pairs exert on the anchors: minus the gradient of the average distortion.
        They are the multipliers of the constraint. They sum to 0 where the gradient of the free
        samples vanishes; with a penalty that has a kink at distance 0 ("linear", "logistic") it may
        not vanish. With soft anchors, they are the forces that balance the additional pairs, and
        the average includes those pairs.
    edges_ : ndarray of shape (n_edges, 2)
        Pairs of the solved problem, the attractive ones first. Pairs of two anchors are left out.
    weights_ : ndarray of shape (n_edges,)
        Weights of the pairs; negative for repulsive pairs, 1 with a `loss`.
    distances_ : ndarray of shape (n_edges,) or None
        Original distances of the pairs with a `loss`, else None.
    n_loose_ : int
        Number of free samples that no chain of (attractive) pairs connects to an anchor. They are
        placed at the mean of the anchors, or around it with a `loss`, unless repulsion moves them.
    distortion_ : float
        Average distortion of the pairs; 0 if there are no pairs. If all pairs repel, it includes
        their repulsion. With soft anchors the average includes the additional pairs, so it is over
        ``n_edges + n_anchors`` pairs.
    residual_norm_ : float
        Frobenius norm of the gradient of the average distortion with respect to the free samples.
    n_iter_ : int
        Number of iterations of L-BFGS, or of conjugate gradients for an exact solution. It is at
        least 1, as scikit-learn requires. For "linear", iterations on a smoothed penalty that
        prepare the starting point are not counted.
    converged_ : bool
        Whether the norm of the gradient reached `tol`.
    stop_reason_ : str
        What stopped the solver, as a sentence: `tol`, `max_iter`, a callback, or that the
        distortion no longer decreases.
    history_ : dict of ndarray
        ``"value"``, ``"residual_norm"``, ``"step_size"`` and ``"seconds"`` of every iteration of
        L-BFGS. The first entry is the starting point. For an exact solution, the solution is the
        only entry.
    snapshots_ : ndarray of shape (n_snapshots, n_samples, n_components) or None
        The starting point, the embedding after every `snapshot_every` iterations and, last,
        ``embedding_``, in the same units. An exact solution is the only one.
        None without `snapshot_every`, and after `compact`.
    snapshot_iterations_ : ndarray of int of shape (n_snapshots,) or None
        Number of iterations before each snapshot.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has string names.

    See Also
    --------
    AnchoredClassifier : Class labels instead of coordinates.
    skmde.Anchored : The constraint, for other estimators and for :class:`skmde.MDE`.

    Notes
    -----
    Quadratic problems are solved in float64, all others in the float dtype of X, or in float64
    where float32 is not precise enough. With a `loss`, near duplicates are solved for as in
    :class:`PreserveDistances`.

    Penalties have lengths of their own, mostly 1, and the pull of some fades at larger distances:
    that of "log1p" as 1 / d, those of "sigmoid" and "cauchy" faster. If the anchors are dozens of
    such lengths apart, free samples may stay near the starting point. `fit` warns if more than a
    tenth of them are joined to anchors only by pairs over which the pull is less than a twentieth
    of the penalty's largest. Then divide the coordinates of the anchors, or use a penalty whose
    pull does not fade, such as "huber".

    References
    ----------
    A. Agrawal, A. Ali, S. Boyd, *Minimum-Distortion Embedding*, 2021: sections 2.4.2 (anchored
    embeddings) and 5.2.1 (forces), chapter 3 (quadratic placement).

    Examples
    --------
    The coordinates of four of five samples are given, with an offset of 10:

    >>> import numpy as np
    >>> from skmde import AnchoredMDE
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> y = np.array([10.0, 11.0, np.nan, 13.0, 14.0])
    >>> estimator = AnchoredMDE(n_neighbors=2).fit(X, y)
    >>> estimator.embedding_.ravel()
    array([10., 11., 12., 13., 14.])
    """

    _training_data_attribute = "_pairs"
    _square_metrics = ("precomputed", "affinity", "graph")

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "attractive_penalty": [StrOptions(set(PENALTIES)), Penalty, callable],
        "repulsive_penalty": [StrOptions(set(PENALTIES)), Penalty, callable, None],
        "repulsion": [StrOptions({"sampled", "all", "normalized"})],
        "repulsive_weight": [Interval(Real, 0, 1e30, closed="both")],
        "repulsive_fraction": [Interval(Real, 0, 1e30, closed="right"), None],
        "loss": [StrOptions(set(NAMED_LOSSES)), Loss, callable, None],
        "anchor_weight": [Interval(Real, 0, None, closed="neither"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "max_distance": [Interval(Real, 0, None, closed="neither"), None],
        "neighbors_algorithm": [StrOptions(set(ALGORITHMS))],
        "init": [StrOptions({"auto", "random"}), "array-like", torch.Tensor],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "memory_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "device": [str, torch.device, None],
        "memory_limit": [Real, str, None],
        "callbacks": ["array-like", None],
        "snapshot_every": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
        "checkpoint": [str, os.PathLike, None],
    }

    @suggest_peer_arguments
    def __init__(
        self,
        n_components: int | None = None,
        *,
        attractive_penalty: PenaltyLike = "quadratic",
        repulsive_penalty: PenaltyLike | None = None,
        repulsion: str = "sampled",
        repulsive_weight: float = 1.0,
        repulsive_fraction: float | None = None,
        loss: LossLike | None = None,
        anchor_weight: float | None = None,
        n_neighbors: int | None = None,
        metric: Metric = "euclidean",
        metric_params: Parameters | None = None,
        max_distance: float | None = None,
        neighbors_algorithm: str = "auto",
        init: Data = "auto",
        max_iter: int = 300,
        tol: float = 1e-5,
        memory_size: int = 10,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        device: Device = None,
        memory_limit: float | str | None = None,
        callbacks: Callbacks | None = None,
        snapshot_every: int | None = None,
        verbose: int = 0,
        checkpoint: Path | None = None,
    ) -> None:
        self.n_components = n_components
        self.attractive_penalty = attractive_penalty
        self.repulsive_penalty = repulsive_penalty
        self.repulsion = repulsion
        self.repulsive_weight = repulsive_weight
        self.repulsive_fraction = repulsive_fraction
        self.loss = loss
        self.anchor_weight = anchor_weight
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.metric_params = metric_params
        self.max_distance = max_distance
        self.neighbors_algorithm = neighbors_algorithm
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.memory_size = memory_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.memory_limit = memory_limit
        self.callbacks = callbacks
        self.snapshot_every = snapshot_every
        self.verbose = verbose
        self.checkpoint = checkpoint

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.target_tags.two_d_labels = True
        return tags

    @fit_context
    def fit(self, X: Data, y: Any = None, anchors: Any = None, anchor_values: Any = None) -> Self:
        """Embed the samples, given the coordinates of some of them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; or distances or a graph, depending on `metric`.
        y : array-like of shape (n_samples, n_components) or (n_samples,)
            Coordinates of each sample; a row of NaN marks a free sample. A one-dimensional array
            holds the coordinates of an embedding with one component.
        anchors : array-like of int of shape (n_anchors,), default=None
            Indices of the samples with given coordinates, as an alternative to `y`.
        anchor_values : array-like of shape (n_anchors, n_components), default=None
            Coordinates of the samples in `anchors`.

        Returns
        -------
        self : AnchoredMDE
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, the coordinates or a parameter are invalid, if `checkpoint` is of a fit of
            other data or parameters, or if the fit needs more memory than `memory_limit`
            allows; the message says what to change.
        TypeError
            If a penalty, `loss` or `metric` is a class in place of an instance, or if a
            function of your own does not take and return torch tensors.
        ImportError
            If ``neighbors_algorithm="faiss"`` and faiss is not installed.
        OSError
            If `checkpoint` cannot be written, or if another fit is writing it.
        MemoryError
            If the memory of a GPU is used up.

        Warns
        -----
        UserWarning
            If no chain of pairs connects some free samples to an anchor; if the pull of the
            attractive penalty fades before it reaches the anchors (see Notes); or if
            `n_neighbors` exceeds the number of other samples.
        ConvergenceWarning
            If the solver found no finite solution, or if it ended at `max_iter` while the
            average distortion still decreased noticeably.
        """
        with self._all_or_nothing(self.checkpoint) as fitted:
            fitted._fit(X, y, anchors, anchor_values)
        if self.n_loose_:
            warn(
                f"No chain of pairs connects {self.n_loose_} free samples, in "
                f"{self._n_loose_parts} connected components, to an anchor. Their position is "
                "undetermined, so they are placed at the mean of the anchors. Anchor one sample of "
                "each component, or raise n_neighbors.",
            )
        return self

    def fit_transform(self, X: Data, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Fit the embedding of X and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `fit`.
        y : array-like of shape (n_samples, n_components) or (n_samples,)
            As for `fit`.
        **fit_params : dict
            Passed to `fit`.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            The embedding of the rows of X, in the float dtype of X. After
            ``set_output(transform="pandas")``, a frame; its index are the nodes if X is a networkx
            graph, and that of X if X is a frame.

        Raises
        ------
        Exception
            As for `fit`.
        """
        return self._with_node_names(self.fit(X, y, **fit_params).embedding_, X)

    def _fit(self, X, y, anchors, anchor_values):
        random_state = self._random_state()
        rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
        device = resolve_device(self.device)
        n_threads = count_threads(self.n_jobs)
        self._check_parameters()
        X = self._checked_input(X)
        self._check_memory(X)
        self._compare_with_checkpoint(X)
        n = count_rows(X)
        name = f"This {type(self).__name__} estimator"
        anchors, values = known_coordinates(y, anchors, anchor_values, n, self.n_components, name)
        with stage("pairs"):
            source = self._pairs_of(X, random_state, rng, device)
            fixed = anchors if self.anchor_weight is None else np.empty(0, dtype=np.intp)
            pairs = self._without_held_out(source.pairs(random_state, rng), n, fixed)
            problem = AnchoredProblem(
                n,
                pairs.edges,
                source.functions,
                pairs.weights,
                pairs.distances,
                anchors=anchors,
                values=values,
                anchor_weight=self.anchor_weight,
                **source.repulsion(),
                device=device,
                n_jobs=self.n_jobs,
            )
        with stage("solve"):
            if not isinstance(self.init, str):  # an invalid array is an error in every case
                given_anchored_start(self.init, problem)
            draws = random_state, rng
            start = partial(
                anchored_start, self.init, source, pairs.labels, problem, *draws, n_threads
            )
            # None: an iterate cannot become a fitted estimator, because the state that places
            # unseen samples does not exist before the end.
            options = self._solver_options(self._fit_callbacks(X, None))
            solution = problem.solve(start, output_dtype(X), **options)
        self.embedding_ = as_output(solution.X, X)
        self.n_loose_, self._n_loose_parts = problem.count_loose()
        if self.loss is None:
            pairs_and_places = problem.edges, problem.weights, solution.X
            warn_if_out_of_reach(*pairs_and_places, problem.functions[0], anchors)
        self._pulls = None
        if self.anchor_weight is not None:
            self._pulls = anchors, values, float(self.anchor_weight)
        self._store_fit(source, problem, solution, random_state, rng)

    def _stages(self, size, n_fitted=0):
        rows = not self._is_precomputed()
        if self.loss is not None:
            most = all_pairs(size.n_samples) - all_pairs(n_fitted)
            n_pairs = most if size.n_stored is None else min(size.n_stored, most)
            n_pairs = min(n_pairs, MAX_PAIRS)
            return distance_stages(
                size, n_pairs, rows=rows, listed=True, anchored=True, joined=bool(n_fitted)
            )
        k = expected_neighbors(size, self.n_neighbors, default_n_neighbors, rows=rows)
        sampled = self.repulsive_penalty is not None and self.repulsion == "sampled"
        fraction = (self.repulsive_fraction or 1.0) if sampled else 0.0
        return neighbor_stages(size, k, self.n_components or 2, rows=rows, fraction=fraction)

    def _extend(self, X):
        random_state = self._random_state()
        rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
        device = resolve_device(self.device)
        self._check_parameters()
        old = self.embedding_
        with stage("pairs"):
            source = self._pairs.extended(X)
            pairs = source.pairs(random_state, rng)
            problem = AnchoredProblem(
                len(old) + count_rows(X),
                pairs.edges,
                source.functions,
                pairs.weights,
                pairs.distances,
                anchors=np.arange(len(old)),
                values=old.astype(np.float64),
                **source.repulsion(),
                device=device,
                n_jobs=self.n_jobs,
            )
        with stage("solve"):

            def start():
                return without_coincident(self._coordinates_with(X), problem, random_state)

            solution = problem.solve(start, old.dtype, **self._solver_options())
        self.embedding_ = self._joined(solution.X[len(old) :])
        self._pulls = None
        self._store_fit(source, problem, solution, random_state, rng)
        loose = problem.count_loose()
        self.n_loose_ += loose[0]
        return loose

    def _store_fit(self, source, problem, solution, random_state, rng):
        """Store the pairs, the solution, and the state that places unseen samples."""
        self.anchors_ = problem.anchors
        self.forces_ = -solution.gradient[problem.anchors]
        self.edges_, self.weights_ = problem.edges, problem.weights
        self.distances_ = problem.deviations
        self.distortion_, self.residual_norm_ = solution.value, solution.residual_norm
        self.n_iter_, self.history_ = max(1, solution.n_iter), solution.history
        self.converged_, self.stop_reason_ = solution.converged, solution.reason
        self._solved_repulsion = tuple(source.repulsion().values()) or None
        self._keep_snapshots(solution.snapshots)
        source.choose_items(problem, solution.X, random_state, rng)
        source.drop_training_state()
        self._pairs = source

    def _solved_problem(self):
        if self._is_compact():
            raise ValueError(
                f"compact() discarded the functions of this {type(self).__name__}'s pairs. Ask for "
                "the distortions before calling compact(), or fit it again."
            )
        repulsion = self._solved_repulsion
        return SolvedProblem(
            self.embedding_,
            self.edges_,
            self.weights_,
            self._pairs.functions,
            self.distances_,
            None if repulsion is None else Repulsion(*repulsion),
            self._pulls,
            count_threads(self.n_jobs),
        )

    def _solved_facts(self):
        functions = None if self._is_compact() else self._pairs.functions
        if self.distances_ is None:
            found = penalty_facts(self.weights_, functions, self._solved_repulsion)
        else:
            found = distance_facts(len(self.edges_), len(self.embedding_), functions)
        if self._pulls is None:
            found["constraint"] = f"anchored, {counted(len(self.anchors_), 'fixed item')}"
        else:
            anchors, _, weight = self._pulls
            found["constraint"] = (
                f"none, {counted(len(anchors), 'soft anchor')} of weight {weight:g}"
            )
        return found

    def _check_parameters(self):
        """Check combinations of parameters; scikit-learn checks one parameter at a time."""
        super()._check_parameters()
        if self.loss is not None and self.repulsive_penalty is not None:
            raise ValueError(
                f"loss={self.loss!r} preserves distances and cannot be combined with "
                f"repulsive_penalty={self.repulsive_penalty!r}. Set one of them to None."
            )
        if self._metric_is("graph") and self.loss is None:
            raise ValueError(
                "metric='graph' gives lengths of paths, which need a loss. For a graph of weights "
                "use metric='affinity', for a graph of distances metric='precomputed'."
            )
        if self._metric_is("affinity") and self.loss is not None:
            raise ValueError(
                f"metric='affinity' gives weights, but loss={self.loss!r} needs distances; use "
                "metric='precomputed' or 'graph'."
            )
        given = {"n_neighbors": self.n_neighbors, "max_distance": self.max_distance}
        for name, number in given.items():
            if number is not None and (
                self._metric_is("affinity") or (name == "n_neighbors" and self._metric_is("graph"))
            ):
                raise ValueError(
                    f"metric={self.metric!r} uses X as the graph, so {name}={number} has no "
                    "effect; set it to None."
                )

    def _pairs_of(self, X, random_state, rng, device):
        """The source of pairs for the current parameters."""
        if self.loss is not None:
            functions = resolve_loss(self.loss)
        else:
            attract, repel = resolve_penalty(self.attractive_penalty), self.repulsive_penalty
            check_attractive(attract)
            functions = attract, None if repel is None else resolve_penalty(repel)
            if functions[1] is not None:
                check_repulsive(functions[1], self.repulsion)
        return anchored_pairs(
            X,
            functions,
            metric=self.metric,
            n_neighbors=self.n_neighbors,
            max_distance=self.max_distance,
            fraction=self.repulsive_fraction or 1.0,
            repulsion=self.repulsion,
            repulsive_weight=self.repulsive_weight,
            random_state=random_state,
            rng=rng,
            verbose=self.verbose,
            metric_params=self.metric_params,
            algorithm=self.neighbors_algorithm,
            n_jobs=self.n_jobs,
            device=device,
        )

    def transform(self, X: Data) -> np.ndarray:
        """Place unseen samples; the coordinates of the fitted samples do not change.

        The coordinates of a sample minimise its own average distortion to the fitted samples. Under
        the quadratic penalty this is the weighted mean of its neighbours. Unseen samples do not
        influence each other, so the result for a row does not depend on the rest of X. A sample
        that equals a fitted sample, or is at distance 0 from one, gets the coordinates of that
        sample. A sample without pairs gets the mean of all coordinates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples; for ``metric="precomputed"`` and ``"graph"``, their distances to the fitted
            samples, of shape (n_new, n_samples); for "affinity", the weights of their pairs with
            the fitted samples. For "graph", 0 in a dense matrix is no edge, as in `fit`.

        Returns
        -------
        embedding : ndarray of shape (n_new, n_components)
            Coordinates, in the float dtype of X.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X is invalid, if it does not match the training data, or if `compact` discarded
            them.

        References
        ----------
        Monograph, section 2.4.2 (incremental embedding).
        """
        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            return as_output(by_workers(self._coordinates, X), X)

    def _leave_one_out(self, X, items):
        """Where each of some samples would be placed, were it an unseen one."""
        n_threads, rows = count_threads(self.n_jobs), rows_of(X, items)
        return self._pairs.place_others(rows, items, self.embedding_, n_threads)

    def _is_neighbor_tables(self, X):
        return self.loss is None and super()._is_neighbor_tables(X)

    def _coordinates(self, X):
        """Coordinates of unseen samples, float64."""
        return self._pairs.place(X, self.embedding_, count_threads(self.n_jobs))

    def _why_no_support(self):
        return why_no_support(self.metric)

    def _support(self, X):
        return self._pairs.support(X)

    def _support_of_fitted(self):
        return self._pairs.support_of_fitted()
