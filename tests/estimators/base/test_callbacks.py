"""scikit-learn's callbacks, where it has them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)

callback = pytest.importorskip("sklearn.callback")

X = load_digits().data[:80]
PLACES = np.full((80, 2), np.nan)
PLACES[:8] = np.random.default_rng(0).standard_normal((8, 2))
CASES = {
    "neighbors": (PreserveNeighbors(random_state=0), None),
    "distances": (PreserveDistances(random_state=0, loss="squared"), None),
    "quadratic": (QuadraticMDE(), None),
    "anchored": (AnchoredMDE(random_state=0, attractive_penalty="huber"), PLACES),
}
CASE = pytest.mark.parametrize("name", CASES)


class Recorder:
    """Follows the protocol ``sklearn.callback.FitCallback``."""

    def __init__(self, stop_after=None, fail_after=None):
        self.events, self.fitted, self.stop_after, self.fail_after = [], [], stop_after, fail_after

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context, *, X):
        assert len(X) == 80
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.events.append(("end", context.task_name))
        if context.task_name != "iteration":
            return False
        self.fitted.append(fitted_estimator)
        if self.fail_after == len(self.fitted):
            raise RuntimeError("no more")
        return self.stop_after == len(self.fitted)


@CASE
def test_a_fit_is_a_task_and_its_iterations_are_subtasks(name):
    estimator, y = CASES[name]
    recorder = Recorder()
    fitted = clone(estimator).set_callbacks(recorder).fit(X, y)
    n = fitted.n_iter_
    assert recorder.events == [
        ("setup", "fit"),
        ("begin", "fit"),
        *[("begin", "iteration"), ("end", "iteration")] * n,
        ("end", "fit"),
        ("teardown", "fit"),
    ]
    plain = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(fitted.embedding_, plain.embedding_)
    assert set(vars(fitted)) - set(vars(plain)) == {"_skl_callbacks"}


@pytest.mark.parametrize("name", ["neighbors", "distances"])
def test_each_iteration_has_a_fitted_estimator(name):
    recorder = Recorder()
    fitted = clone(CASES[name][0]).set_callbacks(recorder).fit(X)
    scores = [estimator.score(X) for estimator in recorder.fitted]
    assert scores[-1] == pytest.approx(fitted.score(X), abs=1e-6)
    assert scores[-1] > scores[0]
    np.testing.assert_allclose(recorder.fitted[-1].embedding_, fitted.embedding_, rtol=0, atol=1e-5)


@CASE
def test_a_callback_may_stop_the_fit(name):
    estimator, y = CASES[name]
    stopped = clone(estimator).set_callbacks(Recorder(stop_after=3)).fit(X, y)
    assert stopped.n_iter_ == 3


@CASE
def test_a_failing_callback_is_taken_down_and_leaves_the_estimator(name):
    estimator, y = CASES[name]
    recorder = Recorder(fail_after=2)
    failing = clone(estimator).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="no more"):
        failing.fit(X, y)
    assert recorder.events[-1] == ("teardown", "fit")
    assert not hasattr(failing, "embedding_")
    assert set(vars(failing)) - set(vars(clone(estimator))) == {"_skl_callbacks"}


def test_problems_that_are_solved_at_once_are_a_task():
    for estimator, y in ((QuadraticMDE(solver="dense"), None), (AnchoredMDE(), PLACES)):
        recorder = Recorder()
        estimator.set_callbacks(recorder).fit(X, y)
        names = ["setup", "begin", "end", "teardown"]
        assert recorder.events == [(name, "fit") for name in names]


def test_monitor_of_scores_and_pipeline():
    monitor = callback.ScoringMonitor(scoring=None)
    step = PreserveNeighbors(random_state=0).set_callbacks(monitor)
    pipeline = make_pipeline(StandardScaler(), step).fit(X)
    log = monitor.get_logs(select="most_recent") if hasattr(monitor, "get_logs") else None
    assert log is not None
    assert pipeline[-1].n_iter_ > 1


@CASE
def test_progress_bar_of_scikit_learn(name, capsys):
    pytest.importorskip("rich")
    estimator, y = CASES[name]
    clone(estimator).set_callbacks(callback.ProgressBar()).fit(X, y)
    out = capsys.readouterr().out
    assert f"{type(estimator).__name__} - fit" in out
    assert "100%" in out


def test_a_classifier_is_a_task():
    recorder = Recorder()
    AnchoredClassifier().set_callbacks(recorder).fit(X, np.where(np.arange(80) < 9, 1, -1) % 7)
    kinds = [("setup", "fit"), ("begin", "fit"), ("end", "fit"), ("teardown", "fit")]
    assert recorder.events == kinds
