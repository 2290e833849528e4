"""PreserveNeighbors: what it solves, what it reports, and what its parameters do."""

import logging

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors, kneighbors_graph

from skmde import (
    MDE,
    Anchored,
    Barrier,
    Cauchy,
    Huber,
    HuberLoss,
    Log1p,
    Penalty,
    PreserveNeighbors,
    Standardized,
)
from skmde.estimators.pairs.neighbors import default_n_neighbors

RNG = np.random.default_rng(0)
X100 = RNG.standard_normal((100, 6))
UNSEEN = RNG.standard_normal((30, 6))


def fit(X=X100, **params):
    return PreserveNeighbors(**{"random_state": 0, **params}).fit(X)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"repulsive_weight": 0.1, "n_neighbors": 7},
        {"repulsion": "normalized"},
        {"repulsion": "sampled"},
        {"constraint": "standardized"},
        {"repulsive_penalty": None},
        {"n_components": 3, "n_neighbors": 4, "repulsive_fraction": 2.5},
        {"attractive_penalty": Huber(0.3), "repulsive_penalty": "inverse_power"},
    ],
)
def test_fitted_attributes_describe_the_problem_and_its_solution(params):
    estimator = fit(**params)
    n, m = estimator.embedding_.shape
    assert (n, m) == (100, params.get("n_components", 2))
    graph, edges, weights = estimator.graph_, estimator.edges_, estimator.weights_
    assert sp.issparse(graph)
    assert graph.shape == (100, 100)
    assert abs(graph - graph.T).max() == 0
    assert set(np.unique(graph.data)) <= {1.0, 2.0}
    assert edges.shape == (len(weights), 2)
    assert (edges[:, 0] < edges[:, 1]).all()

    n_attractive = graph.nnz // 2
    assert (weights[:n_attractive] > 0).all()
    assert (weights[n_attractive:] == -1).all()
    np.testing.assert_array_equal(
        graph[edges[:n_attractive, 0], edges[:n_attractive, 1]], weights[:n_attractive]
    )

    constraint = "standardized" if estimator.repulsive_penalty is None else estimator.constraint
    rule = estimator._rule
    whole = {}
    if rule.sums_all:
        whole = {"repulsion": rule.kind, "repulsive_weight": estimator.repulsive_weight_}
    problem = MDE(n, m, edges, rule.penalties, constraint, weights=weights, **whole)
    found = problem.average_distortion(estimator.embedding_.astype(np.float32))
    assert found == pytest.approx(estimator.distortion_, rel=1e-4)
    assert problem.constraint.violation(torch.tensor(estimator.embedding_)) < 1e-4

    history = estimator.history_
    assert set(history) == {"value", "residual_norm", "step_size", "seconds"}
    assert {len(series) for series in history.values()} == {estimator.n_iter_ + 1}
    if not rule.sums_all:  # the warm start is no descent method
        assert (np.diff(history["value"]) <= 1e-6).all()
    assert history["value"][-1] == pytest.approx(estimator.distortion_)
    assert history["residual_norm"][-1] == pytest.approx(estimator.residual_norm_)
    # 1e-5 is about what float32 can resolve
    assert rule.sums_all or estimator.n_iter_ == 300 or estimator.residual_norm_ <= 1e-4


def test_neighbours_are_the_nearest_others():
    nearest = kneighbors_graph(X100, 7).toarray()
    np.testing.assert_array_equal(fit(n_neighbors=7).graph_.toarray(), nearest + nearest.T)


@pytest.mark.parametrize(
    ("n_samples", "n_neighbors"),
    [(2, 1), (4, 3), (6, 5), (7, 5), (100, 5), (1000, 5), (1300, 6), (3001, 15), (70_000, 15)],
)
def test_default_number_of_neighbours(n_samples, n_neighbors):
    assert default_n_neighbors(n_samples) == n_neighbors


@pytest.mark.parametrize(
    ("params", "fraction"),
    [
        ({"repulsion": "sampled"}, 1.0),
        ({"constraint": "standardized"}, 0.5),
        ({"repulsive_fraction": 3.3}, 3.3),
        ({"repulsive_fraction": 0.1, "constraint": "standardized"}, 0.1),
    ],
)
def test_repulsive_pairs_are_as_many_as_wanted_distinct_and_no_neighbours(params, fraction):
    estimator = fit(**params)
    repulsive = estimator.edges_[estimator.weights_ < 0]
    assert len(repulsive) == round(fraction * (estimator.weights_ > 0).sum())
    assert len(np.unique(repulsive, axis=0)) == len(repulsive)
    assert (estimator.graph_.toarray()[repulsive[:, 0], repulsive[:, 1]] == 0).all()


def test_all_others_repel_when_more_are_wanted_than_there_are():
    estimator = fit(repulsive_fraction=1e6)
    assert len(estimator.edges_) == 100 * 99 // 2


def test_samples_within_max_distance_are_the_neighbours():
    distances = pairwise_distances(X100)
    near = (distances <= 2.5) & ~np.eye(100, dtype=bool)
    np.testing.assert_array_equal(fit(max_distance=2.5).graph_.toarray(), 2.0 * near)
    both = fit(max_distance=2.5, n_neighbors=4).graph_.toarray() > 0
    nearest = kneighbors_graph(X100, 4).toarray() > 0
    np.testing.assert_array_equal(both, (near & nearest) | (near & nearest).T)
    with pytest.raises(ValueError, match=r"no pair is within max_distance=1e-06.*increase it"):
        PreserveNeighbors(max_distance=1e-6).fit(X100)
    with pytest.raises(ValueError, match="no finite distance between two samples"):
        PreserveNeighbors(metric="precomputed").fit(sp.csr_array((20, 20)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_dtype_is_kept(dtype):
    estimator = fit(X100.astype(dtype))
    assert estimator.embedding_.dtype == dtype
    assert estimator.transform(UNSEEN.astype(dtype)).dtype == dtype
    assert estimator.fit_transform(X100.astype(dtype)).dtype == dtype
    assert fit((10 * X100).astype(int)).embedding_.dtype == np.float64


@pytest.mark.parametrize("make", [lambda X: X, torch.tensor, sp.csr_array, pd.DataFrame])
def test_input_is_not_changed(make):
    X, init = make(X100.copy()), np.zeros((100, 2))
    estimator = fit(X, init=init).set_params(init="pca").fit(X)
    estimator.transform(X)
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    np.testing.assert_array_equal(dense, X100)
    assert not init.any()


def test_names_and_objects_are_the_same_functions():
    expected = fit().embedding_
    for params in (
        {"attractive_penalty": Log1p(2.0), "constraint": "centered"},
        {"repulsive_penalty": "cauchy", "repulsion": "all", "n_neighbors": 10, "init": "pca"},
        {"repulsive_penalty": Cauchy(), "repulsive_weight": 1.0},
    ):
        np.testing.assert_array_equal(fit(**params).embedding_, expected)
    expected = fit(repulsion="sampled").embedding_
    for params in (
        {"attractive_penalty": Log1p(), "repulsive_penalty": "log", "init": "quadratic"},
        {"attractive_penalty": Log1p(1.5), "repulsive_fraction": 1.0, "n_neighbors": 5},
    ):
        np.testing.assert_array_equal(fit(**params).embedding_, expected)
    np.testing.assert_array_equal(
        fit(constraint=Standardized()).embedding_, fit(constraint="standardized").embedding_
    )


class Twice(Penalty):
    """A penalty of the user's own: only its value is given."""

    def __init__(self, factor=2.0):
        self.factor = factor

    def value(self, d):
        return self.factor * torch.log1p(d**1.5)


def test_penalties_of_the_users_own():
    options = {"repulsion": "sampled", "max_iter": 30}
    by_class = fit(attractive_penalty=Twice(1.0), **options)
    by_function = fit(attractive_penalty=lambda d: torch.log1p(d**1.5), **options)
    built_in = fit(**options)
    np.testing.assert_allclose(by_class.embedding_, by_function.embedding_, atol=1e-4)
    np.testing.assert_allclose(by_class.embedding_, built_in.embedding_, atol=0.05)
    assert by_class.set_params(attractive_penalty__factor=3.0).attractive_penalty.factor == 3.0
    assert np.isfinite(by_function.transform(UNSEEN)).all()


def test_without_repulsion_the_embedding_is_standardized():
    estimator = fit(repulsive_penalty=None)
    Y = estimator.embedding_
    np.testing.assert_allclose(Y.T @ Y / 100, np.eye(2), atol=1e-4)
    assert (estimator.weights_ > 0).all()
    with pytest.raises(
        ValueError, match=r"collapses to one point; use\s+constraint='standardized'"
    ):
        PreserveNeighbors(repulsive_penalty=None, constraint="centered").fit(X100)


def test_anchors_stay_where_they_are():
    values = np.array([[0.0, 0.0], [5.0, 5.0], [1e3, -1e3]])
    estimator = fit(constraint=Anchored([3, 50, 99], values), init=X100[:, :2] + 7.0)
    np.testing.assert_allclose(estimator.embedding_[[3, 50, 99]], values, rtol=1e-6)
    np.testing.assert_array_equal(estimator.transform(X100[[50]]), estimator.embedding_[[50]])


def test_initial_array_is_where_the_solve_begins():
    init = RNG.standard_normal((100, 2))
    start = fit(init=init, max_iter=0)
    np.testing.assert_allclose(start.embedding_, init - init.mean(axis=0), atol=1e-6)
    assert start.n_iter_ == 0
    solved = fit(init=init).embedding_
    assert fit(init=solved).n_iter_ < 30
    for moved in (init + 1e8, init.tolist(), torch.tensor(init), pd.DataFrame(init)):
        np.testing.assert_allclose(
            fit(init=moved, max_iter=0).embedding_, start.embedding_, atol=1e-5
        )


@pytest.mark.parametrize("scale", [1e300, 1e39, 1e20, 1e5, 1e-5, 1e-20, 1e-300])
def test_initial_array_of_absurd_size_is_scaled(scale):
    init = RNG.standard_normal((100, 2))
    Y = fit(init=init * scale, max_iter=0).embedding_
    assert np.sqrt(np.mean(Y**2)) == pytest.approx(1, rel=1e-4)
    expected = init - init.mean(axis=0)
    np.testing.assert_allclose(Y / Y.std(), expected / expected.std(), atol=1e-4)
    assert fit(init=init * scale).distortion_ < fit(max_iter=0).distortion_


def test_max_iter_tol_and_memory_are_heeded():
    assert fit(max_iter=7).n_iter_ == 7
    assert fit(tol=1e3).n_iter_ == 0
    loose = fit(tol=1e-2)
    assert 0 < loose.n_iter_ < fit().n_iter_
    assert loose.converged_ and loose.residual_norm_ > fit().residual_norm_
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
    assert seen[-1][1] == estimator.distortion_
    assert seen[-1][3] == (100, 2)
    np.testing.assert_array_equal(fit(callbacks=(lambda state: None,)).embedding_, fit().embedding_)


def test_verbose_is_a_bar_on_stderr_and_otherwise_silence(capsys):
    fit(verbose=0)
    assert capsys.readouterr() == ("", "")
    fit(verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "distortion" in err


def test_stages_are_logged(caplog):
    with caplog.at_level(logging.INFO, logger="skmde"):
        fit()
    ended = [record for record in caplog.records if hasattr(record, "stage")]  # others are plans
    assert [record.stage for record in ended] == ["neighbors", "edges", "init", "solve"]
    assert all(record.seconds >= 0 for record in ended)


def test_transform_of_training_rows_is_the_embedding():
    estimator = fit()
    np.testing.assert_array_equal(estimator.transform(X100), estimator.embedding_)
    np.testing.assert_array_equal(
        PreserveNeighbors(random_state=0).fit_transform(X100), estimator.embedding_
    )


def test_transform_is_continuous_near_the_neighbours():
    """A row between rows of one cluster lands in that cluster."""
    centres = 20 * np.eye(3)
    X = np.concatenate([RNG.standard_normal((40, 3)) + centre for centre in centres])
    estimator = fit(X, n_neighbors=10)
    cluster = np.repeat([0, 1, 2], 40)
    unseen = np.concatenate([RNG.standard_normal((15, 3)) + centre for centre in centres])
    found = KNeighborsClassifier(5).fit(estimator.embedding_, cluster)
    np.testing.assert_array_equal(
        found.predict(estimator.transform(unseen)), np.repeat([0, 1, 2], 15)
    )


@pytest.mark.parametrize("repulsive_penalty", ["log", None])
def test_transform_minimises_the_distortion_of_each_row(repulsive_penalty):
    """Attraction as in training, repulsion as strong as a training sample has on average."""
    k = 8
    estimator = fit(n_neighbors=k, repulsive_penalty=repulsive_penalty)
    Y, coordinates = estimator.embedding_, estimator.transform(UNSEEN)
    distances = pairwise_distances(UNSEEN, X100)
    reach = np.sort(pairwise_distances(X100), axis=1)[:, k]
    near = np.argsort(distances, axis=1)[:, :k]
    weights = 1.0 + (np.take_along_axis(distances, near, axis=1) <= reach[near])
    assert len(np.unique(weights)) == 2
    strength = 2 * (estimator.weights_ < 0).sum() / 100 / 100  # there are fewer than 128 samples

    def distortion(row, place):
        d = np.linalg.norm(Y - place, axis=1)
        value = (weights[row] * np.log1p(d[near[row]] ** 1.5)).sum()
        others = np.delete(d, near[row])
        return value - strength * np.log(-np.expm1(-others)).sum()

    for row, place in enumerate(coordinates):
        least = distortion(row, place)
        for angle in np.linspace(0, 2 * np.pi, 8, endpoint=False):
            step = 1e-3 * np.array([np.cos(angle), np.sin(angle)])
            assert distortion(row, place + step) > least


def test_transform_changes_nothing_in_the_estimator():
    estimator = fit()
    before = {name: repr(value) for name, value in vars(estimator).items()}
    arrays = {k: v.copy() for k, v in vars(estimator).items() if isinstance(v, np.ndarray)}
    estimator.transform(UNSEEN)
    estimator.score(UNSEEN)
    assert {name: repr(value) for name, value in vars(estimator).items()} == before
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(estimator, name), array)


def test_score_is_the_share_of_common_neighbours():
    estimator = fit(n_neighbors=8)
    coordinates = estimator.transform(UNSEEN)
    near = [
        NearestNeighbors(n_neighbors=15).fit(train).kneighbors(new, return_distance=False)
        for train, new in ((X100, UNSEEN), (estimator.embedding_, coordinates))
    ]
    shares = [len(set(a) & set(b)) / 15 for a, b in zip(*near, strict=True)]
    score = estimator.score(UNSEEN)
    assert type(score) is float
    assert score == pytest.approx(np.mean(shares))


def test_score_of_a_perfect_map_is_one():
    plane = RNG.standard_normal((100, 2))
    estimator = fit(plane, init=plane, max_iter=0)
    assert estimator.score(plane) == 1.0
    assert estimator.score(plane[:1]) == 1.0


def test_score_does_not_depend_on_the_scale_of_penalties():
    scores = [
        fit(
            attractive_penalty=lambda d, c=c: c * torch.log1p(d**1.5),
            repulsive_penalty=lambda d, c=c: c * torch.log(-torch.expm1(-d)),
            tol=1e-5 * c,
            max_iter=60,
        ).score(UNSEEN)
        for c in (1.0, 1024.0)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.1)
    assert 0.2 < scores[0] <= 1


def test_refitting_forgets_the_first_data():
    estimator = fit(pd.DataFrame(X100, columns=list("abcdef")))
    assert estimator.feature_names_in_.tolist() == list("abcdef")
    estimator.fit(UNSEEN[:, :3])
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 3
    np.testing.assert_array_equal(estimator.embedding_, fit(UNSEEN[:, :3]).embedding_)
    frame = pd.DataFrame(pairwise_distances(X100)).rename(columns=str)
    estimator.set_params(metric="precomputed").fit(frame)
    values, indices = NearestNeighbors(n_neighbors=5).fit(X100).kneighbors()
    estimator.fit((indices, values))
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 100


def test_spectral_start_does_not_depend_on_the_seed():
    first, second = (fit(max_iter=0, random_state=seed).embedding_ for seed in (0, 1))
    np.testing.assert_array_equal(first, second)


def test_digits_are_embedded_well():
    X, y = load_digits(return_X_y=True)
    train, test = X[:1500], X[1500:]
    estimator = fit(train)
    assert trustworthiness(train, estimator.embedding_, n_neighbors=15) > 0.97
    classifier = KNeighborsClassifier(10).fit(estimator.embedding_, y[:1500])
    assert classifier.score(estimator.transform(test), y[1500:]) > 0.85
    assert estimator.score(test) > 0.3


@pytest.mark.parametrize("device", ["meta", None])
def test_defaults_of_torch_do_not_reach_into_a_fit(device):
    expected = fit()
    coordinates, score = expected.transform(UNSEEN), expected.score(UNSEEN)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device(device or "cpu"), torch.inference_mode():
            estimator = fit()
            np.testing.assert_array_equal(estimator.embedding_, expected.embedding_)
            np.testing.assert_array_equal(estimator.transform(UNSEEN), coordinates)
            assert estimator.score(UNSEEN) == score
    finally:
        torch.set_default_dtype(before)


ERRORS = [
    ({"n_components": 0}, "n_components.*range.*Got 0"),
    ({"n_components": True}, "n_components must be an integer.*got True"),
    ({"n_components": 2.0}, r"n_components.*Got 2\.0"),
    ({"n_neighbors": 0}, "n_neighbors.*Got 0"),
    ({"n_neighbors": True}, "n_neighbors must be an integer.*got True"),
    ({"attractive_penalty": "lgo1p"}, "attractive_penalty.*'log1p'.*Got 'lgo1p'"),
    ({"attractive_penalty": HuberLoss()}, "attractive_penalty.*Got HuberLoss"),
    ({"attractive_penalty": "barrier"}, r"rho has no default; pass an instance, Barrier\(rho"),
    ({"attractive_penalty": Log1p(-1)}, "exponent must be.*above 0; got -1"),
    ({"attractive_penalty": lambda d: d.sum()}, "must be elementwise"),
    ({"repulsive_penalty": "none"}, "repulsive_penalty.*Got 'none'"),
    ({"repulsive_fraction": 0}, "repulsive_fraction.*Got 0"),
    ({"repulsive_fraction": np.inf}, "repulsive_fraction.*Got inf"),
    ({"constraint": "standardised"}, "constraint.*'standardized'.*Got 'standardised'"),
    ({"constraint": Anchored([0, 100], np.zeros((2, 2)))}, "item 100, but there are 100 items"),
    ({"metric": "euclid"}, "Unknown metric 'euclid'.*Use a callable or one of.*euclidean"),
    ({"metric": 3}, "metric.*Got 3"),
    ({"metric_params": [1]}, "metric_params.*Got"),
    (
        {"metric_params": {"p": 1}},
        r"metric='euclidean' has no parameter 'p'.*or choose another metric",
    ),
    (
        {"metric": "mahalanobis", "metric_params": {"VI": np.eye(2)}},
        r"inverse covariance VI of shape \(6, 6\), got",
    ),
    ({"metric": "minkowski", "metric_params": {"p": -1}}, "needs a positive p, got p=-1"),
    ({"max_distance": -1.0}, r"max_distance.*Got -1\.0"),
    ({"neighbors_algorithm": "kd_tree"}, "neighbors_algorithm.*Got 'kd_tree'"),
    (
        {"neighbors_algorithm": "faiss", "metric": "manhattan"},
        "needs.*metric.*got metric='manhattan'",
    ),
    ({"init": "spectral"}, "init.*Got 'spectral'"),
    ({"init": np.zeros((100, 3))}, r"init must have shape \(100, 2\).*got \(100, 3\)"),
    ({"init": np.full((100, 2), np.nan)}, "init holds 200 entries that are NaN or infinite"),
    ({"init": np.zeros((100, 2), complex)}, "init holds complex numbers; give real ones"),
    ({"init": [["a", "b"]] * 100}, "could not convert string to float"),
    (
        {"init": np.full((100, 2), 1e39), "constraint": Anchored([0], [[0.0, 0.0]])},
        "init holds entries as large as 1e[+]39, beyond the range of float32",
    ),
    ({"max_iter": -1}, "max_iter.*Got -1"),
    ({"tol": -1e-5}, "tol.*Got -1e-05"),
    ({"memory_size": 0}, "memory_size.*Got 0"),
    ({"random_state": "a"}, "random_state.*Got 'a'"),
    ({"n_jobs": 0}, "n_jobs is 0, which has no meaning; use"),
    ({"device": 0}, "device.*Got 0"),
    ({"callbacks": [print, 3]}, "callbacks must be a list of functions.*got 3"),
    ({"callbacks": print}, "callbacks.*array-like or None"),
    ({"callbacks": {}}, r"callbacks must be a list of functions.*got \{\}"),
    ({"callbacks": np.array(5)}, r"callbacks must be a list of functions.*got array\(5\)"),
    ({"target_weight": 1e300}, r"target_weight.*1e\+30.*Got 1e\+300"),
    ({"repulsive_fraction": 10**40}, r"repulsive_fraction.*1e\+30.*Got 1000"),
    ({"verbose": -1}, "verbose.*Got -1"),
]


@pytest.mark.parametrize(("params", "message"), ERRORS, ids=lambda value: str(value)[:40])
def test_errors_name_the_fact_the_value_and_the_remedy(params, message):
    estimator = PreserveNeighbors(**params)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        estimator.fit(X100)
    assert not hasattr(estimator, "embedding_")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"attractive_penalty": Log1p}, r"class Log1p; pass an instance, e\.g\. Log1p\(\)"),
        ({"repulsive_penalty": Barrier}, r"class Barrier; pass an instance"),
        ({"constraint": Standardized}, r"class Standardized; pass an instance"),
        ({"attractive_penalty": lambda d: 3.0}, "returned float.*must return a torch tensor"),
    ],
)
def test_classes_and_functions_that_return_no_tensor_are_type_errors(params, message):
    with pytest.raises(TypeError, match=message):
        PreserveNeighbors(**params).fit(X100)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ((), "got 0 entries"),
        ((np.zeros((5, 2), int),) * 3, "got 3 entries"),
        ((None, None), r"so indices must be numbers of shape \(n_samples, k\); got dtype object"),
        ((np.zeros((5, 2), int), np.zeros(5)), r"so distances must be.*got.*shape \(5,\)"),
        ((np.zeros((5, 2), int), np.zeros((5, 3))), r"same shape.*\(5, 2\) and \(5, 3\)"),
        ((np.full((5, 2), 7), np.ones((5, 2))), "index 7 is out of range for 5 items"),
        ((np.ones((5, 2)) / 2, np.ones((5, 2))), "indices must be integers, got dtype float64"),
        ((np.zeros((5, 2), int), np.full((5, 2), -1.0)), r"must not be negative, got -1\.0"),
        ((np.zeros((5, 2), int), np.full((5, 2), np.nan)), "contain NaN.*Use infinity"),
        ((np.zeros((5, 0), int), np.zeros((5, 0))), r"shape \(5, 0\)"),
        (np.ones((5, 4)), r"square matrix, got shape \(5, 4\).*X holds distances"),
        (np.full((5, 5), np.nan), "contain NaN.*Use infinity"),
        (sp.csr_array(np.full((5, 5), np.nan)), "contain NaN"),
        (sp.csr_array(np.full((5, 5), -2.0)), r"must not be negative, got -2\.0"),
        (np.full((5, 5), np.inf), "No two samples are neighbours"),
    ],
)
def test_errors_of_precomputed_distances(X, message):
    with pytest.raises(ValueError, match=message):
        PreserveNeighbors(metric="precomputed").fit(X)


def test_principal_components_need_data():
    with pytest.raises(ValueError, match="init='pca' needs the data"):
        PreserveNeighbors(metric="precomputed", init="pca").fit(pairwise_distances(X100))


def is_moderate(X):
    """Whether squares are numbers, and zero only if all are."""
    largest = np.abs(X).max()
    return largest == 0 or 1e-100 <= largest <= 1e100


@settings(max_examples=30)
@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int8, np.uint8]),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12),
    ).filter(lambda X: is_moderate(X.astype(np.float64))),
    st.sampled_from(["quadratic", "pca", "random"]),
    st.sampled_from(["centered", "standardized"]),
    st.integers(1, 3),
)
def test_any_small_matrix_has_a_finite_embedding(X, init, constraint, n_components):
    n = len(X)
    n_components = min(n_components, n - 1)
    estimator = fit(X, init=init, constraint=constraint, n_components=n_components, max_iter=20)
    assert estimator.embedding_.shape == (n, n_components)
    assert np.isfinite(estimator.embedding_).all()
    coordinates = estimator.transform(X)
    # copies of a row may have coordinates of their own; the first of them is the one that is known
    first = np.array([np.flatnonzero((X == row).all(axis=1))[0] for row in X])
    np.testing.assert_array_equal(coordinates, estimator.embedding_[first])


def test_parameters_set_after_fit_do_not_move_unseen_samples():
    X = load_digits().data[:400]
    model = PreserveNeighbors(
        attractive_penalty=Log1p(), max_distance=40.0, n_neighbors=8, random_state=0
    ).fit(X[:300])
    expected = model.transform(X[300:])
    model.set_params(
        attractive_penalty__exponent=3.0, repulsive_penalty="inverse_power", max_distance=1e-3
    )
    np.testing.assert_array_equal(model.transform(X[300:]), expected)


@pytest.mark.parametrize("n_features", [1, 5])
def test_an_integer_fraction_of_any_size_means_all_pairs(n_features):
    X = np.random.default_rng(0).standard_normal((30, n_features))
    everything = PreserveNeighbors(repulsive_fraction=10**29, random_state=0).fit(X)
    as_float = PreserveNeighbors(repulsive_fraction=1e29, random_state=0).fit(X)
    np.testing.assert_array_equal(everything.embedding_, as_float.embedding_)
    assert len(everything.edges_) >= 30 * 29 // 2
