"""The base class of the search algorithms, and the exact comparison of candidates."""

from __future__ import annotations

import numpy as np

from skmde._utils.ranks.together import current_ranks
from skmde._utils.threads import run_rows
from skmde.preprocessing.neighbors.backends.kernels import refine

__all__ = ["RowSearch", "nearest_candidates"]

_PIECE = 1024


class RowSearch:
    """Base class of the search algorithms. The searched rows are stored as `rows`.

    A subclass implements ``search(queries, k, exclude, n_jobs)``. It returns a table of the `k`
    nearest rows of each query: indices (int32, -1 for a missing entry) and values (float64), sorted
    by (value, index). The values are squared distances for metrics of Euclidean form, else
    distances. ``exclude`` contains the index of the row to leave out for each query (the query
    itself), or -1.
    """

    def search_training(self, k, n_jobs):
        """The nearest other rows of each stored row.

        Parameters
        ----------
        k : int
        n_jobs : int or None

        Returns
        -------
        indices : ndarray of shape (n, k), int32
        values : ndarray of shape (n, k), float64
        """
        own, ranks = np.arange(self.rows.shape[0], dtype=np.int32), current_ranks()
        if ranks is None:
            return self.search(self.rows, k, own, n_jobs)
        part = ranks.share(len(own))  # each rank has an index of all rows
        return ranks.joined(self.search(self.rows[part], k, own[part], n_jobs))


def nearest_candidates(queries, exclude, rows, candidates, bounds, k, n_jobs, order=None):
    """The nearest of the candidates that a library found, by exact distances.

    Parameters
    ----------
    queries : ndarray of shape (q, d)
    exclude : ndarray of shape (q,), int32
    rows : ndarray of shape (n, d)
    candidates : ndarray of shape (q, c), int
        Indices of candidate rows, -1 for a missing entry.
    bounds : ndarray of shape (q, c)
        Ascending lower bounds of the squared distances of the candidates; zeros if unknown.
    k : int
    n_jobs : int or None
    order : ndarray of shape (q,), default=None
        Row i of `candidates` and `bounds` belongs to query ``order[i]``; None means query i.

    Returns
    -------
    indices : ndarray of shape (q, k), int32
    squared : ndarray of shape (q, k), float64
        As for `RowSearch`.
    """
    indices = np.empty((len(queries), k), np.int32)
    squared = np.empty((len(queries), k))

    def piece(start, stop):
        part = slice(start, stop)
        these = part if order is None else order[part]
        found, values = np.empty((stop - start, k), np.int32), np.empty((stop - start, k))
        refine(queries[these], exclude[these], rows, candidates[part], bounds[part], found, values)
        indices[these], squared[these] = found, values

    run_rows(piece, len(queries), _PIECE, n_jobs)
    return indices, squared
