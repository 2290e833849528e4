"""Checks of input arrays: masks, and sizes of numbers.

What is behind a mask would be read as if it were known, so masked entries are refused.

Numbers can be worked with if their squares, and sums of these, are numbers. float64 ends at 1e308
and at 1e-308. Beyond the square roots of these, lengths of vectors are infinite or zero, so such
data are refused here, once, instead of everywhere guarded against. Within the bounds nothing
depends on the unit of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

_SMALLEST, _LARGEST = 1e-100, 1e100


def check_magnitude(values, name, *, small=True):
    """An error where the largest of some numbers is too large or, if not zero, too small.

    Parameters
    ----------
    values : ndarray or sparse matrix
        Numbers; NaN and infinities do not count.
    name : str
        Of the argument, or what the numbers are.
    small : bool, default=True
        Whether there is a lower bound.

    Raises
    ------
    ValueError
        If the largest is not zero and not between 1e-100 and 1e100.
    """
    values = values.data if sp.issparse(values) else values
    if values.dtype.kind != "f" or values.dtype.itemsize < 8 or values.size == 0:
        return  # no other type goes so far
    largest = max(float(values.max()), -float(values.min()))
    if not np.isfinite(largest):
        largest = float(np.abs(values).max(where=np.isfinite(values), initial=0.0))
    if largest > _LARGEST:
        raise ValueError(
            f"{name}: the largest number has size {largest:.3g}, and squares are infinite in "
            f"float64; at most {_LARGEST:g} is possible. Use a larger unit."
        )
    if small and 0 < largest < _SMALLEST:
        raise ValueError(
            f"{name}: the largest number has size {largest:.3g}, and squares are zero in float64; "
            f"at least {_SMALLEST:g} is possible. Use a smaller unit."
        )


def check_not_masked(values: Any, name: str, advice: str) -> None:
    """An error where an array has masked entries.

    Parameters
    ----------
    values : object
        What the caller gave. A list or tuple is looked into, as far as its own entries go.
    name : str
        Of the argument.
    advice : str
        What to do instead, an imperative.

    Raises
    ------
    ValueError
        If some are masked. An array whose mask hides nothing is like any other.
    """
    arrays = values if isinstance(values, list | tuple) else [values]
    masked = sum(np.ma.count_masked(a) for a in arrays if isinstance(a, np.ma.MaskedArray))
    if masked:
        raise ValueError(
            f"{name} is a masked array with {masked} masked entries, which would be missing "
            f"values; {advice}."
        )
