"""The ball tree finds what comparing all pairs finds, and only for metrics."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sparse_arrays import random_sparse

from skmde.preprocessing.neighbors.search import NeighborIndex, nearest_neighbors

LIMIT = "skmde.preprocessing.neighbors.index._MANY_FOR_TREE"


def manhattan(a, b):
    return float(np.abs(a - b).sum())


def squared(a, b):
    return float(((a - b) ** 2).sum())


def one_way(a, b):
    return float(np.maximum(a - b, 0).sum() + 2 * np.maximum(b - a, 0).sum())


def only_of_whole_numbers(a, b):
    if (a != np.rint(a)).any() or (b != np.rint(b)).any():
        raise ValueError("not a whole number")
    return manhattan(a, b)


def bent_far_away(a, b):
    """A metric among most rows, and none among a few that no sample has to contain."""
    d = manhattan(a, b)
    return d if d < 8 else d**2


def levelling_off(a, b):
    """A metric among rows that are far apart, and none among close ones."""
    return min(25 * squared(a, b), 1.0)


def infinite_far_away(a, b):
    """No metric among close rows; an infinite sum of two sides hides nothing."""
    d = squared(a, b)
    return d if d < 1 else np.inf


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(LIMIT, 0)


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("canberra", None),
        ("chebyshev", None),
        ("l1", None),
        ("manhattan", None),
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 1.5, "w": [1.0, 2.0, 0.5]}),
        (manhattan, None),
    ],
)
@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 2**31), st.sampled_from([40, 200]), st.integers(1, 12), st.sampled_from([2, 50])
)
def test_tree_finds_what_comparing_all_pairs_finds(metric, params, seed, n, k, n_values):
    """Few values make many ties and copies, which are resolved by index."""
    rng = np.random.default_rng(seed)
    X, unseen = (rng.integers(1, n_values + 1, (count, 3)).astype(float) for count in (n, 9))
    how = {"metric": metric, "metric_params": params, "n_neighbors": k}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LIMIT, 0)
        tree = NeighborIndex(**how).fit(X)
    assert tree.algorithm_ == "ball_tree"
    exact = NeighborIndex(algorithm="exact", **how).fit(X)
    for queries, exclude_self in ((None, False), (unseen, False), (X[:5], True)):
        found, expected = (s.kneighbors(queries, k, exclude_self) for s in (tree, exact))
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
        if n_values == 2 or callable(metric):  # else rounding may decide between equal distances
            np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("metric", [squared, one_way, only_of_whole_numbers])
def test_functions_that_are_no_metrics_are_compared_with_all_rows(metric, always):
    X = np.random.default_rng(0).integers(0, 30, (120, 3)).astype(float)
    indices, distances, index = nearest_neighbors(X, 6, metric=metric)
    assert index.algorithm_ == "exact"
    D = np.array([[metric(a, b) for b in X] for a in X])
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :6])
    np.testing.assert_allclose(np.take_along_axis(D, indices, axis=1), distances)


def test_a_function_that_is_no_metric_among_few_rows_is_seen(always):
    X = np.random.default_rng(0).standard_normal((300, 3))
    X[::20] *= 10
    assert nearest_neighbors(X, 6, metric=bent_far_away)[2].algorithm_ == "exact"


@pytest.mark.parametrize(
    ("metric", "n_clusters"), [(levelling_off, 20), (infinite_far_away, 1), (infinite_far_away, 20)]
)
def test_a_function_that_is_no_metric_among_close_rows_is_seen(metric, n_clusters, always, recwarn):
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    if n_clusters > 1:
        X = 20 * rng.standard_normal((n_clusters, 3))[rng.integers(n_clusters, size=400)] + 0.5 * X
    _, distances, index = nearest_neighbors(X, 6, metric=metric)
    assert index.algorithm_ == "exact"
    assert not len(recwarn)
    D = np.array([[metric(a, b) for b in X] for a in X])
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :6])


def test_a_function_is_called_for_few_pairs(monkeypatch):
    calls = []

    def counted(a, b):
        calls.append(1)
        return manhattan(a, b)

    n = 1200
    X = np.random.default_rng(0).random((n, 2))
    index = nearest_neighbors(X, 5, metric=counted)[2]
    assert index.algorithm_ == "ball_tree"
    assert len(calls) < 0.3 * n * n


def test_rows_that_a_tree_does_not_take_are_compared_with_all(always):
    rng = np.random.default_rng(0)
    wide, holes = rng.random((60, 16)), rng.random((60, 3))
    holes[3, 1] = np.nan

    def skipping(a, b):
        return float(np.nansum(np.abs(a - b)))

    for X, metric in ((wide, "manhattan"), (holes, skipping), (wide[:, :3], "braycurtis")):
        index = nearest_neighbors(X, 4, metric=metric)[2]
        assert index.algorithm_ == "exact"


def test_places_on_the_earth(monkeypatch):
    X = np.random.default_rng(0).uniform((-1.5, -3), (1.5, 3), (1100, 2))
    _, found, index = nearest_neighbors(X, 5, metric="haversine")
    _, expected, _ = nearest_neighbors(X, 5, metric="haversine", algorithm="exact")
    assert index.algorithm_ == "ball_tree"
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_tree_is_built_anew_after_unpickling(always):
    X = np.random.default_rng(0).random((80, 3))
    index = NeighborIndex(metric="chebyshev").fit(X)
    expected = index.kneighbors(X + 0.1, 4)
    found = pickle.loads(pickle.dumps(index)).kneighbors(X + 0.1, 4)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("value", [-1.0, -0.5, np.nan])
def test_distances_that_are_none_are_an_error(value, always):
    def wrong(a, b):
        return value if a[0] == 77 and b[0] == 78 else manhattan(a, b)

    X = np.arange(200.0)[:, None]
    with pytest.raises(ValueError, match=r"is (negative, |not defined \(NaN\)).* between .*77"):
        nearest_neighbors(X, 3, metric=wrong)


def test_an_error_of_a_function_reaches_the_user(always):
    def failing(a, b):
        if a[0] == 77 and b[0] == 78:
            raise RuntimeError("no distance of 77 and 78")
        return manhattan(a, b)

    with pytest.raises(RuntimeError, match="no distance of 77 and 78"):
        nearest_neighbors(np.arange(200.0)[:, None], 3, metric=failing)


@pytest.mark.parametrize("metric", ["euclidean", "jaccard"])
def test_all_pairs_are_compared_until_pynndescent_is_quicker(metric, monkeypatch):
    home = "skmde.preprocessing.neighbors"
    X = random_sparse((300, 2000), 0.01, seed=0)
    assert NeighborIndex(metric=metric).fit(X).algorithm_ == "exact"
    monkeypatch.setattr(f"{home}.backends.descent.DescentSearch", lambda *args: None)
    monkeypatch.setattr(f"{home}.index._CHEAP_PRODUCTS", 1e5)
    assert NeighborIndex(metric=metric).fit(X).algorithm_ == "pynndescent"


def test_skops_reads_a_tree(always):
    import skops.io

    from skmde import PreserveNeighbors
    from skmde.persistence import TRUSTED_TYPES

    X = np.random.default_rng(0).random((80, 3))
    fitted = PreserveNeighbors(metric="chebyshev", max_iter=5, random_state=0).fit(X)
    read = skops.io.loads(skops.io.dumps(fitted), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(read.transform(X[:5] + 0.01), fitted.transform(X[:5] + 0.01))
