"""Maximum variance unfolding: closed forms, isometry, and the missing extra."""

import sys

import numpy as np
import pytest

from skmde import QuadraticMDE
from skmde.estimators.spectral import unfolding
from skmde.estimators.spectral.unfolding import unfold, widest_gram
from skmde.exceptions import ConvergenceWarning
from skmde.preprocessing.graphs.weights import edges_from_graph, neighbor_graph
from skmde.preprocessing.neighbors.search import nearest_neighbors


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


def error(G, squares, edges):
    """Largest error of a squared distance, in units of the largest of them."""
    return np.abs(squared_distances(G, edges) - squares).max() / squares.max()


def neighbour_distances(X, n_neighbors):
    """Pairs of neighbours, their squared distances in units of the mean, and this unit."""
    indices, distances, _ = nearest_neighbors(X, n_neighbors)
    edges, _ = edges_from_graph(neighbor_graph(indices, distances))
    squares = ((X[edges[:, 0]] - X[edges[:, 1]]) ** 2).sum(axis=1)
    return edges, squares / squares.mean(), squares.mean()


def scatter(X):
    """Squared distances from the mean, in all: the variance that unfolding starts from."""
    return ((X - X.mean(axis=0)) ** 2).sum()


def test_a_chain_becomes_straight(solver):
    lengths = np.random.default_rng(0).uniform(0.5, 1.5, 19)
    edges = np.stack([np.arange(19), np.arange(1, 20)], axis=1)
    G = widest_gram(lengths**2, edges, 20)
    line = np.concatenate([[0], np.cumsum(lengths)])
    line -= line.mean()
    np.testing.assert_allclose(G, np.outer(line, line), atol=1e-3 * np.abs(line).max() ** 2)
    np.testing.assert_allclose(squared_distances(G, edges), lengths**2, rtol=1e-5)


def test_neighbours_keep_their_distances_and_variance_grows(solver):
    angle = np.linspace(0, 5, 35) + np.random.default_rng(1).uniform(-0.03, 0.03, 35)
    X = np.c_[np.cos(angle), np.sin(angle), 0.1 * np.random.default_rng(2).random(35)]
    edges, squares, unit = neighbour_distances(X, 4)
    G = widest_gram(squares, edges, 35)
    assert error(G, squares, edges) < 1e-5
    G *= unit
    np.testing.assert_allclose(G.sum(axis=0), 0, atol=1e-4)
    assert np.linalg.eigvalsh(G)[0] > -1e-4
    assert np.trace(G) > 1.5 * scatter(X)

    estimator = QuadraticMDE(2, weights="mvu", n_neighbors=4).fit(X)
    values = np.linalg.eigvalsh(G)[::-1][:2]
    np.testing.assert_allclose(estimator.eigenvalues_, -values, atol=1e-3 * values[0])
    # the arc unrolls: its first coordinate goes along it
    order = np.argsort(estimator.embedding_[:, 0])
    assert (np.diff(order) > 0).mean() > 0.9 or (np.diff(order) < 0).mean() > 0.9
    assert estimator.n_pairs_ == 35 * 34 // 2
    assert estimator.distortion_ == pytest.approx(np.trace(estimator.dual_))
    assert estimator.graph_.nnz == 2 * len(edges)
    principal = QuadraticMDE(2, weights="pca").fit(X)
    assert estimator.eigenvalues_.sum() < 1.4 * principal.eigenvalues_.sum() < 0


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
    with pytest.warns(UserWarning, match="2 connected components"):
        estimator = QuadraticMDE(weights="mvu", n_neighbors=4).fit(X)
    Y = estimator.embedding_[:, 0]
    assert Y[:10].max() < Y[10:].min() or Y[:10].min() > Y[10:].max()


def dual_bound(w, squares, edges, n):
    """A bound on the variance: that of weights whose Laplacian is at least 1 off the constants."""
    i, j = edges.T
    L = np.zeros((n, n))
    np.add.at(L, (i, j), -w)
    np.add.at(L, (j, i), -w)
    L -= np.diag(L.sum(axis=0))
    lowest = np.linalg.eigvalsh(L + 1e3 * np.abs(w).max() / n)[0]  # the constants are not the last
    assert lowest > 0
    return w @ squares / lowest


def test_many_samples_have_the_variance_that_the_dual_problem_allows():
    X = np.random.default_rng(6).standard_normal((120, 10))
    edges, squares, unit = neighbour_distances(X, 6)
    Y, w = unfold(squares, edges, len(X))
    G = Y @ Y.T
    assert error(G, squares, edges) < 1e-5
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-9)
    assert np.trace(G) == pytest.approx(dual_bound(w, squares, edges, len(X)), rel=1e-4)
    # the samples themselves keep the distances, too
    assert np.trace(G) > 1.1 * scatter(X) / unit


def test_both_methods_agree(solver, monkeypatch):
    X = np.random.default_rng(7).standard_normal((45, 6))
    edges, squares, _ = neighbour_distances(X, 4)
    precise = widest_gram(squares, edges, len(X))
    monkeypatch.setattr(unfolding, "_FEW", 0)
    G = widest_gram(squares, edges, len(X))
    assert np.trace(G) == pytest.approx(np.trace(precise), rel=1e-4)
    values, expected = np.linalg.eigvalsh(G), np.linalg.eigvalsh(precise)
    np.testing.assert_allclose(values, expected, atol=0.01 * expected[-1])


def test_a_rolled_strip_becomes_flat(solver):
    along, across = np.meshgrid(np.arange(30.0), np.arange(4.0), indexing="ij")
    angle = np.sqrt(4 + 0.9 * along.ravel())  # steps along the spiral have nearly one length
    X = np.c_[2.2 * angle * np.cos(angle), 2.2 * angle * np.sin(angle), across.ravel()]
    estimator = QuadraticMDE(2, weights="mvu", n_neighbors=4).fit(X)
    for column, truth in zip(estimator.embedding_.T, (along, across), strict=True):
        assert abs(np.corrcoef(column, truth.ravel())[0, 1]) > 0.9999
    # all of the variance is in the plane, and more of it than the spiral has
    spiral, plane = scatter(X), -estimator.eigenvalues_.sum()
    assert plane > 1.5 * spiral
    with pytest.warns(UserWarning, match="Only . eigenvalues are usable"):
        every = QuadraticMDE(20, weights="mvu", n_neighbors=4).fit(X)
    assert -every.eigenvalues_.sum() < 1.001 * plane


@pytest.mark.parametrize("n_items", [3, 130])
def test_distances_of_no_points_are_refused(solver, n_items):
    chain = np.stack([np.arange(n_items - 1), np.arange(1, n_items)], axis=1)
    edges = np.concatenate([chain, [[0, 2]]])
    squares = np.ones(len(edges))
    squares[-1] = 9.0  # 3 apart, but 2 by way of the item between
    with pytest.raises(ValueError, match=r"No points .* were found .* metric='euclidean'"):
        widest_gram(squares, edges, n_items)


def test_a_rigid_frame_that_ends_too_early_warns(monkeypatch):
    X = np.random.default_rng(8).standard_normal((110, 2))
    edges, squares, _ = neighbour_distances(X, 6)
    monkeypatch.setattr(unfolding, "_MAX_ITER", 600)
    with pytest.warns(ConvergenceWarning, match="rigid frame"):
        widest_gram(squares, edges, len(X))


def test_samples_that_are_all_the_same_stay_so(solver):
    edges = np.stack([np.arange(99), np.arange(1, 100)], axis=1)
    np.testing.assert_array_equal(widest_gram(np.zeros(99), edges, 100), 0)


def test_items_that_coincide_have_no_direction(solver):
    for X, params in (
        (np.ones((20, 3)), {}),
        (1.0 + np.random.default_rng(0).random((20, 3)), {"metric": "jaccard"}),  # all true
    ):
        with pytest.warns(UserWarning, match="Only 0 eigenvalues are usable"):
            estimator = QuadraticMDE(weights="mvu", n_neighbors=4, **params).fit(X)
        np.testing.assert_array_equal(estimator.embedding_, 0)
        np.testing.assert_array_equal(estimator.transform(X[:3]), 0)
