"""The pairs of an anchored embedding, and the placement of unseen samples.

:class:`AnchoredMDE` uses either penalties of weighted pairs (`WeightedPairs`) or a loss of original
distances (`DistancePairs`). Both have the same methods: ``pairs``, ``repulsion``, ``place`` for
`transform`, ``extended`` for `extend`, and after a fit ``choose_items`` and
``drop_training_state``.
`AffinityPairs` is the source of pairs that are given as a graph.
"""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp

from skmde._linalg.components import component_labels
from skmde._utils.rows import as_csr, blocks_of_rows, rows_of
from skmde.core.placement.by_distances import place_by_distances
from skmde.core.placement.by_neighbors import place_by_neighbors
from skmde.estimators.pairs.base import Pairs
from skmde.estimators.pairs.distances import distance_source
from skmde.estimators.pairs.neighbors import NeighborPairs
from skmde.estimators.pairs.pair_weights import selected_pairs
from skmde.estimators.pairs.repulsion import RepulsiveSamples, mean_repulsion, signed_pairs
from skmde.functions.base import Loss
from skmde.preprocessing.graphs.adjacency import as_adjacency, with_further_rows
from skmde.preprocessing.neighbors.known_rows import KnownRows, with_twins
from skmde.preprocessing.pairs.sampling import all_edges

MAX_PAIRS = 10_000_000
_ROWS_AT_ONCE = 4096  # training samples that are placed at once as if they were unseen
_MAX_LANDMARKS = 1000  # training samples that place an unseen one by distances


def anchored_pairs(
    X,
    functions,
    *,
    metric,
    n_neighbors,
    max_distance,
    fraction,
    repulsion,
    repulsive_weight,
    random_state,
    rng,
    verbose,
    **search,
):
    """The pairs that the parameters of an anchored embedding select.

    Parameters
    ----------
    X : ndarray, sparse matrix, or pair of ndarray
        Checked input.
    functions : Loss, or tuple of two
        The loss of original distances, or the attractive and the repulsive penalty (or None).
    metric : str or callable
    n_neighbors : int or None
    max_distance : float or None
    fraction : float
        Number of repulsive pairs for each attractive one, if they are sampled.
    repulsion : {"sampled", "all", "normalized"}
    repulsive_weight : float
    random_state : RandomState
        Seeds the search for neighbours, for penalties of weighted pairs.
    rng : numpy.random.Generator
        Seeds the search for neighbours, for a loss of original distances.
    verbose : int
    **search : dict
        Further arguments of :func:`~skmde.preprocessing.nearest_neighbors`.

    Returns
    -------
    pairs : WeightedPairs or DistancePairs
    """
    if isinstance(functions, Loss):
        distances = distance_source(
            X,
            metric,
            n_neighbors=n_neighbors,
            max_path_length=max_distance,
            random_state=rng,
            verbose=verbose,
            **search,
        )
        return DistancePairs(distances, functions, max_distance)
    if isinstance(metric, str) and metric == "affinity":
        return WeightedPairs(AffinityPairs(X), functions, fraction, repulsion, repulsive_weight)
    search.update(metric=metric, random_state=random_state.randint(np.iinfo(np.int32).max))
    neighbors = NeighborPairs(X, n_neighbors, max_distance, **search)
    return WeightedPairs(neighbors, functions, fraction, repulsion, repulsive_weight)


def why_no_support(metric):
    """Why no distance says how far an unseen sample is from the others; None if one does."""
    if metric != "affinity":
        return None
    return (
        "metric='affinity' gives the weights of pairs, and weights do not say how far a sample is "
        "from the training samples. Use a metric of rows, or metric='precomputed' with distances."
    )


class AffinityPairs:
    """A graph whose entries are weights, a `PairSource`.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n)
        Weights, at least 0. The stored entries of a sparse matrix are the pairs, zeros included.
    """

    def __init__(self, X):
        _check_weights(X.data if sp.issparse(X) else X)
        self._graph, _ = as_adjacency(X, quantity="weight")
        self._known = KnownRows(X)
        self.n_items = X.shape[0]

    def pairs(self):
        return self._graph

    def extended(self, X):
        _check_weights(X.data if sp.issparse(X) else X)
        return AffinityPairs(with_further_rows(self._graph, X))

    def drop_training_state(self):
        """Nothing to drop: `extended` needs the whole graph."""

    def of_unseen(self, X):
        rows = as_csr(X)
        if rows.shape[1] != self.n_items:
            raise ValueError(
                "The weights of unseen samples must have one column for each of the "
                f"{self.n_items} training samples; got shape {rows.shape}."
            )
        _check_weights(rows.data)
        counts = np.diff(rows.indptr)
        q, k = rows.shape[0], max(1, int(counts.max(initial=0)))
        column = np.arange(len(rows.data)) - np.repeat(rows.indptr[:-1], counts)
        at = np.repeat(np.arange(q), counts), column
        indices, weights = np.full((q, k), -1), np.zeros((q, k))
        indices[at], weights[at] = rows.indices, rows.data
        return indices, weights, np.where(counts > 0, self._known.find(X), -1)

    def of_others(self, X, own):
        """Indices and weights of `of_unseen` for training rows, without the rows themselves."""
        indices, weights, _ = self.of_unseen(X)
        itself = indices == own[:, None]
        return np.where(itself, -1, indices), np.where(itself, 0.0, weights)


class WeightedPairs:
    """Pairs that attract each other by their weights, and pairs that repel each other.

    Parameters
    ----------
    source : PairSource
    functions : tuple of two
        The attractive penalty, and the repulsive one or None.
    fraction : float
        Number of repulsive pairs for each attractive one, if they are sampled.
    repulsion : {"sampled", "all", "normalized"}
        Pairs that repel.
    repulsive_weight : float
        Their weight.

    Attributes
    ----------
    source : PairSource
    functions : tuple of two
    separates : bool
        Whether samples that coincide at the start must be moved apart first.
    """

    def __init__(self, source, functions, fraction, repulsion, repulsive_weight):
        self.source, self.functions, self._fraction = source, functions, fraction
        self._kind = "none" if functions[1] is None else repulsion
        self._weight = repulsive_weight
        self.separates = functions[1] is not None
        self._total = None

    def pairs(self, random_state, rng):
        """The pairs of the problem; `random_state` draws the repulsive ones."""
        graph = self.source.pairs()
        sampled = self.functions[1] if self._kind == "sampled" else None
        edges, weights = signed_pairs(graph, sampled, self._fraction, random_state)
        weights[weights < 0] *= self._weight
        return Pairs(edges, None, weights=weights)

    def extended(self, X):
        """The pairs of the training samples and of further samples."""
        other = copy.copy(self)
        other.source = self.source.extended(X)
        return other

    def repulsion(self):
        """Arguments of an anchored problem for the repulsion of all pairs."""
        if self._kind in ("all", "normalized"):
            return {"repulsion": self._kind, "repulsive_weight": self._weight}
        return {}

    def choose_items(self, problem, embedding, random_state, rng):
        """Choose the training samples that repel unseen samples.

        Parameters
        ----------
        problem : AnchoredProblem
            The problem that was solved.
        embedding : ndarray of shape (n, m)
            Its solution.
        random_state : RandomState
            Draws these samples.
        rng : numpy.random.Generator
            Not used.
        """
        n, weights = self.source.n_items, problem.weights
        if self._kind in ("all", "normalized"):
            # an extension repels as before, whatever its own weight would be
            self._kind, self._weight = "all", problem.effective_repulsive_weight(embedding)
            self._repulsive = RepulsiveSamples.all(self._weight)
            return
        if self._total is None:
            self._total = mean_repulsion(weights, n)
        self._repulsive = RepulsiveSamples.some_of(n, self._total, random_state)

    def drop_training_state(self):
        """Keep only what unseen and further samples need."""
        self.source.drop_training_state()
        self.functions = copy.deepcopy(self.functions)  # the user may change them after fit

    def place(self, X, embedding, n_threads):
        """Coordinates of unseen samples, float64."""
        indices, weights, twin = self.source.of_unseen(X)
        repulsion = self._repulsive.arguments(embedding, self.functions[1], None, n_threads)

        def coordinates(rows):
            near = indices[rows], weights[rows]
            return place_by_neighbors(
                embedding, *near, *self.functions, **repulsion, n_threads=n_threads
            )

        return with_twins(coordinates, twin, embedding)

    def place_others(self, X, own, embedding, n_threads):
        """Coordinates of the training samples `own`, were they unseen ones."""
        near = self.source.of_others(X, own)
        repulsion = self._repulsive.arguments(embedding, self.functions[1], None, n_threads)
        itself = own, self._repulsive.own_weights(own, None)
        return place_by_neighbors(
            embedding, *near, *self.functions, **repulsion, own=itself, n_threads=n_threads
        )

    def support(self, X):
        """The support of unseen samples, by their neighbours."""
        return self.source.support(X)

    def support_of_fitted(self):
        """The support of the training samples, each as if it were unseen."""
        return self.source.support_of_fitted()


class DistancePairs:
    """Pairs that have original distances.

    Parameters
    ----------
    source : DistanceSource
    loss : Loss
    max_distance : float or None
        Pairs farther apart are left out.

    Attributes
    ----------
    source : DistanceSource
    functions : Loss
    separates : bool
        Whether samples that coincide at the start must be moved apart first.
    """

    separates = True

    def __init__(self, source, loss, max_distance):
        self.source, self.functions = source, loss
        self._max_distance = np.inf if max_distance is None else max_distance
        self._first = 0  # every pair has an item with at least this index

    def pairs(self, random_state, rng):
        """The pairs of the problem; `rng` draws them if there are too many."""
        if self._first:
            pairs = self.source.pairs_from(self._first, MAX_PAIRS, rng)
        else:
            pairs = selected_pairs(self.source, None, MAX_PAIRS, rng)
        n = self.source.n_items
        edges = all_edges(n) if pairs.edges is None else pairs.edges
        distances = pairs.distances.astype(np.float64)
        near = distances <= self._max_distance
        edges, distances = edges[near], distances[near]
        return Pairs(edges, distances, component_labels(edges, n), weights=np.ones(len(edges)))

    def extended(self, X):
        """The pairs that have at least one further sample."""
        other = copy.copy(self)
        other._first, other.source = self.source.n_items, self.source.extended(X)
        return other

    def repulsion(self):
        """No argument of an anchored problem: no pairs repel."""
        return {}

    def choose_items(self, problem, embedding, random_state, rng):
        """Choose the training samples whose distances place unseen samples.

        Parameters
        ----------
        problem : AnchoredProblem
            Not used.
        embedding : ndarray of shape (n, m)
            Not used.
        random_state : RandomState
            Not used.
        rng : numpy.random.Generator
            Draws these samples.
        """
        self._items = self.source.choose_landmarks(_MAX_LANDMARKS, rng)

    def drop_training_state(self):
        """Keep only what unseen and further samples need."""
        self.source.drop_training_state()
        self.functions = copy.deepcopy(self.functions)  # the user may change it after fit

    def place(self, X, embedding, n_threads):
        """Coordinates of unseen samples, float64."""
        parts = blocks_of_rows(X, len(self._items))
        return np.concatenate([self._place(part, None, embedding, n_threads) for part in parts])

    def place_others(self, X, own, embedding, n_threads):
        """Coordinates of the training samples `own`, were they unseen ones."""
        n_parts = max(1, len(own) // _ROWS_AT_ONCE)
        parts = np.array_split(np.arange(len(own)), n_parts)
        placed = [self._place(rows_of(X, k), own[k], embedding, n_threads) for k in parts]
        return np.concatenate(placed)

    def support(self, X):
        """The support of unseen samples, by their nearest landmarks."""
        tables, parts = self._tables(), blocks_of_rows(X, len(self._items))
        return np.concatenate([tables.support(self._distances(part)[0]) for part in parts])

    def support_of_fitted(self):
        """The support of the landmarks, each as if it were unseen."""
        return self._tables().support_of_fitted()

    def _tables(self):
        return self.source.landmark_tables().within(self._max_distance)

    def _distances(self, X):
        """Distances to the landmarks, infinite beyond `max_distance`, and twins."""
        D, twin = self.source.of_unseen(X)
        D[self._max_distance < D] = np.inf
        return D, twin

    def _place(self, X, own, embedding, n_threads):
        D, twin = self._distances(X)
        if own is not None:
            D[own[:, None] == self._items] = np.inf
            twin = np.full(len(own), -1)
        landmarks = embedding[self._items]

        def coordinates(rows):
            return place_by_distances(landmarks, D[rows], self.functions, n_threads=n_threads)

        return with_twins(coordinates, twin, embedding)


def _check_weights(weights):
    for wrong, what in ((np.isnan(weights), "NaN"), (np.isinf(weights), "infinity")):
        if wrong.any():
            raise ValueError(
                f"X holds weights, but contains {what}. Set the weight of a pair that does not "
                "exist to 0, or leave the pair out of a sparse matrix."
            )
    if (weights < 0).any():
        raise ValueError(
            f"Negative values in data: weights must be at least 0; got {weights.min()}."
        )
