"""Approximate Euclidean neighbours by faiss's inverted lists (an optional dependency).

faiss finds several times as many candidates as are wanted, in the space of the leading
principal directions; their distances in all features then decide. This is faiss's own recipe
``PCA64,IVF256,Flat,Refine(Flat)``, taken apart for two reasons: the rows are not held twice, and
the shortened rows are put on a grid. On it the last bits of BLAS's sums are gone, which change
with the number of threads, and with them all that could make two runs differ.

How far to search depends on the data: lists of rows without clusters say little. So a few rows
are compared with all others, and the search is widened until it finds nearly all neighbours of
these.
"""

from __future__ import annotations

import os

import numpy as np

from skmde.preprocessing.neighbors.backends.base import RowSearch, nearest_candidates
from skmde.preprocessing.neighbors.backends.exact import ExactSearch

__all__ = ["FaissSearch", "is_installed"]

_MAX_DIRECTIONS = 64
_SAMPLE = 4096  # rows that the principal directions are learnt from
_GRID = 1 << 14  # steps of the grid in the standard deviation of the first direction
_ROWS_PER_LIST = 256
_MAX_LISTS = 4096
_SHARE_VISITED = 16  # one of so many lists is visited at first, but at least _MIN_VISITED
_MIN_VISITED = 16
_CANDIDATES = 4  # at first, for each neighbour wanted
_EFFORTS = (1, 2, 4, 8)  # factors of both
_RECALL = 0.95  # share of the neighbours that must be found
_N_CHECKED = 64  # rows
_MIN_BATCH = 32  # faiss sums the distances of fewer queries than 20 in another order
_BLOCK = 4096
_SEED = 1234


class FaissSearch(RowSearch):
    """An inverted-list index over float32 rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32
        Kept, for the last comparison.
    n_neighbors : int
        How many neighbours will usually be asked for.

    Notes
    -----
    Pickles hold numpy arrays only: faiss's index travels as bytes.
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
        """Search as far as it takes to find nearly all neighbours of a few rows."""
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
        """Rows along the principal directions, on the grid; float32."""
        short = np.empty((len(rows), self._directions.shape[1]), np.float32)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK].astype(np.float64) @ self._directions
            short[start : start + _BLOCK] = np.rint(block / self._step) * self._step
        return short

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query, among the candidates that faiss finds."""
        import_faiss()  # in a forked child this sets its number of threads
        queries = np.ascontiguousarray(queries, np.float32)
        short = self._shorten(queries)
        # Queries of one list, one after another, find its rows and each other's candidates in the
        # cache.
        order = np.argsort(self._index.quantizer.search(short, 1)[1][:, 0], kind="stable")
        bounds, candidates = self._find(
            short[order], min(self._candidates * (k + 1), len(self.rows))
        )
        indices, squared = nearest_candidates(
            queries, exclude, self.rows, candidates, bounds, k, n_jobs, order=order
        )
        # Where the lists visited hold too few rows, all rows are compared.
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
        bounds *= 1 - 1e-3  # the directions are rounded, and so are the rows
        return bounds[:n], candidates[:n]


def _principal_directions(sample):
    """Leading principal directions, and the step of the grid in the space that they span.

    The directions are rounded: which bits an eigensolver leaves below that depends on the number
    of its threads. That they are not quite orthonormal then does not matter.
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
            'algorithm="faiss" needs the package faiss-cpu: pip install "skmde[faiss]".'
        ) from None
    if _forked:
        # OpenMP would wait here for the threads that it had in the parent.
        faiss.omp_set_num_threads(1)
    return faiss
