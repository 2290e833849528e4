"""What a source of batches offers: the pairs of round after round.

A batch is a part of the pairs of an MDE problem, small enough to be held in memory. A *pass* goes
once through all pairs (monograph, section 6.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from skmde.core.objectives.edge_term import Edges


class Batches(Protocol):
    """Batches of pairs for the rounds of a stochastic solve; they may end."""

    @property
    def rounds_per_pass(self) -> int | None:
        """Number of batches that the value of a result is the mean of; None for all so far."""
        ...

    def __iter__(self) -> Iterator[Edges]: ...


class RawBatch(NamedTuple):
    """A batch as it was read or as a user gave it; see :class:`skmde.MDE` for its arrays."""

    pairs: Any
    weights: Any
    deviations: Any


class RawBatches(Protocol):
    """Batches that are not checked yet."""

    @property
    def rounds_per_pass(self) -> int | None:
        """As for `Batches`."""
        ...

    def __iter__(self) -> Iterator[RawBatch]: ...


def count_batches(n_pairs: int, batch_size: int) -> int:
    """Number of batches of about equal size in a pass; none has more pairs than `batch_size`."""
    return max(-(-n_pairs // batch_size), 1)
