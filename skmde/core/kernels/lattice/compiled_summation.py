"""Sums of a penalty over all pairs by compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skmde._linalg.reductions import bounding_box
from skmde._utils.ranks.group import Ranks
from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.kernels import numba_maps
from skmde.core.kernels.lattice import numba_near
from skmde.core.kernels.lattice.convolution import Lattice
from skmde.core.kernels.lattice.layouts import Layout, Layouts
from skmde.core.kernels.lattice.softening import softened_values
from skmde.core.kernels.lattice.summation import Summation
from skmde.functions.base import Penalty

_PIECES = 32


class CompiledSummation(Summation):
    """Sums by compiled loops; see the base class.

    Parameters
    ----------
    penalty, layouts, charges
        As in the base class; the penalty is built in.
    add_pairs : callable, optional
        Takes positions, charges and ``Pairs.stops``, and returns the exact energy of the pairs.
        Needed for `energy` only.
    n_threads : int
        The results do not depend on it.
    ranks : Ranks, optional
        They share the close pairs, too.
    """

    def __init__(
        self,
        penalty: Penalty,
        layouts: Layouts,
        charges: np.ndarray,
        add_pairs: Callable[[Any, Any, np.ndarray], tuple[float, np.ndarray]] | None = None,
        n_threads: int = 1,
        ranks: Ranks | None = None,
    ) -> None:
        super().__init__(penalty, layouts, charges, ranks)
        kernel = penalty.kernel_parameters()
        assert kernel is not None
        self._kind, self._params = kernel[0], np.array(kernel[1:])
        self._add_pairs, self._n_threads = add_pairs, n_threads

    def lattice(self, layout: Layout) -> Lattice:
        values = softened_values(self.softening(layout), self._values)
        return Lattice(values, layout.grid, self._n_threads)

    def _values(self, squares: np.ndarray) -> np.ndarray:
        return np.asarray(numba_maps.values_at(self._kind, self._params, squares))

    def pairs(
        self, X: np.ndarray, charges: np.ndarray, stops: np.ndarray
    ) -> tuple[float, np.ndarray]:
        assert self._add_pairs is not None
        return self._add_pairs(X, charges, stops)

    def cores(self, X: np.ndarray, charges: np.ndarray, layout: Layout) -> tuple[float, np.ndarray]:
        soft = self.softening(layout)
        assert soft is not None
        # the square of the radius must be within the range of the dtype
        is_usual = 1e-15 < layout.radius < 1e15
        dtype = np.dtype((layout.grid.dtype or X.dtype) if is_usual else np.float64)
        cells = Cells(X.astype(dtype, copy=False), layout.radius)
        P, c = cells.points, charges[cells.order].astype(dtype, copy=False)
        G = np.zeros_like(P)
        params, coefficients = self._params.astype(dtype), np.array(soft.coefficients, dtype)
        radius, table = dtype.type(layout.radius), (cells.cells, cells.starts, cells.shape)

        def add(first: int, last: int) -> float:
            return float(
                numba_near.add_near_pairs(
                    self._kind, params, coefficients, radius, P, c, *table, first, last, G
                )
            )

        # number of items in the planes before each one
        cells_before = cells.starts[:: cells.shape[1] * cells.shape[2]]
        pieces = even_pieces(0, cells.shape[0], min(_PIECES, cells.shape[0]))
        ranks, count = self._ranks if len(pieces) > 1 else None, len(pieces)
        mine = slice(0, count) if ranks is None else ranks.share(count)
        values = np.zeros(count)
        # A piece adds to items of the next one, so a rank needs the piece before its own.
        first = max(mine.start - 1, 0)
        for parity in (0, 1):
            run = slice(first + (first + parity) % 2, mine.stop, 2)
            values[run] = run_pieces(add, pieces[run], self._n_threads)
        if ranks is not None:
            ranks.fill(values, ranks.bounds(count))
            ends = [0, *(int(cells_before[last]) for _, last in pieces)]
            ranks.fill(G, [ends[k] for k in ranks.bounds(count)])
        total = sum(values[0::2].tolist()) + sum(values[1::2].tolist())
        gradient = np.empty_like(X)
        gradient[cells.order] = G
        return total, gradient

    def zeros(self, X: np.ndarray) -> np.ndarray:
        return np.zeros(X.shape)

    @staticmethod
    def corners(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return bounding_box(X)

    @staticmethod
    def host(X: np.ndarray) -> np.ndarray:
        return X

    @staticmethod
    def like(P: np.ndarray, X: np.ndarray) -> np.ndarray:
        return P


class Cells:
    """Points sorted into cells.

    Parameters
    ----------
    X : array of shape (n, m)
        Positions, m = 2 or 3.
    side : float
        Side of a cell.

    Attributes
    ----------
    order : array of shape (n,), int64
    points : array of shape (n, m)
        In that order.
    low : array of shape (m,)
        Corner of the first cell.
    shape : tuple of 3 int
        Numbers of planes, rows and columns; one row in two dimensions.
    cells, starts : arrays
        See ``numba_near.sort_by_cell``.
    """

    def __init__(self, X: np.ndarray, side: float) -> None:
        self.low, high = (corner.astype(np.float64) for corner in bounding_box(X))
        sides = [int(x) + 1 for x in (high - self.low) / side]
        self.shape = (sides[0], 1 if len(sides) == 2 else sides[1], sides[-1])
        self.cells = np.empty(len(X), np.int64)
        self.starts = np.empty(int(np.prod(self.shape)) + 1, np.int64)
        self.order = numba_near.sort_by_cell(
            X, self.low, float(side), self.shape, self.cells, self.starts
        )
        self.points = np.ascontiguousarray(X[self.order])
