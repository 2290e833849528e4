"""Sums over all pairs on a lattice, against exact sums."""

import numpy as np
import pytest
import torch
from all_pairs_cases import compiled_sums, exact_energy, relative_errors, scattered
from scipy.interpolate import BSpline

from skmde import penalties
from skmde.core.kernels.backend import CompiledBackend
from skmde.core.kernels.lattice import numba_loops
from skmde.core.kernels.lattice.convolution import ACCURACIES
from skmde.functions.registry import resolve_penalty

LIMITS = {"fast": (1e-3, 5e-2), "precise": (1e-4, 1e-4)}


@pytest.mark.parametrize("extent", [5, 60, 600])
@pytest.mark.parametrize("m", [1, 2])
def test_value_and_gradient_against_exact_sums(extent, m):
    X = scattered(10_000 if m == 2 else 3000, extent, m)
    want = exact_energy(X)
    for accuracy, limits in LIMITS.items():
        errors = relative_errors(compiled_sums(X, accuracy), want)
        assert np.all(np.array(errors) < limits), (accuracy, errors)
    errors = relative_errors(compiled_sums(X.astype(np.float32), "fast"), want)
    assert np.all(np.array(errors) < LIMITS["fast"]), errors


def test_items_within_one_spacing():
    # the worst case: all items are between two nodes
    X = np.random.default_rng(0).normal(size=(1000, 2)) * 0.01 + 10.125
    value, _ = exact_energy(X)
    assert compiled_sums(X, "fast")[0] == pytest.approx(value, rel=2e-2)
    assert compiled_sums(X, "precise")[0] == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_charges_and_the_unit_of_the_penalty(scale):
    X = scattered(3000, 40)
    charges = np.random.default_rng(1).gamma(1.0, size=3000)
    charges[:100] = 0.0
    want = exact_energy(X * scale, charges, scale)
    for accuracy, limits in LIMITS.items():
        errors = relative_errors(compiled_sums(X * scale, accuracy, charges, scale), want)
        assert np.all(np.array(errors) < limits), (accuracy, errors)


@pytest.mark.parametrize("accuracy", ["fast", "precise"])
def test_gradient_is_that_of_the_computed_energy(accuracy):
    # so a line search sees no noise, even where the lattice is far from exact
    X = scattered(300, 8, seed=3)
    charges = np.random.default_rng(4).gamma(1.0, size=300)
    _, gradient = compiled_sums(X, accuracy, charges)
    for item, axis in [(0, 0), (7, 1), (150, 0), (299, 1)]:
        step = np.zeros_like(X)
        step[item, axis] = 1e-5
        after, before = (compiled_sums(X + s * step, accuracy, charges)[0] for s in (1, -1))
        slope = (after - before) / 2e-5
        assert slope == pytest.approx(gradient[item, axis], abs=1e-6 * abs(gradient).max())


@pytest.mark.parametrize("accuracy", ["fast", "precise"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(accuracy, dtype):
    X = scattered(40_000, 60).astype(dtype)
    value, gradient = compiled_sums(X, accuracy)
    for n_threads in (2, 4):
        again, same = compiled_sums(X, accuracy, n_threads=n_threads)
        assert again == value
        np.testing.assert_array_equal(same, gradient)


def test_energy_is_continuous_while_the_box_grows():
    X = scattered(3000, 12)
    # the outermost item crosses a node of the lattice, which makes the box one node wider
    steps = [compiled_sums(np.r_[X, [[25.0 + x, -9.0]]], "fast") for x in (-1e-9, 0, 1e-9)]
    values = [value for value, _ in steps]
    assert np.ptp(values) < 1e-12 * abs(values[0])
    assert abs(steps[0][1] - steps[2][1]).max() < 1e-9 * abs(steps[0][1]).max()


@pytest.mark.parametrize("length", [1.0, 0.3, 7.7])
@pytest.mark.parametrize("accuracy", ["fast", "precise"])
def test_points_that_rounding_moves_across_a_node_stay_on_the_lattice(accuracy, length):
    # In float32, a position may be rounded to a node beyond that of the exact position.
    grid = ACCURACIES[accuracy].grid(length)
    rng = np.random.default_rng(0)
    for _ in range(50):
        nodes = np.sort(rng.integers(-3000, 3000, (2, 2)), axis=0) * grid.spacing
        ends = np.nextafter(nodes.astype(np.float32), np.float32(rng.choice([-np.inf, np.inf])))
        low, high = np.sort(ends, axis=0)
        origin, shape = grid.box(low, high)
        U = ends / np.float32(grid.spacing) - origin.astype(np.float32)
        first = U.astype(int) - (grid.degree - 1) // 2
        assert (first >= 0).all()
        assert (first + grid.degree < shape).all()


@pytest.mark.parametrize("degree", [3, 5])
def test_weights_are_those_of_b_splines(degree):
    names = {3: ("cubic", "cubic_slopes"), 5: ("quintic", "quintic_slopes", "quintic_curvatures")}
    knots = np.arange(degree + 2.0) - (degree + 1) / 2
    spline = BSpline.basis_element(knots, extrapolate=False)
    for order, name in enumerate(names[degree]):
        function = getattr(numba_loops, name)
        for t in (0.0, 0.01, 0.3, 0.5, 0.77, 1.0):
            distances = t + (degree - 1) // 2 - np.arange(degree + 1.0)
            want = np.nan_to_num(
                spline.derivative(order)(distances) if order else spline(distances)
            )
            # at the ends, scipy takes derivatives of the highest order from one side
            np.testing.assert_allclose(function.py_func(t, float), want, atol=1e-12)
            np.testing.assert_allclose(function(t, np.float64), want, atol=1e-12)


def test_positions_that_are_not_finite_give_nan():
    for bad in (np.nan, np.inf, -np.inf):
        X = scattered(100, 5)
        X[17, 1] = bad
        value, gradient = compiled_sums(X, "fast")
        assert np.isnan(value)
        assert np.isnan(gradient).all()
        assert gradient.shape == X.shape


def test_functions_and_dimensions_without_a_lattice():
    backend = CompiledBackend()
    assert backend.lattice_sums(penalties.Log(), None, 9, 2, torch.float32, "fast") is None
    assert backend.lattice_sums(penalties.Cauchy(), None, 9, 3, torch.float32, "fast") is None


@pytest.mark.parametrize("name", ["cauchy", "log", "log_ratio", "inverse_power"])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_exact_sums_of_products_of_weights(name, m):
    n, penalty = 700, resolve_penalty(name)
    X = torch.tensor(scattered(n, 6, m))
    s = torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    i, j = torch.triu_indices(n, n, 1)
    inputs = penalty, s[i] * s[j], None, n, m, torch.float64
    want, slopes = CompiledBackend().all_pairs_sums(*inputs)(X, 0.5)
    for n_threads in (1, 4):
        sums = CompiledBackend(n_threads).product_sums(penalty, s, n, m, torch.float64)
        value, gradient = sums(X, 0.5)
        assert value == pytest.approx(want, rel=1e-12)
        torch.testing.assert_close(gradient, slopes, rtol=1e-10, atol=1e-12 * slopes.abs().max())
