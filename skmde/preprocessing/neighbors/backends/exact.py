"""Exact Euclidean neighbours of dense rows: all pairs, in one compiled loop.

scikit-learn computes distances from ``|x|^2 - 2 x.y + |y|^2``. Then copies of a row may not have
distance exactly 0, and the choice among equally distant rows may depend on the number of threads or
queries. Here squared differences are summed in float64, so ties are exact, and the neighbours of a
row depend on that row alone, as `transform` guarantees. The cost is ``n_queries * n * n_features``
operations, at about 10^10 per second and core.
"""

from __future__ import annotations

import numpy as np

from skmde._utils.threads import run_rows
from skmde.preprocessing.neighbors.backends.base import RowSearch
from skmde.preprocessing.neighbors.backends.kernels import scan_rows

__all__ = ["ExactSearch"]

# Large pieces share reads of the rows. Small pieces let a few queries use several threads.
_PIECE, _SMALL_PIECE = 256, 32


class ExactSearch(RowSearch):
    """Compares each query with all rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
    """

    def __init__(self, rows):
        self.rows = rows

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query; see `RowSearch`."""
        queries = np.ascontiguousarray(queries, np.float64)
        indices = np.full((len(queries), k), -1, np.int32)
        squared = np.full((len(queries), k), np.inf)

        def piece(start, stop):
            part = slice(start, stop)
            scan_rows(queries[part], exclude[part], self.rows, indices[part], squared[part])

        size = _PIECE if len(queries) > 4 * _PIECE else _SMALL_PIECE
        run_rows(piece, len(queries), size, n_jobs)
        return indices, squared
