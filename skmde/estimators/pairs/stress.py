"""Normalised stress of pairs: Kruskal's stress-1, sqrt(sum (d - delta)^2 / sum d^2)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

_BLOCK_PAIRS = 1 << 20


def stress_of_pairs(X, edges, distances, own_distance=None):
    """Normalised stress of pairs of weight 1.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Coordinates.
    edges : ndarray of shape (p, 2), int
    distances : ndarray of shape (p,)
        Original distances.
    own_distance : callable, optional
        Converts Euclidean distances to those of the embedding.

    Returns
    -------
    stress : float
    """
    errors = squares = 0.0
    for start in range(0, len(edges), _BLOCK_PAIRS):
        part = slice(start, start + _BLOCK_PAIRS)
        i, j = edges[part].T
        d = np.sqrt(((X[i] - X[j]) ** 2).sum(axis=1))
        d = d if own_distance is None else own_distance(d)
        errors += float(((d - distances[part]) ** 2).sum())
        squares += float((d**2).sum())
    return stress_ratio(errors, squares)


def sums_of_squares(coordinates, landmarks, D, own_distance=None):
    """Sums of squared errors and of squared distances, and the number of pairs.

    Parameters
    ----------
    coordinates, landmarks : ndarray of shape (q, m) and (k, m), float64
    D : ndarray of shape (q, k)
        Original distances; infinite where there is none.
    own_distance : callable, optional
        Converts Euclidean distances to those of the embedding.

    Returns
    -------
    errors, squares : float
    n_pairs : int
    """
    there = np.isfinite(D)
    found = cdist(coordinates, landmarks)[there]
    found = found if own_distance is None else own_distance(found)
    return ((found - D[there]) ** 2).sum(), (found**2).sum(), len(found)


def stress_ratio(errors, squares):
    """Normalised stress from sums of squared errors and of squared distances."""
    # the ratio is undefined if all samples coincide
    return float(np.sqrt(errors / squares)) if squares > 0 else float(errors > 0)
