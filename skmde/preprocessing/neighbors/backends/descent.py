"""Approximate neighbours under any of pynndescent's metrics.

pynndescent compiles for half a minute, in some versions in each new process, so this back end
serves where no other does: many rows and a metric that is not of Euclidean form. Its graph
depends on the number of threads, so it is always built with one. Its index keeps scratch space
and a random state in itself; a lock and a fresh copy of that state for every row make a row's
answer independent of other rows and calls.
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

# numba's own threads serve one caller at a time, and so does an index.
_LOCK = threading.Lock()


def _ordered_params(metric, metric_params, sparse):
    """The parameters in the order of the distance function's signature.

    pynndescent passes their values by position.
    """
    if not metric_params:
        return {}
    from pynndescent.distances import named_distances
    from pynndescent.sparse import sparse_named_distances

    if callable(metric):
        function = metric
    else:
        function = (sparse_named_distances if sparse else named_distances)[metric]
    rows = 4 if sparse else 2  # a sparse row is given by indices and values
    names = list(inspect.signature(getattr(function, "py_func", function)).parameters)[rows:]
    unknown = set(metric_params) - set(names)
    if unknown:
        raise ValueError(
            f"The metric {metric!r} has no parameter {sorted(unknown)[0]!r} in pynndescent; "
            f"it has {names}."
        )
    used = [name for name in names if name in metric_params]
    if used != names[: len(used)]:
        raise ValueError(f"Give the parameters of {metric!r} before {used[-1]!r} too: {names}.")
    return {
        name: np.asarray(metric_params[name], np.float32)
        if np.ndim(metric_params[name])
        else metric_params[name]
        for name in used
    }


class DescentSearch(RowSearch):
    """An index of pynndescent.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d), float32
    metric : str or callable
    metric_params : dict
    n_neighbors : int
        Neighbours wanted of each row.
    seed : int
    """

    def __init__(self, rows, metric, metric_params, n_neighbors, seed):
        self.rows = rows
        self.n = rows.shape[0]
        self._how = metric, metric_params, n_neighbors, seed
        self._build()

    def _build(self):
        """The same index whenever it is built."""
        import scipy.sparse as sp

        from skmde.preprocessing.neighbors.backends.descent_index import DescentIndex

        metric, metric_params, n_neighbors, seed = self._how
        with _LOCK, warnings.catch_warnings():
            # Rows it found too few neighbours for come back with -1.
            warnings.filterwarnings("ignore", "Failed to correctly find")
            self._index = DescentIndex(
                self.rows,
                metric=metric,
                metric_kwds=_ordered_params(metric, metric_params, sp.issparse(self.rows)),
                n_neighbors=min(n_neighbors + 1, self.n),
                random_state=seed,
                n_jobs=1,
            )
            self._random_state = self._index.search_rng_state.copy()

    @property
    def index(self):
        """Of pynndescent; built anew if a file did not have it."""
        if self._index is None:
            self._build()
        return self._index

    def __reduce_ex__(self, protocol):
        # Pickles and copies have all of it; skops asks for the state, and takes no compiled code.
        return copyreg.__newobj__, (type(self),), dict(self.__dict__)

    def __getstate__(self):
        return {**self.__dict__, "_index": None, "_random_state": None}

    def __setstate__(self, state):
        self.__dict__.update(state)

    def search_training(self, k, n_jobs):
        """The nearest other rows of every row, as the descent itself found them."""
        indices, distances = self.index.neighbor_graph
        if min(k, self.n - 1) >= indices.shape[1]:
            return super().search_training(k, n_jobs)
        own = np.arange(self.n, dtype=np.int32)
        return _widen(*drop_self(*sort_rows(indices, distances), own, k), k)

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query, with distances in the metric's units."""
        wanted, index = min(k + 1, self.n), self.index
        indices = np.full((queries.shape[0], wanted), -1, np.int32)
        distances = np.full((queries.shape[0], wanted), np.inf)
        with _LOCK:  # one row at a time
            for i in range(queries.shape[0]):
                index.search_rng_state[:] = self._random_state
                found, values = index.query(queries[i : i + 1], k=wanted)
                indices[i], distances[i] = found[0], values[0]
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
