r"""The Laplacian of a graph as a quadratic form, and the embedding by its bottom eigenvectors.

With f_k(d) = w_k d^2 and standardized X, the average distortion is tr(X^T L X) / p for the
Laplacian L of the weighted graph, and the minimisers are sqrt(n) times the eigenvectors of its m
smallest eigenvalues beyond the constant one, in any rotation (monograph, chapter 3).
``spectral.py`` finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from skmde._linalg.signs import fix_signs
from skmde._utils.jit import CONTRACT, jit
from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.spectral.spectrum import QuadraticForm, smallest_eigenpairs

_ROWS = 4096  # rows of the Laplacian that a thread takes at a time


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
        Largest number of steps; they end when the eigenvalues have settled.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    X : ndarray of shape (n, n_components), float32
        Approximate eigenvectors in increasing order of their eigenvalues; each column has its
        largest entry in magnitude positive.
    """
    n = graph.shape[0]
    adjacency = sp.csr_array(graph)
    if adjacency.diagonal().any():
        adjacency = adjacency - sp.diags_array(adjacency.diagonal(), format="csr")
    form, _ = laplacian_form(adjacency, n_threads=n_threads)
    kept = min(n_components, n - 1)
    found = smallest_eigenpairs(
        form, kept, "auto", tol=None, max_iter=max_iter, n_threads=n_threads
    )
    X = np.zeros((n, n_components), np.float32)
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
        Symmetric weights of any sign, no diagonal.
    labels : ndarray of shape (n,), int, optional
        The connected part of each vertex; None is one part.
    n_contrasts : int
        How many vectors that tell parts apart (see `part_contrasts`) are null vectors, at most.
    normalized : bool
        Whether the form is that of D^{-1/2} L D^{-1/2}.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    form : QuadraticForm
    roots : ndarray of shape (n,)
        The square roots of the degrees D, if they are divided by; else ones.
    """
    n = graph.shape[0]
    labels = np.zeros(n, int) if labels is None else labels
    graph = graph.astype(np.float64, copy=False)
    degrees = graph.sum(axis=1)
    sizes = abs(graph).sum(axis=1)
    sizes[sizes == 0] = 1.0
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
        Symmetric adjacency matrix without a diagonal.
    degrees : array of shape (n,)
        Its row sums.
    V, out : arrays of shape (n, b)
    """
    if V.shape[1] == 4:  # an embedding in the plane and two guard vectors: sums in registers
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
    """Multiplication of vectors, the rows of an array (b, n), by a graph's Laplacian."""
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
    """Orthonormal vectors, constant but for `roots` on each part, orthogonal to `roots`.

    The first tells the largest part from all others, the second the second largest from those
    that are smaller, and so on, up to `most` vectors.
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
