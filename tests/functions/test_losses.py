"""Losses against their formulas in high precision, autograd, finite differences and limits."""

import math

import mpmath as mp
import pytest
import torch
from exact_derivatives import check, exact
from hypothesis import given, strategies as st
from labels import label

from skmde.functions import kinds
from skmde.functions.adapters import CallableLoss
from skmde.functions.base import Loss
from skmde.losses import (
    LOSSES,
    AbsoluteLoss,
    CubicLoss,
    FractionalLoss,
    HuberLoss,
    LogisticLoss,
    PowerLoss,
    SoftFractionalLoss,
    SquaredLoss,
    WeightedSquaredLoss,
)


def _huber(t):
    def formula(delta, d):
        r = abs(delta - d)
        return r**2 if r <= t else t * (2 * r - t)

    return formula


def _soft_fractional(g):
    def formula(delta, d):
        return mp.log((mp.exp(g * delta / d) + mp.exp(g * d / delta)) / (2 * mp.exp(g))) / g

    return formula


def inverse_cube_root(delta):
    return delta ** (-1 / 3)


# Every loss with its formula: one row for each new one.
CASES = [
    (SquaredLoss(), lambda delta, d: (delta - d) ** 2),
    (WeightedSquaredLoss(), lambda delta, d: (delta - d) ** 2 / delta**2),
    (WeightedSquaredLoss("sammon"), lambda delta, d: (delta - d) ** 2 / delta),
    (
        WeightedSquaredLoss(inverse_cube_root),
        lambda delta, d: (delta - d) ** 2 / mp.root(delta, 3),
    ),
    (HuberLoss(), _huber(1)),
    (HuberLoss(0.25), _huber(0.25)),
    (AbsoluteLoss(), lambda delta, d: abs(delta - d)),
    (LogisticLoss(), lambda delta, d: mp.log((1 + mp.exp(abs(delta - d))) / 2)),
    (FractionalLoss(), lambda delta, d: max(delta / d, d / delta) - 1),
    (SoftFractionalLoss(), _soft_fractional(10)),
    (SoftFractionalLoss(0.5), _soft_fractional(0.5)),
    (PowerLoss(), lambda delta, d: (delta - d) ** 2),
    (PowerLoss(1.0), lambda delta, d: abs(delta - d)),
    (PowerLoss(1.5), lambda delta, d: abs(delta - d) ** mp.mpf(1.5)),
    (PowerLoss(1.9), lambda delta, d: abs(delta - d) ** mp.mpf(1.9)),
    (PowerLoss(2.95), lambda delta, d: abs(delta - d) ** mp.mpf(2.95)),
    (PowerLoss(4.0), lambda delta, d: (delta - d) ** 4),
    (CubicLoss(), lambda delta, d: abs(delta - d) ** 3),
]
LOSS_CASES = pytest.mark.parametrize(("loss", "formula"), CASES, ids=lambda c: label(c)[:40])
EACH_LOSS = pytest.mark.parametrize("loss", [case[0] for case in CASES], ids=label)
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)

DELTAS = [1e-3, 0.2, 1.0, 7.0, 1e5]
# No point lies on a target or on a kink of a Huber loss.
GRID = [1.01e-7, 1e-5, 2e-3, 0.03, 0.19, 0.21, 0.5, 0.9, 0.99, 1.01, 1.1, 1.9, 3.3, 6.9, 7.3]
GRID += [23.0, 90.0, 2e3, 9e4, 1.1e5, 1e8, 1e13, 1e20]
EXTREMES = [0.0, 1e-45, 1e-38, 1e-30, 1e-19, 1e-8, 1e-7, 1.0, 1e10, 1e19, 1e20, 1e30, 3e38]


def _pairs(first, second, dtype):
    delta, d = torch.meshgrid(
        torch.tensor(first, dtype=dtype), torch.tensor(second, dtype=dtype), indexing="ij"
    )
    return delta.reshape(-1), d.reshape(-1)


def _grid(loss, delta):
    """The grid above the floor, which the fractional losses have at a ratio."""
    fractional = isinstance(loss, (FractionalLoss, SoftFractionalLoss))
    return [d for d in GRID if not fractional or d > 1.01e-7 * delta]


@pytest.mark.parametrize("delta", DELTAS)
@LOSS_CASES
def test_float64_matches_formula(loss, formula, delta):
    delta, d = _pairs([delta], _grid(loss, delta), torch.float64)
    target = mp.mpf(delta[0].item())
    want = exact(lambda x: formula(target, x), d)
    for name, numbers in zip(("value", "slope", "curvature"), want, strict=True):
        numbers = numbers.clamp(-1e308, 1e308)
        check(getattr(loss, name)(delta, d), numbers, relative=1e-12, what=name)


@pytest.mark.parametrize("delta", DELTAS)
@LOSS_CASES
def test_float32_matches_formula(loss, formula, delta):
    delta, d = _pairs([delta], _grid(loss, delta), torch.float32)
    target = mp.mpf(delta[0].item())
    limit = torch.finfo(torch.float32).max
    want = exact(lambda x: formula(target, x), d)
    for name, numbers in zip(("value", "slope", "curvature"), want, strict=True):
        # exp(-80) has the rounding of its argument, 80 times 6e-8, and is near underflow.
        numbers = numbers.clamp(-limit, limit)
        check(getattr(loss, name)(delta, d), numbers, relative=2e-5, scale=1e-25, what=name)


@EACH_LOSS
def test_float32_agrees_with_float64_down_to_zero(loss):
    delta, d = _pairs([0.0, 1e-3, 0.2, 1.0, 7.0, 1e5], [0.0, *GRID], torch.float32)
    limit = torch.finfo(torch.float32).max
    for name in ("value", "slope", "curvature"):
        want = getattr(loss, name)(delta.double(), d.double()).clamp(-limit, limit)
        check(getattr(loss, name)(delta, d), want, relative=2e-5, scale=1e-25, what=name)


@DTYPES
@EACH_LOSS
def test_finite_at_the_extremes_and_dtype_kept(loss, dtype):
    delta, d = _pairs(EXTREMES, EXTREMES, dtype)
    kept = delta.clone(), d.clone()
    for name in ("value", "slope", "curvature"):
        result = getattr(loss, name)(delta, d)
        assert result.dtype == dtype
        assert result.shape == d.shape
        assert result.isfinite().all()
    assert torch.equal(delta, kept[0])
    assert torch.equal(d, kept[1])


class OwnLoss(Loss):
    """A user's loss without a closed form of its slope."""

    def value(self, delta, d):
        return (d - delta) ** 2 / (delta + d)


SHORT = [1e-30, 1e-20, 1e-12, 5e-8]
# ``test_curvature.py`` has the curvatures.
SHORT_CASES = [*CASES, (OwnLoss(), lambda delta, d: (d - delta) ** 2 / (d + delta))]
SHORT_CASES += [(CallableLoss(OwnLoss().value), SHORT_CASES[-1][1])]


@pytest.mark.parametrize("delta", SHORT)
@pytest.mark.parametrize(("loss", "formula"), SHORT_CASES, ids=lambda c: label(c)[:40])
def test_slopes_are_right_far_below_the_floor(loss, formula, delta):
    # The residual changes its sign at delta: a floor of the distance must not move it.
    ratios = [1e-6, 0.03, 0.6, 0.99, 1.01, 1.7, 40.0, 1e6]
    delta, d = _pairs([delta], [delta * ratio for ratio in ratios], torch.float64)
    target = mp.mpf(delta[0].item())
    value, slope, _ = exact(lambda x: formula(target, x), d)
    check(loss.value(delta, d), value, relative=1e-12, what="value")
    got = loss.slope(delta, d)
    check(got / slope, torch.ones_like(got), relative=1e-10, what="slope")


@EACH_LOSS
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_shape_kept(loss, shape):
    delta, d = torch.full(shape, 0.5), torch.full(shape, 1.7)
    for name in ("value", "slope", "curvature"):
        assert getattr(loss, name)(delta, d).shape == shape


@EACH_LOSS
def test_closed_forms_match_autograd(loss):
    delta, d = _pairs([0.0, 0.4, 1.0, 3.0], [0.05, 0.3, 0.9, 1.3, 3.7], torch.float64)
    check(loss.slope(delta, d), Loss.slope(loss, delta, d), relative=1e-8, what="slope")
    # Autograd's own second derivative cancels where the softmax saturates.
    want = Loss.curvature(loss, delta, d)
    check(loss.curvature(delta, d), want, relative=1e-8, scale=1e-6, what="curvature")


@DTYPES
@EACH_LOSS
def test_values_can_be_differentiated_by_autograd(loss, dtype):
    # A user may build on a built-in function: no branch that is not taken may leak a NaN.
    delta, d = _pairs([0.0, 1e-3, 1.0, 1e3], [0.0, 1e-8, 1e-7, 1e-3, 1.0, 1e3], dtype)
    d.requires_grad_()
    (gradient,) = torch.autograd.grad(loss.value(delta, d).sum(), d)
    assert not gradient.isnan().any()


@EACH_LOSS
def test_closed_forms_match_finite_differences(loss):
    delta, d = _pairs([0.4, 1.0, 3.0], [0.25, 0.6, 1.3, 2.6, 4.5], torch.float64)
    h = 1e-5
    low, high = loss.value(delta, d - h), loss.value(delta, d + h)
    want = loss.slope(delta, d)
    torch.testing.assert_close((high - low) / (2 * h) / d, want, rtol=1e-6, atol=1e-8)
    low, high = (loss.slope(delta, d + s) * (d + s) for s in (-h, h))
    want = loss.curvature(delta, d)
    torch.testing.assert_close((high - low) / (2 * h), want, rtol=1e-5, atol=1e-6)


# Closed forms worked out by hand: loss, delta, d, value.
GOLDEN = [
    (SquaredLoss(), 2.0, 5.0, 9.0),
    (WeightedSquaredLoss(), 2.0, 5.0, 2.25),
    (WeightedSquaredLoss("sammon"), 2.0, 5.0, 4.5),
    (WeightedSquaredLoss(inverse_cube_root), 8.0, 5.0, 4.5),
    (HuberLoss(), 2.0, 2.5, 0.25),
    (HuberLoss(), 2.0, 1.0, 1.0),
    (HuberLoss(), 2.0, 5.0, 5.0),
    (AbsoluteLoss(), 2.0, 0.5, 1.5),
    (LogisticLoss(), 1.0, 1.0 + math.log(3), math.log(2)),
    (FractionalLoss(), 2.0, 0.5, 3.0),
    (FractionalLoss(), 2.0, 6.0, 2.0),
    (SoftFractionalLoss(1.0), 2.0, 1.0, math.log((math.exp(2) + math.exp(0.5)) / 2) - 1),
    (PowerLoss(3.0), 2.0, 0.0, 8.0),
    (CubicLoss(), 2.0, 4.0, 8.0),
]


@pytest.mark.parametrize(("loss", "delta", "d", "value"), GOLDEN, ids=label)
def test_golden_values(loss, delta, d, value):
    delta, d = torch.tensor([delta], dtype=torch.float64), torch.tensor([d], dtype=torch.float64)
    assert loss.value(delta, d).item() == pytest.approx(value)


def test_defaults_are_the_documented_ones():
    assert WeightedSquaredLoss() == WeightedSquaredLoss(kappa="kamada_kawai")
    assert HuberLoss() == HuberLoss(threshold=1.0)
    assert SoftFractionalLoss() == SoftFractionalLoss(gamma=10.0)
    assert PowerLoss() == PowerLoss(exponent=2.0)


@EACH_LOSS
@given(delta=st.floats(0, 1e6), d=st.floats(0, 1e6))
def test_loss_is_zero_at_the_target_and_nowhere_negative(loss, delta, d):
    delta, d = torch.tensor([delta], dtype=torch.float64), torch.tensor([d], dtype=torch.float64)
    assert loss.value(delta, delta).item() == 0
    assert loss.value(delta, d).item() >= 0


@EACH_LOSS
@given(delta=st.floats(1e-6, 1e6), ratio=st.floats(1.001, 1e6))
def test_slope_points_to_the_target(loss, delta, ratio):
    delta = torch.tensor([delta, delta], dtype=torch.float64)
    d = delta * torch.tensor([1 / ratio, ratio], dtype=torch.float64)
    below, above = loss.slope(delta, d).tolist()
    assert below < 0 < above


@DTYPES
@EACH_LOSS
def test_slope_is_zero_at_the_target(loss, dtype):
    delta = torch.tensor([1e-3, 0.3, 1.0, 1e4], dtype=dtype)
    assert loss.slope(delta, delta.clone()).tolist() == [0.0] * 4


def test_kinks_have_slope_zero_even_for_a_pair_that_coincides():
    zero = torch.zeros(1)
    assert AbsoluteLoss().slope(zero, zero).item() == 0
    assert LogisticLoss().slope(zero, zero).item() == 0


# At d = 0, delta = 1: value, slope, curvature, from the formulas at d = 1e-7 where they diverge.
AT_ZERO = [
    (SquaredLoss(), 1.0, -2e7, 2.0),
    (WeightedSquaredLoss(), 1.0, -2e7, 2.0),
    (HuberLoss(0.25), 0.4375, -0.5e7, 0.0),
    (AbsoluteLoss(), 1.0, -1e7, 0.0),
    (FractionalLoss(), 1e7, -1e21, 2e21),
    (SoftFractionalLoss(), 1e7, -1e21, 2e21),
    (PowerLoss(1.5), 1.0, -1.5e7, 0.75),
    (CubicLoss(), 1.0, -3e7, 6.0),
]


@DTYPES
@pytest.mark.parametrize(("loss", "value", "slope", "curvature"), AT_ZERO, ids=label)
def test_at_zero_distance(loss, value, slope, curvature, dtype):
    delta, d = torch.ones(1, dtype=dtype), torch.zeros(1, dtype=dtype)
    assert loss.value(delta, d).item() == pytest.approx(value, rel=1e-5)
    assert loss.slope(delta, d).item() == pytest.approx(slope, rel=1e-5)
    assert loss.curvature(delta, d).item() == pytest.approx(curvature, rel=1e-5)


@DTYPES
@pytest.mark.parametrize("kappa", ["kamada_kawai", "sammon", inverse_cube_root])
def test_weighted_squared_loss_of_identical_items_is_the_squared_one(kappa, dtype):
    delta, d = _pairs([0.0], [0.0, 0.5, 3.0], dtype)
    loss = WeightedSquaredLoss(kappa)
    assert loss.value(delta, d).tolist() == [0, 0.25, 9]
    assert loss.slope(delta, d).tolist() == [2, 2, 2]
    assert loss.curvature(delta, d).tolist() == [2, 2, 2]


@DTYPES
@pytest.mark.parametrize("loss", [FractionalLoss(), SoftFractionalLoss()], ids=label)
def test_fractional_losses_of_identical_items_are_the_distance(loss, dtype):
    delta, d = _pairs([0.0], [0.0, 0.5, 4.0], dtype)
    assert loss.value(delta, d).tolist() == [0, 0.5, 4]
    assert loss.slope(delta, d).tolist() == pytest.approx([1e7, 2, 0.25])
    assert loss.curvature(delta, d).tolist() == [0, 0, 0]


@pytest.mark.parametrize("kappa", [lambda delta: 5 - delta, torch.ones_like])
def test_kappa_that_is_finite_at_zero_is_used_there(kappa):
    delta, d = torch.tensor([0.0, 2.0]), torch.tensor([3.0, 3.0])
    want = kappa(delta) * (delta - d) ** 2
    assert torch.equal(WeightedSquaredLoss(kappa).value(delta, d), want)


@pytest.mark.parametrize("loss", [FractionalLoss(), SoftFractionalLoss(3.0)], ids=label)
@given(st.floats(0.0, 50.0), st.sampled_from([2.0**-60, 2.0**60]))
def test_fractional_losses_do_not_change_with_scale(loss, d, scale):
    delta, d = torch.tensor([2.0], dtype=torch.float64), torch.tensor([d], dtype=torch.float64)
    scaled = loss.value(scale * delta, scale * d)
    torch.testing.assert_close(scaled, loss.value(delta, d), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", [FractionalLoss(), SoftFractionalLoss()], ids=label)
def test_fractional_losses_are_exact_near_the_target(loss):
    # (d / delta - 1) is 2^-20 exactly; the naive formula leaves two digits of it in float32.
    delta = torch.ones(1)
    d = delta + 2.0**-20
    naive = 2.0**-20
    soft = naive**2 / 2 + (10 * naive) ** 2 / 20  # (u + 1/u) / 2 - 1, and log cosh(y) / gamma
    want = naive if isinstance(loss, FractionalLoss) else soft
    assert loss.value(delta, d).item() == pytest.approx(want, rel=1e-5)


def test_logistic_loss_is_exact_near_the_target():
    delta = torch.ones(1)
    got = LogisticLoss().value(delta, delta + 2.0**-20).item()
    assert got == pytest.approx(2.0**-21, rel=1e-5)


def test_kernel_parameters():
    got = {name: cls().kernel_parameters() for name, cls in LOSSES.items()}
    assert got == {
        "squared": (32, 0.0, 0.0),
        "weighted_squared": (33, 2.0, 0.0),
        "huber": (34, 1.0, 0.0),
        "absolute": (35, 0.0, 0.0),
        "logistic": (36, 0.0, 0.0),
        "fractional": (37, 0.0, 0.0),
        "soft_fractional": (38, 10.0, 0.0),
        "power": (39, 2.0, 0.0),
        "cubic": (39, 3.0, 0.0),
    }
    assert WeightedSquaredLoss("sammon").kernel_parameters() == (kinds.WEIGHTED_SQUARED, 1.0, 0.0)
    assert WeightedSquaredLoss(inverse_cube_root).kernel_parameters() is None


def test_cubic_loss_has_no_parameters():
    assert CubicLoss().get_params() == {}


def test_every_loss_class_has_a_row_of_tests():
    assert {type(case[0]) for case in CASES} == set(LOSSES.values())


@pytest.mark.parametrize("loss", [make() for make in LOSSES.values()], ids=list(LOSSES))
def test_degree_of_homogeneity(loss):
    delta = torch.rand(50, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 0.1
    d = torch.rand(50, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 0.1
    ratio = loss.value(7 * delta, 7 * d) / loss.value(delta, d)
    if loss.degree is None:
        assert float(ratio.max() / ratio.min()) > 1.01
    else:
        torch.testing.assert_close(ratio, torch.full_like(ratio, 7.0**loss.degree))
