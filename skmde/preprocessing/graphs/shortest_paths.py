"""Graph distances: lengths of shortest paths between all pairs of nodes, or between some of them.

The path of a pair ``i < j`` is found by the search from node i, the source of the pair. Pairs that
a path joins (reachable pairs) are numbered in the order of (i, j). The partners of a source are the
later nodes of its connected component. So the number of reachable pairs is known before any search,
and a uniform sample of them can be drawn without a table of all pairs. With a limit on the length,
the number of pairs is known only after the search. Then each pair has a random priority, and the
pairs of highest priority so far are kept.

If all edges have the same length, the search is breadth-first
(:mod:`~skmde.preprocessing.graphs.breadth_first`) and runs on threads. Otherwise it is scipy's
Dijkstra and runs on joblib's workers. Lengths are in the units of the edges (monograph,
section 4.3.2).
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.sparse.csgraph import dijkstra

from skmde._linalg.csgraph import with_short_indices
from skmde._utils.random import distinct_integers, private_generator
from skmde._utils.ranks.together import current_ranks
from skmde._utils.threads import count_threads, run_pieces
from skmde._utils.workers import end_with
from skmde.preprocessing.graphs.adjacency import as_adjacency, is_unweighted
from skmde.preprocessing.graphs.breadth_first import Searcher
from skmde.preprocessing.graphs.pair_priorities import KEEP_ALL, priorities
from skmde.preprocessing.graphs.rank_sources import join, own_sources
from skmde.preprocessing.graphs.reachable_pairs import KeptPairs, PairNumbering

__all__ = ["ShortestPaths", "shortest_paths"]

_TABLE_BYTES = 1 << 24  # limit for the table of distances from a chunk of sources to all nodes
_CHUNK = 128  # maximum number of sources in a chunk, so that there are chunks for all workers


class ShortestPaths(NamedTuple):
    """Pairs of nodes and the lengths of shortest paths between them.

    Attributes
    ----------
    edges : ndarray of shape (p, 2), int32, or None
        Pairs ``i < j``, sorted by (i, j). None means all pairs of nodes, in the order of
        :func:`skmde.preprocessing.all_edges`.
    distances : ndarray of shape (p,), float
        Lengths, in the units of the graph's edges.
    n_unreachable : int
        Number of pairs of nodes that no path joins. `edges` does not contain them.

    See Also
    --------
    shortest_paths : Lengths of shortest paths between the nodes of an undirected graph.
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
        Lengths of the edges. Each entry that a sparse matrix stores is an edge, zeros included.
        In a dense matrix, zero means no edge. Infinity means no edge in both. An entry in one
        direction is enough for an edge. The length of a networkx edge is its "weight" attribute,
        1 by default.
    max_length : float, default=None
        Maximum length of a path. Pairs with a longer shortest path are left out.
    max_pairs : int, default=None
        Maximum number of pairs. If there are more, `max_pairs` pairs are sampled, uniformly and
        without replacement.
    random_state : int, RandomState, Generator or None, default=None
        Seed or generator of the sample.
    n_jobs : int, default=None
        If all edges have the same length: the maximum number of threads, by default the number
        that torch uses. Otherwise: the number of joblib's workers, by default 1 or the number set
        by :func:`joblib.parallel_config`.
    verbose : int, default=0
        1 shows the progress over the sources.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the distances.

    Returns
    -------
    paths : ShortestPaths
        ``edges``, ``distances`` and ``n_unreachable``. They do not depend on `n_jobs`.

    Raises
    ------
    ValueError
        If the graph has no edge; if its matrix is not square; if a length is negative, NaN or so
        large that the length of a path may overflow; if `max_length` is not positive; or if
        `max_pairs` is not a positive integer.

    Warns
    -----
    UserWarning
        If the two directions of an edge differ in length; their average is used.

    See Also
    --------
    ShortestPaths : Pairs of nodes and the lengths of shortest paths between them.
    path_neighbors :
        The nodes nearest to each node of an undirected graph, by the length of the shortest path.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.3.2 (graph distance).

    Then et al., The more the merrier: efficient multi-source graph traversal, VLDB 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import shortest_paths
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
            f"The graph has {n} nodes and no edge between two of them, so it has no path. In a "
            "dense matrix, zero means no edge: to give edges of length 0, pass a sparse matrix "
            "that stores the zeros."
        )
    longest = adjacency.data.max()
    if longest > np.finfo(dtype).max / n:
        raise ValueError(
            f"The longest edge has length {longest:.3g}, so the length of a path along {n} nodes "
            f"may overflow {dtype}. Divide all lengths by {longest:.3g}."
        )
    numbering = PairNumbering(adjacency)
    n_pairs = n * (n - 1) // 2
    search = (_BreadthFirst if is_unweighted(adjacency) else _Dijkstra)(adjacency, n_jobs, verbose)
    if limit is not None:
        kept = KeptPairs(wanted, rng, dtype)
        search.within(numbering, limit, kept)
        if (ranks := current_ranks()) is not None:
            kept.share(ranks)
        edges, distances = kept.finish(n)
    elif wanted is None or wanted >= numbering.n_reachable:
        distances = np.empty(numbering.n_reachable, dtype)
        search.every(numbering, distances)
        edges = None
        if len(distances) < n_pairs:
            edges, _ = numbering.pairs(np.arange(numbering.n_reachable))
    else:
        edges, starts = numbering.pairs(distinct_integers(numbering.n_reachable, wanted, rng))
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


class _BreadthFirst:
    """Searches on threads, for a graph whose edges all have the same length."""

    def __init__(self, adjacency, n_jobs, verbose):
        self._length = float(adjacency.data[0])
        self._searcher = Searcher(adjacency, self._length)
        self._n_threads = count_threads(n_jobs)
        self._n_nodes = adjacency.shape[0]
        self._verbose = verbose

    def every(self, numbering, out):
        def search(batch):
            self._searcher.every(batch, numbering.starts, numbering.position, out)

        self._run(search, own_sources(numbering.sources))
        join(out, numbering.starts, numbering.sources)

    def sampled(self, starts, edges, out):
        def search(batch):
            self._searcher.sampled(batch, starts, edges, out)

        sources = np.flatnonzero(np.diff(starts))
        self._run(search, own_sources(sources))
        join(out, starts, sources)

    def within(self, numbering, limit, kept):
        most = min(limit / self._length, self._n_nodes)
        levels = int(most)
        # The quotient has a rounding error, so the products decide.
        while levels < self._n_nodes and (levels + 1) * self._length <= limit:
            levels += 1
        while levels * self._length > limit:
            levels -= 1

        def search(batch):
            kept.add(*self._searcher.within(batch, levels, kept.keys, kept.threshold, kept.dtype))

        self._run(search, own_sources(numbering.sources))

    def _run(self, search, sources):
        with _progress(self._verbose, len(sources)) as advance:

            def work(batch):
                search(batch)
                advance(len(batch))

            pieces = [(batch,) for batch in self._searcher.batches(sources)]
            run_pieces(work, pieces, self._n_threads)


class _Dijkstra:
    """Searches on joblib's workers, for a graph whose edges differ in length."""

    def __init__(self, adjacency, n_jobs, verbose):
        self._adjacency = adjacency
        self._n_jobs = n_jobs
        self._verbose = verbose

    def every(self, numbering, out):
        parts = self._selections(numbering, np.inf, lambda: (None, None))
        for sources, (_, _, lengths) in parts:
            start = numbering.starts[sources[0]]
            out[start : start + len(lengths)] = lengths
        join(out, numbering.starts, numbering.sources)

    def sampled(self, starts, edges, out):
        all_sources = np.flatnonzero(np.diff(starts)).astype(np.int32)
        chunks = self._chunks(own_sources(all_sources))
        tasks = (
            delayed(_look_up)(
                os.getpid(),
                self._adjacency,
                sources,
                np.diff(starts)[sources],
                edges[starts[sources[0]] : starts[sources[-1] + 1], 1],
            )
            for sources in chunks
        )
        for sources, lengths in self._results(tasks, chunks):
            out[starts[sources[0]] : starts[sources[-1] + 1]] = lengths
        join(out, starts, all_sources)

    def within(self, numbering, limit, kept):
        parts = self._selections(numbering, limit, lambda: (kept.keys, kept.threshold))
        for sources, selected in parts:
            kept.add(sources, *selected)

    def _selections(self, numbering, limit, priority):
        chunks = self._chunks(own_sources(numbering.sources))
        tasks = (
            delayed(_select)(os.getpid(), self._adjacency, sources, limit, *priority())
            for sources in chunks
        )
        return self._results(tasks, chunks)

    def _chunks(self, sources):
        n = self._adjacency.shape[0]
        size = max(1, min(_CHUNK, _TABLE_BYTES // (8 * n)))
        return [sources[k : k + size] for k in range(0, len(sources), size)]

    def _results(self, tasks, chunks):
        """Yield each chunk with its result, in the order of the chunks."""
        shared = min(effective_n_jobs(self._n_jobs), len(chunks)) > 1
        n_jobs = self._n_jobs if shared else 1
        try:
            parallel = Parallel(n_jobs=n_jobs, return_as="generator")
        except ValueError:  # some backends return all results at once
            parallel = Parallel(n_jobs=n_jobs)
        results = parallel(tasks)
        with _progress(self._verbose, sum(map(len, chunks))) as advance:
            for sources, result in zip(chunks, results, strict=True):
                yield sources, result
                advance(len(sources))


def _look_up(caller, adjacency, sources, counts, targets):
    """Path lengths from each source to its targets, ``counts[k]`` of them for source k."""
    end_with(caller)
    table = dijkstra(with_short_indices(adjacency), directed=True, indices=sources)
    return table[np.repeat(np.arange(len(sources)), counts), targets]


def _select(caller, adjacency, sources, limit, keys, threshold):
    """Counts, targets ``j > i`` and lengths of the pairs whose priority meets the threshold."""
    end_with(caller)
    graph = with_short_indices(adjacency)
    table = dijkstra(graph, directed=True, indices=sources, limit=limit)
    rows, targets = np.nonzero(np.isfinite(table) & (np.arange(len(table[0])) > sources[:, None]))
    targets = targets.astype(np.int32)
    if threshold is not None and threshold != KEEP_ALL:
        high = priorities(sources[rows], targets, keys) <= threshold
        rows, targets = rows[high], targets[high]
    return np.bincount(rows, minlength=len(sources)), targets, table[rows, targets]


@contextlib.contextmanager
def _progress(verbose, n_sources):
    """Yield a thread-safe function that reports a number of finished sources.

    It updates a tqdm bar. Without tqdm (the ``progress`` extra) it writes a line to stderr after
    every tenth of the sources.
    """
    if not verbose or sys.stderr is None:  # stderr is None in a process without a console
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
