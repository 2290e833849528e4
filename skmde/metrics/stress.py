"""Errors of the distances in an embedding: normalised stress, and distortion between groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.stats import rankdata
from sklearn.utils import check_consistent_length, check_random_state

from skmde._linalg.frame import Unit
from skmde._utils.rows import as_csr
from skmde.metrics.alignment import as_array, known_codes
from skmde.metrics.gaps import draw_known, has_gaps
from skmde.metrics.preservation import check_integer, checked_pair, pair_distances


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

    See Also
    --------
    distance_correlation :
        Rank correlation of the distances in the data and in the embedding (Spearman's rho).
    skmde.PreserveDistances : Minimum-distortion embedding that preserves original distances.

    Examples
    --------
    >>> from skmde.metrics import normalized_stress
    >>> normalized_stress([1.0, 2.0, 3.0], [10.0, 20.0, 30.0])
    0.0
    >>> normalized_stress([3.0, 4.0], [1.0, 0.0])
    0.8
    """
    delta = as_array(distances, "distances").astype(np.float64)
    d = as_array(embedding_distances, "embedding_distances").astype(np.float64)
    w = np.ones(delta.shape) if weights is None else as_array(weights, "weights").astype(np.float64)
    if not delta.shape == d.shape == w.shape:
        shapes = f"distances {delta.shape}, embedding_distances {d.shape}, weights {w.shape}"
        raise ValueError(f"The shapes differ: {shapes}; pass one number per pair in each array.")
    for name, values in (("distances", delta), ("embedding_distances", d), ("weights", w)):
        if np.isnan(values).any() or (values < 0).any():
            advice = " Use infinity for a pair without a distance." * (name == "distances")
            raise ValueError(f"{name} must be at least 0 and not NaN; got {values.min()}.{advice}")
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


def distance_correlation(X, embedding, n_pairs=200_000, metric="euclidean", *, random_state=None):
    """Rank correlation of the distances in the data and in the embedding (Spearman's rho).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_items, n_features) or (n_items, n_items)
        The data, or their distances if ``metric="precomputed"``, infinity for pairs without one.
    embedding : array-like of shape (n_items, n_components)
        The embedding.
    n_pairs : int, default=200000
        Number of pairs of distinct items to sample.
    metric : str or callable, default="euclidean"
        "euclidean", "manhattan", "cosine", "precomputed", or a function of two rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the pairs.

    Returns
    -------
    float
        1 if the order of all distances is kept, 0 if the two are unrelated, -1 if it is reversed;
        NaN if all distances are equal in the data or in the embedding.

    See Also
    --------
    triplet_accuracy : Fraction of random triplets of items whose order of distances is preserved.
    normalized_stress : Relative error of the embedding distances after optimal scaling.

    Examples
    --------
    >>> from skmde.metrics import distance_correlation
    >>> distance_correlation([[0.0], [1.0], [3.0]], [[0.0], [10.0], [31.0]], random_state=0)
    1.0
    """
    delta, d = sampled_distances(X, embedding, n_pairs, metric, random_state)
    return rank_correlation(delta, d)


def sampled_distances(X, embedding, n_pairs, metric, random_state):
    """Distances of random pairs of distinct items, in the data and in the embedding."""
    X, embedding = checked_pair(X, embedding, metric)
    n = len(embedding)
    check_integer(n_pairs, "n_pairs")
    if n_pairs < 1 or n < 2:
        raise ValueError(f"There must be 1 pair and 2 items or more; got {n_pairs} and {n}.")
    random = check_random_state(random_state)
    if has_gaps(X, metric):
        i, j = draw_known(X, n_pairs, 1, random)
    else:
        i, j = random.randint(n, size=n_pairs), random.randint(n - 1, size=n_pairs)
        j += j >= i
    return pair_distances(X, i, j, metric), pair_distances(embedding, i, j)


def rank_correlation(a, b):
    """Spearman's rho of two arrays; NaN if one of them is constant."""
    ranks = [rankdata(values) - (len(values) + 1) / 2 for values in (a, b)]
    size = np.sqrt(np.sum(ranks[0] ** 2) * np.sum(ranks[1] ** 2))
    return float(np.sum(ranks[0] * ranks[1]) / size) if size > 0 else np.nan


class GroupDistortion(NamedTuple):
    """Mean distortion of the pairs between groups of items.

    Parameters
    ----------
    groups : ndarray of shape (n_groups,)
        The groups, in ascending order; numbers of columns if the groups overlap.
    mean : ndarray of shape (n_groups, n_groups)
        Mean distortion of the pairs between two groups, symmetric; NaN where there is no pair.
    n_pairs : ndarray of shape (n_groups, n_groups)
        Number of pairs between two groups, symmetric.

    See Also
    --------
    distortion_by_group : Mean distortion within and between groups of items.
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
    groups : array-like of shape (n_items,), or {array-like, sparse matrix} of shape \
            (n_items, n_groups)
        Group of each item, such as its class; None and NaN mark items that belong to no group. For
        groups that overlap, a matrix of 0 and 1 that
        says which items are in which groups, as
        :class:`sklearn.preprocessing.MultiLabelBinarizer` makes it.

    Returns
    -------
    GroupDistortion
        Groups, mean distortions and numbers of pairs. A pair counts between all groups of its one
        and all groups of its other item, once between any two groups.

    Raises
    ------
    ValueError
        If the shapes do not agree, an edge has no group, or a matrix has other entries.

    See Also
    --------
    Distortions :
        The distortions of an embedding; the method `distortions` of an estimator returns it.
    GroupAverages :
        Average distortion of the pairs that touch each group: those with an item in it.

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

    All three items are in the first group, the last is in the second, too:

    >>> distortion_by_group([1.0, 4.0, 6.0], edges, [[1, 0], [1, 0], [1, 1]]).n_pairs
    array([[3, 2],
           [2, 0]])
    """
    distortions = as_array(distortions, "distortions").astype(np.float64)
    edges = as_array(edges, "edges")
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"edges must be pairs of item indices, integers of shape (n_edges, 2); got shape "
            f"{edges.shape} and dtype {edges.dtype}."
        )
    if distortions.ndim != 1:
        raise ValueError(
            f"distortions must be one number for each edge; got shape {distortions.shape}."
        )
    check_consistent_length(distortions, edges)
    names, member = memberships(groups)
    if edges.size and not (edges.min() >= 0 and edges.max() < member.shape[0]):
        raise ValueError(
            f"edges has item indices from {edges.min()} to {edges.max()}, but groups has labels "
            f"only for items from 0 to {member.shape[0] - 1}."
        )
    n_groups = len(names)
    edge, first, second = _group_pairs(member, edges)
    cell, cells = first * n_groups + second, n_groups**2
    count = np.bincount(cell, minlength=cells).reshape(n_groups, n_groups)
    total = np.bincount(cell, distortions[edge], minlength=cells).reshape(n_groups, n_groups)
    # Pairs are counted on and above the diagonal; the matrices are symmetric.
    count, total = (np.triu(a) + np.triu(a, 1).T for a in (count, total))
    mean = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return GroupDistortion(names, mean, count)


def memberships(groups, name="groups"):
    """Names of the groups, and a CSR matrix of 1 where an item is in a group."""
    values = csr_array(groups) if issparse(groups) else as_array(groups, name)
    if values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1 and not issparse(groups)):
        names, codes = known_codes(values, name)
        there = codes >= 0
        starts = np.concatenate([[0], np.cumsum(there)])
        shape = len(codes), len(names)
        return names, csr_array((np.ones(starts[-1]), codes[there], starts), shape=shape)
    entries = values.data if issparse(values) else values
    other = entries[(entries != 0) & (entries != 1)]
    if values.ndim != 2 or other.size:
        raise ValueError(
            f"{name} must be one label for each item or, for groups that overlap, an indicator "
            f"matrix of 0 and 1 of shape (n_items, n_groups); got shape {values.shape}"
            + (f" with the entry {other[0]}." if other.size else ".")
        )
    member = as_csr(values)
    member.eliminate_zeros()
    return np.arange(member.shape[1]), member


def _group_pairs(member, edges):
    """All pairs of a group of the one item and a group of the other, once for each edge.

    Returns
    -------
    edge, first, second : ndarrays of int of shape (n_pairs,)
        Position of an edge, and two groups that it is between, in ascending order.
    """
    one, other = (member[items] for items in edges.T)
    # Every group of the one item is repeated for each group of the other.
    repeats = np.diff(other.indptr)
    edge = np.repeat(np.arange(len(edges)), np.diff(one.indptr))
    times = repeats[edge]
    start = np.repeat(other.indptr[edge] - (np.cumsum(times) - times), times)
    groups = np.stack(
        [np.repeat(one.indices, times), other.indices[start + np.arange(times.sum())]]
    )
    edge, (first, second) = np.repeat(edge, times), np.sort(groups, axis=0).astype(np.int64)
    n_groups = member.shape[1]
    _, chosen = np.unique((edge * n_groups + first) * n_groups + second, return_index=True)
    return edge[chosen], first[chosen], second[chosen]
