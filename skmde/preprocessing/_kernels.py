"""Compiled loops of the neighbour search.

Squared Euclidean distances are sums of squared differences, never ``|x|^2 - 2 x.y + |y|^2``:
equal rows are at distance exactly 0 and nothing cancels. Every result belongs to one query row
and is computed in an order that depends on neither the other queries nor the threads. Four
queries share each read of a stored row; that is what makes the loops fast.

A list of the best candidates so far is ordered by (distance, index), so ties are resolved by
index whatever the order of the visits.
"""

from __future__ import annotations

import numpy as np

from skmde._jit import REASSOCIATE, jit

_ITEM_BYTES = 1 << 17  # stored rows visited together: they stay in the second-level cache


@jit(fastmath=REASSOCIATE)
def _squared_distances(a, b, c, e, items, start, stop, zero, out):
    """Squared distances of four queries to ``items[start:stop]``, into ``out[:4]``."""
    d = items.shape[1]
    for j in range(start, stop):
        s0 = s1 = s2 = s3 = zero
        for t in range(d):
            v = items[j, t]
            u0 = a[t] - v
            u1 = b[t] - v
            u2 = c[t] - v
            u3 = e[t] - v
            s0 += u0 * u0
            s1 += u1 * u1
            s2 += u2 * u2
            s3 += u3 * u3
        out[0, j - start] = s0
        out[1, j - start] = s1
        out[2, j - start] = s2
        out[3, j - start] = s3


@jit()
def _insert(indices, values, index, value):
    """Put a candidate into a list sorted by (value, index); the last one falls out."""
    at = len(indices) - 1
    while at > 0 and (
        value < values[at - 1] or (value == values[at - 1] and index < indices[at - 1])
    ):
        indices[at] = indices[at - 1]
        values[at] = values[at - 1]
        at -= 1
    indices[at] = index
    values[at] = value


@jit()
def scan_lists(queries, probes, exclude, items, ids, starts, indices, values):
    """The nearest stored rows of each query, among the lists it probes.

    Parameters
    ----------
    queries : (q, d) float array
    probes : (q, p) int32 array
        Lists to visit, by query; -1 for none.
    exclude : (q,) int32 array
        The stored row that is the query itself, or -1.
    items : (n, d) float array
        Stored rows, list after list.
    ids : (n,) int32 array
        Their indices.
    starts : (n_lists + 1,) int64 array
        Where each list starts in `items`.
    indices, values : (q, k) int32 and float arrays
        The best rows so far, sorted by (squared distance, index), -1 and infinity where there
        are fewer than k; updated.
    """
    n_queries, n_probes = probes.shape
    n_lists = len(starts) - 1
    k = indices.shape[1]
    zero = np.zeros(1, values.dtype)[0]

    first = np.zeros(n_lists + 1, np.int64)
    for q in range(n_queries):
        for p in range(n_probes):
            if probes[q, p] >= 0:
                first[probes[q, p] + 1] += 1
    for at in range(n_lists):
        first[at + 1] += first[at]
    members = np.empty(n_queries * n_probes, np.int64)
    filled = first.copy()
    for q in range(n_queries):
        for p in range(n_probes):
            at = probes[q, p]
            if at >= 0:
                members[filled[at]] = q
                filled[at] += 1

    step = max(8, _ITEM_BYTES // (items.itemsize * items.shape[1]))
    buffer = np.empty((4, step), values.dtype)
    slots = np.empty(4, np.int64)
    for at in range(n_lists):
        for start in range(starts[at], starts[at + 1], step):
            stop = min(start + step, starts[at + 1])
            for group in range(first[at], first[at + 1], 4):
                n_slots = min(4, first[at + 1] - group)
                for s in range(4):
                    slots[s] = members[group + min(s, n_slots - 1)]
                _squared_distances(
                    queries[slots[0]],
                    queries[slots[1]],
                    queries[slots[2]],
                    queries[slots[3]],
                    items,
                    start,
                    stop,
                    zero,
                    buffer,
                )
                for s in range(n_slots):
                    q = slots[s]
                    worst = values[q, k - 1]
                    for j in range(stop - start):
                        value = buffer[s, j]
                        if value <= worst:
                            index = ids[start + j]
                            if index == exclude[q] or (
                                value == worst and index >= indices[q, k - 1] >= 0
                            ):
                                continue
                            if value < np.inf:
                                _insert(indices[q], values[q], index, value)
                                worst = values[q, k - 1]


@jit()
def select_smallest(block, indices, values):
    """The smallest finite entries of each row of a block, sorted by (entry, column).

    Parameters
    ----------
    block : (q, n) float64 array
    indices, values : (q, k) int32 and float64 arrays
        Filled with -1 and infinity; updated.
    """
    k = indices.shape[1]
    for q in range(block.shape[0]):
        worst = np.inf
        for j in range(block.shape[1]):
            # Columns come in order, so one that equals the worst entry comes after it.
            if block[q, j] < worst:
                _insert(indices[q], values[q], np.int32(j), block[q, j])
                worst = values[q, k - 1]


@jit()
def count_nearer(queries, rows, values, counts):
    """How many rows are nearer to each query than given squared distances.

    Parameters
    ----------
    queries : (q, d) float32 array
    rows : (n, d) float32 array
    values : (q, k) float32 array
    counts : (q, k) int64 array
        Zeros; updated.
    """
    n_queries = len(queries)
    buffer = np.empty((4, 256), np.float32)
    zero = np.float32(0)
    for start in range(0, len(rows), 256):
        stop = min(start + 256, len(rows))
        for group in range(0, n_queries, 4):
            a, b = queries[group], queries[min(group + 1, n_queries - 1)]
            c = queries[min(group + 2, n_queries - 1)]
            e = queries[min(group + 3, n_queries - 1)]
            _squared_distances(a, b, c, e, rows, start, stop, zero, buffer)
            for s in range(min(4, n_queries - group)):
                for j in range(stop - start):
                    for t in range(values.shape[1]):
                        counts[group + s, t] += buffer[s, j] < values[group + s, t]


@jit(fastmath=REASSOCIATE)
def _squared_distance(a, b):
    total = 0.0
    for t in range(len(a)):
        u = np.float64(a[t]) - np.float64(b[t])
        total += u * u
    return total


@jit()
def refine(queries, rows, candidates, bounds, indices, values):
    """The nearest of each query's candidates, by distances in all features.

    Parameters
    ----------
    queries : (q, d) float array
    rows : (n, d) float array
    candidates : (q, c) int32 array
        Indices into `rows`, -1 for none.
    bounds : (q, c) float array
        Ascending lower bounds of the squared distances: once a bound exceeds the worst distance
        kept, the rest need not be looked at.
    indices, values : (q, k) int32 and float64 arrays
        Overwritten, sorted by (squared distance, index).
    """
    k = indices.shape[1]
    indices[:] = -1
    values[:] = np.inf
    for q in range(len(queries)):
        for c in range(candidates.shape[1]):
            index = candidates[q, c]
            if index < 0 or bounds[q, c] * 0.999 > values[q, k - 1]:
                break
            value = _squared_distance(queries[q], rows[index])
            worst = values[q, k - 1]
            if value < worst or (value == worst < np.inf and index < indices[q, k - 1]):
                _insert(indices[q], values[q], index, value)


@jit(fastmath=REASSOCIATE)
def project(rows, directions, out):
    """Scalar products of rows with directions; the number of directions is a multiple of 4.

    Parameters
    ----------
    rows : (n, d) float32 array
    directions : (r, d) float32 array
    out : (n, r) float32 array
        Overwritten.
    """
    n, d = rows.shape
    zero = np.float32(0)
    for start in range(0, n, 16):
        stop = min(start + 16, n)
        for c in range(0, directions.shape[0], 4):
            for i in range(start, stop):
                s0 = s1 = s2 = s3 = zero
                for t in range(d):
                    v = rows[i, t]
                    s0 += directions[c, t] * v
                    s1 += directions[c + 1, t] * v
                    s2 += directions[c + 2, t] * v
                    s3 += directions[c + 3, t] * v
                out[i, c] = s0
                out[i, c + 1] = s1
                out[i, c + 2] = s2
                out[i, c + 3] = s3


@jit()
def group_means(rows, labels, means):
    """Replace each group's mean by that of its rows; an empty group keeps the old one."""
    n, d = rows.shape
    sums = np.zeros(means.shape, np.float64)
    counts = np.zeros(means.shape[0], np.int64)
    for i in range(n):
        at = labels[i]
        counts[at] += 1
        for t in range(d):
            sums[at, t] += rows[i, t]
    for at in range(means.shape[0]):
        if counts[at] > 0:
            for t in range(d):
                means[at, t] = sums[at, t] / counts[at]
