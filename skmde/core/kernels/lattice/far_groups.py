r"""Sums over all pairs of items that are too far apart for one lattice.

A lattice (``lattice.py``) covers the box of all items, so one far item would make it enormous. If
its number of nodes is above the limit, the items are cut into groups:

1. The longer side of the box is divided into 64 cells. Groups of occupied cells without contact,
   corners included, are groups of items, at least one cell apart. A group whose own lattice is too
   large is cut again.
2. Pairs within a group are summed on the group's own lattice.
3. Pairs of items in different groups of a cut are far apart, so they need only a coarse lattice.
   They are summed on one of all groups, from which the same sums of each group alone are
   subtracted.
4. Where they are so few that it takes less time, pairs are summed one by one.

There remain groups that are too large but cannot be cut, for example, items along a diagonal. They
are summed pair by pair, up to 4e9 pairs. Beyond that, the spacing of the group's lattice is doubled
until it fits. Then pairs closer than a few times the new spacing are wrong; their distortion is
still about that of some distance in that range.

The groups depend on the positions alone. Positions are in the units of the embedding.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from skmde.core.kernels.lattice.convolution import Grid

MAX_PAIRS = 4_000_000_000  # of a group, that are summed one by one
PAIRS_PER_NODE = 8  # that take less time than a node
_CELLS = 64
_LEVELS = 20  # of cuts; so many factors of 64 exceed the range of float32
# At least 16 nodes of a coarse lattice lie between two groups of a cut. There, the B-spline of
# degree 3 has forgotten that it cannot resolve p at short distances.
_COARSE_NODES = 1 << 24


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
    grid : Grid
    sign : int
        1, or -1 if the sums are subtracted.
    """

    start: int
    stop: int
    grid: Grid
    sign: int


class Plan:
    """How the pairs of items are summed.

    Parameters
    ----------
    X : array of shape (n, 2)
        Positions, from `bounded`.
    grid : Grid
        The nodes, and their number in one lattice at most.

    Attributes
    ----------
    order : array of shape (n,), int64
        The items, group by group.
    inverse : array of shape (n,), int64
        Position of each item in `order`.
    pairs : list of Pairs
    lattices : list of OnLattice
    groups : list of OnLattice
        Those lattices with the usual spacing, one for each group that has one.
    """

    def __init__(self, X: np.ndarray, grid: Grid) -> None:
        self._X, self._grid = X.astype(np.float64, copy=False), grid
        self.order = np.arange(len(X))
        self.pairs: list[Pairs] = []
        self.lattices: list[OnLattice] = []
        if self._is_pair_by_pair(0, len(X), 0):
            self._add_pairs(0, len(X), np.arange(1, len(X) + 1))
        self.inverse = np.argsort(self.order)
        self.groups = [part for part in self.lattices if part.grid == grid]

    def _corners(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        P = self._X[self.order[start:stop]]
        return P.min(axis=0), P.max(axis=0)

    def _add_pairs(self, start: int, stop: int, stops: np.ndarray) -> None:
        if (stops < stop - start).any():
            self.pairs.append(Pairs(start, stop, stops))

    def _is_pair_by_pair(self, start: int, stop: int, level: int) -> bool:
        """Plan the sums of a range of items, unless all its pairs should be summed one by one."""
        n_pairs, grid = _n_pairs(stop - start), self._grid
        n_nodes = grid.n_nodes(*self._corners(start, stop))
        if n_pairs <= PAIRS_PER_NODE * min(n_nodes, grid.max_nodes):
            return True
        if np.isfinite(n_nodes):
            self.lattices.append(OnLattice(start, stop, grid, 1))
            return False
        bounds = self._cut(start, stop) if level < _LEVELS else [start, stop]
        if len(bounds) > 2:
            self._plan_cut(bounds, level)
            return False
        if n_pairs > MAX_PAIRS:
            self.lattices.append(OnLattice(start, stop, self._fitting(grid, start, stop), 1))
            return False
        return True

    def _plan_cut(self, bounds: list[int], level: int) -> None:
        start, stop = bounds[0], bounds[-1]
        sizes = np.diff(bounds)
        n_across = _n_pairs(stop - start) - sum(_n_pairs(int(size)) for size in sizes)
        across_one_by_one = n_across <= PAIRS_PER_NODE * self._grid.max_nodes
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
        coarse = Grid(3, self._grid.spacing, _COARSE_NODES, np.float64)
        coarse = self._fitting(coarse, start, stop)
        self.lattices.append(OnLattice(start, stop, coarse, 1))
        self.lattices += [
            OnLattice(first, last, coarse, -1) for first, last in parts if last - first > 1
        ]

    def _fitting(self, grid: Grid, start: int, stop: int) -> Grid:
        """A grid whose spacing is so much larger that a lattice for a range of items fits."""
        corners = self._corners(start, stop)
        while not grid.fits(*corners):
            grid = grid.coarser(2)
        return grid

    def _cut(self, start: int, stop: int) -> list[int]:
        """Sort a range of items by group; return where groups start, and the end of the last."""
        items = self.order[start:stop]
        P = self._X[items]
        low, high = P.min(axis=0), P.max(axis=0)
        cells = ((P - low) * (_CELLS / (high - low).max())).astype(np.int64)
        occupied = np.zeros((_CELLS + 1, _CELLS + 1), dtype=bool)
        occupied[cells[:, 0], cells[:, 1]] = True
        numbers, _ = ndimage.label(occupied, structure=np.ones((3, 3)))
        own = numbers[cells[:, 0], cells[:, 1]]
        self.order[start:stop] = items[np.argsort(own, kind="stable")]
        return [start, *(start + np.cumsum(np.bincount(own)[1:])).tolist()]


def bounded(X: np.ndarray) -> np.ndarray:
    """Finite positions, clipped so that their differences do not overflow."""
    limit = min(float(np.finfo(X.dtype).max) / 8, 1e150)
    return X.clip(-limit, limit)


def grouped_energy(
    X: Any,
    charges: Any,
    plan: Plan,
    gradient: Any,
    lattice_of: Callable[[Grid], Any],
    add_pairs: Callable[[Any, Any, np.ndarray], tuple[Any, Any]],
) -> tuple[Any, Any]:
    """The energy of charges, and its gradient; see ``lattice.py``.

    Parameters
    ----------
    X : array or tensor of shape (n, 2)
        Positions, from `bounded`.
    charges : array or tensor of shape (n,)
    plan : Plan
    gradient : array or tensor of shape (n, 2), float64
        Zeros.
    lattice_of : callable
        Takes a grid, and returns a lattice.
    add_pairs : callable
        Takes positions, charges and ``Pairs.stops``, and returns the exact energy of the pairs.
    """
    P, c, value = X[plan.order], charges[plan.order], 0.0
    for start, stop, stops in plan.pairs:
        energy, part = add_pairs(P[start:stop], c[start:stop], stops)
        value = value + energy
        gradient[start:stop] += part
    for start, stop, grid, sign in plan.lattices:
        energy, part = lattice_of(grid).local_energy(P[start:stop], c[start:stop])
        value = value + sign * energy
        gradient[start:stop] += sign * part
    return value, gradient[plan.inverse]


def _n_pairs(n: int) -> int:
    return n * (n - 1) // 2
