"""Which pairs repel."""

import numpy as np
import pytest
import scipy.sparse as sp

from skmde.estimators.pairs.repulsion import repulsive_pairs
from skmde.preprocessing.graphs.weights import edges_from_graph


def pairs_of(adjacency, fraction=1.0, seed=0):
    graph = sp.csr_array(np.asarray(adjacency, dtype=np.float32))
    edges, _ = edges_from_graph(graph)
    pairs = repulsive_pairs(graph, edges, fraction, np.random.RandomState(seed))
    assert pairs.dtype == np.int32
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    return {tuple(pair) for pair in pairs.tolist()}, {tuple(edge) for edge in edges.tolist()}


def clique(n):
    return 1 - np.eye(n)


def test_complete_graph_repels_in_all_pairs():
    pairs, edges = pairs_of(clique(6))
    assert pairs == edges


def test_complete_components_repel_within_as_well_as_between():
    pairs, edges = pairs_of(sp.block_diag([clique(6), clique(5), clique(2), clique(1)]).toarray())
    assert edges <= pairs
    # as many others as there are edges, all of them between components
    assert len(pairs - edges) == len(edges)


def test_a_component_that_lacks_one_edge_is_complete_enough():
    graph = clique(8)
    graph[0, 1] = graph[1, 0] = 0
    pairs, edges = pairs_of(graph)
    assert pairs == edges | {(0, 1)}


def test_neighbours_of_everybody_repel_each_other():
    hubs, others = 3, 30
    graph = np.zeros((hubs + others, hubs + others))
    graph[:hubs], graph[:, :hubs] = 1, 1
    np.fill_diagonal(graph, 0)
    pairs, edges = pairs_of(graph)
    assert pairs & edges == {(0, 1), (0, 2), (1, 2)}
    star, _ = pairs_of(graph[2:, 2:])
    assert not any(0 in pair for pair in star)


def test_too_many_pairs_are_refused_before_they_are_made():
    ring = sp.diags_array([1.0, 1.0], offsets=[1, -1], shape=(100_000, 100_000)).tocsr()
    edges, _ = edges_from_graph(ring)
    message = r"repulsive_fraction=10000 asks for 1e\+09 pairs.* 40 GB.*; use at most 2\.5e\+03"
    with pytest.raises(ValueError, match=message):
        repulsive_pairs(ring, edges, 1e4, np.random.RandomState(0))


@pytest.mark.parametrize("fraction", [0.5, 1.0, 3.0])
def test_a_sparse_component_repels_in_pairs_that_are_no_neighbours(fraction):
    ring = np.roll(np.eye(40), 1, axis=1) + np.roll(np.eye(40), -1, axis=1)
    pairs, edges = pairs_of(ring, fraction)
    assert len(pairs) == round(40 * fraction)
    assert not pairs & edges
    assert pairs != pairs_of(ring, fraction, seed=1)[0]
