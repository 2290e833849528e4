"""Penalties against their formulas in high precision, autograd, finite differences and limits."""

import math

import mpmath as mp
import pytest
import torch
from exact_derivatives import check, exact
from hypothesis import example, given, strategies as st
from labels import label

from skmde.functions import kinds
from skmde.functions.base import Penalty
from skmde.functions.kinds import D_FLOOR
from skmde.penalties import (
    PENALTIES,
    Barrier,
    Cauchy,
    Cubic,
    Hinge,
    Huber,
    InversePower,
    Linear,
    Log,
    Log1p,
    Logistic,
    LogRatio,
    Power,
    Quadratic,
    Sigmoid,
    push_and_pull,
)


def _huber(t):
    return lambda d: d**2 if d < t else t * (2 * d - t)


def _logistic(t, a):
    return lambda d: mp.log(1 + mp.exp(a * (d - t)))


def _sigmoid(t, a):
    return lambda d: 1 / (1 + mp.exp(-a * (d - t)))


def _log1p(a):
    return lambda d: mp.log(1 + d**a)


def _log(a):
    # log1p and expm1 are mpmath's own; at 1e20 no number of digits would hold 1 - exp(-d).
    return lambda d: mp.log1p(-mp.exp(-(d**a))) if d > 1 else mp.log(-mp.expm1(-(d**a)))


def _log_ratio(a):
    return lambda d: mp.log(d**a / (1 + d**a)) if d < 1 else -mp.log1p(d**-a)


def _cauchy(s):
    return lambda d: -1 / (1 + (d / mp.mpf(s)) ** 2)


# Every penalty with its formula: one row for each new one.
CASES = [
    (Linear(), lambda d: d),
    (Quadratic(), lambda d: d**2),
    (Cubic(), lambda d: d**3),
    (Power(), lambda d: d**2),
    (Power(0.5), lambda d: d ** mp.mpf("0.5")),
    (Power(1.5), lambda d: d ** mp.mpf("1.5")),
    (Power(2.5), lambda d: d ** mp.mpf("2.5")),
    (Huber(), _huber(0.5)),
    (Huber(3.0), _huber(3)),
    (Logistic(), _logistic(0, 3)),
    (Logistic(2.0, 0.5), _logistic(2, 0.5)),
    (Log1p(), _log1p(1.5)),
    (Log1p(0.5), _log1p(0.5)),
    (Log1p(1.0), _log1p(1)),
    (Log1p(2.0), _log1p(2)),
    (Log1p(3.0), _log1p(3)),
    (Log(), _log(1)),
    (Log(0.5), _log(0.5)),
    (Log(3.0), _log(3)),
    (Log(6.0), _log(6)),
    (Log(8.0), _log(8)),
    (InversePower(), lambda d: -1 / d),
    (InversePower(2.0), lambda d: -1 / d**2),
    (InversePower(3.0), lambda d: -1 / d**3),
    (LogRatio(), _log_ratio(2)),
    (LogRatio(0.5), _log_ratio(0.5)),
    (LogRatio(3.0), _log_ratio(3)),
    (Cauchy(), _cauchy(1)),
    (Cauchy(0.25), _cauchy(0.25)),
    (Cauchy(1e-12), _cauchy(1e-12)),
    (Cauchy(1e12), _cauchy(1e12)),
    (Sigmoid(), _sigmoid(1, 1)),
    (Sigmoid(0.5, 4.0), _sigmoid(0.5, 4)),
    (Hinge(), lambda d: max(0, d - mp.mpf("0.5"))),
    (Hinge(2.0, 0.25), lambda d: max(0, d - mp.mpf("1.75"))),
    (Barrier(0.0), lambda d: d - mp.log(d)),
]
PENALTY_CASES = pytest.mark.parametrize(("penalty", "formula"), CASES, ids=lambda c: label(c)[:40])
EACH_PENALTY = pytest.mark.parametrize("penalty", [case[0] for case in CASES], ids=label)
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)

# From the floor to 1e20; no kink of a case lies on a point.
GRID = [1.01e-7, 1e-6, 1e-5, 1e-3, 0.03, 0.11, 0.3, 0.49, 0.51, 0.6, 0.69, 0.7, 0.71, 0.99, 1.0]
GRID += [1.01, 1.3, 1.7, 2.1, 2.9, 3.7, 7.0, 11.0, 29.0, 80.0, 300.0, 2e3, 1e5, 1e8, 1e13, 1e20]
EXTREMES = [0.0, 1e-45, 1e-38, 1e-30, 1e-19, 1e-8, 1e-7, 1.0, 1e10, 1e19, 1e20, 1e30]


def _scaled(penalty, d):
    """Size of the terms that cancel in a curvature near its zero."""
    return penalty.slope(d).double().abs()


@PENALTY_CASES
def test_float64_matches_formula(penalty, formula):
    d = torch.tensor(GRID, dtype=torch.float64)
    value, slope, curvature = exact(formula, d)
    check(penalty.value(d), value, relative=1e-13, what="value")
    check(penalty.slope(d), slope, relative=1e-13, what="slope")
    check(penalty.curvature(d), curvature, relative=2e-13, scale=_scaled(penalty, d), what="curv")


@PENALTY_CASES
def test_float32_matches_formula(penalty, formula):
    d = torch.tensor(GRID, dtype=torch.float32)
    limit = torch.finfo(torch.float32).max
    value, slope, curvature = (x.clamp(-limit, limit) for x in exact(formula, d))
    # exp(-80) has the rounding of its argument: 80 times 6e-8.
    check(penalty.value(d), value, relative=1e-5, what="value")
    check(penalty.slope(d), slope, relative=1e-5, what="slope")
    check(penalty.curvature(d), curvature, relative=1e-5, scale=_scaled(penalty, d), what="curv")


@EACH_PENALTY
def test_float32_agrees_with_float64_down_to_zero(penalty):
    single = torch.tensor([*EXTREMES, *GRID], dtype=torch.float32)
    double = single.double()
    limit = torch.finfo(torch.float32).max
    for name in ("value", "slope", "curvature"):
        want = getattr(penalty, name)(double).clamp(-limit, limit)
        if isinstance(penalty, Barrier) and name == "value":
            assert torch.equal(getattr(penalty, name)(single).isinf(), want > 3e38)
            continue
        scale = _scaled(penalty, double) if name == "curvature" else 0.0
        check(getattr(penalty, name)(single), want, relative=1e-5, scale=scale, what=name)


@DTYPES
@EACH_PENALTY
def test_finite_at_the_extremes_and_dtype_kept(penalty, dtype):
    d = torch.tensor(EXTREMES, dtype=dtype)
    kept = d.clone()
    for w in (1.0, -1.0, 1e3, 0.0):
        weights = torch.full_like(d, w)
        for name in ("value", "slope", "curvature"):
            plain = getattr(penalty, name)(d)
            weighted = getattr(penalty, f"weighted_{name}")(d, weights)
            assert plain.dtype == weighted.dtype == dtype
            assert plain.shape == weighted.shape == d.shape
            if name != "value" or not isinstance(penalty, Barrier):
                assert plain.isfinite().all()
                assert weighted.isfinite().all()
    assert torch.equal(d, kept)


@EACH_PENALTY
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_shape_kept(penalty, shape):
    d = torch.full(shape, 1.7)
    for name in ("value", "slope", "curvature"):
        assert getattr(penalty, name)(d).shape == shape
        assert getattr(penalty, f"weighted_{name}")(d, torch.ones(shape)).shape == shape


@EACH_PENALTY
def test_closed_forms_match_autograd(penalty):
    # Where functions switch between forms (0.7, 1) autograd must find one of them only.
    d = torch.tensor([1e-6, 0.01, 0.3, 0.7, 0.9, 1.0, 1.1, 2.2, 3.5], dtype=torch.float64)
    check(penalty.slope(d), Penalty.slope(penalty, d), relative=1e-9, what="slope")
    curvature = Penalty.curvature(penalty, d)
    check(penalty.curvature(d), curvature, relative=1e-9, scale=_scaled(penalty, d), what="curv")


@DTYPES
@EACH_PENALTY
def test_values_can_be_differentiated_by_autograd(penalty, dtype):
    # A user may build on a built-in function: no branch that is not taken may leak a NaN.
    d = torch.tensor([*EXTREMES[:8], 100.0, 1e4], dtype=dtype, requires_grad=True)
    (gradient,) = torch.autograd.grad(penalty.value(d).sum(), d)
    assert not gradient.isnan().any()


@EACH_PENALTY
def test_closed_forms_match_finite_differences(penalty):
    d = torch.tensor([0.2, 0.6, 1.2, 2.6, 5.0], dtype=torch.float64)
    h = 1e-5
    low, high = penalty.value(d - h), penalty.value(d + h)
    torch.testing.assert_close((high - low) / (2 * h) / d, penalty.slope(d), rtol=1e-6, atol=1e-8)
    low, high = (penalty.slope(d + s) * (d + s) for s in (-h, h))
    torch.testing.assert_close((high - low) / (2 * h), penalty.curvature(d), rtol=1e-6, atol=1e-7)


# At d = 0: value, slope, curvature, from the formulas with d = 1e-7 where they diverge.
AT_ZERO = [
    (Linear(), 0.0, 1e7, 0.0),
    (Quadratic(), 0.0, 2.0, 2.0),
    (Cubic(), 0.0, 0.0, 0.0),
    (Power(2.0), 0.0, 2.0, 2.0),
    (Power(3.0), 0.0, 0.0, 0.0),
    (Power(2.5), 0.0, 0.0, 0.0),
    (Power(1.5), 0.0, 1.5 * 10**3.5, 0.75 * 10**3.5),
    (Huber(), 0.0, 2.0, 2.0),
    (Logistic(), math.log(2), 1.5e7, 2.25),
    (Log1p(1.0), 0.0, 1e7, -1.0),
    (Log1p(2.0), 0.0, 2.0, 2.0),
    (Log1p(3.0), 0.0, 0.0, 0.0),
    (Log1p(1.5), 0.0, 1.5 * 10**3.5, 0.75 * 10**3.5),
    (Log(), -7 * math.log(10) - 0.5e-7, 1e14, -1e14),
    (Log(2.0), -14 * math.log(10), 2e14, -2e14),
    (InversePower(), -1e7, 1e21, -2e21),
    (InversePower(3.0), -1e21, 3e35, -12e35),
    (LogRatio(), -14 * math.log(10), 2e14, -2e14),
    (Cauchy(), -1.0, 2.0, 2.0),
    (Cauchy(0.5), -1.0, 8.0, 8.0),
    (Sigmoid(0.0, 1.0), 0.5, 0.25e7, 0.0),
    (Hinge(), 0.0, 0.0, 0.0),
    (Hinge(1.0, 3.0), 2.0, 1e7, 0.0),
    (Barrier(1.0), math.inf, (1 - 1e7) * 1e7, 1e14),
]


@DTYPES
@pytest.mark.parametrize(("penalty", "value", "slope", "curvature"), AT_ZERO, ids=label)
def test_at_zero_distance(penalty, value, slope, curvature, dtype):
    zero = torch.zeros(1, dtype=dtype)
    rtol = 1e-6 if dtype == torch.float64 else 1e-5
    assert penalty.value(zero).item() == pytest.approx(value, rel=rtol)
    assert penalty.slope(zero).item() == pytest.approx(slope, rel=rtol)
    assert penalty.curvature(zero).item() == pytest.approx(curvature, rel=rtol, abs=1e-6)


def test_floor_is_the_documented_one():
    assert D_FLOOR == kinds.D_FLOOR == 1e-7


@pytest.mark.parametrize("penalty", [Log(), InversePower(2.0), LogRatio(1.5)], ids=label)
def test_barriers_are_constant_below_the_floor_and_not_above(penalty):
    below = torch.tensor([0.0, 1e-12, 9.9e-8, 1e-7], dtype=torch.float64)
    above = torch.tensor([1.1e-7, 2e-7], dtype=torch.float64)
    for name in ("value", "slope", "curvature"):
        results = getattr(penalty, name)(below)
        assert (results == results[-1]).all()
        assert (getattr(penalty, name)(above) != results[-1]).all()


# Closed forms worked out by hand.
GOLDEN = [
    (Linear(), 3.0, 3.0),
    (Quadratic(), 3.0, 9.0),
    (Cubic(), 3.0, 27.0),
    (Power(1.5), 4.0, 8.0),
    (Huber(), 0.25, 0.0625),
    (Huber(), 2.0, 1.75),
    (Logistic(), 0.0, math.log(2)),
    (Logistic(1.0, 2.0), 1.0, math.log(2)),
    (Log1p(), 4.0, math.log(9)),
    (Log1p(), 1e20, 30 * math.log(10)),
    (Log(), math.log(2), math.log(0.5)),
    (Log(2.0), math.sqrt(math.log(2)), math.log(0.5)),
    (InversePower(), 4.0, -0.25),
    (LogRatio(), 1.0, -math.log(2)),
    (LogRatio(), 2.0, math.log(0.8)),
    (Cauchy(), 1.0, -0.5),
    (Cauchy(2.0), 4.0, -0.2),
    (Sigmoid(), 1.0, 0.5),
    (Sigmoid(1.0, 2.0), 1 + math.log(3) / 2, 0.75),
    (Hinge(), 2.0, 1.5),
    (Barrier(1.0), 2.0, 2.0),
]


@pytest.mark.parametrize(("penalty", "d", "value"), GOLDEN, ids=label)
def test_golden_values(penalty, d, value):
    assert penalty.value(torch.tensor(d, dtype=torch.float64)).item() == pytest.approx(value)


def test_defaults_are_the_documented_ones():
    assert Power() == Power(exponent=2.0)
    assert Huber() == Huber(threshold=0.5)
    assert Logistic() == Logistic(threshold=0.0, scale=3.0)
    assert Log1p() == Log1p(exponent=1.5)
    assert Log() == Log(exponent=1.0)
    assert InversePower() == InversePower(exponent=1.0)
    assert LogRatio() == LogRatio(exponent=2.0)
    assert Cauchy() == Cauchy(scale=1.0)
    assert Sigmoid() == Sigmoid(threshold=1.0, scale=1.0)
    assert Hinge() == Hinge(threshold=1.0, margin=None)


@given(
    st.sampled_from([case[0] for case in CASES if not isinstance(case[0], Barrier)]),
    st.floats(0, 1e20),
    st.floats(0, 1e20),
)
def test_every_penalty_increases_with_distance(penalty, first, second):
    d = torch.tensor(sorted((first, second)), dtype=torch.float64)
    low, high = penalty.value(d).tolist()
    assert low <= high + 1e-14 * abs(high)
    assert (penalty.slope(d) >= 0).all()


@given(
    st.floats(0.05, 8),
    st.floats(0, 1e20),
    st.sampled_from([Power, Log1p, Log, LogRatio, InversePower]),
)
def test_any_exponent_is_finite_in_float32(exponent, distance, penalty):
    d = torch.tensor([distance], dtype=torch.float32)
    for name in ("value", "slope", "curvature"):
        assert getattr(penalty(exponent), name)(d).isfinite().all()


@given(st.floats(-60, 60), st.floats(-45, 20))
@example(-30, -10)  # the slope fits, but not the square of d / scale
def test_any_scale_is_finite_in_float32_and_differs_from_float64_by_rounding(scale, distance):
    single = torch.tensor([0.0, 10**distance], dtype=torch.float32)
    penalty, limit = Cauchy(10**scale), torch.finfo(torch.float32).max
    for name in ("value", "slope", "curvature"):
        got = getattr(penalty, name)(single)
        assert got.isfinite().all()
        if abs(scale) < 37:
            want = getattr(penalty, name)(single.double())
            allowed = _scaled(penalty, single.double()) if name == "curvature" else 0.0
            check(got, want.clamp(-limit, limit), relative=1e-5, scale=allowed, what=name)


def test_huge_results_are_clamped_and_not_infinite():
    d = torch.tensor([1e20], dtype=torch.float32)
    assert Cubic().value(d).item() == torch.finfo(torch.float32).max
    assert Huber(1e30).value(d).item() == torch.finfo(torch.float32).max
    assert InversePower(8.0).value(0 * d).item() == -torch.finfo(torch.float32).max
    assert Cauchy(1e-30).slope(0 * d).item() == torch.finfo(torch.float32).max
    minus_two = torch.tensor([-2.0])
    assert Cubic().weighted_value(d, minus_two).item() == -torch.finfo(torch.float32).max


@EACH_PENALTY
def test_huge_weights_are_finite(penalty):
    d = torch.tensor([1e-30, 1e-7, 0.25, 2.0, 1e20])
    for w in (torch.full_like(d, 3e38), torch.full_like(d, -3e38)):
        for name in ("value", "slope", "curvature"):
            assert getattr(penalty, f"weighted_{name}")(d, w).isfinite().all()


def test_nan_is_not_hidden():
    nan = torch.tensor([math.nan])
    for penalty in (Linear(), Cubic(), Log1p(), Log(), Sigmoid(), Cauchy()):
        assert penalty.value(nan).isnan().all()


@pytest.mark.parametrize(
    "penalty", [case[0] for case in CASES if not isinstance(case[0], (Hinge, Barrier))], ids=label
)
def test_weights_multiply_from_outside(penalty):
    d, w = torch.tensor([0.3, 0.9, 2.2]), torch.tensor([2.0, -3.0, 0.5])
    for name in ("value", "slope", "curvature"):
        weighted = getattr(penalty, f"weighted_{name}")(d, w)
        assert torch.equal(weighted, w * getattr(penalty, name)(d))


def test_hinge_follows_the_sign_of_the_weight():
    # max(0, w (d - (t - sign(w) s))) with t = 2, s = 0.5: kinks at 1.5 and 2.5.
    hinge = Hinge(threshold=2.0, margin=0.5)
    d = torch.tensor([0.0, 1.0, 1.5, 2.0, 2.5, 4.0])
    three = torch.full_like(d, 3.0)
    assert hinge.weighted_value(d, three).tolist() == [0, 0, 0, 1.5, 3, 7.5]
    assert hinge.weighted_slope(d, three).tolist() == pytest.approx([0, 0, 0, 1.5, 1.2, 0.75])
    assert hinge.weighted_value(d, -three).tolist() == [7.5, 4.5, 3, 1.5, 0, 0]
    assert hinge.weighted_slope(d, -three).tolist() == pytest.approx([-3e7, -3, -2, -1.5, 0, 0])
    assert hinge.weighted_curvature(d, three).tolist() == [0] * 6
    assert hinge.weighted_value(d, 0 * d).tolist() == [0] * 6
    assert hinge.weighted_slope(d, 0 * d).tolist() == [0] * 6


def test_hinge_margin_defaults_to_half_the_threshold():
    d = torch.tensor([0.5, 3.0, 4.0, 9.0])
    for w in (torch.ones(4), -torch.ones(4)):
        expected = Hinge(6.0, 3.0).weighted_value(d, w)
        assert torch.equal(Hinge(6.0).weighted_value(d, w), expected)


@DTYPES
def test_barrier_is_infinite_inside_rho_and_its_derivatives_are_exact_outside(dtype):
    rho, w = 0.5, 3.0
    d = torch.tensor([0.0, 0.4, 0.5, 0.75, 1.5, 1e20], dtype=dtype)
    weights = torch.full_like(d, w)
    value = Barrier(rho).weighted_value(d, weights)
    assert value[:3].tolist() == [math.inf] * 3
    want = [w * x - math.log(x - rho) for x in (0.75, 1.5, 1e20)]
    assert value[3:].tolist() == pytest.approx(want, rel=1e-6)
    slope = Barrier(rho).weighted_slope(d, weights)
    want = [(w - 1 / (x - rho)) / x for x in (0.75, 1.5, 1e20)]
    assert slope[3:].tolist() == pytest.approx(want, rel=1e-6)
    # Inside, the slope still says "farther apart".
    assert (slope[:3] < 0).all()
    curvature = Barrier(rho).weighted_curvature(d, weights)
    assert curvature[3:5].tolist() == pytest.approx([16.0, 1.0])


def test_barrier_curvature_takes_the_shape_of_the_weights():
    d, w = torch.tensor(2.0), torch.ones(3)
    assert Barrier(1.0).weighted_curvature(d, w).tolist() == [1.0, 1.0, 1.0]


def test_kernel_parameters():
    got = {name: cls().kernel_parameters() for name, cls in PENALTIES.items() if cls != Barrier}
    assert got == {
        "linear": (0, 0.0, 0.0),
        "quadratic": (1, 0.0, 0.0),
        "cubic": (2, 0.0, 0.0),
        "power": (3, 2.0, 0.0),
        "huber": (4, 0.5, 0.0),
        "logistic": (5, 0.0, 3.0),
        "log1p": (6, 1.5, 0.0),
        "log": (7, 1.0, 0.0),
        "inverse_power": (8, 1.0, 0.0),
        "log_ratio": (9, 2.0, 0.0),
        "cauchy": (13, 1.0, 0.0),
        "sigmoid": (10, 1.0, 1.0),
        "hinge": (11, 1.0, 0.5),
    }
    assert Barrier(2.0).kernel_parameters() == (kinds.BARRIER, 2.0, 0.0)
    assert Hinge(1.0, 0.75).kernel_parameters() == (kinds.HINGE, 1.0, 0.75)
    assert Logistic(2.0, 5.0).kernel_parameters() == (kinds.LOGISTIC, 2.0, 5.0)
    assert Sigmoid(2.0, 5.0).kernel_parameters() == (kinds.SIGMOID, 2.0, 5.0)


def test_every_penalty_class_has_a_row_of_tests():
    assert {type(case[0]) for case in CASES} == set(PENALTIES.values())


def test_push_and_pull():
    assert push_and_pull() == (Log1p(), Log())
    assert push_and_pull("huber", LogRatio(1.0)) == (Huber(), LogRatio(1.0))
    with pytest.raises(TypeError, match=r"class Log; pass an instance, e\.g\. Log\(\)"):
        push_and_pull("log1p", Log)
