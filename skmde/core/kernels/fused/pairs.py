"""The kernel that sums distortions and forces over the pairs of each item.

It reads the coordinates of the other items, computes the slopes, and sums the forces on its own
items. Nothing is stored for a pair, and no two threads add to one number, so that the same input
gives the same bits.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from skmde.core.kernels.backend_base import Run
from skmde.core.kernels.fused.functions import FUSED, FUSED_LOSSES, value_and_slope
from skmde.core.kernels.fused.lists import Lists
from skmde.functions.base import Loss, Penalty

_WIDTH = 32  # pairs of an item that are computed at once
_ENTRIES = 1024  # numbers in a block: items, pairs and components
_MOST_COMPONENTS = 16
_TERMS = {torch.float32: 8, torch.float64: 16}  # of the series
_QUARTERS = (2, 4, 6, 8, 10, 12)  # exponents that need no logarithm, times four


@triton.jit
def finite(x, BIG: tl.constexpr):
    """Clamp infinities to the largest finite numbers."""
    return tl.minimum(tl.maximum(x, -BIG), BIG)


@triton.jit
def _add_pairs(
    X,
    parameters,
    others,
    weights,
    deviations,
    items,
    starts,
    stops,
    gradient,
    values,
    n_pieces,
    M: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    KIND: tl.constexpr,
    IS_LOSS: tl.constexpr,
    QUARTERS: tl.constexpr,
    TERMS: tl.constexpr,
    BIG: tl.constexpr,
):
    """Sums of the forces and of the distortions of ROWS pieces."""
    piece = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    used_column = column < M
    there = piece < n_pieces
    start = tl.load(starts + piece, mask=there, other=0)
    stop = tl.load(stops + piece, mask=there, other=0)
    item = tl.load(items + piece, mask=there, other=0).to(tl.int64)
    own = tl.load(
        X + item[:, None] * M + column[None, :],
        mask=there[:, None] & used_column[None, :],
        other=0.0,
    )
    a = tl.load(parameters)
    forces = tl.zeros_like(own)
    total = tl.sum(forces, axis=1)
    for first in range(0, tl.max(stop - start, axis=0), WIDTH):
        k = start[:, None] + first + tl.arange(0, WIDTH)[None, :]
        used = k < stop[:, None]
        other = tl.load(others + k, mask=used, other=0).to(tl.int64)
        w = tl.load(weights + k, mask=used, other=0.0)
        x = tl.load(
            X + other[:, :, None] * M + column[None, None, :],
            mask=used[:, :, None] & used_column[None, None, :],
            other=0.0,
        )
        difference = tl.where(
            used[:, :, None] & used_column[None, None, :], own[:, None, :] - x, 0.0
        )
        squares = tl.sum(difference * difference, axis=2)
        is_number = squares == squares
        d = tl.sqrt(tl.where(is_number, tl.minimum(squares, BIG), squares))
        delta = d
        if IS_LOSS:
            delta = tl.load(deviations + k, mask=used, other=1.0)
        value, slope = value_and_slope(d, delta, a, KIND, QUARTERS, TERMS, BIG)
        value, slope = finite(w * value, BIG), finite(w * slope, BIG)
        value, slope = tl.where(is_number, value, d), tl.where(is_number, slope, d)
        counts = used & (w != 0)
        value, slope = tl.where(counts, value, 0.0), tl.where(counts, slope, 0.0)
        total += tl.sum(value, axis=1)
        forces += tl.sum(slope[:, :, None] * difference, axis=1)
    tl.store(values + piece, total, mask=there)
    tl.store(
        gradient + piece.to(tl.int64)[:, None] * M + column[None, :],
        forces,
        mask=there[:, None] & used_column[None, :],
    )


def is_fused(function: Penalty | Loss, n_components: int) -> bool:
    """Whether the kernel computes a distortion function."""
    kernel = function.kernel_parameters()
    return kernel is not None and kernel[0] in FUSED and n_components <= _MOST_COMPONENTS


class PairSums:
    """The sum of the distortions of a run, and the forces on the items, without a factor.

    Parameters
    ----------
    run : Run
        One whose function `is_fused`.
    n_items, n_components : int
    dtype : torch.dtype
        float32 or float64.

    Attributes
    ----------
    kernel : tuple
        What the compiled kernel depends on.
    """

    def __init__(self, run: Run, n_items: int, n_components: int, dtype: torch.dtype) -> None:
        kernel = run.function.kernel_parameters()
        assert kernel is not None
        kind, *numbers = kernel
        self._lists = lists = Lists.of(run, n_items, dtype)
        info = torch.finfo(dtype)
        # the scale of a penalty must not become 0 in float32
        parameter = max(float(numbers[0]), info.tiny)
        self._parameters = torch.tensor([parameter], dtype=dtype, device=run.i.device)
        columns = triton.next_power_of_2(n_components)
        self._rows = max(1, _ENTRIES // (_WIDTH * columns))
        self._shape = len(lists.items), n_components
        self._constants: dict[str, Any] = {
            "M": n_components,
            "COLUMNS": columns,
            "ROWS": self._rows,
            "WIDTH": _WIDTH,
            "KIND": kind,
            "IS_LOSS": kind in FUSED_LOSSES,
            "QUARTERS": round(4 * parameter) if 4 * parameter in _QUARTERS else -1,
            "TERMS": _TERMS[dtype],
            "BIG": info.max,
        }
        self.kernel = run.i.device, *self._constants.values()

    def __call__(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The sum, a float64 scalar tensor, and the forces, shape (n, m)."""
        lists, n_pieces = self._lists, self._shape[0]
        forces, values = X.new_empty(self._shape), X.new_empty(n_pieces)
        with torch.cuda.device_of(X):  # Triton launches on the current device
            _add_pairs[(triton.cdiv(n_pieces, self._rows),)](
                X,
                self._parameters,
                lists.others,
                lists.weights,
                lists.weights if lists.deviations is None else lists.deviations,
                lists.items,
                lists.starts,
                lists.stops,
                forces,
                values,
                n_pieces,
                **self._constants,
                enable_fp_fusion=True,
            )
        if lists.offsets is not None:
            forces = torch.segment_reduce(forces, "sum", offsets=lists.offsets, axis=0)
        # a pair is in the lists of both its items
        return 0.5 * values.sum(dtype=torch.float64), forces
