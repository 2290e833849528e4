"""Bottom eigenvectors beyond given null vectors, against LAPACK."""

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from skmde._linalg.lobpcg import Space
from skmde._linalg.signs import fix_signs
from skmde.core.spectral.spectrum import QuadraticForm, _Orthonormal, smallest_eigenpairs

SOLVERS = ["auto", "dense", "lanczos", "lobpcg", "lbfgs"]


def random_form(n, c, rng, low=-1.0):
    """A form with known eigenvalues, and null vectors in the middle of its spectrum."""
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = np.sort(rng.uniform(low, 3.0, n - c))
    values[:4] = low - np.array([2.0, 1.5, 1.2, 1.0])
    null, vectors = Q[:, :c].T, Q[:, c:]
    L = (vectors * values) @ vectors.T
    form = QuadraticForm(
        apply=lambda V: np.ascontiguousarray(V @ L),
        null=np.ascontiguousarray(null),
        bound=float(np.abs(L).sum(axis=1).max()),
        precondition=lambda R: R,
    )
    return form, values, vectors


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("n", "c"), [(20, 1), (120, 1), (120, 3), (120, 0)])
def test_eigenvectors_are_those_of_lapack(solver, n, c):
    form, values, vectors = random_form(n, c, np.random.default_rng(n + c))
    found = smallest_eigenpairs(form, 3, solver, tol=1e-9, max_iter=2000)
    assert found.converged
    np.testing.assert_allclose(found.values, values[:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(found.vectors @ vectors[:, :3]), np.eye(3), atol=1e-5)
    np.testing.assert_allclose(found.vectors @ form.null.T, 0, atol=1e-9)
    if found.following is not None:
        assert found.following == pytest.approx(values[3], rel=0.05)


@pytest.mark.parametrize("solver", SOLVERS)
def test_zero_form_ends_at_once(solver):
    n = 80
    form = QuadraticForm(
        apply=np.zeros_like,
        null=np.full((1, n), n**-0.5),
        bound=0.0,
        precondition=lambda R: R,
    )
    found = smallest_eigenpairs(form, 2, solver, tol=1e-7, max_iter=50)
    np.testing.assert_allclose(found.values, 0, atol=1e-12)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(2), atol=1e-8)


def test_no_vectors_wanted():
    form, _, _ = random_form(30, 1, np.random.default_rng(0))
    assert smallest_eigenpairs(form, 0, "auto", tol=1e-7, max_iter=5).vectors.shape == (0, 30)


@pytest.mark.parametrize("solver", ["lobpcg", "lbfgs"])
def test_too_few_steps_are_reported(solver):
    form, _, _ = random_form(200, 1, np.random.default_rng(1))
    found = smallest_eigenpairs(form, 2, solver, tol=1e-12, max_iter=2)
    assert not found.converged
    assert found.n_iter == 2
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(2), atol=1e-8)


def steep_form(n, n_low, lowest, rng):
    """Some eigenvalues far below the others, and the inverse as preconditioner."""
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    low = lowest * (1 + np.arange(n_low) / 2)
    values = np.concatenate([low, np.linspace(0.1, 1.0, n - n_low)])
    L, inverse = (Q * values) @ Q.T, (Q / values) @ Q.T
    return QuadraticForm(
        apply=lambda V: np.ascontiguousarray(V @ L),
        null=np.empty((0, n)),
        bound=float(np.abs(L).sum(axis=1).max()),
        precondition=lambda R: np.ascontiguousarray(R @ inverse),
    )


@pytest.mark.parametrize("lowest", [1e-4, 1e-6, 1e-7])
@pytest.mark.parametrize("n_low", [4, 6, 8])
@pytest.mark.parametrize("seed", range(3))
def test_eigenvalues_far_below_the_largest_are_reached(lowest, n_low, seed):
    # Such residuals soon lose their digits beside the vectors themselves.
    form = steep_form(150, n_low, lowest, np.random.default_rng(seed))
    found = smallest_eigenpairs(form, 2, "lobpcg", tol=1e-7, max_iter=12)
    assert found.converged
    residuals = form.apply(found.vectors) - found.values[:, None] * found.vectors
    assert np.linalg.norm(residuals, axis=1).max() < 1e-6 * found.values[1]


def test_steps_that_are_just_enough_converge():
    form = steep_form(150, 8, 1e-4, np.random.default_rng(0))
    found = smallest_eigenpairs(form, 2, "lobpcg", tol=1e-7, max_iter=100)
    again = smallest_eigenpairs(form, 2, "lobpcg", tol=1e-7, max_iter=found.n_iter)
    assert found.converged and again.converged
    np.testing.assert_array_equal(again.vectors, found.vectors)
    fewer = smallest_eigenpairs(form, 2, "lobpcg", tol=1e-7, max_iter=found.n_iter - 1)
    assert not fewer.converged


def test_lanczos_without_enough_steps_goes_on_with_lobpcg():
    form, values, _ = random_form(400, 1, np.random.default_rng(2))
    # gaps so small that ten restarts are too few
    found = smallest_eigenpairs(form, 6, "lanczos", tol=1e-13, max_iter=10)
    assert found.values.shape == (6,)
    np.testing.assert_allclose(found.values[:4], values[:4], rtol=1e-3)


@pytest.mark.parametrize("solver", ["lobpcg", "lbfgs"])
def test_same_bits_for_any_number_of_threads(solver):
    rng = np.random.default_rng(3)
    n = 9000
    diagonal = np.sort(rng.uniform(0.1, 5.0, n))
    form = QuadraticForm(
        apply=lambda V: V * diagonal,
        null=np.empty((0, n)),
        bound=5.0,
        precondition=lambda R: R / diagonal,
    )
    first, *others = (
        smallest_eigenpairs(form, 2, solver, tol=1e-3, max_iter=60, n_threads=k).vectors
        for k in (1, 2, 4)
    )
    assert all((first == other).all() for other in others)


@pytest.mark.parametrize("b", [27, 42])
def test_small_eigenproblems_have_the_same_bits_for_any_number_of_threads_of_blas(b):
    n = 400
    S = np.random.default_rng(7).standard_normal((3 * b, n))
    LS = S * np.linspace(0.0, 1.0, n)
    with threadpool_limits(1, "blas"):
        alone = Space(n, 1).rayleigh_ritz(S, LS, b)
    with threadpool_limits(2, "blas"):
        together = Space(n, 1).rayleigh_ritz(S, LS, b)
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, two)


def test_start_keeps_as_many_directions_as_there_are_vectors():
    n = 200
    space = Space(n, 1)
    steep = np.geomspace(1e-12, 1.0, n)  # whose inverse leaves one direction
    V = space.start(lambda R: R / steep, 4, seed=0)
    assert np.linalg.cond(V) < 10
    # one that tells directions apart but leaves many is made use of
    mild = np.where(np.arange(n) < 60, 0.01, 1.0)
    V = space.start(lambda R: R / mild, 4, seed=0)
    assert np.linalg.norm(V[:, :60]) > 0.99 * np.linalg.norm(V)


def test_the_dense_form_is_symmetric():
    form, _, _ = random_form(40, 2, np.random.default_rng(4))
    L = form.toarray()
    assert (L == L.T).all()
    np.testing.assert_allclose(L @ form.null.T, 0, atol=1e-12)


def test_constraint_of_the_quasi_newton_method_is_one():
    n = 60
    null = np.full((1, n), n**-0.5)
    constraint = _Orthonormal(null)
    X = constraint.project(torch.from_numpy(np.random.default_rng(5).standard_normal((n, 3))))
    np.testing.assert_allclose((X.T @ X / n).numpy(), np.eye(3), atol=1e-10)
    np.testing.assert_allclose(null @ X.numpy(), 0, atol=1e-10)
    Z = torch.from_numpy(np.random.default_rng(6).standard_normal((n, 3)))
    tangent = constraint.project_tangent(X, Z)
    moment = (X.T @ tangent).numpy()
    np.testing.assert_allclose(moment + moment.T, 0, atol=1e-9)


def test_signs_make_the_largest_entry_positive():
    X = np.array([[1.0, -1.0, 0.0], [-2.0, 3.0, 0.0], [0.5, -4.0, 0.0]])
    np.testing.assert_array_equal(fix_signs(X), X * [-1, -1, 1])


def test_of_entries_that_are_as_large_but_for_rounding_the_first_counts():
    for rounding in (-1e-7, 0.0, 1e-7):
        X = np.array([[2.0], [0.3], [-2.0 - rounding]])
        np.testing.assert_array_equal(fix_signs(X), X)
        np.testing.assert_array_equal(fix_signs(-X), X)
