"""Class labels of which some are not known."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from skmde._utils.warn import warn
from skmde.estimators.samples.targets import is_missing, target_array


def known_labels(y, n_samples, classes=None):
    """The samples whose labels are known, and their labels.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        -1, None or NaN where it is not known. Where None or NaN says so, or where beside it there
        is one other number only, -1 is a label like others.
    n_samples : int
    classes : ndarray of shape (n_classes,), default=None
        The classes, if they are known already: whether -1 is one of them decides, however many
        other numbers there are.

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
    y = column_or_1d(target_array(y), warn=True)
    if len(y) != n_samples:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {n_samples} and {len(y)}. Samples "
            "without a label have -1 in y."
        )
    missing = _missing(y)
    labelled = np.flatnonzero(~missing)
    labels = y[labelled]
    if not missing.any() and labels.dtype.kind not in "USmM":
        unknown = np.asarray(labels == -1)
        if unknown.any() and not _minus_one_is_a_class(labels[~unknown], classes):
            labelled, labels = labelled[~unknown], labels[~unknown]
    if not len(labelled):
        raise ValueError("y holds no known label; give one or more samples a label.")
    if labels.dtype.kind == "O":
        labels = _of_one_type(labels)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError("y contains infinity, which is no label.")
    check_classification_targets(labels)
    return labelled, labels


def _missing(y):
    if y.dtype.kind == "O":
        return np.array([is_missing(label) for label in y], dtype=bool)
    if y.dtype.kind in "mM":
        return np.isnat(y)
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)


def _minus_one_is_a_class(others, classes):
    """Whether -1 is a label, given the other ones, or all classes."""
    if classes is not None:
        return any(not isinstance(name, str) and name == -1 for name in classes.tolist())
    others = list(dict.fromkeys(others.tolist()))
    if len(others) != 1 or isinstance(others[0], str):
        return False
    warn(
        f"y holds -1 and {others[0]!r} only, so both are taken for classes: with one class "
        "there is nothing to learn. Use NaN or None for labels that are not known.",
    )
    return True


def _of_one_type(labels):
    """An array of objects that are strings; or their numbers, truth values, as such an array."""
    kinds = {isinstance(label, str) for label in labels}
    if len(kinds) > 1:
        raise ValueError("y mixes strings and other labels; use one type.")
    if kinds.pop():
        return labels
    numbers = [_plain_number(label) for label in labels]
    plain = np.array([] if None in numbers else numbers)
    if plain.dtype.kind == "O" or not len(plain):
        wrong = labels[numbers.index(None) if None in numbers else 0]
        raise ValueError(
            f"y holds labels of type {type(wrong).__name__}, such as {wrong!r}; labels must be "
            "numbers, strings or truth values. Convert them, to strings for example."
        )
    return plain


def _plain_number(label):
    """A label as numpy sorts and compares it, or None if it is no number.

    Decimals and fractions become int or float.
    """
    if isinstance(label, int | float | np.number | np.bool_):
        return label
    if not isinstance(label, Real | Decimal):
        return None
    number = float(label)
    return int(label) if number.is_integer() else number
