"""Exact Euclidean neighbours on a device, mainly on GPUs, by comparing all rows.

A source finds a few more candidates than wanted, in float32. The distances of candidates are then
computed from differences in float64: those of the training rows on the device, where it has
float64, and all others on the CPU. Queries whose candidates may not have all of their neighbours
(`candidates.centered`) get more candidates by products in float64, and the last ones are compared
with all rows on the CPU. So the neighbours do not depend on the source.
"""

from __future__ import annotations

import numpy as np
import torch

from skmde._utils.device import as_tensor, available_devices, has_float64, is_cpu
from skmde._utils.ranks.together import current_ranks
from skmde.preprocessing.neighbors.backends.base import RowSearch, nearest_candidates
from skmde.preprocessing.neighbors.backends.candidates.cuvs import CuvsCandidates, import_cuvs
from skmde.preprocessing.neighbors.backends.candidates.products import Products
from skmde.preprocessing.neighbors.backends.exact import ExactSearch

__all__ = ["TorchSearch"]

_DIFFERENCES = (1 << 20, 1 << 25)  # of candidates' coordinates that are computed at once
# Up to this number of queries * rows * features, the CPU is faster than a transfer to the device.
_FEW = 1e9
_SPARE = 16  # candidates beyond those wanted
_MORE = 8  # times as many candidates in float64


class TorchSearch(RowSearch):
    """Compares each query with all rows, on a torch device.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
    device : str
        A device that torch knows. If an unpickled index does not find it, another GPU or the CPU is
        used.
    """

    def __init__(self, rows, device):
        self.rows = rows
        self.device = device

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query; see `RowSearch`."""
        queries = np.ascontiguousarray(queries, self.rows.dtype)
        indices = np.empty((len(queries), k), np.int32)
        squared = np.empty((len(queries), k))
        left = np.arange(len(queries))
        if not self._is_few(left):
            device = self._torch_device()
            for source in _sources(as_tensor(self.rows), len(queries), k, device):
                found = self._among(source, queries[left], k, exclude[left], n_jobs)
                indices[left], squared[left], sure = found
                left = left[~sure]
                del source  # its memory is free before the next one is made
                if self._is_few(left):
                    break
        found = ExactSearch(self.rows).search(queries[left], k, exclude[left], n_jobs)
        indices[left], squared[left] = found
        return indices, squared

    def _among(self, source, queries, k, exclude, n_jobs):
        """The nearest candidates of each query, and whether none is missing."""
        candidates = np.empty((len(queries), source.width), np.int32)
        sure, values_of = np.empty(len(queries), bool), []
        for start in range(0, len(queries), source.step):
            part = slice(start, start + source.step)
            own = torch.from_numpy(exclude[part].astype(np.int64)).to(source.device)
            best, *values = (x.cpu() for x in source.nearest(as_tensor(queries[part]), own))
            candidates[part] = best
            values_of.append((part, values))
        nothing = np.zeros(candidates.shape, np.float32)  # lower bounds: none are known
        found, squared = nearest_candidates(
            queries, exclude, self.rows, candidates, nothing, k, n_jobs
        )
        for part, values in values_of:
            sure[part] = source.misses_none(torch.from_numpy(squared[part]), *values)
        return found, squared, sure

    def search_training(self, k, n_jobs):
        """The nearest other rows of each row; nothing but the result is copied to the host."""
        device, n = self._torch_device(), len(self.rows)
        few = self._is_few(self.rows)
        if few or not has_float64(device) or current_ranks() is not None:
            return super().search_training(k, n_jobs)
        rows = as_tensor(self.rows, device)
        found = torch.empty((n, k), dtype=torch.int32, device=device)
        squared = torch.empty((n, k), dtype=torch.float64, device=device)
        sure = torch.empty(n, dtype=torch.bool, device=device)
        left = torch.arange(n, device=device)
        for source in _sources(rows, n, k, device):
            for own in left.split(source.step):
                candidates, *values = source.nearest(rows[own], own)
                found[own], squared[own] = _nearest(rows, own, candidates, k, source.step)
                sure[own] = source.misses_none(squared[own], *values)
            left = left[~sure[left]]
            del source
            if self._is_few(left):
                break
        found, squared, left = (table.cpu().numpy() for table in (found, squared, left))
        rest = ExactSearch(self.rows).search(self.rows[left], k, left.astype(np.int32), n_jobs)
        found[left], squared[left] = rest
        return found, squared

    def _is_few(self, queries):
        return len(queries) * self.rows.size <= _FEW

    def _torch_device(self):
        there, kind = available_devices(), self.device.split(":")[0]
        kinds = {name.split(":")[0] for name in there}
        if self.device not in there and kind in kinds:
            return torch.device(kind)
        return torch.device(self.device if kind in kinds else "cpu")


def _sources(rows, n_queries, k, device):
    """Sources of candidates, each for the queries for which those before it may miss one."""
    n, d = rows.shape
    library = import_cuvs(device, n_queries * n, d)
    if library is not None:
        yield CuvsCandidates(rows, k + _SPARE, device, library)
    else:
        yield Products(rows, k + _SPARE, device, torch.float32)
    if has_float64(device):
        yield Products(rows, _MORE * (k + _SPARE), device, torch.float64)


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
