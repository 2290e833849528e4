"""Projected L-BFGS: invariants of its result, and optima that are known by other means."""

import math
import warnings

import numpy as np
import pytest
import torch
from core_problems import (
    Sphere,
    minimize,
    objective_of,
    push_and_pull_weights,
    random_graph,
)

from skmde import Anchored, Centered, Standardized
from skmde._linalg import reductions
from skmde.core.kernels.backend import CompiledBackend
from skmde.core.objectives.base import Objective
from skmde.core.objectives.edge_term import distances
from skmde.core.solvers.history import CurvaturePairs
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.line_search import WolfeConstants
from skmde.core.solvers.result import Status
from skmde.penalties import Barrier

N = 60


def start_of(constraint, n, m, dtype=torch.float32, seed=0):
    return constraint.initialize(n, m, np.random.default_rng(seed), dtype, "cpu")


def constraints(m, rng):
    anchors = np.array([3, 0, 17, 40])
    return {
        "centered": Centered(),
        "standardized": Standardized(),
        "anchored": Anchored(anchors, rng.normal(size=(4, m))),
        "sphere": Sphere(2.0),
    }


def solve(name="centered", m=2, dtype=torch.float32, path="compiled", **arguments):
    rng = np.random.default_rng(1)
    edges = random_graph(rng, N, 300)
    constraint = constraints(m, rng)[name]
    objective = objective_of(
        edges,
        N,
        m,
        ("log1p", "log"),
        dtype=dtype,
        weights=push_and_pull_weights(rng, len(edges)),
        path=path,
    )
    X = start_of(constraint, N, m, dtype)
    return minimize(objective, constraint, X, **arguments), constraint, objective, X


NAMES = ["centered", "standardized", "anchored", "sphere"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_result_keeps_its_promises(name, m, dtype):
    result, constraint, objective, _ = solve(name, m, dtype)
    history = result.history
    # value never increased
    assert (np.diff(history.value) <= 0).all()
    assert history.value[-1] < history.value[0]
    # history is complete
    n_entries = result.n_iter + 1
    assert result.n_iter > 5
    for series in history.as_arrays().values():
        assert series.shape == (n_entries,)
        assert np.isfinite(series).all()
    assert history.step_size[0] == 0 and min(history.step_size[1:]) > 0
    assert (np.diff(history.seconds) >= 0).all()
    assert history.snapshots == []
    # result describes the last entry
    assert result.value == history.value[-1]
    assert result.residual_norm == history.residual_norm[-1]
    assert result.n_evaluations >= n_entries
    # X is feasible, and value and residual norm are those of X
    assert constraint.violation(result.X) <= 1e-5
    assert result.X.dtype == dtype and result.X.shape == (N, m)
    value, gradient = objective.value_and_gradient(result.X)
    assert float(value) == pytest.approx(result.value, rel=1e-6)
    projected = constraint.project_tangent(result.X, gradient)
    norm = float(projected.double().norm())
    assert norm == pytest.approx(result.residual_norm, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("name", ["centered", "anchored"])
def test_rounding_does_not_add_up_to_a_violation(name):
    rng = np.random.default_rng(1)
    n = 2000
    edges = random_graph(rng, n, 2200)
    weights = push_and_pull_weights(rng, len(edges))
    constraint = constraints(2, rng)[name]
    objective = objective_of(edges, n, 2, ("log1p", "log"), weights=weights)
    result = minimize(objective, constraint, start_of(constraint, n, 2), max_iter=300)
    assert result.n_iter == 300
    assert constraint.violation(result.X) <= 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_value_does_not_increase_at_the_limit_of_precision(name):
    result, constraint, *_ = solve(name, tol=0.0, max_iter=1500)
    values = result.history.value
    assert (np.diff(values) <= 0).all()
    assert np.isfinite(values).all()
    assert result.residual_norm < 1e-3 * result.history.residual_norm[0]
    assert constraint.violation(result.X) <= 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_solver_reaches_a_stationary_point(name):
    result, *_ = solve(name, dtype=torch.float64, tol=1e-7, max_iter=2000)
    assert result.converged
    assert result.residual_norm <= 1e-7
    assert result.status is Status.CONVERGED and "at most tol=1e-07" in result.reason


@pytest.mark.parametrize("name", NAMES)
def test_compiled_and_torch_path_take_the_same_steps(name):
    results = [
        solve(name, dtype=torch.float64, max_iter=12, path=p)[0] for p in ("compiled", "torch")
    ]
    np.testing.assert_allclose(results[1].history.value, results[0].history.value, rtol=1e-8)
    assert results[1].n_evaluations == results[0].n_evaluations


def test_start_is_not_changed_and_not_shared():
    result, constraint, objective, X = solve(max_iter=0)
    before = X.clone()
    again = minimize(objective, constraint, X, max_iter=3)
    assert torch.equal(X, before)
    for r in (result, again):
        assert not np.shares_memory(r.X.numpy(), X.numpy())


@pytest.mark.parametrize("name", NAMES)
def test_no_iterations_return_the_start(name):
    result, _, objective, X = solve(name, max_iter=0)
    assert torch.equal(result.X, X)
    assert result.n_iter == 0 and result.n_evaluations == 1
    assert result.value == objective.value_and_gradient(X)[0]
    assert result.status is Status.MAX_ITER
    assert result.reason.startswith("max_iter=0 iterations were done; the residual norm, ")
    assert not result.converged
    assert len(result.history.value) == 1


def test_number_of_iterations_is_limited():
    result, *_ = solve(max_iter=7)
    assert result.n_iter == 7
    assert result.reason.startswith("max_iter=7 iterations were done; the residual norm, ")


def test_a_start_within_the_tolerance_is_returned():
    result, *_ = solve(tol=1e9)
    assert result.n_iter == 0 and result.converged
    assert "at most tol" in result.reason


def test_longer_memory_takes_fewer_iterations():
    counts = [
        solve("centered", dtype=torch.float64, tol=1e-6, max_iter=5000, memory_size=size)[0].n_iter
        for size in (1, 10)
    ]
    assert counts[1] < counts[0]


def test_quasi_newton_is_faster_than_steepest_descent_at_any_scale_of_the_function():
    counts = []
    for scale in (1.0, 1e14):
        rng = np.random.default_rng(2)
        edges = random_graph(rng, N, 300)
        objective = objective_of(
            edges, N, 2, "quadratic", dtype=torch.float64, weights=np.full(len(edges), scale)
        )
        result = minimize(
            objective,
            Standardized(),
            start_of(Standardized(), N, 2, torch.float64),
            tol=1e-7 * scale,
            max_iter=1000,
        )
        assert result.converged
        counts.append(result.n_iter)
    assert counts[1] <= 1.3 * counts[0] + 5
    assert counts[0] < 150


def test_callback_stops_the_solve():
    seen = []

    def stop_at_five(state):
        seen.append(state.iteration)
        return state.iteration == 5

    result, *_ = solve(callbacks=[stop_at_five, lambda state: None])
    assert seen == [1, 2, 3, 4, 5]
    assert result.n_iter == 5
    assert result.status is Status.STOPPED
    assert result.reason == "a callback returned True"


def test_every_callback_is_called_even_if_one_stops():
    seen = []
    solve(callbacks=[lambda state: True, lambda state: seen.append(state.iteration)])
    assert seen == [1]


def test_callbacks_see_what_the_history_keeps():
    states = []
    result, *_ = solve(
        callbacks=[lambda s: states.append((s.iteration, s.value, s.residual_norm, s.X))],
        max_iter=9,
        snapshot_every=1,
    )
    assert [s[0] for s in states] == list(range(1, 10))
    assert [s[1] for s in states] == result.history.value[1:]
    assert [s[2] for s in states] == result.history.residual_norm[1:]
    for state, (iteration, snapshot) in zip(states, result.history.snapshots[1:], strict=True):
        assert state[0] == iteration
        np.testing.assert_array_equal(state[3], snapshot)
    np.testing.assert_allclose(states[-1][3], result.X, atol=1e-5)


def test_callbacks_cannot_change_the_solve():
    def meddle(state):
        with pytest.raises(ValueError, match="read-only"):
            state.X[0] = 7
        with pytest.raises(AttributeError):
            state.value = 0.0
        copy = state.X.copy()
        copy += 1
        assert not np.shares_memory(state.X, state.X)

    plain, *_ = solve(max_iter=15)
    meddled, *_ = solve(max_iter=15, callbacks=[meddle])
    assert torch.equal(plain.X, meddled.X)


def test_snapshots_are_copies_of_every_so_many_iterates():
    result, _, _, X = solve(max_iter=10, snapshot_every=4)
    assert [k for k, _ in result.history.snapshots] == [0, 4, 8]
    np.testing.assert_array_equal(result.history.snapshots[0][1], X)
    four, *_ = solve(max_iter=4)
    np.testing.assert_allclose(result.history.snapshots[1][1], four.X, atol=1e-5)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_quadratic_standardized_problem_reaches_the_global_optimum(m):
    rng = np.random.default_rng(3)
    n = 200
    edges = random_graph(rng, n, 1500)
    w = rng.gamma(2.0, size=len(edges))
    objective = objective_of(edges, n, m, "quadratic", dtype=torch.float64, weights=w)
    result = minimize(
        objective,
        Standardized(),
        start_of(Standardized(), n, m, torch.float64),
        tol=1e-9,
        max_iter=3000,
    )
    laplacian = np.zeros((n, n))
    np.add.at(laplacian, (edges[:, 0], edges[:, 1]), -w)
    laplacian += laplacian.T
    laplacian -= np.diag(laplacian.sum(axis=1))
    optimum = n / len(edges) * np.linalg.eigvalsh(laplacian)[1 : m + 1].sum()
    assert result.value == pytest.approx(optimum, rel=1e-8)


def test_exact_distances_give_the_configuration_back():
    rng = np.random.default_rng(4)
    n = 30
    truth = rng.normal(size=(n, 2))
    edges = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])
    delta = np.linalg.norm(truth[edges[:, 0]] - truth[edges[:, 1]], axis=1)
    objective = objective_of(edges, n, 2, "squared", dtype=torch.float64, deviations=delta)
    start = torch.from_numpy(truth + 0.3 * rng.normal(size=truth.shape))
    start -= start.mean(dim=0)
    result = minimize(objective, Centered(), start, tol=1e-10, max_iter=1000)
    assert result.converged
    np.testing.assert_allclose(distances(objective.edges, result.X), delta, atol=1e-7)
    centred = truth - truth.mean(axis=0)
    u, _, vt = np.linalg.svd(result.X.numpy().T @ centred)
    np.testing.assert_allclose(result.X.numpy() @ (u @ vt), centred, atol=1e-7)


def test_iterates_of_a_barrier_stay_inside():
    # Sphere packing (monograph, section 4.1.2): the value is finite only for d > rho.
    n, rho = 20, 0.2
    edges = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])
    objective = objective_of(edges, n, 2, Barrier(rho), dtype=torch.float64)
    side = 0.3 * torch.arange(n, dtype=torch.float64)
    X = torch.stack([side % 1.5, side // 1.5], dim=1)
    X = Centered().project(X + 1e-3 * start_of(Centered(), n, 2, torch.float64))
    assert math.isfinite(objective.value_and_gradient(X)[0])
    closest = []
    result = minimize(
        objective,
        Centered(),
        X,
        max_iter=300,
        callbacks=[
            lambda s: (
                closest.append(float(distances(objective.edges, torch.tensor(s.X)).min())) or False
            )
        ],
    )
    assert min(closest) > rho
    assert math.isfinite(result.value)
    assert result.residual_norm < 1e-2 * result.history.residual_norm[0]


@pytest.mark.parametrize("start", ["nan", "inf", "infinite value"])
def test_start_that_is_not_finite_is_returned_with_the_reason(start):
    edges = np.array([[0, 1], [1, 2]])
    objective = objective_of(edges, 3, 1, Barrier(0.5))
    X = torch.tensor([[0.0], [1.0], [2.0]])
    X[2] = {"nan": math.nan, "inf": math.inf, "infinite value": 1.1}[start]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = minimize(objective, Centered(), X)
    assert result.n_iter == 0 and not result.converged
    assert result.status is Status.NOT_FINITE
    assert "not finite at the starting point" in result.reason
    assert torch.equal(torch.nan_to_num(result.X), torch.nan_to_num(X))


@pytest.mark.parametrize("wolfe", [WolfeConstants(), WolfeConstants(c2=1e-9, max_evaluations=4)])
def test_pairs_are_those_of_the_accepted_steps(monkeypatch, wolfe):
    # With the second constants, the best trial is often not the last one.
    pairs, iterates, gradients = [], [], []
    accept = CurvaturePairs.accept

    def record(history, dots):
        kept = accept(history, dots)
        pairs.append([history._H[history._staged + k * history.slots].clone() for k in (0, 1)])
        return kept

    monkeypatch.setattr(CurvaturePairs, "accept", record)
    result, _, objective, X = solve(
        dtype=torch.float64,
        max_iter=12,
        wolfe=wolfe,
        callbacks=[lambda state: iterates.append(torch.tensor(state.X))],
    )
    iterates = [X, *iterates]
    gradients = [objective.value_and_gradient(Z)[1] for Z in iterates]
    assert len(pairs) == result.n_iter == 12
    for k, (s, y) in enumerate(pairs):
        torch.testing.assert_close(s.view(N, 2), iterates[k + 1] - iterates[k])
        torch.testing.assert_close(y.view(N, 2), gradients[k + 1] - gradients[k])


def test_function_without_decrease_ends_with_the_reason():
    # The value does not follow the gradient: no step decreases it.
    class Stubborn:
        backend = CompiledBackend()

        def value_and_gradient(self, X):
            return float((X != 0).any()), torch.ones_like(X)

    result = minimize(Stubborn(), Centered(), torch.zeros(4, 2))
    assert result.status is Status.NO_DESCENT
    assert "no step along the search direction" in result.reason
    assert result.n_iter == 0 and not result.converged
    assert torch.equal(result.X, torch.zeros(4, 2))


def test_solver_recovers_after_a_search_that_met_no_finite_value():
    # After the third iteration, a whole search along the quasi-Newton direction finds no number.
    class Failing:
        backend = CompiledBackend()
        to_refuse = 0

        def value_and_gradient(self, X):
            if self.to_refuse > 0:
                self.to_refuse -= 1
                return math.nan, torch.full_like(X, math.nan)
            return float((X**4).sum()), 4 * X**3

    function = Failing()

    def refuse(state):
        if state.iteration == 3:
            function.to_refuse = 25

    X = torch.linspace(-2, 3, 8, dtype=torch.float64).reshape(4, 2)
    result = minimize(function, Centered(), X, tol=1e-8, max_iter=100, callbacks=[refuse])
    assert function.to_refuse == 0
    assert result.converged
    assert result.n_iter < 60


@pytest.mark.parametrize("path", ["compiled", "torch"])
@pytest.mark.parametrize("name", ["centered", "anchored"])
def test_no_item_moves_farther_than_the_longest_step(name, path):
    longest = 0.02
    result, constraint, *_ = solve(
        name, path=path, max_step=longest, max_iter=60, snapshot_every=1, tol=0.0
    )
    free, *_ = solve(name, path=path, max_iter=60, snapshot_every=1, tol=0.0)

    def moves(result):
        iterates = [X for _, X in result.history.snapshots]
        lengths = np.linalg.norm(np.diff(iterates, axis=0), axis=2).max(axis=1)
        return lengths / np.array(result.history.step_size[1:])

    assert len(result.history.value) > 20
    # projection onto the centred set moves all items by their mean move
    assert moves(result).max() <= longest * (2 if name == "centered" else 1) * (1 + 1e-4)
    assert moves(free).max() > 10 * longest
    assert np.diff(result.history.value).max() <= 1e-6
    torch.testing.assert_close(constraint.project(result.X), result.X, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["centered", "anchored"])
def test_few_items_move_farther_than_the_usual_step(name):
    usual = 0.02
    result, constraint, *_ = solve(name, usual_step=usual, max_iter=60, snapshot_every=1, tol=0.0)
    free, *_ = solve(name, max_iter=60, snapshot_every=1, tol=0.0)

    def moves(result):
        iterates = [X for _, X in result.history.snapshots]
        return np.sort(np.linalg.norm(np.diff(iterates, axis=0), axis=2), axis=1)

    n = len(result.X)
    rank = -(-9 * n // 10) - 1
    assert len(result.history.value) > 20
    assert moves(result)[:, rank].max() <= usual * (1 + 1e-4)
    assert moves(result)[:, -1].max() > usual
    assert moves(free)[:, rank].max() > 5 * usual
    assert np.diff(result.history.value).max() <= 1e-6
    torch.testing.assert_close(constraint.project(result.X), result.X, rtol=0, atol=1e-5)


class Drawn(Objective):
    """Items are drawn to the right without end, the k-th one by the force k."""

    def __init__(self, n):
        self.backend = CompiledBackend()
        self.forces = torch.zeros(n, 2, dtype=torch.float64)
        self.forces[:, 0] = torch.arange(1, n + 1)

    def value_and_gradient(self, X):
        return -(self.forces * X).sum(), -self.forces


def test_the_usual_step_keeps_the_shape_of_a_step():
    X = torch.zeros(20, 2, dtype=torch.float64)
    result = LBFGS(tol=0.0, max_iter=3, usual_step=0.9).minimize(Drawn(20), Centered(), X)
    forces = np.arange(1.0, 21.0) - 10.5  # a step is centred after it is shortened
    np.testing.assert_allclose(result.X[:, 0], 3 * 0.9 / 18 * forces, rtol=1e-12)


@pytest.mark.parametrize("path", ["compiled", "torch"])
def test_rows_are_shortened_and_no_others(path):
    a = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [-30.0, 40.0]])
    want = torch.tensor([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0], [-0.6, 0.8]])
    with pytest.MonkeyPatch.context() as patch:
        if path == "torch":
            patch.setattr(reductions, "is_cpu", lambda x: False)
        torch.testing.assert_close(reductions.shorten_rows(a, 1.0), want)
    assert a[0, 0] == 3.0


def test_a_solve_ends_when_the_value_hardly_decreases():
    long, *_ = solve(max_iter=400, tol=0.0)
    result, *_ = solve(max_iter=400, tol=0.0, min_decrease=1e-4)
    assert result.status is Status.SETTLED
    assert not result.converged
    assert "hardly decreased" in result.reason
    values = np.array(result.history.value)
    assert 10 <= result.n_iter < long.n_iter
    np.testing.assert_array_equal(values, long.history.value[: len(values)])
    decreases = values[:-10] - values[10:]
    limits = 10 * 1e-4 * abs(values[10:])
    assert decreases[-1] < limits[-1]
    assert (decreases[:-1] >= limits[:-1]).all()
    assert solve(max_iter=10, tol=0.0, min_decrease=1.0)[0].status is Status.SETTLED
    assert solve(max_iter=9, tol=0.0, min_decrease=1.0)[0].status is Status.MAX_ITER
