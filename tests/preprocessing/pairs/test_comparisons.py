"""Edges from neighbours of neighbours, rankings and triplets, against plain loops."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy.sparse.csgraph import shortest_path

from skmde._linalg.csgraph import with_short_indices
from skmde.preprocessing.pairs.comparisons import (
    deviations_from_rankings,
    neighbors_at_distance_two,
    weights_from_triplets,
)


@given(st.integers(1, 12), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_neighbors_of_neighbors_get_an_edge(n, n_edges, seed):
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=(2, n_edges))
    graph = sp.coo_array((rng.uniform(1, 2, n_edges), ends), shape=(n, n)).tocsr()
    graph = graph.maximum(graph.T)
    steps = shortest_path(with_short_indices(graph), unweighted=True)
    expected = graph.toarray()
    np.fill_diagonal(expected, 0)
    expected[steps == 2] = 0.25
    found = neighbors_at_distance_two(graph, weight=0.25)
    assert isinstance(found, sp.csr_array) and found.has_sorted_indices
    assert found.nnz == ((steps == 1) | (steps == 2)).sum()
    np.testing.assert_array_equal(found.toarray(), expected)


def test_edges_of_weight_zero_stay():
    graph = sp.coo_array((np.array([0.0, 3.0]), ([0, 1], [1, 2])), shape=(3, 3))
    found = neighbors_at_distance_two(graph)
    assert found.nnz == 6
    np.testing.assert_array_equal(found.toarray(), [[0, 0, 0.5], [0, 0, 3], [0.5, 3, 0]])


def test_more_than_127_common_neighbors():
    """Two nodes joined through 256 others: a count in eight bits would be 0."""
    through = np.arange(2, 258)
    ends = np.concatenate([np.zeros(256, int), np.ones(256, int)]), np.tile(through, 2)
    graph = sp.coo_array((np.ones(512, np.int8), ends), shape=(258, 258))
    assert neighbors_at_distance_two(graph)[0, 1] == 0.5


def test_graph_at_distance_two_is_not_written_to():
    graph = sp.csr_array(np.diag(np.ones(4), 1))
    parts = [graph.data, graph.indices, graph.indptr]
    before = [part.copy() for part in parts]
    for part in parts:
        part.setflags(write=False)
    neighbors_at_distance_two(graph)
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_networkx_graph_at_distance_two():
    networkx = pytest.importorskip("networkx")
    found = neighbors_at_distance_two(networkx.path_graph(3)).toarray()
    np.testing.assert_array_equal(found, [[0, 1, 0.5], [1, 0, 1], [0.5, 1, 0]])


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf])
def test_impossible_weight_is_an_error(weight):
    with pytest.raises(ValueError, match="weight must be a non-negative number, got"):
        neighbors_at_distance_two(np.ones((3, 3)), weight=weight)


def test_negative_edge_weight_is_an_error():
    with pytest.raises(ValueError, match=r"edge weights must not be negative.*Leave such edges"):
        neighbors_at_distance_two(np.array([[0, -1], [-1, 0]]))


@given(st.integers(1, 6), st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_deviation_is_the_mean_difference_of_ranks(n_rankings, n, seed):
    rng = np.random.default_rng(seed)
    ranks = rng.integers(1, n + 1, size=(n_rankings, n)).astype(float)
    ranks[rng.random(ranks.shape) < 0.3] = np.nan
    ranks[0, :2] = 1, 2
    expected = {}
    for i, j in itertools.combinations(range(n), 2):
        apart = [abs(row[i] - row[j]) for row in ranks if not np.isnan(row[i] - row[j])]
        if apart:
            expected[i, j] = np.mean(apart)
    edges, deviations = deviations_from_rankings(ranks)
    assert edges.dtype == np.int32 and deviations.dtype == np.float64
    assert [tuple(edge) for edge in edges.tolist()] == list(expected)
    np.testing.assert_allclose(deviations, list(expected.values()), rtol=1e-14)


def test_many_rankings_are_read_in_blocks(monkeypatch):
    ranks = np.random.default_rng(0).permuted(np.tile(np.arange(30), (20, 1)), axis=1)
    edges, deviations = deviations_from_rankings(ranks)
    monkeypatch.setattr("skmde.preprocessing.pairs.comparisons._BLOCK", 100)
    edges_again, deviations_again = deviations_from_rankings(ranks)
    np.testing.assert_array_equal(edges, edges_again)
    np.testing.assert_array_equal(deviations, deviations_again)


def test_given_pairs_are_kept_in_their_order():
    ranks = [[1, 2, 5, np.nan], [1, 4, 3, np.nan]]
    edges, deviations = deviations_from_rankings(ranks, [[2, 0], [3, 1], [0, 1]], function=np.sqrt)
    assert edges.tolist() == [[2, 0], [0, 1]]
    np.testing.assert_allclose(deviations, np.sqrt([3, 2]))


def test_unsigned_ranks_do_not_wrap_around():
    ranks = np.array([[1, 3]], np.uint8)
    assert deviations_from_rankings(ranks)[1].tolist() == [2]
    assert deviations_from_rankings(ranks[:, ::-1])[1].tolist() == [2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2, 3],), r"must be a matrix.*got shape \(3,\)"),
        (([[1, np.inf]],), "ranks contains infinity. Use NaN"),
        (([[1, np.nan]],), "None of the 1 rankings contains both items of any of the 1 pairs"),
        (([[1, 2]], [[0, 2]]), "edges contains item 2, which is out of range for 2 items"),
        (([[1, 2]], [[0, 0]]), "Row 0 of edges contains an item twice"),
        (([[1, 2]], [[0.0, 1.0]]), "edges must be integers"),
        (([[1, 2]], [[0, 1, 1]]), r"edges must be an array of shape \(n, 2\)"),
        (([[1, 2]], np.empty((0, 2), int)), "contains both items of any of the 0 pairs"),
    ],
)
def test_impossible_rankings_are_an_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        deviations_from_rankings(*arguments)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda d: -d, "must return non-negative finite numbers, got -1.0 for the mean difference"),
        (lambda d: d / 0, "must return non-negative finite numbers, got inf"),
        (lambda d: d * np.nan, "must return non-negative finite numbers, got nan"),
        (lambda d: d[:1], r"one number for each of 3 deviations, got shape \(1,\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_impossible_function_is_an_error(function, message):
    with pytest.raises(ValueError, match=message):
        deviations_from_rankings([[1, 2, 3]], function=function)


@given(st.lists(st.permutations(range(5)).map(lambda items: items[:3]), max_size=30))
def test_weights_count_comparisons(triplets):
    expected = {}
    for i, j, k in triplets:
        for a, b, vote in ((i, j, 1), (i, k, -1), (j, k, -1)):
            pair = min(a, b), max(a, b)
            expected[pair] = expected.get(pair, 0) + vote
    edges, weights = weights_from_triplets(np.array(triplets, int).reshape(-1, 3), 5)
    assert edges.dtype == np.int32 and weights.dtype == np.float64
    assert edges.shape == (len(expected), 2) and weights.shape == (len(expected),)
    assert [tuple(edge) for edge in edges.tolist()] == sorted(expected)
    assert dict(zip(map(tuple, edges.tolist()), weights.tolist(), strict=True)) == expected


def test_items_of_narrow_integers_do_not_wrap_around():
    edges, _ = weights_from_triplets(np.array([[250, 200, 100]], np.uint8), 251)
    assert edges.tolist() == [[100, 200], [100, 250], [200, 250]]


@pytest.mark.parametrize(
    ("triplets", "message"),
    [
        ([[0, 1]], r"triplets must be an array of shape \(n, 3\), got \(1, 2\)"),
        ([[0, 1, 4]], "triplets contains item 4, which is out of range for 4 items"),
        ([[0, 1, -1]], "triplets contains item -1, which is out of range"),
        ([[0, 1, 2], [3, 0, 3]], r"Row 1 of triplets contains an item twice: \[3, 0, 3\]"),
        ([[0.5, 1, 2]], r"triplets must be integers \(indices of items\), got dtype float64"),
    ],
)
def test_impossible_triplets_are_an_error(triplets, message):
    with pytest.raises(ValueError, match=message):
        weights_from_triplets(triplets, 4)
