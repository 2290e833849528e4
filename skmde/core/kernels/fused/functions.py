"""Distortion functions for Triton's kernels: value and slope of a block of pairs.

``functions/kinds.py`` states the formulas; `FUSED` lists the kinds that are served. A kind and its
exponent are constants of the compiled kernel, so that only one formula is compiled. All other
parameters are arguments.

Triton's logarithm and exponential differ between GPUs in their last bits, and are inaccurate near
1 and 0. So arguments near these go to short series.
"""

from __future__ import annotations

import triton
import triton.language as tl

from skmde.functions import kinds

LINEAR = tl.constexpr(kinds.LINEAR)
QUADRATIC = tl.constexpr(kinds.QUADRATIC)
CUBIC = tl.constexpr(kinds.CUBIC)
HUBER = tl.constexpr(kinds.HUBER)
LOG1P = tl.constexpr(kinds.LOG1P)
LOG = tl.constexpr(kinds.LOG)
INVERSE_POWER = tl.constexpr(kinds.INVERSE_POWER)
CAUCHY = tl.constexpr(kinds.CAUCHY)
SQUARED = tl.constexpr(kinds.SQUARED)
WEIGHTED_SQUARED = tl.constexpr(kinds.WEIGHTED_SQUARED)
ABSOLUTE = tl.constexpr(kinds.ABSOLUTE)
FLOOR = tl.constexpr(kinds.D_FLOOR)
TINY = tl.constexpr(kinds.D_TINY)

FUSED = frozenset(
    kind.value
    for kind in (
        LINEAR,
        QUADRATIC,
        CUBIC,
        HUBER,
        LOG1P,
        LOG,
        INVERSE_POWER,
        CAUCHY,
        SQUARED,
        WEIGHTED_SQUARED,
        ABSOLUTE,
    )
)
FUSED_LOSSES = frozenset(kind.value for kind in (SQUARED, WEIGHTED_SQUARED, ABSOLUTE))


@triton.jit
def twice_atanh(s, TERMS: tl.constexpr):
    """2 artanh(s) for abs(s) <= 1 / 3, by its series."""
    q = s * s
    total = tl.zeros_like(s)
    for k in tl.static_range(TERMS):
        total = total * q + 1.0 / (2 * (TERMS - 1 - k) + 1)
    return 2.0 * s * total


@triton.jit
def log1p(z, TERMS: tl.constexpr):
    """log(1 + z) for z >= 0."""
    return tl.where(z < 0.5, twice_atanh(z / (2.0 + z), TERMS), tl.log(1.0 + z))


@triton.jit
def one_minus_exp(t, TERMS: tl.constexpr):
    """1 - exp(-t) for t >= 0, by the series of the exponential near 0."""
    near = tl.zeros_like(t)
    for k in tl.static_range(TERMS):
        near = 1.0 - near * t / (TERMS + 1 - k)
    return tl.where(t < 0.5, t * near, 1.0 - tl.exp(-t))


@triton.jit
def power(x, exponent, QUARTERS: tl.constexpr):
    """x^exponent for x >= 0; common exponents need no logarithm.

    QUARTERS is four times the exponent, or -1 for one that is no multiple of a quarter.
    """
    if QUARTERS == 0:
        z = tl.zeros_like(x) + 1.0
    elif QUARTERS == 2:
        z = tl.sqrt(x)
    elif QUARTERS == 4:
        z = x
    elif QUARTERS == 6:
        z = x * tl.sqrt(x)
    elif QUARTERS == 8:
        z = x * x
    elif QUARTERS == 10:
        z = x * x * tl.sqrt(x)
    elif QUARTERS == 12:
        z = x * x * x
    else:
        z = tl.exp(exponent * tl.log(x))
    return z


@triton.jit
def value_and_slope(
    d,
    delta,
    a,
    KIND: tl.constexpr,
    QUARTERS: tl.constexpr,
    TERMS: tl.constexpr,
    BIG: tl.constexpr,
):
    """Value and slope at distances `d`, without the weights.

    Parameters
    ----------
    d, delta : blocks
        Distances, and original distances of losses.
    a : float
        Parameter of the function.
    KIND : int
    QUARTERS : int
        Four times `a`, or -1; see `power`.
    TERMS : int
        Length of the series.
    BIG : float
        Largest finite number.
    """
    D = tl.maximum(d, FLOOR)
    if KIND == LINEAR:
        value, slope = d, 1.0 / D
    elif KIND == QUADRATIC:
        value, slope = d * d, tl.zeros_like(d) + 2.0
    elif KIND == CUBIC:
        value, slope = d * d * d, 3.0 * d
    elif KIND == HUBER:
        inside = d < a
        value = tl.where(inside, d * d, a * (2.0 * d - a))
        slope = tl.where(inside, 2.0, 2.0 * a / D)
    elif KIND == LOG1P:
        far = d > 1.0
        r = 1.0 / tl.maximum(D, 1.0)
        near = tl.minimum(d, 1.0)
        z = power(tl.where(far, r, near), a, QUARTERS)
        value = log1p(z, TERMS) + tl.where(far, a * tl.log(D), 0.0)
        if QUARTERS >= 8:  # nothing diverges at 0
            rate = power(near, a - 2.0, QUARTERS - 8)
        else:
            floored = tl.minimum(D, 1.0)
            z = tl.where(far, z, power(floored, a, QUARTERS))
            rate = z / (floored * floored)
        slope = a * tl.where(far, r * r, rate) / (1.0 + z)
    elif KIND == LOG:
        t = tl.minimum(power(D, a, QUARTERS), BIG)
        y = one_minus_exp(t, TERMS)
        e = tl.exp(-t)
        tiny = t < 1e-8
        # log(1 - e) by the series where e is small, since y is then 1 up to rounding
        small = tl.minimum(e, 0.5)
        value = tl.where(e < 0.5, -twice_atanh(small / (2.0 - small), TERMS), tl.log(y))
        value = tl.where(tiny, a * tl.log(D) - 0.5 * t, value)
        rate = tl.where(tiny, 1.0 - 0.5 * t, t * (e / y))
        slope = a * tl.where(e > 0, rate, 0.0) / D / D
    elif KIND == INVERSE_POWER:
        r = 1.0 / D
        z = power(r, a, QUARTERS)
        value, slope = -z, a * (z * r) * r
    elif KIND == CAUCHY:
        far = d > a
        large = tl.where(far, d, a)
        r = tl.where(far, a, d) / large
        inverse = 1.0 / (1.0 + r * r)
        value = -tl.where(far, r * r, 1.0) * inverse
        root = tl.where(far, r, 1.0) * inverse / large
        slope = 2.0 * root * root
    else:
        B = tl.maximum(tl.maximum(d, TINY), FLOOR * tl.minimum(delta, 1.0))
        R = tl.maximum(d, TINY) - delta
        r = d - delta
        if KIND == SQUARED:
            value, slope = r * r, 2.0 * R / B
        elif KIND == WEIGHTED_SQUARED:
            unit = tl.where(delta > 0, delta, 1.0)
            if QUARTERS == 8:
                value, slope = (r / unit) * (r / unit), 2.0 * (R / B) / unit / unit
            else:
                value, slope = r / unit * r, 2.0 * (R / B) / unit
        else:
            tl.static_assert(KIND == ABSOLUTE)
            value = tl.abs(r)
            slope = tl.where(r > 0, 1.0, tl.where(r < 0, -1.0, 0.0)) / B
    return value, slope
