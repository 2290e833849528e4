"""Distances between rows of data."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist

from skmde.preprocessing import all_edges, pair_distances
from skmde.preprocessing.pairs import distances as distances_module
from skmde.preprocessing.pairs.distances import MetricDistances

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 6))
X[5] = X[6]
X[7] = X[8] = 0
EDGES = all_edges(70)
SCIPY = ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis"]


def difference(a, b):
    return float(np.abs(a - b).max())


@pytest.mark.parametrize("metric", SCIPY)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_all_pairs_are_scipys(metric):
    found = pair_distances(X, metric=metric)
    expected = np.nan_to_num(pdist(X, metric))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("metric", [*SCIPY, "cosine", "correlation", "mahalanobis", difference])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array])
def test_some_pairs_and_unseen_rows_agree_with_all_pairs(metric, form):
    data = form(X)
    sparse_only = ("euclidean", "sqeuclidean", "cityblock", "cosine")
    if sp.issparse(data) and metric not in sparse_only:
        data = sp.csr_array(X)  # few enough cells to be made dense
    every = pair_distances(data, metric=metric)
    chosen = RNG.permutation(len(EDGES))[:300]
    edges = EDGES[chosen]
    edges[::2] = edges[::2, ::-1]
    np.testing.assert_allclose(
        pair_distances(data, edges, metric=metric), every[chosen], rtol=1e-12, atol=1e-14
    )
    table = MetricDistances(metric).fit(data)
    items = np.array([3, 60, 7, 5])
    from_rows = table.from_rows(data, items)
    assert from_rows.shape == (70, 4)
    square = np.zeros((70, 70))
    square[EDGES[:, 0], EDGES[:, 1]] = square[EDGES[:, 1], EDGES[:, 0]] = every
    others = np.arange(70)[:, None] != items
    np.testing.assert_allclose(from_rows[others], square[:, items][others], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(table.from_rows(data[10:12], items), from_rows[10:12])


def test_wide_sparse_rows(monkeypatch):
    monkeypatch.setattr("skmde.preprocessing.neighbors.index._SMALL_DENSE", 0)
    data = sp.random(60, 400, density=0.05, random_state=0, format="csr")
    data = sp.vstack([data, data[:3]]).tocsr()
    every = pair_distances(data)
    np.testing.assert_allclose(every, pdist(data.toarray()), atol=1e-12)
    edges = all_edges(63)
    copies = (edges[:, 1] - edges[:, 0] == 60) & (edges[:, 0] < 3)
    np.testing.assert_array_equal(every[copies], 0)
    np.testing.assert_allclose(pair_distances(data, edges), every, atol=1e-12)
    table = MetricDistances("cosine").fit(data)
    np.testing.assert_allclose(
        table.from_rows(data[:9], [0, 50]),
        cdist(data[:9].toarray(), data[[0, 50]].toarray(), "cosine"),
        atol=1e-12,
    )


def test_copies_are_at_distance_zero_and_far_data_keeps_its_digits():
    moved = X + 1e8
    found, expected = pair_distances(moved), pair_distances(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    assert pair_distances(moved, [[5, 6]])[0] == 0


@pytest.mark.parametrize("factor", [1e-200, 1e-25, 1e25, 1e200])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_extreme_sizes(factor, metric):
    expected = factor * pair_distances(X, metric=metric)
    np.testing.assert_allclose(pair_distances(factor * X, metric=metric), expected, rtol=1e-9)


def test_rows_without_a_direction_are_at_distance_one_from_all():
    for edge in ([7, 8], [7, 3], [3, 8]):
        assert pair_distances(X, [edge], metric="cosine")[0] == 1
    every = pair_distances(X, metric="cosine")
    np.testing.assert_array_equal(every[(EDGES == 7).any(axis=1)], 1)


def test_integers_do_not_wrap_around():
    data = np.array([[250, 3], [5, 250]], np.uint8)
    assert pair_distances(data)[0] == np.hypot(245, 247)
    assert pair_distances(data, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_bits_do_not_depend_on_threads(n_jobs, monkeypatch):
    monkeypatch.setattr(distances_module, "_BLOCK_ENTRIES", 500)
    monkeypatch.setattr(distances_module, "_PAIRS", 100)
    for edges in (None, EDGES):
        np.testing.assert_array_equal(
            pair_distances(X, edges, n_jobs=n_jobs), pair_distances(X, edges)
        )


def test_metric_params_are_fitted_to_all_rows():
    found = pair_distances(X, EDGES[:50], metric="seuclidean")
    np.testing.assert_allclose(found, pdist(X, "seuclidean")[:50])
    found = pair_distances(X, metric="minkowski", metric_params={"p": 3})
    np.testing.assert_allclose(found, pdist(X, "minkowski", p=3))


def test_a_metric_of_pynndescent():
    rows = np.abs(X) / np.abs(X).sum(axis=1, where=np.abs(X) > 0, keepdims=True).clip(1e-9)
    assert np.isfinite(pair_distances(rows[:20], metric="hellinger")).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "nonsense"}, "Unknown metric 'nonsense'"),
        ({"edges": [[0, 70]]}, "edges contains row 70, but there are 70 rows"),
        ({"edges": [[2, 2]]}, "joins item 2 to itself"),
        ({"metric": lambda a, b: np.inf}, "2415 distances that are NaN or infinite|distances that"),
        ({"metric": lambda a, b: np.nan}, "not defined"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        pair_distances(X, **arguments)


def test_unseen_rows_of_another_width():
    with pytest.raises(ValueError, match="X has 5 features, but 6 were fitted"):
        MetricDistances().fit(X).from_rows(X[:, :5], [0])
