"""Which unseen samples the training data support: what the threshold promises."""

import warnings

import numpy as np
import pytest
from scipy.stats import beta, binom
from sklearn.datasets import load_digits, make_moons, make_swiss_roll
from sklearn.metrics import pairwise_distances

from skmde import PreserveNeighbors


def _normal(n, d, seed):
    return np.random.default_rng(seed).standard_normal((n, d))


def _clusters(n, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 6)) * rng.choice([0.2, 1, 3], n)[:, None]


SOURCES = {
    "normal, 3": lambda n, seed: _normal(n, 3, seed),
    "normal, 20": lambda n, seed: _normal(n, 20, seed),
    "uniform": lambda n, seed: np.random.default_rng(seed).random((n, 4)),
    "moons": lambda n, seed: make_moons(n, noise=0.05, random_state=seed)[0],
    "roll": lambda n, seed: make_swiss_roll(n, random_state=seed)[0],
    "scales": _clusters,
    "digits": lambda n, seed: np.random.default_rng(seed).permutation(load_digits().data)[:n],
}


def _fitted(X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = PreserveNeighbors(init="random", max_iter=0, random_state=0, **parameters)
        return estimator.fit(X)


@pytest.mark.parametrize("name", SOURCES)
def test_the_share_of_unsupported_inliers_is_the_contamination(name):
    """The threshold is a quantile of n scores, so its true share varies as a beta variable."""
    rows = SOURCES[name](1700, 0)
    estimator, unseen = _fitted(rows[:900]), rows[900:]
    for contamination in (0.01, 0.05, 0.2):
        rejected = np.count_nonzero(~estimator.is_supported(unseen, contamination=contamination))
        rank = int(contamination * 901)
        low, high = beta.ppf([0.001, 0.999], rank, 901 - rank)
        bounds = binom.ppf(0.001, 800, low), binom.ppf(0.999, 800, high)
        assert bounds[0] <= rejected <= bounds[1], (contamination, rejected, bounds)


def test_outliers_are_not_supported():
    X = _normal(300, 5, 0)
    estimator = _fitted(X)
    far = 6 * _normal(50, 5, 1)
    assert np.mean(estimator.is_supported(far)) < 0.1
    assert not estimator.is_supported(X[:5] + 1e3).any()


def test_labels_are_those_of_outlier_detectors():
    X = _normal(200, 3, 0)
    estimator, unseen = _fitted(X), 2 * _normal(50, 3, 1)
    labels = estimator.predict_support(unseen, contamination=0.1)
    supported = estimator.is_supported(unseen, contamination=0.1)
    assert set(labels) == {-1, 1}
    np.testing.assert_array_equal(labels == 1, supported)


def test_a_larger_contamination_supports_fewer():
    X, unseen = _normal(200, 3, 0), 1.5 * _normal(100, 3, 1)
    estimator = _fitted(X)
    masks = [estimator.is_supported(unseen, contamination=c) for c in (0.01, 0.1, 0.5)]
    assert (masks[0] >= masks[1]).all() and (masks[1] >= masks[2]).all()
    assert estimator.is_supported(X, contamination=0.1).mean() > 0.9


def test_distances_support_as_rows_do():
    X, unseen = _normal(150, 3, 0), 2 * _normal(40, 3, 1)
    expected = _fitted(X, n_neighbors=10).predict_support(unseen)
    estimator = _fitted(pairwise_distances(X), n_neighbors=10, metric="precomputed")
    np.testing.assert_array_equal(
        estimator.predict_support(pairwise_distances(unseen, X)), expected
    )


def test_few_samples_have_no_threshold_for_a_small_share():
    estimator = _fitted(_normal(30, 3, 0))
    assert estimator.is_supported(100 + _normal(5, 3, 1), contamination=0.01).all()
    assert not estimator.is_supported(100 + _normal(5, 3, 1), contamination=0.1).any()


@pytest.mark.parametrize("contamination", [0, 0.6, -0.1, True, "auto"])
def test_a_contamination_is_above_0_and_at_most_a_half(contamination):
    estimator = _fitted(_normal(30, 3, 0))
    with pytest.raises(ValueError, match="contamination must be a number above 0"):
        estimator.is_supported(_normal(5, 3, 1), contamination=contamination)


def test_a_compact_estimator_says_why_it_cannot_tell():
    estimator = _fitted(_normal(30, 3, 0)).compact()
    with pytest.raises(ValueError, match=r"compact\(\) discarded the training data"):
        estimator.is_supported(_normal(5, 3, 1))


def test_a_sample_without_neighbours_is_never_supported():
    line = np.append(np.arange(30.0), [1e3, 2e3, 3e3, 4e3])[:, None]
    estimator = PreserveNeighbors(
        n_components=1, max_distance=2.5, repulsion="sampled", max_iter=2, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(line)
    # a tenth of the training samples have no neighbours either, so the threshold is 0
    for contamination in (0.001, 0.05):
        found = estimator.is_supported([[7.5], [500.0]], contamination=contamination)
        assert found.tolist() == [True, False]
