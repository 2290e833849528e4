"""Solves within sets that have a boundary, compared with constrained solvers of scipy."""

import numpy as np
import pytest
import scipy.optimize
import torch
from core_problems import minimize, objective_of

from skmde import MDE, Box, Constraint, Disc, NonNegative
from skmde.core.solvers.result import Status

CENTER = np.array([0.3, -0.2])


def _problem(seed):
    """A small problem of distances that no embedding within the sets satisfies, and a start."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[rng.random(len(edges)) < 0.8]
    Y = 2 * rng.standard_normal((n, 2))
    delta = np.linalg.norm(Y[edges[:, 0]] - Y[edges[:, 1]], axis=1)
    delta = delta * rng.uniform(0.7, 1.3, len(edges))
    weights = rng.uniform(0.2, 2.0, len(edges))
    function = ["squared", "huber", "weighted_squared", "cubic"][seed % 4]
    objective = objective_of(
        edges, n, 2, function, dtype=torch.float64, weights=weights, deviations=delta
    )
    return objective, rng.standard_normal((n, 2))


def _tangent(kind, X, V, at=1e-9):
    """The projection onto the tangent cone, written anew."""
    if kind == "disc":
        Y = X - CENTER
        normals = Y / np.linalg.norm(Y, axis=1, keepdims=True)
        outwards = np.maximum((normals * V).sum(axis=1, keepdims=True), 0)
        edge = np.linalg.norm(Y, axis=1, keepdims=True) >= 1.2 * (1 - at)
        return np.where(edge, V - outwards * normals, V)
    low, high = {"box": (-0.8, 1.1), "non-negative": (0.0, np.inf)}[kind]
    return np.where(((X <= low + at) & (V < 0)) | ((X >= high - at) & (V > 0)), 0.0, V)


def _by_scipy(kind, value_and_gradient, start):
    """The minimum that scipy finds from a start."""
    shape = start.shape

    def both(x):
        value, gradient = value_and_gradient(torch.from_numpy(x.reshape(shape)))
        return float(value), gradient.numpy().ravel()

    options = {"ftol": 1e-15, "maxiter": 1000}
    if kind == "disc":
        inside = {
            "type": "ineq",
            "fun": lambda x: 1.2**2 - ((x.reshape(shape) - CENTER) ** 2).sum(axis=1),
        }
        more = {"constraints": [inside], "method": "SLSQP", "options": options}
    else:
        low, high = {"box": (-0.8, 1.1), "non-negative": (0.0, None)}[kind]
        more = {"bounds": [(low, high)] * start.size, "method": "SLSQP", "options": options}
    return scipy.optimize.minimize(both, start.ravel(), jac=True, **more).fun


@pytest.mark.parametrize(
    ("kind", "constraint"),
    [
        ("box", Box(-0.8, 1.1)),
        ("disc", Disc(1.2, CENTER)),
        ("non-negative", NonNegative()),
    ],
    ids=["box", "disc", "non-negative"],
)
def test_minima_are_stationary_and_no_worse_than_those_of_scipy(kind, constraint):
    worst = 0.0
    for seed in range(20):
        objective, start = _problem(seed)
        start = constraint.project(torch.from_numpy(start))
        found = minimize(objective, constraint, start, tol=1e-7, max_iter=500)
        assert constraint.violation(found.X) <= 1e-14
        value, gradient = objective.value_and_gradient(found.X)
        stationarity = np.linalg.norm(_tangent(kind, found.X.numpy(), -gradient.numpy()))
        assert stationarity == pytest.approx(found.residual_norm, abs=1e-9)
        worst = max(worst, stationarity)
        # From the minimum, scipy finds nothing better; a problem may have several minima.
        theirs = _by_scipy(kind, objective.value_and_gradient, found.X.numpy())
        assert float(value) <= theirs + 1e-8 * max(1.0, abs(theirs))
        assert found.n_iter <= 250
    assert worst <= 1e-5


def _stationarity(objective, constraint, X):
    gradient = objective.value_and_gradient(X)[1]
    return float(constraint.project_gradient(X, gradient).norm())


def test_a_start_in_the_corners_leaves_them_where_that_is_better():
    constraint, free = Box(-2.5, 2.0), 0
    for seed in range(3):
        objective, start = _problem(seed)
        corners = torch.from_numpy(np.where(start < 0, -2.5, 2.0))
        found = minimize(objective, constraint, corners, tol=1e-7, max_iter=500)
        assert _stationarity(objective, constraint, found.X) <= 1e-5
        values = np.array(found.history.value)
        assert (np.diff(values) <= 0).all()
        free += int(((found.X > -2.5) & (found.X < 2.0)).sum())
    assert free > 6


class OwnBall(Constraint):
    """A disc that has no more than its two projections."""

    has_boundary = True

    def project(self, Z):
        return 1.2 * Z / Z.norm(dim=1, keepdim=True).clamp(min=1.2)

    def project_tangent(self, X, Z):
        n = X / X.norm(dim=1, keepdim=True)
        edge = X.norm(dim=1, keepdim=True) >= 1.2 * (1 - 1e-9)
        return torch.where(edge, Z - (n * Z).sum(dim=1, keepdim=True).clamp(min=0) * n, Z)


def test_a_set_with_two_projections_has_the_same_minima():
    for seed in range(3):
        objective, start = _problem(seed)
        start = Disc(1.2).project(torch.from_numpy(start))
        best = minimize(objective, Disc(1.2), start, tol=1e-8, max_iter=500).X
        near = OwnBall().project(best + 1e-3)
        found = minimize(objective, OwnBall(), near, tol=1e-6, max_iter=2000)
        assert found.status in (Status.CONVERGED, Status.NO_DESCENT)
        assert _stationarity(objective, Disc(1.2), found.X) <= 1e-5
        assert found.value == pytest.approx(float(objective.value_and_gradient(best)[0]), rel=1e-6)


def _deviations(n=12, seed=0):
    Y = np.random.default_rng(seed).standard_normal((n, 2))
    i, j = np.triu_indices(n, 1)
    return np.linalg.norm(Y[i] - Y[j], axis=1)


def test_equal_bounds_leave_a_problem_of_fewer_dimensions():
    delta, start = _deviations(), np.random.default_rng(1).standard_normal((12, 1))
    flat = MDE(12, 2, None, "squared", Box([None, 3.0], [None, 3.0]), deviations=delta)
    X = flat.embed(np.concatenate([start, np.full((12, 1), 3.0)], axis=1), tol=1e-8)
    line = MDE(12, 1, None, "squared", Box(None, None), deviations=delta)
    x = line.embed(start, tol=1e-8)
    assert bool((X[:, 1] == 3.0).all())
    torch.testing.assert_close(X[:, :1] - X[0, 0], x - x[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("make", [lambda u: Disc(0.9 * u), lambda u: Box(-u, 0.5 * u)])
def test_a_set_in_other_units_gives_the_same_embedding(make, unit):
    delta = _deviations()
    known, other = (
        MDE(12, 2, None, "squared", make(u), deviations=u * delta).embed(random_state=0)
        for u in (1.0, unit)
    )
    torch.testing.assert_close(other / unit, known, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_sets_that_are_tiny_or_huge_beside_the_distances(factor):
    delta = _deviations()
    bounds = {"atol": 1e-9 * factor, "rtol": 0}
    for constraint in (Disc(factor), Box(0.0, factor), Box(-factor, factor)):
        problem = MDE(12, 2, None, "squared", constraint, deviations=delta)
        X = problem.embed(random_state=0, max_iter=1000)
        assert problem.result.converged
        assert constraint.violation(X) <= 1e-14
        if factor > 1:  # the set is no constraint
            assert problem.value < 1e-8
            continue
        # All items are on the circle, or in the corners of the box, and some are at opposite sides.
        # No two of them need to be opposite exactly.
        if isinstance(constraint, Disc):
            torch.testing.assert_close(
                X.norm(dim=1), torch.full((12,), factor, dtype=X.dtype), **bounds
            )
        else:
            middle = (constraint.low + constraint.high) / 2
            half = torch.full((12, 2), constraint.high - middle, dtype=X.dtype)
            torch.testing.assert_close((X - middle).abs(), half, **bounds)
        assert float(torch.pdist(X).max()) > 0.99 * constraint.diameter(2)


def test_near_duplicates_are_solved_for_within_a_box():
    delta = _deviations(14)
    i, j = np.triu_indices(14, 1)
    delta[(i == 0) & (j == 1)] = 1e-7
    other = delta[(i == 0) & (j > 1)]
    delta[i == 1] = other
    problem = MDE(14, 2, None, "kamada_kawai", Box(0.0, 1.5), deviations=delta)
    X = problem.embed(random_state=0, max_iter=1000)
    assert problem._groups is not None
    assert problem.result.n_iter < 1000
    assert float((X[0] - X[1]).norm()) == pytest.approx(1e-7, rel=1e-2)
    assert Box(0.0, 1.5).violation(X) == 0


def test_coincident_items_are_separated_within_the_set():
    problem = MDE(12, 2, None, "squared", Box(0.0, 1.0), deviations=_deviations() / 5)
    X = problem.embed(np.ones((12, 2)))
    assert problem.value < 0.03  # that of a point is 0.15
    assert Box(0.0, 1.0).violation(X) == 0
