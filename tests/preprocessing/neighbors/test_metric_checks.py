"""Metrics that are none, parameters that a metric does not have, and data that it cannot read."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from neighbor_tables import by_definition
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from skmde.preprocessing.neighbors.search import NeighborIndex, nearest_neighbors
from skmde.preprocessing.pairs.distances import pair_distances

X = np.random.default_rng(0).standard_normal((40, 4)) * [1, 2, 3, 1]


def both(rows, **how):
    """The two ways to distances of rows: neighbours and pairs."""
    return [lambda: nearest_neighbors(rows, 3, **how), lambda: pair_distances(rows, **how)]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda a, b: -1.0, r"is negative, -1\.0, between the rows"),
        (lambda a, b: (1.0, a - b), "must return one number.* returned a tuple of length 2"),
        (lambda a, b: a - b, "must return one number.* returned a ndarray"),
        (lambda a, b: None, "must return one number.* returned a NoneType"),
        ("hellinger", "Negative values in data: metric='hellinger' needs"),
        ("jensen_shannon", "Negative values in data: metric='jensen_shannon' needs"),
        ("haversine", "needs 2 features.* got 4"),
    ],
)
def test_what_is_no_distance_is_refused(metric, message):
    for call in both(X, metric=metric):
        with pytest.raises(ValueError, match=message):
            call()


def test_unseen_rows_are_checked_too():
    index = NeighborIndex(metric="hellinger").fit(abs(X))
    with pytest.raises(ValueError, match="Negative values in data"):
        index.kneighbors(X, 1)


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_negative_rounding_errors_are_zero_in_any_unit(unit):
    def almost(a, b):
        return unit * (((a - b) ** 2).sum() - 1e-9)

    distances = nearest_neighbors(np.repeat(X, 2, axis=0), 1, metric=almost)[1]
    assert (distances == 0).all()


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("euclidean", "p"),
        ("manhattan", "p"),
        ("cosine", "w"),
        ("seuclidean", "VI"),
        ("minkowski", "V"),
        ("jaccard", "p"),
        ("hellinger", "w"),
    ],
)
def test_parameters_that_a_metric_does_not_have_are_refused(metric, name):
    for call in both(abs(X), metric=metric, metric_params={name: 3}):
        with pytest.raises(ValueError, match=f"'{metric}' has no parameter '{name}'"):
            call()


def test_precomputed_distances_have_no_parameters():
    with pytest.raises(ValueError, match=r"takes no parameters.*'p'"):
        nearest_neighbors(cdist(X, X), 3, metric="precomputed", metric_params={"p": 3})


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("seuclidean", {"V": [1.0, 2.0, 3.0, 4.0]}),
        ("mahalanobis", {"V": np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5}),
        ("mahalanobis", {"VI": np.diag([1.0, 2.0, 0.0, 4.0])}),
        ("minkowski", {"p": 3, "w": [1.0, 0.0, 3.0, 4.0]}),
        ("minkowski", {"p": np.inf, "w": [1.0, 0.0, 3.0, 4.0]}),
        ("minkowski", {"p": 1, "w": [1.0, 0.5, 3.0, 4.0]}),
        ("sqeuclidean", {"w": [1.0, 0.5, 3.0, 4.0]}),
        ("chebyshev", {"w": [1.0, 1.0, 3.0, 4.0]}),
    ],
)
def test_parameters_mean_what_they_mean_in_scikit_learn(metric, params):
    given = dict(params)
    if metric == "mahalanobis" and "V" in params:
        given = {"VI": np.linalg.inv(params["V"])}
    D = pairwise_distances(X, X.copy(), metric=metric, **given)
    truth, nearest = by_definition(D, 5)
    indices, distances, _ = nearest_neighbors(X, 5, metric=metric, metric_params=params)
    np.testing.assert_array_equal(indices, truth)
    np.testing.assert_allclose(distances, nearest, rtol=1e-9)
    pairs = pair_distances(X, metric=metric, metric_params=params)
    np.testing.assert_allclose(pairs, D[np.triu_indices(40, 1)], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("variances", [None, [1.0, 2.0, 3.0, 4.0]])
def test_variances_of_pynndescents_name_for_seuclidean(variances):
    params = {} if variances is None else {"sigma": variances}
    same = {"V": np.ones(4) if variances is None else np.array(variances)}
    found = pair_distances(X, metric="standardised_euclidean", metric_params=params)
    np.testing.assert_allclose(found, pair_distances(X, metric="seuclidean", metric_params=same))


@pytest.mark.parametrize(
    ("metric", "params", "message"),
    [
        ("standardised_euclidean", {"sigma": [1.0, 2.0]}, r"'sigma'.*of the 4 features.*\(2,\)"),
        ("seuclidean", {"V": [1.0, 2.0]}, r"one number for each of the 4 features.*\(2,\)"),
        ("seuclidean", {"V": [1.0, 2.0, 0.0, 1.0]}, "positive, got 0.0 for feature 2"),
        ("mahalanobis", {"V": np.ones((4, 4))}, "rank 1 and 4 features"),
        ("mahalanobis", {"VI": -np.eye(4)}, "without negative eigenvalues"),
        ("mahalanobis", {"VI": np.eye(3)}, r"inverse covariance VI of shape \(4, 4\)"),
        ("mahalanobis", {"V": np.eye(4), "VI": np.eye(4)}, "pass one of them"),
        ("minkowski", {"p": -1}, "positive p, got p=-1"),
        ("minkowski", {"p": 3, "w": [1, -2, 1, 1]}, "at least 0, got -2.0 for feature 1"),
        ("minkowski", {"p": "a"}, "positive p, got p='a'"),
        ("minkowski", {"p": None}, "positive p, got p=None"),
        ("minkowski", {"p": [1, 2]}, r"positive p, got p=\[1, 2\]"),
        ("hamming", {"w": "abcd"}, "'w'. must be a dense array of numbers, got 'abcd'"),
        ("minkowski", {"w": [[1], [1, 2]]}, "'w'. must be a dense array of numbers"),
        ("seuclidean", {"V": ["a"] * 4}, "'V'. must be a dense array of numbers"),
        ("mahalanobis", {"VI": sp.eye_array(4)}, "'VI'. must be a dense array of numbers"),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_impossible_parameters_are_refused(kind, metric, params, message):
    for call in both(kind(X), metric=metric, metric_params=params):
        with pytest.raises(ValueError, match=message):
            call()


def test_mahalanobis_of_dependent_and_constant_features_is_that_of_the_others():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 3))
    wide = np.column_stack([rows, rows @ [1.0, -2.0, 0.5], np.full(60, 7.0)])
    plain = nearest_neighbors(rows, 5, metric="mahalanobis")
    found = nearest_neighbors(wide * [1e6, 1, 1e-6, 1, 1], 5, metric="mahalanobis")
    np.testing.assert_array_equal(found[0], plain[0])
    np.testing.assert_allclose(found[1], plain[1], rtol=1e-6)


def test_mahalanobis_of_too_few_rows_warns():
    with pytest.warns(UserWarning, match="4 rows span 3 dimensions.*equally far"):
        nearest_neighbors(X[:4], 2, metric="mahalanobis")


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
@pytest.mark.parametrize(("shift", "factor"), [(1e8, 1.0), (0.0, 1e25), (0.0, 1e-25)])
def test_metrics_that_fit_the_data_do_not_mind_shift_and_scale(metric, shift, factor):
    truth, D, index = nearest_neighbors(X, 4, metric=metric)
    indices, distances, other = nearest_neighbors(X * factor + shift, 4, metric=metric)
    np.testing.assert_array_equal(indices, truth)
    np.testing.assert_allclose(distances, D, rtol=1e-5)
    queries = other.kneighbors(X[:5] * factor + shift, 2)
    np.testing.assert_array_equal(queries[0], index.kneighbors(X[:5], 2)[0])


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_mapped_row_depends_on_neither_batch_nor_threads(metric):
    rows = np.random.default_rng(2).standard_normal((300, 50))
    one, two = (NeighborIndex(metric=metric, n_jobs=n).fit(rows) for n in (1, 2))
    expected = one.kneighbors(rows[:40] + 0.1, 5)
    np.testing.assert_array_equal(two.kneighbors(rows[:40] + 0.1, 5)[1], expected[1])
    alone = one.kneighbors(rows[17:18] + 0.1, 5)
    np.testing.assert_array_equal(alone[1][0], expected[1][17])


@pytest.mark.parametrize("metric", ["jaccard", "dice", "hellinger"])
def test_rows_that_share_nothing_are_no_neighbors(metric):
    rows = np.zeros((6, 6))
    rows[:3, :3] = [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    rows[3:5, 3:5] = [[1, 1], [1, 0.5]]
    rows[5, 5] = 1.0
    indices, distances, index = nearest_neighbors(rows, 4, metric=metric)
    assert [set(row) - {-1} for row in indices.tolist()] == [
        {1, 2},
        {0, 2},
        {0, 1},
        {4},
        {3},
        set(),
    ]
    assert np.isinf(distances[indices < 0]).all() and (distances[indices >= 0] < 1).all()
    assert (index.kneighbors(rows[5:], 3)[0] == [[5, -1, -1]]).all()
    within = nearest_neighbors(rows, None, metric=metric, max_distance=2.0)
    np.testing.assert_array_equal(np.sort(within[0]), np.sort(indices[:, :2]))


def test_degrees_under_haversine_are_warned_of():
    degrees = np.random.default_rng(0).uniform(-90, 90, (20, 2))
    with pytest.warns(UserWarning, match="in radians.*Are they degrees"):
        nearest_neighbors(degrees, 3, metric="haversine")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nearest_neighbors(np.radians(degrees), 3, metric="haversine")


def test_metrics_that_skip_missing_values_get_them():
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)

    def skipping(a, b):
        return np.sqrt(len(a) / np.isfinite(a - b).sum() * np.nansum((a - b) ** 2))

    truth, D = by_definition(pairwise_distances(holes, metric="nan_euclidean"), 4)
    for metric in ("nan_euclidean", skipping):
        for form in (np.asarray, sp.csr_array):
            indices, distances, index = nearest_neighbors(form(holes), 4, metric=metric)
            np.testing.assert_array_equal(indices, truth)
            np.testing.assert_allclose(distances, D)
            assert index.kneighbors(form(holes[:3]), 1)[0].ravel().tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="infinity"):
        nearest_neighbors(np.where(np.isnan(holes), np.inf, holes), 4, metric="nan_euclidean")


@pytest.mark.parametrize("metric", ["dot", "direct_cosine", "inner_product", "true_angular"])
def test_similarities_of_pynndescent_are_no_metrics(metric):
    for call in both(abs(X), metric=metric):
        with pytest.raises(ValueError, match=f"'{metric}' is no distance.*Use \"cosine\""):
            call()


@pytest.mark.parametrize("metric", ["kantorovich", "sinkhorn", "wasserstein"])
def test_transport_needs_its_costs(metric):
    with pytest.raises(ValueError, match=f"'{metric}' needs metric_params with 'cost'"):
        nearest_neighbors(abs(X), 3, metric=metric)


def test_pynndescent_says_what_it_does_not_support():
    with pytest.raises(ValueError, match="'pynndescent' does not support metric='nan_euclidean'"):
        nearest_neighbors(X, 3, metric="nan_euclidean", algorithm="pynndescent")
