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

from skmde._linalg.lobpcg import Space, Watch, iterate
from skmde._linalg.reductions import dot, gram
from skmde._linalg.standardize import affine_rows, inverse_sqrt
from skmde.constraints import Constraint
from skmde.core.kernels.backend import choose_backend
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import SolverState

Matrix = np.ndarray

SOLVERS = ("auto", "dense", "lanczos", "lobpcg", "lbfgs")
WATCHED = ("lobpcg", "lbfgs")  # whose steps can be seen

_SMALL = 50  # rows; LAPACK gives the same bits for any number of threads up to here
_WIDE = 40  # vectors
_FEW_ROWS = 3000  # LAPACK is quicker for wide problems of no more rows
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
    """The smallest eigenvalues and their eigenvectors.

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
    """Eigenvectors of the smallest eigenvalues that are orthogonal to the null vectors.

    Parameters
    ----------
    form : QuadraticForm
    n_vectors : int
        At most n less the number of null vectors.
    solver : {"auto", "dense", "lanczos", "lobpcg", "lbfgs"}
        Problems too small for an iteration are decomposed whatever it says.
    tol : float or None
        An iteration stops when the residuals ``L x - theta x`` have at most this norm, in units of
        the largest eigenvalue wanted. None, for "auto": rough vectors will do. LOBPCG stops when
        the eigenvalues have settled, L-BFGS after `max_iter` steps.
    max_iter : int
        Largest number of steps; if Lanczos has not found all by then, LOBPCG goes on.
    n_threads : int
        Threads of "lobpcg" and "lbfgs"; their results do not depend on it.
    watch : callable, optional
        Sees every step of "lobpcg" and "lbfgs", and may end them; see
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
        seed=_SEED,
        tol=tol,
        smallest=_ROUNDING * form.bound,
        watch=watch,
    )
    values, vectors = found.values, found.vectors[:n_vectors]
    return Spectrum(values[:n_vectors], vectors, values[n_vectors], found.n_iter, found.converged)


def choose_solver(form: QuadraticForm, n_vectors: int, solver: str, tol: float | None) -> str:
    """The solver that :func:`smallest_eigenpairs` uses if it is told `solver`."""
    n_null, n = form.null.shape
    if n <= max(_SMALL, 4 * (n_vectors + n_null + 3)):
        return "dense"
    if solver != "auto":
        return solver
    if n_vectors <= _WIDE:
        return "lobpcg"
    # the dense work inside a step of LOBPCG grows with the square of the number of vectors
    if tol is None:
        return "lbfgs"
    return "dense" if n <= _FEW_ROWS else "lobpcg"


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
        found = smallest_eigenpairs(form, n_vectors, "lobpcg", tol=tol, max_iter=max_iter)
        return replace(found, n_iter=steps + found.n_iter)
    order = np.argsort(-values, kind="stable")
    values, vectors = form.bound - values[order], np.ascontiguousarray(columns.T[order])
    return Spectrum(values[:n_vectors], vectors[:n_vectors], float(values[n_vectors]), steps, True)


class _Form:
    """tr(X^T L X), with L scaled to size 1, as an objective of the L-BFGS solver."""

    def __init__(self, form: QuadraticForm, n_threads: int) -> None:
        self.backend = choose_backend(torch.device("cpu"), n_threads)
        self._form = form
        self._scale = 2.0 / (form.bound or 1.0)

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float, torch.Tensor]:
        LX = self._form.apply(np.ascontiguousarray(X.numpy().T)).T
        gradient = torch.from_numpy(np.multiply(LX, self._scale, order="C"))
        return float(dot(X, gradient)) / 2, gradient


class _Orthonormal(Constraint):
    """X^T X = n I, orthogonal to null vectors."""

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
    rows = space.start(form.precondition, n_vectors, _SEED)
    start = torch.from_numpy(np.ascontiguousarray(np.sqrt(n) * rows.T))
    if tol is None:  # half the memory, and nearly half the time
        tol, start = 0.0, start.float()

    def ritz(X: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Values, vectors and lengths of residuals of the rotation that makes X^T L X diagonal."""
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
    objective = _Form(form, space.n_threads)
    result = solver.minimize(objective, constraint, constraint.project(start), callbacks)
    values, vectors, lengths = ritz(result.X.numpy())
    # a method that compares values sees no step whose square is lost in them
    enough = max(tol * np.abs(values).max(), _ROOT_OF_ROUNDING * form.bound)
    converged = stopped or bool(lengths.max() <= enough)
    return Spectrum(values, vectors, None, result.n_iter, converged)
