"""Batches of pairs that are in memory: each pass divides them at random.

The stored pairs are sorted by their first item, and so are those of a batch, since they stay in
order. A batch therefore costs a copy and no sorting of its pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from skmde._utils.threads import even_pieces
from skmde.core.batches.base import Shuffled, count_batches
from skmde.core.checkpoints.saved import Saved
from skmde.core.objectives.edge_term import Edges
from skmde.core.objectives.edges import EdgeList, Segment
from skmde.functions.adapters import CallableLoss, CallablePenalty
from skmde.functions.base import Loss, Penalty


class StoredBatches:
    """Random batches of the pairs of a problem, pass after pass without end.

    Parameters
    ----------
    edges : EdgeList or AllPairs
        All pairs.
    batch_size : int
        Largest number of pairs in a batch.
    generator : numpy.random.Generator

    Raises
    ------
    ValueError
        If a callable holds a number for each pair, so that it cannot take some of them.
    """

    def __init__(self, edges: Edges, batch_size: int, generator: np.random.Generator) -> None:
        for segment in edges.segments:
            _check_is_elementwise(segment.function, edges.device)
        self.edges = edges
        self.batch_size = batch_size
        self._shuffled = Shuffled(generator)

    @property
    def rounds_per_pass(self) -> int:
        """Number of batches that all pairs are divided into."""
        return count_batches(len(self.edges), self.batch_size)

    def __iter__(self) -> Iterator[EdgeList]:
        p = len(self.edges)
        pieces = even_pieces(0, p, self.rounds_per_pass)
        while True:
            yield some_of(self.edges, self._shuffled.next_piece(p, pieces))

    def state(self) -> Saved:
        """What decides the batches that follow."""
        return self._shuffled.state()

    def resume(self, saved: Saved) -> None:
        """Give the batches that follow those before a state."""
        self._shuffled.resume(saved, len(self.edges))


def some_of(edges: Edges, positions: np.ndarray) -> EdgeList:
    """The pairs at some positions, which ascend, with their weights and functions."""
    positions = positions.astype(np.int64, copy=False)
    some = torch.from_numpy(positions).to(edges.device)
    if isinstance(edges, EdgeList):
        i, j = edges.i[some], edges.j[some]
    else:
        pairs = torch.from_numpy(edges.pairs_at(positions).astype(np.int32))
        i, j = (pairs[:, side].contiguous().to(edges.device) for side in (0, 1))
    segments = []
    for segment in edges.segments:
        start, stop = np.searchsorted(positions, [segment.start, segment.stop]).tolist()
        if start < stop:
            own = positions[start:stop] - segment.start
            function = segment.function.of_pairs(own, segment.stop - segment.start)
            segments.append(Segment(start, stop, function))
    t = edges.deviations
    return EdgeList(
        i=i,
        j=j,
        weights=edges.weights[some],
        deviations=None if t is None else t[some],
        segments=tuple(segments),
        order=None,
    )


def _check_is_elementwise(function: Penalty | Loss, device: torch.device) -> None:
    """Check that a user's callable can be called with some of its pairs."""
    few = torch.ones(3, device=device)
    try:
        if isinstance(function, CallablePenalty):
            function.value(few)
        elif isinstance(function, CallableLoss):
            function.value(few, few)
    except Exception as error:  # a user's function may raise anything
        raise ValueError(
            f"{function!r} cannot be called with a few pairs ({error}), so it is not compatible "
            "with solver='stochastic', which needs a function that takes any number of distances. "
            "Pass numbers of single pairs as weights or deviations."
        ) from error
