r"""The Laplacian of a graph as a quadratic form, and the embedding by its smallest eigenpairs.

For f_k(d) = w_k d^2, the average distortion is tr(X^T L X) / p, where L is the Laplacian of the
weighted graph. The standardized minimisers are sqrt(n) times the eigenvectors of the m smallest
eigenvalues of L, without the constant eigenvector, up to a rotation (monograph, section 3.1).
``spectrum.py`` computes them. Each coordinate has mean 0 and variance 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from skmde._linalg.signs import fix_signs
from skmde._utils.device import is_cpu
from skmde._utils.jit import CONTRACT, jit
from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.spectral.on_device import DeviceLaplacian, rough_vectors
from skmde.core.spectral.spectrum import SEED, QuadraticForm, choose_solver, smallest_eigenpairs

_ROWS = 4096  # rows of the Laplacian per piece of work


def laplacian_embedding(
    graph: Any,
    n_components: int,
    *,
    max_iter: int = 100,
    n_threads: int = 1,
    device: torch.device | None = None,
) -> np.ndarray:
    """Standardized embedding that minimises the weighted mean of squared distances.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Symmetric adjacency matrix of a connected graph, with positive weights.
    n_components : int
        Number of columns of the result. Columns beyond n - 1 are zero.
    max_iter : int
        Maximum number of iterations. They stop earlier when the eigenvalues have converged.
    n_threads : int
        Number of threads; the result does not depend on it.
    device : torch.device, optional
        A device with float64, which computes the vectors of large graphs.

    Returns
    -------
    X : ndarray of shape (n, n_components), float32
        Approximate eigenvectors, times sqrt(n), in increasing order of their eigenvalues. In each
        column, the entry of largest magnitude is positive.
    """
    n = graph.shape[0]
    adjacency = sp.csr_array(graph)
    if adjacency.diagonal().any():
        adjacency = adjacency - sp.diags_array(adjacency.diagonal(), format="csr")
    form, _ = laplacian_form(adjacency, n_threads=n_threads)
    kept = min(n_components, n - 1)
    X = np.zeros((n, n_components), np.float32)
    if device is not None and not is_cpu(device):
        if choose_solver(form, kept, "auto", None) == "lobpcg":
            laplacian = DeviceLaplacian(adjacency, device)
            vectors = rough_vectors(laplacian, kept, max_iter=max_iter, seed=SEED)
            X[:, :kept] = fix_signs(np.sqrt(n) * vectors.T)
            return X
    found = smallest_eigenpairs(
        form, kept, "auto", tol=None, max_iter=max_iter, n_threads=n_threads
    )
    X[:, :kept] = fix_signs(np.sqrt(n) * found.vectors.T)
    return X


def laplacian_form(
    graph: sp.csr_array,
    labels: np.ndarray | None = None,
    n_contrasts: int = 0,
    *,
    normalized: bool = False,
    n_threads: int = 1,
) -> tuple[QuadraticForm, np.ndarray]:
    """The Laplacian of a graph as a quadratic form.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric weights of any sign, with a zero diagonal.
    labels : ndarray of shape (n,), int, optional
        Connected component of each vertex; None means a single component.
    n_contrasts : int
        Maximum number of component contrasts (see `part_contrasts`) that become null vectors.
    normalized : bool
        Whether to use the normalized Laplacian D^{-1/2} L D^{-1/2}.
    n_threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    form : QuadraticForm
    roots : ndarray of shape (n,)
        The square roots of the degrees D if `normalized`, otherwise ones. With negative weights, a
        degree is the sum of the weights' magnitudes.
    """
    n = graph.shape[0]
    labels = np.zeros(n, int) if labels is None else labels
    graph = graph.astype(np.float64, copy=False)
    degrees = graph.sum(axis=1)
    sizes = abs(graph).sum(axis=1)
    sizes[sizes == 0] = sizes.max() or 1.0  # any positive number in the unit of the weights
    roots = np.ones(n)
    if normalized:
        roots = np.sqrt(sizes)
        graph = sp.csr_array(sp.diags_array(1 / roots) @ graph @ sp.diags_array(1 / roots))
        degrees, sizes = degrees / sizes, np.ones(n)
    trivial = (roots / np.sqrt(roots @ roots))[None]
    form = QuadraticForm(
        apply=_product(graph, degrees, n_threads),
        null=np.concatenate([trivial, part_contrasts(labels, roots, n_contrasts)]),
        bound=2.0 * float(sizes.max()),
        precondition=lambda R: R / sizes,
    )
    return form, roots


@jit(fastmath=CONTRACT)
def _laplacian_rows(
    indptr: Any, indices: Any, weights: Any, degrees: Any, V: Any, start: int, stop: int, out: Any
) -> None:
    """Rows ``start:stop`` of L V, for the Laplacian L of a graph in CSR form.

    Parameters
    ----------
    indptr, indices, weights : arrays
        Symmetric adjacency matrix with a zero diagonal.
    degrees : array of shape (n,)
        Its row sums.
    V, out : arrays of shape (n, b)
    """
    if V.shape[1] == 4:  # two components and two guard vectors: keep the sums in registers
        for i in range(start, stop):
            s0, s1, s2, s3 = V[i, 0], V[i, 1], V[i, 2], V[i, 3]
            s0, s1, s2, s3 = s0 * degrees[i], s1 * degrees[i], s2 * degrees[i], s3 * degrees[i]
            for k in range(indptr[i], indptr[i + 1]):
                j, w = np.uintp(indices[k]), weights[k]
                s0 -= w * V[j, 0]
                s1 -= w * V[j, 1]
                s2 -= w * V[j, 2]
                s3 -= w * V[j, 3]
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = s0, s1, s2, s3
        return
    for i in range(start, stop):
        for c in range(V.shape[1]):
            out[i, c] = degrees[i] * V[i, c]
        for k in range(indptr[i], indptr[i + 1]):
            j, w = np.uintp(indices[k]), weights[k]
            for c in range(V.shape[1]):
                out[i, c] -= w * V[j, c]


def _product(
    adjacency: sp.csr_array, degrees: np.ndarray, n_threads: int
) -> Callable[[np.ndarray], np.ndarray]:
    """A function that multiplies the rows of an array (b, n) by the Laplacian of a graph."""
    matrix = adjacency.indptr, adjacency.indices, adjacency.data, degrees
    n = adjacency.shape[0]
    bounds = even_pieces(0, n, max(1, n // _ROWS))

    def apply(vectors: np.ndarray) -> np.ndarray:
        columns = np.ascontiguousarray(vectors.T)
        out = np.empty_like(columns)
        run_pieces(
            lambda start, stop: _laplacian_rows(*matrix, columns, start, stop, out),
            bounds,
            n_threads,
        )
        return np.ascontiguousarray(out.T)

    return apply


def part_contrasts(labels: np.ndarray, roots: np.ndarray, most: int) -> np.ndarray:
    """Orthonormal vectors that separate connected components; orthogonal to `roots`.

    Each vector is a multiple of `roots` on every component. The first separates the largest
    component from all others. The second separates the second largest from all smaller ones, and so
    on, up to `most` vectors.
    """
    parts = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty(len(parts), int)
    rank[parts] = np.arange(len(parts))
    rank = rank[labels]
    weight = np.bincount(rank, roots**2)
    rows = np.zeros((min(len(parts) - 1, most), len(labels)))
    for k, row in enumerate(rows):
        rest = weight[k + 1 :].sum()
        row[:] = np.where(rank == k, rest, np.where(rank > k, -weight[k], 0.0)) * roots
        row /= np.sqrt(row @ row)
    return rows
