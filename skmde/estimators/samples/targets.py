"""What callers give beside X, as arrays of numpy: coordinates, labels, targets and weights.

numpy turns the numbers beside a string in a list to strings, ignores masks, and takes a sparse
matrix for one object. None of these may pass unseen: NaN would become a class named "nan".
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.validation import check_not_masked
from skmde.estimators.base.input import as_host_array


def dense_argument(values, name, advice):
    """An argument that must be dense, its tensors as numpy arrays.

    Parameters
    ----------
    values : array-like
    name : str
        Of the argument.
    advice : str
        What to do instead of masking entries, an imperative.

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
    """Classes or numbers as an array; of objects, where any other type would change some.

    Parameters
    ----------
    y : array-like of shape (n_samples,)

    Returns
    -------
    y : ndarray
    """
    y = dense_argument(y, "y", "use NaN, None or -1 for what is not known")
    if hasattr(y, "to_list") and not isinstance(y.dtype, np.dtype):
        return np.array(y.to_list(), dtype=object)
    if isinstance(y, list | tuple) and _holds_strings(y):
        return np.array(y, dtype=object)
    y = np.asarray(y)
    return y.astype(object) if y.dtype.kind == "T" else y  # numpy's strings that may be missing


def is_missing(value):
    """Whether this is None, NaN, NaT or pandas.NA."""
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
