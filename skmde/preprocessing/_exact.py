"""Exact Euclidean neighbours of dense rows: every pair, in one compiled loop.

Distances are summed in float64 whatever the type of the rows, so that ties are ties. The cost
is ``n_queries * n * n_features`` operations at some 10^10 a second and core.
"""

from __future__ import annotations

import numpy as np

from skmde.preprocessing._pieces import run_pieces
from skmde.preprocessing._search import RowSearch

__all__ = ["AllPairs"]

# Large pieces share reads of the rows; small ones let few queries use several threads.
_PIECE, _SMALL_PIECE = 256, 32


class AllPairs(RowSearch):
    """All rows, to be compared with every query.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
    """

    def __init__(self, rows):
        self.rows = rows

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query; see `InvertedLists.search`."""
        from skmde.preprocessing._kernels import scan_lists

        n = len(self.rows)
        queries = np.ascontiguousarray(queries, np.float64)
        indices = np.full((len(queries), k), -1, np.int32)
        squared = np.full((len(queries), k), np.inf)
        ids = np.arange(n, dtype=np.int32)
        starts = np.array([0, n])

        def piece(start, stop):
            scan_lists(
                queries[start:stop],
                np.zeros((stop - start, 1), np.int32),
                exclude[start:stop],
                self.rows,
                ids,
                starts,
                indices[start:stop],
                squared[start:stop],
            )

        size = _PIECE if len(queries) > 4 * _PIECE else _SMALL_PIECE
        run_pieces(piece, len(queries), size, n_jobs)
        return indices, squared
