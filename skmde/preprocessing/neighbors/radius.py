"""All neighbours within a radius, with a limit on the memory of their tables."""

from __future__ import annotations

import numpy as np

from skmde.preprocessing.neighbors.selection import drop_far, nearest_stored

__all__ = ["all_within", "trim", "within_radius"]

_BLOCK_ENTRIES = 1 << 22

# Maximum number of entries, of 12 bytes each, in the neighbours tables of a radius.
_MAX_ENTRIES = 50_000_000


def within_radius(search, max_distance, n):
    """Neighbours tables of all other training rows within a distance.

    The number of neighbours is doubled until no row has more neighbours within the distance. So any
    search for a number of neighbours can be used.

    Parameters
    ----------
    search : callable
        ``search(k)`` returns the sorted tables (indices, distances) of the training rows.
    max_distance : float
    n : int
        Number of training rows.

    Returns
    -------
    indices : ndarray of shape (n, k), int32
        The largest number of neighbours of any row is k, which is at least 1.
    distances : ndarray of shape (n, k), float64

    Raises
    ------
    ValueError
        If the tables would be too large.
    """
    k = min(16, n - 1)
    while True:
        indices, distances = search(k)
        cut_short = (distances[:, -1] <= max_distance).sum()
        if not cut_short or k == n - 1:
            return trim(*drop_far(indices, distances, max_distance))
        k = min(2 * k, n - 1)
        _check_size(n, k, max_distance)


def all_within(table, max_distance):
    """Like `within_radius`, but compares all pairs of rows in one pass.

    Parameters
    ----------
    table : MetricDistances
        Distances between the training rows.
    max_distance : float

    Returns
    -------
    indices : ndarray of shape (n, k), int32
    distances : ndarray of shape (n, k), float64
    """
    n = table.n_samples_
    step = max(1, _BLOCK_ENTRIES // n)
    parts, most = [], 1
    for start in range(0, n, step):
        items = np.arange(start, min(start + step, n))
        block = table.between(items, slice(None))
        block[np.arange(len(items)), items] = np.inf
        rows, columns = np.nonzero(block <= max_distance)
        values = block[rows, columns]
        most = max(most, int(np.bincount(rows, minlength=1).max()))
        _check_size(n, most, max_distance)
        parts.append((rows + start, columns.astype(np.int32), values))
    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return nearest_stored(rows, columns, values, n, most)


def _check_size(n, k, max_distance):
    if n * k > _MAX_ENTRIES:
        raise ValueError(
            f"Within max_distance={max_distance}, some of the {n} rows have {k} neighbours or "
            f"more, so the tables would need more than {12 * n * k / 1e9:.1f} GB. Use a smaller "
            "max_distance, or set n_neighbors."
        )


def trim(indices, distances):
    """Remove the columns in which no row has a neighbour, but keep at least one column."""
    width = max(1, int((indices >= 0).sum(axis=1).max(initial=0)))
    return indices[:, :width], distances[:, :width]
