"""The MDE problem whose original distances are known up to a monotone function.

The average distortion is replaced by the squared stress with free disparities (``stress.py``); the
pairs, constraint sets, starting points and the solver are those of :class:`~skmde.core.problem.MDE`
(monograph, sections 2.3 and 6.1). Distances are in units of the embedding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skmde._utils.threads import count_threads
from skmde.constraints import Constraint
from skmde.core.kernels.backend import choose_backend
from skmde.core.monotone.regressions import Curve, Floats, Regression
from skmde.core.monotone.stress import StressTerm
from skmde.core.objectives.total import Total
from skmde.core.problem import MDE
from skmde.core.solvers.scale import Scale


class MonotoneMDE(MDE):
    """An embedding of least stress, for disparities of some kind.

    Parameters
    ----------
    n_items, n_components : int
    edges : ndarray of shape (p, 2), or None
        The pairs; None means all pairs.
    regression : Regression
        Of the pairs, in the same order.
    constraint : Constraint
    weights : ndarray of shape (p,), default=None
        At least 0.
    n_jobs : int, default=None
        Maximum number of threads. The result does not depend on it.

    Notes
    -----
    The problem is solved on the CPU, in float64. ``value`` is the squared stress, which has no
    unit. A multiple of an embedding has the same value, so if the constraint does not fix the
    scale, it is that of the starting point.
    """

    def __init__(
        self,
        n_items: int,
        n_components: int,
        edges: Any,
        regression: Regression,
        constraint: Constraint,
        *,
        weights: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.regression = regression
        weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        guess = regression.guess
        super().__init__(
            n_items,
            n_components,
            edges,
            "squared",
            constraint,
            weights=weights,
            deviations=guess,
            n_jobs=n_jobs,
        )
        self._groups = None  # of pairs that are stiffer than others; here none is
        # Edges are stored in another order than the caller's, which is that of the regression.
        i, j = pair_indices(edges, n_items)
        self._term = StressTerm(i, j, weights, regression, count_threads(n_jobs))
        self._length = 1.0

    def embed_from(self, start: Floats, **options: Any) -> Floats:
        """The embedding from a starting point; see :meth:`skmde.MDE.embed`.

        Parameters
        ----------
        start : ndarray of shape (n_items, n_components), float64
            If nothing fixes the scale, the result has about its scale.
        **options : dict
            As for `embed`.

        Returns
        -------
        X : ndarray of shape (n_items, n_components)
        """
        # A pair's distance is about sqrt(2) times the distance from the mean.
        X = self.constraint.project(torch.from_numpy(start)).numpy()
        size = float(np.sqrt(2 * np.square(X - X.mean(axis=0)).sum(axis=1).mean()))
        self._length = size if 0 < size < np.inf else 1.0
        found: Floats = self.embed(start, **options).numpy()
        return found

    def _objective(self, dtype: torch.dtype) -> Total:
        return Total([self._term], choose_backend(self.device, count_threads(self.n_jobs)))

    def _scale(self) -> Scale:
        return Scale(1.0, self._length, 1.0 / self._length**2)

    def fitted(self, X: Any) -> tuple[Floats, Floats, Curve]:
        """Embedding distances and disparities at an embedding, and the function that gives them.

        Parameters
        ----------
        X : ndarray of shape (n_items, n_components)

        Returns
        -------
        distances, disparities : ndarray of shape (p,)
            In the caller's order.
        curve : Curve
        """
        d = self._term.distances(np.ascontiguousarray(X, dtype=np.float64))
        targets, curve = self.regression(d).copy(), self.regression.curve(d)
        order = self.regression.order
        if order is None:
            return d.copy(), targets, curve
        both = np.empty((2, len(d)))
        both[:, order] = d, targets
        return both[0], both[1], curve


def pair_indices(edges: Any, n_items: int) -> tuple[Any, Any]:
    """The items of each pair, int32; all pairs if `edges` is None."""
    if edges is None:
        i, j = np.triu_indices(n_items, 1)
        return i.astype(np.int32), j.astype(np.int32)
    i, j = np.ascontiguousarray(np.asarray(edges, dtype=np.int32).T)
    return i, j
