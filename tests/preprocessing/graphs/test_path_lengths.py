"""Lengths of shortest paths from a few nodes, against scipy's."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from scipy.sparse.csgraph import shortest_path

from skmde.preprocessing.graphs.adjacency import as_adjacency, is_unweighted
from skmde.preprocessing.graphs.path_lengths import path_lengths


def random_graph(n, degree, length, seed):
    """A graph of about that mean degree; edges of one length, or of random ones."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < degree / n, 1)
    rows, columns = np.nonzero(upper)
    values = rng.uniform(0.1, 3.0, len(rows)) if length is None else np.full(len(rows), length)
    adjacency, _ = as_adjacency(sp.coo_array((values, (rows, columns)), shape=(n, n)))
    return adjacency


def scipys(adjacency):
    return shortest_path(adjacency, method="D", directed=False)


@given(
    n=st.integers(2, 200),
    degree=st.floats(0.3, 12.0),
    length=st.sampled_from([None, 1.0, 0.1, 1e25, 1e-25]),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=40, deadline=None)
def test_lengths_are_scipys(n, degree, length, share, seed):
    adjacency = random_graph(n, degree, length, seed)
    rng = np.random.default_rng(seed)
    sources = rng.permutation(n)[: max(1, int(share * n))]
    found = path_lengths(adjacency, sources)
    assert found.shape == (len(sources), n)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, scipys(adjacency)[sources], rtol=1e-12)


@pytest.mark.parametrize("length", [None, 2.5])
@pytest.mark.parametrize("n_sources", [1, 63, 64, 65, 150])
def test_rows_come_in_the_order_of_the_sources(length, n_sources):
    adjacency = random_graph(150, 3.0, length, 1)
    sources = np.random.default_rng(2).permutation(150)[:n_sources]
    found = path_lengths(adjacency, sources)
    expected = scipys(adjacency)
    assert np.isinf(expected).any()
    np.testing.assert_allclose(found, expected[sources], rtol=1e-12)
    np.testing.assert_array_equal(found[np.arange(n_sources), sources], 0.0)
    np.testing.assert_array_equal(path_lengths(adjacency, sources[::-1]), found[::-1])


@pytest.mark.parametrize("length", [None, 2.5])
def test_other_components_are_infinitely_far(length):
    part = random_graph(40, 5.0, length, 3)
    adjacency, _ = as_adjacency(sp.block_diag([part, part, sp.csr_array((1, 1))]).tocsr())
    found = path_lengths(adjacency, np.array([80, 41, 3]))
    assert np.isinf(found[0, :80]).all()
    assert found[0, 80] == 0.0
    assert np.isinf(found[1, :40]).all()
    assert np.isinf(found[1, 80])
    assert np.isinf(found[2, 40:]).all()
    np.testing.assert_allclose(found[2, :40], scipys(part)[3], rtol=1e-12)


def test_edges_of_length_zero_are_edges():
    links = sp.coo_array(([0.0, 2.0, 0.0], ([0, 1, 3], [1, 2, 4])), shape=(5, 5))
    adjacency, _ = as_adjacency(links)
    inf = np.inf
    np.testing.assert_array_equal(
        path_lengths(adjacency, np.array([2, 0, 4])),
        [[2.0, 2.0, 0.0, inf, inf], [0.0, 0.0, 2.0, inf, inf], [inf, inf, inf, 0.0, 0.0]],
    )


def test_a_graph_whose_edges_all_have_length_zero():
    adjacency, _ = as_adjacency(sp.coo_array(([0.0, 0.0], ([0, 1], [1, 2])), shape=(4, 4)))
    assert not is_unweighted(adjacency)
    np.testing.assert_array_equal(path_lengths(adjacency, np.array([0])), [[0.0, 0.0, 0.0, np.inf]])


@pytest.mark.parametrize("length", [None, 1.0])
def test_a_graph_without_edges(length):
    adjacency = random_graph(4, 0.0, length, 0)
    expected = np.full((4, 4), np.inf)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_array_equal(path_lengths(adjacency, np.arange(4)), expected)


def test_a_long_chain_and_a_star():
    chain, _ = as_adjacency(sp.diags_array([np.ones(299)], offsets=[1], shape=(300, 300)))
    ends = np.array([299, 0, 150])
    expected = np.abs(np.arange(300) - ends[:, None])
    np.testing.assert_array_equal(path_lengths(chain, ends), expected)
    hub = np.zeros(299, int)
    star, _ = as_adjacency(sp.coo_array((np.ones(299), (hub, np.arange(1, 300))), shape=(300, 300)))
    found = path_lengths(star, np.array([7, 0]))
    np.testing.assert_array_equal(np.unique(found[0]), [0.0, 1.0, 2.0])
    assert found[0, 0] == 1.0
    assert (found[1, 1:] == 1.0).all()


@pytest.mark.parametrize("length", [None, 1.0])
def test_number_of_threads_changes_nothing(length):
    adjacency = random_graph(400, 4.0, length, 5)
    sources = np.random.default_rng(0).permutation(400)[:200]
    one = path_lengths(adjacency, sources, n_jobs=1)
    np.testing.assert_array_equal(path_lengths(adjacency, sources, n_jobs=2), one)
    np.testing.assert_array_equal(path_lengths(adjacency, sources), one)


@pytest.mark.parametrize("length", [None, 1.0])
def test_nothing_is_written_into_the_arguments(length):
    adjacency = random_graph(50, 4.0, length, 5)
    sources = np.array([9, 2, 30])
    for array in (adjacency.data, adjacency.indices, adjacency.indptr, sources):
        array.flags.writeable = False
    found = path_lengths(adjacency, sources)
    np.testing.assert_allclose(found, scipys(adjacency.copy())[sources])  # scipy 1.12 would write
