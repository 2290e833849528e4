"""Sums over all pairs in torch, against the compiled ones; on the CPU, which stands for a GPU."""

import numpy as np
import pytest
import torch
from all_pairs_cases import backend_sums, compiled_sums, scattered

from skmde import MDE, penalties
from skmde.core import items
from skmde.core.kernels.backend import CompiledBackend, TorchBackend
from skmde.core.kernels.lattice import torch_convolution
from skmde.core.objectives.repulsion import energy_sums
from skmde.functions.adapters import CallablePenalty
from skmde.functions.registry import resolve_penalty

TORCH = TorchBackend(torch.device("cpu"))


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("accuracy", ["fast", "precise"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lattice_equals_the_compiled_one(m, accuracy, dtype):
    X = scattered(3000, 60, m).astype(dtype)
    charges = np.random.default_rng(1).gamma(1.0, size=3000)
    for weights in (None, charges):
        value, gradient = compiled_sums(X, accuracy, weights, 1.3)
        same, slopes = backend_sums(TORCH, X, accuracy, weights, 1.3)
        rtol = 1e-5 if dtype == np.float32 else 1e-9
        assert same == pytest.approx(value, rel=rtol)
        assert slopes.dtype == dtype
        np.testing.assert_allclose(slopes, gradient, atol=rtol * abs(gradient).max())


def test_spreading_does_not_depend_on_the_order_of_the_items():
    # as the threads of a GPU add the charges in any order
    X = scattered(3000, 20).astype(np.float32)
    turned = X[::-1].copy()
    value, gradient = backend_sums(TORCH, X, "fast")
    same, slopes = backend_sums(TORCH, turned, "fast")
    assert same == pytest.approx(value, rel=1e-12)
    np.testing.assert_array_equal(slopes[::-1], gradient)


def test_charges_of_zero_and_positions_that_are_not_finite():
    X = scattered(100, 5)
    value, gradient = backend_sums(TORCH, X, "fast", np.zeros(100))
    assert value == 0
    assert not gradient.any()
    X[3, 0] = np.nan
    value, gradient = backend_sums(TORCH, X, "fast")
    assert np.isnan(value)
    assert np.isnan(gradient).all()


@pytest.mark.parametrize("block", [1, 1000, 1 << 22])
@pytest.mark.parametrize("name", ["cauchy", "log", "log_ratio", "inverse_power"])
def test_exact_sums_equal_the_compiled_ones(monkeypatch, name, block):
    monkeypatch.setattr(torch_convolution, "_PAIRS", block)
    n, penalty = 120, resolve_penalty(name)
    for m in (1, 2, 3):
        X = torch.tensor(scattered(n, 6, m))
        s = torch.linspace(0, 2, n, dtype=torch.float64)
        arguments = penalty, s, n, m, torch.float64
        value, gradient = CompiledBackend().product_sums(*arguments)(X, -0.5)
        same, slopes = TORCH.product_sums(*arguments)(X, -0.5)
        assert float(same) == pytest.approx(value, rel=1e-10)
        torch.testing.assert_close(slopes, gradient, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("n", "m"), [(50, 2), (2600, 2), (2600, 3)])
def test_every_size_and_dimension_has_sums(n, m):
    X = torch.tensor(scattered(n, 30, m))
    shape = {"n_items": n, "n_components": m, "dtype": torch.float64, "accuracy": "precise"}
    values = []
    for backend in (CompiledBackend(), TORCH):
        sums = energy_sums(penalties.Cauchy(), None, backend=backend, **shape)
        value, gradient = sums(X, -1.0)
        values.append(float(value))
        assert gradient.shape == X.shape
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_callables_have_exact_sums():
    n = 60
    X = torch.tensor(scattered(n, 6))
    own = CallablePenalty(lambda d: -1 / (1 + d**2))
    value, gradient = TORCH.product_sums(own, None, n, 2, torch.float64)(X, 1.0)
    cauchy = TORCH.product_sums(penalties.Cauchy(), None, n, 2, torch.float64)
    want, slopes = cauchy(X, 1.0)
    assert float(value) == pytest.approx(float(want), rel=1e-12)
    torch.testing.assert_close(gradient, slopes)


@pytest.mark.parametrize("n", [100, 2600])
def test_a_solve_reaches_the_value_of_the_compiled_one(monkeypatch, n):
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    values = []
    for backend in (CompiledBackend(), TORCH):
        monkeypatch.setattr(items, "choose_backend", lambda *_, chosen=backend: chosen)
        mde = MDE(n, 2, edges, ("log1p", "cauchy"), repulsion="all", item_weights=np.ones(n))
        mde.embed(scattered(n, 10), max_iter=40)
        values.append(mde.value)
    assert values[1] == pytest.approx(values[0], rel=0.02)
