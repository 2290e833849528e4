"""The reference kernels, in torch, for any device and any distortion function, with autograd.

They compute the same as ``numba_edges.py`` in a few lines, and tests check that the two agree. No
function copies results from the device to the host. No sum depends on the order in which threads
or a GPU's blocks finish: the gradient is summed row by row over a fixed sorting of the edges.

On the CPU, functions are evaluated on blocks of edges so small that torch does not divide them
among threads; see :mod:`skmde.core.kernels.torch_blocks`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from skmde._linalg.reductions import dot
from skmde._utils.device import is_cpu
from skmde.core.kernels.torch_blocks import CALL
from skmde.functions.adapters import CallableLoss, CallablePenalty
from skmde.functions.base import Loss, Penalty


@dataclass(frozen=True)
class Incidence:
    """Incidence matrix ``A`` of a segment's edges, stored as sorted lists for sums by row.

    Attributes
    ----------
    position : torch.Tensor of shape (2 c,), int64
        Positions in the concatenation of the c edges' differences and their negatives,
        sorted by item.
    offsets : torch.Tensor of shape (n + 1,), int64
        The start of each item's run in `position`.
    """

    position: torch.Tensor
    offsets: torch.Tensor

    @classmethod
    def of(cls, i: torch.Tensor, j: torch.Tensor, n_items: int) -> Incidence:
        ends = torch.cat([i, j]).long()
        position = torch.argsort(ends, stable=True)
        counts = torch.bincount(ends, minlength=n_items)
        zero = torch.zeros(1, dtype=torch.int64, device=ends.device)
        return cls(position, torch.cat([zero, torch.cumsum(counts, 0)]))

    def apply(self, values: torch.Tensor) -> torch.Tensor:
        """``A @ values``, of shape (n, m), for values of shape (c, m)."""
        signed = take_rows(torch.cat([values, -values]), self.position)
        return torch.segment_reduce(signed, "sum", offsets=self.offsets, axis=0)


def distances(X: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
    """Embedding distances of the pairs (i, j), shape (c,)."""
    return torch.linalg.vector_norm(take_rows(X, i) - take_rows(X, j), dim=1)


def take_rows(X: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """``X[index]``."""
    if is_cpu(X) or X.shape[1] * X.element_size() % 16:
        return X.index_select(0, index)
    # If a row's size is a multiple of 16 bytes, torch's CUDA kernel uses a block of threads for
    # each row. On an H200 this took 20 times as long as gathering two columns.
    return X.T.contiguous().index_select(1, index).T


def block_size(function: Penalty | Loss, device: torch.device, n_edges: int) -> int:
    """Number of edges per call of a function that has `n_edges` edges in all.

    A plain callable may hold one parameter for each edge. It must then be called with all edges at
    once. To find out, it is called with two edges, which then raises an error.
    """
    if not is_cpu(device) or n_edges <= CALL or function.varies_by_pair:
        return n_edges
    two = torch.ones(2)
    try:
        if isinstance(function, CallablePenalty):
            function.value(two)
        elif isinstance(function, CallableLoss):
            function.value(two, two)
    except Exception:  # a user's function may raise anything
        return n_edges
    return CALL


def distortions(
    function: Penalty | Loss,
    d: torch.Tensor,
    w: torch.Tensor,
    delta: torch.Tensor | None,
    block: int,
) -> torch.Tensor:
    """Weighted distortions at embedding distances `d`; losses need the original ones, `delta`."""
    return by_block(weighted_values, function, d, w, delta, block)


def derivatives(
    function: Penalty | Loss,
    d: torch.Tensor,
    w: torch.Tensor,
    delta: torch.Tensor | None,
    block: int,
) -> torch.Tensor:
    """Derivatives of the weighted distortions by the embedding distances `d`."""
    return d * by_block(weighted_slopes, function, d, w, delta, block)


def value_and_gradient(
    function: Penalty | Loss,
    X: torch.Tensor,
    i: torch.Tensor,
    j: torch.Tensor,
    w: torch.Tensor,
    delta: torch.Tensor | None,
    incidence: Incidence,
    block: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum of weighted distortions (a float64 scalar tensor) and its gradient, shape (n, m)."""
    difference = take_rows(X, i) - take_rows(X, j)
    d = torch.linalg.vector_norm(difference, dim=1)
    slope = by_block(weighted_slopes, function, d, w, delta, block)
    values = by_block(weighted_values, function, d, w, delta, block)
    total = dot(values, torch.ones_like(values))
    return total, incidence.apply(slope.to(X.dtype).unsqueeze(1) * difference)


def by_block(
    evaluate: Callable[..., torch.Tensor],
    function: Penalty | Loss,
    d: torch.Tensor,
    w: torch.Tensor,
    delta: torch.Tensor | None,
    block: int,
) -> torch.Tensor:
    """A function of all pairs, evaluated on blocks; see `block_size`."""
    if block >= d.shape[0]:
        return evaluate(function, d, w, delta)
    runs = [slice(start, start + block) for start in range(0, d.shape[0], block)]
    return torch.cat(
        [evaluate(function, d[run], w[run], None if delta is None else delta[run]) for run in runs]
    )


def weighted_values(
    function: Penalty | Loss, d: torch.Tensor, w: torch.Tensor, delta: torch.Tensor | None
) -> torch.Tensor:
    """Weighted distortions."""
    if isinstance(function, Loss):
        assert delta is not None
        return w * function.value(delta, d)
    return function.weighted_value(d, w)


def weighted_slopes(
    function: Penalty | Loss, d: torch.Tensor, w: torch.Tensor, delta: torch.Tensor | None
) -> torch.Tensor:
    """Derivatives of weighted distortions, divided by the distances."""
    if isinstance(function, Loss):
        assert delta is not None
        return w * function.slope(delta, d)
    return function.weighted_slope(d, w)


def weighted_curvatures(
    function: Penalty | Loss, d: torch.Tensor, w: torch.Tensor, delta: torch.Tensor | None
) -> torch.Tensor:
    """Second derivatives of weighted distortions."""
    if isinstance(function, Loss):
        assert delta is not None
        return w * function.curvature(delta, d)
    return function.weighted_curvature(d, w)


def history_dots(H: torch.Tensor, g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Inner products of each row of `H` with `g` and with `y`, of shape (rows, 2)."""
    return H @ torch.stack([g, y], dim=1)


def combine(
    H: torch.Tensor, coefficients: torch.Tensor, g: torch.Tensor, scale: float
) -> torch.Tensor:
    """``coefficients @ H + scale * g``."""
    return torch.addmv(g, H.T, coefficients, beta=scale)


def momentum_step(
    X: torch.Tensor,
    velocity: torch.Tensor,
    gains: torch.Tensor,
    gradient: torch.Tensor,
    size: float,
    momentum: float,
    longest: float,
) -> torch.Tensor:
    """The next iterate; see :func:`skmde._linalg.vector_kernels.momentum_step`."""
    keeps = gradient * velocity < 0
    gains.copy_(torch.where(keeps, gains + 0.2, gains * 0.8).clamp_(min=0.01))
    velocity.mul_(momentum).sub_(size * gains * gradient)
    lengths = torch.linalg.vector_norm(velocity, dim=1, keepdim=True)
    velocity.mul_((longest / lengths).clamp(max=1.0))
    return X + velocity
