"""Embeddings that keep nearest neighbours together."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import torch

from skmde._linalg.components import component_labels
from skmde._utils.device import cpu_by_default, resolve_device, solving_device
from skmde._utils.random import private_generator
from skmde._utils.rows import count_rows
from skmde._utils.sklearn_compat import (
    Interval,
    RenamedOptions,
    StrOptions,
    check_is_fitted,
    weighted_fit_context,
)
from skmde._utils.threads import count_threads
from skmde._utils.workers import by_workers
from skmde.constraints import Centered, Constraint, Standardized, resolve_constraint
from skmde.core.anchored_problem import AnchoredProblem
from skmde.core.problem import MDE
from skmde.core.solvers.result import callbacks_in_units
from skmde.core.starts.coincident import separate_coincident
from skmde.core.starts.fixed_items import has_free_item
from skmde.estimators.base.atomic import stage
from skmde.estimators.base.input import as_output, output_dtype
from skmde.estimators.base.peer_arguments import suggest_peer_arguments
from skmde.estimators.base.snapshots import SnapshotsMixin
from skmde.estimators.base.solver_choice import SOLVER_CONSTRAINTS, SolverChoiceMixin
from skmde.estimators.base.typing import (
    Callbacks,
    Data,
    Device,
    Metric,
    Parameters,
    Path,
    PenaltyLike,
    RandomState,
)
from skmde.estimators.judging.problem import Repulsion, SolvedProblem
from skmde.estimators.judging.redundancy import without_pairs
from skmde.estimators.neighborhoods.far_pairs import lengths_of_pairs
from skmde.estimators.neighborhoods.given_pairs import given_pairs, reweighted, with_dissimilar
from skmde.estimators.neighborhoods.placing import NeighborPlacementMixin
from skmde.estimators.neighborhoods.source import (
    check_limits,
    check_pairs,
    limits_of_samples,
    neighbor_source,
)
from skmde.estimators.neighborhoods.start import starting_point
from skmde.estimators.neighborhoods.weights import check_weights
from skmde.estimators.pairs.neighbors import default_n_neighbors, many_neighbors
from skmde.estimators.pairs.repulsion import (
    RepulsiveSamples,
    mean_repulsion,
    pairs_with_repulsion,
)
from skmde.estimators.pairs.repulsion_rule import repulsion_rule
from skmde.estimators.planning.costs import expected_neighbors, neighbor_stages
from skmde.estimators.representation.texts import penalty_facts
from skmde.estimators.samples.counted import PositiveWeightSamples
from skmde.estimators.samples.reach import warn_if_out_of_reach
from skmde.estimators.samples.supervision import target_pairs, with_targets
from skmde.estimators.starts.canonical import CanonicalOrder
from skmde.estimators.starts.neighbors import at_best_size
from skmde.estimators.unseen.extension import GrowingMixin
from skmde.estimators.unseen.row_constraint import RowConstraintMixin
from skmde.functions.base import Penalty
from skmde.functions.registry import PENALTIES
from skmde.preprocessing.graphs.components import draw_together
from skmde.preprocessing.graphs.weights import RULES
from skmde.preprocessing.neighbors.search import ALGORITHMS

_GAP = 4.0  # distance of parts of the map that no pair of neighbours joins


class PreserveNeighbors(
    RowConstraintMixin, NeighborPlacementMixin, SolverChoiceMixin, GrowingMixin, SnapshotsMixin
):
    r"""Minimum-distortion embedding that keeps nearest neighbours together.

    The p pairs of nearest neighbours attract each other, and all pairs of samples repel each other.
    The embedding minimises the average distortion

    .. math:: \frac{1}{p} \Big[ \sum_{\text{neighbours}} w_{ij}\, p_a(\|x_i - x_j\|)
        - \rho \sum_{i < j} p_r(\|x_i - x_j\|) \Big]

    with an attractive and a repulsive penalty. By default these are :math:`\log(1 + d^2)` and
    :math:`-1 / (1 + d^2)`. For flat data, whose intrinsic dimension is about `n_components` or
    less, the attraction is ``Huber(1.0)``, which keeps shapes whole. The weight of a pair is 2 if
    each is a neighbour of the other, and 1 if only one is a neighbour of the other. The weight
    :math:`\rho` of the repulsion sets how much room the map takes: see `repulsive_weight`. t-SNE,
    UMAP, LargeVis and Laplacian eigenmaps are related methods with other penalties, weights or
    constraints.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding. It must be less than the number of samples, or 2.
    n_neighbors : int, default=None
        Number of neighbours of each sample. None means 15, but a tenth of the number of samples
        for fewer than 150 samples, and at least 5; if repulsive pairs are sampled, the number that
        gives about 1% of all pairs, at least 5 and at most 15. With a precomputed sparse matrix or
        neighbour tables, None uses all stored entries, unless they are the distances of all pairs;
        with ``metric="graph"``, the edges of the graph, with the same exception; with
        `max_distance`, all samples within that distance.
    attractive_penalty : str, Penalty or callable, default="auto"
        Penalty of pairs of neighbours: a name, an object such as ``Log1p(2.0)``, or a function
        that takes a torch tensor of distances. See :mod:`skmde.penalties`. "auto" means
        ``Log1p(2.0)`` if all pairs repel and ``Log1p(1.5)`` else; but ``Huber(1.0)`` for
        ``repulsion="all"`` and flat data, whose intrinsic dimension is less than
        ``n_components + 0.5``. The pull of ``Log1p`` fades with the distance, so that repulsion
        can tear shapes apart; that of ``Huber`` does not fade.
    repulsive_penalty : str, Penalty, callable or None, default="auto"
        Penalty of the pairs that repel each other. "auto" means ``Cauchy()`` if all pairs repel,
        or ``Log()``. With None no pairs repel; the constraint must then prevent a
        collapse to one point, and defaults to "standardized".
    repulsion : {"auto", "all", "normalized", "sampled", "far", "given"}, default="auto"
        Pairs that repel. "all": all pairs of samples, with the same weight. "normalized": all
        pairs, with a weight that adapts to the embedding as in t-SNE; the second term of the
        average distortion is then :math:`\rho W \log(-2 \sum_{i < j} p_r)`, where W is the sum of
        the weights of neighbours. "sampled": a random sample of pairs that are not neighbours.
        "far": a random sample of about the farthest quarter of these, where pairs without a
        distance count as farthest and path lengths are estimated; it gives tighter clusters.
        "given": the `dissimilar_pairs` that `fit` is given, and no others. `extend` samples pairs
        in place of the last two. "auto" means "all", but "sampled" for more than three components,
        for a standardized embedding, if `repulsive_fraction` is given, and for a repulsive penalty
        other than ``Cauchy``.
    repulsive_weight : float, default=None
        Weight of a pair that repels. With the attraction ``Log1p(2.0)`` it moves the map along a
        spectrum: at 0.01 shapes stay whole, at 0.1 the map is like that of UMAP, at 1 like that of
        t-SNE, which keeps most neighbours. None means 1, and for flat data (see
        `attractive_penalty`) 30 `n_neighbors` / n_samples, at least 0.05 and at most 1.
    repulsive_fraction : float, default=None
        For "sampled" and "far": number of repulsive pairs, as a multiple of the number of
        pairs of neighbours. None means 1, or 0.5 for a standardized embedding. The pairs are
        sampled without replacement from the pairs that are not neighbours; if there are too few of
        these, all of them repel. If nearly all pairs are neighbours, neighbours repel, too.
    weights : {"count", "uniform", "exponential", "affinity"} or callable, default="count"
        Weights of pairs of neighbours. "count": 2 if each is a neighbour of the other, else 1.
        "uniform": 1. "exponential": :math:`\exp(-\delta^2 / \sigma^2)`, with the distance
        :math:`\delta` of the pair and the width :math:`\sigma`. "affinity", for
        ``metric="affinity"``: the similarity of the pair, divided by the mean of those of
        neighbours. A function takes an array of distances, or of similarities, and returns weights
        of at least 0.
    weights_width : float, default=None
        Width of ``weights="exponential"``, in the units of the metric. None means the median
        distance of neighbours.
    constraint : {"centered", "standardized"}, Constraint or None, default=None
        "centered": mean zero. "standardized": mean zero and unit covariance. None means
        "centered", or "standardized" if there is no repulsive penalty. ``Anchored`` gives the
        coordinates of some samples; pairs of two such samples are left out, since no embedding
        can change them.
    metric : str or callable, default="euclidean"
        Any metric that scikit-learn or pynndescent names, or a function of two rows.
        With "precomputed", X is one of: a matrix of distances (n_samples, n_samples); a sparse
        matrix of distances to neighbours, in which every stored entry is a pair, zeros included;
        or a pair of arrays (indices, distances), each of shape (n_samples, k). With "graph", X is a
        sparse matrix of the lengths of edges, or a networkx graph, as for
        :class:`PreserveDistances`; the distance is the length of the shortest path, and a
        pseudo-random choice decides between nodes at the same distance. With "affinity", X is a
        matrix of similarities, dense or sparse, or a networkx graph of weights: the largest are
        neighbours, and samples of similarity 0 or less never are. Similarities have no lengths, so
        data count as not flat (see `attractive_penalty`).
    metric_params : dict, default=None
        Additional parameters of the metric. For a networkx graph under "graph", "weight" is the
        name of the edge attribute that holds the lengths.
    max_distance : float or array-like of shape (n_samples,), default=None
        Samples farther apart than this, in the units of the metric, are not neighbours. An array
        holds a limit for each sample; an unseen one gets that of the sample nearest to it.
    min_affinity : float or array-like of shape (n_samples,), default=None
        The same for ``metric="affinity"``: the least similarity of neighbours.
    target_weight : float, default=0.0
        Weight of same-class pairs (for numeric y, of pairs nearest in y). Their number is about
        `n_neighbors` for each sample. Pairs of different classes (for numeric y, pairs sampled from
        all others) get minus this weight; `repulsive_fraction` sets their number relative to the
        same-class pairs. With 0, `fit` ignores y.
    neighbors_algorithm : {"auto", "exact", "faiss", "pynndescent", "torch"}, default="auto"
        Algorithm of the neighbour search. "auto" compares all pairs where that is cheap. Otherwise
        it uses faiss, if faiss is installed and the metric is Euclidean, cosine or correlation;
        else pynndescent, which needs half a minute to compile. "torch" compares all pairs on
        `device`.
    init : {"auto", "quadratic", "pca", "isomap", "random"} or array, default="auto"
        Starting point. "quadratic" is the spectral embedding of the neighbour graph; "pca" keeps
        the large distances of the data, and "isomap" the path lengths in the neighbour graph.
        "auto" means "isomap" for data whose intrinsic dimension is less than ``n_components + 1``,
        else "pca", or "quadratic" if X holds distances, similarities, a graph or NaN; it means
        "quadratic" if repulsive pairs are sampled or there are none. An array has shape
        (n_samples, n_components). For a centered or standardized embedding the mean of the array
        is subtracted; if its root mean square is then below 1e-4 or above 1e4, where penalties are
        flat, it is scaled to 1. If the constraint gives the coordinates of some samples, every
        starting point is rotated, reflected and shifted so that these samples are nearest to their
        coordinates.
    solver : {"auto", "lbfgs", "stochastic"}, default="auto"
        "lbfgs" takes all pairs in each iteration. "stochastic" takes batches of them in turn; see
        :doc:`/large`. Its iterations are rounds, of which there are `n_rounds` whatever `max_iter`
        is. "auto" is "lbfgs" for up to 200 million pairs. Not where all pairs repel (`repulsion`),
        since no list holds them.
    batch_size : int, default=None
        Largest number of pairs in a batch of the stochastic solver; None means a tenth of all.
    n_rounds : int, default=None
        Number of rounds of the stochastic solver; None means 100.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-5
        Tolerance: the solver stops when the Frobenius norm of the projected gradient is at most
        `tol` times the mean of :math:`|w\, p'(1)|` over the pairs, with the weights w and the
        penalties p. So a common factor of the weights or of the penalties changes nothing.
    memory_size : int, default=10
        Number of past steps in the quasi-Newton approximation.
    random_state : int, RandomState instance or None, default=None
        Seeds the repulsive pairs, approximate neighbours and random starting points. With an
        integer, fits of the same data on one machine are identical to the last bit, for any
        number of threads. None uses a fresh seed; numpy's global state is never used.
    n_jobs : int, default=None
        Maximum number of threads. None means torch's number (``torch.get_num_threads()``).
    device : None, str or torch.device, default=None
        Device of the solver, the start and the search for neighbours. None is the CPU; "auto" uses
        a GPU of NVIDIA if there is one. "mps" searches neighbours alone; see :doc:`/large`.
    memory_limit : float, str or None, default=None
        Memory that `fit` may need, beyond what is in use: bytes, or a text such as "4GB". None
        means what is free. `fit` raises an error before it begins if it needs more; `plan` says how
        much. The same holds for `extend`.
    callbacks : list of callable, default=None
        Functions called after every iteration with a state that has the attributes `iteration`,
        `X`, `value` and `residual_norm`. The solver stops if one of them returns True.
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
        The embedding, in the float dtype of X.
    graph_ : csr_array of shape (n_samples, n_samples)
        Symmetric graph of the weights of neighbours.
    edges_ : ndarray of shape (n_edges, 2)
        Pairs of neighbours, followed by the sampled pairs that repel, if there are any.
    weights_ : ndarray of shape (n_edges,)
        Weights of the pairs; negative for repulsive pairs.
    repulsive_weight_ : float
        Weight of the repulsion: `repulsive_weight`, or what was chosen in its place.
    distortion_ : float
        Average distortion of the embedding, with the repulsion of all pairs.
    residual_norm_ : float
        Frobenius norm of the projected gradient.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the norm of the gradient reached `tol`.
    stop_reason_ : str
        What stopped the solver, as a sentence: `tol`, `max_iter`, a callback, or that the
        distortion no longer decreases.
    history_ : dict of ndarray
        ``"value"``, ``"residual_norm"``, ``"step_size"`` and ``"seconds"`` of every iteration.
        The first entry is the starting point.
    snapshots_ : ndarray of shape (n_snapshots, n_samples, n_components) or None
        The starting point, the embedding after every `snapshot_every` iterations and, last,
        ``embedding_``, in the same units. Samples of weight 0 have their last place in all of them.
        None without `snapshot_every`, and after `compact`.
    snapshot_iterations_ : ndarray of int of shape (n_snapshots,) or None
        Number of iterations before each snapshot.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has string names.

    See Also
    --------
    skmde.MDE : The problem itself, for user-defined pairs and functions.

    Notes
    -----
    The problem is solved in float32, or in float64 if given coordinates of samples are larger than
    100. Before neighbours are compared, the data are centred and
    scaled in float64, so they may have any scale and offset.

    References
    ----------
    A. Agrawal, A. Ali, S. Boyd, *Minimum-Distortion Embedding*, 2021: sections 2.4.4 (attraction,
    repulsion, and spreading), 4.1 (penalties), 4.3.1 (neighborhoods), 4.3.3 (other methods), 6.1
    (projected quasi-Newton algorithm) and 2.4.2 (incremental embedding).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmde import PreserveNeighbors
    >>> X, _ = load_digits(return_X_y=True)
    >>> estimator = PreserveNeighbors(random_state=0).fit(X[:500])
    >>> estimator.embedding_.shape
    (500, 2)
    >>> estimator.transform(X[500:510]).shape
    (10, 2)
    """

    _training_data_attribute = "_neighbors"
    _square_metrics = ("precomputed", "graph", "affinity")
    _signed_metrics = ("affinity",)

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "attractive_penalty": [StrOptions({"auto", *PENALTIES}), Penalty, callable],
        "repulsive_penalty": [StrOptions({"auto", *PENALTIES}), Penalty, callable, None],
        "repulsion": [StrOptions({"auto", "all", "normalized", "sampled", "far", "given"})],
        "repulsive_weight": [Interval(Real, 0, 1e30, closed="both"), None],
        "repulsive_fraction": [Interval(Real, 0, 1e30, closed="right"), None],
        "weights": [StrOptions({*RULES, "affinity"}), callable],
        "weights_width": [Interval(Real, 0, None, closed="neither"), None],
        "constraint": [StrOptions({"centered", "standardized"}), Constraint, type, None],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "max_distance": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "min_affinity": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "target_weight": [Interval(Real, 0, 1e30, closed="both")],
        "neighbors_algorithm": [StrOptions(set(ALGORITHMS))],
        "init": [
            RenamedOptions(
                {"auto", "quadratic", "pca", "isomap", "random"}, {"spectral": "quadratic"}
            ),
            "array-like",
            torch.Tensor,
        ],
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
        n_neighbors: int | None = None,
        attractive_penalty: PenaltyLike = "auto",
        repulsive_penalty: PenaltyLike | None = "auto",
        repulsion: str = "auto",
        repulsive_weight: float | None = None,
        repulsive_fraction: float | None = None,
        weights: str | Callable[..., Any] = "count",
        weights_width: float | None = None,
        constraint: str | Constraint | None = None,
        metric: Metric = "euclidean",
        metric_params: Parameters | None = None,
        max_distance: float | Data | None = None,
        min_affinity: float | Data | None = None,
        target_weight: float = 0.0,
        neighbors_algorithm: str = "auto",
        init: Data = "auto",
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
        self.n_neighbors = n_neighbors
        self.attractive_penalty = attractive_penalty
        self.repulsive_penalty = repulsive_penalty
        self.repulsion = repulsion
        self.repulsive_weight = repulsive_weight
        self.repulsive_fraction = repulsive_fraction
        self.weights = weights
        self.weights_width = weights_width
        self.constraint = constraint
        self.metric = metric
        self.metric_params = metric_params
        self.max_distance = max_distance
        self.min_affinity = min_affinity
        self.target_weight = target_weight
        self.neighbors_algorithm = neighbors_algorithm
        self.init = init
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

    @weighted_fit_context
    def fit(
        self,
        X: Data,
        y: Any = None,
        sample_weight: Any = None,
        *,
        dissimilar_pairs: Any = None,
        dissimilar_weights: Any = 1.0,
        outlier_pairs: Any = None,
        outlier_weights: Any = 0.0,
    ) -> Self:
        """Find the neighbours of each sample and embed the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; or distances, similarities or a graph, in one of the forms under `metric`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Targets. They are used if `target_weight` is above 0, and ignored if it is 0. Floats
            that are not all integers are numeric targets; NaN marks unknown ones. All other values
            are class labels of any type; -1, NaN or None marks unknown ones. With several targets,
            samples attract each other if all their targets are similar.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, divided by their mean. The weight of a pair is multiplied by the
            weights of its two samples; in `transform`, by the weight of the training sample.
            Samples of weight 0 do not influence the embedding of the other samples: they are
            placed afterwards, as `transform` places unseen samples. A sample of weight 2 is not
            the same as two copies of it, because the copies would be neighbours of each other.
        dissimilar_pairs : array-like of int of shape (n_pairs, 2), default=None
            Pairs of samples that repel each other, in addition to those that `repulsion` selects.
            In `transform` they do not count, except under ``repulsion="given"``.
        dissimilar_weights : float or array-like of shape (n_pairs,), default=1.0
            Their weights, at least 0. Under ``repulsion="given"`` they are multiplied by
            `repulsive_weight`.
        outlier_pairs : array-like of int of shape (n_pairs, 2), default=None
            Pairs of neighbours that are to count for less, such as those of highest distortion.
            Pairs that are no neighbours are ignored.
        outlier_weights : float or array-like of shape (n_pairs,), default=0.0
            Factors of their weights, at least 0; pairs of factor 0 are left out.

        Returns
        -------
        self : PreserveNeighbors
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y, the weights, the pairs or a parameter are invalid, if `checkpoint` is of a
            fit of other data or parameters, or if the fit needs more memory than `memory_limit`
            allows; the message says what to change.
        TypeError
            If a penalty, `constraint` or `metric` is a class in place of an instance, or if a
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
            If `n_neighbors` exceeds the number of other samples; if X looks like similarities where
            it should hold distances, or the other way round; or if samples are anchored so far
            apart that the pull of the attractive penalty fades before it reaches the others; see
            the notes of :class:`AnchoredMDE`.
        ConvergenceWarning
            If the solver found no finite solution, or if it ended at `max_iter` while the
            average distortion still decreased noticeably.
        """
        with self._all_or_nothing(self.checkpoint) as fitted:
            given = {
                "dissimilar": (dissimilar_pairs, dissimilar_weights),
                "outlier": (outlier_pairs, outlier_weights),
            }
            fitted._fit(X, y, sample_weight, given)
        return self

    def _fit(self, X, y, sample_weight, pairs):
        random_state = self._random_state()
        device = resolve_device(self.device)
        self._check_parameters()
        rule, constraint = self._problem_parts()
        self._check_solver(_obstacle(rule))
        # A copy for transform: a later change of the penalties must not affect it.
        self._rule = copy.deepcopy(rule)
        with stage("neighbors"):
            given = self._checked_input(X)
            self._compare_with_checkpoint(given)
            self._check_size(count_rows(given), constraint)
            self._check_memory(given)
            counted = PositiveWeightSamples(
                count_rows(given), sample_weight, constraint.fixed_items
            )
            X = counted.rows_and_columns(given) if self._is_precomputed() else counted.rows(given)
            constraint = counted.constraint(constraint)
            pairs = {name: given_pairs(*pairs[name], name, counted) for name in pairs}
            neighbors = self._find_neighbors(X, counted, random_state, device)
        self._check_size(counted.n_items, constraint)
        n_samples = counted.n_items
        sizes = self.n_components, n_samples, neighbors.n_neighbors
        self._rule = self._rule.for_data(neighbors.dimension(), *sizes)
        self.repulsive_weight_ = self._rule.weight
        with stage("edges"):
            edges, weights, attraction = self._pairs(X, neighbors, y, counted, pairs, random_state)
            free = has_free_item(n_samples, constraint.fixed_items, edges)
            if free.any():  # a problem needs a pair
                edges, weights = edges[free], weights[free]
            kept = self._hold_out(counted.among_all(edges), weights)
            if kept is not None:
                attraction = without_pairs(attraction, edges[~kept])
                edges, weights = edges[kept], weights[kept]
        self._counted = counted
        with stage("init"):
            start = starting_point(
                self.init,
                None if self._is_precomputed() else X,
                counted,
                neighbors,
                attraction,
                edges,
                weights,
                rule=self._rule,
                repulsive_weight=self.repulsive_weight_,
                constraint=constraint,
                n_components=self.n_components,
                n_jobs=self.n_jobs,
                random_state=random_state,
                device=solving_device(device),
            )
        self._store_fit(counted, neighbors, edges, weights)
        self._repulsive = self._repulsive_samples(counted.n_items, random_state)
        with stage("solve"):
            chosen = self._pair_solver(
                len(edges), _obstacle(rule), lambda: random_state.randint(np.iinfo(np.int32).max)
            )
            self._solve(start, edges, weights, constraint, given, device, chosen)
        self._place_zero_weight(given)

    def _stages(self, size, n_fitted=0):
        rows = not self._is_precomputed()
        if n_fitted and size.n_stored is not None and not rows:
            size = replace(size, n_stored=size.n_stored + self.graph_.nnz)
        sampled = self.repulsion in ("sampled", "far") or self.repulsive_fraction is not None
        k = expected_neighbors(size, self.n_neighbors, many_neighbors, rows=rows)
        fraction = (self.repulsive_fraction or 1.0) if sampled else 0.0
        options = {"fraction": fraction, "copied_matrix": self._metric_is("affinity")}
        return neighbor_stages(size, k, self.n_components, rows=rows, **options)

    def _check_parameters(self):
        """Check combinations of parameters; scikit-learn checks one parameter at a time."""
        super()._check_parameters()
        if isinstance(self.init, str) and self.init == "pca" and self._is_precomputed():
            raise ValueError(
                f"init='pca' needs the data, but metric={self.metric!r} gives none; use "
                "init='quadratic', 'random' or an array."
            )
        if isinstance(self.init, str) and self.init == "isomap" and self._metric_is("affinity"):
            raise ValueError(
                "init='isomap' needs distances, but metric='affinity' gives similarities; use "
                "init='quadratic', 'random' or an array."
            )
        check_weights(self.weights, self.weights_width, self.metric)
        check_limits(self.max_distance, self.min_affinity, self.metric)

    def _problem_parts(self):
        """The repulsion and the constraint."""
        constraint = self.constraint
        if constraint is None:
            constraint = Standardized() if self.repulsive_penalty is None else Centered()
        constraint = resolve_constraint(constraint)
        if constraint.has_own_distance:
            raise ValueError(
                f"{constraint!r} has distances of its own, to compare with original distances; use "
                "PreserveDistances, or a constraint with Euclidean distances."
            )
        # A box or a disc holds no items apart either.
        shrinks = constraint.is_free or (constraint.has_boundary and constraint.acts_on_rows)
        if self.repulsive_penalty is None and shrinks:
            raise ValueError(
                f"Without a repulsive penalty a {constraint.name} embedding collapses to one "
                "point; use constraint='standardized' (or None), or give repulsive_penalty."
            )
        if self.repulsive_weight == 0 and shrinks and self.target_weight == 0:
            raise ValueError(
                f"With repulsive_weight=0 a {constraint.name} embedding collapses to one point; "
                "use a weight above 0, or constraint='standardized'."
            )
        rule = repulsion_rule(
            self.repulsion,
            self.attractive_penalty,
            self.repulsive_penalty,
            self.repulsive_weight,
            self.repulsive_fraction,
            n_components=self.n_components,
            fixes_unit=constraint.fixes_unit,
        )
        return rule, constraint

    def _find_neighbors(self, X, counted, random_state, device):
        return neighbor_source(
            X,
            self.n_neighbors,
            limits_of_samples(self.max_distance, self.min_affinity, counted),
            metric=self.metric,
            weights=self.weights,
            width=self.weights_width,
            default=many_neighbors if self._rule.sums_all else default_n_neighbors,
            metric_params=self.metric_params,
            algorithm=self.neighbors_algorithm,
            random_state=random_state.randint(np.iinfo(np.int32).max),
            n_jobs=self.n_jobs,
            device=device,
        )

    def _pairs(self, X, neighbors, y, counted, given, random_state):
        """The pairs, their weights, and the graph of all attractive pairs."""
        rule, weight = self._rule, self.repulsive_weight_
        graph, lengths, n = neighbors.pairs(), None, counted.n_items
        if len(given["outlier"][0]):
            graph = reweighted(graph, *given["outlier"])
        if rule.kind == "far":
            lengths = lengths_of_pairs(X, self.metric, self.metric_params, neighbors, self.n_jobs)
        edges, weights = pairs_with_repulsion(graph, rule, weight, random_state, lengths)
        check_pairs(edges, self.max_distance, self.min_affinity, self.weights)
        self._repulsion = mean_repulsion(weights, n)  # of the sampled pairs alone
        edges, weights = with_dissimilar(edges, weights, *given["dissimilar"], rule, weight)
        if rule.kind == "given":
            self._repulsion = mean_repulsion(weights, n)
        if self.target_weight > 0:
            if y is None:
                raise ValueError(
                    f"target_weight={self.target_weight} needs targets, but y is None. Pass y, or "
                    "set target_weight to 0."
                )
            alike, differing = target_pairs(
                counted.rows(y, "y"),
                n,
                self.n_neighbors or default_n_neighbors(n),
                0.0 if rule.repulsive is None else rule.fraction,
                private_generator(random_state),
            )
            edges, weights, graph = with_targets(
                edges, weights, graph, alike, differing, self.target_weight
            )
        return *counted.weigh_pairs(edges, weights), graph

    def _repulsive_samples(self, n_items, random_state):
        """The training samples that repel an unseen one."""
        if self._rule.sums_all:
            return RepulsiveSamples.all(self.repulsive_weight_)
        return RepulsiveSamples.some_of(n_items, self._repulsion, random_state)

    def _solve(self, start, edges, weights, constraint, X, device, chosen):
        """Solve the problem of the samples of nonzero weight and store the solution."""
        dtype, counted, rule = output_dtype(X), self._counted, self._rule
        item_weights, order, labels = counted.weights, None, None
        if rule.sums_all and constraint.is_free:
            order = CanonicalOrder(start, is_given=not isinstance(self.init, str))
            start, item_weights = order.start, order.rows(item_weights)
            edges, weights = order.edges(edges, weights)
            # Before the solve, whose arrays would add to the memory that this needs.
            labels = component_labels(edges[weights > 0], len(start)) if self.max_iter else None
        problem = MDE(
            counted.n_items,
            self.n_components,
            edges,
            rule.penalties,
            constraint,
            weights=weights,
            repulsion=rule.kind if rule.sums_all else None,
            repulsive_weight=self.repulsive_weight_,
            item_weights=item_weights,
            device=device,
            n_jobs=self.n_jobs,
        )
        from_paths = isinstance(self.init, str) and self.init in ("auto", "isomap")
        if order is not None and rule.is_flat and from_paths:
            start = at_best_size(start, problem.average_distortion)
        options = self._solver_options(
            self._fit_callbacks(X, lambda coordinates: {"embedding_": coordinates.astype(dtype)})
        )

        def given_order(coordinates):
            back = coordinates if order is None else order.back(coordinates)
            return back if counted.items is None else counted.fill_with_mean(back)

        options |= chosen
        if order is not None or counted.items is not None:
            options["callbacks"] = callbacks_in_units(options["callbacks"], given_order)

        def finished(coordinates):
            exact = problem.constraint.finish(coordinates.cpu().double()).numpy()
            return exact if labels is None else draw_together(exact, labels, _GAP)

        solution = finished(problem.embed(start, **options))
        result = problem.result
        if labels is not None:
            problem.embed(solution.astype(np.float32), max_iter=0)
        self.embedding_ = given_order(solution.astype(dtype))
        self._keep_row_constraint(constraint, solution)
        if len(constraint.fixed_items):
            parts = edges, weights, solution, rule.attractive
            warn_if_out_of_reach(*parts, constraint.fixed_items)
        counts = has_free_item(len(solution), constraint.fixed_items, edges).any()
        self.distortion_ = float(problem.value) if counts else 0.0
        self.residual_norm_ = float(problem.residual_norm)
        self.n_iter_, self.history_ = result.n_iter, result.history.as_arrays()
        self.converged_, self.stop_reason_ = result.converged, result.reason
        self._solved_repulsion = (rule.kind, self.repulsive_weight_) if rule.sums_all else None
        self._keep_snapshots(
            result.history.snapshots, lambda X: given_order(finished(torch.from_numpy(X)))
        )
        if rule.kind == "normalized":
            self._repulsive = RepulsiveSamples.all(problem.effective_repulsive_weight())

    def _extend(self, X):
        random_state = self._random_state()
        device = resolve_device(self.device)
        self._check_parameters()
        old = self.embedding_
        with stage("neighbors"):
            counted = self._counted.with_further(count_rows(X))
            given = counted.columns(X) if self._is_precomputed() else X
            neighbors = self._neighbors.extended(given)
        with stage("edges"):
            edges, weights = pairs_with_repulsion(
                neighbors.pairs(), self._rule.for_extension, self.repulsive_weight_, random_state
            )
        with stage("init"):
            start = separate_coincident(counted.rows(self._coordinates_with(X)), random_state)
            anchors = self._counted.rows(old).astype(np.float64)
        with stage("solve"):
            problem = AnchoredProblem(
                len(start),
                edges,
                self._rule.penalties,
                weights,
                anchors=np.arange(len(anchors)),
                values=anchors,
                repulsion="all" if self._rule.sums_all else None,
                repulsive_weight=self._repulsive.weight,
                item_weights=counted.weights,
                rows=self._row_constraint,
                device=device,
                n_jobs=self.n_jobs,
            )
            solution = problem.solve(start, np.float32, **self._solver_options())
        self.embedding_ = self._joined(solution.X[len(anchors) :])
        self.distortion_, self.residual_norm_ = solution.value, solution.residual_norm
        self.n_iter_, self.history_ = solution.n_iter, solution.history
        self.converged_, self.stop_reason_ = solution.converged, solution.reason
        self._keep_snapshots(solution.snapshots, lambda X: np.concatenate([old, X[len(anchors) :]]))
        self._store_fit(counted, neighbors, problem.edges, problem.weights)
        self._solved_repulsion = ("all", self._repulsive.weight) if self._rule.sums_all else None
        self._repulsive = self._repulsive.after_extension(len(start), random_state)
        return problem.count_loose()

    def _store_fit(self, counted, neighbors, edges, weights):
        """Store the graph, the pairs, and the state that places unseen samples."""
        self._counted = counted
        self.graph_ = counted.graph_among_all(neighbors.pairs())
        self.edges_, self.weights_ = counted.among_all(edges), weights
        neighbors.drop_training_state()
        self._neighbors = neighbors

    def _solved_problem(self):
        counted, repulsion = self._counted, self._solved_repulsion
        if repulsion is not None:
            repulsion = Repulsion(*repulsion, counted.items, counted.weights)
        return SolvedProblem(
            self.embedding_,
            self.edges_,
            self.weights_,
            self._rule.penalties,
            repulsion=repulsion,
            n_threads=count_threads(self.n_jobs),
        )

    def _solved_facts(self):
        found = penalty_facts(self.weights_, self._rule.penalties, self._solved_repulsion)
        return found | {"constraint": self._solved_under}

    def transform(self, X: Data) -> np.ndarray:
        """Place unseen samples in the embedding of the training samples.

        The coordinates of a sample minimise its own average distortion to the training samples. Its
        nearest training samples attract it, and all training samples repel it; if repulsive pairs
        were sampled, a set of training samples that `fit` chose at random does so. The minimum is a
        local one, found from the best of several starting points; a better place exists for few
        samples. Unseen samples do not influence each other, so the result for a row does not depend
        on the rest of X. A sample that equals a training sample, or is at distance 0 from one, gets
        the coordinates of that sample. A sample without neighbours gets the mean of all
        coordinates. If the constraint acts on rows one by one, as a sphere or a box does, the
        samples are placed within it; other constraints are ignored here.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples; for ``metric="precomputed"``, their distances to the training samples: a
            matrix (n_new, n_samples), dense or sparse, or a pair of arrays (indices, distances).
            For "affinity", their similarities; for "graph", the lengths of their edges to some
            training samples, through which shortest paths lead to the others; 0 in a dense matrix
            is no edge, as in `fit`. A row with the same numbers as a training sample counts as
            that sample.

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

        Warns
        -----
        UserWarning
            If a constraint of your own cannot be held by unseen rows; see
            :attr:`Constraint.acts_on_rows`.

        References
        ----------
        Monograph, section 2.4.2 (incremental embedding).
        """
        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            return as_output(by_workers(self._coordinates, X), X)


def _obstacle(rule):
    """What is not compatible with the stochastic solver."""
    return f"repulsion={rule.kind!r} of all pairs" if rule.sums_all else None
