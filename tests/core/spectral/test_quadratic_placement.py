"""Quadratic placement against closed forms, dense algebra and harsh weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from processes import run_python

from skmde.core.spectral.placement import place_quadratic


def random_problem(n, p, n_anchors, m, seed=0):
    rng = np.random.default_rng(seed)
    edges = np.sort(rng.integers(n, size=(p, 2)), axis=1)
    edges = np.unique(edges[edges[:, 0] < edges[:, 1]], axis=0)
    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    edges = np.unique(np.concatenate([edges, chain]), axis=0)
    weights = rng.uniform(0.1, 10.0, len(edges))
    anchors = np.sort(rng.choice(n, n_anchors, replace=False))
    return edges, weights, n, anchors, rng.standard_normal((n_anchors, m))


def dense_solution(edges, weights, n, anchors, values):
    i, j = edges.T
    L = np.zeros((n, n))
    np.add.at(L, (i, j), -weights)
    np.add.at(L, (j, i), -weights)
    np.fill_diagonal(L, -L.sum(axis=1))
    free = np.setdiff1d(np.arange(n), anchors)
    X = np.empty((n, values.shape[1]))
    X[anchors] = values
    X[free] = np.linalg.solve(L[np.ix_(free, free)], -L[np.ix_(free, anchors)] @ values)
    return X


@pytest.mark.parametrize("m", [1, 2, 7])
def test_equals_the_dense_solution(m):
    problem = random_problem(200, 600, 10, m)
    found = place_quadratic(*problem)
    np.testing.assert_allclose(found.X, dense_solution(*problem), atol=1e-8)
    assert found.residual < 1e-8
    assert not found.loose.any()


@given(st.integers(2, 25), st.integers(0, 40), st.integers(1, 25), st.integers(0, 1000))
def test_free_items_are_at_the_mean_of_their_neighbours(n, p, n_anchors, seed):
    edges, weights, n, anchors, values = random_problem(n, p, min(n, n_anchors), 2, seed)
    X = place_quadratic(edges, weights, n, anchors, values).X
    i, j = edges.T
    W = sp.coo_array((weights, (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    means = (W @ X) / np.asarray(W.sum(axis=1)).reshape(-1, 1)
    free = np.setdiff1d(np.arange(n), anchors)
    np.testing.assert_allclose(X[free], means[free], atol=1e-8)
    # so nothing is outside of the anchors' box
    assert (X <= values.max(axis=0) + 1e-8).all()
    assert (X >= values.min(axis=0) - 1e-8).all()


def test_anchors_come_back_to_the_last_bit():
    *problem, values = random_problem(50, 100, 5, 3)
    values = values * np.array([1e-300, 1.0, 1e15]) + 0.1
    X = place_quadratic(*problem, values).X
    assert X[problem[3]].tobytes() == values.tobytes()


@pytest.mark.parametrize(("factor", "shift"), [(1e25, 0.0), (1e-25, 0.0), (1.0, 1e8)])
def test_moves_and_scales_with_the_anchors(factor, shift):
    *problem, values = random_problem(50, 100, 5, 2)
    X = place_quadratic(*problem, values).X
    moved = place_quadratic(*problem, factor * values + shift).X
    np.testing.assert_allclose((moved - shift) / factor, X, atol=1e-7)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_the_unit_of_the_weights_does_not_matter(factor):
    edges, weights, *rest = random_problem(50, 100, 5, 2)
    X = place_quadratic(edges, weights, *rest).X
    np.testing.assert_allclose(place_quadratic(edges, factor * weights, *rest).X, X, atol=1e-9)


def test_items_of_tiny_weights_are_placed_as_exactly():
    edges, weights, n, anchors, values = random_problem(60, 100, 6, 2)
    # three more items, which only weights of 1e-20 hold
    more = np.array([[anchors[0], n], [n, n + 1], [n + 1, n + 2], [n + 2, anchors[1]]])
    edges, weights = np.concatenate([edges, more]), np.concatenate([weights, np.full(4, 1e-20)])
    X = place_quadratic(edges, weights, n + 3, anchors, values).X
    expected = np.linspace(values[0], values[1], 5)[1:-1]
    np.testing.assert_allclose(X[n:], expected, atol=1e-8)


@pytest.mark.parametrize("max_steps", [0, 1, None])
def test_a_long_chain_is_factorised(max_steps):
    n = 20_000
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    ends = np.array([0, n - 1])
    found = place_quadratic(
        edges, np.ones(n - 1), n, ends, np.array([[0.0], [1.0]]), max_steps=max_steps
    )
    np.testing.assert_allclose(found.X.ravel(), np.linspace(0, 1, n), atol=1e-8)


def test_items_without_a_chain_to_an_anchor_are_at_the_mean_of_the_anchors():
    edges = np.array([[0, 1], [2, 3], [3, 4], [0, 6]])
    weights = np.array([1.0, 1.0, 1.0, 0.0])
    values = np.array([[1.0, 5.0], [3.0, 7.0]])
    found = place_quadratic(edges, weights, 7, np.array([0, 5]), values)
    np.testing.assert_array_equal(found.loose, [False, False, True, True, True, False, True])
    assert found.n_loose_parts == 2
    np.testing.assert_allclose(found.X[1], [1.0, 5.0])
    np.testing.assert_allclose(found.X[found.loose], [[2.0, 6.0]] * 4)


def test_every_item_anchored():
    edges, weights, n, _, _ = random_problem(10, 20, 5, 2)
    values = np.random.default_rng(0).standard_normal((n, 2))
    found = place_quadratic(edges, weights, n, np.arange(n), values)
    assert found.X.tobytes() == values.tobytes()
    assert (found.n_iter, found.residual) == (0, 0.0)


def test_no_pairs_at_all():
    found = place_quadratic(np.empty((0, 2), int), np.empty(0), 3, np.array([1]), np.array([[4.0]]))
    np.testing.assert_array_equal(found.X, [[4.0]] * 3)
    assert found.n_loose_parts == 2


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_that_make_no_problem(weight):
    edges, weights, *rest = random_problem(10, 20, 5, 2)
    weights[3] = weight
    with pytest.raises(ValueError, match=rf"at least 0; got {weight}.*remove these pairs"):
        place_quadratic(edges, weights, *rest)


CODE = """
import hashlib
import numpy as np
from skmde.core.spectral.placement import place_quadratic
rng = np.random.default_rng(0)
edges = rng.integers(30_000, size=(100_000, 2))
edges = edges[edges[:, 0] != edges[:, 1]]
X = place_quadratic(edges, np.ones(len(edges)), 30_000, np.arange(300), rng.normal(size=(300, 2))).X
print(hashlib.sha256(X.tobytes()).hexdigest())
"""


def test_same_bits_for_any_number_of_blas_threads():
    seen = {run_python(CODE, threads=threads).stdout for threads in (1, 2, 4)}
    assert len(seen) == 1
