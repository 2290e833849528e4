"""Potentials of items: finite differences of the energy, and the field against exact sums."""

import numpy as np
import pytest
import torch
from labels import label

import skmde.core.placement.item_potentials as module
from skmde import Cauchy, InversePower, Log1p
from skmde.core.placement.item_potentials import item_potentials


def _energy(X, penalty, s):
    i, j = np.triu_indices(len(X), 1)
    d = torch.from_numpy(np.linalg.norm(X[i] - X[j], axis=1))
    return -float(np.sum(s[i] * s[j] * penalty.value(d).numpy()))


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("penalty", [Cauchy(2.0), Log1p(1.5), InversePower(1.0)], ids=label)
def test_derivatives_are_those_of_the_energy(penalty, m):
    rng = np.random.default_rng(0)
    X, s = 3 * rng.standard_normal((12, m)), rng.random(12) + 0.5
    found = item_potentials(X, penalty, s)
    assert np.sum(s * found.value) / 2 == pytest.approx(_energy(X, penalty, s))
    h = 1e-4
    for i in (0, 5):
        for a in range(m):
            step = np.zeros_like(X)
            step[i, a] = h
            values = [_energy(X + k * step, penalty, s) for k in (-1, 0, 1)]
            slope = (values[2] - values[0]) / (2 * h)
            bend = (values[2] - 2 * values[1] + values[0]) / h**2
            assert s[i] * found.gradient[i, a] == pytest.approx(slope, rel=1e-4, abs=1e-6)
            assert s[i] * found.hessian[i, a, a] == pytest.approx(bend, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("m", [2, 3])
def test_the_field_of_many_items_is_the_exact_sum(m, monkeypatch):
    rng = np.random.default_rng(0)
    X, s = 20 * rng.standard_normal((2600, m)), rng.random(2600) + 0.5
    found = item_potentials(X, Cauchy(), s)
    monkeypatch.setattr(module, "_EXACT", 10_000)
    exact = item_potentials(X, Cauchy(), s)
    assert not np.array_equal(found.value, exact.value)
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3 * np.abs(other).max())


def test_coincident_items_repel_without_a_direction():
    found = item_potentials(np.zeros((3, 2)), Cauchy())
    np.testing.assert_allclose(found.value, 2.0)
    np.testing.assert_array_equal(found.gradient, 0.0)
    assert np.isfinite(found.hessian).all()
