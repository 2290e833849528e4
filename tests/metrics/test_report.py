"""Stress, distortion by group and the report: closed forms, invariances, and bad input."""

import doctest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csr_array

from skmde import metrics

ROOT = Path(__file__).parents[2]


def _normal(n, m, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


@pytest.fixture(scope="module")
def data():
    """Data, an embedding and classes, with no two distances equal."""
    X = _normal(150, 4) * [4, 2, 1, 0.5]
    return X, X[:, :2], np.digitize(X[:, 0], [-2, 2])


def test_report_holds_the_benchmarks_figures(data):
    X, embedding, y = data
    test = np.arange(0, 150, 3)
    report = metrics.quality_report(X, embedding, y, test=test)
    assert report == {
        "knn_recall15": metrics.neighborhood_recall(X, embedding, 15),
        "trustworthiness_5k": metrics.trustworthiness(X, embedding, 15),
        "triplet": metrics.triplet_accuracy(X, embedding, 200_000, random_state=0),
        "knn_accuracy": metrics.knn_accuracy(embedding, y, 10, test=test),
    }
    assert "knn_accuracy" not in metrics.quality_report(X, embedding)


def test_report_predicts_a_continuous_target(data):
    X, embedding, _ = data
    test = np.arange(0, 150, 3)
    report = metrics.quality_report(X, embedding, X[:, 0], test=test)
    assert report["knn_r2"] == metrics.knn_r2(embedding, X[:, 0], 10, test=test)
    assert "knn_accuracy" not in report
    two = metrics.quality_report(X, embedding, X[:, :2])
    assert two["knn_r2"] == metrics.knn_r2(embedding, X[:, :2], 10)


def test_report_samples_large_data():
    X = _normal(6000, 3)
    report = metrics.quality_report(X, X[:, :2], random_state=1)
    options = {"random_state": 1}
    assert report["knn_recall15"] == metrics.neighborhood_recall(
        X, X[:, :2], sample=1000, **options
    )
    assert report["trustworthiness_5k"] == metrics.trustworthiness(
        X, X[:, :2], sample=5000, **options
    )


def test_normalized_stress_is_1_minus_the_squared_cosine():
    delta, d = np.abs(_normal(2, 50))
    cosine = delta @ d / np.sqrt(delta @ delta * (d @ d))
    assert metrics.normalized_stress(delta, d) == pytest.approx(np.sqrt(1 - cosine**2))
    assert metrics.normalized_stress(d, delta) == pytest.approx(np.sqrt(1 - cosine**2))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_normalized_stress_does_not_depend_on_scale(scale):
    delta, d = np.abs(_normal(2, 50))
    expected = metrics.normalized_stress(delta, d)
    assert metrics.normalized_stress(scale * delta, d) == pytest.approx(expected)
    assert metrics.normalized_stress(delta, scale * d) == pytest.approx(expected)
    assert metrics.normalized_stress(delta, delta / scale) < 1e-15


def test_normalized_stress_weighs_pairs():
    delta, d = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0])
    twice = metrics.normalized_stress([1.0, 2.0, 3.0, 3.0], [1.0, 1.0, 1.0, 1.0])
    assert metrics.normalized_stress(delta, d, weights=[1, 1, 2]) == pytest.approx(twice)
    assert metrics.normalized_stress(delta, d, weights=[0, 0, 1]) == pytest.approx(0)


def test_normalized_stress_leaves_out_unreachable_pairs_and_reads_matrices():
    delta = np.array([[0.0, 1.0, np.inf], [1.0, 0.0, 2.0], [np.inf, 2.0, 0.0]])
    d = np.array([[0.0, 3.0, 9.0], [3.0, 0.0, 5.0], [9.0, 5.0, 0.0]])
    expected = metrics.normalized_stress([1.0, 2.0], [3.0, 5.0])
    assert metrics.normalized_stress(delta, d) == pytest.approx(expected)
    assert np.isinf(delta[0, 2])


def test_normalized_stress_of_coincident_points():
    assert metrics.normalized_stress([1.0, 2.0], [0.0, 0.0]) == 1
    assert metrics.normalized_stress([0.0, 0.0], [0.0, 0.0]) == 0
    assert metrics.normalized_stress([0.0, 0.0], [1.0, 0.0]) == 1


@pytest.mark.parametrize(
    ("delta", "d", "weights", "message"),
    [
        ([1.0, 2.0], [1.0], None, r"distances \(2,\), embedding_distances \(1,\)"),
        ([-1.0], [1.0], None, "distances must be at least 0 and not NaN; got -1.0"),
        ([1.0], [np.nan], None, "embedding_distances must be at least 0 and not NaN; got nan"),
        ([1.0], [np.inf], None, "embedding_distances and weights must be finite"),
        ([1.0], [1.0], [-2.0], "weights must be at least 0 and not NaN; got -2.0"),
        ([np.inf], [1.0], None, "No pair to compare"),
        ([1.0], [1.0], [0.0], "No pair to compare"),
        ([], [], None, "No pair to compare"),
    ],
)
def test_bad_distances_are_refused(delta, d, weights, message):
    with pytest.raises(ValueError, match=message):
        metrics.normalized_stress(delta, d, weights=weights)


@given(n_groups=st.integers(1, 4), n_edges=st.integers(0, 40), seed=st.integers(0, 99))
def test_group_distortions_are_means_over_pairs_of_groups(n_groups, n_edges, seed):
    rng = np.random.default_rng(seed)
    labels = np.array(["d", "a", "c", "b"])[rng.integers(n_groups, size=12)]
    edges, distortions = rng.integers(12, size=(n_edges, 2)), rng.random(n_edges)
    found = metrics.distortion_by_group(distortions, edges, labels)
    assert found.groups.tolist() == sorted(set(labels))
    for a, first in enumerate(found.groups):
        for b, second in enumerate(found.groups):
            chosen = [
                value
                for value, (i, j) in zip(distortions, edges, strict=True)
                if {labels[i], labels[j]} == {first, second}
            ]
            assert found.n_pairs[a, b] == len(chosen)
            expected = np.mean(chosen) if chosen else np.nan
            np.testing.assert_allclose(found.mean[a, b], expected)


@given(n_groups=st.integers(2, 5), n_edges=st.integers(0, 40), seed=st.integers(0, 99))
def test_pairs_of_overlapping_groups_count_in_all_cells_of_both_items(n_groups, n_edges, seed):
    rng = np.random.default_rng(seed)
    member = rng.random((12, n_groups)) < 0.4
    edges, distortions = rng.integers(12, size=(n_edges, 2)), rng.random(n_edges)
    found = metrics.distortion_by_group(distortions, edges, member)
    assert found.groups.tolist() == list(range(n_groups))
    for a in range(n_groups):
        for b in range(n_groups):
            chosen = [
                value
                for value, (i, j) in zip(distortions, edges, strict=True)
                if (member[i, a] and member[j, b]) or (member[i, b] and member[j, a])
            ]
            assert found.n_pairs[a, b] == len(chosen)
            expected = np.mean(chosen) if chosen else np.nan
            np.testing.assert_allclose(found.mean[a, b], expected)
    for given_groups in (member.astype(int), member.astype(float), csr_array(member)):
        again = metrics.distortion_by_group(distortions, edges, given_groups)
        np.testing.assert_array_equal(again.mean, found.mean)


def test_an_indicator_matrix_of_disjoint_groups_is_the_same_as_labels():
    labels = np.array([0, 2, 1, 1, 0])
    edges, distortions = np.array([[0, 1], [2, 3], [3, 0], [4, 0]]), [1.0, np.inf, np.nan, 2.0]
    expected = metrics.distortion_by_group(distortions, edges, labels)
    indicators = labels[:, None] == np.arange(3)
    sparse = [csr_array(indicators).asformat(f) for f in ("csr", "csc", "coo", "lil", "dok", "bsr")]
    for groups in (labels[:, None], indicators, *sparse):
        found = metrics.distortion_by_group(distortions, edges, groups)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            [[0, 2], [1, 0], [0, 1]],
            "indicator matrix of 0 and 1.* got shape .3, 2. with the entry 2",
        ),
        ([["a", "b"]] * 3, "indicator matrix of 0 and 1"),
        (np.zeros((3, 2, 2)), r"shape \(3, 2, 2\)"),
        ([[0.5, 0.5]] * 3, "indicator matrix of 0 and 1"),
        (np.array(["a", 1, "b"], dtype=object), "groups mixes labels of several types, int, str"),
        (np.ma.array([0, 1, 1], mask=[0, 1, 0]), "groups is a masked array with 1 masked"),
    ],
)
def test_groups_that_are_neither_labels_nor_indicators_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        metrics.distortion_by_group([1.0], [[0, 1]], groups)


@pytest.mark.parametrize(
    ("distortions", "edges", "message"),
    [
        (
            [[1.0, 2.0]],
            [[0, 1]],
            r"distortions must be one number for each edge; got shape \(1, 2\)",
        ),
        ([1.0], [[0, 3]], "from 0 to 3, but groups has labels only for items from 0 to 2"),
        ([1.0], [[-1, 0]], "from -1"),
        ([1.0], [[0.0, 1.0]], "integers of shape .* dtype float64"),
        ([1.0], [0, 1], r"got shape \(2,\)"),
        ([1.0, 2.0], [[0, 1]], "inconsistent numbers of samples"),
    ],
)
def test_bad_edges_are_refused(distortions, edges, message):
    with pytest.raises(ValueError, match=message):
        metrics.distortion_by_group(distortions, edges, [0, 0, 1])


def test_documentation_page_runs():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    page = ROOT / "doc" / "metrics.rst"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert tried > 5 and failed == 0


def test_numbers_to_predict_are_numbers_in_every_unit():
    rng = np.random.default_rng(0)
    embedding = rng.normal(size=(40, 2))
    y = embedding[:, 0] + 0.1 * rng.normal(size=40)
    for unit in (1e-30, 1e30):
        assert "knn_r2" in metrics.quality_report(embedding, embedding, unit * y)
