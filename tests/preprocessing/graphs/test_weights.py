"""The weighted graph of a table of neighbours, and its edges."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from skmde.preprocessing.graphs import weights
from skmde.preprocessing.graphs.weights import edges_from_graph, neighbor_graph
from skmde.preprocessing.neighbors.search import nearest_neighbors


@given(
    st.integers(2, 12).flatmap(
        lambda n: hnp.arrays(
            np.int32, st.tuples(st.just(n), st.integers(1, 4)), elements=st.integers(-1, n - 1)
        )
    )
)
def test_the_rule_of_counts_agrees_with_its_definition(indices):
    n = len(indices)
    indices = np.array(
        [np.where(np.triu(row[:, None] == row, 1).any(0), -1, row) for row in indices]
    )
    graph = neighbor_graph(indices, np.ones(indices.shape))
    there = np.zeros((n, n), bool)
    for i, row in enumerate(indices):
        there[i, row[row >= 0]] = True
    np.fill_diagonal(there, False)
    np.testing.assert_array_equal(graph.toarray(), there.astype(int) + there.T)


def test_graph_is_what_it_says():
    X = np.random.default_rng(0).standard_normal((60, 3))
    indices, distances, _ = nearest_neighbors(X, 5)
    for rule in ("count", "exponential"):
        graph = neighbor_graph(indices, distances, rule=rule)
        assert isinstance(graph, sp.csr_array) and graph.dtype == np.float32
        assert graph.indices.dtype == np.int32 and graph.has_sorted_indices
        assert (graph != graph.T).nnz == 0
        assert (graph.data > 0).all() and not graph.diagonal().any()


def test_missing_neighbors_and_self_entries_are_no_edges():
    indices = np.array([[0, 1], [-1, 2], [1, 0]])
    distances = np.array([[0.0, 1.0], [0.5, np.inf], [np.inf, 0.0]])
    graph = neighbor_graph(indices, distances)
    assert graph.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


def test_neighbors_at_distance_zero_are_edges():
    indices, distances = np.array([[1], [0]]), np.zeros((2, 1))
    assert neighbor_graph(indices, distances).nnz == 2
    exponential = neighbor_graph(indices, distances, rule="exponential")
    assert exponential.toarray().tolist() == [[0, 1], [1, 0]]


def test_exponential_rule():
    indices = np.array([[1, 2], [0, 2], [1, 0]])
    distances = np.array([[1.0, 3.0], [1.0, 2.0], [2.0, 3.0]])
    graph = neighbor_graph(indices, distances, rule="exponential", width=2.0)
    expected = np.exp(-(np.array([[np.inf, 1, 3], [1, np.inf, 2], [3, 2, np.inf]]) ** 2) / 4)
    np.testing.assert_allclose(graph.toarray(), expected, rtol=1e-6)
    median = neighbor_graph(indices, distances, rule="exponential")
    np.testing.assert_allclose(median.toarray(), expected, rtol=1e-6)


def test_exponential_rule_of_coincident_neighbors_takes_the_mean_of_the_rest():
    indices = np.array([[1], [0], [3], [2], [0]])
    distances = np.array([[0.0], [0.0], [0.0], [0.0], [3.0]])
    graph = neighbor_graph(indices, distances, rule="exponential")
    assert graph[0, 1] == 1
    np.testing.assert_allclose(graph[4, 0], np.exp(-1), rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-25, 1e25])
def test_exponential_rule_does_not_mind_scale(factor):
    X = np.random.default_rng(0).standard_normal((60, 3))
    indices, distances, _ = nearest_neighbors(X, 5)
    expected = neighbor_graph(indices, distances, rule="exponential").toarray()
    found = neighbor_graph(indices, distances * factor, rule="exponential").toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_threshold_leaves_out_light_edges():
    indices = np.array([[1], [0], [1]])
    distances = np.ones((3, 1))
    assert neighbor_graph(indices, distances, threshold=2).nnz == 2
    assert neighbor_graph(indices, distances, threshold=1).nnz == 4


def test_edges_too_long_for_a_weight_are_left_out():
    indices, distances = (
        np.array([[1, 2], [0, 2], [0, 1]]),
        np.array([[1.0, 99], [1, 99], [99, 99]]),
    )
    graph = neighbor_graph(indices, distances, rule="exponential", width=1.0)
    assert graph.nnz == 2


@pytest.mark.parametrize("width", [0.0, -1.0, np.inf, np.nan])
def test_the_width_is_checked(width):
    with pytest.raises(ValueError, match="width must be a positive number"):
        neighbor_graph(np.array([[1], [0]]), np.ones((2, 1)), rule="exponential", width=width)


def test_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="'heat'"):
        neighbor_graph(np.array([[1], [0]]), np.ones((2, 1)), rule="heat")


def test_input_is_not_written_to():
    indices, distances = np.array([[1, 0], [0, -1]]), np.array([[1.0, 0.0], [1.0, np.inf]])
    for array in (indices, distances):
        array.setflags(write=False)
    neighbor_graph(indices, distances)
    neighbor_graph(indices, distances, rule="exponential", threshold=0.5)


def test_edges_are_listed_once_in_order():
    graph = sp.coo_array(([1.0, 2, 1, 2, 9], ([2, 3, 0, 1, 1], [0, 1, 2, 3, 1])), shape=(4, 4))
    edges, weights = edges_from_graph(graph)
    assert edges.dtype == np.int32
    assert edges.tolist() == [[0, 2], [1, 3]] and weights.tolist() == [1.0, 2.0]


def test_edges_of_unsorted_rows():
    graph = sp.csr_array((np.ones(4), np.array([2, 1, 0, 0]), np.array([0, 2, 3, 4])), shape=(3, 3))
    graph.has_sorted_indices = False
    assert edges_from_graph(graph)[0].tolist() == [[0, 1], [0, 2]]
    assert graph.indices.tolist() == [2, 1, 0, 0]


def test_edges_with_stored_zeros_stay():
    graph = sp.csr_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert edges_from_graph(graph)[0].tolist() == [[0, 1]]


def test_graph_without_edges():
    graph = neighbor_graph(np.full((3, 2), -1), np.full((3, 2), np.inf), rule="exponential")
    assert graph.nnz == 0
    assert edges_from_graph(graph)[0].shape == (0, 2)


@pytest.mark.parametrize("rule", ["count", "uniform", lambda d: np.where(d < 0.2, 0.0, 1 / d)])
@pytest.mark.parametrize("n", [1, 40])
def test_a_graph_of_a_device_is_that_of_the_cpu(monkeypatch, rule, n):
    rng = np.random.default_rng(0)
    k = min(5, n - 1)
    indices = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)])
    distances = rng.random((n, k)) + 1e-3
    distances[rng.random((n, k)) < 0.1] = np.inf
    near = weights.near_of_tables(indices.reshape(n, k).astype(np.int32), distances)
    expected = weights.weighted_graph(near, rule)
    monkeypatch.setattr(weights, "_MANY", -1)
    monkeypatch.setattr(weights, "is_cpu", lambda device: False)
    found = weights.weighted_graph(near, rule, device=torch.device("cpu"))
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype
