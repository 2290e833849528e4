"""Graph distances: lengths of shortest paths, of all pairs of nodes or of some.

A pair ``i < j`` is searched for from its source i. Pairs that have a path are numbered in the
order of (i, j): source after source, and each source's partners, the later nodes of its
component, in ascending order. So the number of such pairs, and a uniform sample of them, are
known before any search, and no table of all pairs is ever made. Only with a limit on the length
is the number of pairs unknown until the end; then each pair has a random priority, and those of
highest priority so far are kept.

Where all edges have the same length, the search is breadth-first (:mod:`._bfs`), shared out to
threads; otherwise it is scipy's Dijkstra, shared out by joblib. Lengths are in the units of the
edges (monograph, section 4.3.2).
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse.csgraph import dijkstra

from skmde._threads import count_threads, run_pieces
from skmde.preprocessing._adjacency import as_adjacency, is_unweighted
from skmde.preprocessing._bfs import KEEP_ALL, Searcher, priorities
from skmde.preprocessing._random import private_generator
from skmde.preprocessing.graphs import connected_components

__all__ = ["ShortestPaths", "shortest_paths"]

_TABLE_BYTES = 1 << 24  # of the distances of a chunk of sources to all nodes
_CHUNK = 128  # sources, at most: enough chunks to share out
_SURPLUS = 1.25  # pairs held before those of low priority are dropped, relative to those wanted
_SLACK = 1 << 16  # so many more pairs may be held in any case
_BLOCK = 1 << 18  # pairs worked on at once
_DRAWS = 1 << 18  # random numbers sorted at once


class ShortestPaths(NamedTuple):
    """Pairs of nodes and the lengths of shortest paths between them.

    Attributes
    ----------
    edges : ndarray of shape (p, 2), int32, or None
        Pairs ``i < j``, sorted by (i, j). None if every pair of nodes is there; they are then in
        the order of :func:`skmde.preprocessing.all_edges`.
    distances : ndarray of shape (p,), float
        Lengths, in the units of the graph's edges.
    n_unreachable : int
        Number of pairs of nodes that no path joins; they are left out.
    """

    edges: np.ndarray | None
    distances: np.ndarray
    n_unreachable: int


def shortest_paths(
    graph,
    *,
    max_length=None,
    max_pairs=None,
    random_state=None,
    n_jobs=None,
    verbose=0,
    dtype=np.float64,
):
    """Lengths of shortest paths between the nodes of an undirected graph.

    Parameters
    ----------
    graph : sparse or dense matrix of shape (n, n), or networkx graph
        Lengths of edges. What a sparse matrix stores is an edge, zeros included; in a dense one,
        zero means no edge. Infinity always does. An edge in one direction is an edge. A networkx
        edge's length is its "weight", 1 by default.
    max_length : float, default=None
        Pairs farther apart are left out.
    max_pairs : int, default=None
        If there are more pairs, so many are kept, uniformly at random, without replacement.
    random_state : int, RandomState, Generator or None, default=None
        Chooses the pairs.
    n_jobs : int, default=None
        If all edges have the same length, an upper limit on the number of threads, by default
        torch's number. Otherwise the number of joblib's workers, by default 1 or what
        :func:`joblib.parallel_config` says.
    verbose : int, default=0
        1 shows the progress over the sources.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Of the distances.

    Returns
    -------
    paths : ShortestPaths
        ``edges``, ``distances`` and ``n_unreachable``. The same for any number of jobs.

    Raises
    ------
    ValueError
        If the graph has no edge; if its matrix is not square or a length is negative, NaN or so
        large that a path's may overflow; if `max_length` is not positive, or `max_pairs` is not a
        positive integer.

    Warns
    -----
    UserWarning
        If the two directions of an edge differ in length; their average is used.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.3.2.

    Then et al., The more the merrier: efficient multi-source graph traversal, VLDB 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing.paths import shortest_paths
    >>> chain = np.diag(np.ones(3), 1)
    >>> shortest_paths(chain).distances.tolist()
    [1.0, 2.0, 3.0, 1.0, 2.0, 1.0]
    >>> shortest_paths(chain, max_length=2).edges.tolist()
    [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    """
    limit = _checked_length(max_length)
    wanted = _checked_pairs(max_pairs)
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
    rng = private_generator(random_state)
    adjacency, _ = as_adjacency(graph)
    n = adjacency.shape[0]
    if adjacency.nnz == 0:
        raise ValueError(
            f"The graph has {n} nodes and no edge that joins two of them, so there is no path. "
            "Are its edges zeros of a dense matrix? Then pass a sparse one that stores them."
        )
    longest = adjacency.data.max()
    if longest > np.finfo(dtype).max / n:
        raise ValueError(
            f"The longest edge has length {longest:.3g}, so a path along {n} nodes may be too long "
            f"for {dtype}. Divide the lengths by {longest:.3g}."
        )
    numbering = _Numbering(adjacency)
    n_pairs = n * (n - 1) // 2
    search = (_BreadthFirst if is_unweighted(adjacency) else _Dijkstra)(adjacency, n_jobs, verbose)
    if limit is not None:
        kept = _Kept(wanted, rng, dtype)
        search.within(numbering, limit, kept)
        edges, distances = kept.finish(n)
    elif wanted is None or wanted >= numbering.n_reachable:
        distances = np.empty(numbering.n_reachable, dtype)
        search.every(numbering, distances)
        edges = None
        if len(distances) < n_pairs:
            edges, _ = numbering.pairs(np.arange(numbering.n_reachable))
    else:
        edges, starts = numbering.pairs(_sample(numbering.n_reachable, wanted, rng))
        distances = np.empty(wanted, dtype)
        search.sampled(starts, edges, distances)
    if len(distances) == n_pairs:
        edges = None
    return ShortestPaths(edges, distances, n_pairs - numbering.n_reachable)


def _checked_length(max_length):
    if max_length is None:
        return None
    if not isinstance(max_length, Real) or not max_length > 0:
        raise ValueError(
            f"max_length must be a positive number, got {max_length!r}. Use None for no limit."
        )
    return None if max_length == np.inf else float(max_length)


def _checked_pairs(max_pairs):
    if max_pairs is None or (isinstance(max_pairs, Real) and max_pairs == np.inf):
        return None
    whole = isinstance(max_pairs, Integral) or (
        isinstance(max_pairs, Real) and float(max_pairs).is_integer()
    )
    if not whole or max_pairs < 1:
        raise ValueError(
            f"max_pairs must be a positive integer, got {max_pairs!r}. Use None for all pairs."
        )
    return int(max_pairs)


class _Numbering:
    """The pairs that have a path, numbered in the order of (i, j).

    ``starts[i]`` is the number of source i's first pair, ``starts[n]`` that of all pairs;
    ``position[i]`` the place of node i among those of its component.
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
        """Pairs of given numbers, sorted, and where each source's begin. Overwrites `numbers`."""
        bounds = np.searchsorted(numbers, self.starts)
        counts = np.diff(bounds)
        edges = np.empty((len(numbers), 2), np.int32)
        edges[:, 0] = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        numbers += np.repeat(self._place + 1 - self.starts[:-1], counts)
        edges[:, 1] = self._members[numbers]
        return edges, bounds


def _sample(total, count, rng):
    """`count` different integers below `total`, uniformly at random, sorted.

    Integers are drawn independently, a few more different ones than wanted, and the surplus is
    dropped: all integers are alike to this procedure, so all sets of `count` are equally likely.
    Drawing from one stretch after the other, as many as chance would put into each, is the same.
    """
    if 2 * count > total:
        keep = np.ones(total, bool)
        if count < total:
            keep[_sample(total, total - count, rng)] = False
        return np.flatnonzero(keep)
    n_draws = int(-total * math.log1p(-count / total) + 5 * math.sqrt(count)) + 16
    n_stretches = 1 + n_draws // _DRAWS
    bounds = np.array([total * k // n_stretches for k in range(n_stretches + 1)])
    drawn = np.empty(n_draws, np.int64)
    n_drawn = 0
    while n_drawn < count:  # short of it by chance: all anew, or the set would not be uniform
        n_drawn = 0
        shares = rng.multinomial(n_draws, np.diff(bounds) / total)
        for low, high, share in zip(bounds[:-1], bounds[1:], shares, strict=True):
            part = np.sort(rng.integers(low, high, size=share))
            part = part[np.concatenate([[True], part[1:] != part[:-1]])[: len(part)]]
            drawn[n_drawn : n_drawn + len(part)] = part
            n_drawn += len(part)
    keep = np.ones(n_drawn, bool)
    keep[rng.choice(n_drawn, n_drawn - count, replace=False, shuffle=False)] = False
    return drawn[:n_drawn][keep]


class _BreadthFirst:
    """Searches of a graph whose edges all have the same length, by threads."""

    def __init__(self, adjacency, n_jobs, verbose):
        self._length = float(adjacency.data[0])
        self._searcher = Searcher(adjacency, self._length)
        self._n_threads = count_threads(n_jobs)
        self._n_nodes = adjacency.shape[0]
        self._verbose = verbose

    def every(self, numbering, out):
        def search(batch):
            self._searcher.every(batch, numbering.starts, numbering.position, out)

        self._run(search, numbering.sources)

    def sampled(self, starts, edges, out):
        def search(batch):
            self._searcher.sampled(batch, starts, edges, out)

        self._run(search, np.flatnonzero(np.diff(starts)))

    def within(self, numbering, limit, kept):
        most = min(limit / self._length, self._n_nodes)
        levels = int(most)
        # the quotient is rounded; what counts is the product
        while levels < self._n_nodes and (levels + 1) * self._length <= limit:
            levels += 1
        while levels * self._length > limit:
            levels -= 1

        def search(batch):
            kept.add(*self._searcher.within(batch, levels, kept.keys, kept.threshold, kept.dtype))

        self._run(search, numbering.sources)

    def _run(self, search, sources):
        with _progress(self._verbose, len(sources)) as advance:

            def work(batch):
                search(batch)
                advance(len(batch))

            pieces = [(batch,) for batch in self._searcher.batches(sources)]
            run_pieces(work, pieces, self._n_threads)


class _Dijkstra:
    """Searches of a graph whose edges differ in length, by joblib's workers."""

    def __init__(self, adjacency, n_jobs, verbose):
        self._adjacency = adjacency
        self._n_jobs = n_jobs
        self._verbose = verbose

    def every(self, numbering, out):
        parts = self._selections(numbering, np.inf, lambda: (None, None))
        for sources, (_, _, lengths) in parts:
            start = numbering.starts[sources[0]]
            out[start : start + len(lengths)] = lengths

    def sampled(self, starts, edges, out):
        chunks = self._chunks(np.flatnonzero(np.diff(starts)).astype(np.int32))
        tasks = (
            delayed(_look_up)(
                self._adjacency,
                sources,
                np.diff(starts)[sources],
                edges[starts[sources[0]] : starts[sources[-1] + 1], 1],
            )
            for sources in chunks
        )
        for sources, lengths in self._results(tasks, chunks):
            out[starts[sources[0]] : starts[sources[-1] + 1]] = lengths

    def within(self, numbering, limit, kept):
        parts = self._selections(numbering, limit, lambda: (kept.keys, kept.threshold))
        for sources, selected in parts:
            kept.add(sources, *selected)

    def _selections(self, numbering, limit, priority):
        chunks = self._chunks(numbering.sources)
        tasks = (
            delayed(_select)(self._adjacency, sources, limit, *priority()) for sources in chunks
        )
        return self._results(tasks, chunks)

    def _chunks(self, sources):
        n = self._adjacency.shape[0]
        size = max(1, min(_CHUNK, _TABLE_BYTES // (8 * n)))
        return [sources[k : k + size] for k in range(0, len(sources), size)]

    def _results(self, tasks, chunks):
        """Pairs of a chunk and its result, as they come in order."""
        results = Parallel(n_jobs=self._n_jobs, return_as="generator")(tasks)
        with _progress(self._verbose, sum(map(len, chunks))) as advance:
            for sources, result in zip(chunks, results, strict=True):
                yield sources, result
                advance(len(sources))


def _look_up(adjacency, sources, counts, targets):
    """Lengths from each source to its `counts` targets."""
    table = dijkstra(adjacency, directed=True, indices=sources)
    return table[np.repeat(np.arange(len(sources)), counts), targets]


def _select(adjacency, sources, limit, keys, threshold):
    """Counts, targets ``j > i`` and lengths of each source's pairs of sufficient priority."""
    table = dijkstra(adjacency, directed=True, indices=sources, limit=limit)
    rows, targets = np.nonzero(np.isfinite(table) & (np.arange(len(table[0])) > sources[:, None]))
    targets = targets.astype(np.int32)
    if threshold is not None and threshold != KEEP_ALL:
        high = priorities(sources[rows], targets, keys) <= threshold
        rows, targets = rows[high], targets[high]
    return np.bincount(rows, minlength=len(sources)), targets, table[rows, targets]


class _Kept:
    """Pairs of highest priority among those added: the smallest :func:`priorities`.

    With `wanted`, at most some more than so many are held. The set in the end depends on which
    pairs were added, not on when. Pairs lie source after source, in the order added, in one large
    array: many small ones would leave their memory in pieces that the system does not get back.
    """

    def __init__(self, wanted, rng, dtype):
        self.keys = rng.integers(1 << 64, size=2, dtype=np.uint64)
        self.threshold = KEEP_ALL
        self.dtype = dtype
        self._wanted = wanted
        self._most = np.inf if wanted is None else int(_SURPLUS * wanted) + _SLACK
        self._rows = [(np.empty(0, np.int32), np.empty(0, np.int64))]  # sources and their counts
        self._targets = np.empty(_SLACK, np.int32)
        self._lengths = np.empty(_SLACK, dtype)
        self._size = 0
        self._lock = threading.Lock()

    def add(self, sources, counts, targets, lengths):
        """Add pairs, source after source. Of those above the threshold none is needed."""
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

    def finish(self, n):
        """Edges, sorted, and distances."""
        if self._wanted is not None and self._size > self._wanted:
            self._shrink()
        edges = np.empty((self._size, 2), np.int32)
        distances = np.empty(self._size, self.dtype)
        sources, counts = self._merged_rows()
        totals = np.zeros(n, np.int64)
        totals[sources] = counts
        moves = (np.cumsum(totals) - totals)[sources] - (np.cumsum(counts) - counts)
        for rows, pairs in _blocks(counts):
            places = np.arange(pairs.start, pairs.stop) + np.repeat(moves[rows], counts[rows])
            edges[places, 0] = np.repeat(sources[rows], counts[rows])
            edges[places, 1] = self._targets[pairs]
            distances[places] = self._lengths[pairs]
        return edges, distances

    def _shrink(self):
        """Lower the threshold to what exactly `wanted` pairs meet, and drop the others."""
        sources, counts = self._merged_rows()

        def numbers():
            for rows, pairs in _blocks(counts):
                owners = np.repeat(sources[rows], counts[rows])
                yield rows, pairs, priorities(owners, self._targets[pairs], self.keys)

        shift = np.uint64(max(0, int(self.threshold).bit_length() - 12))
        tally = np.zeros(4097, np.int64)
        for _, _, part in numbers():
            # above the threshold there may be pairs of searches that began with an older one
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
    """A copy of the first `used` values that has room for `size` and some more."""
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


@contextlib.contextmanager
def _progress(verbose, n_sources):
    """A function to call with the number of sources done; threads may.

    The bar is tqdm's. Without tqdm (the ``progress`` extra) a line is written to stderr after
    every tenth of the sources.
    """
    if not verbose:
        yield lambda count: None
        return
    lock = threading.Lock()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        done = 0

        def advance(count):
            nonlocal done
            with lock:
                before, done = done, done + count
                if done * 10 // n_sources > before * 10 // n_sources:
                    print(f"shortest paths: {done} of {n_sources} sources", file=sys.stderr)

        yield advance
        return
    with tqdm(total=n_sources, desc="shortest paths", unit="source", file=sys.stderr) as bar:

        def advance(count):
            with lock:
                bar.update(count)

        yield advance
