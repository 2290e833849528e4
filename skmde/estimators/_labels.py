"""Class labels of which some are not known."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from skmde.estimators._base import as_host_array


def known_labels(y, n_samples):
    """The samples whose labels are known, and their labels.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        -1, None or NaN where it is not known. Where None or NaN says so, or where beside it there
        is one other number only, -1 is a label like others.
    n_samples : int

    Returns
    -------
    labelled : ndarray of shape (n_labelled,), int
        In ascending order, one at least.
    labels : ndarray of shape (n_labelled,)

    Raises
    ------
    ValueError
        If these are no labels, or none is known.
    """
    y = as_host_array(y)
    if hasattr(y, "to_list") and not isinstance(y.dtype, np.dtype):
        y = np.array(y.to_list(), dtype=object)  # of which others would make floats
    y = column_or_1d(y, warn=True)
    if len(y) != n_samples:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {n_samples} and {len(y)}. Samples "
            "without a label have -1 in y."
        )
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError("y contains infinity, which is no label.")
    if y.dtype.kind == "O":
        missing = np.array([is_missing(label) for label in y], dtype=bool)
    else:
        missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    labelled = np.flatnonzero(~missing)
    labels = y[labelled]
    if not missing.any() and labels.dtype.kind not in "US":
        unknown = np.asarray(labels == -1)
        others = list(dict.fromkeys(labels[~unknown].tolist()))
        if len(others) == 1 and unknown.any() and not isinstance(others[0], str):
            warnings.warn(
                f"y holds -1 and {others[0]!r} only, so both are taken for classes: with one class "
                "there is nothing to learn. Use NaN or None for labels that are not known.",
                UserWarning,
                stacklevel=5,  # past fit and its decorator
            )
        else:
            labelled, labels = labelled[~unknown], labels[~unknown]
    if not len(labelled):
        raise ValueError("y holds no known label; give one or more samples a label.")
    if labels.dtype.kind == "O":
        kinds = {isinstance(label, str) for label in labels}
        if len(kinds) > 1:
            raise ValueError("y mixes strings and other labels; use one type.")
        if not kinds.pop():
            labels = np.array(labels.tolist())  # numbers between None
    check_classification_targets(labels)
    return labelled, labels


def is_missing(label):
    """Whether this is None, NaN or pandas.NA."""
    if label is None:
        return True
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA
        return True
