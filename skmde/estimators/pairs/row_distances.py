"""Original distances between rows of data."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from skmde._utils.validation import check_magnitude
from skmde.estimators.pairs.base import (
    Pairs,
    is_in_range,
    kept_dtype,
    sample_at_most,
    sample_items,
    with_weights,
)
from skmde.estimators.samples.support import LandmarkTables
from skmde.preprocessing.neighbors.known_rows import KeptRows
from skmde.preprocessing.pairs.distances import MetricDistances
from skmde.preprocessing.pairs.sampling import edges_from, sample_edges


class RowDistances:
    """Distances between rows of data under a metric, a `DistanceSource`.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    metric : str or callable
    metric_params : dict or None
    n_jobs : int or None
    """

    def __init__(self, X, metric, metric_params, n_jobs):
        self._options = metric, metric_params, n_jobs
        self._table = MetricDistances(*self._options).fit(X)
        self._known = KeptRows(X)
        self.n_items = self._table.n_samples_
        self.is_euclidean = self._table.is_euclidean

    def pairs(self, max_pairs, rng, weights=None):
        n = self.n_items
        if weights is not None:
            upper = sp.triu(weights, 1, format="coo")
            kept = sample_at_most(np.flatnonzero(upper.data > 0), max_pairs, rng)
            edges = np.stack([upper.row[kept], upper.col[kept]], axis=1).astype(np.int32)
            return with_weights(self.of_pairs(edges), upper.data[kept], n)
        if n * (n - 1) // 2 <= max_pairs:
            return Pairs(None, self._in_kept_dtype(n * (n - 1) // 2, self._table.all_pairs))
        return self.of_pairs(sample_edges(n, int(max_pairs), rng))

    def of_pairs(self, edges):
        """Distances of the given pairs."""
        take = partial(self._table.pairs, edges)
        return Pairs(edges, self._in_kept_dtype(len(edges), take))

    def pairs_from(self, first, max_pairs, rng):
        return self.of_pairs(edges_from(first, self.n_items, max_pairs, rng))

    def extended(self, X):
        return RowDistances(self._known.joined(X), *self._options)

    def _in_kept_dtype(self, n_pairs, take):
        found = take(kept_dtype(n_pairs))
        if not is_in_range(found):  # outside the range of float32
            found = take(np.float64)
        return self._checked(found)

    def _checked(self, found, small=True):
        check_magnitude(found, f"distances under the metric {self._options[0]!r}", small=small)
        return found

    def from_items(self, items):
        return self._checked(self._table.between(items, slice(None)))

    def choose_landmarks(self, most, rng, among=None):
        landmarks = sample_items(self.n_items, most, rng, among)
        self._to_landmarks = self._table.restricted(landmarks)
        return landmarks

    def of_unseen(self, X):
        D = self._checked(self._to_landmarks.from_rows(X, slice(None)), small=False)
        return D, self._known.find(X)

    def landmark_tables(self):
        return LandmarkTables.of(self._to_landmarks.between(slice(None), slice(None)))

    def drop_training_state(self):
        self._table = None
