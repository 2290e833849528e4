"""Compiled losses: value, slope and curvature of a block of pairs or of a single pair.

``functions/kinds.py`` states the formulas. Each loss has a short loop that computes values and
slopes for the solver, in float32 or float64. The compiler can turn all branches of the loop into
selects, so it vectorises. `loss_derivatives` computes the value and two derivatives of a single
pair in float64. Its arguments include the residual, so that a residual far below the rounding
error of the distance is not lost. There, only the fractional losses have a floor for distances.
If a curvature diverges at the residual 0, a parabola replaces the loss below `D_FLOOR`.

There are two forms, since the loops evaluate the value at the true distance and divide the slope
by a floored one. Deriving one form from the other would cost time. Tests check that the two agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, jit
from skmde.core.kernels.numba_math import exp, expm1, log1p, powers
from skmde.functions import kinds

_SQUARED, _WEIGHTED_SQUARED = kinds.SQUARED, kinds.WEIGHTED_SQUARED
_HUBER_LOSS, _ABSOLUTE = kinds.HUBER_LOSS, kinds.ABSOLUTE
_LOGISTIC_LOSS, _FRACTIONAL = kinds.LOGISTIC_LOSS, kinds.FRACTIONAL
_SOFT_FRACTIONAL, _POWER_LOSS = kinds.SOFT_FRACTIONAL, kinds.POWER_LOSS
_FLOOR, _TINY = kinds.D_FLOOR, kinds.D_TINY


@jit(fastmath=CONTRACT)
def _set_divisors(d: Any, delta: Any, B: Any) -> None:
    """d, floored in proportion to a delta below 1; see ``functions/kinds.py``."""
    one, floor, tiny = d.dtype.type(1), d.dtype.type(_FLOOR), d.dtype.type(_TINY)
    for k in range(d.shape[0]):
        B[k] = max(max(d[k], tiny), floor * min(delta[k], one))


@jit(fastmath=CONTRACT)
def map_squared(d: Any, B: Any, delta: Any, value: Any, slope: Any) -> None:
    _set_divisors(d, delta, B)
    two, tiny = d.dtype.type(2), d.dtype.type(_TINY)
    for k in range(d.shape[0]):
        r = d[k] - delta[k]
        value[k] = r * r
        slope[k] = two * (max(d[k], tiny) - delta[k]) / B[k]


@jit(fastmath=CONTRACT)
def map_weighted_squared(a: Any, d: Any, B: Any, delta: Any, value: Any, slope: Any) -> None:
    _set_divisors(d, delta, B)
    # kappa is not computed: 1 / delta^2 may overflow where (r / delta)^2 does not
    two, one, zero = d.dtype.type(2), d.dtype.type(1), d.dtype.type(0)
    tiny = d.dtype.type(_TINY)
    if a == two:
        for k in range(d.shape[0]):
            unit = delta[k] if delta[k] > zero else one
            q = (d[k] - delta[k]) / unit
            value[k] = q * q
            slope[k] = two * ((max(d[k], tiny) - delta[k]) / B[k]) / unit / unit
    else:
        for k in range(d.shape[0]):
            unit = delta[k] if delta[k] > zero else one
            r = d[k] - delta[k]
            value[k] = r / unit * r
            slope[k] = two * ((max(d[k], tiny) - delta[k]) / B[k]) / unit


@jit(fastmath=CONTRACT)
def map_huber_loss(a: Any, d: Any, B: Any, delta: Any, value: Any, slope: Any) -> None:
    _set_divisors(d, delta, B)
    two, tiny = d.dtype.type(2), d.dtype.type(_TINY)
    for k in range(d.shape[0]):
        r = abs(d[k] - delta[k])
        value[k] = r * r if r <= a else a * (two * r - a)
        slope[k] = two * min(max(max(d[k], tiny) - delta[k], -a), a) / B[k]


@jit(fastmath=CONTRACT)
def map_absolute(d: Any, B: Any, delta: Any, value: Any, slope: Any) -> None:
    _set_divisors(d, delta, B)
    one, zero = d.dtype.type(1), d.dtype.type(0)
    for k in range(d.shape[0]):
        r = d[k] - delta[k]
        value[k] = abs(r)
        sign = one if r > zero else (-one if r < zero else zero)
        slope[k] = sign / B[k]


@jit(fastmath=CONTRACT)
def map_logistic_loss(d: Any, B: Any, delta: Any, value: Any, slope: Any) -> None:
    _set_divisors(d, delta, B)
    one, zero, half = d.dtype.type(1), d.dtype.type(0), d.dtype.type(0.5)
    for k in range(d.shape[0]):
        r = d[k] - delta[k]
        x = abs(r)
        value[k] = x + log1p(half * expm1(-x))
        sign = one if r > zero else (-one if r < zero else zero)
        slope[k] = sign / (one + exp(-x)) / B[k]


@jit(fastmath=CONTRACT)
def map_fractional(d: Any, D: Any, delta: Any, value: Any, slope: Any) -> None:
    one, zero, floor = d.dtype.type(1), d.dtype.type(0), d.dtype.type(_FLOOR)
    for k in range(d.shape[0]):
        target = delta[k] if delta[k] > zero else one
        B = max(d[k], floor * target)
        v = target / B
        ratio = abs(B - target) / min(B, target)
        rate = (one / (target * B)) if d[k] > target else (-v / (B * B))
        if d[k] == target:
            rate = zero
        value[k] = ratio if delta[k] > zero else d[k]
        slope[k] = rate if delta[k] > zero else one / D[k]


@jit(fastmath=CONTRACT)
def map_soft_fractional(a: Any, d: Any, D: Any, delta: Any, value: Any, slope: Any) -> None:
    one, zero, half = d.dtype.type(1), d.dtype.type(0), d.dtype.type(0.5)
    two, floor, log2 = d.dtype.type(2), d.dtype.type(_FLOOR), d.dtype.type(0.6931471805599453)
    for k in range(d.shape[0]):
        target = delta[k] if delta[k] > zero else one
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
        value[k] = amount if delta[k] > zero else d[k]
        slope[k] = rate if delta[k] > zero else one / D[k]


@jit(fastmath=CONTRACT)
def map_power_loss(a: Any, d: Any, B: Any, delta: Any, value: Any, slope: Any) -> None:
    _set_divisors(d, delta, B)
    one, zero, tiny = d.dtype.type(1), d.dtype.type(0), d.dtype.type(_TINY)
    smallest = d.dtype.type(np.finfo(d.dtype).tiny)
    for k in range(d.shape[0]):
        value[k] = max(abs(max(d[k], tiny) - delta[k]), smallest)
    powers(value, a - one, slope)
    for k in range(d.shape[0]):
        R, power = max(d[k], tiny) - delta[k], slope[k]
        rate = a * power / B[k]
        slope[k] = rate if R > zero else (-rate if R < zero else zero)
        value[k] = power * abs(d[k] - delta[k])


@jit()
def loss_derivatives(
    kind: int, a: float, unit: float, delta: float, d: float, r: float, side: float
) -> Any:
    """Value of a loss and its first two derivatives with respect to ``d = delta + r``.

    Parameters
    ----------
    kind : int
        Constant of ``functions/kinds.py``.
    a : float
        The loss's first parameter.
    unit : float
        Unit of the lengths that follow. The results belong to the loss at ``unit * delta`` and
        ``unit * d``, up to a factor that is the same for all three and for all pairs.
    delta, d, r : float
        Original distance, embedding distance, and residual.
    side : float
        Sign of the residual. If the residual is 0, it selects the side of a kink; 0 then means
        the slope 0.

    Returns
    -------
    tuple of three floats
    """
    x = abs(r)
    if kind == _ABSOLUTE:
        return x, side, 0.0
    if kind == _SQUARED:
        return r * r, 2.0 * r, 2.0
    if kind == _HUBER_LOSS:
        a /= unit
        if x <= a:
            return r * r, 2.0 * r, 2.0
        return a * (2.0 * x - a), 2.0 * a * side, 0.0
    if kind == _LOGISTIC_LOSS:
        fall = np.expm1(-unit * x)
        sigma = 1.0 / (2.0 + fall)
        return (
            x + np.log1p(0.5 * fall) / unit,
            side * sigma,
            unit * (1.0 + fall) * sigma * sigma,
        )
    if kind == _POWER_LOSS:
        z = (x if a >= 2.0 else max(x, _FLOOR)) ** (a - 2.0)
        return z * x * x, a * z * r, a * (a - 1.0) * z
    if kind == _WEIGHTED_SQUARED:
        if delta == 0.0:  # a relative error is undefined, so the absolute error counts
            kappa = unit * unit if a == 2.0 else unit
            return kappa * r * r, 2.0 * kappa * r, 2.0 * kappa
        other = delta if a == 2.0 else 1.0
        return r / other * (r / delta), 2.0 * (r / other / delta), 2.0 / other / delta
    if delta == 0.0:
        return unit * r, unit, 0.0
    B, lowest = d, _FLOOR * delta - delta
    if r < lowest:
        r = lowest
        B = delta + r
    v, q, s = delta / B, r / delta, r / B
    if kind == _FRACTIONAL:
        if side < 0.0:
            return -s, -v / B, 2.0 * v / B / B
        return q, side / delta, 0.0
    # SOFT_FRACTIONAL: `up` and `down` are the weights of d / delta and delta / d
    y = 0.5 * a * (q + s)
    fall = np.expm1(-abs(y))
    e, rest = 1.0 + fall, fall * (2.0 + fall)  # exp(-|y|) and exp(-2 |y|) - 1
    cosh = np.log1p(0.5 * fall * fall / e if abs(y) < 1.0 else 0.5 * rest)
    cosh += abs(y) if abs(y) >= 1.0 else 0.0
    more = 1.0 / (2.0 + rest)
    tanh, up, down = -rest * more, more, e * e * more
    if y < 0.0:
        tanh, up, down = -tanh, down, up
    bend = (1.0 + v * v) / delta
    return (
        0.5 * q * s + cosh / a,
        (s * (1.0 + v) + tanh * (1.0 + v * v)) / (2.0 * delta),
        2.0 * v / B / B * down + a * (up * down) * bend * bend,
    )


@jit()
def loss_curvature(kind: int, a: Any, w: Any, d: Any, delta: Any, curvature: Any) -> None:
    """Weighted curvatures of a block."""
    for k in range(d.shape[0]):
        x, target = np.float64(d[k]), np.float64(delta[k])
        if kind == _FRACTIONAL or kind == _SOFT_FRACTIONAL:
            x = max(x, _FLOOR * target)
        r = x - target
        if kind == _POWER_LOSS and a < 2.0:
            # Here, the floor of the residual follows a short target, as that of a divisor does.
            short = max(min(target, 1.0), _TINY / _FLOOR) if target > 0.0 else 1.0
            c = a * (a - 1.0) * max(abs(r), _FLOOR * short) ** (a - 2.0)
        else:
            c = loss_derivatives(kind, a, 1.0, target, x, r, np.sign(r))[2]
        curvature[k] = w[k] * c
