"""What the functions of `skmde.inspection` are given: estimators, data of all kinds, and items."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmde import (
    Anchored,
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)
from skmde.inspection import (
    feature_sensitivity,
    forces_on,
    leave_one_out,
    point_report,
    sharpness,
    stability,
)
from skmde.metrics import embedding_report, item_recall

X, Y = (part[:60] for part in load_digits(return_X_y=True))


@pytest.fixture(scope="module")
def distances():
    return PreserveDistances(loss="squared", random_state=0).fit(X)


def quiet(estimator, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(*data)


def test_other_objects_than_estimators_are_refused(distances):
    pipeline = make_pipeline(StandardScaler(), QuadraticMDE(weights="pca")).fit(X)
    for call in (sharpness, lambda e: forces_on(e, 0), lambda e: leave_one_out(e, X)):
        with pytest.raises(TypeError, match="got an object of type ndarray"):
            call(X)
        with pytest.raises(ValueError, match=r"pass pipeline\[-1\]"):
            call(pipeline)
        with pytest.raises(ValueError, match="PCA is not an estimator of skmde"):
            call(PCA(2).fit(X))
    for call in (stability, point_report, feature_sensitivity):
        with pytest.raises(ValueError, match=r"pass pipeline\[-1\]"):
            call(pipeline, X)


def test_the_embedding_of_a_classifier_is_judged():
    labels = np.where(np.arange(60) < 30, Y, -1)
    classifier = AnchoredClassifier(n_neighbors=8).fit(X, labels)
    within = classifier.embedding_estimator_
    report = point_report(classifier, X, Y)
    assert {"recall", "sharpness", "leave_one_out", "label_disagreement"} <= set(report.columns)
    np.testing.assert_array_equal(sharpness(classifier), sharpness(within))
    assert stability(classifier, X, labels, n=1, subsample=None).overall < 1e-9
    kept = embedding_report(classifier, X)["recall_5"]
    assert kept == embedding_report(within.embedding_, X)["recall_5"]


def test_items_are_indices_or_a_mask(distances):
    mask = np.arange(60) % 20 == 3
    expected = leave_one_out(distances, X, [3, 23, 43])
    for items in (mask, pd.Series(mask), pd.array(mask, dtype="boolean"), iter([3, 23, 43])):
        found = leave_one_out(distances, X, items)
        np.testing.assert_array_equal(found.items, expected.items)
        np.testing.assert_array_equal(found.coordinates, expected.coordinates)
    with pytest.raises(ValueError, match=r"mask of shape \(60,\); got shape \(59,\)"):
        point_report(distances, X, items=mask[:-1])
    with pytest.raises(ValueError, match="items selects no item"):
        point_report(distances, X, items=np.zeros(60, dtype=bool))


def test_numbers_of_forces_and_features_are_checked(distances):
    found = feature_sensitivity(distances, X, [0])
    for call in (lambda n: forces_on(distances, 0, n=n), found.top):
        for n in (0, -1):
            with pytest.raises(ValueError, match=f"n must be at least 1; got {n}"):
                call(n)
        for n in (1.5, "all", None, True):
            with pytest.raises(ValueError, match="n must be an integer"):
                call(n)
    assert found.top(1, (f"pixel {k}" for k in range(64)))[0][0].startswith("pixel")
    with pytest.raises(ValueError, match="names must hold 64 names, one for each feature; got 2"):
        found.top(1, ["a", "b"])
    names = pd.Series([f"digit {k}" for k in range(60)], index=range(100, 160))
    assert forces_on(distances, 7, n=1, names=names).names[0].startswith("digit")


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_few_items_have_a_report(n):
    report = point_report(quiet(PreserveDistances(random_state=0), X[:n]), X[:n])
    assert (report["recall"] == 1).all()  # all others are neighbours


def test_recall_is_that_of_the_metric_of_the_estimator():
    rows = load_iris().data[::3]
    D = pairwise_distances(rows)
    given = quiet(PreserveDistances(metric="precomputed", max_iter=20, random_state=0), D)
    cosine = quiet(PreserveDistances(metric="cosine", max_iter=20, random_state=0), rows)
    for estimator, data, metric in ((given, D, "precomputed"), (cosine, rows, "cosine")):
        expected = item_recall(data, estimator.embedding_, metric=metric)
        np.testing.assert_array_equal(point_report(estimator, data)["recall"], expected)
        report = embedding_report(estimator, data)
        right = embedding_report(estimator.embedding_, data, metric=metric)
        wrong = embedding_report(estimator.embedding_, data, metric="euclidean")
        assert report["recall_5"] == right["recall_5"] != wrong["recall_5"]
        assert report["triplets"] == right["triplets"] != wrong["triplets"]
    part = D.copy()
    part[0, 10:] = part[10:, 0] = np.inf  # not known
    recall = point_report(quiet(given, part), part)["recall"]
    # Item 0 has 9 known distances: its 15 nearest are not known
    assert np.isnan(recall[0]) and np.isfinite(recall[1:]).all()
    expected = item_recall(part, given.embedding_, metric="precomputed")
    np.testing.assert_array_equal(recall, expected)


def test_graphs_and_weights_are_judged_by_what_they_know():
    graph = nx.random_geometric_graph(40, 0.4, seed=0)
    estimator = quiet(PreserveDistances(metric="graph", max_iter=30, random_state=0), graph)
    matrix = nx.to_scipy_sparse_array(graph, weight=None)
    report, same = point_report(estimator, graph), point_report(estimator, matrix)
    np.testing.assert_array_equal(report["recall"], same["recall"])
    np.testing.assert_array_equal(report["leave_one_out"], same["leave_one_out"])
    assert np.nanmedian(report["leave_one_out"]) < 0.2
    assert stability(estimator, graph, n=1).n_fits == 1
    with pytest.raises(ValueError, match="fitted to a graph or to weights"):
        embedding_report(estimator, graph)
    weights = np.exp(-(pairwise_distances(X) ** 2) / 500)
    affinity = AnchoredMDE(metric="affinity").fit(weights, _anchored_places())
    given = QuadraticMDE(weights="precomputed").fit(weights)
    for judged in (affinity, given):
        assert "recall" not in point_report(judged, weights).columns
        with pytest.raises(ValueError, match="fitted to a graph or to weights"):
            embedding_report(judged, weights)


def _anchored_places():
    places = np.full((60, 2), np.nan)
    places[:8] = np.random.default_rng(0).normal(size=(8, 2))
    return places


def test_a_compact_estimator_has_no_leave_one_out():
    estimator = PreserveNeighbors(max_iter=5, random_state=0)
    columns = point_report(quiet(estimator, X).compact(), X).columns
    assert list(columns) == ["recall", "distortion", "sharpness"]


def test_the_items_of_stability_are_those_of_the_estimator(distances):
    found = stability(distances, X, n=1)
    other = PreserveDistances(max_iter=3, random_state=0)
    with pytest.raises(ValueError, match="stability is of 60 items, but the estimator was"):
        point_report(quiet(other, X[:50]), X[:50], stability=found)


@pytest.mark.parametrize("parameter", ["constraint", "init"])
def test_parameters_that_refer_to_rows_keep_all_of_them(parameter):
    places = np.random.default_rng(0).normal(size=(60, 2))
    value = Anchored(np.arange(5), places[:5]) if parameter == "constraint" else places
    estimator = quiet(PreserveDistances(loss="squared", **{parameter: value}), X)
    # a subsample would anchor other items
    assert stability(estimator, X, n=2).overall < 1e-9
    with pytest.raises(ValueError, match=f"{parameter} refers to all rows"):
        stability(estimator, X, n=2, subsample=0.9)
