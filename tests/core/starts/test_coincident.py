"""Items that coincide in a start are moved apart, unless their original distance is 0."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from skmde import MDE
from skmde.core.starts.coincident import separate_coincident


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_rows_that_coincide_but_for_rounding_part(size):
    rng = np.random.default_rng(0)
    X = (size * rng.standard_normal((20, 2))).astype(np.float32)
    X[5], X[6] = X[2], np.nextafter(X[2], np.inf)
    before = X.copy()
    Y = separate_coincident(X, np.random.RandomState(0))
    moved = np.flatnonzero((Y != X).any(axis=1))
    assert moved.tolist() == [5, 6]
    distances = np.linalg.norm(Y[[5, 6, 5]] - Y[[2, 2, 6]], axis=1)
    assert (distances > 1e-6 * size).all()
    assert (distances < 1e-2 * size).all()
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(Y, separate_coincident(X, np.random.RandomState(0)))
    assert separate_coincident(Y, np.random.RandomState(0)) is Y


@given(
    n=st.integers(6, 30),
    m=st.integers(2, 5),
    offset=st.floats(0.0, 2e-8),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_no_boundary_of_a_grid_hides_items_that_coincide(n, m, offset, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m)).round(1)  # many places on one line, at any part of a cell
    twins = X + offset * rng.choice([-1.0, 1.0], X.shape)
    Y = separate_coincident(np.concatenate([X, twins]), 0)
    apart = np.linalg.norm(Y[:, None] - Y, axis=2)[np.triu_indices(2 * n, 1)]
    assert apart.min() > 2e-7


@pytest.mark.parametrize("m", [1, 2, 4])
def test_items_that_share_some_coordinates_do_not_coincide(m):
    X = np.stack(np.meshgrid(*[np.arange(6.0)] * m), axis=-1).reshape(-1, m)
    assert separate_coincident(X, 0) is X
    assert len(separate_coincident(X[:1], 0)) == 1
    Y = separate_coincident(np.concatenate([X, X[2:4]]), 0)
    assert (Y[: len(X)] == X).all()
    assert (Y[len(X) :] != X[2:4]).all()


def test_items_at_a_distance_of_0_stay_together():
    X = np.zeros((6, 2))
    X[5] = 1.0
    pairs = np.array([[0, 1], [0, 2], [1, 3], [2, 3], [4, 3]])
    distances = np.array([0.0, 1.0, 1.0, 1e-9, 2.0])
    Y = separate_coincident(X, 0, distances, pairs.__getitem__)
    np.testing.assert_array_equal(Y[0], Y[1])
    np.testing.assert_array_equal(Y[2], Y[3])
    assert len(np.unique(Y, axis=0)) == 4
    np.testing.assert_array_equal(Y[5], X[5])
    pairs = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    assert separate_coincident(X, 0, np.zeros(4), pairs.__getitem__) is X


@pytest.mark.parametrize("listed", [True, False])
def test_a_given_start_of_a_problem_with_original_distances_falls_apart(listed):
    X = np.random.default_rng(0).standard_normal((8, 2))
    X[6:] = X[0]  # items 0, 6 and 7 have the same distances to all others, and to each other
    edges = np.array([(i, j) for i in range(8) for j in range(i + 1, 8)])
    same = np.isin(edges, [0, 6, 7])
    deviations = np.where(
        same.all(axis=1), 1.0, np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    )
    problem = MDE(8, 2, edges if listed else None, "squared", deviations=deviations)
    Y = np.asarray(problem.embed(X))
    assert np.linalg.norm(Y[[0, 0, 6]] - Y[[6, 7, 7]], axis=1).min() > 0.3


@pytest.mark.filterwarnings("ignore:The solve ended at max_iter")
@pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
@pytest.mark.parametrize("place", [0.0, 7.0])
def test_a_start_at_one_point_gets_the_size_of_the_distances(unit, place):
    X = np.random.default_rng(0).standard_normal((30, 4))
    d = np.linalg.norm(X[:, None] - X, axis=2)[np.triu_indices(30, 1)]
    found = []
    for size in (1.0, unit):
        problem = MDE(30, 2, None, "squared", deviations=size * d)
        Y = problem.embed(np.full((30, 2), place), max_iter=5).numpy() / size
        found.append(np.linalg.norm(Y[:, None] - Y, axis=2))
    np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-4)
