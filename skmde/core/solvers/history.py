r"""The pairs of L-BFGS, and the search direction that they define (monograph, section 6.1.1).

The direction is V = -B^{-1} G. The matrix B^{-1} approximates the inverse Hessian. It is built from
the last M pairs

    s = X_+ - X,    y = G_+ - G,

where X and X_+ are successive iterates, and G and G_+ their projected gradients. s has the unit of
length of the embedding, y that of the gradient.

The two-loop recursion (Nocedal and Wright, algorithm 7.4) computes B^{-1} G in 4 M passes over
vectors of length n m; each pass waits for the one before it. The result is a linear combination of
G and the pairs, and the coefficients depend on inner products only. Two passes are therefore
enough: the first takes all inner products with the newest g and y, the second forms the combination
(Chen, Wang and Zhou, "Large-scale L-BFGS using MapReduce", 2014). Threads share both passes without
changing a bit of the result. On a GPU, all inner products are copied to the host at once.

The history has one slot more than the memory. It holds the pair of a trial ("staged") until the
line search accepts or rejects the trial.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skmde._linalg.reductions import add_multiple, dot
from skmde._utils.device import zeros
from skmde._utils.jit import jit
from skmde.core.checkpoints.saved import Saved, to_array, to_tensor
from skmde.core.kernels.backend import Backend


class CurvaturePairs:
    """The last `memory_size` pairs (s, y) and their inner products.

    Parameters
    ----------
    memory_size : int
        Number of pairs; at least 1.
    like : torch.Tensor of shape (n, m)
        A tensor with the length, dtype and device of the vectors.
    backend : Backend
        Computes the inner products and the combination.
    """

    def __init__(self, memory_size: int, like: torch.Tensor, backend: Backend) -> None:
        self.slots = memory_size + 1
        self.length = like.numel()
        self.backend = backend
        self._H = zeros((2 * self.slots, self.length), like)
        self._sy = np.zeros((self.slots, self.slots))  # s_a . y_b, for a not newer than b
        self._yy = np.zeros((self.slots, self.slots))
        self._sg = np.zeros(self.slots)
        self._yg = np.zeros(self.slots)
        self._eps = torch.finfo(like.dtype).eps
        self._pairs: list[int] = []  # slots in use, oldest first
        self._staged = 0

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Delete all pairs: the next direction is steepest descent."""
        self._pairs.clear()
        # A failed line search may have left a pair with NaN, and 0 times NaN is NaN.
        self._H.zero_()

    def state(self) -> Saved:
        """All that decides the directions that follow, as copies."""
        return {
            "vectors": to_array(self._H),
            "used": np.array(self._pairs, dtype=np.int64),
            "sy": self._sy.copy(),
            "yy": self._yy.copy(),
            "sg": self._sg.copy(),
            "yg": self._yg.copy(),
        }

    def resume(self, saved: Saved) -> None:
        """Go on from a state, which may have had fewer slots, because its solve was shorter."""
        old, new = len(saved["sg"]), self.slots
        vectors = to_tensor(saved["vectors"], self._H)
        self._H[:old], self._H[new : new + old] = vectors[:old], vectors[old:]
        self._sy[:old, :old], self._yy[:old, :old] = saved["sy"], saved["yy"]
        self._sg[:old], self._yg[:old] = saved["sg"], saved["yg"]
        self._pairs = saved["used"].tolist()

    def stage(
        self, X_new: torch.Tensor, X: torch.Tensor, G_new: torch.Tensor, G: torch.Tensor
    ) -> torch.Tensor:
        """Store the pair of the step from X to a trial in the free slot; take inner products.

        Returns
        -------
        dots : torch.Tensor of shape (2 * slots + 1, 2)
            Inner products of every s, then of every y, with `G_new` (first column) and with the
            staged y (second column). Both entries of the last row are the inner product of the
            staged s with itself. The tensor is on the device of the vectors.
        """
        self._staged = next(k for k in range(self.slots) if k not in self._pairs)
        row_s, row_y = self._H[self._staged], self._H[self.slots + self._staged]
        add_multiple(X_new.view(-1), X.view(-1), -1.0, out=row_s)
        add_multiple(G_new.view(-1), G.view(-1), -1.0, out=row_y)
        g, y = G_new.view(-1), row_y
        ss = dot(row_s, row_s).expand(1, 2)
        dots = self.backend.history_dots(self._H, g, y)
        return torch.cat([dots, ss.to(dots)])

    def accept(self, dots: np.ndarray) -> bool:
        """Keep the staged pair if its curvature s^T y is positive beyond rounding error.

        Without positive curvature, the matrix would not be positive definite. `dots` is the result
        of `stage`, on the host. Returns whether the pair was kept.
        """
        new, slots = self._staged, self.slots
        dots, ss = dots[:-1], dots[-1, 0]
        self._sg[:], self._yg[:] = dots[:slots, 0], dots[slots:, 0]
        sy, yy = dots[new, 1], dots[slots + new, 1]
        if not sy > self._eps * np.sqrt(ss) * np.sqrt(yy):
            return False
        self._sy[:, new] = dots[:slots, 1]
        self._yy[:, new] = self._yy[new, :] = dots[slots:, 1]
        if len(self._pairs) == slots - 1:
            self._pairs.pop(0)
        self._pairs.append(new)
        return True

    @property
    def rate(self) -> float | None:
        """s^T y / y^T y of the newest pair: length of a step along -G; None without pairs."""
        if not self._pairs:
            return None
        newest = self._pairs[-1]
        return float(self._sy[newest, newest] / self._yy[newest, newest])

    def inner_products(self, G: torch.Tensor) -> torch.Tensor:
        """Inner products of every s, then of every y, with another G; shape (2 * slots, 2)."""
        return self.backend.history_dots(self._H, G.view(-1), G.view(-1))

    def turn_to(self, dots: np.ndarray) -> None:
        """Make the next direction that of another G. `dots` is `inner_products`, on the host."""
        self._sg[:], self._yg[:] = dots[: self.slots, 0], dots[self.slots :, 0]

    def direction(self, G: torch.Tensor, squared_norm: float) -> tuple[torch.Tensor, float]:
        """The quasi-Newton direction V = -B^{-1} G, and tr(G^T V)."""
        g = G.view(-1)
        if not self._pairs:
            return -G, -squared_norm
        coefficients = np.zeros(2 * self.slots)
        used = np.array(self._pairs)  # inner products of the free slot are stale, and may be NaN
        with np.errstate(all="ignore"):  # after an overflow, the caller rejects the direction
            a, b, gamma = _coefficients(used, self._sy, self._yy, self._sg, self._yg)
            slope = -(a[used] @ self._sg[used] + b[used] @ self._yg[used] + gamma * squared_norm)
        coefficients[: self.slots], coefficients[self.slots :] = -a, -b
        V = self.backend.combine(self._H, coefficients, g, -gamma)
        return V.view_as(G), float(slope)


@jit()
def _coefficients(pairs: Any, sy: Any, yy: Any, sg: Any, yg: Any) -> Any:
    """Coefficients of B^{-1} g = ``a @ S + b @ Y + gamma * g``, by the two-loop recursion.

    Parameters
    ----------
    pairs : array of int
        Slots in use, oldest first.
    sy, yy : array of shape (slots, slots)
        Inner products of the pairs.
    sg, yg : array of shape (slots,)
        Inner products of the pairs with g.

    Returns
    -------
    a, b : array of shape (slots,)
        0 for the slots that are not in use.
    gamma : float
    """
    count, newest = len(pairs), pairs[-1]
    gamma = sy[newest, newest] / yy[newest, newest]
    alpha, a = np.zeros(len(sg)), np.zeros(len(sg))
    for k in range(count - 1, -1, -1):
        p = pairs[k]
        rest = sg[p]
        for later in pairs[k + 1 :]:
            rest -= sy[p, later] * alpha[later]
        alpha[p] = rest / sy[p, p]
    for k in range(count):
        p = pairs[k]
        z = yg[p]
        for q in pairs:
            z -= yy[p, q] * alpha[q]
        z *= gamma
        for earlier in pairs[:k]:
            z += sy[earlier, p] * a[earlier]
        a[p] = alpha[p] - z / sy[p, p]
    return a, -gamma * alpha, gamma
