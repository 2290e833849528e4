"""The check for redundancy: a fit without some of the pairs."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)

X, Y = (part[:150] for part in load_digits(return_X_y=True))
PLACES = np.full((150, 2), np.nan)
PLACES[:20] = np.random.default_rng(0).standard_normal((20, 2))
LABELS = np.where(np.arange(150) < 60, Y, -1)
SOME = np.random.default_rng(0).random(150) * (np.arange(150) > 9)
W = sp.csr_array(np.exp(-pairwise_distances(X) / 20))
CASES = {
    "all": (PreserveNeighbors(random_state=0), {}),
    "sampled": (PreserveNeighbors(repulsion="sampled", random_state=0), {}),
    "weighted": (PreserveNeighbors(random_state=0), {"sample_weight": SOME}),
    "distances": (PreserveDistances(loss="squared", random_state=0), {}),
    "sampled distances": (PreserveDistances(max_pairs=2000, random_state=0), {}),
    "weighted pairs": (PreserveDistances(random_state=0), {"pair_weights": W}),
    "standardized": (PreserveDistances(constraint="standardized", random_state=0), {}),
    "anchored": (AnchoredMDE(), {"y": PLACES}),
    "anchored, loss": (AnchoredMDE(loss="absolute"), {"y": PLACES}),
    "classifier": (AnchoredClassifier(), {"y": LABELS}),
    "laplacian": (QuadraticMDE(), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_tenth_of_the_pairs_is_held_out(name):
    estimator, data = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parts that no pair joins any more
        check = estimator.redundancy_check(X, holdout=0.1, **data)
        full = clone(estimator).fit(X, **data).distortions()
    n = np.count_nonzero(full.weights > 0)
    assert check.n_held_out == pytest.approx(0.1 * (check.n_used + check.n_held_out), abs=1)
    assert 0.9 * n <= check.n_used + check.n_held_out <= 1.1 * n
    assert 0.5 < check.ratio < 50  # a rough check: held-out pairs are few
    assert check.ratio == check.held_out / check.used
    assert not hasattr(estimator, "embedding_")


def test_many_pairs_are_redundant_and_few_are_not():
    few = PreserveDistances(loss="squared", max_pairs=400, random_state=0)
    many = PreserveDistances(loss="squared", random_state=0)
    assert many.redundancy_check(X).ratio < 1.4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert few.redundancy_check(X).ratio > 2


def test_distances_that_fit_are_predicted():
    line = np.random.default_rng(0).random((60, 2))
    check = PreserveDistances(loss="squared", random_state=0, tol=1e-9).redundancy_check(line)
    assert check.held_out < 1e-8


def test_the_choice_follows_its_seed():
    estimator = PreserveNeighbors(max_iter=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = [estimator.redundancy_check(X, random_state=seed) for seed in (0, 0, 1)]
    assert checks[0] == checks[1] != checks[2]


@pytest.mark.parametrize("holdout", [0, 1, -0.1, True, "half"])
def test_a_share_is_between_0_and_1(holdout):
    with pytest.raises(ValueError, match="above 0 and below 1"):
        PreserveNeighbors().redundancy_check(X, holdout=holdout)


def test_what_cannot_be_checked_says_so():
    with pytest.raises(ValueError, match="belong together"):
        QuadraticMDE(weights="lle").redundancy_check(X)
    with pytest.raises(ValueError, match="There are 1 pairs, too few"):
        PreserveDistances(n_components=1).redundancy_check(X[:2])
