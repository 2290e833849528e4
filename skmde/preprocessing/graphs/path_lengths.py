"""Lengths of shortest paths from a few nodes to all nodes."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import dijkstra

from skmde._linalg.csgraph import with_short_indices
from skmde._utils.threads import count_threads, run_pieces
from skmde.preprocessing.graphs.adjacency import is_unweighted
from skmde.preprocessing.graphs.breadth_first import Searcher

__all__ = ["path_lengths"]


def path_lengths(adjacency, sources, n_jobs=None):
    """Lengths of shortest paths from some nodes to all nodes.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
        As :func:`~skmde.preprocessing.graphs.adjacency.as_adjacency` returns it.
    sources : ndarray of shape (L,), int
        Distinct nodes.
    n_jobs : int, default=None
        Maximum number of threads. Ignored unless all edges have the same length.

    Returns
    -------
    lengths : ndarray of shape (L, n), float64
        In the units of the edges; infinity where there is no path.
    """
    if not is_unweighted(adjacency):
        return dijkstra(with_short_indices(adjacency), directed=True, indices=sources)
    n = adjacency.shape[0]
    searcher = Searcher(adjacency, adjacency.data[0])
    asked = np.zeros(n, np.int64)
    asked[sources] = n
    starts = np.concatenate([[0], np.cumsum(asked)])
    edges = np.zeros((len(sources) * n, 2), np.int32)  # a search reads only the targets
    edges[:, 1] = np.tile(np.arange(n, dtype=np.int32), len(sources))
    found = np.full(len(edges), np.inf)
    run_pieces(
        lambda batch: searcher.sampled(batch, starts, edges, found),
        [(batch,) for batch in searcher.batches(sources)],
        count_threads(n_jobs),
    )
    lengths = np.empty((len(sources), n))
    # `found` is in the order of the source nodes
    lengths[np.argsort(sources)] = found.reshape(len(sources), n)
    lengths[np.arange(len(sources)), sources] = 0.0
    return lengths
