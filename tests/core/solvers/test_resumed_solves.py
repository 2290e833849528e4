"""A solve that goes on from a state makes the same iterations, to the last bit."""

import json

import numpy as np
import pytest
import torch
from core_problems import Sphere as OwnSphere, random_graph

from skmde import MDE, Anchored, Box, Disc, NonNegative, SameCoordinate, Sphere, Standardized
from skmde.core.checkpoints.checkpoint import Checkpoint
from skmde.core.solvers.result import Status

RNG = np.random.default_rng(0)
N, ITERATIONS = 60, 40
EDGES = random_graph(RNG, N, 240)
LENGTHS = RNG.uniform(0.5, 1.5, len(EDGES))
WEIGHTS = np.where(RNG.random(len(EDGES)) < 0.7, 1.0, -1.0)
TIGHT = np.where((EDGES == [0, 1]).all(axis=1), 1e-7, LENGTHS)
ANCHORS = Anchored([0, 1, 2], [[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
REPELLING = {"distortion": ("log1p", "cauchy"), "repulsion": "all"}


def spread(d):
    return (d**2 + 1.0).log()


PROBLEMS = {
    "losses": {"distortion": "absolute", "deviations": LENGTHS},
    "losses in float32": {"distortion": "huber", "deviations": LENGTHS.astype(np.float32)},
    "all pairs": {"edges": None, "distortion": "squared", "deviations": np.ones(N * (N - 1) // 2)},
    "penalties": {"distortion": ("log1p", "log"), "weights": WEIGHTS},
    "standardized": {"distortion": spread, "constraint": Standardized()},
    "anchored": {"distortion": "squared", "deviations": LENGTHS, "constraint": ANCHORS},
    "tight pairs": {"distortion": "absolute", "deviations": TIGHT},
    "box": {"distortion": "squared", "deviations": LENGTHS, "constraint": Box(-0.4, 0.4)},
    "at least 0": {"distortion": "squared", "deviations": LENGTHS, "constraint": NonNegative()},
    "disc": {"distortion": "absolute", "deviations": LENGTHS, "constraint": Disc(0.5)},
    "sphere": {"distortion": "squared", "deviations": LENGTHS, "constraint": Sphere(0.5)},
    "own sphere": {"distortion": "squared", "deviations": LENGTHS, "constraint": OwnSphere(0.5)},
    "layers": {
        "distortion": "squared",
        "deviations": LENGTHS,
        "constraint": SameCoordinate(np.arange(N) % 5),
    },
    "all repel": REPELLING,
    "all repel, normalized": {**REPELLING, "repulsion": "normalized"},
    "all repel, standardized": {**REPELLING, "constraint": "standardized"},
    "barrier": {"distortion": ("log1p", "log"), "repulsion": "all"},
}


class InMemory(Checkpoint):
    """A checkpoint without a file, which keeps every state of the last solve.

    That solve goes on from `saved`; those before it, for a start, are made again.
    """

    def __init__(self, saved=None, number=0):
        self._goes_on, self._number = saved, number

    def next_solve(self, facts):
        self.saved = self._goes_on if self._number == 0 else None
        self._number -= 1
        self.states, self.last = {}, None
        return self

    def offer(self, iteration, state, *, last=False):
        arrays = {name: x for name, x in state().items() if isinstance(x, np.ndarray)}
        numbers = {name: x for name, x in state().items() if not isinstance(x, np.ndarray)}
        self.states[iteration] = {**json.loads(json.dumps(numbers)), **arrays}
        if last:
            self.last = self.states[iteration]


def solved(arguments, saved=None, **settings):
    """A problem that was solved, from a state if there is one, and its states."""
    problem = MDE(N, 2, **{"edges": EDGES, **arguments})
    checkpoint = InMemory(saved, number=arguments is PROBLEMS["anchored"])
    options = {"random_state": 0, "tol": 0.0, "max_iter": ITERATIONS, **settings}
    problem.embed(checkpoint=checkpoint, **options)
    return problem, checkpoint


def outcome(problem):
    """All that a solve found, but for its times."""
    result = problem.result
    history = result.history.as_arrays()
    del history["seconds"]
    return (
        result.X.numpy().tobytes(),
        {name: numbers.tobytes() for name, numbers in history.items()},
        [(number, X.tobytes()) for number, X in result.history.snapshots],
        (result.value, result.residual_norm, result.n_iter, result.n_evaluations),
        (result.status, result.reason),
    )


def bits(state):
    """A state without its times."""
    return {
        name: value.tobytes() if isinstance(value, np.ndarray) else value
        for name, value in state.items()
        if not name.endswith("seconds")
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_from_each_state_the_solve_ends_with_the_same_bits():
    for name, arguments in PROBLEMS.items():
        plain = MDE(N, 2, **{"edges": EDGES, **arguments})
        plain.embed(random_state=0, tol=0.0, max_iter=ITERATIONS, snapshot_every=7)
        whole, checkpoint = solved(arguments, snapshot_every=7)
        assert outcome(whole) == outcome(plain), name
        n_iter = whole.result.n_iter
        assert list(checkpoint.states) == list(range(1, n_iter + 1)), name
        for k in {1, 2 * n_iter // 3, n_iter}:
            seen = []
            resumed, later = solved(
                arguments, checkpoint.states[k], snapshot_every=7, callbacks=seen.append
            )
            assert outcome(resumed) == outcome(whole), (name, k)
            assert bits(later.last) == bits(checkpoint.last), (name, k)
            assert [state.iteration for state in seen] == list(range(k, n_iter + 1)), (name, k)
            following = set(range(k + 1, n_iter + 1))
            assert following <= set(later.states) <= following | {k, n_iter}, (name, k)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["all", "normalized"])
def test_sums_on_a_lattice_do_not_depend_on_what_came_before(kind):
    n = 1200
    edges = random_graph(np.random.default_rng(1), n, 4000)

    def run(saved=None, n_jobs=1):
        problem = MDE(n, 2, edges, ("log1p", "cauchy"), repulsion=kind, n_jobs=n_jobs)
        checkpoint = InMemory(saved)
        problem.embed(random_state=0, max_iter=60, tol=0.0, checkpoint=checkpoint)
        return outcome(problem), checkpoint.states

    whole, states = run()
    for k, n_jobs in ((5, 1), (33, 2), (45, 2)):
        assert run(states[k], n_jobs)[0] == whole


def test_a_solve_that_ended_ends_again_at_once():
    ends = set()
    for name, settings in (
        ("losses", {"tol": 0.3}),  # CONVERGED
        ("losses", {"max_iter": 7}),
        ("losses in float32", {"max_iter": 2000}),  # NO_DESCENT
        ("all repel", {"max_iter": 300}),  # SETTLED
        ("all repel", {"tol": 10.0, "max_iter": 300}),  # CONVERGED in the warm start
        ("penalties", {"callbacks": lambda state: state.iteration >= 5}),
    ):
        whole, checkpoint = solved(PROBLEMS[name], **settings)
        ends.add(whole.result.status)
        again, later = solved(PROBLEMS[name], checkpoint.last, **settings)
        assert outcome(again) == outcome(whole), (name, settings)
        assert list(later.states) == [whole.result.n_iter]
    assert ends >= {Status.CONVERGED, Status.MAX_ITER, Status.NO_DESCENT, Status.STOPPED}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_more_iterations_are_those_of_a_longer_solve():
    for name, few, many in (
        ("losses", {"max_iter": 6}, {"max_iter": 40}),  # fewer than pairs in the memory
        ("losses", {"tol": 1.0}, {"tol": 0.1}),
        ("disc", {"max_iter": 12}, {"max_iter": 40}),
        ("all repel", {"max_iter": 300, "tol": 10.0}, {"max_iter": 400, "tol": 0.0}),
        ("all repel, standardized", {"max_iter": 9}, {"max_iter": 30}),
        ("losses in float32", {"tol": 1e-9, "max_iter": 2000}, {"tol": 0.0, "max_iter": 3000}),
    ):
        short, checkpoint = solved(PROBLEMS[name], **few)
        longer, _ = solved(PROBLEMS[name], checkpoint.last, **many)
        assert longer.result.n_iter >= short.result.n_iter
        assert outcome(longer) == outcome(solved(PROBLEMS[name], **many)[0]), name


def test_times_go_on():
    _, checkpoint = solved(PROBLEMS["losses"])
    middle = checkpoint.states[20]
    middle["history.seconds"] = middle["history.seconds"] + 1000.0
    resumed, _ = solved(PROBLEMS["losses"], middle)
    seconds = resumed.result.history.seconds
    assert (np.diff(seconds) >= 0).all()
    assert 1000.0 < seconds[20] <= seconds[-1] < 1100.0


def test_a_bar_begins_at_the_resumed_iteration(capsys):
    pytest.importorskip("tqdm")
    _, checkpoint = solved(PROBLEMS["losses"])
    solved(PROBLEMS["losses"], checkpoint.states[20], verbose=1)
    err = capsys.readouterr().err
    assert f"{ITERATIONS}/{ITERATIONS}" in err


def test_a_solve_for_a_start_is_kept_as_well():
    # items that are anchored, with original distances: the problem is solved without anchors first
    arguments = PROBLEMS["anchored"]
    asked = []

    class Counting(InMemory):
        def next_solve(self, facts):
            asked.append(facts["coordinates of the starting point"])
            return super().next_solve(facts)

    MDE(N, 2, EDGES, **arguments).embed(random_state=0, max_iter=9, checkpoint=Counting())
    assert len(set(asked)) == 2


def test_states_are_copies():
    problem, checkpoint = solved(PROBLEMS["all repel"])
    arrays = [x for state in checkpoint.states.values() for x in state.values()]
    assert not any(
        np.shares_memory(x, problem.result.X.numpy()) for x in arrays if isinstance(x, np.ndarray)
    )
    before = checkpoint.states[10]
    kept = {name: np.copy(x) for name, x in before.items()}
    solved(PROBLEMS["all repel"], before)
    for name, x in before.items():
        assert np.array_equal(x, kept[name], equal_nan=True)
    assert torch.is_tensor(problem.X)
