"""QuadraticMDE against scikit-learn, closed forms and dense eigendecompositions."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.manifold
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding

from skmde import QuadraticMDE

SOLVERS = ["auto", "dense", "lanczos", "lobpcg", "lbfgs"]


@pytest.fixture(scope="module")
def digits():
    X, _ = load_digits(return_X_y=True)
    X = X[:400]
    # no ties among neighbours
    return X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)


def check_equal(found, expected, rtol=1e-5):
    """Equal columns, up to sign and scale."""
    factors = (found * expected).sum(axis=0) / (found**2).sum(axis=0)
    np.testing.assert_allclose(
        found * factors, expected, atol=rtol * np.abs(expected).max(), rtol=0
    )


def check_standardized(X):
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(X.shape[1]), atol=1e-6)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-7)


@pytest.mark.parametrize("shape", [(60, 5), (30, 200)], ids=["tall", "wide"])
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_scaling_of_euclidean_rows_is_that_of_their_distances(shape, unit):
    rng = np.random.default_rng(0)
    X, unseen = (
        unit * (3 + rng.standard_normal(shape)),
        unit * (3 + rng.standard_normal((7, shape[1]))),
    )
    of_rows = QuadraticMDE(3, weights="classical_mds", tol=1e-10).fit(X)
    of_distances = QuadraticMDE(3, weights="classical_mds", metric="precomputed", tol=1e-10)
    of_distances.fit(cdist(X, X))
    for name in ("embedding_", "eigenvalues_", "dual_", "distortion_", "n_pairs_"):
        found, expected = getattr(of_rows, name), getattr(of_distances, name)
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    placed = of_distances.transform(cdist(unseen, X))
    np.testing.assert_allclose(of_rows.transform(unseen), placed, atol=1e-6 * np.abs(placed).max())
    np.testing.assert_array_equal(of_rows.transform(X[4:9]), of_rows.embedding_[4:9])


def by_scikit_learn(weights, X, m):
    if weights == "pca":
        return PCA(m, whiten=True).fit_transform(X)
    if weights == "kernel_pca":
        return KernelPCA(m, kernel="rbf", gamma=1e-3, eigen_solver="dense").fit_transform(X)
    if weights == "lle":
        peer = LocallyLinearEmbedding(n_neighbors=15, n_components=m, eigen_solver="dense")
        return peer.fit_transform(X)
    if weights == "classical_mds":
        if not hasattr(sklearn.manifold, "ClassicalMDS"):
            pytest.skip("this scikit-learn has no ClassicalMDS")
        return sklearn.manifold.ClassicalMDS(m).fit_transform(X)
    if weights == "isomap":
        return Isomap(n_neighbors=15, n_components=m, eigen_solver="dense").fit_transform(X)
    graph = QuadraticMDE().fit(X).graph_.toarray().astype(np.float64)
    return SpectralEmbedding(m, affinity="precomputed").fit_transform(graph)


EQUALITIES = ["pca", "kernel_pca", "normalized_laplacian", "lle", "classical_mds", "isomap"]


@pytest.mark.parametrize("weights", EQUALITIES)
def test_equals_scikit_learn(weights, digits):
    estimator = QuadraticMDE(3, weights=weights, kernel="rbf", gamma=1e-3, tol=1e-9)
    check_equal(estimator.fit_transform(digits), by_scikit_learn(weights, digits, 3))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "weights", ["laplacian", "normalized_laplacian", "pca", "kernel_pca", "isomap"]
)
def test_every_solver_finds_the_optimum(weights, solver, digits):
    settings = {"weights": weights, "kernel": "rbf", "gamma": 1e-3}
    exact = QuadraticMDE(2, solver="dense", **settings).fit(digits)
    found = QuadraticMDE(2, solver=solver, **settings).fit(digits)
    assert found.distortion_ == pytest.approx(exact.distortion_, rel=1e-6)
    np.testing.assert_allclose(found.embedding_, exact.embedding_, atol=1e-4)


def test_lle_on_a_manifold_reaches_the_optimum_with_every_direct_solver():
    X, _ = make_swiss_roll(300, random_state=0)
    exact = QuadraticMDE(weights="lle", solver="dense", n_neighbors=10).fit(X)
    for solver in ("auto", "lanczos"):
        found = QuadraticMDE(weights="lle", solver=solver, n_neighbors=10).fit(X)
        np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=1e-3)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.filterwarnings("error")
def test_lle_of_uniform_rows_converges_without_a_warning(seed):
    X = np.random.default_rng(seed).random((190, 3))
    found, exact = (QuadraticMDE(weights="lle", solver=s).fit(X) for s in ("auto", "dense"))
    assert found.n_iter_ <= 10
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(found.embedding_, exact.embedding_, atol=1e-6)


def test_distortion_of_graphs_is_the_average_over_pairs(digits):
    rng = np.random.default_rng(1)
    W = rng.standard_normal((60, 60))
    W = W + W.T
    for estimator, X in [
        (QuadraticMDE(2), digits),
        (QuadraticMDE(2, weights="lle"), digits),
        (QuadraticMDE(2, weights="precomputed"), W),
        (QuadraticMDE(2, weights="normalized_laplacian"), digits),
    ]:
        estimator.fit(X)
        pairs = sp.triu(estimator.graph_.astype(np.float64), 1).tocoo()
        w = pairs.data
        if estimator.weights == "normalized_laplacian":
            w = w / np.mean(estimator.graph_.sum(axis=1))
        lengths = ((estimator.embedding_[pairs.row] - estimator.embedding_[pairs.col]) ** 2).sum(1)
        assert estimator.n_pairs_ == len(w)
        assert estimator.distortion_ == pytest.approx((w * lengths).mean(), rel=1e-5)


def test_distortion_of_principal_components_is_the_average_over_all_pairs(digits):
    X = digits[:50]
    estimator = QuadraticMDE(2, weights="pca").fit(X)
    Y = X - X.mean(axis=0)
    i, j = np.triu_indices(50, 1)
    lengths = ((estimator.embedding_[i] - estimator.embedding_[j]) ** 2).sum(axis=1)
    assert estimator.n_pairs_ == len(i)
    assert estimator.distortion_ == pytest.approx(((Y @ Y.T)[i, j] * lengths).mean(), rel=1e-8)


@pytest.mark.parametrize("weights", EQUALITIES)
def test_multiplier_and_eigenvalues(weights, digits):
    estimator = QuadraticMDE(2, weights=weights).fit(digits)
    n = len(digits)
    assert (np.diff(estimator.eigenvalues_) >= 0).all()
    np.testing.assert_allclose(
        estimator.dual_, n / estimator.n_pairs_ * np.diag(estimator.eigenvalues_)
    )
    assert estimator.distortion_ == pytest.approx(np.trace(estimator.dual_))
    if weights != "normalized_laplacian":
        check_standardized(estimator.embedding_)


def test_normalized_laplacian_is_standardized_in_the_degrees(digits):
    estimator = QuadraticMDE(2, weights="normalized_laplacian").fit(digits)
    degrees = np.asarray(estimator.graph_.sum(axis=1), np.float64).ravel()
    degrees /= degrees.mean()
    X = estimator.embedding_
    np.testing.assert_allclose((X.T * degrees) @ X / len(X), np.eye(2), atol=1e-6)
    np.testing.assert_allclose(degrees @ X, 0, atol=1e-6)


def test_negative_weights_reach_the_global_optimum():
    rng = np.random.default_rng(2)
    W = rng.standard_normal((120, 120))
    W = (W + W.T) * (rng.random((120, 120)) < 0.2)
    W = np.triu(W, 1)
    W += W.T
    L = np.diag(W.sum(axis=1)) - W
    values = np.linalg.eigvalsh(L)
    for X in (W, sp.csr_array(W), sp.coo_matrix(W)):
        estimator = QuadraticMDE(3, weights="precomputed").fit(X)
        np.testing.assert_allclose(estimator.eigenvalues_, values[:3], rtol=1e-7)
        check_standardized(estimator.embedding_)
    # the constant vector lies within those wanted: of all but six vectors
    many = QuadraticMDE(114, weights="precomputed").fit(W)
    at = np.argmin(np.abs(values))
    np.testing.assert_allclose(many.eigenvalues_, np.delete(values, at)[:114], rtol=1e-7)


def test_weights_on_the_diagonal_do_not_count():
    W = np.array([[5.0, 1, 0, 0], [1, -3, 1, 0], [0, 1, 2, 1], [0, 0, 1, 0]])
    there = QuadraticMDE(1, weights="precomputed").fit_transform(W)
    np.fill_diagonal(W, 0)
    np.testing.assert_array_equal(there, QuadraticMDE(1, weights="precomputed").fit_transform(W))
    # a path of four: its first vector beyond the constant one is a cosine
    expected = np.sqrt(2) * np.cos(np.pi * (np.arange(4) + 0.5) / 4)
    np.testing.assert_allclose(np.abs(there[:, 0]), np.abs(expected), atol=1e-12)


def test_classical_scaling_of_euclidean_distances_is_pca(digits):
    scaling = QuadraticMDE(2, weights="classical_mds", tol=1e-10).fit(digits)
    components = QuadraticMDE(2, weights="pca", tol=1e-10).fit(digits)
    np.testing.assert_allclose(scaling.embedding_, components.embedding_, atol=1e-6)
    np.testing.assert_allclose(scaling.eigenvalues_, components.eigenvalues_, rtol=1e-8)
    rows = digits[:20] + 0.1
    np.testing.assert_allclose(scaling.transform(rows), components.transform(rows), atol=1e-6)


@pytest.mark.parametrize("shape", [(40, 300), (300, 40), (120, 120)])
@pytest.mark.parametrize("sparse", [False, True])
def test_principal_components_of_any_shape(shape, sparse):
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape) * np.linspace(3, 1, shape[1]) * (rng.random(shape) < 0.5)
    peer = PCA(3, whiten=True, svd_solver="full").fit(X)
    estimator = QuadraticMDE(3, weights="pca", tol=1e-10)
    given = sp.csr_array(X) if sparse else X
    check_equal(estimator.fit_transform(given), peer.transform(X))
    np.testing.assert_allclose(
        estimator.eigenvalues_, -(shape[0] - 1) * peer.explained_variance_, rtol=1e-8
    )
    rows = rng.standard_normal((7, shape[1]))
    factor = np.sqrt(shape[0] / (shape[0] - 1))
    np.testing.assert_allclose(
        np.abs(estimator.transform(rows)), np.abs(factor * peer.transform(rows)), atol=1e-5
    )


@pytest.mark.parametrize("shape", [(300, 60), (60, 300)])
@pytest.mark.parametrize("sparse", [False, True])
def test_principal_components_without_a_matrix_of_samples_or_features(shape, sparse, monkeypatch):
    from skmde.estimators.spectral import principal

    X = np.random.default_rng(4).standard_normal(shape) * np.linspace(3, 1, shape[1])
    if sparse:
        X = sp.csr_array(X)
        monkeypatch.setattr(principal, "few_cells", lambda X: False)
    expected = QuadraticMDE(2, weights="pca", tol=1e-10).fit(X)
    monkeypatch.setattr(principal, "_FEW", 10)
    found = QuadraticMDE(2, weights="pca", tol=1e-10).fit(X)
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-7)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-10)


@pytest.mark.parametrize("shape", [(200, 700), (700, 200)])
@pytest.mark.parametrize("sparse", [False, True])
def test_an_iteration_does_not_read_the_rows(shape, sparse, monkeypatch):
    from skmde.estimators.spectral import principal

    reads = []

    def apply(self, X, dtype, original=principal.Scaling.apply):
        reads.append(X.shape)
        return original(self, X, dtype)

    X = np.random.default_rng(4).standard_normal(shape)
    if sparse:
        X = sp.csr_array(X)
        monkeypatch.setattr(principal, "few_cells", lambda X: False)
    monkeypatch.setattr(principal.Scaling, "apply", apply)
    estimator = QuadraticMDE(2, weights="pca").fit(X)
    rows_read = sum(n for n, _ in reads)
    assert estimator.n_iter_ > 20
    assert rows_read <= 5 * shape[0]


def test_principal_components_of_large_float32_data_are_those_of_float64(monkeypatch):
    from skmde.estimators.spectral import principal

    monkeypatch.setattr(principal, "_LARGE", 1000)
    for shape in ((80, 300), (300, 80)):
        X = np.random.default_rng(5).standard_normal(shape) * np.linspace(3, 1, shape[1]) + 100
        X = X.astype(np.float32)
        expected = QuadraticMDE(2, weights="pca").fit(X.astype(np.float64))
        found = QuadraticMDE(2, weights="pca").fit(X)
        np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-4)
        np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-6)


@pytest.mark.parametrize("weights", ["kernel_pca", "isomap"])
def test_unseen_rows_go_where_scikit_learn_puts_them(weights, digits):
    X, rows = digits[:300], digits[300:]
    if weights == "isomap":
        peer = Isomap(n_neighbors=15, n_components=2, eigen_solver="dense").fit(X)
    else:
        peer = KernelPCA(2, kernel="poly", gamma=1e-3, degree=2, eigen_solver="dense").fit(X)
    estimator = QuadraticMDE(2, weights=weights, kernel="poly", gamma=1e-3, degree=2, tol=1e-9)
    scale = estimator.fit_transform(X) / peer.transform(X)
    np.testing.assert_allclose(scale, np.broadcast_to(scale[0], scale.shape), rtol=1e-4)
    check_equal(estimator.transform(rows), scale[0] * peer.transform(rows))


@pytest.mark.parametrize("weights", ["laplacian", "normalized_laplacian"])
def test_unseen_rows_are_weighted_means_of_their_neighbours(weights):
    X = np.random.default_rng(5).standard_normal((80, 3))
    estimator = QuadraticMDE(2, weights=weights, n_neighbors=4).fit(X)
    row = np.array([0.1, 0.2, -0.1])
    distances = np.linalg.norm(X - row, axis=1)
    near = np.argsort(distances)[:4]
    between = np.linalg.norm(X[:, None] - X, axis=2)
    w = 1.0 + (distances[near] <= np.sort(between[near], axis=1)[:, 4])
    expected = w @ estimator.embedding_[near] / w.sum()
    np.testing.assert_allclose(estimator.transform(row[None])[0], expected, atol=1e-12)


def test_unseen_rows_of_lle_are_reconstructed():
    # a plane in space, three neighbours: the weights are barycentric coordinates
    rng = np.random.default_rng(6)
    X = np.c_[rng.random((60, 2)), np.zeros(60)]
    estimator = QuadraticMDE(2, weights="lle", n_neighbors=3).fit(X)
    row = np.array([[0.5, 0.5, 0.0]])
    near = np.argsort(np.linalg.norm(X - row, axis=1))[:3]
    G = (X[near] - row) @ (X[near] - row).T
    w = np.linalg.solve(G + 1e-3 * np.trace(G) * np.eye(3), np.ones(3))
    expected = (w / w.sum()) @ estimator.embedding_[near]
    np.testing.assert_allclose(estimator.transform(row)[0], expected, atol=1e-10)


def test_unseen_items_of_given_weights():
    rng = np.random.default_rng(7)
    W = np.triu(rng.random((70, 70)), 1)
    W += W.T
    estimator = QuadraticMDE(2, weights="precomputed").fit(W)
    rows = rng.random((3, 70)) - 0.2
    rows[2] = 0
    expected = (rows[:2] @ estimator.embedding_) / rows[:2].sum(axis=1, keepdims=True)
    found = estimator.transform(rows)
    np.testing.assert_allclose(found[:2], expected, atol=1e-10)
    np.testing.assert_array_equal(found[2], 0)  # the mean of all
    np.testing.assert_allclose(estimator.transform(sp.csr_array(rows)), found, atol=1e-12)
    with pytest.raises(ValueError, match=r"unseen item 1 .* sum to -1"):
        estimator.transform(np.vstack([rows[0], -np.eye(1, 70)]))


def test_precise_tolerances_and_many_samples_differ_in_the_default(digits):
    rough = QuadraticMDE(2, tol=1e-2, solver="lobpcg").fit(digits)
    fine = QuadraticMDE(2, solver="lobpcg").fit(digits)
    assert rough.n_iter_ < fine.n_iter_
    np.testing.assert_allclose(rough.eigenvalues_, fine.eigenvalues_, rtol=1e-2)


def test_a_plain_fit_warns_of_nothing(digits, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for weights in ("laplacian", *EQUALITIES):
            QuadraticMDE(weights=weights, random_state=0).fit(digits).transform(digits[:3] + 0.5)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("solver", ["lobpcg", "lbfgs"])
@pytest.mark.parametrize(
    "weights", ["laplacian", "normalized_laplacian", "pca", "kernel_pca", "lle", "isomap"]
)
def test_callbacks_see_the_iterates(digits, weights, solver):
    X, states = digits[:300], []
    params = {"weights": weights, "solver": solver, "max_iter": 100}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # LLE is not precise after 100 iterations
        watched = QuadraticMDE(callbacks=[states.append], **params).fit(X)
        plain = QuadraticMDE(**params).fit(X)
    np.testing.assert_array_equal(watched.embedding_, plain.embedding_)
    assert [state.iteration for state in states] == list(range(1, watched.n_iter_ + 1))
    last = states[-1]
    np.testing.assert_allclose(last.X, watched.embedding_, rtol=1e-12)
    assert last.value == pytest.approx(watched.distortion_, rel=1e-12)
    # better and better, and each by its own embedding
    assert states[0].value > last.value
    assert states[0].residual_norm > last.residual_norm
    assert not np.allclose(states[0].X, last.X)
    unseen = digits[300:310]
    np.testing.assert_array_equal(watched.transform(unseen), plain.transform(unseen))


@pytest.mark.parametrize("solver", ["lobpcg", "lbfgs"])
def test_the_state_of_an_iteration_is_that_of_its_embedding(digits, solver):
    def check(state):
        graph = QuadraticMDE().fit(X).graph_
        i, j = sp.triu(graph, 1).nonzero()
        weights = np.asarray(graph[i, j]).ravel()
        squares = ((state.X[i] - state.X[j]) ** 2).sum(axis=1)
        assert state.value == pytest.approx((weights * squares).sum() / len(i), rel=1e-6)
        L = sp.csgraph.laplacian(graph.astype(float))
        gradient = 2 / len(i) * (L @ state.X)
        gradient -= state.X @ (state.X.T @ gradient) / len(X)
        # of states of which the residual is not lost in rounding
        norm = np.linalg.norm(gradient)
        assert state.residual_norm == pytest.approx(norm, rel=1e-4, abs=1e-9)

    X = digits[:200]
    QuadraticMDE(solver=solver, callbacks=[check]).fit(X)


@pytest.mark.parametrize("solver", ["lobpcg", "lbfgs"])
def test_a_callback_ends_the_iteration(digits, solver):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = QuadraticMDE(solver=solver, callbacks=[lambda s: s.iteration == 3])
        estimator.fit(digits)
    assert estimator.n_iter_ == 3
    with pytest.raises(ValueError, match=r"list of functions.*got 3"):
        QuadraticMDE(callbacks=[3]).fit(digits)


def test_verbose_shows_the_iteration(digits, capsys):
    QuadraticMDE(verbose=1).fit(digits)
    assert "distortion" in capsys.readouterr().err
    QuadraticMDE(solver="dense", verbose=1).fit(digits)  # has no iteration
    said = capsys.readouterr().err
    assert "distortion" not in said and said.count("\n") == 2
    QuadraticMDE().fit(digits)
    assert capsys.readouterr().err == ""
