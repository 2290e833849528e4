"""The part of a map that a picture shows.

A few islands far from all other points would shrink the rest to a dot. They are left outside, and
the frame says in which direction they are and how many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skmde._views.far_points import far_points

_MARGIN = 0.04
_LONGEST = 1.6  # the longer side of a view, in units of the shorter one
_SECTORS = 16  # directions that are told apart at the frame


class View(NamedTuple):
    """Limits of the axes, and which points are outside.

    Parameters
    ----------
    low, high : ndarray of shape (n_components,)
    outside : ndarray of bool of shape (n_items,)
    """

    low: np.ndarray
    high: np.ndarray
    outside: np.ndarray


def view_of(X, view):
    """The limits of a map's axes.

    Parameters
    ----------
    X : ndarray of float64 of shape (n_items, n_components)
    view : {"robust", "all"}
        Whether far points are left outside.

    Returns
    -------
    View
    """
    if view not in ("robust", "all"):
        raise ValueError(f'view must be "robust" or "all"; got {view!r}.')
    outside = far_points(X) if view == "robust" else np.zeros(len(X), dtype=bool)
    shown = X[~outside]
    low, high = shown.min(axis=0), shown.max(axis=0)
    longest = (high - low).max()
    if not longest > 0:  # one position: the unit is arbitrary
        longest = max(1.0, 0.1 * np.abs(low).max())
    least = longest / (_LONGEST if X.shape[1] > 1 else 1.0)
    half = np.maximum(high - low, least) / 2 + _MARGIN * longest
    middle = low / 2 + high / 2
    return View(middle - half, middle + half, outside)


def fill_box(view, size):
    """A view with more room on two sides, so that it has the proportions of the axes.

    Parameters
    ----------
    view : View
        Of two components.
    size : ndarray of shape (2,)
        Width and height of the axes.

    Returns
    -------
    View
        No longer than a view may be, also if the axes is.
    """
    ratio = np.clip(size[0] / size[1], 1 / _LONGEST, _LONGEST)
    width, height = view.high - view.low
    half = np.array([max(width, ratio * height), max(height, width / ratio)]) / 2
    middle = view.low / 2 + view.high / 2
    return view._replace(low=middle - half, high=middle + half)


def numbers_range(values):
    """Limits of a colour bar: the smallest and the largest of the finite numbers that are not far.

    Parameters
    ----------
    values : ndarray of shape (n_items,)
        Infinities and NaN do not count.

    Returns
    -------
    low, high : float
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    shown = finite[~far_points(finite[:, None])]
    return float(shown.min()), float(shown.max())


def directions_outside(X, view):
    """Where the frame is crossed on the way to far points, and by how many.

    Parameters
    ----------
    X : ndarray of shape (n_items, 2)
    view : View

    Returns
    -------
    places : ndarray of shape (n_directions, 2)
        Positions on the frame, as fractions of its sides.
    counts : ndarray of int of shape (n_directions,)
    """
    half = (view.high - view.low) / 2
    way = (X[view.outside] - (view.low + half)) / half
    way /= np.abs(way).max(axis=1, keepdims=True)  # onto the frame, a square of side 2
    angle = np.arctan2(way[:, 1], way[:, 0]) / (2 * np.pi) * _SECTORS
    sector, counts = np.unique(np.round(angle).astype(int) % _SECTORS, return_counts=True)
    angles = 2 * np.pi * sector / _SECTORS
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places /= np.abs(places).max(axis=1, keepdims=True)
    return places / 2 + 0.5, counts
