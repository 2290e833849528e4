"""Embeddings that preserve original distances."""

from __future__ import annotations

import copy
import os
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import torch

from skmde._linalg.frame import Frame
from skmde._utils.device import resolve_device
from skmde._utils.sklearn_compat import (
    Interval,
    RenamedOptions,
    StrOptions,
    check_is_fitted,
    fit_context,
)
from skmde._utils.threads import count_threads
from skmde._utils.validation import as_host_array
from skmde.constraints import Constraint, resolve_constraint
from skmde.core.anchored_problem import AnchoredProblem
from skmde.estimators.base.atomic import stage
from skmde.estimators.base.input import as_output, output_dtype
from skmde.estimators.base.peer_arguments import suggest_peer_arguments
from skmde.estimators.base.snapshots import SnapshotsMixin
from skmde.estimators.base.solver_choice import SOLVER_CONSTRAINTS, SolverChoiceMixin
from skmde.estimators.base.typing import (
    Callbacks,
    Data,
    Device,
    LossLike,
    Metric,
    Parameters,
    Path,
    RandomState,
)
from skmde.estimators.judging.problem import SolvedProblem
from skmde.estimators.mds.metric import MetricProblem
from skmde.estimators.mds.monotone import KINDS, MonotoneProblem, warn_if_similarities
from skmde.estimators.mds.restarts import best_of_starts
from skmde.estimators.mds.unseen import UnseenByDistancesMixin
from skmde.estimators.pairs.distances import distance_source
from skmde.estimators.pairs.pair_weights import selected_pairs
from skmde.estimators.pairs.stress import stress_of_pairs
from skmde.estimators.planning.costs import all_pairs, distance_stages, pairs_within
from skmde.estimators.planning.plan import peak
from skmde.estimators.planning.sizes import Size
from skmde.estimators.representation.texts import distance_facts
from skmde.estimators.samples.anchors import pairs_of_free_items
from skmde.estimators.starts.anchored import without_coincident
from skmde.estimators.starts.distances import (
    named_start,
    scaled_to_distances_if_wild,
    warn_if_too_long,
)
from skmde.estimators.starts.neighbors import check_not_wild, checked_start
from skmde.estimators.unseen.extension import GrowingMixin
from skmde.estimators.unseen.row_constraint import RowConstraintMixin
from skmde.functions.adapters import LossOfDistance
from skmde.functions.base import Loss
from skmde.functions.registry import NAMED_LOSSES, resolve_loss
from skmde.preprocessing.neighbors.search import ALGORITHMS
from skmde.preprocessing.pairs.sampling import all_edges

_FEWEST_PAIRS = 20  # of a sample, on average, to which a limit of memory may lower `max_pairs`
_MAX_LANDMARKS = 1000  # largest number of training samples that place an unseen one


class PreserveDistances(
    UnseenByDistancesMixin, RowConstraintMixin, SolverChoiceMixin, GrowingMixin, SnapshotsMixin
):
    r"""Minimum-distortion embedding that preserves original distances.

    Each pair of samples has an original distance :math:`\delta_{ij}`: its distance under a metric,
    a precomputed distance, or the length of the shortest path in a graph. If there are more than
    `max_pairs` pairs, a random subset is used. The embedding minimises the average loss

    .. math:: \frac{1}{p} \sum_{(i, j)} w_{ij}\, \ell(\delta_{ij}, \|x_i - x_j\|).

    Metric multidimensional scaling (squared loss), Sammon's mapping ("sammon"), the graph layout of
    Kamada and Kawai ("kamada_kawai") and, with `n_neighbors`, embeddings of Isomap's distances are
    special cases.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    loss : str, Loss or callable, default=None
        Loss of a pair: a name, an object such as ``HuberLoss(0.5)``, or a function that takes two
        torch tensors, the original and the embedding distances. See :mod:`skmde.losses`. None means
        "absolute", and "squared" with `monotone`, which admits no other.
    monotone : bool or {"ordinal", "interval", "ratio"}, default=False
        Which function of the original distances the embedding keeps. False: the distances
        themselves. True or "ordinal": any function that does not decrease, so that their order
        alone counts (non-metric MDS). "interval": a + b times the distance, at least 0, with
        b >= 0. "ratio": b times the distance. The function is chosen along with the embedding, such
        that the normalised stress is least; its values are ``disparities_``.
    ties : {"primary", "secondary"}, default="primary"
        Under "ordinal", whether pairs of equal original distance may have different disparities
        ("primary") or not ("secondary").
    metric : str or callable, default="euclidean"
        Any metric that scikit-learn or pynndescent names, or a function of two rows.
        "precomputed": X is a matrix of distances (n_samples, n_samples). In a sparse matrix every
        stored entry is a pair, zeros included. In a dense matrix, infinity leaves a pair out.
        "graph": X is a sparse matrix (n_samples, n_samples) of edge lengths, or a networkx graph,
        whose edge attribute "weight" is the length (1 if missing). The original distances are the
        lengths of shortest paths.
    metric_params : dict, default=None
        Additional parameters of the metric. For a networkx graph under "graph", "weight" is the
        name of the edge attribute that holds the lengths.
    n_neighbors : int, default=None
        If given, the original distances are the lengths of shortest paths in the graph of this many
        nearest neighbours, as in Isomap.
    max_path_length : float, default=None
        Pairs with a longer shortest path are left out. Only for `n_neighbors` or "graph".
    max_pairs : int, default=50_000_000
        If there are more pairs, `max_pairs` pairs are sampled uniformly without replacement.
    neighbors_algorithm : {"auto", "exact", "faiss", "pynndescent", "torch"}, default="auto"
        Algorithm of the neighbour search; see :class:`PreserveNeighbors`.
    constraint : {"centered", "standardized"}, Constraint or None, default=None
        None means "centered". Under "standardized" the original distances are scaled to the size
        of a standardized embedding; see ``scale_``. ``Anchored(anchors, values)`` gives the
        coordinates of some samples. :class:`AnchoredMDE` with the same `loss` solves this problem,
        too, and is the better choice: it reports the forces on the anchors, can let them give way,
        and can take neighbours only. Use the constraint for what only this class has:
        `pair_weights`, or shortest paths through neighbours.
    init : {"classical", "pca", "random"} or array, default="classical"
        Starting point. "classical" is classical scaling from landmarks; for Euclidean distances
        between rows of X it is computed as principal components, which are equivalent. "pca":
        principal components of X. "random": normally distributed coordinates. An array has shape
        (n_samples, n_components) and the units of the distances. If the constraint gives the
        coordinates of some samples, every starting point is rotated, reflected and shifted so that
        these samples are nearest to their coordinates. If the order of distances alone counts,
        "classical" is computed from it.
    n_init : int, default=1
        Number of starts; the one that ends at the least value is kept. The first one is `init`. The
        others are random: each is solved in one or two dimensions more, where there are fewer local
        minima, and projected. For few items under "ordinal" or the squared loss, a search then
        disturbs the solution up to 100 times and keeps the best that this leads to. Under "ordinal"
        it does so with the first start, too, in what counts as one iteration; but not if `init` is
        an array, which says where to solve. Without callbacks and progress bars, `n_jobs` joblib
        workers share the starts. The result does not depend on their number.
    solver : {"auto", "lbfgs", "stochastic"}, default="auto"
        "lbfgs" takes all pairs in each iteration. "stochastic" takes batches of them in turn; see
        :doc:`/large`. Its iterations are rounds, of which there are `n_rounds` whatever `max_iter`
        is. "auto" is "lbfgs" for up to 200 million pairs. Not for `monotone`.
    batch_size : int, default=None
        Largest number of pairs in a batch of the stochastic solver; None means a tenth of all.
    n_rounds : int, default=None
        Number of rounds of the stochastic solver; None means 100.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-5
        Tolerance: the solver stops when the Frobenius norm of the projected gradient is at most
        `tol` times a unit: the mean of :math:`w\, l(\delta, 2 \delta)` over the pairs, divided
        by the root mean square of the distances :math:`\delta`. So a common factor of the
        weights, of the loss, or of the distances and the loss's own lengths changes nothing.
        Distances far above the median, and samples with far more weight, count as usual ones.
        If the distortion is less than 1% of that mean, as in a good embedding, the last step must
        also have gained at most 0.1% of it.
        For groups of near duplicates, see Notes.
    memory_size : int, default=10
        Number of past steps in the quasi-Newton approximation.
    random_state : int, RandomState instance or None, default=None
        Seeds the sampled pairs, landmarks and random starting points. With an integer, fits of
        the same data on one machine are identical to the last bit, for any number of threads.
    n_jobs : int, default=None
        Maximum number of threads. None means torch's number. For shortest paths by Dijkstra's
        algorithm, and for several starts, it is the number of joblib workers.
    device : None, str or torch.device, default=None
        Device of the solver. None is the CPU; "auto" uses a GPU if there is one. With `monotone`,
        the CPU solves the problem in any case.
    memory_limit : float, str or None, default=None
        Memory that `fit` may need, beyond what is in use: bytes, or a text such as "4GB". None
        means what is free. If a given limit leaves no room for `max_pairs`, fewer pairs are
        sampled. `fit` raises an error before it begins if it needs more; `plan` says how much. The
        same holds for `extend`.
    callbacks : list of callable, default=None
        Functions called after every iteration with a state that has the attributes `iteration`,
        `X`, `value` and `residual_norm`, in units of the embedding. The solver stops if one of them
        returns True.
    snapshot_every : int, default=None
        Keep a copy of the embedding after every so many iterations, as for
        :func:`skmde.plotting.animate`; see ``snapshots_``. Each takes the memory of the embedding,
        and twice that during `fit`. None keeps none.
    verbose : int, default=0
        1 shows progress bars, and the seconds of each stage, on stderr.
    checkpoint : str or path-like, default=None
        A file to which `fit` writes the state of the solver every few seconds. If it exists, `fit`
        resumes from it, and ends with the same bits as a fit that was not interrupted. The data and
        the parameters must be the same; but `max_iter` may be larger and `tol` smaller, and
        `callbacks`, `n_jobs` and `verbose` are free. See :ref:`interrupted`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The embedding, in the float dtype of X, in units of the distances times ``scale_``. Under
        "ordinal" and "interval", the root mean square of the pairs' distances is 1, unless the
        constraint determines the scale; under "ratio" the unit is that of the distances.
    stress_ : float
        Normalised stress, Kruskal's stress-1: :math:`\sqrt{\sum w (d - \delta)^2 / \sum w d^2}`,
        with original distances :math:`\delta` multiplied by ``scale_``. 0 is a perfect fit; the
        value does not depend on units. Without weights it is equal to the stress of
        ``sklearn.manifold.MDS(normalized_stress=True)``. With `monotone`, the disparities take the
        place of the distances, as in scikit-learn's non-metric MDS.
    disparities_ : ndarray of shape (n_pairs,) or None
        With `monotone`, the values of the fitted function of ``distances_``, in units of the
        embedding. Otherwise None.
    distortion_ : float
        Average distortion, that is, the mean loss; with `monotone`, of the disparities. Pairs of
        two anchored samples do not count here or in any other attribute, since no embedding can
        change them.
    distances_ : ndarray of shape (n_pairs,)
        Original distances of the pairs, in units of the metric or graph.
    edges_ : ndarray of shape (n_pairs, 2)
        Pairs of samples.
    pair_weights_ : ndarray of shape (n_pairs,) or None
        Weights of the pairs; None if none were given.
    scale_ : float
        Factor by which the original distances are multiplied. It is 1, except under "standardized",
        where it gives them the root mean square of the distances in a standardized embedding.
    n_unreachable_ : int
        Number of pairs left out because no path joins them or no distance was given.
    start_values_ : ndarray of shape (n_init,)
        What each start reached: the average distortion or, with `monotone`, the squared stress.
    residual_norm_ : float
        Frobenius norm of the projected gradient of that value.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the norm of the gradient reached `tol`.
    stop_reason_ : str
        What stopped the solver, as a sentence: `tol`, `max_iter`, a callback, or that the
        distortion no longer decreases.
    history_ : dict of ndarray
        ``"value"``, ``"residual_norm"``, ``"step_size"`` and ``"seconds"`` of every iteration of
        the start that was kept. The first entry is the starting point.
    snapshots_ : ndarray of shape (n_snapshots, n_samples, n_components) or None
        The starting point, the embedding after every `snapshot_every` iterations and, last,
        ``embedding_``, in the same units. None without `snapshot_every`, and after `compact`.
    snapshot_iterations_ : ndarray of int of shape (n_snapshots,) or None
        Number of iterations before each snapshot.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has string names.

    See Also
    --------
    PreserveNeighbors : Keeps neighbours rather than distances.
    complete_distances : Estimates missing distances before a fit.
    skmde.MDE : The problem itself, for user-defined pairs and functions.

    Notes
    -----
    The problem is solved in float32, whatever the dtype of X, unless float32 does not resolve it:
    if the shortest distance above 0 is less than 1e-4 of the longest, if the losses of short
    distances are very steep, or if the unit of a loss, of given coordinates or of weights needs it.
    It is then solved in float64, which takes about twice as long.

    With `monotone`, the disparities are the projection of the embedding distances onto a convex
    cone, so the squared stress is a differentiable function of the embedding alone. The same solver
    minimises it, in float64; nothing alternates. A new distance between two known ones has the mean
    of their disparities under "ordinal", and one beyond them that of the outermost.

    Under a loss of the relative error, such as "kamada_kawai" or "fractional", near duplicates are
    held together so stiffly that they would stall the solver. Each such group then moves as one
    item, and the offsets of its samples have a unit of their own. Norms of gradients are with
    respect to these variables.

    References
    ----------
    A. Agrawal, A. Ali, S. Boyd, *Minimum-Distortion Embedding*, 2021: sections 4.2 (functions
    involving original distances), 4.3.2 (graph distance), 6.1 (projected quasi-Newton algorithm)
    and 2.4.2 (incremental embedding).

    J. B. Kruskal, "Nonmetric multidimensional scaling: a numerical method", *Psychometrika* 29,
    1964.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmde import PreserveDistances
    >>> X, _ = load_digits(return_X_y=True)
    >>> estimator = PreserveDistances(loss="squared", random_state=0).fit(X[:500])
    >>> estimator.embedding_.shape
    (500, 2)
    >>> round(float(estimator.stress_), 2)
    0.34
    >>> estimator.transform(X[500:510]).shape
    (10, 2)
    """

    _training_data_attribute = "_distance_source"
    _square_metrics = ("precomputed", "graph")

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions(set(NAMED_LOSSES)), Loss, callable, None],
        "monotone": ["boolean", StrOptions(KINDS)],
        "ties": [StrOptions({"primary", "secondary"})],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "max_path_length": [Interval(Real, 0, None, closed="neither"), None],
        "max_pairs": [Interval(Real, 1, None, closed="both")],
        "neighbors_algorithm": [StrOptions(set(ALGORITHMS))],
        "constraint": [StrOptions({"centered", "standardized"}), Constraint, type, None],
        "init": [
            RenamedOptions({"classical", "pca", "random"}, {"classical_mds": "classical"}),
            "array-like",
            torch.Tensor,
        ],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        **SOLVER_CONSTRAINTS,
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
        n_components: int = 2,
        *,
        loss: LossLike | None = None,
        monotone: bool | str = False,
        ties: str = "primary",
        metric: Metric = "euclidean",
        metric_params: Parameters | None = None,
        n_neighbors: int | None = None,
        max_path_length: float | None = None,
        max_pairs: float = 50_000_000,
        neighbors_algorithm: str = "auto",
        constraint: str | Constraint | None = None,
        init: Data = "classical",
        n_init: int = 1,
        solver: str = "auto",
        batch_size: int | None = None,
        n_rounds: int | None = None,
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
        self.loss = loss
        self.monotone = monotone
        self.ties = ties
        self.metric = metric
        self.metric_params = metric_params
        self.n_neighbors = n_neighbors
        self.max_path_length = max_path_length
        self.max_pairs = max_pairs
        self.neighbors_algorithm = neighbors_algorithm
        self.constraint = constraint
        self.init = init
        self.n_init = n_init
        self.solver = solver
        self.batch_size = batch_size
        self.n_rounds = n_rounds
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

    @fit_context
    def fit(self, X: Data, y: Any = None, pair_weights: Any = None) -> Self:
        """Compute the original distances and embed the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; or a matrix of distances or a graph, depending on `metric`.
        y : None
            Ignored.
        pair_weights : array-like or sparse matrix of shape (n_samples, n_samples), default=None
            Weight of each pair, symmetric and at least 0. Pairs of weight 0, and pairs that a
            sparse matrix does not store, are left out.

        Returns
        -------
        self : PreserveDistances
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, the weights, the pairs or a parameter are invalid, if `checkpoint` is of a fit
            of other data or parameters, or if the fit needs more memory than `memory_limit`
            allows; the message says what to change.
        TypeError
            If `loss`, `constraint` or `metric` is a class in place of an instance, or if a
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
            If distances, lengths or weights are not symmetric. The average of both directions is
            used.
        UserWarning
            If all distances are equal, so that they have no order, or if an ordinal map is
            degenerate: many pairs coincide although their distances differ.
        ConvergenceWarning
            If the solver found no finite solution, or if it ended at `max_iter` while the
            average distortion still decreased noticeably.
        """
        with self._all_or_nothing(self.checkpoint) as fitted:
            fitted._fit(X, pair_weights)
        return self

    def _fit(self, X, pair_weights):
        random_state = self._random_state()
        rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
        device = resolve_device(self.device)
        n_threads = count_threads(self.n_jobs)
        loss = self._chosen_loss()
        constraint = resolve_constraint(self.constraint)
        self._check_parameters()
        with stage("distances"):
            X, source = self._original_distances(X, rng, device)
            n = source.n_items
            self._check_size(n, constraint)
            if self.monotone and self._metric_is("precomputed"):
                warn_if_similarities(X)
            most = self._most_pairs(Size.of(X))
            pairs = selected_pairs(source, pair_weights, most, rng)
            fixed = constraint.fixed_items
            pairs = self._without_held_out(pairs, n, fixed)
            solved = pairs_of_free_items(pairs, fixed, n) if len(fixed) else pairs
            # A problem needs a pair. If all items are fixed, its pairs do not count.
            nothing_free = not len(solved.distances)
            pairs, solved = solved, pairs if nothing_free else solved
        problem = self._problem(n, solved, loss, constraint, device, nothing_free)
        if not self.monotone:
            warn_if_too_long(solved.distances, constraint, self.n_components)
        with stage("init"):
            start = self._starting_point(X, problem, source, rng, n_threads)
            more = rng.integers(2**63, size=self.n_init - 1) if self.n_init > 1 else ()
        self.scale_, self._loss, self._unit = problem.scale, copy.copy(loss), problem.unit
        if constraint.has_own_distance:
            self._loss = LossOfDistance(self._loss, copy.deepcopy(constraint))
        self._store_fit(source, pairs, rng)
        with stage("solve"):
            options = self._solver_options(
                self._fit_callbacks(
                    X, lambda coordinates: {"embedding_": coordinates.astype(output_dtype(X))}
                )
            )
            options |= self._pair_solver(
                len(solved.distances),
                self._obstacle(),
                lambda: int(rng.integers(np.iinfo(np.int32).max)),
            )
            own_start = not isinstance(self.init, str)
            found, self.start_values_ = best_of_starts(
                problem, start, more, options, self.n_jobs, own_start=own_start
            )
        self.embedding_ = as_output(found.embedding, X)
        self._keep_row_constraint(constraint, found.embedding)
        self.disparities_, self._curve = found.disparities, found.curve
        found.describe(self)
        self._keep_snapshots(found.snapshots)

    def _problem(self, n, pairs, loss, constraint, device, nothing_free):
        """The problem of some pairs, to be solved from starting points."""
        common = {"constraint": constraint, "nothing_free": nothing_free}
        sizes = n, self.n_components, pairs
        if not self.monotone:
            return MetricProblem(*sizes, loss=loss, device=device, **common)
        if constraint.has_own_distance:
            raise ValueError(
                f"monotone={self.monotone!r} compares Euclidean distances, but {constraint!r} has "
                "distances of its own; use monotone=False, or a sphere with great_circle=False."
            )
        kind = self.monotone if isinstance(self.monotone, str) else "ordinal"
        return MonotoneProblem(*sizes, kind=kind, ties=self.ties, **common)

    def _extend(self, X):
        random_state = self._random_state()
        rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
        device = resolve_device(self.device)
        self._check_parameters()
        old = self.embedding_
        with stage("distances"):
            source = self._distance_source.extended(X)
            most = self._most_pairs(self._size_with(X), len(old))
            pairs = source.pairs_from(len(old), most, rng)
            problem = AnchoredProblem(
                source.n_items,
                pairs.edges,
                self._loss,
                np.ones(len(pairs.edges), np.float32),
                self._targets(pairs.distances),
                anchors=np.arange(len(old)),
                values=old.astype(np.float64),
                rows=self._row_constraint,
                device=device,
                n_jobs=self.n_jobs,
            )
        with stage("init"):
            start = without_coincident(self._coordinates_with(X), problem, rng)
        with stage("solve"):
            solution = problem.solve(start, old.dtype, **self._solver_options())
        self.embedding_ = self._joined(solution.X[len(old) :])
        pairs_and_known = problem.edges, problem.deviations
        self.stress_ = stress_of_pairs(solution.X, *pairs_and_known, self._own_distance())
        if self._curve is not None:
            self.disparities_ = self._targets(pairs.distances)
        self.distortion_, self.residual_norm_ = solution.value, solution.residual_norm
        self.start_values_ = np.array([solution.value])
        self.n_iter_, self.history_ = solution.n_iter, solution.history
        self.converged_, self.stop_reason_ = solution.converged, solution.reason
        self._keep_snapshots(solution.snapshots)
        self._store_fit(source, pairs, rng)
        return problem.count_loose()

    def _stages(self, size, n_fitted=0):
        n_pairs = min(self._most_pairs(size, n_fitted), self._expected_pairs(size, n_fitted))
        return self._stages_of(size, n_pairs, n_fitted)

    def _stages_of(self, size, n_pairs, n_fitted):
        listed = n_pairs < all_pairs(size.n_samples) or size.n_stored is not None
        return distance_stages(size, n_pairs, listed=listed, **self._kind_of_pairs(n_fitted))

    def _kind_of_pairs(self, n_fitted):
        rows = {"rows": not self._is_precomputed()}
        if n_fitted:
            return rows | {"anchored": True, "joined": True}
        return rows | {"ordered": bool(self.monotone)}

    def _room(self, size, n_fitted):
        """How many sampled pairs the limit of memory has room for."""
        return pairs_within(self._limit(), size, **self._kind_of_pairs(n_fitted))

    def _most_pairs(self, size, n_fitted=0):
        """`max_pairs`, or as many as a given limit of memory has room for if these are fewer."""
        if self.memory_limit is None:
            return self.max_pairs
        expected = self._expected_pairs(size, n_fitted)
        if peak(self._stages_of(size, expected, n_fitted)) <= self._limit():
            return self.max_pairs
        room = self._room(size, n_fitted)
        # A sample with a few pairs only is not placed well.
        enough = room >= _FEWEST_PAIRS * (size.n_samples - n_fitted)
        return room if enough else self.max_pairs

    def _expected_pairs(self, size, n_fitted):
        """At most how many pairs there are, before a limit of memory lowers their number."""
        most = min(self.max_pairs, all_pairs(size.n_samples) - all_pairs(n_fitted))
        only_stored = size.n_stored is not None and self._metric_is("precomputed")
        if only_stored and self.n_neighbors is None:
            most = min(most, max(size.n_stored, 1))
        return most

    def _advice(self, size, n_fitted=0):
        room = self._room(size, n_fitted)
        if room < size.n_samples - n_fitted:
            if n_fitted:
                return super()._advice(size, n_fitted)
            return "fit a sample of the rows and call `transform` for the rest"
        return f"use max_pairs={room:.1e} or fewer"

    def _chosen_loss(self):
        if not self.monotone:
            return resolve_loss("absolute" if self.loss is None else self.loss)
        squared = resolve_loss("squared")
        if self.loss is not None and type(resolve_loss(self.loss)) is not type(squared):
            raise ValueError(
                f"monotone={self.monotone!r} minimises the stress, which is a squared loss; leave "
                f"loss None or 'squared', got {self.loss!r}."
            )
        return squared

    def _store_fit(self, source, pairs, rng):
        """Store the pairs and the state that places unseen samples."""
        self._edges, self.distances_ = pairs.edges, pairs.distances
        self.pair_weights_, self.n_unreachable_ = pairs.weights, pairs.n_unreachable
        parted = pairs.weights is not None and pairs.labels is not None
        with stage("anchors"):
            paired = np.unique(pairs.edges) if parted else None
            self._landmarks = source.choose_landmarks(_MAX_LANDMARKS, rng, paired)
            source.drop_training_state()
            self._distance_source = source
        # The relative position of parts without a pair between them is undetermined.
        self._parts = pairs.labels[self._landmarks] if parted else None

    @property
    def edges_(self) -> np.ndarray:
        """The pairs, ``i < j``: shape (n_pairs, 2)."""
        check_is_fitted(self)
        return all_edges(len(self.embedding_)) if self._edges is None else self._edges

    def _solved_problem(self):
        return SolvedProblem(
            self.embedding_,
            self.edges_,
            self.pair_weights_,
            self._loss,
            self._targets(self.distances_) if self.disparities_ is None else self.disparities_,
        )

    def _solved_facts(self):
        found = distance_facts(len(self.distances_), len(self.embedding_), self._loss)
        return found | {"constraint": self._solved_under}

    def _check_parameters(self):
        """Check combinations of parameters; scikit-learn checks one parameter at a time."""
        super()._check_parameters()
        self._check_solver(self._obstacle())
        graph = self._metric_is("graph")
        if self._is_precomputed() and isinstance(self.init, str) and self.init == "pca":
            raise ValueError(
                f"init='pca' needs the data, but metric={self.metric!r} gives distances only; use "
                "init='classical', 'random' or an array."
            )
        if graph and self.n_neighbors is not None:
            raise ValueError(
                f"metric='graph' uses X as the graph, so n_neighbors={self.n_neighbors} has no "
                "effect; set it to None."
            )
        whole = self.max_pairs == np.inf or float(self.max_pairs).is_integer()
        if isinstance(self.max_pairs, bool) or not whole:
            raise ValueError(
                f"max_pairs must be an integer, or numpy.inf for all pairs; got {self.max_pairs!r}."
            )
        if self.max_path_length is not None and not graph and self.n_neighbors is None:
            raise ValueError(
                f"max_path_length={self.max_path_length} limits shortest paths, but there are "
                "none; set n_neighbors or metric='graph'."
            )

    def _obstacle(self):
        """What is not compatible with the stochastic solver."""
        return f"monotone={self.monotone!r}" if self.monotone else None

    def _is_neighbor_tables(self, X):
        return False  # neighbour tables do not hold the distances of all pairs

    def _original_distances(self, X, rng, device):
        """Checked X and its source of distances."""
        X = self._checked_input(X)
        self._check_memory(X)
        self._compare_with_checkpoint(X)
        return X, distance_source(
            X,
            self.metric,
            self.metric_params,
            self.n_neighbors,
            self.max_path_length,
            algorithm=self.neighbors_algorithm,
            random_state=rng,
            n_jobs=self.n_jobs,
            device=device,
            verbose=self.verbose,
        )

    def _starting_point(self, X, problem, source, rng, n_threads):
        """The first starting point in units of the distances, float64.

        The problem moves items apart that coincide.
        """
        source, pairs = problem.first_guess(source)
        n, m, constraint = source.n_items, self.n_components, problem.constraint
        if isinstance(self.init, str):
            return named_start(self.init, X, source, pairs, m, rng, n_threads)
        start = checked_start(as_host_array(self.init), n, m)
        if constraint.fixes_position:
            check_not_wild(start, pairs.distances, constraint.fixed_coordinates)
            return start
        frame = Frame.centered(start)
        return scaled_to_distances_if_wild(frame.length * frame.inside(start), pairs)
