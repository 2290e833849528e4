"""Solvers one after the other: numbers of iterations, histories, callbacks, snapshots."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from core_problems import random_graph

from skmde import MDE, Anchored, Centered, InversePower
from skmde.core.solvers.in_turn import InTurn
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import Status
from skmde.core.solvers.rising_repulsion import RisingRepulsion

N = 80


def problem(**arguments):
    arguments = {"repulsion": "all", **arguments}
    return MDE(
        N, 2, random_graph(np.random.default_rng(0), N, 400), ("log1p", "cauchy"), **arguments
    )


def solved(max_iter, stop_at=None, **settings):
    """The problem after a solve, and the states that its callback received."""
    mde, states = problem(), []

    def callback(state):
        states.append(state)
        return state.iteration == stop_at

    mde.embed(random_state=0, tol=0.0, max_iter=max_iter, callbacks=callback, **settings)
    return mde, states


@pytest.mark.parametrize("max_iter", [0, 1, 5, 40, 300])
def test_numbering_and_history_are_those_of_one_solve(max_iter):
    mde, states = solved(max_iter)
    result = mde.result
    assert result.n_iter <= max_iter
    assert result.n_iter == max_iter or result.status is Status.SETTLED
    assert result.n_evaluations > result.n_iter
    assert [state.iteration for state in states] == list(range(1, result.n_iter + 1))
    for numbers in result.history.as_arrays().values():
        assert len(numbers) == result.n_iter + 1
    assert [state.value for state in states] == result.history.value[1:]
    assert [state.residual_norm for state in states] == result.history.residual_norm[1:]
    assert (np.diff(result.history.seconds) >= 0).all()
    if result.n_iter:
        assert result.value == result.history.value[-1]
    if result.status is Status.MAX_ITER:
        assert f"max_iter={max_iter} " in result.reason


def test_a_warm_start_that_ends_above_the_start_is_left_out(monkeypatch):
    minimize = RisingRepulsion.minimize

    def uphill(self, objective, constraint, X, callbacks=()):
        result = minimize(self, objective, constraint, X, callbacks)
        X = 1e3 * result.X
        value = float(objective.value_and_gradient(X)[0])
        result.history.value[-1] = value
        return replace(result, X=X, value=value)

    monkeypatch.setattr(RisingRepulsion, "minimize", uphill)
    mde = problem()
    mde.embed(random_state=0)
    values = mde.result.history.value
    assert values[185] > values[0] > values[186]
    assert mde.value == values[-1] == min(values[186:]) < values[0]
    assert len(values) == mde.result.n_iter + 1


@pytest.mark.parametrize("stop_at", [1, 30, 185, 186, 190])
def test_a_callback_stops_the_solve_in_any_solver(stop_at):
    mde, states = solved(300, stop_at)
    assert mde.result.status is Status.STOPPED
    assert mde.result.n_iter == stop_at == len(states)
    assert len(mde.result.history.value) == stop_at + 1
    np.testing.assert_allclose(mde.X, states[-1].X, atol=1e-5)
    assert mde.value == states[-1].value


def test_snapshots_are_every_so_many_iterations_of_all_solvers():
    mde, states = solved(60, snapshot_every=7)
    assert mde.result.n_iter > 49 > 40  # 40 of the iterations are those of the first solver
    snapshots = mde.result.history.snapshots
    assert [number for number, _ in snapshots] == list(range(0, mde.result.n_iter + 1, 7))
    for number, X in snapshots[1:]:
        np.testing.assert_array_equal(X, states[number - 1].X)
    start = solved(0, snapshot_every=7)[0]
    ((number, X),) = start.result.history.snapshots
    assert number == 0
    np.testing.assert_array_equal(X, start.X)
    np.testing.assert_array_equal(X, snapshots[0][1])


def test_the_last_solver_makes_the_iterations_that_are_left():
    mde = problem()
    objective = mde._objective(torch.float32)
    X = torch.randn(N, 2, generator=torch.Generator().manual_seed(0))
    solver = InTurn([LBFGS(0.0, 3), LBFGS(0.0, 4), LBFGS(0.0, 0)], 12)
    result = solver.minimize(objective, mde.constraint, X - X.mean(dim=0))
    assert result.n_iter == 12
    assert result.status is Status.MAX_ITER
    assert np.diff(result.history.value).max() <= 0
    # the first entries are those of the first solver alone
    first = LBFGS(0.0, 3).minimize(objective, mde.constraint, X - X.mean(dim=0))
    assert result.history.value[:4] == first.history.value


@pytest.mark.parametrize("steps", [0, 2])
def test_a_solver_takes_the_last_place_if_the_others_make_no_step(steps):
    mde = problem()
    objective = mde._objective(torch.float32)
    X = torch.randn(N, 2, generator=torch.Generator().manual_seed(0))
    X -= X.mean(dim=0)
    last, alone = LBFGS(0.0, usual_step=1e-3), LBFGS(0.0)
    result = InTurn([LBFGS(0.0, steps), last], 6, alone=alone).minimize(
        objective, mde.constraint, X
    )
    free = LBFGS(0.0, 6).minimize(objective, mde.constraint, X)
    assert result.n_iter == 6
    assert (result.history.value == free.history.value) == (steps == 0)


def test_a_start_that_is_not_finite_ends_all():
    mde = problem()
    X = torch.full((N, 2), torch.nan)
    result = InTurn([LBFGS(), LBFGS()], 10).minimize(
        mde._objective(torch.float32), mde.constraint, X
    )
    assert result.status is Status.NOT_FINITE
    assert result.n_iter == 0
    assert len(result.history.value) == 1


def test_items_are_near_their_start_if_they_are_anchored():
    anchors = np.array([[0.0, 0.0], [3.0, 4.0]])
    mde = problem(constraint=Anchored([0, 1], anchors))
    X = mde.embed(random_state=0)
    np.testing.assert_array_equal(X[:2], anchors.astype(np.float32))


@pytest.mark.parametrize(("kind", "max_step"), [("all", None), ("normalized", 2.0)])
def test_a_barrier_gets_one_solver(kind, max_step):
    repulsion = replace(problem()._repulsion, kind=kind, penalty=InversePower())
    lbfgs = LBFGS(1e-5, 10, 10)
    assert repulsion.solver(lbfgs, Centered()) == replace(lbfgs, max_step=max_step)


def test_a_constraint_that_fixes_the_unit_gets_one_solver():
    mde = problem(constraint="standardized")
    lbfgs = LBFGS(1e-5, 10, 10)
    assert isinstance(mde._repulsion.solver(lbfgs, mde.constraint), LBFGS)
    usual = problem()
    assert isinstance(usual._repulsion.solver(lbfgs, usual.constraint), InTurn)
    X = mde.embed(random_state=0, snapshot_every=5, max_iter=10)
    np.testing.assert_allclose(X.T @ X / N, np.eye(2), atol=1e-5)
    assert [k for k, _ in mde.result.history.snapshots] == [0, 5, 10]
