"""Maximum variance unfolding: closed forms, isometry, and the missing extra."""

import sys

import numpy as np
import pytest

from skmde import QuadraticMDE


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"pip install 'skmde\[mvu\]'"):
        QuadraticMDE(weights="mvu").fit(np.eye(20))


@pytest.fixture
def solver():
    return pytest.importorskip("cvxpy")


def squared_distances(G, edges):
    i, j = edges.T
    return G[i, i] - 2 * G[i, j] + G[j, j]


def test_a_chain_becomes_straight(solver):
    from skmde.estimators._quadratic_mvu import widest_gram

    lengths = np.random.default_rng(0).uniform(0.5, 1.5, 19)
    edges = np.stack([np.arange(19), np.arange(1, 20)], axis=1)
    G = widest_gram(lengths**2, edges, 20)
    line = np.concatenate([[0], np.cumsum(lengths)])
    line -= line.mean()
    np.testing.assert_allclose(G, np.outer(line, line), atol=1e-3 * np.abs(line).max() ** 2)
    np.testing.assert_allclose(squared_distances(G, edges), lengths**2, rtol=1e-5)


def test_neighbours_keep_their_distances_and_variance_grows(solver):
    from skmde.estimators._quadratic_mvu import widest_gram
    from skmde.preprocessing.neighbors import nearest_neighbors
    from skmde.preprocessing.weights import edges_from_graph, neighbor_graph

    angle = np.linspace(0, 5, 35) + np.random.default_rng(1).uniform(-0.03, 0.03, 35)
    X = np.c_[np.cos(angle), np.sin(angle), 0.1 * np.random.default_rng(2).random(35)]
    indices, distances, _ = nearest_neighbors(X, 4)
    edges, _ = edges_from_graph(neighbor_graph(indices, distances))
    squares = ((X[edges[:, 0]] - X[edges[:, 1]]) ** 2).sum(axis=1)
    unit = squares.mean()
    G = unit * widest_gram(squares / unit, edges, 35)
    np.testing.assert_allclose(squared_distances(G, edges), squares, atol=1e-5 * squares.max())
    np.testing.assert_allclose(G.sum(axis=0), 0, atol=1e-4)
    assert np.linalg.eigvalsh(G)[0] > -1e-4
    assert np.trace(G) > 1.5 * ((X - X.mean(axis=0)) ** 2).sum()

    estimator = QuadraticMDE(2, weights="mvu", n_neighbors=4).fit(X)
    values = np.linalg.eigvalsh(G)[::-1][:2]
    np.testing.assert_allclose(estimator.eigenvalues_, -values, atol=1e-3 * values[0])
    # the arc unrolls: its first coordinate goes along it
    order = np.argsort(estimator.embedding_[:, 0])
    assert (np.diff(order) > 0).mean() > 0.9 or (np.diff(order) < 0).mean() > 0.9
    assert estimator.n_pairs_ == 35 * 34 // 2
    assert estimator.distortion_ == pytest.approx(np.trace(estimator.dual_))
    assert estimator.graph_.nnz == 2 * len(edges)


def test_a_line_stays_as_it_is_in_any_units(solver):
    x = np.arange(25) + np.random.default_rng(3).uniform(-0.2, 0.2, 25)
    for unit in (1.0, 1e20):
        with pytest.warns(UserWarning, match="Only 1 eigenvalues"):
            estimator = QuadraticMDE(2, weights="mvu", n_neighbors=3).fit(unit * x[:, None])
        z = (x - x.mean()) / x.std()
        found = estimator.embedding_[:, 0]
        np.testing.assert_allclose(found * np.sign(found @ z), z, atol=1e-3)
        np.testing.assert_allclose(estimator.eigenvalues_[0], -(unit**2) * 25 * x.var(), rtol=1e-3)


def test_unseen_rows_are_reconstructed_from_their_neighbours(solver):
    X = np.random.default_rng(4).standard_normal((30, 3))
    estimator = QuadraticMDE(2, weights="mvu", n_neighbors=5).fit(X)
    np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)
    rows = X[:6] + 0.01
    together = estimator.transform(rows)
    one_by_one = np.concatenate([estimator.transform(row[None]) for row in rows])
    np.testing.assert_allclose(together, one_by_one, atol=1e-9)
    assert np.abs(together - estimator.embedding_[:6]).max() < 0.5


def test_parts_are_joined_by_their_closest_pairs(solver):
    X = np.concatenate([np.zeros((10, 2)), 100 + np.zeros((12, 2))])
    X += np.random.default_rng(5).standard_normal(X.shape)
    with pytest.warns(UserWarning, match="2 connected parts"):
        estimator = QuadraticMDE(weights="mvu", n_neighbors=4).fit(X)
    Y = estimator.embedding_[:, 0]
    assert Y[:10].max() < Y[10:].min() or Y[:10].min() > Y[10:].max()
