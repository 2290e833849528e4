"""Original distances that are given as a matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._linalg.components import component_labels
from skmde.estimators.pairs.base import (
    Pairs,
    entries_at,
    in_kept_dtype,
    of_positive_weight,
    row_indices,
    sample_at_most,
    sample_items,
)
from skmde.estimators.samples.support import LandmarkTables
from skmde.preprocessing.graphs.adjacency import as_adjacency, with_further_rows
from skmde.preprocessing.graphs.path_lengths import path_lengths
from skmde.preprocessing.neighbors.known_rows import KnownRows, twins
from skmde.preprocessing.neighbors.precomputed import distances_to_training, symmetric_distances
from skmde.preprocessing.pairs.sampling import sample_edges


class MatrixDistances:
    """Precomputed distances, a `DistanceSource`.

    If pairs have weights, `from_items` also ignores the pairs of weight 0.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n)
        A pair has a distance if its entry is finite (dense) or stored (sparse).
    """

    is_euclidean = False

    def __init__(self, X):
        self.n_items = X.shape[0]
        self._known = KnownRows(X)
        if sp.issparse(X):
            self._matrix, _ = as_adjacency(X, quantity="distance")
            if self._matrix.nnz == self.n_items * (self.n_items - 1):
                self._matrix = self._matrix.toarray()  # smaller, and no distance needs a path
        else:
            self._matrix = symmetric_distances(X)
        self._reach = reach_of_entries(self._matrix)

    def pairs(self, max_pairs, rng, weights=None):
        if weights is not None:
            self._restrict(weights)
            return of_positive_weight(self.pairs(max_pairs, rng), weights, max_pairs, rng)
        n = self.n_items
        every = n * (n - 1) // 2
        if sp.issparse(self._matrix):
            upper = sp.triu(self._matrix, 1, format="coo")
            rows, columns, found = upper.row, upper.col, upper.data
        elif _all_finite(self._matrix):
            if every <= max_pairs:
                return Pairs(None, in_kept_dtype(_condensed(self._matrix)))
            rows, columns = sample_edges(n, int(max_pairs), rng).T
            found = self._matrix[rows, columns]
            return Pairs(np.stack([rows, columns], axis=1), in_kept_dtype(found))
        else:
            rows, columns = np.nonzero(np.triu(np.isfinite(self._matrix), 1))
            found = self._matrix[rows, columns]
        missing = every - len(found)
        if len(found) > max_pairs:
            kept = sample_at_most(np.arange(len(found)), max_pairs, rng)
            rows, columns, found = rows[kept], columns[kept], found[kept]
        found = in_kept_dtype(found)
        if len(found) == every:
            return Pairs(None, found)
        edges = np.stack([rows, columns], axis=1).astype(np.int32)
        return Pairs(edges, found, component_labels(edges, n), missing)

    def _restrict(self, weights):
        """Leave out the pairs of weight 0."""
        if sp.issparse(self._matrix):
            rows, columns = row_indices(self._matrix), self._matrix.indices
            there = entries_at(weights, rows, columns) > 0
            entries = self._matrix.data[there], (rows[there], columns[there])
            self._matrix = sp.csr_array(entries, shape=self._matrix.shape)
            return
        rows, columns = row_indices(weights)[weights.data > 0], weights.indices[weights.data > 0]
        kept = np.full(self._matrix.shape, np.inf)
        kept[rows, columns] = self._matrix[rows, columns]
        self._matrix = kept

    def pairs_from(self, first, max_pairs, rng):
        # an extended matrix has only the distances of further items
        pairs = self.pairs(max_pairs, rng)
        missing = pairs.n_unreachable - first * (first - 1) // 2
        return pairs._replace(labels=None, n_unreachable=missing)

    def extended(self, X):
        n, q = self.n_items, X.shape[0]
        if sp.issparse(X):
            return MatrixDistances(with_further_rows(sp.coo_array((n, n)), X))
        D = np.full((n + q, n + q), np.inf, X.dtype if X.dtype.kind == "f" else np.float64)
        D[n:], D[:n, n:] = X, X[:, :n].T
        return MatrixDistances(D)

    def from_items(self, items):
        """Distances from some items to all; path lengths if some distances are missing."""
        if not sp.issparse(self._matrix):
            rows = self._matrix[items].astype(np.float64)
            rows[np.arange(len(items)), items] = 0.0  # the diagonal may hold anything
            if np.isfinite(rows).all():
                return rows
            self._matrix, _ = as_adjacency(_stored_if_finite(self._matrix), quantity="distance")
        return path_lengths(self._matrix, items)

    def choose_landmarks(self, most, rng, among=None):
        self._landmarks = sample_items(self.n_items, most, rng, among)
        self._near_landmarks = tuple(LandmarkTables.of(self._between_landmarks()))
        return self._landmarks

    def _between_landmarks(self):
        chosen = self._matrix[self._landmarks][:, self._landmarks]
        if not sp.issparse(chosen):
            return chosen.astype(np.float64)
        chosen = chosen.tocoo()
        D = np.full(chosen.shape, np.inf)
        D[chosen.row, chosen.col] = chosen.data
        return D

    def landmark_tables(self):
        return LandmarkTables(*self._near_landmarks)

    def of_unseen(self, X):
        return self._as_given(distances_to_training(X, self.n_items))

    def _as_given(self, X):
        """As `of_unseen`, for checked distances; a twin's distance to itself need not be 0."""
        if sp.issparse(X):
            chosen = X[:, self._landmarks].tocoo()
            D = np.full(chosen.shape, np.inf)
            D[chosen.row, chosen.col] = chosen.data
            nearest, at = _nearest_stored(X)
        else:
            D = X[:, self._landmarks].astype(np.float64)
            nearest = X.argmin(axis=1)
            at = X[np.arange(len(X)), nearest]
        known = np.where(nonzero_counts(X) > 0, self._known.find(X), -1)
        return D, twins(known, nearest, at, self._reach, given=True)

    def drop_training_state(self):
        self._matrix = None


def reach_of_entries(matrix):
    """Largest finite distance of each item to another item.

    Parameters
    ----------
    matrix : ndarray or csr_array of shape (n, n)

    Returns
    -------
    reach : ndarray of shape (n,), float64
    """
    if sp.issparse(matrix):
        reach = np.zeros(matrix.shape[0])
        np.maximum.at(reach, row_indices(matrix), matrix.data)
        return reach
    n = len(matrix)
    reach, others = np.zeros(n), np.ones(n, bool)
    for i, row in enumerate(matrix):
        others[i] = False  # the diagonal may hold anything
        reach[i] = row.max(where=others & np.isfinite(row), initial=0)
        others[i] = True
    return reach


def _all_finite(matrix):
    """Whether a square matrix is finite off the diagonal."""
    diagonal = np.diagonal(matrix)
    infinite = np.count_nonzero(~np.isfinite(matrix)) if matrix.dtype.kind == "f" else 0
    return infinite == np.count_nonzero(~np.isfinite(diagonal))


def _condensed(matrix):
    """The entries above the diagonal, row by row."""
    n = len(matrix)
    out = np.empty(n * (n - 1) // 2, matrix.dtype)
    for i in range(n - 1):
        own = i * (2 * n - i - 1) // 2
        out[own : own + n - i - 1] = matrix[i, i + 1 :]
    return out


def _stored_if_finite(matrix):
    """A sparse matrix of the finite entries off the diagonal, zeros included."""
    there = np.isfinite(matrix)
    np.fill_diagonal(there, False)
    rows, columns = np.nonzero(there)
    return sp.csr_array((matrix[rows, columns], (rows, columns)), shape=matrix.shape)


def nonzero_counts(X):
    """Number of nonzero entries in each row."""
    if not sp.issparse(X):
        return np.count_nonzero(X, axis=1)
    return np.bincount(row_indices(X), weights=X.data != 0, minlength=X.shape[0])


def _nearest_stored(X):
    """Column and value of each row's smallest stored entry; infinity where a row has none."""
    nearest, at = np.zeros(X.shape[0], np.int64), np.full(X.shape[0], np.inf)
    for r in range(X.shape[0]):
        row = slice(X.indptr[r], X.indptr[r + 1])
        if row.stop > row.start:
            best = row.start + int(np.argmin(X.data[row]))
            nearest[r], at[r] = X.indices[best], X.data[best]
    return nearest, at
