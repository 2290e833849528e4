"""Candidates by matrix products of blocks of rows, on any device.

A row y is compared with a query x by the score

    |y|^2 - 2 x.y.

Rows are divided into groups. The c smallest scores lie in the c groups whose smallest scores are
smallest, so that only their entries are compared with each other: a pass over all scores, instead
of several.
"""

from __future__ import annotations

import torch

from skmde._utils.device import is_cpu
from skmde.preprocessing.neighbors.backends.candidates.centered import CandidateSource

__all__ = ["Products"]

# Numbers in a block of scores in float32, on the CPU and on other devices.
_BLOCK_ENTRIES = (1 << 22, 1 << 28)
_GROUP = 64  # rows


class Products(CandidateSource):
    """Comparison of queries with all rows by torch's products; see `CandidateSource`."""

    def __init__(self, rows, width, device, dtype):
        size = -(-len(rows) // _GROUP) * _GROUP
        super().__init__(rows, width, device, dtype, size)
        self._norms = (self._rows * self._rows).sum(dim=1)
        self._norms[self._n :] = torch.inf
        entries = _BLOCK_ENTRIES[not is_cpu(device)] * 4 // dtype.itemsize
        self.step = max(1, entries // size)

    def nearest(self, queries, own):
        queries = self._centered(queries)
        norms = (queries * queries).sum(dim=1)
        scores = torch.addmm(self._norms, queries, self._rows.T, alpha=-2)
        column = own.clamp(min=0)[:, None]
        kept = torch.where(own[:, None] < 0, scores.gather(1, column), torch.inf)
        scores.scatter_(1, column, kept)
        n_groups = scores.shape[1] // _GROUP
        if n_groups <= 4 * self.width:
            lowest = torch.topk(scores, self.width, dim=1, largest=False, sorted=False)
            best = lowest.indices
        else:
            grouped = scores.view(len(scores), n_groups, _GROUP)
            groups = torch.topk(grouped.amin(dim=2), self.width, dim=1, largest=False).indices
            inside = grouped.gather(1, groups[:, :, None].expand(-1, -1, _GROUP)).flatten(1)
            lowest = torch.topk(inside, self.width, dim=1, largest=False, sorted=False)
            best = lowest.indices
            best = groups.gather(1, best // _GROUP) * _GROUP + best % _GROUP
        # Those that fill up the last group become the queries' own.
        best = torch.where(best < self._n, best, own[:, None])
        return best, lowest.values + norms[:, None], norms
