"""Neighbours from dense distances, sparse graphs and neighbour tables."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

import skmde
from skmde.preprocessing.neighbors.precomputed import (
    joined_neighbors,
    precomputed_neighbors,
    precomputed_queries,
)
from skmde.preprocessing.neighbors.search import nearest_neighbors

D4 = np.array([[0.0, 1, 5, 4], [1, 0, 2, 7], [5, 2, 0, 3], [4, 7, 3, 0]])


def as_given(indices, distances):
    return indices.tolist(), distances.tolist()


def test_dense_distances():
    indices, distances = precomputed_neighbors(D4, 2)
    assert indices.dtype == np.int32 and distances.dtype == np.float64
    assert as_given(indices, distances) == (
        [[1, 3], [0, 2], [1, 3], [2, 0]],
        [[1.0, 4.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0]],
    )


def test_data_dense_and_sparse_forms_agree():
    """Ties included: the digits are whole numbers and have many."""
    X = load_digits().data[:600]
    k = 10
    indices, distances, _ = nearest_neighbors(X, k)
    dense = precomputed_neighbors(cdist(X, X), k)
    np.testing.assert_array_equal(dense[0], indices)
    np.testing.assert_allclose(dense[1], distances, rtol=1e-14)
    rows = np.repeat(np.arange(len(X)), k)
    graph = sp.coo_array((distances.ravel(), (rows, indices.ravel())), shape=(600, 600))
    sparse = precomputed_neighbors(graph, k)
    np.testing.assert_array_equal(sparse[0], indices)
    np.testing.assert_array_equal(sparse[1], distances)
    pair = precomputed_neighbors((indices, distances), k)
    np.testing.assert_array_equal(pair[0], indices)
    np.testing.assert_array_equal(pair[1], distances)


def test_random_data_agree_with_scikit_learn_distances_and_graphs():
    X = np.random.default_rng(0).standard_normal((200, 5))
    indices, _, _ = nearest_neighbors(X, 7)
    np.testing.assert_array_equal(precomputed_neighbors(pairwise_distances(X), 7)[0], indices)
    graph = kneighbors_graph(X, 7, mode="distance")
    np.testing.assert_array_equal(precomputed_neighbors(graph, 7)[0], indices)
    np.testing.assert_array_equal(precomputed_neighbors(graph)[0], indices)


def test_self_entries_of_a_transformer_are_dropped_by_index():
    X = np.repeat(np.random.default_rng(0).standard_normal((10, 2)), 2, axis=0)
    transformer = KNeighborsTransformer(n_neighbors=3, mode="distance")
    graph = transformer.fit_transform(X)
    assert (graph.diagonal() == 0).all() and graph.nnz == 80
    indices, distances = precomputed_neighbors(graph)
    twin = np.arange(20) ^ 1
    np.testing.assert_array_equal(indices[:, 0], twin)
    assert (distances[:, 0] == 0).all()
    new = X[:4] + 1e-3
    indices, distances = precomputed_queries(transformer.transform(new), 3, n_train=20)
    assert indices.shape == (4, 3)
    assert set(indices[0, :2].tolist()) == {0, 1}


@pytest.mark.parametrize("form", ["csr_matrix", "csr_array", "coo_array", "csc_array"])
def test_stored_zeros_are_edges(form):
    rows, columns = [0, 1, 1, 2], [1, 0, 2, 1]
    graph = sp.csr_array(([0.0, 0.0, 2.0, 2.0], (rows, columns)), shape=(3, 3))
    indices, _ = precomputed_neighbors(getattr(sp, form)(graph))
    assert indices.tolist() == [[1, -1], [0, 2], [1, -1]]


def test_unequal_rows_and_int64_indices():
    graph = sp.csr_array(([3.0, 1.0, 1.0], ([0, 0, 2], [1, 2, 0])), shape=(3, 3))
    graph.indices, graph.indptr = graph.indices.astype(np.int64), graph.indptr.astype(np.int64)
    indices, distances = precomputed_neighbors(graph)
    assert indices.dtype == np.int32
    assert as_given(indices, distances) == (
        [[2, 1], [-1, -1], [0, -1]],
        [[1.0, 3.0], [np.inf, np.inf], [1.0, np.inf]],
    )
    assert precomputed_neighbors(graph, 1)[0].tolist() == [[2], [-1], [0]]


def test_masked_and_self_entries_of_a_pair():
    indices = np.array([[0, 2, 1], [1, 0, -1], [-1, 2, 0]])
    distances = np.array([[0.0, 5, 4], [0, 4, np.nan], [np.nan, 0, 5]])
    found = precomputed_neighbors((indices, distances))
    assert found[0].tolist() == [[1, 2], [0, -1], [0, -1]]
    assert found[1].tolist() == [[4, 5], [4, np.inf], [5, np.inf]]


def test_infinity_leaves_a_pair_out_and_writes_nothing():
    D = D4.copy()
    D[0, 1] = D[1, 0] = np.inf
    copy = D.copy()
    D.setflags(write=False)
    indices, distances = precomputed_neighbors(D, 3)
    assert as_given(indices[:1], distances[:1]) == ([[3, 2, -1]], [[4.0, 5.0, np.inf]])
    graph = sp.csr_array(D)
    for array in (graph.data, graph.indices, graph.indptr):
        array.setflags(write=False)
    assert precomputed_neighbors(graph)[0][0].tolist() == [3, 2, -1]
    np.testing.assert_array_equal(D, copy)
    tables = (np.array([[1, 2]] * 3), np.array([[np.inf, 1.0]] * 3))
    for table in tables:
        table.setflags(write=False)
    assert precomputed_neighbors(tables)[0].tolist() == [[2], [2], [-1]]


def test_unsorted_sparse_rows_are_left_as_they_are():
    graph = sp.csr_matrix((np.array([2.0, 1.0]), np.array([2, 1]), np.array([0, 2, 2, 2])), (3, 3))
    precomputed_neighbors(graph)
    assert graph.indices.tolist() == [2, 1] and graph.data.tolist() == [2.0, 1.0]


def test_asymmetric_dense_distances_are_averaged_with_a_warning():
    D = D4.copy()
    D[0, 1] = 8.0
    with pytest.warns(UserWarning, match="not symmetric") as record:
        indices, distances = precomputed_neighbors(D, 3)
    assert len(record) == 1
    assert as_given(indices[:1], distances[:1]) == ([[3, 1, 2]], [[4.0, 4.5, 5.0]])
    assert distances[1, 1] == 4.5
    assert D[0, 1] == 8.0 and D[1, 0] == 1.0


def test_distance_known_in_one_direction_counts():
    D = D4.copy()
    D[0, 1] = np.inf
    with pytest.warns(UserWarning, match="some known one way only.*known alone as it is"):
        indices, distances = precomputed_neighbors(D, 1)
    assert indices[0, 0] == 1 and distances[0, 0] == 1.0


def test_rounding_is_no_asymmetry():
    D = pairwise_distances(np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        precomputed_neighbors(D * (1 + 1e-7 * np.random.default_rng(1).uniform(size=D.shape)), 3)


@pytest.mark.parametrize(
    "form", [np.array, sp.csr_array, lambda D: (np.array([[1], [0]]), D[:, :1])]
)
@pytest.mark.parametrize(("value", "message"), [(-1.0, "negative"), (np.nan, "NaN")])
def test_negative_and_missing_distances_are_refused(form, value, message):
    D = np.array([[value, value], [value, value]])
    with pytest.raises(ValueError, match=message):
        precomputed_neighbors(form(D), 1)
    with pytest.raises(ValueError, match=message):
        precomputed_queries(form(D), 1, n_train=2)


def test_shapes_and_ranges_are_checked():
    with pytest.raises(ValueError, match=r"square.*\(2, 3\)"):
        precomputed_neighbors(np.ones((2, 3)), 1)
    with pytest.raises(ValueError, match="square"):
        precomputed_neighbors(sp.csr_array(np.ones((2, 3))), 1)
    with pytest.raises(ValueError, match=r"each of the 4 training items.*\(2, 3\)"):
        precomputed_queries(np.ones((2, 3)), 1, n_train=4)
    with pytest.raises(ValueError, match="same shape"):
        precomputed_neighbors((np.zeros((3, 2), int), np.zeros((3, 1))))
    with pytest.raises(ValueError, match="index 7"):
        precomputed_neighbors((np.array([[7], [0]]), np.ones((2, 1))))
    with pytest.raises(ValueError, match="index 2"):
        precomputed_queries((np.array([[2]]), np.ones((1, 1))), n_train=2)
    with pytest.raises(ValueError, match="must be integers"):
        precomputed_neighbors((np.array([[0.5], [0]]), np.ones((2, 1))))


def test_more_neighbors_than_items_are_clamped_with_one_warning():
    for form in (D4, sp.csr_array(D4), (np.array([[1], [0]]), np.ones((2, 1)))):
        with pytest.warns(UserWarning, match="n_neighbors=9") as record:
            precomputed_neighbors(form, 9)
        assert len(record) == 1


def test_max_distance():
    indices, distances = precomputed_neighbors(D4, max_distance=2.5)
    assert indices.tolist() == [[1, -1], [0, 2], [1, -1], [-1, -1]]
    assert np.isinf(distances[3]).all()


def test_queries_have_no_self():
    D = np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 3.0]])
    assert precomputed_queries(D, 2, n_train=3)[0].tolist() == [[0, 2], [0, 1]]
    graph = sp.csr_array(([0.0, 1.0], ([0, 1], [0, 1])), shape=(2, 3))
    assert precomputed_queries(graph, n_train=3)[0].tolist() == [[0], [1]]
    pair = (np.array([[2, 0], [-1, 1]]), np.array([[2.0, 1.0], [0.0, 1.0]]))
    assert precomputed_queries(pair, n_train=3)[0].tolist() == [[0, 2], [1, -1]]


def test_metric_precomputed_reads_distances_and_gives_no_index():
    indices, _, index = nearest_neighbors(D4, 1, metric="precomputed")
    assert index is None
    assert indices.ravel().tolist() == [1, 0, 1, 2]
    assert nearest_neighbors(sp.csr_array(D4), None, metric="precomputed")[0].shape == (4, 3)


def test_integer_distances():
    assert precomputed_neighbors(D4.astype(np.uint8), 1)[0].ravel().tolist() == [1, 0, 1, 2]
    graph = sp.csr_array(D4.astype(np.int32))
    assert precomputed_neighbors(graph, 1)[0].ravel().tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize("k", [1, 5, 40, None])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array, sp.coo_array])
def test_joined_neighbors_are_those_of_all_items(form, k):
    X = np.random.default_rng(0).standard_normal((45, 3))
    D = cdist(X, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # 40 neighbours of 30 items
        first = precomputed_neighbors(form(D[:30, :30]), k)
    joined = joined_neighbors(*first, form(D[30:]), k)
    for found, wanted in zip(joined, precomputed_neighbors(form(D), k), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert joined[0].dtype == np.int32


def test_joined_tables_leave_the_first_ones():
    first = np.array([[1], [0]]), np.array([[2.0], [2.0]])
    further = np.array([[3, 0], [1, -1]]), np.array([[1.0, 0.5], [4.0, 0.0]])
    indices, distances = joined_neighbors(*first, further, None)
    assert indices.tolist() == [[1, -1], [0, -1], [0, 3], [1, -1]]
    assert distances[2].tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match="out of range for 4 items"):
        joined_neighbors(*first, (further[0] + 1, further[1]), None)
    with pytest.warns(UserWarning, match="not symmetric"):
        indices, distances = joined_neighbors(
            *first, np.array([[3.0, 3.0, 0.0, 1.0], [9.0, 9.0, 2.0, 0.0]]), 1
        )
    assert indices.ravel().tolist() == [1, 0, 3, 2] and distances[2:].tolist() == [[1.5], [1.5]]


def test_negative_indices_other_than_the_mark_are_refused():
    indices, distances = np.array([[1, -2], [0, -1]]), np.ones((2, 2))
    with pytest.raises(ValueError, match=r"at least 0, or -1 for .*; got -2"):
        skmde.PreserveNeighbors(metric="precomputed").fit((indices, distances))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_directions_of_further_items_are_averaged(form):
    first = np.array([[1], [0]]), np.array([[1.0], [1.0]])
    further = form([[9.0, 8.0, 0.0, 2.0], [7.0, 6.0, 4.0, 0.0]])
    with pytest.warns(UserWarning, match="largest difference 2"):
        indices, distances = joined_neighbors(*first, further, 1)
    assert indices.ravel().tolist() == [1, 0, 3, 2]
    assert distances.ravel().tolist() == [1.0, 1.0, 3.0, 3.0]


def test_tables_of_all_that_a_hub_stores_are_refused_if_they_are_too_large():
    n = 20_000
    rows, columns = np.zeros(n - 1, int), np.arange(1, n)
    star = sp.csr_array((np.ones(n - 1), (rows, columns)), shape=(n, n))
    with pytest.raises(ValueError, match=r"has 19999 neighbours.*4.8 GB. Set n_neighbors"):
        precomputed_neighbors(sp.csr_array(star + star.T))
