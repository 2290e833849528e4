"""Anchored items and their coordinates: from y, or from indices and values."""

from __future__ import annotations

import numpy as np

from skmde._utils.validation import check_magnitude
from skmde.constraints import Anchored
from skmde.core.starts.fixed_items import has_free_item
from skmde.estimators.samples.targets import dense_argument, is_missing
from skmde.preprocessing.pairs.sampling import all_edges


def known_coordinates(y, anchors, anchor_values, n_samples, n_components, name):
    """The anchored items and their coordinates.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, m), or None
        The coordinates of each item; a row of NaN for a free item.
    anchors, anchor_values : array-likes of shape (n_anchors,) and (n_anchors, m), or None
        Indices and coordinates of the anchored items, instead of y.
    n_samples : int
    n_components : int or None
        The required m; None accepts any.
    name : str
        Name of the estimator, for messages.

    Returns
    -------
    anchors : ndarray of shape (n_anchors,), int64
        At least one index; distinct, in ascending order.
    values : ndarray of shape (n_anchors, m), float64

    Raises
    ------
    ValueError
        If the coordinates are invalid, or no item is anchored.
    """
    if anchors is None and anchor_values is None:
        anchors, values = _from_rows(y, n_samples, name)
    elif y is not None:
        raise ValueError("Coordinates are given twice: pass y, or anchors and anchor_values.")
    elif anchors is None or anchor_values is None:
        missing = "anchors" if anchors is None else "anchor_values"
        raise ValueError(f"Pass both anchors and anchor_values; {missing} is missing.")
    else:
        anchors, values = _from_indices(anchors, anchor_values, n_samples)
    check_magnitude(values, "y" if anchor_values is None else "anchor_values")
    if n_components is not None and values.shape[1] != n_components:
        raise ValueError(
            f"n_components={n_components}, but each anchor has {values.shape[1]} coordinates; pass "
            "n_components coordinates for each anchor, or leave n_components None."
        )
    return anchors, values


def _from_rows(y, n_samples, name):
    if y is None:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None. Pass coordinates for each "
            "sample, NaN for free samples; or pass anchors= and anchor_values=."
        )
    coordinates = dense_argument(y, "y", "use NaN for free samples")
    try:
        coordinates = np.asarray(coordinates)
        if coordinates.dtype.kind not in "fiubO":
            raise TypeError(f"dtype {coordinates.dtype}")
        if coordinates.dtype.kind == "O":
            known = [np.nan if is_missing(value) else value for value in coordinates.flat]
            coordinates = np.array(known, dtype=object).reshape(coordinates.shape)
        coordinates = coordinates.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y must hold numeric coordinates ({error}). For class labels use AnchoredClassifier."
        ) from error
    if coordinates.ndim == 1:
        coordinates = coordinates[:, None]
    if coordinates.ndim != 2 or coordinates.shape[1] == 0:
        raise ValueError(
            f"y must have shape (n_samples,) or (n_samples, n_components); got {np.shape(y)}."
        )
    if len(coordinates) != n_samples:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {n_samples} and {len(coordinates)}. "
            "Use rows of NaN in y for free samples."
        )
    if np.isinf(coordinates).any():
        row = int(np.argmax(np.isinf(coordinates).any(axis=1)))
        raise ValueError(
            f"y contains infinity: row {row} is {coordinates[row].tolist()}. Use NaN for free "
            "samples."
        )
    missing = np.isnan(coordinates)
    free = missing.all(axis=1)
    partly = missing.any(axis=1) & ~free
    if partly.any():
        row = int(np.argmax(partly))
        raise ValueError(
            f"Row {row} of y is {coordinates[row].tolist()}. Use NaN for all coordinates of a free "
            "sample, and for none of an anchored one."
        )
    if free.all():
        raise ValueError(
            "y contains only NaN, so no sample is anchored; give at least one sample coordinates."
        )
    anchors = np.flatnonzero(~free)
    return anchors, coordinates[anchors]


def _from_indices(anchors, anchor_values, n_samples):
    advice = "leave out free samples"
    anchors = np.asarray(dense_argument(anchors, "anchors", advice))
    values = np.asarray(dense_argument(anchor_values, "anchor_values", advice))
    if values.ndim == 1 and values.shape == anchors.shape:
        values = values[:, None]
    constraint = Anchored(anchors, values)
    constraint.validate(n_samples, values.shape[1] if values.ndim == 2 else 1)
    anchors, first = np.unique(anchors, return_index=True)
    return anchors.astype(np.int64), values[first].astype(np.float64)


def pairs_of_free_items(pairs, fixed, n_items):
    """The pairs without those of two fixed items, which no embedding can change.

    Parameters
    ----------
    pairs : Pairs
        With distances.
    fixed : ndarray of int
        Items of given coordinates.
    n_items : int

    Returns
    -------
    pairs : Pairs
        It may be empty.
    """
    if len(fixed) < 2:
        return pairs
    edges = all_edges(n_items) if pairs.edges is None else pairs.edges
    kept = has_free_item(n_items, fixed, edges)
    return pairs._replace(
        edges=edges[kept],
        distances=pairs.distances[kept],
        weights=None if pairs.weights is None else pairs.weights[kept],
    )
