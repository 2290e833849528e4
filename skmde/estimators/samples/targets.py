"""Conversion of coordinates, labels, targets and weights to numpy arrays.

In a list with strings, numpy converts numbers to strings, so NaN would become a class "nan".
It also ignores masks, and treats a sparse matrix as one object. The functions here avoid or reject
these cases.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.validation import as_host_array, check_not_masked


def dense_argument(values, name, advice):
    """Check that an argument is dense and not masked, and convert a tensor to a numpy array.

    Parameters
    ----------
    values : array-like
    name : str
        Name of the argument.
    advice : str
        What to do instead of masking entries, in the imperative.

    Returns
    -------
    values : array-like
        As given, unless it was a tensor.

    Raises
    ------
    ValueError
        If it is a sparse matrix, or has masked entries.
    """
    if sp.issparse(values):
        raise ValueError(
            f"{name} is a sparse matrix of shape {values.shape}, but must be dense: pass "
            f"{name}.toarray()."
        )
    check_not_masked(values, name, advice)
    return as_host_array(values)


def target_array(y):
    """Classes or numbers as an array, of dtype object if another dtype would change values.

    Parameters
    ----------
    y : array-like of shape (n_samples,)

    Returns
    -------
    y : ndarray
    """
    y = dense_argument(y, "y", "use NaN, None or -1 for unknown targets")
    if hasattr(y, "to_list") and not isinstance(y.dtype, np.dtype):
        return np.array(y.to_list(), dtype=object)
    if isinstance(y, list | tuple) and _holds_strings(y):
        return np.array(y, dtype=object)
    y = np.asarray(y)
    return y.astype(object) if y.dtype.kind == "T" else y  # numpy's strings, which may be missing


def is_missing(value):
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _holds_strings(values):
    return any(
        isinstance(value, str) or (isinstance(value, list | tuple) and _holds_strings(value))
        for value in values
    )
