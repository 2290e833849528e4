"""Graphs as scipy's graph functions take them in every version that skmde supports."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

_LARGEST = np.iinfo(np.int32).max


def with_short_indices(graph):
    """The same graph with 32-bit indices, if these can count its edges.

    ``scipy.sparse.csgraph.dijkstra`` of scipy 1.12 raises an error for sparse arrays of 64-bit
    indices.

    Parameters
    ----------
    graph : csr_array

    Returns
    -------
    graph : csr_array
        The one that was given, or one that shares its values.
    """
    if graph.indices.dtype == graph.indptr.dtype == np.int32 or graph.nnz > _LARGEST:
        return graph
    parts = (graph.data, graph.indices.astype(np.int32), graph.indptr.astype(np.int32))
    return sp.csr_array(parts, shape=graph.shape)
