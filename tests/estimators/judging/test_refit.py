"""A fit without the pairs of highest distortion."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors, QuadraticMDE

X = load_digits(return_X_y=True)[0][:100]
PLACES = np.full((100, 2), np.nan)
PLACES[:20] = np.random.default_rng(0).standard_normal((20, 2))
SOME = np.r_[np.zeros(5), np.ones(95)]
CASES = {
    "all": (PreserveNeighbors(random_state=0, max_iter=20), {}),
    "sampled": (PreserveNeighbors(repulsion="sampled", random_state=0, max_iter=20), {}),
    "weighted": (PreserveNeighbors(random_state=0, max_iter=20), {"sample_weight": SOME}),
    "distances": (PreserveDistances(loss="squared", random_state=0), {}),
    "sampled distances": (PreserveDistances(max_pairs=2000, random_state=0, max_iter=20), {}),
    "anchored": (AnchoredMDE(random_state=0), {"y": PLACES}),
    "laplacian": (QuadraticMDE(), {}),
}
QUIETLY = pytest.mark.filterwarnings("ignore:The solve ended")


def as_set(pairs):
    return {(int(min(pair)), int(max(pair))) for pair in pairs}


@QUIETLY
@pytest.mark.parametrize("name", CASES)
def test_the_worst_pairs_are_left_out(name):
    estimator, data = CASES[name]
    fitted = clone(estimator).fit(X, **data)
    before, found = fitted.embedding_.copy(), fitted.distortions()
    refit = fitted.refit_without_worst_pairs(X, fraction=0.05, **data)
    np.testing.assert_array_equal(fitted.embedding_, before)
    attract = np.flatnonzero(found.weights > 0)
    assert len(refit.pairs) == round(0.05 * len(attract))
    worst = np.sort(found.values[attract])[::-1][: len(refit.pairs)]
    np.testing.assert_array_equal(refit.distortions, worst)
    after = refit.estimator.distortions()
    kept = as_set(after.pairs[after.weights > 0])
    assert kept == as_set(found.pairs[attract]) - as_set(refit.pairs)
    if name == "sampled":  # the pairs that repel stay
        assert as_set(after.pairs[after.weights < 0]) == as_set(found.pairs[found.weights < 0])
    assert not hasattr(refit.estimator, "_holdout") or refit.estimator._holdout is None


@QUIETLY
def test_a_further_fit_uses_all_pairs():
    fitted = clone(CASES["all"][0]).fit(X)
    refit = fitted.refit_without_worst_pairs(X, fraction=0.1)
    assert len(refit.estimator.edges_) < len(fitted.edges_)
    np.testing.assert_array_equal(refit.estimator.fit(X).embedding_, fitted.embedding_)


def test_it_finds_pairs_that_are_wrong():
    rng = np.random.default_rng(0)
    line = np.linspace(0, 10, 60)[:, None] + 0.01 * rng.standard_normal((60, 2))
    D = np.linalg.norm(line[:, None] - line, axis=2)
    wrong = as_set(rng.permutation(60)[:60].reshape(30, 2))
    for i, j in wrong:
        D[i, j] = D[j, i] = 20 - D[i, j]
    fitted = PreserveDistances(metric="precomputed", loss="absolute", random_state=0).fit(D)
    refit = fitted.refit_without_worst_pairs(D, fraction=len(wrong) / (60 * 59 / 2))
    assert len(as_set(refit.pairs) & wrong) >= len(wrong) - 1
    assert refit.estimator.distortion_ < 0.1 * fitted.distortion_


@QUIETLY
@pytest.mark.parametrize("fraction", [0, 1, -0.1, True, "half"])
def test_the_share_is_between_0_and_1(fraction):
    fitted = PreserveNeighbors(random_state=0, max_iter=1).fit(X)
    with pytest.raises(ValueError, match="fraction is the share"):
        fitted.refit_without_worst_pairs(X, fraction=fraction)


def test_it_must_be_fitted_and_have_pairs():
    with pytest.raises(NotFittedError):
        PreserveNeighbors().refit_without_worst_pairs(X)
    with pytest.raises(ValueError):
        QuadraticMDE(weights="pca").fit(X).refit_without_worst_pairs(X)
