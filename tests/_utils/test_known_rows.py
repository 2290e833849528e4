"""Training rows are recognised by what they contain."""

import numpy as np
import pytest
import scipy.sparse as sp

from skmde._utils.known_rows import KnownRows

RNG = np.random.default_rng(0)
# Many copies, zeros, and rows that are permutations of each other.
X = RNG.integers(-1, 2, (400, 5)).astype(np.float64)
FIRST = np.array([np.flatnonzero((X == row).all(axis=1))[0] for row in X])


@pytest.mark.parametrize(
    "convert",
    [
        np.copy,
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.int8),
        lambda X: -(0.0 - X),
        lambda X: X[::-1][::-1],
        np.asfortranarray,
        sp.csr_array,
        sp.csc_matrix,
        sp.coo_array,
    ],
)
def test_the_first_equal_row_is_found_in_any_form(convert):
    np.testing.assert_array_equal(KnownRows(X).find(convert(X)), FIRST)
    np.testing.assert_array_equal(KnownRows(convert(X)).find(X), FIRST)


def test_stored_zeros_and_repeated_entries_do_not_count():
    row = np.array([[1.0, 0.0, 2.0]])
    stored_zero = sp.csr_array((np.array([1.0, 0.0, 2.0]), [0, 1, 2], [0, 3]), shape=(1, 3))
    repeated = sp.csr_array((np.array([0.5, 2.0, 0.5]), [0, 2, 0], [0, 3]), shape=(1, 3))
    before = repeated.data.copy()
    for same in (stored_zero, repeated):
        assert KnownRows(row).find(same).tolist() == [0]
        assert KnownRows(same).find(row).tolist() == [0]
    np.testing.assert_array_equal(repeated.data, before)


def test_other_rows_are_not_found():
    known = KnownRows(X)
    rolled = np.roll(X, 1, axis=1)
    rolled[:, 0] += 3
    for other in (X + 1e-12, np.nextafter(X, 9), 2 * X + 5, rolled):
        assert (known.find(other) == -1).all()
    swapped = X[:, ::-1]
    np.testing.assert_array_equal(
        known.find(swapped) >= 0, [(X == row).all(axis=1).any() for row in swapped]
    )


def test_codes_of_all_short_binary_rows_differ():
    bits = ((np.arange(1 << 16)[:, None] >> np.arange(16)) & 1).astype(float)
    np.testing.assert_array_equal(KnownRows(bits).find(bits), np.arange(1 << 16))
