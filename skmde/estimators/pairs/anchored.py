"""The pairs of an anchored embedding: a graph of weights, or distances.

Each class answers two questions for :class:`AnchoredMDE`: which pairs the fitted samples form, and
where unseen samples go. A source of attraction (`AffinityPairs`, or `NeighborPairs` of
``_neighbor_pairs.py``) gives a graph of weights, and for unseen rows tables of fitted items and
weights. `DistancePairs` gives original
distances.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.known_rows import KnownRows
from skmde._utils.rows import blocks_of_rows
from skmde.core.placement.by_distances import place_by_distances
from skmde.estimators.pairs.pair_weights import selected_pairs
from skmde.preprocessing.graphs.adjacency import as_adjacency, with_further_rows
from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.pairs.sampling import all_edges

_MAX_PAIRS = 10_000_000
_MAX_ANCHORS = 1000  # fitted samples that place an unseen one by distances


class AffinityPairs:
    """A graph whose entries are weights.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n)
        Weights, at least 0; what a sparse one stores are the pairs, zeros included.
    """

    def __init__(self, X):
        _check_weights(X.data if sp.issparse(X) else X)
        self.graph, _ = as_adjacency(X, quantity="weight")
        self._known = KnownRows(X)

    def drop_training_state(self):
        """All of it is what further items need."""

    def extended(self, X):
        """The graph with further items, whose weights X holds, (q, n + q)."""
        _check_weights(X.data if sp.issparse(X) else X)
        return AffinityPairs(with_further_rows(self.graph, X))

    def of_unseen(self, X):
        """Items joined to unseen rows, their weights, and the fitted row that each equals."""
        n = len(self._known.rows)
        rows = sp.csr_array(X)
        if rows.shape[1] != n:
            raise ValueError(
                f"The weights of unseen samples must have one column for each of the {n} fitted "
                f"ones; got shape {rows.shape}."
            )
        _check_weights(rows.data)
        counts = np.diff(rows.indptr)
        q, k = rows.shape[0], max(1, int(counts.max(initial=0)))
        column = np.arange(len(rows.data)) - np.repeat(rows.indptr[:-1], counts)
        at = np.repeat(np.arange(q), counts), column
        indices, weights = np.full((q, k), -1), np.zeros((q, k))
        indices[at], weights[at] = rows.indices, rows.data
        return indices, weights, np.where(counts > 0, self._known.find(X), -1)


class DistancePairs:
    """Original distances, as :class:`PreserveDistances` takes them.

    Parameters
    ----------
    source : object of :mod:`skmde.estimators.pairs.distances`
    max_distance : float or None
        Pairs farther apart are left out.
    rng : numpy.random.Generator
    first : int, default=0
        Only pairs with an item from this on.

    Attributes
    ----------
    source : object
    edges, distances : ndarrays of shape (p, 2) and (p,)
    labels : ndarray of shape (n,)
        Which samples are joined by a chain of pairs.
    """

    def __init__(self, source, max_distance, rng, first=0):
        self.source = source
        if first:
            pairs = source.pairs_from(first, _MAX_PAIRS, rng)
        else:
            pairs, _ = selected_pairs(source, None, _MAX_PAIRS, rng)
        n = source.n_items
        self.distances = pairs.distances.astype(np.float64)
        self.edges = all_edges(n) if pairs.edges is None else pairs.edges
        self._max_distance = np.inf if max_distance is None else max_distance
        near = self.distances <= self._max_distance
        self.edges, self.distances = self.edges[near], self.distances[near]
        ones = np.ones(len(self.edges), np.int8)
        _, self.labels = connected_components(sp.csr_array((ones, self.edges.T), shape=(n, n)))

    def drop_training_state(self, rng):
        """Choose the samples that place unseen ones, and keep only what further items need."""
        self._anchors = self.source.choose_anchors(_MAX_ANCHORS, rng)
        self.edges = self.distances = self.labels = None

    def extended(self, X, rng):
        """The pairs of the fitted items and further ones that have one of these."""
        source, n = self.source, self.source.n_items
        return DistancePairs(source.extended(X), self._max_distance, rng, first=n)

    def place(self, X, embedding, loss, n_threads):
        """Coordinates of unseen samples, float64."""
        parts = blocks_of_rows(X, len(self._anchors))
        return np.concatenate([self._place(part, embedding, loss, n_threads) for part in parts])

    def _place(self, X, embedding, loss, n_threads):
        D, twin = self.source.of_unseen(X)
        D[self._max_distance < D] = np.inf
        same = twin >= 0
        coordinates = np.empty((len(D), embedding.shape[1]))
        coordinates[same] = embedding[twin[same]]
        if not same.all():
            anchors = embedding[self._anchors]
            coordinates[~same] = place_by_distances(anchors, D[~same], loss, n_threads=n_threads)
        return coordinates


def _check_weights(weights):
    for wrong, what in ((np.isnan(weights), "NaN"), (np.isinf(weights), "infinity")):
        if wrong.any():
            raise ValueError(
                f"X contains {what}, but holds weights. Set the weights of pairs that do not "
                "exist to 0, or leave them out of a sparse matrix."
            )
    if (weights < 0).any():
        raise ValueError(
            f"Negative values in data: weights must be at least 0; got {weights.min()}."
        )
