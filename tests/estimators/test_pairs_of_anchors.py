"""Pairs of two anchors count in no estimator: nothing can change them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skmde import Anchored, AnchoredMDE, PreserveDistances, PreserveNeighbors

X = np.random.default_rng(0).standard_normal((40, 3))
KNOWN = np.arange(6)
VALUES = 3.0 * X[KNOWN, :2] + 1.0
OPTIONS = {"random_state": 0, "n_jobs": 1}
FULL = {"tol": 1e-7, "max_iter": 2000}


def fitted(make, anchors=KNOWN, values=VALUES, **params):
    if make is AnchoredMDE:
        given = {"anchors": anchors, "anchor_values": values}
        return make(**OPTIONS, **params).fit(X, **given)
    return make(constraint=Anchored(anchors, values), **OPTIONS, **params).fit(X)


CASES = [
    (PreserveDistances, {"loss": "squared"}),
    (PreserveDistances, {"max_pairs": 500}),
    (AnchoredMDE, {"loss": "squared"}),
    (AnchoredMDE, {"n_neighbors": 8}),
    (PreserveNeighbors, {"repulsion": "all"}),
    (PreserveNeighbors, {"repulsion": "sampled"}),
    (PreserveNeighbors, {"repulsive_penalty": None}),
]


@pytest.mark.parametrize(("make", "params"), CASES)
def test_no_pair_has_two_anchors(make, params):
    estimator = fitted(make, max_iter=20, **params)
    assert not np.isin(estimator.edges_, KNOWN).all(axis=1).any()
    for name in ("distances_", "weights_", "pair_weights_"):
        numbers = getattr(estimator, name, None)
        assert numbers is None or len(numbers) == len(estimator.edges_)


@pytest.mark.parametrize(("make", "params"), CASES)
def test_nothing_counts_where_all_samples_are_anchored(make, params):
    everywhere = fitted(make, np.arange(40), 2.0 * X[:, :2], **params)
    np.testing.assert_array_equal(everywhere.embedding_, 2.0 * X[:, :2])
    assert everywhere.distortion_ == 0.0
    assert getattr(everywhere, "stress_", 0.0) == 0.0
    assert everywhere.residual_norm_ == 0.0


def test_stress_and_distortion_are_those_of_the_pairs_that_can_change():
    estimator = fitted(PreserveDistances, loss="squared", **FULL)
    free = np.triu(np.ones((40, 40), bool), 1)
    free[np.ix_(KNOWN, KNOWN)] = False
    d, delta = cdist(*[estimator.embedding_] * 2)[free], cdist(X, X)[free]
    assert estimator.distortion_ == pytest.approx(((d - delta) ** 2).mean(), rel=1e-4)
    expected = np.sqrt(((d - delta) ** 2).sum() / (d**2).sum())
    assert estimator.stress_ == pytest.approx(expected, rel=1e-4)


def test_both_ways_to_give_anchors_report_the_same():
    ours, other = (
        fitted(make, loss="squared", **FULL) for make in (PreserveDistances, AnchoredMDE)
    )
    assert ours.distortion_ == pytest.approx(other.distortion_, rel=1e-4)
    np.testing.assert_allclose(ours.embedding_, other.embedding_, atol=1e-2)
