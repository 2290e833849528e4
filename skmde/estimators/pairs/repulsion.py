"""Which pairs repel each other in a neighbour embedding, beside those that attract."""

from __future__ import annotations

import numpy as np

from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.graphs.weights import edges_from_graph
from skmde.preprocessing.pairs.sampling import all_edges, sample_dissimilar

# A pair takes some 40 bytes in the course of a fit.
_MAX_PAIRS = 250_000_000


def signed_pairs(graph, repel, fraction, random_state):
    """The pairs that attract each other, then those that repel each other.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Weights of pairs that attract, symmetric.
    repel : Penalty or None
        None for no repulsion.
    fraction : float
        As for `repulsive_pairs`.
    random_state : RandomState

    Returns
    -------
    edges : ndarray of shape (p, 2), int32
        Pairs ``i < j``.
    weights : ndarray of shape (p,)
        -1 for those that repel.
    """
    edges, weights = edges_from_graph(graph)
    if repel is None or len(edges) == 0:
        return edges, weights
    dissimilar = repulsive_pairs(graph, edges, fraction, random_state)
    repulsive_weights = np.full(len(dissimilar), -1, weights.dtype)
    return np.concatenate([edges, dissimilar]), np.concatenate([weights, repulsive_weights])


def repulsive_pairs(graph, edges, fraction, random_state):
    """Random pairs that are no neighbours, and those without which samples would coincide.

    Pairs are drawn from all that are no neighbours, each at most once. But two samples that both
    are neighbours of all others in their connected component have nothing that keeps them
    apart, and where (nearly) all are neighbours of all, the whole component would end in one
    point: such samples repel each other, neighbours though they are.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Neighbour graph, symmetric.
    edges : ndarray of shape (p, 2), int
        Its edges.
    fraction : float
        Number of pairs drawn, for each edge.
    random_state : RandomState

    Returns
    -------
    pairs : ndarray of shape (r, 2), int32
        Pairs ``i < j``, sorted, each once.

    Raises
    ------
    ValueError
        If there would be too many of them.
    """
    n, fraction = graph.shape[0], float(fraction)
    wanted = max(1, round(min(fraction * len(edges), n * (n - 1) / 2)))
    if wanted > _MAX_PAIRS:
        raise ValueError(
            f"repulsive_fraction={fraction:g} asks for {wanted:.3g} pairs, which would take about "
            f"{40e-9 * wanted:.0f} GB; use at most {_MAX_PAIRS / len(edges):.3g}."
        )
    seed = random_state.randint(np.iinfo(np.int32).max)
    pairs = sample_dissimilar(n, wanted, edges, random_state=seed)
    groups = _without_repulsion(graph, edges, fraction)
    if not groups:
        return pairs
    within = [group[all_edges(len(group))] for group in groups]
    return np.unique(np.concatenate([pairs, *within]), axis=0).astype(np.int32)


def _without_repulsion(graph, edges, fraction):
    """Groups of samples of one component each that nothing would keep apart."""
    _, labels = connected_components(graph)
    sizes = np.bincount(labels).astype(np.int64)
    n_edges = np.bincount(labels[edges[:, 0]], minlength=len(sizes))
    free = sizes * (sizes - 1) // 2 - n_edges
    crowded = free < np.minimum(sizes, np.maximum(1, np.rint(fraction * n_edges)))
    befriended = np.diff(graph.indptr) == sizes[labels] - 1
    members = np.flatnonzero(befriended | crowded[labels])
    members = members[np.argsort(labels[members], kind="stable")]
    groups = np.split(members, np.flatnonzero(np.diff(labels[members])) + 1)
    return [group for group in groups if len(group) > 1]
