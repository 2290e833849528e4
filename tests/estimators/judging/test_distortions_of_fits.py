"""The method `distortions`: its average is that of the fit, for every kind of problem."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from labels import label
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances, roc_auc_score

from skmde import (
    Anchored,
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)

X, Y = (part[:150] for part in load_digits(return_X_y=True))
MORE = load_digits().data[150:165]
PLACES = np.full((150, 2), np.nan)
PLACES[:20] = np.random.default_rng(0).standard_normal((20, 2))
LABELS = np.where(np.arange(150) < 60, Y, -1)
D = pairwise_distances(X)
W = sp.csr_array(np.exp(-D / 20) * (D < np.quantile(D, 0.2)))
SOME = np.random.default_rng(0).random(150) * (np.arange(150) > 9)
ALL = {"attractive_penalty": "log1p", "repulsive_penalty": "cauchy"}
CASES = {
    "all": (PreserveNeighbors(), {}),
    "normalized": (PreserveNeighbors(repulsion="normalized"), {}),
    "sampled": (PreserveNeighbors(repulsion="sampled"), {}),
    "attraction": (PreserveNeighbors(repulsive_penalty=None), {}),
    "weighted": (PreserveNeighbors(), {"sample_weight": SOME}),
    "targets": (PreserveNeighbors(target_weight=1.0), {"y": Y}),
    "fixed": (PreserveNeighbors(constraint=Anchored([0, 1], [[0.0, 0.0], [2.0, 1.0]])), {}),
    "distances": (PreserveDistances(), {}),
    "sampled distances": (PreserveDistances(loss="soft_fractional", max_pairs=2000), {}),
    "weighted pairs": (PreserveDistances(loss="squared"), {"pair_weights": W}),
    "anchored": (AnchoredMDE(), {"y": PLACES}),
    "anchored, soft": (AnchoredMDE(anchor_weight=2.0), {"y": PLACES}),
    "anchored, loss": (AnchoredMDE(loss="absolute", anchor_weight=2.0), {"y": PLACES}),
    "anchored, all": (AnchoredMDE(repulsion="all", max_iter=20, **ALL), {"y": PLACES}),
    "anchored, normalized": (
        AnchoredMDE(repulsion="normalized", max_iter=20, anchor_weight=1.0, **ALL),
        {"y": PLACES},
    ),
    "laplacian": (QuadraticMDE(), {}),
    "normalized laplacian": (QuadraticMDE(weights="normalized_laplacian"), {}),
    "lle": (QuadraticMDE(weights="lle"), {}),
}


def fitted(name):
    estimator, data = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # graphs of several parts, few iterations
        return clone(estimator).set_params(random_state=0).fit(X, **data)


@pytest.mark.parametrize("name", CASES)
def test_the_average_is_the_distortion_of_the_fit(name):
    estimator = fitted(name)
    found = estimator.distortions()
    assert found.average == pytest.approx(estimator.distortion_, rel=1e-5)
    assert found.shares().sum() == pytest.approx(found.average)
    assert len(found.pairs) == len(found.values) == len(found.weights)
    read = pickle.loads(pickle.dumps(estimator)).distortions()
    np.testing.assert_array_equal(read.values, found.values)
    assert read.average == found.average


@pytest.mark.parametrize("name", ["all", "normalized", "sampled", "distances", "anchored, soft"])
def test_after_an_extension_they_are_those_of_the_pairs_of_new_samples(name):
    estimator = fitted(name).extend(MORE)
    found = estimator.distortions()
    assert found.average == pytest.approx(estimator.distortion_, rel=1e-5)
    assert (found.pairs >= 150).any(axis=1).all()


def test_samples_of_weight_0_have_no_pairs():
    found = fitted("weighted").distortions()
    assert np.isnan(found.by_item()[:10]).all()
    assert (found.terms["repulsion of all pairs"][:10] == 0).all()


def test_a_far_pair_has_a_high_distortion():
    estimator = PreserveDistances(loss="squared", random_state=0).fit(X)
    (pair,), _ = estimator.distortions().high_distortion_pairs(1)
    d = pairwise_distances(estimator.embedding_)
    errors = (d - D) ** 2
    assert errors[tuple(pair)] == pytest.approx(errors.max())


def test_a_classifier_has_the_distortions_of_its_embedding():
    classifier = AnchoredClassifier().fit(X, LABELS)
    expected = classifier.embedding_estimator_.distortion_
    assert classifier.distortions().average == pytest.approx(expected)


def test_given_weights():
    estimator = QuadraticMDE(weights="precomputed").fit(W)
    assert estimator.distortions().average == pytest.approx(estimator.distortion_)


@pytest.mark.parametrize("target_weight", [0.0, 1.0])
def test_wrong_labels_are_found(target_weight):
    """2% of the labels of digits are swapped; the embedding used the labels, or did not."""
    digits, labels = load_digits(return_X_y=True)
    digits, labels = digits[:1000], labels[:1000].copy()
    rng = np.random.default_rng(0)
    wrong = rng.choice(1000, 20, replace=False)
    labels[wrong] = (labels[wrong] + rng.integers(1, 10, 20)) % 10
    estimator = PreserveNeighbors(target_weight=target_weight, random_state=0).fit(digits, labels)
    disagreement = estimator.distortions().label_disagreement(labels)
    is_wrong = np.isin(np.arange(1000), wrong)
    assert roc_auc_score(is_wrong, disagreement) > 0.99


@pytest.mark.parametrize("estimator", [PreserveDistances(max_iter=20), QuadraticMDE()], ids=label)
def test_wrong_labels_are_found_by_other_estimators(estimator):
    digits, labels = load_digits(return_X_y=True)
    digits, labels = digits[:500], labels[:500].copy()
    rng = np.random.default_rng(0)
    wrong = rng.choice(500, 10, replace=False)
    labels[wrong] = (labels[wrong] + rng.integers(1, 10, 10)) % 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = clone(estimator).set_params(random_state=0).fit(digits).distortions()
    is_wrong = np.isin(np.arange(500), wrong)
    assert roc_auc_score(is_wrong, found.label_disagreement(labels)) > 0.95


def test_what_is_needed_is_there_or_the_message_says_so():
    with pytest.raises(NotFittedError):
        PreserveNeighbors().distortions()
    with pytest.raises(ValueError, match="judge this one by its distances"):
        QuadraticMDE(weights="pca").fit(X).distortions()
    for name in ("all", "distances", "laplacian"):
        estimator = fitted(name)
        expected = estimator.distortions().average
        assert estimator.compact().distortions().average == expected
    with pytest.raises(ValueError, match=r"Ask for the distortions before calling compact\(\)"):
        fitted("anchored").compact().distortions()


def _centred(matrix):
    return matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + matrix.mean()


@pytest.mark.parametrize(
    ("parameters", "products"),
    [
        ({"weights": "pca"}, lambda: _centred(X @ X.T)),
        (
            {"weights": "kernel_pca", "kernel": "rbf", "gamma": 1e-3},
            lambda: _centred(np.exp(-1e-3 * D**2)),
        ),
        (
            {"weights": "classical_mds", "metric": "manhattan"},
            lambda: _centred(-(pairwise_distances(X, metric="manhattan") ** 2) / 2),
        ),
    ],
    ids=["pca", "kernel_pca", "classical_mds"],
)
def test_weights_of_all_pairs_have_distortions_once_they_are_given(parameters, products):
    """What the message advises: the same problem, with the matrix of its weights."""
    estimator = QuadraticMDE(**parameters).fit(X)
    with pytest.raises(ValueError, match=r"QuadraticMDE\(weights='precomputed'\) to it"):
        estimator.distortions()
    given = QuadraticMDE(weights="precomputed").fit(products())
    signs = np.sign((given.embedding_ * estimator.embedding_).sum(axis=0))
    np.testing.assert_allclose(given.embedding_ * signs, estimator.embedding_, atol=1e-4)
    found = given.distortions()
    assert found.average == pytest.approx(estimator.distortion_, rel=1e-6)
    pairs = found.pairs[:5]
    w = products()[tuple(pairs.T)]
    squares = np.sum(np.diff(given.embedding_[pairs], axis=1)[:, 0] ** 2, axis=1)
    np.testing.assert_allclose(found.values[:5], w * squares, rtol=1e-5)
