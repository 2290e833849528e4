"""Nearest neighbours as pairs that attract each other."""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp

from skmde._utils.rows import count_rows
from skmde.estimators.neighborhoods.weights import NeighborWeights
from skmde.estimators.samples.support import support_by_tables, support_of_tables
from skmde.preprocessing.dimension import intrinsic_dimension
from skmde.preprocessing.graphs.weights import near_of_tables
from skmde.preprocessing.neighbors.metrics.names import is_squared
from skmde.preprocessing.neighbors.tables import NeighborTables, SimilarityTables


def default_n_neighbors(n_samples):
    """PyMDE's rule: 1% of all pairs, clipped to 5 to 15 neighbours and to ``n_samples - 1``."""
    return max(1, min(max(min(15, int(0.01 * (n_samples - 1) / 2)), 5), n_samples - 1))


def many_neighbors(n_samples):
    """15, but at most a tenth of the samples; at least 5, and at most ``n_samples - 1``."""
    return max(1, min(max(5, min(15, n_samples // 10)), n_samples - 1))


def holds_neighbors(X):
    """Whether precomputed distances say which samples are neighbours.

    Tables and sparse matrices do, unless they hold the distances of all pairs, in both directions.
    Then they are a dense matrix in another form, and must not mean anything else.

    Parameters
    ----------
    X : ndarray, sparse matrix of shape (n, n), or pair of arrays of shape (n, k)
    """
    if isinstance(X, tuple):
        indices, distances = X
        present = (indices >= 0) & np.isfinite(distances)
        present &= indices != np.arange(len(indices))[:, None]
        return not (present.sum(axis=1) >= len(indices) - 1).all()
    if not sp.issparse(X):
        return False
    n = X.shape[0]
    if X.nnz < n * (n - 1):
        return True
    graph = sp.coo_array(sp.csr_array(X))  # without duplicates
    present = np.isfinite(graph.data) & (graph.row != graph.col)
    return int(present.sum()) < n * (n - 1)


class NeighborPairs:
    """Nearest neighbours, a `PairSource`.

    Parameters
    ----------
    X : ndarray, sparse matrix, or pair of arrays
        Checked input, as :class:`PreserveNeighbors` takes it.
    n_neighbors : int or None
    max_distance : float, array-like of shape (n,), or None
    metric : str or callable
    default : callable, default=default_n_neighbors
        The number of neighbours for a number of samples. It applies if neither `n_neighbors` nor
        `max_distance` is given, unless X holds neighbours.
    weights : NeighborWeights, default=None
        Weights of pairs; None means 2 for mutual neighbours and 1 for others.
    **search : dict
        Further arguments of :func:`~skmde.preprocessing.nearest_neighbors`.

    Attributes
    ----------
    n_neighbors : int
        As given, and less than the number of items; or the mean number of neighbours of an item.
    """

    def __init__(
        self,
        X,
        n_neighbors,
        max_distance,
        *,
        metric,
        default=default_n_neighbors,
        weights=None,
        **search,
    ):
        given = n_neighbors
        named = metric if isinstance(metric, str) else None
        as_stored = named in ("precomputed", "affinity") and holds_neighbors(X)
        if n_neighbors is None and max_distance is None and not as_stored:
            n_neighbors = default(count_rows(X))
        if named == "affinity":
            tables = SimilarityTables(X, n_neighbors, max_distance=max_distance)
        else:
            search.update(metric=metric, max_distance=max_distance)
            tables = NeighborTables(X, n_neighbors, **search)
        self._has_lengths = named != "affinity"
        self._is_squared = is_squared(metric)
        self._weights = NeighborWeights() if weights is None else weights
        self._use(tables, search.get("device"))
        if given is None:
            counts = np.count_nonzero(tables.indices >= 0, axis=1)
            given = max(1, int(np.ceil(np.mean(counts))))
        self.n_neighbors = min(given, max(self.n_items - 1, 1))

    def _use(self, tables, device=None):
        self._tables, self.n_items = tables, len(tables.indices)
        near = near_of_tables(tables.indices, tables.distances)
        self._graph = self._weights.graph(near, device)

    def pairs(self):
        return self._graph

    def lengths(self):
        """Symmetric graph of the lengths between neighbours, in the largest as the unit; above 0.

        A length is the distance, or its root if the metric is the square of a distance.
        """
        indices, distances = self._tables.indices, self._tables.distances
        present = (indices >= 0) & np.isfinite(distances)
        rows = np.repeat(np.arange(self.n_items), present.sum(axis=1))
        values = distances[present].astype(np.float64)
        values /= values.max(initial=0.0) or 1.0
        values = np.maximum(np.sqrt(values) if self._is_squared else values, 1e-9)
        shape = (self.n_items, self.n_items)
        directed = sp.csr_array((values, (rows, indices[present])), shape=shape)
        return directed.maximum(directed.T).tocsr()

    def dimension(self):
        """Intrinsic dimension of the samples, NaN if there are too few distances, or none."""
        if not self._has_lengths:
            return np.nan
        dimension = intrinsic_dimension(self._tables.distances)
        return 2 * dimension if self._is_squared else dimension

    def extended(self, X):
        other = copy.copy(self)
        other._use(self._tables.extended(X))
        return other

    def drop_training_state(self):
        self._graph = None

    def support(self, X):
        """Mean reach of each unseen row's neighbours, divided by the row's own reach; at most 1."""
        return support_by_tables(self._tables, X, self.n_neighbors)

    def support_of_fitted(self):
        """The support that each fitted sample would have, were it an unseen one."""
        # the dimension by which their distances grow, be these squares or not
        dimension = intrinsic_dimension(self._tables.distances)
        return support_of_tables(self._tables, self.n_neighbors, dimension)

    def nearest(self, X, k):
        """Indices of the k nearest samples of each unseen row, -1 where there are fewer."""
        return self._tables.of_unseen(X, min(k, self.n_items))[0]

    def of_others(self, X, own):
        """As `of_unseen`, for training rows, without the rows themselves.

        Parameters
        ----------
        X : ndarray, sparse matrix or pair of ndarray
            The rows, in the form in which they were given.
        own : ndarray of shape (q,), int
            Their indices.

        Returns
        -------
        indices, weights : ndarrays of shape (q, k)
        """
        indices, distances = self._tables.of_others(X, own, self.n_neighbors)
        return indices, self._weights_of(indices, distances)

    def of_unseen(self, X):
        indices, distances, twin = self._tables.of_unseen(X, self.n_neighbors)
        others = np.where(twin[:, None] >= 0, np.inf, distances)  # a twin needs no pairs
        return indices, self._weights_of(indices, others), twin

    def _weights_of(self, indices, distances):
        weights = self._weights.of_pairs(distances, distances <= self._tables.reach[indices])
        return np.where(indices >= 0, weights, 0.0)
