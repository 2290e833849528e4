"""Approximate Euclidean neighbours by faiss's inverted lists (an optional dependency).

faiss finds candidates in the space of the leading principal directions. The neighbours are then
chosen by the distances in all features. This is the faiss index ``PCA64,IVF256,Flat,Refine(Flat)``,
assembled here for two reasons: the rows are not stored twice, and the projected rows are rounded to
a grid. The rounding removes the last bits of the BLAS sums, which depend on the number of threads,
so that all runs give identical results.

How many lists must be searched depends on the data: without clusters, neighbours are spread over
many lists. A fixed share of the lists would make the cost of all searches grow as n^2. So a few
rows are compared with all others, and the effort rises from little until nearly all neighbours of
these rows are found:

- for unseen rows, the number of candidates, then that of visited lists;
- for the training rows, the same, unless many lists must be visited, or projections do not tell
  neighbours apart, as in tight groups far from each other. Then the three nearest lists give a
  first table, which `refinement` improves.

A mean hides the rows that lose most of their neighbours. These are near the border of a list that
is not visited, so rows with such a border (`_in_lists`) are searched again in more lists.
"""

from __future__ import annotations

import os

import numpy as np

from skmde.preprocessing.neighbors.backends.base import RowSearch, nearest_candidates
from skmde.preprocessing.neighbors.backends.exact import ExactSearch
from skmde.preprocessing.neighbors.backends.refinement import NearRows

__all__ = ["FaissSearch", "is_installed"]

_MAX_DIRECTIONS = 64
_SAMPLE = 4096  # approximate number of rows that the principal directions are computed from
_GRID = 1 << 14  # grid steps per standard deviation along the first direction
_ROWS_PER_LIST = 256
_LISTS = 1.5  # most lists, in square roots of the number of rows
_TRAINED, _N_ITERATIONS = 48, 5  # rows per list, and steps of k-means, that place the lists
_MIN_VISITED = 2  # lists
_FEW_LISTS = 64  # that may all be visited; of more, at most half
_CANDIDATES = (1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 32)  # for each wanted neighbour
_RANKED = 0.99  # share of the neighbours that must be among the candidates
_RECALL, _LEAST_RECALL = 0.98, 0.95  # shares of the true neighbours: wanted, and needed
_N_CHECKED = 96  # number of rows whose recall is measured
_DOUBTFUL = 1 / 16  # share of the rows that are searched again
_LOST = 0.15  # share of their neighbours that no larger share of the rows loses in the first search
_MORE = 4  # times as many lists are visited for rows that are searched again
_MANY_VISITED = 10000  # rows; a search that visits more takes longer than passes over a table
_FIRST_VISITED = 3  # lists; from one alone, no row would get to know another list
_WIDTH, _LARGE_WIDTH = 1.2, 1.6  # near rows that are kept, for each neighbour
_MAX_WIDTH = 8.0
_FEW_CHANGES = 0.05  # of the near rows of a row in a pass; more passes would gain little
_MIN_BATCH = 32  # for fewer than 20 queries, faiss sums distances in a different order
_BLOCK = 4096
_LARGE_BLOCK = 1 << 15
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
        d = self._directions.shape[1]
        n_lists = max(1, min(n // _ROWS_PER_LIST, int(_LISTS * np.sqrt(n))))
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_lists)
        index.cp.seed = _SEED
        index.cp.niter = _N_ITERATIONS
        index.train(self._shorten(rows[:: max(1, n // (_TRAINED * n_lists))]))
        for start in range(0, n, _LARGE_BLOCK):
            index.add(self._shorten(rows[start : start + _LARGE_BLOCK]))
        self._index = index
        self._check_rows(n_neighbors)
        self._choose_effort()

    def _check_rows(self, k):
        """Find the neighbours of a few rows by comparing them with all rows."""
        n = len(self.rows)
        self._checked = np.arange(0, n, max(1, n // _N_CHECKED), dtype=np.int32)
        queries = self.rows[self._checked]
        _, self._truth = ExactSearch(self.rows).search(queries, k, self._checked, None)

    def _recall(self, squared):
        """Share of the neighbours of each checked row that are found, by their distances."""
        k = min(self._truth.shape[1], squared.shape[1])
        return (squared[:, :k] <= self._truth[:, k - 1 : k] * (1 + 1e-5)).mean(axis=1)

    def _choose_effort(self):
        """Choose how many lists and candidates a search of unseen rows takes."""
        n_lists, checked, k = self._index.nlist, self._checked, self._truth.shape[1]
        rows, most = self.rows[checked], max(min(n_lists, _FEW_LISTS), n_lists // 2)
        short = self._shorten(rows)
        self._n_visited, self._doubt = n_lists, 0.0
        for self._candidates in _CANDIDATES:
            if self._recall(self.search(rows, k, checked, None)[1]).mean() >= _RANKED:
                break
        self._n_visited = min(_MIN_VISITED, n_lists)
        while True:
            _, once, margins = self._in_lists(rows, short, k, checked, self._n_visited, None)
            lost = 1 - np.quantile(self._recall(once), _DOUBTFUL)
            self._doubt = float(np.sort(margins)[int(_DOUBTFUL * len(margins))])
            recall = self._recall(self.search(rows, k, checked, None)[1])
            self._recall_of_search = float(recall.mean())
            sure = recall.mean() - recall.std() / np.sqrt(len(recall))  # one standard error less
            if self._n_visited >= most or (sure >= _RECALL and lost <= _LOST):
                break
            self._n_visited = min(max(self._n_visited + 1, self._n_visited * 5 // 4), most)

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
        indices = np.empty((len(queries), k), np.int32)
        squared = np.empty((len(queries), k))
        for start in range(0, len(queries), _LARGE_BLOCK):
            part = slice(start, start + _LARGE_BLOCK)
            found = self._search_block(queries[part], k, exclude[part], n_jobs)
            indices[part], squared[part] = found
        # Queries whose visited lists contain too few rows are compared with all rows.
        few = np.flatnonzero(indices[:, -1] < 0)
        if few.size:
            everyone = ExactSearch(self.rows)
            indices[few], squared[few] = everyone.search(queries[few], k, exclude[few], n_jobs)
        return indices, squared

    def _search_block(self, queries, k, exclude, n_jobs):
        """Search few lists, and then more for the queries that may have lost many neighbours.

        These are the queries with small margins. While a search of more lists replaces more than
        half of the neighbours of a query, it goes on, in the end through all lists.
        """
        short, n_visited = self._shorten(queries), self._n_visited
        indices, squared, margins = self._in_lists(queries, short, k, exclude, n_visited, n_jobs)
        again = np.flatnonzero(margins < self._doubt)
        while again.size and n_visited < self._index.nlist:
            n_visited = min(_MORE * n_visited, self._index.nlist)
            found, values, _ = self._in_lists(
                queries[again], short[again], k, exclude[again], n_visited, n_jobs
            )
            replaced = (squared[again] > values[:, -1:]).sum(axis=1)
            indices[again], squared[again] = found, values
            again = again[2 * replaced > k]
        return indices, squared

    def _in_lists(self, queries, short, k, exclude, n_visited, n_jobs):
        """The nearest rows of each query in its nearest lists, and its margin.

        The rows of another list are on the other side of the plane between the centres of this
        list and the nearest one. The margin is the distance of the plane of the first list that is
        not visited, divided by that of the `k`-th neighbour. Where it is small, that list may
        contain neighbours.
        """
        nearest = self._nearest_lists(short, min(n_visited + 1, self._index.nlist))
        # Queries are sorted by list, so that rows and candidates of a list are still in the cache.
        order = np.argsort(nearest[:, 0], kind="stable")
        width = min(int(self._candidates * (k + 1)), len(self.rows))
        bounds, candidates = self._find(short[order], width, n_visited)
        indices, squared = nearest_candidates(
            queries, exclude, self.rows, candidates, bounds, k, n_jobs, order=order
        )
        if n_visited >= self._index.nlist:
            return indices, squared, np.full(len(queries), np.inf)
        centres = self._index.quantizer.reconstruct_n(0, self._index.nlist)
        own, other = centres[nearest[:, 0]], centres[nearest[:, -1]]
        # Twice the distance of the plane, times that of the centres.
        planes = ((2 * short - own - other) * (own - other)).sum(axis=1, dtype=np.float64)
        gaps = 2 * np.sqrt(((own - other) ** 2).sum(axis=1, dtype=np.float64) * squared[:, -1])
        margins = np.full(len(queries), np.inf)
        np.divide(planes, gaps, out=margins, where=(gaps > 0) & np.isfinite(gaps))
        return indices, squared, margins

    def search_training(self, k, n_jobs):
        """The nearest other rows of each row: near rows at first, which are then improved."""
        visited = self._n_visited * len(self.rows) / self._index.nlist
        if visited <= _MANY_VISITED and self._recall_of_search >= _LEAST_RECALL:
            return super().search_training(k, n_jobs)
        width = 2 + int((_WIDTH if visited < 4 * _MANY_VISITED else _LARGE_WIDTH) * k)
        order = self._rows_by_list()
        near = self._first_table(order, width, n_jobs)
        checked = near.places[self._checked]
        while True:
            changed = near.improve(n_jobs)
            found = self._recall(near.values[checked]).mean()
            if found >= _RECALL:
                break
            if changed < _FEW_CHANGES * near.width:
                if found >= _LEAST_RECALL or 2 * near.width > min(_MAX_WIDTH * k, len(order)):
                    break
                near.widen(2 * near.width)
        if found < min(_RECALL, self._recall_of_search) - 0.02:
            return super().search_training(k, n_jobs)
        own = np.arange(len(order), dtype=np.int32)
        candidates, bounds = near.callers_indices(), near.values
        del near
        bounds *= 1 - 1e-4  # they are sums in float32
        return nearest_candidates(
            self.rows, own, self.rows, candidates, bounds, k, n_jobs, order=order
        )

    def _rows_by_list(self):
        """The rows, one list after another."""
        faiss, lists = import_faiss(), self._index.invlists
        parts = [
            faiss.rev_swig_ptr(lists.get_ids(number), lists.list_size(number)).astype(np.int32)
            for number in range(self._index.nlist)
            if lists.list_size(number)
        ]
        return np.concatenate(parts)

    def _first_table(self, order, width, n_jobs):
        """The nearest of the rows in a few lists, by their projections."""
        n_visited = min(_FIRST_VISITED, self._index.nlist)
        short = np.empty((len(order), self._directions.shape[1]), np.float32)
        near = NearRows(self.rows, order, short, self._slack, width)
        for start in range(0, len(order), _LARGE_BLOCK):
            own = order[start : start + _LARGE_BLOCK]
            rows, part = self.rows[own], slice(start, start + len(own))
            short[part] = self._shorten(rows)
            bounds, candidates = self._find(short[part], min(width + 1, len(order)), n_visited)
            near.start(
                start,
                *nearest_candidates(rows, own, self.rows, candidates, bounds, width, n_jobs),
            )
        return near

    @property
    def _slack(self):
        """How much longer than a distance that of projections may be, from their rounding."""
        return self._step * np.sqrt(self._directions.shape[1])

    def _nearest_lists(self, short, count):
        """The nearest lists of each row, the nearest first."""
        return self._index.quantizer.search(_padded(short), count)[1][: len(short)]

    def _find(self, short, width, n_visited):
        """Candidates in order of their distances along the principal directions."""
        effort = import_faiss().SearchParametersIVF(nprobe=n_visited)
        bounds, candidates = self._index.search(_padded(short), width, params=effort)
        bounds, candidates = bounds[: len(short)], candidates[: len(short)]
        # Lower bounds of the distances, with a margin for the rounding of directions and of rows.
        bounds = np.maximum(np.sqrt(bounds) * (1 - 1e-3) - np.float32(self._slack), 0.0) ** 2
        return bounds, candidates


def _padded(rows):
    """At least as many rows as faiss needs to sum distances in the usual order."""
    return np.pad(rows, ((0, max(0, _MIN_BATCH - len(rows))), (0, 0)))


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
