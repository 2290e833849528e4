"""Exact Euclidean neighbours on a device, mainly on GPUs, by matrix products of blocks of rows.

The products, in float32, find a few more candidates than wanted: the smallest of all scores

    |y|^2 - 2 x.y

of a query x and the rows y. Rows are divided into groups. The c smallest scores lie in the c groups
whose smallest scores are smallest, so that only their entries are compared with each other: a pass
over all scores, instead of several. The distances of candidates are then computed from differences
in float64: those of the training rows on the device, where it has float64, and all others on the
CPU.
"""

from __future__ import annotations

import numpy as np
import torch

from skmde._utils.device import available_devices, has_float64, is_cpu
from skmde._utils.ranks.together import current_ranks
from skmde.preprocessing.neighbors.backends.base import RowSearch, nearest_candidates
from skmde.preprocessing.neighbors.backends.exact import ExactSearch

__all__ = ["TorchSearch"]

_BLOCK_ENTRIES = (1 << 22, 1 << 28)  # size of a block of scores, on the CPU and on other devices
_DIFFERENCES = (1 << 20, 1 << 25)  # of candidates' coordinates that are computed at once
# Up to this number of queries * rows * features, the CPU is faster than a transfer to the device.
_FEW = 1e9
_SPARE = 16  # candidates beyond those wanted
_GROUP = 64  # rows
_REACH = 1e15  # far below 1e19, beyond which squares overflow in float32


class TorchSearch(RowSearch):
    """Compares each query with all rows, on a torch device.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
    device : str
        A device that torch knows. If an unpickled index does not find it, the CPU is used.
    """

    def __init__(self, rows, device):
        self.rows = rows
        self.device = device

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query; see `RowSearch`."""
        if len(queries) * self.rows.size <= _FEW:
            return ExactSearch(self.rows).search(queries, k, exclude, n_jobs)
        queries = np.ascontiguousarray(queries, self.rows.dtype)
        width = min(k + _SPARE, len(self.rows))
        scores = Scores(_on_device(self.rows, self._torch_device()), width)
        candidates = np.empty((len(queries), width), np.int32)
        for start in range(0, len(queries), scores.step):
            part = slice(start, start + scores.step)
            own = torch.from_numpy(exclude[part].astype(np.int64))
            block = _on_device(queries[part], scores.device)
            candidates[part] = scores.smallest(block, own.to(scores.device)).cpu().numpy()
        nothing = np.zeros(candidates.shape, np.float32)  # lower bounds: none are known
        return nearest_candidates(queries, exclude, self.rows, candidates, nothing, k, n_jobs)

    def search_training(self, k, n_jobs):
        """The nearest other rows of each row; nothing but the result is copied to the host."""
        device, n = self._torch_device(), len(self.rows)
        few = n * self.rows.size <= _FEW
        if few or not has_float64(device) or current_ranks() is not None:
            return super().search_training(k, n_jobs)
        rows = torch.from_numpy(np.ascontiguousarray(self.rows)).to(device)
        scores = Scores(_single(rows), min(k + _SPARE, n))
        found = torch.empty((n, k), dtype=torch.int32, device=device)
        squared = torch.empty((n, k), dtype=torch.float64, device=device)
        for start in range(0, n, scores.step):
            own = torch.arange(start, min(start + scores.step, n), device=device)
            candidates = scores.smallest(_single(rows[own]), own)
            part = slice(start, start + len(own))
            found[part], squared[part] = _nearest(rows, own, candidates, k, scores.step)
        return found.cpu().numpy(), squared.cpu().numpy()

    def _torch_device(self):
        there = self.device.split(":")[0] in {name.split(":")[0] for name in available_devices()}
        return torch.device(self.device if there else "cpu")


class Scores:
    """Comparison of queries with all rows, by products in float32.

    Parameters
    ----------
    rows : torch.Tensor of shape (n, d), float32
    width : int
        Number of candidates of a query.
    """

    def __init__(self, rows, width):
        self._n = n = len(rows)
        self.device, self.width = rows.device, width
        # Centred rows keep the cancellation in the scores small.
        self._center = rows.mean(dim=0)
        size = -(-n // _GROUP) * _GROUP
        self._rows = torch.zeros((size, rows.shape[1]), dtype=rows.dtype, device=self.device)
        torch.sub(rows, self._center, out=self._rows[:n])
        self._norms = (self._rows * self._rows).sum(dim=1)
        self._norms[n:] = torch.inf
        self.step = max(1, _BLOCK_ENTRIES[not is_cpu(self.device)] // size)

    def smallest(self, queries, own):
        """Indices of the approximately nearest rows of queries, unsorted, shape (q, width).

        Parameters
        ----------
        queries : torch.Tensor of shape (q, d), float32
        own : torch.Tensor of shape (q,), int64
            The row to leave out for each query, or -1.
        """
        scores = torch.addmm(self._norms, queries - self._center, self._rows.T, alpha=-2)
        column = own.clamp(min=0)[:, None]
        kept = torch.where(own[:, None] < 0, scores.gather(1, column), torch.inf)
        scores.scatter_(1, column, kept)
        n_groups = scores.shape[1] // _GROUP
        if n_groups <= 4 * self.width:
            best = torch.topk(scores, self.width, dim=1, largest=False, sorted=False).indices
            return self._rows_only(best, own)
        grouped = scores.view(len(scores), n_groups, _GROUP)
        groups = torch.topk(grouped.amin(dim=2), self.width, dim=1, largest=False).indices
        inside = grouped.gather(1, groups[:, :, None].expand(-1, -1, _GROUP)).flatten(1)
        best = torch.topk(inside, self.width, dim=1, largest=False, sorted=False).indices
        best = groups.gather(1, best // _GROUP) * _GROUP + best % _GROUP
        return self._rows_only(best, own)

    def _rows_only(self, best, own):
        """Indices, of which those that fill up the last group are the queries' own."""
        return torch.where(best < self._n, best, own[:, None])


def _nearest(rows, own, candidates, k, most):
    """The nearest candidates of at most `most` rows, by squared distances in float64.

    Blocks of rows have one shape, and so has every sum: the order in which a device adds depends on
    it.
    """
    candidates = candidates.sort(dim=1).values  # rows at equal distances are sorted by index
    width, d = candidates.shape[1], rows.shape[1]
    step = min(most, max(1, _DIFFERENCES[not is_cpu(rows)] // (width * d)))
    squared = torch.empty(candidates.shape, dtype=torch.float64, device=rows.device)
    for start in range(0, len(own), step):
        stop = min(start + step, len(own))
        queries = torch.arange(start, start + step, device=rows.device).clamp(max=stop - 1)
        difference = rows[candidates[queries]].double() - rows[own[queries]].double()[:, None]
        squared[start:stop] = (difference * difference).sum(dim=2)[: stop - start]
    squared = torch.where(candidates == own[:, None], torch.inf, squared)
    squared, order = torch.sort(squared, dim=1, stable=True)
    squared, found = squared[:, :k], candidates.gather(1, order)[:, :k].int()
    return torch.where(squared < torch.inf, found, -1), squared


def _single(rows):
    return rows.clamp(-_REACH, _REACH).float()


def _on_device(rows, device):
    rows = rows.clip(-_REACH, _REACH).astype(np.float32, copy=False)
    return torch.from_numpy(rows).to(device)
