"""Items with given coordinates: starting points over them, and pairs that say nothing.

Distances determine an embedding up to a rigid motion, and fixed items determine the motion. A start
that is turned against them leads to a local minimum, where free items are on the wrong side. So
every start is rotated, reflected and shifted onto the fixed items (orthogonal Procrustes).

A pair of two fixed items adds a constant to the average distortion. Estimators leave it out, so
that the average is over the pairs that the solver can change.
"""

from __future__ import annotations

import numpy as np

from skmde._linalg.procrustes import laid_over


def start_over_fixed(
    start: np.ndarray, items: np.ndarray, coordinates: np.ndarray, labels: np.ndarray | None
) -> np.ndarray:
    """A starting point, of which each connected component is laid over its fixed items.

    Parameters
    ----------
    start : ndarray of shape (n, m), float64
    items, coordinates : ndarrays of shape (k,) and (k, m)
        Fixed items, at least one, and their coordinates.
    labels : ndarray of shape (n,), int, or None
        Connected component of each item; None if there is only one.

    Returns
    -------
    start : ndarray of shape (n, m)
        A component without fixed items moves as all fixed items together do.
    """
    moved = laid_over(start, items, coordinates)
    if labels is None:
        return moved
    moved = moved.copy()
    parts = labels[items]
    for part in np.unique(parts):
        own, inside = labels == part, parts == part
        places = np.cumsum(own) - 1
        moved[own] = laid_over(start[own], places[items[inside]], coordinates[inside])
    return moved


def has_free_item(n_items: int, fixed: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Whether a pair has an item that is not fixed: bool, one for each pair."""
    free = np.ones(n_items, dtype=bool)
    free[fixed] = False
    found: np.ndarray = free[edges].any(axis=1)
    return found
