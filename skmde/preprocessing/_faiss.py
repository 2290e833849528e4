"""Inverted lists scanned by faiss (an optional dependency).

The lists, the choice of those to visit and the last comparison in all features are those of
:mod:`skmde.preprocessing._ivf`, so the answers do not depend on other queries or on threads;
faiss finds the candidates within the lists. Its index is kept as bytes in a numpy array:
pickles contain no object of faiss, which is built again where it is first needed.
"""

from __future__ import annotations

import numpy as np

from skmde.preprocessing._ivf import InvertedLists
from skmde.preprocessing._selection import drop_self

__all__ = ["FaissLists"]


class FaissLists(InvertedLists):
    """Inverted lists over float32 rows, held by faiss. Parameters as for `InvertedLists`."""

    def __init__(self, rows, rng, n_jobs):
        self._faiss = _import_faiss()
        super().__init__(rows, rng, n_jobs)

    def _store(self, short, labels):
        n_lists, d = self.centers.shape
        quantizer = self._faiss.IndexFlatL2(d)
        quantizer.add(self.centers)
        index = self._faiss.IndexIVFFlat(quantizer, d, n_lists)
        index.is_trained = True
        index.nprobe = min(self.n_probes, n_lists)
        labels = labels.astype(np.int64)
        pointer = self._faiss.swig_ptr
        index.add_core(len(short), pointer(short), None, pointer(labels))
        self._index = index
        self.state = self._faiss.serialize_index(index)

    def __getstate__(self):
        hidden = ("_faiss", "_index")
        return {name: value for name, value in self.__dict__.items() if name not in hidden}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._faiss = _import_faiss()
        self._index = self._faiss.deserialize_index(self.state)

    def _scan(self, short, probes, exclude, width):
        nothing = np.zeros(probes.shape, np.float32)  # read by compressed lists only
        bounds, candidates = self._index.search_preassigned(
            short, width + 1, probes.astype(np.int64), nothing
        )
        return drop_self(candidates, bounds, exclude, width)


def _import_faiss():
    try:
        import faiss
    except ImportError:
        raise ImportError(
            'algorithm="faiss" needs the package faiss-cpu: pip install "skmde[faiss]". '
            'algorithm="ivf" offers the same search without it.'
        ) from None
    return faiss
