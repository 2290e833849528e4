"""Neighbours of neighbours: a table of near rows becomes one of nearest rows.

A neighbour of a neighbour is likely to be a neighbour (Dong, Charikar and Li, "Efficient k-nearest
neighbor graph construction for generic similarity measures", 2011). A pass compares each row with
its near rows, with the rows that have it among theirs, and with the near rows of all of these.
Pairs that an earlier pass compared are left out. The cost of a pass does not depend on the number
of rows, except for the rows that it improves.

A pass reads only the table that the pass before left. So its result depends on neither the order of
the rows nor the threads.
"""

from __future__ import annotations

import numpy as np

from skmde._utils.jit import REASSOCIATE, jit
from skmde._utils.threads import run_rows
from skmde.preprocessing.neighbors.backends.kernels import insert

__all__ = ["NearRows"]

_PIECES = 32
_MARGIN = 1e-3  # relative, for the rounding of directions


class NearRows:
    """Near rows of each row, in a table that passes improve.

    Rows have numbers of their own here, so that near rows may be near in memory.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32
        All features, in the caller's order.
    order : ndarray of shape (n,), int32
        Row ``i`` here is row ``order[i]`` of the caller.
    short : ndarray of shape (n, s), float32
        Projections of the rows in the order used here. Their distances are at most those of the
        rows plus `slack`.
    slack : float
        For the rounding of the projections.
    width : int
        Number of near rows that are kept of each row.

    Attributes
    ----------
    places : ndarray of shape (n,), int32
        The number here of each row of the caller.
    indices : ndarray of shape (n, width), int32
        Near rows by their numbers here, the nearest first; -1 for none.
    values : ndarray of shape (n, width), float32
        Their squared distances.
    """

    def __init__(self, rows, order, short, slack, width):
        n = len(rows)
        self._rows, self._order, self._short, self._slack = rows, order, short, slack
        self.places = np.empty_like(order)
        self.places[order] = np.arange(n, dtype=order.dtype)
        self.indices = np.full((n, width), -1, np.int32)
        self.values = np.full((n, width), np.inf, np.float32)
        self._fresh = np.zeros((n, width), np.uint8)

    @property
    def width(self):
        """Number of near rows that are kept of each row."""
        return self.indices.shape[1]

    def start(self, first, indices, squared):
        """Store near rows of the rows from `first` on.

        Parameters
        ----------
        first : int
        indices : ndarray of shape (b, width), int
            The caller's numbers, distinct in each row, or -1 for none.
        squared : ndarray of shape (b, width)
            Their squared distances, ascending.
        """
        part = slice(first, first + len(indices))
        self.indices[part] = np.where(indices >= 0, self.places[indices], -1)
        self.values[part] = squared
        self._fresh[part] = indices >= 0

    def callers_indices(self):
        """The near rows by the caller's numbers; row ``i`` is of the row numbered ``i`` here."""
        return np.where(self.indices >= 0, self._order[self.indices], np.int32(-1))

    def widen(self, width):
        """Keep more near rows, and compare all pairs again."""
        more = ((0, 0), (0, width - self.width))
        self.indices = np.pad(self.indices, more, constant_values=-1)
        self.values = np.pad(self.values, more, constant_values=np.inf)
        self._fresh = (self.indices >= 0).astype(np.uint8)

    def improve(self, n_jobs):
        """Compare rows with the near rows of their near rows; return entries changed per row."""
        n = len(self.indices)
        back, back_is_fresh = _turned(self.indices, self._fresh)
        new, fresh = self.indices.copy(), np.empty_like(self._fresh)

        def piece(start, stop):
            _join(
                (self._rows, self._order, self._short, np.float32(self._slack)),
                (self.indices, self._fresh),
                (back, back_is_fresh),
                (new, self.values, fresh),
                start,
                stop,
            )

        run_rows(piece, n, max(256, -(-n // _PIECES)), n_jobs)
        self.indices, self._fresh = new, fresh
        return float(np.count_nonzero(fresh)) / n


@jit(fastmath=REASSOCIATE)
def _squared(a, b):
    total = np.float32(0.0)
    for t in range(len(a)):
        u = a[t] - b[t]
        total += u * u
    return total


@jit()
def _turned(indices, fresh):
    """The rows that have a row among their near ones, the nearest first; as many as it has."""
    n, width = indices.shape
    back = np.full((n, width), np.int32(-1))
    is_fresh = np.zeros((n, width), np.uint8)
    count = np.zeros(n, np.int32)
    for rank in range(width):
        for i in range(n):
            j = indices[i, rank]
            if j >= 0 and count[j] < width:
                back[j, count[j]] = i
                is_fresh[j, count[j]] = fresh[i, rank]
                count[j] += 1
    return back, is_fresh


@jit()
def _join(data, near, back, out, start, stop):
    rows, order, short, slack = data
    new, values, fresh = out
    n, width = new.shape
    seen = np.full(n, np.int32(-1))
    for i in range(start, stop):
        seen[i] = i
        for a in range(width):
            if near[0][i, a] >= 0:
                seen[near[0][i, a]] = i
        worst = values[i, width - 1]
        limit = _limit(worst, slack)
        for side in range(2):
            table, is_fresh = near if side == 0 else back
            for a in range(width):
                u = table[i, a]
                if u < 0:
                    break
                # The row itself comes first, then its own near rows.
                for turn in range(-1, 2 * width):
                    if turn < 0:
                        j, counts = u, is_fresh[i, a]
                    elif turn < width:
                        j, counts = near[0][u, turn], near[1][u, turn] | is_fresh[i, a]
                    else:
                        j = back[0][u, turn - width]
                        counts = back[1][u, turn - width] | is_fresh[i, a]
                    if j < 0 or not counts or seen[j] == i:
                        continue
                    seen[j] = i
                    if _squared(short[i], short[j]) > limit:
                        continue
                    value = _squared(rows[order[i]], rows[order[j]])
                    if value < worst:
                        insert(new[i], values[i], j, value)
                        worst = values[i, width - 1]
                        limit = _limit(worst, slack)
        for a in range(width):
            fresh[i, a] = new[i, a] >= 0
            for b in range(width):
                if near[0][i, b] == new[i, a]:
                    fresh[i, a] = 0


@jit()
def _limit(worst, slack):
    """The squared distance of projections beyond which rows are farther than the worst."""
    return np.float32((np.sqrt(worst) * (1.0 + _MARGIN) + slack) ** 2)
