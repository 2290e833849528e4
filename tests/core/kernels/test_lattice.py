"""Sums over all pairs on a lattice, against exact sums."""

import numpy as np
import pytest
import torch
from all_pairs_cases import (
    backend_sums,
    compiled_sums,
    exact_energy,
    exact_sums,
    relative_errors,
    scattered,
)
from scipy.interpolate import BSpline
from slowly import slow

from skmde import penalties
from skmde.core.kernels.backend import CompiledBackend, TorchBackend
from skmde.core.kernels.lattice import numba_loops
from skmde.core.kernels.lattice.convolution import ACCURACIES, Lattice
from skmde.core.kernels.lattice.layouts import Layouts
from skmde.core.kernels.lattice.splines import WEIGHTS, own_polynomial
from skmde.functions.registry import resolve_penalty

LIMITS = {"fast": (1e-3, 5e-2), "precise": (1e-4, 1e-4)}


@pytest.mark.parametrize("extent", [5, 60, 600])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_value_and_gradient_against_exact_sums(extent, m):
    X = scattered(3000 if m == 1 else 10_000, extent, m)
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


def counting_lattice():
    """A lattice, and a list of the transforms that it computes."""
    computed = []

    def values(squares):
        computed.append(squares.shape)
        return -1 / (1 + squares)

    return Lattice(values, ACCURACIES["fast"].grid(1.0)), computed


def test_a_growing_embedding_keeps_the_transforms_of_two_sizes():
    lattice, computed, charges = *counting_lattice(), np.ones(500)
    small, middle, large = (scattered(500, extent) for extent in (10, 40, 160))

    def energy(X):
        return lattice.energy(X, charges, X.min(axis=0), X.max(axis=0))

    first, gradient = energy(small)
    for X in (middle, small, middle, large, middle, large):
        energy(X)
    assert len(computed) == 3
    again, same = energy(small)
    assert len(computed) == 4
    assert again == first
    np.testing.assert_array_equal(same, gradient)


def test_groups_of_items_keep_the_transforms_of_all_their_sizes():
    lattice, computed, charges = *counting_lattice(), np.ones(500)
    for _ in range(3):
        for extent in (10, 40, 160, 320):
            lattice.local_energy(scattered(500, extent), charges)
    assert len(computed) == 4


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
    class Shifted(penalties.Cauchy):  # a user's class may compute something else
        def value(self, d):
            return super().value(d + 1)

    for penalty, m in ((penalties.Hinge(), 2), (penalties.Cauchy(), 4), (Shifted(), 2)):
        for backend in (CompiledBackend(), TorchBackend(torch.device("cpu"))):
            assert backend.lattice_sums(penalty, None, 9, m, torch.float32, "fast") is None


SINGULAR = [
    penalties.Log(),
    penalties.Log(3.0),
    penalties.LogRatio(),
    penalties.InversePower(),
    penalties.InversePower(0.5),
    penalties.InversePower(3.0),
]


def without_duplicates(n, extent, m):
    # at distance 0, these penalties are limited by the dtype
    return scattered(n, extent, m)[: n - n // 20]


@pytest.mark.parametrize("penalty", SINGULAR, ids=str)
@pytest.mark.parametrize("extent", [0.05, *slow(5), 60, *slow(600)])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_penalties_that_are_infinite_at_distance_0(penalty, extent, m):
    X = without_duplicates(2500, extent, m)
    charges = np.random.default_rng(1).gamma(1.0, size=len(X))
    want = exact_sums(X, penalty, charges)
    for accuracy, limits in LIMITS.items():
        got = compiled_sums(X, accuracy, charges, penalty=penalty)
        assert np.all(np.array(relative_errors(got, want)) < limits), accuracy


@pytest.mark.parametrize("penalty", [penalties.Log(), penalties.InversePower()], ids=str)
@pytest.mark.parametrize("m", [2, 3])
def test_layouts_agree(monkeypatch, penalty, m):
    # the value jumps little where another layout is chosen
    X = without_duplicates(4000, 40, m)
    used = []

    def next_one(self, X, low, high, host=np.asarray):
        used.append(self._split(X, low, high)[len(used)])
        return used[-1]

    monkeypatch.setattr(Layouts, "best", next_one)
    found = [compiled_sums(X, "fast", penalty=penalty)[0] for _ in range(3)]
    assert len(set(used)) == 3
    assert np.ptp(found) < 1e-3 * abs(found[0])
    assert len(set(found)) == 3


@pytest.mark.parametrize("m", [1, 2, 3])
def test_torch_backend_gives_the_same_for_split_penalties(m):
    X = without_duplicates(3000, 60, m)
    for penalty in (penalties.Log(), penalties.InversePower(), penalties.Cauchy()):
        value, gradient = compiled_sums(X, "fast", penalty=penalty)
        torch_backend = TorchBackend(torch.device("cpu"))
        same, slopes = backend_sums(torch_backend, X, "fast", penalty=penalty)
        assert same == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose(slopes, gradient, atol=1e-9 * abs(gradient).max())


@pytest.mark.parametrize("m", [2, 3])
def test_split_sums_have_the_same_bits_for_any_number_of_threads(m):
    X = without_duplicates(20_000, 60, m).astype(np.float32)
    value, gradient = compiled_sums(X, "fast", penalty=penalties.Log())
    for n_threads in (2, 4):
        again, same = compiled_sums(X, "fast", n_threads=n_threads, penalty=penalties.Log())
        assert again == value
        np.testing.assert_array_equal(same, gradient)


@pytest.mark.parametrize("degree", [3, 5])
@pytest.mark.parametrize("m", [2, 3])
def test_own_part_is_what_a_charge_reads_of_itself(degree, m):
    S = np.random.default_rng(0).random((degree + 1,) * m)
    C = own_polynomial(S, degree)
    t = np.random.default_rng(1).random(m)
    w = [np.array(WEIGHTS[degree].py_func(x, float)) for x in t]
    products = np.einsum(*([x for k, v in enumerate(w) for x in (v, [k])]), range(m))
    want = sum(
        products[a] * products[b] * S[tuple(abs(np.subtract(a, b)))]
        for a in np.ndindex(products.shape)
        for b in np.ndindex(products.shape)
    )
    powers = [(x * (1 - x)) ** np.arange(degree + 1) for x in t]
    got = C
    for power in powers:
        got = np.tensordot(power, got, (0, 0))
    assert got == pytest.approx(want, rel=1e-9)


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
