"""The index of nearest neighbours: it chooses the search, prepares rows and converts distances."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from skmde._utils.random import private_generator
from skmde._utils.rows import as_csr
from skmde._utils.sklearn_compat import check_array
from skmde.preprocessing.neighbors.backends.faiss import is_installed
from skmde.preprocessing.neighbors.backends.sparse import has_sparse_form
from skmde.preprocessing.neighbors.backends.table import SEARCHES, SearchOptions
from skmde.preprocessing.neighbors.directions import SearchWithZeroRows
from skmde.preprocessing.neighbors.metrics.counts import is_counted
from skmde.preprocessing.neighbors.metrics.fitted import (
    FittedMetric,
    largest_distance,
    skips_missing,
)
from skmde.preprocessing.neighbors.metrics.names import (
    agrees_with_pynndescent,
    check_metric,
    euclidean_form,
    is_angular,
    known_to_sklearn,
)
from skmde.preprocessing.neighbors.radius import within_radius
from skmde.preprocessing.neighbors.selection import check_count, sort_rows
from skmde.preprocessing.neighbors.spaces import AngularSpace, MetricSpace, VectorSpace

__all__ = ["ALGORITHMS", "NeighborIndex", "check_rows"]

ALGORITHMS = ("auto", *(name for name, kind in SEARCHES.items() if kind.is_public))

# Limits on pairs times features up to which "auto" compares all pairs. On two cores:
_CHEAP_EUCLIDEAN = 4e10  # the compiled loop takes a second or two
_CHEAP_FOR_GPU = 1e9  # where a GPU could take over
_AS_SLOW_AS_COMPILING = 4e11  # it takes half a minute, as long as pynndescent's compilation
_CHEAP_OTHER = 2e10  # scikit-learn's distances take about half a minute
# Limit on the nanoseconds of comparing all pairs by products, as long as pynndescent compiles. Each
# pair takes some, and each feature that two sparse rows share, or that two dense rows have.
_CHEAP_PRODUCTS = 3e10
_NS_EUCLIDEAN = (5.0, 1.0, 0.3)
_NS_COUNTED = (40.0, 8.0, 0.1)
# From this number of pairs on, a tree is faster, for few features.
_MANY_FOR_TREE = 1e6
# Limit on pairs if scikit-learn calls a Python function for each pair.
_CHEAP_CALLABLE = 5e6

# Sparse data with at most this many cells, zeros included, may be searched as dense data.
_SMALL_DENSE = 1 << 25
# Comparing two sparse rows takes about 10 ns, and two dense ones 0.3 ns for each feature. With so
# many features, so few pairs and so small a share of nonzero cells, rows stay sparse.
_MANY_FEATURES, _FEW_PAIRS, _MOSTLY_ZERO = 256, 1e8, 0.05


def check_rows(X, metric="euclidean"):
    """`X` as a numeric array of rows, dense or CSR; finite, unless the metric skips NaN."""
    finite = "allow-nan" if skips_missing(metric) else True
    return check_array(X, accept_sparse="csr", dtype="numeric", ensure_all_finite=finite)


def few_cells(X):
    """Whether a sparse matrix is so small that it may be made dense."""
    return X.shape[0] * X.shape[1] <= _SMALL_DENSE


def stays_sparse(X, metric, metric_params):
    """Whether comparing all pairs of sparse rows is faster than that of dense ones."""
    n, d = X.shape
    return (
        d >= _MANY_FEATURES
        and X.nnz <= _MOSTLY_ZERO * n * d
        and n * n <= _FEW_PAIRS
        and bool(euclidean_form(metric, metric_params) or has_sparse_form(metric, metric_params))
    )


def as_searched(X, dense):
    """`X` as a dense array or as a sparse one."""
    if dense:
        return X.toarray() if sp.issparse(X) else X
    return X if sp.issparse(X) else as_csr(X)


def _products_are_cheap(X, per_pair, per_shared, per_feature):
    """Whether comparing all pairs of rows by products takes less time than pynndescent."""
    n, d = X.shape
    if sp.issparse(X):
        owners = np.bincount(X.indices, minlength=d).astype(np.float64)
        rest = per_shared * (owners @ owners)
    else:
        rest = per_feature * n * n * d
    return per_pair * n * n + rest <= _CHEAP_PRODUCTS


class NeighborIndex:
    """Index that finds the nearest training rows of training rows and of unseen rows.

    The neighbours of a row depend on neither the other rows of a call, nor the number of threads,
    nor the process. An index may be pickled, and several threads may use it at once.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn or pynndescent, or a function of two rows.
    metric_params : dict, default=None
        Further arguments of the metric.
    algorithm : {"auto", "exact", "faiss", "pynndescent", "torch"}, default="auto"
        Search algorithm; see :func:`~skmde.preprocessing.nearest_neighbors`.
    n_neighbors : int, default=15
        Typical number of neighbours of a query. "pynndescent" builds its graph, and "faiss" chooses
        the extent of its search, for this number.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the approximate searches.
    n_jobs : int, default=None
        Number of threads. None uses as many as torch.
    device : str or torch.device, default=None
        Device of the "torch" algorithm: a device that torch knows, or "auto" for a CUDA GPU if
        there is one. With a CUDA device, the algorithm "auto" chooses "torch" for dense data and
        a Euclidean, cosine or correlation metric, unless "exact" is fast.

    Attributes
    ----------
    algorithm_ : str
        The chosen algorithm; "ball_tree" is one that only "auto" chooses.
    n_samples_ : int
        Number of training rows.

    See Also
    --------
    nearest_neighbors : The nearest other rows of each row.
    neighbor_graph : The symmetric weighted graph of a neighbours table.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import NeighborIndex
    >>> index = NeighborIndex().fit(np.array([[0.0], [1.0], [3.0]]))
    >>> index.kneighbors(np.array([[0.9]]), 2)[0].tolist()
    [[1, 0]]
    """

    def __init__(
        self,
        *,
        metric="euclidean",
        metric_params=None,
        algorithm="auto",
        n_neighbors=15,
        random_state=None,
        n_jobs=None,
        device=None,
    ):
        kind = SEARCHES.get(algorithm) if isinstance(algorithm, str) else None
        if algorithm != "auto" and not (kind and kind.is_public):
            raise ValueError(f"algorithm must be one of {ALGORITHMS}, got {algorithm!r}.")
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = None if device is None else str(device)

    def fit(self, X):
        """Build the index.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        self : NeighborIndex
        """
        check_metric(self.metric)
        X = check_rows(X, self.metric)
        self.n_samples_, self.n_features_ = X.shape
        self._dense = not sp.issparse(X) or self._is_made_dense(X)
        X = self._as_rows(X)
        self._metric = FittedMetric(self.metric, self.metric_params, X)
        X = self._metric.rows(X)
        self.algorithm_ = self._choose(X)
        seed = int(private_generator(self.random_state).integers(np.iinfo(np.int32).max))
        self._space = self._make_space(X)
        rows, zero = self._space.rows(X)
        if zero is None:
            self._search = self._make_search(rows, seed)
        else:
            with_direction = rows[~zero] if zero.any() else rows
            inner = self._make_search(with_direction, seed) if with_direction.shape[0] else None
            self._search = SearchWithZeroRows(inner, zero)
        return self

    def kneighbors(self, X, k, exclude_self=False):
        """The nearest training rows of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), or None
            Queries. None means the training rows, each without itself.
        k : int
            At least 1. Columns beyond the number of training rows contain missing entries.
        exclude_self : bool, default=False
            True means that row ``i`` of `X` is training row ``i``, and leaves it out of its own
            neighbours.

        Returns
        -------
        indices : ndarray of shape (n_queries, k), int32
            -1 where there is no neighbour.
        distances : ndarray of shape (n_queries, k), float64
            Infinity where there is no neighbour.

        Raises
        ------
        ValueError
            If `X` has another number of features, or `k` is not an integer of at least 1.
        """
        check_count(k, "k")
        if X is None:
            indices, values = self._search.search_training(k, self.n_jobs)
        else:
            X = self._as_rows(check_rows(X, self.metric))
            if X.shape[1] != self.n_features_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but the index was built with "
                    f"{self.n_features_} features."
                )
            exclude = np.full(X.shape[0], -1, np.int32)
            if exclude_self:
                exclude = np.arange(X.shape[0], dtype=np.int32)
            rows, zero = self._space.rows(self._metric.unseen_rows(X))
            if zero is None:
                indices, values = self._search.search(rows, k, exclude, self.n_jobs)
            else:
                indices, values = self._search.search(rows, zero, k, exclude, self.n_jobs)
        distances = self._space.distances(values)
        largest = largest_distance(self.metric)
        if largest is not None:  # rows that share nothing are no neighbours
            distances = np.where(distances < largest, distances, np.inf)
        return sort_rows(indices, distances)

    def radius_neighbors(self, max_distance):
        """All other training rows within a distance of each training row.

        Parameters
        ----------
        max_distance : float
            In the units of the metric.

        Returns
        -------
        indices : ndarray of shape (n_samples, k), int32
            The largest number of neighbours of any row is k. -1 where there is no neighbour.
        distances : ndarray of shape (n_samples, k), float64

        Raises
        ------
        ValueError
            If the tables would be too large.
        """
        return within_radius(partial(self.kneighbors, None), max_distance, self.n_samples_)

    @property
    def metric_depends_on_rows(self):
        """Whether the training rows determine parameters of the metric."""
        return self._metric.depends_on_rows

    def _is_made_dense(self, X):
        """Whether sparse training rows are searched as a dense array."""
        compares_all = self.algorithm in ("auto", "exact")
        stays = compares_all and stays_sparse(X, self.metric, self.metric_params)
        return few_cells(X) and not stays

    def _as_rows(self, X):
        """`X`, dense or sparse as the training rows are searched."""
        return as_searched(X, self._dense)

    def _choose(self, X):
        """The algorithm. Raise ValueError if it does not support the metric or the data."""
        n, d = X.shape
        chosen, metric, sparse = self.algorithm, self._metric.name, sp.issparse(X)
        euclidean = self._metric.form is not None
        fast = euclidean and not sparse
        if chosen != "auto" and SEARCHES[chosen].needs_dense_euclidean and not fast:
            raise ValueError(
                f"algorithm={chosen!r} needs dense data and a Euclidean, cosine or correlation "
                f"metric, got metric={self.metric!r}{' and sparse data' if sparse else ''}. "
                'Use algorithm="auto".'
            )
        if chosen == "pynndescent" and not euclidean:
            if not agrees_with_pynndescent(metric, self._metric.params, sparse):
                raise ValueError(
                    f"algorithm='pynndescent' does not support metric={self.metric!r} with "
                    f"metric_params={self.metric_params!r}{' and sparse data' if sparse else ''}. "
                    'Use algorithm="auto".'
                )
        if chosen != "auto":
            return chosen
        if fast:
            work = n * n * max(d, 16)
            if self._device() != "cpu":
                return "exact" if work <= _CHEAP_FOR_GPU else "torch"
            if work <= _CHEAP_EUCLIDEAN:
                return "exact"
            if is_installed():
                return "faiss"
            return "exact" if work <= _AS_SLOW_AS_COMPILING else "pynndescent"
        if euclidean:
            return "exact" if _products_are_cheap(X, *_NS_EUCLIDEAN) else "pynndescent"
        if not sparse and n * n >= _MANY_FOR_TREE and self._has_tree(X):
            return "ball_tree"
        if is_counted(metric, self._metric.params):
            cheap = _products_are_cheap(X, *_NS_COUNTED)
        elif callable(metric) or not known_to_sklearn(metric):
            cheap = n * n <= _CHEAP_CALLABLE
        else:
            cheap = n * n * max(X.nnz / n if sparse else d, 16) <= _CHEAP_OTHER
        if cheap or not agrees_with_pynndescent(metric, self._metric.params, sparse):
            return "exact"
        return "pynndescent"

    def _has_tree(self, X):
        """Whether a tree finds the same neighbours as comparing all pairs."""
        # Imported here because few searches need it.
        from skmde.preprocessing.neighbors.backends.trees import obeys_triangles, suits_tree

        metric, params = self._metric.name, self._metric.params
        if not suits_tree(X, metric, params):
            return False
        return not callable(metric) or obeys_triangles(X.astype(np.float64), metric, params)

    def _device(self):
        if self.device is None:
            return "cpu"
        # Imported here because only this algorithm needs torch.
        from skmde._utils.device import resolve_device

        return str(resolve_device(self.device))

    def _make_space(self, X):
        approximate = SEARCHES[self.algorithm_].is_approximate
        dtype = np.float32 if approximate else np.float64
        form = self._metric.form
        if form is None:
            return MetricSpace(X, self._metric.name, dtype)
        if is_angular(form):
            return AngularSpace(form, dtype)
        return VectorSpace(X, form, np.float32 if approximate else None)

    def _make_search(self, rows, seed):
        kind, form = SEARCHES[self.algorithm_], self._metric.form is not None
        options = SearchOptions(
            metric=None if form else self._metric.name,
            metric_params=None if form else self._metric.params,
            n_neighbors=self.n_neighbors,
            seed=seed,
            device=self._device() if kind.uses_device else "cpu",
        )
        return kind.build(rows, options)
