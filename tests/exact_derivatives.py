"""Values, slopes and curvatures of a formula in high precision: the reference of other tests.

The formulas are written as the monograph prints them, with no regard for overflow or cancellation;
mpmath (which comes with torch, through sympy) evaluates them with as many digits as that takes.
"""

import mpmath
import numpy as np
import torch

DIGITS = 120


def exact(formula, d):
    """Value, f'(d) / d and f''(d) of an mpmath formula at each float in d, as float64 tensors."""
    with mpmath.workdps(DIGITS):
        rows = []
        for number in d:
            x = mpmath.mpf(float(number))
            # Relative steps: the formulas are tested from 1e-7 to 1e20.
            h = x * mpmath.mpf(10) ** (-DIGITS // 4)
            low, middle, high = formula(x - h), formula(x), formula(x + h)
            first = (high - low) / (2 * h)
            second = (high - 2 * middle + low) / h**2
            rows.append([float(middle), float(first / x), float(second)])
    return tuple(torch.from_numpy(np.array(rows, dtype=np.float64)).T)


def check(got, want, *, relative, scale=0.0, what=""):
    """Fail unless |got - want| <= relative (|want| + scale), up to underflow."""
    got = got.double()
    # Below the smallest normal number of the dtype precision is lost gradually.
    bound = relative * (want.abs() + scale) + 1e-37
    worst = ((got - want).abs() - bound).max()
    assert got.isfinite().all(), f"{what}: {got}"
    assert worst <= 0, f"{what}:\n got {got.tolist()}\nwant {want.tolist()}"
