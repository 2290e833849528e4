"""Snapshots of fits: units, rows and order of `embedding_`, whatever the solver works with."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from skmde import Anchored, AnchoredMDE, PreserveDistances, PreserveNeighbors

DIGITS = load_digits().data[:80]
X = 40.0 * DIGITS + 700.0  # neither the unit nor the origin of the solver
PLACES = np.full((80, 2), np.nan)
PLACES[:8] = 30.0 * np.random.default_rng(0).standard_normal((8, 2)) + 500.0
PARTS = np.concatenate([DIGITS[:40], DIGITS[40:] + 1e5])  # no neighbours between the two
APART = np.where(np.equal.outer(np.arange(80) < 40, np.arange(80) < 40), 1.0, 0.0)

CASES = {
    "neighbors": (PreserveNeighbors(), None),
    "sampled": (PreserveNeighbors(repulsion="sampled"), None),
    "standardized": (PreserveNeighbors(repulsive_penalty=None), None),
    "anchored neighbors": (
        PreserveNeighbors(constraint=Anchored(np.arange(8), PLACES[:8] / 100)),
        None,
    ),
    "distances": (PreserveDistances(loss="squared"), None),
    "relative": (PreserveDistances(loss="kamada_kawai"), None),
    "standardized distances": (PreserveDistances(constraint="standardized"), None),
    "huber": (AnchoredMDE(attractive_penalty="huber"), PLACES),
    "linear": (AnchoredMDE(attractive_penalty="linear"), PLACES),
    "soft": (AnchoredMDE(attractive_penalty="huber", anchor_weight=3.0), PLACES),
    "anchored distances": (AnchoredMDE(loss="squared"), PLACES),
}
pytestmark = pytest.mark.filterwarnings("ignore:The solve ended:UserWarning")
CASE = pytest.mark.parametrize("name", CASES)


def fitted(name, **parameters):
    estimator, y = CASES[name]
    parameters = {"random_state": 0, "max_iter": 40, **parameters}
    return clone(estimator).set_params(**parameters).fit(X, y)


def largest_move(frames):
    return np.linalg.norm(np.diff(frames.astype(float), axis=0), axis=2).max(axis=1)


@CASE
@pytest.mark.filterwarnings("ignore:.*decreas:UserWarning", "ignore:.*pull:UserWarning")
def test_snapshots_are_what_callbacks_see(name):
    seen = {}
    estimator = fitted(
        name, snapshot_every=3, callbacks=[lambda state: seen.update({state.iteration: state.X})]
    )
    n_iter = estimator.n_iter_
    assert list(estimator.snapshot_iterations_) == [*range(0, n_iter, 3), n_iter]
    assert estimator.snapshots_.shape == (len(estimator.snapshot_iterations_), 80, 2)
    assert estimator.snapshots_.dtype == estimator.embedding_.dtype
    np.testing.assert_array_equal(estimator.snapshots_[-1], estimator.embedding_)
    size = np.abs(estimator.embedding_).max()
    for number, frame in zip(estimator.snapshot_iterations_, estimator.snapshots_, strict=True):
        if number == 0:  # callbacks do not see the start
            continue
        np.testing.assert_allclose(frame, seen[number], rtol=0, atol=2e-4 * size)
    np.testing.assert_array_equal(estimator.embedding_, fitted(name).embedding_)


@pytest.mark.filterwarnings("ignore:.*decreas:UserWarning")
@pytest.mark.parametrize("repulsion", ["all", "normalized"])
def test_parts_that_are_drawn_together_move_as_one_film(repulsion):
    estimator = PreserveNeighbors(repulsion=repulsion, snapshot_every=1, random_state=0).fit(PARTS)
    moves = largest_move(estimator.snapshots_)
    assert moves[-1] < 0.1 * np.ptp(estimator.embedding_)


def test_parts_that_are_packed_move_as_one_film():
    estimator = PreserveDistances(loss="squared", snapshot_every=1, random_state=0)
    estimator.fit(DIGITS, pair_weights=APART)
    moves = largest_move(estimator.snapshots_)
    assert moves[-1] < 0.02 * np.ptp(estimator.embedding_)
    centers = estimator.snapshots_.reshape(len(moves) + 1, 2, 40, 2).mean(axis=2)
    np.testing.assert_allclose(centers, np.broadcast_to(centers[-1], centers.shape), atol=0.1)


def test_samples_of_weight_0_stay_where_they_are_placed():
    weights = np.ones(80)
    weights[::9] = 0.0
    estimator = PreserveNeighbors(snapshot_every=5, random_state=0)
    frames = estimator.fit(X, sample_weight=weights).snapshots_
    expected = np.broadcast_to(estimator.embedding_[::9], frames[:, ::9].shape)
    np.testing.assert_array_equal(frames[:, ::9], expected)
    assert largest_move(frames[:, 1::9]).min() > 0


@pytest.mark.parametrize("name", ["neighbors", "distances", "soft"])
def test_an_extension_has_snapshots_of_its_own(name):
    estimator = fitted(name, snapshot_every=2)
    old = estimator.embedding_
    estimator.extend(X[:7] + 3.0)
    frames, last = estimator.snapshots_, estimator.n_iter_
    assert frames.shape[1:] == (87, 2)
    assert list(estimator.snapshot_iterations_) == [*range(0, last, 2), last]
    np.testing.assert_array_equal(frames[-1], estimator.embedding_)
    np.testing.assert_array_equal(frames[:, :80], np.broadcast_to(old, (len(frames), 80, 2)))


def test_snapshots_end_with_a_refit_and_with_compact():
    estimator = fitted("neighbors", snapshot_every=2)
    assert estimator.snapshots_ is not None
    again = clone(estimator).fit(X)
    assert again.compact().snapshots_ is None and again.snapshot_iterations_ is None
    estimator.set_params(snapshot_every=None).fit(X)
    assert estimator.snapshots_ is None and estimator.snapshot_iterations_ is None


def test_few_iterations_give_the_first_and_the_last():
    for name in ("neighbors", "distances", "huber"):
        estimator = fitted(name, snapshot_every=10**6)
        assert list(estimator.snapshot_iterations_) == [0, estimator.n_iter_]
    start = PreserveNeighbors(snapshot_every=1, max_iter=0, random_state=0).fit(X)
    assert list(start.snapshot_iterations_) == [0]
    exact = AnchoredMDE(snapshot_every=1).fit(X, PLACES)
    np.testing.assert_array_equal(exact.snapshots_, exact.embedding_[None])


@CASE
@pytest.mark.parametrize("every", [0, -3, 2.5, "5", True])
def test_what_is_no_number_of_iterations_is_refused(name, every):
    with pytest.raises(ValueError, match="snapshot_every"):
        fitted(name, snapshot_every=every)
