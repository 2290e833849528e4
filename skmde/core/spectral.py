r"""The standardized quadratic MDE problem, solved to its global optimum (monograph, chapter 3).

    minimise  (1/p) tr(X^T L X)   subject to   X^T X = n I,  N X = 0

for a symmetric L and a few orthonormal eigenvectors of it, the rows of N, that an embedding must
not use: the constant one, and those that tell connected components apart. The minimisers are
sqrt(n) times the eigenvectors of the smallest eigenvalues beyond these.

Four ways lead there. LOBPCG (``lobpcg.py``) needs products with L only, and its sums are taken in a
fixed order; projected L-BFGS (``lbfgs.py``) likewise. LAPACK ("dense") and ARPACK ("lanczos") are
scipy's: their last bits may change with the number of threads of BLAS, save LAPACK's for
matrices of at most 50 rows. Vectors are the rows of a matrix; everything is in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from skmde.constraints import Constraint
from skmde.core.lbfgs import minimize
from skmde.core.lobpcg import Space, iterate

Matrix = np.ndarray

SOLVERS = ("auto", "dense", "lanczos", "lobpcg", "lbfgs")

_SMALL = 50  # rows; LAPACK gives the same bits for any number of threads up to here
_WIDE = 40  # vectors from which LAPACK is quicker, if there are few rows
_FEW_ROWS = 3000
_SEED = 0  # of the start of an iteration; its effect is gone at convergence
_ROUNDING = 1e-14  # of the largest eigenvalue
_ROOT_OF_ROUNDING = 1e-7  # of the largest eigenvalue, for residuals
_SHARE_OF_BOUND = 1e-3  # the size of wanted eigenvalues that Lanczos is precise for


@dataclass(frozen=True)
class QuadraticForm:
    """L, and what solvers want to know of it.

    Attributes
    ----------
    apply : callable
        Maps rows (b, n) to L times each.
    null : ndarray of shape (c, n)
        Orthonormal eigenvectors that are left out.
    bound : float
        At least the largest eigenvalue in magnitude.
    precondition : callable
        Maps rows (b, n) to about the inverse of L times each.
    """

    apply: Callable[[Matrix], Matrix]
    null: Matrix
    bound: float
    precondition: Callable[[Matrix], Matrix]

    def toarray(self) -> Matrix:
        """L itself, symmetric to the last bit."""
        n = self.null.shape[1]
        L = np.empty((n, n))
        step = max(1, (1 << 22) // n)
        for start in range(0, n, step):
            unit = np.zeros((min(step, n - start), n))
            unit[np.arange(len(unit)), np.arange(start, start + len(unit))] = 1.0
            L[start : start + step] = self.apply(unit)
        return (L + L.T) / 2


@dataclass(frozen=True)
class Spectrum:
    """The bottom of a spectrum.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Increasing eigenvalues.
    vectors : ndarray of shape (k, n)
        Unit eigenvectors, orthogonal to the null vectors.
    following : float or None
        About the next eigenvalue, where the solver knows it.
    n_iter : int
        Steps of the iteration; 0 if there was none.
    converged : bool
    """

    values: Matrix
    vectors: Matrix
    following: float | None
    n_iter: int
    converged: bool


def bottom(
    form: QuadraticForm,
    n_vectors: int,
    solver: str,
    *,
    tol: float,
    max_iter: int,
    n_threads: int = 1,
) -> Spectrum:
    """Eigenvectors of the smallest eigenvalues that are orthogonal to the null vectors.

    Parameters
    ----------
    form : QuadraticForm
    n_vectors : int
        At most n less the number of null vectors.
    solver : {"auto", "dense", "lanczos", "lobpcg", "lbfgs"}
        Problems too small for an iteration are decomposed whatever it says.
    tol : float
        An iteration stops when the residuals ``L x - theta x`` have at most this norm, in units of
        the largest eigenvalue wanted.
    max_iter : int
        Largest number of steps; if Lanczos has not found all by then, LOBPCG goes on.
    n_threads : int
        Threads of "lobpcg" and "lbfgs"; their results do not depend on it.

    Returns
    -------
    Spectrum
    """
    n = form.null.shape[1]
    if n_vectors == 0:
        return Spectrum(np.empty(0), np.empty((0, n)), None, 0, True)
    small = n <= max(_SMALL, 4 * (n_vectors + len(form.null) + 3))
    wide = solver == "auto" and n_vectors > _WIDE and n <= _FEW_ROWS
    if solver == "dense" or small or wide:
        return _dense(form, n_vectors)
    if solver == "lanczos":
        return _lanczos(form, n_vectors, tol, max_iter)
    space = Space(n, n_threads, form.null)
    if solver == "lbfgs":
        return _lbfgs(form, space, n_vectors, tol, max_iter)
    found = iterate(
        form.apply,
        form.precondition,
        space,
        n_vectors,
        max_iter=max_iter,
        seed=_SEED,
        tol=tol,
        smallest=_ROUNDING * form.bound,
    )
    values, vectors = found.values, found.vectors[:n_vectors]
    return Spectrum(values[:n_vectors], vectors, values[n_vectors], found.n_iter, found.converged)


def _dense(form: QuadraticForm, n_vectors: int) -> Spectrum:
    n, c = form.null.shape[1], len(form.null)
    # null vectors go beyond the other end of the spectrum
    L = form.toarray() + (4 * form.bound + 1.0) * (form.null.T @ form.null)
    wanted = min(n_vectors + 1, n - c)
    if n <= _SMALL:
        values, columns = np.linalg.eigh(L)
    else:
        values, columns = eigh(L, subset_by_index=(0, wanted - 1), overwrite_a=True)
    following = float(values[n_vectors]) if wanted > n_vectors else None
    vectors = np.ascontiguousarray(columns[:, :n_vectors].T)
    return Spectrum(values[:n_vectors], vectors, following, 0, True)


def _lanczos(form: QuadraticForm, n_vectors: int, tol: float, max_iter: int) -> Spectrum:
    n, null = form.null.shape[1], form.null
    shift = 4 * form.bound + 1.0
    steps = 0

    # The top of (bound - L) on the space beyond the null vectors, which get eigenvalue -shift
    # there: the largest eigenvalues are what Lanczos finds first.
    def matvec(x: Matrix) -> Matrix:
        nonlocal steps
        steps += 1
        x = x.ravel()
        along = null @ x
        out: Matrix = form.bound * x - form.apply(x[None])[0] - (shift * along) @ null
        return out

    start = np.random.default_rng(_SEED).standard_normal(n)
    start -= (null @ start) @ null
    try:
        values, columns = eigsh(
            LinearOperator((n, n), matvec=matvec, dtype=np.float64),
            n_vectors + 1,
            which="LA",
            v0=start,
            ncv=min(n, max(60, 4 * n_vectors)),
            # in units of (bound - L), about the bound
            tol=_SHARE_OF_BOUND * tol,
            maxiter=max(1, max_iter // 10),
        )
    except ArpackNoConvergence:
        found = bottom(form, n_vectors, "lobpcg", tol=tol, max_iter=max_iter)
        return replace(found, n_iter=steps + found.n_iter)
    order = np.argsort(-values, kind="stable")
    values, vectors = form.bound - values[order], np.ascontiguousarray(columns.T[order])
    return Spectrum(values[:n_vectors], vectors[:n_vectors], float(values[n_vectors]), steps, True)


class _Form:
    """tr(X^T L X), with L scaled to size 1, as an objective of the L-BFGS solver."""

    def __init__(self, form: QuadraticForm, n_threads: int) -> None:
        self.n_threads = n_threads
        self.device = torch.device("cpu")
        self._form = form
        self._space = Space(form.null.shape[1], n_threads)
        self._unit = form.bound or 1.0

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float, torch.Tensor]:
        rows = np.ascontiguousarray(X.numpy().T)
        LX = self._form.apply(rows) / self._unit
        value = float(np.trace(self._space.products(rows, LX)))
        return value, torch.from_numpy(np.ascontiguousarray(2 * LX.T))


class _Orthonormal(Constraint):
    """X^T X = n I, orthogonal to the null vectors of a space."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def project(self, Z: torch.Tensor) -> torch.Tensor:
        rows = self.space.without_null(np.ascontiguousarray(Z.numpy().T))
        values, Q = np.linalg.eigh(self.space.products(rows, rows, symmetric=True) / len(Z))
        out = np.empty_like(rows)
        root = (Q / np.sqrt(np.maximum(values, 1e-30))) @ Q.T
        self.space.combine(np.ascontiguousarray(root), rows, out)
        return torch.from_numpy(np.ascontiguousarray(out.T))

    def project_tangent(self, X: torch.Tensor, Z: torch.Tensor) -> torch.Tensor:
        x, z = (np.ascontiguousarray(A.numpy().T) for A in (X, Z))
        along = self.space.products(z, x) / len(X)
        out = np.empty_like(x)
        self.space.combine(np.ascontiguousarray((along + along.T) / 2), x, out)
        return torch.from_numpy(np.ascontiguousarray((z - out).T))


def _lbfgs(
    form: QuadraticForm, space: Space, n_vectors: int, tol: float, max_iter: int
) -> Spectrum:
    constraint = _Orthonormal(space)
    n = space.n
    rng = np.random.default_rng(_SEED)
    start = constraint.project(torch.from_numpy(rng.standard_normal((n, n_vectors))))
    result = minimize(
        _Form(form, space.n_threads),
        constraint,
        start,
        tol=2 * tol * np.sqrt(n) * 1e-2,
        max_iter=max_iter,
    )
    rows = np.ascontiguousarray(result.X.numpy().T)
    # the rotation that makes X^T L X diagonal
    values, mix = space.rayleigh_ritz(rows, form.apply(rows), n_vectors)
    vectors = np.empty_like(rows)
    space.combine(mix, rows, vectors)
    R = form.apply(vectors) - values[:, None] * vectors
    worst = np.sqrt(np.diag(space.products(R, R)).max())
    # a method that compares values sees no step whose square is lost in them
    converged = bool(worst <= max(tol * np.abs(values).max(), _ROOT_OF_ROUNDING * form.bound))
    return Spectrum(values, vectors, None, result.n_iter, converged)
