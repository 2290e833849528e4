"""Maps from squared distances to distortions, slopes and curvatures of a block of pairs.

The formulas are in ``numba_penalties.py`` and ``numba_losses.py``. `evaluate` selects the loop
once for a block. Parameters of functions are arguments, so new values need no recompilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, jit
from skmde.core.kernels.numba_losses import (
    loss_curvature,
    map_absolute,
    map_fractional,
    map_huber_loss,
    map_logistic_loss,
    map_power_loss,
    map_soft_fractional,
    map_squared,
    map_weighted_squared,
)
from skmde.core.kernels.numba_penalties import (
    map_barrier,
    map_cauchy,
    map_hinge,
    map_huber,
    map_inverse_power,
    map_log,
    map_log1p_large,
    map_log1p_small,
    map_log_ratio,
    map_logistic,
    map_power_large,
    map_power_small,
    map_sigmoid,
    penalty_curvature,
)
from skmde.functions import kinds

_LINEAR, _QUADRATIC, _CUBIC, _POWER = kinds.LINEAR, kinds.QUADRATIC, kinds.CUBIC, kinds.POWER
_HUBER, _LOGISTIC, _LOG1P, _LOG = kinds.HUBER, kinds.LOGISTIC, kinds.LOG1P, kinds.LOG
_INVERSE_POWER, _LOG_RATIO = kinds.INVERSE_POWER, kinds.LOG_RATIO
_SIGMOID, _HINGE, _BARRIER = kinds.SIGMOID, kinds.HINGE, kinds.BARRIER
_CAUCHY = kinds.CAUCHY
_SQUARED, _WEIGHTED_SQUARED = kinds.SQUARED, kinds.WEIGHTED_SQUARED
_HUBER_LOSS, _ABSOLUTE = kinds.HUBER_LOSS, kinds.ABSOLUTE
_LOGISTIC_LOSS, _FRACTIONAL = kinds.LOGISTIC_LOSS, kinds.FRACTIONAL
_SOFT_FRACTIONAL, _POWER_LOSS = kinds.SOFT_FRACTIONAL, kinds.POWER_LOSS
_FLOOR = kinds.D_FLOOR


@jit(fastmath=CONTRACT)
def _distances(d2: Any, d: Any, floored: Any) -> None:
    floor = d2.dtype.type(_FLOOR)
    for k in range(d2.shape[0]):
        r = np.sqrt(d2[k])
        d[k] = r
        floored[k] = max(r, floor)


@jit(fastmath=CONTRACT)
def _weigh_clamped(w: Any, value: Any, slope: Any) -> None:
    """Multiply by the weights and clip to finite numbers, for maps that may overflow.

    Otherwise an infinite slope times the difference 0 of coincident items gives a NaN gradient.
    """
    zero, limit = w.dtype.type(0), w.dtype.type(np.finfo(w.dtype).max)
    for k in range(w.shape[0]):
        used = w[k] != zero
        value[k] = min(max(w[k] * value[k], -limit), limit) if used else zero
        slope[k] = min(max(w[k] * slope[k], -limit), limit) if used else zero


@jit(fastmath=CONTRACT)
def evaluate(
    kind: int, params: Any, w: Any, delta: Any, d2: Any, d: Any, D: Any, value: Any, slope: Any
) -> None:
    """Weighted distortion and slope of a block of pairs.

    Parameters
    ----------
    kind : int
        Constant of ``functions/kinds.py``.
    params : array of shape (2,)
        The function's parameters (a, b), in the dtype of the distances.
    w, delta : arrays of shape (c,)
        Weights, and original distances (not read for penalties).
    d2 : array of shape (c,)
        Squared embedding distances.
    d, D : arrays of shape (c,)
        Scratch space.
    value, slope : arrays of shape (c,)
        Receive w f(d) and w f'(d) / d.
    """
    a, b = params[0], params[1]
    _distances(d2, d, D)
    if kind == _HINGE:
        map_hinge(a, b, w, d, D, value, slope)
        return
    if kind == _BARRIER:
        map_barrier(a, w, d, D, value, slope)
        return
    if kind == _LOG1P:
        if a <= 2.0:
            map_log1p_small(a, d, D, value, slope)
        else:
            map_log1p_large(a, d, D, value, slope)
    elif kind == _LOG:
        map_log(a, d, D, value, slope)
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
        if a <= 2.0:
            map_power_small(a, d, D, value, slope)
        else:
            map_power_large(a, d, value, slope)
    elif kind == _HUBER:
        map_huber(a, d, D, value, slope)
    elif kind == _LOGISTIC:
        map_logistic(a, b, d, D, value, slope)
    elif kind == _INVERSE_POWER:
        map_inverse_power(a, d, D, value, slope)
    elif kind == _LOG_RATIO:
        map_log_ratio(a, d, D, value, slope)
    elif kind == _SIGMOID:
        map_sigmoid(a, b, d, D, value, slope)
    elif kind == _CAUCHY:
        map_cauchy(a, d, value, slope)
    elif kind == _SQUARED:
        map_squared(d, D, delta, value, slope)
    elif kind == _WEIGHTED_SQUARED:
        map_weighted_squared(a, d, D, delta, value, slope)
    elif kind == _HUBER_LOSS:
        map_huber_loss(a, d, D, delta, value, slope)
    elif kind == _ABSOLUTE:
        map_absolute(d, D, delta, value, slope)
    elif kind == _LOGISTIC_LOSS:
        map_logistic_loss(d, D, delta, value, slope)
    elif kind == _FRACTIONAL:
        map_fractional(d, D, delta, value, slope)
    elif kind == _SOFT_FRACTIONAL:
        map_soft_fractional(a, d, D, delta, value, slope)
    elif kind == _POWER_LOSS:
        map_power_loss(a, d, D, delta, value, slope)
    if (
        kind == _CUBIC
        or kind == _POWER
        or kind == _INVERSE_POWER
        or kind == _LOG_RATIO
        or kind == _CAUCHY
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


@jit(fastmath=CONTRACT)
def expand(
    kind: int,
    params: Any,
    w: Any,
    delta: Any,
    d2: Any,
    d: Any,
    D: Any,
    value: Any,
    slope: Any,
    curvature: Any,
) -> None:
    """Like `evaluate`, but also computes the curvature w f''(d), for second-order methods.

    A curvature that overflows its dtype is replaced by the largest finite number.
    """
    evaluate(kind, params, w, delta, d2, d, D, value, slope)
    if kind < _SQUARED:
        penalty_curvature(kind, params[0], params[1], w, d, D, slope, curvature)
    else:
        loss_curvature(kind, params[0], w, d, delta, curvature)
    zero, limit = w.dtype.type(0), w.dtype.type(np.finfo(w.dtype).max)
    for k in range(w.shape[0]):
        c = min(max(curvature[k], -limit), limit)
        curvature[k] = c if w[k] != zero else zero


@jit(fastmath=CONTRACT)
def _values(kind: int, params: Any, d2: Any, out: Any) -> None:
    size = d2.shape[0]
    w, d, D, slope = np.ones(size), np.empty(size), np.empty(size), np.empty(size)
    evaluate(kind, params, w, w, d2, d, D, out, slope)


def values_at(kind: int, params: Any, squares: Any) -> Any:
    """A penalty at squared distances, an array of float64 of any shape."""
    out = np.empty_like(squares)
    length = squares.shape[-1]
    for row, values in zip(squares.reshape(-1, length), out.reshape(-1, length), strict=True):
        _values(kind, params, row, values)
    return out
