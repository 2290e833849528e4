"""The pairs of each item as a list, for sums without a conflict between threads.

A pair is in the lists of both its items. Lists are cut into pieces, so that an item with many pairs
does not keep the threads of the others waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from skmde.core.kernels.backend_base import Run

_LONGEST = 128  # pairs of an item that are summed in one piece


@dataclass(frozen=True)
class Lists:
    """The pairs of each item, in pieces.

    Attributes
    ----------
    others : torch.Tensor of shape (2 c,), int32
        The other item of each pair, item by item.
    weights : torch.Tensor of shape (2 c,)
    deviations : torch.Tensor of shape (2 c,) or None
    items : torch.Tensor of shape (q,), int32
        The item of each piece.
    starts, stops : torch.Tensor of shape (q,), int64
        The pairs of each piece.
    offsets : torch.Tensor of shape (n + 1,), int64, or None
        The pieces of each item; None if each item has one.
    """

    others: torch.Tensor
    weights: torch.Tensor
    deviations: torch.Tensor | None
    items: torch.Tensor
    starts: torch.Tensor
    stops: torch.Tensor
    offsets: torch.Tensor | None

    @classmethod
    def of(cls, run: Run, n_items: int, dtype: torch.dtype) -> Lists:
        """The lists of the pairs of a run."""
        longest = _LONGEST
        ends = torch.cat([run.i, run.j]).long()
        order = torch.argsort(ends, stable=True)
        counts = torch.bincount(ends, minlength=n_items)
        bounds = torch.cumsum(counts, 0)
        items = torch.arange(n_items, device=ends.device)
        starts, stops, offsets = bounds - counts, bounds, None
        if int(counts.max()) > longest:
            pieces = (counts + (longest - 1)) // longest
            last = torch.cumsum(pieces, 0)
            items = torch.repeat_interleave(items, pieces)
            number = torch.arange(len(items), device=ends.device) - (last - pieces)[items]
            starts = (bounds - counts)[items] + number * longest
            stops = torch.minimum(starts + longest, bounds[items])
            offsets = torch.cat([torch.zeros_like(last[:1]), last])

        def both(values: torch.Tensor) -> torch.Tensor:
            return values.to(dtype).repeat(2)[order]

        return cls(
            others=torch.cat([run.j, run.i])[order],
            weights=both(run.weights),
            deviations=None if run.deviations is None else both(run.deviations),
            items=items.int(),
            starts=starts,
            stops=stops,
            offsets=offsets,
        )
