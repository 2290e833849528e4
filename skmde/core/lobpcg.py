r"""Locally optimal block preconditioned conjugate gradients, for the bottom of a Laplacian.

To minimise tr(X^T L X) over X^T X = n I, X^T 1 = 0, one step takes the best X in the span of

    X,   R = D^{-1} (L X - X Theta)   (residuals, divided by the vertex degrees),   P

where P is the part of the last step that was not X (Knyazev, "Toward the optimal preconditioned
eigensolver", 2001). The best X in a span is a small dense eigenproblem: Rayleigh-Ritz. The
division by the degrees is what finds eigenvectors that live on a few vertices of low degree.

scipy has this method, too, but its sums are BLAS's, whose last bits change with the number of
threads; here they are taken in fixed pieces. Vectors are the rows of a matrix, so that all sums
run along the memory. Everything is in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skmde._threads import even_pieces, run_pieces
from skmde.core.kernels import _numba

Matrix = np.ndarray

_GUARDS = 2  # further vectors that are carried along; they speed up those that are wanted
_SETTLED = 1e-4  # relative decrease of the sum of eigenvalues that a step must bring
_QUIET_STEPS = 3  # steps in a row that brought less, before it counts as done
_DEPENDENT = 1e-10  # part of a direction that is new, below which it is rounding
_SHARE = 1 << 12  # positions per piece


def lobpcg(
    operator: Callable[[Matrix], Matrix],
    degrees: Matrix,
    n_vectors: int,
    *,
    max_iter: int,
    seed: int,
    n_threads: int = 1,
) -> tuple[Matrix, Matrix]:
    """Approximate eigenvectors of the smallest eigenvalues beyond that of the constant vector.

    Parameters
    ----------
    operator : callable
        Maps vectors, the rows of an array (b, n), to L times each. L is symmetric and has the
        constant vector as an eigenvector, as a Laplacian has.
    degrees : ndarray of shape (n,)
        Positive numbers that residuals are divided by: a Laplacian's diagonal, or ones.
    n_vectors : int
        Number of vectors, well below n.
    max_iter : int
        Largest number of steps; fewer are taken once the eigenvalues have settled.
    seed : int
        Seed of the random start.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    eigenvalues : ndarray of shape (n_vectors,)
        Increasing Ritz values.
    vectors : ndarray of shape (n_vectors, n)
        Orthonormal rows.
    """
    n = degrees.shape[0]
    space = Space(n, n_threads)
    b = n_vectors + _GUARDS
    # Rows of S: X, R, P. The next step's are written beside this one's.
    S, LS, following, L_following = (np.empty((3 * b, n)) for _ in range(4))
    used = 2 * b  # there is no P yet
    V = space.centred(np.random.default_rng(seed).standard_normal((b, n)))
    LV = operator(V)
    values, mix = space.rayleigh_ritz(V, LV, b)
    space.combine(mix, V, S[:b])
    space.combine(mix, LV, LS[:b])
    quiet = 0
    for _ in range(max_iter):
        R = np.multiply(values[:, None], S[:b], out=S[b : 2 * b])
        np.subtract(LS[:b], R, out=R)
        R /= degrees
        R[:] = space.centred(R)
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
        quiet = quiet + 1 if before - after <= _SETTLED * abs(after) else 0
        if quiet >= _QUIET_STEPS:
            break
    return values[:n_vectors], S[:n_vectors]


class Space:
    """Linear algebra on vectors of length n that are rows, in pieces of fixed size."""

    def __init__(self, n: int, n_threads: int) -> None:
        self.n_threads = n_threads
        self._bounds = even_pieces(0, n, max(1, -(-n // _SHARE)))

    def products(self, A: Matrix, B: Matrix, *, symmetric: bool = False) -> Matrix:
        """``A @ B.T``; if that is known to be symmetric, at half the cost."""
        parts = np.zeros((len(self._bounds), len(A), len(B)))
        run_pieces(
            lambda k, start, stop: _numba.row_products(A, B, symmetric, start, stop, parts[k]),
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
            lambda start, stop: _numba.row_combinations(coefficients, A, start, stop, out),
            self._bounds,
            self.n_threads,
        )

    def centred(self, A: Matrix) -> Matrix:
        """Rows without their mean, scaled to length 1."""
        ones = np.ones((1, A.shape[1]))
        A = A - self.products(A, ones) / A.shape[1]
        lengths = np.sqrt(np.array([self.products(a[None], a[None])[0, 0] for a in A]))
        scaled: Matrix = A / np.where(lengths > 0, lengths, 1.0)[:, None]
        return scaled

    def rayleigh_ritz(self, S: Matrix, LS: Matrix, n_vectors: int) -> tuple[Matrix, Matrix]:
        """Smallest Ritz values in the span of S, and the rows that make their vectors of S."""
        G, K = self.products(S, S, symmetric=True), self.products(S, LS, symmetric=True)
        lengths = np.sqrt(np.maximum(np.diag(G), np.finfo(float).tiny))
        G, K = G / lengths / lengths[:, None], K / lengths / lengths[:, None]
        sizes, basis = np.linalg.eigh(G)
        keep = sizes > _DEPENDENT * sizes[-1]
        basis = basis[:, keep] / np.sqrt(sizes[keep])
        values, mix = np.linalg.eigh(basis.T @ K @ basis)
        rows: Matrix = (basis @ mix[:, :n_vectors]).T / lengths
        return values[:n_vectors], np.ascontiguousarray(rows)
