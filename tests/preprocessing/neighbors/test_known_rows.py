"""Training rows are recognised by what they contain."""

import numpy as np
import pytest
import scipy.sparse as sp

from skmde.preprocessing.neighbors.known_rows import KnownRows, twins, with_twins

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


def test_a_row_is_the_one_of_its_code_else_one_at_distance_zero():
    known = np.array([4, -1, -1, -1, -1])
    nearest = np.array([0, 1, 1, 1, -1])
    distances = np.array([0.0, 0.0, 1e-6, 4e-6, np.inf])
    reach = np.array([1.0, 2.0, 0.0])
    found = twins(known, nearest, distances, reach, given=True)
    assert found.tolist() == [4, 1, 1, -1, -1]
    found = twins(known, nearest, distances, reach, given=False)
    assert found.tolist() == [4, 1, -1, -1, -1]


def test_rows_that_equal_a_training_row_are_not_placed():
    embedding = np.arange(6.0).reshape(3, 2)
    asked = []

    def place(rows):
        asked.append(rows.tolist())
        return np.full((rows.sum(), 2), 9.0)

    found = with_twins(place, np.array([2, -1, 0]), embedding)
    assert found.tolist() == [[4, 5], [9, 9], [0, 1]]
    assert asked == [[False, True, False]]
    assert with_twins(place, np.array([1, 1]), embedding).tolist() == [[2, 3], [2, 3]]
    assert len(asked) == 1
