"""Neighbours of whatever form of data: dtypes, sparse formats, bad values, queries."""

import numpy as np
import pytest
import scipy.sparse as sp
from sparse_arrays import random_sparse

from skmde.preprocessing.neighbors.precomputed import precomputed_queries
from skmde.preprocessing.neighbors.search import NeighborIndex, nearest_neighbors


def test_uint8_does_not_wrap_around():
    X = np.array([[0], [255], [250], [3]], np.uint8)
    indices, distances, _ = nearest_neighbors(X, 1)
    assert indices.ravel().tolist() == [3, 2, 1, 0]
    assert distances.ravel().tolist() == [3, 5, 5, 3]
    indices, distances, _ = nearest_neighbors(X, 1, metric="manhattan")
    assert distances.ravel().tolist() == [3, 5, 5, 3]


@pytest.mark.parametrize(
    "convert",
    [
        sp.csr_matrix,
        sp.csr_array,
        sp.csc_array,
        sp.coo_array,
        sp.lil_array,
        lambda X: _with_int64_indices(sp.csr_array(X)),
    ],
)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_sparse_input_is_the_same_as_dense(convert, metric):
    X = np.random.default_rng(0).poisson(0.3, (80, 30)).astype(float)
    expected = nearest_neighbors(X, 5, metric=metric)
    found = nearest_neighbors(convert(X), 5, metric=metric)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    queries = found[2].kneighbors(convert(X[:7]), 4)
    np.testing.assert_array_equal(queries[0], expected[2].kneighbors(X[:7], 4)[0])


def _with_int64_indices(X):
    X.indices = X.indices.astype(np.int64)
    X.indptr = X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "sqeuclidean"])
def test_wide_sparse_input_is_searched_without_making_it_dense(metric, monkeypatch):
    monkeypatch.setattr("skmde.preprocessing.neighbors.index._SMALL_DENSE", 0)
    X = np.random.default_rng(0).poisson(0.3, (80, 30)).astype(float)
    X[5] = X[9]
    X[7] = 0
    expected = nearest_neighbors(X, 5, metric=metric)
    monkeypatch.setattr(sp.csr_array, "toarray", _no_dense(sp.csr_array.toarray, X.shape))
    found = nearest_neighbors(sp.csr_array(X), 5, metric=metric)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-12)
    assert found[0][5, 0] == 9 and found[1][5, 0] == 0
    if metric != "cosine":  # whose ties differ by rounding
        np.testing.assert_array_equal(found[0], expected[0])


def _no_dense(toarray, shape):
    def checked(self, *args, **kwargs):
        assert self.shape != shape, "the data was made dense"
        return toarray(self, *args, **kwargs)

    return checked


@pytest.mark.parametrize(
    "metric",
    "braycurtis canberra chebyshev cosine dice euclidean hamming jaccard manhattan".split(),
)
def test_rows_of_mostly_zeros_are_searched_without_making_them_dense(metric, monkeypatch):
    X = random_sparse((80, 1000), 0.04, seed=0)
    expected = nearest_neighbors(X.toarray(), 5, metric=metric)
    monkeypatch.setattr(sp.csr_array, "toarray", _no_dense(sp.csr_array.toarray, X.shape))
    found = nearest_neighbors(X, 5, metric=metric)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)


@pytest.mark.parametrize("algorithm", ["faiss", "torch"])
def test_searches_of_dense_rows_take_rows_of_mostly_zeros(algorithm):
    if algorithm == "faiss":
        pytest.importorskip("faiss")
    X = random_sparse((80, 1000), 0.04, seed=0)
    expected = nearest_neighbors(X.toarray(), 5, algorithm=algorithm)
    found = nearest_neighbors(X, 5, algorithm=algorithm)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_is_not_finite_is_refused(bad):
    X = np.ones((5, 2))
    index = NeighborIndex().fit(X)
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        nearest_neighbors(X, 2)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        index.kneighbors(X, 2)


def test_wrong_number_of_features_is_refused():
    index = NeighborIndex().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"3 features.*2 features"):
        index.kneighbors(np.ones((1, 3)), 1)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "jaccard"])
def test_read_only_input_works_and_is_not_written_to(metric):
    X = np.random.default_rng(0).standard_normal((40, 3))
    copy = X.copy()
    X.setflags(write=False)
    index = nearest_neighbors(X, 4, metric=metric)[2]
    index.kneighbors(X, 2)
    np.testing.assert_array_equal(X, copy)


def test_index_keeps_no_reference_to_the_data(cloud):
    X = cloud.astype(np.float32)
    index = NeighborIndex().fit(X)
    expected = index.kneighbors(cloud[:5], 3)[0]
    X[:] = 0
    np.testing.assert_array_equal(index.kneighbors(cloud[:5], 3)[0], expected)


def test_more_queries_than_training_rows(cloud):
    index = NeighborIndex().fit(cloud[:50])
    assert (index.kneighbors(cloud, 3)[0] < 50).all()
    indices, distances = index.kneighbors(cloud[:2], 60)
    assert (indices[:, :50] >= 0).all()
    assert (indices[:, 50:] == -1).all() and np.isinf(distances[:, 50:]).all()


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None, True])
@pytest.mark.parametrize("given", [True, False])
def test_a_number_of_neighbors_below_1_is_refused(k, given):
    """The compiled search wrote beyond a table without columns, which ended the process."""
    X = np.random.default_rng(0).random((20, 3))
    index = NeighborIndex().fit(X)
    with pytest.raises(ValueError, match="k must be an integer of at least 1, got"):
        index.kneighbors(X if given else None, k)
    if k is not None:
        with pytest.raises(ValueError, match="n_neighbors must be an integer of at least 1, got"):
            precomputed_queries(X, k, n_train=3)
