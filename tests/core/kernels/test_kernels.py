"""The compiled kernels against the torch functions that they stand for."""

import mpmath
import numpy as np
import pytest
import torch
from exact_derivatives import check, exact
from kernel_cases import LOSSES, PENALTIES

from skmde import losses, penalties
from skmde.core.kernels import numba_edges, numba_losses, numba_maps, torch_reference
from skmde.functions import kinds
from skmde.functions.base import Loss

DTYPES = [np.float32, np.float64]
WEIGHTS = (0.7, -2.6)
# Zero distances are a case of their own: two items are the same.
TARGETS = (0.0, 1e-20, 1e-9, 1e-3, 0.5, 1.0, 1.5, 3.0, 1e4, 1e12, 1e19)


def kernel(function, d2, t, w):
    """Weighted distortions and slopes from the compiled map."""
    kind, a, b = function.kernel_parameters()
    value, slope = np.empty_like(d2), np.empty_like(d2)
    scratch = np.empty_like(d2), np.empty_like(d2)
    numba_maps.evaluate(kind, np.array([a, b], d2.dtype), w, t, d2, *scratch, value, slope)
    return value.astype(np.float64), slope.astype(np.float64)


def reference(function, d, t, w):
    """The same from the torch function, in float64."""
    d, t, w = (torch.from_numpy(x.astype(np.float64)) for x in (d, t, w))
    if isinstance(function, Loss):
        return (w * function.value(t, d)).numpy(), (w * function.slope(t, d)).numpy()
    return function.weighted_value(d, w).numpy(), function.weighted_slope(d, w).numpy()


def grid(dtype, is_loss):
    """Distances from 0 to 1e19, original distances (equal ones too) and weights."""
    d = np.concatenate(
        [[0.0], np.logspace(-12, 19, 94), np.linspace(0.05, 6, 60), kinds.D_FLOOR * np.ones(1)]
    ).astype(dtype)
    d2 = d * d
    d = np.sqrt(d2)
    if is_loss:
        above = np.nextafter(d, dtype(np.inf))
        above[0] = 0
        t = np.concatenate([np.full_like(d, target) for target in TARGETS] + [d, above])
        d, d2 = np.tile(d, len(TARGETS) + 2), np.tile(d2, len(TARGETS) + 2)
    else:
        t = np.zeros_like(d)
    w = np.repeat(np.array(WEIGHTS, dtype), len(d))
    return np.tile(d, len(WEIGHTS)), np.tile(d2, len(WEIGHTS)), np.tile(t, len(WEIGHTS)), w


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", PENALTIES + LOSSES, ids=repr)
def test_map_equals_the_torch_function(function, dtype):
    d, d2, t, w = grid(dtype, isinstance(function, Loss))
    got = kernel(function, d2, t, w)
    want = reference(function, d, t, w)
    info = np.finfo(dtype)
    eps, limit = float(info.eps), float(info.max)
    # The kernel may be off by what a few roundings of its arguments do to the exact function.
    spread = [0.0, 0.0]
    for h in (1 - 16 * eps, 1 + 16 * eps):
        for moved in (
            reference(function, d.astype(np.float64) * h, t, w),
            reference(function, d, t.astype(np.float64) * h, w),
        ):
            spread = [
                np.maximum(s, np.abs(a - b)) for s, a, b in zip(spread, moved, want, strict=True)
            ]
    # Where the value overflows, infinity or the largest number are as good.
    representable = np.abs(want[0]) < 0.01 * limit
    assert representable.mean() > 0.3
    for name, g, r, s in zip(("value", "slope"), got, want, spread, strict=True):
        compared = representable & (np.abs(r) < 0.01 * limit)
        allowed = s + 200 * eps * np.abs(r) + 100 * float(info.tiny)
        if name == "slope" and dtype == np.float32:  # a power that underflows, over a distance
            allowed = np.where(d < kinds.D_FLOOR, allowed + 1e-15, allowed)
        wrong = compared & ~(np.abs(g - r) <= allowed)
        k = np.flatnonzero(wrong)[:1]
        assert k.size == 0, (name, d[k], t[k], w[k], g[k], r[k])
        huge = np.abs(r) >= 0.01 * limit
        assert (np.sign(g[huge]) == np.sign(r[huge])).all()
    assert not np.isnan(got).any()


@pytest.mark.parametrize("function", LOSSES, ids=repr)
def test_slopes_of_losses_are_right_far_below_the_floor(function):
    short = np.array([1e-30, 1e-20, 1e-12, 5e-8])
    d, t = (x.ravel() for x in np.meshgrid(short[:, None] * [0.03, 0.6, 1.7, 40.0], short))
    near = (d > 1e-3 * t) & (d < 1e3 * t)
    d, t = d[near], t[near]
    w = np.full_like(d, 1.5)
    # The torch functions are compared with exact arithmetic in tests/functions.
    for got, want in zip(kernel(function, d * d, t, w), reference(function, d, t, w), strict=True):
        assert (want != 0).all()
        np.testing.assert_allclose(got, want, rtol=1e-11)


@pytest.mark.parametrize("make", [penalties.Power, penalties.Log1p])
@pytest.mark.parametrize("exponent", [2.0, 2.25, 2.5, 3.0, 4.0, 6.0])
def test_powers_above_two_have_no_floor(make, exponent):
    d = np.array([1e-30, 1e-18, 1e-12, 1e-8, 5e-8, 9e-8, 1e-7, 1.1e-7, 1e-3])
    formula = {
        penalties.Power: lambda x: x**exponent,
        penalties.Log1p: lambda x: mpmath.log1p(x**exponent),
    }
    for dtype, relative in ((np.float64, 1e-13), (np.float32, 2e-5)):
        kept = d[d >= 1e-18].astype(dtype) if dtype == np.float32 else d
        got = expansion(make(exponent), kept * kept, kept, np.ones_like(kept))
        want = exact(formula[make], np.sqrt(kept * kept))
        for ours, theirs in zip(got, want, strict=True):
            check(torch.from_numpy(ours), theirs, relative=relative)
    zero = np.zeros(1)
    value, slope, curvature = expansion(make(exponent), zero, zero, np.ones(1))
    assert value == 0
    at_zero = pytest.approx(2.0 if exponent == 2 else 0.0)
    assert slope.item() == at_zero and curvature.item() == at_zero


EXTREME = [
    penalties.Power(0.05),
    penalties.Power(12.0),
    penalties.Huber(1e-6),
    penalties.Huber(1e6),
    penalties.Logistic(0.0, 1e5),
    penalties.Logistic(1e4, 1e-3),
    penalties.Log1p(0.02),
    penalties.Log1p(30.0),
    penalties.Log(0.02),
    penalties.Log(20.0),
    penalties.InversePower(0.02),
    penalties.InversePower(8.0),
    penalties.LogRatio(0.02),
    penalties.LogRatio(30.0),
    penalties.Cauchy(1e-6),
    penalties.Cauchy(1e6),
    penalties.Sigmoid(1.0, 1e5),
    penalties.Sigmoid(1e4, 1e-3),
    penalties.Barrier(0.0),
    penalties.Barrier(1e6),
    losses.HuberLoss(1e-6),
    losses.HuberLoss(1e6),
    losses.PowerLoss(1.02),
    losses.PowerLoss(12.0),
    losses.SoftFractionalLoss(1e-3),
    losses.SoftFractionalLoss(1e3),
]


def expansion(function, d2, delta, w):
    """Weighted distortions, slopes and curvatures from the compiled map."""
    kind, a, b = function.kernel_parameters()
    out = [np.empty_like(d2) for _ in range(5)]
    numba_maps.expand(kind, np.array([a, b], d2.dtype), w, delta, d2, *out)
    return [part.astype(np.float64) for part in out[2:]]


def reference_curvature(function, d, delta, w):
    """Weighted curvatures from the torch function, in float64."""
    d, delta, w = (torch.from_numpy(x.astype(np.float64)) for x in (d, delta, w))
    if isinstance(function, Loss):
        return (w * function.curvature(delta, d)).numpy()
    return function.weighted_curvature(d, w).numpy()


def tail_rounding(function, d, delta, w):
    """Rounding of the curvature's exponential tails: that of what they are differences of."""
    eps = np.finfo(np.float64).eps
    if isinstance(function, losses.LogisticLoss):
        return 4 * eps * np.abs(w)
    if isinstance(function, losses.SoftFractionalLoss):
        delta = np.where(delta > 0, delta, np.inf).astype(np.float64)
        near = np.maximum(d, kinds.D_FLOOR * delta)
        bend = np.where(delta < np.inf, (1 + (delta / near) ** 2) / delta, 0)
        return 4 * eps * np.abs(w) * (1 + function.gamma) * bend**2
    return 0.0


def at_thresholds(function, d, d2, delta, w):
    """The grid with distances added that are at the function's thresholds or next to them."""
    numbers = [x for x in function.get_params().values() if isinstance(x, float)]
    for threshold in numbers:
        center = w.dtype.type(threshold)
        near = [np.nextafter(center, 0), center, np.nextafter(center, np.inf, dtype=w.dtype)]
        more = np.repeat(np.array(near, w.dtype), len(WEIGHTS))
        d, d2 = np.append(d, np.sqrt(more * more)), np.append(d2, more * more)
        w = np.append(w, np.tile(np.array(WEIGHTS, w.dtype), len(near)))
        delta = np.append(delta, np.zeros_like(more))
    return d, d2, delta, w


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", PENALTIES + LOSSES + EXTREME, ids=repr)
def test_curvature_equals_that_of_the_torch_function(function, dtype):
    d, d2, delta, w = at_thresholds(function, *grid(dtype, isinstance(function, Loss)))
    value, slope, got = expansion(function, d2, delta, w)
    info = np.finfo(dtype)
    eps, limit = float(info.eps), float(info.max)
    for ours, of_evaluate in zip((value, slope), kernel(function, d2, delta, w), strict=True):
        np.testing.assert_allclose(ours, of_evaluate, rtol=8 * eps, atol=float(info.tiny))
    want = reference_curvature(function, d, delta, w)
    spread = 0.0
    for h in (1 - 16 * eps, 1 + 16 * eps):
        for moved in (
            reference_curvature(function, d.astype(np.float64) * h, delta, w),
            reference_curvature(function, d, delta.astype(np.float64) * h, w),
        ):
            spread = np.maximum(spread, np.abs(moved - want))
    # What is below the smallest normal number may be 0, before it is multiplied.
    steep = max(1.0, *function.kernel_parameters()[1:])
    lost = 1e4 * float(info.tiny) * (steep / np.clip(d, kinds.D_FLOOR, 1)) ** 2
    allowed = spread + 1000 * eps * np.abs(want) + lost + tail_rounding(function, d, delta, w)
    representable = np.abs(reference(function, d, delta, w)[0]) < 0.01 * limit
    compared = representable & (np.abs(want) < 0.01 * limit)
    assert compared.mean() > 0.2
    k = np.flatnonzero(compared & ~(np.abs(got - want) <= allowed))[:1]
    assert k.size == 0, (d[k], delta[k], w[k], got[k], want[k])
    assert np.isfinite(got).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e-12, 1e12, 1e30])
def test_a_scale_may_be_so_large_or_small_that_its_square_overflows(scale, dtype):
    info = np.finfo(dtype)
    d, d2, delta, _ = grid(dtype, False)
    value, slope, curvature = expansion(penalties.Cauchy(scale), d2, delta, np.ones_like(d))
    function = penalties.Cauchy(max(scale, float(info.tiny)))
    exact = torch.from_numpy(d.astype(np.float64))
    for name, got in (("value", value), ("slope", slope), ("curvature", curvature)):
        want = getattr(function, name)(exact).numpy().clip(-float(info.max), float(info.max))
        cancelled = slope if name == "curvature" else 0.0
        allowed = 20 * info.eps * np.abs(want) + 20 * info.eps * cancelled + info.tiny
        assert (np.abs(got - want) <= allowed).all(), name


def test_a_pair_without_weight_has_no_curvature_whatever_the_function():
    d2 = np.array([0.0, 1e-12, 1.0, 1e30])
    for function in PENALTIES + LOSSES:
        if isinstance(function, penalties.Barrier):
            continue  # its second part has no weight
        for delta in (0.0, 2.0):
            found = expansion(function, d2, np.full_like(d2, delta), np.zeros_like(d2))
            np.testing.assert_array_equal(found, 0, err_msg=repr(function))


@pytest.mark.parametrize("function", [*LOSSES, *EXTREME[-6:]], ids=repr)
def test_both_compiled_forms_of_a_loss_are_one_function(function):
    d, d2, delta, _ = grid(np.float64, True)
    value, slope, curvature = expansion(function, d2, delta, np.ones_like(d))
    kind, a, _ = function.kernel_parameters()
    r = d - delta
    pairs = zip(delta, d, r, np.sign(r), strict=True)
    v, g, c = np.array([numba_losses.loss_derivatives(kind, a, 1.0, *pair) for pair in pairs]).T
    limit = np.finfo(np.float64).max
    # Slopes are taken at the floor, and where d - delta cancels they differ by its rounding.
    near = 1e-15 * (d + delta) * np.abs(c)
    compared = (d >= kinds.D_FLOOR) & (d >= kinds.D_FLOOR * delta) & (np.abs(v) < 0.01 * limit)
    if kind == kinds.POWER_LOSS and a < 2:
        compared &= np.abs(r) >= kinds.D_FLOOR  # a parabola below
    for ours, other, error in ((v, value, near * np.abs(r)), (g, slope * d, near)):
        good = compared & (np.abs(other) < 0.01 * limit) & (slope != 0)
        assert good.mean() > 0.3
        difference = np.abs(ours - other)[good]
        assert (difference <= 1e-12 * np.abs(other[good]) + error[good] + 1e-300).all()
    c = np.clip(c, -limit, limit)
    above = d >= kinds.D_FLOOR * delta  # below, delta and the floored residual are added
    if kind == kinds.POWER_LOSS and a < 2:
        c, curvature, above = c[compared], curvature[compared], above[compared]
    np.testing.assert_allclose(curvature[above], c[above], rtol=1e-13)
    np.testing.assert_allclose(curvature[~above], c[~above], rtol=1e-8)


@pytest.mark.parametrize("unit", [0.25, 8.0])
@pytest.mark.parametrize("function", [*LOSSES, losses.HuberLoss(0.3)], ids=repr)
def test_a_loss_in_another_unit_is_the_loss_up_to_a_factor(function, unit):
    kind, a, _ = function.kernel_parameters()
    pairs = np.array([(0.5, 0.9), (0.0, 0.7), (3.0, 0.2), (1.0, 1.4), (2.0, 2.1)])
    in_unit = np.array(
        [
            numba_losses.loss_derivatives(kind, a, unit, delta, d, d - delta, np.sign(d - delta))
            for delta, d in pairs
        ]
    )
    plain = np.array(
        [
            numba_losses.loss_derivatives(kind, a, 1.0, delta, d, d - delta, np.sign(d - delta))
            for delta, d in unit * pairs
        ]
    )
    plain *= [1, unit, unit**2]  # derivatives in the length that is a multiple of the unit
    np.testing.assert_allclose(in_unit * (plain[0, 0] / in_unit[0, 0]), plain, rtol=1e-12)


def test_every_built_in_function_has_a_kernel_of_its_own_kind():
    classes = {*penalties.PENALTIES.values(), *losses.LOSSES.values()}
    assert {type(function) for function in PENALTIES + LOSSES} == classes
    for function in PENALTIES + LOSSES:
        assert function.kernel_parameters() is not None, function
    used = {function.kernel_parameters()[0] for function in PENALTIES + LOSSES}
    constants = {
        value for name, value in vars(kinds).items() if name.isupper() and isinstance(value, int)
    }
    assert used == constants


def test_losses_that_are_not_smooth_pull_nowhere_at_their_target():
    d = np.array([0.0, 1e-3, 1.0, 7.3, 1e10], np.float32)
    d2 = d * d
    d = np.sqrt(d2)
    for function in LOSSES:
        value, slope = kernel(function, d2, d, np.ones_like(d))
        np.testing.assert_array_equal(value, 0, err_msg=repr(function))
        if function == losses.AbsoluteLoss() or function == losses.FractionalLoss():
            np.testing.assert_array_equal(slope[1:], 0, err_msg=repr(function))


def embedding(m, dtype, rng):
    """Items of which some are at the same place."""
    X = rng.normal(size=(40, m))
    X[7] = X[3]
    X[11] = X[3]
    X[20] = X[21] + 1e-3
    return X.astype(dtype)


def edge_arrays(rng, n=40, p=300):
    i, j = rng.integers(0, n, (2, p))
    i, j = np.minimum(i, j), np.maximum(i, j)
    i[:3], j[:3] = (3, 3, 20), (7, 11, 21)
    keep = i < j
    order = np.lexsort((j[keep], i[keep]))
    return i[keep][order].astype(np.int32), j[keep][order].astype(np.int32)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_piece_equals_the_torch_kernel_for_every_function(m, dtype):
    rng = np.random.default_rng(m)
    X = embedding(m, dtype, rng)
    i, j = edge_arrays(rng)
    w = rng.normal(size=i.size).astype(dtype)
    t = rng.gamma(2.0, size=i.size).astype(dtype)
    t[:4] = 0
    as_double = [torch.from_numpy(x.astype(np.float64)) for x in (X, w, t)]
    ends = [torch.from_numpy(x) for x in (i, j)]
    incidence = torch_reference.Incidence.of(*ends, len(X))
    eps = np.finfo(dtype).eps
    for function_class in (*penalties.PENALTIES.values(), *losses.LOSSES.values()):
        function = next(f for f in PENALTIES + LOSSES if type(f) is function_class)
        if function_class is penalties.Barrier:
            continue  # infinite here: its items coincide
        kind, a, b = function.kernel_parameters()
        G = np.zeros_like(X)
        total = numba_edges.add_edges(kind, np.array([a, b], dtype), X, i, j, w, t, 0, i.size, G)
        want, gradient = torch_reference.value_and_gradient(
            function, as_double[0], *ends, as_double[1], as_double[2], incidence, i.size
        )
        gradient = gradient.numpy()
        magnitude = np.abs(
            torch_reference.distortions(
                function,
                torch_reference.distances(as_double[0], *ends),
                as_double[1],
                as_double[2],
                i.size,
            ).numpy()
        ).sum()
        assert abs(total - float(want)) <= 100 * eps * magnitude, function
        scale = np.abs(gradient).max()
        np.testing.assert_allclose(
            G, gradient, rtol=0, atol=200 * eps * scale, err_msg=repr(function)
        )


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_piece_takes_only_its_own_edges_and_adds_to_the_gradient(m):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, m)).astype(np.float64)
    i, j = edge_arrays(rng, n=300, p=2000)  # several blocks
    w = rng.normal(size=i.size)
    params = np.zeros(2)
    start, stop = 100, 1500
    G = np.ones_like(X)
    total = numba_edges.add_edges(kinds.CUBIC, params, X, i, j, w, w, start, stop, G)
    run = slice(start, stop)
    difference = X[i[run]] - X[j[run]]
    d = np.linalg.norm(difference, axis=1)
    force = (3 * w[run] * d)[:, None] * difference
    want = np.ones_like(X)
    np.add.at(want, i[run], force)
    np.add.at(want, j[run], -force)
    np.testing.assert_allclose(total, (w[run] * d**3).sum(), rtol=1e-12)
    np.testing.assert_allclose(G, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_distances_whose_squares_overflow_are_taken_as_the_largest_whose_do_not(m):
    # 1e20 apart in float32: the default penalties and most others are finite there.
    X = np.zeros((2, m), np.float32)
    X[0] = 1e20
    i, j, w = np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1, np.float32)
    largest = float(np.sqrt(np.finfo(np.float32).max))
    for function in (penalties.Log1p(), penalties.Log(), penalties.Linear(), penalties.Huber()):
        kind, a, b = function.kernel_parameters()
        G = np.zeros_like(X)
        total = numba_edges.add_edges(kind, np.array([a, b], np.float32), X, i, j, w, w, 0, 1, G)
        want = float(function.value(torch.tensor([largest], dtype=torch.float64)))
        assert total == pytest.approx(want, rel=1e-5, abs=1e-30)
        assert np.isfinite(G).all()


def test_values_are_summed_in_double_precision():
    n = 5001
    X = np.zeros((n, 2), np.float32)
    X[0, 0] = 0.1
    i, j = np.zeros(n - 1, np.int32), np.arange(1, n, dtype=np.int32)
    w = np.ones(n - 1, np.float32)
    total = numba_edges.add_edges(kinds.LINEAR, w[:2], X, i, j, w, w, 0, n - 1, np.zeros_like(X))
    assert total == pytest.approx((n - 1) * float(X[0, 0]), rel=1e-7)
    exact = (n - 1) * float(np.sqrt(X[0, 0] * X[0, 0]))
    assert total == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_edges_need_not_be_sorted(m, dtype):
    rng = np.random.default_rng(6)
    X = embedding(m, dtype, rng)
    i, j = edge_arrays(rng)
    w = np.ones(i.size, dtype)
    shuffled = rng.permutation(i.size)
    totals, gradients = [], []
    for order in (np.arange(i.size), shuffled):
        G = np.zeros_like(X)
        totals.append(
            numba_edges.add_edges(
                kinds.LOG1P, np.array([1.5, 0], dtype), X, i[order], j[order], w, w, 0, i.size, G
            )
        )
        gradients.append(G)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(totals[1], totals[0], rtol=50 * eps)
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=0, atol=500 * eps)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_coincident_items_exert_no_force_on_each_other(m):
    X = np.full((3, m), 5.0, np.float32)
    i, j = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    t = np.array([1e-9, 0], np.float32)
    for function in PENALTIES + LOSSES:
        kind, a, b = function.kernel_parameters()
        for weight in (2.0, -2.0, 0.0):
            w = np.full(2, weight, np.float32)
            G = np.zeros_like(X)
            numba_edges.add_edges(kind, np.array([a, b], np.float32), X, i, j, w, t, 0, 2, G)
            np.testing.assert_array_equal(G, 0, err_msg=repr(function))


def test_steep_slopes_between_coincident_items_are_clamped():
    X = np.zeros((2, 2), np.float32)
    i, j = np.array([0], np.int32), np.array([1], np.int32)
    steep = penalties.InversePower(8.0), penalties.Cauchy(1e-30), losses.FractionalLoss()
    for function in steep:
        kind, a, b = function.kernel_parameters()
        for weight in (1.0, 1e6, 0.0):
            w, t = np.full(1, weight, np.float32), np.full(1, 1e-12, np.float32)
            G = np.zeros_like(X)
            value = numba_edges.add_edges(
                kind, np.array([a, b], np.float32), X, i, j, w, t, 0, 1, G
            )
            assert np.isfinite(value)
            np.testing.assert_array_equal(G, 0)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_nan_coordinates_show_in_the_gradient(m):
    X = np.zeros((3, m), np.float32)
    X[:, 0] = 0, 1, np.nan
    i, j = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    w = np.ones(2, np.float32)
    for function in PENALTIES + LOSSES:
        kind, a, b = function.kernel_parameters()
        G = np.zeros_like(X)
        numba_edges.add_edges(kind, np.array([a, b], np.float32), X, i, j, w, w, 0, 2, G)
        assert np.isnan(G[1:]).any(), function


@pytest.mark.parametrize("dtype", DTYPES)
def test_collect_sums_scales_and_clears_the_parts(dtype):
    rng = np.random.default_rng(7)
    parts = rng.normal(size=(3, 20_000)).astype(dtype)
    want = 0.25 * parts.astype(np.float64).sum(axis=0)
    before = parts.copy()
    out = np.full(20_000, np.nan, dtype)
    numba_edges.collect(parts, 0.25, 50, 19_000, out)
    np.testing.assert_allclose(out[50:19_000], want[50:19_000], atol=10 * np.finfo(dtype).eps)
    assert np.isnan(out[:50]).all() and np.isnan(out[19_000:]).all()
    np.testing.assert_array_equal(parts[:, 50:19_000], 0)
    np.testing.assert_array_equal(parts[:, :50], before[:, :50])


def test_incidence_sums_rows_with_signs_and_gives_lonely_items_zero():
    i, j = torch.tensor([0, 0, 3]), torch.tensor([1, 3, 1])
    rows = torch_reference.Incidence.of(i, j, 5).apply(torch.tensor([[1.0], [10.0], [100.0]]))
    torch.testing.assert_close(rows, torch.tensor([[11.0], [-101.0], [0.0], [90.0], [0.0]]))
