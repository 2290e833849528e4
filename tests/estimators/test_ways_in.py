"""Rows, dense distances, sparse distances and tables of the same data give the same map."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.manifold import Isomap
from sklearn.neighbors import NearestNeighbors

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)
from skmde.estimators.pairs.neighbors import holds_neighbors
from skmde.estimators.spectral.bridges import bridges

K = 7
CONNECTED = np.random.default_rng(0).standard_normal((60, 3))
APART, _ = make_blobs(60, 4, centers=3, cluster_std=0.5, random_state=0)
NEIGHBORS = {"n_neighbors": K}
COORDINATES = np.full((60, 2), np.nan)
COORDINATES[::6] = np.random.default_rng(1).standard_normal((10, 2))
CLASSES = np.where(np.arange(60) % 5 == 0, np.arange(60) // 5 % 3, -1)

# Ways in that hold all distances, and ways that hold those of neighbours.
FULL = ("rows", "dense", "sparse")
ALL = (*FULL, "neighbors", "tables")
# Where the number of neighbours is the default, the distances of all pairs are not neighbours.
DEFAULT = (*FULL, "all_tables")


def given(way, X):
    if way == "rows":
        return X
    D = cdist(X, X)
    if way == "dense":
        return D
    if way == "sparse":
        np.fill_diagonal(D, 0)
        return sp.csr_array(D)
    k = len(X) - 1 if way == "all_tables" else K
    distances, indices = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    if way.endswith("tables"):
        return indices, distances
    rows = np.repeat(np.arange(len(X)), K)
    return sp.csr_array((distances.ravel(), (rows, indices.ravel())), shape=D.shape)


CASES = [
    (PreserveNeighbors, {**NEIGHBORS, "init": "quadratic"}, None, ALL),
    (PreserveNeighbors, {**NEIGHBORS, "init": "isomap"}, None, ALL),
    (PreserveNeighbors, {**NEIGHBORS, "init": "random", "repulsion": "sampled"}, None, ALL),
    (PreserveNeighbors, {**NEIGHBORS, "repulsive_penalty": None}, None, ALL),
    (PreserveDistances, {"init": "random", "loss": "squared"}, None, FULL),
    (PreserveDistances, {"loss": "squared"}, None, FULL),
    (PreserveDistances, {**NEIGHBORS, "loss": "squared"}, None, (*FULL, "neighbors")),
    (AnchoredMDE, NEIGHBORS, COORDINATES, ALL),
    (AnchoredMDE, {**NEIGHBORS, "attractive_penalty": "huber"}, COORDINATES, ALL),
    (AnchoredMDE, {**NEIGHBORS, "loss": "squared"}, COORDINATES, (*FULL, "neighbors")),
    (AnchoredMDE, {"loss": "squared"}, COORDINATES, FULL),
    (AnchoredClassifier, NEIGHBORS, CLASSES, ALL),
    (QuadraticMDE, {**NEIGHBORS, "weights": "laplacian"}, None, ALL),
    (QuadraticMDE, {**NEIGHBORS, "weights": "normalized_laplacian"}, None, ALL),
    (QuadraticMDE, {**NEIGHBORS, "weights": "isomap"}, None, ALL),
    (QuadraticMDE, {"weights": "classical_mds"}, None, ("rows", "dense")),
    (PreserveNeighbors, {"init": "quadratic"}, None, DEFAULT),
    (PreserveNeighbors, {"init": "random", "repulsion": "sampled"}, None, DEFAULT),
    (AnchoredMDE, {}, COORDINATES, DEFAULT),
    (AnchoredClassifier, {}, CLASSES, DEFAULT),
    (QuadraticMDE, {"weights": "laplacian"}, None, DEFAULT),
    (QuadraticMDE, {"weights": "normalized_laplacian"}, None, DEFAULT),
    (QuadraticMDE, {"weights": "isomap"}, None, DEFAULT),
]


def distances_of_map(make, params, y, way, X):
    """Distances in the map, which neither rotations nor signs change."""
    params = {**params, "random_state": 0, "n_jobs": 1}
    if make is AnchoredClassifier:
        params = {k: v for k, v in params.items() if k != "random_state"}
    if way != "rows":
        params["metric"] = "precomputed"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # components
        fitted = make(**params).fit(given(way, X), y)
    Y = fitted.label_distributions_ if make is AnchoredClassifier else fitted.embedding_
    return cdist(Y, Y)


def name_of(case):
    make, params, *_ = case
    return "-".join([make.__name__, *map(str, params.values())])


@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.parametrize("X", [CONNECTED, APART], ids=["connected", "apart"])
def test_ways_in_agree(case, X):
    make, params, y, ways = case
    if X is APART and (params.get("weights") == "isomap"):
        ways = tuple(w for w in ways if w in FULL)  # tables do not say how far apart parts are
    expected = distances_of_map(make, params, y, "rows", X)
    for way in ways[1:]:
        found = distances_of_map(make, params, y, way, X)
        np.testing.assert_allclose(found, expected, atol=2e-3 * expected.max(), err_msg=way)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_asymmetric_distances_give_the_same_map_dense_or_sparse(case):
    make, params, y, _ = case
    rng = np.random.default_rng(2)
    D = cdist(CONNECTED, CONNECTED) * rng.uniform(0.9, 1.1, (60, 60))
    np.fill_diagonal(D, 0)
    found = []
    for data in (D, sp.csr_array(D), (D + D.T) / 2):
        fitted = make(**{"n_jobs": 1, **params, "metric": "precomputed"})
        if make is not AnchoredClassifier:
            fitted.set_params(random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted.fit(data, y)
        told = [w for w in caught if "are not symmetric (largest difference" in str(w.message)]
        assert len(told) == (len(found) < 2)
        found.append(getattr(fitted, "label_distributions_", None))
        if found[-1] is None:
            found[-1] = cdist(fitted.embedding_, fitted.embedding_)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=2e-3 * found[0].max())


def test_stored_entries_are_neighbors_unless_all_pairs_are_stored():
    graph = given("neighbors", CONNECTED)
    full = given("sparse", CONNECTED)
    one_pair_less = full.copy()
    one_pair_less[2, 5] = one_pair_less[5, 2] = np.inf
    loops = full + sp.diags_array(np.ones(60))
    indices, distances = given("all_tables", CONNECTED)
    short = np.where(np.arange(59) < 58, indices, -1), distances
    for data, expected in (
        (graph, True),
        (one_pair_less, True),
        (short, True),
        (full, False),
        (loops, False),
        (full.tocsc(), False),
        (sp.coo_array(np.triu(full.toarray())), True),
        ((indices, distances), False),
        (given("dense", CONNECTED), False),
    ):
        assert holds_neighbors(data) is expected
    stored = QuadraticMDE(metric="precomputed").fit(graph).graph_
    assert (np.diff(stored.indptr) >= K).all()


@pytest.mark.parametrize("n", [40, 400])
@pytest.mark.parametrize("repulsion", ["all", "sampled"])
def test_rows_and_their_distances_have_as_many_neighbors_by_default(n, repulsion):
    rows = np.random.default_rng(0).standard_normal((n, 3))
    how = {"repulsion": repulsion, "max_iter": 0, "init": "random", "random_state": 0}
    expected = PreserveNeighbors(**how).fit(rows).graph_
    for way in ("dense", "sparse"):
        found = PreserveNeighbors(metric="precomputed", **how).fit(given(way, rows)).graph_
        assert found.nnz == expected.nnz


@pytest.mark.parametrize("way", FULL)
def test_isomap_of_blobs_is_scikit_learns(way):
    X, _ = make_blobs(90, 4, centers=3, cluster_std=0.5, random_state=0)
    with pytest.warns(UserWarning, match="3 connected components; every two are joined"):
        fitted = QuadraticMDE(
            weights="isomap",
            n_neighbors=5,
            metric="euclidean" if way == "rows" else "precomputed",
            random_state=0,
        ).fit(given(way, X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = Isomap(n_neighbors=5).fit_transform(X)
    ours = fitted.embedding_ * np.sqrt(-fitted.eigenvalues_ / len(X))
    np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-6 * np.abs(expected).max())


def test_components_without_a_distance_between_them_are_told_of():
    X, _ = make_blobs(90, 4, centers=3, cluster_std=0.5, random_state=0)
    with pytest.warns(UserWarning, match="2700 pairs of samples have no distance and no path"):
        QuadraticMDE(weights="isomap", metric="precomputed", random_state=0).fit(
            given("neighbors", X)
        )


def test_given_distances_join_components_by_the_mean_of_both_directions():
    D = np.full((4, 4), np.inf)
    D[0, 1] = D[2, 3] = 1.0
    D[0, 2], D[2, 0] = 4.0, 6.0
    D[1, 3] = D[3, 1] = 5.5
    stored = np.isfinite(D)
    graph = sp.csr_array((D[stored], np.nonzero(stored)), shape=D.shape)
    labels = np.array([0, 0, 1, 1])
    for data in (D, graph):
        with pytest.warns(UserWarning, match="2 connected components"):
            edges, lengths = bridges(data, labels, "precomputed", None, 1)
        assert edges.tolist() == [[0, 2]]
        assert lengths.tolist() == [5.0]
    graph[2, 0] = 7.5  # now the mean is 5.75
    with pytest.warns(UserWarning):
        edges, lengths = bridges(graph, labels, "precomputed", None, 1)
    assert edges.tolist() == [[1, 3]]
    assert lengths.tolist() == [5.5]


def test_stored_distances_join_as_many_components_as_there_are_items():
    X = np.random.default_rng(0).standard_normal((300, 2))
    D = cdist(X, X)
    labels = np.arange(300)
    labels[::7] = 0
    labels = np.unique(labels, return_inverse=True)[1]
    with pytest.warns(UserWarning, match="every two are joined"):
        expected = bridges(D, labels, "precomputed", None, 1)
    with pytest.warns(UserWarning, match="every two are joined"):
        found = bridges(sp.csr_array(D), labels, "precomputed", None, 1)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])
    # one component for each of 5,000 items, next to none of which have a distance
    graph = sp.csr_array(([2.0, 3.0], ([0, 1], [1, 0])), shape=(5_000, 5_000))
    with pytest.warns(UserWarning, match="5000 connected components"):
        edges, lengths = bridges(graph, np.arange(5_000), "precomputed", None, 1)
    assert edges.tolist() == [[0, 1]] and lengths.tolist() == [2.5]
