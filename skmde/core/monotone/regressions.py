r"""Regressions of embedding distances on original distances.

The *disparities* :math:`\hat d` are the numbers nearest to the embedding distances d, in the sense
of sum w (d - \hat d)^2, among those that are an admissible function of the original distances
delta. The functions of each kind form a closed convex cone:

- ordinal: all functions that do not decrease. Pairs of equal delta ("ties") may have different
  disparities in the primary approach, and have one in the secondary approach.
- interval: a + b delta with b >= 0, and at least 0 for the smallest delta.
- ratio: b delta with b >= 0.

So the disparities are a projection, and the residual sum of squares is a differentiable function of
d (``stress.py``). Distances are in units of the embedding, original distances in their own.

References
----------
J. B. Kruskal, "Nonmetric multidimensional scaling: a numerical method", Psychometrika 29, 1964.
I. Borg and P. Groenen, *Modern Multidimensional Scaling*, 2nd edition, 2005: chapter 9.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from skmde._linalg.frame import Unit
from skmde.core.monotone import numba_stress

Floats = NDArray[np.float64]

ORDINAL, INTERVAL, RATIO = "ordinal", "interval", "ratio"
_DIMENSION = 6  # of the normal points whose distances are the first guess; 3 to 20 are as good


class Regression(ABC):
    """A kind of function of the original distances of some pairs.

    Attributes
    ----------
    order : ndarray of shape (p,), int, or None
        Order of the pairs that `__call__` and `curve` take: positions in the caller's list. None
        means that the order is the same.
    levels : tuple of ndarray, or None
        For "ordinal", what the compiled regression needs; see ``numba_stress.disparities``.
    """

    order: NDArray[Any] | None = None
    levels: tuple[Any, ...] | None = None

    @abstractmethod
    def __call__(self, d: Floats) -> Floats:
        """Disparities for some embedding distances, both in the order of the regression."""

    @abstractmethod
    def curve(self, d: Floats) -> Curve:
        """The function that gives these disparities, for further pairs."""

    @property
    @abstractmethod
    def guess(self) -> Floats:
        """Disparities before there is an embedding, with root mean square 1; caller's order."""


class Curve(ABC):
    """A fitted function from original distances to disparities."""

    @abstractmethod
    def __call__(self, delta: Any) -> Floats:
        """Disparities of original distances; not finite where these are not."""

    @abstractmethod
    def scaled(self, factor: float) -> Curve:
        """The function times a factor."""


class Steps(Curve):
    """A function that is constant on stretches of original distances.

    Between two stretches it is the mean of both, and beyond the outermost ones it is constant. So
    it depends on the order of original distances alone.

    Parameters
    ----------
    lows, highs : ndarray of shape (k,)
        Smallest and largest original distance of each stretch, in ascending order.
    values : ndarray of shape (k,)
        Its disparity.
    """

    def __init__(self, lows: Floats, highs: Floats, values: Floats) -> None:
        self.lows, self.highs, self.values = lows, highs, values

    def __call__(self, delta: Any) -> Floats:
        delta = np.asarray(delta, dtype=np.float64)
        most = len(self.values) - 1
        above = np.searchsorted(self.lows, delta, side="right") - 1  # last low <= delta
        below = np.searchsorted(self.highs, delta, side="left")  # first high >= delta
        ends = self.values[above.clip(0, most)], self.values[below.clip(0, most)]
        found: Floats = np.where(np.isfinite(delta), (ends[0] + ends[1]) / 2, delta)
        return found

    def scaled(self, factor: float) -> Steps:
        return Steps(self.lows, self.highs, factor * self.values)


class Line(Curve):
    """The function a + b delta, and 0 where that is negative.

    Parameters
    ----------
    intercept, slope : float
    """

    def __init__(self, intercept: float, slope: float) -> None:
        self.intercept, self.slope = intercept, slope

    def __call__(self, delta: Any) -> Floats:
        delta = np.asarray(delta, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            values = np.maximum(self.intercept + self.slope * delta, 0.0)
        found: Floats = np.where(np.isfinite(delta), values, delta)
        return found

    def scaled(self, factor: float) -> Line:
        return Line(factor * self.intercept, factor * self.slope)


def regression(kind: str, delta: Any, weights: Any = None, ties: str = "primary") -> Regression:
    """The regression of a kind.

    Parameters
    ----------
    kind : {"ordinal", "interval", "ratio"}
    delta : ndarray of shape (p,)
        Original distances: finite.
    weights : ndarray of shape (p,), default=None
        None means that all are 1.
    ties : {"primary", "secondary"}, default="primary"
        For "ordinal": whether pairs of equal delta may have different disparities.
    """
    if kind == ORDINAL:
        return Isotonic(delta, weights, ties)
    return Linear(delta, weights, with_intercept=kind == INTERVAL)


class Isotonic(Regression):
    """Isotonic regression: the disparities do not decrease; see `regression`."""

    order: NDArray[Any]

    def __init__(self, delta: Any, weights: Any = None, ties: str = "primary") -> None:
        self.order = np.argsort(delta, kind="stable")
        self._levels = np.asarray(delta)[self.order]
        p = len(delta)
        starts = np.flatnonzero(self._levels[1:] > self._levels[:-1]) + 1
        self.bounds = np.concatenate([[0], starts, [p]]).astype(np.int64)
        self.n_levels = len(self.bounds) - 1
        self._weights = np.empty(0)
        if weights is not None:
            self._weights = np.asarray(weights, dtype=np.float64)[self.order]
        ranks, mass = np.empty(0, np.intp), np.empty(0)
        if self.n_levels < p and ties == "primary":
            ranks = np.arange(p)
        elif self.n_levels < p:
            w = self._weights if len(self._weights) else np.ones(p)
            mass = np.add.reduceat(w, self.bounds[:-1])
        self.levels = self._weights, self.bounds, mass, ranks
        self._out, self._blocks = np.empty(p), (np.empty(p), np.empty(p), np.empty(p, np.int64))

    def __call__(self, d: Floats) -> Floats:
        numba_stress.disparities(d, self.levels, self._out, self._blocks)
        return self._out

    def curve(self, d: Floats) -> Steps:
        means = np.empty(self.n_levels)
        numba_stress.means_within(self.bounds, self(d), self._weights, means)
        new = np.concatenate([[0], np.flatnonzero(np.diff(means)) + 1])
        ends = np.concatenate([new[1:], [self.n_levels]]) - 1
        levels = self._levels[self.bounds[:-1]].astype(np.float64)
        return Steps(levels[new], levels[ends], means[new])

    @property
    def guess(self) -> Floats:
        # Quantiles of the distances of normal points, at the mean rank of each level. They are the
        # same for all functions of the original distances that increase.
        ranks = (self.bounds[:-1] + self.bounds[1:]) / (2 * len(self.order))
        quantiles = np.sqrt(gammaincinv(_DIMENSION / 2, ranks))
        found = np.empty(len(self.order))
        found[self.order] = np.repeat(quantiles, np.diff(self.bounds))
        return found / np.sqrt(np.mean(found**2))


class Linear(Regression):
    """Regression by a straight line that does not fall and is at least 0; see `regression`."""

    def __init__(self, delta: Any, weights: Any = None, *, with_intercept: bool = False) -> None:
        delta = np.asarray(delta, dtype=np.float64)
        self._unit = Unit.largest(delta)
        delta = self._unit.inside(delta)
        self._low = float(delta.min()) if with_intercept else 0.0
        self._rises = delta - self._low  # spans the cone, with the constant
        self._w = np.ones(len(delta)) if weights is None else np.asarray(weights, np.float64)
        self._with_intercept = with_intercept

    def _coefficients(self, d: Floats) -> tuple[float, float]:
        """Coefficients of the constant 1 and of the rise: both at least 0."""
        w, x = self._w, self._rises
        x_y, x_x = float((w * x * d).sum()), float((w * x * x).sum())
        if not self._with_intercept:
            return 0.0, x_y / x_x if x_x > 0 else 0.0
        y, one, x_1 = float((w * d).sum()), float(w.sum()), float((w * x).sum())
        determinant = one * x_x - x_1 * x_1
        if determinant > 1e-14 * one * x_x:
            a, b = (x_x * y - x_1 * x_y) / determinant, (one * x_y - x_1 * y) / determinant
            if a >= 0 and b >= 0:
                return a, b
        # On the boundary of the cone, one of the two is 0: the better one is kept.
        if x_x > 0 and x_y * x_y * one > y * y * x_x:
            return 0.0, x_y / x_x
        return y / one, 0.0

    def __call__(self, d: Floats) -> Floats:
        a, b = self._coefficients(d)
        found: Floats = a + b * self._rises
        return found

    def curve(self, d: Floats) -> Line:
        a, b = self._coefficients(d)
        return Line(a - b * self._low, b / self._unit.size)

    @property
    def guess(self) -> Floats:
        delta = self._rises + self._low
        size = np.sqrt(np.mean(delta**2))
        return delta / size if size > 0 else np.ones(len(delta))
