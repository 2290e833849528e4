"""PreserveDistances(n_init=...): the best of several starts, whatever workers solve them."""

import warnings

import joblib
import numpy as np
import pytest

from skmde import Anchored, PreserveDistances
from skmde.constraints import Centered
from skmde.estimators.mds.monotone import MonotoneProblem
from skmde.estimators.pairs.base import Pairs
from skmde.exceptions import ConvergenceWarning

RNG = np.random.default_rng(0)
ROUGH = RNG.random((18, 18))
ROUGH = (ROUGH + ROUGH.T) / 2


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


@pytest.mark.parametrize("params", [{}, {"loss": None, "monotone": True}], ids=["metric", "order"])
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
        fit(n_init=4, max_iter=3)
    assert [w.category for w in caught] == [ConvergenceWarning]


def test_a_small_ordinal_solution_is_disturbed_and_solved_again(monkeypatch):
    params = {"loss": None, "monotone": True}
    improved, again = fit(**params), fit(**params, random_state=1)
    assert np.array_equal(improved.embedding_, again.embedding_)  # the first start has no chance
    assert improved.history_["value"][-1] == improved.start_values_[0]
    monkeypatch.setattr(MonotoneProblem, "n_disturbed", 0)
    assert improved.stress_ < 0.995 * fit(**params).stress_


def test_how_often_a_solution_is_disturbed_falls_with_the_number_of_pairs():
    def count(n, kind="ordinal"):
        pairs = Pairs(None, np.arange(n * (n - 1) // 2) + 1.0, None, 0, None)
        return MonotoneProblem(n, 2, pairs, kind, "primary", Centered()).n_disturbed

    assert [count(n) for n in (20, 64, 100, 500)] == [20, 9, 4, 0]
    assert count(20, "interval") == 0
