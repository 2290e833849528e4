"""What a source of batches offers: the pairs of round after round.

A batch is a part of the pairs of an MDE problem, small enough to be held in memory. A *pass* goes
once through all pairs (monograph, section 6.2).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from skmde.core.checkpoints.saved import Saved
from skmde.core.objectives.edge_term import Edges


class Batches(Protocol):
    """Batches of pairs for the rounds of a stochastic solve; they may end."""

    @property
    def rounds_per_pass(self) -> int | None:
        """Number of batches that the value of a result is the mean of; None for all so far."""
        ...

    def __iter__(self) -> Iterator[Edges]: ...

    def state(self) -> Saved:
        """What decides the batches that follow, besides the arguments."""
        ...

    def resume(self, saved: Saved) -> None:
        """Give the batches that follow those before a state, from the next iteration on."""
        ...


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

    def state(self) -> Saved:
        """As for `Batches`."""
        ...

    def resume(self, saved: Saved, batches: Iterator[RawBatch]) -> None:
        """Let an iteration that has given one batch go on after a state."""
        ...


class Shuffled:
    """Passes through all pieces of the pairs, each pass in a random order.

    Parameters
    ----------
    generator : numpy.random.Generator
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self._order: np.ndarray | None = None
        self._at = 0  # position in the pass
        self._before = as_text(generator)  # the generator, before the order was drawn

    def next_piece(self, length: int, pieces: tuple[tuple[int, int], ...]) -> np.ndarray:
        """The numbers of the next piece, in ascending order.

        Parameters
        ----------
        length : int
            How many numbers a pass has.
        pieces : tuple of (int, int)
            What a pass is cut into.
        """
        if self._order is None or self._at == len(pieces):
            self._before, self._at = as_text(self.generator), 0
            self._draw(length)
        assert self._order is not None
        start, stop = pieces[self._at]
        self._at += 1
        return np.sort(self._order[start:stop])

    def _draw(self, length: int) -> None:
        index = np.int32 if length < 2**31 else np.int64
        self._order = np.arange(length, dtype=index)
        self.generator.shuffle(self._order)

    def state(self) -> Saved:
        """As for `Batches`."""
        return {"before": self._before, "now": as_text(self.generator), "at": self._at}

    def resume(self, saved: Saved, length: int) -> None:
        """Go on after a state, of passes of the same length."""
        set_from_text(self.generator, saved["before"])
        self._before, self._at = saved["before"], saved["at"]
        self._draw(length)
        set_from_text(self.generator, saved["now"])


def as_text(generator: np.random.Generator) -> str:
    """The state of a generator."""
    return json.dumps(generator.bit_generator.state, default=np.ndarray.tolist)


def set_from_text(generator: np.random.Generator, text: str) -> None:
    """Set a generator to a state."""
    generator.bit_generator.state = json.JSONDecoder().decode(text)


def count_batches(n_pairs: int, batch_size: int) -> int:
    """Number of batches of about equal size in a pass; none has more pairs than `batch_size`."""
    return max(-(-n_pairs // batch_size), 1)
