"""Sets of pairs of items: all pairs, random pairs, and random pairs that are not edges.

A pair ``i < j`` of ``n`` items is a row of an int32 array. Internally it is one int64 *code*
``i * n + j``, so that a set of pairs is a sorted array of integers. Random pairs are drawn with a
private generator.
"""

from __future__ import annotations

import numpy as np

from skmde._utils.random import distinct_integers, private_generator
from skmde._utils.validation import as_host_array

_DRAWN_AT_ONCE = 1 << 20
_CANDIDATES = 4  # pairs that are drawn for each far one

__all__ = ["all_edges", "deduplicate_edges", "sample_dissimilar", "sample_edges", "sample_far"]


def all_edges(n_items):
    """All pairs of items.

    Parameters
    ----------
    n_items : int

    Returns
    -------
    edges : ndarray of shape (n_items * (n_items - 1) / 2, 2), int32
        Pairs ``i < j``, sorted by (i, j).

    See Also
    --------
    sample_edges : Distinct pairs of items, uniformly at random.

    Examples
    --------
    >>> from skmde.preprocessing import all_edges
    >>> all_edges(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    n = int(n_items)
    edges = np.empty((n * (n - 1) // 2, 2), np.int32)
    items, start = np.arange(n, dtype=np.int32), 0
    for i in range(n - 1):  # item by item: without arrays of 8 bytes for each pair
        pairs = edges[start : start + n - 1 - i]
        pairs[:, 0], pairs[:, 1] = i, items[i + 1 :]
        start += len(pairs)
    return edges


def deduplicate_edges(edges):
    """Each pair once, with its smaller item first.

    Parameters
    ----------
    edges : array-like of shape (n_edges, 2), int
        Pairs of items in either order.

    Returns
    -------
    edges : ndarray of shape (n_unique, 2), int32
        Pairs ``i < j``, sorted by (i, j).

    Raises
    ------
    ValueError
        If an item is paired with itself or negative.

    See Also
    --------
    edges_from_graph : The edges of a symmetric graph, each listed once.

    Examples
    --------
    >>> from skmde.preprocessing import deduplicate_edges
    >>> deduplicate_edges([[2, 0], [0, 1], [0, 2]]).tolist()
    [[0, 1], [0, 2]]
    """
    edges = checked_edges(edges)
    n = int(edges.max(initial=0)) + 1
    return _decode(np.unique(_encode(edges, n)), n)


def sample_edges(n_items, n_pairs, random_state=None):
    """Distinct pairs of items, uniformly at random.

    Parameters
    ----------
    n_items : int
    n_pairs : int
        Number of pairs to draw. If there are fewer, all pairs are returned.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    edges : ndarray of shape (n_pairs, 2), int32
        Pairs ``i < j``, sorted by (i, j).

    See Also
    --------
    all_edges : All pairs of items.
    sample_dissimilar : Distinct pairs of items that are not given edges, uniformly at random.
    sample_far : Distinct pairs of items that are far apart and are not given edges.

    Examples
    --------
    >>> from skmde.preprocessing import sample_edges
    >>> sample_edges(1000, 5, random_state=0).shape
    (5, 2)
    """
    return sample_dissimilar(n_items, n_pairs, np.empty((0, 2), np.int32), random_state)


def edges_from(first, n_items, max_pairs, rng):
    """Pairs ``i < j`` with ``j >= first``: all of them, or a uniform sample.

    Parameters
    ----------
    first : int
    n_items : int
    max_pairs : float
        If there are more pairs, `max_pairs` of them are sampled, without replacement.
    rng : numpy.random.Generator

    Returns
    -------
    edges : ndarray of shape (p, 2), int32
        Sorted by (j, i).

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing.pairs.sampling import edges_from
    >>> edges_from(2, 4, np.inf, np.random.default_rng(0)).tolist()
    [[0, 2], [1, 2], [0, 3], [1, 3], [2, 3]]
    """
    within, every = first * (first - 1) // 2, n_items * (n_items - 1) // 2
    if every - within > max_pairs:
        # In this order a pair has number j (j - 1) / 2 + i, so pairs with j >= first come last.
        numbers = distinct_integers(every - within, int(max_pairs), rng) + within
        j = np.floor((1 + np.sqrt(1 + 8 * numbers.astype(np.float64))) / 2).astype(np.int64)
        j -= j * (j - 1) // 2 > numbers
        j += j * (j + 1) // 2 <= numbers
        i = numbers - j * (j - 1) // 2
    else:
        j = np.repeat(np.arange(first, n_items), np.arange(first, n_items))
        i = np.arange(within, every) - j * (j - 1) // 2
    return np.stack([i, j], axis=1).astype(np.int32)


def sample_dissimilar(n_items, n_pairs, excluded_edges, random_state=None):
    """Distinct pairs of items that are not given edges, uniformly at random.

    Parameters
    ----------
    n_items : int
    n_pairs : int
        Number of pairs to draw. If fewer pairs are not edges, all of them are returned.
    excluded_edges : array-like of shape (n_edges, 2), int
        Pairs in either order.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    edges : ndarray of shape (n_pairs, 2), int32
        Pairs ``i < j``, sorted by (i, j), without repetition.

    Raises
    ------
    ValueError
        If `n_pairs` is negative, or an edge is not a pair of two different items.

    See Also
    --------
    sample_edges : Distinct pairs of items, uniformly at random.
    sample_far : Distinct pairs of items that are far apart and are not given edges.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.3.1 (choosing
    dissimilar items).

    Examples
    --------
    >>> from skmde.preprocessing import sample_dissimilar
    >>> sample_dissimilar(4, 10, [[0, 1], [2, 3]]).tolist()
    [[0, 2], [0, 3], [1, 2], [1, 3]]
    """
    n, wanted = int(n_items), int(n_pairs)
    if wanted < 0:
        raise ValueError(f"n_pairs must not be negative, got {n_pairs}.")
    excluded = checked_edges(excluded_edges)
    if excluded.max(initial=-1) >= n:
        raise ValueError(f"Item {int(excluded.max())} is out of range for {n} items.")
    excluded = _sorted_codes(_encode(excluded, n))
    free = n * (n - 1) // 2 - len(excluded)
    wanted = min(wanted, free)
    rng = private_generator(random_state)
    if 2 * wanted >= free or wanted == 0:
        return _decode(_sample_listed(n, wanted, excluded, free, rng), n)
    return _decode(_sample_drawn(n, wanted, excluded, rng), n)


def sample_far(n_items, n_pairs, excluded_edges, distances, random_state=None):
    """Distinct pairs of items that are far apart and are not given edges.

    Four times as many pairs as are wanted are drawn by :func:`sample_dissimilar`, and the farthest
    of them are returned: a random sample of about the farthest quarter of all pairs.

    Parameters
    ----------
    n_items : int
    n_pairs : int
        Number of pairs to return, if there are as many that are not edges.
    excluded_edges : array-like of shape (n_edges, 2), int
        Pairs in either order.
    distances : callable
        Takes pairs of shape (p, 2), ``i < j``, and returns their distances; infinity for pairs that
        are farther apart than any distance.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    edges : ndarray of shape (n_pairs, 2), int32
        Pairs ``i < j``, sorted by (i, j), without repetition.

    Raises
    ------
    ValueError
        As for :func:`sample_dissimilar`, or if a distance is NaN.

    See Also
    --------
    sample_dissimilar : Distinct pairs of items that are not given edges, uniformly at random.
    sample_edges : Distinct pairs of items, uniformly at random.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.3.1 (choosing
    dissimilar items).

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import sample_far
    >>> x = np.array([0.0, 1.0, 2.0, 10.0])
    >>> sample_far(4, 2, [[2, 3]], lambda pairs: abs(x[pairs[:, 0]] - x[pairs[:, 1]])).tolist()
    [[0, 3], [1, 3]]
    """
    rng, wanted = private_generator(random_state), int(n_pairs)
    drawn = sample_dissimilar(n_items, _CANDIDATES * wanted, excluded_edges, rng)
    drawn = drawn[rng.permutation(len(drawn))]  # chooses among pairs at the same distance
    lengths = np.asarray(distances(drawn), dtype=np.float64)
    if lengths.shape != (len(drawn),) or np.isnan(lengths).any():
        raise ValueError("The distances must be one number for each pair, and not NaN.")
    farthest = drawn[np.argsort(-lengths, kind="stable")[:wanted]]
    return _decode(_sorted_codes(_encode(farthest, int(n_items))), int(n_items))


def _sample_listed(n, wanted, excluded, free, rng):
    """Sample from the list of all free pairs. Used if the list is at most twice as long."""
    if wanted == 0:
        return np.empty(0, np.int64)
    codes = _encode(all_edges(n), n)
    if len(excluded):
        keep = np.ones(len(codes), bool)
        keep[np.searchsorted(codes, excluded)] = False
        codes = codes[keep]
    if wanted < free:
        codes = codes[np.sort(rng.choice(free, wanted, replace=False, shuffle=False))]
    return codes


def _sample_drawn(n, wanted, excluded, rng):
    """Draw pairs repeatedly and keep the free pairs that are new.

    Each draw is uniform over all pairs, so by symmetry a uniform choice among the pairs kept at the
    end is a uniform choice among all free pairs.
    """
    share_free = 1 - 2 * len(excluded) / (n * (n - 1))
    codes = np.empty(0, np.int64)
    while len(codes) < wanted:
        missing = wanted - len(codes)
        size = int(missing / share_free * (1 + wanted / n**2) * 1.02) + 16
        codes = _sorted_codes(np.concatenate([codes, _draw(n, size, rng)]))
        if len(excluded):
            at = np.searchsorted(excluded, codes)
            codes = codes[excluded[np.minimum(at, len(excluded) - 1)] != codes]
    surplus = len(codes) - wanted
    if surplus:
        keep = np.ones(len(codes), bool)
        keep[rng.choice(len(codes), surplus, replace=False, shuffle=False)] = False
        codes = codes[keep]
    return codes


def _draw(n, size, rng):
    """Codes of random pairs, drawn with replacement."""
    codes = np.empty(size, np.int64)
    for start in range(0, size, _DRAWN_AT_ONCE):
        part = codes[start : start + _DRAWN_AT_ONCE]
        i = rng.integers(n, size=len(part))
        j = rng.integers(n - 1, size=len(part))
        j += j >= i
        np.minimum(i, j, out=part)
        part *= n
        part += np.maximum(i, j)
    return codes


def checked_edges(edges):
    edges = np.asarray(as_host_array(edges))
    if edges.size == 0:
        return np.empty((0, 2), np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"Edges must be an array of shape (n_edges, 2), got {edges.shape}.")
    if edges.dtype.kind not in "iu":
        raise ValueError(f"Edges must be integers, got dtype {edges.dtype}.")
    if edges.dtype not in (np.int32, np.int64) or not edges.dtype.isnative:
        edges = edges.astype(np.int64)  # others overflow, or have no compiled form
    if edges.min() < 0:
        raise ValueError(f"Items are numbered from 0, got {int(edges.min())} in an edge.")
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise ValueError(f"Edge {loops[0]} joins item {edges[loops[0], 0]} to itself. Remove it.")
    return edges


def _encode(edges, n):
    low = np.minimum(edges[:, 0], edges[:, 1]).astype(np.int64)
    return low * n + np.maximum(edges[:, 0], edges[:, 1])


def _decode(codes, n):
    edges = np.empty((len(codes), 2), np.int32)
    edges[:, 0] = codes // n
    edges[:, 1] = codes - edges[:, 0].astype(np.int64) * n
    return edges


def _sorted_codes(codes):
    """Sorted distinct codes. Edges of a graph have this form already and are not copied."""
    if len(codes) > 1 and not (codes[1:] > codes[:-1]).all():
        codes = np.sort(codes)
        new = np.empty(len(codes), bool)
        new[0] = True
        np.not_equal(codes[1:], codes[:-1], out=new[1:])
        codes = codes[new]
    return codes
