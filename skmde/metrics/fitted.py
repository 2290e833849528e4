"""What functions read from estimators that the caller has fitted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.spatial.distance

from skmde._utils.sklearn_compat import check_is_fitted
from skmde._utils.validation import as_host_array


def last_step(estimator):
    """The estimator that embeds: the last step of a pipeline, or that within a classifier."""
    steps = getattr(estimator, "steps", None)
    estimator = steps[-1][1] if steps else estimator
    return getattr(estimator, "embedding_estimator_", estimator)


def is_estimator(value):
    """Whether this is an instance with a method `fit`."""
    return hasattr(value, "fit") and not isinstance(value, type)


def fitted_attribute(estimator, name, advice=""):
    """An attribute of a fitted estimator.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is no estimator.
    ValueError
        If it has no such attribute.
    """
    if not is_estimator(estimator):
        kind = f"the class {estimator.__name__}" if isinstance(estimator, type) else None
        raise TypeError(
            "estimator must be a fitted estimator; got "
            f"{kind or f'an object of type {type(estimator).__name__}'}. For arrays, there is the "
            "method from_embedding or a like one."
        )
    value = getattr(estimator, name, None)
    if value is None:
        check_is_fitted(estimator)
        raise ValueError(f"{type(estimator).__name__} has no attribute {name}. {advice}".rstrip())
    return value


def embedding_of(value):
    """The embedding of a fitted estimator or of a pipeline; anything else unchanged."""
    if is_estimator(value) or isinstance(value, type):
        return fitted_attribute(
            last_step(value), "embedding_", "Pass the embedding, an array, in its place."
        )
    return getattr(value, "embedding_", value)


def metric_of(estimator):
    """The metric by which a fitted estimator compares rows: a name or a function.

    Returns
    -------
    str, callable or None
        "euclidean" if it has no metric; None if it was fitted to weights, not to distances.
        "graph" and "precomputed" mean that there are no rows.
    """
    own = last_step(estimator)
    metric, weights = getattr(own, "metric", "euclidean"), getattr(own, "weights", None)
    given_kernel = weights == "kernel_pca" and own.kernel == "precomputed"
    if weights == "precomputed" or given_kernel or metric == "affinity":
        return None
    parameters = getattr(own, "metric_params", None)
    if not parameters or metric in ("graph", "precomputed"):
        return metric
    function = metric if callable(metric) else getattr(scipy.spatial.distance, metric, None)
    if function is None:
        raise ValueError(
            f"metric={metric!r} with metric_params={parameters!r} is not known here; pass metric=, "
            "a function of two rows."
        )
    return partial(function, **parameters)


def read_items(items, n_items, name):
    """Indices of items, from indices or from a mask.

    Raises
    ------
    ValueError
        If it is neither, or an index is out of range.
    """
    items = list(items) if isinstance(items, Iterator) else items
    chosen = np.asarray(as_host_array(items))
    if chosen.size == 0:
        return np.empty(0, dtype=np.intp)
    if chosen.dtype == object and all(isinstance(value, bool | np.bool_) for value in chosen.flat):
        chosen = chosen.astype(bool)  # pandas' nullable type
    if chosen.dtype.kind == "b" and chosen.shape == (n_items,):
        return np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must hold positions of items, or a mask of shape ({n_items},); got shape "
            f"{chosen.shape} and dtype {chosen.dtype}."
        )
    if chosen.min() < 0 or chosen.max() >= n_items:
        raise ValueError(
            f"{name} has positions from {chosen.min()} to {chosen.max()}, but the items are 0 to "
            f"{n_items - 1}."
        )
    return chosen.astype(np.intp)
