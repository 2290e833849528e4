r"""Locally optimal block preconditioned conjugate gradients for the smallest eigenpairs.

The method minimises tr(X^T L X) over X^T X = n I, X^T 1 = 0, where L is a graph Laplacian. Each
step takes the best X in the span of

    X,   R = D^{-1} (L X - X Theta)   (residuals, divided by the vertex degrees),   P

where P is the contribution of R and P to X in the previous step (Knyazev, "Toward the optimal
preconditioned eigensolver", 2001). The Rayleigh-Ritz procedure finds the best X in a span: it
solves a small dense eigenproblem. The division by the degrees is necessary to find eigenvectors
that are concentrated on a few vertices of low degree.

scipy has the same method, but it sums with BLAS, whose last bits depend on the number of threads.
Here the sums are computed in fixed pieces, and LAPACK solves the dense eigenproblem with one
thread: in OpenBLAS 0.3.21, which comes with scipy 1.12, the bits of 27 rows depend on it. Vectors
are the rows of a matrix, so sums run over contiguous memory. All computations are in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from skmde._linalg.vector_kernels import row_combinations, row_products
from skmde._utils.threads import even_pieces, one_blas_thread, run_pieces

Matrix = np.ndarray
# Called after each step with the step number, the current values and unit vectors, and the norm of
# their residuals L x - theta x. The iteration stops if it returns a true value.
Watch = Callable[[int, Matrix, Matrix, float], Any]

GUARDS = 2  # additional vectors, which speed up convergence of the wanted ones
SETTLED = 5e-5  # smallest relative decrease of the sum of eigenvalues that counts as progress
QUIET_STEPS = 3  # consecutive steps without progress after which the iteration stops
_DEPENDENT = 1e-10  # relative Gram eigenvalue below which a direction is rounding error
_APART = 0.1  # smallest ratio of the extreme Gram eigenvalues of start vectors
_POSITIONS_PER_PIECE = 1 << 13
_NEAR = 1e8  # multiple of the rounding error; smaller residuals are kept apart from the vectors
_FRESH = 25  # with a tolerance, L X is recomputed after this number of steps


@dataclass(frozen=True)
class Ritz:
    """Result of an iteration.

    Attributes
    ----------
    values : ndarray of shape (b,)
        Eigenvalues in ascending order. The additional (guard) values come last.
    vectors : ndarray of shape (b, n)
        Orthonormal rows.
    n_iter : int
        Number of steps.
    converged : bool
        Whether the iteration met its stopping criterion, or was stopped by `watch`.
    """

    values: Matrix
    vectors: Matrix
    n_iter: int
    converged: bool


def iterate(
    operator: Callable[[Matrix], Matrix],
    precondition: Callable[[Matrix], Matrix],
    space: Space,
    n_vectors: int,
    *,
    max_iter: int,
    seed: int,
    tol: float | None = None,
    smallest: float = 0.0,
    watch: Watch | None = None,
) -> Ritz:
    """Approximate the smallest eigenpairs, orthogonal to the null vectors of the space.

    Parameters
    ----------
    operator : callable
        Multiplies vectors, the rows of an array (b, n), by L. L is symmetric, and the null vectors
        of `space` are eigenvectors of L.
    precondition : callable
        Multiplies residuals, rows of an array (b, n), by an approximate inverse of L. For a
        Laplacian, it divides them by the vertex degrees.
    space : Space
        Linear algebra on the vectors, with the null vectors to project out.
    n_vectors : int
        Number of vectors; it must be well below n.
    max_iter : int
        Largest number of steps.
    seed : int
        Seed of the random start.
    tol : float, optional
        The iteration stops when the norm of every residual ``L x - theta x`` is at most `tol` times
        the largest wanted eigenvalue. With None, it stops when the eigenvalues no longer decrease.
    smallest : float
        Residual norm that is due to rounding error. Smaller residuals count as 0.
    watch : callable, optional
        Called after every step; see `Watch`.

    Returns
    -------
    Ritz
    """
    n = space.n
    b = n_vectors + GUARDS
    # The rows of S are X, R and P. The next step writes to separate arrays.
    S, LS, following, L_following = (np.empty((3 * b, n)) for _ in range(4))
    used = 2 * b  # the first step has no P
    V = space.start(precondition, b, seed)
    LV = operator(V)
    values, mix = space.rayleigh_ritz(V, LV, b)
    space.combine(mix, V, S[:b])
    space.combine(mix, LV, LS[:b])
    quiet, step = 0, 0

    def largest(residuals: Matrix) -> tuple[float, bool]:
        """The largest norm of the wanted residuals, and whether it is small enough."""
        worst = float(space.lengths(residuals[:n_vectors]).max())
        enough = max((tol or 0.0) * np.abs(values[:n_vectors]).max(), smallest)
        return worst, bool(worst <= enough)

    for step in range(1, max_iter + 1):
        R = np.multiply(values[:, None], S[:b], out=S[b : 2 * b])
        np.subtract(LS[:b], R, out=R)
        worst = np.inf
        if tol is not None:
            worst, converged = largest(R)
            if converged:
                return Ritz(values, S[:b], step - 1, True)
        R[:] = space.unit_rows_without_null(precondition(R))
        if worst <= _NEAR * smallest:
            # Near the solution, the parts of R and P along X would take the digits of the others
            # in the Gram matrix, and no step would reach the tolerance.
            R[:] = space.unit_rows(space.without(R, S[:b]))
            along = space.products(S[2 * b : used], S[:b])
            for rows in (S, LS):
                rows[2 * b : used] -= space.combined(along, rows[:b])
        LS[b : 2 * b] = operator(R)
        new_values, mix = space.rayleigh_ritz(S[:used], LS[:used], b)
        before, after = values[:n_vectors].sum(), new_values[:n_vectors].sum()
        values = new_values
        old, new = np.ascontiguousarray(mix[:, :b]), np.ascontiguousarray(mix[:, b:])
        for source, target in ((S, following), (LS, L_following)):
            X, P = target[:b], target[2 * b :]
            space.combine(new, source[b:used], P)
            space.combine(old, source[:b], X)
            X += P
        S, LS, following, L_following = following, L_following, S, LS
        used = 3 * b
        if watch is not None:
            wanted, vectors = values[:n_vectors], S[:n_vectors].copy()
            residuals = LS[:n_vectors] - wanted[:, None] * vectors
            if watch(step, wanted, vectors, float(np.linalg.norm(space.lengths(residuals)))):
                return Ritz(values, S[:b], step, True)
        if tol is None:
            quiet = quiet + 1 if before - after <= SETTLED * abs(after) else 0
            if quiet >= QUIET_STEPS:
                return Ritz(values, S[:b], step, True)
        elif step % _FRESH == 0:  # before rounding errors accumulate
            S[:b] = space.unit_rows_without_null(S[:b])
            LS[:b] = operator(S[:b])
            S[2 * b :] = space.unit_rows_without_null(S[2 * b :])
            LS[2 * b :] = operator(S[2 * b :])
    converged = tol is not None and largest(operator(S[:b]) - values[:, None] * S[:b])[1]
    return Ritz(values, S[:b], step, converged)


class Space:
    """Linear algebra on row vectors of length n, with sums in fixed pieces.

    Parameters
    ----------
    n : int
    n_threads : int
        The results do not depend on it.
    null : ndarray of shape (c, n), optional
        Orthonormal vectors that are projected out.
    """

    def __init__(self, n: int, n_threads: int, null: Matrix | None = None) -> None:
        self.n = n
        self.n_threads = n_threads
        self.null = np.empty((0, n)) if null is None else null
        self._bounds = even_pieces(0, n, max(1, -(-n // _POSITIONS_PER_PIECE)))

    def products(self, A: Matrix, B: Matrix, *, symmetric: bool = False) -> Matrix:
        """``A @ B.T``; `symmetric` halves the cost if the result is known to be symmetric."""
        parts = np.zeros((len(self._bounds), len(A), len(B)))
        run_pieces(
            lambda k, start, stop: row_products(A, B, symmetric, start, stop, parts[k]),
            [(k, start, stop) for k, (start, stop) in enumerate(self._bounds)],
            self.n_threads,
        )
        total: Matrix = np.zeros(parts.shape[1:])
        for part in parts:
            total += part
        return total + np.tril(total, -1).T if symmetric else total

    def combine(self, coefficients: Matrix, A: Matrix, out: Matrix) -> None:
        """``out = coefficients @ A``."""
        run_pieces(
            lambda start, stop: row_combinations(coefficients, A, start, stop, out),
            self._bounds,
            self.n_threads,
        )

    def combined(self, coefficients: Matrix, A: Matrix) -> Matrix:
        """``coefficients @ A``."""
        out = np.empty((len(coefficients), self.n))
        self.combine(coefficients, A, out)
        return out

    def lengths(self, A: Matrix) -> Matrix:
        """Norms of the rows."""
        return np.sqrt(np.array([self.products(a[None], a[None])[0, 0] for a in A]))

    def without(self, A: Matrix, basis: Matrix) -> Matrix:
        """Project the orthonormal rows of `basis` out of the rows of A."""
        along = self.combined(self.products(A, basis), basis)
        return np.subtract(A, along, out=along)

    def without_null(self, A: Matrix) -> Matrix:
        """Project the null vectors out of the rows."""
        return self.without(A, self.null)

    def unit_rows(self, A: Matrix) -> Matrix:
        """The rows, scaled to length 1."""
        lengths = self.lengths(A)
        scaled: Matrix = A / np.where(lengths > 0, lengths, 1.0)[:, None]
        return scaled

    def unit_rows_without_null(self, A: Matrix) -> Matrix:
        """Project the null vectors out of the rows and scale the rows to length 1."""
        return self.unit_rows(self.without_null(A))

    def start(self, precondition: Callable[[Matrix], Matrix], n_vectors: int, seed: int) -> Matrix:
        """Random unit vectors after at most two preconditioning steps, without products with L."""
        V = self.unit_rows_without_null(
            np.random.default_rng(seed).standard_normal((n_vectors, self.n))
        )
        for _ in range(2):
            W = self.unit_rows_without_null(precondition(V))
            sizes = np.linalg.eigvalsh(self.products(W, W, symmetric=True))
            if sizes[0] < _APART * sizes[-1]:  # a nearly exact inverse makes them parallel
                break
            V = W
        return V

    def rayleigh_ritz(self, S: Matrix, LS: Matrix, n_vectors: int) -> tuple[Matrix, Matrix]:
        """Smallest Ritz values in the span of S, and the coefficients of their vectors in S."""
        G, K = self.products(S, S, symmetric=True), self.products(S, LS, symmetric=True)
        return self.ritz_of_products(G, K, n_vectors)

    @staticmethod
    def ritz_of_products(G: Matrix, K: Matrix, n_vectors: int) -> tuple[Matrix, Matrix]:
        """The same from the products S S^T and S L S^T."""
        lengths = np.sqrt(np.maximum(np.diag(G), np.finfo(float).tiny))
        G, K = G / lengths / lengths[:, None], K / lengths / lengths[:, None]
        with one_blas_thread():
            sizes, basis = eigh(G)
        keep = sizes > _DEPENDENT * sizes[-1]
        basis = basis[:, keep] / np.sqrt(sizes[keep])
        with one_blas_thread():
            values, mix = eigh(_cross(basis, _cross(K, basis)))
        rows: Matrix = _cross(mix[:, :n_vectors], basis.T) / lengths
        return values[:n_vectors], rows


def _cross(A: Matrix, B: Matrix) -> Matrix:
    """``A.T @ B``."""
    A, B = np.ascontiguousarray(A.T), np.ascontiguousarray(B.T)
    out: Matrix = np.empty((len(A), len(B)))
    row_products(A, B, False, 0, A.shape[1], out)
    return out
