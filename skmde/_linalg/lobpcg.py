r"""Locally optimal block preconditioned conjugate gradients, for the smallest eigenpairs.

To minimise tr(X^T L X) over X^T X = n I, X^T 1 = 0, one step takes the best X in the span of

    X,   R = D^{-1} (L X - X Theta)   (residuals, divided by the vertex degrees),   P

where P is the part of the last step that was not X (Knyazev, "Toward the optimal preconditioned
eigensolver", 2001). The best X in a span is a small dense eigenproblem: Rayleigh-Ritz. The
division by the degrees is what finds eigenvectors that live on a few vertices of low degree.

scipy has this method, too, but its sums are BLAS's, whose last bits change with the number of
threads; here they are taken in fixed pieces. The dense eigenproblem is LAPACK's by relatively
robust representations, whose bits do not change with the threads up to some 200 rows (numpy's, by
divide and conquer, change from some 70 on). Vectors are the rows of a matrix, so that all sums run
along the memory. Everything is in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from skmde._linalg.vector_kernels import row_combinations, row_products
from skmde._utils.threads import even_pieces, run_pieces

Matrix = np.ndarray
# Called after a step with its number, the values and unit vectors by then, and the norm of their
# residuals L x - theta x; a true answer ends the iteration.
Watch = Callable[[int, Matrix, Matrix, float], Any]

_GUARDS = 2  # further vectors that are carried along; they speed up those that are wanted
_SETTLED = 5e-5  # relative decrease of the sum of eigenvalues that a step must bring
_QUIET_STEPS = 3  # steps in a row that brought less, before it counts as done
_DEPENDENT = 1e-10  # part of a direction that is new, below which it is rounding
_APART = 0.1  # least eigenvalue of the products of vectors to start from, in units of the largest
_SHARE = 1 << 13  # positions per piece
_FRESH = 25  # steps after which L X is computed anew, where the tolerance is tight


@dataclass(frozen=True)
class Ritz:
    """What an iteration found.

    Attributes
    ----------
    values : ndarray of shape (b,)
        Increasing; the guards' follow those of the vectors asked for.
    vectors : ndarray of shape (b, n)
        Orthonormal rows.
    n_iter : int
        Number of steps.
    converged : bool
        Whether it ended before the largest number of steps.
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
    """Approximate eigenvectors of the smallest eigenvalues, orthogonal to the space's null vectors.

    Parameters
    ----------
    operator : callable
        Maps vectors, the rows of an array (b, n), to L times each. L is symmetric and has the
        null vectors of `space` as eigenvectors.
    precondition : callable
        Maps residuals, rows alike, to about the inverse of L times each: for a Laplacian, their
        quotients by the vertex degrees.
    space : Space
        Where the vectors live.
    n_vectors : int
        Number of vectors, well below n.
    max_iter : int
        Largest number of steps.
    seed : int
        Seed of the random start.
    tol : float, optional
        Stop when the norm of every residual ``L x - theta x`` is at most this, in units of the
        largest of the wanted eigenvalues. None stops when the eigenvalues have settled.
    smallest : float
        Norm of a residual that is rounding; it counts as 0.
    watch : callable, optional
        Sees every step; see `Watch`.

    Returns
    -------
    Ritz
    """
    n = space.n
    b = n_vectors + _GUARDS
    # Rows of S: X, R, P. The next step's are written beside this one's.
    S, LS, following, L_following = (np.empty((3 * b, n)) for _ in range(4))
    used = 2 * b  # there is no P yet
    V = space.start(precondition, b, seed)
    LV = operator(V)
    values, mix = space.rayleigh_ritz(V, LV, b)
    space.combine(mix, V, S[:b])
    space.combine(mix, LV, LS[:b])
    quiet, step = 0, 0
    for step in range(1, max_iter + 1):
        R = np.multiply(values[:, None], S[:b], out=S[b : 2 * b])
        np.subtract(LS[:b], R, out=R)
        if tol is not None:
            worst = space.lengths(R[:n_vectors]).max()
            if worst <= max(tol * np.abs(values[:n_vectors]).max(), smallest):
                return Ritz(values, S[:b], step - 1, True)
        R[:] = space.centred(precondition(R))
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
            quiet = quiet + 1 if before - after <= _SETTLED * abs(after) else 0
            if quiet >= _QUIET_STEPS:
                return Ritz(values, S[:b], step, True)
        elif step % _FRESH == 0:  # before rounding adds up
            S[:b] = space.centred(S[:b])
            LS[:b] = operator(S[:b])
            S[2 * b :] = space.centred(S[2 * b :])
            LS[2 * b :] = operator(S[2 * b :])
    return Ritz(values, S[:b], step, False)


class Space:
    """Linear algebra on vectors of length n that are rows, in pieces of fixed size.

    Parameters
    ----------
    n : int
    n_threads : int
        Results do not depend on it.
    null : ndarray of shape (c, n), optional
        Orthonormal vectors that are projected off.
    """

    def __init__(self, n: int, n_threads: int, null: Matrix | None = None) -> None:
        self.n = n
        self.n_threads = n_threads
        self.null = np.empty((0, n)) if null is None else null
        self._bounds = even_pieces(0, n, max(1, -(-n // _SHARE)))

    def products(self, A: Matrix, B: Matrix, *, symmetric: bool = False) -> Matrix:
        """``A @ B.T``; if that is known to be symmetric, at half the cost."""
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

    def lengths(self, A: Matrix) -> Matrix:
        """Norms of the rows."""
        return np.sqrt(np.array([self.products(a[None], a[None])[0, 0] for a in A]))

    def without_null(self, A: Matrix) -> Matrix:
        """Rows without their part along the null vectors."""
        along = np.empty_like(A)
        self.combine(self.products(A, self.null), self.null, along)
        return np.subtract(A, along, out=along)

    def centred(self, A: Matrix) -> Matrix:
        """Rows without their part along the null vectors, scaled to length 1."""
        A = self.without_null(A)
        lengths = self.lengths(A)
        scaled: Matrix = A / np.where(lengths > 0, lengths, 1.0)[:, None]
        return scaled

    def start(self, precondition: Callable[[Matrix], Matrix], n_vectors: int, seed: int) -> Matrix:
        """Random unit vectors, after up to two steps of inverse iteration, without products."""
        V = self.centred(np.random.default_rng(seed).standard_normal((n_vectors, self.n)))
        for _ in range(2):
            W = self.centred(precondition(V))
            sizes = np.linalg.eigvalsh(self.products(W, W, symmetric=True))
            if sizes[0] < _APART * sizes[-1]:  # so good an inverse that it leaves one direction
                break
            V = W
        return V

    def rayleigh_ritz(self, S: Matrix, LS: Matrix, n_vectors: int) -> tuple[Matrix, Matrix]:
        """Smallest Ritz values in the span of S, and the rows that make their vectors of S."""
        G, K = self.products(S, S, symmetric=True), self.products(S, LS, symmetric=True)
        lengths = np.sqrt(np.maximum(np.diag(G), np.finfo(float).tiny))
        G, K = G / lengths / lengths[:, None], K / lengths / lengths[:, None]
        sizes, basis = eigh(G)
        keep = sizes > _DEPENDENT * sizes[-1]
        basis = basis[:, keep] / np.sqrt(sizes[keep])
        values, mix = eigh(_cross(basis, _cross(K, basis)))
        rows: Matrix = _cross(mix[:, :n_vectors], basis.T) / lengths
        return values[:n_vectors], rows


def _cross(A: Matrix, B: Matrix) -> Matrix:
    """``A.T @ B``."""
    A, B = np.ascontiguousarray(A.T), np.ascontiguousarray(B.T)
    out: Matrix = np.empty((len(A), len(B)))
    row_products(A, B, False, 0, A.shape[1], out)
    return out
