"""Anchors many lengths of the penalty apart: who follows, and what is said where nobody can."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skmde import Anchored, AnchoredMDE, Barrier, Log1p, Power, PreserveNeighbors
from skmde.estimators.samples.reach import has_faded, warn_if_out_of_reach
from skmde.functions.registry import resolve_penalty

DIGITS = load_digits().data[:200]
MAP = PCA(2).fit_transform(DIGITS)
MAP /= MAP.std()
ANCHORS = np.arange(0, 200, 4)
FREE = np.setdiff1d(np.arange(200), ANCHORS)
ANCHORED = np.array([0, 1])
FADING = ["log1p", "cauchy", "sigmoid", "log_ratio", "inverse_power"]
LASTING = ["linear", "quadratic", "huber", "cubic", "logistic", "power", "hinge"]


def fitted(make, size, **parameters):
    """A map among anchors of a size, in units of the size, and whether it warned of the reach."""
    if make is AnchoredMDE:
        estimator = AnchoredMDE(random_state=0, **parameters)
        given = {"anchors": ANCHORS, "anchor_values": size * MAP[ANCHORS]}
    else:
        constraint = Anchored(ANCHORS, size * MAP[ANCHORS])
        estimator = PreserveNeighbors(random_state=0, constraint=constraint, **parameters)
        given = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(DIGITS, **given)
    told = [w for w in caught if "may stay near where they started" in str(w.message)]
    return estimator.embedding_ / size, bool(told)


def error(embedding):
    return np.linalg.norm(embedding[FREE] - MAP[FREE], axis=1).mean()


CASES = {
    "neighbors": (PreserveNeighbors, {}),
    "sampled": (PreserveNeighbors, {"repulsion": "sampled"}),
    "random": (AnchoredMDE, {"attractive_penalty": "log1p", "init": "random"}),
    "cauchy": (AnchoredMDE, {"attractive_penalty": "cauchy", "init": "random"}),
    "soft": (AnchoredMDE, {"attractive_penalty": "log1p", "init": "random", "anchor_weight": 1e3}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_map_that_does_not_follow_far_anchors_is_told_of(case):
    make, parameters = CASES[case]
    near, told_near = fitted(make, 1.0 if make is AnchoredMDE else 10.0, **parameters)
    far, told_far = fitted(make, 1000.0, **parameters)
    assert error(far) > 1.0 > error(near)
    assert told_far and not told_near


@pytest.mark.parametrize("make", [AnchoredMDE, PreserveNeighbors])
@pytest.mark.parametrize("penalty", ["huber", "logistic"])
def test_a_penalty_whose_pull_lasts_follows_anchors_of_any_size(make, penalty):
    parameters = {"attractive_penalty": penalty, "repulsive_penalty": None}
    for size in (1.0, 1000.0):
        embedding, told = fitted(make, size, **parameters)
        assert error(embedding) < 0.6 and not told


@pytest.mark.parametrize("penalty", [*FADING, *LASTING])
def test_pulls_that_fade_and_pulls_that_last(penalty):
    lengths = np.array([0.0, 1e3, 1e4])
    expected = [False, penalty in FADING, penalty in FADING]
    assert has_faded(resolve_penalty(penalty), lengths).tolist() == expected


def test_within_its_length_no_pull_has_faded():
    for penalty in ("log1p", "cauchy", "sigmoid"):
        assert not has_faded(resolve_penalty(penalty), np.geomspace(1e-3, 1.0, 9)).any()
    assert not has_faded(Barrier(1.0), np.geomspace(0.1, 1e9, 50)).any()  # it pushes near 1
    assert not has_faded(Power(0.5), np.geomspace(1e-9, 1e9, 50)).any()  # it has no length
    # 1.5 sqrt(d) / (1 + d^1.5) is at most 0.7937, and a twentieth of it at 37.8 - 0.2
    assert has_faded(Log1p(1.5), np.array([30.0, 37.0, 39.0, 50.0])).tolist() == [0, 0, 1, 1]


def test_functions_of_single_pairs_and_missing_pairs_are_not_judged():
    per_pair = torch.arange(1.0, 4.0)
    own = resolve_penalty(lambda d: torch.tanh(per_pair * d))
    assert not has_faded(own, np.array([1e3, 2e3, 3e3])).any()
    edges, weights = np.array([[0, 1], [1, 2]]), np.array([1.0, -1.0])
    X = np.array([[0.0], [2e3], [1e3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # two anchors attract each other; the free item only repels
        warn_if_out_of_reach(edges, weights, X, Log1p(), ANCHORED)
        # the free item was driven away from all anchors, which are near to each other
        warn_if_out_of_reach(edges, -weights, X - [[0.0], [1999.0], [0.0]], Log1p(), ANCHORED)
    with pytest.warns(UserWarning, match=r"join 1 of the 1 to .*Log1p\(\).*longer than 1e\+03"):
        warn_if_out_of_reach(edges, -weights, X, Log1p(), ANCHORED)


def told_of(edges, X, anchors, penalty):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_out_of_reach(np.array(edges), np.ones(len(edges)), X, penalty, np.array(anchors))
    return bool(caught)


def test_a_sample_at_one_of_several_far_anchors_has_followed():
    cauchy = resolve_penalty("cauchy")
    X = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [0.1, 0.1], [0.2, 0.1]])
    to_all = [[0, 3], [1, 3], [2, 3]]
    assert not told_of(to_all, X, [0, 1, 2], cauchy)
    # A sample that follows another one follows the anchor.
    assert not told_of([*to_all, [3, 4], [1, 4], [2, 4]], X, [0, 1, 2], cauchy)
    # Two that are near each other, but far from all anchors, follow none.
    X[3:] += 5.0
    assert told_of([*to_all, [3, 4]], X, [0, 1, 2], cauchy)
    # What no pair joins to an anchor does not count.
    assert not told_of([[1, 3], [2, 4]], X[[0, 1, 2, 1, 2]], [0, 1, 2], cauchy)


def test_the_best_places_among_far_anchors_are_no_reason_to_warn():
    """Of four anchors 10 lengths apart, every free sample is best placed at one."""
    corners = 10.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=float)
    affinity = np.ones((12, 12)) - np.eye(12)
    affinity[4:, 4:] = 0.0
    for k in range(4, 12):
        affinity[k, k % 4] = affinity[k % 4, k] = 3.0
    estimator = AnchoredMDE(
        attractive_penalty="cauchy", metric="affinity", random_state=0, max_iter=1000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit(affinity, anchors=np.arange(4), anchor_values=corners)
    found = estimator.embedding_[4:]
    nearest = np.linalg.norm(found[:, None] - corners, axis=2)
    # A grid around each corner finds nothing better.
    steps = np.linspace(-12.0, 22.0, 341)
    grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    squares = np.square(grid[:, None] - corners).sum(axis=2)
    for k in range(8):
        weights = affinity[4 + k, :4]
        best = (-weights / (1 + squares)).sum(axis=1).min()
        here = (-weights / (1 + np.square(nearest[k]))).sum()
        assert here <= best + 1e-3 * abs(best)
    assert (nearest.min(axis=1) < 0.5).all()


def test_a_map_that_follows_far_anchors_is_not_told_of():
    """At 30 lengths a third of the pairs have faded, but the free samples have followed."""
    estimator = AnchoredMDE(attractive_penalty="cauchy", random_state=0, max_iter=3000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit(DIGITS, anchors=ANCHORS, anchor_values=30.0 * MAP[ANCHORS])
    assert error(estimator.embedding_ / 30.0) < 0.6
