"""The short float32 logarithms and exponentials, against numpy's in double precision."""

import math

import numba
import numpy as np
import pytest

from skmde.core.kernels import numba_math

TINY, HUGE = np.finfo(np.float32).tiny, np.finfo(np.float32).max


def _loop(function):
    @numba.njit
    def loop(x, out):
        for k in range(x.shape[0]):
            out[k] = function(x[k])

    def apply(x):
        out = np.empty_like(x)
        loop(x, out)
        return out

    return apply


LOG, EXP, EXPM1, LOG1P = map(
    _loop, (numba_math.log, numba_math.exp, numba_math.expm1, numba_math.log1p)
)


def _around(*points, width=400):
    """Floats next to each of some points, where range reduction changes its branch."""
    rows = []
    for point in points:
        start = np.float32(point).view(np.int32)
        rows.append((start + np.arange(-width, width, dtype=np.int32)).view(np.float32))
    return np.concatenate(rows)


def _all_magnitudes(rng, n):
    """Positive normal float32 numbers, every binade alike."""
    smallest = np.float32(TINY).view(np.int32)
    largest = np.float32(HUGE).view(np.int32)
    return rng.integers(smallest, largest, n, endpoint=True, dtype=np.int32).view(np.float32)


def _worst(got, want):
    want = want.astype(np.float64)
    error = np.abs(got.astype(np.float64) - want)
    size = np.abs(want)
    return np.max(np.divide(error, size, out=error.copy(), where=size > 0))


def test_float32_log_is_accurate_over_all_positive_normal_numbers():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            _all_magnitudes(rng, 400_000),
            rng.uniform(0.5, 2.0, 200_000).astype(np.float32),
            _around(1.0, math.sqrt(0.5), math.sqrt(2.0), 0.5, 2.0, 1e-20, 1e20),
            np.array([TINY, HUGE, 1.0], np.float32),
        ]
    )
    assert _worst(LOG(x), np.log(x.astype(np.float64))) <= 2e-7
    assert LOG(np.ones(1, np.float32))[0] == 0


def test_float32_exp_is_accurate_where_the_result_is_a_normal_number():
    rng = np.random.default_rng(1)
    lowest, highest = math.log(TINY) + 1e-5, math.log(HUGE) - 1e-5
    x = np.concatenate(
        [
            rng.uniform(lowest, highest, 400_000),
            rng.uniform(-1, 1, 100_000),
            -_all_magnitudes(rng, 100_000).clip(max=87),
            _around(*(math.log(2) * (k + 0.5) for k in range(-120, 120, 7)), width=50),
            np.array([0.0, -0.0, lowest, highest]),
        ]
    ).astype(np.float32)
    assert _worst(EXP(x), np.exp(x.astype(np.float64))) <= 2e-7


def test_float32_exp_of_large_arguments_is_zero_or_the_largest_number():
    x = np.array([-87.4, -88.0, -104.0, -1e10, -np.inf], np.float32)
    np.testing.assert_array_equal(EXP(x), 0)
    x = np.array([88.73, 1e3, 1e30, np.inf], np.float32)
    np.testing.assert_allclose(EXP(x), HUGE, rtol=2e-5)


def test_float32_expm1_is_accurate_up_to_where_it_is_infinite():
    rng = np.random.default_rng(2)
    small = _all_magnitudes(rng, 300_000)
    x = np.concatenate(
        [
            rng.uniform(-104, 88.37, 300_000),
            small.clip(max=88.37),
            -small,
            _around(0.5 * math.log(2), 1.5 * math.log(2), 1.0),
            -_around(0.5 * math.log(2), 1.5 * math.log(2), 1.0),
            np.array([0.0, -np.inf]),
        ]
    ).astype(np.float32)
    assert _worst(EXPM1(x), np.expm1(x.astype(np.float64))) <= 2e-7
    assert EXPM1(np.zeros(1, np.float32))[0] == 0


def test_float32_log1p_is_accurate_from_minus_one_to_the_largest_number():
    rng = np.random.default_rng(3)
    size = _all_magnitudes(rng, 300_000)
    x = np.concatenate(
        [
            size,
            -size[size < 1],
            rng.uniform(-1 + 1e-6, 3, 300_000).astype(np.float32),
            -(1 - rng.uniform(0, 1e-3, 50_000)).astype(np.float32).clip(max=1 - 2**-24),
            _around(math.sqrt(2) - 1, 1.0, 2.0**-24, 2.0**24),
            -_around(1 - math.sqrt(0.5), 0.5, 2.0**-25),
            np.array([0.0, HUGE], np.float32),
        ]
    )
    assert _worst(LOG1P(x), np.log1p(x.astype(np.float64))) <= 2e-7
    assert LOG1P(np.zeros(1, np.float32))[0] == 0


@pytest.mark.parametrize(
    ("apply", "libm", "low", "high"),
    [
        (LOG, math.log, 1e-300, 1e300),
        (EXP, math.exp, -700.0, 700.0),
        (EXPM1, math.expm1, -700.0, 700.0),
        (LOG1P, math.log1p, -0.999, 1e300),
    ],
)
def test_float64_functions_are_those_of_libm(apply, libm, low, high):
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(low, high, 2000), rng.uniform(max(low, -0.9), 2, 2000)])
    want = np.array([libm(number) for number in x])
    np.testing.assert_allclose(apply(x), want, rtol=3e-16)
    # Used outside compiled code too, as plain functions.
    assert getattr(numba_math, libm.__name__)(0.5) == libm(0.5)
