r"""Quadratic MDE: the bottom eigenvectors of a graph's Laplacian (monograph, chapter 3).

With f_k(d) = w_k d^2 and standardized X, the average distortion is tr(X^T L X) / p for the
Laplacian L of the weighted graph, and the minimisers are sqrt(n) times the eigenvectors of its m
smallest eigenvalues beyond the constant one, in any rotation. Projected L-BFGS finds the space
they span; a Rayleigh-Ritz step then turns the columns into approximate eigenvectors in order
of their eigenvalues, and a rule fixes their signs. Nothing here can stall: it stops after
`max_iter` iterations with the best subspace so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skmde._reductions import gram
from skmde.constraints import Standardized
from skmde.core.edges import EdgeList
from skmde.core.lbfgs import minimize
from skmde.core.objective import Objective
from skmde.penalties import Quadratic

_SEED = 0  # of the start of the iteration; its effect is gone at convergence


def laplacian_embedding(
    edges: Any,
    n_items: int,
    n_components: int,
    *,
    weights: Any = None,
    tol: float = 1e-6,
    max_iter: int = 40,
    n_threads: int = 1,
) -> tuple[torch.Tensor, float]:
    """Standardized embedding that minimises the weighted mean of squared distances.

    Parameters
    ----------
    edges : array of shape (p, 2)
        Edges of a connected graph.
    n_items, n_components : int
        Sizes; ``n_items > n_components``.
    weights : array of shape (p,), optional
        Positive weights; 1 if None.
    tol : float
        Residual norm to stop at, relative to that of the start.
    max_iter : int
        Largest number of iterations.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    X : torch.Tensor of shape (n_items, n_components), float32
        Columns are approximate eigenvectors, in increasing order of their eigenvalues, each with
        its largest entry in magnitude positive.
    value : float
        Average distortion.
    """
    edge_list = EdgeList.build(edges, n_items, Quadratic(), weights=weights)
    objective = Objective(edge_list, n_items, n_components, n_threads=n_threads)
    constraint = Standardized()
    start = constraint.initialize(
        n_items, n_components, np.random.default_rng(_SEED), torch.float32, objective.device
    )
    _, gradient = objective.value_and_gradient(start)
    scale = float(torch.linalg.matrix_norm(constraint.project_tangent(start, gradient)))
    result = minimize(objective, constraint, start, tol=tol * scale, max_iter=max_iter)
    return rayleigh_ritz(objective, result.X), result.value


def rayleigh_ritz(objective: Objective, X: torch.Tensor) -> torch.Tensor:
    """Rotate a standardized `X` so that its columns diagonalise ``X^T L X``; fix their signs."""
    _, gradient = objective.value_and_gradient(X)  # (2 / p) L X
    small = gram(X, gradient)
    _, Q = np.linalg.eigh(((small + small.T) / 2).numpy())
    rotated = (X.double() @ torch.from_numpy(Q)).to(X.dtype) if X.shape[1] > 1 else X.clone()
    return torch.from_numpy(fix_signs(rotated.numpy()).astype(np.float32))


def small_laplacian_embedding(weights: np.ndarray, n_components: int) -> np.ndarray:
    """The same for a small graph, from the eigendecomposition of its whole Laplacian.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        Symmetric adjacency matrix of a connected graph.
    n_components : int
        Columns of the result; those beyond n - 1 are zero.

    Returns
    -------
    X : ndarray of shape (n, n_components), float32
    """
    n = weights.shape[0]
    laplacian = np.diag(weights.sum(axis=1, dtype=np.float64)) - weights
    np.fill_diagonal(laplacian, laplacian.diagonal() + weights.diagonal())
    _, vectors = np.linalg.eigh(laplacian)
    X = np.zeros((n, n_components))
    kept = min(n_components, n - 1)
    X[:, :kept] = np.sqrt(n) * vectors[:, 1 : kept + 1]
    return fix_signs(X).astype(np.float32)


def fix_signs(X: np.ndarray) -> np.ndarray:
    """Flip columns so that the entry of largest magnitude is positive.

    Of entries that are as large but for rounding, the first counts.
    """
    size = np.abs(X)
    rows = np.argmax(size >= (1 - 1e-5) * size.max(axis=0), axis=0)
    signs = np.sign(X[rows, np.arange(X.shape[1])])
    return X * np.where(signs == 0, 1, signs)
