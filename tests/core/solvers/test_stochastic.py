"""The stochastic proximal method, on problems whose solutions are known."""

import warnings

import numpy as np
import pytest
import torch
from core_problems import Sphere, push_and_pull_weights, random_graph
from torch.autograd.function import once_differentiable

from skmde import MDE, Anchored, Box, ConvergenceWarning, Standardized
from skmde.core.solvers.result import Status

N, M = 60, 2


def random_problem(seed=0, n=N, p=600, **options):
    rng = np.random.default_rng(seed)
    return MDE(n, M, random_graph(rng, n, p), "quadratic", "standardized", **options)


def distances_of_points(n=40, scale=1.0, dtype=np.float64):
    points = np.random.default_rng(0).standard_normal((n, M))
    i, j = np.triu_indices(n, 1)
    return scale * np.linalg.norm(points[i] - points[j], axis=1).astype(dtype)


def test_value_is_near_that_of_all_pairs_at_once():
    problem = random_problem()
    problem.embed(random_state=0, max_iter=1000)
    best = problem.value
    problem.embed(random_state=1, solver="stochastic", n_rounds=300)
    assert problem.result.status is Status.ROUNDS
    assert problem.result.n_iter == 300
    assert best <= problem.value < 1.02 * best
    assert problem.value == pytest.approx(problem.average_distortion())
    assert problem.constraint.violation(problem.X) < 1e-5


def test_losses_find_the_points_again():
    problem = MDE(40, M, None, "squared", deviations=distances_of_points())
    X = problem.embed(random_state=0, solver="stochastic", n_rounds=200)
    unit = MDE(40, M, None, "squared", deviations=distances_of_points()).average_distortion(0 * X)
    assert problem.value < 1e-3 * unit


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_weights_of_any_unit_give_the_same_embedding(factor):
    rng = np.random.default_rng(0)
    edges = random_graph(rng, N, 600)
    weights = push_and_pull_weights(rng, len(edges)).astype(np.float64)
    solutions = [
        MDE(N, M, edges, ("log1p", "log"), weights=c * weights).embed(
            random_state=0, solver="stochastic", n_rounds=30
        )
        for c in (1.0, factor)
    ]
    torch.testing.assert_close(*solutions, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_distances_of_any_unit_give_the_same_embedding(scale):
    solutions = [
        MDE(40, M, None, "squared", deviations=distances_of_points(scale=c)).embed(
            random_state=0, solver="stochastic", n_rounds=20
        )
        / c
        for c in (1.0, scale)
    ]
    torch.testing.assert_close(*solutions, rtol=1e-5, atol=1e-5)


def test_same_seed_gives_the_same_bits_for_any_number_of_threads():
    # so many pairs that there are several pieces of work
    delta = distances_of_points(n=800, dtype=np.float32)
    first, second, other = (
        MDE(800, M, None, "squared", deviations=delta, n_jobs=n_jobs).embed(
            random_state=seed, solver="stochastic", n_rounds=2, batch_size=300_000
        )
        for n_jobs, seed in ((1, 3), (2, 3), (2, 4))
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    "constraint",
    [
        Anchored([0, 5], np.array([[0.0, 0.0], [1.0, 1.0]])),
        Sphere(),
        Box(-1, 1),
        Standardized(),
    ],
    ids=repr,
)
def test_constraints_hold(constraint):
    rng = np.random.default_rng(0)
    edges = random_graph(rng, N, 600)
    problem = MDE(
        N, M, edges, ("log1p", "log"), constraint, weights=push_and_pull_weights(rng, len(edges))
    )
    start = problem.embed(random_state=0, max_iter=0)
    before = problem.value
    X = problem.embed(start, solver="stochastic", random_state=0)
    assert constraint.violation(X) < 1e-5
    problem.embed(start, max_iter=1000)
    assert problem.average_distortion(X) < before - 0.4 * (before - problem.value)


def test_stiffness_is_that_of_the_items_that_can_move():
    # A hundred anchors with stiff pairs among themselves must not hold the others.
    rng = np.random.default_rng(0)
    free = random_graph(rng, N, 300)
    anchors = np.arange(N, N + 100)
    among = N + random_graph(rng, 100, 300)
    to_anchors = np.stack([np.arange(N), rng.choice(anchors, N)], axis=1)
    edges = np.concatenate([free, to_anchors, among])
    constraint = Anchored(anchors, rng.standard_normal((100, M)))
    values = []
    for heavy in (1.0, 1e4):
        weights = np.ones(len(edges))
        weights[-len(among) :] = heavy
        problem = MDE(N + 100, M, edges, "quadratic", constraint, weights=weights)
        X = problem.embed(random_state=0, solver="stochastic", n_rounds=60)
        values.append(MDE(N + 100, M, edges[: -len(among)], "quadratic").average_distortion(X))
    assert values[1] == pytest.approx(values[0], rel=0.1)


def test_a_pair_of_huge_weight_does_not_hold_the_others():
    rng = np.random.default_rng(0)
    edges = random_graph(rng, N, 600)
    weights = np.ones(len(edges))
    weights[100] = 1e5
    values = []
    for w in (weights, np.ones(len(edges))):
        problem = MDE(N, M, edges, "quadratic", "standardized", weights=w)
        X = problem.embed(random_state=0, solver="stochastic")
        values.append(MDE(N, M, edges, "quadratic").average_distortion(X))
    assert values[0] < 1.2 * values[1]


def test_history_has_a_row_for_each_round():
    problem, seen = random_problem(), []
    problem.embed(
        random_state=0,
        solver="stochastic",
        n_rounds=7,
        snapshot_every=3,
        callbacks=lambda state: seen.append((state.iteration, state.value, state.X)),
    )
    history = problem.result.history
    assert [k for k, _, _ in seen] == list(range(1, 8))
    assert [value for _, value, _ in seen] == history.value[1:]
    assert {len(column) for column in history.as_arrays().values()} == {8}
    assert history.value[-1] == problem.value
    assert history.residual_norm[-1] == problem.residual_norm
    assert history.step_size[0] == 0
    moved = np.linalg.norm(seen[3][2] - seen[2][2])
    assert history.step_size[4] == pytest.approx(moved, rel=1e-4)
    assert [k for k, _ in history.snapshots] == [0, 3, 6]
    assert np.array_equal(history.snapshots[1][1], seen[2][2])


def test_values_of_the_history_are_those_of_pairs_that_were_not_used_yet():
    # With a batch of all pairs, they are those of the problem.
    problem, seen = random_problem(), []
    problem.embed(
        random_state=0,
        solver="stochastic",
        n_rounds=3,
        batch_size=10**6,
        callbacks=lambda state: seen.append(problem.average_distortion(state.X)),
    )
    assert problem.result.history.value[1:] == pytest.approx(seen)
    assert seen == sorted(seen, reverse=True)


def test_callback_stops():
    problem = random_problem()
    problem.embed(random_state=0, solver="stochastic", callbacks=lambda state: state.iteration == 4)
    assert problem.result.status is Status.STOPPED
    assert problem.result.n_iter == 4
    assert len(problem.result.history.value) == 5
    assert problem.value == pytest.approx(problem.average_distortion())


def test_max_iter_0_returns_the_start():
    problem = random_problem()
    start = problem.embed(random_state=0, max_iter=0)
    assert torch.equal(problem.embed(random_state=0, max_iter=0, solver="stochastic"), start)
    assert problem.result.n_iter == 0


def test_exact_solution_is_told_from_the_end_of_the_rounds():
    problem = MDE(3, 1, [[0, 1], [1, 2]], "squared", deviations=[1.0, 1.0])
    problem.embed([[0.0], [1.0], [2.0]], solver="stochastic", batch_size=1, n_rounds=2)
    assert problem.result.status is Status.CONVERGED


def test_verbose_shows_rounds(capsys):
    random_problem().embed(random_state=0, solver="stochastic", n_rounds=3, verbose=1)
    assert "3/3" in capsys.readouterr().err


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, d):
        ctx.save_for_backward(d)
        return d**2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (d,) = ctx.saved_tensors
        return 2 * d * grad


@pytest.mark.parametrize("function", [lambda d: d**2, _Once.apply], ids=["twice", "once"])
def test_callables_are_solved_like_the_built_in_function(function):
    values = []
    for distortion in ("quadratic", function):
        rng = np.random.default_rng(0)
        problem = MDE(N, M, random_graph(rng, N, 600), distortion, "standardized")
        problem.embed(random_state=0, solver="stochastic")
        values.append(problem.value)
    assert values[1] == pytest.approx(values[0], rel=0.1)


def test_items_that_move_apart_without_end_are_warned_of():
    rng = np.random.default_rng(0)
    edges = random_graph(rng, N, 600)
    problem = MDE(N, M, edges, "linear", weights=-np.ones(len(edges)))
    with pytest.warns(ConvergenceWarning, match="without end"):
        problem.embed(random_state=0, solver="stochastic")
    assert problem.result.status is Status.UNBOUNDED


def test_good_solves_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        random_problem().embed(random_state=0, solver="stochastic")


def test_repulsion_of_all_pairs_is_refused():
    problem = MDE(N, M, [[0, 1], [1, 2]], ("log1p", "cauchy"), repulsion="all")
    with pytest.raises(ValueError, match="repulsion='all' is not compatible with solver='stoch"):
        problem.embed(solver="stochastic")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"solver": "sgd"}, "solver must be 'lbfgs' or 'stochastic'; got 'sgd'"),
        ({"batch_size": 10}, "batch_size=10 is a setting of solver='stochastic'"),
        ({"solver": "stochastic", "batch_size": 0}, "batch_size must be a positive integer; got 0"),
        ({"solver": "stochastic", "n_rounds": 2.5}, "n_rounds must be a positive integer"),
        ({"solver": "stochastic", "n_rounds": True}, "n_rounds must be a positive integer"),
    ],
)
def test_wrong_settings_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        random_problem().embed(**arguments)
