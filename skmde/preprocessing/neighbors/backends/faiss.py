"""Approximate Euclidean neighbours by faiss's inverted lists (an optional dependency).

faiss finds several times as many candidates as wanted, in the space of the leading principal
directions. The neighbours are then chosen by the distances in all features. This is the faiss index
``PCA64,IVF256,Flat,Refine(Flat)``, assembled here for two reasons: the rows are not stored twice,
and the projected rows are rounded to a grid. The rounding removes the last bits of the BLAS sums,
which depend on the number of threads, so that all runs give identical results.

How many lists must be searched depends on the data: without clusters, neighbours are spread over
many lists. So a few rows are compared with all others, and the search is extended until it finds
nearly all neighbours of these rows.
"""

from __future__ import annotations

import os

import numpy as np

from skmde.preprocessing.neighbors.backends.base import RowSearch, nearest_candidates
from skmde.preprocessing.neighbors.backends.exact import ExactSearch

__all__ = ["FaissSearch", "is_installed"]

_MAX_DIRECTIONS = 64
_SAMPLE = 4096  # approximate number of rows that the principal directions are computed from
_GRID = 1 << 14  # grid steps per standard deviation along the first direction
_ROWS_PER_LIST = 256
_MAX_LISTS = 4096
_SHARE_VISITED = 16  # at first one list in 16 is visited, but at least _MIN_VISITED lists
_MIN_VISITED = 16
_CANDIDATES = 4  # number of candidates for each wanted neighbour, at first
_EFFORTS = (1, 2, 4, 8)  # factors for the numbers of visited lists and of candidates
_RECALL = 0.95  # fraction of the true neighbours that must be found
_N_CHECKED = 64  # number of rows whose recall is measured
_MIN_BATCH = 32  # for fewer than 20 queries, faiss sums distances in a different order
_BLOCK = 4096
_SEED = 1234


class FaissSearch(RowSearch):
    """An inverted-list index over float32 rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32
        Stored, for the distances in all features.
    n_neighbors : int
        Typical number of neighbours of a query.

    Notes
    -----
    A pickle contains only numpy arrays: the faiss index is serialised to an array of bytes.
    """

    def __init__(self, rows, n_neighbors):
        faiss = import_faiss()
        self.rows = rows
        n = len(rows)
        self._directions, self._step = _principal_directions(rows[:: max(1, n // _SAMPLE)])
        short = self._shorten(rows)
        d = short.shape[1]
        n_lists = int(np.clip(n // _ROWS_PER_LIST, 1, _MAX_LISTS))
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_lists)
        index.cp.seed = _SEED
        index.train(short[:: max(1, n // (64 * n_lists))])
        index.add(short)
        self._index = index
        self._widen(n_neighbors)

    def _widen(self, k):
        """Increase the search effort until nearly all neighbours of a few rows are found."""
        n = len(self.rows)
        checked = np.arange(0, n, max(1, n // _N_CHECKED), dtype=np.int32)
        queries = self.rows[checked]
        truth, _ = ExactSearch(self.rows).search(queries, k, checked, None)
        visited = max(_MIN_VISITED, self._index.nlist // _SHARE_VISITED)
        for effort in _EFFORTS:
            self._index.nprobe = min(visited * effort, self._index.nlist)
            self._candidates = _CANDIDATES * effort
            found, _ = self.search(queries, k, checked, None)
            hits = (found[:, :, None] == truth[:, None, :]).any(axis=2)
            if hits.mean() >= _RECALL:
                break

    def __getstate__(self):
        state = self.__dict__.copy()
        state["_index"] = import_faiss().serialize_index(self._index)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._index = import_faiss().deserialize_index(state["_index"])

    def _shorten(self, rows):
        """Rows projected on the principal directions and rounded to the grid; float32."""
        short = np.empty((len(rows), self._directions.shape[1]), np.float32)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK].astype(np.float64) @ self._directions
            short[start : start + _BLOCK] = np.rint(block / self._step) * self._step
        return short

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query, among the candidates that faiss finds."""
        import_faiss()  # limits the threads in a forked process
        queries = np.ascontiguousarray(queries, np.float32)
        short = self._shorten(queries)
        # Queries are sorted by list, so that rows and candidates of a list are still in the cache.
        order = np.argsort(self._index.quantizer.search(short, 1)[1][:, 0], kind="stable")
        bounds, candidates = self._find(
            short[order], min(self._candidates * (k + 1), len(self.rows))
        )
        indices, squared = nearest_candidates(
            queries, exclude, self.rows, candidates, bounds, k, n_jobs, order=order
        )
        # Queries whose visited lists contain too few rows are compared with all rows.
        few = np.flatnonzero(indices[:, -1] < 0)
        if few.size:
            everyone = ExactSearch(self.rows)
            indices[few], squared[few] = everyone.search(queries[few], k, exclude[few], n_jobs)
        return indices, squared

    def _find(self, short, width):
        """Candidates in order of their distances along the principal directions."""
        n = len(short)
        if n < _MIN_BATCH:
            short = np.pad(short, ((0, _MIN_BATCH - n), (0, 0)))
        bounds, candidates = self._index.search(short, width)
        bounds *= 1 - 1e-3  # margin for the rounding of directions and rows
        return bounds[:n], candidates[:n]


def _principal_directions(sample):
    """Leading principal directions, and the step of the grid in the space that they span.

    The directions are rounded, because their last bits depend on the eigensolver's number of
    threads. So they are not exactly orthonormal; the lower bounds have a margin for that.
    """
    centred = sample - sample.mean(axis=0, dtype=np.float64)
    variances, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    vectors = vectors[:, ::-1][:, :_MAX_DIRECTIONS]
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
    deviation = np.sqrt(max(variances[-1], 0.0)) or 1.0
    return np.rint(vectors * 65536) / 65536, 2.0 ** np.floor(np.log2(deviation / _GRID))


_forked = False


def _note_fork():
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def is_installed():
    """Whether faiss can be imported."""
    try:
        import_faiss()
    except ImportError:
        return False
    return True


def import_faiss():
    try:
        import faiss
    except ImportError:
        raise ImportError(
            'algorithm="faiss" needs the package faiss-cpu. Install it with '
            'pip install "skmde[faiss]".'
        ) from None
    if _forked:
        # In a forked process, OpenMP would wait forever for the threads of its parent.
        faiss.omp_set_num_threads(1)
    return faiss
