r"""Quadratic MDE: the bottom eigenvectors of a graph's Laplacian (monograph, chapter 3).

With f_k(d) = w_k d^2 and standardized X, the average distortion is tr(X^T L X) / p for the
Laplacian L of the weighted graph, and the minimisers are sqrt(n) times the eigenvectors of its m
smallest eigenvalues beyond the constant one, in any rotation. The columns here are approximate
eigenvectors in increasing order of their eigenvalues, and a rule fixes their signs.

Small graphs are decomposed by LAPACK, large ones get steps of LOBPCG (``lobpcg.py``). An embedding
so wide that the dense eigenproblem inside a step would cost more than the step is found by
projected L-BFGS. Nothing here can stall: each stops after `max_iter` steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from skmde._reductions import gram
from skmde._threads import even_pieces, run_pieces
from skmde.constraints import Standardized
from skmde.core.edges import EdgeList
from skmde.core.kernels import _numba
from skmde.core.lbfgs import minimize
from skmde.core.lobpcg import lobpcg
from skmde.core.objective import Objective
from skmde.penalties import Quadratic

_SMALL = 50  # items; LAPACK gives the same bits for any number of threads up to here
_WIDE = 20  # components
_ROWS = 2048  # rows of the Laplacian that a thread takes at a time
_SEED = 0  # of the start of the iteration; its effect is gone at convergence


def laplacian_embedding(
    graph: Any, n_components: int, *, max_iter: int = 100, n_threads: int = 1
) -> np.ndarray:
    """Standardized embedding that minimises the weighted mean of squared distances.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Symmetric adjacency matrix of a connected graph, positive weights.
    n_components : int
        Columns of the result; those beyond n - 1 are zero.
    max_iter : int
        Largest number of steps.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    X : ndarray of shape (n, n_components), float32
        Each column has its largest entry in magnitude positive.
    """
    n = graph.shape[0]
    if n <= max(_SMALL, 5 * (n_components + 2)):
        X = _whole(graph, n_components)
    elif n_components <= _WIDE:
        X = _few(graph, n_components, max_iter, n_threads)
    else:
        X = _many(graph, n_components, max_iter, n_threads)
    return fix_signs(X).astype(np.float32)


def _whole(graph: Any, n_components: int) -> np.ndarray:
    weights = graph.toarray().astype(np.float64)
    n = weights.shape[0]
    np.fill_diagonal(weights, 0.0)
    _, vectors = np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)
    X = np.zeros((n, n_components))
    kept = min(n_components, n - 1)
    X[:, :kept] = np.sqrt(n) * vectors[:, 1 : kept + 1]
    return X


def _few(graph: Any, n_components: int, max_iter: int, n_threads: int) -> np.ndarray:
    n = graph.shape[0]
    adjacency = sp.csr_array(graph, dtype=np.float64)
    if adjacency.diagonal().any():
        adjacency = adjacency - sp.diags_array(adjacency.diagonal(), format="csr")
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    apply = laplacian_product(adjacency, degrees, n_threads)
    _, vectors = lobpcg(
        apply, degrees, n_components, max_iter=max_iter, seed=_SEED, n_threads=n_threads
    )
    return np.ascontiguousarray(np.sqrt(n) * vectors.T)


def laplacian_product(
    adjacency: sp.csr_array, degrees: np.ndarray, n_threads: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Multiplication of vectors, the rows of an array (b, n), by a graph's Laplacian.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n), float64
        Symmetric, without a diagonal.
    degrees : ndarray of shape (n,)
        Its row sums.
    n_threads : int
        The result does not depend on it.
    """
    matrix = adjacency.indptr, adjacency.indices, adjacency.data, degrees
    n = adjacency.shape[0]
    bounds = even_pieces(0, n, max(1, n // _ROWS))

    def apply(vectors: np.ndarray) -> np.ndarray:
        columns = np.ascontiguousarray(vectors.T)
        out = np.empty_like(columns)
        run_pieces(
            lambda start, stop: _numba.laplacian_rows(*matrix, columns, start, stop, out),
            bounds,
            n_threads,
        )
        return np.ascontiguousarray(out.T)

    return apply


def _many(graph: Any, n_components: int, max_iter: int, n_threads: int) -> np.ndarray:
    n = graph.shape[0]
    upper = sp.triu(graph, 1, format="coo")
    edges = np.stack([upper.row, upper.col], axis=1)
    edge_list = EdgeList.build(
        edges, n, Quadratic(), weights=np.asarray(upper.data, dtype=np.float32)
    )
    objective = Objective(edge_list, n, n_components, n_threads=n_threads)
    constraint = Standardized()
    start = constraint.initialize(
        n, n_components, np.random.default_rng(_SEED), torch.float32, objective.device
    )
    X = minimize(objective, constraint, start, tol=0.0, max_iter=max_iter).X
    # Rayleigh-Ritz: the rotation that makes X^T L X diagonal
    _, gradient = objective.value_and_gradient(X)
    small = gram(X, gradient)
    _, Q = np.linalg.eigh(((small + small.T) / 2).numpy())
    rotated: np.ndarray = (X.double() @ torch.from_numpy(Q)).numpy()
    return rotated


def fix_signs(X: np.ndarray) -> np.ndarray:
    """Flip columns so that the entry of largest magnitude is positive.

    Of entries that are as large but for rounding, the first counts.
    """
    size = np.abs(X)
    rows = np.argmax(size >= (1 - 1e-5) * size.max(axis=0), axis=0)
    signs = np.sign(X[rows, np.arange(X.shape[1])])
    flipped: np.ndarray = X * np.where(signs == 0, 1, signs)
    return flipped
