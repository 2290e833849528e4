"""Breadth-first search from 64 sources at once, one bit for each source.

The set of sources that have reached a node is one 64-bit word. A level of the search is an OR of
words over edges, so one read of an edge serves all sources of a batch (Then et al., "The more the
merrier: efficient multi-source graph traversal", VLDB 2014). From a small frontier, each level is
pushed: frontier nodes pass their words to their neighbours. From a large frontier, it is pulled:
nodes with missing bits collect the words of their neighbours, until no bit is missing.

Nodes are renumbered by connected component. Within a component, they are in the order of a
breadth-first search from its node of highest degree, which visits neighbours of high degree first.
So the sources of a batch are near each other and share most of their frontiers, and nodes that are
read together are close in memory.

The result of a batch depends on neither the other batches nor the threads. Levels count edges.
"""

from __future__ import annotations

import contextlib

import numpy as np
import scipy.sparse as sp

from skmde._utils.jit import jit
from skmde.preprocessing.graphs.pair_priorities import KEEP_ALL, priority

__all__ = ["BATCH", "Searcher"]

BATCH = 64

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_PUSH_COST = 3  # cost of pushing along one edge, relative to pulling along one edge

# The top six bits of the product of this number and a power of two identify the power.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT = np.argsort([(0x03F79D71B4CB0A89 << bit) % (1 << 64) >> 58 for bit in range(64)])

# Indices of the counters of a search
_REACHED, _OPEN, _WORK, _LEFT = range(4)


class Searcher:
    """Breadth-first searches of a graph, in batches of at most 64 sources.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
        Symmetric, with sorted indices. Each stored entry is an edge; the values are ignored.
    length : float
        Length of every edge.

    Notes
    -----
    A batch is an array that :meth:`batches` returns. Each source belongs to one batch, and a search
    writes only the results of its own sources. So several threads may search at the same time.
    """

    def __init__(self, adjacency, length):
        self.length = float(length)
        n = adjacency.shape[0]
        by_degree = np.argsort(-np.diff(adjacency.indptr), kind="stable")
        pattern = sp.csr_array(
            (np.ones(adjacency.nnz, np.int8), adjacency.indices, adjacency.indptr), shape=(n, n)
        )
        pattern = _permuted(pattern, by_degree)
        order, starts = _visit(pattern.indptr, pattern.indices)
        pattern = _permuted(pattern, order)
        self._component_starts = starts
        self._label = by_degree[order].astype(np.int32)
        self._rank = np.empty(n, np.int32)
        self._rank[self._label] = np.arange(n, dtype=np.int32)
        self._graph = (pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32))
        self._spaces = []

    def batches(self, sources):
        """Divide sources into batches of sources that are near each other in the graph."""
        ranks = np.sort(self._rank[sources])
        return [ranks[start : start + BATCH] for start in range(0, len(ranks), BATCH)]

    def sampled(self, batch, starts, edges, out):
        """Path lengths of given pairs.

        Parameters
        ----------
        batch : (s,) int32 array
        starts : (n + 1,) int64 array
            Pairs ``starts[i]:starts[i + 1]`` have source i.
        edges : (p, 2) int32 array
            The pairs. The two nodes of a pair are in the same component.
        out : (p,) float array
            Lengths. Only the pairs of the batch's sources are written.
        """
        with self._space() as space:
            search = self._graph, space, batch, self._range(batch), self._label
            _sampled(*search, self._rank, starts, edges, self.length, out)

    def every(self, batch, starts, position, out):
        """Path lengths of all reachable pairs ``i < j``.

        Parameters
        ----------
        batch : (s,) int32 array
        starts : (n + 1,) int64 array
            The pairs of source i begin at ``starts[i]``, with j in ascending order.
        position : (n,) int array
            Rank of each node among the nodes of its component.
        out : (p,) float array
            Lengths. Only the pairs of the batch's sources are written.
        """
        with self._space() as space:
            search = self._graph, space, batch, self._range(batch), self._label
            _every(*search, starts, position, self.length, out)

    def within(self, batch, max_level, keys, threshold, dtype):
        """Pairs ``i < j`` at most `max_level` edges apart, with priorities up to `threshold`.

        Parameters
        ----------
        batch : (s,) int32 array
        max_level : int
        keys : (2,) uint64 array
            See :func:`~skmde.preprocessing.graphs.pair_priorities.priorities`.
        threshold : uint64
        dtype : numpy.dtype

        Returns
        -------
        sources : (s,) int32 array
        counts : (s,) int64 array
            Number of pairs of each source.
        targets : (p,) int32 array
            Grouped by source, ascending within a source.
        lengths : (p,) array of type `dtype`
        """
        sources = self._label[batch]
        with self._space() as space:
            search = self._graph, space, batch, self._range(batch), self._label
            nodes, levels, bits = _found(*search, max_level)
        order = np.argsort(nodes)
        counts = _select(sources, order, nodes, bits, keys, threshold)
        targets = np.empty(counts.sum(), np.int32)
        lengths = np.empty(len(targets), dtype)
        ends = np.cumsum(counts)
        _list(ends - counts, order, nodes, levels, bits, self.length, targets, lengths)
        return sources, counts, targets, lengths

    def _range(self, batch):
        """A range of nodes that covers the components of the batch's sources."""
        ends = np.searchsorted(self._component_starts, batch[[0, -1]], side="right")
        return int(self._component_starts[ends[0] - 1]), int(self._component_starts[ends[1]])

    @contextlib.contextmanager
    def _space(self):
        """Scratch memory for one thread. Its first three arrays contain zeros."""
        try:
            space = self._spaces.pop()
        except IndexError:
            n = len(self._label)
            words = [np.zeros(n, np.uint64) for _ in range(3)]
            lists = [np.empty(n, np.int32) for _ in range(4)]
            space = (*words, *lists, np.zeros(4, np.int64))
        yield space
        self._spaces.append(space)  # after an error it is dropped: its arrays may not be zero


def _permuted(matrix, order):
    matrix = matrix[order][:, order]
    matrix.sort_indices()
    return matrix


@jit()
def _visit(indptr, indices):
    """Nodes in breadth-first order, and the start of each component in that order."""
    n = len(indptr) - 1
    order = np.empty(n, np.int64)
    starts = np.empty(n + 1, np.int64)
    waiting = np.ones(n, np.bool_)
    n_found = n_components = 0
    for root in range(n):
        if not waiting[root]:
            continue
        starts[n_components] = n_found
        n_components += 1
        at = n_found
        order[n_found] = root
        n_found += 1
        waiting[root] = False
        while at < n_found:
            for e in range(indptr[order[at]], indptr[order[at] + 1]):
                u = indices[e]
                if waiting[u]:
                    waiting[u] = False
                    order[n_found] = u
                    n_found += 1
            at += 1
    starts[n_components] = n
    return order, starts[: n_components + 1]


@jit()
def _begin(graph, space, batch, nodes):
    """Make the sources the frontier, and return their number."""
    indptr, _ = graph
    seen, front, _, queue, _, reached, _, counters = space
    low, high = nodes
    work = np.int64(0)
    for s in range(len(batch)):
        v = batch[s]
        bit = _ONE << np.uint64(s)
        seen[v] = bit
        front[v] = bit
        queue[s] = v
        reached[s] = v
        work += indptr[v + 1] - indptr[v]
    counters[_REACHED] = len(batch)
    counters[_OPEN] = -1
    counters[_WORK] = work
    counters[_LEFT] = indptr[high] - indptr[low]
    return len(batch)


@jit()
def _advance(graph, space, batch, nodes, front, fresh, queue, n_queue, found):
    """Search one level, from frontier `queue` with words `front` to `found` with words `fresh`.

    Returns the number of nodes found. Resets `front` to zeros.
    """
    indptr, indices = graph
    seen, _, _, _, _, reached, still_open, counters = space
    low, high = nodes
    n_found = 0
    work = np.int64(0)
    pulling = counters[_OPEN] >= 0
    if not pulling and _PUSH_COST * counters[_WORK] < counters[_LEFT] + high - low:
        for q in range(n_queue):
            v = queue[q]
            bits = front[v]
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                new = bits & ~seen[u]
                if new != _ZERO:
                    if fresh[u] == _ZERO:
                        found[n_found] = u
                        n_found += 1
                        work += indptr[u + 1] - indptr[u]
                    fresh[u] |= new
        if counters[_REACHED] >= 0:
            for q in range(n_found):
                if seen[found[q]] == _ZERO:
                    reached[counters[_REACHED]] = found[q]
                    counters[_REACHED] += 1
    else:
        full = KEEP_ALL >> np.uint64(64 - len(batch))
        if not pulling:
            counters[_REACHED] = -1
            counters[_OPEN] = 0
            for v in range(low, high):
                if seen[v] != full:
                    still_open[counters[_OPEN]] = v
                    counters[_OPEN] += 1
        n_open = 0
        left = np.int64(0)
        for q in range(counters[_OPEN]):
            v = still_open[q]
            missing = full & ~seen[v]
            bits = _ZERO
            for e in range(indptr[v], indptr[v + 1]):
                bits |= front[indices[e]]
                if missing & ~bits == _ZERO:
                    break
            new = bits & missing
            degree = indptr[v + 1] - indptr[v]
            if new != _ZERO:
                fresh[v] = new
                found[n_found] = v
                n_found += 1
                work += degree
            if new != missing:
                still_open[n_open] = v
                n_open += 1
                left += degree
        counters[_OPEN] = n_open
        counters[_LEFT] = left
        if 4 * _PUSH_COST * work < left:
            counters[_OPEN] = -1
    for q in range(n_queue):
        front[queue[q]] = _ZERO
    for q in range(n_found):
        seen[found[q]] |= fresh[found[q]]
    counters[_WORK] = work
    return n_found


@jit()
def _finish(space, nodes, front, queue, n_queue):
    """Reset the scratch memory to zeros."""
    seen, _, _, _, _, reached, _, counters = space
    low, high = nodes
    for q in range(n_queue):
        front[queue[q]] = _ZERO
    if counters[_REACHED] >= 0:
        for q in range(counters[_REACHED]):
            seen[reached[q]] = _ZERO
    else:
        seen[low:high] = _ZERO


@jit()
def _sampled(graph, space, batch, nodes, label, rank, starts, edges, length, out):
    seen, front, fresh, queue, found, _, _, _ = space
    n_waiting = np.int64(0)
    for v in batch:
        n_waiting += starts[label[v] + 1] - starts[label[v]]
    pair = np.empty(n_waiting, np.int64)
    target = np.empty(n_waiting, np.int32)
    shift = np.empty(n_waiting, np.uint8)
    at = 0
    for s in range(len(batch)):
        i = label[batch[s]]
        for k in range(starts[i], starts[i + 1]):
            pair[at] = k
            target[at] = rank[edges[k, 1]]
            shift[at] = s
            at += 1
    n_queue = _begin(graph, space, batch, nodes)
    level = 0
    while n_waiting > 0 and n_queue > 0:
        level += 1
        n_queue = _advance(graph, space, batch, nodes, front, fresh, queue, n_queue, found)
        front, fresh = fresh, front
        queue, found = found, queue
        kept = np.int64(0)
        for q in range(n_waiting):
            if (seen[target[q]] >> np.uint64(shift[q])) & _ONE != _ZERO:
                out[pair[q]] = level * length
            else:
                pair[kept] = pair[q]
                target[kept] = target[q]
                shift[kept] = shift[q]
                kept += 1
        n_waiting = kept
    _finish(space, nodes, front, queue, n_queue)


@jit()
def _every(graph, space, batch, nodes, label, starts, position, length, out):
    _, front, fresh, queue, found, _, _, _ = space
    n_queue = _begin(graph, space, batch, nodes)
    level = 0
    while n_queue > 0:
        level += 1
        n_queue = _advance(graph, space, batch, nodes, front, fresh, queue, n_queue, found)
        front, fresh = fresh, front
        queue, found = found, queue
        for q in range(n_queue):
            j = label[queue[q]]
            bits = front[queue[q]]
            while bits != _ZERO:
                lowest = bits & (~bits + _ONE)
                bits ^= lowest
                i = label[batch[_BIT[(lowest * _DE_BRUIJN) >> np.uint64(58)]]]
                if i < j:
                    out[starts[i] + position[j] - position[i] - 1] = level * length
    _finish(space, nodes, front, queue, n_queue)


@jit()
def _found(graph, space, batch, nodes, label, max_level):
    """Nodes, levels and words: one entry for a node and each level at which sources find it."""
    _, front, fresh, queue, found, _, _, _ = space
    targets = np.empty(256, np.int32)
    levels = np.empty(256, np.int32)
    bits = np.empty(256, np.uint64)
    n_found = 0
    n_queue = _begin(graph, space, batch, nodes)
    level = 0
    while n_queue > 0 and level < max_level:
        level += 1
        n_queue = _advance(graph, space, batch, nodes, front, fresh, queue, n_queue, found)
        front, fresh = fresh, front
        queue, found = found, queue
        while n_found + n_queue > len(targets):
            targets = _doubled(targets)
            levels = _doubled(levels)
            bits = _doubled(bits)
        for q in range(n_queue):
            targets[n_found] = label[queue[q]]
            levels[n_found] = level
            bits[n_found] = front[queue[q]]
            n_found += 1
    _finish(space, nodes, front, queue, n_queue)
    return targets[:n_found], levels[:n_found], bits[:n_found]


@jit()
def _select(sources, order, nodes, bits, keys, threshold):
    """Clear the bits of unwanted pairs, and return the number of pairs left for each source."""
    counts = np.zeros(len(sources), np.int64)
    ascending = np.argsort(sources)
    smaller = _ZERO  # one bit for each source whose index is below the node's
    n_smaller = 0
    for k in order:
        j = nodes[k]
        while n_smaller < len(sources) and sources[ascending[n_smaller]] < j:
            smaller |= _ONE << np.uint64(ascending[n_smaller])
            n_smaller += 1
        rest = bits[k] & smaller
        bits[k] = rest
        while rest != _ZERO:
            lowest = rest & (~rest + _ONE)
            rest ^= lowest
            at = _BIT[(lowest * _DE_BRUIJN) >> np.uint64(58)]
            if threshold == KEEP_ALL or priority(sources[at], j, keys) <= threshold:
                counts[at] += 1
            else:
                bits[k] ^= lowest
    return counts


@jit()
def _list(starts, order, nodes, levels, bits, length, targets, lengths):
    """Write the pairs of source s from ``starts[s]`` on. Overwrites `starts`."""
    for k in order:
        rest = bits[k]
        while rest != _ZERO:
            lowest = rest & (~rest + _ONE)
            rest ^= lowest
            at = _BIT[(lowest * _DE_BRUIJN) >> np.uint64(58)]
            targets[starts[at]] = nodes[k]
            lengths[starts[at]] = levels[k] * length
            starts[at] += 1


@jit()
def _doubled(values):
    longer = np.empty(2 * len(values), values.dtype)
    longer[: len(values)] = values
    return longer
