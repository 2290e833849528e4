"""AnchoredClassifier: what labels mean, and how well it guesses the others."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

from skmde import AnchoredClassifier
from skmde.estimators.samples.labels import known_labels

X, TRUTH = make_moons(200, noise=0.05, random_state=0)
Y = np.full(200, -1)
Y[[*np.flatnonzero(TRUTH == 0)[:3], *np.flatnonzero(TRUTH == 1)[:3]]] = [0, 0, 0, 1, 1, 1]


def fit(X=X, y=Y, **params):
    """A seeded fit in which every warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return AnchoredClassifier(random_state=0, **params).fit(X, y)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_digits_with_50_labels_about_as_well_as_label_spreading(seed):
    data, truth = load_digits(return_X_y=True)
    y = np.full(len(truth), -1)
    chosen = np.random.default_rng(seed).choice(len(truth), 50, replace=False)
    y[chosen] = truth[chosen]
    unknown = y == -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of LabelSpreading
        peer = LabelSpreading(kernel="knn", n_neighbors=7).fit(data, y)
    found = fit(data, y, n_neighbors=7)
    accuracy = np.mean(found.transduction_[unknown] == truth[unknown])
    assert accuracy > np.mean(peer.transduction_[unknown] == truth[unknown]) - 0.02
    assert accuracy > 0.88


def test_two_moons_from_six_labels():
    classifier = fit()
    assert np.mean(classifier.transduction_ == TRUTH) > 0.95
    np.testing.assert_array_equal(classifier.transduction_[Y >= 0], Y[Y >= 0])
    new, truth = make_moons(100, noise=0.05, random_state=1)
    assert classifier.score(new, truth) > 0.95
    # all training rows are known again
    np.testing.assert_array_equal(classifier.predict_proba(X), classifier.label_distributions_)
    np.testing.assert_array_equal(classifier.predict(X), classifier.transduction_)


def test_probabilities_are_harmonic():
    """Each is the weighted mean of the neighbours', with known labels fixed."""
    classifier = fit(n_neighbors=5)
    P = classifier.label_distributions_
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(P[Y >= 0], np.eye(2)[Y[Y >= 0]])
    graph = np.zeros((200, 200))
    near = squareform(pdist(X)).argsort(axis=1)[:, 1:6]
    np.put_along_axis(graph, near, 1.0, axis=1)
    graph += graph.T
    means = graph @ P / graph.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P[Y < 0], means[Y < 0], atol=1e-7)


NAMES = np.array(["zero", "one"])[Y].astype(object)
NAMES[Y < 0] = None
NANS = NAMES.copy()
NANS[Y < 0] = np.nan
FLOATS = Y.astype(float)
FLOATS[Y < 0] = np.nan
MINUS = NAMES.copy()
MINUS[Y < 0] = -1
NULLABLE = pd.Series(Y).astype("Int64").where(pd.Series(Y) >= 0)
NUMBERS = np.array([None if label < 0 else int(label) for label in Y], dtype=object)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (NAMES, ["one", "zero"]),
        (NANS, ["one", "zero"]),
        (MINUS, ["one", "zero"]),
        (pd.Series(NAMES), ["one", "zero"]),
        (FLOATS, [0.0, 1.0]),
        (NULLABLE, [0, 1]),
        (NUMBERS, [0, 1]),
        (Y.tolist(), [0, 1]),
        (torch.tensor(Y), [0, 1]),
    ],
    ids=["None", "nan", "-1", "series", "floats", "nullable", "numbers", "list", "tensor"],
)
def test_markers_of_labels_that_are_not_known(y, classes):
    classifier = fit(y=y)
    np.testing.assert_array_equal(classifier.classes_, classes)
    expected = fit().label_distributions_
    if classes[0] == "one":
        expected = expected[:, ::-1]
    np.testing.assert_allclose(classifier.label_distributions_, expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [int, np.int8, float, object])
def test_minus_one_beside_1_alone_is_a_class(dtype):
    y = np.where(TRUTH == 0, -1, 1).astype(dtype)
    with pytest.warns(UserWarning, match="y holds only -1 and 1, so both") as record:
        classifier = AnchoredClassifier().fit(X, y)
    assert record[0].filename == __file__
    np.testing.assert_array_equal(classifier.classes_, [-1, 1])


@pytest.mark.parametrize("other", [7, 0, -5, 2.0, np.int8(3)])
def test_minus_one_beside_any_other_number_marks_unknown_labels(other):
    y = np.where(TRUTH == 0, -1, other)
    with pytest.warns(UserWarning, match="y holds -1, which marks unknown labels, and ") as record:
        classifier = AnchoredClassifier().fit(X, y)
    assert record[0].filename == __file__
    np.testing.assert_array_equal(classifier.classes_, [other])
    # another marker says what is meant
    y = y.astype(float)
    y[10:] = np.nan
    np.testing.assert_array_equal(fit(y=y).classes_, [-1, other] if other > -1 else [other, -1])


@pytest.mark.parametrize("dtype", [int, float, object])
@pytest.mark.parametrize("others", [(-2, 0), (-2, -3), (-7, 1), (-2, 0, 1, 2)])
def test_minus_one_beside_other_negative_labels_marks_unknown_labels(others, dtype):
    y = np.asarray(others)[np.arange(200) % len(others)]
    y[50:] = -1
    y = y.astype(dtype)
    with pytest.warns(UserWarning, match="and other negative labels, such as -[237]") as record:
        classifier = AnchoredClassifier().fit(X, y)
    assert len(record) == 1
    np.testing.assert_array_equal(classifier.classes_, sorted(others))
    peer = LabelSpreading(kernel="knn", n_neighbors=7).fit(X, y.astype(int))
    np.testing.assert_array_equal(classifier.classes_, peer.classes_)
    # None is another marker, so -1 is a class
    with_none = y.astype(object)
    with_none[60:] = None
    assert -1 in fit(y=with_none).classes_


@pytest.mark.parametrize("others", [(0, 1), (1, 2, 3), (3, 5)])
def test_minus_one_beside_labels_from_0_on_needs_no_warning(others):
    y = np.asarray(others)[np.arange(200) % len(others)]
    y[50:] = -1
    np.testing.assert_array_equal(fit(y=y).classes_, others)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (np.full(200, -1), "no known label"),
        (np.full(200, np.nan), "no known label"),
        (np.full(200, np.inf), "infinity"),
        (np.linspace(0, 1, 200), "continuous"),
        (Y[:150], "inconsistent numbers of samples: 200 and 150"),
        (np.zeros((200, 2)), "1d array"),
        (np.array(["a", 1] * 100, dtype=object), "mixes strings"),
    ],
    ids=["none", "unknown", "nan", "inf", "continuous", "short", "wide", "mixed"],
)
def test_labels_that_are_none(y, message):
    with pytest.raises(ValueError, match=message):
        AnchoredClassifier().fit(X, y)


def test_one_class_is_everywhere():
    y = np.full(200, np.nan)
    y[3] = 5
    classifier = fit(y=y, n_neighbors=60)
    np.testing.assert_array_equal(classifier.transduction_, 5)
    np.testing.assert_array_equal(classifier.predict_proba(X + 0.01), 1)


def test_parts_without_a_label_get_the_shares_of_the_classes():
    far = np.concatenate([X, X[:20] + 1000])
    y = np.concatenate([Y, np.full(20, -1)])
    y[np.flatnonzero(TRUTH == 1)[3]] = 1
    with pytest.warns(UserWarning, match="connects 20 samples to a labelled one"):
        classifier = AnchoredClassifier().fit(far, y)
    np.testing.assert_allclose(classifier.label_distributions_[200:], [[3 / 7, 4 / 7]] * 20)


def test_distances_and_weights():
    D = squareform(pdist(X))
    expected = fit(n_neighbors=5)
    found = fit(D, metric="precomputed", n_neighbors=5)
    np.testing.assert_allclose(found.label_distributions_, expected.label_distributions_, atol=1e-9)
    weights = np.exp(-((D / 0.2) ** 2))
    np.fill_diagonal(weights, 0)
    weights[weights < 1e-6] = 0
    by_weight = fit(weights, metric="affinity")
    assert np.mean(by_weight.transduction_ == TRUTH) > 0.9
    sparse = fit(sp.csr_array(weights), metric="affinity")
    np.testing.assert_array_equal(sparse.label_distributions_, by_weight.label_distributions_)
    assert by_weight.predict(weights[:5] * 0.9).shape == (5,)


def test_rows_do_not_see_each_other():
    classifier = fit()
    new = X[:20] + 0.01
    singly = np.concatenate([classifier.predict_proba(row[None]) for row in new])
    np.testing.assert_array_equal(classifier.predict_proba(new), singly)
    with pytest.raises(NotFittedError):
        AnchoredClassifier().predict(X)
    with pytest.raises(ValueError, match="AnchoredClassifier is expecting 2 features"):
        classifier.predict(X[:, :1])


def test_grid_search_pipeline_and_pickle():
    pipeline = make_pipeline(StandardScaler(), AnchoredClassifier())
    grid = {"anchoredclassifier__n_neighbors": [3, 10]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, TRUTH)
    assert search.best_score_ > 0.95
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X[:9]), search.predict(X[:9]))


def test_known_labels_keeps_the_type_of_labels():
    labelled, labels = known_labels(np.array([None, 3, 5], dtype=object), 3)
    assert labels.dtype.kind == "i"
    np.testing.assert_array_equal(labelled, [1, 2])
    _, labels = known_labels(np.array(["a", "b"]), 2)
    assert labels.dtype.kind == "U"


def test_neighbour_tables_and_networkx_graphs_are_input():
    from networkx import from_numpy_array
    from sklearn.neighbors import NearestNeighbors

    digits, labels = load_digits(return_X_y=True)
    X, unseen = digits[:300], digits[300:320]
    y = np.where(np.arange(300) < 60, labels[:300], -1)
    by_rows = AnchoredClassifier(n_neighbors=5).fit(X, y)
    search = NearestNeighbors(n_neighbors=6).fit(X)
    distances, indices = search.kneighbors(X)
    by_tables = AnchoredClassifier(n_neighbors=5, metric="precomputed").fit((indices, distances), y)
    np.testing.assert_allclose(by_tables.label_distributions_, by_rows.label_distributions_)
    assert by_tables.n_features_in_ == 300
    distances, indices = search.kneighbors(unseen)
    found = by_tables.predict_proba((indices[:, :5], distances[:, :5]))
    np.testing.assert_allclose(found, by_rows.predict_proba(unseen))

    weights = by_rows.embedding_estimator_._pairs.source._tables
    graph = np.zeros((300, 300))
    for row, near in enumerate(weights.indices):
        graph[row, near] += 1
    graph += graph.T
    by_graph = AnchoredClassifier(metric="affinity").fit(from_numpy_array(graph), y)
    np.testing.assert_allclose(by_graph.label_distributions_, by_rows.label_distributions_)
    with pytest.raises(ValueError, match="unseen samples must be rows"):
        by_graph.predict(from_numpy_array(graph))


def test_labels_with_a_type_for_missing_ones_keep_theirs():
    X, rest = np.random.default_rng(0).standard_normal((60, 3)), [None] * 58
    for y, classes in (
        (pd.Series([0, 1, *rest], dtype="Int64"), np.array([0, 1])),
        (pd.Series([0, 1] * 30, dtype="Int64"), np.array([0, 1])),
        (pd.Series(["a", "b", *rest], dtype="string"), np.array(["a", "b"], dtype=object)),
        (pd.Series(["a", "b"] * 30, dtype="category"), np.array(["a", "b"], dtype=object)),
        (pl.Series([3, 5, *rest]), np.array([3, 5])),
    ):
        found = AnchoredClassifier().fit(X, y)
        np.testing.assert_array_equal(found.classes_, classes)
        assert found.classes_.dtype == classes.dtype
        assert found.predict(X[:2]).tolist() == classes.tolist()


def test_a_compact_classifier_says_so():
    X = np.random.default_rng(0).standard_normal((60, 3))
    classifier = AnchoredClassifier().fit(X, np.arange(60) % 3).compact()
    with pytest.raises(ValueError, match="discarded the training data of this AnchoredClassifier"):
        classifier.predict(X[:2])
