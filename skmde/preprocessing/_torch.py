"""Exact Euclidean neighbours on a device: blocked matrix products, for GPUs above all.

The products find somewhat more candidates than asked for in float32; their distances are then
taken from differences in float64 on the host.
"""

from __future__ import annotations

import numpy as np

from skmde.preprocessing._search import RowSearch

__all__ = ["DeviceAllPairs", "available_device"]

_BLOCK_ENTRIES = 1 << 26
_SPARE = 16
_REACH = 1e15  # squares of float32 overflow beyond 1e19


def available_device(name):
    """The name of a device that is there, with "auto" resolved; ValueError if it is not."""
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {name!r} is not available: {error}") from error
    return name


class DeviceAllPairs(RowSearch):
    """All rows, to be compared with every query on a torch device.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
    device : str
        A device that torch knows. On a machine without it, where an unpickled index may find
        itself, the CPU serves.
    """

    def __init__(self, rows, device):
        self.rows = rows
        self.device = device

    def search(self, queries, k, exclude, n_jobs):
        """The nearest rows of each query; see `InvertedLists.search`."""
        import torch

        from skmde.preprocessing._kernels import refine
        from skmde.preprocessing._pieces import run_pieces

        device = torch.device(self.device)
        if device.type == "cuda" and not torch.cuda.is_available():
            device = torch.device("cpu")
        n = len(self.rows)
        queries = np.ascontiguousarray(queries, self.rows.dtype)
        width = min(k + _SPARE, n)
        candidates = np.empty((len(queries), width), np.int32)
        items = torch.from_numpy(np.ascontiguousarray(self.rows, np.float32)).to(device)
        norms = (items * items).sum(dim=1)
        step = max(1, _BLOCK_ENTRIES // n)
        for start in range(0, len(queries), step):
            block = queries[start : start + step].clip(-_REACH, _REACH).astype(np.float32)
            own = np.flatnonzero(exclude[start : start + step] >= 0)
            scores = torch.addmm(
                norms, torch.from_numpy(block).to(device), items.T, beta=1, alpha=-2
            )
            scores[torch.from_numpy(own), torch.from_numpy(exclude[start + own]).long()] = np.inf
            best = torch.topk(scores, width, dim=1, largest=False, sorted=False).indices
            candidates[start : start + step] = best.cpu().numpy()
        candidates[candidates == exclude[:, None]] = -1
        candidates = -np.sort(-candidates, axis=1)  # missing ones last
        indices = np.empty((len(queries), k), np.int32)
        squared = np.empty((len(queries), k))

        def piece(start, stop):
            refine(
                queries[start:stop],
                self.rows,
                candidates[start:stop],
                np.zeros(candidates[start:stop].shape, np.float32),
                indices[start:stop],
                squared[start:stop],
            )

        run_pieces(piece, len(queries), 1024, n_jobs)
        return indices, squared
