"""Targets and weights of samples in PreserveNeighbors, and the support of unseen samples."""

import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.metrics import silhouette_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline

from skmde import PreserveNeighbors
from skmde.estimators.samples.supervision import checked_sample_weight, target_pairs

X, Y = (part[:400] for part in load_digits(return_X_y=True))
N = len(X)


def fit(y=Y, X=X, sample_weight=None, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
        return PreserveNeighbors(random_state=0, **params).fit(X, y, sample_weight=sample_weight)


# Targets


def test_without_target_weight_y_is_ignored():
    plain = fit(None).embedding_
    for y in (Y, np.full(3, np.nan), "nonsense", object()):
        np.testing.assert_array_equal(fit(y).embedding_, plain)


def test_classes_part_the_more_the_more_they_count():
    apart = [silhouette_score(fit(target_weight=w).embedding_, Y) for w in (0.0, 0.2, 1.0)]
    assert apart[0] < apart[1] < apart[2]
    assert apart[2] > apart[0] + 0.05
    known = np.where(np.arange(N) < 150, Y, -1)
    partly = silhouette_score(fit(known, target_weight=1.0).embedding_, Y)
    assert apart[0] < partly < apart[2]


def test_numbers_pull_samples_of_similar_targets_together():
    data, target = load_diabetes(return_X_y=True)
    target = target + 0.5
    scores = []
    for weight in (0.0, 3.0):
        estimator = PreserveNeighbors(random_state=0, target_weight=weight).fit(data, target)
        near = KNeighborsRegressor().fit(estimator.embedding_, target)
        scores.append(near.score(estimator.embedding_, target))
    assert scores[1] > scores[0] + 0.02


@pytest.mark.parametrize(
    "convert",
    [
        lambda y: y.astype(float),
        lambda y: np.where(y == -1, np.nan, y),
        lambda y: np.array([None if t == -1 else f"class {t}" for t in y], dtype=object),
        lambda y: pd.Series(y),
        lambda y: list(y),
        lambda y: y[:, None],
    ],
)
def test_the_type_of_the_targets_does_not_matter(convert):
    known = np.where(np.arange(N) < 100, Y, -1)
    wanted = fit(known, target_weight=0.5).embedding_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column where a vector is meant
        found = PreserveNeighbors(random_state=0, target_weight=0.5).fit(X, convert(known))
    np.testing.assert_array_equal(found.embedding_, wanted)


def test_pairs_of_classes():
    known = np.where(np.arange(N) < 200, Y, -1)
    rng = np.random.default_rng(0)
    alike, differing = target_pairs(known, N, 6, 1.0, rng)
    for pairs in (alike, differing):
        assert len(np.unique(pairs, axis=0)) == len(pairs)
        assert (pairs[:, 0] < pairs[:, 1]).all() and (pairs < 200).all()
    assert (Y[alike[:, 0]] == Y[alike[:, 1]]).all()
    assert (Y[differing[:, 0]] != Y[differing[:, 1]]).all()
    counts = np.bincount(alike.ravel(), minlength=200)[:200]
    assert counts.min() >= 2 and 5 < counts.mean() <= 6
    assert 0.85 < len(differing) / len(alike) < 1.15
    alone = np.arange(N)  # a class each: nothing is alike
    alike, differing = target_pairs(alone, N, 6, 1.0, rng)
    assert len(alike) == 0 and 1000 < len(differing) < 1400
    alike, differing = target_pairs(np.zeros(N, int), N, 6, 1.0, rng)
    assert len(differing) == 0 and len(alike) > 1000


def test_pairs_of_numbers():
    y = np.random.default_rng(0).standard_normal(N)
    y[::4] = np.nan
    alike, differing = target_pairs(y, N, 6, 0.5, np.random.default_rng(0))
    assert not np.isnan(y[alike]).any() and not np.isnan(y[differing]).any()
    rank = np.full(N, -1)
    rank[np.argsort(y)] = np.arange(N)
    assert np.abs(np.diff(rank[alike], axis=1)).max() == 3
    assert len(differing) == round(0.5 * len(alike))
    both = np.concatenate([alike, differing])
    assert len(np.unique(both, axis=0)) == len(both)


def test_edges_and_weights_tell_the_targets_pairs():
    estimator = fit(target_weight=0.25, repulsion="sampled")
    edges, weights = estimator.edges_, estimator.weights_
    assert set(np.unique(weights)) == {-1.0, -0.25, 0.25, 1.0, 2.0}
    split = np.count_nonzero(weights > 0)
    assert (weights[:split] > 0).all() and (weights[split:] < 0).all()
    own = edges[weights == 0.25]
    assert (Y[own[:, 0]] == Y[own[:, 1]]).all()
    assert abs(estimator.graph_ - fit(repulsion="sampled").graph_).max() == 0
    # without repulsion nothing repels
    assert (fit(target_weight=0.25, repulsive_penalty=None).weights_ > 0).all()


def test_supervised_maps_transform_search_and_repeat():
    estimator = fit(target_weight=0.5, sample_weight=np.linspace(1, 2, N))
    again = clone(estimator).fit(X, Y, sample_weight=np.linspace(1, 2, N))
    np.testing.assert_array_equal(estimator.embedding_, again.embedding_)
    np.testing.assert_array_equal(estimator.transform(X[:5]), estimator.embedding_[:5])
    search = GridSearchCV(
        make_pipeline(PreserveNeighbors(random_state=0), KNeighborsClassifier()),
        {"preserveneighbors__target_weight": [0.0, 0.5]},
        cv=2,
    ).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert estimator.__sklearn_tags__().target_tags.required is False


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "needs targets, but y is None"),
        (Y[:-1], "inconsistent numbers of samples: 400 and 399"),
        (np.full(N, -1), "no known label"),
        (np.full(N, np.nan), "no known label"),
        (np.linspace(0.5, 1, N - 1), "inconsistent numbers of samples: 400 and 399"),
        (np.append(np.linspace(0.5, 1, N - 1), np.inf), "infinity"),
        (np.ones((N, 2, 2)), "dim"),
        (np.full((N, 2), -1), "no known label"),
    ],
)
def test_wrong_targets(y, message):
    with pytest.raises(ValueError, match=message):
        PreserveNeighbors(target_weight=0.5).fit(X, y)


# Weights of samples


def test_weights_scale_the_weights_of_pairs():
    s = np.linspace(0.5, 2.0, N)
    plain, weighted = fit(), fit(sample_weight=s)
    np.testing.assert_array_equal(plain.edges_, weighted.edges_)
    relative = s / s.mean()
    i, j = plain.edges_.T
    np.testing.assert_allclose(weighted.weights_, plain.weights_ * relative[i] * relative[j], 1e-6)
    assert np.abs(plain.embedding_ - weighted.embedding_).max() > 1e-3


def test_equal_weights_change_nothing_and_zeros_leave_pairs_out():
    plain = fit()
    for scale in (1.0, 3.0, 1e-300):
        np.testing.assert_array_equal(
            fit(sample_weight=np.full(N, scale)).embedding_, plain.embedding_
        )
    s = np.ones(N)
    s[::7] = 0
    estimator = fit(sample_weight=s)
    assert not np.isin(estimator.edges_, np.arange(0, N, 7)).any()
    assert np.isfinite(estimator.embedding_).all()
    assert estimator.transform(X[:14]).shape == (14, 2)
    assert len(checked_sample_weight([1, 2, 3], 3)) == 3


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "inconsistent numbers of samples: 400 and 3"),
        (np.zeros(N), "All entries of sample_weight are zero"),
        (np.full(N, np.nan), "finite and at least 0; got nan"),
        (-np.ones(N), "finite and at least 0; got -1"),
        (["a"] * N, "one number for each"),
        (np.ones((N, 2)), "one number for each"),
    ],
)
def test_wrong_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        PreserveNeighbors().fit(X, sample_weight=weights)


def test_weights_are_routed():
    s = np.linspace(0.5, 2.0, N)
    with sklearn.config_context(enable_metadata_routing=True):
        step = PreserveNeighbors(random_state=0).set_fit_request(sample_weight=True)
        routed = Pipeline([("embed", step)]).fit(X, Y, sample_weight=s)
    wanted = fit(sample_weight=s).embedding_
    np.testing.assert_array_equal(routed["embed"].embedding_, wanted)
    found = PreserveNeighbors(random_state=0).fit_transform(X, Y, sample_weight=s)
    np.testing.assert_array_equal(found, wanted)


def test_weights_are_not_routed_unless_asked_for():
    s = np.linspace(0.5, 2.0, N)
    with sklearn.config_context(enable_metadata_routing=True):
        assert "sample_weight" in PreserveNeighbors().get_metadata_routing().fit.requests
        silent = Pipeline([("embed", PreserveNeighbors(max_iter=1))])
        with pytest.raises(ValueError, match=r"sample_weight.* but are not explicitly set"):
            silent.fit(X, Y, sample_weight=s)
        refusing = PreserveNeighbors(random_state=0).set_fit_request(sample_weight=False)
        refusing = Pipeline([("embed", refusing)])
        with pytest.raises(TypeError, match="sample_weight"):
            refusing.fit(X, Y, sample_weight=s)


# Support


def test_support_is_high_among_the_training_samples_and_falls_with_distance():
    estimator = fit()
    data, _ = load_digits(return_X_y=True)
    inside = estimator.score_samples(data[400:500])
    assert inside.shape == (100,) and (inside > 0).all() and (inside <= 1).all()
    assert np.median(inside) > 0.8
    away = [estimator.score_samples(X[:20] + step).mean() for step in (0.0, 10.0, 100.0, 1e4)]
    assert away[0] > 0.9 and away[0] > away[1] > away[2] > away[3] and away[3] < 0.01
    noise = np.random.default_rng(0).uniform(0, 16, (50, 64))
    assert estimator.score_samples(noise).max() < np.quantile(inside, 0.05)
    np.testing.assert_array_equal(
        estimator.score_samples(noise[3:4]), estimator.score_samples(noise)[3:4]
    )
    loaded = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(loaded.score_samples(noise), estimator.score_samples(noise))


def test_support_of_copies_and_of_samples_without_neighbours():
    data = np.repeat(X[:10], 20, axis=0)
    estimator = PreserveNeighbors(random_state=0, n_neighbors=5).fit(data)
    assert (estimator.score_samples(X[:10]) == 1).all()
    assert (estimator.score_samples(X[20:30]) == 0).all()
    estimator = PreserveNeighbors(random_state=0, max_distance=25.0).fit(X)
    assert estimator.score_samples(X[:3] + 1e3).tolist() == [0.0, 0.0, 0.0]
    D = np.linalg.norm(X[:60, None] - X[None, :60], axis=2)
    estimator = PreserveNeighbors(random_state=0, metric="precomputed").fit(D)
    support = estimator.score_samples(np.stack([D[0], 100 * D[1], np.full(60, np.inf)]))
    assert support[0] == 1 and support[1] < 0.02 and support[2] == 0


def test_fit_takes_no_other_argument():
    with pytest.raises(TypeError, match=r"fit\(\) got an unexpected .* 'sample_weights'"):
        PreserveNeighbors().fit(np.eye(5), sample_weights=np.ones(5))


@pytest.mark.parametrize("kind", [float, Decimal])
def test_numbers_in_an_object_array(kind):
    numbers = np.tile([1.5, 2.5, np.nan, 3.25], N // 4)
    targets = np.array([None if np.isnan(t) else kind(t) for t in numbers], dtype=object)
    expected = PreserveNeighbors(target_weight=1.0, random_state=0).fit(X, numbers)
    found = PreserveNeighbors(target_weight=1.0, random_state=0).fit(X, targets)
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)


def test_many_classes_get_our_advice_alone():
    with pytest.warns(UserWarning, match="400 classes for 400 samples") as caught:
        PreserveNeighbors(target_weight=1.0, max_iter=0).fit(X, np.arange(N))
    assert len(caught) == 1 and caught[0].filename == __file__


def test_weights_that_leave_no_pair_are_blamed():
    weights = np.ones(N)
    weights[0] = 1e300
    with pytest.raises(ValueError, match="weights of all pairs are 0 after multiplication by"):
        PreserveNeighbors().fit(X, sample_weight=weights)
