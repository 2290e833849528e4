r"""How stiffly pairs hold their items: the trace of the Hessian of an average distortion, by item.

The Hessian of f(||x_i - x_j||) with respect to x_i has the eigenvalue f''(d) along x_i - x_j, and
f'(d) / d in the m - 1 directions across. The trace of the Hessian of E(X) is therefore

    sum_i t_i,    t_i = (1/p) sum_{pairs k of item i} (f_k''(d_k) + (m - 1) f_k'(d_k) / d_k).

Negative eigenvalues count as 0: they hold nothing. So t_i is the trace of the positive part of each
pair's Hessian. The two agree for every convex distortion function that grows with the distance.

The t_i are in the units of the objective over the square of those of the embedding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from skmde.core.kernels import torch_reference as kernels
from skmde.core.kernels.backend import Run
from skmde.core.objectives.edge_term import Edges

_BLOCK = 1 << 18  # pairs whose differences are in memory at a time
_PRODUCTS = 12  # of the Hessian with a vector; a third of them finds its range
_STEP = 1e-2  # of a difference of gradients, relative to the size of the embedding, in float32

Gradient = Callable[[torch.Tensor], torch.Tensor]


@torch.no_grad()
def traces_by_item(edges: Edges, X: torch.Tensor) -> np.ndarray:
    """Trace of the Hessian with respect to each item, at an embedding.

    Parameters
    ----------
    edges : EdgeList or AllPairs
    X : torch.Tensor of shape (n_items, n_components)

    Returns
    -------
    traces : ndarray of shape (n_items,), float64
        Nonnegative, from first and second derivatives of the distortion functions.

    Raises
    ------
    RuntimeError
        If torch cannot differentiate a user's function twice.
    """
    traces = np.zeros(len(X))
    for run in edges.runs():
        sides = [side.cpu().numpy() for side in (run.i, run.j)]
        held = _traces_of(run, X).cpu().numpy()
        for side in sides:
            traces += np.bincount(side, held, len(X))
    return traces / len(edges)


def _traces_of(run: Run, X: torch.Tensor) -> torch.Tensor:
    """f'' + (m - 1) f' / d of each pair, without the negative parts; float64."""
    stretches = [slice(k, k + _BLOCK) for k in range(0, len(run.i), _BLOCK)]
    d = torch.cat([kernels.distances(X, run.i[part], run.j[part]) for part in stretches])
    block = kernels.block_size(run.function, d.device, len(d))
    along, across = (
        kernels.by_block(derivative, run.function, d, run.weights, run.deviations, block)
        for derivative in (kernels.weighted_curvatures, kernels.weighted_slopes)
    )
    m = X.shape[1]
    return along.double().clamp(min=0) + (m - 1) * across.double().clamp(min=0)


def estimated_trace(gradient: Gradient, X: torch.Tensor, generator: np.random.Generator) -> float:
    """Estimate of the trace of the Hessian from gradients alone: Hutch++.

    The trace on the range of a few products of the Hessian with random vectors is exact, and that
    on the rest is the mean of a few random quadratic forms (Meyer, Musco, Musco and Woodruff 2021).
    Products are differences of gradients.

    Parameters
    ----------
    gradient : callable
        Returns the gradient at an embedding.
    X : torch.Tensor of shape (n_items, n_components)
        The embedding at which the Hessian is wanted.
    generator : numpy.random.Generator

    Returns
    -------
    trace : float
        0 if the estimate is negative or not finite.
    """
    shape, count = tuple(X.shape), _PRODUCTS // 3
    size = float(torch.linalg.vector_norm(X.double())) or 1.0
    step = _STEP * size * (torch.finfo(X.dtype).eps / torch.finfo(torch.float32).eps) ** (1 / 3)

    def products(V: np.ndarray) -> np.ndarray:
        columns = []
        for v in V.T:
            length = float(np.linalg.norm(v)) or 1.0
            move = torch.from_numpy((step / length) * v.reshape(shape)).to(X)
            change = gradient((X + move).contiguous()) - gradient((X - move).contiguous())
            columns.append(change.double().cpu().numpy().ravel() * (length / (2 * step)))
        return np.stack(columns, axis=1)

    seen, rest = (generator.choice([-1.0, 1.0], size=(X.numel(), count)) for _ in range(2))
    basis, _ = np.linalg.qr(products(seen))
    rest = rest - basis @ (basis.T @ rest)
    trace = np.sum(basis * products(basis)) + np.sum(rest * products(rest)) / count
    return float(trace) if np.isfinite(trace) and trace > 0 else 0.0
