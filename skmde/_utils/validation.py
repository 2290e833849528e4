"""Checks of input arrays: masks, and magnitudes.

Masked entries are refused, since the values behind the mask would be used as if they were valid.

Squares of the data, and sums of squares, must neither overflow nor underflow. float64 ranges from
1e-308 to 1e308. Beyond the square roots of these, lengths of vectors would be zero or infinite.
Such data are refused here, so no other code has to handle them. Within the bounds, results do not
depend on the unit of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

_SMALLEST, _LARGEST = 1e-100, 1e100
# Negative distances that are smaller, relative to a large one, are rounding errors of 0, in float32
# as well.
ROUNDING = 1e-6


def check_magnitude(values, name, *, small=True):
    """Raise an error if the largest absolute value is too large or, unless zero, too small.

    Parameters
    ----------
    values : ndarray or sparse matrix
        The numbers. NaN and infinities are ignored.
    name : str
        Name of the argument, or a description of the numbers.
    small : bool, default=True
        Whether to check the lower bound.

    Raises
    ------
    ValueError
        If the largest absolute value is not zero and not between 1e-100 and 1e100.
    """
    values = values.data if sp.issparse(values) else values
    if values.dtype.kind != "f" or values.dtype.itemsize < 8 or values.size == 0:
        return  # other types cannot exceed the bounds
    largest = max(float(values.max()), -float(values.min()))
    if not np.isfinite(largest):
        largest = float(np.abs(values).max(where=np.isfinite(values), initial=0.0))
    if largest > _LARGEST:
        raise ValueError(
            f"{name}: the largest absolute value is {largest:.3g}, but must be at most "
            f"{_LARGEST:g}, since squares overflow in float64. Use a larger unit."
        )
    if small and 0 < largest < _SMALLEST:
        raise ValueError(
            f"{name}: the largest absolute value is {largest:.3g}, but must be at least "
            f"{_SMALLEST:g}, since squares underflow in float64. Use a smaller unit."
        )


def check_not_masked(values: Any, name: str, advice: str) -> None:
    """Raise an error if an array has masked entries.

    Parameters
    ----------
    values : object
        The caller's argument. If it is a list or tuple, its entries are checked, but no deeper
        levels.
    name : str
        Name of the argument.
    advice : str
        What to do instead, in the imperative.

    Raises
    ------
    ValueError
        If an entry is masked. A masked array without masked entries is accepted.
    """
    arrays = values if isinstance(values, list | tuple) else [values]
    masked = sum(np.ma.count_masked(a) for a in arrays if isinstance(a, np.ma.MaskedArray))
    if masked:
        raise ValueError(
            f"{name} is a masked array with {masked} masked entries, which would be missing "
            f"values; {advice}."
        )
