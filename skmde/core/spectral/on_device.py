"""Rough eigenvectors of a Laplacian on a device: LOBPCG, as in ``_linalg/lobpcg.py``, in torch.

The steps, the starting vectors and the criterion for the end are the same, so the vectors are those
of the CPU up to rounding error. Sums over neighbours are taken row by row, in their order; inner
products are matrix products of one shape. So the same graph gives the same bits. Small matrices are
decomposed on the host: one copy a step. Vectors are the rows of a matrix, in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skmde._linalg.lobpcg import GUARDS, QUIET_STEPS, SETTLED, Space
from skmde._utils.device import as_tensor


class DeviceLaplacian:
    """The Laplacian of a connected graph.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric positive weights, with a zero diagonal.
    device : torch.device
        One with float64.
    """

    def __init__(self, graph: Any, device: torch.device) -> None:
        self.n, self.device = graph.shape[0], device
        arrays = graph.indices, graph.indptr, graph.data.astype(np.float64)
        self._others, self._bounds, self._weights = (as_tensor(x, device) for x in arrays)
        self._bounds = self._bounds.long()
        self.degrees = torch.segment_reduce(self._weights, "sum", offsets=self._bounds)

    def apply(self, V: torch.Tensor) -> torch.Tensor:
        """Multiply the rows of V."""
        columns = V.T.contiguous()
        near = columns.index_select(0, self._others) * self._weights[:, None]
        sums = torch.segment_reduce(near, "sum", offsets=self._bounds, axis=0)
        return (columns * self.degrees[:, None] - sums).T.contiguous()

    def precondition(self, V: torch.Tensor) -> torch.Tensor:
        """Divide the rows of V by the degrees."""
        return V / self.degrees


def rough_vectors(
    laplacian: DeviceLaplacian, n_vectors: int, *, max_iter: int, seed: int
) -> np.ndarray:
    """Approximate eigenvectors of the smallest eigenvalues, without the constant one.

    Parameters
    ----------
    laplacian : DeviceLaplacian
    n_vectors : int
    max_iter : int
    seed : int
        Of the starting vectors.

    Returns
    -------
    vectors : ndarray of shape (n_vectors, n), float64
        Orthonormal rows.
    """
    n, b = laplacian.n, n_vectors + GUARDS
    X = _start(laplacian, b, seed)
    LX = laplacian.apply(X)
    values, mix = _rayleigh_ritz(X, LX, b)
    X, LX = mix @ X, mix @ LX
    P = LP = X[:0]
    quiet = 0
    for _ in range(max_iter):
        residuals = LX - values[:, None] * X
        R = _unit(_centered(laplacian.precondition(residuals)))
        S, LS = torch.cat([X, R, P]), torch.cat([LX, laplacian.apply(R), LP])
        new_values, mix = _rayleigh_ritz(S, LS, b)
        P, LP = mix[:, b:] @ S[b:], mix[:, b:] @ LS[b:]
        X, LX = mix[:, :b] @ S[:b] + P, mix[:, :b] @ LS[:b] + LP
        before, after = (x[:n_vectors].sum() for x in (values.cpu(), new_values.cpu()))
        values = new_values
        quiet = quiet + 1 if before - after <= SETTLED * abs(after) else 0
        if quiet >= QUIET_STEPS:
            break
    found: np.ndarray = X[:n_vectors].cpu().numpy()
    assert found.shape == (n_vectors, n)
    return found


def _start(laplacian: DeviceLaplacian, n_vectors: int, seed: int) -> torch.Tensor:
    """The starting vectors of `Space.start`, which are drawn on the host."""
    n = laplacian.n
    degrees = laplacian.degrees.cpu().numpy()
    space = Space(n, 1, np.full((1, n), 1 / np.sqrt(n)))
    return torch.from_numpy(space.start(lambda V: V / degrees, n_vectors, seed)).to(
        laplacian.device
    )


def _centered(V: torch.Tensor) -> torch.Tensor:
    return V - V.mean(dim=1, keepdim=True)


def _unit(V: torch.Tensor) -> torch.Tensor:
    lengths = torch.linalg.vector_norm(V, dim=1, keepdim=True)
    return V / torch.where(lengths > 0, lengths, 1.0)


def _rayleigh_ritz(
    S: torch.Tensor, LS: torch.Tensor, n_vectors: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Smallest Ritz values in the span of S, and the coefficients of their vectors in S."""
    products = torch.stack([S @ S.T, S @ LS.T]).cpu().numpy()
    G, K = (products + products.transpose(0, 2, 1)) / 2
    values, rows = Space.ritz_of_products(G, K, n_vectors)
    return torch.from_numpy(values).to(S), torch.from_numpy(rows).to(S)
