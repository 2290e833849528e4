"""Which unseen samples the training data support: what the threshold promises."""

import warnings

import numpy as np
import pytest
from scipy.stats import beta, binom
from sklearn.datasets import load_digits, make_moons, make_swiss_roll
from sklearn.metrics import pairwise_distances

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)


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


def _quickly(estimator, X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, **options)


def _anchored(X, **parameters):
    estimator = AnchoredMDE(max_iter=1, random_state=0, **parameters)
    return _quickly(estimator, X, anchors=[0, 1, 2], anchor_values=np.eye(3, 2))


def _classified(X, **parameters):
    y = np.full(len(X), -1)
    y[:10] = np.arange(10) % 2
    return _quickly(AnchoredClassifier(**parameters), X, y=y)


OTHERS = {
    "distances": lambda X: _quickly(PreserveDistances(max_iter=0, random_state=0), X),
    "many distances": lambda X: _quickly(
        PreserveDistances(max_iter=0, max_pairs=9000, init="random", random_state=0), X
    ),
    "paths": lambda X: _quickly(PreserveDistances(n_neighbors=8, max_iter=0, random_state=0), X),
    "anchored": _anchored,
    "anchored distances": lambda X: _anchored(X, loss="squared"),
    "classifier": _classified,
    "laplacian": lambda X: _quickly(QuadraticMDE(random_state=0), X),
    "normalized": lambda X: _quickly(
        QuadraticMDE(weights="normalized_laplacian", random_state=0), X
    ),
    "lle": lambda X: _quickly(QuadraticMDE(weights="lle", random_state=0), X),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_estimators_promise_the_same(name):
    """As above; with `max_iter=0`, since the coordinates have no part in it."""
    rows = _normal(1300, 3, 0)
    estimator, unseen = OTHERS[name](rows[:500]), rows[500:]
    for contamination in (0.05, 0.2):
        rejected = np.count_nonzero(~estimator.is_supported(unseen, contamination=contamination))
        rank = int(contamination * 501)
        low, high = beta.ppf([0.001, 0.999], rank, 501 - rank)
        bounds = binom.ppf(0.001, 800, low), binom.ppf(0.999, 800, high)
        assert bounds[0] <= rejected <= bounds[1], (contamination, rejected, bounds)
    assert not estimator.is_supported(rows[:5] + 1e3).any()
    labels = estimator.predict_support(unseen[:50], contamination=0.2)
    supported = estimator.is_supported(unseen[:50], contamination=0.2)
    np.testing.assert_array_equal(labels == 1, supported)
    support = estimator.score_samples(unseen)
    assert ((support >= 0) & (support <= 1)).all()
    np.testing.assert_allclose(estimator.score_samples(unseen[7:9]), support[7:9], rtol=1e-9)


def test_more_samples_than_landmarks_keep_the_promise():
    rows = _normal(3400, 2, 0)
    estimator = PreserveDistances(max_pairs=5000, max_iter=0, init="random", random_state=0)
    estimator, unseen = _quickly(estimator, rows[:2600]), rows[2600:]
    assert len(estimator._landmarks) == 1000
    rejected = np.count_nonzero(~estimator.is_supported(unseen, contamination=0.1))
    low, high = beta.ppf([0.001, 0.999], 100, 901)
    assert binom.ppf(0.001, 800, low) <= rejected <= binom.ppf(0.999, 800, high)


def test_a_landmark_is_scored_as_if_it_were_unseen():
    X = _normal(60, 2, 0)
    fitted = _quickly(PreserveDistances(max_iter=0, random_state=0), X)
    left_out = []
    for i in range(len(X)):
        others = _quickly(PreserveDistances(max_iter=0, random_state=0), np.delete(X, i, axis=0))
        left_out.append(others.score_samples(X[[i]])[0])
    np.testing.assert_allclose(fitted._support_of_fitted(), left_out, rtol=1e-9)


def test_precomputed_distances_support_as_rows_do_where_landmarks_place():
    X, unseen = _normal(120, 3, 0), 2 * _normal(40, 3, 1)
    rows = _quickly(PreserveDistances(max_iter=0, random_state=0), X)
    given = PreserveDistances(metric="precomputed", max_iter=0, random_state=0)
    given = _quickly(given, pairwise_distances(X))
    D = pairwise_distances(unseen, X)
    np.testing.assert_allclose(given.score_samples(D), rows.score_samples(unseen), rtol=1e-9)
    np.testing.assert_array_equal(given.predict_support(D), rows.predict_support(unseen))


@pytest.mark.parametrize("n", [2, 3, 14, 17])
def test_few_landmarks_have_as_many_neighbours_as_there_are(n):
    X = _normal(n, 2, 0)
    estimator = _quickly(PreserveDistances(max_iter=0, random_state=0), X)
    near, far = estimator.score_samples([X[0], X[0] + 1e4])
    assert 0 < far < 1e-2 < near <= 1
    assert estimator._support_of_fitted().shape == (n,)


def test_samples_beyond_the_largest_distance_are_not_supported():
    X = _normal(200, 2, 0)
    estimator = _anchored(X, loss="squared", max_distance=1.0)
    assert estimator.score_samples([[0.0, 0.0], [0.0, 50.0]]).tolist()[1] == 0.0
    assert estimator.is_supported([[0.0, 0.0], [0.0, 50.0]], contamination=0.01).tolist() == [
        True,
        False,
    ]


@pytest.mark.parametrize("weights", ["pca", "kernel_pca", "isomap", "precomputed"])
def test_quadratic_problems_without_neighbours_say_why_they_cannot_tell(weights):
    X = np.abs(_normal(40, 3, 0))
    X = X @ X.T if weights == "precomputed" else X
    estimator = _quickly(QuadraticMDE(weights=weights, random_state=0), X)
    for method in ("score_samples", "is_supported", "predict_support"):
        assert not hasattr(estimator, method)
        with pytest.raises(AttributeError, match=method) as error:
            getattr(estimator, method)
        assert f"weights='{weights}' places a sample by all training" in str(error.value.__cause__)


def test_quadratic_problems_answer_by_what_was_fitted():
    X = np.abs(_normal(40, 3, 0))
    by_neighbors = _quickly(QuadraticMDE(random_state=0), X).set_params(weights="pca")
    assert by_neighbors.is_supported(X[:3]).shape == (3,)
    by_all = _quickly(QuadraticMDE(weights="pca", random_state=0), X)
    assert not hasattr(by_all.set_params(weights="laplacian"), "is_supported")


def test_weights_of_pairs_say_why_they_cannot_tell():
    weights = np.exp(-pairwise_distances(_normal(40, 3, 0)))
    estimator = _anchored(weights, metric="affinity")
    with pytest.raises(AttributeError, match="is_supported") as error:
        estimator.is_supported(weights[:3])
    assert "weights do not say how far" in str(error.value.__cause__)


@pytest.mark.parametrize("make", [_anchored, OTHERS["distances"], OTHERS["lle"]])
def test_compact_estimators_of_all_kinds_say_why_they_cannot_tell(make):
    X = _normal(60, 3, 0)
    with pytest.raises(ValueError, match=r"compact\(\) discarded the training data"):
        make(X).compact().is_supported(X[:3])
