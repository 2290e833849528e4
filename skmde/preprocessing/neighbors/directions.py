"""Searches under the cosine and correlation metrics, for data with zero rows.

Cosine and correlation distances are computed from Euclidean distances of rows of length 1. A zero
row cannot be scaled to length 1, and has distance 1 from every other row, zero or not. So the
search runs over the nonzero rows, and this module merges the zero rows into the results. For the
correlation metric, the row means have been subtracted, so constant rows are zero rows.
"""

from __future__ import annotations

import numpy as np

from skmde.preprocessing.neighbors.selection import sort_rows

__all__ = ["SearchWithZeroRows"]

# The squared Euclidean distance of unit vectors whose cosine distance is 1.
_AT_ONE = 2.0


class SearchWithZeroRows:
    """A search over nonzero rows, extended to zero rows.

    Parameters
    ----------
    search : RowSearch or None
        Search over the nonzero rows; None if there are none.
    zero : ndarray of shape (n,), bool
        Mask of the zero rows.
    """

    def __init__(self, search, zero):
        self.inner = search
        self.zero = np.flatnonzero(zero).astype(np.int32)
        self.nonzero = np.flatnonzero(~zero).astype(np.int32)
        self.n = len(zero)

    def search_training(self, k, n_jobs):
        """The nearest other rows of each training row."""
        indices = np.empty((self.n, k), np.int32)
        squared = np.empty((self.n, k))
        if self.inner is not None:
            found = self.inner.search_training(k, n_jobs)
            indices[self.nonzero], squared[self.nonzero] = self._complete(*found)
        indices[self.zero], squared[self.zero] = self._everyone(self.zero, k)
        return indices, squared

    def search(self, queries, query_is_zero, k, exclude, n_jobs):
        """The nearest rows of each query, with squared distances of rows of length 1."""
        n_queries = queries.shape[0]
        indices = np.full((n_queries, k), -1, np.int32)
        squared = np.full((n_queries, k), np.inf)

        has_direction = np.flatnonzero(~query_is_zero)
        if len(has_direction) and self.inner is not None:
            position = np.full(self.n + 1, -1, np.int32)  # exclude = -1 reads the last entry
            position[self.nonzero] = np.arange(len(self.nonzero), dtype=np.int32)
            own = position[exclude[has_direction]]
            found = self.inner.search(queries[has_direction], k, own, n_jobs)
            indices[has_direction], squared[has_direction] = self._complete(*found)
        elif len(has_direction):
            indices[has_direction], squared[has_direction] = self._everyone(
                exclude[has_direction], k
            )
        lost = np.flatnonzero(query_is_zero)
        indices[lost], squared[lost] = self._everyone(exclude[lost], k)
        return indices, squared

    def _everyone(self, exclude, k):
        """The first `k` rows, at distance 1, without the excluded row of each query."""
        first = np.arange(min(k + 1, self.n), dtype=np.int32)
        indices = np.where(first == exclude[:, None], np.int32(-1), first)
        missing = max(0, k - indices.shape[1])
        indices = np.pad(indices, ((0, 0), (0, missing)), constant_values=-1)
        indices, squared = sort_rows(indices, np.full(indices.shape, _AT_ONE))
        return indices[:, :k], squared[:, :k]

    def _complete(self, found, squared):
        """Results among the nonzero rows, renumbered to all rows and merged with the zero rows."""
        k = found.shape[1]
        found = np.where(found >= 0, self.nonzero[found], np.int32(-1))
        shape = (len(found), len(self.zero[:k]))
        indices, squared = sort_rows(
            np.concatenate([found, np.broadcast_to(self.zero[:k], shape)], axis=1),
            np.concatenate([squared, np.full(shape, _AT_ONE)], axis=1),
        )
        return indices[:, :k], squared[:, :k]
