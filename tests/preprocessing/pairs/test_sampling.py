"""Sets of pairs: complete, distinct, disjoint from the edges, and uniformly random."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.stats import chisquare

from skmde.preprocessing.pairs.sampling import (
    all_edges,
    deduplicate_edges,
    edges_from,
    sample_dissimilar,
    sample_edges,
)


def as_set(edges):
    return {tuple(edge) for edge in edges.tolist()}


def check_pairs(edges, n):
    assert edges.dtype == np.int32 and edges.ndim == 2 and edges.shape[1] == 2
    assert (edges[:, 0] < edges[:, 1]).all()
    assert edges.min(initial=0) >= 0 and edges.max(initial=0) < n
    codes = edges[:, 0].astype(np.int64) * n + edges[:, 1]
    assert (np.diff(codes) > 0).all()  # sorted, and each once


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10])
def test_all_edges(n):
    edges = all_edges(n)
    assert edges.tolist() == [[i, j] for i in range(n) for j in range(i + 1, n)]
    assert edges.dtype == np.int32 and edges.shape == (n * max(n - 1, 0) // 2, 2)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda e: e[0] != e[1])))
def test_deduplicated_edges(edges):
    found = deduplicate_edges(np.array(edges, int).reshape(-1, 2))
    check_pairs(found, 9)
    assert as_set(found) == {(min(e), max(e)) for e in edges}


@given(
    st.integers(2, 14),
    st.integers(0, 100),
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=60),
    st.integers(0, 2**32 - 1),
)
def test_dissimilar_pairs_are_as_many_as_asked_and_no_edges(n, wanted, edges, seed):
    edges = np.array([(i % n, j % n) for i, j in edges if i % n != j % n], int).reshape(-1, 2)
    found = sample_dissimilar(n, wanted, edges, seed)
    check_pairs(found, n)
    excluded = as_set(deduplicate_edges(edges))
    assert not as_set(found) & excluded
    assert len(found) == min(wanted, n * (n - 1) // 2 - len(excluded))


@pytest.mark.parametrize("wanted", [3, 15])
def test_choice_is_uniform(wanted):
    """3 of 39 free pairs are drawn at random, 15 taken from a list: both must be fair."""
    n, excluded = 10, np.array([[0, 1], [2, 7], [9, 3], [4, 5], [8, 0], [1, 2]])
    counts = np.zeros((n, n), int)
    together = 0
    rng = np.random.default_rng(0)
    repeats = 6000
    for _ in range(repeats):
        edges = sample_dissimilar(n, wanted, excluded, rng)
        counts[edges[:, 0], edges[:, 1]] += 1
        together += {(0, 2), (3, 4)} <= as_set(edges)
    free = sorted(as_set(all_edges(n)) - as_set(deduplicate_edges(excluded)))
    observed = [counts[pair] for pair in free]
    # Without replacement counts vary less than in a multinomial, by this factor.
    shrink = 1 - wanted / len(free)
    assert chisquare(observed).statistic / shrink < 80  # 38 degrees of freedom: p = 1e-4
    assert chisquare(observed).statistic / shrink > 12
    expected = repeats * wanted * (wanted - 1) / (len(free) * (len(free) - 1))
    assert abs(together - expected) < 4 * np.sqrt(expected) + 1


def test_large_samples():
    excluded = sample_edges(20_000, 150_000, 1)
    edges = sample_dissimilar(20_000, 200_000, excluded, 0)
    check_pairs(edges, 20_000)
    assert len(edges) == 200_000
    both = np.concatenate([edges, excluded])
    assert len(np.unique(both, axis=0)) == 350_000


def test_items_beyond_the_square_root_of_int32():
    n = 2_000_000
    edges = sample_dissimilar(n, 1000, [[n - 1, 0]], 0)
    check_pairs(edges, n)
    assert edges.max() > 1_900_000


def test_nothing_is_left():
    assert sample_dissimilar(5, 10, all_edges(5), 0).shape == (0, 2)
    assert sample_dissimilar(1, 10, np.empty((0, 2)), 0).shape == (0, 2)
    assert sample_dissimilar(5, 0, [], 0).shape == (0, 2)


def test_all_that_is_left():
    edges = all_edges(6)
    np.testing.assert_array_equal(sample_dissimilar(6, 100, edges[::2], 0), edges[1::2])


def test_same_seed_same_pairs_and_another_seed_others():
    a, b, c = (sample_edges(1000, 50, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert as_set(a) != as_set(c)
    np.testing.assert_array_equal(
        sample_edges(1000, 50, np.random.RandomState(5)),
        sample_edges(1000, 50, np.random.RandomState(5)),
    )
    assert as_set(sample_edges(1000, 50)) != as_set(sample_edges(1000, 50))


def test_global_random_states_are_untouched():
    np.random.seed(0)
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state().clone()
    sample_edges(100, 10)
    sample_dissimilar(20, 100, all_edges(20)[:50], 0)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_edges_are_not_written_to():
    edges = np.array([[3, 0], [0, 3], [2, 1]])
    edges.setflags(write=False)
    sample_dissimilar(6, 4, edges, 0)
    deduplicate_edges(edges)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 0]], "joins item 0 to itself"),
        ([[-1, 2]], "numbered from 0, got -1"),
        ([[0, 9]], "Item 9 is out of range for 5 items"),
        ([[0.0, 1.0]], "must be integers"),
        ([[0, 1, 2]], r"shape \(n_edges, 2\)"),
    ],
)
def test_edges_are_checked(edges, message):
    with pytest.raises(ValueError, match=message):
        sample_dissimilar(5, 2, edges, 0)


def test_negative_number_of_pairs_is_refused():
    with pytest.raises(ValueError, match="-1"):
        sample_edges(5, -1)


def test_random_state_is_checked():
    with pytest.raises(ValueError, match="'seed'"):
        sample_edges(50, 1, "seed")


def test_edges_from_are_all_pairs_with_a_later_item_or_a_uniform_sample():
    rng = np.random.default_rng(0)
    for first, n in ((1, 2), (5, 6), (5, 12), (11, 12), (2, 40)):
        every = edges_from(first, n, np.inf, rng)
        wanted = [[i, j] for j in range(first, n) for i in range(j)]
        assert every.tolist() == wanted and every.dtype == np.int32
        some = edges_from(first, n, max(1, len(wanted) - 3), rng)
        assert {tuple(e) for e in some.tolist()} <= {tuple(e) for e in wanted}
        assert len(np.unique(some, axis=0)) == max(1, len(wanted) - 3)
    counts = np.zeros((12, 12))
    for _ in range(4000):
        i, j = edges_from(7, 12, 10, rng).T
        counts[i, j] += 1
    i, j = edges_from(7, 12, np.inf, rng).T
    assert chisquare(counts[i, j]).pvalue > 1e-3
    # numbers of pairs beyond the precision of a float's root
    n = 2_000_000_000
    i, j = edges_from(n - 2, n, 1000, rng).astype(np.int64).T
    assert (i < j).all() and (j >= n - 2).all() and (j < n).all() and (i >= 0).all()
