"""Starting points for anchored embeddings.

They are in the units of the anchors' coordinates, float64.
"""

from __future__ import annotations

import numpy as np

from skmde._utils.validation import as_host_array
from skmde.core.starts.coincident import separate_coincident
from skmde.core.starts.fixed_items import start_over_fixed
from skmde.estimators.starts.distances import fill_constant_columns, landmark_start
from skmde.estimators.starts.neighbors import check_not_wild, checked_start


def anchored_start(init, pairs, labels, problem, random_state, rng, n_threads):
    """The starting point for the parameter `init`: one of its names, or an array.

    Parameters
    ----------
    init : {"auto", "random"} or array-like of shape (n_items, m)
    pairs : WeightedPairs or DistancePairs
    labels : ndarray of shape (n_items,), int, or None
        Connected component of each item; None if all items are connected by pairs.
    problem : AnchoredProblem
    random_state : RandomState
        Moves coincident items apart.
    rng : numpy.random.Generator
        Draws everything else.
    n_threads : int

    Returns
    -------
    X : ndarray of shape (n_items, m)
    """
    if not isinstance(init, str):
        start = given_anchored_start(init, problem)
        lengths = problem.values if problem.deviations is None else problem.deviations
        check_not_wild(start, problem.values, lengths)
        start = start_over_fixed(start, problem.anchors, problem.values, labels)
    elif init == "random":
        start = start_about_anchors(problem, rng)
    elif problem.deviations is not None:
        start = distance_start(pairs.source, labels, problem, rng, n_threads)
    else:
        start = problem.quadratic_solution().X[: problem.n_items]
    return without_coincident(start, problem, random_state) if pairs.separates else start


def without_coincident(start, problem, random_state):
    """A start of an `AnchoredProblem` without coincident items, unless their distance is 0."""
    return separate_coincident(start, random_state, problem.deviations, problem.edges.__getitem__)


def given_anchored_start(init, problem):
    """The user's array, checked."""
    return checked_start(as_host_array(init), problem.n_items, problem.values.shape[1])


def distance_start(source, labels, problem, rng, n_threads):
    """Classical scaling of each connected component, rotated and shifted to its anchors.

    A component without anchors is centred at the mean of all anchors.

    Parameters
    ----------
    source : DistanceSource
    labels : ndarray of shape (n_items,), int, or None
        Connected component of each item; None if there is only one.
    problem : AnchoredProblem
    rng : numpy.random.Generator
    n_threads : int

    Returns
    -------
    X : ndarray of shape (n_items, m)
    """
    m = problem.values.shape[1]
    X = fill_constant_columns(landmark_start(source, labels, m, rng, n_threads), rng)
    X = start_over_fixed(X, problem.anchors, problem.values, labels)
    if labels is not None:
        for part in np.setdiff1d(labels, labels[problem.anchors]):
            X[labels == part] += problem.center - X[labels == part].mean(axis=0)
    return X


def start_about_anchors(problem, rng):
    """Normal samples about the mean of the anchors, on the scale of the anchors and distances."""
    center, m = problem.center, problem.values.shape[1]
    spread = np.abs(problem.values - center).max()
    if problem.deviations is not None:
        spread = max(spread, problem.deviations.max(initial=0.0) / 2)
    return center + (spread or 1.0) * rng.standard_normal((problem.n_items, m))
