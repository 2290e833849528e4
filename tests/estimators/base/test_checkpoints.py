"""Fits that are interrupted, and go on from their checkpoints."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from slowly import slow

from skmde import AnchoredMDE, Box, PreserveDistances, PreserveNeighbors
from skmde.core.checkpoints import checkpoint as module
from skmde.inspection import stability

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
X[:30] += 3
PLACES = np.full((60, 2), np.nan)
PLACES[:8] = RNG.standard_normal((8, 2))

NEIGHBORS, DISTANCES = (PreserveNeighbors, ()), (PreserveDistances, ())
ANCHORED = AnchoredMDE, (PLACES,)
FITS = {
    "neighbors": (*NEIGHBORS, {}),
    "normalized": (*NEIGHBORS, {"repulsion": "normalized", "snapshot_every": 4}),
    "box": (*NEIGHBORS, {"constraint": Box(-1, 1), "repulsion": "sampled"}),
    "distances": (*DISTANCES, {"snapshot_every": 4}),
    "two starts": (*DISTANCES, {"n_init": 2, "constraint": "standardized", "n_jobs": 2}),
    "ordinal": (*DISTANCES, {"monotone": True, "n_init": 2}),
    "anchored, linear": (*ANCHORED, {"attractive_penalty": "linear"}),  # five solves
    "anchored, loss": (*ANCHORED, {"loss": "huber"}),
    "soft": (
        *ANCHORED,
        {"attractive_penalty": "log1p", "repulsive_penalty": "log", "anchor_weight": 1.0},
    ),
}
QUICK = "neighbors", "distances", "two starts", "anchored, linear"
SHORT = {"random_state": 0, "max_iter": 40}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class InterruptedFitError(Exception):
    pass


class InterruptAfter:
    """A callback that fails after so many iterations."""

    def __init__(self, count):
        self.left = count

    def __call__(self, state):
        self.left -= 1
        if self.left == 0:
            raise InterruptedFitError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


@pytest.fixture
def each_iteration(monkeypatch):
    """Each iteration is written, and nothing waits for the disk."""
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    monkeypatch.setattr(module, "_MOST", np.inf)
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def fit(name, **parameters):
    kind, arguments, own = FITS[name]
    return kind(**{**SHORT, **own, **parameters}).fit(X, *arguments)


def found(estimator):
    """All fitted numbers, but for times."""
    values = dict(vars(estimator))
    history = dict(values.pop("history_"))
    del history["seconds"]
    values |= history
    kinds = np.ndarray | float | int | str
    return {
        name: value.tobytes() if isinstance(value, np.ndarray) else value
        for name, value in values.items()
        if isinstance(value, kinds) and (name.endswith("_") or name in history)
    }


def interrupted_fit(name, path, rng, **parameters):
    """A fit that is interrupted at random iterations until it ends, and how often it was."""
    for number in range(100):
        callback = InterruptAfter(int(rng.integers(2, 25)))
        try:
            return fit(name, checkpoint=path, callbacks=[callback], **parameters), number
        except InterruptedFitError:
            assert os.listdir(path.parent) in ([path.name], [])
    raise AssertionError("the fit makes no progress")


@pytest.mark.parametrize("names", [QUICK, *slow(sorted(FITS.keys() - set(QUICK)))], ids=len)
def test_an_interrupted_fit_ends_with_the_same_bits(tmp_path, each_iteration, names):
    rng = np.random.default_rng(0)
    for name in names:
        folder = tmp_path / name
        folder.mkdir()
        path = folder / "a"
        whole = found(fit(name))
        resumed, number = interrupted_fit(name, path, rng)
        assert number >= 1, name
        assert found(resumed) == whole, name
        again = fit(name, checkpoint=str(path), callbacks=[InterruptAfter(10)])
        assert found(again) == whole, name
        assert resumed.transform(X[:3]).tobytes() == again.transform(X[:3]).tobytes()


def test_without_a_seed_a_fit_keeps_the_one_that_was_drawn(path, each_iteration):
    unseeded = {"random_state": None, "repulsion": "sampled"}
    resumed, number = interrupted_fit("neighbors", path, np.random.default_rng(1), **unseeded)
    assert number >= 1
    assert found(fit("neighbors", checkpoint=path, **unseeded)) == found(resumed)
    path.unlink()
    other = fit("neighbors", checkpoint=path, **unseeded)
    assert not np.array_equal(other.edges_, resumed.edges_)


def test_more_iterations_may_be_asked_for(path):
    for name in ("distances", "two starts", "anchored, linear"):
        fit(name, checkpoint=path)
        longer = fit(name, checkpoint=path, max_iter=60, tol=1e-6)
        assert longer.n_iter_ > 40
        assert found(longer) == found(fit(name, max_iter=60, tol=1e-6)), name
        with pytest.raises(ValueError, match=r"max_iter was 60, is 40; tol was 1e-06, is 1e-05"):
            fit(name, checkpoint=path)
        path.unlink()


def test_other_data_and_parameters_are_refused_before_any_work(path, monkeypatch):
    fit("neighbors", checkpoint=path)
    monkeypatch.setattr(PreserveNeighbors, "_find_neighbors", None)
    others = [
        ({"n_neighbors": 7}, "n_neighbors was None, is 7"),
        ({"random_state": 1}, "random_state was 0, is 1"),
        ({"random_state": None}, "random_state was 0, is None"),
        ({"attractive_penalty": "huber"}, "attractive_penalty was 'auto', is 'huber'"),
        ({"constraint": Box(-1, 1)}, r"constraint was None, is Box\(high=1, low=-1\)"),
        ({"metric": "cityblock"}, "metric was 'euclidean', is 'cityblock'"),
        ({"init": np.zeros((60, 2))}, r"init was 'auto', is float64 of shape \(60, 2\)"),
        ({"snapshot_every": 4}, "snapshot_every was None, is 4"),
        ({"max_iter": 39}, "max_iter was 40, is 39"),
    ]
    for parameters, message in others:
        with pytest.raises(ValueError, match=f"checkpoint of another fit: {message}"):
            fit("neighbors", checkpoint=path, **parameters)
    for data, message in (
        (X + 1e-9, "entries of X differ"),
        (X[:59], r"entries of X was float64 of shape \(60, 5\), is float64 of shape \(59, 5\)"),
    ):
        with pytest.raises(ValueError, match=message):
            PreserveNeighbors(**SHORT, checkpoint=path).fit(data)
    with pytest.raises(ValueError, match="estimator was PreserveNeighbors, is PreserveDistances"):
        fit("distances", checkpoint=path)


def test_what_only_the_pairs_show_is_refused_as_well(path):
    weights = np.ones(60)
    PreserveNeighbors(**SHORT, checkpoint=path).fit(X, sample_weight=weights)
    weights[0] = 2.0
    with pytest.raises(ValueError, match="weights differ"):
        PreserveNeighbors(**SHORT, checkpoint=path).fit(X, sample_weight=weights)
    path.unlink()
    fit("anchored, loss", checkpoint=path)
    with pytest.raises(ValueError, match="values of the anchors differ"):
        AnchoredMDE(**SHORT, loss="huber", checkpoint=path).fit(X, 2 * PLACES)


def test_what_changes_no_bit_may_change(path):
    first = fit("neighbors", checkpoint=path)
    later = fit("neighbors", checkpoint=path, n_jobs=2, verbose=1, callbacks=[InterruptAfter(9)])
    assert np.array_equal(first.embedding_, later.embedding_)
    frame = pd.DataFrame(X)  # the same rows in another form
    last = PreserveNeighbors(**SHORT, checkpoint=path).fit(frame)
    assert np.array_equal(first.embedding_, last.embedding_)


def test_a_generator_that_has_moved_on_is_refused(path):
    fit("neighbors", random_state=check_random_state(0), checkpoint=path)
    fit("neighbors", random_state=check_random_state(0), checkpoint=path)
    moved = check_random_state(0)
    moved.random_sample()
    with pytest.raises(ValueError, match="random_state differ"):
        fit("neighbors", random_state=moved, checkpoint=path)


def test_a_callback_that_stops_a_fit_does_not_end_it_for_good(path):
    stopped = fit("distances", checkpoint=path, callbacks=[lambda state: state.iteration == 9])
    assert stopped.n_iter_ == 9
    again = fit("distances", checkpoint=path, callbacks=[lambda state: state.iteration == 9])
    assert found(again) == found(stopped)
    assert found(fit("distances", checkpoint=path)) == found(fit("distances"))


def test_a_failed_fit_leaves_the_estimator_as_it_was(path):
    estimator = PreserveNeighbors(**SHORT).fit(X)
    before = dict(vars(estimator))
    estimator.set_params(checkpoint=path, callbacks=[InterruptAfter(3)])
    with pytest.raises(InterruptedFitError):
        estimator.fit(X)
    assert vars(estimator) == {**before, **{"checkpoint": path, "callbacks": estimator.callbacks}}


def test_other_fits_of_an_estimator_leave_its_checkpoint_alone(path):
    estimator = fit("distances", checkpoint=path)
    before = path.read_bytes()
    estimator.refit_without_worst_pairs(X, 0.1)
    stability(estimator, X, n=2, n_jobs=1)
    estimator.extend(X[:3] + 0.1)
    assert path.read_bytes() == before
    assert not any("checkpoint" in name for name in vars(estimator) if name != "checkpoint")


def test_it_is_a_parameter_like_others(path):
    for kind in (PreserveNeighbors, PreserveDistances, AnchoredMDE):
        estimator = kind(checkpoint=path)
        assert clone(estimator).get_params()["checkpoint"] == path
        assert kind().checkpoint is None
        with pytest.raises(ValueError, match="'checkpoint' parameter"):
            kind(checkpoint=3).fit(X, PLACES)
        with pytest.raises(ValueError, match="checkpoint must be the path of a file"):
            kind(checkpoint="").fit(X, PLACES)
        with pytest.raises(IsADirectoryError):
            kind(checkpoint=path.parent).fit(X, PLACES)


def test_a_relative_path_is_that_of_the_beginning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def move(state):
        os.chdir(tmp_path / "elsewhere")

    fit("distances", checkpoint=Path("a"), callbacks=[move])
    assert (tmp_path / "a").exists()
    assert os.listdir(tmp_path / "elsewhere") == []


def test_warnings_are_those_of_an_uninterrupted_fit(path):
    for _ in range(2):
        with pytest.warns(ConvergenceWarning, match="The solve ended at max_iter=3"):
            fit("distances", checkpoint=path, max_iter=3)
