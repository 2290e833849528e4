"""Curvatures where a function diverges or has a kink, against formulas in high precision."""

import mpmath as mp
import numpy as np
import pytest
import torch
from labels import label
from test_losses import CASES as LOSSES
from test_penalties import CASES as PENALTIES

from skmde.functions.kinds import D_FLOOR
from skmde.losses import FractionalLoss, HuberLoss, PowerLoss, SoftFractionalLoss
from skmde.penalties import Barrier, Huber, Log, Log1p, LogRatio, Power

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
SHORT = [0.0, 1e-30, 1e-12, 1e-8, 5e-8, 9e-8, 1e-7, 1.1e-7]
# Exponents on both sides of those where a slope or a curvature begins to diverge.
EXPONENTS = [0.25, 0.5, 0.75, 1.0, 1.25, 1.75, 2.0, 2.5, 3.0]
FORMULAS = {
    Power: lambda a: lambda d: d**a,
    Log1p: lambda a: lambda d: mp.log1p(d**a),
    Log: lambda a: lambda d: mp.log(-mp.expm1(-(d**a))),
    LogRatio: lambda a: lambda d: mp.log(d**a / (1 + d**a)),
}
CASES = [case for case in PENALTIES if not isinstance(case[0], Barrier)]
CASES += [(make(a), of(mp.mpf(a))) for make, of in FORMULAS.items() for a in EXPONENTS]


def second_derivative(formula, x, side=0):
    """Second derivative at x, or its limit from one side, with 50 digits or more."""
    with mp.workdps(600):
        h = mp.mpf(10) ** -90 * x
        x = mp.mpf(x) + 2 * side * h
        return (formula(x + h) - 2 * formula(x) + formula(x - h)) / h**2


def diverges_at_zero(formula):
    near, nearer = (abs(second_derivative(formula, mp.mpf(10) ** -k)) for k in (20, 25))
    return nearer > 1.01 * near


@DTYPES
@pytest.mark.parametrize(("penalty", "formula"), CASES, ids=lambda c: label(c)[:40])
def test_penalties_near_zero(penalty, formula, dtype):
    # A curvature that diverges is that at the floor; all others are exact down to 0.
    lowest = D_FLOOR if diverges_at_zero(formula) else mp.mpf(10) ** -60
    d = torch.tensor(SHORT, dtype=dtype)
    limit = torch.finfo(dtype).max
    want = [second_derivative(formula, max(mp.mpf(x), lowest)) for x in d.tolist()]
    want = np.clip(np.array(want, dtype=np.float64), -limit, limit)
    got = penalty.curvature(d).double().numpy()
    np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == torch.float32 else 1e-6, atol=1e-25)


@pytest.mark.parametrize("delta", [1e-25, 1e-12, 1e-8, 1e-3, 1.0, 1e5])
@pytest.mark.parametrize(("loss", "formula"), LOSSES, ids=lambda c: label(c)[:40])
def test_losses_at_any_length(loss, formula, delta):
    ratios = [1e-6, 0.03, 0.6, 0.99, 0.99998, 1.00002, 1.01, 1.7, 40.0, 1e6]
    targets = torch.full((len(ratios),), delta, dtype=torch.float64)
    d = targets * torch.tensor(ratios, dtype=torch.float64)
    target = mp.mpf(delta)
    want = [second_derivative(lambda x: formula(target, x), mp.mpf(x)) for x in d.tolist()]
    got = loss.curvature(targets, d).numpy()
    np.testing.assert_allclose(got, np.array(want, dtype=np.float64), rtol=1e-9, atol=1e-290)


@pytest.mark.parametrize("delta", [1e-25, 1e-8, 1.0, 1e5])
@pytest.mark.parametrize(("loss", "formula"), LOSSES, ids=lambda c: label(c)[:40])
def test_losses_at_the_target_and_at_distance_zero(loss, formula, delta):
    target = mp.mpf(delta)
    targets = torch.full((2,), delta, dtype=torch.float64)
    got_at_zero, got_at_target = loss.curvature(targets, targets * torch.tensor([0.0, 1.0])).numpy()
    least = D_FLOOR if isinstance(loss, (FractionalLoss, SoftFractionalLoss)) else mp.mpf(10) ** -20
    want = second_derivative(lambda x: formula(target, x), least * target)
    assert got_at_zero == pytest.approx(float(want), rel=1e-6)
    if isinstance(loss, PowerLoss) and 1 < loss.exponent < 2:
        # It diverges at the target: there, the residual has the floor of a divisor.
        with mp.workdps(50):
            beside = target + D_FLOOR * min(target, 1)
        want = [second_derivative(lambda x: formula(target, x), beside)]
    else:
        want = [second_derivative(lambda x: formula(target, x), target, side) for side in (-1, 1)]
    assert any(got_at_target == pytest.approx(float(one), rel=1e-6, abs=1e-50) for one in want)


@pytest.mark.parametrize("side", [-1, 1])
def test_huber_functions_beside_their_thresholds(side):
    inner, d = 2.0 * (side < 0), torch.tensor([0.75 * (1 + side * 1e-12)], dtype=torch.float64)
    assert Huber(0.75).curvature(d).item() == inner
    assert HuberLoss(0.75).curvature(0 * d, d).item() == inner
    assert HuberLoss(0.75).curvature(2 * d, d).item() == inner
