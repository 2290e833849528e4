"""Class labels, some of which may be unknown.

As for scikit-learn's semi-supervised classifiers, -1 marks an unknown label, whatever the other
labels are. None and NaN mark one, too, and say that -1 is a class. Without them, -1 beside 1 alone
is a class: that is how scikit-learn's checks encode two classes, and classifiers of two classes
elsewhere. Where -1 may be meant otherwise, a warning says how it was read.
"""

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
        Labels; -1, None or NaN for an unknown label. But -1 is a class if y also holds None or NaN,
        or if all other entries are 1.
    n_samples : int
    classes : ndarray of shape (n_classes,), default=None
        The classes, if they are known already. Then -1 is a class if and only if it is one of them,
        unless y holds None or NaN.

    Returns
    -------
    labelled : ndarray of shape (n_labelled,), int
        At least one index, in ascending order.
    labels : ndarray of shape (n_labelled,)

    Raises
    ------
    ValueError
        If y does not hold labels, or no label is known.

    Warns
    -----
    UserWarning
        If -1 may be meant otherwise: beside 1 alone, beside one other number, and beside further
        negative numbers.
    """
    y = column_or_1d(target_array(y), warn=True)
    if len(y) != n_samples:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {n_samples} and {len(y)}. Use -1 "
            "in y for samples without a label."
        )
    missing = _missing(y)
    labelled = np.flatnonzero(~missing)
    labels = y[labelled]
    if not missing.any() and labels.dtype.kind not in "USmM":
        unknown = np.asarray(labels == -1)
        if unknown.any() and not _minus_one_is_a_class(labels[~unknown], classes):
            labelled, labels = labelled[~unknown], labels[~unknown]
    if not len(labelled):
        raise ValueError("y holds no known label; give at least one sample a label.")
    if labels.dtype.kind == "O":
        labels = _of_one_type(labels)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError("y contains infinity, which is not a label; use NaN for unknown labels.")
    check_classification_targets(labels)
    return labelled, labels


def _missing(y):
    if y.dtype.kind == "O":
        return np.array([is_missing(label) for label in y], dtype=bool)
    if y.dtype.kind in "mM":
        return np.isnat(y)
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)


def _minus_one_is_a_class(others, classes):
    """Whether -1 is a class, given the other labels, or all classes if they are known."""
    if classes is not None:
        return any(not isinstance(name, str) and name == -1 for name in classes.tolist())
    numbers = list(dict.fromkeys(others.tolist()))
    if not numbers or any(
        isinstance(n, bool) or not isinstance(n, Real | Decimal) for n in numbers
    ):
        return False
    if numbers == [1]:
        warn(
            "y holds only -1 and 1, so both are treated as classes. If -1 marks unknown labels, "
            "use NaN or None instead.",
        )
        return True
    beside = f"one other label, {numbers[0]!r}" if len(numbers) == 1 else None
    if min(numbers) < 0:
        beside = f"other negative labels, such as {min(numbers)!r}"
    if beside is not None:
        warn(
            f"y holds -1, which marks unknown labels, and {beside}. If -1 is a class, give it "
            "another number, or mark the unknown labels by NaN or None.",
        )
    return False


def _of_one_type(labels):
    """Labels of dtype object: strings as they are, numbers and booleans in a numeric array."""
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
            "numbers, strings or booleans. Convert them, for example to strings."
        )
    return plain


def _plain_number(label):
    """A label as a number that numpy can sort and compare, or None if it is not a number.

    Decimals and fractions become int or float.
    """
    if isinstance(label, int | float | np.number | np.bool_):
        return label
    if not isinstance(label, Real | Decimal):
        return None
    number = float(label)
    return int(label) if number.is_integer() else number
