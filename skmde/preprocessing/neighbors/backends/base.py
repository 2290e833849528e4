"""What every search over stored rows can do."""

from __future__ import annotations

import numpy as np

from skmde._utils.threads import run_rows

__all__ = ["RowSearch", "nearest_candidates"]

_PIECE = 1024


class RowSearch:
    """Base of the searches that keep the rows they search, as `rows`.

    A subclass has ``search(queries, k, exclude, n_jobs)``, which returns a table of the `k` nearest
    rows of each query: indices (int32, -1 for none) and squared distances (float64), sorted by
    both. ``exclude`` has the row that each query is itself, or -1; it is left out.
    """

    def search_training(self, k, n_jobs):
        """The nearest other rows of every stored row.

        Parameters
        ----------
        k : int
        n_jobs : int or None

        Returns
        -------
        indices : ndarray of shape (n, k), int32
        values : ndarray of shape (n, k), float64
        """
        own = np.arange(self.rows.shape[0], dtype=np.int32)
        return self.search(self.rows, k, own, n_jobs)


def nearest_candidates(queries, exclude, rows, candidates, bounds, k, n_jobs, order=None):
    """The nearest of the candidates that a library found, by distances in all features.

    Parameters
    ----------
    queries : ndarray of shape (q, d)
    exclude : ndarray of shape (q,), int32
    rows : ndarray of shape (n, d)
    candidates : ndarray of shape (q, c), int
        Rows to choose from, -1 for none.
    bounds : ndarray of shape (q, c)
        Ascending lower bounds of their squared distances; zeros if none are known.
    k : int
    n_jobs : int or None
    order : ndarray of shape (q,), default=None
        The query that each row of `candidates` and `bounds` belongs to; None: they are in order.

    Returns
    -------
    indices : ndarray of shape (q, k), int32
    squared : ndarray of shape (q, k), float64
        As for `RowSearch`.
    """
    from skmde.preprocessing.neighbors.backends.kernels import refine

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
