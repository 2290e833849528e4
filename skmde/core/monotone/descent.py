"""Quick descents to local minima of the squared stress, where there are few pairs.

The squared stress is that of ``stress.py`` for free disparities. For given ones, it is the sum of
squared residuals, divided by that of the squared disparities. It has no unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._linalg.frame import Unit
from skmde.core.monotone.numba_descent import descend
from skmde.core.monotone.regressions import Floats, Regression

_MAX_ITER, _LEAST_GAIN = 300, 1e-6  # most iterations, and relative gain in one that ends a descent
_NONE = np.empty(0)


class Descent:
    """A function from a starting point to the local minimum that it leads to.

    A descent is not precise. It takes time in proportion to the pairs, on one thread.

    Parameters
    ----------
    i, j : ndarray of shape (p,), int32
        The pairs.
    weights : ndarray of shape (p,), or None
        At least 0; None means that all are 1.
    regression : Regression, default=None
        An ordinal one, which gives the disparities.
    distances : ndarray of shape (p,), default=None
        The disparities, if they are given.
    """

    def __init__(
        self,
        i: Any,
        j: Any,
        weights: Any,
        *,
        regression: Regression | None = None,
        distances: Any = None,
    ) -> None:
        self._i, self._j, self._unit, self._total = i, j, Unit(), 0.0
        if regression is not None:
            self._i, self._j = i[regression.order], j[regression.order]
            self._levels, self._targets = regression.levels, np.empty(len(i))
            return
        w = _NONE
        if weights is not None:
            w = np.asarray(weights, np.float64)
            w = Unit.largest(w).inside(w)
        self._unit = Unit.largest(distances)
        self._targets = np.asarray(self._unit.inside(distances), np.float64)
        self._levels = w, np.empty(0, np.int64), _NONE, np.empty(0, np.intp)
        squares = self._targets**2
        self._total = float((w * squares if len(w) else squares).sum())

    def __call__(self, X: Floats) -> tuple[Floats, float]:
        """The embedding of shape (n_items, n_components), and its squared stress.

        `X` is not modified. Under a regression, the result has about its scale.
        """
        X = np.array(self._unit.inside(X), dtype=np.float64, order="C")
        pairs = self._i, self._j, self._levels, self._targets, self._total
        value, _ = descend(X, *pairs, _MAX_ITER, _LEAST_GAIN)
        return self._unit.outside(X), value
