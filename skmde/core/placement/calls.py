"""Helpers of both placement objectives: distances to anchors, and calls of functions in torch.

The bits of an element of a result depend on that element's arguments only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from skmde._utils.jit import jit
from skmde.core.kernels.torch_blocks import CALL, PAD as PAD
from skmde.core.placement.newton import Floats
from skmde.functions.base import Loss, Penalty

# Number of pairs processed at once, so that their arrays stay in cache.
BLOCK = 16384
UNITS = 4.0  # bound on a term's rounding error, in machine epsilons


@jit()
def squared_distances(points: Any, rows: Any, anchors: Any, indices: Any, out: Any) -> None:
    """Squared distances from each row to its anchors, concatenated row by row."""
    m = points.shape[1]
    k = indices.shape[1]
    for b in range(rows.shape[0]):
        for e in range(k):
            j = indices[rows[b], e]
            square = 0.0
            for i in range(m):
                u = points[b, i] - anchors[j, i]
                square += u * u
            out[b * k + e] = square


def dtype_and_device(function: Penalty | Loss) -> tuple[torch.dtype, torch.device]:
    """Dtype and device to call a function with: those of its torch module's parameters, if any."""
    for part in vars(function).values():
        if isinstance(part, torch.nn.Module):
            for parameter in part.parameters():
                return parameter.dtype, parameter.device
    return torch.float64, torch.device("cpu")


def call_in_torch(
    dtype: torch.dtype,
    device: torch.device,
    functions: list[Callable[..., torch.Tensor]],
    first: Floats,
    second: Floats,
) -> Floats:
    """Elementwise functions of two arrays; an element's bits depend on its own arguments only."""
    out = np.empty((len(functions), first.size))
    for begin in range(0, first.size, CALL):
        call = slice(begin, begin + CALL)
        pair = [torch.from_numpy(a[call]).to(device, dtype) for a in (first, second)]
        for row, function in zip(out, functions, strict=True):
            row[call] = function(*pair).detach().cpu().numpy()
    return out
