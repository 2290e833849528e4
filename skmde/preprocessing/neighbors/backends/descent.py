"""Approximate neighbours under any metric of pynndescent.

pynndescent compiles for half a minute, in some versions in each new process. So this backend is
for data that no other backend supports well: many rows and a metric that is not of Euclidean form.
The graph of pynndescent depends on the number of threads, so it is always built with one thread.
Its index contains scratch memory and a random state. A lock, and a fresh copy of the random state
for each query, make the result of a query independent of other queries and calls.
"""

from __future__ import annotations

import copyreg
import inspect
import threading
import warnings

import numpy as np

from skmde.preprocessing.neighbors.backends.base import RowSearch
from skmde.preprocessing.neighbors.selection import drop_self, sort_rows

__all__ = ["DescentSearch"]

# A wider graph than wanted, and more candidates per step, find more of the true neighbours. Of
# 11,000 Gaussian rows with 32 features and their 15 nearest: 0.99 instead of 0.85, in twice the
# time (0.6 instead of 0.3 s on one core, beside the compilation).
_WIDTH = 1.5  # neighbours in the graph for each wanted one
_LEAST_WIDTH = 24
_CANDIDATES = 60
_EPSILON = 0.2  # how far beyond the nearest a query looks; pynndescent's own 0.1 finds 0.96

# Neither numba's own threads nor an index support several callers at once.
_LOCK = threading.Lock()


def _ordered_params(metric, metric_params, sparse):
    """The parameters in the order of the metric's signature; pynndescent passes them in order."""
    if not metric_params:
        return {}
    from pynndescent.distances import named_distances
    from pynndescent.sparse import sparse_named_distances

    if callable(metric):
        function = metric
    else:
        function = (sparse_named_distances if sparse else named_distances)[metric]
    rows = 4 if sparse else 2  # a sparse row is two arguments: indices and values
    names = list(inspect.signature(getattr(function, "py_func", function)).parameters)[rows:]
    unknown = set(metric_params) - set(names)
    if unknown:
        raise ValueError(
            f"The metric {metric!r} of pynndescent has no parameter {sorted(unknown)[0]!r}. Its "
            f"parameters are {names}."
        )
    used = [name for name in names if name in metric_params]
    if used != names[: len(used)]:
        raise ValueError(
            f"metric_params of {metric!r} has {used[-1]!r} but not all parameters before it. Set "
            f"them too; the order is {names}."
        )
    return {
        name: np.asarray(metric_params[name], np.float32)
        if np.ndim(metric_params[name])
        else metric_params[name]
        for name in used
    }


class DescentSearch(RowSearch):
    """Searches an index of pynndescent.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d), float32
    metric : str or callable
    metric_params : dict
    n_neighbors : int
        Number of neighbours of each row in pynndescent's graph.
    seed : int
    """

    def __init__(self, rows, metric, metric_params, n_neighbors, seed):
        self.rows = rows
        self.n = rows.shape[0]
        self._how = metric, metric_params, n_neighbors, seed
        self._build()

    def _build(self):
        """Build the index; it is identical each time."""
        import scipy.sparse as sp

        from skmde.preprocessing.neighbors.backends.descent_index import DescentIndex

        metric, metric_params, n_neighbors, seed = self._how
        with _LOCK, warnings.catch_warnings():
            # The warning is about rows with too few neighbours, which have entries of -1.
            warnings.filterwarnings("ignore", "Failed to correctly find")
            self._index = DescentIndex(
                self.rows,
                metric=metric,
                metric_kwds=_ordered_params(metric, metric_params, sp.issparse(self.rows)),
                n_neighbors=min(max(int(_WIDTH * n_neighbors), _LEAST_WIDTH) + 1, self.n),
                max_candidates=_CANDIDATES,
                random_state=seed,
                n_jobs=1,
            )
            self._random_state = self._index.search_rng_state.copy()

    @property
    def index(self):
        """The index of pynndescent, rebuilt if it was not saved with this object."""
        if self._index is None:
            self._build()
        return self._index

    def __reduce_ex__(self, protocol):
        # pickle and copy keep the index. skops calls __getstate__, and cannot save compiled code.
        return copyreg.__newobj__, (type(self),), dict(self.__dict__)

    def __getstate__(self):
        return {**self.__dict__, "_index": None, "_random_state": None}

    def __setstate__(self, state):
        self.__dict__.update(state)

    def _defined(self, distances):
        """The distances, with 0 where rounding errors made the square of a small one negative."""
        if self._how[0] != "hellinger":
            return distances
        return np.where(np.isnan(distances), 0.0, distances)

    def search_training(self, k, n_jobs):
        """The nearest other rows of each row, from pynndescent's graph if that is large enough."""
        with np.errstate(invalid="ignore"):  # see `_defined`
            indices, distances = self.index.neighbor_graph
        if min(k, self.n - 1) >= indices.shape[1]:
            return super().search_training(k, n_jobs)
        distances = self._defined(distances)
        own = np.arange(self.n, dtype=np.int32)
        return _widen(*drop_self(*sort_rows(indices, distances), own, k), k)

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query, with distances in the metric's units."""
        wanted, index = min(k + 1, self.n), self.index
        indices = np.full((queries.shape[0], wanted), -1, np.int32)
        distances = np.full((queries.shape[0], wanted), np.inf)
        # One query at a time, each with the same random state.
        with _LOCK, np.errstate(invalid="ignore"):
            for i in range(queries.shape[0]):
                index.search_rng_state[:] = self._random_state
                found, values = index.query(queries[i : i + 1], k=wanted, epsilon=_EPSILON)
                indices[i], distances[i] = found[0], self._defined(values[0])
        return _widen(*drop_self(*sort_rows(indices, distances), exclude, k), k)


def _widen(indices, distances, k):
    missing = k - indices.shape[1]
    if missing <= 0:
        return indices, distances
    pad = ((0, 0), (0, missing))
    return (
        np.pad(indices, pad, constant_values=-1),
        np.pad(distances, pad, constant_values=np.inf),
    )
