"""Solves within sets that have a boundary, compared with constrained solvers of scipy."""

import numpy as np
import pytest
import scipy.optimize
import torch
from core_problems import minimize, objective_of

from skmde import Box, Disc, NonNegative

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
