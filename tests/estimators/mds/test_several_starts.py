"""PreserveDistances(n_init=...): the best of several starts, whatever workers solve them."""

import warnings

import joblib
import numpy as np
import pytest

from skmde import Anchored, PreserveDistances
from skmde.estimators.mds import restarts
from skmde.estimators.mds.local_search import better_minimum, is_small
from skmde.estimators.mds.monotone import MonotoneProblem
from skmde.exceptions import ConvergenceWarning

RNG = np.random.default_rng(0)
ROUGH = RNG.random((18, 18))
ROUGH = (ROUGH + ROUGH.T) / 2
ORDINAL = {"loss": None, "monotone": True}


def fit(**params):
    settings = {"metric": "precomputed", "loss": "squared", "random_state": 0, **params}
    return PreserveDistances(**settings).fit(ROUGH)


def test_the_best_start_is_kept_and_the_first_is_init():
    one, five = fit(), fit(n_init=5)
    assert len(five.start_values_) == 5
    assert five.start_values_[0] == one.start_values_[0] == one.distortion_
    assert five.distortion_ == five.start_values_.min() < one.distortion_
    assert five.history_["value"][-1] == five.distortion_


def test_random_starts_reach_the_least_value_that_many_plain_starts_find():
    plain = min(fit(init="random", random_state=k).distortion_ for k in range(12))
    assert fit(n_init=6).distortion_ <= plain * 1.001


@pytest.mark.parametrize("params", [{}, ORDINAL], ids=["metric", "order"])
def test_workers_do_not_change_a_bit(params):
    alone = fit(n_init=3, n_jobs=1, **params)
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            shared = fit(n_init=3, **params)
        assert np.array_equal(shared.embedding_, alone.embedding_)
        assert np.array_equal(shared.start_values_, alone.start_values_)


def test_constraints_and_given_starts():
    values = RNG.standard_normal((3, 2))
    params = {"n_init": 3, "constraint": Anchored([0, 5, 9], values), "init": np.eye(18)[:, :2]}
    found = fit(**params)
    assert np.array_equal(found.embedding_[[0, 5, 9]], values)
    assert found.distortion_ <= fit(**{**params, "n_init": 1}).distortion_
    with pytest.raises(ValueError, match="n_init"):
        fit(n_init=0)


def test_callbacks_see_all_starts_in_this_process():
    seen = []
    found = fit(n_init=3, n_jobs=2, callbacks=[lambda state: seen.append(state.iteration)])
    assert seen.count(1) == 3
    assert found.n_iter_ in seen


def test_only_the_warnings_of_the_best_start_are_shown():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(n_init=4, max_iter=3, loss="absolute")
    assert [w.category for w in caught] == [ConvergenceWarning]


def without_search(monkeypatch, **params):
    with monkeypatch.context() as patched:
        patched.setattr(MonotoneProblem, "descent", lambda self: None)
        return fit(**params)


def test_a_search_finds_a_better_ordinal_solution_of_few_items(monkeypatch):
    improved, again = fit(**ORDINAL, snapshot_every=4), fit(**ORDINAL, random_state=1)
    assert np.array_equal(improved.embedding_, again.embedding_)  # the first start has no chance
    plain = without_search(monkeypatch, **ORDINAL)
    assert improved.stress_ < 0.995 * plain.stress_
    values, steps = improved.history_["value"], plain.n_iter_ + 1
    assert values[-1] == improved.start_values_[0] == pytest.approx(improved.stress_**2)
    assert (np.diff(values) <= 0).all()
    assert (np.diff(improved.history_["seconds"]) >= 0).all()
    for name, own in improved.history_.items():
        assert len(own) == improved.n_iter_ + 1
        assert name == "seconds" or np.array_equal(own[:steps], plain.history_[name])
    assert len(improved.snapshots_) == len(improved.snapshot_iterations_)
    assert improved.snapshot_iterations_[-1] == improved.n_iter_
    assert np.array_equal(improved.snapshots_[-1], improved.embedding_)


def test_a_search_counts_towards_max_iter(monkeypatch):
    plain, free = without_search(monkeypatch, **ORDINAL), fit(**ORDINAL)
    longer = free.n_iter_ - plain.n_iter_
    assert longer > 0
    for more, gained in ((0, 0), (longer, longer)):
        found = fit(**ORDINAL, max_iter=plain.n_iter_ + more)
        assert found.n_iter_ == plain.n_iter_ + gained == len(found.history_["value"]) - 1
        assert (found.stress_ < 0.995 * plain.stress_) == bool(gained)


def test_nothing_is_searched_for_near_a_start_of_the_user(monkeypatch):
    start = np.random.default_rng(1).standard_normal((18, 2))
    own, plain = fit(init=start, **ORDINAL), without_search(monkeypatch, init=start, **ORDINAL)
    assert np.array_equal(own.embedding_, plain.embedding_)
    settled = fit(init=own.embedding_, **ORDINAL)
    np.testing.assert_allclose(settled.embedding_, own.embedding_, atol=0.02)
    several = fit(init=start, n_init=2, **ORDINAL)
    assert several.start_values_[0] == own.start_values_[0] > several.start_values_[1]


def test_a_search_improves_random_starts_under_the_squared_loss_and_no_other(monkeypatch):
    searched = []

    def recorded(descend, n_pairs, X, rng):
        searched.append(descend(X)[1])
        better = better_minimum(descend, n_pairs, X, rng)
        if better is not None:
            assert descend(better)[1] < searched[-1]
        return better

    monkeypatch.setattr(restarts, "better_minimum", recorded)
    found = fit(n_init=3)
    assert len(searched) == 2
    unit = np.mean(found.distances_**2)
    assert (found.start_values_[1:] <= unit * np.array(searched) * (1 + 1e-5)).all()
    fit(loss="absolute", n_init=2)
    assert len(searched) == 2


def test_nothing_is_searched_for_where_the_map_is_exact():
    calls = []

    def descend(X):
        calls.append(X)
        return X, 1e-12

    assert better_minimum(descend, 100, np.eye(4)[:, :2], np.random.default_rng(0)) is None
    assert len(calls) == 1


@pytest.mark.filterwarnings("ignore:The solve ended at max_iter")
def test_no_search_without_a_solution_or_another_kind_of_problem(monkeypatch):
    for params in ({"max_iter": 3}, {"constraint": "standardized"}, {"monotone": "interval"}):
        plain = without_search(monkeypatch, **{**ORDINAL, **params})
        assert np.array_equal(fit(**{**ORDINAL, **params}).embedding_, plain.embedding_)


def test_the_more_pairs_the_less_is_an_embedding_disturbed():
    def count(n_pairs):
        calls = []

        def descend(X):
            calls.append(X.shape[1])
            return X, 1.0

        X = np.arange(12.0).reshape(6, 2)
        assert better_minimum(descend, n_pairs, X, np.random.default_rng(0)) is None
        return calls.count(2)

    assert [count(p) for p in (15, 600, 20_000, 60_000)] == [101, 101, 4, 2]
    assert is_small(60_000) and not is_small(60_001)


def test_a_search_goes_on_from_the_best_embedding():
    starts = []

    def descend(X):
        starts.append(X)
        return X, 1.0 / len(starts)  # each is better than all before it

    best = better_minimum(descend, 1000, np.arange(12.0).reshape(6, 2), np.random.default_rng(0))
    assert best is starts[-1]
