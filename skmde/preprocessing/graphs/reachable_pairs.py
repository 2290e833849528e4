"""Reachable pairs of nodes (pairs that a path joins): their numbers, and uniform samples of them.

Without a limit on the length, the reachable pairs follow from the connected components, so a
sample is drawn before any search. With a limit, a pair is known only when a search finds it. Then
each pair has a random priority, and the pairs of highest priority so far are kept.
"""

from __future__ import annotations

import threading

import numpy as np

from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.graphs.pair_priorities import KEEP_ALL, priorities

__all__ = ["KeptPairs", "PairNumbering"]

# Pairs of low priority are dropped when more than _SURPLUS * wanted + _SLACK pairs are held.
_SURPLUS = 1.25
_SLACK = 1 << 16
_BLOCK = 1 << 18  # pairs processed at once


class PairNumbering:
    """The reachable pairs, numbered in the order of (i, j).

    ``starts[i]`` is the number of the first pair of source i, and ``starts[n]`` is the count of
    all pairs. ``position[i]`` is the rank of node i among the nodes of its component.
    """

    def __init__(self, adjacency):
        n_components, labels = connected_components(adjacency)
        sizes = np.bincount(labels, minlength=n_components)
        self._members = np.argsort(labels, kind="stable").astype(np.int32)
        self._place = np.empty(len(labels), np.int64)
        self._place[self._members] = np.arange(len(labels))
        self.position = self._place - (np.cumsum(sizes) - sizes)[labels]
        partners = sizes[labels] - 1 - self.position
        self.starts = np.concatenate([[0], np.cumsum(partners)])
        self.n_reachable = int(self.starts[-1])
        self.sources = np.flatnonzero(partners).astype(np.int32)

    def pairs(self, numbers):
        """Pairs with given sorted numbers, and the start of each source. Overwrites `numbers`."""
        bounds = np.searchsorted(numbers, self.starts)
        counts = np.diff(bounds)
        edges = np.empty((len(numbers), 2), np.int32)
        edges[:, 0] = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        numbers += np.repeat(self._place + 1 - self.starts[:-1], counts)
        edges[:, 1] = self._members[numbers]
        return edges, bounds


class KeptPairs:
    """The `wanted` pairs of highest priority (smallest :func:`priorities`) among those added.

    ``wanted=None`` keeps all pairs. The result depends on which pairs were added, not on their
    order. The pairs are stored by source, in the order in which they were added, in one large
    array: many small arrays would fragment the memory, and it would not return to the system.
    """

    def __init__(self, wanted, rng, dtype):
        self.keys = rng.integers(1 << 64, size=2, dtype=np.uint64)
        self.threshold = KEEP_ALL
        self.dtype = dtype
        self._wanted = wanted
        self._most = np.inf if wanted is None else int(_SURPLUS * wanted) + _SLACK
        self._rows = [(np.empty(0, np.int32), np.empty(0, np.int64))]  # (sources, counts)
        self._targets = np.empty(_SLACK, np.int32)
        self._lengths = np.empty(_SLACK, dtype)
        self._size = 0
        self._lock = threading.Lock()

    def add(self, sources, counts, targets, lengths):
        """Add pairs, grouped by source. Pairs above the threshold may be left out."""
        with self._lock:
            start, self._size = self._size, self._size + len(targets)
            if self._size > len(self._targets):
                self._targets = _lengthened(self._targets, start, self._size)
                self._lengths = _lengthened(self._lengths, start, self._size)
            self._rows.append((sources, counts))
            self._targets[start : self._size] = targets
            self._lengths[start : self._size] = lengths
            if self._size > self._most:
                self._shrink()

    def share(self, ranks):
        """Add the pairs that the other ranks have kept."""
        sources, counts = self._merged_rows()
        kept = self._targets[: self._size], self._lengths[: self._size]
        for rank, theirs in enumerate(ranks.gathered([sources, counts, *kept])):
            if rank != ranks.rank:
                self.add(*theirs)

    def finish(self, n):
        """Sorted edges and their distances."""
        if self._wanted is not None and self._size > self._wanted:
            self._shrink()
        edges = np.empty((self._size, 2), np.int32)
        distances = np.empty(self._size, self.dtype)
        sources, counts = self._merged_rows()
        totals = np.zeros(n, np.int64)
        totals[sources] = counts
        moves = (np.cumsum(totals) - totals)[sources] - (np.cumsum(counts) - counts)
        for rows, pairs in _blocks(counts):
            coordinates = np.arange(pairs.start, pairs.stop) + np.repeat(moves[rows], counts[rows])
            edges[coordinates, 0] = np.repeat(sources[rows], counts[rows])
            edges[coordinates, 1] = self._targets[pairs]
            distances[coordinates] = self._lengths[pairs]
        return edges, distances

    def _shrink(self):
        """Lower the threshold so that exactly `wanted` pairs meet it, and drop the others."""
        sources, counts = self._merged_rows()

        def numbers():
            for rows, pairs in _blocks(counts):
                owners = np.repeat(sources[rows], counts[rows])
                yield rows, pairs, priorities(owners, self._targets[pairs], self.keys)

        shift = np.uint64(max(0, int(self.threshold).bit_length() - 12))
        tally = np.zeros(4097, np.int64)
        for _, _, part in numbers():
            # A search that began under an older threshold may have added pairs above this one.
            bins = np.minimum(part >> shift, np.uint64(4096)).astype(np.int64)
            tally += np.bincount(bins, minlength=4097)
        ends = np.cumsum(tally)
        last = int(np.searchsorted(ends, self._wanted))
        in_last = np.concatenate(
            [part[part >> shift == np.uint64(last)] for _, _, part in numbers()]
        )
        rank = self._wanted - int(ends[last] - tally[last]) - 1
        self.threshold = np.partition(in_last, rank)[rank]
        left = np.empty_like(counts)
        self._size = 0
        for rows, pairs, part in numbers():
            high = part <= self.threshold
            before = np.concatenate([[0], np.cumsum(high)])
            bounds = np.concatenate([[0], np.cumsum(counts[rows])])
            left[rows] = np.diff(before[bounds])
            kept = slice(self._size, self._size + int(before[-1]))
            self._targets[kept] = self._targets[pairs][high]
            self._lengths[kept] = self._lengths[pairs][high]
            self._size = kept.stop
        self._rows = [(sources, left)]

    def _merged_rows(self):
        sources, counts = zip(*self._rows, strict=True)
        return np.concatenate(sources), np.concatenate(counts)


def _lengthened(values, used, size):
    """A copy of the first `used` values, with room for more than `size` values."""
    longer = np.empty(int(_SURPLUS * size), values.dtype)
    longer[:used] = values[:used]
    return longer


def _blocks(counts):
    """Cut rows of `counts` pairs into blocks: slices of the rows and of the pairs."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        start = int(ends[first] - counts[first])
        last = max(first + 1, int(np.searchsorted(ends, start + _BLOCK, side="right")))
        yield slice(first, last), slice(start, int(ends[last - 1]))
        first = last
