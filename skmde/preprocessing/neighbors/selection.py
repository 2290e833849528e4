"""Choosing and ordering neighbours: by distance, and by index where distances are equal.

Conventions of every neighbour table in this package: `indices` is int32 of shape
``(n_queries, k)`` with -1 where there is no neighbour, `distances` is float64 with infinity
there; rows are sorted by (distance, index), so missing entries come last.
"""

from __future__ import annotations

import numpy as np

__all__ = ["drop_far", "drop_self", "nearest_columns", "nearest_stored", "sort_rows"]

# Neighbours up to which keeping a short list in order is faster than sorting a whole row.
_FEW = 256


def sort_rows(indices, distances):
    """Sort every row by (distance, index), missing entries last; returns new arrays.

    Entries with a negative index or an infinite distance are missing.
    """
    indices = np.asarray(indices)
    missing = (indices < 0) | ~np.isfinite(distances)
    distances = np.where(missing, np.inf, distances).astype(np.float64, copy=False)
    order = np.lexsort((indices, distances), axis=-1)
    indices = np.where(missing, -1, indices).astype(np.int32, copy=False)
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(distances, order, axis=1)


def drop_self(indices, distances, own, k):
    """Remove each row's own index from a sorted table and keep the first `k` columns.

    The row itself is found by index. It need not be there: among many copies of one row,
    a search for k + 1 may return k + 1 other copies, and then the last one is dropped.
    """
    is_self = indices == np.asarray(own)[:, None]
    indices = np.where(is_self, -1, indices)
    distances = np.where(is_self, np.inf, distances)
    indices, distances = sort_rows(indices, distances)
    return indices[:, :k], distances[:, :k]


def drop_far(indices, distances, max_distance):
    """Mark neighbours beyond `max_distance` as missing; returns new arrays."""
    far = ~(distances <= max_distance)
    return np.where(far, np.int32(-1), indices), np.where(far, np.inf, distances)


def nearest_columns(distances, k, exclude):
    """The `k` smallest entries of each row of a dense block.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_items), float64
        Scratch space: the excluded entries are overwritten.
    k : int
    exclude : ndarray of shape (n_queries,), int32
        A column to leave out of each row, or -1.

    Returns
    -------
    indices : ndarray of shape (n_queries, k), int32
    distances : ndarray of shape (n_queries, k), float64
    """
    from skmde.preprocessing.neighbors.backends.kernels import select_smallest

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
        None keeps all; the tables are then as wide as the longest row, and at least one column.

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
    indices = np.full((n_rows, k), -1, np.int32)
    values = np.full((n_rows, k), np.inf)
    keep = rank < k
    indices[rows[keep], rank[keep]] = columns[keep]
    values[rows[keep], rank[keep]] = distances[keep]
    return indices, values
