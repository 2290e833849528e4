"""Inputs that break other spectral embeddings."""

import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap
from sklearn.manifold._locally_linear import barycenter_weights
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph
from sklearn.pipeline import make_pipeline

from skmde import QuadraticMDE
from skmde.exceptions import ConvergenceWarning

OF_GRAPHS = ["laplacian", "normalized_laplacian", "lle"]
OF_GRAM = ["pca", "kernel_pca", "classical_mds", "isomap"]
ALL = OF_GRAPHS + OF_GRAM


@pytest.fixture(name="X")
def small_table():
    return np.random.default_rng(0).standard_normal((90, 4)) * [4, 3, 2, 1]


def blobs(sizes, apart=100.0):
    rng = np.random.default_rng(1)
    return np.concatenate(
        [apart * k + rng.standard_normal((size, 3)) for k, size in enumerate(sizes)]
    )


def fit_quietly(X, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return QuadraticMDE(random_state=0, **settings).fit(X)


@pytest.mark.parametrize("weights", ALL)
@pytest.mark.parametrize(("n", "m"), [(2, 1), (2, 2), (3, 2), (4, 2), (5, 4), (10, 9), (20, 2)])
def test_few_samples(weights, n, m):
    X = np.random.default_rng(n).standard_normal((n, 12))
    estimator = fit_quietly(X, weights=weights, n_components=m)
    assert np.isfinite(estimator.embedding_).all()
    assert np.isfinite(estimator.transform(X + 0.5)).all()
    np.testing.assert_array_equal(estimator.embedding_.shape, (n, m))


@pytest.mark.parametrize("weights", ALL)
def test_sizes_that_make_no_problem(weights):
    with pytest.raises(ValueError, match=r"1 sample"):
        QuadraticMDE(weights=weights).fit(np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"n_components=5 must be less"):
        QuadraticMDE(5, weights=weights).fit(np.eye(5))


@pytest.mark.parametrize("weights", [*OF_GRAPHS, "isomap"])
def test_too_many_neighbours_are_clamped_with_one_warning(weights, X):
    with pytest.warns(UserWarning, match="n_neighbors=500") as record:
        QuadraticMDE(weights=weights, n_neighbors=500).fit(X)
    # of a complete graph all eigenvalues are the same, which is another warning
    assert sum("n_neighbors" in str(warning.message) for warning in record) == 1


@pytest.mark.parametrize("weights", OF_GRAM)
@pytest.mark.parametrize("n", [20, 80])
def test_data_without_enough_directions(weights, n):
    line = np.linspace(0, 1, n)[:, None] * [[1.0, 2.0, -1.0]]
    with pytest.warns(UserWarning, match=r"Only 1 eigenvalues are usable.*n_components=2"):
        estimator = QuadraticMDE(weights=weights).fit(line)
    np.testing.assert_array_equal(estimator.embedding_[:, 1], 0)
    assert estimator.eigenvalues_[1] == 0
    assert (np.diff(estimator.embedding_[:, 0]) > 0).all() or (
        np.diff(estimator.embedding_[:, 0]) < 0
    ).all()
    same = np.full((n, 3), 0.1)
    with pytest.warns(UserWarning, match="Only 0 eigenvalues"):
        estimator = QuadraticMDE(weights=weights).fit(same)
    np.testing.assert_array_equal(estimator.embedding_, 0)
    assert estimator.distortion_ == 0
    assert np.isfinite(estimator.transform(same + 1)).all()


@pytest.mark.parametrize("weights", OF_GRAPHS)
@pytest.mark.parametrize("n", [20, 80])
def test_equal_rows_are_finite(weights, n):
    estimator = fit_quietly(np.ones((n, 3)), weights=weights)
    assert np.isfinite(estimator.embedding_).all()


@pytest.mark.parametrize("weights", OF_GRAPHS)
def test_parts_of_a_graph_are_told_apart(weights):
    X = blobs([60, 40, 30])
    with pytest.warns(UserWarning, match="3 connected components"):
        estimator = QuadraticMDE(4, weights=weights).fit(X)
    np.testing.assert_allclose(estimator.eigenvalues_[:2], 0)
    assert (estimator.eigenvalues_[2:] > 1e-9).all()
    within = np.split(estimator.embedding_[:, :2], [60, 100])
    for part in within:
        np.testing.assert_allclose(part, part[:1].repeat(len(part), axis=0), atol=1e-12)
    # the largest part against the others, then the other two
    coordinates = np.array([part[0] for part in within])
    assert coordinates[1, 0] == pytest.approx(coordinates[2, 0])
    assert coordinates[0, 1] == pytest.approx(0, abs=1e-12)
    assert len(np.unique(coordinates.round(6), axis=0)) == 3
    w = np.ones(130)
    if weights == "normalized_laplacian":
        w = np.asarray(estimator.graph_.sum(axis=1)).ravel()
        w = w / w.mean()
    Y = estimator.embedding_
    np.testing.assert_allclose((Y.T * w) @ Y / 130, np.eye(4), atol=1e-6)


def test_more_parts_than_components():
    with pytest.warns(UserWarning, match="at least 3 connected components"):
        estimator = QuadraticMDE(2).fit(blobs([30, 30, 30, 30]))
    assert estimator.distortion_ == 0
    np.testing.assert_allclose(
        estimator.embedding_.T @ estimator.embedding_ / 120, np.eye(2), atol=1e-9
    )


def near_only(a, b):
    """The distance, infinite from 20 on: rows farther apart are no neighbours."""
    distance = np.sqrt(((a - b) ** 2).sum())
    return distance if distance < 20 else np.inf


@pytest.mark.parametrize("weights", OF_GRAPHS)
@pytest.mark.parametrize("lonely", [0, -1])
def test_a_training_row_without_neighbours_has_a_place(weights, lonely, X):
    X[lonely] += 500
    with pytest.warns(UserWarning, match="2 connected components"):
        estimator = QuadraticMDE(weights=weights, metric=near_only, n_neighbors=10).fit(X)
    graph, Y = sp.csr_array(estimator.graph_), estimator.embedding_
    assert graph[[lonely]].nnz == 0
    assert graph[:, [lonely]].nnz == 0
    assert np.isfinite(Y).all()
    assert np.argmax(np.abs(Y[:, 0])) == lonely % len(X)


@pytest.mark.parametrize("weights", OF_GRAPHS)
def test_an_unseen_row_without_neighbours_is_at_the_mean(weights, X):
    estimator = QuadraticMDE(weights=weights, metric=near_only, n_neighbors=10).fit(X)
    coordinates = estimator.transform(np.concatenate([X[:1] + 500, X[:1] + 0.1]))
    np.testing.assert_array_equal(coordinates[0], 0)
    assert np.abs(coordinates[1]).max() > 0.1


def test_rows_with_few_neighbours_are_reconstructed_from_these(X):
    X[:3] = [[500, 0, 0, 0], [503, 0, 0, 0], [500, 4, 0, 0]]
    estimator = fit_quietly(X, weights="lle", metric=near_only, n_neighbors=10)
    part = sp.csr_array(estimator.graph_)[:3].toarray()
    assert not part[:, 3:].any()
    # each from the two others, with scikit-learn's weights; L = (I - W)^T (I - W)
    others = np.array([[1, 2], [0, 2], [0, 1]])
    residual = np.eye(3)
    np.put_along_axis(residual, others, -barycenter_weights(X[:3], X[:3], others), axis=1)
    L = residual.T @ residual
    np.testing.assert_allclose(part[:, :3], np.diag(np.diag(L)) - L, rtol=1e-9)
    unseen = np.array([[501.0, 1, 0, 0]])
    w = barycenter_weights(unseen, X[:3], np.array([[0, 1, 2]]))
    np.testing.assert_allclose(
        estimator.transform(unseen), w @ estimator.embedding_[:3], rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("weights", OF_GRAPHS)
def test_without_any_neighbours_there_is_nothing_to_embed_by(weights, X):
    with pytest.raises(ValueError, match="All pairs of samples have weight 0"):
        fit_quietly(1e3 * X, weights=weights, metric=lambda a, b: np.inf)


def test_unchecked_missing_values_do_not_end_the_process(X):
    X[3, 1] = np.nan
    with (
        config_context(assume_finite=True),
        pytest.raises(ValueError, match="All pairs of samples have weight 0"),
    ):
        fit_quietly(X, weights="lle")


def test_paths_between_parts():
    X = blobs([60, 40])
    with pytest.warns(UserWarning, match="2 connected components; every two are joined"):
        joined = QuadraticMDE(weights="isomap", n_neighbors=15, tol=1e-9).fit(X)
    with pytest.warns(UserWarning, match="connected components"):
        peer = Isomap(n_neighbors=15, eigen_solver="dense").fit_transform(X)
    scale = (joined.embedding_ * peer).sum(axis=0) / (joined.embedding_**2).sum(axis=0)
    np.testing.assert_allclose(joined.embedding_ * scale, peer, atol=1e-5 * np.abs(peer).max())
    graph = kneighbors_graph(X, 15, mode="distance")
    with pytest.warns(UserWarning, match="2400 pairs of samples have no distance"):
        given = QuadraticMDE(weights="isomap", metric="precomputed").fit(graph)
    for estimator in (joined, given):
        Y = estimator.embedding_[:, 0]
        assert len(np.unique(estimator.embedding_, axis=0)) == 100
        assert Y[:60].max() < Y[60:].min() or Y[:60].min() > Y[60:].max()


def test_repeated_eigenvalues():
    ring = sp.csr_array(np.roll(np.eye(60), 1, axis=0) + np.roll(np.eye(60), -1, axis=0))
    with pytest.warns(UserWarning, match="Eigenvalues 1 and 2 are equal"):
        one = QuadraticMDE(1, weights="precomputed").fit(ring)
    assert one.eigenvalues_[0] == pytest.approx(2 - 2 * np.cos(2 * np.pi / 60))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = QuadraticMDE(2, weights="precomputed").fit(ring)
    # a circle of radius sqrt(2)
    np.testing.assert_allclose((both.embedding_**2).sum(axis=1), 2, atol=1e-5)


def test_a_vertex_without_edges_has_a_place():
    W = np.triu(np.random.default_rng(2).random((30, 30)), 1)
    W[:, 7] = W[7] = 0
    with pytest.warns(UserWarning, match="2 connected components"):
        estimator = QuadraticMDE(2, weights="precomputed").fit(W + W.T)
    assert np.isfinite(estimator.embedding_).all()
    assert np.argmax(np.abs(estimator.embedding_[:, 0])) == 7


@pytest.mark.parametrize("lonely", [False, True])
@pytest.mark.parametrize("solver", ["auto", "dense", "lanczos", "lobpcg", "lbfgs"])
@pytest.mark.parametrize("n", [20, 120])
def test_the_unit_of_precomputed_weights_does_not_matter(n, solver, lonely):
    points = np.random.default_rng(0).random((n, 2)) * [1.0, 1.7]
    W = np.exp(-10 * ((points[:, None] - points) ** 2).sum(axis=-1))
    np.fill_diagonal(W, 0)
    if lonely:
        W[5] = W[:, 5] = 0

    def fitted(factor):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The graph has")
            return QuadraticMDE(weights="precomputed", solver=solver).fit(factor * W)

    plain = fitted(1.0)
    assert plain.distortion_ > 0
    for factor in (1e-30, 1e-18, 1e-12, 1e12, 1e30):
        other = fitted(factor)
        np.testing.assert_allclose(other.embedding_, plain.embedding_, atol=1e-5)
        assert other.distortion_ / factor == pytest.approx(plain.distortion_, rel=1e-9)


@pytest.mark.parametrize("weights", ALL)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_values_are_refused(weights, value, X):
    estimator = QuadraticMDE(weights=weights).fit(X)
    X = X.copy()
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        QuadraticMDE(weights=weights).fit(X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        estimator.transform(X)


@pytest.mark.parametrize("weights", ALL)
def test_place_and_size_of_the_data_do_not_matter(weights, X):
    expected = fit_quietly(X, weights=weights).embedding_
    for moved in (X * 1e25, X * 1e-25, X * 1e98, X + 1e8):
        found = fit_quietly(moved, weights=weights).embedding_
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("weights", ALL)
def test_kinds_of_input(weights):
    X = np.random.default_rng(3).integers(0, 255, (80, 5))
    expected = fit_quietly(X.astype(float), weights=weights).embedding_
    for given in (X.astype(np.uint8), pd.DataFrame(X), X.tolist(), torch.from_numpy(X)):
        np.testing.assert_allclose(
            fit_quietly(given, weights=weights).embedding_, expected, atol=1e-5
        )
    Z = X * (np.random.default_rng(4).random(X.shape) < 0.7)
    expected = fit_quietly(Z.astype(float), weights=weights).embedding_
    for kind in (sp.coo_matrix, sp.csr_array, sp.csc_array):
        found = fit_quietly(kind(Z.astype(float)), weights=weights)
        np.testing.assert_allclose(found.embedding_, expected, atol=1e-4)
        np.testing.assert_allclose(
            found.transform(kind(Z[:5].astype(float))), expected[:5], atol=1e-4
        )
    with pytest.raises(ValueError, match=r"could not convert string|bytes/strings"):
        QuadraticMDE(weights=weights).fit([["a", "b"], ["c", "d"], ["e", "f"]])


@pytest.mark.parametrize("weights", ["laplacian", "normalized_laplacian", "isomap"])
def test_rows_distances_and_graphs_are_the_same_problem(weights, X):
    D = np.linalg.norm(X[:, None] - X, axis=2)
    graph = kneighbors_graph(X, 10, mode="distance")
    order = np.argsort(D + 1e9 * np.eye(90), axis=1)[:, :12]
    near = np.take_along_axis(D, order, axis=1)
    order[:, 10:] = -1  # masked
    expected = fit_quietly(X, weights=weights, n_neighbors=10)
    for given in (D, graph, (order, near)):
        k = None if given is graph else 10
        found = fit_quietly(given, weights=weights, n_neighbors=k, metric="precomputed")
        np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-5)
    unseen = np.random.default_rng(5).standard_normal((6, 4))
    to = np.linalg.norm(unseen[:, None] - X, axis=2)
    found = fit_quietly(D, weights=weights, n_neighbors=10, metric="precomputed")
    np.testing.assert_allclose(found.transform(to), expected.transform(unseen), atol=1e-5)


def test_given_distances_that_are_none():
    rng = np.random.default_rng(6)
    D = rng.random((30, 30))
    with pytest.warns(UserWarning, match="not symmetric"):
        QuadraticMDE(weights="classical_mds", metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="must not be negative"):
        QuadraticMDE(weights="classical_mds", metric="precomputed").fit(-D)
    D = D + D.T
    D[0, 5] = D[5, 0] = np.inf
    kept = D.copy()
    estimator = QuadraticMDE(weights="classical_mds", metric="precomputed").fit(D)
    assert np.isfinite(estimator.embedding_).all()
    np.testing.assert_array_equal(D, kept)
    with pytest.warns(UserWarning, match="weights are not symmetric"):
        QuadraticMDE(weights="precomputed").fit(rng.random((10, 10)))
    with pytest.warns(UserWarning, match="values of the kernel are not symmetric"):
        QuadraticMDE(weights="kernel_pca", kernel="precomputed").fit(rng.random((10, 10)))


@pytest.mark.parametrize("weights", ["laplacian", "lle", "classical_mds", "isomap"])
def test_cosine_with_zero_rows(weights, X):
    X[0] = X[5] = 0
    X[7] = -X[8]
    estimator = fit_quietly(X, weights=weights, metric="cosine")
    assert np.isfinite(estimator.embedding_).all()
    assert np.isfinite(estimator.transform(np.zeros((1, 4)))).all()


def test_jaccard_with_zero_rows():
    X = np.random.default_rng(7).random((60, 8)) < 0.2
    X[:3] = False
    for weights in ("laplacian", "isomap"):
        estimator = fit_quietly(X, weights=weights, metric="jaccard")
        assert np.isfinite(estimator.embedding_).all()


@pytest.mark.parametrize("weights", ALL)
def test_a_row_has_its_place_whatever_the_batch(weights, X):
    estimator = QuadraticMDE(weights=weights).fit(X)
    rows = np.random.default_rng(8).standard_normal((20, 4))
    rows[4] *= 10
    rows[5:8] = X[10:13]
    together = estimator.transform(rows)
    assert np.isfinite(together).all()
    order = np.random.default_rng(9).permutation(20)
    np.testing.assert_allclose(estimator.transform(rows[order]), together[order], atol=1e-7)
    one_by_one = np.concatenate([estimator.transform(row[None]) for row in rows])
    np.testing.assert_allclose(one_by_one, together, atol=1e-7)
    np.testing.assert_allclose(together[5:8], estimator.embedding_[10:13], atol=1e-7)
    many = np.tile(rows, (10, 1))
    np.testing.assert_allclose(estimator.transform(many), np.tile(together, (10, 1)), atol=1e-7)


@pytest.mark.parametrize("weights", ALL)
def test_transform_checks_its_input(weights, X):
    with pytest.raises(NotFittedError):
        QuadraticMDE(weights=weights).transform(X)
    with pytest.raises(ValueError, match="3 features"):
        QuadraticMDE(weights=weights).fit(X).transform(X[:, :3])


@pytest.mark.parametrize("weights", ALL)
def test_same_seed_same_bits_and_no_global_state(weights, X):
    before = np.random.get_state()[1].copy(), torch.get_rng_state()
    first = fit_quietly(X, weights=weights).embedding_
    np.testing.assert_array_equal(first, fit_quietly(X, weights=weights).embedding_)
    np.testing.assert_array_equal(first, fit_quietly(X, weights=weights, n_jobs=1).embedding_)
    np.testing.assert_array_equal(first, fit_quietly(X, weights=weights, n_jobs=2).embedding_)
    np.testing.assert_array_equal(before[0], np.random.get_state()[1])
    assert torch.equal(before[1], torch.get_rng_state())


@pytest.mark.parametrize("weights", ALL)
def test_pickled_estimators_are_small_and_place_the_same(weights, X):
    estimator = QuadraticMDE(weights=weights).fit(X)
    text = pickle.dumps(estimator)
    if weights not in ("isomap", "lle"):  # which keep all path lengths, and a graph of 90 by 90
        assert len(text) < 40_000
    rows = X[:5] + 0.1
    np.testing.assert_array_equal(pickle.loads(text).transform(rows), estimator.transform(rows))


def test_wrong_combinations_are_refused(X):
    D = np.abs(X @ X.T)
    for weights in ("pca", "kernel_pca", "lle", "mvu", "precomputed"):
        with pytest.raises(ValueError, match=f"metric='precomputed' cannot be combined.*{weights}"):
            QuadraticMDE(weights=weights, metric="precomputed").fit(D)
    with pytest.raises(ValueError, match=r"kernel='precomputed'.*square.*\(90, 4\)"):
        QuadraticMDE(weights="kernel_pca", kernel="precomputed").fit(X)
    with pytest.raises(ValueError, match=r"square.*\(90, 4\)"):
        QuadraticMDE(weights="precomputed").fit(X)
    with pytest.raises(ValueError, match="All pairs of samples have weight 0"):
        QuadraticMDE(weights="precomputed").fit(np.eye(6))
    with pytest.raises(ValueError, match="values that are NaN or infinite"):
        QuadraticMDE(weights="kernel_pca", kernel="poly", degree=4).fit(X * 1e98)
    with pytest.raises(ValueError, match="The 'weights' parameter"):
        QuadraticMDE(weights="umap").fit(X)


def test_too_few_iterations_are_reported(X):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        QuadraticMDE(max_iter=1).fit(X)


def test_matrices_that_would_not_fit_in_memory_are_refused():
    X = np.random.default_rng(0).standard_normal((400, 4))
    for weights in ("kernel_pca", "classical_mds", "isomap"):
        metric = "manhattan" if weights == "classical_mds" else "euclidean"
        estimator = QuadraticMDE(weights=weights, metric=metric, memory_limit="17 MB")
        with pytest.raises(ValueError, match=r"of all pairs of 400 samples.* limit is 17 MB"):
            estimator.fit(X)
        assert not estimator.plan(X).fits
    for weights in ("pca", "classical_mds"):
        QuadraticMDE(weights=weights, memory_limit="17 MB").fit(X)


def test_in_a_grid_search(X):
    y = (X[:, 0] > 0).astype(int)
    for given, settings in [
        (X, {"weights": "pca"}),
        (np.linalg.norm(X[:, None] - X, axis=2), {"metric": "precomputed"}),
        (X @ X.T, {"weights": "kernel_pca", "kernel": "precomputed"}),
    ]:
        pipe = make_pipeline(QuadraticMDE(random_state=0, **settings), KNeighborsClassifier())
        search = GridSearchCV(pipe, {"quadraticmde__n_components": [1, 2]}, cv=3, n_jobs=1)
        assert search.fit(given, y).best_score_ > 0.8


@pytest.mark.parametrize("weights", ALL)
def test_rows_that_the_caller_writes_over_do_not_count(weights, X):
    rows = X.copy()
    estimator = fit_quietly(rows, weights=weights)
    expected = estimator.transform(X[:5] + 0.1)
    rows[:] = 0
    np.testing.assert_array_equal(estimator.transform(X[:5] + 0.1), expected)


@pytest.mark.parametrize("size", [1e-90, 1e-25, 1e-5, 1e25, 1e90])
@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_kernels_without_a_scale_do_not_see_that_of_the_data(kernel, size, X):
    for kind in (np.asarray, sp.csr_array):
        expected = fit_quietly(kind(X), weights="kernel_pca", kernel=kernel)
        found = fit_quietly(kind(size * X), weights="kernel_pca", kernel=kernel)
        np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-6)
        unseen = kind(X[:5] + 0.1), kind(size * (X[:5] + 0.1))
        np.testing.assert_allclose(
            found.transform(unseen[1]), expected.transform(unseen[0]), atol=1e-6
        )


def test_components_of_sparse_rows_far_from_the_origin(X, monkeypatch):
    far = X + 1e8
    expected = fit_quietly(far, weights="pca")
    found = fit_quietly(sp.coo_array(far), weights="pca")
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-6)
    np.testing.assert_allclose(
        found.transform(sp.csr_array(far[:5])), expected.transform(far[:5]), atol=1e-6
    )
    # too many to be dense, of which rounding would leave noise
    monkeypatch.setattr("skmde.estimators.spectral.principal.few_cells", lambda X: False)
    with pytest.warns(UserWarning, match="Only 0 eigenvalues are usable"):
        found = QuadraticMDE(weights="pca").fit(sp.csr_array(far))
    np.testing.assert_array_equal(found.embedding_, 0)
    near = fit_quietly(sp.csr_array(X), weights="pca")
    np.testing.assert_allclose(near.embedding_, fit_quietly(X, weights="pca").embedding_, atol=1e-6)


def test_kernels_are_named(X):
    with pytest.raises(ValueError, match=r"The 'kernel' parameter .*'rbf'.*Got 'gaussian'"):
        QuadraticMDE(weights="kernel_pca", kernel="gaussian").fit(X)
    with pytest.raises(ValueError, match=r"kernel must be a name.*got the type"):
        QuadraticMDE(weights="kernel_pca", kernel=int).fit(X)


@pytest.mark.parametrize("stored", [7.0, np.inf])
@pytest.mark.parametrize("weights", ["classical_mds", "isomap", "laplacian"])
def test_what_is_on_the_diagonal_of_distances_does_not_count(weights, stored, X):
    D = np.linalg.norm(X[:, None] - X, axis=2)
    settings = {"weights": weights, "metric": "precomputed"}
    expected = fit_quietly(D, **settings).embedding_
    D[[0, 5], [0, 5]] = stored
    np.testing.assert_array_equal(fit_quietly(D, **settings).embedding_, expected)


def test_a_networkx_graph_is_refused_with_advice():
    graph = nx.karate_club_graph()
    for settings in ({"weights": "precomputed"}, {"metric": "precomputed"}):
        with pytest.raises(ValueError, match=r"networkx graph.*to_scipy_sparse_array"):
            QuadraticMDE(**settings).fit(graph)
    fit_quietly(nx.to_scipy_sparse_array(graph), weights="precomputed")


@pytest.mark.parametrize(("largest", "lost"), [(1e9, False), (1e15, True), (1e20, True)])
def test_weights_beyond_the_precision_of_float64_are_told(largest, lost):
    """One pair of a path is far heavier; the others decide the embedding."""
    weights = np.ones(79)
    weights[3] = largest
    path = sp.diags_array([weights, weights], offsets=[1, -1])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        QuadraticMDE(weights="precomputed").fit(path)
    assert any("lost in rounding errors" in str(w.message) for w in told) == lost
    if not lost:
        assert not told
