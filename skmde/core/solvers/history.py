r"""Limited-memory inverse Hessian, in terms of inner products.

The two-loop recursion (Nocedal and Wright, algorithm 7.4) multiplies a gradient g by

    B^{-1} built from the last M pairs  s = X_+ - X,  y = G_+ - G,

with 4 M passes over vectors of length n m, each waiting for the one before it. Its result lies
in the span of the pairs and g, and its coefficients depend on inner products alone. So two
passes do: one that takes all inner products with g and y, one that forms the combination
(Chen, Wang and Zhou, "Large-scale L-BFGS using MapReduce", 2014). Both are shared by threads
without changing a bit, and on another device all numbers cross to the host at once.

One row more than the memory is kept, so that a trial's pair can be staged and measured before
it is known whether the trial will be accepted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skmde._linalg.reductions import add_multiple, dot
from skmde._linalg.vector_kernels import combine, history_dots
from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.kernels import torch_reference

_SHARE = 1 << 15  # numbers per piece of a vector
_MAX_SHARES = 16


class PairHistory:
    """The last `memory_size` pairs (s, y) and their inner products.

    Parameters
    ----------
    memory_size : int
        Number of pairs; at least 1.
    like : torch.Tensor of shape (n, m)
        Gives length, dtype and device.
    n_threads : int
        Threads for the passes on the CPU.
    """

    def __init__(self, memory_size: int, like: torch.Tensor, n_threads: int) -> None:
        self.slots = memory_size + 1
        self.length = like.numel()
        self.n_threads = n_threads
        self.on_cpu = like.device.type == "cpu"
        self._H = torch.zeros((2 * self.slots, self.length), dtype=like.dtype, device=like.device)
        self._sy = np.zeros((self.slots, self.slots))  # s_a . y_b, for a not newer than b
        self._yy = np.zeros((self.slots, self.slots))
        self._sg = np.zeros(self.slots)
        self._yg = np.zeros(self.slots)
        self._eps = torch.finfo(like.dtype).eps
        self._pairs: list[int] = []  # slots in use, oldest first
        self._staged = 0
        shares = min(_MAX_SHARES, -(-self.length // _SHARE))
        self._bounds = even_pieces(0, self.length, shares)

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget all pairs: the next direction is steepest descent."""
        self._pairs.clear()
        # A failed search may have left a pair that is not finite, and 0 times NaN is NaN.
        self._H.zero_()

    def stage(
        self, X_new: torch.Tensor, X: torch.Tensor, G_new: torch.Tensor, G: torch.Tensor
    ) -> Any:
        """Put the pair that leads from X to a trial in the free slot; measure all pairs against it.

        Returns
        -------
        dots : tensor or array of shape (2 slots + 1, 2)
            Inner products of every s, then every y, with `G_new` and with the staged y; last
            that of the staged s with itself, twice. On another device than the CPU they are
            still there.
        """
        self._staged = next(k for k in range(self.slots) if k not in self._pairs)
        row_s, row_y = self._H[self._staged], self._H[self.slots + self._staged]
        add_multiple(X_new.view(-1), X.view(-1), -1.0, out=row_s)
        add_multiple(G_new.view(-1), G.view(-1), -1.0, out=row_y)
        g, y = G_new.view(-1), row_y
        ss = dot(row_s, row_s).repeat(1, 2)
        if not self.on_cpu:
            return torch.cat([torch_reference.history_dots(self._H, g, y), ss.to(self._H.dtype)])

        H, gn, yn = self._H.numpy(), g.numpy(), y.numpy()
        parts = np.empty((len(self._bounds), 2 * self.slots, 2))
        run_pieces(
            lambda k, start, stop: history_dots(H, gn, yn, start, stop, parts[k]),
            [(k, start, stop) for k, (start, stop) in enumerate(self._bounds)],
            self.n_threads,
        )
        return np.concatenate([parts.sum(axis=0), ss.numpy()])

    def accept(self, dots: np.ndarray) -> bool:
        """Keep the staged pair, given its numbers on the host.

        A pair without curvature (s^T y not clearly positive) would spoil the matrix and is
        left out. Returns whether the pair was kept.
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

    def direction(self, G: torch.Tensor, squared_norm: float) -> tuple[torch.Tensor, float]:
        """The quasi-Newton direction V = -B^{-1} G, and tr(G^T V)."""
        g = G.view(-1)
        if not self._pairs:
            return -G, -squared_norm
        coefficients = np.zeros(2 * self.slots)
        used = self._pairs  # the numbers of the free slot mean nothing, and may be NaN
        with np.errstate(all="ignore"):  # beyond the range of numbers: a direction that is refused
            a, b, gamma = self._coefficients()
            slope = -(a[used] @ self._sg[used] + b[used] @ self._yg[used] + gamma * squared_norm)
        coefficients[: self.slots], coefficients[self.slots :] = -a, -b
        if not self.on_cpu:
            c = torch.as_tensor(coefficients).to(device=G.device, dtype=G.dtype)
            return torch_reference.combine(self._H, c, g, -gamma).view_as(G), float(slope)

        V = torch.empty_like(G)
        H, gn, out = self._H.numpy(), g.numpy(), V.view(-1).numpy()
        run_pieces(
            lambda start, stop: combine(H, coefficients, gn, -gamma, start, stop, out),
            self._bounds,
            self.n_threads,
        )
        return V, float(slope)

    def _coefficients(self) -> tuple[np.ndarray, np.ndarray, float]:
        """B^{-1} g as ``a @ S + b @ Y + gamma g``: the two loops, on inner products."""
        pairs, sy, yy = self._pairs, self._sy, self._yy
        newest = pairs[-1]
        gamma = sy[newest, newest] / yy[newest, newest]
        alpha = np.zeros(self.slots)
        for k, p in enumerate(reversed(pairs)):
            later = pairs[len(pairs) - k :]
            alpha[p] = (self._sg[p] - sy[p, later] @ alpha[later]) / sy[p, p]
        a = np.zeros(self.slots)
        for k, p in enumerate(pairs):
            earlier = pairs[:k]
            z = gamma * (self._yg[p] - yy[p, pairs] @ alpha[pairs]) + sy[earlier, p] @ a[earlier]
            a[p] = alpha[p] - z / sy[p, p]
        return a, -gamma * alpha, gamma
