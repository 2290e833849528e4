"""Metrics: closed forms, scikit-learn's own, invariances, and bad input."""

import doctest
import tracemalloc
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.sparse import csr_array
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform
from scipy.stats import ortho_group
from sklearn import manifold
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from skmde import metrics

ROOT = Path(__file__).parents[1]


def _normal(n, m, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


@pytest.fixture(scope="module")
def data():
    """Data, an embedding and classes, with no two distances equal."""
    X = _normal(150, 4) * [4, 2, 1, 0.5]
    return X, X[:, :2], np.digitize(X[:, 0], [-2, 2])


# Where an embedding lies


@given(n=st.integers(1, 20), m=st.integers(1, 5), seed=st.integers(0, 99))
def test_align_undoes_rotation_reflection_and_shift(n, m, seed):
    target = _normal(n, m, seed)
    Q = ortho_group.rvs(m, random_state=seed) if m > 1 else np.array([[-1.0]])
    moved = target @ Q + 10 * _normal(1, m, seed + 1)
    np.testing.assert_allclose(metrics.align(moved, target), target, atol=1e-12)
    assert metrics.procrustes_distance(moved, target) < 1e-24


def test_align_undoes_scaling_when_asked():
    target = _normal(20, 3)
    moved = 1e-3 * target @ ortho_group.rvs(3, random_state=0) + 5
    np.testing.assert_allclose(metrics.align(moved, target, scaling=True), target, atol=1e-12)
    assert metrics.procrustes_distance(moved, target, scaling=False) > 1


def test_procrustes_distance_is_the_monographs_formula():
    X, other = metrics.center(_normal(30, 3)), metrics.center(_normal(30, 3, 1))
    sizes = np.linalg.svd(X.T @ other, compute_uv=False)
    expected = (np.sum(X**2) + np.sum(other**2) - 2 * np.sum(sizes)) / 30
    assert metrics.procrustes_distance(X, other) == pytest.approx(expected)
    assert metrics.procrustes_distance(other, X) == pytest.approx(expected)


def test_scaled_procrustes_distance_agrees_with_scipy():
    X, target = _normal(30, 3), metrics.center(_normal(30, 3, 1))
    _, _, disparity = procrustes(target, X)
    found = metrics.procrustes_distance(X, target, scaling=True)
    assert 30 * found / np.sum(target**2) == pytest.approx(disparity)


def test_aligned_embedding_is_closer_than_any_other_turn():
    X, target = _normal(15, 2), _normal(15, 2, 1)
    best = np.sum((metrics.align(X, target, center=False) - target) ** 2)
    for flip in (1, -1):
        for degrees in range(0, 360, 5):
            turned = metrics.rotate(X * [flip, 1], degrees)
            assert np.sum((turned - target) ** 2) >= best


def test_align_without_centring_keeps_the_origin():
    X = _normal(10, 2) + 5
    np.testing.assert_allclose(
        np.linalg.norm(metrics.align(X, _normal(10, 2, 1), center=False), axis=1),
        np.linalg.norm(X, axis=1),
    )


def test_align_of_coincident_points_is_finite():
    aligned = metrics.align(np.ones((4, 2)), _normal(4, 2), scaling=True)
    np.testing.assert_allclose(aligned, np.tile(_normal(4, 2).mean(axis=0), (4, 1)))


@pytest.mark.parametrize("function", [metrics.align, metrics.procrustes_distance])
def test_embeddings_to_compare_must_have_one_shape(function):
    with pytest.raises(ValueError, match=r"X has shape \(4, 2\) and target \(5, 2\)"):
        function(_normal(4, 2), _normal(5, 2))


def test_rotate_turns_the_plane_anticlockwise():
    np.testing.assert_allclose(
        metrics.rotate([[1.0, 0.0], [0.0, 2.0]], 90), [[0, 1], [-2, 0]], atol=1e-15
    )


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        ([90, 0, 0], [[1, 0, 0], [0, 0, 1], [0, -1, 0]]),
        ([0, 90, 0], [[0, 0, -1], [0, 1, 0], [1, 0, 0]]),
        ([0, 0, 90], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]),
        ([90, 0, 90], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    ],
)
def test_rotate_turns_space_about_each_axis_in_order(degrees, expected):
    np.testing.assert_allclose(metrics.rotate(np.eye(3), degrees), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("n_components", "degrees", "message"),
    [
        (4, 90, "2 or 3 components can be turned by degrees; X has 4"),
        (2, [1, 2, 3], "turned by one finite angle; got degrees=.1, 2, 3."),
        (3, 90, "turned by three finite angles, one an axis; got degrees=90"),
        (2, np.nan, "one finite angle"),
    ],
)
def test_rotate_refuses_angles_that_do_not_fit(n_components, degrees, message):
    with pytest.raises(ValueError, match=message):
        metrics.rotate(_normal(3, n_components), degrees)


def test_center_subtracts_the_mean_in_float64():
    X = np.array([[1e6], [1e6], [1e6 + 1]], dtype=np.float32)
    centered = metrics.center(X)
    np.testing.assert_allclose(centered.ravel(), [-1 / 3, -1 / 3, 2 / 3], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "move",
    [metrics.center, lambda X: metrics.rotate(X, 30), lambda X: metrics.align(X, 2 * X)],
)
def test_moving_an_embedding_keeps_its_dtype_and_leaves_the_argument_alone(move, dtype):
    X = _normal(5, 2).astype(dtype)
    X.flags.writeable = False
    assert move(X).dtype == dtype
    assert move(torch.from_numpy(X.copy())).dtype == dtype


# What it keeps of the data


def _all_measures(X, embedding, y):
    return {
        "recall": metrics.neighborhood_recall(X, embedding, 5),
        "trustworthiness": metrics.trustworthiness(X, embedding, 5),
        "triplets": metrics.triplet_accuracy(X, embedding, 2000, random_state=0),
        "accuracy": metrics.knn_accuracy(embedding, y),
    }


def test_a_perfect_embedding_scores_1():
    X = _normal(60, 3)
    measures = _all_measures(X, 7 * X @ ortho_group.rvs(3, random_state=0), X[:, 0] > 0)
    assert measures.pop("accuracy") > 0.8
    assert set(measures.values()) == {1.0}


def test_a_random_embedding_scores_what_chance_does():
    X, embedding = _normal(400, 5), _normal(400, 2, 1)
    assert metrics.neighborhood_recall(X, embedding, 20) == pytest.approx(20 / 399, abs=0.02)
    assert metrics.trustworthiness(X, embedding, 20) == pytest.approx(0.5, abs=0.05)
    found = metrics.triplet_accuracy(X, embedding, 20_000, random_state=0)
    assert found == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_measure_depends_on_scale(data, scale, dtype):
    X, embedding, y = data
    X = X.astype(dtype)
    expected = _all_measures(X, embedding, y)
    assert _all_measures(X * dtype(scale), embedding * scale, y) == pytest.approx(
        expected, abs=5e-3
    )


def test_no_measure_depends_on_an_offset():
    X, embedding = _normal(100, 4), _normal(100, 2, 1)
    y = X[:, 0] > 0
    expected = _all_measures(X, embedding, y)
    assert _all_measures(X + 1e8, embedding + 1e8, y) == pytest.approx(expected, abs=1e-3)


def test_recall_counts_true_neighbours():
    sets = [
        [
            set(row)
            for row in NearestNeighbors(n_neighbors=4).fit(A).kneighbors(return_distance=False)
        ]
        for A in (_normal(50, 6), _normal(50, 2, 1))
    ]
    expected = np.mean([len(a & b) / 4 for a, b in zip(*sets, strict=True)])
    assert metrics.neighborhood_recall(_normal(50, 6), _normal(50, 2, 1), 4) == expected


def test_recall_of_a_sample_searches_all_items():
    X, embedding = _normal(300, 5), _normal(300, 5)[:, :3]
    whole = metrics.neighborhood_recall(X, embedding, 5)
    parts = [
        metrics.neighborhood_recall(X, embedding, 5, sample=100, random_state=seed)
        for seed in range(20)
    ]
    assert np.mean(parts) == pytest.approx(whole, abs=0.01)
    assert len(set(parts)) > 1
    assert metrics.neighborhood_recall(X, embedding, 5, sample=10**9) == whole


def test_neighbours_leave_out_the_item_itself_and_not_its_copies():
    X = np.repeat([[0.0], [10.0], [20.0]], 4, axis=0)
    assert metrics.neighborhood_recall(X, X, 3) == 1
    # More copies than neighbours: the search may not come upon the item itself.
    many = np.repeat([[0.0], [10.0], [20.0]], 50, axis=0)
    assert metrics.neighborhood_recall(many, many, 2) == 1
    # Each item's copy is found, and it is the only one there is.
    pairs = np.repeat(_normal(10, 3), 2, axis=0)
    assert metrics.neighborhood_recall(pairs, pairs + 1e-9 * _normal(20, 3, 1), 1) == 1


def test_recall_reads_distances_dense_and_sparse():
    X, embedding = _normal(40, 4), _normal(40, 4)[:, :2]
    expected = metrics.neighborhood_recall(X, embedding, 5)
    distances = squareform(pdist(X))
    search = NearestNeighbors(n_neighbors=9).fit(X)
    graph = search.kneighbors_graph(mode="distance")
    with_itself = search.kneighbors_graph(X, mode="distance")
    for given_distances in (distances, graph, csr_array(graph), with_itself):
        found = metrics.neighborhood_recall(given_distances, embedding, 5, "precomputed")
        assert found == expected


def test_stored_zeros_are_neighbours_and_missing_ones_are_not_counted():
    graph = csr_array(([0.0, 1.0, 0.5], ([0, 0, 1], [1, 2, 0])), shape=(4, 4))
    embedding = [[0.0], [1.0], [5.0], [9.0]]
    # Items 0 and 1 store three neighbours; 2 is not one of the nearest two of item 0.
    assert metrics.neighborhood_recall(graph, embedding, 2, "precomputed") == 1
    assert metrics.neighborhood_recall(graph, embedding, 1, "precomputed") == 1
    far = [[0.0], [9.0], [8.5], [0.5]]
    assert metrics.neighborhood_recall(graph, far, 1, "precomputed") == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16])
def test_measures_take_any_type_of_number(dtype):
    X = np.rint(20 * _normal(60, 6) + 100)
    embedding = _normal(60, 2, 1)
    for measure in (metrics.neighborhood_recall, metrics.trustworthiness):
        assert measure(X.astype(dtype), embedding, 5) == measure(X, embedding, 5)


def test_recall_takes_other_metrics():
    X = np.array([[1.0, 0.0], [5.0, 0.1], [0.0, 1.0], [0.1, 9.0]])
    angles = np.arctan2(X[:, 1], X[:, 0])[:, None]
    assert metrics.neighborhood_recall(X, angles, 1, "cosine") == 1
    assert metrics.neighborhood_recall(X, angles, 1, "euclidean") < 1


def test_trustworthiness_is_scikit_learns(data):
    X, embedding, _ = data
    expected = manifold.trustworthiness(X, embedding, n_neighbors=15)
    assert metrics.trustworthiness(X, embedding) == pytest.approx(expected)
    distances = squareform(pdist(X))
    assert metrics.trustworthiness(distances, embedding, metric="precomputed") == pytest.approx(
        expected
    )


def test_trustworthiness_of_a_sample_is_that_of_the_rows_drawn(data):
    X, embedding, _ = data
    rows = np.sort(np.random.RandomState(3).choice(150, 100, replace=False))
    expected = manifold.trustworthiness(X[rows], embedding[rows], n_neighbors=15)
    distances = squareform(pdist(X))
    for values, metric in ((X, "euclidean"), (distances, "precomputed")):
        found = metrics.trustworthiness(values, embedding, 15, metric, sample=100, random_state=3)
        assert found == pytest.approx(expected)


def _share_of_all_triplets(X, embedding):
    D, d = squareform(pdist(X)), squareform(pdist(embedding))
    kept = [
        np.sign(D[i, j] - D[i, k]) == np.sign(d[i, j] - d[i, k])
        for i, j, k in permutations(range(len(X)), 3)
        if D[i, j] != D[i, k]
    ]
    return np.mean(kept)


@pytest.mark.parametrize("n", [3, 4, 12])
def test_triplets_are_drawn_from_all_with_equal_chances(n):
    X, embedding = _normal(n, 4), _normal(n, 4)[:, :1]
    found = metrics.triplet_accuracy(X, embedding, 50_000, random_state=0)
    assert found == pytest.approx(_share_of_all_triplets(X, embedding), abs=0.01)


def test_triplets_with_equal_distances_are_left_out():
    X = [[0.0], [1.0], [-1.0], [5.0]]
    embedding = [[0.0], [1.0], [-3.0], [5.0]]
    found = metrics.triplet_accuracy(X, embedding, 20_000, random_state=0)
    assert found == pytest.approx(_share_of_all_triplets(np.array(X), embedding), abs=0.01)
    # An order that the embedding does not show is not kept.
    assert metrics.triplet_accuracy(X, np.zeros((4, 1)), random_state=0) == 0
    with pytest.raises(ValueError, match="equal distances in X: there is no order"):
        metrics.triplet_accuracy(np.ones((5, 2)), _normal(5, 2))


def test_triplets_read_distances_and_other_metrics(data):
    X, embedding, _ = data
    options = {"n_triplets": 3000, "random_state": 0}
    expected = metrics.triplet_accuracy(X, embedding, **options)
    distances = squareform(pdist(X))
    for values, metric in (
        (distances, "precomputed"),
        (csr_array(X), "euclidean"),
        (X, lambda a, b: np.sqrt(np.sum((a - b) ** 2))),
    ):
        assert metrics.triplet_accuracy(values, embedding, metric=metric, **options) == expected
    for metric in ("cosine", "manhattan"):
        dense, sparse = (
            metrics.triplet_accuracy(values, embedding, metric=metric, **options)
            for values in (X, csr_array(X))
        )
        assert dense == sparse != expected
    with pytest.raises(ValueError, match="metric='jaccard' is not known for single pairs; use one"):
        metrics.triplet_accuracy(X, embedding, metric="jaccard")


def test_triplets_of_small_integers_do_not_wrap_around():
    X = np.array([[0], [3], [250]], dtype=np.uint8)
    assert metrics.triplet_accuracy(X, X.astype(float), 100, random_state=0) == 1


def test_triplets_are_measured_in_small_pieces():
    X = np.zeros((50, 20_000), dtype=np.float32)
    X[:, 0] = np.arange(50)
    tracemalloc.start()
    metrics.triplet_accuracy(X, X[:, :1], 5000, random_state=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # the 5000 rows of one leg alone, in one piece, are 800 MB


def test_knn_accuracy_of_held_out_items_is_scikit_learns():
    X, y = load_digits(return_X_y=True)
    embedding = X[:, 20:23]
    test = np.zeros(len(y), dtype=bool)
    test[::5] = True
    classifier = KNeighborsClassifier(n_neighbors=10).fit(embedding[~test], y[~test])
    expected = classifier.score(embedding[test], y[test])
    # Equal distances on a grid of integers may be broken differently.
    assert metrics.knn_accuracy(embedding, y, test=test) == pytest.approx(expected, abs=5e-3)
    assert metrics.knn_accuracy(embedding, y, test=np.flatnonzero(test)) == pytest.approx(
        expected, abs=5e-3
    )


def test_knn_accuracy_leaves_out_the_item_itself():
    embedding = [[0.0], [0.1], [5.0], [5.1]]
    assert metrics.knn_accuracy(embedding, ["a", "b", "a", "b"], 1) == 0
    assert metrics.knn_accuracy(embedding, ["a", "a", "b", "b"], 1) == 1


def test_first_class_wins_a_tied_vote():
    embedding = [[0.0], [1.0], [-1.0]]
    assert metrics.knn_accuracy(embedding, ["b", "a", "b"], 2, test=[0]) == 0
    assert metrics.knn_accuracy(embedding, ["a", "a", "b"], 2, test=[0]) == 1


def test_knn_accuracy_of_a_sample_is_near_that_of_all(data):
    X, _, y = data
    found = metrics.knn_accuracy(X, y, sample=100, random_state=0)
    assert found == pytest.approx(metrics.knn_accuracy(X, y), abs=0.03)


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


def test_measures_leave_the_global_random_state_alone(data):
    X, embedding, y = data
    before = np.random.get_state()[1].copy()
    metrics.quality_report(X, embedding, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, E: metrics.neighborhood_recall(X, E, 10), "=10, but it must be from 1 to 9 for"),
        (lambda X, E: metrics.neighborhood_recall(X, E, 0), "n_neighbors=0"),
        (lambda X, E: metrics.neighborhood_recall(X, E, 2, sample=0), "sample=0: look at 1 item"),
        (lambda X, E: metrics.neighborhood_recall(X, E[:9], 2), "inconsistent numbers of samples"),
        (lambda X, E: metrics.neighborhood_recall(X * np.nan, E, 2), "Input X contains NaN"),
        (lambda X, E: metrics.neighborhood_recall(X, E * np.nan, 2), "embedding contains NaN"),
        (lambda X, E: metrics.neighborhood_recall(X, E, 2, "precomputed"), r"shape \(10, 4\)"),
        (
            lambda X, E: metrics.neighborhood_recall(csr_array((10, 10)), E, 2, "precomputed"),
            "stores no neighbour",
        ),
        (lambda X, E: metrics.triplet_accuracy(X[:2], E[:2]), "needs 3 items; the embedding has 2"),
        (lambda X, E: metrics.triplet_accuracy(X, E, 0), "n_triplets=0"),
        (lambda X, E: metrics.knn_accuracy(E, np.ones(9)), "inconsistent numbers of samples"),
        (lambda X, E: metrics.knn_accuracy(E, np.ones(10), 10), "from 1 to 9"),
        (
            lambda X, E: metrics.knn_accuracy(E, np.ones(10), 6, test=np.arange(5)),
            "from 1 to 5, the number of training items",
        ),
        (
            lambda X, E: metrics.knn_accuracy(E, np.ones(10), 2, test=np.zeros(10, dtype=bool)),
            "test names no item",
        ),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(_normal(10, 4), _normal(10, 2))


# How far off its distances are


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
        ([-1.0], [1.0], None, "distances must be numbers of at least 0; found -1.0"),
        ([1.0], [np.nan], None, "embedding_distances must be numbers of at least 0; found nan"),
        ([1.0], [np.inf], None, "embedding_distances and weights must be finite"),
        ([1.0], [1.0], [-2.0], "weights must be numbers of at least 0; found -2.0"),
        ([np.inf], [1.0], None, "no pair to compare"),
        ([1.0], [1.0], [0.0], "no pair to compare"),
        ([], [], None, "no pair to compare"),
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


@pytest.mark.parametrize(
    ("distortions", "edges", "message"),
    [
        ([1.0], [[0, 3]], "edges hold items from 0 to 3, but groups name those from 0 to 2"),
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
