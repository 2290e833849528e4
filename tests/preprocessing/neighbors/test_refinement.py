"""Neighbours of neighbours: the table that faiss's lists start, and passes improve."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skmde.preprocessing.neighbors.backends.base import nearest_candidates
from skmde.preprocessing.neighbors.backends.refinement import NearRows

K = 10


def nearest(X, k):
    """Squared distances of the k nearest other rows."""
    squares = cdist(X.astype(np.float64), X.astype(np.float64), "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    return np.sort(np.partition(squares, k, axis=1)[:, :k], axis=1)


def share(values, X):
    """Share of the nearest rows that are found, by their distances."""
    return np.mean(values[:, :K] <= nearest(X, K)[:, -1:] * (1 + 1e-5))


def table(X, width, seed=0):
    """A table of random rows, in an order other than that of the rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X)).astype(np.int32)
    near = NearRows(X, order, X[order], 0.0, width)
    distinct = np.array([rng.choice(len(X), min(width, len(X)), replace=False) for _ in X])
    distinct = np.where(order[:, None] == distinct, -1, distinct).astype(np.int32)
    none = np.zeros(distinct.shape, np.float32)
    own = np.full(len(X), -1, np.int32)
    near.start(0, *nearest_candidates(X[order], own, X, distinct, none, width, 1))
    return near


def settled(near, n_jobs=None):
    while near.improve(n_jobs) > 0.1:
        pass
    return near


def test_random_rows_become_nearest_rows():
    X = np.random.default_rng(0).standard_normal((2000, 6)).astype(np.float32)
    near = settled(table(X, 20))
    found = near.values[np.argsort(near._order)]
    assert share(found, X) > 0.98
    assert (np.diff(near.values, axis=1) >= 0).all()
    rows, others = near._order[:, None], near._order[near.indices]
    assert (rows != others).all()
    assert all(len(set(row)) == 20 for row in near.indices.tolist())
    real = np.square(X[rows] - X[others]).sum(axis=2)
    np.testing.assert_allclose(near.values, real, rtol=1e-5)


def test_threads_change_no_bit():
    X = np.random.default_rng(1).standard_normal((3000, 8)).astype(np.float32)
    one, two = (settled(table(X, 15), n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.indices, two.indices)
    np.testing.assert_array_equal(one.values, two.values)


def test_a_wider_table_finds_what_a_narrow_one_misses():
    X = np.random.default_rng(2).standard_normal((2000, 40)).astype(np.float32)
    near = settled(table(X, 10))
    before = share(near.values[np.argsort(near._order)], X)
    near.widen(48)
    after = share(settled(near).values[np.argsort(near._order)], X)
    assert before < 0.9 < after


def test_copies_and_rows_without_company_are_no_exception():
    X = np.repeat(np.float32([[0.0], [1.0], [5.0]]), [30, 2, 1], axis=0)
    near = settled(table(X, 8))
    assert np.isfinite(near.values).all()
    assert (near.values[np.argsort(near._order)][:30] == 0).all()


@pytest.mark.parametrize("spread", ["normal", "thin", "tight groups"])
def test_training_rows_of_inverted_lists(spread, monkeypatch):
    faiss = pytest.importorskip("skmde.preprocessing.neighbors.backends.faiss")
    pytest.importorskip("faiss")
    monkeypatch.setattr(faiss, "_MANY_VISITED", 0)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4500, 20))
    if spread == "thin":  # more features than directions, with little variance in most
        X = X @ rng.standard_normal((20, 100)) * 0.98 ** np.arange(100)
    elif spread == "tight groups":  # their rows have the same projections
        X = rng.standard_normal((8, 20))[rng.integers(8, size=4500)] + 1e-6 * X
    X = (X - X.mean(axis=0)).astype(np.float32)
    search = faiss.FaissSearch(X, K)
    indices, squared = search.search_training(K, 1)
    again, _ = search.search_training(K, 2)
    np.testing.assert_array_equal(indices, again)
    assert (indices != np.arange(4500)[:, None]).all()
    assert share(squared, X) > 0.95
