"""Neighbours under every kind of metric."""

import warnings

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from neighbor_tables import by_definition
from scipy.spatial.distance import cdist, squareform

from skmde.preprocessing.neighbors.backends import pairwise
from skmde.preprocessing.neighbors.search import NeighborIndex, nearest_neighbors
from skmde.preprocessing.pairs.distances import pair_distances


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("euclidean", None),
        ("l2", None),
        ("sqeuclidean", None),
        ("cosine", None),
        ("correlation", None),
        ("manhattan", None),
        ("chebyshev", None),
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 2}),
        ("canberra", None),
        ("braycurtis", None),
        ("seuclidean", None),
        ("mahalanobis", None),
    ],
)
def test_metrics_agree_with_scipy(metric, params):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 6)) * [1, 2, 3, 1, 1, 1] + 1
    name = {"l2": "euclidean", "manhattan": "cityblock"}.get(metric, metric)
    extra = dict(params or {})
    if metric == "seuclidean":
        extra = {"V": X.var(axis=0, ddof=1)}
    if metric == "mahalanobis":
        extra = {"VI": np.linalg.inv(np.cov(X.T))}
    truth, D = by_definition(cdist(X, X, name, **extra), 6)
    indices, distances, index = nearest_neighbors(X, 6, metric=metric, metric_params=params)
    np.testing.assert_array_equal(indices, truth)
    np.testing.assert_allclose(distances, D, rtol=1e-9)
    Q = rng.standard_normal((9, 6))
    D = cdist(Q, X, name, **extra)
    indices, distances = index.kneighbors(Q, 1)
    np.testing.assert_array_equal(indices[:, 0], D.argmin(axis=1))
    np.testing.assert_allclose(distances[:, 0], D.min(axis=1), rtol=1e-9)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "sqeuclidean"])
@pytest.mark.parametrize(("shift", "factor"), [(1e8, 1.0), (0.0, 1e25), (0.0, 1e-25)])
def test_other_metrics_do_not_mind_shift_and_scale(metric, shift, factor):
    X = np.random.default_rng(0).standard_normal((60, 3))
    truth, D, _ = nearest_neighbors(X, 4, metric=metric)
    indices, distances, _ = nearest_neighbors(X * factor + shift, 4, metric=metric)
    np.testing.assert_array_equal(indices, truth)
    power = 2 if metric == "sqeuclidean" else 1
    np.testing.assert_allclose(distances / factor**power, D, rtol=1e-6)


def test_cosine_is_not_shifted():
    X = np.array([[1.0, 100.0], [1.0, 101.0], [2.0, 200.0]])
    assert nearest_neighbors(X, 1, metric="cosine")[0][0, 0] == 2


@pytest.mark.parametrize("algorithm", ["exact", "faiss"])
def test_cosine_zero_rows_are_at_distance_one_from_all(algorithm):
    X = np.array([[0.0, 0], [1, 0], [-1, 0], [0, 0], [1, 0.1], [0, 1]])
    indices, distances, index = nearest_neighbors(X, 5, metric="cosine", algorithm=algorithm)
    assert np.isfinite(distances).all()
    assert (distances[0] == 1).all() and indices[0].tolist() == [1, 2, 3, 4, 5]
    assert (distances[3] == 1).all() and indices[3].tolist() == [0, 1, 2, 4, 5]
    # Row 1: a near one, then distance 1 (zero rows 0 and 3, orthogonal row 5), the opposite last.
    assert indices[1].tolist() == [4, 0, 3, 5, 2]
    np.testing.assert_allclose(distances[1, 1:], [1, 1, 1, 2])
    indices, distances = index.kneighbors(np.zeros((1, 2)), 3)
    assert indices.tolist() == [[0, 1, 2]] and (distances == 1).all()


def test_cosine_of_zero_rows_only():
    indices, distances, index = nearest_neighbors(np.zeros((4, 2)), 2, metric="cosine")
    assert indices.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1]]
    assert (distances == 1).all()
    assert (index.kneighbors(np.ones((1, 2)), 4)[1] == 1).all()


def test_cosine_zero_queries_without_zero_training_rows():
    index = NeighborIndex(metric="cosine").fit(np.eye(3))
    indices, distances = index.kneighbors(np.array([[0.0, 0, 0], [1, 0, 0]]), 2)
    assert indices[0].tolist() == [0, 1] and (distances[0] == 1).all()
    assert distances[1, 0] == 0


def test_correlation_of_constant_rows_is_finite():
    X = np.array([[1.0, 1, 1], [0.1, 0.1, 0.1], [1, 2, 3], [3, 2, 1]])
    indices, distances, _ = nearest_neighbors(X, 3, metric="correlation")
    assert (distances[:2] == 1).all()
    np.testing.assert_allclose(distances[2], [1, 1, 2])
    assert indices[2].tolist() == [0, 1, 3]


def test_jaccard_zero_rows_are_copies_of_each_other():
    X = np.array([[0, 0, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        indices, distances, _ = nearest_neighbors(X, 3, metric="jaccard")
    assert indices.tolist() == [[2, -1, -1], [3, -1, -1], [0, -1, -1], [1, -1, -1]]
    np.testing.assert_allclose(distances[:, 0], [0, 1 / 3, 0, 1 / 3])


def test_undefined_distances_of_equal_rows_are_zero_and_others_an_error():
    zeros = np.zeros((3, 2))
    assert (nearest_neighbors(zeros, 2, metric="braycurtis")[1] == 0).all()
    with pytest.raises(ValueError, match="not defined"):
        nearest_neighbors(np.eye(3), 1, metric=lambda a, b: np.nan)


def test_callable_metric_with_parameters():
    def weighted(a, b, weight=1.0):
        return weight * np.abs(a - b).sum()

    X = np.random.default_rng(0).standard_normal((30, 4))
    indices, distances, index = nearest_neighbors(
        X, 3, metric=weighted, metric_params={"weight": 2.0}
    )
    truth, D = by_definition(2 * cdist(X, X, "cityblock"), 3)
    np.testing.assert_array_equal(indices, truth)
    np.testing.assert_allclose(distances, D)
    np.testing.assert_allclose(
        index.kneighbors(X[:1] + 1, 1)[1][0, 0], 2 * cdist(X[:1] + 1, X, "cityblock").min()
    )


def test_compiled_callable_metric():
    @numba.njit
    def squared(a, b):
        return ((a - b) ** 2).sum()

    X = np.random.default_rng(0).standard_normal((30, 4))
    expected = nearest_neighbors(X, 3, metric="sqeuclidean")[0]
    np.testing.assert_array_equal(nearest_neighbors(X, 3, metric=squared)[0], expected)


def test_metric_known_to_pynndescent_only():
    X = np.random.default_rng(0).uniform(size=(40, 5))
    indices, distances, index = nearest_neighbors(X, 3, metric="hellinger")
    P = np.sqrt(X / X.sum(axis=1, keepdims=True))
    truth, D = by_definition(np.sqrt(np.maximum(0, 1 - P @ P.T)), 3)
    np.testing.assert_array_equal(indices, truth)
    np.testing.assert_allclose(distances, D, rtol=1e-3)  # computed in float32
    assert index.algorithm_ == "exact"


@pytest.mark.parametrize("metric", ["wminkowski", "weighted_minkowski"])
def test_weighted_minkowski_is_the_same_for_neighbours_and_pairs(metric):
    """Known to pynndescent alone; scikit-learn and SciPy name it no more."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((40, 3)), np.array([1.0, 2.0, 3.0])
    D = cdist(X, X, "minkowski", p=3, w=w)
    truth, nearest = by_definition(D, 5)
    how = {"metric": metric, "metric_params": {"p": 3, "w": w}}
    indices, distances, _ = nearest_neighbors(X, 5, **how)
    np.testing.assert_array_equal(indices, truth)
    np.testing.assert_allclose(distances, nearest, rtol=1e-5)
    np.testing.assert_allclose(pair_distances(X, **how), squareform(D, checks=False), rtol=1e-5)


@pytest.mark.parametrize("metric", [int, float, np.ndarray])
def test_classes_are_no_metrics(metric):
    message = rf"metric is the class {metric.__name__}\. Pass a name, such as 'euclidean', or a fun"
    with pytest.raises(TypeError, match=message):
        nearest_neighbors(np.eye(3), 1, metric=metric)
    with pytest.raises(TypeError, match=message):
        pair_distances(np.eye(3), metric=metric)


def test_unknown_metric_lists_the_known():
    with pytest.raises(ValueError, match=r"'euclid'.*euclidean.*hellinger"):
        nearest_neighbors(np.eye(3), 1, metric="euclid")


@pytest.mark.parametrize("sparse", [False, True])
def test_metrics_of_booleans_are_not_computed_pair_by_pair(sparse, monkeypatch):
    def slow(*args, **kwargs):
        raise AssertionError("scikit-learn compares two rows at a time")

    monkeypatch.setattr(pairwise, "pairwise_distances", slow)
    rows = np.random.default_rng(0).random((60, 300)) < 0.04
    rows[:, 0] = True
    for metric in ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"):
        _, found, _ = nearest_neighbors(sp.csr_array(rows) if sparse else rows, 5, metric=metric)
        D = cdist(rows, rows, metric)
        np.fill_diagonal(D, np.inf)
        expected = np.sort(D, axis=1)[:, :5]
        expected[(expected == 1) & (metric in ("dice", "jaccard"))] = np.inf
        np.testing.assert_allclose(found, expected, rtol=1e-12)
