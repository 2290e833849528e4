"""Starting points for given distances."""

from __future__ import annotations

import numpy as np

from skmde._linalg.frame import Unit
from skmde._linalg.principal import principal_scores
from skmde._linalg.scaling import root_mean_square
from skmde._utils.warn import warn
from skmde.core.objectives.all_pairs import pairs_at
from skmde.core.spectral.classical import landmark_mds
from skmde.preprocessing.graphs.components import pack_components

_LANDMARKS = 300
_LENGTHS = 1 << 22  # distances from the landmarks to all items
_N_SCALE_PAIRS = 1 << 17  # pairs from which the scale of a starting point is computed


def named_start(init, X, source, pairs, n_components, rng, n_threads):
    """The starting point that the parameter `init` names, on the scale of the distances.

    Parameters
    ----------
    init : {"classical", "pca", "random"}
    X : ndarray or sparse matrix
        The input of `fit`.
    source : DistanceSource
    pairs : Pairs
    n_components : int
    rng : numpy.random.Generator
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    X : ndarray of shape (n, n_components), float64
    """
    if init == "random":
        return scaled_to_distances(rng.standard_normal((source.n_items, n_components)), pairs)
    if init == "pca" or source.is_euclidean:  # then classical scaling is PCA
        start = principal_scores(X, n_components, rng)
        flat = 1e-6 if X.dtype == np.float32 else 1e-12  # what may be rounding error
        return scaled_to_distances(fill_constant_columns(start, rng, flat), pairs)
    start = landmark_start(source, pairs.labels, n_components, rng, n_threads)
    return scaled_to_distances(fill_constant_columns(start, rng), pairs)


def landmark_start(source, labels, n_components, rng, n_threads):
    """Classical scaling from random landmarks, separately for each connected component.

    Parameters
    ----------
    source : DistanceSource
    labels : ndarray of shape (n,), int, or None
        Connected component of each item; None if there is only one.
    n_components : int
    rng : numpy.random.Generator
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    X : ndarray of shape (n, n_components), float64
        In units of the distances; components are side by side.
    """
    n = source.n_items
    X = np.zeros((n, n_components))
    parts = [np.arange(n)]
    if labels is not None:
        order = np.argsort(labels, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    for part in parts:
        if len(part) == 1:
            continue
        count = min(len(part), max(20, min(_LANDMARKS, _LENGTHS // n)))
        chosen = np.sort(rng.choice(len(part), count, replace=False, shuffle=False))
        distances = source.from_items(part[chosen])[:, part]
        X[part] = landmark_mds(distances, chosen, n_components, n_threads=n_threads)
    return X if labels is None else pack_components(X, labels, rescale=False)


def fill_constant_columns(X, rng, rounding=1e-6):
    """Fill constant columns with noise of a thousandth of the embedding's scale.

    A constant column would stay constant, because its gradient is zero. `rounding` is the width of
    such a column, relative to the widest one.
    """
    flat = np.ptp(X, axis=0) <= rounding * np.ptp(X, axis=0).max(initial=0.0)
    size = np.sqrt(np.mean(X**2))
    X[:, flat] = 1e-3 * size * rng.standard_normal((len(X), int(flat.sum())))
    return X


def scaled_to_distances(X, pairs):
    """X times the scalar that brings its distances nearest to the original ones."""
    return X * _factor(X, pairs)


def scaled_to_distances_if_wild(X, pairs):
    """The user's X, scaled to the distances if its scale is far from theirs."""
    factor = _factor(X, pairs)
    return X if 1e-3 < factor < 1e3 else X * factor


def warn_if_too_long(distances, constraint, n_components):
    """Warn if the original distances are mostly longer than a set is wide."""
    diameter = constraint.diameter(n_components)
    size = root_mean_square(distances) if diameter < np.inf else 0.0
    if size > diameter:
        warn(
            f"The original distances are about {size:.3g}, but no two items of {constraint!r} are "
            f"farther apart than {diameter:.3g}, so the embedding is crowded at the boundary. "
            "Original distances are not scaled to the set: scale X, or take a larger set."
        )


def _factor(X, pairs):
    n, p = len(X), len(pairs.distances)
    some = np.arange(0, p, -(-p // _N_SCALE_PAIRS))
    i, j = _pairs_at(pairs, n, some).T
    deviations = pairs.distances[some].astype(np.float64)
    ours, theirs = Unit.largest(X), Unit.largest(deviations)
    if not deviations.any():
        return 1 / ours.size  # all distances are 0, so any scale will do
    X = ours.inside(X)
    d = np.sqrt(((X[i] - X[j]) ** 2).sum(axis=1))
    squares = (d**2).sum()
    if not squares > 0:
        return 1.0
    return float((theirs.inside(deviations) * d).sum() / squares * (theirs.size / ours.size))


def _pairs_at(pairs, n, positions):
    return pairs_at(positions, n) if pairs.edges is None else pairs.edges[positions]
