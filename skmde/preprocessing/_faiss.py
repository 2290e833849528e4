"""Approximate Euclidean neighbours by faiss (an optional dependency).

A principal-component projection and inverted lists find candidates; their distances are taken
from our own copy of the rows, so that faiss need not hold a second one. The trained index is
kept as bytes in a numpy array: pickles contain nothing of faiss, and the object is built again
where it is first used.
"""

from __future__ import annotations

import numpy as np

from skmde.preprocessing._search import RowSearch

__all__ = ["FaissLists"]

_N_DIRECTIONS = 64
_N_PROBES = 8
_CANDIDATES_PER_NEIGHBOR = 4
_PIECE = 1024


class FaissLists(RowSearch):
    """A faiss index over float32 rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32
    n_jobs : int or None
        Threads for the comparison in all features; faiss uses its own.
    """

    def __init__(self, rows, n_jobs):
        faiss = _import_faiss()
        n, d = rows.shape
        self.rows = rows
        n_lists = int(np.clip(np.sqrt(n), 1, max(1, n // 40)))
        recipe = f"IVF{n_lists},Flat"
        if d > _N_DIRECTIONS:
            recipe = f"PCA{_N_DIRECTIONS},{recipe}"
        index = faiss.index_factory(d, recipe)
        index.train(rows)
        index.add(rows)
        faiss.extract_index_ivf(index).nprobe = _N_PROBES
        self._index = index
        self.state = faiss.serialize_index(index)

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["_index"]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._index = _import_faiss().deserialize_index(self.state)

    def search(self, queries, k, exclude, n_jobs):
        """The (approximately) nearest rows of each query; see `InvertedLists.search`."""
        from skmde.preprocessing._kernels import refine
        from skmde.preprocessing._pieces import run_pieces

        queries = np.ascontiguousarray(queries, np.float32)
        width = min(_CANDIDATES_PER_NEIGHBOR * k, len(self.rows) - 1) + 1
        indices = np.empty((len(queries), k), np.int32)
        squared = np.empty((len(queries), k))
        for start in range(0, len(queries), _PIECE):
            part = slice(start, start + _PIECE)
            _, candidates = self._index.search(queries[part], width)
            candidates = candidates.astype(np.int32)
            candidates[candidates == exclude[part, None]] = -1
            candidates = -np.sort(-candidates, axis=1)  # missing ones last
            bounds = np.zeros(candidates.shape, np.float32)
            found, values = indices[part], squared[part]

            def piece(
                a,
                b,
                queries=queries[part],
                candidates=candidates,
                bounds=bounds,
                found=found,
                values=values,
            ):
                refine(
                    queries[a:b], self.rows, candidates[a:b], bounds[a:b], found[a:b], values[a:b]
                )

            run_pieces(piece, len(found), 256, n_jobs)
        return indices, squared


def _import_faiss():
    try:
        import faiss
    except ImportError:
        raise ImportError(
            'algorithm="faiss" needs the package faiss-cpu: pip install "skmde[faiss]". '
            'algorithm="ivf" offers the same search without it.'
        ) from None
    return faiss
