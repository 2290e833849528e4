"""The edge list: the pairs of items, their weights, original distances and distortion functions.

The edges are the set of pairs of the monograph, sections 2.2 and 2.3. Their weights and original
distances define the distortion functions (monograph, chapter 4). Original distances are in the
units of the embedding.

Edges are stored as two contiguous int32 arrays. The arrays are cut into *segments* with one
distortion function each: first the pairs that attract, then the pairs that repel. Kernels therefore
need no mask over the edges. Inside a segment, edges are sorted by their first item, which makes
better use of memory caches. Of more items than a cache holds, the edges between two tiles of items
come one after another. `EdgeList.order` maps stored edges to the caller's order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from skmde._utils.device import known_to_torch
from skmde._utils.validation import check_not_masked
from skmde.core.kernels.backend import Run
from skmde.functions.adapters import CallableLoss, CallablePenalty
from skmde.functions.base import Loss, Penalty
from skmde.functions.registry import resolve_loss, resolve_penalty

_STRETCH = 1 << 20  # number of edges per block, when the order is checked
_TILE = 1 << 17  # items; the coordinates and forces of two tiles in the plane fit into 4 MB

Distortion = str | Penalty | Loss | Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Segment:
    """Edges ``start:stop``, which share one distortion function."""

    start: int
    stop: int
    function: Penalty | Loss


@dataclass(frozen=True)
class EdgeList:
    """Edges of an MDE problem, on one device.

    Attributes
    ----------
    i, j : torch.Tensor of shape (p,), int32
        The pairs.
    weights : torch.Tensor of shape (p,)
        Weight of each pair; 1 where the caller gave none.
    deviations : torch.Tensor of shape (p,) or None
        Original distances, for losses; in the units of the embedding. 0 for pairs under a penalty;
        None if all are.
    segments : tuple of Segment
        Contiguous segments that cover all p edges.
    order : torch.Tensor of shape (p,), int64, or None
        Position of each stored edge in the caller's list; None if the order is the same.
    """

    i: torch.Tensor
    j: torch.Tensor
    weights: torch.Tensor
    deviations: torch.Tensor | None
    segments: tuple[Segment, ...]
    order: torch.Tensor | None

    def __len__(self) -> int:
        return int(self.i.shape[0])

    @property
    def dtype(self) -> torch.dtype:
        return self.weights.dtype

    @property
    def device(self) -> torch.device:
        return self.i.device

    def runs(self) -> list[Run]:
        """The segments as runs, the input of backends."""
        return runs_of(self)

    def to(
        self, *, dtype: torch.dtype | None = None, device: torch.device | None = None
    ) -> EdgeList:
        """The same edges with weights and deviations of another dtype, or on another device."""
        t = self.deviations
        return EdgeList(
            i=self.i.to(device=device),
            j=self.j.to(device=device),
            weights=self.weights.to(device=device, dtype=dtype),
            deviations=None if t is None else t.to(device=device, dtype=dtype),
            segments=self.segments,
            order=None if self.order is None else self.order.to(device=device),
        )

    def under(self, function: Penalty | Loss) -> EdgeList:
        """The same edges, all with another distortion function."""
        return replace(self, segments=(Segment(0, len(self), function),))

    def with_functions(self, change: Callable[[Penalty | Loss], Penalty | Loss]) -> EdgeList:
        """The same edges, each with what a function makes of its distortion function."""
        changed = (replace(s, function=change(s.function)) for s in self.segments)
        return replace(self, segments=tuple(changed))

    def joined(self, other: EdgeList) -> EdgeList:
        """These edges followed by others; all keep their distortion functions."""
        n, both = len(self), (self, other)
        order = None
        if self.order is not None or other.order is not None:
            first, second = (
                torch.arange(len(edges), device=edges.i.device)
                if edges.order is None
                else edges.order
                for edges in both
            )
            order = torch.cat([first, n + second])
        deviations = None
        if self.deviations is not None or other.deviations is not None:
            deviations = torch.cat(
                [
                    torch.zeros_like(edges.weights)
                    if edges.deviations is None
                    else edges.deviations
                    for edges in both
                ]
            )
        return EdgeList(
            i=torch.cat([self.i, other.i]),
            j=torch.cat([self.j, other.j]),
            weights=torch.cat([self.weights, other.weights]),
            deviations=deviations,
            segments=self.segments
            + tuple(replace(s, start=n + s.start, stop=n + s.stop) for s in other.segments),
            order=order,
        )

    def pairs_at(self, positions: np.ndarray) -> np.ndarray:
        """The stored pairs at some positions, shape (k, 2), int64."""
        some = torch.from_numpy(positions).to(self.device)
        return torch.stack([self.i[some], self.j[some]], dim=1).cpu().numpy().astype(np.int64)

    def to_callers_order(self, values: torch.Tensor) -> torch.Tensor:
        """Values of the stored edges, rearranged to the caller's order."""
        if self.order is None:
            return values
        out = torch.empty_like(values)
        out[self.order] = values
        return out

    @classmethod
    def build(
        cls,
        edges: Any,
        n_items: int,
        distortion: Distortion | tuple[Distortion | None, Distortion | None],
        *,
        weights: Any = None,
        deviations: Any = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> EdgeList:
        """Check and sort edges; see :class:`skmde.MDE` for the parameters.

        Raises
        ------
        ValueError
            If `edges` is empty, does not have shape (p, 2), has an item outside 0 to n_items - 1,
            or pairs an item with itself. If the weights or deviations are missing, not finite or of
            the wrong length.
        """
        pairs = as_edges(edges, n_items)
        p = pairs.shape[0]
        w, delta = as_weights(weights, p), as_deviations(deviations, p)
        attract, repel = resolve_functions(distortion, w, delta)
        side = np.zeros(p, dtype=np.int8)
        if w is not None and attract is not repel:
            side = (w < 0).astype(np.int8)
        # numpy reduces an axis of length two row by row, which takes thirty times as long
        low, high = (
            extreme(*pairs.T).astype(np.int32, copy=False) for extreme in (np.minimum, np.maximum)
        )
        # A callable may hold one parameter for each edge, in the caller's order: keep that order.
        adapters = (CallablePenalty, CallableLoss)
        if isinstance(attract, adapters) or isinstance(repel, adapters):
            order = _sorting_order(side, np.zeros_like(low), np.zeros_like(low))
        else:
            order = _sorting_order(side, low, high)
        if order is not None:
            low, high, side = low[order], high[order], side[order]
            w = None if w is None else w[order]
            delta = None if delta is None else delta[order]
        split = int(np.searchsorted(side, 1))
        stored = np.arange(p) if order is None else order
        segments = tuple(
            Segment(start, stop, function.of_pairs(stored[start:stop], p))
            for start, stop, function in ((0, split, attract), (split, p, repel))
            if stop > start
        )

        def tensor(values: np.ndarray) -> torch.Tensor:
            # A copy, because the caller's arrays may be read-only, or change later.
            return torch.tensor(values, dtype=dtype, device=device)

        return cls(
            i=torch.from_numpy(low).to(device),
            j=torch.from_numpy(high).to(device),
            weights=torch.ones(p, dtype=dtype, device=device) if w is None else tensor(w),
            deviations=None if delta is None else tensor(delta),
            segments=segments,
            order=None if order is None else torch.from_numpy(order).to(device),
        )


def runs_of(edges: Any) -> list[Run]:
    """The segments of an `EdgeList` or of `AllPairs` as runs, the input of backends."""
    i, j, w, delta = edges.i, edges.j, edges.weights, edges.deviations
    runs = []
    for segment in edges.segments:
        own = slice(segment.start, segment.stop)
        known = delta[own] if isinstance(segment.function, Loss) else None
        runs.append(Run(segment.function, i[own], j[own], w[own], known))
    return runs


def known_deviations(edges: Any) -> torch.Tensor | None:
    """Original distances of the pairs of an `EdgeList` or of `AllPairs` that are under a loss."""
    delta, segments = edges.deviations, edges.segments
    if delta is None or all(isinstance(segment.function, Loss) for segment in segments):
        return delta
    parts = [delta[s.start : s.stop] for s in segments if isinstance(s.function, Loss)]
    return torch.cat(parts)


def penalty_weights(edges: Any) -> torch.Tensor:
    """Weights of the pairs of an `EdgeList` or of `AllPairs`; 0 where there is a loss."""
    losses = [segment for segment in edges.segments if isinstance(segment.function, Loss)]
    if not losses:
        weights: torch.Tensor = edges.weights
        return weights
    weights = edges.weights.clone()
    for segment in losses:
        weights[segment.start : segment.stop] = 0
    return weights


def as_edges(edges: Any, n_items: int) -> np.ndarray:
    """Edges as an integer array of shape (p, 2), checked against the number of items."""
    if isinstance(edges, torch.Tensor):
        edges = edges.detach().cpu().numpy()
    check_not_masked(edges, "edges", "leave these edges out")
    pairs = np.asarray(edges)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.shape[0] == 0:
        raise ValueError(
            f"edges must be an array of shape (p, 2) with at least one row; got shape "
            f"{pairs.shape}."
        )
    if not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError(f"edges must hold integers (indices of items); got dtype {pairs.dtype}.")
    lowest, highest = pairs.min(), pairs.max()
    if lowest < 0 or highest >= n_items:
        wrong = lowest if lowest < 0 else highest
        raise ValueError(
            f"edges name item {wrong}, but there are {n_items} items, numbered 0 to {n_items - 1}."
        )
    own = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if own.size:
        raise ValueError(
            f"edge {own[0]} pairs item {pairs[own[0], 0]} with itself ({own.size} such edges); "
            "remove these edges."
        )
    return pairs


def as_weights(weights: Any, p: int) -> np.ndarray | None:
    """Weights of p edges, checked; None if there are none."""
    return _per_edge(weights, p, "weights")


def as_deviations(deviations: Any, p: int) -> np.ndarray | None:
    """Original distances of p edges, checked; None if there are none."""
    delta = _per_edge(deviations, p, "deviations")
    if delta is not None and (delta < 0).any():
        raise ValueError(
            f"deviations are distances, so they must be at least 0; the smallest is {delta.min()}."
        )
    return delta


def _per_edge(values: Any, p: int, name: str) -> np.ndarray | None:
    if values is None:
        return None
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    check_not_masked(values, name, "leave these edges out")
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numbers; got dtype {array.dtype}.")
    if array.shape != (p,):
        raise ValueError(f"{name} must have shape ({p},), one for each edge; got {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} holds {np.count_nonzero(~np.isfinite(array))} values that are NaN or "
            "infinite; omit these pairs."
        )
    return known_to_torch(array) if array.dtype.kind == "f" else array.astype(np.float64)


def resolve_functions(
    distortion: Any, w: np.ndarray | None, delta: np.ndarray | None
) -> tuple[Penalty | Loss, Penalty | Loss]:
    """The distortion functions of the pairs that attract and of the pairs that repel."""
    if delta is not None:
        if isinstance(distortion, (tuple, list)):
            raise ValueError(
                "deviations were given, so distortion must be one loss, not a pair of penalties."
            )
        loss = resolve_loss(distortion)
        return loss, loss
    if isinstance(distortion, Loss):
        raise ValueError(
            f"{type(distortion).__name__} is a loss: it compares embedding distances with original "
            "distances, which are missing; pass these as deviations=."
        )
    if isinstance(distortion, Sequence) and not isinstance(distortion, str):
        if len(distortion) != 2:
            raise ValueError(
                "distortion must be one function or a pair (attractive, repulsive); got a "
                f"sequence of {len(distortion)}."
            )
        given: tuple[Any, Any] = (distortion[0], distortion[1])
    else:
        given = (distortion, distortion)
    signs = np.sign(w) if w is not None else np.ones(1)
    for function, sign, kind in ((given[0], 1, "attractive"), (given[1], -1, "repulsive")):
        if function is None and (signs == sign).any():
            raise ValueError(
                f"the {kind} penalty is None, but some weights are "
                f"{'positive (1 where none are given)' if sign > 0 else 'negative'}."
            )
    first, second = (
        other if function is None else function for function, other in (given, given[::-1])
    )
    attract = resolve_penalty(first)
    repel = attract if second is first else resolve_penalty(second)
    return attract, repel


def _sorting_order(side: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """Permutation that sorts edges by (side, low, high); None if they are already sorted.

    The edges of many items are sorted by the tiles of both their items first.
    """
    n_tiles, p = int(high.max()) // _TILE + 1, len(low)

    def key(part: slice) -> np.ndarray:
        out = side[part].astype(np.int64)
        for items in (low[part], high[part]):
            out *= n_tiles
            out += items // _TILE
        for items in (low[part], high[part]):
            out *= _TILE
            out += items % _TILE
        return out

    # block by block, because the keys of all edges need more memory than the edges
    stretches = (key(slice(k, k + _STRETCH + 1)) for k in range(0, p, _STRETCH))
    if all((keys[1:] >= keys[:-1]).all() for keys in stretches):
        return None
    return np.argsort(key(slice(None)), kind="stable")
