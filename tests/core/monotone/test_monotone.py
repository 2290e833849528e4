"""Regressions of distances and the stress with free disparities, against independent solutions."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from sklearn.isotonic import IsotonicRegression

from skmde import MDE
from skmde.constraints import Centered
from skmde.core.monotone.descent import Descent
from skmde.core.monotone.problem import MonotoneMDE
from skmde.core.monotone.regressions import regression
from skmde.core.monotone.stress import StressTerm

RNG = np.random.default_rng(0)
KINDS = [("ordinal", "primary"), ("ordinal", "secondary"), ("interval", ""), ("ratio", "")]
by_kind = pytest.mark.parametrize(("kind", "ties"), KINDS)


def disparities(kind, ties, delta, d, w=None):
    fitted = regression(kind, delta, w, ties)
    order = slice(None) if fitted.order is None else fitted.order
    found = np.empty(len(d))
    found[order] = fitted(d[order])
    return found


def admissible(kind, ties, delta):
    """Inequality constraints (A x >= 0) and the numbers x of disparities: dhat = B x."""
    p = len(delta)
    if kind != "ordinal":
        low = delta.min()
        B = np.stack([np.ones(p), delta - low], axis=1) if kind == "interval" else delta[:, None]
        return np.eye(B.shape[1]), B
    rows = []
    for i, j in itertools.permutations(range(p), 2):
        if delta[i] < delta[j] or (delta[i] == delta[j] and ties == "secondary"):
            rows.append(np.eye(p)[j] - np.eye(p)[i])
    return np.array(rows), np.eye(p)


@by_kind
@pytest.mark.parametrize("weighted", [False, True])
def test_disparities_are_the_nearest_admissible_numbers(kind, ties, weighted):
    delta = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 2.0, 4.0, 1.0])
    d = np.array([1.0, 1.5, 2.5, 0.5, 1.2, 3.0, 2.0, 0.7])
    w = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 1.0, 4.0, 1.0]) if weighted else None
    found = disparities(kind, ties, delta, d, w)
    A, B = admissible(kind, ties, delta)
    mass = np.ones(len(d)) if w is None else w
    best = minimize(
        lambda x: (mass * (B @ x - d) ** 2).sum(),
        np.zeros(B.shape[1]),
        constraints={"type": "ineq", "fun": lambda x: A @ x},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(found, B @ best.x, atol=1e-5)


def test_ordinal_disparities_with_secondary_ties_are_those_of_scikit_learn():
    delta, d, w = RNG.integers(0, 30, 200) * 1.0, RNG.random(200), RNG.random(200) + 0.1
    theirs = IsotonicRegression().fit_transform(delta, d, sample_weight=w)
    np.testing.assert_allclose(disparities("ordinal", "secondary", delta, d, w), theirs)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_a_weight_of_two_is_a_pair_given_twice(ties):
    delta, d = RNG.integers(0, 6, 40) * 1.0, RNG.random(40)
    w = RNG.integers(1, 3, 40)
    twice = disparities("ordinal", ties, np.repeat(delta, w), np.repeat(d, w))
    weighted = disparities("ordinal", ties, delta, d, w.astype(float))
    np.testing.assert_allclose(np.repeat(weighted, w), twice, rtol=1e-12)


@by_kind
@pytest.mark.parametrize("m", [1, 2, 3])
def test_gradient_is_that_of_finite_differences(kind, ties, m):
    n = 7
    delta = RNG.integers(1, 9, n * (n - 1) // 2) * 1.0
    w = RNG.random(len(delta)) + 0.5
    i, j = (x.astype(np.int32) for x in np.triu_indices(n, 1))
    term = StressTerm(i, j, w, regression(kind, delta, w, ties))
    X = RNG.standard_normal((n, m))
    value, gradient = term.value_and_gradient(torch.from_numpy(X))
    d = pdist(X)
    expected = disparities(kind, ties, delta, d, w)
    assert value == pytest.approx((w * (d - expected) ** 2).sum() / (w * d**2).sum())
    for a, c in [(0, 0), (3, m - 1)]:
        step = np.zeros((n, m))
        step[a, c] = 1e-6
        up, down = (
            term.value_and_gradient(torch.from_numpy(X + sign * step))[0] for sign in (1, -1)
        )
        assert float(gradient[a, c]) == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-8)


def test_an_independent_solver_finds_nothing_better_near_the_solution():
    n, m, rng = 9, 2, np.random.default_rng(1)
    delta = rng.random(n * (n - 1) // 2)
    start = rng.standard_normal((n, m))

    def stress(x):
        d = pdist(x.reshape(n, m))
        fitted = IsotonicRegression().fit_transform(delta, d)
        return ((d - fitted) ** 2).sum() / (d**2).sum()

    problem = MonotoneMDE(n, m, None, regression("ordinal", delta), Centered())
    found = problem.embed_from(start, tol=1e-7, max_iter=2000)
    theirs = minimize(stress, found.ravel(), method="BFGS", options={"gtol": 1e-7})
    assert stress(start) > 2 * problem.value > 0.01
    assert problem.value <= theirs.fun + 1e-9
    assert stress(found.ravel()) == pytest.approx(problem.value, abs=1e-12)
    d, expected, curve = problem.fitted(found)
    np.testing.assert_allclose(d, pdist(found))
    np.testing.assert_allclose(curve(delta), expected)


def test_threads_do_not_change_a_bit():
    n = 600  # pairs enough for several pieces
    delta = RNG.random(n * (n - 1) // 2)
    i, j = (x.astype(np.int32) for x in np.triu_indices(n, 1))
    X = torch.from_numpy(RNG.standard_normal((n, 2)))
    found = [
        StressTerm(i, j, None, regression("ordinal", delta), n_threads).value_and_gradient(X)
        for n_threads in (1, 3)
    ]
    assert found[0][0] == found[1][0]
    assert torch.equal(found[0][1], found[1][1])


def test_items_that_coincide_give_finite_numbers():
    delta = np.array([6.0, 1.0, 2.0, 3.0, 4.0, 5.0])  # the first two items should be far apart
    i, j = (x.astype(np.int32) for x in np.triu_indices(4, 1))
    term = StressTerm(i, j, None, regression("ordinal", delta))
    value, gradient = term.value_and_gradient(torch.zeros(4, 2, dtype=torch.float64))
    assert value == 1.0
    assert not gradient.any()
    X = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    value, gradient = term.value_and_gradient(X)
    assert 0 < value < 1
    assert torch.isfinite(gradient).all()


def test_curves_beyond_and_between_known_distances():
    delta, d = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 3.0, 2.0, 4.0])
    curve = regression("ordinal", delta).curve(d)
    found = curve([0.5, 1.0, 1.5, 2.0, 2.5, 4.0, 5.0, 9.0, np.inf])
    np.testing.assert_allclose(found, [1, 1, 1.75, 2.5, 2.5, 3.25, 4, 4, np.inf])
    line = regression("interval", delta).curve(2 * delta - 1)
    np.testing.assert_allclose(line([0.25, 1.0, 9.0, np.inf]), [0, 1, 17, np.inf], atol=1e-12)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_descent_ends_at_a_local_minimum(ties, weighted):
    n, m = 12, 3
    i, j = (x.astype(np.int32) for x in np.triu_indices(n, 1))
    delta = np.round(RNG.random(len(i)), 1)  # with ties
    w = RNG.random(len(i)) if weighted else None
    ordinal = regression("ordinal", delta, w, ties)
    term = StressTerm(i, j, w, ordinal)
    start = RNG.standard_normal((n, m))
    kept = start.copy()
    X, value = Descent(i, j, w, regression=ordinal)(start)
    assert np.array_equal(start, kept)
    exact, G = term.value_and_gradient(torch.from_numpy(X))
    assert value == pytest.approx(exact, rel=1e-12)
    before, steep = term.value_and_gradient(torch.from_numpy(start))
    assert value < 0.9 * before
    assert float(G.norm() * np.linalg.norm(X)) < 0.01 * float(steep.norm() * np.linalg.norm(start))
    for _ in range(20):
        near = X + 0.01 * np.abs(X).mean() * RNG.standard_normal(X.shape)
        assert term.value_and_gradient(torch.from_numpy(near))[0] > value


def test_a_descent_from_a_point_ends_there():
    i, j = (x.astype(np.int32) for x in np.triu_indices(5, 1))
    descend = Descent(i, j, None, regression=regression("ordinal", np.arange(10.0)))
    X, value = descend(np.ones((5, 2)))
    assert (X == 1).all() and value == 1


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_a_descent_under_given_distances_is_that_of_the_squared_loss(unit):
    i, j = (x.astype(np.int32) for x in np.triu_indices(10, 1))
    delta, w = RNG.random(45) + 0.1, RNG.random(45)
    X, value = Descent(i, j, 1e-200 * w, distances=unit * delta)(unit * RNG.random((10, 2)))
    solved = MDE(10, 2, None, "squared", weights=w, deviations=delta)
    start = torch.from_numpy(X / unit)
    mean = float(solved.average_distortion(start))
    assert value == pytest.approx(mean * 45 / (w * delta**2).sum(), rel=1e-6)
    solved.embed(start, max_iter=300)
    assert solved.value == pytest.approx(mean, rel=1e-4)
