"""The symmetric graph of neighbours, computed on a device.

A pair of items is the number ``low * n + high``, so that sorting brings its two directions side by
side. scipy computes the same numbers on the CPU, in one thread.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from skmde._utils.device import as_tensor

__all__ = ["symmetric_graph"]


def symmetric_graph(near, values, device, *, adds):
    """The symmetric graph of the weights of neighbours.

    Parameters
    ----------
    near : csr_array of shape (n, n)
        Row i stores the neighbours of item i, each once.
    values : ndarray of the length of ``near.data``, float32
        Weights of the neighbours, at least 0.
    device : torch.device
    adds : bool
        Whether the weights of the two directions of a pair are added; otherwise the larger counts.

    Returns
    -------
    graph : csr_array of shape (n, n), float32
        With sorted indices, without weights of 0.
    """
    n = near.shape[0]
    counts, columns, weights = (
        as_tensor(x, device) for x in (np.diff(near.indptr), near.indices, values)
    )
    rows = torch.repeat_interleave(torch.arange(n, device=device), counts)
    columns = columns.long()
    keys = torch.cat([rows * n + columns, columns * n + rows])
    keys, order = torch.sort(keys, stable=True)
    weights = weights.repeat(2)[order]
    # a pair of which both directions are stored comes twice in a row
    again = torch.zeros_like(keys, dtype=torch.bool)
    again[1:] = keys[1:] == keys[:-1]
    twin = torch.where(again.roll(-1), weights.roll(-1), 0.0)
    weights = weights + twin if adds else torch.maximum(weights, twin)
    kept = ~again & (weights != 0)
    keys, weights = keys[kept], weights[kept]
    rows = torch.div(keys, n, rounding_mode="floor")
    bounds = torch.searchsorted(rows, torch.arange(n + 1, device=device))
    kind = np.int32 if len(keys) < np.iinfo(np.int32).max else np.int64
    parts = weights, keys - rows * n, bounds
    data, indices, indptr = (x.cpu().numpy() for x in parts)
    graph = sp.csr_array((data, indices.astype(kind), indptr.astype(kind)), shape=(n, n))
    graph.has_sorted_indices = True
    return graph
