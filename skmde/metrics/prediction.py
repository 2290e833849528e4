"""How well the items near an item in an embedding predict its class or its numbers.

Neither score depends on the scale of the embedding, nor `knn_r2` on the unit and the offset of the
numbers. For large data, `sample` limits the number of items that are predicted.
"""

from __future__ import annotations

from decimal import Decimal
from numbers import Integral, Real

import numpy as np
from sklearn.metrics import r2_score
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import assert_all_finite, check_consistent_length

from skmde._linalg.frame import Unit
from skmde._utils.sklearn_compat import check_array
from skmde.metrics.alignment import as_array, as_embedding, codes_of, has_fractions
from skmde.metrics.preservation import check_n_neighbors, nearest_rows, sampled_rows


def knn_accuracy(embedding, y, n_neighbors=10, *, test=None, sample=None, random_state=None):
    """Accuracy of a nearest-neighbour classifier in the embedding.

    Parameters
    ----------
    embedding : array-like of shape (n_items, n_components)
        The embedding.
    y : array-like of shape (n_items,)
        Classes. For floats that are not whole numbers, use `knn_r2`.
    n_neighbors : int, default=10
        Number of neighbours that vote. In a tie, the first of the sorted classes wins.
    test : array-like of bool of shape (n_items,) or of int, default=None
        Mask, or distinct indices, of the test items, which are classified by their neighbours
        among the other items. None means that each item is classified by its neighbours among all
        other items.
    sample : int, default=None
        Number of randomly sampled items to classify; None means all.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.

    Returns
    -------
    float
        Fraction of the items that are classified correctly.

    Raises
    ------
    ValueError
        If y is continuous, has several columns or contains NaN, or an index occurs twice in `test`.

    See Also
    --------
    knn_r2 : The score of a continuous y.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from skmde.metrics import knn_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> round(knn_accuracy(PCA(2).fit_transform(X), y), 2)
    0.95
    """
    embedding, y = as_embedding(embedding, "embedding"), as_targets(y)
    check_consistent_length(embedding, y)
    if is_continuous(y):
        shown = y[(y != np.round(y)) | (np.abs(y) >= 2.0**53)][0]
        raise ValueError(f"y is continuous (such as {shown}); pass it to knn_r2, or classes here.")
    if y.size != len(y):
        raise ValueError(f"y must be one class for each item; got an array of shape {y.shape}.")
    classes, codes = codes_of(y, "y")
    rows, voters = _predicted_rows(embedding, n_neighbors, test, sample, random_state)
    votes = np.zeros((len(rows), len(classes)), dtype=np.intp)
    np.add.at(votes, (np.arange(len(rows))[:, None], codes[voters]), 1)
    return float(np.mean(votes.argmax(axis=1) == codes[rows]))


def knn_r2(embedding, y, n_neighbors=10, *, test=None, sample=None, random_state=None):
    """Coefficient of determination of a nearest-neighbour regressor in the embedding.

    This is the score of :class:`sklearn.neighbors.KNeighborsRegressor`: the number of an item is
    predicted as the mean over its neighbours.

    Parameters
    ----------
    embedding : array-like of shape (n_items, n_components)
        The embedding.
    y : array-like of shape (n_items,) or (n_items, n_targets)
        Numbers to predict.
    n_neighbors : int, default=10
        Number of neighbours whose mean is the prediction.
    test : array-like of bool of shape (n_items,) or of int, default=None
        Mask, or distinct indices, of the test items, which are predicted from their neighbours
        among the other items. None means that each item is predicted from all others.
    sample : int, default=None
        Number of randomly sampled items to predict; None means all.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.

    Returns
    -------
    float
        1 minus the squared errors' sum as a fraction of the squared deviations from the mean of y.
        It is 1 for exact predictions, about 0 for an embedding that is unrelated to y, and may be
        negative. The mean over the targets if there are several.

    Raises
    ------
    ValueError
        If y does not consist of finite numbers, fewer than 2 items are predicted, or an index
        occurs twice in `test`.

    See Also
    --------
    knn_accuracy : The score of classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.decomposition import PCA
    >>> from skmde.metrics import knn_r2
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(knn_r2(PCA(2).fit_transform(X), y), 2)
    0.29
    """
    embedding, y = as_embedding(embedding, "embedding"), as_targets(y)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"y must be numbers, but its dtype is {y.dtype}; pass classes to knn_accuracy."
        )
    check_consistent_length(embedding, y)
    y = check_array(y.reshape(len(y), -1), dtype=np.float64, input_name="y")
    # The score is the same in every unit; in this one, neither squares nor sums overflow.
    y = np.column_stack([Unit.largest(column).inside(column) for column in y.T])
    rows, voters = _predicted_rows(embedding, n_neighbors, test, sample, random_state)
    if len(rows) < 2:
        raise ValueError(f"A coefficient of determination needs 2 items or more; got {len(rows)}.")
    return float(r2_score(y[rows], y[voters].mean(axis=1)))


def as_targets(y):
    """Classes or numbers as an array, numeric if all its objects are real numbers."""
    y = as_array(y, "y")
    if y.dtype.kind == "O" and y.size and all(isinstance(n, Real | Decimal) for n in y.flat):
        numbers = [n if isinstance(n, Integral) else float(n) for n in y.flat]
        return np.array(numbers).reshape(y.shape)
    return y


def is_continuous(y):
    """Whether y has floats that are not whole numbers: to scikit-learn, a target of regression."""
    if y.dtype.kind != "f":
        return False
    n_missing = int(np.isnan(y).sum())
    if n_missing:
        raise ValueError(
            f"Input y contains NaN, {n_missing} times; leave out these items, here and in the "
            "embedding, or use held_out_attributes, which leaves them out."
        )
    assert_all_finite(y, input_name="y")
    return has_fractions(y)


def _predicted_rows(embedding, n_neighbors, test, sample, random_state):
    """The items to predict, and their neighbours among those that predict.

    Returns
    -------
    rows : ndarray of int of shape (n_rows,)
    voters : ndarray of int of shape (n_rows, n_neighbors)
    """
    if test is None:
        check_n_neighbors(n_neighbors, len(embedding))
        rows = sampled_rows(len(embedding), sample, random_state)
        return rows, nearest_rows(embedding, rows, n_neighbors, "euclidean")
    is_test = _mask_of(as_array(test, "test"), len(embedding))
    train, tested = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    if not len(tested):
        raise ValueError("test selects no item; select one or more, or pass None for all.")
    check_n_neighbors(n_neighbors, len(train) + 1, "training items")
    rows = tested[sampled_rows(len(tested), sample, random_state)]
    search = NearestNeighbors(n_neighbors=n_neighbors).fit(embedding[train])
    return rows, train[search.kneighbors(embedding[rows], return_distance=False)]


def _mask_of(test, n_items):
    """A mask of the test items, given as a mask or as indices."""
    is_test = np.zeros(n_items, dtype=bool)
    if test.size == 0:
        return is_test
    fits = test.dtype.kind in "iu" or (test.dtype.kind == "b" and test.shape == (n_items,))
    if test.ndim != 1 or not fits:
        raise ValueError(
            f"test must be a mask of the {n_items} items or integer indices of some; got an array "
            f"of shape {test.shape} and dtype {test.dtype}."
        )
    if test.dtype.kind != "b" and not (-n_items <= test.min() and test.max() < n_items):
        raise ValueError(
            f"test has indices from {test.min()} to {test.max()}, but there are {n_items} items, "
            f"numbered 0 to {n_items - 1}."
        )
    if test.dtype.kind != "b":
        items, counts = np.unique(test % n_items, return_counts=True)
        if (counts > 1).any():
            raise ValueError(
                f"test has the index {items[counts > 1][0]} more than once. Integers are the "
                "indices of items; pass a mask as booleans: np.asarray(test, dtype=bool)."
            )
    is_test[test] = True
    return is_test
