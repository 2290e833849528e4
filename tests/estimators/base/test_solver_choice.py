import numpy as np
import pytest
from sklearn.datasets import load_iris

from skmde import PreserveDistances, PreserveNeighbors
from skmde.estimators.base import solver_choice

X = load_iris().data[::2]


def distances(**params):
    return PreserveDistances(loss="squared", random_state=0, **params)


def neighbors(**params):
    return PreserveNeighbors(repulsion="sampled", random_state=0, **params)


@pytest.mark.parametrize("make", [distances, neighbors])
def test_auto_is_lbfgs_unless_the_pairs_exceed_the_budget(make, monkeypatch):
    usual = make().fit(X)
    assert np.array_equal(make(solver="lbfgs").fit_transform(X), usual.embedding_)
    monkeypatch.setattr(solver_choice, "_MOST_PAIRS", len(usual.edges_) - 1)
    large = make().fit(X)
    assert large.n_iter_ == 100
    assert large.stop_reason_ == "all 100 rounds were done"
    given = make(solver="stochastic", n_rounds=100).fit(X)
    assert np.array_equal(given.embedding_, large.embedding_)
    monkeypatch.setattr(solver_choice, "_MOST_PAIRS", len(usual.edges_))
    assert make().fit(X).n_iter_ == usual.n_iter_


@pytest.mark.parametrize(("make", "most"), [(distances, 1.05), (neighbors, 1.3)])
def test_stochastic_fit_is_near_that_of_all_pairs(make, most):
    usual = make().fit(X)
    found = make(solver="stochastic", batch_size=200, n_rounds=150).fit(X)
    assert found.n_iter_ == 150
    assert len(found.history_["value"]) == 151
    assert usual.distortion_ / most < found.distortion_ < most * usual.distortion_
    assert found.transform(X[:2]).shape == (2, 2)


def test_repulsion_of_all_pairs_is_lbfgs(monkeypatch):
    with pytest.raises(ValueError, match="repulsion='all' of all pairs is not compatible with"):
        PreserveNeighbors(solver="stochastic").fit(X)
    usual = PreserveNeighbors(random_state=0, max_iter=5).fit_transform(X)
    monkeypatch.setattr(solver_choice, "_MOST_PAIRS", 0)
    assert np.array_equal(PreserveNeighbors(random_state=0, max_iter=5).fit_transform(X), usual)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"monotone": True, "solver": "stochastic"}, "monotone=True is not compatible with"),
        ({"solver": "lbfgs", "n_rounds": 5}, "n_rounds=5 is a setting of solver='stochastic'"),
        ({"solver": "sgd"}, "The 'solver' parameter of PreserveDistances must be a str among"),
        ({"batch_size": 0}, "The 'batch_size' parameter of PreserveDistances must be an int"),
    ],
)
def test_wrong_settings_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        PreserveDistances(**params).fit(X)


@pytest.mark.parametrize("make", [PreserveDistances, PreserveNeighbors])
def test_stochastic_fits_are_resumed_with_the_same_bits(make, tmp_path, monkeypatch):
    monkeypatch.setattr("skmde.core.checkpoints.checkpoint._SECONDS", 0.0)
    monkeypatch.setattr("skmde.core.checkpoints.checkpoint._MOST", float("inf"))
    parameters = {"solver": "stochastic", "n_rounds": 8, "random_state": 0}
    if make is PreserveNeighbors:
        parameters |= {"repulsion": "sampled"}
    expected = make(**parameters).fit(X)

    def fail(state):
        if state.iteration == 5:
            raise RuntimeError("in round 5")

    parameters["checkpoint"] = str(tmp_path / "map.checkpoint")
    with pytest.raises(RuntimeError, match="in round 5"):
        make(callbacks=[fail], **parameters).fit(X)
    seen = []
    found = make(callbacks=[lambda s: seen.append(s.iteration)], **parameters).fit(X)
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)
    assert seen == [5, 6, 7, 8]
