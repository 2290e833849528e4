"""Similarities in place of distances: the largest are neighbours.

The reciprocal of a similarity takes the place of a distance. Only the order of similarities decides
who is a neighbour of whom, so every other decreasing function has the same neighbours. A similarity
of 0 or less means that two items are never neighbours, and so does one that a sparse matrix does
not store.

It is easy to pass one for the other, and the neighbours are then the least similar items. So both
are compared with what they are not: items have distance 0 from themselves, and are most similar to
themselves; and near items have nearly the same numbers in their rows.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._linalg.symmetry import symmetric_matrix
from skmde._utils.validation import as_host_array, check_convertible
from skmde._utils.warn import warn

__all__ = ["similarity_distances", "similarity_rows", "warn_if_similarities"]

_LOOKED_AT = 64  # rows that are compared with others


def similarity_distances(similarities):
    """A distance for each similarity of training items: its reciprocal.

    Parameters
    ----------
    similarities : array-like or sparse matrix of shape (n, n)
        The diagonal does not count. If the two directions of a pair differ, they are averaged.

    Returns
    -------
    distances : ndarray or csr_array of shape (n, n), float64
        Infinite or not stored where there is no similarity above 0.

    Raises
    ------
    ValueError
        If a similarity is NaN or infinite, the matrix is not square, or none is above 0.

    Warns
    -----
    UserWarning
        If the matrix is not symmetric, or looks like one of distances.
    """
    matrix = _as_matrix(similarities)
    n = matrix.shape[0]
    if matrix.shape != (n, n):
        _check_finite(matrix)
        raise ValueError(
            f"Similarities must be a square matrix, got shape {matrix.shape}. With "
            'metric="affinity", X holds the similarities of samples, not data.'
        )
    has_zeros = _has_end(matrix, matrix.diagonal(), smallest=True)
    matrix = _symmetric(matrix)
    values = matrix.data if sp.issparse(matrix) else matrix
    if not np.max(values, initial=0.0) > 0:
        raise ValueError(
            f"No similarity of two samples is above 0; the least is "
            f"{np.min(values, initial=0.0):.3g}. If these are distances with a minus sign, pass -X "
            'with metric="precomputed".'
        )
    if has_zeros and _likeness(matrix) <= 0:
        warn(
            "X should hold similarities, of which the largest are neighbours, but it looks like a "
            "matrix of distances: its diagonal is 0 and the smallest entry of each row. For "
            'distances use metric="precomputed".'
        )
    return _reciprocal(matrix)


def similarity_rows(similarities, n_train):
    """A distance for each similarity of further items to the training items, and to each other.

    Parameters
    ----------
    similarities : array-like or sparse matrix of shape (q, n_train) or (q, n_train + q)
    n_train : int

    Returns
    -------
    distances : ndarray or csr_array of the same shape, float64
    """
    matrix = _as_matrix(similarities)
    q, n_columns = matrix.shape
    if n_columns == n_train:
        _check_finite(matrix)
    elif n_columns == n_train + q:
        parts = [matrix[:, :n_train], _symmetric(matrix[:, n_train:])]
        _check_finite(parts[0])
        matrix = sp.csr_array(sp.hstack(parts)) if sp.issparse(matrix) else np.hstack(parts)
    else:
        raise ValueError(
            f"Similarities of new items must have one column for each of the {n_train} training "
            f"items, got shape {matrix.shape}."
        )
    return _reciprocal(matrix)


def warn_if_similarities(distances):
    """Warn if a square matrix of distances looks like one of similarities.

    Parameters
    ----------
    distances : ndarray or csr_array of shape (n, n)
    """
    if _has_end(distances, distances.diagonal(), smallest=False) and _likeness(distances) >= 0:
        warn(
            "X should hold distances, of which the smallest are neighbours, but it looks like a "
            "matrix of similarities: its diagonal is the largest entry of each row. For "
            'similarities use metric="affinity", where the estimator has it, or convert them to '
            "distances."
        )


def _as_matrix(similarities):
    if sp.issparse(similarities):
        return sp.csr_array(similarities, dtype=np.float64)
    check_convertible(similarities, "similarities")
    matrix = np.asarray(as_host_array(similarities)).astype(np.float64, copy=False)
    if matrix.ndim != 2:
        raise ValueError(f"Similarities must be a matrix, got shape {matrix.shape}.")
    return matrix


def _symmetric(matrix):
    matrix = _without_diagonal(matrix)
    _check_finite(matrix)
    return symmetric_matrix(matrix, "similarities", exact=False)


def _without_diagonal(matrix):
    """A copy with zeros on the diagonal, if it is not zero already."""
    if not matrix.diagonal().any():
        return matrix
    if not sp.issparse(matrix):
        matrix = matrix.copy()
        np.fill_diagonal(matrix, 0.0)
        return matrix
    coo = matrix.tocoo()
    off = coo.row != coo.col
    entries = coo.data[off], (coo.row[off], coo.col[off])
    return sp.csr_array(entries, shape=matrix.shape)


def _check_finite(matrix):
    values = matrix.data if sp.issparse(matrix) else matrix
    if not np.isfinite(values).all():
        raise ValueError(
            "Similarities must be finite, but X contains NaN or infinity. Use 0 for pairs that are "
            "never neighbours."
        )


def _reciprocal(matrix):
    with np.errstate(over="ignore"):  # of the tiniest numbers, which are as good as 0
        if not sp.issparse(matrix):
            distances = np.full(matrix.shape, np.inf)
            np.divide(1.0, matrix, out=distances, where=matrix > 0)
            return distances
        coo = matrix.tocoo()
        kept = coo.data > 0
        entries = 1.0 / coo.data[kept], (coo.row[kept], coo.col[kept])
        return sp.csr_array(entries, shape=matrix.shape)


def _has_end(matrix, diagonal, *, smallest):
    """Whether the diagonal has the smallest entry of each row, 0, or the largest one.

    It must differ from the others: a row of equal numbers says nothing.
    """
    n = len(diagonal)
    if n < 3 or not np.isfinite(diagonal).all() or (diagonal.any() if smallest else False):
        return False
    if not sp.issparse(matrix):
        for rows in (np.unique(np.linspace(0, n - 1, _LOOKED_AT).astype(int)), np.arange(n)):
            least, most = _ends_of_rows(matrix, rows)
            if not (least > 0 if smallest else most < diagonal[rows]).all():
                return False  # mostly by the few first rows
        return True
    if smallest and _count_diagonal(matrix) < n:
        return False  # a sparse matrix of similarities does not store it either
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    others = matrix.data[rows != matrix.indices]
    of_rows = rows[rows != matrix.indices]
    if not len(others):
        return False
    if smallest:
        return bool((others > 0).all())
    return bool((others < diagonal[of_rows]).all() and (diagonal > 0).all())


def _count_diagonal(matrix):
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.count_nonzero(rows == matrix.indices)


def _ends_of_rows(matrix, rows):
    """Smallest and largest entry of some rows besides the diagonal."""
    least, most = np.empty(len(rows)), np.empty(len(rows))
    step = max(1, (1 << 20) // len(matrix))
    for start in range(0, len(rows), step):
        items = rows[start : start + step]
        block = matrix[items].astype(np.float64)
        own = np.arange(len(items)), items
        block[own] = np.inf
        least[start : start + step] = block.min(axis=1)
        block[own] = -np.inf
        most[start : start + step] = block.max(axis=1)
    return least, most


def _likeness(matrix):
    """Above 0 if rows are more like those of their largest entry, below 0 if of their smallest.

    Similar items have similar rows: of a matrix of similarities, a row is more like that of the
    item with its largest entry. In a sparse matrix, the stored columns are compared.
    """
    n, votes = matrix.shape[0], 0
    for i in np.unique(np.linspace(0, n - 1, _LOOKED_AT).astype(int)):
        if sp.issparse(matrix):
            stored = slice(matrix.indptr[i], matrix.indptr[i + 1])
            columns, values = matrix.indices[stored], matrix.data[stored]
        else:
            columns, values = np.arange(n), matrix[i]
        usable = (columns != i) & np.isfinite(values)
        columns, values = columns[usable], values[usable]
        if len(values) < 2 or values.min() == values.max():
            continue
        low, high = columns[values.argmin()], columns[values.argmax()]
        votes += int(np.sign(_difference(matrix, i, low) - _difference(matrix, i, high)))
    return votes


def _difference(matrix, i, j):
    """How much two rows differ, without the columns of the two items."""
    if sp.issparse(matrix):
        rows = [set(matrix.indices[matrix.indptr[r] : matrix.indptr[r + 1]]) for r in (i, j)]
        return -len((rows[0] & rows[1]) - {i, j})
    others = np.ones(matrix.shape[0], bool)
    others[[i, j]] = False
    gap = matrix[i, others].astype(np.float64) - matrix[j, others]
    return float(np.abs(gap[np.isfinite(gap)]).sum())
