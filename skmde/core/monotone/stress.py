r"""Kruskal's stress with free disparities, as a term of an objective.

    S^2(X) = sum_k w_k (d_k - \hat d_k)^2 / sum_k w_k d_k^2,

where d_k are the embedding distances and \hat d_k the disparities, the projection of d onto a
convex cone (``regressions.py``). By the theorem of the envelope, the derivative of the minimum over
the disparities is that with fixed disparities. So S^2 is a differentiable function of X alone,

    grad S^2 = 2 / D A C A^T X,    C = diag(w_k (1 - \hat d_k / d_k - S^2)),    D = sum_k w_k d_k^2,

with A the incidence matrix of the pairs, and a solver needs no alternation between the embedding
and the disparities. S^2 has no unit, and does not change if X is multiplied by a number.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.kernels.numba_edges import collect
from skmde.core.monotone import numba_stress
from skmde.core.monotone.regressions import Floats, Regression

_PAIRS_PER_PIECE = 1 << 16
_MAX_PIECES = 16


class StressTerm:
    """The squared stress of pairs with free disparities; evaluated on the CPU, in float64.

    Parameters
    ----------
    i, j : ndarray of shape (p,), int32
        The pairs, in the caller's order.
    weights : ndarray of shape (p,), or None
        At least 0; None means that all are 1.
    regression : Regression
        Gives the disparities.
    n_threads : int
        The result does not depend on it.
    """

    def __init__(
        self, i: Any, j: Any, weights: Any, regression: Regression, n_threads: int = 1
    ) -> None:
        order = slice(None) if regression.order is None else regression.order
        self._i, self._j = i[order], j[order]
        self._w = np.empty(0) if weights is None else np.asarray(weights, np.float64)[order]
        self._regression = regression
        self._n_threads = n_threads
        p = len(self._i)
        self._d = np.empty(p)
        self._slope = np.empty(p)
        self._pieces = even_pieces(0, p, min(_MAX_PIECES, -(-p // _PAIRS_PER_PIECE)))

    def distances(self, X: Floats) -> Floats:
        """Embedding distances, in the order of the regression; the next call overwrites them."""

        def some(start: int, stop: int) -> None:
            own = slice(start, stop)
            numba_stress.distances(X, self._i[own], self._j[own], self._d[own])

        run_pieces(some, self._pieces, self._n_threads)
        return self._d

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float, torch.Tensor]:
        """Squared stress at `X`, shape (n_items, n_components), and its gradient.

        If all items coincide, the value is 1, the largest there is, and the gradient is 0.
        """
        x = np.ascontiguousarray(X.detach().cpu().numpy(), dtype=np.float64)
        with np.errstate(all="ignore"):
            d = self.distances(x)
            targets = self._regression(d)
        parts = run_pieces(partial(self._sums, d, targets), self._pieces, self._n_threads)
        errors, squares = (sum(column) for column in zip(*parts, strict=True))
        if not squares > 0:
            value = 1.0 if squares == 0 else float("nan")
            return value, torch.zeros_like(X)
        value = errors / squares
        G = np.zeros((len(self._pieces), x.size))

        def forces(number: int, start: int, stop: int) -> None:
            own = slice(start, stop)
            known = self._i[own], self._j[own], d[own], targets[own], self._weights_of(own)
            g = G[number].reshape(x.shape)
            numba_stress.add_forces(x, *known, value, self._slope[own], g)

        run_pieces(forces, [(k, *piece) for k, piece in enumerate(self._pieces)], self._n_threads)
        gradient = np.empty(x.size)
        collect(G, 2.0 / squares, 0, x.size, gradient)
        return value, torch.from_numpy(gradient.reshape(x.shape)).to(X)

    def _weights_of(self, own: slice) -> Floats:
        return self._w[own] if len(self._w) else self._w

    def _sums(self, d: Floats, targets: Floats, start: int, stop: int) -> tuple[float, float]:
        own = slice(start, stop)
        found = numba_stress.sums_of_squares(d[own], targets[own], self._weights_of(own))
        return float(found[0]), float(found[1])
