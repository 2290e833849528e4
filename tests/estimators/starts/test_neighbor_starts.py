"""Where a solve begins."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from skmde import Anchored, AnchoredMDE, PreserveDistances, PreserveNeighbors
from skmde.estimators.starts.neighbors import quadratic_start, random_start
from skmde.exceptions import ConvergenceWarning


def ring(n):
    graph = sp.lil_array((n, n), dtype=np.float32)
    at = np.arange(n)
    graph[at, (at + 1) % n] = 1
    graph[(at + 1) % n, at] = 1
    return graph.tocsr()


@pytest.mark.parametrize("n", [30, 400])
def test_spectral_start_of_a_ring_is_a_circle(n):
    X = quadratic_start(ring(n), 2, 1)
    assert X.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), np.sqrt(2), atol=0.02)
    angles = np.unwrap(np.arctan2(X[:, 1], X[:, 0]))
    steps = np.diff(angles)
    assert (np.sign(steps) == np.sign(steps[0])).all()


def test_components_start_side_by_side():
    parts = [ring(40), ring(12), sp.csr_array((1, 1)), ring(70)]
    X = quadratic_start(sp.csr_array(sp.block_diag(parts)), 2, 1)
    part = np.repeat(np.arange(4), [40, 12, 1, 70])
    means = np.array([X[part == k].mean(axis=0) for k in range(4)])
    radii = [np.linalg.norm(X[part == k] - means[k], axis=1).max() for k in range(4)]
    for a in range(4):
        for b in range(a):
            assert np.linalg.norm(means[a] - means[b]) > radii[a] + radii[b]
    assert np.sqrt(np.mean(X**2)) == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("n", [30, 500])
def test_spectral_start_does_not_depend_on_threads(n):
    points = np.random.default_rng(0).standard_normal((n, 3))
    graph = kneighbors_graph(points, 5)
    graph = (graph + graph.T).astype(np.float32)
    np.testing.assert_array_equal(quadratic_start(graph, 2, 1), quadratic_start(graph, 2, 3))


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "correlation"])
def test_isomap_adds_up_distances_where_the_metric_is_their_square(metric):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.2, 1.0, (80, 1)) * [3.0, 0.0, 0.0, 1.0] + rng.random((80, 4))
    plain = X
    if metric != "sqeuclidean":
        plain = X - X.mean(axis=1, keepdims=True) if metric == "correlation" else X
        plain = plain / np.linalg.norm(plain, axis=1, keepdims=True)
    common = {"init": "isomap", "n_neighbors": 6, "snapshot_every": 1, "max_iter": 2}
    common |= {"random_state": 0, "repulsive_weight": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        squared = PreserveNeighbors(metric=metric, **common).fit(X)
        expected = PreserveNeighbors(**common).fit(plain)
    start, other = squared.snapshots_[0], expected.snapshots_[0]
    np.testing.assert_allclose(start, other, atol=2e-3 * np.abs(other).max())


def test_random_start_is_seeded():
    first, again, other = (random_start(50, 3, np.random.RandomState(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    assert first.shape == (50, 3)


@pytest.mark.parametrize("size", [1e30, 1e120, 1e300])
def test_starts_that_are_far_too_large_are_scaled_or_refused(size):
    X = np.random.default_rng(0).standard_normal((30, 3))
    start, y = size * X[:, :2], np.full((30, 2), np.nan)
    y[:5] = X[:5, :2]
    for constraint in ("centered", "standardized"):
        for data in (X, np.zeros((30, 3))):
            found = PreserveDistances(init=start, constraint=constraint, max_iter=20).fit(data)
            assert np.abs(found.embedding_).max() < 10
    for estimator in (
        PreserveDistances(init=start, constraint=Anchored([0], [[0.0, 0.0]])),
        AnchoredMDE(init=start, loss="squared"),
        AnchoredMDE(init=start, attractive_penalty="log1p", repulsive_penalty="log"),
        AnchoredMDE(init=start, attractive_penalty="cubic", anchor_weight=1.0),
    ):
        with pytest.raises(ValueError, match=r"init holds values up to .*; scale init to them"):
            estimator.fit(X, y)
