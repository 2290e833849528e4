"""Logarithm and exponential as short polynomials that the compiler can vectorise.

libm's functions process one number per call and would take most of a kernel's time. In float32,
the functions here are polynomials after the usual argument reduction (Cephes' ``logf`` and
``expf``; their relative error is at most 2e-7, tested over the whole range). In float64 they are
libm's functions. A kernel calls ``log(x)``, and the type of x selects the version.

None of these may be compiled with reassociation, which would simplify the error terms below to 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from skmde._utils.jit import CONTRACT, jit

_LOG2_HI = np.float32(0.693359375)
_LOG2_LO = np.float32(-2.12194440e-4)
_LOG2E = np.float32(1.44269504088896341)
_EXP_MIN = np.float32(-87.33654)  # below it, exp is smaller than the smallest normal float32
_EXP_MAX = np.float32(88.72283)  # above it, exp is larger than the largest float32
_SQRT_HALF = np.float32(0.707106781186547524)
_FLT_MAX = np.float32(3.4028235e38)


@intrinsic
def _bits(typingctx: Any, x: Any) -> Any:
    """The 32 bits of a float32, as int32."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), codegen


@intrinsic
def _float(typingctx: Any, x: Any) -> Any:
    """The float32 that has the given 32 bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), codegen


@jit()
def _log_f32(x: Any) -> Any:
    # x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = r - r^2/2 + r^3 P(r), r = m - 1.
    bits = _bits(x)
    e = np.int32((bits >> np.int32(23)) - np.int32(126))
    m = _float(np.int32((bits & np.int32(0x007FFFFF)) | np.int32(0x3F000000)))
    low = m < _SQRT_HALF
    ef = np.float32(e) - (np.float32(1.0) if low else np.float32(0.0))
    r = (m + m if low else m) - np.float32(1.0)
    z = r * r
    y = np.float32(7.0376836292e-2)
    y = y * r + np.float32(-1.1514610310e-1)
    y = y * r + np.float32(1.1676998740e-1)
    y = y * r + np.float32(-1.2420140846e-1)
    y = y * r + np.float32(1.4249322787e-1)
    y = y * r + np.float32(-1.6668057665e-1)
    y = y * r + np.float32(2.0000714765e-1)
    y = y * r + np.float32(-2.4999993993e-1)
    y = y * r + np.float32(3.3333331174e-1)
    y = y * r * z
    y += ef * _LOG2_LO
    y -= np.float32(0.5) * z
    return (r + y) + ef * _LOG2_HI


@jit()
def _exp_parts_f32(x: Any) -> Any:
    # exp x = 2^k (1 + q) with |log(1 + q)| <= log(2)/2; q is accurate near 0.
    x = min(max(x, _EXP_MIN), _EXP_MAX)
    k = np.floor(_LOG2E * x + np.float32(0.5))
    r = (x - k * _LOG2_HI) - k * _LOG2_LO
    q = np.float32(1.9875691500e-4)
    q = q * r + np.float32(1.3981999507e-3)
    q = q * r + np.float32(8.3334519073e-3)
    q = q * r + np.float32(4.1665795894e-2)
    q = q * r + np.float32(1.6666665459e-1)
    q = q * r + np.float32(5.0000001201e-1)
    q = q * r * r + r
    # 2^k is split into two factors: 2^128 overflows float32, but 2^128 (1 + q) may not
    half = np.int32(k) >> np.int32(1)
    rest = np.int32(k) - half
    a = _float(np.int32((half + np.int32(127)) << np.int32(23)))
    b = _float(np.int32((rest + np.int32(127)) << np.int32(23)))
    return a, b, q


@jit()
def _exp_f32(x: Any) -> Any:
    a, b, q = _exp_parts_f32(x)
    y = (q + np.float32(1.0)) * a * b
    return y if x > _EXP_MIN else np.float32(0.0)


@jit()
def _expm1_f32(x: Any) -> Any:
    a, b, q = _exp_parts_f32(x)
    s = a * b
    return (q * a) * b + (s - np.float32(1.0))


@jit()
def _log1p_f32(x: Any) -> Any:
    # log(1 + x) = log(u) for the rounded sum u, plus a first-order correction of its rounding error
    u = np.float32(1.0) + min(x, _FLT_MAX)
    return _log_f32(u) + (x - (u - np.float32(1.0))) / u


def log(x: Any) -> Any:
    """Natural logarithm of a positive normal number."""
    return math.log(x)


def exp(x: Any) -> Any:
    """exp(x); results below the smallest normal number are 0, and large results do not overflow."""
    return math.exp(x)


def expm1(x: Any) -> Any:
    """exp(x) - 1, accurate near 0; infinite in float32 for x >= 88.38."""
    return math.expm1(x)


def log1p(x: Any) -> Any:
    """Logarithm of 1 + x for x > -1, accurate near 0."""
    return math.log1p(x)


def _by_type(single: Any, double: Any) -> Any:
    def choose(x: Any) -> Any:
        if x == types.float32:
            return lambda x: single(x)
        if isinstance(x, types.Float):
            return lambda x: double(x)
        return None

    return choose


overload(log, strict=False)(_by_type(_log_f32, math.log))
overload(exp, strict=False)(_by_type(_exp_f32, math.exp))
overload(expm1, strict=False)(_by_type(_expm1_f32, math.expm1))
overload(log1p, strict=False)(_by_type(_log1p_f32, math.log1p))


@jit(fastmath=CONTRACT)
def powers(d: Any, a: Any, z: Any) -> None:
    """z = d^a for d > 0; common exponents need no logarithm."""
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
