r"""Sums over all pairs of items that are too far apart for one lattice.

A lattice (``lattice.py``) covers the box of all items, so one far item would make it enormous. If
its number of nodes is above the limit, the items are cut into groups:

1. The longer side of the box is divided into 64 cells. Groups of occupied cells without contact,
   corners included, are groups of items. A group whose own lattice is too large is cut again.
2. Pairs within a group are summed on the group's own lattice. Pairs of items in different groups
   are summed one by one, as are those of a group with fewer pairs than nodes.
3. A group that is too large but cannot be cut (for example, items along a diagonal) is summed pair
   by pair as well, as long as there are fewer than 4e9 such pairs in all.
4. Otherwise, the spacing of the group's lattice is doubled until it fits. If the groups have too
   many pairs with each other, there is one such lattice for all items. Then pairs at distances
   below a few times the new spacing are wrong; their distortion is still between the extremes
   of p.

The groups depend on the positions alone. Positions are in the units of the embedding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from skmde.core.kernels.lattice import Grid

MAX_PAIRS = 4_000_000_000  # that are summed one by one
_CELLS = 64
_LEVELS = 20  # of cuts; so many factors of 64 exceed the range of float32


class Group(NamedTuple):
    """Items that have a lattice of their own.

    Attributes
    ----------
    start, stop : int
        Range of the plan's order.
    factor : int
        Spacing of the lattice, relative to the usual one.
    """

    start: int
    stop: int
    factor: int


class Plan(NamedTuple):
    """How the pairs of items are summed.

    Attributes
    ----------
    order : array of shape (n,), int64
        The items, group by group.
    inverse : array of shape (n,), int64
        Position of each item in `order`.
    stops : array of shape (n,), int64
        The item at position k forms pairs that are summed one by one with all items from position
        ``stops[k]`` on; it increases with k.
    groups : list of Group
    """

    order: np.ndarray
    inverse: np.ndarray
    stops: np.ndarray
    groups: list[Group]


def bounded(X: np.ndarray) -> np.ndarray:
    """Finite positions, clipped so that their differences do not overflow."""
    limit = min(float(np.finfo(X.dtype).max) / 8, 1e150)
    return X.clip(-limit, limit)


def plan_groups(X: np.ndarray, grid: Grid) -> Plan:
    """Cut items into groups.

    Parameters
    ----------
    X : array of shape (n, 2)
        Positions, from `bounded`.
    grid : Grid
        Its limit on the number of nodes holds for each group.
    """
    n = len(X)
    X = X.astype(np.float64, copy=False)
    cut = _cut(X, np.arange(n), grid, 0)
    left = MAX_PAIRS - (_n_pairs(n) - sum(_n_pairs(len(items)) for items in cut))
    if left < 0:
        cut, left = [np.arange(n)], 0
    order = np.concatenate(cut)
    stops = np.arange(1, n + 1)
    groups = []
    start = 0
    for items in cut:
        stop, n_pairs = start + len(items), _n_pairs(len(items))
        n_nodes = grid.n_nodes(*_corners(X[items]))
        if n_pairs <= min(left, n_nodes):
            left -= n_pairs
        else:
            groups.append(Group(start, stop, _factor(X[items], grid)))
            stops[start:stop] = stop
        start = stop
    return Plan(order, np.argsort(order), stops, groups)


def grouped_energy(
    X: Any,
    charges: Any,
    plan: Plan,
    lattice_of: Callable[[int], Any],
    add_pairs: Callable[[Any, Any, np.ndarray], tuple[Any, Any]],
) -> tuple[Any, Any]:
    """The energy of charges, and its gradient; see ``lattice.py``.

    Parameters
    ----------
    X : array or tensor of shape (n, 2)
        Positions, from `bounded`.
    charges : array or tensor of shape (n,)
    plan : Plan
    lattice_of : callable
        Takes the factor of the spacing, and returns a lattice.
    add_pairs : callable
        Takes positions, charges and ``plan.stops``, and returns the exact energy of the pairs.
    """
    P, c = X[plan.order], charges[plan.order]
    value, gradient = add_pairs(P, c, plan.stops)
    for start, stop, factor in plan.groups:
        energy, part = lattice_of(factor).local_energy(P[start:stop], c[start:stop])
        value = value + energy
        gradient[start:stop] += part
    return value, gradient[plan.inverse]


def _n_pairs(n: int) -> int:
    return n * (n - 1) // 2


def _corners(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return P.min(axis=0), P.max(axis=0)


def _factor(P: np.ndarray, grid: Grid) -> int:
    """The least power of two by which the spacing must grow."""
    factor = 1
    while not grid.coarser(factor).fits(*_corners(P)):
        factor *= 2
    return factor


def _cut(X: np.ndarray, items: np.ndarray, grid: Grid, level: int) -> list[np.ndarray]:
    """Groups of items, each of which has a lattice that fits or cannot be cut."""
    P = X[items]
    low, high = _corners(P)
    if level == _LEVELS or grid.fits(low, high):
        return [items]
    cells = ((P - low) * (_CELLS / (high - low).max())).astype(np.int64)
    occupied = np.zeros((_CELLS + 1, _CELLS + 1), dtype=bool)
    occupied[cells[:, 0], cells[:, 1]] = True
    numbers, count = ndimage.label(occupied, structure=np.ones((3, 3)))
    if count == 1:
        return [items]
    own = numbers[cells[:, 0], cells[:, 1]]
    parts = np.split(items[np.argsort(own, kind="stable")], np.cumsum(np.bincount(own)[1:-1]))
    return [group for part in parts for group in _cut(X, part, grid, level + 1)]
