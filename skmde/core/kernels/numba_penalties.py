"""Compiled penalties: value, slope and curvature of a block of pairs.

``functions/kinds.py`` states the formulas. Each penalty has a short loop. The compiler can turn all
branches of the loop into selects, so it vectorises. Curvatures are computed from slopes by separate
loops, since the first-order solver does not need them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, jit
from skmde.core.kernels.numba_math import exp, expm1, log, log1p, powers
from skmde.functions import kinds

_QUADRATIC, _CUBIC, _POWER = kinds.QUADRATIC, kinds.CUBIC, kinds.POWER
_HUBER, _LOGISTIC, _LOG1P, _LOG = kinds.HUBER, kinds.LOGISTIC, kinds.LOG1P, kinds.LOG
_INVERSE_POWER, _LOG_RATIO = kinds.INVERSE_POWER, kinds.LOG_RATIO
_SIGMOID, _BARRIER, _CAUCHY = kinds.SIGMOID, kinds.BARRIER, kinds.CAUCHY
_FLOOR = kinds.D_FLOOR


@jit(fastmath=CONTRACT)
def _lowest_power(d: Any, a: Any) -> Any:
    """The floor to the power a; max(d^a, this) is the floored distance to the power a."""
    return d.dtype.type(_FLOOR**a)


@jit(fastmath=CONTRACT)
def map_power_small(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    zero, lowest = d.dtype.type(0), _lowest_power(d, a)
    powers(d, a, slope)
    for k in range(d.shape[0]):
        z = slope[k] if d[k] > zero else zero
        value[k] = z
        slope[k] = a * (max(z, lowest) / D[k]) / D[k]


@jit(fastmath=CONTRACT)
def map_power_large(a: Any, d: Any, value: Any, slope: Any) -> None:
    # Nothing diverges at 0, since a > 2, so there is no floor.
    zero, two = d.dtype.type(0), d.dtype.type(2)
    powers(d, a - two, slope)
    for k in range(d.shape[0]):
        z = slope[k] if d[k] > zero else zero
        value[k] = z * d[k] * d[k]
        slope[k] = a * z


@jit(fastmath=CONTRACT)
def map_huber(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    two = d.dtype.type(2)
    for k in range(d.shape[0]):
        inside = d[k] < a
        value[k] = d[k] * d[k] if inside else a * (two * d[k] - a)
        slope[k] = two if inside else two * a / D[k]


@jit(fastmath=CONTRACT)
def map_logistic(a: Any, b: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one, zero = d.dtype.type(1), d.dtype.type(0)
    for k in range(d.shape[0]):
        u = b * (d[k] - a)
        e = exp(-abs(u))
        value[k] = max(u, zero) + log1p(e)
        slope[k] = b * (one if u > zero else e) / (one + e) / D[k]


@jit(fastmath=CONTRACT)
def map_log1p_small(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    # Neither d^a nor D^2 can overflow, since a <= 2 and d^2 is finite.
    one, zero, lowest = d.dtype.type(1), d.dtype.type(0), _lowest_power(d, a)
    powers(d, a, value)
    for k in range(d.shape[0]):
        z = value[k] if d[k] > zero else zero
        value[k] = log1p(z)
        z = max(z, lowest)
        slope[k] = a * (z / (one + z)) / (D[k] * D[k])


@jit(fastmath=CONTRACT)
def map_log1p_large(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    # Nothing diverges at 0, since a > 2, so there is no floor.
    one, two, zero = d.dtype.type(1), d.dtype.type(2), d.dtype.type(0)
    for k in range(d.shape[0]):
        value[k] = min(d[k], one / D[k])
    powers(value, a - two, slope)
    for k in range(d.shape[0]):
        far, r = D[k] > one, value[k]
        z = slope[k] if d[k] > zero else zero
        t = z * r * r
        value[k] = log1p(t) + (a * log(D[k]) if far else zero)
        slope[k] = a * (one / D[k] / D[k] if far else z) / (one + t)


@jit(fastmath=CONTRACT)
def _log_of(z: Any, zero: Any, half: Any, one: Any, tiny: Any) -> Any:
    """log(1 - exp(-z)), and z / (exp(z) - 1)."""
    y, e = -expm1(-z), exp(-z)
    # for e near 0, y is 1 up to rounding; the second term corrects the rounding error of y
    value = log(y) + ((-e - (y - one)) / y if y > half else zero)
    rate = z * (e / y) if z > tiny else one - half * z
    return value, rate if e > zero else zero


@jit(fastmath=CONTRACT)
def map_log(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one, half, zero = d.dtype.type(1), d.dtype.type(0.5), d.dtype.type(0)
    tiny = d.dtype.type(1e-8)
    powers(D, a, slope)
    if a != one:
        for k in range(d.shape[0]):
            z = slope[k]
            v, rate = _log_of(z, zero, half, one, tiny)
            # below `tiny`, use log z = a log D, since z = D^a may underflow if a is large
            value[k] = a * log(D[k]) - half * z if z < tiny else v
            slope[k] = a * rate / D[k] / D[k]
    else:
        for k in range(d.shape[0]):
            v, rate = _log_of(slope[k], zero, half, one, tiny)
            value[k] = v
            slope[k] = a * rate / D[k] / D[k]


@jit(fastmath=CONTRACT)
def map_inverse_power(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one = d.dtype.type(1)
    for k in range(d.shape[0]):
        value[k] = one / D[k]
    powers(value, a, slope)
    for k in range(d.shape[0]):
        z = slope[k]
        slope[k] = a * (z * value[k]) * value[k]
        value[k] = -z


@jit(fastmath=CONTRACT)
def map_log_ratio(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one = d.dtype.type(1)
    for k in range(d.shape[0]):
        value[k] = min(D[k], one / D[k])
    powers(value, a, slope)
    for k in range(d.shape[0]):
        far, z = D[k] > one, slope[k]
        value[k] = a * log(min(D[k], one)) - log1p(z)
        slope[k] = a * (z if far else one) / (one + z) / D[k] / D[k]


@jit(fastmath=CONTRACT)
def map_sigmoid(a: Any, b: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one, zero = d.dtype.type(1), d.dtype.type(0)
    for k in range(d.shape[0]):
        u = b * (d[k] - a)
        e = exp(-abs(u))
        s = one / (one + e)
        value[k] = s if u > zero else e * s
        slope[k] = b * (e * s * s) / D[k]


@jit(fastmath=CONTRACT)
def map_hinge(a: Any, b: Any, w: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    zero = d.dtype.type(0)
    for k in range(d.shape[0]):
        attract = w[k] > zero
        u = d[k] - (a - b) if attract else d[k] - (a + b)
        active = u > zero if attract else u < zero
        value[k] = w[k] * u if active else zero
        slope[k] = w[k] / D[k] if active else zero


@jit(fastmath=CONTRACT)
def map_barrier(a: Any, w: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one, floor, inf = d.dtype.type(1), d.dtype.type(_FLOOR), d.dtype.type(np.inf)
    for k in range(d.shape[0]):
        g = max(d[k] - a, floor)
        value[k] = w[k] * d[k] - log(g) if d[k] > a else inf
        slope[k] = (w[k] - one / g) / D[k]


@jit(fastmath=CONTRACT)
def _cauchy_scale(a: Any, d: Any) -> Any:
    """The scale. It must not become 0 in the dtype of d, because 0 / 0 is NaN."""
    return max(a, d.dtype.type(np.finfo(d.dtype).tiny))


@jit(fastmath=CONTRACT)
def map_cauchy(a: Any, d: Any, value: Any, slope: Any) -> None:
    one, two, a = d.dtype.type(1), d.dtype.type(2), _cauchy_scale(a, d)
    for k in range(d.shape[0]):
        far = d[k] > a
        large = d[k] if far else a
        r = (a if far else d[k]) / large
        inverse = one / (one + r * r)
        value[k] = -(r * r if far else one) * inverse
        # the square is taken last, so that it underflows or overflows only if the slope does
        root = (r if far else one) * inverse / large
        slope[k] = two * root * root


@jit(fastmath=CONTRACT)
def _log_curvature(a: Any, w: Any, D: Any, slope: Any, curvature: Any) -> None:
    one, most = D.dtype.type(1), D.dtype.type(1000)  # for larger powers, the slope is 0
    powers(D, a, curvature)
    for k in range(D.shape[0]):
        z = min(curvature[k], most)
        curvature[k] = slope[k] * (a - one - slope[k] / w[k] * D[k] * D[k] - a * z)


@jit(fastmath=CONTRACT)
def _logistic_curvature(a: Any, b: Any, d: Any, D: Any, slope: Any, curvature: Any) -> None:
    one, zero = d.dtype.type(1), d.dtype.type(0)
    for k in range(d.shape[0]):
        u = b * (d[k] - a)
        e = exp(-abs(u))
        rest = (e if u > zero else one) / (one + e)
        curvature[k] = b * (slope[k] * D[k]) * rest


@jit(fastmath=CONTRACT)
def _sigmoid_curvature(a: Any, b: Any, d: Any, D: Any, slope: Any, curvature: Any) -> None:
    two, zero = d.dtype.type(2), d.dtype.type(0)
    for k in range(d.shape[0]):
        u = b * (d[k] - a)
        e = expm1(-abs(u))
        tanh = e / (two + e)  # tanh(-|u| / 2)
        curvature[k] = b * (slope[k] * D[k]) * (tanh if u > zero else -tanh)


@jit(fastmath=CONTRACT)
def _cauchy_curvature(a: Any, d: Any, slope: Any, curvature: Any) -> None:
    one, three, a = d.dtype.type(1), d.dtype.type(3), _cauchy_scale(a, d)
    for k in range(d.shape[0]):
        far = d[k] > a
        r = (a if far else d[k]) / (d[k] if far else a)
        z = r * r
        curvature[k] = slope[k] * ((z - three if far else one - three * z) / (one + z))


@jit(fastmath=CONTRACT)
def penalty_curvature(
    kind: int, a: Any, b: Any, w: Any, d: Any, D: Any, slope: Any, curvature: Any
) -> None:
    """Weighted curvatures of a block from its weighted slopes; NaN is possible where w = 0."""
    one, two, zero = d.dtype.type(1), d.dtype.type(2), d.dtype.type(0)
    if kind == _LOG1P:
        for k in range(d.shape[0]):
            curvature[k] = slope[k] * (a - one - slope[k] / w[k] * D[k] * D[k])
    elif kind == _LOG:
        _log_curvature(a, w, D, slope, curvature)
    elif kind == _QUADRATIC:
        curvature[:] = slope
    elif kind == _CUBIC:
        for k in range(d.shape[0]):
            curvature[k] = two * slope[k]
    elif kind == _POWER:
        for k in range(d.shape[0]):
            curvature[k] = (a - one) * slope[k]
    elif kind == _HUBER:
        for k in range(d.shape[0]):
            curvature[k] = two * w[k] if d[k] < a else zero
    elif kind == _LOGISTIC:
        _logistic_curvature(a, b, d, D, slope, curvature)
    elif kind == _INVERSE_POWER:
        for k in range(d.shape[0]):
            curvature[k] = -(a + one) * slope[k]
    elif kind == _LOG_RATIO:
        for k in range(d.shape[0]):
            curvature[k] = -slope[k] * (one + a - slope[k] / w[k] * D[k] * D[k])
    elif kind == _SIGMOID:
        _sigmoid_curvature(a, b, d, D, slope, curvature)
    elif kind == _BARRIER:
        for k in range(d.shape[0]):
            g = max(d[k] - a, d.dtype.type(_FLOOR))
            curvature[k] = one / g / g  # the weighted term is linear in d, so it adds nothing
    elif kind == _CAUCHY:
        _cauchy_curvature(a, d, slope, curvature)
    else:  # linear, hinge
        curvature[:] = 0.0
