r"""Sums over all pairs of items that are too far apart for one lattice.

A lattice (``convolution.py``) covers the box of all items, so one far item would make it enormous.
If the work of the best layout (``layouts.py``) is large, the items are cut into groups:

1. The longest side of the box is divided into cells. Groups of occupied cells without contact,
   corners included, are groups of items, at least one cell apart. A group is cut again if its own
   layout needs much work.
2. Pairs within a group are summed with the group's own layout.
3. Pairs of items in different groups of a cut are far apart, so they need only a coarse lattice.
   They are summed on one of all groups, from which the same sums of each group alone are
   subtracted.
4. Where they are so few that it takes less time, pairs are summed one by one.

The groups depend on the positions alone. Positions are in the units of the embedding.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from skmde._linalg.reductions import bounding_box
from skmde.core.kernels.lattice.layouts import COARSE, Layout, Layouts

PAIRS_PER_NODE = 8  # that take less time than a node
ENOUGH = 1 << 26  # work, in nodes, for which items are not cut into groups
ENOUGH_PER_ITEM = 64
# Cells along the longest side, by dimension. A cell has 8 to 16 nodes of a coarse lattice.
_CELLS = {2: 64, 3: 16}
_LEVELS = 32  # of cuts; so many factors of 16 exceed the range of float32


class Pairs(NamedTuple):
    """Pairs that are summed one by one.

    Attributes
    ----------
    start, stop : int
        Range of the plan's order.
    stops : array of shape (stop - start,), int64
        Counted from `start`: the item at position k forms pairs with all from ``stops[k]`` on. It
        increases with k.
    """

    start: int
    stop: int
    stops: np.ndarray


class OnLattice(NamedTuple):
    """Items all of whose pairs are summed on a lattice.

    Attributes
    ----------
    start, stop : int
        Range of the plan's order.
    layout : Layout
    sign : int
        1, or -1 if the sums are subtracted.
    is_own : bool
        Whether it is the layout of a group, whose close pairs are corrected, rather than a coarse
        one.
    """

    start: int
    stop: int
    layout: Layout
    sign: int = 1
    is_own: bool = True


class Plan:
    """How the pairs of items are summed.

    Parameters
    ----------
    X : array of shape (n, m)
        Positions, from `bounded`; m = 2 or 3.
    layouts : Layouts

    Attributes
    ----------
    order : array of shape (n,), int64
        The items, group by group.
    inverse : array of shape (n,), int64
        Position of each item in `order`.
    pairs : list of Pairs
    lattices : list of OnLattice
    """

    def __init__(self, X: np.ndarray, layouts: Layouts) -> None:
        self._X, self._layouts = X.astype(np.float64, copy=False), layouts
        self.order = np.arange(len(X))
        self.pairs: list[Pairs] = []
        self.lattices: list[OnLattice] = []
        if self._is_pair_by_pair(0, len(X), 0):
            self._add_pairs(0, len(X), np.arange(1, len(X) + 1))
        self.inverse = np.argsort(self.order)

    def _corners(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        P = self._X[self.order[start:stop]]
        return bounding_box(P)

    def _add_pairs(self, start: int, stop: int, stops: np.ndarray) -> None:
        if (stops < stop - start).any():
            self.pairs.append(Pairs(start, stop, stops))

    def _is_pair_by_pair(self, start: int, stop: int, level: int) -> bool:
        """Plan the sums of a range of items, unless all its pairs should be summed one by one."""
        n = stop - start
        one_by_one = _n_pairs(n) / PAIRS_PER_NODE if PAIRS_PER_NODE else np.inf
        P = self._X[self.order[start:stop]]
        layout, work = self._layouts.best(P, *bounding_box(P))
        if one_by_one <= min(work, enough_work(n)):
            return True
        if work > enough_work(n) and level < _LEVELS:
            bounds = self._cut(start, stop)
            if len(bounds) > 2:
                self._plan_cut(bounds, level)
                return False
        if layout is None or one_by_one <= work:
            return True
        self.lattices.append(OnLattice(start, stop, layout))
        return False

    def _plan_cut(self, bounds: list[int], level: int) -> None:
        start, stop = bounds[0], bounds[-1]
        sizes = np.diff(bounds)
        n_across = _n_pairs(stop - start) - sum(_n_pairs(int(size)) for size in sizes)
        across_one_by_one = n_across <= PAIRS_PER_NODE * COARSE.max_nodes
        low, high = self._corners(start, stop)
        gap = float((high - low).max()) / _CELLS[self._X.shape[1]]
        stops = np.arange(1, stop - start + 1)
        parts = list(pairwise(bounds))
        for first, last in parts:
            one_by_one = self._is_pair_by_pair(first, last, level + 1)
            if not one_by_one:
                stops[first - start : last - start] = last - start
            elif not across_one_by_one:
                self._add_pairs(first, last, np.arange(1, last - first + 1))
        if across_one_by_one:
            self._add_pairs(start, stop, stops)
            return
        coarse = self._layouts.coarse(gap)
        self.lattices.append(OnLattice(start, stop, coarse, 1, False))
        self.lattices += [
            OnLattice(first, last, coarse, -1, False) for first, last in parts if last - first > 1
        ]

    def _cut(self, start: int, stop: int) -> list[int]:
        """Sort a range of items by group; return where groups start, and the end of the last."""
        items = self.order[start:stop]
        P = self._X[items]
        low, high = bounding_box(P)
        m, extent = P.shape[1], (high - low).max()
        if not extent > 0:
            return [start, stop]
        n_cells = _CELLS[m]
        cells = tuple(((P - low) * (n_cells / extent)).astype(np.int64).T)
        occupied = np.zeros((n_cells + 1,) * m, dtype=bool)
        occupied[cells] = True
        numbers, _ = ndimage.label(occupied, structure=np.ones((3,) * m))
        own = numbers[cells]
        self.order[start:stop] = items[np.argsort(own, kind="stable")]
        return [start, *(start + np.cumsum(np.bincount(own)[1:])).tolist()]


def bounded(X: np.ndarray) -> np.ndarray:
    """Finite positions, clipped so that their differences do not overflow."""
    limit = min(float(np.finfo(X.dtype).max) / 8, 1e100)
    return X.clip(-limit, limit)


def enough_work(n: int) -> float:
    """Work of a layout, in nodes, above which `n` items are cut into groups."""
    return max(ENOUGH, ENOUGH_PER_ITEM * n)


def _n_pairs(n: int) -> int:
    return n * (n - 1) // 2
