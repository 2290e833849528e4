"""Sums of a penalty over all pairs of items, by lattices, close pairs and far groups.

The steps are the same for the compiled loops and for torch; a subclass has the operations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any

import numpy as np

from skmde._utils.ranks.group import Ranks
from skmde.core.kernels.lattice.layouts import Layout, Layouts
from skmde.core.kernels.lattice.plan import Plan, bounded, enough_work
from skmde.core.kernels.lattice.softening import Softening
from skmde.functions.base import Penalty


class Summation(ABC):
    """Sums of a penalty over all pairs.

    Parameters
    ----------
    penalty : Penalty
        One for which layouts exist.
    layouts : Layouts
    charges : array or tensor of shape (n,)
        Factors of the items in the weights of pairs.
    ranks : Ranks, optional
        They share the charges on a lattice of all items.
    """

    def __init__(
        self, penalty: Penalty, layouts: Layouts, charges: Any, ranks: Ranks | None = None
    ) -> None:
        self.penalty, self.layouts, self.charges = penalty, layouts, charges
        self._ranks = ranks
        self._lattice_of = cache(self.lattice)
        self._softening_of = cache(self._softening)

    def choice(self, X: Any, low: np.ndarray, high: np.ndarray) -> tuple[Layout | None, float]:
        """The layout for positions in a box, and its work; see `Layouts.best`."""
        return self.layouts.best(X, low, high, self.host)

    @abstractmethod
    def lattice(self, layout: Layout) -> Any:
        """The lattice of a layout."""

    @abstractmethod
    def cores(self, X: Any, charges: Any, layout: Layout) -> tuple[Any, Any]:
        """Energy, and its gradient, of the cores of close pairs."""

    @abstractmethod
    def pairs(self, X: Any, charges: Any, stops: np.ndarray) -> tuple[Any, Any]:
        """Exact energy, and its gradient, of the pairs (i, j) with ``j >= stops[i]``."""

    @abstractmethod
    def zeros(self, X: Any) -> Any:
        """A gradient for float64 sums."""

    @staticmethod
    @abstractmethod
    def corners(X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the box of the rows of `X`."""

    @staticmethod
    @abstractmethod
    def host(X: Any) -> np.ndarray:
        """The positions in an array of numpy."""

    @staticmethod
    @abstractmethod
    def like(P: np.ndarray, X: Any) -> Any:
        """The positions in an array of the kind of `X`."""

    def softening(self, layout: Layout) -> Softening | None:
        """The soft part of the penalty in a layout; None if it is the penalty itself."""
        return self._softening_of(layout.radius, layout.order) if layout.radius else None

    def _softening(self, radius: float, order: int) -> Softening:
        return Softening.of(self.penalty, radius, order)

    def energy(self, X: Any) -> tuple[Any, Any] | None:
        """The energy and its gradient, for positions of shape (n, m), m = 2 or 3.

        Returns
        -------
        (value, gradient) or None
            None if positions are not finite.
        """
        low, high = self.corners(X)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            return None
        layout, work = self.choice(X, low, high)
        if layout is None or work > enough_work(len(X)):
            return self._planned(X)
        value, gradient = self._lattice_of(layout).energy(X, self.charges, low, high, self._ranks)
        if layout.radius:
            energy, part = self.cores(X, self.charges, layout)
            value, gradient = value + energy, gradient + part
        return value, gradient

    def _planned(self, X: Any) -> tuple[Any, Any]:
        positions = bounded(self.host(X))
        plan = Plan(positions, self.layouts)
        P, c = self.like(positions, X)[plan.order], self.charges[plan.order]
        value, gradient = 0.0, self.zeros(X)
        for start, stop, stops in plan.pairs:
            energy, part = self.pairs(P[start:stop], c[start:stop], stops)
            value = value + energy
            gradient[start:stop] += part
        for start, stop, layout, sign, is_own in plan.lattices:
            own, charges = P[start:stop], c[start:stop]
            energy, part = self._lattice_of(layout).local_energy(own, charges)
            value = value + sign * energy
            gradient[start:stop] += sign * part
            if is_own and layout.radius:
                energy, part = self.cores(own, charges, layout)
                value = value + energy
                gradient[start:stop] += part
        return value, gradient[plan.inverse]
