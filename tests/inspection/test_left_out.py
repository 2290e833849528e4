"""Leave-one-out placements and derivatives of all estimators, against their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors, QuadraticMDE
from skmde.core.placement.by_distances import place_by_distances
from skmde.functions.residual_losses import SquaredLoss
from skmde.inspection import feature_sensitivity, leave_one_out

RNG = np.random.default_rng(0)
X = load_digits().data[:70]
PLACES = np.full((70, 2), np.nan)
PLACES[:10] = RNG.normal(size=(10, 2))
K = 7


def mean_of_neighbors(embedding, item):
    """The mean of the K nearest others, those counted twice that find the item near, too."""
    D = pairwise_distances(X)
    reach = np.sort(D, axis=1)[:, K]
    order = np.argsort(D[item], kind="stable")
    others = order[order != item][:K]
    weights = 1.0 + (D[item, others] <= reach[others])
    return weights @ embedding[others] / weights.sum()


@pytest.mark.parametrize(
    "estimator",
    [
        AnchoredMDE(n_neighbors=K),
        QuadraticMDE(n_neighbors=K),
        QuadraticMDE(n_neighbors=K, weights="normalized_laplacian"),
    ],
    ids=["anchored", "laplacian", "normalized"],
)
@pytest.mark.parametrize("kind", ["rows", "sparse", "precomputed"])
def test_under_quadratic_distortion_it_is_the_mean_of_the_neighbors(estimator, kind):
    data = {"rows": X, "sparse": sp.csr_array(X), "precomputed": pairwise_distances(X)}[kind]
    metric = "precomputed" if kind == "precomputed" else "euclidean"
    estimator.set_params(metric=metric).fit(data, PLACES)
    items = [3, 11, 69]
    found = leave_one_out(estimator, data, items)
    expected = [mean_of_neighbors(estimator.embedding_, item) for item in items]
    np.testing.assert_allclose(found.coordinates, expected, atol=1e-6)


@pytest.mark.parametrize("k", [5, K])
def test_tables_without_the_items_themselves_lose_no_neighbor(k):
    distances, indices = NearestNeighbors(n_neighbors=K).fit(X).kneighbors()
    graph = kneighbors_graph(X, K, mode="distance")
    for estimator in (
        AnchoredMDE(n_neighbors=k, metric="precomputed"),
        QuadraticMDE(n_neighbors=k, metric="precomputed"),
        PreserveNeighbors(n_neighbors=k, metric="precomputed", random_state=0),
    ):
        by_graph = leave_one_out(estimator.fit(graph, PLACES), graph).coordinates
        tables = indices, distances
        by_tables = leave_one_out(estimator.fit(tables, PLACES), tables).coordinates
        np.testing.assert_allclose(by_tables, by_graph, atol=1e-9)


def test_a_wrong_anchor_is_displaced_most():
    flat = RNG.random((70, 2))
    places = flat.copy()
    places[30:] = np.nan
    places[4] += 3.0
    for parameters in ({}, {"loss": "absolute", "n_neighbors": None}):
        estimator = AnchoredMDE(random_state=0, **parameters).fit(flat, places)
        assert leave_one_out(estimator, flat).displacement.argmax() == 4


def test_an_anchored_item_is_placed_by_the_distances_of_the_others():
    estimator = AnchoredMDE(loss="squared", n_neighbors=None, random_state=0).fit(X, PLACES)
    D = pairwise_distances(X)
    for item in (2, 50):
        others = np.delete(np.arange(70), item)
        landmarks = estimator.embedding_[others].astype(np.float64)
        expected = place_by_distances(landmarks, D[[item]][:, others], SquaredLoss())[0]
        found = leave_one_out(estimator, X, [item])
        assert np.linalg.norm(found.coordinates[0] - expected) < 1e-3 * found.radius


@pytest.mark.parametrize("repulsion", ["all", "normalized", "sampled"])
def test_items_do_not_repel_themselves(repulsion):
    estimator = AnchoredMDE(
        attractive_penalty="log1p",
        repulsive_penalty="cauchy",
        repulsion=repulsion,
        tol=1e-7,
        random_state=0,
    ).fit(X, PLACES)
    found = leave_one_out(estimator, X, np.arange(10, 70))
    # free items are at a minimum of nearly the same function
    assert np.median(found.displacement) < 0.05


def test_given_weights_place_by_the_other_items():
    weights = np.exp(-(pairwise_distances(X) ** 2) / 400)
    weights[5] = weights[:, 5] = 0
    weights[5, 6] = weights[6, 5] = -1.0
    estimator = QuadraticMDE(weights="precomputed").fit(weights)
    found = leave_one_out(estimator, weights, [3, 5])
    w = np.delete(weights[3], 3)
    expected = w @ np.delete(estimator.embedding_, 3, axis=0) / w.sum()
    np.testing.assert_allclose(found.coordinates[0], expected)
    assert np.isnan(found.coordinates[1]).all()  # its weights do not have a positive sum
    affinity = AnchoredMDE(metric="affinity").fit(np.abs(weights), PLACES)
    w = np.delete(np.abs(weights[3]), 3)
    expected = w @ np.delete(affinity.embedding_, 3, axis=0) / w.sum()
    found = leave_one_out(affinity, np.abs(weights), [3])
    np.testing.assert_allclose(found.coordinates[0], expected, atol=1e-6)


def test_locally_linear_embedding_reconstructs_from_the_others():
    estimator = QuadraticMDE(weights="lle", n_neighbors=K).fit(X)
    found = leave_one_out(estimator, X)
    assert np.median(found.displacement) < 0.1
    D = pairwise_distances(X)
    item, others = 8, np.argsort(D[8], kind="stable")[1 : K + 1]
    differences = X[others] - X[item]
    G = differences @ differences.T
    w = np.linalg.solve(G + 1e-3 * np.trace(G) * np.eye(K), np.ones(K))
    expected = w @ estimator.embedding_[others] / w.sum()
    np.testing.assert_allclose(found.coordinates[item], expected, atol=1e-6)


# Derivatives by features


@pytest.mark.parametrize("weights", ["pca", "classical_mds"])
@pytest.mark.parametrize("shape", [(40, 4), (12, 30)])
def test_derivatives_of_principal_components_are_those_of_transform(weights, shape):
    rows = 1e3 + 50 * RNG.normal(size=shape)
    estimator = QuadraticMDE(weights=weights).fit(rows)
    found = feature_sensitivity(estimator, rows, [0, 5])
    assert found.jacobian.shape == (2, 2, shape[1])
    np.testing.assert_array_equal(found.jacobian[0], found.jacobian[1])
    unseen, step = RNG.normal(size=(1, shape[1])) + 1e3, 1.0
    for feature in range(shape[1]):
        moved = unseen.copy()
        moved[0, feature] += step
        expected = (estimator.transform(moved) - estimator.transform(unseen))[0] / step
        np.testing.assert_allclose(found.jacobian[0, :, feature], expected, atol=1e-8)
    spread = rows.std(axis=0)
    importance = np.linalg.norm(found.jacobian[0], axis=0) * spread
    np.testing.assert_allclose(found.importance[0], importance)


def test_derivatives_do_not_depend_on_the_unit_of_the_data():
    rows = load_iris().data[::5]
    estimator = QuadraticMDE(weights="pca").fit(rows)
    expected = feature_sensitivity(estimator, rows, [0]).importance
    small = QuadraticMDE(weights="pca").fit(1e-30 * rows)
    found = feature_sensitivity(small, 1e-30 * rows, [0]).importance
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_estimators_without_derivatives_say_why():
    for estimator in (QuadraticMDE(), QuadraticMDE(weights="kernel_pca"), AnchoredMDE()):
        with pytest.raises(ValueError, match="only choose the neighbours"):
            feature_sensitivity(estimator.fit(X, PLACES), X)


def test_a_feature_without_known_derivatives_has_no_rank():
    rows = RNG.normal(size=(30, 3))
    estimator = PreserveDistances(loss="squared", random_state=0).fit(rows)
    found = feature_sensitivity(estimator, rows, [0, 1])
    found.importance[:] = np.nan
    with pytest.raises(ValueError, match="derivatives of these items are not known"):
        found.top()
