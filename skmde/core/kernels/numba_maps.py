"""From squared distance to distortion and slope, a block of edges at a time.

One short loop for each built-in function of ``functions/kinds.py``, which states the formulas.
The loops hold no branch that the compiler could not turn into a select, so they vectorise.
`evaluate` picks the loop once for a block; parameters are arguments, so nothing is compiled
twice when they change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, jit
from skmde.core.kernels.numba_math import exp, expm1, log, log1p
from skmde.functions import kinds

_LINEAR, _QUADRATIC, _CUBIC, _POWER = kinds.LINEAR, kinds.QUADRATIC, kinds.CUBIC, kinds.POWER
_HUBER, _LOGISTIC, _LOG1P, _LOG = kinds.HUBER, kinds.LOGISTIC, kinds.LOG1P, kinds.LOG
_INVERSE_POWER, _LOG_RATIO = kinds.INVERSE_POWER, kinds.LOG_RATIO
_SIGMOID, _HINGE, _BARRIER = kinds.SIGMOID, kinds.HINGE, kinds.BARRIER
_SQUARED, _WEIGHTED_SQUARED = kinds.SQUARED, kinds.WEIGHTED_SQUARED
_HUBER_LOSS, _ABSOLUTE = kinds.HUBER_LOSS, kinds.ABSOLUTE
_LOGISTIC_LOSS, _FRACTIONAL = kinds.LOGISTIC_LOSS, kinds.FRACTIONAL
_SOFT_FRACTIONAL, _POWER_LOSS = kinds.SOFT_FRACTIONAL, kinds.POWER_LOSS
_FLOOR = kinds.D_FLOOR


@jit(fastmath=CONTRACT)
def _powers(d: Any, a: Any, z: Any) -> None:
    """z = d^a for d > 0; the usual exponents need no logarithm."""
    if a == 1.0:
        for k in range(d.shape[0]):
            z[k] = d[k]
    elif a == 1.5:
        for k in range(d.shape[0]):
            z[k] = d[k] * np.sqrt(d[k])
    elif a == 2.0:
        for k in range(d.shape[0]):
            z[k] = d[k] * d[k]
    elif a == 3.0:
        for k in range(d.shape[0]):
            z[k] = d[k] * d[k] * d[k]
    else:
        for k in range(d.shape[0]):
            z[k] = exp(a * log(d[k]))


@jit(fastmath=CONTRACT)
def _lowest_power(d: Any, a: Any) -> Any:
    """The power of the floor: max(d^a, it) is the power of the floored distance."""
    return d.dtype.type(_FLOOR**a)


@jit(fastmath=CONTRACT)
def _distances(d2: Any, d: Any, floored: Any) -> None:
    floor = d2.dtype.type(_FLOOR)
    for k in range(d2.shape[0]):
        r = np.sqrt(d2[k])
        d[k] = r
        floored[k] = max(r, floor)


@jit(fastmath=CONTRACT)
def _power(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    zero, lowest = d.dtype.type(0), _lowest_power(d, a)
    _powers(d, a, slope)
    for k in range(d.shape[0]):
        z = slope[k] if d[k] > zero else zero
        value[k] = z
        slope[k] = a * (max(z, lowest) / D[k]) / D[k]


@jit(fastmath=CONTRACT)
def _huber(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    two = d.dtype.type(2)
    for k in range(d.shape[0]):
        inside = d[k] < a
        value[k] = d[k] * d[k] if inside else a * (two * d[k] - a)
        slope[k] = two if inside else two * a / D[k]


@jit(fastmath=CONTRACT)
def _logistic(a: Any, b: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one, zero = d.dtype.type(1), d.dtype.type(0)
    for k in range(d.shape[0]):
        u = b * (d[k] - a)
        e = exp(-abs(u))
        value[k] = max(u, zero) + log1p(e)
        slope[k] = b * (one if u > zero else e) / (one + e) / D[k]


@jit(fastmath=CONTRACT)
def _log1p_small(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    # Neither d^a nor D^2 can overflow: a <= 2, and d^2 is a number.
    one, zero, lowest = d.dtype.type(1), d.dtype.type(0), _lowest_power(d, a)
    _powers(d, a, value)
    for k in range(d.shape[0]):
        z = value[k] if d[k] > zero else zero
        value[k] = log1p(z)
        slope[k] = a * (max(z, lowest) / (one + z)) / (D[k] * D[k])


@jit(fastmath=CONTRACT)
def _log1p_large(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one, zero, lowest = d.dtype.type(1), d.dtype.type(0), _lowest_power(d, a)
    for k in range(d.shape[0]):
        value[k] = min(d[k], one / D[k])
    _powers(value, a, slope)
    for k in range(d.shape[0]):
        far, z = D[k] > one, slope[k] if d[k] > zero else zero
        value[k] = log1p(z) + (a * log(D[k]) if far else zero)
        slope[k] = a * (one if far else max(z, lowest)) / (one + z) / D[k] / D[k]


@jit(fastmath=CONTRACT)
def _log(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one, half, zero = d.dtype.type(1), d.dtype.type(0.5), d.dtype.type(0)
    tiny = d.dtype.type(1e-8)
    _powers(D, a, slope)
    if a != one:
        for k in range(d.shape[0]):
            z = slope[k]
            # below `tiny`, log z would lose z to underflow where a is large
            value[k] = a * log(D[k]) - half * z if z < tiny else log(-expm1(-z))
    else:
        for k in range(d.shape[0]):
            value[k] = log(-expm1(-slope[k]))
    for k in range(d.shape[0]):
        z = slope[k]
        y, e = -expm1(-z), exp(-z)
        # for e near 0, y is 1 to the last bit or two; what rounding took from it is e's part
        value[k] = value[k] + ((-e - (y - one)) / y if y > half else zero)
        rate = z * (e / y) if z > tiny else one - half * z
        slope[k] = a * (rate if e > zero else zero) / D[k] / D[k]


@jit(fastmath=CONTRACT)
def _inverse_power(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one = d.dtype.type(1)
    for k in range(d.shape[0]):
        value[k] = one / D[k]
    _powers(value, a, slope)
    for k in range(d.shape[0]):
        z = slope[k]
        slope[k] = a * (z * value[k]) * value[k]
        value[k] = -z


@jit(fastmath=CONTRACT)
def _log_ratio(a: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one = d.dtype.type(1)
    for k in range(d.shape[0]):
        value[k] = min(D[k], one / D[k])
    _powers(value, a, slope)
    for k in range(d.shape[0]):
        far, z = D[k] > one, slope[k]
        value[k] = a * log(min(D[k], one)) - log1p(z)
        slope[k] = a * (z if far else one) / (one + z) / D[k] / D[k]


@jit(fastmath=CONTRACT)
def _sigmoid(a: Any, b: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one, zero = d.dtype.type(1), d.dtype.type(0)
    for k in range(d.shape[0]):
        u = b * (d[k] - a)
        e = exp(-abs(u))
        s = one / (one + e)
        value[k] = s if u > zero else e * s
        slope[k] = b * (e * s * s) / D[k]


@jit(fastmath=CONTRACT)
def _hinge(a: Any, b: Any, w: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    zero = d.dtype.type(0)
    for k in range(d.shape[0]):
        attract = w[k] > zero
        u = d[k] - (a - b) if attract else d[k] - (a + b)
        active = u > zero if attract else u < zero
        value[k] = w[k] * u if active else zero
        slope[k] = w[k] / D[k] if active else zero


@jit(fastmath=CONTRACT)
def _barrier(a: Any, w: Any, d: Any, D: Any, value: Any, slope: Any) -> None:
    one, floor, inf = d.dtype.type(1), d.dtype.type(_FLOOR), d.dtype.type(np.inf)
    for k in range(d.shape[0]):
        g = max(d[k] - a, floor)
        value[k] = w[k] * d[k] - log(g) if d[k] > a else inf
        slope[k] = (w[k] - one / g) / D[k]


@jit(fastmath=CONTRACT)
def _squared(d: Any, D: Any, t: Any, value: Any, slope: Any) -> None:
    two = d.dtype.type(2)
    for k in range(d.shape[0]):
        r = d[k] - t[k]
        value[k] = r * r
        slope[k] = two * (D[k] - t[k]) / D[k]


@jit(fastmath=CONTRACT)
def _weighted_squared(a: Any, d: Any, D: Any, t: Any, value: Any, slope: Any) -> None:
    # kappa itself is not formed: 1 / t^2 may overflow where (r / t)^2 does not
    two, one, zero = d.dtype.type(2), d.dtype.type(1), d.dtype.type(0)
    if a == two:
        for k in range(d.shape[0]):
            unit = t[k] if t[k] > zero else one
            q = (d[k] - t[k]) / unit
            value[k] = q * q
            slope[k] = two * ((D[k] - t[k]) / D[k]) / unit / unit
    else:
        for k in range(d.shape[0]):
            unit = t[k] if t[k] > zero else one
            r = d[k] - t[k]
            value[k] = r / unit * r
            slope[k] = two * ((D[k] - t[k]) / D[k]) / unit


@jit(fastmath=CONTRACT)
def _huber_loss(a: Any, d: Any, D: Any, t: Any, value: Any, slope: Any) -> None:
    two = d.dtype.type(2)
    for k in range(d.shape[0]):
        r = abs(d[k] - t[k])
        value[k] = r * r if r <= a else a * (two * r - a)
        slope[k] = two * min(max(D[k] - t[k], -a), a) / D[k]


@jit(fastmath=CONTRACT)
def _absolute(d: Any, D: Any, t: Any, value: Any, slope: Any) -> None:
    one, zero = d.dtype.type(1), d.dtype.type(0)
    for k in range(d.shape[0]):
        r = d[k] - t[k]
        value[k] = abs(r)
        sign = one if r > zero else (-one if r < zero else zero)
        slope[k] = sign / D[k]


@jit(fastmath=CONTRACT)
def _logistic_loss(d: Any, D: Any, t: Any, value: Any, slope: Any) -> None:
    one, zero, half = d.dtype.type(1), d.dtype.type(0), d.dtype.type(0.5)
    for k in range(d.shape[0]):
        r = d[k] - t[k]
        x = abs(r)
        value[k] = x + log1p(half * expm1(-x))
        sign = one if r > zero else (-one if r < zero else zero)
        slope[k] = sign / (one + exp(-x)) / D[k]


@jit(fastmath=CONTRACT)
def _fractional(d: Any, D: Any, t: Any, value: Any, slope: Any) -> None:
    one, zero, floor = d.dtype.type(1), d.dtype.type(0), d.dtype.type(_FLOOR)
    for k in range(d.shape[0]):
        target = t[k] if t[k] > zero else one
        B = max(d[k], floor * target)
        v = target / B
        ratio = abs(B - target) / min(B, target)
        rate = (one / (target * B)) if d[k] > target else (-v / (B * B))
        if d[k] == target:
            rate = zero
        value[k] = ratio if t[k] > zero else d[k]
        slope[k] = rate if t[k] > zero else one / D[k]


@jit(fastmath=CONTRACT)
def _soft_fractional(a: Any, d: Any, D: Any, t: Any, value: Any, slope: Any) -> None:
    one, zero, half = d.dtype.type(1), d.dtype.type(0), d.dtype.type(0.5)
    two, floor, log2 = d.dtype.type(2), d.dtype.type(_FLOOR), d.dtype.type(0.6931471805599453)
    for k in range(d.shape[0]):
        target = t[k] if t[k] > zero else one
        B = max(d[k], floor * target)
        v, s, q = target / B, (B - target) / B, (B - target) / target
        y = half * a * (q + s)
        x = abs(y)
        # log cosh x from e = exp(-x) - 1: cosh x - 1 = e^2 / (2 (1 + e)), used where it is small
        near, e = x < one, expm1(-x)
        term = log1p(half * e * e / (one + e) if near else (one + e) * (one + e))
        cosh = term if near else x + term - log2
        tanh = -e * (two + e) / (two + e * (two + e))
        T = tanh if y > zero else -tanh
        amount = half * q * s + cosh / a
        rate = (s * (one + v) + T * (one + v * v)) / (two * target * B)
        value[k] = amount if t[k] > zero else d[k]
        slope[k] = rate if t[k] > zero else one / D[k]


@jit(fastmath=CONTRACT)
def _power_loss(a: Any, d: Any, D: Any, t: Any, value: Any, slope: Any) -> None:
    zero, tiny = d.dtype.type(0), d.dtype.type(1e-30)
    for k in range(d.shape[0]):
        value[k] = max(abs(D[k] - t[k]), tiny)
    _powers(value, a, slope)
    for k in range(d.shape[0]):
        R = D[k] - t[k]
        rate = a * slope[k] / value[k] / D[k]
        slope[k] = rate if R > tiny else (-rate if R < -tiny else zero)
        value[k] = max(abs(d[k] - t[k]), tiny)
    _powers(value, a, D)
    for k in range(d.shape[0]):
        value[k] = D[k] if value[k] > tiny else zero


@jit(fastmath=CONTRACT)
def _weigh_clamped(w: Any, value: Any, slope: Any) -> None:
    """Multiply by the weights where that, or the map, may overflow.

    An infinite slope times a difference of 0 would be NaN, in the gradient of coincident items.
    """
    zero, limit = w.dtype.type(0), w.dtype.type(np.finfo(w.dtype).max)
    for k in range(w.shape[0]):
        used = w[k] != zero
        value[k] = min(max(w[k] * value[k], -limit), limit) if used else zero
        slope[k] = min(max(w[k] * slope[k], -limit), limit) if used else zero


@jit(fastmath=CONTRACT)
def evaluate(
    kind: int, params: Any, w: Any, t: Any, d2: Any, d: Any, D: Any, value: Any, slope: Any
) -> None:
    """Weighted distortion and slope of a block of edges.

    Parameters
    ----------
    kind : int
        Constant of ``functions/kinds.py``.
    params : array of shape (2,)
        The function's (a, b), in the dtype of the distances.
    w, t : arrays of shape (c,)
        Weights, and original distances (not read for penalties).
    d2 : array of shape (c,)
        Squared embedding distances.
    d, D : arrays of shape (c,)
        Scratch.
    value, slope : arrays of shape (c,)
        Written: w f(d) and w f'(d) / d.
    """
    a, b = params[0], params[1]
    _distances(d2, d, D)
    if kind == _HINGE:
        _hinge(a, b, w, d, D, value, slope)
        return
    if kind == _BARRIER:
        _barrier(a, w, d, D, value, slope)
        return
    if kind == _LOG1P:
        if a <= 2.0:
            _log1p_small(a, d, D, value, slope)
        else:
            _log1p_large(a, d, D, value, slope)
    elif kind == _LOG:
        _log(a, d, D, value, slope)
    elif kind == _QUADRATIC:
        value[:] = d2
        slope[:] = 2.0
    elif kind == _LINEAR:
        for k in range(d.shape[0]):
            value[k] = d[k]
            slope[k] = d.dtype.type(1) / D[k]
    elif kind == _CUBIC:
        for k in range(d.shape[0]):
            value[k] = d[k] * d2[k]
            slope[k] = d.dtype.type(3) * d[k]
    elif kind == _POWER:
        _power(a, d, D, value, slope)
    elif kind == _HUBER:
        _huber(a, d, D, value, slope)
    elif kind == _LOGISTIC:
        _logistic(a, b, d, D, value, slope)
    elif kind == _INVERSE_POWER:
        _inverse_power(a, d, D, value, slope)
    elif kind == _LOG_RATIO:
        _log_ratio(a, d, D, value, slope)
    elif kind == _SIGMOID:
        _sigmoid(a, b, d, D, value, slope)
    elif kind == _SQUARED:
        _squared(d, D, t, value, slope)
    elif kind == _WEIGHTED_SQUARED:
        _weighted_squared(a, d, D, t, value, slope)
    elif kind == _HUBER_LOSS:
        _huber_loss(a, d, D, t, value, slope)
    elif kind == _ABSOLUTE:
        _absolute(d, D, t, value, slope)
    elif kind == _LOGISTIC_LOSS:
        _logistic_loss(d, D, t, value, slope)
    elif kind == _FRACTIONAL:
        _fractional(d, D, t, value, slope)
    elif kind == _SOFT_FRACTIONAL:
        _soft_fractional(a, d, D, t, value, slope)
    elif kind == _POWER_LOSS:
        _power_loss(a, d, D, t, value, slope)
    if (
        kind == _CUBIC
        or kind == _POWER
        or kind == _INVERSE_POWER
        or kind == _LOG_RATIO
        or kind == _WEIGHTED_SQUARED
        or kind == _FRACTIONAL
        or kind == _SOFT_FRACTIONAL
        or kind == _POWER_LOSS
    ):
        _weigh_clamped(w, value, slope)
    else:
        for k in range(d.shape[0]):
            value[k] *= w[k]
            slope[k] *= w[k]
