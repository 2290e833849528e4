r"""The global solution of the standardized quadratic MDE problem (monograph, section 3.1).

    minimise  (1/p) tr(X^T L X)   subject to   X^T X = n I,  N X = 0

L is a symmetric matrix. The rows of N, the *null vectors*, are orthonormal eigenvectors of L that
the embedding must not use: the constant vector, and vectors that separate connected components. The
minimisers are sqrt(n) times the eigenvectors of the smallest eigenvalues, without the null vectors.
Eigenvalues are in the units of L.

There are four solvers. LOBPCG (``lobpcg.py``) and projected L-BFGS (``lbfgs.py``) need products
with L only, and take sums in a fixed order. LAPACK ("dense") and ARPACK ("lanczos") are called
through scipy. Their last bits may change with the number of BLAS threads, except those of LAPACK
for matrices of at most 50 rows. Vectors are the rows of a matrix. Numbers are float64, except for
rough solutions by L-BFGS, which are float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from skmde._linalg.lobpcg import Space, Watch, iterate
from skmde._linalg.reductions import dot, gram
from skmde._linalg.standardize import affine_rows, inverse_sqrt
from skmde._utils.threads import one_blas_thread
from skmde.constraints import Constraint
from skmde.core.kernels.backend import choose_backend
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import SolverState

Matrix = np.ndarray

SOLVERS = ("auto", "dense", "lanczos", "lobpcg", "lbfgs")
WATCHED = ("lobpcg", "lbfgs")  # solvers that call `watch` after every step

_SMALL = 50  # rows; up to here, LAPACK has one thread
_WIDE = 40  # vectors; up to this number, "auto" is LOBPCG
_FEW_ROWS = 3000  # rows; up to here, LAPACK is faster for more than _WIDE vectors
SEED = 0  # of random starting vectors; the converged result does not depend on it
_ROUNDING = 1e-14  # rounding error of eigenvalues, relative to the largest
_ROOT_OF_ROUNDING = 1e-7  # its square root, for the norms of residuals
_SHARE_OF_BOUND = 1e-3  # assumed size of the wanted eigenvalues, relative to the bound


@dataclass(frozen=True)
class QuadraticForm:
    """The matrix L as a function, and what solvers need to know about it.

    Attributes
    ----------
    apply : callable
        Multiplies each row of an array (b, n) by L.
    null : ndarray of shape (c, n)
        The null vectors: orthonormal eigenvectors that solutions must be orthogonal to.
    bound : float
        Upper bound on the magnitude of the eigenvalues.
    precondition : callable
        Multiplies each row of an array (b, n) by an approximate inverse of L.
    """

    apply: Callable[[Matrix], Matrix]
    null: Matrix
    bound: float
    precondition: Callable[[Matrix], Matrix]

    def toarray(self) -> Matrix:
        """The matrix L, exactly symmetric."""
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
    """The smallest eigenpairs, without the null vectors.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Eigenvalues in increasing order.
    vectors : ndarray of shape (k, n)
        Unit eigenvectors, orthogonal to the null vectors.
    following : float or None
        Approximation of the next eigenvalue; None if the solver does not compute it.
    n_iter : int
        Number of iterations; 0 for a direct method.
    converged : bool
        Whether the solver met its stopping criterion, or was stopped by `watch`.
    """

    values: Matrix
    vectors: Matrix
    following: float | None
    n_iter: int
    converged: bool


def smallest_eigenpairs(
    form: QuadraticForm,
    n_vectors: int,
    solver: str,
    *,
    tol: float | None,
    max_iter: int,
    n_threads: int = 1,
    watch: Watch | None = None,
) -> Spectrum:
    """The smallest eigenvalues of L and their eigenvectors, without the null vectors.

    Parameters
    ----------
    form : QuadraticForm
    n_vectors : int
        Number of eigenvectors; at most n minus the number of null vectors.
    solver : {"auto", "dense", "lanczos", "lobpcg", "lbfgs"}
        Small problems are solved by "dense", whatever the value.
    tol : float or None
        Iterations stop when the norm of the residuals ``L x - theta x`` is at most `tol` times the
        largest wanted eigenvalue. None, for "auto", means that rough vectors are enough: LOBPCG
        stops when the eigenvalues change little, L-BFGS after `max_iter` iterations.
    max_iter : int
        Maximum number of iterations. If Lanczos has not converged by then, LOBPCG takes over.
    n_threads : int
        Number of threads of "lobpcg" and "lbfgs"; their results do not depend on it.
    watch : callable, optional
        Called after every step of "lobpcg" and "lbfgs"; it may stop them. See
        :data:`~skmde._linalg.lobpcg.Watch`.

    Returns
    -------
    Spectrum
    """
    n = form.null.shape[1]
    if n_vectors == 0:
        return Spectrum(np.empty(0), np.empty((0, n)), None, 0, True)
    solver = choose_solver(form, n_vectors, solver, tol)
    if solver == "dense":
        return _dense(form, n_vectors)
    if solver == "lanczos":
        return _lanczos(form, n_vectors, tol or 0.0, max_iter)
    space = Space(n, n_threads, form.null)
    if solver == "lbfgs":
        return _lbfgs(form, space, n_vectors, tol, max_iter, watch)
    found = iterate(
        form.apply,
        form.precondition,
        space,
        n_vectors,
        max_iter=max_iter,
        seed=SEED,
        tol=tol,
        smallest=_ROUNDING * form.bound,
        watch=watch,
    )
    values, vectors = found.values, found.vectors[:n_vectors]
    return Spectrum(values[:n_vectors], vectors, values[n_vectors], found.n_iter, found.converged)


def choose_solver(form: QuadraticForm, n_vectors: int, solver: str, tol: float | None) -> str:
    """The solver that :func:`smallest_eigenpairs` uses for a value of `solver`."""
    n_null, n = form.null.shape
    if n <= max(_SMALL, 4 * (n_vectors + n_null + 3)):
        return "dense"
    if solver != "auto":
        return solver
    if n_vectors <= _WIDE:
        return "lobpcg"
    # the cost of a LOBPCG iteration grows with the square of the number of vectors
    if tol is None:
        return "lbfgs"
    return "dense" if n <= _FEW_ROWS else "lobpcg"


def _dense(form: QuadraticForm, n_vectors: int) -> Spectrum:
    n, c = form.null.shape[1], len(form.null)
    # the shift makes the eigenvalues of the null vectors the largest
    L = form.toarray() + (4 * form.bound or 1.0) * (form.null.T @ form.null)
    wanted = min(n_vectors + 1, n - c)
    if n <= _SMALL:
        with one_blas_thread():
            values, columns = np.linalg.eigh(L)
    else:
        values, columns = eigh(L, subset_by_index=(0, wanted - 1), overwrite_a=True)
    following = float(values[n_vectors]) if wanted > n_vectors else None
    vectors = np.ascontiguousarray(columns[:, :n_vectors].T)
    return Spectrum(values[:n_vectors], vectors, following, 0, True)


def _lanczos(form: QuadraticForm, n_vectors: int, tol: float, max_iter: int) -> Spectrum:
    n, null = form.null.shape[1], form.null
    shift = 4 * form.bound or 1.0
    steps = 0

    # Lanczos finds the largest eigenvalues first, so it gets bound * I - L. The shift makes the
    # eigenvalues of the null vectors the smallest.
    def matvec(x: Matrix) -> Matrix:
        nonlocal steps
        steps += 1
        x = x.ravel()
        along = null @ x
        out: Matrix = form.bound * x - form.apply(x[None])[0] - (shift * along) @ null
        return out

    start = np.random.default_rng(SEED).standard_normal(n)
    start -= (null @ start) @ null
    try:
        values, columns = eigsh(
            LinearOperator((n, n), matvec=matvec, dtype=np.float64),
            n_vectors + 1,
            which="LA",
            v0=start,
            ncv=min(n, max(60, 4 * n_vectors)),
            # relative to the eigenvalues of bound * I - L, which are close to the bound
            tol=_SHARE_OF_BOUND * tol,
            maxiter=max(1, max_iter // 10),
        )
    except ArpackNoConvergence:
        found = smallest_eigenpairs(form, n_vectors, "lobpcg", tol=tol, max_iter=max_iter)
        return replace(found, n_iter=steps + found.n_iter)
    order = np.argsort(-values, kind="stable")
    values, vectors = form.bound - values[order], np.ascontiguousarray(columns.T[order])
    return Spectrum(values[:n_vectors], vectors[:n_vectors], float(values[n_vectors]), steps, True)


class _TraceObjective:
    """tr(X^T L X), with L divided by its bound, as an objective for L-BFGS."""

    def __init__(self, form: QuadraticForm, n_threads: int) -> None:
        self.backend = choose_backend(torch.device("cpu"), n_threads)
        self._form = form
        self._scale = 2.0 / (form.bound or 1.0)

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float, torch.Tensor]:
        LX = self._form.apply(np.ascontiguousarray(X.numpy().T)).T
        gradient = torch.from_numpy(np.multiply(LX, self._scale, order="C"))
        return float(dot(X, gradient)) / 2, gradient


class _Orthonormal(Constraint):
    """The constraint X^T X = n I, with columns orthogonal to the null vectors."""

    def __init__(self, null: Matrix) -> None:
        self._null = torch.from_numpy(np.ascontiguousarray(null.T))

    def project(self, Z: torch.Tensor) -> torch.Tensor:
        zero = torch.zeros(Z.shape[1])
        Z = affine_rows(self._null, -gram(self._null, Z), zero, Z)
        root, _ = inverse_sqrt(gram(Z, Z) / len(Z))
        return affine_rows(Z, root, zero)

    def project_tangent(self, X: torch.Tensor, Z: torch.Tensor) -> torch.Tensor:
        along = gram(Z, X) / len(X)
        return affine_rows(X, -(along + along.T) / 2, torch.zeros(X.shape[1]), Z)


def _lbfgs(
    form: QuadraticForm,
    space: Space,
    n_vectors: int,
    tol: float | None,
    max_iter: int,
    watch: Watch | None,
) -> Spectrum:
    n = space.n
    constraint = _Orthonormal(form.null)
    rows = space.start(form.precondition, n_vectors, SEED)
    start = torch.from_numpy(np.ascontiguousarray(np.sqrt(n) * rows.T))
    if tol is None:  # float32 takes half the memory, and nearly half the time
        tol, start = 0.0, start.float()

    def ritz(X: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Eigenvalues, unit vectors and norms of their residuals, by Rayleigh-Ritz from X."""
        rows = np.ascontiguousarray(X.T, np.float64)
        values, mix = space.rayleigh_ritz(rows, form.apply(rows), n_vectors)
        vectors = np.empty_like(rows)
        space.combine(mix, rows, vectors)
        return values, vectors, space.lengths(form.apply(vectors) - values[:, None] * vectors)

    stopped = False

    def step(state: SolverState) -> bool:
        nonlocal stopped
        values, vectors, lengths = ritz(state.X)
        assert watch is not None
        stopped = bool(watch(state.iteration, values, vectors, float(np.linalg.norm(lengths))))
        return stopped

    solver = LBFGS(tol=2 * tol * np.sqrt(n) * 1e-2, max_iter=max_iter)
    callbacks = () if watch is None else (step,)
    objective = _TraceObjective(form, space.n_threads)
    result = solver.minimize(objective, constraint, constraint.project(start), callbacks)
    values, vectors, lengths = ritz(result.X.numpy())
    # L-BFGS compares values, so it cannot reduce residuals whose squares are rounding error
    enough = max(tol * np.abs(values).max(), _ROOT_OF_ROUNDING * form.bound)
    converged = stopped or bool(lengths.max() <= enough)
    return Spectrum(values, vectors, None, result.n_iter, converged)
