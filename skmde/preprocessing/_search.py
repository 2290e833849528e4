"""What every search over stored rows can do."""

from __future__ import annotations

import numpy as np

__all__ = ["RowSearch"]


class RowSearch:
    """Base of the searches that keep the rows they search, as `rows`.

    A subclass has ``search(queries, k, exclude, n_jobs)``, which returns a sorted table of the
    `k` nearest rows of each query without the excluded one.
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
