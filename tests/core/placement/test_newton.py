"""Newton's method row by row: minima, saddles, kinks, refused points, independence of rows."""

import numpy as np
import pytest
from scipy.optimize import brentq

from skmde.core.placement.newton import Expansion, _solve_subproblem, minimize_rows


class Functions:
    """One (value, gradient, Hessian) function of m variables for each row."""

    def __init__(self, *functions):
        self.functions = functions

    def expand(self, points, rows):
        parts = [self.functions[r](x) for r, x in zip(rows, points, strict=True)]
        value, gradient, hessian = (
            np.array(part, dtype=float) for part in zip(*parts, strict=True)
        )
        return Expansion(value, 1e-15 * np.abs(value), gradient, hessian)


def rosenbrock(a):
    def function(x):
        u, v = x
        bend = v - u * u
        value = (a - u) ** 2 + 100 * bend**2
        gradient = [-2 * (a - u) - 400 * u * bend, 200 * bend]
        return value, gradient, [[2 - 400 * bend + 800 * u * u, -400 * u], [-400 * u, 200]]

    return function


def double_well(x):
    u, v = x
    return u**4 / 4 - u**2 / 2 + v**2, [u**3 - u, 2 * v], [[3 * u * u - 1, 0], [0, 2]]


def bowl(x):
    return float(x @ x), 2 * x, 2 * np.eye(x.size)


def solve(functions, start, **options):
    start = np.asarray(start, dtype=float)
    options = {"radius": np.ones(len(start)), "limit": 1e3, **options}
    return minimize_rows(Functions(*functions), start, **options)


def test_curved_valleys_are_followed_to_their_ends():
    centers = [1.0, -0.5, 0.0, 2.0]
    found = solve([rosenbrock(a) for a in centers], [[-1.2, 1], [3, -3], [0, 0], [0, 5]])
    assert found.converged.all()
    np.testing.assert_allclose(found.X, [[a, a * a] for a in centers], atol=1e-9)


@pytest.mark.parametrize("start", [(0.0, 1.0), (0.0, 0.0), (1e-9, -2.0)])
def test_saddle_points_are_left(start):
    found = solve([double_well], [start])
    assert found.converged.all()
    np.testing.assert_allclose(np.abs(found.X), [[1.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(found.value, -0.25)


def test_a_quadratic_takes_one_step_and_a_flat_function_none():
    found = solve([bowl], [[0.3, -0.4]])
    assert found.n_iter <= 2
    np.testing.assert_allclose(found.X, 0.0, atol=1e-15)
    flat = solve([lambda x: (3.0, 0 * x, np.zeros((2, 2)))], [[0.3, -0.4]])
    assert flat.converged.all() and flat.n_iter == 1
    np.testing.assert_array_equal(flat.X, [[0.3, -0.4]])


def test_points_that_are_not_finite_are_refused():
    def barrier(x):
        with np.errstate(invalid="ignore"):
            return x[0] - np.log(x[0]), [1 - 1 / x[0]], [[1 / x[0] ** 2]]

    found = solve([barrier], [[50.0]], radius=np.array([1e2]))
    assert found.converged.all()
    np.testing.assert_allclose(found.X, [[1.0]], atol=1e-9)


def test_a_kink_is_found():
    def kink(x):
        u = x[0] - 0.7
        return 2 * abs(u) + x[0] ** 2 / 2, [2 * np.sign(u) + x[0]], [[1.0]]

    found = solve([kink], [[-3.0]])
    assert found.converged.all()
    np.testing.assert_allclose(found.X, [[0.7]], atol=1e-10)


def test_a_function_that_decreases_for_ever_ends_within_the_limit():
    found = solve([lambda x: (-x.sum(), -np.ones(2), np.zeros((2, 2)))], [[0.0, 0.0]], limit=7.0)
    assert np.linalg.norm(found.X) <= 7.0
    assert found.value[0] < -9.0  # the least value in the disc is -7 sqrt(2)


def test_starts_that_are_not_finite_stay_where_they_are():
    found = solve([bowl, lambda x: (np.nan, 0 * x, np.eye(2))], [[1.0, 1.0], [2.0, 3.0]])
    assert found.converged.tolist() == [True, False]
    np.testing.assert_allclose(found.X, [[0.0, 0.0], [2.0, 3.0]], atol=1e-15)


def test_rows_that_ran_out_of_steps_are_reported_and_no_worse_than_their_start():
    start = np.array([[-1.2, 1.0], [0.0, 0.1]])
    kept = start.copy()
    found = minimize_rows(
        Functions(rosenbrock(1.0), bowl), start, radius=np.ones(2), limit=1e3, max_iter=3
    )
    assert found.converged.tolist() == [False, True]
    assert found.n_iter == 3
    assert found.value[0] < rosenbrock(1.0)(start[0])[0]
    np.testing.assert_array_equal(start, kept)


def test_a_row_does_not_depend_on_the_others():
    rng = np.random.default_rng(0)
    functions = [rosenbrock(a) for a in rng.normal(size=30)]
    start = 3 * rng.normal(size=(30, 2))
    together = solve(functions, start)
    for r in range(30):
        alone = solve([functions[r]], start[r : r + 1])
        np.testing.assert_array_equal(alone.X[0], together.X[r])
    order = rng.permutation(30)
    permuted = solve([functions[r] for r in order], start[order])
    np.testing.assert_array_equal(permuted.X, together.X[order])


def least_model_value(g, H, radius):
    """The least value of the model in the ball, by its eigenvalues (no hard case)."""
    values, vectors = np.linalg.eigh(H)
    parts = vectors.T @ g

    def step(shift):
        return -parts / (values + shift)

    shift = 0.0
    if values[0] <= 0 or np.linalg.norm(step(0.0)) > radius:
        low = max(0.0, -values[0])
        high = low + np.linalg.norm(g) / radius
        shift = brentq(
            lambda t: np.linalg.norm(step(t)) - radius, low * (1 + 1e-13) + 1e-13, high * 2 + 1
        )
    s = step(shift)
    return parts @ s + 0.5 * (values * s) @ s


@pytest.mark.parametrize("m", [1, 2, 3, 10, 40])
def test_steps_minimise_the_model_in_the_ball(m):
    rng = np.random.default_rng(m)
    for trial in range(60):
        H = rng.normal(size=(m, m))
        H = (H + H.T) * 10.0 ** rng.integers(-3, 4) + rng.normal() * np.eye(m)
        g = rng.normal(size=m)
        radius = 10.0 ** rng.uniform(-3, 3)
        s, L, z = np.empty(m), np.empty((m, m)), np.empty(m)
        _solve_subproblem(g, H, radius, s, L, z)
        assert np.linalg.norm(s) <= 1.2 * radius * (1 + 1e-9)
        # A step may be up to a fifth shorter or longer than the radius.
        assert g @ s + 0.5 * s @ H @ s <= least_model_value(g, H, 0.79 * radius) * 0.99, trial


@pytest.mark.parametrize("m", [1, 2, 5])
def test_without_a_gradient_the_step_follows_negative_curvature(m):
    H = np.diag(np.linspace(-2.0, 3.0, m)) if m > 1 else np.array([[-2.0]])
    s, L, z = np.empty(m), np.empty((m, m)), np.empty(m)
    _solve_subproblem(np.zeros(m), H, 0.5, s, L, z)
    np.testing.assert_allclose(np.abs(s[0]), 0.5, rtol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(s), 0.5)
