"""Any graph becomes one symmetric matrix whose stored entries are its edges."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from skmde.preprocessing.graphs.adjacency import as_adjacency, is_unweighted

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def edges_of(adjacency):
    coo = adjacency.tocoo()
    pairs = zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist(), strict=True)
    return {(i, j): length for i, j, length in pairs}


def check_form(adjacency):
    assert isinstance(adjacency, sp.csr_array)
    assert adjacency.dtype == np.float64 and adjacency.indices.dtype == np.int32
    found = edges_of(adjacency)
    assert len(found) == adjacency.nnz  # no duplicates
    assert all(i != j and found[j, i] == length for (i, j), length in found.items())
    rows = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    codes = rows * adjacency.shape[0] + adjacency.indices
    assert (np.diff(codes) > 0).all()


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([0.0, 1.0, 2.5])),
        max_size=20,
        unique_by=lambda edge: frozenset(edge[:2]),
    )
)
def test_stored_entries_off_the_diagonal_are_edges(entries):
    rows, columns, lengths = zip(*entries, strict=True) if entries else ((), (), ())
    graph = sp.coo_array((np.array(lengths, float), (rows, columns)), shape=(6, 6), dtype=float)
    adjacency, names = as_adjacency(graph)
    check_form(adjacency)
    expected = {(i, j): length for i, j, length in entries if i != j}
    expected.update({(j, i): length for (i, j), length in expected.items()})
    assert edges_of(adjacency) == expected
    assert names is None


@pytest.mark.parametrize("form", [sp.coo_array, sp.coo_matrix])
@pytest.mark.parametrize("fmt", FORMATS)
def test_format_does_not_matter(fmt, form):
    rng = np.random.default_rng(0)
    dense = np.triu(rng.integers(0, 3, (8, 8)), 1)
    expected, _ = as_adjacency(dense)
    check_form(expected)
    found, _ = as_adjacency(form(dense).asformat(fmt))
    assert edges_of(found) == edges_of(expected)


def test_padding_of_blocks_and_diagonals_is_no_edge():
    dense = np.zeros((4, 4))
    dense[0, 1] = 3
    blocks = sp.bsr_array(sp.csr_array(dense), blocksize=(2, 2))
    assert blocks.nnz == 4
    assert edges_of(as_adjacency(blocks)[0]) == {(0, 1): 3, (1, 0): 3}


def test_int64_indices_and_uint8_lengths():
    graph = sp.coo_array((np.array([200, 100], np.uint8), ([0, 0], [1, 1])), shape=(2, 2))
    assert as_adjacency(graph)[0][0, 1] == 300  # entries stored twice add up, beyond 255
    wide = sp.csr_array(np.array([[0, 1], [0, 0]], bool))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    adjacency, _ = as_adjacency(wide)
    check_form(adjacency)
    assert edges_of(adjacency) == {(0, 1): 1, (1, 0): 1}


def test_zero_and_infinity_of_a_dense_matrix_are_no_edges():
    dense = np.array([[0, 2, np.inf], [0, 0, 0], [np.inf, 0, np.nan]])  # the diagonal is ignored
    assert edges_of(as_adjacency(dense)[0]) == {(0, 1): 2, (1, 0): 2}


def test_stored_infinity_is_no_edge():
    graph = sp.csr_array(np.array([[0, np.inf, np.inf], [0, 0, 0], [4, 0, 0]]))
    assert edges_of(as_adjacency(graph)[0]) == {(0, 2): 4, (2, 0): 4}


def test_directions_that_differ_are_averaged_with_a_warning():
    dense = np.array([[0, 1, 0], [3, 0, 5], [0, 5, 0]], float)
    with pytest.warns(UserWarning, match=r"not symmetric \(largest difference 2\)"):
        adjacency, _ = as_adjacency(dense)
    check_form(adjacency)
    assert adjacency[0, 1] == 2 and adjacency[1, 2] == 5


def test_rounding_is_averaged_without_a_warning():
    dense = np.array([[0, 1], [1 + 1e-9, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjacency, _ = as_adjacency(dense)
    check_form(adjacency)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (-2.0, r"must not be negative, got -2.0 between nodes 0 and 1\. Are these similarities\?"),
        (-np.inf, "must not be negative, got -inf"),
        (np.nan, r"between nodes 0 and 1 is NaN\. Leave out"),
    ],
)
def test_impossible_length_is_an_error(convert, entry, message):
    with pytest.raises(ValueError, match=message):
        as_adjacency(convert(np.array([[0, entry], [0, 0]])))


@pytest.mark.parametrize("graph", [np.ones((2, 3)), np.ones(4), sp.csr_array(np.ones((3, 2)))])
def test_matrix_that_is_not_square_is_an_error(graph):
    with pytest.raises(ValueError, match=r"must be square.*got shape \("):
        as_adjacency(graph)


@pytest.mark.parametrize("graph", [np.array([["a"]]), np.ones((2, 2), complex)])
def test_lengths_that_are_no_real_numbers_are_an_error(graph):
    with pytest.raises(ValueError, match="must be real numbers, got dtype"):
        as_adjacency(graph)


@pytest.mark.parametrize("fmt", ["csr", "coo"])
def test_input_is_not_written_to(fmt):
    graph = sp.coo_array(
        (np.array([0.0, 2.0, np.inf, 1.0]), ([2, 0, 1, 1], [1, 1, 0, 1])), shape=(3, 3)
    )
    if fmt == "csr":
        graph = sp.csr_array(
            (np.array([2.0, 1.0, 0.0]), np.array([2, 1, 1]), np.array([0, 2, 2, 3])), shape=(3, 3)
        )
        parts = [graph.data, graph.indices, graph.indptr]
    else:
        parts = [graph.data, graph.row, graph.col]
    before = [part.copy() for part in parts]
    for part in parts:
        part.setflags(write=False)
    adjacency, _ = as_adjacency(graph)
    adjacency.data[:] = 7
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_graph_without_nodes():
    adjacency, _ = as_adjacency(np.empty((0, 0)))
    assert adjacency.shape == (0, 0) and adjacency.nnz == 0


@pytest.mark.parametrize(
    ("lengths", "unweighted"),
    [([2, 2], True), ([2, 3], False), ([0, 0], False), ([], False), ([0, 1], False)],
)
def test_is_unweighted(lengths, unweighted):
    ends = np.arange(len(lengths))
    graph = sp.coo_array((np.array(lengths, float), (ends, ends + 1)), shape=(4, 4))
    assert is_unweighted(as_adjacency(graph)[0]) is unweighted


def test_networkx_graph():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from(["c", "a", "b"])
    graph.add_edge("a", "c", weight=2.5)
    graph.add_edge("b", "a")
    graph.add_edge("b", "b", weight=-1)
    adjacency, names = as_adjacency(graph)
    check_form(adjacency)
    assert names == ["c", "a", "b"]
    assert edges_of(adjacency) == {(0, 1): 2.5, (1, 0): 2.5, (1, 2): 1, (2, 1): 1}
    graph.add_edge("c", "b", weight=-3)
    with pytest.raises(ValueError, match=r"got -3\.0 between nodes 'c' and 'b'"):
        as_adjacency(graph)
    graph.add_edge("c", "b", weight="long")
    with pytest.raises(ValueError, match="must be real numbers"):
        as_adjacency(graph)


def test_networkx_directed_graph_is_read_as_undirected():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 2.0), (2, 1, 0.0)])
    assert edges_of(as_adjacency(graph)[0]) == {(0, 1): 2, (1, 0): 2, (1, 2): 0, (2, 1): 0}
    graph.add_edge(1, 0, weight=4.0)
    with pytest.warns(UserWarning, match="not symmetric"):
        assert as_adjacency(graph)[0][0, 1] == 3


def test_shortest_of_parallel_networkx_edges_counts():
    networkx = pytest.importorskip("networkx")
    graph = networkx.MultiGraph()
    graph.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 1.5), (0, 1, 4.0), (1, 2, 3.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjacency, _ = as_adjacency(graph)
    assert edges_of(adjacency) == {(0, 1): 1.5, (1, 0): 1.5, (1, 2): 3, (2, 1): 3}
