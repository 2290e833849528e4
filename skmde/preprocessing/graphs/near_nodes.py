"""The nodes nearest to a node by path length, found by searches that end early.

A search settles nodes in the order of their distance and ends as soon as no further node can be
among the nearest. So its memory is that of the result, and no table of all pairs is ever made.

In a graph whose edges all have the same length, many nodes are equally far away. If not all of
them fit into the number that is asked for, a pseudo-random choice decides, which differs from node
to node. The lowest indices would make neighbours of everyone out of a few nodes.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.jit import jit
from skmde._utils.random import private_generator
from skmde._utils.threads import count_threads, run_pieces
from skmde.preprocessing.graphs.adjacency import as_adjacency, is_unweighted
from skmde.preprocessing.graphs.pair_priorities import priority
from skmde.preprocessing.neighbors.selection import clamp_neighbors, nearest_stored

__all__ = ["NearNodes", "path_neighbors"]

_SOURCES_AT_ONCE = 128
_MAX_ENTRIES = 50_000_000  # neighbours within a distance, of 12 bytes each
_FEW = 256  # up to this number of neighbours, a sorted list of lengths pays off


def path_neighbors(graph, n_neighbors, *, max_distance=None, random_state=None, n_jobs=None):
    """The nodes nearest to each node of an undirected graph, by the length of the shortest path.

    Parameters
    ----------
    graph : sparse or dense matrix of shape (n, n), or networkx graph
        Lengths of the edges, as :func:`shortest_paths` takes them.
    n_neighbors : int
        Number of neighbours of each node, limited to the number of other nodes. Of several nodes
        at the same distance that do not all fit in, a pseudo-random choice is taken.
    max_distance : float or array-like of shape (n,), default=None
        Nodes farther away are left out. An array holds a limit for each node.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the choice among nodes at the same distance.
    n_jobs : int, default=None
        Maximum number of threads. None means torch's number. The result does not depend on it.

    Returns
    -------
    indices : ndarray of shape (n, n_neighbors), int32
        Sorted by (distance, index); -1 where a path leads to fewer nodes.
    distances : ndarray of shape (n, n_neighbors), float64
        Path lengths, in the units of the edges; infinity where there is no neighbour.

    Raises
    ------
    ValueError
        If the graph is invalid; see :func:`shortest_paths`.

    See Also
    --------
    shortest_paths : Lengths of shortest paths between the nodes of an undirected graph.
    nearest_neighbors : The nearest other rows of each row.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.3.3 (other methods).

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import path_neighbors
    >>> chain = np.diag([1.0, 2.0, 4.0], 1)
    >>> indices, distances = path_neighbors(chain, 2)
    >>> indices.tolist(), distances[3].tolist()
    ([[1, 2], [0, 2], [1, 0], [2, 1]], [4.0, 6.0])
    """
    adjacency, _ = as_adjacency(graph)
    n = adjacency.shape[0]
    k = clamp_neighbors(n_neighbors, n)
    near = NearNodes(adjacency, random_state).of_nodes(k, max_distance, n_jobs)
    rows = np.repeat(np.arange(n), np.diff(near.indptr))
    return nearest_stored(rows, near.indices, near.data, n, k)


class NearNodes:
    """Searches for the nearest nodes in one graph.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
        As :func:`~skmde.preprocessing.graphs.adjacency.as_adjacency` returns it.
    random_state : int, RandomState, Generator or None
        Seeds the choice among nodes at the same distance.
    """

    def __init__(self, adjacency, random_state):
        self.adjacency = adjacency
        self._keys = private_generator(random_state).integers(1 << 63, size=2).astype(np.uint64)

    def of_nodes(self, k, max_distance=None, n_jobs=None):
        """The nearest other nodes of each node.

        Parameters
        ----------
        k : int or None
            Their number; None for all nodes within `max_distance`.
        max_distance : float or ndarray of shape (n,), default=None
        n_jobs : int, default=None

        Returns
        -------
        near : csr_array of shape (n, n)
            Row i stores the distances of the neighbours of node i, by ascending index.
        """
        n = self.adjacency.shape[0]
        nodes = np.arange(n, dtype=np.int32)
        starts = np.arange(n + 1, dtype=np.int64), nodes, np.zeros(n)
        length = float(self.adjacency.data[0]) if is_unweighted(self.adjacency) else 0.0
        owners = nodes.astype(np.uint64)
        return self._near(starts, nodes, owners, k, max_distance, n_jobs, level_length=length)

    def of_rows(self, rows, k, max_distance=None, *, skipped=None, owners=None, n_jobs=None):
        """The nearest nodes of further nodes, which have edges to the nodes of the graph.

        A row of the result depends on that row alone.

        Parameters
        ----------
        rows : csr_array of shape (q, n)
            Lengths of the edges.
        k : int or None
        max_distance : float or ndarray of shape (q,), default=None
        skipped : ndarray of shape (q,), int, default=None
            A node of the graph that each row's search leaves out.
        owners : ndarray of shape (q,), uint64
            A number for each row, by which nodes at the same distance are chosen.
        n_jobs : int, default=None

        Returns
        -------
        near : csr_array of shape (q, n)
        """
        skipped = np.full(rows.shape[0], -1) if skipped is None else skipped
        kept = np.isfinite(rows.data)
        kept &= rows.indices != np.repeat(skipped, np.diff(rows.indptr))
        counts = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
        starts = counts.astype(np.int64), rows.indices[kept], rows.data[kept].astype(np.float64)
        return self._near(starts, skipped.astype(np.int32), owners, k, max_distance, n_jobs)

    def _near(self, starts, skipped, owners, k, max_distance, n_jobs, level_length=0.0):
        graph, q, n = self.adjacency, len(skipped), self.adjacency.shape[0]
        limits = np.broadcast_to(np.asarray(np.inf if max_distance is None else max_distance), q)
        parts = graph.indptr, graph.indices, graph.data

        def search(first, last):
            wanted, sources = n if k is None else k, slice(first, last)
            own = skipped[sources], owners[sources], limits[sources].astype(np.float64)
            return _search(parts, starts, first, *own, wanted, level_length, self._keys)

        pieces = [
            (first, min(first + _SOURCES_AT_ONCE, q)) for first in range(0, q, _SOURCES_AT_ONCE)
        ]
        found = run_pieces(search, pieces, count_threads(n_jobs))
        counts, nodes, lengths = (np.concatenate(part) for part in zip(*found, strict=True))
        if len(nodes) > _MAX_ENTRIES:
            raise ValueError(
                f"Within max_distance, nodes have {len(nodes) / q:.0f} neighbours on average, so "
                f"they need {12 * len(nodes) / 1e9:.1f} GB. Use a smaller max_distance, or set "
                "n_neighbors."
            )
        indptr = np.concatenate([[0], np.cumsum(counts)])
        near = sp.csr_array((lengths, nodes, indptr), shape=(q, n))
        near.sort_indices()
        return near


@jit()
def _search(graph, starts, first, skipped, owners, limits, k, level_length, keys):
    """Counts, nodes and lengths of the nearest nodes of several sources, one after the other."""
    indptr, indices, _ = graph
    n = len(indptr) - 1
    reached, seen = np.full(n, np.inf), np.zeros(n, np.bool_)
    order, touched, nearest = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(_FEW + 1)
    heap = np.empty(256), np.empty(256, np.int32)
    best, best_priority = np.empty(k, np.int32), np.empty(k, np.uint64)
    counts = np.zeros(len(limits), np.int64)
    out_nodes, out_lengths = np.empty(1024, np.int32), np.empty(1024)
    n_out = 0
    for s in range(len(limits)):
        begin, end = starts[0][first + s], starts[0][first + s + 1]
        if level_length > 0:
            source = starts[1][begin]
            n_order = _by_levels(
                indptr, indices, level_length, source, k, limits[s], reached, seen, order
            )
            n_touched = 0
        else:
            n_order, n_touched, heap = _by_lengths(
                graph, starts[1][begin:end], starts[2][begin:end], skipped[s], k, limits[s],
                reached, seen, order, touched, nearest, heap,
            )  # fmt: skip
        # a source that is a node of the graph comes first, or among others at distance 0
        n_found = 0
        for t in range(n_order):
            if order[t] == skipped[s]:
                seen[order[t]] = False
                reached[order[t]] = np.inf
            else:
                order[n_found] = order[t]
                n_found += 1
        sure, n_best = min(n_found, k), 0
        if n_found > k:
            last = reached[order[k - 1]]
            while sure > 0 and reached[order[sure - 1]] == last:
                sure -= 1
            for t in range(sure, n_found):
                if reached[order[t]] > last:
                    break
                number = priority(owners[s], order[t], keys)
                n_best = _insert(best, best_priority, n_best, k - sure, order[t], number)
        while n_out + sure + n_best > len(out_nodes):
            out_nodes, out_lengths = _doubled(out_nodes), _doubled(out_lengths)
        for t in range(sure + n_best):
            node = order[t] if t < sure else best[t - sure]
            out_nodes[n_out], out_lengths[n_out] = node, reached[node]
            n_out += 1
        counts[s] = sure + n_best
        for t in range(n_found):
            seen[order[t]] = False
            reached[order[t]] = np.inf
        for t in range(n_touched):
            reached[touched[t]] = np.inf
    return counts, out_nodes[:n_out], out_lengths[:n_out]


@jit()
def _by_levels(indptr, indices, length, source, k, limit, reached, seen, order):
    """Breadth-first search; whole levels, until there are k nodes besides the source."""
    order[0], seen[source], reached[source] = source, True, 0.0
    n_found, at, level = 1, 0, 0
    while at < n_found and n_found <= k:
        level += 1
        if level * length > limit:
            break
        end = n_found
        while at < end:
            node = order[at]
            at += 1
            for e in range(indptr[node], indptr[node + 1]):
                other = indices[e]
                if not seen[other]:
                    seen[other] = True
                    order[n_found] = other
                    n_found += 1
        for t in range(end, n_found):
            reached[order[t]] = level * length
    return n_found


@jit()
def _by_lengths(
    graph, nodes, edges, skipped, k, limit, reached, seen, order, touched, nearest, heap
):
    """Dijkstra's algorithm from one source, until k nodes and all as near as the last are settled.

    `nearest` holds the least of the lengths at which nodes were first reached, in ascending order:
    as many as are wanted. No path that is longer than the last of them is followed. A node to skip
    that is not the source is never reached.
    """
    indptr, indices, lengths = graph
    heap_lengths, heap_nodes = heap
    n_heap, n_order, n_touched, n_nearest, wanted = 0, 0, 0, 0, k
    node, length, bound = np.int32(-1), 0.0, limit
    begin, end = 0, len(nodes)
    while True:
        for e in range(begin, end):
            if node < 0:
                other, further = nodes[e], edges[e]
            else:
                other, further = indices[e], length + lengths[e]
            if not further <= bound or not further < reached[other]:
                continue
            if other == skipped:
                if node >= 0:
                    continue
                wanted = k + 1
            if reached[other] == np.inf:
                touched[n_touched] = other
                n_touched += 1
                if k <= _FEW:
                    n_nearest = _insert(nearest, nearest, n_nearest, wanted, further, further)
                    if n_nearest == wanted:
                        bound = min(limit, nearest[wanted - 1])
            reached[other] = further
            if n_heap == len(heap_nodes):
                heap_lengths, heap_nodes = _doubled(heap_lengths), _doubled(heap_nodes)
            n_heap = _push(heap_lengths, heap_nodes, n_heap, further, other)
        while n_heap > 0 and seen[heap_nodes[0]]:
            n_heap = _pop(heap_lengths, heap_nodes, n_heap)
        if n_heap == 0 or heap_lengths[0] > bound:
            break
        if n_order >= wanted and heap_lengths[0] > length:
            break
        length, node = heap_lengths[0], heap_nodes[0]
        n_heap = _pop(heap_lengths, heap_nodes, n_heap)
        seen[node] = True
        order[n_order] = node
        n_order += 1
        begin, end = indptr[node], indptr[node + 1]
    return n_order, n_touched, (heap_lengths, heap_nodes)


@jit()
def _insert(items, numbers, count, most, item, number):
    """Insert into a list of the `most` items of least number; return their new count.

    Numbers alone are their own items.
    """
    if count < most:
        at = count
        count += 1
    elif number < numbers[count - 1]:
        at = count - 1
    else:
        return count
    while at > 0 and numbers[at - 1] > number:
        items[at], numbers[at] = items[at - 1], numbers[at - 1]
        at -= 1
    items[at], numbers[at] = item, number
    return count


@jit()
def _push(lengths, nodes, size, length, node):
    at = size
    while at > 0:
        above = (at - 1) // 2
        if lengths[above] <= length:
            break
        lengths[at], nodes[at] = lengths[above], nodes[above]
        at = above
    lengths[at], nodes[at] = length, node
    return size + 1


@jit()
def _pop(lengths, nodes, size):
    """Remove the first entry."""
    size -= 1
    length, node = lengths[size], nodes[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and lengths[below + 1] < lengths[below]:
            below += 1
        if lengths[below] >= length:
            break
        lengths[at], nodes[at] = lengths[below], nodes[below]
        at = below
    lengths[at], nodes[at] = length, node
    return size


@jit()
def _doubled(values):
    longer = np.empty(2 * len(values), values.dtype)
    longer[: len(values)] = values
    return longer
