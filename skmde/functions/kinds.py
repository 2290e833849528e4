"""Integer codes of the built-in distortion functions, and their common distance floor.

The compiled kernels select a function by its integer and receive its parameters as two floats
``(a, b)``. A kernel is therefore compiled once for all functions and parameter values. The compiled
forms are in ``core/kernels/numba_penalties.py`` and ``numba_losses.py``. The torch classes of this
folder are the reference. The kernels must agree with them at the ends of the range, too:

- Floor. If a function, its slope p'(d) / d or its curvature diverges as d goes to 0, d is replaced
  by ``D = max(d, D_FLOOR)``. The floor is the same in float32 and float64, so both dtypes minimise
  the same function. 1e-7 is the resolution of float32 coordinates of order one. It is also the
  smallest power of ten for which slope and curvature of ``InversePower(3)`` fit in float32.
- Divisors of losses. The slope of a loss is r / d times a factor, and r changes its sign at delta,
  which may be far below the floor. So only the divisor is floored, and in proportion to a short
  delta: ``B = max(d, D_FLOOR min(delta, 1))``. ``R / B`` is right for all d >= 1e-7 delta.
- Overflow. A result that overflows its dtype, such as d^3 at d = 1e20 in float32, is clamped to the
  largest finite number. The only infinite result is the value of ``Barrier`` where d <= rho.
- Zero original distances. A pair with delta = 0 has no relative error. ``WEIGHTED_SQUARED``,
  ``FRACTIONAL`` and ``SOFT_FRACTIONAL`` therefore use its absolute error.

Notation in the comments: ``sigma(u) = 1 / (1 + exp(-u))``; ``E`` is ``D`` if the exponent is below
2 (where the slope of d^a diverges) and ``d`` otherwise; ``r = d - delta``; ``R`` and ``B`` are r
and B with d replaced by ``max(d, D_TINY)`` (so that the slope of (0 - d)^2 is 2 at d = 0 too). Each
line gives (a, b), value, and slope; the curvature is the derivative of ``d slope`` there.
"""

from typing import Final

D_FLOOR: Final = 1e-7
# Smallest divisor of a loss. Its reciprocal fits in float32, where distances above 0 are longer.
D_TINY: Final = 1e-37

# Penalties p(d). The distortion is w p(d), unless the formula itself contains w.

# d; 1 / D
LINEAR: Final = 0
# d^2; 2
QUADRATIC: Final = 1
# d^3; 3 d
CUBIC: Final = 2
# a = exponent. d^a; a E^(a - 2)
POWER: Final = 3
# a = threshold. d < a: d^2; 2. Else: a (2 d - a); 2 a / D
HUBER: Final = 4
# a = threshold, b = scale, u = b (d - a). max(u, 0) + log1p(exp(-|u|)); b sigma(u) / D
LOGISTIC: Final = 5
# a = exponent. d <= 1: log1p(d^a); a E^(a - 2) / (1 + E^a).
# Else, with z = d^-a: a log(d) + log1p(z); a d^-2 / (1 + z)
LOG1P: Final = 6
# a = exponent, t = D^a. log(-expm1(-t)), but a log(D) - t / 2 for t < 1e-8; a h / D^2 with
# h = t / expm1(t), which is 1 - t / 2 for t < 1e-8 and 0 at t = inf
LOG: Final = 7
# a = exponent. -D^-a; a D^(-a - 2)
INVERSE_POWER: Final = 8
# a = exponent. d <= 1: a log(D) - log1p(D^a); a D^-2 / (1 + D^a).
# Else, with z = d^-a: -log1p(z); a d^(-a - 2) / (1 + z)
LOG_RATIO: Final = 9
# a = threshold, b = scale, u = b (d - a). sigma(u); b sigma(u) sigma(-u) / D
SIGMOID: Final = 10
# a = threshold, b = margin. Weighted, w > 0: w max(0, d - (a - b)); w / D if d > a - b, else 0.
# w < 0: -w max(0, (a + b) - d); w / D if d < a + b, else 0
HINGE: Final = 11
# a = rho, g = max(d - a, D_FLOOR). Weighted: w d - log(g), +inf if d <= a; (w - 1 / g) / D
BARRIER: Final = 12
# a = scale, r = min(d, a) / max(d, a), z = r^2. d <= a: -1 / (1 + z); 2 (1 / (a (1 + z)))^2.
# Else: -z / (1 + z); 2 (r / (d (1 + z)))^2
CAUCHY: Final = 13

# Losses l(delta, d).

# r^2; 2 R / B
SQUARED: Final = 32
# a = power: 1 (Sammon) or 2 (Kamada-Kawai). With k = delta^-a, and k = 1 where delta = 0:
# k r^2; 2 k R / B. (r / delta)^2 is the form that does not overflow when a = 2
WEIGHTED_SQUARED: Final = 33
# a = threshold. |r| <= a: r^2, else a (2 |r| - a); 2 clip(R, -a, a) / B
HUBER_LOSS: Final = 34
# |r|; sign(r) / B, which is 0 where d = delta (also at d = delta = 0, hence r and not R)
ABSOLUTE: Final = 35
# |r| + log1p(expm1(-|r|) / 2); sign(r) sigma(|r|) / B, again 0 where d = delta
LOGISTIC_LOSS: Final = 36
# F = max(d, D_FLOOR delta). |F - delta| / min(F, delta);
# d > delta: 1 / (delta F), d < delta: -delta / F^3, d = delta: 0. delta = 0: d; 1 / D
FRACTIONAL: Final = 37
# a = gamma, F as above, v = delta / F, q = (F - delta) / delta, s = (F - delta) / F,
# y = a (q + s) / 2. q s / 2 + logcosh(y) / a;
# (s (1 + v) + tanh(y) (1 + v^2)) / (2 delta F). delta = 0: d; 1 / D
SOFT_FRACTIONAL: Final = 38
# a = exponent >= 1. |r|^a; a sign(R) |R|^(a - 1) / B. CubicLoss has a = 3
POWER_LOSS: Final = 39
