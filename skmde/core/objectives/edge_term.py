r"""The average distortion over a list of edges, and its gradient.

With d_k the embedding distance of edge k = (i, j) and f_k its distortion function,

    E(X) = (1/p) sum_k f_k(d_k),        grad E(X) = (1/p) A C A^T X,

where A is the incidence matrix of the edges and C = diag(f_k'(d_k) / d_k), the *slopes*
(monograph, section 2.3; the gradient is in chapter 5). Distances are in the units of the embedding.

On the CPU, compiled loops evaluate the built-in functions. Torch evaluates the rest: callables,
subclasses that override the mathematics, and everything on a GPU. One problem may use both, each
for its own segments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from skmde._utils.ranks.together import current_ranks
from skmde.core.kernels import torch_reference
from skmde.core.kernels.backend import Backend, Sums, TorchBackend, choose_backend
from skmde.core.objectives.all_pairs import AllPairs
from skmde.core.objectives.autograd import wants_gradient, with_gradient
from skmde.core.objectives.edges import EdgeList

Edges = EdgeList | AllPairs


class EdgeTerm:
    """The average distortion of a list of edges, a term of an objective.

    Parameters
    ----------
    edges : EdgeList or AllPairs
        Pairs, weights and distortion functions.
    n_items, n_components : int
        Shape of the embedding.
    dtype : torch.dtype
        Of the embedding: float32 or float64.
    backend : Backend, default=None
        None chooses it by the device of the edges.
    """

    def __init__(
        self,
        edges: Edges,
        n_items: int,
        n_components: int,
        *,
        dtype: torch.dtype = torch.float32,
        backend: Backend | None = None,
    ) -> None:
        self.edges = edges
        self.backend = backend = backend or choose_backend(edges.device)
        runs = edges.runs()
        served = [run for run in runs if backend.supports(run.function)]
        others = [run for run in runs if not backend.supports(run.function)]
        shape = n_items, n_components, dtype, current_ranks()
        self._sums: list[Sums] = []
        if served:
            self._sums.append(backend.edge_sums(served, *shape))
        for run in others:
            self._sums.append(TorchBackend(edges.device).edge_sums([run], *shape))

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        """Average distortion and its gradient at `X`, shape (n_items, n_components).

        The value is a float if compiled loops computed all of it. Otherwise it is a float64 scalar
        tensor, so that nothing waits for a GPU.
        """
        X, scale = X.contiguous(), 1.0 / len(self.edges)
        value, gradient = self._sums[0](X, scale)
        for sums in self._sums[1:]:
            more, part = sums(X, scale)
            value, gradient = value + more, gradient + part
        return value, gradient

    def distances(self, X: torch.Tensor) -> torch.Tensor:
        """Embedding distances of the edges, in the caller's order, shape (p,)."""
        return distances(self.edges, X)

    def distortions(self, X: torch.Tensor) -> torch.Tensor:
        """Weighted distortions of the edges, in the caller's order, shape (p,)."""
        return distortions(self.edges, X)


def distances(edges: Edges, X: torch.Tensor) -> torch.Tensor:
    """Embedding distances of the edges, in the caller's order, shape (p,)."""
    return edges.to_callers_order(torch_reference.distances(X, edges.i, edges.j))


def distortions(edges: Edges, X: torch.Tensor) -> torch.Tensor:
    """Weighted distortions of the edges, in the caller's order, shape (p,)."""

    def values(*arguments: Any) -> torch.Tensor:
        function, d, w, delta, block = arguments
        found = torch_reference.distortions(function, d.detach(), w, delta, block)
        if wants_gradient(d):
            derivatives = torch_reference.derivatives(function, d.detach(), w, delta, block)
            found = with_gradient(d, found, derivatives)
        return found

    return _by_run(edges, X, values)


Evaluate = Callable[..., torch.Tensor]


def by_segment(edges: Edges, X: torch.Tensor, evaluate: Evaluate) -> torch.Tensor:
    """A function of the distances of the edges, in the caller's order, shape (p,).

    Parameters
    ----------
    edges : EdgeList or AllPairs
    X : torch.Tensor of shape (n_items, n_components)
    evaluate : callable
        Takes a distortion function, and distances, weights and original distances (None for a
        penalty) of its edges, as `torch_reference.weighted_slopes` does.
    """
    return _by_run(edges, X, partial(torch_reference.by_block, evaluate))


def _by_run(edges: Edges, X: torch.Tensor, evaluate: Evaluate) -> torch.Tensor:
    d = torch_reference.distances(X, edges.i, edges.j)
    parts, start = [], 0
    for run in edges.runs():
        stop = start + len(run.i)
        block = torch_reference.block_size(run.function, edges.device, len(run.i))
        parts.append(evaluate(run.function, d[start:stop], run.weights, run.deviations, block))
        start = stop
    return edges.to_callers_order(torch.cat(parts))
