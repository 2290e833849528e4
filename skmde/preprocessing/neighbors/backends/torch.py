"""Exact Euclidean neighbours on a device, mainly on GPUs, by matrix products of blocks of rows.

The products, in float32, find a few more candidates than wanted. Their distances are then computed
from differences in float64 on the CPU.
"""

from __future__ import annotations

import numpy as np
import torch

from skmde._utils.device import available_devices, is_cpu
from skmde.preprocessing.neighbors.backends.base import RowSearch, nearest_candidates
from skmde.preprocessing.neighbors.backends.exact import ExactSearch

__all__ = ["TorchSearch"]

_BLOCK_ENTRIES = (1 << 22, 1 << 26)  # size of a block of scores, on the CPU and on other devices
# Up to this number of queries * rows * features, the CPU is faster than a transfer to the device.
_FEW = 1e9
_SPARE = 16  # candidates beyond those wanted
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
        candidates = self._candidates(queries, min(k + _SPARE, len(self.rows)), exclude)
        nothing = np.zeros(candidates.shape, np.float32)  # lower bounds: none are known
        return nearest_candidates(queries, exclude, self.rows, candidates, nothing, k, n_jobs)

    def _candidates(self, queries, width, exclude):
        """Indices of the approximately nearest rows, unsorted."""
        there = self.device.split(":")[0] in {name.split(":")[0] for name in available_devices()}
        device = torch.device(self.device if there else "cpu")
        items = _on_device(self.rows, device)
        # Centred rows keep the cancellation in the scores small.
        center = items.mean(dim=0)
        items = items - center
        norms = (items * items).sum(dim=1)
        candidates = np.empty((len(queries), width), np.int32)
        step = max(1, _BLOCK_ENTRIES[not is_cpu(device)] // len(items))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            block = _on_device(queries[part], device) - center
            scores = torch.addmm(norms, block, items.T, alpha=-2)
            known = np.flatnonzero(exclude[part] >= 0)
            own = torch.from_numpy(exclude[part][known].astype(np.int64))
            scores[torch.from_numpy(known), own] = torch.inf
            best = torch.topk(scores, width, dim=1, largest=False, sorted=False).indices
            candidates[part] = best.cpu().numpy()
        return candidates


def _on_device(rows, device):
    rows = rows.clip(-_REACH, _REACH).astype(np.float32, copy=False)
    return torch.from_numpy(rows).to(device)
