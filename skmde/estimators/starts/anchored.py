"""Where a solve with anchors begins, if not at the quadratic solution.

Starts are in the units of the anchors' coordinates, float64.
"""

from __future__ import annotations

import numpy as np

from skmde.estimators.starts.distances import filled_out, landmark_start


def distance_start(pairs, problem, rng, n_threads):
    """Classical scaling of each part that pairs join, turned and shifted to lie over its anchors.

    A part without anchors is put at the mean of all anchors.

    Parameters
    ----------
    pairs : DistancePairs
    problem : AnchoredProblem
    rng : numpy.random.Generator
    n_threads : int

    Returns
    -------
    X : ndarray of shape (n_items, m)
    """
    labels = pairs.labels if pairs.labels.any() else None
    m = problem.values.shape[1]
    X = filled_out(landmark_start(pairs.source, labels, m, rng, n_threads), rng)
    if labels is None:
        return _laid_over(X, problem.anchors, problem.values)
    for part in range(labels.max() + 1):
        items = np.flatnonzero(labels == part)
        inside = np.isin(problem.anchors, items)
        if inside.any():
            known = np.searchsorted(items, problem.anchors[inside])
            X[items] = _laid_over(X[items], known, problem.values[inside])
        else:
            X[items] += problem.center - X[items].mean(axis=0)
    return X


def start_about_anchors(problem, rng):
    """Normal numbers about the mean of the anchors, as spread as they are, or as the distances."""
    center, m = problem.center, problem.values.shape[1]
    spread = np.abs(problem.values - center).max()
    if problem.distances is not None:
        spread = max(spread, problem.distances.max(initial=0.0) / 2)
    return center + (spread or 1.0) * rng.standard_normal((problem.n_items, m))


def _laid_over(X, rows, target):
    """X turned, reflected and shifted so that some of its rows are nearest to the target."""
    origin, goal = X[rows].mean(axis=0), target.mean(axis=0)
    # not by BLAS, whose bits depend on its threads
    products = np.einsum("ki,kj->ij", target - goal, X[rows] - origin)
    U, _, Vt = np.linalg.svd(products)
    return np.einsum("ki,ij->kj", X - origin, (U @ Vt).T) + goal
