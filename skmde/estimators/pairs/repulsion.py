"""The pairs of a neighbour embedding that repel, and the samples that repel unseen ones."""

from __future__ import annotations

import numpy as np

from skmde.core.placement.field import FrozenField
from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.graphs.weights import edges_from_graph
from skmde.preprocessing.pairs.sampling import all_edges, sample_dissimilar, sample_far

# A pair takes about 40 bytes during a fit.
_MAX_PAIRS = 250_000_000


# Number of training samples that repel an unseen one, if repulsive pairs are sampled: enough to
# estimate the repulsion of all, few enough to be fast.
_N_REPULSIVE = 128
# Weight of repulsive pairs where all samples of a group are neighbours of each other: twice that of
# the attraction, so that two of them would be at distance 1.
_CROWDED = 4.0


def mean_repulsion(weights, n_items):
    """Mean over the items of the total weight of an item's repulsive pairs."""
    return -2.0 * float(weights[weights < 0].sum()) / n_items


class RepulsiveSamples:
    """The training samples that repel an unseen one.

    Parameters
    ----------
    items : ndarray of shape (r,), int32, or None
        Their indices; None means all training samples.
    weight : float
        Weight of each of them, apart from the weights of samples.
    """

    def __init__(self, items, weight):
        self.items, self.weight = items, weight
        self._field, self._fixed = None, None

    def __getstate__(self):
        # The field is large, and quickly computed anew.
        return {**self.__dict__, "_field": None, "_fixed": None}

    @classmethod
    def some_of(cls, n_items, total, random_state):
        """A random selection that stands for all, of the given total weight."""
        count = min(n_items, _N_REPULSIVE)
        items = np.sort(random_state.choice(n_items, count, replace=False))
        return cls(items.astype(np.int32), total / count)

    @classmethod
    def all(cls, weight):
        """All training samples, each with the same weight."""
        return cls(None, weight)

    def after_extension(self, n_items, random_state):
        """The same repulsion among `n_items` samples."""
        if self.items is None:
            return self.all(self.weight)
        return self.some_of(n_items, self.weight * len(self.items), random_state)

    def own_weights(self, own, sample_weight):
        """The weight with which each of some training samples would repel itself."""
        weights = np.full(len(own), self.weight, dtype=np.float64)
        if self.items is not None:
            weights[~np.isin(own, self.items)] = 0.0
        return weights if sample_weight is None else weights * sample_weight[own]

    def arguments(self, anchors, penalty, sample_weight, n_threads):
        """Arguments of :func:`~skmde.core.placement.by_neighbors.place_by_neighbors`.

        Parameters
        ----------
        anchors : ndarray of shape (n, m)
            Coordinates of the training samples.
        penalty : Penalty or None
            The repulsive penalty.
        sample_weight : ndarray of shape (n,) or None
            Weights of the training samples.
        n_threads : int
        """
        weight, every = self.weight, self.items is None
        items = np.arange(len(anchors)) if every else self.items
        if sample_weight is not None:
            weight = weight * sample_weight[items]
        has_field = penalty is not None and FrozenField.exists(penalty, anchors.shape[1])
        if not every or not has_field or not np.any(weight):
            return {
                "repulsive_indices": items,
                "repulsive_weight": weight,
                "neighbors_repel": every,
            }
        if self._field is None or not np.array_equal(self._fixed, anchors):
            strengths = np.broadcast_to(np.asarray(weight, np.float64), len(anchors))
            self._fixed = np.array(anchors, dtype=np.float64)
            self._field = FrozenField(self._fixed, strengths, penalty, n_threads)
        return {"field": self._field}


def pairs_with_repulsion(graph, rule, weight, random_state, lengths=None):
    """The pairs of neighbours, followed by the listed pairs that repel.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Weights of pairs that attract, symmetric.
    rule : RepulsionRule
    weight : float
        Weight of the repulsion.
    random_state : RandomState
    lengths : callable, default=None
        Distances of pairs. If given, sampled pairs are far ones.

    Returns
    -------
    edges : ndarray of shape (p, 2), int32
        Pairs ``i < j``. If all pairs repel, only those that `crowded_pairs` finds are listed.
    weights : ndarray of shape (p,)
        Negative for pairs that repel.
    """
    sampled = rule.repulsive if rule.kind in ("sampled", "far") else None
    edges, weights = signed_pairs(graph, sampled, rule.fraction, random_state, lengths)
    weights[weights < 0] *= weight
    if rule.sums_all and weight > 0:
        crowded = crowded_pairs(graph, edges)
        edges = np.concatenate([edges, crowded])
        weights = np.append(weights, np.full(len(crowded), -_CROWDED, weights.dtype))
    return edges, weights


def crowded_pairs(graph, edges):
    """Pairs of samples within groups that have hardly any pairs besides neighbours.

    Where (nearly) all samples of a component are neighbours of each other, attraction outweighs the
    repulsion of all pairs, and the group would collapse to one point. So these pairs repel more
    strongly.
    """
    groups = _without_repulsion(graph, edges, 1.0)
    if not groups:
        return np.empty((0, 2), np.int32)
    within = [group[all_edges(len(group))] for group in groups]
    return np.unique(np.concatenate(within), axis=0).astype(np.int32)


def signed_pairs(graph, repel, fraction, random_state, lengths=None):
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
    lengths : callable, default=None
        As for `repulsive_pairs`.

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
    dissimilar = repulsive_pairs(graph, edges, fraction, random_state, lengths)
    repulsive_weights = np.full(len(dissimilar), -1, weights.dtype)
    return np.concatenate([edges, dissimilar]), np.concatenate([weights, repulsive_weights])


def repulsive_pairs(graph, edges, fraction, random_state, lengths=None):
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
    lengths : callable, default=None
        Distances of pairs. If given, the sampled pairs are far ones.

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
    if lengths is None:
        pairs = sample_dissimilar(n, wanted, edges, random_state=seed)
    else:
        pairs = sample_far(n, wanted, edges, lengths, random_state=seed)
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
