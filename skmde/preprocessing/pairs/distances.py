"""Distances between rows of data: of all pairs, of some pairs, and from unseen rows.

The data are first centred and scaled (:mod:`skmde._linalg.scaling`), so neither a large mean nor an
extreme scale causes rounding errors. Distances of Euclidean form
(:mod:`skmde.preprocessing.neighbors.metrics`) are sums of squared differences, so equal rows have
distance exactly 0. All other metrics are computed by scikit-learn or pynndescent.
"""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp

from skmde._utils.threads import run_rows
from skmde.preprocessing.neighbors.backends.kernels import all_squares, paired_squares
from skmde.preprocessing.neighbors.backends.pairwise import PairwiseSearch, squared_differences
from skmde.preprocessing.neighbors.index import as_searched, check_rows, few_cells
from skmde.preprocessing.neighbors.metrics.fitted import FittedMetric
from skmde.preprocessing.neighbors.metrics.names import check_metric, is_angular
from skmde.preprocessing.neighbors.spaces import AngularSpace, MetricSpace, VectorSpace
from skmde.preprocessing.pairs.sampling import checked_edges

__all__ = ["MetricDistances", "pair_distances"]

_BLOCK_ENTRIES = 1 << 20
_PAIRS = 1 << 16
_AT_ONE = 2.0  # squared Euclidean distance of unit vectors whose cosine distance is 1


def pair_distances(
    X, edges=None, *, metric="euclidean", metric_params=None, n_jobs=None, dtype=np.float64
):
    """Distances between rows of data, for all pairs or for some pairs.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    edges : array-like of shape (p, 2), int, default=None
        Pairs of rows. None means all pairs, in the order of
        :func:`~skmde.preprocessing.all_edges`.
    metric : str or callable, default="euclidean"
        A metric of scikit-learn or pynndescent, or a function of two rows.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_jobs : int, default=None
        Number of threads. None uses as many as torch.
    dtype : numpy dtype, default=float64
        Type of the distances.

    Returns
    -------
    distances : ndarray of shape (p,)
        In the units of the metric.

    Raises
    ------
    ValueError
        If the metric is unknown or does not support the data, or if a distance is NaN or infinite.

    See Also
    --------
    shortest_paths : Lengths of shortest paths between the nodes of an undirected graph.
    skmde.PreserveDistances : Minimum-distortion embedding that preserves original distances.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.2 (losses).

    Examples
    --------
    >>> from skmde.preprocessing import pair_distances
    >>> pair_distances([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]).round(3).tolist()
    [5.0, 1.0, 4.243]
    >>> pair_distances([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], [[2, 0]], metric="l1").tolist()
    [1.0]
    """
    table = MetricDistances(metric, metric_params, n_jobs).fit(X)
    return table.all_pairs(dtype) if edges is None else table.pairs(edges, dtype)


class MetricDistances:
    """Distances between the rows of a data set, and from unseen rows to them.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
    metric_params : dict, default=None
    n_jobs : int, default=None
        As for :func:`pair_distances`.
    """

    def __init__(self, metric="euclidean", metric_params=None, n_jobs=None):
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X):
        """Prepare the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        self : MetricDistances
        """
        check_metric(self.metric)
        X = check_rows(X, self.metric)
        self.n_samples_, self.n_features_ = X.shape
        self._dense = not sp.issparse(X) or few_cells(X)
        X = as_searched(X, self._dense)
        self._metric = FittedMetric(self.metric, self.metric_params, X)
        X, self._form = self._metric.rows(X), self._metric.form
        if self._form is None:
            self._space = MetricSpace(X, self._metric.name, np.float64)
        elif is_angular(self._form):
            self._space = AngularSpace(self._form, np.float64)
        else:
            self._space = VectorSpace(X, self._form, None)
        self._rows, self._zero = self._space.rows(X)
        self._pairwise_search = None
        if self._form is None:
            self._pairwise_search = PairwiseSearch(
                self._rows, self._metric.name, self._metric.params
            )
        return self

    @property
    def is_euclidean(self):
        """Whether the metric is the Euclidean distance of the rows as they are given."""
        return self._form == "euclidean" and self._metric.is_of_rows

    def all_pairs(self, dtype=np.float64):
        """Distances of all pairs, in the order of ``all_edges``: shape (n (n - 1) / 2,)."""
        n = self.n_samples_
        out = np.empty(n * (n - 1) // 2, dtype)

        def piece(start, stop):
            zero = None if self._zero is None else self._zero[start:stop]
            block = self._between(self._rows[start:stop], zero, slice(start, n))
            for i in range(start, stop):
                own = i * (2 * n - i - 1) // 2
                out[own : own + n - i - 1] = block[i - start, i - start + 1 :]

        # One row at a time: larger blocks would call a user's function for more unused entries.
        size = 1 if callable(self.metric) else max(1, _BLOCK_ENTRIES // n)
        run_rows(piece, n - 1, size, self._n_jobs())
        return out

    def pairs(self, edges, dtype=np.float64):
        """Distances of given pairs.

        Parameters
        ----------
        edges : array-like of shape (p, 2), int
        dtype : numpy dtype, default=float64

        Returns
        -------
        distances : ndarray of shape (p,)
        """
        edges = checked_edges(edges)
        if edges.max(initial=-1) >= self.n_samples_:
            raise ValueError(
                f"edges contains row {edges.max()}, but there are {self.n_samples_} rows, numbered "
                f"from 0 to {self.n_samples_ - 1}."
            )
        out = np.empty(len(edges), dtype)

        def piece(start, stop):
            i, j = edges[start:stop].T
            out[start:stop] = self._finished(
                self._paired(i, j), None if self._zero is None else self._zero[i] | self._zero[j]
            )

        run_rows(piece, len(edges), _PAIRS, self._n_jobs())
        return out

    def from_rows(self, X, items):
        """Distances from unseen rows to some of the fitted rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features)
        items : array-like of shape (r,), int, or slice
            Indices of the fitted rows.

        Returns
        -------
        distances : ndarray of shape (n_queries, r)
            The distances of a row do not depend on the other rows of `X`.
        """
        X = as_searched(check_rows(X, self.metric), self._dense)
        if X.shape[1] != self.n_features_:
            raise ValueError(f"X has {X.shape[1]} features, but {self.n_features_} were fitted.")
        rows, zero = self._space.rows(self._metric.unseen_rows(X))
        return self._in_pieces(rows, zero, items, self._rows[items].shape[0])

    def _in_pieces(self, rows, zero, items, n_items):
        out = np.empty((rows.shape[0], n_items))

        def piece(start, stop):
            lost = None if zero is None else zero[start:stop]
            out[start:stop] = self._between(rows[start:stop], lost, items)

        run_rows(piece, len(out), max(1, _BLOCK_ENTRIES // n_items), self._n_jobs())
        return out

    def between(self, items, others):
        """Distances between fitted rows.

        Parameters
        ----------
        items, others : array-like of int, or slice
            Indices of the fitted rows.

        Returns
        -------
        distances : ndarray of shape (n_items, n_others)
        """
        rows = self._rows[items]
        zero = None if self._zero is None else self._zero[items]
        return self._in_pieces(rows, zero, others, self._rows[others].shape[0])

    def restricted(self, items):
        """The same metric for a subset of the fitted rows.

        Its scaling and the parameters that depend on data remain those of all rows.

        Parameters
        ----------
        items : ndarray of shape (r,), int

        Returns
        -------
        distances : MetricDistances
            Row ``k`` of the result is row ``items[k]`` of this object.
        """
        fewer = copy.copy(self)
        fewer.n_samples_ = len(items)
        fewer._rows = self._rows[items]
        fewer._zero = None if self._zero is None else self._zero[items]
        if self._pairwise_search is not None:
            fewer._pairwise_search = copy.copy(self._pairwise_search)
            fewer._pairwise_search.rows = fewer._rows
        return fewer

    def _n_jobs(self):
        # A user's function may not be thread-safe.
        return 1 if callable(self.metric) else self.n_jobs

    def _between(self, queries, lost, items):
        """Distances from prepared rows to fitted rows; `lost` marks queries without a direction."""
        rows = self._rows[items]
        if self._pairwise_search is not None:
            values = self._pairwise_search.between(queries, rows)
        elif sp.issparse(rows):
            values = _sparse_squares(queries, rows)
        else:
            values = np.empty((len(queries), len(rows)))
            all_squares(np.ascontiguousarray(queries, np.float64), rows, values)
        without = None if lost is None else lost[:, None] | self._zero[items]
        return self._finished(values, without)

    def _paired(self, i, j):
        """Values of the pairs (i, j), before :meth:`_finished`."""
        if self._pairwise_search is not None:
            return self._paired_by_source(i, j)
        if sp.issparse(self._rows):
            return squared_differences(self._rows, self._rows, i, j)
        values = np.empty(len(i))
        paired_squares(self._rows, np.ascontiguousarray(i), np.ascontiguousarray(j), values)
        return values

    def _paired_by_source(self, i, j):
        values = np.empty(len(i))
        order = np.argsort(i, kind="stable")
        runs = np.split(order, np.flatnonzero(np.diff(i[order])) + 1)
        for run in runs:
            source = i[run[0]]
            values[run] = self._pairwise_search.between(self._rows[[source]], self._rows[j[run]])[0]
        return values

    def _finished(self, values, without_direction):
        """Distances in the metric's units, from values between prepared rows."""
        if without_direction is not None:
            values[without_direction] = _AT_ONE
        distances = self._space.distances(values)
        if not np.isfinite(distances).all():
            raise ValueError(
                f"The metric {self.metric!r} gives {np.count_nonzero(~np.isfinite(distances))} "
                "distances that are NaN or infinite. Choose another metric, or remove these rows."
            )
        return distances


def _sparse_squares(a, b):
    """Squared distances of sparse rows; from differences where the product formula cancels."""
    own = np.asarray(a.multiply(a).sum(axis=1)).ravel()[:, None]
    theirs = np.asarray(b.multiply(b).sum(axis=1)).ravel()
    squares = own + theirs - 2 * (a @ b.T).toarray()
    left, right = np.nonzero(squares <= 1e-6 * (own + theirs))
    squares[left, right] = squared_differences(a, b, left, right)
    return squares
