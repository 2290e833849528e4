"""Sums over items: exact enough, and the same bits for any number of threads."""

import numpy as np
import pytest
import torch

from skmde._linalg.reductions import add_multiple, bounding_box, column_means, dot, gram

DTYPES = [torch.float32, torch.float64]


def normal(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (7,), (5000, 3), (30, 4, 5)])
def test_dot_is_the_inner_product_in_double_precision(shape, dtype):
    a, b = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype, seed=1)
    got = dot(a, b)
    assert got.dtype == torch.float64 and got.shape == ()
    want = np.dot(a.double().numpy().ravel(), b.double().numpy().ravel())
    assert float(got) == pytest.approx(want, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n", "m", "q"), [(1, 1, 1), (1000, 2, 2), (9001, 3, 3), (4097, 5, 2), (4096, 2, 5), (50, 1, 4)]
)
def test_gram_is_the_matrix_of_inner_products_in_double_precision(n, m, q, dtype):
    a, b = normal(n, m, dtype=dtype), normal(n, q, dtype=dtype, seed=1)
    got = gram(a, b)
    assert got.dtype == torch.float64 and got.shape == (m, q)
    np.testing.assert_allclose(got, a.double().numpy().T @ b.double().numpy(), atol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (1000, 2), (9001, 5)])
def test_column_means_are_in_double_precision(shape, dtype):
    a = normal(*shape, dtype=dtype) + 3
    got = column_means(a)
    assert got.dtype == torch.float64 and got.shape == shape[1:]
    np.testing.assert_allclose(got, a.double().numpy().mean(axis=0), rtol=1e-13)


def test_long_sums_of_float32_lose_nothing():
    n = 2_000_000
    ones = torch.full((n, 1), 0.1)
    exact = n * float(ones[0]) ** 2
    assert float(dot(ones, ones)) == pytest.approx(exact, rel=1e-9)
    assert float(gram(ones, ones)) == pytest.approx(exact, rel=1e-9)
    assert float(column_means(ones)) == pytest.approx(float(ones[0]), rel=1e-9)


def test_squares_of_large_float32_do_not_overflow():
    a = torch.full((3, 2), 1e30)
    assert float(dot(a, a)) == pytest.approx(6e60, rel=1e-6)
    np.testing.assert_allclose(gram(a, a), 3e60, rtol=1e-6)


def test_strided_and_transposed_tensors_are_read_as_they_look():
    a, b = normal(6, 8), normal(6, 8, seed=1)
    assert float(dot(a[:, ::2], b[:, ::2])) == pytest.approx(float((a * b)[:, ::2].sum()), rel=1e-5)
    assert float(dot(a.T, b.T)) == pytest.approx(float((a * b).sum()), rel=1e-5)
    torch.testing.assert_close(gram(a.T, b.T), a.double() @ b.double().T)
    torch.testing.assert_close(column_means(a.T), a.double().mean(dim=1))


def test_tensors_that_require_a_gradient_are_read():
    a = normal(5, 2).requires_grad_()
    for result in (dot(a, a), gram(a, a), column_means(a)):
        assert not result.requires_grad


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_show(number):
    a = torch.ones(100, 3)
    a[50, 1] = number
    assert not torch.isfinite(dot(a, a))
    assert not torch.isfinite(gram(a, a)[1, 1])
    assert not torch.isfinite(column_means(a)[1])
    assert torch.isfinite(column_means(a)[0])


@pytest.mark.parametrize("m", [2, 10])
def test_bits_do_not_depend_on_torchs_threads(m):
    a, b = normal(100_003, m), normal(100_003, m, seed=1)
    before = torch.get_num_threads()
    results = []
    try:
        for n_threads in (1, 2, 4):
            torch.set_num_threads(n_threads)
            results.append((dot(a, b), gram(a, b), column_means(a)))
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        for x, y in zip(result, results[0], strict=True):
            assert torch.equal(x, y)


def test_inputs_are_not_written_to():
    a, b = normal(20, 3), normal(20, 3, seed=1)
    copies = a.clone(), b.clone()
    dot(a, b), gram(a, b), column_means(a)
    assert torch.equal(a, copies[0]) and torch.equal(b, copies[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factor", [-1.0, 0.3, 1e-30])
def test_add_multiple_is_a_plus_a_multiple_of_b(dtype, factor):
    a, b = normal(1001, 3, dtype=dtype), normal(1001, 3, dtype=dtype, seed=1)
    copies = a.clone(), b.clone()
    want = (a.double() + factor * b.double()).to(dtype)
    got = add_multiple(a, b, factor)
    torch.testing.assert_close(got, want)
    assert got.dtype == dtype and not np.shares_memory(got.numpy(), a.numpy())
    out = torch.empty_like(a)
    assert add_multiple(a, b, factor, out=out) is out
    assert torch.equal(out, got)
    assert torch.equal(a, copies[0]) and torch.equal(b, copies[1])


def test_differences_are_exact():
    a, b = normal(100, 2), normal(100, 2, seed=1)
    assert torch.equal(add_multiple(a, b, -1.0), a - b)


def test_on_a_device_nothing_is_read_back():
    a = torch.zeros(5, 3, device="meta")
    assert add_multiple(a, a, 2.0).device.type == "meta"
    assert dot(a, a).device.type == "meta"
    assert gram(a, a).shape == (3, 3)
    assert column_means(a).dtype == torch.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_box_of_points_has_their_least_and_greatest_coordinates(m, dtype):
    X = np.random.default_rng(0).normal(size=(50, m)).astype(dtype)
    for points in (X, np.asfortranarray(X), X[::-2], X[:1]):
        low, high = bounding_box(points)
        assert low.dtype == high.dtype == dtype
        np.testing.assert_array_equal([low, high], [points.min(axis=0), points.max(axis=0)])
    X[7, 0] = np.nan
    assert np.isnan([bounding_box(X)[0][0], bounding_box(X)[1][0]]).all()
