"""The ranks of a ``torch.distributed`` group, and the messages that they exchange.

A rank is one process of the group. All messages go directly from rank to rank, and what they bring
is added in a fixed order. So every rank has the same bits, and they depend on the number of ranks
alone. Sums are added by halves, as ``numba_edges.collect`` adds those of pieces: two, four or eight
ranks get the bits of one process.

Two ranks exchange the arrays of a sum whole. Of more ranks, each adds up a share of the entries and
sends it to the others. So a rank sends about twice the array, and not the array times the number of
other ranks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch

_WHOLE = 2  # up to this number of ranks, arrays are exchanged whole


class Ranks:
    """The default group of ``torch.distributed``.

    All ranks must call the same methods in the same order.

    Parameters
    ----------
    dist : module
        ``torch.distributed``, whose default group is initialised.

    Attributes
    ----------
    rank, size : int
        The number of this process, and of all.
    """

    def __init__(self, dist: Any) -> None:
        self._dist = dist
        self.rank: int = dist.get_rank()
        self.size: int = dist.get_world_size()
        backends = str(dist.get_backend_config())
        # gloo's messages start and end on the CPU, NCCL's on GPUs.
        self._only_gpu = "nccl" in backends and "cpu:gloo" not in backends
        self._any_gpu = "nccl" in backends
        self._rooms: dict[tuple[int, torch.dtype, torch.device], torch.Tensor] = {}

    def bounds(self, n: int) -> list[int]:
        """Where the shares of n rows begin, and where the last one ends; they depend on n alone."""
        return [n * rank // self.size for rank in range(self.size + 1)]

    def share(self, n: int) -> slice:
        """This rank's share of n rows."""
        bounds = self.bounds(n)
        return slice(bounds[self.rank], bounds[self.rank + 1])

    def total(
        self, array: torch.Tensor, numbers: torch.Tensor, check: int | None = None
    ) -> torch.Tensor:
        """Replace an array by its sum over the ranks, and add up a few numbers.

        Parameters
        ----------
        array : torch.Tensor
            Contiguous, and of the same shape on all ranks.
        numbers : torch.Tensor of shape (k,), float64
            On the device of the array.
        check : int, default=None
            A number that must be the same on all ranks.

        Returns
        -------
        totals : torch.Tensor of shape (k,)
            Of the numbers.

        Raises
        ------
        RuntimeError
            If `check` differs, so that the ranks do not compute the same thing.
        """
        flat, few = self._sent(array).view(-1), self._sent(numbers)
        if check is not None:
            few = torch.cat([few, torch.tensor([check], device=few.device).view(torch.float64)])
        everyones = self._add_up(flat, few)
        if check is not None:
            if any(int(x[-1:].view(torch.int64)) != check for x in everyones):
                raise different_results()
            everyones = [x[:-1] for x in everyones]
        if flat.device != array.device:
            array.view(-1).copy_(flat)
        return _by_halves(everyones).to(numbers.device)

    def add_up(self, array: torch.Tensor) -> None:
        """Replace an array by its sum over the ranks, on all of which it has the same shape."""
        self.total(array, torch.empty(0, dtype=torch.float64, device=array.device))

    def fill(self, array: np.ndarray, bounds: Sequence[int]) -> None:
        """Complete an array of which rank r has computed the rows ``bounds[r]:bounds[r + 1]``."""
        parts = [_bytes(array[a:b]) for a, b in pairwise(bounds)]
        received = self._swap([parts[self.rank]], [[part] for part in parts])
        for part, (found,) in zip(parts, received, strict=True):
            if found is not part:  # it went by a GPU
                part.copy_(found)

    def rows_of_all(self, own: torch.Tensor, n: int) -> torch.Tensor:
        """All n rows of a tensor of which each rank has computed its share."""
        bounds = self.bounds(n)
        out = torch.empty((n, *own.shape[1:]), dtype=own.dtype, device=self._sent(own).device)
        out[bounds[self.rank] : bounds[self.rank + 1]] = own
        parts = [out[a:b] for a, b in pairwise(bounds)]
        self._swap([parts[self.rank]], [[part] for part in parts])
        return out.to(own.device)

    def gathered(self, arrays: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """The arrays of each rank. Only their first dimension may differ between ranks."""
        mine = [np.ascontiguousarray(x) for x in arrays]
        lengths = torch.tensor([len(x) for x in mine])
        everyones = self._swap([lengths], [[torch.empty_like(lengths)] for _ in range(self.size)])
        room = [
            [np.empty((length, *x.shape[1:]), x.dtype) for length, x in zip(y, mine, strict=True)]
            for y in (lengths_of[0].tolist() for lengths_of in everyones)
        ]
        sent, received = [_bytes(x) for x in mine], [[_bytes(x) for x in y] for y in room]
        found = self._swap(sent, received)
        return [
            [t.cpu().numpy().view(x.dtype).reshape(x.shape) for t, x in zip(*both, strict=True)]
            for both in zip(found, room, strict=True)
        ]

    def joined(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The arrays of all ranks, one rank's rows after another's."""
        return [np.concatenate(parts) for parts in zip(*self.gathered(arrays), strict=True)]

    def told(self, facts: Any) -> list[Any]:
        """What each rank tells the others, in forms that JSON has."""
        sent = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        return [
            json.JSONDecoder().decode(text.tobytes().decode()) for (text,) in self.gathered([sent])
        ]

    def _add_up(self, flat: torch.Tensor, numbers: torch.Tensor) -> list[torch.Tensor]:
        """Replace a vector by its sum over the ranks; return the few numbers of each of them."""
        every = range(self.size)
        if self.size <= _WHOLE:
            room = [[self._room(rank, flat), torch.empty_like(numbers)] for rank in every]
            parts = self._swap([flat, numbers], room)
            _by_halves([part for part, _ in parts], out=flat)
            return [few for _, few in parts]
        cuts = [flat[a:b] for a, b in pairwise(self.bounds(len(flat)))]
        own = cuts[self.rank]
        parts = self._exchange(
            [[cut, numbers] for cut in cuts],
            [[self._room(rank, own), torch.empty_like(numbers)] for rank in every],
        )
        _by_halves([part for part, _ in parts], out=own)
        self._exchange([[own] for _ in cuts], [[cut] for cut in cuts])
        return [few for _, few in parts]

    def _room(self, rank: int, like: torch.Tensor) -> torch.Tensor:
        """Memory for what a rank sends, kept for the next sum: the system is slow to give more.

        This rank sends itself nothing.
        """
        if rank == self.rank:
            return like
        key = rank, like.dtype, like.device
        if key not in self._rooms or len(self._rooms[key]) < len(like):
            self._rooms[key] = torch.empty_like(like)
        return self._rooms[key][: len(like)]

    def _swap(
        self, sent: list[torch.Tensor], received: list[list[torch.Tensor]]
    ) -> list[list[torch.Tensor]]:
        """Send the same to all other ranks."""
        return self._exchange([sent] * self.size, received)

    def _exchange(
        self, sent: list[list[torch.Tensor]], received: list[list[torch.Tensor]]
    ) -> list[list[torch.Tensor]]:
        """Send tensors to each rank, and receive as many from each into the tensors given.

        Returns
        -------
        received : list of list of torch.Tensor
            The same ones, if messages start where they lie; this rank's own are those it sent.
        """
        dist, me = self._dist, self.rank
        others = [rank for rank in range(self.size) if rank != me]
        sent = [[self._sent(x).contiguous() for x in xs] for xs in sent]
        received = [[self._sent(x) for x in xs] for xs in received]
        messages = []
        for rank in others:
            messages += [dist.P2POp(dist.isend, x, rank) for x in sent[rank] if x.numel()]
            messages += [dist.P2POp(dist.irecv, x, rank) for x in received[rank] if x.numel()]
        try:
            for work in dist.batch_isend_irecv(messages) if messages else ():
                work.wait()
        except RuntimeError as error:  # those of torch.distributed are subclasses
            raise RuntimeError(
                f"Rank {me} of {self.size} got no answer from another rank of the "
                "torch.distributed group: it ended, or did not call the same fit within the "
                "group's timeout. All ranks must call fit with the same data; see what the other "
                f"ranks say, and start all of them again. torch says: {error}"
            ) from error
        received[me] = sent[me]
        return received

    def _sent(self, x: torch.Tensor) -> torch.Tensor:
        """The tensor where messages start."""
        if self._only_gpu and not x.is_cuda:
            return x.to("cuda")
        return x.cpu() if x.is_cuda and not self._any_gpu else x


def different_results() -> RuntimeError:
    """The error of ranks that compute different things."""
    return RuntimeError(
        "The ranks of the torch.distributed group compute different embeddings from the same data. "
        "Let them run on processors of one kind, with the same versions and settings."
    )


def checksum(X: torch.Tensor) -> int | None:
    """A number that tells embeddings on the CPU apart; None on a GPU, which nothing waits for."""
    if X.is_cuda:
        return None
    # torch adds up 32-bit integers twenty times slower.
    words: np.ndarray = X.numpy().view(np.int32 if X.dtype == torch.float32 else np.int64)
    return int(words.sum(dtype=np.int64))


def _by_halves(parts: Sequence[torch.Tensor], out: torch.Tensor | None = None) -> torch.Tensor:
    """Sum of some tensors: each half of them is added up before the whole.

    `out` may be one of the parts.
    """
    if len(parts) == 1:
        return parts[0] if out is None else out.copy_(parts[0])
    middle = len(parts) // 2
    return torch.add(_by_halves(parts[:middle]), _by_halves(parts[middle:]), out=out)


def _bytes(array: np.ndarray) -> torch.Tensor:
    flat = array.reshape(-1).view(np.uint8)
    return torch.from_numpy(flat if flat.flags.writeable else flat.copy())
