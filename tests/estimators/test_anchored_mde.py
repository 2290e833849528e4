"""AnchoredMDE against closed forms, its own optimality conditions, and inputs that break things."""

import pickle
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from labels import label
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import kneighbors_graph
from sparse_arrays import random_sparse

import skmde
from skmde import MDE, Anchored, AnchoredMDE, Barrier, Log1p, Power
from skmde.core.spectral.placement import place_quadratic

ROOT = Path(skmde.__file__).parent.parent
RNG = np.random.default_rng(0)
X80 = RNG.standard_normal((80, 4))
UNSEEN = RNG.standard_normal((20, 4))
ANCHORS = np.sort(RNG.choice(80, 8, replace=False))
VALUES = RNG.standard_normal((8, 2))
Y80 = np.full((80, 2), np.nan)
Y80[ANCHORS] = VALUES


def fit(X=X80, y=Y80, **params):
    """A seeded fit in which every warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
        return AnchoredMDE(random_state=0, **params).fit(X, y)


def random_graph(n=60, p=150, seed=0):
    graph = nx.gnm_random_graph(n, p, seed=seed)
    graph.add_edges_from(nx.path_graph(n).edges)
    rng = np.random.default_rng(seed)
    for _, _, edge in graph.edges(data=True):
        edge["weight"] = rng.uniform(0.5, 2.0)
    return graph


GRAPH = random_graph()
AFFINITY = nx.to_scipy_sparse_array(GRAPH, format="csr")
Y60 = Y80[:60].copy()

PARAMS = [
    {},
    {"attractive_penalty": "huber"},
    {"attractive_penalty": "log1p", "repulsive_penalty": "log"},
    {"loss": "squared"},
]
BY_NAME = pytest.mark.parametrize("params", PARAMS, ids=str)


# What the result is


@BY_NAME
def test_anchors_come_back_to_the_last_bit_and_the_gradient_vanishes(params):
    estimator = fit(**params, tol=1e-7, max_iter=2000)
    assert estimator.embedding_[ANCHORS].tobytes() == VALUES.tobytes()
    np.testing.assert_array_equal(estimator.anchors_, ANCHORS)
    assert estimator.residual_norm_ <= 1e-6 * max(1.0, estimator.distortion_)
    assert np.isfinite(estimator.embedding_).all()
    # action and reaction
    np.testing.assert_allclose(estimator.forces_.sum(axis=0), 0, atol=1e-5)
    free = ~np.isin(estimator.edges_, ANCHORS)
    assert free.any(axis=1).all()  # no pair of two anchors


def test_quadratic_free_samples_are_at_the_weighted_mean_of_their_neighbours():
    estimator = fit()
    W = sp.coo_array((estimator.weights_, estimator.edges_.T), shape=(80, 80)).tocsr()
    W = (W + W.T).toarray()
    means = W @ estimator.embedding_ / W.sum(axis=1, keepdims=True)
    free = np.setdiff1d(np.arange(80), ANCHORS)
    np.testing.assert_allclose(estimator.embedding_[free], means[free], atol=1e-8)


@BY_NAME
def test_forces_are_minus_the_gradient(params):
    estimator = fit(**params)
    functions = params.get("loss") or (
        params.get("attractive_penalty", "quadratic"),
        params.get("repulsive_penalty"),
    )
    weights = None if "loss" in params else estimator.weights_
    problem = MDE(
        80, 2, estimator.edges_, functions, weights=weights, deviations=estimator.distances_
    )
    X = estimator.embedding_
    assert problem.average_distortion(X) == pytest.approx(estimator.distortion_, rel=1e-12)
    h = 1e-6
    for k, anchor in enumerate(ANCHORS[:3]):
        for c in range(2):
            moved = [X.copy(), X.copy()]
            moved[0][anchor, c] -= h
            moved[1][anchor, c] += h
            low, high = (problem.average_distortion(Z) for Z in moved)
            expected = -(high - low) / (2 * h)
            np.testing.assert_allclose(estimator.forces_[k, c], expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("penalty", ["cubic", "huber", "linear"])
def test_convex_penalties_reach_one_value_from_every_start(penalty):
    values = []
    for seed in range(4):
        start = "auto" if seed == 0 else 3 * np.random.default_rng(seed).standard_normal((80, 2))
        estimator = AnchoredMDE(
            attractive_penalty=penalty, init=start, tol=1e-9, max_iter=3000, random_state=0
        )
        values.append(estimator.fit(X80, Y80).distortion_)
    np.testing.assert_allclose(values, values[0], rtol=1e-5)


def test_the_linear_penalty_reaches_its_minimum():
    """As found by a sequence of quadratic problems, with weights w / d (Weiszfeld's method)."""
    estimator = fit(attractive_penalty="linear")
    edges, weights = estimator.edges_, estimator.weights_
    X = place_quadratic(edges, weights, 80, ANCHORS, VALUES).X
    for step in range(200):
        d = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
        rounded = np.hypot(d, max(1e-8, 0.5 * 0.9**step))
        X = place_quadratic(edges, weights / rounded, 80, ANCHORS, VALUES).X
    least = np.mean(weights * np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1))
    assert estimator.distortion_ == pytest.approx(least, rel=2e-4)


def test_distances_recover_the_points_between_known_ones():
    truth = RNG.uniform(size=(70, 2)) * 10
    y = np.full((70, 2), np.nan)
    y[:6] = truth[:6]
    found = fit(truth @ [[0.0, 1.0], [-1.0, 0.0]] + 5, y, loss="squared", tol=1e-8)
    np.testing.assert_allclose(found.embedding_, truth, atol=1e-4)
    D = squareform(pdist(truth))
    again = fit(D, y, loss="squared", metric="precomputed", tol=1e-8)
    np.testing.assert_allclose(again.embedding_, truth, atol=1e-4)
    # a few pairs do, too
    near = sp.csr_array(np.where(D < 5, D, 0))
    sparse = fit(near, y, loss="squared", metric="precomputed", tol=1e-8, max_iter=1000)
    np.testing.assert_allclose(sparse.embedding_, truth, atol=1e-3)
    limited = fit(truth, y, loss="squared", max_distance=5.0, tol=1e-8, max_iter=1000)
    np.testing.assert_allclose(limited.embedding_, truth, atol=1e-3)
    assert limited.distances_.max() <= 5


def test_lengths_of_a_graph():
    path = nx.path_graph(5)
    y = [0.0, np.nan, np.nan, np.nan, 8.0]
    found = fit(path, y, loss="squared", metric="graph")
    np.testing.assert_allclose(np.diff(found.embedding_.ravel()) > 0, True)
    isomap = fit(X80, Y80, loss="squared", n_neighbors=5)
    assert isomap.distances_.max() > pdist(X80).max()


@BY_NAME
def test_units_of_the_pairs_do_not_matter(params):
    factor = 1e20
    y = Y80 * factor if "loss" in params else Y80
    small = fit(**params, max_iter=10).embedding_
    large = fit(factor * X80, y, **params, max_iter=10).embedding_
    unit = factor if "loss" in params else 1.0
    np.testing.assert_allclose(large / unit, small, atol=1e-5 * np.abs(small).max())


@pytest.mark.parametrize("penalty", ["linear", "cubic", Power(1.5)], ids=label)
@pytest.mark.parametrize("unit", [1e-90, 1e-8, 1e-3, 1e5, 1e90])
def test_units_of_the_places_do_not_matter(penalty, unit):
    expected = fit(attractive_penalty=penalty)
    found = fit(X80, unit * Y80, attractive_penalty=penalty)
    assert found.n_iter_ == pytest.approx(expected.n_iter_, rel=0.2)
    np.testing.assert_allclose(found.embedding_ / unit, expected.embedding_, atol=1e-3)
    factor = unit ** {"linear": 1, "cubic": 3}.get(penalty, 1.5)
    assert found.distortion_ == pytest.approx(factor * expected.distortion_, rel=1e-4)


def test_small_places_are_solved_as_closely_under_a_penalty_with_a_scale():
    # log(1 + d^3) is all but the cubic penalty there
    found = fit(X80, 1e-4 * Y80, attractive_penalty=Log1p(3.0))
    expected = fit(X80, 1e-4 * Y80, attractive_penalty="cubic")
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-8)


def test_a_float32_graph_of_data_keeps_its_dtype():
    embedding = fit(X80.astype(np.float32), attractive_penalty="huber").embedding_
    assert embedding.dtype == np.float32
    np.testing.assert_array_equal(embedding[ANCHORS], VALUES.astype(np.float32))
    np.testing.assert_allclose(embedding, fit(attractive_penalty="huber").embedding_, atol=1e-2)


def test_barrier_needs_a_start_inside_and_stays_there():
    weights = np.ones((10, 10)) - np.eye(10)
    y = np.full((10, 2), np.nan)
    y[0] = 0.0
    params = {"metric": "affinity", "attractive_penalty": Barrier(1.0)}
    with pytest.raises(ValueError, match=r"infinite at the starting point.*as init"):
        fit(weights, y, **params)
    start = 3.0 * np.stack([np.arange(10) // 4, np.arange(10) % 4], axis=1)
    found = fit(weights, y, **params, init=start)
    assert pdist(found.embedding_).min() > 1.0
    assert found.history_["value"][-1] < found.history_["value"][0]


# Graphs of weights


def test_affinities_of_every_form_are_the_same():
    expected = fit(AFFINITY, Y60, metric="affinity")
    for form in (GRAPH, AFFINITY.toarray(), AFFINITY.tocoo(), sp.csc_array(AFFINITY)):
        found = fit(form, Y60, metric="affinity")
        assert found.embedding_.tobytes() == expected.embedding_.tobytes()
    np.testing.assert_array_equal(expected.transform(AFFINITY), expected.embedding_)
    with pytest.raises(ValueError, match="unseen samples must be rows"):
        expected.transform(GRAPH)
    new = random_sparse((3, 60), 0.2, seed=0)
    means = (new @ expected.embedding_) / np.asarray(new.sum(axis=1))[:, None]
    np.testing.assert_allclose(expected.transform(new), means, atol=1e-8)
    np.testing.assert_array_equal(expected.transform(new.toarray()), expected.transform(new))


def test_precomputed_neighbours_are_those_of_the_data():
    graph = kneighbors_graph(X80, 5, mode="distance")
    expected = fit(n_neighbors=5)
    found = fit(graph, metric="precomputed")
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-8)
    D = squareform(pdist(X80))
    dense = fit(D, metric="precomputed", n_neighbors=5)
    np.testing.assert_allclose(dense.embedding_, expected.embedding_, atol=1e-8)
    order = np.argsort(D, axis=1, kind="stable")[:, 1:6]
    tables = order, np.take_along_axis(D, order, axis=1)
    pair = fit(tables, metric="precomputed")
    np.testing.assert_allclose(pair.embedding_, expected.embedding_, atol=1e-8)
    between = np.linalg.norm(UNSEEN[:, None] - X80[None], axis=2)
    np.testing.assert_allclose(dense.transform(between), expected.transform(UNSEEN), atol=1e-8)


# How anchors are given


def test_indices_and_values_are_rows_of_y():
    order = np.random.default_rng(1).permutation(8)
    by_index = AnchoredMDE().fit(X80, anchors=ANCHORS[order], anchor_values=VALUES[order])
    assert by_index.embedding_.tobytes() == fit().embedding_.tobytes()
    embedding = AnchoredMDE().fit_transform(X80, anchors=ANCHORS, anchor_values=VALUES)
    assert embedding.tobytes() == by_index.embedding_.tobytes()
    line = AnchoredMDE().fit(X80, anchors=ANCHORS.tolist(), anchor_values=VALUES[:, 0])
    np.testing.assert_array_equal(line.embedding_, fit(y=Y80[:, 0]).embedding_)
    objects = Y80[:, 0].astype(object)
    objects[np.isnan(Y80[:, 0])] = None
    np.testing.assert_array_equal(fit(y=objects).embedding_, line.embedding_)
    np.testing.assert_array_equal(fit(y=torch.tensor(Y80)).embedding_, by_index.embedding_)


def bad_rows(**changes):
    y = Y80.copy()
    for row, value in changes.items():
        y[int(row[1:])] = value
    return y


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (np.full((80, 2), np.nan), "no sample is anchored"),
        (bad_rows(r3=[1.0, np.nan]), "Row 3 of y"),
        (bad_rows(r3=np.inf), "y contains infinity: row 3"),
        (Y80[:79], "inconsistent numbers of samples: 80 and 79"),
        (Y80[:, :0], "must have shape"),
        (np.zeros((80, 2, 2)), "must have shape"),
        (np.array(["a"] * 80), "AnchoredClassifier"),
        (sp.csr_array(np.zeros((80, 2))), "sparse"),
    ],
    ids=str,
)
def test_rows_of_y_that_are_no_coordinates(y, message):
    with pytest.raises(ValueError, match=message):
        AnchoredMDE().fit(X80, y)


@pytest.mark.parametrize(
    ("anchors", "values", "message"),
    [
        ([0, 1, 0], [[0.0], [1.0], [2.0]], "Item 0 is anchored twice"),
        ([0, 80], [[0.0], [1.0]], "item 80"),
        ([0, -1], [[0.0], [1.0]], "item -1"),
        ([0, 1], [[0.0], [np.nan]], "must be finite"),
        ([0, 1], [[0.0]], "one row"),
        ([], [], "one item or more"),
        ([True] * 80, np.zeros((80, 1)), "flatnonzero"),
        ([0, 1], None, "anchor_values is missing"),
        (None, [[0.0]], "anchors is missing"),
    ],
)
def test_row_41_anchors_that_are_none(anchors, values, message):
    with pytest.raises(ValueError, match=message):
        AnchoredMDE().fit(X80, anchors=anchors, anchor_values=values)


def test_places_given_twice_or_of_another_dimension():
    with pytest.raises(ValueError, match="given twice"):
        AnchoredMDE().fit(X80, Y80, anchors=[0], anchor_values=[[0.0]])
    with pytest.raises(ValueError, match=r"n_components=3.*2 coordinates"):
        AnchoredMDE(3).fit(X80, Y80)
    assert AnchoredMDE(2).fit(X80, Y80).embedding_.shape == (80, 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"loss": "squared", "repulsive_penalty": "log"},
            "cannot be combined with repulsive",
        ),
        ({"metric": "graph"}, "need a loss.*affinity"),
        ({"metric": "affinity", "loss": "squared"}, "needs distances"),
        ({"metric": "affinity", "n_neighbors": 3}, "n_neighbors=3 has no effect"),
        ({"metric": "affinity", "max_distance": 3.0}, r"max_distance=3\.0 has no effect"),
        ({"metric": "graph", "loss": "squared", "n_neighbors": 3}, "has no effect"),
        ({"n_components": True}, "not a bool"),
        ({"callbacks": [3]}, "functions"),
        ({"attractive_penalty": "linear", "init": np.zeros((3, 2))}, "init must have shape"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
    ids=str,
)
def test_parameters_that_do_not_go_together(params, message):
    with pytest.raises(ValueError, match=message):
        AnchoredMDE(**params).fit(AFFINITY.toarray(), Y60)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_that_are_none(weight):
    bad = AFFINITY.copy()
    bad.data[5] = weight
    with pytest.raises(ValueError, match=r"Negative|NaN|infinity"):
        AnchoredMDE(metric="affinity").fit(bad, Y60)
    fitted = fit(AFFINITY, Y60, metric="affinity")
    with pytest.raises(ValueError, match=r"Negative|NaN|infinity"):
        fitted.transform(bad)
    with pytest.raises(ValueError, match=r"features|column"):
        fitted.transform(AFFINITY[:, :50])


# Extremes


@BY_NAME
def test_row_40_every_row_anchored(params):
    y = RNG.standard_normal((80, 2))
    estimator = fit(y=y, **params)
    assert estimator.embedding_.tobytes() == y.tobytes()
    assert len(estimator.history_["value"]) == 1  # the starting point: no iteration
    assert estimator.distortion_ == estimator.residual_norm_ == 0
    assert len(estimator.edges_) == 0
    np.testing.assert_array_equal(estimator.forces_, 0)
    assert np.isfinite(estimator.transform(UNSEEN)).all()


@BY_NAME
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_few_samples(n, params):
    y = np.full((n, 2), np.nan)
    y[0] = [1.0, 2.0]
    estimator = fit(X80[:n], y, **params)
    assert np.isfinite(estimator.embedding_).all()
    np.testing.assert_array_equal(estimator.embedding_[0], y[0])


@BY_NAME
def test_row_08_all_rows_equal(params):
    y = np.full((20, 2), np.nan)
    y[:3] = VALUES[:3]
    estimator = AnchoredMDE(random_state=0, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # copies of others than the anchors may be neighbours
        estimator.fit(np.ones((20, 3)), y)
    assert np.isfinite(estimator.embedding_).all()


@BY_NAME
def test_parts_without_an_anchor(params):
    blobs = np.concatenate([X80[:30], X80[30:50] + 1000, X80[50:60] - 1000])
    y = np.full((60, 2), np.nan)
    y[:4] = VALUES[:4]
    params = {**params, "n_neighbors": 4}
    if "loss" in params:
        params = {**params, "n_neighbors": None, "max_distance": 50.0}
    estimator = AnchoredMDE(random_state=0, **params)
    with pytest.warns(UserWarning, match="30 free samples, in 2 connected components") as record:
        estimator.fit(blobs, y)
    assert len(record) == 1
    assert record[0].filename == __file__
    assert estimator.n_loose_ == 30
    assert np.isfinite(estimator.embedding_).all()
    center = y[:4].mean(axis=0)
    if "repulsive_penalty" not in params:
        for part in (slice(30, 50), slice(50, 60)):
            np.testing.assert_allclose(estimator.embedding_[part].mean(axis=0), center, atol=1e-3)
    assert np.isfinite(estimator.transform(blobs[:40] + 0.1)).all()


def test_a_vertex_without_edges_is_at_the_mean_of_the_anchors():
    lonely = sp.block_diag([AFFINITY, sp.csr_array((1, 1))], format="csr")
    y = np.concatenate([Y60, [[np.nan, np.nan]]])
    with pytest.warns(UserWarning, match="1 free samples"):
        estimator = AnchoredMDE(metric="affinity").fit(lonely, y)
    known = Y60[np.isfinite(Y60[:, 0])]
    np.testing.assert_allclose(estimator.embedding_[-1], known.mean(axis=0))


@BY_NAME
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_row_17_what_is_not_finite_is_an_error(bad, params):
    X = X80.copy()
    X[3, 1] = bad
    estimator = fit(**params)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        AnchoredMDE(**params).fit(X, Y80)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        estimator.transform(X)


# transform


@BY_NAME
def test_rows_33_to_37_unseen_rows(params):
    estimator = fit(**params)
    together = estimator.transform(UNSEEN)
    singly = np.concatenate([estimator.transform(row[None]) for row in UNSEEN])
    np.testing.assert_array_equal(together, singly)
    np.testing.assert_array_equal(estimator.transform(X80), estimator.embedding_)
    assert np.isfinite(estimator.transform(10 * UNSEEN)).all()
    assert estimator.transform(np.tile(UNSEEN, (10, 1))).shape == (200, 2)
    with pytest.raises(ValueError, match="5 features"):
        estimator.transform(np.ones((2, 5)))
    with pytest.raises(NotFittedError):
        AnchoredMDE(**params).transform(X80)


def test_unseen_rows_are_at_the_mean_of_their_neighbours():
    estimator = fit(n_neighbors=5)
    D = np.linalg.norm(UNSEEN[:, None] - X80[None], axis=2)
    reach = np.sort(squareform(pdist(X80)), axis=1)[:, 5]
    near = D.argsort(axis=1)[:, :5]
    # twice for a sample that would be a neighbour of the fitted one, too
    weights = 1.0 + (np.take_along_axis(D, near, axis=1) <= reach[near])
    coordinates = estimator.embedding_[near]
    expected = (weights[:, :, None] * coordinates).sum(axis=1) / weights.sum(axis=1)[:, None]
    np.testing.assert_allclose(estimator.transform(UNSEEN), expected, atol=1e-8)


@BY_NAME
def test_fitted_state_is_apart_from_parameters_and_survives_pickling(params):
    estimator = fit(**params)
    expected = estimator.transform(UNSEEN)
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.transform(UNSEEN), expected)
    estimator.set_params(n_neighbors=2, max_distance=1e-3, attractive_penalty="linear", loss=None)
    np.testing.assert_array_equal(estimator.transform(UNSEEN), expected)
    assert not hasattr(clone(estimator), "embedding_")


# Determinism and manners


@BY_NAME
def test_row_43_global_random_states_are_untouched(params):
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.random.get_rng_state()
    AnchoredMDE(**params).fit(X80, Y80)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)
    assert torch.equal(torch.random.get_rng_state(), torch_state)


@BY_NAME
def test_inputs_are_not_written_to(params):
    X, y = X80.copy(), Y80.copy()
    X.flags.writeable = y.flags.writeable = False
    fit(X, y, **params).transform(X)
    np.testing.assert_array_equal(X, X80)


def test_callbacks_see_and_stop_the_solve():
    seen = []

    def stop_early(state):
        seen.append(state.value)
        return len(seen) == 3

    estimator = fit(attractive_penalty="linear", callbacks=[stop_early])
    assert estimator.n_iter_ == 3
    np.testing.assert_allclose(estimator.history_["value"][1:], seen)


def test_a_failed_fit_leaves_no_trace():
    estimator = fit()
    expected = estimator.embedding_
    with pytest.raises(ValueError, match="inconsistent"):
        estimator.fit(X80[:50], Y80)
    assert estimator.embedding_ is expected


def test_the_constraint_gives_the_same():
    """MDE with Anchored, over the same pairs."""
    estimator = fit(attractive_penalty="huber", tol=1e-8, max_iter=2000)
    problem = MDE(
        80,
        2,
        estimator.edges_,
        "huber",
        Anchored(ANCHORS, VALUES),
        weights=estimator.weights_.astype(np.float64),
    )
    X = problem.embed(tol=1e-8, max_iter=2000, random_state=0)
    np.testing.assert_allclose(X.numpy(), estimator.embedding_, atol=1e-3)


@pytest.mark.parametrize("init", [np.zeros((3, 7)), [["a"]], [5], np.array(5)])
def test_an_array_to_start_from_is_checked_even_where_the_solution_is_exact(init):
    with pytest.raises(ValueError, match="init"):
        fit(init=init)
