"""Batches of pairs that lie in arrays, such as memory-mapped files; a batch is read at a time.

A batch consists of *chunks*, runs of neighbouring pairs, which are drawn from the whole file. So a
batch is a fair sample even if the file is sorted, and reads are long enough for a disk. Memory
holds one batch, and a number for each chunk.
"""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

from skmde._utils.threads import even_pieces
from skmde._utils.validation import as_host_array
from skmde.core.batches.base import RawBatch, Shuffled, count_batches
from skmde.core.checkpoints.saved import Saved

_CHUNK = 4096  # pairs that are read in one piece
_CHUNKS = 64  # least number of chunks in a batch


class ArrayBatches:
    """Batches of pairs in arrays, pass after pass.

    Parameters
    ----------
    pairs : array of shape (p, 2)
        Pairs of items: integers. Only slices of it are read.
    weights, deviations : array of shape (p,) or None
    batch_size : int
        Largest number of pairs in a batch.
    shuffle : bool
        Whether batches consist of random chunks. If not, the pairs are taken in their order.
    generator : numpy.random.Generator

    Raises
    ------
    ValueError
        If an array has the wrong shape or dtype.
    """

    def __init__(
        self,
        pairs: Any,
        weights: Any,
        deviations: Any,
        *,
        batch_size: int,
        shuffle: bool,
        generator: np.random.Generator,
    ) -> None:
        self.pairs = _sliced(pairs)
        self.values = [None if x is None else _sliced(x) for x in (weights, deviations)]
        self.batch_size = batch_size
        self.chunk = min(_CHUNK, max(batch_size // _CHUNKS, 1)) if shuffle else 1
        self.shuffle = shuffle
        self._shuffled = Shuffled(generator)
        self._done = 0  # batches, if they are not shuffled
        self._check()

    def _check(self) -> None:
        pairs = self.pairs
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
            raise ValueError(
                f"pairs must be an array of shape (p, 2) with at least one row; got shape "
                f"{pairs.shape}."
            )
        if pairs.dtype.kind not in "iu":
            raise ValueError(
                f"pairs must hold integers (indices of items); got dtype {pairs.dtype}."
            )
        for name, values in zip(("weights", "deviations"), self.values, strict=True):
            if values is not None and values.shape != (len(pairs),):
                raise ValueError(
                    f"{name} must have shape ({len(pairs)},), one for each pair; got "
                    f"{values.shape}."
                )

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def rounds_per_pass(self) -> int:
        """Number of batches that all pairs are divided into."""
        return count_batches(-(-len(self) // self.chunk), self.batch_size // self.chunk)

    def __iter__(self) -> Iterator[RawBatch]:
        p, size, count = len(self), self.chunk, self.rounds_per_pass
        pieces = even_pieces(0, self._n_chunks, count)
        while True:
            if not self.shuffle:
                self._done += 1
                yield self._read([slice(*pieces[(self._done - 1) % count])])
                continue
            chunks = self._shuffled.next_piece(self._n_chunks, pieces).tolist()
            yield self._read([slice(k * size, min((k + 1) * size, p)) for k in chunks])

    @property
    def _n_chunks(self) -> int:
        return -(-len(self) // self.chunk)

    def one_pass(self) -> Iterator[RawBatch]:
        """The batches of the next pass."""
        return itertools.islice(self, self.rounds_per_pass)

    def state(self) -> Saved:
        """What decides the batches that follow."""
        return {"done": self._done, **self._shuffled.state()}

    def resume(self, saved: Saved, batches: Iterator[RawBatch]) -> None:
        """Give the batches that follow those before a state."""
        self._done = saved["done"]
        if self.shuffle:
            self._shuffled.resume(saved, self._n_chunks)

    def _read(self, slices: list[slice]) -> RawBatch:
        weights, deviations = (None if x is None else _copied(x, slices) for x in self.values)
        return RawBatch(_copied(self.pairs, slices), weights, deviations)


def _copied(array: Any, slices: list[slice]) -> np.ndarray:
    """Some rows of an array; pages of a file that were mapped for them are given back."""
    total = sum(part.stop - part.start for part in slices)
    out = np.empty((total, *array.shape[1:]), dtype=array.dtype)
    at = 0
    for part in slices:
        count = part.stop - part.start
        out[at : at + count] = array[part]
        at += count
    _give_back(array)
    return out


def _sliced(x: Any) -> Any:
    """An array whose slices can be read; a memory-mapped one stays on the disk."""
    return x if isinstance(x, np.ndarray) else np.asarray(as_host_array(x))


def _give_back(array: Any) -> None:
    """Let go of the pages of a memory-mapped file, which would count as memory of the process.

    They stay in the system's cache as long as there is room. Only for files that are mapped for
    reading: changes that were not written yet would be lost.
    """
    if not isinstance(array, np.memmap) or array.mode != "r":
        return
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
