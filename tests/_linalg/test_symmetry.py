"""Both directions of a matrix: averaged, with a warning if they differ by more than rounding."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from skmde._linalg.symmetry import mean_of_stored_directions, symmetric_matrix


def random_symmetric(n=7):
    A = np.random.default_rng(0).random((n, n))
    return A + A.T


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return symmetric_matrix(*args, **kwargs)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beyond_the_tolerance_both_directions_are_averaged_with_a_warning(form, sign):
    A = random_symmetric()
    A[0, 1] = A.max() * 10
    gap = A[0, 1] - A[1, 0]
    given = form(sign * A)
    before = given.copy()
    message = rf"The weights are not symmetric \(largest difference {gap:.3g}\); using the average"
    with pytest.warns(UserWarning, match=message):
        found = symmetric_matrix(given, "weights")
    assert abs(given - before).max() == 0
    found = found.toarray() if sp.issparse(found) else found
    np.testing.assert_array_equal(found, sign * (A / 2 + A.T / 2))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rounding_gives_no_warning(form):
    A = random_symmetric()
    largest = A.max()
    A[0, 1] += 0.9e-5 * largest
    found = quiet(form(A), "weights")
    assert abs(found - found.T).max() == 0
    A[0, 1] += 0.2e-5 * largest
    with pytest.warns(UserWarning, match="not symmetric"):
        symmetric_matrix(form(A), "weights")


def test_a_dense_matrix_is_not_copied_without_need():
    A = random_symmetric()
    assert quiet(A, "weights") is A
    A[0, 1] += 1e-6
    assert quiet(A, "weights", exact=False) is A
    assert quiet(A, "weights") is not A


def test_a_sparse_result_shares_nothing_with_the_input():
    A = sp.csr_array(random_symmetric())
    assert not np.shares_memory(quiet(A, "weights").data, A.data)


def test_where_one_direction_is_finite_it_alone_counts():
    A = random_symmetric()
    A[0, 1] = A[2, 3] = A[3, 2] = np.inf
    with pytest.warns(UserWarning, match="some known one way only"):
        found = symmetric_matrix(A, "distances", exact=False)
    assert found[0, 1] == found[1, 0] == A[1, 0]
    assert found[2, 3] == found[3, 2] == np.inf


def test_every_block_of_a_large_matrix_is_compared():
    A = np.ones((1100, 1100))
    A[1098, 1099] = 3.0
    with pytest.warns(UserWarning, match="largest difference 2"):
        found = symmetric_matrix(A, "weights")
    assert found[1099, 1098] == found[1098, 1099] == 2.0


@pytest.mark.parametrize("density", [0.3, 1.0])
def test_stored_directions_are_averaged_as_finite_ones_of_a_dense_matrix(density):
    rng = np.random.default_rng(0)
    A = random_symmetric() + rng.random((7, 7))
    A[rng.random(A.shape) > density] = np.inf
    np.fill_diagonal(A, 0.0)
    stored = np.isfinite(A)
    graph = sp.csr_array((A[stored], np.nonzero(stored)), shape=A.shape)
    with pytest.warns(UserWarning, match="lengths are not symmetric"):
        expected = symmetric_matrix(A, "lengths")
    with pytest.warns(UserWarning, match="lengths are not symmetric"):
        found = mean_of_stored_directions(graph, "lengths")
    np.testing.assert_array_equal(found.toarray()[stored], expected[stored])
    np.testing.assert_array_equal(found.indices, graph.indices)


def test_stored_entries_without_another_direction_are_kept():
    graph = sp.csr_array(np.triu(random_symmetric(), 1))
    graph.data[0] = 0.0  # a stored zero is an entry
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mean_of_stored_directions(graph, "lengths") is graph
        empty = sp.csr_array((3, 3))
        assert mean_of_stored_directions(empty, "lengths") is empty


def test_an_infinite_stored_entry_leaves_the_other_direction():
    graph = sp.csr_array(([np.inf, 2.0, 5.0], ([0, 1, 1], [1, 0, 2])), shape=(3, 3))
    with pytest.warns(UserWarning, match="some known one way only"):
        found = mean_of_stored_directions(graph, "lengths")
    np.testing.assert_array_equal(found.data, [2.0, 2.0, 5.0])
    # unsorted columns, and every pair infinite in both directions
    graph = sp.csr_array((np.array([1.0, np.inf, np.inf]), [2, 1, 0], [0, 2, 3, 3]), shape=(3, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mean_of_stored_directions(graph, "lengths") is graph
