"""PreserveDistances: what it solves, what it reports, and what its parameters do."""

import logging
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
import torch
from hypothesis import given, settings, strategies as st
from labels import label
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn import config_context
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.manifold import MDS, Isomap
from sklearn.neighbors import (
    KNeighborsTransformer,
    RadiusNeighborsTransformer,
    kneighbors_graph,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils.fixes import parse_version

from skmde import (
    MDE,
    AbsoluteLoss,
    Anchored,
    Constraint,
    HuberLoss,
    Loss,
    PowerLoss,
    PreserveDistances,
    SquaredLoss,
    Standardized,
)
from skmde.functions.registry import NAMED_LOSSES, resolve_loss
from skmde.preprocessing.pairs.sampling import all_edges

RNG = np.random.default_rng(0)
X100 = RNG.standard_normal((100, 6))
UNSEEN = RNG.standard_normal((30, 6))
D100 = cdist(X100, X100)
PLANE = RNG.standard_normal((60, 2)) * [2.0, 1.0]
NEW = RNG.standard_normal((15, 2)) * [2.0, 1.0]
WEIGHTS = np.triu(RNG.uniform(0.5, 2.0, (100, 100)), 1)
WEIGHTS += WEIGHTS.T


def squared_function(delta, d):
    return (delta - d) ** 2


class SquaredModule(torch.nn.Module):
    def forward(self, delta, d):
        return (delta - d) ** 2


class RelativeLoss(Loss):
    """A loss of the user's own: only its value is given."""

    def __init__(self, power=2.0):
        self.power = power

    def value(self, delta, d):
        return ((delta - d).abs() / delta.clamp(min=1e-6)) ** self.power


EVERY_LOSS = [*NAMED_LOSSES, HuberLoss(0.5), PowerLoss(1.5), squared_function, SquaredModule()]
EVERY_LOSS += [RelativeLoss()]
every_loss = pytest.mark.parametrize("loss", EVERY_LOSS, ids=lambda loss: str(loss)[:25])


def fit(X=X100, pair_weights=None, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
        estimator = PreserveDistances(**{"random_state": 0, **params})
        return estimator.fit(X, pair_weights=pair_weights)


def stress(Y, edges, delta, weights=1.0):
    d = np.linalg.norm(Y[edges[:, 0]] - Y[edges[:, 1]], axis=1)
    return np.sqrt((weights * (d - delta) ** 2).sum() / (weights * d**2).sum())


def stored(D):
    """A sparse matrix that stores every entry, zeros included."""
    return sp.coo_array((D.ravel(), np.indices(D.shape).reshape(2, -1)), shape=D.shape)


@every_loss
@pytest.mark.parametrize(
    "params",
    [{}, {"constraint": "standardized"}, {"n_components": 3, "max_pairs": 800}, {"n_neighbors": 9}],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_fitted_attributes_describe_the_problem_and_its_solution(loss, params, weighted):
    weights = WEIGHTS if weighted else None
    estimator = fit(X100, weights, loss=loss, max_iter=40, **params)
    Y, edges, delta = estimator.embedding_, estimator.edges_, estimator.distances_
    scale = estimator.scale_
    m = params.get("n_components", 2)
    assert Y.shape == (100, m)
    n_pairs = min(params.get("max_pairs", 4950), 4950)
    assert edges.shape == (n_pairs, 2)
    assert delta.shape == (n_pairs,)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len(np.unique(edges, axis=0)) == n_pairs
    source = D100
    if "n_neighbors" in params:
        source = shortest_path(kneighbors_graph(X100, 9, mode="distance"), directed=False)
    np.testing.assert_allclose(delta, source[edges[:, 0], edges[:, 1]], rtol=1e-9)
    w = np.ones(n_pairs)
    if weighted:
        np.testing.assert_array_equal(estimator.pair_weights_, WEIGHTS[edges[:, 0], edges[:, 1]])
        w = estimator.pair_weights_
    else:
        assert estimator.pair_weights_ is None
    assert estimator.n_unreachable_ == 0

    d = torch.tensor(np.linalg.norm(Y[edges[:, 0]] - Y[edges[:, 1]], axis=1))
    values = resolve_loss(loss).value(torch.tensor(scale * delta), d).numpy()
    assert estimator.distortion_ == pytest.approx((w * values).mean(), rel=1e-4)
    assert estimator.stress_ == pytest.approx(stress(Y, edges, scale * delta, w), rel=1e-4)
    problem = MDE(
        100,
        m,
        edges,
        loss,
        estimator.constraint,
        deviations=scale * delta,
        weights=estimator.pair_weights_,
    )
    assert problem.average_distortion(Y) == pytest.approx(estimator.distortion_, rel=1e-4)
    assert problem.constraint.violation(torch.tensor(Y)) < 1e-4

    history = estimator.history_
    assert set(history) == {"value", "residual_norm", "step_size", "seconds"}
    assert {len(series) for series in history.values()} == {estimator.n_iter_ + 1}
    assert (np.diff(history["value"]) <= 1e-5 * abs(history["value"][:-1])).all()
    assert history["value"][-1] == pytest.approx(estimator.distortion_)
    assert history["residual_norm"][-1] == pytest.approx(estimator.residual_norm_)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("loss", NAMED_LOSSES)
def test_euclidean_configurations_are_recovered(loss, m):
    points = RNG.standard_normal((70, m)) * [3.0, 2.0, 1.0][:m]
    D = cdist(points, points)
    for X, params in (
        (points, {}),
        (
            np.c_[points, np.zeros((70, 4))] @ np.linalg.qr(RNG.standard_normal((m + 4, m + 4)))[0],
            {},
        ),
        (D, {"metric": "precomputed"}),
        (stored(D), {"metric": "precomputed"}),
        (D, {"metric": "graph"}),
        (points, {"n_neighbors": 69}),
        (points, {"init": "pca"}),
        (points, {"init": points + 5.0}),
        (points, {"max_pairs": 1500}),
        (points, {"metric": lambda a, b: np.linalg.norm(a - b)} if m == 2 else {}),
    ):
        estimator = fit(X, loss=loss, n_components=m, **params)
        assert estimator.stress_ < 1e-5, params
        np.testing.assert_allclose(pdist(estimator.embedding_), pdist(points), atol=1e-4)
        np.testing.assert_allclose(estimator.embedding_.mean(axis=0), 0.0, atol=1e-5)


def test_sparse_matrices_with_some_distances_are_enough():
    D = cdist(PLANE, PLANE)
    near = sp.csr_array(np.where(D < 3.0, D, 0.0))
    estimator = fit(near, metric="precomputed", loss="squared", max_iter=3000, tol=1e-9)
    assert len(estimator.edges_) == near.nnz // 2 < 1700
    assert estimator.stress_ < 1e-4
    np.testing.assert_allclose(pdist(estimator.embedding_), pdist(PLANE), atol=0.01)


def test_stress_is_lower_than_scikit_learns():
    options = {"n_init": 1, "random_state": 0}
    # older ones divide otherwise, or do not normalise the stress of metric MDS at all
    same_stress = parse_version(sklearn.__version__) >= parse_version("1.8")
    if same_stress:
        options |= {"init": "random", "normalized_stress": True}
    # with a tolerance of 0 scikit-learn takes the stress of the very embedding that it returns
    theirs = MDS(max_iter=300, eps=0, **options).fit(X100, init=RNG.standard_normal((100, 2)))
    ours = fit(init=theirs.embedding_, max_iter=0)
    pairs = all_edges(100)
    expected = stress(theirs.embedding_, pairs, D100[tuple(pairs.T)])
    assert ours.stress_ == pytest.approx(expected, rel=1e-6)
    if same_stress:
        assert ours.stress_ == pytest.approx(theirs.stress_, rel=1e-3)
    assert ours.distortion_ == pytest.approx(np.abs(pdist(theirs.embedding_) - pdist(X100)).mean())
    assert fit(loss="squared").stress_ <= expected * 1.001


def test_squared_loss_is_a_minimum():
    estimator = fit(loss="squared", max_iter=2000, tol=1e-7)
    Y = estimator.embedding_
    d = cdist(Y, Y)
    np.fill_diagonal(d, 1.0)
    slope = (d - D100) / d
    np.fill_diagonal(slope, 0.0)
    gradient = 2 * (slope.sum(axis=1)[:, None] * Y - slope @ Y) / 4950
    assert np.linalg.norm(gradient) < 1e-5 * np.linalg.norm(Y)


@pytest.mark.parametrize("max_pairs", [1, 17, 1000, 4949, 1e3])
@pytest.mark.parametrize(
    "params", [{}, {"metric": "manhattan"}, {"n_neighbors": 8}, {"metric": "precomputed"}]
)
def test_max_pairs_are_exactly_so_many_distinct_and_seeded(params, max_pairs):
    X = D100 if params.get("metric") == "precomputed" else X100
    estimator = fit(X, max_pairs=max_pairs, max_iter=2, **params)
    edges = estimator.edges_
    assert len(edges) == len(np.unique(edges, axis=0)) == max_pairs
    again = fit(X, max_pairs=max_pairs, max_iter=2, **params)
    np.testing.assert_array_equal(again.edges_, edges)
    np.testing.assert_array_equal(again.distances_, estimator.distances_)
    if 1 < max_pairs < 4949:
        other = fit(X, max_pairs=max_pairs, max_iter=2, random_state=1, **params)
        assert not np.array_equal(other.edges_, edges)


@pytest.mark.parametrize("max_pairs", [4950, 5000, 5e7])
@pytest.mark.parametrize("params", [{}, {"n_neighbors": 8}])
def test_no_pairs_are_drawn_where_all_are_allowed(params, max_pairs):
    estimator = fit(max_pairs=max_pairs, max_iter=2, **params)
    np.testing.assert_array_equal(estimator.edges_, all_edges(100))
    np.testing.assert_array_equal(estimator.embedding_, fit(max_iter=2, **params).embedding_)


@pytest.mark.parametrize("kind", ["rows", "dense", "sparse", "graph", "weighted"])
def test_pairs_are_drawn_uniformly(kind):
    n, draws, share = 12, 100, 22
    X = RNG.standard_normal((n, 3))
    D = cdist(X, X)
    weights = None
    if kind == "weighted":
        weights = np.ones((n, n))
    X = {"rows": X, "dense": D, "sparse": stored(D), "graph": D, "weighted": X}[kind]
    metric = {"graph": "graph", "rows": "euclidean", "weighted": "euclidean"}.get(
        kind, "precomputed"
    )
    counts = np.zeros((n, n))
    for seed in range(draws):
        estimator = fit(X, weights, metric=metric, max_pairs=share, max_iter=0, random_state=seed)
        counts[tuple(estimator.edges_.T)] += 1
    seen = counts[np.triu_indices(n, 1)]
    assert seen.sum() == draws * share
    # binomial with p = 1/3: five standard deviations
    assert np.abs(seen - draws / 3).max() < 5 * np.sqrt(draws * 2 / 9)


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_sampled_pairs_give_about_the_same_embedding(loss):
    whole, part = fit(loss=loss), fit(loss=loss, max_pairs=3000)
    edges = all_edges(100)
    rest = stress(part.embedding_, edges, D100[tuple(edges.T)])
    assert whole.stress_ * 0.99 < rest < whole.stress_ * 1.3


GRID = sp.lil_array((49, 49))
for r in range(7):
    for c in range(7):
        if c < 6:
            GRID[7 * r + c, 7 * r + c + 1] = 1.0
        if r < 6:
            GRID[7 * r + c, 7 * r + c + 7] = 1.0
GRID = GRID.tocsr()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limit", [1.0, 3.0, 100.0, None])
def test_max_path_length(limit, weighted):
    graph = GRID.copy()
    if weighted:
        graph.data = np.random.default_rng(0).uniform(0.3, 1.0, graph.nnz)
    lengths = shortest_path(graph, directed=False)
    estimator = fit(graph, metric="graph", max_path_length=limit, max_iter=20)
    wanted = np.triu(lengths <= (np.inf if limit is None else limit), 1)
    np.testing.assert_array_equal(estimator.edges_, np.argwhere(wanted))
    np.testing.assert_allclose(estimator.distances_, lengths[wanted])
    assert estimator.n_unreachable_ == 0
    few = fit(graph, metric="graph", max_path_length=limit, max_pairs=40, max_iter=2)
    assert len(few.edges_) == 40
    assert wanted[tuple(few.edges_.T)].all()


def test_max_path_length_with_neighbors():
    lengths = shortest_path(kneighbors_graph(X100, 6, mode="distance"), directed=False)
    estimator = fit(n_neighbors=6, max_path_length=3.0, max_iter=5)
    np.testing.assert_array_equal(estimator.edges_, np.argwhere(np.triu(lengths <= 3.0, 1)))


def test_unreachable_pairs_are_counted():
    two = sp.block_diag([GRID, GRID, sp.csr_array((1, 1))]).tocsr()
    between = 49 * 49 + 2 * 49
    for max_pairs in (5e7, 300):
        estimator = fit(two, metric="graph", max_pairs=max_pairs, max_iter=2)
        assert estimator.n_unreachable_ == between
        i, j = estimator.edges_.T
        assert (i // 49 == j // 49).all()
    given = fit(two, metric="precomputed", max_iter=2)
    assert given.n_unreachable_ == 99 * 98 // 2 - two.nnz


@pytest.fixture(scope="module")
def digits():
    X = load_digits(return_X_y=True)[0][:400]
    return X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)  # no ties


@pytest.mark.parametrize("name", ["digits", "swiss roll"])
def test_neighbor_paths_are_isomaps_and_kept_better(name, digits):
    X = digits if name == "digits" else make_swiss_roll(500, random_state=0)[0]
    theirs = Isomap(n_neighbors=10).fit(X)
    for loss in ("absolute", "squared"):
        ours = fit(X, n_neighbors=10, loss=loss)
        lengths = theirs.dist_matrix_[tuple(ours.edges_.T)]
        np.testing.assert_allclose(ours.distances_, lengths, rtol=1e-9)
        assert len(lengths) == len(X) * (len(X) - 1) // 2
        assert ours.stress_ < 0.99 * stress(theirs.embedding_, ours.edges_, lengths)
        assert ours.stress_ == pytest.approx(stress(ours.embedding_, ours.edges_, lengths))


def test_a_bent_plane_is_unrolled():
    rng = np.random.default_rng(0)
    flat = rng.uniform(0, 3, (400, 2))
    bent = np.c_[np.cos(flat[:, 0]), np.sin(flat[:, 0]), flat[:, 1]]
    on_paths = fit(bent, n_neighbors=10, loss="squared")
    size = np.sqrt((pdist(flat) ** 2).sum())
    assert np.linalg.norm(pdist(on_paths.embedding_) - pdist(flat)) < 0.1 * size
    inner = np.abs(flat - 1.5).max(axis=1) < 1.2
    coordinates = on_paths.transform(bent[inner] + 1e-9)
    np.testing.assert_allclose(coordinates, on_paths.embedding_[inner], atol=0.2)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("loss", ["absolute", "squared", "fractional", "logistic"])
def test_standardized(loss, m):
    estimator = fit(loss=loss, n_components=m, constraint="standardized")
    Y = estimator.embedding_
    np.testing.assert_allclose(Y.T @ Y / 100, np.eye(m), atol=1e-4)
    np.testing.assert_allclose(Y.mean(axis=0), 0.0, atol=1e-5)
    # root mean square of a standardized embedding's distances
    natural = np.sqrt(2 * 100 * m / 99)
    assert estimator.scale_ * np.sqrt(np.mean(estimator.distances_**2)) == pytest.approx(natural)
    assert np.sqrt(np.mean(pdist(Y) ** 2)) == pytest.approx(natural, rel=1e-4)
    np.testing.assert_allclose(estimator.distances_, pdist(X100))
    same = fit(loss=loss, n_components=m, constraint=Standardized())
    np.testing.assert_array_equal(same.embedding_, Y)
    assert fit(loss=loss).scale_ == 1.0


def test_what_is_standardized_already_is_kept_by_the_constraint():
    flat = PLANE - PLANE.mean(axis=0)
    Z = np.sqrt(60) * np.linalg.qr(flat)[0]
    estimator = fit(3.0 * Z, constraint="standardized")
    assert estimator.scale_ == pytest.approx(1 / 3, rel=1e-6)
    assert estimator.stress_ < 1e-5
    unseen = np.array([[2.0, 1.0], [-1.0, 4.0]])
    found = cdist(estimator.transform(unseen), estimator.embedding_)
    np.testing.assert_allclose(found, cdist(unseen, 3.0 * Z) / 3, atol=1e-4)


@pytest.mark.parametrize("loss", ["absolute", "squared", "sammon"])
def test_anchors_stay_where_they_are(loss):
    values = np.array([[0.123456789012345, 1 / 3], [5.0, 5.0], [1e2, -1e2]])
    estimator = fit(loss=loss, constraint=Anchored([3, 50, 99], values))
    np.testing.assert_array_equal(estimator.embedding_[[3, 50, 99]], values)
    np.testing.assert_array_equal(estimator.transform(X100[[50]]), values[[1]])
    assert fit(loss=loss, constraint=Anchored([3], values[:1])).stress_ == pytest.approx(
        fit(loss=loss).stress_, rel=0.05
    )


def test_anchors_in_their_right_places_pull_the_others_to_theirs():
    anchors = [0, 10, 20, 30]
    moved = PLANE @ [[0.6, -0.8], [0.8, 0.6]] + [10.0, -7.0]
    estimator = fit(
        PLANE,
        constraint=Anchored(anchors, moved[anchors]),
        init=moved + 0.01,
        loss="squared",
        tol=1e-6,
    )
    np.testing.assert_allclose(estimator.embedding_, moved, atol=1e-3)
    everywhere = fit(PLANE, constraint=Anchored(np.arange(60), moved))
    np.testing.assert_array_equal(everywhere.embedding_, moved)
    assert everywhere.n_iter_ == 0
    assert everywhere.stress_ < 1e-5


class Positive(Constraint):
    """No coordinate is negative."""

    name = "positive"

    def project(self, Z):
        return Z.clamp(min=0)

    def project_tangent(self, X, Z):
        return torch.where((X <= 0) & (Z < 0), torch.zeros_like(Z), Z)

    def violation(self, X):
        return float((-X).clamp(min=0).max())


def test_a_constraint_of_the_users_own():
    estimator = fit(loss="squared", constraint=Positive(), init=np.abs(X100[:, :2]))
    assert (estimator.embedding_ >= 0).all()
    assert estimator.stress_ < 0.6
    assert np.isfinite(estimator.transform(UNSEEN)).all()


def test_weights_decide_which_pairs_count():
    D = cdist(PLANE, PLANE)
    wrong = D.copy()
    wrong[:10, 10:20] = wrong[10:20, :10] = 50.0
    weights = np.ones((60, 60))
    weights[:10, 10:20] = weights[10:20, :10] = 0.0
    options = {"metric": "precomputed", "loss": "squared", "init": PLANE + 0.1 * PLANE[::-1]}
    assert fit(wrong, **options).stress_ > 0.1
    options |= {"max_iter": 1000, "tol": 1e-8}
    expected = fit(D, weights, **options)
    assert expected.stress_ < 1e-4
    for form in (np.array, sp.csr_array, sp.coo_array, torch.tensor, pd.DataFrame, sp.csr_matrix):
        estimator = fit(wrong, form(weights), **options)
        assert len(estimator.edges_) == 60 * 59 // 2 - 100
        np.testing.assert_allclose(estimator.embedding_, expected.embedding_, atol=1e-3)


@pytest.mark.parametrize(
    ("X", "params"),
    [
        (X100, {}),
        (X100, {"metric": "manhattan"}),
        (D100, {"metric": "precomputed"}),
        (stored(D100), {"metric": "precomputed"}),
        (D100, {"metric": "graph"}),
        (X100, {"n_neighbors": 8}),
    ],
)
def test_weights_of_every_kind_of_input(X, params):
    equal = np.full((100, 100), 3.0)
    plain, weighted = fit(X, loss="squared", **params), fit(X, equal, loss="squared", **params)
    np.testing.assert_array_equal(weighted.edges_, plain.edges_)
    assert weighted.distortion_ == pytest.approx(3 * plain.distortion_, rel=1e-3)
    assert weighted.stress_ == pytest.approx(plain.stress_, rel=1e-3)
    some = sp.csr_array(np.where(RNG.random((100, 100)) < 0.1, 1.0, 0.0))
    some = sp.triu(some + some.T, 1)  # each pair once
    few = fit(X, some, max_iter=5, **params)
    np.testing.assert_array_equal(few.edges_, np.argwhere(some.toarray()))
    np.testing.assert_array_equal(few.pair_weights_, some.tocsr()[tuple(few.edges_.T)])


def test_weights_and_max_pairs():
    estimator = fit(X100, WEIGHTS, max_pairs=500, max_iter=2)
    assert len(estimator.edges_) == len(np.unique(estimator.edges_, axis=0)) == 500
    np.testing.assert_array_equal(estimator.pair_weights_, WEIGHTS[tuple(estimator.edges_.T)])


def test_weights_by_keyword_position_and_fit_transform():
    expected = fit(X100, WEIGHTS).embedding_
    estimator = PreserveDistances(random_state=0)
    np.testing.assert_array_equal(estimator.fit(X100, None, WEIGHTS).embedding_, expected)
    np.testing.assert_array_equal(estimator.fit_transform(X100, pair_weights=WEIGHTS), expected)
    with config_context(enable_metadata_routing=True):
        estimator.set_fit_request(pair_weights=True)
        assert estimator.get_metadata_routing().fit.requests["pair_weights"] is True


def test_asymmetric_weights_are_averaged_with_a_warning():
    lopsided = WEIGHTS * np.where(np.triu(np.ones((100, 100))) > 0, 1.5, 0.5)
    before = lopsided.copy()
    with pytest.warns(UserWarning, match=r"weights are not symmetric.*average") as caught:
        estimator = PreserveDistances(max_iter=0).fit(X100, pair_weights=lopsided)
    assert len(caught) == 1
    np.testing.assert_allclose(estimator.pair_weights_, WEIGHTS[np.triu_indices(100, 1)])
    np.testing.assert_array_equal(lopsided, before)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones((100, 100)), r"must not be negative; got -1\.0"),
        (np.full((100, 100), np.nan), "weight.*NaN"),
        (np.ones((99, 99)), r"shape \(100, 100\).*got \(99, 99\)"),
        (np.ones((100, 99)), r"shape \(100, 100\).*got \(100, 99\)"),
        (np.ones(4950), r"\(4950,\)"),
        (np.zeros((100, 100)), "No pair of samples has both a distance and a positive weight"),
        (sp.csr_array((100, 100)), "No pair of samples has both a distance and a positive weight"),
        (np.ones((100, 100), complex), "real numbers"),
    ],
)
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_weights_that_make_no_sense_are_refused(weights, message, metric):
    estimator = PreserveDistances(metric=metric)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        estimator.fit(D100, pair_weights=weights)
    assert not hasattr(estimator, "embedding_")


def test_initial_array_is_where_the_solve_begins():
    init = RNG.standard_normal((100, 2))
    start = fit(init=init, max_iter=0)
    np.testing.assert_allclose(start.embedding_, init - init.mean(axis=0), atol=1e-5)
    assert start.n_iter_ == 0
    solved = fit(init=init, loss="squared").embedding_
    assert fit(init=solved, loss="squared").n_iter_ < 60
    for moved in (init.tolist(), torch.tensor(init), pd.DataFrame(init), init + 30.0):
        np.testing.assert_allclose(
            fit(init=moved, max_iter=0).embedding_, start.embedding_, atol=1e-4
        )
    np.testing.assert_allclose(
        fit(init=init, max_iter=0, constraint="standardized").embedding_,
        np.sqrt(100)
        * torch.linalg.svd(torch.tensor(init - init.mean(0)), full_matrices=False)[0]
        @ torch.linalg.svd(torch.tensor(init - init.mean(0)), full_matrices=False)[2],
        atol=1e-4,
    )


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_named_starts_have_the_size_of_the_distances(metric):
    for init in ("classical", "pca", "random"):
        start = fit(init=init, max_iter=0, metric=metric)
        d = pdist(start.embedding_)
        best = (d @ start.distances_) / (d @ d)
        assert best == pytest.approx(1.0, rel=1e-3)
        assert fit(init=init, metric=metric, loss="squared").stress_ < start.stress_


def test_the_classical_start_of_rows_is_pca():
    start = fit(max_iter=0).embedding_
    np.testing.assert_array_equal(fit(init="pca", max_iter=0).embedding_, start)
    u, s, _ = np.linalg.svd(X100 - X100.mean(axis=0), full_matrices=False)
    expected = u[:, :2] * s[:2]
    factor = np.linalg.norm(start) / np.linalg.norm(expected)
    signs = np.sign((start * expected).sum(axis=0))
    np.testing.assert_allclose(start * signs, factor * expected, atol=1e-3)
    assert 1.0 < factor < 2.0


def test_precomputed_distances_have_no_principal_components():
    for metric in ("precomputed", "graph"):
        with pytest.raises(ValueError, match=r"init='pca' needs the data.*use init='classical'"):
            PreserveDistances(metric=metric, init="pca").fit(D100)


def test_max_iter_tol_and_memory_are_heeded():
    assert fit(max_iter=7).n_iter_ == 7
    assert fit(tol=1e3).n_iter_ == 0
    loose = fit(tol=1e-2, loss="squared")
    assert 0 < loose.n_iter_ < fit(loss="squared").n_iter_
    size = np.sqrt(np.mean(loose.distances_**2))
    assert loose.residual_norm_ <= 1e-2 * size * 1.0001
    assert fit(memory_size=1).distortion_ != fit(memory_size=10).distortion_


def test_callbacks_watch_and_stop():
    seen = []

    def watch(state):
        assert not state.X.flags.writeable
        seen.append((state.iteration, state.value, state.residual_norm, state.X.shape))
        return state.iteration == 4

    estimator = fit(callbacks=[watch])
    assert estimator.n_iter_ == 4
    assert [entry[0] for entry in seen] == [1, 2, 3, 4]
    assert seen[-1][1] == pytest.approx(estimator.distortion_)
    assert seen[-1][3] == (100, 2)


def test_a_failed_fit_leaves_no_trace():
    def interrupt(state):
        raise KeyboardInterrupt

    estimator = fit()
    coordinates = estimator.transform(UNSEEN)
    before = dict(vars(estimator))
    with pytest.raises(ValueError):
        estimator.fit(X100 * np.nan)
    assert vars(estimator).keys() == before.keys()
    estimator.set_params(callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(UNSEEN[:, :3])
    np.testing.assert_array_equal(estimator.transform(UNSEEN), coordinates)


def test_verbose_is_a_bar_on_stderr_and_otherwise_silence(capsys):
    fit(verbose=0)
    fit(GRID, metric="graph")
    fit(n_neighbors=5)
    assert capsys.readouterr() == ("", "")
    fit(verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "distortion" in err
    fit(GRID, metric="graph", verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "paths" in err


def test_stages_are_logged(caplog):
    with caplog.at_level(logging.INFO, logger="skmde"):
        fit()
    ended = [record.stage for record in caplog.records if hasattr(record, "stage")]
    assert ended == ["distances", "init", "anchors", "solve"]


def test_networkx_graphs():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from("zyxw")
    graph.add_edge("x", "z", weight=2.0)
    graph.add_edge("w", "x", weight=0.5)
    graph.add_edge("y", "w")  # of length 1
    estimator = fit(graph, metric="graph")
    # nodes in the graph's order: z y x w
    lengths = np.array([[0, 3.5, 2, 2.5], [3.5, 0, 1.5, 1], [2, 1.5, 0, 0.5], [2.5, 1, 0.5, 0]])
    np.testing.assert_array_equal(estimator.edges_, all_edges(4))
    np.testing.assert_allclose(estimator.distances_, lengths[np.triu_indices(4, 1)])
    np.testing.assert_allclose(
        cdist(estimator.embedding_, estimator.embedding_), lengths, atol=1e-4
    )
    matrix = networkx.to_scipy_sparse_array(graph)
    np.testing.assert_array_equal(fit(matrix, metric="graph").embedding_, estimator.embedding_)
    assert estimator.n_features_in_ == 4

    directed = networkx.DiGraph(graph.edges)
    assert directed.number_of_edges() == 3
    np.testing.assert_array_equal(fit(directed, metric="graph").edges_, all_edges(4))
    multi = networkx.MultiGraph(graph)
    multi.add_edge("x", "z", weight=9.0)
    multi.add_edge("z", "x", weight=7.0)
    multi.add_edge("z", "z", weight=7.0)
    np.testing.assert_allclose(fit(multi, metric="graph").distances_, estimator.distances_)


@pytest.mark.parametrize("loss", ["absolute", "squared", "kamada_kawai"])
def test_graphs_of_the_monograph_are_drawn_well(loss):
    networkx = pytest.importorskip("networkx")
    chain = fit(networkx.path_graph(40), metric="graph", loss=loss)
    assert chain.stress_ < 1e-3
    cycle = fit(networkx.cycle_graph(40), metric="graph", loss=loss)
    radii = np.linalg.norm(cycle.embedding_, axis=1)
    assert radii.std() < 0.1 * radii.mean()
    grid = fit(networkx.grid_2d_graph(7, 7), metric="graph", loss=loss)
    assert grid.stress_ < 0.2


# What is embedded, and unseen items with it: points of a plane, however they are given.
TO_PLANE = cdist(NEW, PLANE)
FROM_PLANE = {
    "rows": (PLANE, NEW, {}),
    "sparse rows": (sp.csr_array(PLANE), sp.csr_array(NEW), {}),
    "callable": (PLANE, NEW, {"metric": lambda a, b: np.linalg.norm(a - b)}),
    "minkowski": (PLANE, NEW, {"metric": "minkowski", "metric_params": {"p": 2}}),
    "distances": (cdist(PLANE, PLANE), TO_PLANE, {"metric": "precomputed"}),
    "stored": (stored(cdist(PLANE, PLANE)), stored(TO_PLANE), {"metric": "precomputed"}),
    "graph": (cdist(PLANE, PLANE), TO_PLANE, {"metric": "graph"}),
    "neighbors": (PLANE, NEW, {"n_neighbors": 59}),
    "few pairs": (PLANE, NEW, {"max_pairs": 1200}),
}


@pytest.mark.parametrize("kind", FROM_PLANE)
@pytest.mark.parametrize("loss", [*NAMED_LOSSES, squared_function])
def test_unseen_points_of_a_plane_land_where_they_belong(kind, loss):
    X, unseen, params = FROM_PLANE[kind]
    estimator = fit(X, loss=loss, **params)
    coordinates = estimator.transform(unseen)
    size = TO_PLANE.max()
    np.testing.assert_allclose(
        cdist(coordinates, estimator.embedding_), TO_PLANE, rtol=0, atol=1e-4 * size
    )
    np.testing.assert_allclose(pdist(coordinates), pdist(NEW), rtol=0, atol=1e-4 * size)
    assert -1e-4 < estimator.score(unseen) <= 0.0


@pytest.mark.parametrize("m", [1, 2, 3])
def test_a_few_distances_place_an_unseen_point(m):
    points, new = RNG.standard_normal((50, m)), RNG.standard_normal((10, m))
    estimator = fit(cdist(points, points), metric="precomputed", n_components=m)
    D = cdist(new, points)
    some = np.where(np.argsort(np.argsort(RNG.random(D.shape), axis=1), axis=1) < 12, D, np.inf)
    coordinates = estimator.transform(some)
    np.testing.assert_allclose(cdist(coordinates, estimator.embedding_), D, atol=1e-3)


def test_unseen_samples_minimise_their_distortion():
    estimator = fit(loss="squared")
    Y, coordinates, D = estimator.embedding_, estimator.transform(UNSEEN), cdist(UNSEEN, X100)

    def distortion(place, row):
        return ((np.linalg.norm(Y - place, axis=1) - D[row]) ** 2).mean()

    for row, place in enumerate(coordinates):
        least = distortion(place, row)
        for angle in np.linspace(0, 2 * np.pi, 8, endpoint=False):
            step = 1e-3 * np.array([np.cos(angle), np.sin(angle)])
            assert distortion(place + step, row) > least


def test_transform_of_training_rows_is_the_embedding():
    estimator = fit()
    np.testing.assert_array_equal(estimator.transform(X100), estimator.embedding_)
    np.testing.assert_array_equal(
        PreserveDistances(random_state=0).fit_transform(X100), estimator.embedding_
    )
    near = estimator.transform(X100 + 1e-9)
    assert np.median(np.linalg.norm(near - estimator.embedding_, axis=1)) < 0.2


def test_transform_changes_nothing_in_the_estimator():
    estimator = fit()
    before = {name: repr(value) for name, value in vars(estimator).items()}
    arrays = {k: v.copy() for k, v in vars(estimator).items() if isinstance(v, np.ndarray)}
    estimator.transform(UNSEEN)
    estimator.score(UNSEEN)
    assert {name: repr(value) for name, value in vars(estimator).items()} == before
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(estimator, name), array)


@pytest.mark.parametrize(
    ("params", "changed"),
    [
        ({}, {"metric": "manhattan", "constraint": "standardized", "loss": "squared"}),
        ({"loss": HuberLoss(0.1)}, {"loss__threshold": 50.0}),
        ({"n_neighbors": 7}, {"n_neighbors": None, "max_pairs": 3, "n_components": 5}),
        ({"metric": "manhattan"}, {"metric": "euclidean", "metric_params": {"p": 3}}),
        ({"constraint": "standardized"}, {"constraint": None, "init": "random"}),
    ],
)
def test_parameters_set_after_fit_do_not_change_transform(params, changed):
    estimator = fit(**params)
    coordinates, score = estimator.transform(UNSEEN), estimator.score(UNSEEN)
    edges = estimator.edges_
    estimator.set_params(**changed)
    np.testing.assert_array_equal(estimator.transform(UNSEEN), coordinates)
    assert estimator.score(UNSEEN) == score
    np.testing.assert_array_equal(estimator.edges_, edges)


def test_data_changed_after_fit_does_not_change_transform():
    for X, unseen, params in (
        (X100.copy(), UNSEEN, {}),
        (X100.copy(), UNSEEN, {"n_neighbors": 7}),
        (X100.copy(), UNSEEN, {"metric": "manhattan"}),
        (D100.copy(), cdist(UNSEEN, X100), {"metric": "precomputed"}),
    ):
        estimator = fit(X, max_iter=30, **params)
        coordinates, distances = estimator.transform(unseen), estimator.distances_.copy()
        X[:] = 7.0
        np.testing.assert_array_equal(estimator.transform(unseen), coordinates)
        np.testing.assert_array_equal(estimator.distances_, distances)


def test_score_is_minus_the_normalised_stress_of_unseen_samples():
    for params in ({}, {"constraint": "standardized", "loss": "squared"}):
        estimator = fit(**params)
        score = estimator.score(UNSEEN)
        assert type(score) is float
        D = estimator.scale_ * cdist(UNSEEN, X100)
        d = cdist(estimator.transform(UNSEEN), estimator.embedding_)
        assert score == pytest.approx(-np.sqrt(((d - D) ** 2).sum() / (d**2).sum()))


def test_a_score_without_any_distance_is_an_error():
    estimator = fit(D100, metric="precomputed")
    with pytest.raises(ValueError, match="no distance to the training samples"):
        estimator.score(np.full((3, 100), np.inf))


def test_score_ranks_dimensions_and_losses():
    by_dimension = [fit(loss="squared", n_components=m).score(UNSEEN) for m in (1, 2, 3, 6)]
    assert sorted(by_dimension) == by_dimension
    assert by_dimension[-1] > -1e-4
    assert by_dimension[0] < -0.3
    assert fit(loss="squared").score(UNSEEN) > fit(loss="cubic", init="random", max_iter=1).score(
        UNSEEN
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "params", [{}, {"n_neighbors": 6}, {"metric": "precomputed"}, {"metric": "graph"}]
)
def test_float_dtype_is_kept(dtype, params):
    X, unseen = (X100, UNSEEN) if "metric" not in params else (D100, cdist(UNSEEN, X100))
    estimator = fit(X.astype(dtype), **params)
    assert estimator.embedding_.dtype == dtype
    assert estimator.transform(unseen.astype(dtype)).dtype == dtype
    assert estimator.fit_transform(X.astype(dtype)).dtype == dtype
    whole = fit(np.rint(10 * X).astype(int), **params)
    assert whole.embedding_.dtype == np.float64


@given(
    n=st.integers(2, 15),
    d=st.integers(1, 4),
    m=st.integers(1, 3),
    loss=st.sampled_from(list(NAMED_LOSSES)),
    ties=st.booleans(),
    max_pairs=st.integers(1, 120),
    n_neighbors=st.sampled_from([None, 1, 3]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:n_neighbors")
def test_any_small_data_gives_finite_points(n, d, m, loss, ties, max_pairs, n_neighbors, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float) if ties else rng.standard_normal((n, d))
    m = min(m, max(n - 1, 2))
    estimator = PreserveDistances(
        m, loss=loss, max_pairs=max_pairs, n_neighbors=n_neighbors, max_iter=30, random_state=0
    ).fit(X)
    assert np.isfinite(estimator.embedding_).all()
    assert np.isfinite([estimator.stress_, estimator.distortion_, estimator.residual_norm_]).all()
    assert len(estimator.edges_) == len(estimator.distances_) <= max_pairs
    assert np.isfinite(estimator.transform(rng.standard_normal((3, d)))).all()


@pytest.mark.parametrize("loss", [squared_function, SquaredModule(), PowerLoss(2.0), SquaredLoss()])
def test_losses_of_all_forms_are_the_same_function(loss):
    given, named = fit(loss=loss), fit(loss="squared")
    assert given.distortion_ == pytest.approx(named.distortion_, rel=1e-4)
    np.testing.assert_allclose(given.embedding_, named.embedding_, atol=0.01)
    # One of the other items has two coordinates that are about as good.
    coordinates, expected = given.transform(UNSEEN[:20]), named.transform(UNSEEN[:20])
    np.testing.assert_allclose(coordinates, expected, atol=0.01)


def test_names_and_objects_are_the_same_loss():
    np.testing.assert_array_equal(fit(loss=AbsoluteLoss()).embedding_, fit().embedding_)
    np.testing.assert_array_equal(
        fit(constraint="centered").embedding_, fit(constraint=None).embedding_
    )


def test_refitting_forgets_the_first_data():
    networkx = pytest.importorskip("networkx")
    estimator = fit(pd.DataFrame(X100, columns=list("abcdef")), max_iter=5)
    assert estimator.feature_names_in_.tolist() == list("abcdef")
    estimator.set_params(metric="graph").fit(networkx.path_graph(9), pair_weights=np.ones((9, 9)))
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 9
    estimator.set_params(metric="euclidean").fit(UNSEEN[:, :3])
    assert estimator.pair_weights_ is None
    np.testing.assert_array_equal(estimator.embedding_, fit(UNSEEN[:, :3], max_iter=5).embedding_)


@pytest.mark.parametrize("device", ["meta", None])
def test_defaults_of_torch_do_not_reach_into_a_fit(device):
    expected = fit(max_iter=20)
    coordinates = expected.transform(UNSEEN)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device(device or "cpu"), torch.inference_mode():
            estimator = fit(max_iter=20)
            np.testing.assert_array_equal(estimator.embedding_, expected.embedding_)
            np.testing.assert_array_equal(estimator.transform(UNSEEN), coordinates)
    finally:
        torch.set_default_dtype(before)


ERRORS = [
    ({"n_components": 0}, "n_components.*range.*Got 0"),
    ({"n_components": True}, "n_components must be an integer.*got True"),
    ({"n_components": 100}, "n_components=100 must be less.*at most 99"),
    ({"loss": "squard"}, "loss.*'squared'.*Got 'squard'"),
    ({"loss": lambda delta, d: (delta - d).sum()}, "must be elementwise"),
    ({"loss": HuberLoss(-1)}, "threshold must be.*got -1"),
    ({"metric": "euclid"}, "[Uu]nknown metric 'euclid'"),
    ({"metric": 3}, "metric.*Got 3"),
    ({"metric_params": [1]}, "metric_params.*Got"),
    ({"n_neighbors": 0}, "n_neighbors.*Got 0"),
    ({"max_path_length": 0.0}, r"max_path_length.*Got 0\.0"),
    ({"max_path_length": 3.0}, r"max_path_length=3\.0 limits.*set n_neighbors or metric='graph'"),
    ({"max_pairs": 0}, "max_pairs.*Got 0"),
    ({"neighbors_algorithm": "kd_tree"}, "neighbors_algorithm.*Got 'kd_tree'"),
    ({"constraint": "standardised"}, "constraint.*'standardized'.*Got 'standardised'"),
    ({"constraint": Anchored([0, 100], np.zeros((2, 2)))}, "item 100, but there are 100 items"),
    ({"init": "spectral"}, "init.*Got 'spectral'"),
    ({"init": np.zeros((100, 3))}, r"init must have shape \(100, 2\).*got \(100, 3\)"),
    ({"init": np.full((100, 2), np.nan)}, "init holds 200 entries that are NaN or infinite"),
    ({"max_iter": -1}, "max_iter.*Got -1"),
    ({"tol": -1e-5}, "tol.*Got -1e-05"),
    ({"memory_size": 0}, "memory_size.*Got 0"),
    ({"random_state": "a"}, "random_state.*Got 'a'"),
    ({"n_jobs": 0}, "n_jobs is 0, which has no meaning; use"),
    ({"device": 0}, "device.*Got 0"),
    ({"callbacks": [print, 3]}, "callbacks must be a list of functions.*got 3"),
    ({"verbose": -1}, "verbose.*Got -1"),
]


@pytest.mark.parametrize(("params", "message"), ERRORS, ids=lambda value: label(value)[:40])
def test_errors_name_the_fact_the_value_and_the_remedy(params, message):
    estimator = PreserveDistances(**params)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        estimator.fit(X100)
    assert not hasattr(estimator, "embedding_")


@pytest.mark.parametrize(
    ("X", "params", "message"),
    [
        (
            D100,
            {"metric": "graph", "n_neighbors": 5},
            "n_neighbors=5 has no effect; set it to None",
        ),
        (D100[:50], {"metric": "precomputed"}, r"square.*\(50, 100\)"),
        (D100[:50], {"metric": "graph"}, r"square.*\(50, 100\)"),
        (
            np.full((5, 5), np.inf),
            {"metric": "precomputed"},
            r"both a distance and a positive weight \(10 pairs have no",
        ),
        (sp.csr_array((5, 5)), {"metric": "precomputed"}, "both a distance and a positive weight"),
        (sp.csr_array((5, 5)), {"metric": "graph"}, "no edge between two"),
        (np.zeros((5, 5)), {"metric": "graph"}, "no edge between two.*sparse"),
        (GRID, {"metric": "graph", "max_path_length": 0.5}, "raise max_path_length"),
    ],
)
def test_errors_of_matrices(X, params, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        PreserveDistances(**params).fit(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": AbsoluteLoss}, r"class AbsoluteLoss; pass an instance"),
        ({"constraint": Standardized}, r"class Standardized; pass an instance"),
        ({"loss": lambda delta, d: 3.0}, "returned float.*must return a torch tensor"),
    ],
)
def test_classes_and_functions_that_return_no_tensor_are_type_errors(params, message):
    with pytest.raises(TypeError, match=message):
        PreserveDistances(**params).fit(X100)


def test_an_init_array_of_any_size_and_place():
    start = X100[:, :2]
    expected = fit(init=start, loss="squared", max_iter=2000, tol=1e-7)
    for init in (start + 1e8, 1e6 * start, 1e-6 * start):
        found = fit(init=init, loss="squared", max_iter=2000, tol=1e-7)
        assert found.stress_ == pytest.approx(expected.stress_, rel=1e-2)
    for factor in (1e-50, 1e50):
        found = fit(factor * X100, init=factor * start, loss="squared", max_iter=2000, tol=1e-7)
        assert found.stress_ == pytest.approx(expected.stress_, rel=1e-2)
    assert fit(init=np.zeros((100, 2))).stress_ < 0.4


@pytest.mark.parametrize("factor", [1e-98, 1e-50, 1e50, 1e98])
@pytest.mark.parametrize("constraint", [None, "standardized"])
def test_lengths_of_any_size(factor, constraint):
    expected = fit(loss="squared", constraint=constraint)
    found = fit(factor * X100, loss="squared", constraint=constraint)
    assert found.stress_ == pytest.approx(expected.stress_, rel=1e-3)
    assert np.isfinite(found.transform(factor * UNSEEN)).all()


def test_as_many_pairs_as_there_are_are_drawn_from_matrices():
    weights = np.zeros((60, 60))
    weights[:25, :25] = 1
    D = D100[:60, :60]
    for X, metric in ((X100[:60], "euclidean"), (D, "precomputed"), (stored(D), "precomputed")):
        estimator = fit(X, metric=metric, max_pairs=200, pair_weights=weights)
        assert len(estimator.distances_) == 200
        assert estimator.edges_.max() < 25
    blocks = np.where(np.not_equal.outer(np.arange(60) < 30, np.arange(60) < 30), np.inf, D)
    estimator = fit(blocks, metric="precomputed", max_pairs=400)
    assert len(estimator.distances_) == 400
    assert estimator.n_unreachable_ == 900


@pytest.mark.parametrize("constraint", ["standardized", Anchored([0], [[0.0, 0.0]])])
def test_parts_of_a_graph_do_not_coincide_under_other_constraints(constraint):
    paths = [sp.diags_array(np.ones(n - 1), offsets=1, shape=(n, n)) for n in (6, 6, 9)]
    graph = sp.block_diag([*paths, sp.csr_array((3, 3))]).tocsr()
    Y = fit(graph, metric="graph", constraint=constraint).embedding_
    assert len(np.unique(Y, axis=0)) == 24


def test_distances_of_weight_zero_do_not_reach_the_start():
    D = squareform(pdist(RNG.standard_normal((60, 2))))
    rows, columns = all_edges(60)[RNG.permutation(1770)[:100]].T
    weights = np.ones((60, 60))
    weights[rows, columns] = weights[columns, rows] = 0
    spoilt = D.copy()
    spoilt[rows, columns] = spoilt[columns, rows] = 50.0
    for X in (spoilt, stored(spoilt)):
        estimator = fit(
            X, metric="precomputed", loss="squared", pair_weights=weights, max_iter=2000
        )
        assert estimator.stress_ < 1e-4


def test_pair_weights_as_a_tensor_with_a_gradient():
    weights = torch.ones(100, 100, requires_grad=True)
    np.testing.assert_array_equal(fit(pair_weights=weights).pair_weights_, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_pair_weights_that_are_not_finite_are_an_error(value):
    weights = np.ones((100, 100))
    weights[3, 4] = value
    with pytest.raises(ValueError, match="pair_weights must be finite, but"):
        fit(pair_weights=weights)


@pytest.mark.parametrize("max_pairs", [True, 200.5])
def test_max_pairs_that_is_no_whole_number_is_an_error(max_pairs):
    with pytest.raises(ValueError, match="max_pairs must be an integer"):
        fit(max_pairs=max_pairs)


def test_pairs_beyond_all_memory_are_an_error_up_front():
    with pytest.raises(ValueError, match=r"needs about .* TB of memory .*use max_pairs="):
        fit(np.zeros((30_000_000, 1)), max_pairs=np.inf)


def test_points_on_a_line_in_two_components():
    chain = sp.diags_array(np.ones(39), offsets=1, shape=(40, 40)).tocsr()
    for loss in ("squared", "absolute", "sammon"):
        assert fit(chain, metric="graph", loss=loss).stress_ < 1e-5


def test_a_subclass_of_a_loss_may_have_a_length_of_its_own():
    class Saturating(SquaredLoss):
        def value(self, delta, d):
            return torch.log1p((d - delta) ** 2)

        def slope(self, delta, d):
            r = d - delta
            return 2 * r / (1 + r**2) / d.clamp(min=1e-12)

    r = pdist(fit(loss=Saturating()).embedding_) - pdist(X100)
    assert fit(loss=Saturating()).distortion_ == pytest.approx(np.log1p(r**2).mean(), rel=1e-4)


@pytest.mark.parametrize("make", [KNeighborsTransformer, RadiusNeighborsTransformer])
def test_a_transformer_in_front_gives_edges_to_fit_and_to_transform(make):
    X = make_swiss_roll(300, random_state=0)[0]
    size = {"n_neighbors": 12} if make is KNeighborsTransformer else {"radius": 7.0}
    estimator = PreserveDistances(metric="graph", loss="squared", random_state=0)
    pipeline = make_pipeline(make(mode="distance", **size), estimator)
    coordinates = pipeline.fit_transform(X)
    moved = np.linalg.norm(pipeline.transform(X + 1e-3) - coordinates, axis=1)
    assert np.median(moved) < 0.01
    # lengths of all paths say the same as the edges that these go over
    graph, between = (
        pipeline[0].transform(X[:20] + 1e-3).tocsr(),
        shortest_path(pipeline[0].transform(X), directed=False),
    )
    rows = [graph[[k]] for k in range(20)]
    lengths = np.array([(between[:, row.indices] + row.data).min(axis=1) for row in rows])
    np.testing.assert_allclose(estimator.transform(lengths), estimator.transform(graph), atol=1e-6)
    isomap = PreserveDistances(n_neighbors=12, loss="squared", random_state=0).fit(X)
    if make is KNeighborsTransformer:
        assert pipeline.score(X + 1e-3) == pytest.approx(isomap.score(X + 1e-3), abs=1e-4)


def test_callbacks_see_the_units_of_the_embedding():
    seen = []
    estimator = fit(50 * X100, loss="squared", callbacks=[lambda state: seen.append(state)])
    last = seen[-1]
    np.testing.assert_allclose(last.X, estimator.embedding_, atol=1e-3)
    assert last.value == pytest.approx(estimator.distortion_)
    assert last.residual_norm == pytest.approx(estimator.residual_norm_)


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
@pytest.mark.parametrize("max_landmarks", [1000, 20])
def test_unseen_rows_among_parts_without_a_pair_between_them(metric, max_landmarks, monkeypatch):
    monkeypatch.setattr("skmde.estimators._preserve_distances._MAX_LANDMARKS", max_landmarks)
    X = np.random.default_rng(0).standard_normal((100, 2))
    near = X + 1e-3
    given, unseen = (X, near) if metric == "euclidean" else (cdist(X, X), cdist(near, X))
    halves = np.equal.outer(np.arange(100) % 2, np.arange(100) % 2).astype(float)
    some = np.ones((100, 100))
    some[:70] = some[:, :70] = 0.0  # these have no pair
    # among a few landmarks the nearest may be of the other half
    whole = [(halves, slice(None))] if max_landmarks > 100 else []
    for weights, paired in (*whole, (some, slice(70, None))):
        estimator = fit(given, weights, loss="squared", metric=metric)
        apart = np.linalg.norm(estimator.transform(unseen) - estimator.embedding_, axis=1)
        assert apart[paired].max() < 0.002
        assert estimator.score(unseen[paired]) > -1e-4


def test_parameters_that_a_metric_of_pynndescent_does_not_have():
    with pytest.raises(ValueError, match=r"metric='hellinger' has no parameter 'foo'"):
        fit(np.abs(X100), metric="hellinger", metric_params={"foo": 1})
