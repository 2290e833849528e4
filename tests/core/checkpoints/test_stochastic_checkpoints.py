"""Stochastic solves, of pairs in memory and of streamed ones, that are interrupted and resumed."""

import json
import os

import numpy as np
import pytest
from core_problems import random_graph
from processes import run_python

from skmde import MDE, Anchored, StreamedMDE
from skmde.core.checkpoints import checkpoint as module

N, M = 60, 2
PAIRS = np.asarray(random_graph(np.random.default_rng(0), N, 900))
DELTA = np.random.default_rng(1).uniform(0.5, 1.5, len(PAIRS))


def _sampler(k, generator):
    chosen = generator.integers(len(PAIRS), size=200 + k)
    return PAIRS[chosen], None, DELTA[chosen]


def _batches():
    return [(PAIRS[start::7], None, DELTA[start::7]) for start in range(7)]


class _Epochs:
    """Batches in an order of its own in each pass."""

    def __init__(self):
        self.generator = np.random.default_rng(5)

    def __iter__(self):
        batches = _batches()
        return (batches[k] for k in self.generator.permutation(len(batches)))


PROBLEMS = {
    "array": lambda: (StreamedMDE(N, M, PAIRS, "squared", deviations=DELTA), {"n_rounds": 25}),
    "in order": lambda: (
        StreamedMDE(N, M, PAIRS, "squared", deviations=DELTA),
        {"n_rounds": 25, "shuffle": False, "batch_size": 100},
    ),
    "anchored": lambda: (
        StreamedMDE(N, M, PAIRS, "squared", Anchored([0, 1], np.eye(2)), deviations=DELTA),
        {"n_rounds": 25},
    ),
    "callable": lambda: (StreamedMDE(N, M, _sampler, "absolute"), {"n_rounds": 25}),
    "iterable": lambda: (StreamedMDE(N, M, _Epochs(), "squared"), {"n_rounds": 25}),
    "iterator": lambda: (StreamedMDE(N, M, iter(_batches() * 4), "squared"), {}),
    "stored": lambda: (
        MDE(N, M, PAIRS, "squared", deviations=DELTA),
        {"n_rounds": 25, "solver": "stochastic"},
    ),
}


class InterruptedSolveError(Exception):
    pass


def _stop_at(round_):
    def callback(state):
        if state.iteration == round_:
            raise InterruptedSolveError

    return callback


@pytest.fixture(autouse=True)
def _write_each_state(monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    monkeypatch.setattr(module, "_MOST", float("inf"))


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_interrupted_solve_ends_with_the_same_bits(name, tmp_path):
    problem, options = PROBLEMS[name]()
    expected = problem.embed(random_state=0, snapshot_every=6, **options).numpy()
    result, path = problem.result, tmp_path / "solve.checkpoint"
    for stop in (3, 17):
        problem, options = PROBLEMS[name]()
        with pytest.raises(InterruptedSolveError):
            problem.embed(
                random_state=0,
                snapshot_every=6,
                callbacks=_stop_at(stop),
                checkpoint=path,
                **options,
            )
    for callbacks in ((), (_stop_at(result.n_iter - 2))):  # the second ends at once
        problem, options = PROBLEMS[name]()
        X = problem.embed(
            random_state=0, snapshot_every=6, callbacks=callbacks, checkpoint=path, **options
        )
        np.testing.assert_array_equal(X.numpy(), expected)
        assert problem.value == result.value and problem.residual_norm == result.residual_norm
        assert problem.result.n_iter == result.n_iter
        assert problem.result.n_evaluations == result.n_evaluations
        assert problem.result.history.value == result.history.value
        for (k, own), (j, other) in zip(
            problem.result.history.snapshots, result.history.snapshots, strict=True
        ):
            assert k == j
            np.testing.assert_array_equal(own, other)


def test_more_rounds_than_before(tmp_path):
    path = tmp_path / "solve.checkpoint"
    problem, _ = PROBLEMS["array"]()
    expected = problem.embed(random_state=0, n_rounds=31).numpy()
    problem.embed(random_state=0, n_rounds=12, checkpoint=path)
    X = problem.embed(random_state=0, n_rounds=31, checkpoint=path)
    np.testing.assert_array_equal(X.numpy(), expected)
    with pytest.raises(ValueError, match="n_rounds=12, but the checkpoint is of 31 rounds"):
        problem.embed(random_state=0, n_rounds=12, checkpoint=path)


def test_a_callable_is_asked_for_the_first_batch_and_those_that_are_missing(tmp_path):
    asked, path = [], tmp_path / "solve.checkpoint"

    def sampler(k, generator):
        asked.append(k)
        return _sampler(k, generator)

    problem = StreamedMDE(N, M, sampler, "squared")
    problem.embed(n_rounds=6, checkpoint=path)  # the seed is that of the file
    problem.embed(n_rounds=9, checkpoint=path)
    assert asked == [*range(6), 0, 6, 7, 8]


OTHERS = {
    "edges of the first batch": lambda: (StreamedMDE(N, M, PAIRS[::-1].copy(), "squared"), {}),
    "pairs": lambda: (StreamedMDE(N, M, PAIRS[:-1], "squared"), {}),
    "weights of the first batch": lambda: (
        StreamedMDE(N, M, PAIRS, "squared", weights=DELTA, deviations=DELTA),
        {},
    ),
    "deviations of the first batch": lambda: (
        StreamedMDE(N, M, PAIRS, "squared", deviations=2 * DELTA),
        {},
    ),
    "distortion": lambda: (StreamedMDE(N, M, PAIRS, "absolute", deviations=DELTA), {}),
    "batch_size": lambda: (
        StreamedMDE(N, M, PAIRS, "squared", deviations=DELTA),
        {"batch_size": 50},
    ),
    "callable": lambda: (StreamedMDE(N, M, _sampler, "squared"), {}),
    "tol": lambda: (StreamedMDE(N, M, PAIRS, "squared", deviations=DELTA), {"tol": 1e-9}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_problem_is_refused(name, tmp_path):
    path = tmp_path / "solve.checkpoint"
    problem, _ = PROBLEMS["array"]()
    problem.embed(random_state=0, n_rounds=3, checkpoint=path)
    other, options = OTHERS[name]()
    if other.deviations is None and other._has_arrays:
        other.deviations = DELTA[: len(other.pairs)]
    with pytest.raises(ValueError, match=rf"checkpoint of another fit: .*{name}"):
        other.embed(random_state=0, n_rounds=3, checkpoint=path, **options)


KILLED = """
import json, os, signal
import numpy as np
import skmde.core.checkpoints.checkpoint as module
from skmde import StreamedMDE

rng, n = np.random.default_rng(0), 200
pairs = rng.integers(0, n, (3000, 2))
pairs = pairs[pairs[:, 0] != pairs[:, 1]]
np.save("pairs.npy", pairs)
module._SECONDS, module._MOST = 0.0, float("inf")

def solved(**options):
    pairs = np.load("pairs.npy", mmap_mode="r")
    problem = StreamedMDE(n, 2, pairs, "quadratic", "standardized", n_jobs=1)
    return problem.embed(random_state=0, n_rounds=40, **options).numpy().tobytes()

def kill_at_15(state):
    if state.iteration == 15:
        os.kill(os.getpid(), signal.SIGKILL)

expected = solved()
number = os.fork()
if number == 0:
    solved(checkpoint="solve.checkpoint", callbacks=kill_at_15)
    os._exit(3)
_, status = os.waitpid(number, 0)
assert os.WIFSIGNALED(status), status
seen = []
found = solved(checkpoint="solve.checkpoint", callbacks=lambda s: seen.append(s.iteration))
print(json.dumps({"same": found == expected, "seen": seen}))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
def test_a_streamed_solve_that_was_killed_ends_with_the_same_bits(tmp_path):
    said = json.loads(run_python(KILLED, folder=tmp_path, threads=1).stdout)
    assert said["same"]
    assert said["seen"] == list(range(15, 41))
