"""Checks of what the displays are given, and what they read from fitted estimators."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from skmde.metrics.alignment import as_array, as_embedding
from skmde.metrics.fitted import fitted_attribute, last_step, read_items

__all__ = [
    "attracting_edges",
    "fitted_attribute",
    "fitted_embedding",
    "last_step",
    "pair_distortions",
    "read_edges",
    "read_embedding",
    "read_integer",
    "read_items",
    "read_names",
    "read_numbers",
]


# Of the largest coordinate. matplotlib takes limits for one position below 2e-287.
_SMALLEST, _LARGEST = 1e-280, 1e305


def read_embedding(embedding, name="embedding"):
    """An embedding that can be drawn, as float64.

    Raises
    ------
    ValueError
        If it is not a finite two-dimensional array, has more than three components, or its
        coordinates are outside the range in which matplotlib computes.
    """
    X = as_embedding(embedding, name).astype(np.float64)
    largest = np.abs(X).max(initial=0.0)
    if largest > _LARGEST or 0 < largest < _SMALLEST:
        raise ValueError(
            f"{name} has coordinates up to {largest:.1e}, and the limits of a picture would "
            f"{'overflow' if largest > 1 else 'vanish'}. Change their unit, as in "
            f"{name} / abs({name}).max()."
        )
    if X.shape[1] > 3:
        raise ValueError(
            f"A picture shows 1 to 3 components; {name} has {X.shape[1]}. Pass some of its "
            f"columns, such as {name}[:, :2], or fit with n_components=2."
        )
    return X


def fitted_embedding(estimator):
    """The attribute `embedding_` of a fitted estimator, or of the last step of a pipeline."""
    return fitted_attribute(last_step(estimator), "embedding_")


def attracting_edges(estimator):
    """Pairs of a fitted estimator that attract, or whose distances are kept."""
    fitted_attribute(estimator, "embedding_")
    if not hasattr(estimator, "edges_") and hasattr(estimator, "distortions"):
        edges, _, weights = pair_distortions(estimator)
        return edges[weights > 0]
    edges = np.asarray(fitted_attribute(estimator, "edges_", "Pass edges=, pairs of items."))
    weights = getattr(estimator, "weights_", None)
    return edges if weights is None else edges[np.asarray(weights) > 0]


def pair_distortions(estimator):
    """Pairs, their distortions and weights, from the method `distortions` of an estimator.

    Raises
    ------
    ValueError
        If the estimator has no such method.
    """
    own = last_step(estimator)
    fitted_attribute(own, "embedding_")
    if not callable(getattr(own, "distortions", None)):
        raise ValueError(
            f"{type(own).__name__} has no method distortions; pass the distortions of pairs of "
            "items as an array."
        )
    found = own.distortions()
    return np.asarray(found.pairs), np.asarray(found.values), np.asarray(found.weights)


def read_edges(edges, n_items):
    """Pairs of items as integers of shape (n_edges, 2)."""
    pairs = as_array(edges, "edges")
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"edges must be pairs of items, integers of shape (n_edges, 2); got shape "
            f"{pairs.shape} and dtype {pairs.dtype}."
        )
    if pairs.min() < 0 or pairs.max() >= n_items:
        raise ValueError(
            f"edges has items from {pairs.min()} to {pairs.max()}, but the items are 0 to "
            f"{n_items - 1}."
        )
    return pairs


def read_numbers(values, name, length=None, of="value", *, finite=True):
    """A vector of numbers as float64, of the given length; all of them finite, unless told."""
    vector = as_array(values, name)
    if vector.ndim != 1 or vector.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must be a vector of numbers; got shape {vector.shape} and dtype "
            f"{vector.dtype}."
        )
    if length is not None and len(vector) != length:
        raise ValueError(
            f"{name} has {len(vector)} numbers, but must have {length}, one for each {of}."
        )
    vector = vector.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(vector))
    if finite and len(bad):
        raise ValueError(
            f"{name} has {len(bad)} numbers that are NaN or infinite, the first at position "
            f"{bad[0]}; leave them out."
        )
    return vector


def read_names(names, n_items):
    """A text for each item; its number if none is given."""
    if names is None:
        return None
    texts = list(as_array(names, "names"))
    if len(texts) != n_items:
        raise ValueError(f"names has {len(texts)} texts, but there are {n_items} items.")
    return texts


def read_integer(number, name, least):
    """An integer of at least `least`, of any type of integers."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {number!r}.")
    return int(number)
