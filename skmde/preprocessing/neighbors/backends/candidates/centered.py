"""The base class of the sources of candidates, and the test that no neighbour is missing.

A source compares queries with all rows, by squared distances with rounding errors. Neighbours are
then chosen among its candidates by exact distances. With the machine's precision, of rows with d
coordinates whose centre is 0, an approximate squared distance s of a query x and a row y obeys

    |s - |x - y|^2|  <=  r (|x| + |y|)^2  <=  r (8 |x|^2 + 2 |x - y|^2),    r = (d / 4 + 32) eps.

So a row that is no candidate is at least ``(s - 8 r |x|^2) / (1 + 2 r)`` away, squared, where s is
the largest value of the candidates. If the last neighbour is nearer than that, none is missing.
The other queries need another source. Among them are those of tight groups far from each other,
for which rounding errors are larger than distances, and of rows with many others at one distance.
"""

from __future__ import annotations

import torch

__all__ = ["CandidateSource"]

_REACH = 1e15  # far below 1e19, beyond which squares overflow in float32
_SAMPLE = 4096  # approximate number of rows that the centre is computed from
_BLOCK_ROWS = 1 << 16


class CandidateSource:
    """Rows on a device, around their centre, and what is common to all sources.

    A subclass has the attribute `step`, the number of queries to ask for at once, and the method
    ``nearest(queries, own)``. It returns a table of shape (q, width) of the indices (int64) of
    candidates, distinct but unsorted, a table of their approximate squared distances, and the
    squared norms of the queries. ``own`` contains the row to leave out for each query, or -1. If
    there are too few rows, an entry has the distance infinity, and any index.

    Parameters
    ----------
    rows : torch.Tensor of shape (n, d), float32 or float64
        On any device.
    width : int
        Number of candidates of a query, if there are as many rows.
    device : torch.device
    dtype : torch.dtype
        The precision of the comparisons.
    size : int, default=None
        Number of rows that are stored; those beyond the n given ones are zero.
    """

    def __init__(self, rows, width, device, dtype, size=None):
        self.device, self.width = device, min(width, len(rows))
        self._n, d = rows.shape
        # Few rows far from all others would move the mean, and so make all errors large.
        sample = rows[:: max(1, self._n // _SAMPLE)]
        self._center = sample.sort(dim=0).values[len(sample) // 2].clamp(-_REACH, _REACH)
        self._rounding = (d / 4 + 32) * torch.finfo(dtype).eps
        self._rows = torch.zeros((size or self._n, d), dtype=dtype, device=device)
        for start in range(0, self._n, _BLOCK_ROWS):
            block = rows[start : start + _BLOCK_ROWS]
            self._rows[start : start + len(block)] = self._centered(block)

    def _centered(self, rows):
        """Rows around the centre; the difference is computed in the precision of the input."""
        difference = rows.clamp(-_REACH, _REACH) - self._center.to(rows.device)
        return difference.to(self._rows.dtype).to(self.device)

    def misses_none(self, squared, approximate, norms):
        """Whether the candidates of a query have all of its neighbours, shape (q,).

        It also fails where values are further from the distances than rounding explains, so that
        products in a lower precision, or a faulty library, cannot change a result.

        Parameters
        ----------
        squared : torch.Tensor of shape (q, k), float64
            Squared distances of the nearest candidates, ascending.
        approximate : torch.Tensor of shape (q, width)
        norms : torch.Tensor of shape (q,)
            As `nearest` returns them.
        """
        approximate, slack = approximate.double(), 8 * self._rounding * norms.double()
        furthest = approximate.amax(dim=1)
        limit = (furthest - slack) / (1 + 2 * self._rounding)
        nearest = approximate.sort(dim=1).values[:, : squared.shape[1]]
        error = (nearest - squared).abs()  # NaN where both are infinite
        explained = slack[:, None] + 2 * self._rounding * squared
        is_complete = (squared[:, -1] < limit) | (furthest == torch.inf)
        return is_complete & ~(error > explained).any(dim=1)
