"""Moving data near the origin without losing what distances need."""

import numpy as np
import pytest
import scipy.sparse as sp

from skmde._linalg.scaling import Scaling, unit_rows


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_well_placed_data_is_left_as_it_is(factor):
    X = (np.random.default_rng(0).standard_normal((100, 3)) + 3) * factor
    scaling = Scaling.fit(X, shift=True, scale=True)
    assert scaling.center is None and scaling.unit == 1
    Z = scaling.apply(X, np.float64)
    np.testing.assert_array_equal(Z, X)
    assert not np.shares_memory(Z, X)


def test_large_data_that_stays_as_it_is_is_not_copied():
    X = np.random.default_rng(0).standard_normal((17_000, 1000), np.float32)
    assert Scaling().apply(X, np.float32) is X
    X = X.T
    assert Scaling().apply(X, np.float32).flags.c_contiguous


@pytest.mark.parametrize(("shift", "factor"), [(1e8, 1.0), (-1e6, 1e3), (0.0, 1e25), (0.0, 1e-25)])
def test_scaled_rows_are_near_the_origin(shift, factor):
    X = np.random.default_rng(0).standard_normal((100, 3)) * factor + shift
    scaling = Scaling.fit(X, shift=True, scale=True)
    Z = scaling.apply(X, np.float64)
    assert 0.5 < Z.std() < 4 and np.abs(Z.mean()) < 2
    restored = Z * scaling.unit + (0 if scaling.center is None else scaling.center)
    np.testing.assert_allclose(restored, X, rtol=1e-15)


def test_factor_is_a_power_of_two_and_whole_numbers_stay_on_a_grid():
    X = np.random.default_rng(0).integers(0, 17, (200, 4)) + 1000
    scaling = Scaling.fit(X, shift=True, scale=True)
    assert np.frexp(scaling.unit)[0] == 0.5
    Z = scaling.apply(X, np.float32) * scaling.unit
    np.testing.assert_array_equal(Z, np.rint(Z))
    np.testing.assert_array_equal(np.diff(Z, axis=0), np.diff(X, axis=0))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e200, -3e-200])
def test_constant_data_is_finite(value):
    X = np.full((5, 2), value)
    Z = Scaling.fit(X, shift=True, scale=True).apply(X, np.float32)
    assert np.isfinite(Z).all() and (Z == Z[0]).all()


def test_the_largest_numbers_do_not_overflow():
    X = np.array([[1.7e308], [-1.7e308], [0.0]])
    with np.errstate(all="raise", under="ignore"):
        Z = Scaling.fit(X, shift=True, scale=True).apply(X, np.float64)
    assert np.isfinite(Z).all() and Z[0] > 0 > Z[1]


def test_only_what_the_metric_allows():
    X = np.random.default_rng(0).standard_normal((50, 2)) * 1e6 + 1e9
    assert Scaling.fit(X, shift=False, scale=True).center is None
    assert Scaling.fit(X, shift=True, scale=False).unit == 1
    sparse = Scaling.fit(sp.csr_array(X), shift=True, scale=True)
    assert sparse.center is None and sparse.unit > 1
    np.testing.assert_array_equal(
        sparse.apply(sp.csr_array(X), np.float64).toarray(), X / sparse.unit
    )


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("factor", [1.0, 1e-200, 1e200])
def test_unit_rows(convert, factor):
    X = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]]) * factor
    U, zero = unit_rows(convert(X), np.float64)
    U = U.toarray() if sp.issparse(U) else U
    np.testing.assert_allclose(U, [[0.6, 0.8], [0, 0], [-1, 0]])
    assert zero.tolist() == [False, True, False]


def test_centered_unit_rows():
    U, zero = unit_rows(np.array([[1.0, 2, 3], [0.1, 0.1, 0.1]]), np.float64, center=True)
    np.testing.assert_allclose(U, [[-np.sqrt(0.5), 0, np.sqrt(0.5)], [0, 0, 0]], atol=1e-16)
    assert zero.tolist() == [False, True]
