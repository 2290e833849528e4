"""The pairs of a neighbour embedding that repel each other."""

from __future__ import annotations

import numpy as np

from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.graphs.weights import edges_from_graph
from skmde.preprocessing.pairs.sampling import all_edges, sample_dissimilar

# A pair takes about 40 bytes during a fit.
_MAX_PAIRS = 250_000_000


def signed_pairs(graph, repel, fraction, random_state):
    """The pairs that attract each other, followed by the pairs that repel each other.

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
        Those of the graph for pairs that attract, -1 for pairs that repel.
    """
    edges, weights = edges_from_graph(graph)
    if repel is None or len(edges) == 0:
        return edges, weights
    dissimilar = repulsive_pairs(graph, edges, fraction, random_state)
    repulsive_weights = np.full(len(dissimilar), -1, weights.dtype)
    return np.concatenate([edges, dissimilar]), np.concatenate([weights, repulsive_weights])


def repulsive_pairs(graph, edges, fraction, random_state):
    """Random pairs of non-neighbours, and the neighbours that would otherwise coincide.

    Pairs are sampled from all pairs of non-neighbours, without replacement. This leaves some
    samples without repulsion within their connected component:

    - A sample that is a neighbour of all others in its component can have no such pair.
    - A component in which (nearly) all samples are neighbours of each other has hardly any such
      pairs, and would collapse to one point.

    All pairs of these samples within one component repel each other, although they are neighbours.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Neighbour graph, symmetric.
    edges : ndarray of shape (p, 2), int
        Its edges.
    fraction : float
        Number of sampled pairs for each edge.
    random_state : RandomState

    Returns
    -------
    pairs : ndarray of shape (r, 2), int32
        Pairs ``i < j``, sorted, each once.

    Raises
    ------
    ValueError
        If `fraction` asks for too many pairs.
    """
    n, fraction = graph.shape[0], float(fraction)
    wanted = max(1, round(min(fraction * len(edges), n * (n - 1) / 2)))
    if wanted > _MAX_PAIRS:
        raise ValueError(
            f"repulsive_fraction={fraction:g} asks for {wanted:.3g} pairs, which need about "
            f"{40e-9 * wanted:.0f} GB of memory; use at most {_MAX_PAIRS / len(edges):.3g}."
        )
    seed = random_state.randint(np.iinfo(np.int32).max)
    pairs = sample_dissimilar(n, wanted, edges, random_state=seed)
    groups = _without_repulsion(graph, edges, fraction)
    if not groups:
        return pairs
    within = [group[all_edges(len(group))] for group in groups]
    return np.unique(np.concatenate([pairs, *within]), axis=0).astype(np.int32)


def _without_repulsion(graph, edges, fraction):
    """Groups of samples, each within one component, that would lack repulsion."""
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
