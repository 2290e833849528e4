"""The standardizing projection: against the SVD, on bad matrices, and for any thread count."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from skmde._linalg.standardize import affine_rows, centered, inverse_sqrt, standardize

DTYPES = [torch.float32, torch.float64]


def _normal(n, m, dtype=torch.float64, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, m))).to(dtype)


def _by_svd(Z):
    Z = Z.double() - Z.double().mean(dim=0)
    U, sizes, Vt = torch.linalg.svd(Z, full_matrices=False)
    return np.sqrt(len(Z)) * U @ Vt, sizes


def _assert_standardized(X):
    tolerance = 2e-6 if X.dtype == torch.float32 else 1e-13
    moment = X.double().T @ X.double() / len(X)
    assert (moment - torch.eye(X.shape[1], dtype=torch.float64)).abs().max() < tolerance
    assert X.double().mean(dim=0).abs().max() < tolerance


@given(
    n=st.integers(1, 40),
    m=st.integers(1, 13),
    q=st.integers(1, 13),
    with_base=st.booleans(),
    dtype=st.sampled_from(DTYPES),
)
def test_affine_rows_is_the_matrix_product(n, m, q, with_base, dtype):
    X, matrix, base = _normal(n, m, dtype), _normal(m, q, seed=1), _normal(n, q, dtype, seed=2)
    shift = _normal(1, q, seed=3)[0]
    found = affine_rows(X, matrix, shift, base if with_base else None)
    expected = X.double() @ matrix + shift + (base.double() if with_base else 0)
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected.to(dtype), atol=1e-4, rtol=1e-5)
    if dtype == torch.float64:
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e9])
@pytest.mark.parametrize("m", [1, 2, 3, 30])
def test_inverse_sqrt_inverts_the_square_root(m, condition):
    Q, _ = torch.linalg.qr(_normal(m, m))
    matrix = Q @ torch.diag(torch.logspace(0, -np.log10(condition), m).double()) @ Q.T
    root, iterations = inverse_sqrt(matrix)
    assert iterations <= 34
    error = root @ matrix @ root - torch.eye(m, dtype=torch.float64)
    assert error.abs().max() < 1e-15 * m * condition + 1e-12


def test_inverse_sqrt_says_that_a_singular_matrix_has_none():
    assert inverse_sqrt(torch.diag(torch.tensor([1.0, 0.0]).double()))[1] == 35


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("condition", [1.0, 30.0, 1e3, 1e4])
@pytest.mark.parametrize(("n", "m"), [(3, 2), (5, 1), (8, 7), (500, 2), (500, 3), (300, 20)])
def test_standardize_gives_the_polar_factor(n, m, condition, dtype):
    Z = _normal(n, m, dtype)
    Z[:, -1] /= condition
    X = standardize(Z)
    assert X.dtype == dtype
    _assert_standardized(X)
    # The polar factor is as sensitive to rounding as Z's smallest direction.
    expected, sizes = _by_svd(Z)
    sensitivity = float(sizes[0] / sizes[-1])
    atol = torch.finfo(dtype).eps * 30 * (sensitivity + 10)
    torch.testing.assert_close(X.double(), expected, atol=atol, rtol=0)


@given(n=st.integers(2, 30), data=st.data(), seed=st.integers(0, 99))
def test_standardize_is_idempotent_for_any_shape(n, data, seed):
    m = data.draw(st.integers(1, n - 1))
    X = standardize(_normal(n, m, seed=seed))
    _assert_standardized(X)
    torch.testing.assert_close(standardize(X), X)


def _deficient(kind, n, m):
    Z = _normal(n, m)
    if kind == "zero":
        Z = torch.zeros_like(Z)
    elif kind == "equal rows":
        Z = Z[:1].repeat(n, 1)
    elif kind == "equal columns":
        Z = Z[:, :1].repeat(1, m)
    elif kind == "a zero column":
        Z[:, 0] = 0
    elif kind == "one row differs":
        Z = torch.zeros_like(Z)
        Z[0] = 1
    return Z


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 2), (101, 2), (30, 29), (200, 10)])
@pytest.mark.parametrize(
    "kind", ["zero", "equal rows", "equal columns", "a zero column", "one row differs"]
)
def test_standardize_completes_a_deficient_matrix_with_a_closest_point(kind, shape, dtype):
    Z = _deficient(kind, *shape).to(dtype)
    X = standardize(Z)
    _assert_standardized(X)
    assert torch.equal(X, standardize(Z))
    # Section 6.1.2 of the monograph: the distance depends on the singular values alone.
    Z = Z.double() - Z.double().mean(dim=0)
    _, sizes = _by_svd(Z)
    distance = (sizes - np.sqrt(len(Z))).square().sum().sqrt()
    assert (X.double() - Z).norm() == pytest.approx(float(distance), rel=1e-5)


@given(n=st.integers(3, 3000), seed=st.integers(0, 999), dtype=st.sampled_from(DTYPES))
def test_standardize_does_not_take_rounding_for_a_direction(n, seed, dtype):
    equal_rows = _normal(1, 2, dtype, seed).repeat(n, 1)
    assert torch.equal(standardize(equal_rows), standardize(torch.zeros_like(equal_rows)))


def test_completing_a_matrix_leaves_the_global_random_states_alone():
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()
    standardize(torch.zeros(10, 2))
    assert torch.equal(torch.get_rng_state(), torch_before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1e-37, 1e-20, 1e20, 1e37])
def test_standardize_does_not_depend_on_scale(scale, dtype):
    Z = _normal(60, 3, dtype)
    expected = standardize(Z)
    torch.testing.assert_close(standardize(scale * Z), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_standardize_does_not_depend_on_scale_to_the_ends_of_float64(scale):
    Z = _normal(60, 3)
    torch.testing.assert_close(standardize(scale * Z), standardize(Z))


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 0.5), (torch.float64, 1e-8)])
def test_standardize_does_not_depend_on_an_offset(dtype, atol):
    Z = _normal(60, 3, dtype)
    X = standardize(Z + 1e6)
    _assert_standardized(X)
    torch.testing.assert_close(X, standardize(Z), atol=atol, rtol=0)


def test_centered_subtracts_an_offset_in_float64():
    Z = torch.tensor([[1e6], [1e6], [1e6 + 1]])
    assert centered(Z).flatten().tolist() == pytest.approx([-1 / 3, -1 / 3, 2 / 3])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_standardize_of_a_matrix_that_is_not_finite_is_nan(bad):
    Z = _normal(10, 2)
    Z[3, 1] = bad
    assert standardize(Z).isnan().all()


def test_standardize_does_not_write_to_its_argument():
    for Z in (_normal(20, 2), torch.zeros(20, 2), _normal(20, 2) * 1e-40):
        before = Z.clone()
        standardize(Z)
        assert torch.equal(Z, before)


def test_standardize_takes_any_memory_layout():
    Z = _normal(2, 20).T
    assert torch.equal(standardize(Z), standardize(Z.contiguous()))


@pytest.fixture
def thread_counts():
    before = torch.get_num_threads()
    yield 1, 2, 4
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "m"), [(5000, 2), (5000, 3), (20011, 10), (3001, 17), (1001, 100)])
@pytest.mark.parametrize("deficient", [False, True])
def test_standardize_has_the_same_bits_for_any_number_of_threads(
    n, m, dtype, deficient, thread_counts
):
    Z = _normal(n, m, dtype)
    if deficient:
        Z[:, -1] = Z[:, 0]
    found = []
    for threads in thread_counts:
        torch.set_num_threads(threads)
        found.append(standardize(Z))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
