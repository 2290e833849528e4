"""Checks of input: masks, magnitudes, columns of data frames, and lists of arrays.

Masked entries are refused, since the values behind the mask would be used as if they were valid.

Squares of the data, and sums of squares, must neither overflow nor underflow. float64 ranges from
1e-308 to 1e308. Beyond the square roots of these, lengths of vectors would be zero or infinite.
Such data are refused here, so no other code has to handle them. Within the bounds, results do not
depend on the unit of the data.

scikit-learn and numpy convert columns of other types, and some of them silently: dates become
nanoseconds since 1970. So frames are checked before the conversion, where columns have names.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp

_SMALLEST, _LARGEST = 1e-100, 1e100
# Negative distances that are smaller, relative to a large one, are rounding errors of 0, in float32
# as well.
ROUNDING = 1e-6
_ADVICE = {
    "M": "Convert it to numbers first, such as the days since a start",
    "m": "Convert it to numbers first: divide it by a unit of time",
    "c": "Use its real and its imaginary part as columns",
}
_CONVERT = (
    "Convert it to numbers first, classes with sklearn.preprocessing.OneHotEncoder for example"
)
_TIMES = {date: "M", timedelta: "m"}


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


def check_convertible(X: Any, name: str = "X") -> None:
    """Raise an error if X is no single matrix of numbers, for one of three reasons.

    Entries are masked, a column of a data frame does not consist of numbers, or a list or tuple
    consists of matrices.

    Parameters
    ----------
    X : object
        The caller's argument. Frames of pandas and polars and tables of pyarrow are checked, and
        the first entry of lists and tuples.
    name : str
        Name of the argument.

    Raises
    ------
    ValueError
        If an entry is masked. If a column holds dates, durations, complex numbers, or objects or
        text that are not numbers; missing values are left to other checks. If the first of several
        arrays has two dimensions or more.
    """
    check_not_masked(X, name, "fill them or leave their rows out")
    _check_columns(X, name)
    _check_single(X, name)


def as_host_array(X: Any) -> Any:
    """Convert a tensor on any device to a numpy array; return everything else unchanged."""
    if not hasattr(X, "detach"):
        return X
    X = X.detach().cpu()
    return (X.float() if str(X.dtype) == "torch.bfloat16" else X).numpy()  # numpy has no bfloat16


def _check_columns(X: Any, name: str) -> None:
    for label, column in _columns(X):
        kind = getattr(getattr(column, "dtype", None), "kind", "")
        if kind and kind in "fiub":  # nullable types, too
            continue
        values = np.asarray(column)
        kind, holds = values.dtype.kind, ""
        if kind not in "fiubMmc":
            wrong = _not_numbers(values)
            if not wrong:
                continue
            holds = f" and holds {str(wrong[0])[:50]!r}"
            kind = next((_TIMES[time] for time in _TIMES if isinstance(wrong[0], time)), kind)
        if kind not in "fiub":
            dtype = column.dtype if hasattr(column, "dtype") else column.type
            raise ValueError(
                f"{name} must hold numbers, but its column {label!r} has dtype {dtype}{holds}. "
                f"{_ADVICE.get(kind, _CONVERT)}, or leave the column out."
            )


def _check_single(X: Any, name: str) -> None:
    if not isinstance(X, list | tuple) or not X or _ndim(X[0]) < 2:
        return
    shapes = ", ".join(str(getattr(part, "shape", None) or np.shape(part)) for part in X[:3])
    more = ", ..." if len(X) > 3 else ""
    pair = ""
    if len(X) == 2:
        pair = (
            " A pair (indices, distances) of neighbour tables must be a tuple, given with "
            "metric='precomputed' where that takes tables."
        )
    raise ValueError(
        f"{name} is a {type(X).__name__} of {len(X)} arrays of shapes {shapes}{more}, but must be "
        "one array or sparse matrix with one row for each sample. Join them with numpy.vstack, or "
        f"pass one of them.{pair}"
    )


def _ndim(part: Any) -> int:
    if sp.issparse(part):
        return 2
    if hasattr(part, "ndim"):
        return int(part.ndim)
    depth = 0
    while isinstance(part, list | tuple) and len(part):
        part, depth = part[0], depth + 1
    return depth


def _columns(X: Any) -> Iterator[tuple[Any, Any]]:
    """Names and columns of a data frame; none of anything else."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas; several columns may share a name
        yield from ((label, X.iloc[:, k]) for k, label in enumerate(X.columns))
    elif hasattr(X, "get_columns"):  # polars
        yield from ((column.name, column) for column in X.get_columns())
    elif hasattr(X, "column_names") and hasattr(X, "itercolumns"):  # pyarrow
        yield from zip(X.column_names, X.itercolumns(), strict=True)


def _not_numbers(values: Any) -> list[Any]:
    """The first of some objects that cannot be converted to a number, if there is one."""
    try:
        values.astype(np.float64)
        return []
    except (TypeError, ValueError):
        return [value for value in values if value is not None and not _is_number(value)][:1]


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
