"""Batches of pairs that a user's function or iterable gives, and the checks of all batches.

Every error names the round, from 0, since the batch that is wrong is one of many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from skmde.core.batches.base import RawBatch, RawBatches, as_text, set_from_text
from skmde.core.checkpoints.saved import Saved
from skmde.core.objectives.edges import Distortion, EdgeList
from skmde.core.objectives.terms import common_dtype
from skmde.core.scales.precision import suits_float32

_WINDOW = 10  # rounds whose mean is the value, if a sampler knows no passes


class SampledBatches:
    """Batches that a function draws, without end.

    Parameters
    ----------
    sampler : callable
        Called with the number of the round and a generator.
    generator : numpy.random.Generator
    """

    rounds_per_pass = _WINDOW

    def __init__(self, sampler: Callable[..., Any], generator: np.random.Generator) -> None:
        self.sampler = sampler
        self.generator = generator
        self._k = 0

    def __iter__(self) -> Iterator[RawBatch]:
        while True:
            self._k += 1
            yield as_raw(self.sampler(self._k - 1, self.generator))

    def state(self) -> Saved:
        """What decides the batches that follow: the number of the round, and the generator."""
        return {"k": self._k, "now": as_text(self.generator)}

    def resume(self, saved: Saved, batches: Iterator[RawBatch]) -> None:
        """Ask for the rounds after a state only."""
        self._k = saved["k"]
        set_from_text(self.generator, saved["now"])


class IteratedBatches:
    """Batches of an iterable, which is iterated again after each pass; an iterator ends.

    Parameters
    ----------
    batches : iterable
    n_rounds : int or None
        Number of rounds that the user asks for.
    """

    def __init__(self, batches: Iterable[Any], n_rounds: int | None) -> None:
        self.batches = batches
        self.n_rounds = n_rounds
        self.rounds_per_pass: int | None = None
        self._given = 0

    def state(self) -> Saved:
        """How many batches were given."""
        return {"given": self._given}

    def resume(self, saved: Saved, batches: Iterator[RawBatch]) -> None:
        """Pass over the batches before a state, which only the iterable can give again."""
        while self._given < saved["given"] and next(batches, None) is not None:
            pass

    def __iter__(self) -> Iterator[RawBatch]:
        done = 0
        while True:
            before = done
            for found in self.batches:
                done += 1
                self._given = done
                yield as_raw(found)
            if isinstance(self.batches, Iterator):
                self._check_end(done)
                return
            if done == before:
                raise ValueError(
                    f"pairs gave no batch in the pass that begins with round {done}; it must give "
                    "batches each time that it is iterated."
                )
            self.rounds_per_pass = done - before

    def one_pass(self) -> Iterator[RawBatch]:
        """The batches of one pass."""
        return (as_raw(found) for found in self.batches)

    def _check_end(self, done: int) -> None:
        if done == 0:
            raise ValueError("pairs is an iterator without any batch; perhaps it was used before.")
        if self.n_rounds is not None:
            raise ValueError(
                f"pairs is an iterator that ended after {done} batches, but n_rounds is "
                f"{self.n_rounds}. Pass n_rounds=None to end with it, or an object that can be "
                "iterated again, such as a list or a DataLoader."
            )


def as_raw(found: Any) -> RawBatch:
    """A batch of the user: an array of pairs, or a tuple with weights and deviations."""
    if isinstance(found, tuple | list) and found and len(getattr(found[0], "shape", ())) == 2:
        if len(found) > 3:
            raise ValueError(
                "A batch is an array of pairs, or a tuple (pairs, weights, deviations); got a "
                f"tuple of {len(found)}."
            )
        return RawBatch(*found, *([None] * (3 - len(found))))
    return RawBatch(found, None, None)


class CheckedBatches:
    """Edge lists of raw batches. The first batch fixes the dtype.

    Parameters
    ----------
    raw : RawBatches
    build : callable
        Makes an edge list of a raw batch and a dtype, None for the first one.
    """

    def __init__(
        self, raw: RawBatches, build: Callable[[RawBatch, torch.dtype | None], EdgeList]
    ) -> None:
        self.raw = raw
        self._build = build
        self._rest = iter(raw)
        self._k, self._is_resumed = 0, False
        self.dtype: torch.dtype | None = None
        first = self._next()
        if first is None:
            raise ValueError("pairs gave no batch.")
        self.first = first
        self.dtype = first.dtype

    @property
    def rounds_per_pass(self) -> int | None:
        """As the raw batches have it."""
        return self.raw.rounds_per_pass

    def in_dtype(self, dtype: torch.dtype) -> CheckedBatches:
        """The same batches, with weights and deviations of another dtype."""
        self.first, self.dtype = self.first.to(dtype=dtype), dtype
        return self

    def state(self) -> Saved:
        """What decides the batches that follow."""
        return self.raw.state()

    def resume(self, saved: Saved) -> None:
        """Give the batches that follow those before a state; the first one was read already."""
        self.raw.resume(saved, self._rest)
        self._is_resumed = True

    def __iter__(self) -> Iterator[EdgeList]:
        edges: EdgeList | None = self._next() if self._is_resumed else self.first
        while edges is not None:
            yield edges
            edges = None  # two batches need twice the memory
            edges = self._next()

    def _next(self) -> EdgeList | None:
        k, self._k = self._k, self._k + 1
        try:
            raw = next(self._rest, None)
        except Exception as error:
            error.add_note(f"This happened when the pairs of round {k} were asked for.")
            raise
        if raw is None:
            return None
        try:
            return self._build(raw, self.dtype)
        except (ValueError, TypeError) as error:
            raise type(error)(f"pairs of round {k}: {error}") from error


def edge_list(
    raw: RawBatch,
    dtype: torch.dtype | None,
    n_items: int,
    distortion: Distortion | tuple[Distortion | None, Distortion | None],
    device: torch.device,
) -> EdgeList:
    """The checked pairs of a batch. Without a dtype, float64 if float32 would not suffice."""
    chosen = dtype or common_dtype(raw.weights, raw.deviations)
    edges = EdgeList.build(
        raw.pairs,
        n_items,
        distortion,
        weights=raw.weights,
        deviations=raw.deviations,
        dtype=chosen,
        device=device,
    )
    if (
        dtype is None
        and chosen == torch.float32
        and not suits_float32(edges.weights, edges.deviations)
    ):
        edges = edges.to(dtype=torch.float64)
    return replace(edges, order=None)  # nobody asks for the order of the caller
