"""Neighbours from precomputed distances.

Three forms are accepted. Only these functions read a sparse matrix as distances; everywhere else
it is data.

- A dense matrix of distances. Infinity means that a pair has no distance.
- A sparse graph in any format: the stored entries, including zeros, are the edges. Rows may have
  different numbers of entries. The entry of a row for itself, which `KNeighborsTransformer`
  stores, is recognised by its index and dropped.
- A pair ``(indices, distances)`` of tables with one row per item. The index -1 marks a missing
  neighbour.

The caller's arrays are not modified. The returned tables have the form of
:mod:`skmde.preprocessing.neighbors.search`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._linalg.symmetry import mean_of_stored_directions, symmetric_matrix
from skmde._utils.validation import ROUNDING, as_host_array, check_convertible, check_not_masked
from skmde.preprocessing.neighbors.radius import trim
from skmde.preprocessing.neighbors.selection import (
    check_count,
    check_distinct,
    checked_limits,
    clamp_neighbors,
    drop_far,
    drop_self,
    nearest_columns,
    nearest_stored,
    sort_rows,
)
from skmde.preprocessing.neighbors.similarities import warn_if_similarities

__all__ = ["joined_neighbors", "precomputed_neighbors", "precomputed_queries"]

_BLOCK_ENTRIES = 1 << 20
_ENTRIES = "precomputed distances"  # for messages


def precomputed_neighbors(distances, n_neighbors=None, *, max_distance=None):
    """The nearest other items of each item.

    Parameters
    ----------
    distances : array-like or sparse matrix of shape (n, n), or pair of array-likes of shape (n, k)
        See the module's documentation. The diagonal does not count. If a matrix is not symmetric,
        the two directions of each pair are averaged; if only one of them is finite, or stored, it
        is used. A pair of tables is taken as it is.
    n_neighbors : int, default=None
        Number of neighbours to keep per row; None keeps all.
    max_distance : float or array-like of shape (n,), default=None
        Neighbours beyond this distance are left out. An array holds a limit for each item.

    Returns
    -------
    indices : ndarray of shape (n, n_neighbors), int32
        Sorted by (distance, index); -1 where there is no neighbour.
    distances : ndarray of shape (n, n_neighbors), float64
        In the units of the argument; infinity where there is no neighbour.

    Raises
    ------
    ValueError
        If a distance is negative or NaN, an index is out of range or occurs twice in a row of a
        table, or a shape does not fit.

    Warns
    -----
    UserWarning
        If a matrix is not symmetric, or looks like one of similarities, or `n_neighbors` exceeds
        the number of other items.

    See Also
    --------
    precomputed_queries : The nearest training items of new items.
    nearest_neighbors : The nearest other rows of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import precomputed_neighbors
    >>> D = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])
    >>> precomputed_neighbors(D, 1)[0].ravel().tolist()
    [1, 0, 1]
    """
    if _is_neighbor_tables(distances):
        indices, values = _checked_table_entries(distances)
        n = len(indices)
        _check_neighbors(indices, values, n)
        k = indices.shape[1] if n_neighbors is None else clamp_neighbors(n_neighbors, n)
        own = np.arange(n, dtype=np.int32)
        indices, values = drop_self(*sort_rows(indices, values), own, k)
    else:
        matrix = _checked_square_matrix(distances)
        n = matrix.shape[0]
        k = None if n_neighbors is None else clamp_neighbors(n_neighbors, n)
        if sp.issparse(matrix):
            indices, values = _from_graph(_averaged(matrix), k, drop_diagonal=True)
        else:
            own = np.arange(n, dtype=np.int32)
            indices, values = _from_dense(_averaged(matrix), max(n - 1, 1) if k is None else k, own)
    if max_distance is not None:
        indices, values = drop_far(indices, values, checked_limits(max_distance, n))
    return trim(indices, values) if n_neighbors is None else (indices, values)


def symmetric_distances(distances):
    """Check a dense matrix of distances; average it, with a warning, if it is not symmetric.

    Parameters
    ----------
    distances : array-like of shape (n, n)

    Returns
    -------
    distances : ndarray of shape (n, n)
        Infinity where there is no distance. It may be the caller's array: do not modify it.
    """
    return _averaged(_checked_square_matrix(distances))


def distances_to_training(distances, n_train):
    """Check distances from new items to the training items.

    Parameters
    ----------
    distances : array-like or sparse matrix of shape (n_queries, n_train)
    n_train : int

    Returns
    -------
    distances : ndarray or csr_array of shape (n_queries, n_train)
    """
    matrix = _checked_matrix(distances)
    if matrix.shape[1] != n_train:
        raise ValueError(
            f"Precomputed distances of new items must have one column for each of the "
            f"{n_train} training items, got shape {matrix.shape}."
        )
    return matrix


def precomputed_queries(distances, n_neighbors=None, *, n_train, max_distance=None):
    """The nearest training items of new items.

    Parameters
    ----------
    distances : array-like or sparse matrix of shape (n_queries, n_train), or pair of array-likes
        Distances from new items to training items, in one of the forms of the module.
    n_neighbors : int, default=None
        Number of neighbours to keep per row; None keeps all.
    n_train : int
        Number of training items.
    max_distance : float, default=None
        Neighbours beyond this distance are left out.

    Returns
    -------
    indices : ndarray of shape (n_queries, n_neighbors), int32
    distances : ndarray of shape (n_queries, n_neighbors), float64

    Raises
    ------
    ValueError
        As for :func:`precomputed_neighbors`.

    See Also
    --------
    precomputed_neighbors : The nearest other items of each item.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import precomputed_queries
    >>> precomputed_queries(np.array([[3.0, 1.0, 2.0]]), 2, n_train=3)[0].tolist()
    [[1, 2]]
    """
    if n_neighbors is not None:
        check_count(n_neighbors, "n_neighbors")
    if _is_neighbor_tables(distances):
        indices, values = sort_rows(*_checked_table_entries(distances))
        _check_neighbors(indices, values, n_train)
        indices, values = indices[:, :n_neighbors], values[:, :n_neighbors]
    else:
        matrix = distances_to_training(distances, n_train)
        if sp.issparse(matrix):
            indices, values = _from_graph(matrix, n_neighbors, drop_diagonal=False)
        else:
            nobody = np.full(len(matrix), -1, np.int32)
            indices, values = _from_dense(matrix, n_neighbors or n_train, nobody)
    if max_distance is not None:
        indices, values = drop_far(indices, values, max_distance)
    return trim(indices, values) if n_neighbors is None else (indices, values)


def joined_neighbors(indices, distances, further, n_neighbors=None):
    """The nearest neighbours after adding further items to items with known neighbours.

    Parameters
    ----------
    indices, distances : ndarray of shape (n, k)
        The nearest neighbours of the first n items.
    further : array-like or sparse matrix of shape (q, n + q), or pair of array-likes
        Distances from q further items to all items, in one of the forms of the module. A pair
        does not change the neighbours of the first n items.
    n_neighbors : int, default=None
        Number of neighbours to keep per row; None keeps all.

    Returns
    -------
    indices : ndarray of shape (n + q, n_neighbors), int32
    distances : ndarray of shape (n + q, n_neighbors), float64

    Raises
    ------
    ValueError
        As for :func:`precomputed_neighbors`.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing.neighbors.precomputed import joined_neighbors
    >>> first = np.array([[1], [0]]), np.array([[2.0], [2.0]])
    >>> joined_neighbors(*first, np.array([[5.0, 1.0, 0.0]]), 1)[0].ravel().tolist()
    [1, 2, 1]
    """
    n, nobody = len(indices), np.full(len(indices), -1, np.int32)
    if _is_neighbor_tables(further):
        q = len(further[0])
        back = np.empty((n, 0), np.int32), np.empty((n, 0))
    else:
        q = further.shape[0]
        further = distances_to_training(further, n + q)
        own = _averaged(further[:, n:])
        if sp.issparse(further):
            further = sp.csr_array(sp.hstack([further[:, :n], own]))
            back = _from_graph(sp.csr_array(further[:, :n].T), n_neighbors, drop_diagonal=False)
        else:
            further = np.concatenate([further[:, :n], own], axis=1)
            back = _from_dense(further[:, :n].T, min(n_neighbors or q, q), nobody)
    there = np.where(back[0] >= 0, n + back[0], -1)
    first = sort_rows(np.hstack([indices, there]), np.hstack([distances, back[1]]))
    # a further item's neighbours may include the item itself
    near = precomputed_queries(further, n_neighbors and n_neighbors + 1, n_train=n + q)
    near = drop_self(*near, np.arange(n, n + q), near[0].shape[1])
    width = n_neighbors or max(first[0].shape[1], near[0].shape[1])
    tables = np.full((n + q, width), -1, np.int32), np.full((n + q, width), np.inf)
    for table, above, below in zip(tables, first, near, strict=True):
        for part, rows in ((above, table[:n]), (below, table[n:])):
            k = min(width, part.shape[1])
            rows[:, :k] = part[:, :k]
    return tables if n_neighbors is not None else trim(*tables)


def _is_neighbor_tables(distances):
    return isinstance(distances, tuple) and len(distances) == 2


def _checked_table_entries(tables):
    check_not_masked(tables, "the pair", "mark a missing neighbour with the index -1")
    indices, distances = (np.asarray(as_host_array(table)) for table in tables)
    if indices.ndim != 2 or indices.shape != distances.shape:
        raise ValueError(
            "A pair of neighbour tables must be two arrays (indices, distances) of the same "
            f"shape (n, k), got shapes {indices.shape} and {distances.shape}."
        )
    if indices.dtype.kind not in "iu":
        if not np.array_equal(indices, np.rint(indices)):
            raise ValueError(
                f"Neighbour indices must be integers, got dtype {indices.dtype}. A pair is "
                "(indices, distances), in this order."
            )
    indices = indices.astype(np.int64)
    distances = distances.astype(np.float64)
    if indices.min(initial=0) < -1:
        raise ValueError(
            f"Neighbour indices must be at least 0, or -1 for a missing neighbour; got "
            f"{indices.min()}."
        )
    masked = indices < 0
    distances[masked] = np.inf
    return indices, _nonnegative(distances)


def _check_neighbors(indices, distances, n_items):
    largest = int(indices.max(initial=-1))
    if largest >= n_items:
        raise ValueError(
            f"Neighbour index {largest} is out of range for {n_items} items, whose indices start "
            "at 0. Use -1 for a missing neighbour."
        )
    check_distinct(indices, distances)


def _checked_matrix(distances, *, own_columns=False):
    """A matrix without negative numbers or NaN, wherever they count.

    With `own_columns`, row i and column i are the same item, and the diagonal does not count.
    """
    if sp.issparse(distances):
        matrix = sp.csr_array(distances)
        if own_columns and matrix.shape[0] == matrix.shape[1]:
            matrix = _without_diagonal(matrix)
        values = _nonnegative(matrix.data)
        return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    check_convertible(distances, "distances")
    matrix = np.asarray(as_host_array(distances))
    if matrix.ndim != 2:
        raise ValueError(
            f"Precomputed distances must be a matrix, got shape {matrix.shape}. If they are those "
            "of scipy.spatial.distance.pdist, convert them with scipy.spatial.distance.squareform."
        )
    if matrix.dtype.kind not in "fiub":
        matrix = matrix.astype(np.float64)
    if own_columns and matrix.shape[0] == matrix.shape[1]:
        if not (matrix.diagonal() >= 0).all():  # negative or NaN
            matrix = matrix.copy()
            np.fill_diagonal(matrix, 0)
    return _nonnegative(matrix)


def _without_diagonal(matrix):
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    own = (rows == matrix.indices) & ~(matrix.data >= 0)
    if not own.any():
        return matrix
    values = matrix.data.copy()
    values[own] = 0
    return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _checked_square_matrix(distances):
    matrix = _checked_matrix(distances, own_columns=True)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"Precomputed distances must be a square matrix, got shape {matrix.shape}. "
            'With metric="precomputed", X holds distances (infinity for a pair without one), '
            "not data."
        )
    warn_if_similarities(matrix)
    return matrix


def _nonnegative(values):
    """Check that values are not negative; set negative rounding errors to 0 in a copy."""
    if values.size == 0:
        return values
    smallest = values.min()  # NaN if there is one
    if np.isnan(smallest):
        raise ValueError(
            "Precomputed distances contain NaN. Use infinity for pairs without a distance."
        )
    if smallest >= 0:
        return values
    if -smallest > ROUNDING * np.max(values, where=np.isfinite(values), initial=0.0):
        raise ValueError(
            f"Negative values in data: precomputed distances must not be negative, got {smallest}. "
            "Are these similarities? Convert them to distances first."
        )
    return np.maximum(values, 0)


def _averaged(matrix):
    if sp.issparse(matrix):
        return mean_of_stored_directions(matrix, _ENTRIES)
    return symmetric_matrix(matrix, _ENTRIES, exact=False)


def _from_dense(matrix, k, exclude):
    indices = np.empty((len(matrix), k), np.int32)
    values = np.empty((len(matrix), k))
    step = max(1, _BLOCK_ENTRIES // max(matrix.shape[1], 1))
    for start in range(0, len(matrix), step):
        part = slice(start, start + step)
        block = matrix[part].astype(np.float64)
        indices[part], values[part] = nearest_columns(block, k, exclude[part])
    return indices, values


def _from_graph(graph, k, *, drop_diagonal):
    n_rows = graph.shape[0]
    rows = np.repeat(np.arange(n_rows), np.diff(graph.indptr))
    keep = np.isfinite(graph.data)
    if drop_diagonal:
        keep &= rows != graph.indices
    data = graph.data[keep].astype(np.float64)
    return nearest_stored(rows[keep], graph.indices[keep], data, n_rows, k)
