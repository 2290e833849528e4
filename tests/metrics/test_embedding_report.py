"""The report of an embedding, comparisons of reports, and their parts."""

import sys

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.manifold import trustworthiness

from skmde import metrics


def _normal(n, m, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


@pytest.fixture(scope="module")
def data():
    X = _normal(150, 4) * [4, 2, 1, 0.5]
    return X, X[:, :2], np.digitize(X[:, 0], [-2, 2])


def test_continuity_is_trustworthiness_with_exchanged_roles():
    X, embedding = _normal(120, 5), _normal(120, 2, 1)
    for k in (1, 7, 30):
        expected = trustworthiness(embedding, X, n_neighbors=k)
        assert metrics.continuity(X, embedding, k) == pytest.approx(expected)
    assert metrics.continuity(X, 3 * X, 7) == 1.0


@pytest.mark.parametrize("k", [0, 60, 2.5])
def test_continuity_needs_fewer_neighbours_than_half_of_the_items(k):
    with pytest.raises(ValueError, match="n_neighbors"):
        metrics.continuity(_normal(120, 5), _normal(120, 2), k)


def test_continuity_of_sampled_items():
    X, embedding = _normal(400, 5), _normal(400, 2, 1)
    sampled = metrics.continuity(X, embedding, 5, sample=200, random_state=0)
    assert sampled == pytest.approx(metrics.continuity(X, embedding, 5), abs=0.05)


def test_distance_correlation_is_spearmans():
    X = np.arange(3.0)[:, None]
    embedding = [[0.0], [5.0], [6.0]]
    rho = metrics.distance_correlation(X, embedding, 3000, random_state=0)
    assert rho == pytest.approx(spearmanr([1, 2, 1], [5, 6, 1])[0], abs=0.05)
    assert metrics.distance_correlation(X, X**3, 50, random_state=0) > 0.5
    assert np.isnan(metrics.distance_correlation(X, np.zeros((3, 1)), 50, random_state=0))
    with pytest.raises(ValueError, match="There must be 1 pair"):
        metrics.distance_correlation(X, embedding, 0)


def test_the_short_report_is_part_of_it(data):
    X, embedding, y = data
    report, short = (
        metrics.embedding_report(embedding, X, y),
        metrics.quality_report(X, embedding, y),
    )
    assert [report[name] for name in ("recall_15", "trustworthiness", "triplets")] == [
        short[name] for name in ("knn_recall15", "trustworthiness_5k", "triplet")
    ]
    assert report["knn_accuracy"] == short["knn_accuracy"]
    assert report["continuity"] == metrics.continuity(X, embedding, 15)
    assert report["distance_correlation"] == metrics.distance_correlation(
        X, embedding, random_state=0
    )
    assert report["recall_5"] == metrics.neighborhood_recall(X, embedding, 5)


def test_a_perfect_embedding_has_the_best_values(data):
    X, _, y = data
    report = metrics.embedding_report(5 * X + 3, X, X[:, 0])
    for name, one in report.measures.items():
        if name != "knn_r2":
            assert one.value == pytest.approx(one.best, abs=1e-7), name
    assert metrics.embedding_report(X, X, y).measures["knn_accuracy"].chance == pytest.approx(
        np.bincount(y).max() / 150
    )


def test_an_unrelated_embedding_has_values_near_chance():
    X, embedding = _normal(500, 10), _normal(500, 2, 1)
    report = metrics.embedding_report(embedding, X, _normal(500, 1, 2).ravel())
    for name, one in report.measures.items():
        if name != "stress":  # distances are at least 0, so a scale fits them to some degree
            assert one.value == pytest.approx(one.chance, abs=0.15), name


class _Fitted:
    embedding_ = _normal(150, 4)[:, :2]


def test_an_estimator_stands_for_its_embedding():
    X = _normal(150, 4)
    estimator = metrics.embedding_report(_Fitted(), X)
    assert repr(estimator) == repr(metrics.embedding_report(_Fitted.embedding_, X))


@pytest.mark.parametrize("n", [3, 6, 40])
def test_few_items_have_a_report(n):
    report = metrics.embedding_report(_normal(n, 2), _normal(n, 3), np.arange(n) % 2)
    assert all(np.isfinite(one.value) or n == 3 for one in report.measures.values())
    with pytest.raises(ValueError, match="3 items or more; the embedding has 2"):
        metrics.embedding_report(_normal(2, 2), _normal(2, 3))


def test_tables_as_text_html_and_frame(data):
    X, embedding, y = data
    report = metrics.embedding_report(embedding, X, y)
    lines = repr(report).split("\n")
    assert lines[0] == "150 items in 2 dimensions"
    assert len(lines) == 2 + len(report.measures)
    frame = report.to_frame()
    assert frame.loc["stress", "value"] == report["stress"]
    assert report._repr_html_().count("<tr>") == 1 + len(report.measures)


def test_reports_side_by_side(data):
    X, embedding, y = data
    reports = (
        metrics.embedding_report(embedding, X, y),
        metrics.embedding_report(_normal(150, 2), X),
    )
    both = metrics.compare(*reports, names=["<good>", "bad"])
    assert both.best("stress") == both.best("recall_5") == both.best("knn_accuracy") == "<good>"
    assert repr(both).count("*") == len(reports[0].measures)
    assert "&lt;good&gt;" in both._repr_html_() and "<good>" not in both._repr_html_()
    frame = both.to_frame()
    assert list(frame.columns) == ["<good>", "bad"]
    assert np.isnan(frame.loc["knn_accuracy", "bad"])
    with pytest.raises(ValueError, match="names must be 2 different names"):
        metrics.compare(*reports, names=["a", "a"])
    with pytest.raises(ValueError, match=r"The reports are of \[100, 150\] items"):
        metrics.compare(reports[0], metrics.embedding_report(_normal(100, 2), _normal(100, 3)))
    with pytest.raises(ValueError, match="No report says what the best 'speed' is"):
        both.best("speed")


def test_measures_of_zadu(data, monkeypatch):
    X, embedding, y = data
    monkeypatch.setitem(sys.modules, "zadu", None)
    with pytest.raises(ImportError, match=r"pip install 'skmde\[zadu\]'"):
        metrics.embedding_report(embedding, X, zadu=["mrre"])
    monkeypatch.undo()
    pytest.importorskip("zadu")
    report = metrics.embedding_report(embedding, X, y, zadu=["mrre", "nh"])
    assert 0 < report["zadu_mrre_false"] < 1
    assert "zadu_neighborhood_hit" in repr(report)


def test_attributes_beside_their_baselines():
    embedding = _normal(200, 2)
    half = (embedding[:, 0] > 0).astype(object)
    half[:20] = None
    number = embedding[:, 1] ** 2
    number[10:30] = np.nan
    noise = np.random.default_rng(1).integers(0, 4, 200).astype(str)
    found = metrics.held_out_attributes(
        embedding, {"half": half, "number": number, "noise": noise}, n_neighbors=5
    )
    assert found["half"].n_items == found["number"].n_items == 180
    assert found["half"].score == metrics.knn_accuracy(embedding[20:], half[20:].astype(int), 5)
    assert found["half"].gain > 0.8
    assert found["number"].measure == "knn_r2" and found["number"].baseline == 0.0
    assert abs(found["noise"].gain) < 0.15
    assert "noise" in repr(found) and "<td>noise</td>" in found._repr_html_()
    assert list(found.to_frame().index) == ["half", "number", "noise"]


def test_attributes_in_other_forms():
    pd = pytest.importorskip("pandas")
    embedding, values = _normal(50, 2), np.arange(50) % 3
    names = pd.Series(np.where(values == 0, "x", "y"), dtype="string")
    names[3] = pd.NA
    frame = pd.DataFrame({"v": values, "name": names})
    found = metrics.held_out_attributes(embedding, frame)
    assert found["v"].score == metrics.knn_accuracy(embedding, values)
    assert found["name"].n_items == 49
    one = metrics.held_out_attributes(embedding, values)
    assert one["attribute"] == found["v"]
    two = metrics.held_out_attributes(embedding, np.column_stack([values, values]))
    assert two["attribute 1"] == found["v"]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"a": [1, 2]}, "'a' has shape .2,., but there are 50 items"),
        ({"a": [np.nan] * 49 + [1.0]}, "'a' is known for 1 items"),
        (np.zeros((50, 2, 2)), "must be a dict, a data frame, or an array"),
    ],
    ids=["length", "unknown", "shape"],
)
def test_bad_attributes_are_refused(attributes, message):
    with pytest.raises(ValueError, match=message):
        metrics.held_out_attributes(_normal(50, 2), attributes)


# Ties, estimators, metrics


@pytest.mark.parametrize("n_distinct", [1, 2, 4, 25])
def test_continuity_of_coincident_items_is_that_of_all_their_orders(n_distinct):
    X = _normal(50, 5)
    embedding = _normal(50, 2, seed=1)[np.arange(50) % n_distinct]
    random = np.random.default_rng(0)
    orders = [
        metrics.continuity(X, embedding + 1e-7 * random.normal(size=(50, 2)), 7) for _ in range(60)
    ]
    error = 5 * np.std(orders) / np.sqrt(60) + 1e-12
    assert abs(metrics.continuity(X, embedding, 7) - np.mean(orders)) < error
    if n_distinct == 1:  # a collapsed embedding keeps nothing
        assert metrics.continuity(X, embedding, 7) < 0.6


def test_continuity_does_not_depend_on_the_order_of_items(data):
    X, embedding = _normal(60, 5), np.round(2 * _normal(60, 2, seed=1))
    order = np.random.default_rng(0).permutation(60)
    found = metrics.continuity(X[order], embedding[order], 7)
    assert found == pytest.approx(metrics.continuity(X, embedding, 7), abs=1e-12)


def test_reports_are_compared_by_any_names():
    X = _normal(40, 3)
    reports = [metrics.embedding_report(X[:, :m], X) for m in (1, 2)]
    table = metrics.compare(*reports, names=[1, 2])
    assert table.best("stress") == "2"
    assert "1" in repr(table).splitlines()[0]
    many = metrics.compare(*(reports * 15))
    assert list(many.reports)[24:28] == ["y", "z", "a2", "b2"]
    for wrong in ([], [reports], [X]):
        with pytest.raises(TypeError, match="results of embedding_report"):
            metrics.compare(*wrong)


def test_a_report_needs_a_fitted_estimator_with_an_embedding():
    from sklearn.decomposition import PCA
    from sklearn.exceptions import NotFittedError
    from sklearn.pipeline import make_pipeline

    from skmde import QuadraticMDE

    X = _normal(40, 4)
    with pytest.raises(NotFittedError):
        metrics.embedding_report(QuadraticMDE(), X)
    with pytest.raises(TypeError, match="got the class QuadraticMDE"):
        metrics.embedding_report(QuadraticMDE, X)
    with pytest.raises(ValueError, match="PCA has no attribute embedding_"):
        metrics.embedding_report(PCA(2).fit(X), X)
    own = QuadraticMDE(weights="pca").fit(X)
    report = metrics.embedding_report(make_pipeline(own).fit(X), X)
    assert report["stress"] == metrics.embedding_report(own.embedding_, X)["stress"]


@pytest.mark.parametrize(
    "metric", ["correlation", "chebyshev", "hamming", "canberra", "sqeuclidean"]
)
def test_measures_take_metrics_of_scipy(metric):
    from scipy.spatial.distance import pdist, squareform

    X = _normal(40, 6)
    X = np.round(X) if metric == "hamming" else X
    D, embedding = squareform(pdist(X, metric)), _normal(40, 2, seed=1)
    options = {"random_state": 0}
    for measure in (metrics.triplet_accuracy, metrics.distance_correlation):
        found = measure(X, embedding, 2000, metric, **options)
        expected = measure(D, embedding, 2000, "precomputed", **options)
        assert found == pytest.approx(expected, abs=1e-9)
    if metric == "correlation":
        report = metrics.embedding_report(embedding, X, metric=metric)
        assert report["stress"] == pytest.approx(
            metrics.embedding_report(embedding, D, metric="precomputed")["stress"], abs=1e-9
        )


def test_parameters_of_the_metric_count():
    from types import SimpleNamespace

    from skmde.metrics.fitted import metric_of

    estimator = SimpleNamespace(metric="minkowski", metric_params={"p": 1})
    assert metric_of(estimator)(np.zeros(3), np.ones(3)) == pytest.approx(3.0)
    own = SimpleNamespace(metric=lambda a, b, scale: scale, metric_params={"scale": 7.0})
    assert metric_of(own)(0, 1) == 7.0
    with pytest.raises(ValueError, match="pass metric=, a function of two rows"):
        metric_of(SimpleNamespace(metric="tsss", metric_params={"p": 1}))


def test_recall_skips_missing_entries():
    X = _normal(30, 5)
    X[3, 2] = np.nan
    found = metrics.item_recall(X, X[:, :2], 5, metric="nan_euclidean")
    assert np.isfinite(found).all()


def test_an_attribute_that_cannot_be_read_is_named():
    embedding = _normal(4, 2)
    mixed = np.array(["a", 1, None, "b"], dtype=object)
    with pytest.raises(ValueError, match="The attribute 'colour' mixes labels"):
        metrics.held_out_attributes(embedding, {"colour": mixed})
    with pytest.raises(ValueError, match="The attribute 'size' has infinite values"):
        metrics.held_out_attributes(embedding, {"size": [1.5, np.inf, 2.0, 0.0]})
    with pytest.raises(ValueError, match="n_neighbors must be an integer; got 'all'"):
        metrics.held_out_attributes(embedding, [0, 1, 0, 1], n_neighbors="all")
    with pytest.raises(ValueError, match="Input y contains NaN, 1 times; leave out"):
        metrics.knn_accuracy(embedding, [0.0, np.nan, 1.0, 1.0], 1)


def test_distances_that_are_not_stored_are_not_zero():
    from scipy.sparse import csr_array
    from scipy.spatial.distance import pdist, squareform

    X, embedding = _normal(20, 3), _normal(20, 2, seed=1)
    D = squareform(pdist(X))
    options = {"metric": "precomputed", "random_state": 0}
    whole = metrics.triplet_accuracy(csr_array(D), embedding, 500, **options)
    assert whole == metrics.triplet_accuracy(D, embedding, 500, **options)
    graph = csr_array(np.where(D < 1, D, 0.0))
    for measure in (metrics.triplet_accuracy, metrics.distance_correlation):
        with pytest.raises(ValueError, match="but of 20 items all 380 are compared"):
            measure(graph, embedding, 500, **options)
    with pytest.raises(ValueError, match="a pair of neighbour tables"):
        metrics.embedding_report(embedding, (np.zeros((20, 2), int), np.zeros((20, 2))))


@pytest.mark.parametrize("seed", range(3))
def test_measures_follow_the_items_and_ignore_motions_and_units(seed):
    random = np.random.default_rng(seed)
    X, embedding, y = _normal(50, 4), _normal(50, 2, seed=1), np.arange(50) % 3
    turned = embedding @ np.linalg.qr(random.normal(size=(2, 2)))[0]
    moved = 10.0 ** random.integers(-30, 30) * (turned + random.normal(size=2))
    order = random.permutation(50)
    unit = 10.0 ** random.integers(-30, 30)
    expected = metrics.embedding_report(embedding, X, y)
    same_items = metrics.embedding_report(moved, unit * X, y)
    for name in expected.measures:
        assert same_items[name] == pytest.approx(expected[name], abs=1e-9)
    shuffled = metrics.embedding_report(moved[order], unit * X[order], y[order])
    for name in ("recall_5", "recall_15", "trustworthiness", "continuity", "knn_accuracy"):
        assert shuffled[name] == pytest.approx(expected[name], abs=1e-9)
    whole = metrics.item_recall(X, embedding, 7)
    np.testing.assert_array_equal(metrics.item_recall(X[order], moved[order], 7), whole[order])
