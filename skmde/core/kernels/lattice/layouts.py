"""The choice of a lattice for a set of items.

A penalty that is smooth everywhere may be summed on a lattice whose spacing is a fraction of the
length on which the penalty varies. A penalty that is smooth but for its core may be split at any
radius (``softening.py``): a large radius needs few nodes but leaves many pairs, which are summed
one by one. The layout with the least work is chosen. The choice depends on the positions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skmde.core.kernels.lattice.convolution import Accuracy, Grid
from skmde.functions.base import Penalty

_ENOUGH = 16  # nodes for each item; the choice is not worth its time for fewer
_MOST, _MOST_PER_ITEM = 1 << 22, 64  # nodes of a penalty that is split: the larger one
_NODES_PER_PAIR = 4.0  # that take as much time as a pair
# Pairs in a cell whose side is the radius, relative to half the square of the number of items
# there: areas of the circle and of the cell, or volumes.
_NEIGHBORS = {2: np.pi, 3: 4.2}
COARSE = Accuracy(5, 1.0, np.float64, 1 << 24, core=8, order=5)


class Layout(NamedTuple):
    """How the pairs of a set of items are summed.

    Attributes
    ----------
    grid : Grid
    radius : float
        Pairs closer than this are corrected one by one; 0 means that no pair is.
    order : int
        Degree of the polynomial of the soft part.
    """

    grid: Grid
    radius: float = 0.0
    order: int = 0


class Layouts:
    """The layouts for a penalty.

    Parameters
    ----------
    penalty : Penalty
    accuracy : Accuracy

    Attributes
    ----------
    plain : Grid or None
        The lattice for the penalty itself, if it is smooth.
    """

    def __init__(self, penalty: Penalty, accuracy: Accuracy) -> None:
        length = penalty.smooth_length
        self.plain = None if length is None else accuracy.grid(length)
        self._accuracy, self._splits = accuracy, penalty.smooth_outside_core
        self._unit = accuracy.grid(length or 1.0).spacing

    @staticmethod
    def exist(penalty: Penalty) -> bool:
        """Whether a penalty can be summed on a lattice."""
        return penalty.smooth_length is not None or penalty.smooth_outside_core

    def best(
        self,
        X: Any,
        low: np.ndarray,
        high: np.ndarray,
        host: Callable[[Any], np.ndarray] = np.asarray,
        enough: float = _ENOUGH,
    ) -> tuple[Layout | None, float]:
        """The layout with the least work.

        Parameters
        ----------
        X : array or tensor of shape (n, m)
            Positions, m = 2 or 3.
        low, high : array of shape (m,)
            Corners of a box that contains all positions.
        host : callable
            Takes `X`, and returns an array of numpy.
        enough : float
            Nodes for each item, for fewer of which there is no choice.

        Returns
        -------
        layout : Layout or None
            None if no lattice is small enough.
        work : float
            In units of the work for a node; infinity without a layout.
        """
        best: tuple[Layout | None, float] = None, np.inf
        if self.plain is not None:
            n_nodes = self.plain.n_nodes(low, high)
            if np.isfinite(n_nodes):
                best = Layout(self.plain), n_nodes
            if n_nodes < np.inf and n_nodes <= enough * len(X):
                return best
        if self._splits:
            corners = low.astype(np.float64), high.astype(np.float64)
            for layout, work in self._split(host(X), *corners):
                if work < best[1]:
                    best = layout, work
        return best

    def _split(
        self, X: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> list[tuple[Layout, float]]:
        """Layouts of growing radius, and their work."""
        accuracy, core = self._accuracy, self._accuracy.core
        with np.errstate(over="ignore"):
            extent = float((high - low).max())
        if not 0 < extent < np.inf:
            return []
        limit = min(accuracy.max_nodes, max(_MOST, _MOST_PER_ITEM * len(X)))
        last = int(np.ceil(np.log2(extent / core / self._unit)))
        first = last + 1
        least = last - 40 if self.plain is None else 1
        sizes = {}
        while first > least:
            grid = accuracy.grid_of(self._unit * 2.0 ** (first - 1))
            n_nodes = grid.n_nodes(low, high)
            if n_nodes > limit:
                break
            first -= 1
            sizes[first] = grid, n_nodes
        layouts: list[tuple[Layout, float]] = []
        if not sizes:
            return layouts
        counts = _cell_counts(X, low, high, core * sizes[first][0].spacing)
        for k in range(first, last + 1):
            grid, n_nodes = sizes[k]
            pairs = 0.5 * _NEIGHBORS[X.shape[1]] * float((counts.astype(np.float64) ** 2).sum())
            work = n_nodes + _NODES_PER_PAIR * pairs
            layouts.append((Layout(grid, core * grid.spacing, accuracy.order), work))
            counts = _merged(counts)
        return layouts

    def coarse(self, gap: float) -> Layout:
        """A layout for pairs farther apart than a gap; closer ones are not corrected."""
        spacing = self._unit * 2.0 ** np.floor(np.log2(gap / COARSE.core / self._unit))
        grid = COARSE.grid_of(float(spacing))
        return Layout(grid, COARSE.core * grid.spacing, COARSE.order)


def _cell_counts(X: np.ndarray, low: np.ndarray, high: np.ndarray, side: float) -> np.ndarray:
    """Numbers of items in the cells of a box."""
    shape = tuple(int(x) + 1 for x in (high - low) / side)
    cells = np.zeros(len(X), dtype=np.int64)
    for axis, length in enumerate(shape):
        own = ((X[:, axis] - low[axis]) / side).astype(np.int64)
        cells = cells * length + own.clip(0, length - 1)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def _merged(counts: np.ndarray) -> np.ndarray:
    """Numbers of items in cells of twice the side."""
    for axis in range(counts.ndim):
        counts = np.add.reduceat(counts, np.arange(0, counts.shape[axis], 2), axis=axis)
    return counts
