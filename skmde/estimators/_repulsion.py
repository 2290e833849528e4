"""Which pairs repel each other in a neighbour embedding."""

from __future__ import annotations

import numpy as np

from skmde.preprocessing.graphs import connected_components
from skmde.preprocessing.sampling import all_edges, sample_dissimilar


def repulsive_pairs(graph, edges, fraction, random_state):
    """Random pairs that are no neighbours, and all pairs where next to all are neighbours.

    Pairs are drawn from all that are no neighbours, each at most once. But in a connected
    component in which (nearly) all pairs are neighbours, no pair could be drawn, nothing would keep
    the samples apart, and they would end in one point: there all pairs repel, neighbours too.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Neighbour graph.
    edges : ndarray of shape (p, 2), int
        Its edges.
    fraction : float
        Number of pairs drawn, for each edge.
    random_state : RandomState

    Returns
    -------
    pairs : ndarray of shape (r, 2), int32
        Pairs ``i < j``, sorted, each once.
    """
    wanted = max(1, round(fraction * len(edges)))
    seed = random_state.randint(np.iinfo(np.int32).max)
    pairs = sample_dissimilar(graph.shape[0], wanted, edges, random_state=seed)

    _, labels = connected_components(graph)
    sizes = np.bincount(labels).astype(np.int64)
    n_edges = np.bincount(labels[edges[:, 0]], minlength=len(sizes))
    free = sizes * (sizes - 1) // 2 - n_edges
    enough = np.minimum(sizes, np.maximum(1, np.rint(fraction * n_edges)))
    crowded = np.flatnonzero((sizes > 1) & (free < enough))
    if crowded.size == 0:
        return pairs
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    within = [members[part][all_edges(len(members[part]))] for part in crowded]
    return np.unique(np.concatenate([pairs, *within]), axis=0).astype(np.int32)
