"""What an embedding keeps of the data: scikit-learn's own, closed forms, invariances, bad input."""

import tracemalloc
from decimal import Decimal
from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from scipy.stats import ortho_group
from sklearn import manifold
from sklearn.datasets import load_diabetes, load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from skmde import metrics


def _normal(n, m, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


@pytest.fixture(scope="module")
def data():
    """Data, an embedding and classes, with no two distances equal."""
    X = _normal(150, 4) * [4, 2, 1, 0.5]
    return X, X[:, :2], np.digitize(X[:, 0], [-2, 2])


def _all_measures(X, embedding, y):
    return {
        "recall": metrics.neighborhood_recall(X, embedding, 5),
        "trustworthiness": metrics.trustworthiness(X, embedding, 5),
        "triplets": metrics.triplet_accuracy(X, embedding, 2000, random_state=0),
        "accuracy": metrics.knn_accuracy(embedding, y),
        "r2": metrics.knn_r2(embedding, X[:, 0]),
    }


def test_a_perfect_embedding_scores_1():
    X = _normal(60, 3)
    measures = _all_measures(X, 7 * X @ ortho_group.rvs(3, random_state=0), X[:, 0] > 0)
    assert measures.pop("accuracy") > 0.8
    assert 0.4 < measures.pop("r2") < 1
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
    with pytest.raises(ValueError, match="triplets have equal distances in X: there is no order"):
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
    with pytest.raises(ValueError, match="metric='jaccard' is not supported here; use one"):
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


@pytest.mark.parametrize("n_targets", [None, 1, 3])
def test_knn_r2_of_held_out_items_is_scikit_learns(n_targets):
    X, y = load_diabetes(return_X_y=True)
    if n_targets is not None:
        y = np.column_stack([y, X[:, 0], -y])[:, :n_targets]
    embedding = X[:, 2:5] + 1e-6 * _normal(len(X), 3)  # no two distances equal
    test = np.zeros(len(y), dtype=bool)
    test[::5] = True
    regressor = KNeighborsRegressor(n_neighbors=10).fit(embedding[~test], y[~test])
    expected = regressor.score(embedding[test], y[test])
    assert metrics.knn_r2(embedding, y, test=test) == pytest.approx(expected)
    assert metrics.knn_r2(embedding, y, test=np.flatnonzero(test)) == pytest.approx(expected)


def test_knn_r2_leaves_out_the_item_itself():
    embedding = [[0.0], [0.1], [5.0], [5.1]]
    assert metrics.knn_r2(embedding, [1.5, 1.5, 0.5, 0.5], 1) == 1
    # Each is predicted as the other side of the mean.
    assert metrics.knn_r2(embedding, [1.5, 0.5, 1.5, 0.5], 1) == pytest.approx(-3)


@pytest.mark.parametrize("scale", [1e-250, 1e250])
@pytest.mark.parametrize("shift", [0, 1e6])
def test_knn_r2_does_not_depend_on_the_unit_and_the_offset_of_y(scale, shift):
    embedding = _normal(80, 2)
    y = embedding[:, 0] ** 2 + _normal(80, 1, 1)[:, 0]
    expected = metrics.knn_r2(embedding, y)
    assert metrics.knn_r2(embedding, (y + shift) * scale) == pytest.approx(expected, rel=1e-8)


def test_knn_r2_of_a_sample_is_near_that_of_all(data):
    X, _, _ = data
    y = X[:, 0] + 0.1 * _normal(150, 1, 1)[:, 0]
    found = metrics.knn_r2(X, y, sample=100, random_state=0)
    assert found == pytest.approx(metrics.knn_r2(X, y), abs=0.05)


def test_knn_accuracy_reads_one_column_of_classes_and_whole_floats(data):
    X, _, y = data
    expected = metrics.knn_accuracy(X, y)
    assert metrics.knn_accuracy(X, y[:, None]) == expected
    assert metrics.knn_accuracy(X, y.astype(float)) == expected


@pytest.mark.parametrize("masked", ["X", "embedding", "y"])
def test_masked_entries_are_refused_and_not_read_as_numbers(data, masked):
    arguments = dict(zip(("X", "embedding", "y"), data, strict=True))
    values = arguments[masked]
    metrics.quality_report(**arguments | {masked: np.ma.array(values)})
    hidden = np.ma.array(values, mask=np.arange(values.size).reshape(values.shape) == 3)
    with pytest.raises(ValueError, match=f"{masked} is a masked array with 1 masked"):
        metrics.quality_report(**arguments | {masked: hidden})


@pytest.mark.parametrize("number", [float, Decimal])
def test_objects_that_are_numbers_are_read_as_numbers(data, number):
    _, embedding, y = data
    target = embedding[:, 0]
    as_objects = np.array([number(v) for v in target], dtype=object)
    assert metrics.knn_r2(embedding, as_objects) == metrics.knn_r2(embedding, target)
    classes = np.array([number(int(v)) for v in y], dtype=object)
    assert metrics.knn_accuracy(embedding, classes) == metrics.knn_accuracy(embedding, y)


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
        (lambda X, E: metrics.neighborhood_recall(X, E, 2, sample=0), "sample must be at least 1"),
        (lambda X, E: metrics.neighborhood_recall(X, E[:9], 2), "inconsistent numbers of samples"),
        (lambda X, E: metrics.neighborhood_recall(X * np.nan, E, 2), "Input X contains NaN"),
        (lambda X, E: metrics.neighborhood_recall(X, E * np.nan, 2), "embedding contains NaN"),
        (lambda X, E: metrics.neighborhood_recall(X, E, 2, "precomputed"), r"shape \(10, 4\)"),
        (
            lambda X, E: metrics.neighborhood_recall(csr_array((10, 10)), E, 2, "precomputed"),
            "stores no neighbour",
        ),
        (lambda X, E: metrics.triplet_accuracy(X[:2], E[:2]), "needs 3 items; the embedding has 2"),
        (lambda X, E: metrics.triplet_accuracy(X, E, 0), "n_triplets must be at least 1; got 0"),
        (lambda X, E: metrics.knn_accuracy(E, np.ones(9)), "inconsistent numbers of samples"),
        (lambda X, E: metrics.knn_accuracy(E, np.ones(10), 10), "from 1 to 9"),
        (
            lambda X, E: metrics.knn_accuracy(E, E[:, 0], 2),
            r"y is continuous \(such as .*\); pass it to knn_r2, or classes here",
        ),
        (lambda X, E: metrics.knn_accuracy(E, np.full(10, np.nan), 2), "y contains NaN"),
        (lambda X, E: metrics.knn_accuracy(E, np.ones((10, 2)), 2), r"shape \(10, 2\)"),
        (lambda X, E: metrics.knn_r2(E, np.full(10, np.nan), 2), "y contains NaN"),
        (lambda X, E: metrics.knn_r2(E, list("abababcdcd"), 2), "y must be numbers.* knn_accuracy"),
        (lambda X, E: metrics.knn_r2(E, np.ones(9)), "inconsistent numbers of samples"),
        (lambda X, E: metrics.knn_r2(E, E[:, 0], 2, test=[3]), "2 items or more; got 1"),
        (
            lambda X, E: metrics.knn_accuracy(E, np.ones(10), 6, test=np.arange(5)),
            "from 1 to 5, the number of training items",
        ),
        (
            lambda X, E: metrics.knn_accuracy(E, np.ones(10), 2, test=np.zeros(10, dtype=bool)),
            "test selects no item",
        ),
        (lambda X, E: metrics.knn_r2(E, E[:, 0], 2, test=[]), "test selects no item"),
        (
            lambda X, E: metrics.knn_r2(E, E[:, 0], 2, test=[1, 10]),
            "indices from 1 to 10, but there are 10",
        ),
        (
            lambda X, E: metrics.knn_accuracy(E, np.ones(10), 2, test=[0, 1] * 5),
            "index 0 more than once.*mask as booleans",
        ),
        (lambda X, E: metrics.knn_r2(E, E[:, 0], 2, test=[9, 4, -1]), "index 9 more than once"),
        (lambda X, E: metrics.knn_r2(E, E[:, 0], 2, test=[0.5]), "mask of the 10 items or integer"),
        (lambda X, E: metrics.knn_r2(E, E[:, 0], 2, test=[True]), r"shape \(1,\) and dtype bool"),
        (lambda X, E: metrics.knn_r2(E, E[:, 0], 2.5), "n_neighbors must be an integer; got 2.5"),
        (lambda X, E: metrics.neighborhood_recall(X, E, 2, sample=2.5), "sample must be an int"),
        (lambda X, E: metrics.triplet_accuracy(X, E, 2.5), "n_triplets must be an integer"),
        (
            lambda X, E: metrics.knn_accuracy(E, E[:, 0].astype(object), 2),
            r"y is continuous \(such as",
        ),
        (
            lambda X, E: metrics.knn_accuracy(E, np.array(["a", 1] * 5, dtype=object), 2),
            "y mixes labels of several types, int, str",
        ),
        (
            lambda X, E: metrics.knn_accuracy(E, np.array([None, *"abababcdc"], dtype=object), 2),
            "y mixes labels of several types, NoneType, str",
        ),
        (lambda X, E: metrics.knn_r2(E, csr_array(E[:, :1]), 2), "y is a sparse matrix of shape"),
        (lambda X, E: metrics.neighborhood_recall(X, csr_array(E), 2), "embedding is a sparse"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(_normal(10, 4), _normal(10, 2))


NO_DISTANCES = {
    "nan": lambda a, b: np.nan,
    "infinite": lambda a, b: np.inf,
    "negative": lambda a, b: -1.0,
    "none": lambda a, b: None,
    "text": lambda a, b: "1.0",
    "complex": lambda a, b: 1j,
    "several": lambda a, b: np.abs(a - b),
    "pair": lambda a, b: (1.0, 2.0),
}


@pytest.mark.parametrize("kind", NO_DISTANCES)
@pytest.mark.parametrize("score", ["neighborhood_recall", "trustworthiness", "triplet_accuracy"])
def test_a_function_that_returns_no_distance_is_an_error(score, kind):
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match="metric must return one number, the distance of two rows"):
        getattr(metrics, score)(X, X[:, :2], 5, metric=NO_DISTANCES[kind])


@pytest.mark.parametrize("score", ["neighborhood_recall", "trustworthiness", "triplet_accuracy"])
def test_a_function_may_return_any_single_number(score):
    X = np.random.default_rng(0).integers(0, 50, (30, 3)).astype(float)
    how = {} if score == "neighborhood_recall" else {"random_state": 0}
    expected = getattr(metrics, score)(X, X[:, :2], 5, metric="manhattan", **how)
    for make in (float, int, np.float32, np.array, torch.tensor):
        found = getattr(metrics, score)(
            X, X[:, :2], 5, metric=lambda a, b, make=make: make(np.abs(a - b).sum()), **how
        )
        assert found == pytest.approx(expected)
