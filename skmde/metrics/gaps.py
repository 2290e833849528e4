"""Distances that are not known: infinite entries of a dense square matrix of distances.

A pair without a distance is left out of every measure. Of an item, only the others at known
distance count, in the data as in the embedding.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches

CHUNK_NUMBERS = 2**21  # float64 numbers per chunk: 16 MiB


def checked_distances(D):
    """Check a square matrix of distances, in which infinity marks a gap.

    Parameters
    ----------
    D : ndarray or csr_matrix of shape (n_items, n_items)

    Returns
    -------
    ndarray or csr_matrix of shape (n_items, n_items)
        Of a dense matrix, a distance that is known in one direction only holds for both, and the
        diagonal is finite. A sparse matrix stores no infinity.
    """
    if issparse(D):
        return _stored_distances(D)
    if D.dtype.kind != "f":
        return D
    unknown = ~np.isfinite(D)
    own = np.diagonal(unknown)
    if own.any():
        D = D.copy()
        np.fill_diagonal(D, np.where(own, 0.0, np.diagonal(D)))
        unknown = ~np.isfinite(D)
    if not unknown.any():
        return D
    _check_marks(D)
    return np.where(unknown, D.T, D)


def _stored_distances(D):
    known = np.isfinite(D.data)
    if known.all():
        return D
    rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    _check_marks(D.data[rows != D.indices])
    starts = np.concatenate([[0], np.cumsum(known)])[D.indptr]
    return csr_matrix((D.data[known], D.indices[known], starts), shape=D.shape)


def _check_marks(values):
    if np.isnan(values).any() or np.isneginf(values).any():
        raise ValueError(
            "Precomputed distances contain NaN or negative infinity. Use infinity for pairs "
            "without a distance: np.where(np.isnan(X), np.inf, X)."
        )


def has_gaps(X, metric):
    """Whether X is a dense matrix of distances in which some are not known."""
    precomputed = isinstance(metric, str) and metric == "precomputed"
    return precomputed and not issparse(X) and bool(np.isinf(X).any())


def known_counts(D):
    """Number of the other items at known distance, of each item."""
    return np.isfinite(D).sum(axis=1) - 1  # without the item itself


def recall_of_known(D, embedding, numbers, rows):
    """As `recall_by_item`, of distances with gaps.

    An item counts if it knows the distances of more than k others: k of k say nothing.
    """
    most, n = max(numbers), len(D)
    n_known = known_counts(D)[rows]
    counts = [(np.zeros(len(rows), dtype=int), np.where(n_known > k, k, 0)) for k in numbers]
    for batch in gen_batches(len(rows), max(1, CHUNK_NUMBERS // n)):
        own, found = _both_distances(D, embedding, rows[batch])
        true, near = (np.argsort(a, axis=1, kind="stable")[:, :most] for a in (own, found))
        for k, (hits, there) in zip(numbers, counts, strict=True):
            shared = [np.isin(a[:k], b[:k]).sum() for a, b in zip(true, near, strict=True)]
            hits[batch] = np.where(there[batch] > 0, shared, 0)
    return counts


def rank_score(D, embedding, k, *, torn):
    """Continuity (if `torn`) or trustworthiness, of distances with gaps.

    Of an item with m - 1 others at known distance, the ranks are those among these, and the
    excess is at most k (2 m - 3 k - 1) / 2. The score is 1 minus the sum of the excesses by the
    sum of their bounds. Items count whose neighbourhood is smaller than half of m.
    """
    n = len(D)
    size = known_counts(D) + 1
    counted = np.flatnonzero(2 * k < size)
    if not len(counted):
        raise ValueError(
            f"n_neighbors={k}, but it must be less than half the number of items at known distance "
            f"of one item or more; that number is {size.max() - 1} at most."
        )
    excess = 0.0
    for batch in gen_batches(len(counted), max(1, CHUNK_NUMBERS // n)):
        own, found = _both_distances(D, embedding, counted[batch])
        near_by, ranked = (own, found) if torn else (found, own)
        near = np.argsort(near_by, axis=1, kind="stable")[:, :k]
        reach = np.take_along_axis(ranked, near, axis=1)
        ranked.sort(axis=1)
        for d, r in zip(ranked, reach, strict=True):
            closer, as_close = (np.searchsorted(d, r, side=side) for side in ("left", "right"))
            excess += mean_excess(closer, as_close, k).sum()
    return float(1 - 2 / np.sum(k * (2 * size[counted] - 3 * k - 1)) * excess)


def mean_excess(closer, as_close, k):
    """Mean of max(rank - k, 0) over the ranks closer + 1 to as_close, which equal distances share.

    Parameters
    ----------
    closer, as_close : ndarrays of int
        Numbers of items that are closer, and of those that are closer or as close.
    k : int
    """
    high, low = (np.maximum(ranks - k, 0.0) for ranks in (as_close, closer))
    return (high * (high + 1) - low * (low + 1)) / 2 / np.maximum(as_close - closer, 1)


def draw_known(D, size, n_others, random):
    """Random items with distinct others at known distance; each choice is equally likely.

    Parameters
    ----------
    D : ndarray of shape (n_items, n_items)
    size : int
        Number of items to draw, with replacement.
    n_others : {1, 2}
        Number of others to draw for each.
    random : RandomState

    Returns
    -------
    tuple of ndarrays of int of shape (size,)
        The items in ascending order, and the others.
    """
    counts = known_counts(D)
    ways = counts * (counts - 1.0) if n_others == 2 else counts.astype(float)
    if not ways.any():
        raise ValueError(
            f"No item of X has {n_others} finite distance{'s' * (n_others > 1)} to others; pass "
            "more distances."
        )
    items = np.sort(random.choice(len(D), size, p=ways / ways.sum()))
    at = [random.randint(counts[items] - used) for used in range(n_others)]
    if n_others == 2:
        at[1] += at[1] >= at[0]
    bounds = np.searchsorted(items, np.arange(len(D) + 1))
    for row in np.unique(items):
        drawn = slice(bounds[row], bounds[row + 1])
        known = np.isfinite(D[row])
        known[row] = False
        columns = np.flatnonzero(known)
        for others in at:
            others[drawn] = columns[others[drawn]]
    return items, *at


def _both_distances(D, embedding, rows):
    """Distances of some items in the data and in the embedding; infinity where not known."""
    own = D[rows].astype(np.float64)
    own[np.arange(len(rows)), rows] = np.inf
    found = euclidean_distances(embedding[rows].astype(np.float64), embedding)
    found[np.isinf(own)] = np.inf
    return own, found
