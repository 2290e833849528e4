"""Where a solve for given distances begins: classical scaling, part by part, at the right size."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from scipy.spatial.distance import cdist, pdist
from sklearn.decomposition import PCA

from skmde import AnchoredMDE, PreserveDistances
from skmde.core.spectral.classical import landmark_mds
from skmde.estimators.pairs.base import Pairs
from skmde.estimators.pairs.row_distances import RowDistances
from skmde.estimators.starts.distances import (
    fill_constant_columns,
    landmark_start,
    scaled_to_distances,
)
from skmde.preprocessing.pairs.sampling import all_edges, sample_edges


class Distances:
    """Distances given by a matrix; which were asked for is recorded."""

    def __init__(self, D):
        self.D = D
        self.n_items = len(D)
        self.asked = []

    def from_items(self, items):
        self.asked.append(np.asarray(items))
        return self.D[items].copy()


def classical_scaling(D, m):
    """Torgerson's, by a dense eigendecomposition."""
    n = len(D)
    J = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * J @ D**2 @ J)
    return vectors[:, ::-1][:, :m] * np.sqrt(np.maximum(values[::-1][:m], 0.0))


def assert_equal_up_to_sign(X, expected, **tolerance):
    signs = np.sign((X * expected).sum(axis=0))
    np.testing.assert_allclose(X * signs, expected, **tolerance)


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("n", [5, 30, 50, 51, 120])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_with_all_items_as_landmarks_it_is_classical_scaling(n, m):
    points = rng().standard_normal((n, 6)) * [4.0, 3.0, 2.0, 1.0, 0.5, 0.5]
    D = cdist(points, points)
    X = landmark_start(Distances(D), None, m, rng(), 1)
    assert_equal_up_to_sign(X, classical_scaling(D, m), atol=1e-4)
    assert_equal_up_to_sign(X, PCA(m).fit_transform(points), atol=1e-4)
    np.testing.assert_array_equal(landmark_mds(D, np.arange(n), m), X)


@pytest.mark.parametrize("n", [12, 100])
def test_with_distances_that_are_not_euclidean_it_is_classical_scaling(n):
    points = rng().standard_normal((n, 4)) * [4.0, 3.0, 2.0, 1.0]
    D = cdist(points, points, "cityblock") ** 1.5
    X = landmark_start(Distances(D), None, 3, rng(), 1)
    expected = classical_scaling(D, 3)
    assert_equal_up_to_sign(X, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("m", [1, 2, 3])
def test_points_of_m_dimensions_are_found_exactly_from_few_landmarks(m):
    points = rng().standard_normal((1000, m)) * [3.0, 2.0, 1.0][:m]
    source = Distances(cdist(points, points))
    X = landmark_start(source, None, m, rng(), 1)
    assert len(source.asked) == 1
    assert len(np.unique(source.asked[0])) < 1000
    np.testing.assert_allclose(pdist(X), pdist(points), atol=1e-5)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("factor", [1e25, 1e-25, 1e150, 1e-150])
def test_the_start_scales_with_the_distances(factor):
    points = rng().standard_normal((40, 5))
    D = cdist(points, points)
    plain = landmark_start(Distances(D), None, 2, rng(), 1)
    scaled = landmark_start(Distances(factor * D), None, 2, rng(), 1)
    np.testing.assert_allclose(scaled / factor, plain, atol=1e-9)


def test_directions_without_variance_are_zero():
    line = np.arange(10.0)[:, None]
    X = landmark_start(Distances(cdist(line, line)), None, 3, rng(), 1)
    np.testing.assert_allclose(np.abs(X[:, 0]), np.abs(line[:, 0] - 4.5), atol=1e-9)
    np.testing.assert_array_equal(X[:, 1:], 0.0)
    np.testing.assert_array_equal(landmark_start(Distances(np.zeros((6, 6))), None, 2, rng(), 1), 0)


@pytest.mark.parametrize("sizes", [(1, 4, 1, 7), (2, 2), (60, 1, 80), (1, 1)])
def test_every_part_is_laid_out_by_itself(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    points = rng().standard_normal((len(labels), 2)) * [3.0, 1.0]
    D = np.where(labels[:, None] == labels, cdist(points, points), np.inf)
    order = rng().permutation(len(labels))
    D, labels, points = D[order][:, order], labels[order], points[order]
    X = landmark_start(Distances(D), labels, 2, rng(), 1)
    assert np.isfinite(X).all()
    for part in range(len(sizes)):
        own = labels == part
        np.testing.assert_allclose(pdist(X[own]), pdist(points[own]), atol=1e-5)
    corners = [(X[labels == k].min(axis=0), X[labels == k].max(axis=0)) for k in range(len(sizes))]
    for a, (low, high) in enumerate(corners):
        for other_low, other_high in corners[:a]:
            assert ((high < other_low) | (other_high < low)).any()


def test_landmarks_of_large_parts_are_few_and_seeded():
    points = rng().standard_normal((900, 3))
    labels = (np.arange(900) % 3 == 0).astype(int)
    source = Distances(cdist(points, points))
    first = landmark_start(source, labels, 2, rng(), 1)
    for part, asked in enumerate(source.asked):
        assert len(np.unique(asked)) == len(asked) <= 300
        assert (labels[asked] == part).all()
    again = landmark_start(source, labels, 2, rng(), 2)
    np.testing.assert_array_equal(again, first)
    other = landmark_start(source, labels, 2, np.random.default_rng(1), 1)
    assert not np.array_equal(other, first)


def test_rows_of_data_are_laid_out_like_their_distances():
    points = rng().standard_normal((45, 5))
    source = RowDistances(points, "manhattan", None, None)
    D = cdist(points, points, "cityblock")
    np.testing.assert_allclose(
        landmark_start(source, None, 2, rng(), 1),
        landmark_start(Distances(D), None, 2, rng(), 1),
        atol=1e-9,
    )


@given(
    n=st.integers(2, 40),
    m=st.integers(1, 4),
    factor=st.sampled_from([1e-120, 1e-25, 0.01, 1.0, 3.7, 1e25, 1e120]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=50, deadline=None)
def test_size_is_that_of_least_squares(n, m, factor, seed):
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, m))
    delta = factor * generator.uniform(0.1, 2.0, n * (n - 1) // 2)
    d = pdist(X)
    expected = (delta / factor) @ d / (d @ d)
    found = scaled_to_distances(X.copy(), Pairs(None, delta))
    np.testing.assert_allclose(found, factor * expected * X, rtol=1e-9)
    # some pairs, in another order
    keep = generator.permutation(len(delta))[: max(1, len(delta) // 2)]
    found = scaled_to_distances(X.copy(), Pairs(all_edges(n)[keep], delta[keep]))
    expected = (delta[keep] / factor) @ d[keep] / (d[keep] @ d[keep])
    np.testing.assert_allclose(found, factor * expected * X, rtol=1e-9)


@pytest.mark.parametrize("sampled", [False, True])
def test_the_right_size_is_found_from_part_of_many_pairs(sampled):
    X = rng().standard_normal((700, 2))
    delta = 5.0 * pdist(X)
    assert len(delta) > 1 << 17
    edges = None
    if sampled:
        edges = sample_edges(700, 200_000, rng())
        delta = 5.0 * np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    np.testing.assert_allclose(
        scaled_to_distances(X, Pairs(edges, delta.astype(np.float32))), 5.0 * X, rtol=1e-6
    )


def test_where_there_is_no_size_to_find():
    X = 1e90 * rng().standard_normal((4, 2))
    np.testing.assert_allclose(
        scaled_to_distances(X, Pairs(None, np.zeros(6))), X / np.abs(X).max()
    )
    together = np.ones((4, 2))
    np.testing.assert_array_equal(
        scaled_to_distances(together.copy(), Pairs(None, np.ones(6))), together
    )


def test_columns_without_spread_are_filled_with_a_little_noise():
    X = rng().standard_normal((200, 3))
    X[:, 1] = 0.0
    filled = fill_constant_columns(X.copy(), rng())
    np.testing.assert_array_equal(filled[:, [0, 2]], X[:, [0, 2]])
    size = np.sqrt(np.mean(X**2))
    assert filled[:, 1].std() == pytest.approx(1e-3 * size, rel=0.2)
    np.testing.assert_array_equal(fill_constant_columns(X.copy(), rng()), filled)
    full = rng().standard_normal((200, 3))
    np.testing.assert_array_equal(fill_constant_columns(full.copy(), rng()), full)


def _edges(name):
    """Graphs in which many nodes have the same distances to all others."""
    if name == "binary tree":
        return [((i - 1) // 2, i) for i in range(1, 63)]
    if name == "ternary tree":
        return [((i - 1) // 3, i) for i in range(1, 40)]
    if name == "star":
        return [(0, i) for i in range(1, 20)]
    if name == "complete bipartite":
        return [(i, 5 + j) for i in range(5) for j in range(8)]
    return [(i, i + 1) for i in range(4)] + [(i // 4, 5 + i) for i in range(20)]  # caterpillar


def graph(name):
    i, j = np.transpose(_edges(name))
    half = sp.csr_array((np.ones(len(i)), (i, j)), shape=(j.max() + 1,) * 2)
    return half + half.T


@pytest.mark.parametrize(
    "name, params",
    [
        ("binary tree", {"loss": "kamada_kawai"}),
        ("ternary tree", {"loss": "squared"}),
        ("star", {"loss": "kamada_kawai"}),
        ("complete bipartite", {"loss": "squared"}),
        ("caterpillar", {"loss": "kamada_kawai"}),
        ("caterpillar", {"monotone": "interval"}),
    ],
    ids=str,
)
def test_nodes_with_the_same_distances_do_not_share_a_place(name, params):
    fitted = [
        PreserveDistances(metric="graph", init=init, random_state=seed, **params).fit(graph(name))
        for init, seed in [("classical", 0), *(("random", seed) for seed in range(3))]
    ]
    values = [estimator.stress_ for estimator in fitted]
    assert pdist(fitted[0].embedding_).min() > 0.01
    assert values[0] < 1.05 * min(values[1:])


@pytest.mark.parametrize("name", ["ternary tree", "caterpillar"])
def test_nodes_with_the_same_distances_do_not_share_a_place_beside_anchors(name):
    known = np.full((graph(name).shape[0], 2), np.nan)
    known[:2] = [[0.0, 0.0], [1.0, 0.0]]
    estimator = AnchoredMDE(loss="squared", metric="graph", random_state=0)
    assert pdist(estimator.fit(graph(name), known).embedding_).min() > 0.01


@pytest.mark.parametrize("loss", ["absolute", "squared", "kamada_kawai"])
def test_equal_rows_keep_a_common_place(loss):
    X = np.random.default_rng(0).standard_normal((12, 5))
    D = cdist(X, X)[np.repeat(np.arange(12), 2)][:, np.repeat(np.arange(12), 2)]
    Y = PreserveDistances(loss=loss, metric="precomputed", random_state=0).fit_transform(D)
    assert np.abs(Y[::2] - Y[1::2]).max() < 1e-5
