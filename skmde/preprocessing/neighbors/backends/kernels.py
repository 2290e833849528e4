"""Compiled loops of the neighbour search.

Squared Euclidean distances are sums of squared differences, never ``|x|^2 - 2 x.y + |y|^2``. So
equal rows have distance exactly 0 and there is no cancellation. The result of a query is computed
in an order that depends on neither the other queries nor the threads. The loops are fast because
four queries share each read of a stored row.

The list of the best candidates so far is sorted by (distance, index), so ties are resolved by index
and not by the order of the visits.
"""

from __future__ import annotations

import numpy as np

from skmde._utils.jit import REASSOCIATE, jit

BRAYCURTIS, CANBERRA, CHEBYSHEV, HAMMING, MINKOWSKI = range(5)
_ROUNDING = 1e-12  # of the products of sparse rows, relative to their squared norms
_ITEM_BYTES = 1 << 17  # stored rows per block, so that a block stays in the second-level cache


@jit(fastmath=REASSOCIATE)
def _squared_distances(a, b, c, e, items, start, stop, out):
    """Squared distances of four queries to ``items[start:stop]``, into ``out[:4]``."""
    d = items.shape[1]
    for j in range(start, stop):
        s0 = s1 = s2 = s3 = 0.0
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
def _squares_of_four(queries, group, rows, start, stop, out):
    """The same for four queries from `group` on. The last query pads a group of fewer."""
    last = len(queries) - 1
    _squared_distances(
        queries[group],
        queries[min(group + 1, last)],
        queries[min(group + 2, last)],
        queries[min(group + 3, last)],
        rows,
        start,
        stop,
        out,
    )


@jit()
def insert(indices, values, index, value):
    """Insert a candidate into a list sorted by (value, index), and drop the last entry."""
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
def scan_rows(queries, exclude, rows, indices, values):
    """The nearest rows of each query, among all rows.

    Parameters
    ----------
    queries : (q, d) float64 array
    exclude : (q,) int32 array
        The row that is the query itself, or -1.
    rows : (n, d) float array
    indices, values : (q, k) int32 and float64 arrays
        Filled with -1 and infinity. Overwritten, sorted by (squared distance, index).
    """
    n_queries, k = indices.shape
    step = max(8, _ITEM_BYTES // (rows.itemsize * rows.shape[1]))
    buffer = np.empty((4, step))
    for start in range(0, len(rows), step):
        stop = min(start + step, len(rows))
        for group in range(0, n_queries, 4):
            _squares_of_four(queries, group, rows, start, stop, buffer)
            for s in range(min(4, n_queries - group)):
                q = group + s
                worst = values[q, k - 1]
                for j in range(stop - start):
                    # Rows are visited in order, so a row at the worst distance ranks after it.
                    if buffer[s, j] < worst and start + j != exclude[q]:
                        insert(indices[q], values[q], np.int32(start + j), buffer[s, j])
                        worst = values[q, k - 1]


@jit()
def all_squares(queries, rows, out):
    """Squared distances from each query (float64) to each row, into `out` of shape (q, n)."""
    step = max(8, _ITEM_BYTES // (rows.itemsize * rows.shape[1]))
    buffer = np.empty((4, step))
    for start in range(0, len(rows), step):
        stop = min(start + step, len(rows))
        for group in range(0, len(queries), 4):
            _squares_of_four(queries, group, rows, start, stop, buffer)
            for s in range(min(4, len(queries) - group)):
                for j in range(stop - start):
                    out[group + s, start + j] = buffer[s, j]


@jit()
def paired_squares(rows, i, j, out):
    """Squared distances of the pairs (i, j) of rows, into `out`."""
    for k in range(len(i)):
        out[k] = _squared_distance(rows[np.uintp(i[k])], rows[np.uintp(j[k])])


@jit()
def select_smallest(block, indices, values):
    """The smallest finite entries of each row of a block, sorted by (entry, column).

    Parameters
    ----------
    block : (q, n) float64 array
    indices, values : (q, k) int32 and float64 arrays
        Filled with -1 and infinity. Overwritten.
    """
    k = indices.shape[1]
    for q in range(block.shape[0]):
        worst = np.inf
        for j in range(block.shape[1]):
            # Columns are visited in order, so an entry equal to the worst ranks after it.
            if block[q, j] < worst:
                insert(indices[q], values[q], np.int32(j), block[q, j])
                worst = values[q, k - 1]


@jit(fastmath=REASSOCIATE)
def _squared_distance(a, b):
    total = 0.0
    for t in range(len(a)):
        u = np.float64(a[t]) - np.float64(b[t])
        total += u * u
    return total


@jit()
def refine(queries, exclude, rows, candidates, bounds, indices, values):
    """The nearest candidates of each query, by exact distances.

    Parameters
    ----------
    queries : (q, d) float array
    exclude : (q,) int32 array
        The row that is the query itself, or -1.
    rows : (n, d) float array
    candidates : (q, c) int array
        Indices into `rows`, -1 for none.
    bounds : (q, c) float array
        Ascending lower bounds of the squared distances. When a bound exceeds the worst distance
        kept, the remaining candidates are skipped.
    indices, values : (q, k) int32 and float64 arrays
        Overwritten, sorted by (squared distance, index).
    """
    k = indices.shape[1]
    indices[:] = -1
    values[:] = np.inf
    for q in range(len(queries)):
        for c in range(candidates.shape[1]):
            index = np.int32(candidates[q, c])
            if bounds[q, c] > values[q, k - 1]:
                break
            if index < 0 or index == exclude[q]:
                continue
            value = _squared_distance(queries[q], rows[index])
            worst = values[q, k - 1]
            if value < worst or (value == worst < np.inf and index < indices[q, k - 1]):
                insert(indices[q], values[q], index, value)


@jit()
def scan_sparse_rows(queries, exclude, rows, postings, norms, indices, values):
    """The nearest rows of each query, among all rows, for sparse rows.

    The products of a query with all rows tell the candidates, with a tolerance for their rounding
    errors. The distances of candidates are sums of squared differences.

    Parameters
    ----------
    queries : tuple of arrays (indptr, indices, data)
        The q queries in CSR form, columns in order.
    exclude : (q,) int32 array
        The row that is the query itself, or -1.
    rows, postings : tuple of arrays (indptr, indices, data)
        The n rows in CSR form, columns in order; and their transpose.
    norms : (n,) float64 array
        Squared norms of the rows.
    indices, values : (q, k) int32 and float64 arrays
        Filled with -1 and infinity. Overwritten, sorted by (squared distance, index).
    """
    q_start, q_column, q_data = queries
    start, column, data = rows
    t_start, t_row, t_data = postings
    n, k = len(norms), indices.shape[1]
    largest = norms.max()
    rough, best = np.empty(n), np.empty(k, np.int32)
    for q in range(len(exclude)):
        own = 0.0
        rough[:] = norms
        for p in range(q_start[q], q_start[q + 1]):
            x, t = q_data[p], q_column[p]
            own += x * x
            for s in range(t_start[t], t_start[t + 1]):
                rough[np.uintp(t_row[s])] -= 2.0 * x * t_data[s]
        if exclude[q] >= 0:
            rough[exclude[q]] = np.inf
        worst = np.inf
        for j in range(n):
            if rough[j] < worst:
                insert(best, values[q], np.int32(j), rough[j])
                worst = values[q, k - 1]
        limit = worst + _ROUNDING * (own + largest)
        indices[q] = -1
        values[q] = np.inf
        worst = np.inf
        for j in range(n):
            if rough[j] <= limit and rough[j] < np.inf:
                value = _squared_distance_of_sparse(
                    q_column[q_start[q] : q_start[q + 1]],
                    q_data[q_start[q] : q_start[q + 1]],
                    column[start[j] : start[j + 1]],
                    data[start[j] : start[j + 1]],
                )
                if value < worst:  # rows are visited in order
                    insert(indices[q], values[q], np.int32(j), value)
                    worst = values[q, k - 1]


@jit()
def _squared_distance_of_sparse(i, a, j, b):
    """Squared distance of two sparse rows, given by their columns in order and their values."""
    total, s, t = 0.0, 0, 0
    while s < len(i) or t < len(j):
        if t == len(j) or (s < len(i) and i[s] < j[t]):
            u = a[s]
            s += 1
        elif s == len(i) or j[t] < i[s]:
            u = b[t]
            t += 1
        else:
            u = a[s] - b[t]
            s += 1
            t += 1
        total += u * u
    return total


@jit()
def sums_over_features(kind, p, d, rows, others, out):
    """Distances of sparse rows, from the features of which either of two rows has an entry.

    Parameters
    ----------
    kind : int
        One of `BRAYCURTIS`, `CANBERRA`, `CHEBYSHEV`, `HAMMING` and `MINKOWSKI`.
    p : float
        The exponent of `MINKOWSKI`.
    d : int
        Number of features.
    rows, others : tuple of arrays (indptr, indices, data)
        Rows in CSR form, columns in order, values in float64.
    out : (n_rows, n_others) float64 array
        Overwritten.
    """
    start_a, column_a, data_a = rows
    start_b, column_b, data_b = others
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s, t, total, size = start_a[i], start_b[j], 0.0, 0.0
            last_s, last_t = start_a[i + 1], start_b[j + 1]
            while s < last_s or t < last_t:
                a = b = 0.0
                column = d
                if s < last_s:
                    column = column_a[s]
                if t < last_t:
                    column = min(column, column_b[t])
                if s < last_s and column_a[s] == column:
                    a = data_a[s]
                    s += 1
                if t < last_t and column_b[t] == column:
                    b = data_b[t]
                    t += 1
                if kind == BRAYCURTIS:
                    total += abs(a - b)
                    size += abs(a + b)
                elif kind == CANBERRA:
                    if a != b:
                        total += abs(a - b) / (abs(a) + abs(b))
                elif kind == CHEBYSHEV:
                    total = max(total, abs(a - b))
                elif kind == HAMMING:
                    total += a != b
                else:
                    total += abs(a - b) ** p
            if kind == BRAYCURTIS:
                total /= size
            elif kind == HAMMING:
                total /= d
            elif kind == MINKOWSKI:
                total **= 1.0 / p
            out[i, j] = total
