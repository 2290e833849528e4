"""Errors of the distances in an embedding: normalised stress, and distortion between groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length

from skmde._linalg.frame import Unit
from skmde.metrics.alignment import as_array


def normalized_stress(distances, embedding_distances, *, weights=None):
    """Relative error of the embedding distances after optimal scaling.

    The square root of sum w (delta - a d)^2 / sum w delta^2, with the scale a that minimises it.

    Parameters
    ----------
    distances : array-like
        Original distances of pairs of items, in an array of any shape, such as a square matrix.
        Pairs with an infinite original distance are ignored.
    embedding_distances : array-like
        Embedding distances of the same pairs, in an array of the same shape.
    weights : array-like, default=None
        Weights of the pairs, at least 0.

    Returns
    -------
    float
        Between 0 and 1; 0 if the distances are proportional. If all original distances are 0, it is
        0 if all embedding distances are 0, and 1 otherwise.

    Examples
    --------
    >>> from skmde.metrics import normalized_stress
    >>> normalized_stress([1.0, 2.0, 3.0], [10.0, 20.0, 30.0])
    0.0
    >>> normalized_stress([3.0, 4.0], [1.0, 0.0])
    0.8
    """
    delta, d = (as_array(a).astype(np.float64) for a in (distances, embedding_distances))
    w = np.ones(delta.shape) if weights is None else as_array(weights).astype(np.float64)
    if not delta.shape == d.shape == w.shape:
        shapes = f"distances {delta.shape}, embedding_distances {d.shape}, weights {w.shape}"
        raise ValueError(f"The shapes differ: {shapes}; pass one number per pair in each array.")
    for name, values in (("distances", delta), ("embedding_distances", d), ("weights", w)):
        if np.isnan(values).any() or (values < 0).any():
            raise ValueError(f"{name} must be at least 0 and not NaN; got {values.min()}.")
    known = np.isfinite(delta)
    delta, d, w = delta[known], d[known], w[known]
    if not (w > 0).any():
        raise ValueError("No pair to compare: pass a pair of finite distance and positive weight.")
    if not (np.isfinite(d).all() and np.isfinite(w).all()):
        raise ValueError("embedding_distances and weights must be finite.")
    # Divided by the largest entry, so that squares do not overflow.
    delta, d, w = (Unit.largest(a).inside(a) for a in (delta, d, w))
    original, square = np.sum(w * delta**2), np.sum(w * d**2)
    if original == 0:
        return float(square > 0)
    scale = np.sum(w * delta * d) / square if square > 0 else 0.0
    return float(np.sqrt(np.sum(w * (delta - scale * d) ** 2) / original))


class GroupDistortion(NamedTuple):
    """Mean distortion of the pairs between groups of items.

    Parameters
    ----------
    groups : ndarray of shape (n_groups,)
        The groups, in ascending order.
    mean : ndarray of shape (n_groups, n_groups)
        Mean distortion of the pairs between two groups, symmetric; NaN where there is no pair.
    n_pairs : ndarray of shape (n_groups, n_groups)
        Number of pairs between two groups, symmetric.
    """

    groups: np.ndarray
    mean: np.ndarray
    n_pairs: np.ndarray


def distortion_by_group(distortions, edges, groups):
    """Mean distortion within and between groups of items.

    This shows which groups the embedding preserves badly, within a group or between two of them.

    Parameters
    ----------
    distortions : array-like of shape (n_edges,)
        Distortion of each pair, for example from :meth:`skmde.MDE.distortions`.
    edges : array-like of int of shape (n_edges, 2)
        The pairs of items.
    groups : array-like of shape (n_items,)
        Group of each item, such as its class.

    Returns
    -------
    GroupDistortion
        Groups, mean distortions and numbers of pairs.

    Examples
    --------
    >>> from skmde.metrics import distortion_by_group
    >>> edges = [[0, 1], [1, 2], [0, 2]]
    >>> found = distortion_by_group([1.0, 4.0, 6.0], edges, ["a", "a", "b"])
    >>> found.mean
    array([[ 1.,  5.],
           [ 5., nan]])
    >>> found.n_pairs
    array([[1, 2],
           [2, 0]])
    """
    distortions = as_array(distortions).astype(np.float64)
    edges, labels = as_array(edges), as_array(groups)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"edges must be pairs of item indices, integers of shape (n_edges, 2); got shape "
            f"{edges.shape} and dtype {edges.dtype}."
        )
    check_consistent_length(distortions, edges)
    if edges.size and not (edges.min() >= 0 and edges.max() < len(labels)):
        raise ValueError(
            f"edges has item indices from {edges.min()} to {edges.max()}, but groups has labels "
            f"only for items from 0 to {len(labels) - 1}."
        )
    names, codes = np.unique(labels, return_inverse=True)
    n_groups = len(names)
    first, second = np.sort(codes[edges], axis=1).T
    cell, cells = first * n_groups + second, n_groups**2
    count = np.bincount(cell, minlength=cells).reshape(n_groups, n_groups)
    total = np.bincount(cell, distortions, minlength=cells).reshape(n_groups, n_groups)
    # Pairs are counted on and above the diagonal; the matrices are symmetric.
    count, total = (np.triu(a) + np.triu(a, 1).T for a in (count, total))
    mean = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return GroupDistortion(names, mean, count)
