r"""Average distortion and its gradient.

With d_k the embedding distance of edge k = (i, j) and f_k its distortion function,

    E(X) = (1/p) sum_k f_k(d_k),        grad E(X) = (1/p) A C A^T X,

where A is the incidence matrix of the edges and C = diag(f_k'(d_k) / d_k), the *slopes*
(monograph, section 2.3 and equation for the gradient in chapter 5). Distances are in the units
of the embedding.

On the CPU, built-in functions go to the fused kernel; everything else (a user's callable, a
subclass with maths of its own, another device) goes to the torch path. The two may share one
problem, a segment each.
"""

from __future__ import annotations

from typing import Any

import torch

from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.kernels import torch_reference
from skmde.core.objectives.all_pairs import AllPairs
from skmde.core.objectives.edges import EdgeList, Segment

Edges = EdgeList | AllPairs

_EDGES_PER_PIECE = 1 << 18
_MAX_PIECES = 16
_MIN_PIECES = 4
_PARTS = 1 << 26  # numbers in all pieces' gradients; wide embeddings get fewer pieces
_SMALL = 1 << 14  # numbers; below it a sum of pieces is not worth sharing


class EdgeTerm:
    """The function to minimise, for embeddings of shape (n_items, n_components).

    Parameters
    ----------
    edges : EdgeList or AllPairs
        Pairs, weights and distortion functions.
    n_items, n_components : int
        Shape of the embedding.
    dtype : torch.dtype
        Of the embedding: float32 or float64.
    n_threads : int
        Threads for the compiled kernels; the outcome does not depend on it.
    """

    def __init__(
        self,
        edges: Edges,
        n_items: int,
        n_components: int,
        *,
        dtype: torch.dtype = torch.float32,
        n_threads: int = 1,
    ) -> None:
        self.edges = edges
        self.n_items = n_items
        self.n_components = n_components
        self.n_threads = n_threads
        self.device = edges.i.device
        compiled, self._reference = [], []
        for segment in edges.segments:
            kernel = segment.function.kernel_parameters()
            if kernel is None or self.device.type != "cpu":
                self._reference.append((segment, self._incidence(segment), _block(edges, segment)))
            else:
                compiled.append((segment, kernel))
        self._pieces: list[tuple[Any, ...]] = []
        if compiled:
            self._plan(compiled, dtype)

    def _incidence(self, segment: Segment) -> torch_reference.Incidence:
        i, j = self.edges.i, self.edges.j
        run = slice(segment.start, segment.stop)
        return torch_reference.Incidence.of(i[run], j[run], self.n_items)

    def _plan(self, compiled: list[tuple[Segment, Any]], dtype: torch.dtype) -> None:
        """Cut the compiled segments into pieces; how many depends on the problem alone."""
        i, j, w = (x.numpy() for x in (self.edges.i, self.edges.j, self.edges.weights))
        t = w if self.edges.deviations is None else self.edges.deviations.numpy()
        n_edges = sum(segment.stop - segment.start for segment, _ in compiled)
        length = self.n_items * self.n_components
        most = min(max(_PARTS // length, _MIN_PIECES), _MAX_PIECES)
        size = max(_EDGES_PER_PIECE, -(-n_edges // most))
        number = 0
        for segment, (kind, *parameters) in compiled:
            params = torch.tensor(parameters, dtype=dtype).numpy()
            count = -(-(segment.stop - segment.start) // size)
            for start, stop in even_pieces(segment.start, segment.stop, count):
                self._pieces.append((kind, params, i, j, w, t, start, stop, number))
                number += 1
        self._parts = torch.zeros((number, length), dtype=dtype).numpy()
        self._bounds = even_pieces(0, length, 1 if length <= _SMALL else 8)

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        """Average distortion and its gradient at `X`, shape (n_items, n_components).

        The value is a Python float where the fused kernel computed all of it, else a float64
        scalar tensor, so that nothing waits for a device.
        """
        X = X.contiguous()
        scale = 1.0 / len(self.edges)
        value: float | torch.Tensor = 0.0
        gradient: torch.Tensor | None = None
        if self._pieces:
            value, gradient = self._compiled(X, scale)
        for segment, incidence, block in self._reference:
            run = slice(segment.start, segment.stop)
            t = self.edges.deviations
            total, part = torch_reference.value_and_gradient(
                segment.function,
                X,
                self.edges.i[run],
                self.edges.j[run],
                self.edges.weights[run],
                None if t is None else t[run],
                incidence,
                block,
            )
            value = value + total * scale
            part = part * scale
            gradient = part if gradient is None else gradient + part
        assert gradient is not None
        return value, gradient

    def _compiled(self, X: torch.Tensor, scale: float) -> tuple[float, torch.Tensor]:
        from skmde.core.kernels import numba_edges

        x, parts = X.numpy(), self._parts
        shape = X.shape

        def add(
            kind: int,
            params: Any,
            i: Any,
            j: Any,
            w: Any,
            t: Any,
            start: int,
            stop: int,
            number: int,
        ) -> float:
            G = parts[number].reshape(shape)
            return float(numba_edges.piece(kind, params, x, i, j, w, t, start, stop, G))

        totals = run_pieces(add, self._pieces, self.n_threads)
        gradient = torch.empty_like(X)
        flat = gradient.view(-1).numpy()
        run_pieces(
            lambda start, stop: numba_edges.collect(parts, scale, start, stop, flat),
            self._bounds,
            self.n_threads,
        )
        return sum(totals) * scale, gradient


def distances(edges: Edges, X: torch.Tensor) -> torch.Tensor:
    """Embedding distances of the edges, in the caller's order, shape (p,)."""
    return edges.to_callers_order(torch_reference.distances(X, edges.i, edges.j))


def distortions(edges: Edges, X: torch.Tensor) -> torch.Tensor:
    """Weighted distortions of the edges, in the caller's order, shape (p,)."""
    d = torch_reference.distances(X, edges.i, edges.j)
    t = edges.deviations
    parts = []
    for segment in edges.segments:
        run = slice(segment.start, segment.stop)
        parts.append(
            torch_reference.distortions(
                segment.function,
                d[run],
                edges.weights[run],
                None if t is None else t[run],
                _block(edges, segment),
            )
        )
    return edges.to_callers_order(torch.cat(parts))


def _block(edges: Edges, segment: Segment) -> int:
    return torch_reference.block_of(segment.function, edges.i.device, segment.stop - segment.start)
