"""Selecting and sorting neighbours: by distance, then by index.

Each neighbours table of this package has this form: `indices` is int32 of shape
``(n_queries, k)``, with -1 for a missing entry. `distances` is float64 of the same shape, with
infinity for a missing entry. Rows are sorted by (distance, index), so missing entries come last.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from skmde._utils.validation import as_host_array, check_not_masked
from skmde._utils.warn import warn
from skmde.preprocessing.neighbors.backends.kernels import select_smallest

__all__ = [
    "check_count",
    "check_distinct",
    "checked_limits",
    "clamp_neighbors",
    "drop_far",
    "drop_self",
    "nearest_columns",
    "nearest_stored",
    "sort_rows",
]

# Up to this number of neighbours, insertion into a sorted list is faster than sorting a whole row.
_FEW = 256
# Maximum number of entries, of 12 bytes each, in tables that hold all that is given.
_MAX_ENTRIES = 200_000_000


def check_count(number, name):
    """Raise ValueError if a number of neighbours is not an integer of at least 1.

    The compiled searches write beyond their tables if there is no column.
    """
    if not isinstance(number, Integral) or isinstance(number, bool) or number < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {number!r}.")


def check_distinct(indices, distances):
    """Raise ValueError if a row of a caller's table has the same neighbour twice.

    Parameters
    ----------
    indices : ndarray of shape (n, k), int
    distances : ndarray of shape (n, k), float
        Entries that are missing, by either array, do not count.
    """
    present = np.sort(np.where(np.isfinite(distances), indices, -1), axis=1)
    twice = (present[:, 1:] == present[:, :-1]) & (present[:, 1:] >= 0)
    if twice.any():
        row, column = np.argwhere(twice)[0]
        raise ValueError(
            f"Row {row} of the neighbour tables has the neighbour {present[row, column]} twice, "
            "but the neighbours of an item must be distinct. Remove one, or mark it with the index "
            "-1."
        )


def checked_limits(max_distance, n_samples, name="max_distance"):
    """A limit for all items, or an array with one for each.

    Parameters
    ----------
    max_distance : float, array-like of shape (n_samples,), or None
    n_samples : int
    name : str, default="max_distance"
        Name of the argument, for messages.

    Returns
    -------
    limits : float, ndarray of shape (n_samples,), float64, or None
    """
    if max_distance is None:
        return None
    if isinstance(max_distance, Real):
        if not max_distance > 0 or isinstance(max_distance, bool):
            raise ValueError(f"{name} must be a positive number, got {max_distance!r}.")
        return max_distance
    check_not_masked(max_distance, name, "give each sample a limit")
    limits = np.asarray(as_host_array(max_distance))
    if limits.ndim == 0 or limits.dtype.kind not in "fiuO":
        raise ValueError(
            f"{name} must be a positive number, or an array with one for each of the {n_samples} "
            f"samples; got {max_distance!r}."
        )
    if limits.shape != (n_samples,):
        raise ValueError(
            f"{name} must have one entry for each of the {n_samples} samples; got shape "
            f"{limits.shape}."
        )
    limits = limits.astype(np.float64)
    wrong = np.flatnonzero(~(limits >= 0))
    if len(wrong):
        raise ValueError(
            f"{name} must not be negative or NaN; entry {wrong[0]} is {limits[wrong[0]]}."
        )
    return limits


def clamp_neighbors(n_neighbors, n_samples):
    """`n_neighbors`, limited to the number of other rows, with a warning if it is larger.

    Parameters
    ----------
    n_neighbors : int
        At least 1.
    n_samples : int

    Returns
    -------
    n_neighbors : int
        At most ``n_samples - 1``.
    """
    check_count(n_neighbors, "n_neighbors")
    if n_samples < 2:
        raise ValueError(f"Neighbours need at least 2 samples; found {n_samples} sample.")
    if n_neighbors > n_samples - 1:
        warn(
            f"n_neighbors={n_neighbors} is larger than the number of other rows; "
            f"using {n_samples - 1} (n_samples={n_samples}).",
        )
        return n_samples - 1
    return int(n_neighbors)


def sort_rows(indices, distances):
    """Sort each row by (distance, index), with missing entries last. Returns new arrays.

    Entries with a negative index or an infinite or NaN distance are missing.
    """
    indices = np.asarray(indices)
    missing = (indices < 0) | ~np.isfinite(distances)
    distances = np.where(missing, np.inf, distances).astype(np.float64, copy=False)
    order = np.lexsort((indices, distances), axis=-1)
    indices = np.where(missing, -1, indices).astype(np.int32, copy=False)
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(distances, order, axis=1)


def drop_self(indices, distances, own, k):
    """Remove each row's own index from a sorted table, and keep the first `k` columns.

    The table may not contain the row's own index: if a row has many copies, a search for k + 1
    neighbours may return k + 1 other copies. Then the last one is dropped.
    """
    is_self = indices == np.asarray(own)[:, None]
    indices = np.where(is_self, -1, indices)
    distances = np.where(is_self, np.inf, distances)
    indices, distances = sort_rows(indices, distances)
    return indices[:, :k], distances[:, :k]


def drop_far(indices, distances, max_distance):
    """Mark neighbours beyond `max_distance`, one for all rows or one a row, as missing.

    Returns new arrays.
    """
    far = ~(distances <= np.reshape(max_distance, (-1, 1)))
    return np.where(far, np.int32(-1), indices), np.where(far, np.inf, distances)


def nearest_columns(distances, k, exclude):
    """The `k` smallest entries of each row of a dense block.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_items), float64
        Scratch space: the excluded entries are overwritten.
    k : int
    exclude : ndarray of shape (n_queries,), int32
        The column to leave out of each row, or -1.

    Returns
    -------
    indices : ndarray of shape (n_queries, k), int32
    distances : ndarray of shape (n_queries, k), float64
    """
    n_queries, n_items = distances.shape
    rows = np.flatnonzero(exclude >= 0)
    distances[rows, exclude[rows]] = np.inf
    indices = np.full((n_queries, k), -1, np.int32)
    values = np.full((n_queries, k), np.inf)
    if k <= _FEW:
        select_smallest(distances, indices, values)
        return indices, values
    width = min(k, n_items)
    order = np.argsort(distances, axis=1, kind="stable")[:, :width]
    values[:, :width] = np.take_along_axis(distances, order, axis=1)
    indices[:, :width] = np.where(np.isfinite(values[:, :width]), order, -1)
    return indices, values


def nearest_stored(rows, columns, distances, n_rows, k):
    """The `k` smallest stored entries of each row of a coordinate list.

    Parameters
    ----------
    rows, columns : ndarray of shape (n_entries,), int
    distances : ndarray of shape (n_entries,), float
    n_rows : int
    k : int or None
        None keeps all entries. Then k is the largest number of entries of a row, and at least 1.

    Returns
    -------
    indices : ndarray of shape (n_rows, k), int32
    distances : ndarray of shape (n_rows, k), float64
    """
    order = np.lexsort((columns, distances, rows))
    rows, columns, distances = rows[order], columns[order], distances[order]
    counts = np.bincount(rows, minlength=n_rows)
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    if k is None:
        k = max(1, int(counts.max(initial=0)))
        if n_rows * k > _MAX_ENTRIES:
            raise ValueError(
                f"One of the {n_rows} rows has {k} neighbours, so tables of all neighbours would "
                f"need {12e-9 * n_rows * k:.1f} GB. Set n_neighbors, or pass a graph of edges with "
                'metric="graph", where the estimator has it.'
            )
    indices = np.full((n_rows, k), -1, np.int32)
    values = np.full((n_rows, k), np.inf)
    keep = rank < k
    indices[rows[keep], rank[keep]] = columns[keep]
    values[rows[keep], rank[keep]] = distances[keep]
    return indices, values
