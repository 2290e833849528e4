"""What is given beside X: containers, and marks of what is not known."""

import warnings
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from skmde import AnchoredClassifier, AnchoredMDE, PreserveDistances, PreserveNeighbors
from skmde.estimators.samples.labels import known_labels

X, TRUTH = make_blobs(60, centers=3, cluster_std=0.5, random_state=0)
NAMES = np.array(["a", "b", "c"], dtype=object)[TRUTH]
UNKNOWN = np.arange(60) % 3 == 1
PLACES = np.stack([TRUTH, TRUTH**2], axis=1).astype(float)


def classifier(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return AnchoredClassifier(n_neighbors=5).fit(X, y)


def marked(values, mark):
    """Values as objects, the unknown ones replaced by a mark."""
    values = np.array(values, dtype=object)
    values[UNKNOWN] = mark
    return values


# Labels


@pytest.mark.parametrize("mark", [np.nan, None, -1, pd.NA], ids=repr)
@pytest.mark.parametrize("container", [list, tuple])
def test_lists_of_strings_keep_their_marks(container, mark):
    given = marked(NAMES, mark)
    found = classifier(container(given))
    np.testing.assert_array_equal(found.classes_, ["a", "b", "c"])
    wanted = classifier(marked(NAMES, None)).label_distributions_
    np.testing.assert_array_equal(found.label_distributions_, wanted)
    by_list, by_array = (
        PreserveNeighbors(random_state=0, target_weight=1.0, max_iter=5).fit(X, y)
        for y in (container(given), marked(NAMES, None))
    )
    np.testing.assert_array_equal(by_list.edges_, by_array.edges_)


def test_strings_in_a_column_of_lists_keep_their_marks():
    column = [[name] for name in marked(NAMES, np.nan)]
    with pytest.warns(UserWarning, match="column-vector"):
        labelled, labels = known_labels(column, 60)
    np.testing.assert_array_equal(labelled, np.flatnonzero(~UNKNOWN))
    assert set(labels) == {"a", "b", "c"}


@pytest.mark.parametrize("other", [1, 1.5, True])
def test_lists_that_mix_strings_and_others_are_refused(other):
    y = ["a", other] * 30
    with pytest.raises(ValueError, match="y mixes strings and other labels"):
        AnchoredClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y mixes strings and other labels"):
        PreserveNeighbors(target_weight=1.0).fit(X, y)


@pytest.mark.parametrize("container", [np.asarray, pd.Series, list])
def test_dates_are_labels_and_nat_is_none(container):
    dates = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[s]")
    y = dates[TRUTH]
    y[UNKNOWN] = "NaT"
    found = classifier(container(y))
    np.testing.assert_array_equal(found.classes_, dates)
    np.testing.assert_array_equal(
        found.label_distributions_, classifier(marked(TRUTH, None)).label_distributions_
    )
    assert found.score(X, y) == 1
    labelled, _ = known_labels(y - dates[0], 60)
    np.testing.assert_array_equal(labelled, np.flatnonzero(~UNKNOWN))


def test_no_known_date_is_an_error():
    with pytest.raises(ValueError, match="no known label"):
        AnchoredClassifier().fit(X, np.full(60, "NaT", dtype="datetime64[D]"))


@pytest.mark.parametrize("kind", [Decimal, Fraction])
def test_numbers_of_other_types_are_labels(kind):
    y = [kind(int(label)) for label in TRUTH]
    found = classifier(y)
    np.testing.assert_array_equal(found.classes_, [0, 1, 2])
    assert found.classes_.dtype.kind == "i"
    assert found.score(X, y) == 1
    np.testing.assert_array_equal(classifier(marked(y, kind(-1))).classes_, [0, 1, 2])
    with pytest.raises(ValueError, match="continuous"):
        AnchoredClassifier().fit(X, [kind(int(label)) / 2 for label in TRUTH])
    with pytest.raises(ValueError, match="infinity"):
        AnchoredClassifier().fit(X, [1, 2, Decimal("inf")] * 20)


@pytest.mark.parametrize(
    "label",
    [pd.Timestamp("2020"), ("a", 1), frozenset("ab")],
    ids=["timestamp", "tuple", "frozenset"],
)
def test_labels_of_types_that_are_none_are_named(label):
    y = np.full(60, 1, dtype=object)
    y[5] = label
    with pytest.raises(ValueError, match=rf"labels of type {type(label).__name__}, such as"):
        AnchoredClassifier().fit(X, y)


# Masks, and sparse matrices

MASK = np.arange(60) < 2
MASKED = np.ma.MaskedArray(TRUTH, mask=MASK)
WIDE_MASK = np.zeros((60, 60), dtype=bool)
WIDE_MASK[0, 1] = True
FITS = {
    "labels": lambda values: AnchoredClassifier().fit(X, values),
    "classes": lambda values: PreserveNeighbors(target_weight=1.0, max_iter=2).fit(X, values),
    "numbers": lambda values: PreserveNeighbors(target_weight=1.0, max_iter=2).fit(
        X, values + 0.5 if isinstance(values, np.ndarray) else values
    ),
    "coordinates": lambda values: AnchoredMDE().fit(X, values),
    "sample_weight": lambda values: PreserveNeighbors(max_iter=2).fit(X, sample_weight=values + 1),
    "anchors": lambda values: AnchoredMDE().fit(X, anchors=[*range(60)], anchor_values=values),
    "score": lambda values: classifier(TRUTH).score(X, values),
    "score's weights": lambda values: classifier(TRUTH).score(X, TRUTH, values),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_masked_entries_are_refused(fit):
    with pytest.raises(ValueError, match=r"is a masked array with 2 masked entries.*; \w+"):
        fit(MASKED)
    fit(np.ma.MaskedArray(TRUTH, mask=False))


def test_masked_entries_of_lists_and_of_indices_are_refused():
    with pytest.raises(ValueError, match="y is a masked array with 1 masked entries"):
        AnchoredMDE().fit(X, [np.ma.MaskedArray([1.0, 2.0], mask=[0, 1]), *PLACES[1:]])
    with pytest.raises(ValueError, match="anchors is a masked array with 1 masked entries"):
        AnchoredMDE().fit(
            X, anchors=np.ma.MaskedArray([0, 1], mask=[0, 1]), anchor_values=PLACES[:2]
        )


def test_masked_weights_of_pairs_are_refused():
    weights = np.ma.MaskedArray(np.ones((60, 60)), mask=WIDE_MASK)
    with pytest.raises(ValueError, match="pair_weights is a masked array with 1 masked entries"):
        PreserveDistances().fit(X, pair_weights=weights)
    weights.mask = False
    PreserveDistances(max_iter=2).fit(X, pair_weights=weights)


@pytest.mark.parametrize("fit", [fit for name, fit in FITS.items() if "weight" not in name])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_matrix])
def test_sparse_targets_are_refused(fit, kind):
    with pytest.raises(ValueError, match=r"is a sparse matrix of shape \(60, 1\), but must be"):
        fit(kind(TRUTH[:, None]))


def test_sparse_weights_of_samples_are_refused():
    weights = sp.csr_array(np.ones((60, 1)))
    with pytest.raises(ValueError, match="sample_weight is a sparse matrix"):
        PreserveNeighbors().fit(X, sample_weight=weights)


# Coordinates


@pytest.mark.parametrize("mark", [pd.NA, None, np.nan], ids=repr)
@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist, pd.DataFrame])
def test_marks_of_places_that_are_not_known(convert, mark):
    with_nan = PLACES.copy()
    with_nan[UNKNOWN] = np.nan
    wanted = AnchoredMDE().fit(X, with_nan)
    found = AnchoredMDE().fit(X, convert(marked(PLACES, mark)))
    np.testing.assert_array_equal(found.anchors_, np.flatnonzero(~UNKNOWN))
    np.testing.assert_array_equal(found.embedding_, wanted.embedding_)


def test_types_of_pandas_for_missing_coordinates():
    series = pd.Series(TRUTH).astype("Int64").where(~UNKNOWN)
    found = AnchoredMDE().fit(X, series)
    np.testing.assert_array_equal(found.anchors_, np.flatnonzero(~UNKNOWN))


# Weights of graphs


def test_infinite_weights_of_a_networkx_graph_are_refused():
    graph = nx.path_graph(5)
    nx.set_edge_attributes(graph, 1.0, "weight")
    y = [0.0, *[np.nan] * 3, 1.0]
    for weight, what in ((np.inf, "infinity"), (np.nan, "NaN")):
        graph[1][2]["weight"] = weight
        with pytest.raises(ValueError, match=f"weight between nodes 1 and 2 is {what}") as error:
            AnchoredMDE(metric="affinity").fit(graph, y)
        assert "set them to 0" in str(error.value)


# Scores of data labelled in part


@pytest.mark.parametrize(
    ("y", "cv"),
    [
        (np.where(UNKNOWN, -1, TRUTH), 4),
        (marked(TRUTH, None), 4),
        (marked(TRUTH, -1), KFold(4)),
        (np.where(UNKNOWN, np.nan, TRUTH), KFold(4)),
        (marked(NAMES, None), KFold(4)),
        (marked(NAMES, np.nan).tolist(), KFold(4)),
        (marked(NAMES, -1).tolist(), KFold(4)),
    ],
    ids=["-1", "None", "object -1", "nan", "strings", "list with nan", "list with -1"],
)
def test_cross_validation_leaves_out_what_is_not_known(y, cv):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = cross_val_score(AnchoredClassifier(n_neighbors=5), X, y, cv=cv)
        search = GridSearchCV(AnchoredClassifier(), {"n_neighbors": [5]}, cv=cv).fit(X, y)
    np.testing.assert_array_equal(scores, 1)
    assert search.best_score_ == scores.mean()


def test_the_score_is_that_of_the_known():
    found = classifier(TRUTH)
    y = TRUTH.copy()
    y[:20] = (y[:20] + 1) % 3
    assert found.score(X, y) == pytest.approx(40 / 60)
    y[:10] = -1
    assert found.score(X, y) == pytest.approx(40 / 50)
    s = np.where(np.arange(60) < 20, 3.0, 1.0)
    assert found.score(X, y, sample_weight=s) == pytest.approx(40 / 70)
    # one other number only: what is known of the classes decides
    one = np.where(np.arange(60) == 30, TRUTH, -1)
    assert found.score(X, one) == 1
    # another mark says that -1 is a class; which is never predicted
    objects = y.astype(object)
    objects[59] = None
    assert found.score(X, objects) == pytest.approx(39 / 59)


def test_minus_one_counts_where_it_is_a_class():
    y = np.where(TRUTH == 0, -1.0, 1.0)
    with pytest.warns(UserWarning, match="both are treated as classes"):
        found = AnchoredClassifier().fit(X, y)
    wrong = y.copy()
    wrong[y == 1] = -1
    assert found.score(X, y) == 1
    assert found.score(X, wrong) == pytest.approx(np.mean(y == -1))


def test_scores_of_nothing_are_errors():
    found = classifier(TRUTH)
    for y in (np.full(60, -1), np.full(60, np.nan), [None] * 60):
        with pytest.raises(ValueError, match="no known label"):
            found.score(X, y)
    with pytest.raises(ValueError, match="known have sample_weight 0"):
        found.score(X, np.where(UNKNOWN, -1, TRUTH), UNKNOWN.astype(float))
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 60 and 59"):
        found.score(X, TRUTH[:-1])
