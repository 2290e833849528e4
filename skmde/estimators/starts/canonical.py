"""An order of the samples that does not depend on the order of the rows.

A solve with momentum amplifies rounding errors, and sums depend on the order of their terms in the
last bits. So the samples are numbered by their starting points: if the rows of the data are
shuffled, the same problem is solved, to the last bit. The starting points are rounded first, since
they are themselves sums over the rows.
"""

from __future__ import annotations

import numpy as np

_GRID = 2.0**-16  # of the starting point's root mean square, about 1


class CanonicalOrder:
    """Numbers of samples by their starting points.

    Parameters
    ----------
    start : ndarray of shape (n, m), float32
        Starting points, about 1 in size.
    is_given : bool
        Whether the user gave them; then they are not rounded.

    Attributes
    ----------
    start : ndarray of shape (n, m), float32
        The starting points in the new order.
    """

    def __init__(self, start, is_given):
        if not is_given:
            rounded = np.rint(start.astype(np.float64) / _GRID) * _GRID + 0.0  # no -0.0
            start = rounded.astype(start.dtype)
        self._order = np.lexsort(start.T[::-1])
        self._rank = np.empty(len(start), np.int32)
        self._rank[self._order] = np.arange(len(start), dtype=np.int32)
        self.start = start[self._order]

    def edges(self, edges, weights):
        """Edges in the new numbers, sorted, and their weights."""
        renamed = np.sort(self._rank[edges], axis=1)
        order = np.argsort(renamed[:, 0] * np.int64(len(self._rank)) + renamed[:, 1])
        return renamed[order], weights[order]

    def rows(self, array):
        """Rows of an array, or None, in the new order."""
        return None if array is None else array[self._order]

    def back(self, X):
        """Rows in the original order."""
        return X[self._rank]
