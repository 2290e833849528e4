"""Inputs that break other embedding libraries: the rows that apply to PreserveDistances.

Numbers in the names are those of the rows in the list of faults: what each input is, and that it
gives finite points or an error that says what to do.
"""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from fault_cases import assert_finite, n_distinct
from fault_inputs import CONTAINERS, NOT_NUMBERS, sparse_forms
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sparse_arrays import stored

import skmde
from skmde import PreserveDistances
from skmde.functions.registry import NAMED_LOSSES, resolve_loss

RNG = np.random.default_rng(0)
X60 = RNG.standard_normal((60, 5))
UNSEEN = RNG.standard_normal((20, 5))
D60 = pairwise_distances(X60)
TO60 = pairwise_distances(UNSEEN, X60)
GRAPH = kneighbors_graph(X60, 7, mode="distance")
SHORT = np.where(TO60 < np.sort(TO60, axis=1)[:, [20]], TO60, np.inf)

# Every kind of input: what it is fitted to, unseen items, and parameters.
KINDS = {
    "rows": (X60, UNSEEN, {}),
    "manhattan": (X60, UNSEEN, {"metric": "manhattan"}),
    "cosine": (X60, UNSEEN, {"metric": "cosine"}),
    "sparse rows": (sp.csr_array(X60), sp.csr_array(UNSEEN), {}),
    "dense distances": (D60, TO60, {"metric": "precomputed"}),
    "some dense distances": (
        np.where((D60 < 3) | (D60.T < 3), D60, np.inf),
        SHORT,
        {"metric": "precomputed"},
    ),
    "sparse distances": (
        GRAPH,
        sp.csr_array(np.where(TO60 < 3, TO60, 0)),
        {"metric": "precomputed"},
    ),
    "graph": (GRAPH, TO60, {"metric": "graph"}),
    "links": (
        sp.csr_array((np.ones(GRAPH.nnz), GRAPH.indices, GRAPH.indptr)),
        np.rint(TO60),
        {"metric": "graph"},
    ),
    "neighbors": (X60, UNSEEN, {"n_neighbors": 7}),
    "neighbors of distances": (D60, TO60, {"n_neighbors": 7, "metric": "precomputed"}),
    "neighbors of a graph": (
        KNeighborsTransformer(n_neighbors=7).fit_transform(X60),
        KNeighborsTransformer(n_neighbors=7).fit(X60).transform(UNSEEN),
        {"n_neighbors": 7, "metric": "precomputed"},
    ),
    "few pairs": (X60, UNSEEN, {"max_pairs": 500}),
    "standardized": (X60, UNSEEN, {"constraint": "standardized"}),
    "callable": (X60, UNSEEN, {"metric": lambda a, b: abs(a - b).max()}),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_loss = pytest.mark.parametrize("loss", NAMED_LOSSES)


def fit(X, pair_weights=None, *, may_stop_early=False, **params):
    """A seeded fit in which every warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
        if may_stop_early:
            warnings.filterwarnings("ignore", "The solve stopped early")
        estimator = PreserveDistances(**{"random_state": 0, **params})
        return estimator.fit(X, pair_weights=pair_weights)


def fit_kind(kind, **params):
    X, unseen, own = KINDS[kind]
    return fit(X, **{**own, **params}), unseen


def embed(X, pair_weights=None, **params):
    return fit(X, pair_weights, **params).embedding_


@pytest.mark.parametrize(
    ("X", "params"),
    [
        (X60[:1], {}),
        (X60[:1], {"n_neighbors": 3}),
        (X60[:1], {"metric": "cosine", "init": "random"}),
        (np.zeros((1, 1)), {"metric": "precomputed"}),
        (sp.csr_array((1, 1)), {"metric": "precomputed"}),
        (sp.csr_array((1, 1)), {"metric": "graph"}),
    ],
)
def test_row_01_one_sample_is_an_error(X, params):
    with pytest.raises(ValueError, match=r"1 sample.*(minimum of 2|at least 2)"):
        PreserveDistances(**params).fit(X)


def test_row_01_a_graph_of_one_node():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(ValueError, match=r"1 sample.*at least 2"):
        PreserveDistances(metric="graph").fit(networkx.path_graph(1))


@every_loss
@pytest.mark.parametrize("n", [2, 3])
def test_row_02_two_and_three_samples(n, loss):
    wanted = D60[:n, :n]
    for X, params in (
        (X60[:n], {}),
        (X60[:n], {"init": "random", "n_components": 1 if n == 2 else 2}),
        (wanted, {"metric": "precomputed"}),
        (wanted, {"metric": "graph"}),
        (X60[:n], {"n_neighbors": n - 1}),
    ):
        Y = embed(X, loss=loss, **params)
        assert_finite(Y, (n, params.get("n_components", 2)))
        if "init" not in params:  # two and three points fit into a plane
            got = pairwise_distances(Y)
            if "n_neighbors" not in params and params.get("metric") != "graph":
                np.testing.assert_allclose(got, wanted, atol=1e-5)
    if n == 3:
        assert_finite(embed(X60[:3], loss=loss, constraint="standardized"), (3, 2))


@every_loss
def test_row_08_all_rows_equal(loss):
    ones = np.ones((20, 3))
    for params in (
        {},
        {"init": "random"},
        {"init": "pca"},
        {"metric": "cosine"},
        {"metric": "manhattan"},
        {"constraint": "standardized"},
        {"n_neighbors": 5},
        {"max_pairs": 30},
    ):
        estimator = fit(ones, loss=loss, **params)
        assert_finite(estimator.embedding_, (20, 2))
        assert np.isfinite([estimator.stress_, estimator.distortion_, estimator.scale_]).all()
        assert_finite(estimator.transform(np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]])), (2, 2))
    Y = embed(np.zeros((20, 20)), metric="precomputed", loss=loss)
    np.testing.assert_array_equal(Y, np.zeros((20, 2)))


@every_loss
def test_row_11_copies_land_together(loss):
    X = np.repeat(X60[:5], 2, axis=0)
    D = pairwise_distances(X)
    D = np.minimum(D, D.T)
    size = D.max()
    stored = sp.coo_array((D.ravel(), np.indices((10, 10)).reshape(2, 100)), shape=(10, 10))
    for given, params in (
        (X, {}),
        (X, {"metric": "manhattan"}),
        (X, {"metric": "cosine"}),
        (D, {"metric": "precomputed"}),
        (stored, {"metric": "precomputed"}),
        (stored, {"metric": "graph"}),
        (X, {"n_neighbors": 9}),
        (X, {"constraint": "standardized"}),
        (X, {"n_components": 1}),
    ):
        # on a line, it depends on rounding errors whether a step from a kink is found
        stops = loss == "logistic" and "n_components" in params
        Y = embed(given, loss=loss, may_stop_early=stops, **params).reshape(5, 2, -1)
        apart = np.linalg.norm(Y[:, 0] - Y[:, 1], axis=1).max()
        assert apart < 1e-3 * size, params  # a solve that ends at kinks is not more precise
        assert np.linalg.norm(Y[0, 0] - Y[1, 0]) > 0.05


def test_row_11_copies_in_a_random_start_come_together():
    X = np.repeat(X60[:5], 2, axis=0)
    for loss in ("absolute", "squared"):
        Y = embed(X, init="random", loss=loss).reshape(5, 2, 2)
        assert np.linalg.norm(Y[:, 0] - Y[:, 1], axis=1).max() < 0.01


@pytest.mark.parametrize("metric", ["precomputed", "graph"])
def test_row_12_stored_zeros_are_pairs(metric):
    X = np.repeat(X60[:20], 2, axis=0)
    graph = KNeighborsTransformer(mode="distance", n_neighbors=4).fit_transform(X)
    assert (graph.data == 0).sum() == 80  # itself and its copy
    estimator = fit(graph, metric=metric)
    copies = (estimator.edges_[:, 0] % 2 == 0) & (np.diff(estimator.edges_, axis=1)[:, 0] == 1)
    assert copies.sum() == 20
    np.testing.assert_array_equal(estimator.distances_[copies], 0.0)
    Y = estimator.embedding_.reshape(20, 2, 2)
    assert np.linalg.norm(Y[:, 0] - Y[:, 1], axis=1).max() < 0.01
    # and at transform
    row = sp.coo_array(([0.0, 1.0], ([0, 0], [6, 9])), shape=(1, 40))
    np.testing.assert_array_equal(estimator.transform(row), estimator.embedding_[[6]])


def test_row_12_stored_zeros_within_neighbor_paths():
    X = np.repeat(X60[:20], 2, axis=0)
    graph = KNeighborsTransformer(mode="distance", n_neighbors=6).fit_transform(X)
    given = fit(graph, metric="precomputed", n_neighbors=6)
    raw = fit(X, n_neighbors=6)
    for estimator in (given, raw):
        pairs = estimator.edges_
        copies = (pairs[:, 0] % 2 == 0) & (pairs[:, 1] == pairs[:, 0] + 1)
        assert copies.sum() == 20
        np.testing.assert_array_equal(estimator.distances_[copies], 0.0)


@every_loss
@pytest.mark.parametrize("constraint", [None, "standardized"])
def test_row_15_an_original_distance_of_zero_keeps_every_loss_finite(loss, constraint):
    X = X60[:12].copy()
    X[1] = X[0]
    X[2] = X[0]
    for params in ({}, {"init": "random", "n_neighbors": 6}):
        # Items that meet at a kink may stop a solve.
        how = {"constraint": constraint, "max_iter": 40, "may_stop_early": True, **params}
        estimator = fit(X, loss=loss, **how)
        assert_finite(estimator.embedding_, (12, 2))
        assert np.isfinite(estimator.distortion_)
        assert np.isfinite(estimator.history_["value"]).all()
        assert_finite(estimator.transform(UNSEEN), (20, 2))


@every_loss
def test_row_16_embedding_distances_of_zero_and_of_absurd_size(loss):
    functions = resolve_loss(loss)
    for dtype in (torch.float32, torch.float64):
        d = torch.tensor([0.0, 0.0, 1e20, 1e20, 1e-20, 1.0], dtype=dtype)
        delta = torch.tensor([0.0, 1.0, 0.0, 1.0, 1.0, 1.0], dtype=dtype)
        largest = {"cubic": 1e10}.get(loss, 1e20)  # (1e20)^3 is beyond float32
        d = d.clamp(max=largest if dtype == torch.float32 else 1e20)
        if dtype == torch.float32 and loss not in ("absolute", "huber", "logistic", "cubic"):
            d = d.clamp(max=1e15)
        assert torch.isfinite(functions.value(delta, d)).all()
        assert torch.isfinite(functions.slope(delta, d)).all()


@every_loss
def test_row_16_an_initial_array_far_too_small_or_too_large(loss):
    start = RNG.standard_normal((60, 2))
    for size in (1e-12, 1e3):
        estimator = fit(X60, init=size * start, loss=loss)
        assert_finite(estimator.embedding_, (60, 2))
        assert np.isfinite(estimator.distortion_)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "params", [{}, {"metric": "cosine"}, {"metric": "chebyshev"}, {"n_neighbors": 4}]
)
def test_row_17_what_is_not_finite_is_an_error(bad, params):
    broken = np.where(RNG.random(X60.shape) < 0.1, bad, X60)
    for X in (broken, sp.csr_array(broken), broken.astype(np.float32)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            PreserveDistances(**params).fit(X)
    estimator = fit(X60, **params)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        estimator.transform(broken)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        estimator.score(broken)


@pytest.mark.parametrize("metric", ["precomputed", "graph"])
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_row_17_distances_that_are_nan(metric, form):
    broken = D60.copy()
    broken[3, 4] = broken[4, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        PreserveDistances(metric=metric).fit(form(broken))
    with pytest.raises(ValueError, match="NaN"):
        fit(D60, metric=metric).transform(form(broken[3:5]))


# Losses that are functions of lengths alone, or of a ratio of lengths
HOMOGENEOUS = ["absolute", "squared", "cubic", "fractional"]


@pytest.mark.parametrize("loss", HOMOGENEOUS)
@every_kind
def test_row_18_scale_is_that_of_the_distances(kind, loss):
    factor = 2.0**83 if loss in ("absolute", "cubic") else 2.0**-83
    if kind == "cosine":
        pytest.skip("has no scale")
    X, unseen, params = KINDS[kind]
    with_units = {"max_iter": 8, "loss": loss, **params}
    plain, changed = fit(X, **with_units), fit(X * factor, **with_units)
    unit = 1.0 if "constraint" in params else factor
    np.testing.assert_allclose(changed.embedding_ / unit, plain.embedding_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(changed.distances_ / factor, plain.distances_, rtol=1e-12)
    assert changed.scale_ * factor == pytest.approx(plain.scale_ * unit, rel=1e-12)
    assert changed.stress_ == pytest.approx(plain.stress_, rel=1e-9)
    assert changed.distortion_ == pytest.approx(
        plain.distortion_ * unit ** resolve_loss(loss).degree, rel=1e-9
    )
    np.testing.assert_allclose(
        changed.transform(unseen * factor) / unit, plain.transform(unseen), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("loss", ["absolute", "cubic"])
@pytest.mark.parametrize("factor", [1e25, 1e-25])
@pytest.mark.parametrize("params", [{}, {"metric": "manhattan"}, {"n_neighbors": 7}])
def test_row_18_any_scale_of_rows(factor, loss, params):
    plain, changed = fit(X60[:40], loss=loss, **params), fit(factor * X60[:40], loss=loss, **params)
    np.testing.assert_allclose(changed.embedding_ / factor, plain.embedding_, rtol=0, atol=1e-4)
    assert changed.stress_ == pytest.approx(plain.stress_, rel=1e-4)
    np.testing.assert_allclose(
        changed.transform(factor * UNSEEN) / factor, plain.transform(UNSEEN), rtol=0, atol=1e-3
    )


@pytest.mark.parametrize("factor", [1e25, 1e-25])
@pytest.mark.parametrize("metric", ["precomputed", "graph"])
def test_row_18_any_scale_of_distances(factor, metric):
    # Rounding decides where kinks send a solve, so these losses are smooth.
    for loss in ("squared", "sammon"):
        plain = fit(D60, metric=metric, loss=loss)
        changed = fit(factor * D60, metric=metric, loss=loss)
        atol = 0.005
        np.testing.assert_allclose(changed.embedding_ / factor, plain.embedding_, rtol=0, atol=atol)
        assert changed.stress_ == pytest.approx(plain.stress_, rel=1e-4)


def test_row_18_float32_data_of_great_and_small_size():
    X = X60.astype(np.float32)
    plain = embed(X)
    for factor in (np.float32(2.0**120), np.float32(2.0**-100)):
        np.testing.assert_allclose(embed(X * factor) / factor, plain, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared", "cubic", "sammon", "huber"])
def test_row_18_a_shift_does_not_matter(loss):
    precise = {"loss": loss, "tol": 1e-8}
    plain = fit(X60, **precise)
    shifted = fit(X60 + 1e8, **precise)  # moves the entries to multiples of 1.5e-8
    np.testing.assert_allclose(shifted.distances_, plain.distances_, atol=1e-6)
    np.testing.assert_allclose(shifted.embedding_, plain.embedding_, atol=1e-3)
    np.testing.assert_allclose(shifted.transform(UNSEEN + 1e8), plain.transform(UNSEEN), atol=1e-3)


def test_row_18_a_shift_changes_no_distance_and_no_path():
    for params in ({}, {"n_neighbors": 7}, {"metric": "chebyshev"}):
        plain, shifted = fit(X60, **params), fit(X60 + 1e8, **params)
        np.testing.assert_allclose(shifted.distances_, plain.distances_, atol=1e-6)
        assert shifted.distortion_ == pytest.approx(plain.distortion_, rel=0.01)


def test_row_19_bytes_do_not_wrap_around():
    counts = RNG.integers(0, 256, (60, 5))
    expected = fit(counts.astype(float))
    for X in (counts.astype(np.uint8), torch.tensor(counts, dtype=torch.uint8)):
        estimator = fit(X)
        np.testing.assert_array_equal(estimator.embedding_, expected.embedding_)
        unseen = X.flip(1) if isinstance(X, torch.Tensor) else X[:, ::-1]
        np.testing.assert_array_equal(
            estimator.transform(unseen), expected.transform(counts[:, ::-1].astype(float))
        )
    for metric in ("manhattan", "cosine", "canberra"):
        np.testing.assert_array_equal(
            embed(counts.astype(np.uint8), metric=metric),
            embed(counts.astype(float), metric=metric),
        )
    assert_finite(embed(counts > 100), (60, 2))


@pytest.mark.parametrize("metric", ["precomputed", "graph"])
def test_row_19_distances_of_bytes(metric):
    whole = np.rint(30 * D60)
    expected = fit(whole, metric=metric)
    for X in (
        whole.astype(np.uint8),
        sp.csr_array(whole.astype(np.uint8)),
        torch.tensor(whole).byte(),
    ):
        if metric == "precomputed" and sp.issparse(X):
            continue  # rounding of the solve: another start
        estimator = fit(X, metric=metric)
        np.testing.assert_array_equal(estimator.embedding_, expected.embedding_)
        np.testing.assert_array_equal(
            estimator.transform(np.rint(30 * TO60).astype(np.uint8)),
            expected.transform(np.rint(30 * TO60)),
        )


@every_loss
def test_row_20_cosine_with_zero_and_opposite_rows(loss):
    X = np.concatenate([X60[:20], -X60[:10], np.zeros((3, 5))])
    estimator = fit(X, metric="cosine", loss=loss)
    assert_finite(estimator.embedding_, (33, 2))
    i, j = estimator.edges_.T
    np.testing.assert_array_equal(estimator.distances_[j >= 30], 1.0)
    np.testing.assert_allclose(estimator.distances_[(j == i + 20) & (j < 30)], 2.0)
    np.testing.assert_array_equal(estimator.transform(X[:30]), estimator.embedding_[:30])
    np.testing.assert_array_equal(estimator.transform(X[30:]), estimator.embedding_[[30, 30, 30]])
    assert_finite(embed(X, metric="correlation", loss=loss), (33, 2))
    assert_finite(embed(X, metric="cosine", n_neighbors=5, loss=loss), (33, 2))


@pytest.mark.parametrize("metric", ["jaccard", "dice", "yule", "rogerstanimoto", "sokalsneath"])
def test_row_21_boolean_metrics_with_zero_rows(metric):
    X = np.random.default_rng(0).random((40, 20)) < 0.3
    X[:4] = False
    X = np.concatenate([X[:4], np.unique(X[X.any(axis=1)], axis=0)])
    for params in ({}, {"n_neighbors": 6}, {"init": "pca"}):
        if metric == "yule" and "n_neighbors" in params:
            continue
        estimator = fit(X, metric=metric, **params)
        assert_finite(estimator.embedding_, (len(X), 2))
        assert_finite(estimator.transform(X[:6, ::-1]), (6, 2))
        np.testing.assert_array_equal(estimator.transform(X[4:]), estimator.embedding_[4:])


@pytest.mark.parametrize("wrap", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("kind", ["rows", "dense distances"])
def test_row_22_containers_of_numbers(wrap, kind):
    X, unseen, params = KINDS[kind]
    expected = fit(X, max_iter=5, **params)
    estimator = fit(wrap(X), max_iter=5, **params)
    np.testing.assert_array_equal(estimator.embedding_, expected.embedding_)
    np.testing.assert_array_equal(estimator.transform(wrap(unseen)), expected.transform(unseen))
    assert estimator.score(wrap(unseen)) == expected.score(unseen)


@pytest.mark.parametrize("wrap", CONTAINERS.values(), ids=CONTAINERS)
def test_row_22_containers_of_a_graph_of_an_array_and_of_weights(wrap):
    dense = GRAPH.toarray()
    np.testing.assert_array_equal(
        embed(wrap(dense), metric="graph", max_iter=30), embed(dense, metric="graph", max_iter=30)
    )
    weights = wrap(1.0 + (D60 < 2))
    if not getattr(weights, "requires_grad", False):
        np.testing.assert_array_equal(
            embed(X60, weights, max_iter=30), embed(X60, 1.0 + (D60 < 2), max_iter=30)
        )


@pytest.mark.parametrize(
    "params", [{"n_neighbors": 2}, {"metric": "precomputed"}, {"metric": "graph"}]
)
@pytest.mark.parametrize("what", NOT_NUMBERS)
def test_row_23_what_is_no_matrix_of_numbers(what, params):
    X, message = NOT_NUMBERS[what]
    with pytest.raises(ValueError, match=message):
        PreserveDistances(**params).fit(X)


@pytest.mark.parametrize("form", sparse_forms(np.eye(3)))
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_rows_24_25_sparse_data_is_as_good_as_dense(form, metric):
    X = np.where(np.abs(X60) > 0.5, X60, 0.0)
    unseen = np.where(np.abs(UNSEEN) > 0.5, UNSEEN, 0.0)
    dense = fit(X, metric=metric, loss="squared")
    sparse = fit(sparse_forms(X)[form], metric=metric, loss="squared")
    np.testing.assert_allclose(sparse.distances_, dense.distances_, atol=1e-12)
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=2e-3)
    np.testing.assert_allclose(
        sparse.transform(sparse_forms(unseen)[form]), dense.transform(unseen), atol=2e-3
    )
    np.testing.assert_array_equal(sparse.transform(sparse_forms(X)[form]), sparse.embedding_)


@pytest.mark.parametrize("form", sparse_forms(np.eye(3)))
@pytest.mark.parametrize("metric", ["precomputed", "graph"])
@pytest.mark.parametrize("n_neighbors", [None, 7])
def test_row_24_forms_of_a_sparse_matrix_of_distances(form, metric, n_neighbors):
    if metric == "graph" and n_neighbors:
        pytest.skip("a graph has its neighbours")
    expected = fit(GRAPH, metric=metric, n_neighbors=n_neighbors, max_iter=30)
    given = fit(sparse_forms(GRAPH)[form], metric=metric, n_neighbors=n_neighbors, max_iter=30)
    np.testing.assert_array_equal(given.edges_, expected.edges_)
    np.testing.assert_array_equal(given.distances_, expected.distances_)
    np.testing.assert_array_equal(given.embedding_, expected.embedding_)
    unseen = np.where(TO60 < 2.5, TO60, 0.0)
    np.testing.assert_array_equal(
        given.transform(sparse_forms(unseen)[form]), expected.transform(sp.csr_array(unseen))
    )


def test_row_25_a_square_sparse_matrix_is_data_unless_precomputed():
    as_data = fit(GRAPH, loss="squared")
    assert len(as_data.distances_) == 60 * 59 // 2
    np.testing.assert_allclose(
        as_data.embedding_, embed(GRAPH.toarray(), loss="squared"), atol=1e-3
    )
    both = (GRAPH + GRAPH.T).nnz // 2
    assert len(fit(GRAPH, metric="precomputed").distances_) == both
    paths = fit(GRAPH, metric="graph")
    assert len(paths.distances_) + paths.n_unreachable_ == 60 * 59 // 2


def test_row_26_data_and_distances_are_one():
    raw = fit(X60, loss="squared")
    pairs = np.indices((60, 60)).reshape(2, -1)
    stored = sp.coo_array((D60.ravel(), pairs), shape=(60, 60))
    upper = sp.triu(stored, 1)
    for X in (D60, stored, upper, torch.tensor(D60), pd.DataFrame(D60), stored.tocsc()):
        given = fit(X, metric="precomputed", loss="squared")
        np.testing.assert_array_equal(given.edges_, raw.edges_)
        np.testing.assert_allclose(given.distances_, raw.distances_, rtol=1e-12)
        np.testing.assert_allclose(given.embedding_, raw.embedding_, atol=2e-3)
        np.testing.assert_allclose(given.transform(TO60), raw.transform(UNSEEN), atol=2e-3)
    # With a kink, rounding decides where a solve goes, but hardly how good its end is.
    assert fit(D60, metric="precomputed").distortion_ == pytest.approx(
        fit(X60).distortion_, rel=0.005
    )


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_row_26_data_distances_and_graphs_have_the_same_paths(loss):
    raw = embed(X60, n_neighbors=7, loss=loss)
    with_self = KNeighborsTransformer(n_neighbors=7).fit_transform(X60)
    for X in (D60, GRAPH, with_self, torch.tensor(D60)):
        given = embed(X, metric="precomputed", n_neighbors=7, loss=loss)
        np.testing.assert_allclose(given, raw, atol=1e-5)
    for X in (GRAPH, GRAPH.toarray(), GRAPH.tocoo()):
        np.testing.assert_allclose(embed(X, metric="graph", loss=loss), raw, atol=1e-5)


@pytest.mark.parametrize("metric", ["precomputed", "graph"])
def test_row_27_graphs_with_and_without_the_samples_themselves(metric):
    with_self = KNeighborsTransformer(mode="distance", n_neighbors=7).fit_transform(X60)
    assert with_self.nnz == GRAPH.nnz + 60
    bare, other = fit(GRAPH, metric=metric), fit(with_self, metric=metric)
    np.testing.assert_array_equal(other.embedding_, bare.embedding_)
    np.testing.assert_array_equal(other.edges_, bare.edges_)


def test_row_27_rows_of_unequal_length():
    graph = sp.lil_array(GRAPH)
    graph[0] = 0  # no neighbours of its own
    graph[1, 2:] = D60[1, 2:]  # nearly all
    estimator = fit(graph.tocsr(), metric="precomputed")
    stored = graph.toarray()
    i, j = estimator.edges_.T
    upper = np.triu(np.maximum(stored, stored.T), 1)
    assert len(i) == (upper > 0).sum()
    np.testing.assert_allclose(estimator.distances_, upper[i, j])
    assert_finite(estimator.embedding_, (60, 2))
    assert_finite(embed(graph.tocsr(), metric="precomputed", n_neighbors=3), (60, 2))


@pytest.mark.parametrize(
    "params", [{}, {"n_neighbors": 5}, {"constraint": "standardized"}, {"max_pairs": 500}]
)
def test_row_29_negative_and_asymmetric_distances(params):
    for metric in ("precomputed", "graph"):
        if metric == "graph" and "n_neighbors" in params:
            continue
        for form in (np.array, sp.csr_array):
            negative = D60.copy()
            negative[2, 5] = negative[5, 2] = -1.0
            with pytest.raises(ValueError, match=r"must not be negative, got -1\.0"):
                PreserveDistances(metric=metric, **params).fit(form(negative))
            estimator = fit(D60, metric=metric, max_iter=50, **params)
            with pytest.raises(ValueError, match="must not be negative"):
                estimator.transform(form(-D60[:3]))
            lopsided = D60 * np.where(np.triu(np.ones((60, 60))) > 0, 1.5, 0.5)
            before = lopsided.copy()
            given = form(lopsided)
            if sp.issparse(given) and "n_neighbors" in params:
                continue  # a graph of neighbours has directions
            with pytest.warns(UserWarning, match=r"not symmetric.*average") as caught:
                mean = PreserveDistances(metric=metric, random_state=0, max_iter=50, **params)
                mean.fit(given)
            assert sum("symmetric" in str(warning.message) for warning in caught) == 1
            expected = fit(form(D60), metric=metric, max_iter=50, **params)
            np.testing.assert_allclose(mean.distances_, expected.distances_, rtol=1e-12)
            np.testing.assert_array_equal(mean.edges_, expected.edges_)
            np.testing.assert_array_equal(lopsided, before)


def test_row_29_rounding_is_no_asymmetry():
    nearly = D60 * (1 + 1e-12 * RNG.standard_normal((60, 60)))
    assert_finite(embed(nearly, metric="precomputed"), (60, 2))
    below_zero = D60.copy()
    below_zero[np.diag_indices(60)] = -2.3e-16
    assert_finite(embed(below_zero, metric="precomputed"), (60, 2))


def halves():
    distances = D60.copy()
    distances[:30, 30:] = distances[30:, :30] = np.inf
    distances[3, 7] = distances[7, 3] = np.inf
    return distances


@pytest.mark.parametrize("metric", ["precomputed", "graph"])
@pytest.mark.parametrize("form", [np.array, sp.csr_array, pd.DataFrame])
def test_row_30_infinite_distances_are_left_out(metric, form):
    distances = form(halves())
    before = distances.copy()
    estimator = fit(distances, metric=metric)
    assert_finite(estimator.embedding_, (60, 2))
    i, j = estimator.edges_.T
    assert ((i < 30) == (j < 30)).all()
    there = 2 * 30 * 29 // 2 - (metric == "precomputed")
    assert len(i) == there
    assert estimator.n_unreachable_ == 60 * 59 // 2 - there
    assert np.isfinite(estimator.distances_).all()
    assert np.isfinite([estimator.stress_, estimator.distortion_]).all()
    if sp.issparse(distances):
        np.testing.assert_array_equal(distances.toarray(), before.toarray())
    else:
        np.testing.assert_array_equal(np.asarray(distances), np.asarray(before))
    unseen = halves()[:4]
    unseen[0] = np.inf
    unseen[1, 30:] = np.inf
    kept = unseen.copy()
    Y = estimator.transform(unseen)
    assert_finite(Y, (4, 2))
    np.testing.assert_array_equal(unseen, kept)
    np.testing.assert_allclose(Y[0], estimator.embedding_.mean(axis=0), atol=1e-6)
    assert np.isfinite(estimator.score(unseen))


@pytest.mark.parametrize("metric", ["precomputed", "graph"])
@pytest.mark.parametrize("init", ["classical", "random"])
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_row_31_a_vertex_without_edges(metric, init, n_components):
    graph = sp.block_diag([GRAPH, sp.csr_array((2, 2))])
    params = {"metric": metric, "init": init, "n_components": n_components}
    estimator = fit(graph, **params)
    assert_finite(estimator.embedding_, (62, n_components))
    assert n_distinct(estimator.embedding_) == 62
    assert not (estimator.edges_ >= 60).any()
    assert_finite(embed(graph, constraint="standardized", **params), (62, n_components))
    dense = np.where(graph.toarray() > 0, graph.toarray(), np.inf)
    if metric == "precomputed":
        Y = embed(np.minimum(dense, dense.T), **params)
        assert n_distinct(Y) == 62


def boxes_are_apart(Y, labels):
    """Whether the boxes around groups of points have no point in common, nor the groups a line."""
    low = np.array([Y[labels == c].min(axis=0) for c in np.unique(labels)])
    high = np.array([Y[labels == c].max(axis=0) for c in np.unique(labels)])
    apart = ((low[:, None] > high) | (high[:, None] < low)).any(axis=2)
    return apart[np.triu_indices(len(low), 1)].all()


@pytest.mark.parametrize("init", ["classical", "pca", "random"])
@pytest.mark.parametrize("loss", ["absolute", "fractional"])
@pytest.mark.parametrize(("n_blobs", "size"), [(2, 6), (4, 6), (4, 15)])
def test_row_32_blobs_far_apart(n_blobs, size, init, loss):
    rng = np.random.default_rng(0)
    centres = 100.0 * np.eye(5)[:n_blobs]
    X = np.concatenate([rng.standard_normal((size, 5)) + centre for centre in centres])
    labels = np.repeat(np.arange(n_blobs), size)
    between = n_blobs * (n_blobs - 1) // 2 * size**2
    for params, lost in (({"n_neighbors": 4}, between), ({}, 0)):
        estimator = fit(X, init=init, loss=loss, max_iter=100, **params)
        assert estimator.n_unreachable_ == lost
        assert_finite(estimator.embedding_, (n_blobs * size, 2))
        assert n_distinct(estimator.embedding_) == n_blobs * size
        # From a random start, an absolute loss of all pairs may end with a few items astray.
        if not (init == "random" and loss == "absolute" and n_blobs > 2 and not params):
            assert boxes_are_apart(estimator.embedding_, labels)


@pytest.mark.parametrize("metric", ["precomputed", "graph"])
@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("init", ["classical", "random"])
def test_row_32_parts_of_a_graph(metric, n_components, init):
    links = [sp.diags_array([np.ones(n - 1)], offsets=[1], shape=(n, n)) for n in (6, 6, 9)]
    graph = sp.block_diag([*links, sp.csr_array((3, 3))]).tocsr()
    labels = np.repeat(np.arange(6), [6, 6, 9, 1, 1, 1])
    estimator = fit(graph, metric=metric, n_components=n_components, init=init)
    if (metric, n_components) != ("precomputed", 1):  # a chain may fold on a line
        assert n_distinct(estimator.embedding_) == 24
    assert boxes_are_apart(estimator.embedding_, labels)
    np.testing.assert_allclose(estimator.embedding_.mean(axis=0), 0.0, atol=1e-6)


@every_kind
def test_row_33_unseen_rows_do_not_see_each_other(kind):
    loss = "absolute" if "rows" in kind or "graph" in kind else "sammon"
    estimator, unseen = fit_kind(kind, loss=loss, max_iter=20)
    together = estimator.transform(unseen)
    assert_finite(together, (20, 2))
    unseen = unseen.tocsr() if sp.issparse(unseen) else unseen
    alone = np.concatenate([estimator.transform(unseen[[r]]) for r in range(20)])
    order = np.random.default_rng(0).permutation(20)
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-7)
    np.testing.assert_allclose(
        estimator.transform(unseen[order]), together[order], rtol=0, atol=1e-7
    )
    np.testing.assert_allclose(estimator.transform(unseen[5:9]), together[5:9], rtol=0, atol=1e-7)


def test_row_33_with_more_training_rows_than_anchors():
    X = np.random.default_rng(0).standard_normal((1300, 6))
    for params in ({"max_pairs": 20_000}, {"n_neighbors": 8, "max_pairs": 20_000}):
        estimator = fit(X, max_iter=30, **params)
        unseen = np.random.default_rng(1).standard_normal((300, 6))
        together = estimator.transform(unseen)
        alone = np.concatenate([estimator.transform(row[None]) for row in unseen[:20]])
        np.testing.assert_allclose(alone, together[:20], rtol=0, atol=1e-7)
        np.testing.assert_allclose(
            estimator.transform(unseen[::-1]), together[::-1], rtol=0, atol=1e-7
        )
        np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)


@every_kind
def test_row_34_training_rows_among_unseen_rows(kind):
    estimator, unseen = fit_kind(kind, max_iter=50)
    X = KINDS[kind][0]
    stack = (
        sp.vstack
        if sp.issparse(X) and sp.issparse(unseen)
        else lambda rows: np.concatenate(
            [part.toarray() if sp.issparse(part) else part for part in rows]
        )
    )
    if sp.issparse(X) and not sp.issparse(unseen):
        np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)
        unseen = sp.csr_array(unseen)
        stack = sp.vstack
    together = estimator.transform(stack([unseen[:10], X, unseen[10:]]))
    np.testing.assert_array_equal(together[10:-10], estimator.embedding_)
    np.testing.assert_allclose(
        np.concatenate([together[:10], together[-10:]]),
        estimator.transform(unseen),
        rtol=0,
        atol=1e-7,
    )


@pytest.mark.parametrize(
    "metric",
    ["correlation", "nan_euclidean", "canberra", "braycurtis", "mahalanobis", "seuclidean", "tsss"],
)
def test_row_34_under_other_metrics(metric):
    for params in ({}, {"n_neighbors": 8}):
        estimator = fit(X60, metric=metric, max_iter=30, **params)
        np.testing.assert_array_equal(estimator.transform(X60[7:20]), estimator.embedding_[7:20])


def test_row_34_samples_at_distance_zero_from_a_training_sample():
    for metric in ("precomputed", "graph"):
        estimator = fit(D60, metric=metric)
        for distances in (D60[7:20], D60[7:20] * 1.001):  # the same items, also measured anew
            # a dense 0 is no edge of a graph
            rows = distances if metric == "precomputed" else stored(distances)
            np.testing.assert_array_equal(estimator.transform(rows), estimator.embedding_[7:20])


@every_kind
def test_row_35_wrong_width_and_transform_before_fit(kind):
    X, unseen, params = KINDS[kind]
    with pytest.raises(NotFittedError, match="not fitted yet"):
        PreserveDistances(**params).transform(unseen)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        PreserveDistances(**params).score(unseen)
    estimator, _ = fit_kind(kind, max_iter=5)
    d = X.shape[1]
    narrow = unseen.tocsr()[:, : d - 1] if sp.issparse(unseen) else unseen[:, : d - 1]
    for method in (estimator.transform, estimator.score):
        with pytest.raises(ValueError, match=rf"{d - 1} features.*expecting {d}"):
            method(narrow)


def test_row_35_edges_before_fit():
    with pytest.raises((NotFittedError, AttributeError)):
        PreserveDistances().edges_  # noqa: B018


@pytest.mark.parametrize("params", [{}, {"n_neighbors": 7}, {"metric": "cosine"}])
def test_row_36_more_rows_than_training(params):
    estimator = fit(X60, **params)
    many = np.random.default_rng(0).standard_normal((700, 5))
    Y = estimator.transform(many)
    assert_finite(Y, (700, 2))
    np.testing.assert_array_equal(Y[690:], estimator.transform(many[690:]))


@every_kind
def test_row_37_one_row(kind):
    estimator, unseen = fit_kind(kind, max_iter=5)
    unseen = unseen.tocsr() if sp.issparse(unseen) else unseen
    assert_finite(estimator.transform(unseen[[0]]), (1, 2))
    assert np.isfinite(estimator.score(unseen[[0]]))
    if not sp.issparse(unseen):
        with pytest.raises(ValueError, match="Reshape your data"):
            estimator.transform(unseen[0])


@pytest.mark.filterwarnings("ignore:.*placed where their distortion can still decrease")
@pytest.mark.parametrize("factor", [10.0, 1e6, 1e30])
@pytest.mark.parametrize("loss", ["absolute", "cubic"])
@pytest.mark.parametrize("kind", ["rows", "dense distances", "neighbors", "standardized"])
def test_row_38_a_row_far_outside(factor, loss, kind):
    estimator, unseen = fit_kind(kind, loss=loss, max_iter=50)
    Y = estimator.transform(factor * unseen)
    assert_finite(Y, (20, 2))
    if factor == 10.0 and kind in ("rows", "dense distances"):
        given = pairwise_distances(factor * UNSEEN, X60) if kind == "rows" else factor * TO60
        found = pairwise_distances(Y, estimator.embedding_)
        np.testing.assert_allclose(np.median(found, axis=1), np.median(given, axis=1), rtol=0.2)
    assert np.isfinite(estimator.score(factor * unseen))


def test_row_39_precomputed_distances_of_unseen_samples():
    raw = fit(X60, loss="squared")
    expected = raw.transform(UNSEEN)
    pairs = np.indices((20, 60)).reshape(2, -1)
    stored = sp.coo_array((TO60.ravel(), pairs), shape=(20, 60))
    for metric in ("precomputed", "graph"):
        estimator = fit(D60, metric=metric, loss="squared")
        for unseen in (TO60, stored, stored.tocsr(), stored.tocsc(), torch.tensor(TO60)):
            np.testing.assert_allclose(estimator.transform(unseen), expected, atol=2e-3)
        with pytest.raises(ValueError, match=r"59 features.*expecting 60"):
            estimator.transform(TO60[:, :59])


def test_row_39_sparse_rows_are_the_pairs_that_they_store():
    estimator = fit(D60, metric="precomputed")
    some = np.where(RNG.random((20, 60)) < 0.3, TO60, np.inf)
    i, j = np.nonzero(np.isfinite(some))
    stored = sp.csr_array((some[i, j], (i, j)), shape=(20, 60))
    np.testing.assert_array_equal(estimator.transform(stored), estimator.transform(some))
    centre = estimator.embedding_.mean(axis=0)
    np.testing.assert_allclose(
        estimator.transform(sp.csr_array((3, 60))), [centre, centre, centre], atol=1e-6
    )


def test_row_39_neighbors_of_unseen_samples():
    raw = fit(X60, n_neighbors=7)
    expected = raw.transform(UNSEEN)
    search = KNeighborsTransformer(n_neighbors=7).fit(X60)
    for train in (D60, GRAPH, search.transform(X60)):
        estimator = fit(train, metric="precomputed", n_neighbors=7)
        for unseen in (TO60, search.transform(UNSEEN), sp.coo_array(search.transform(UNSEEN))):
            np.testing.assert_allclose(estimator.transform(unseen), expected, atol=1e-5)


@every_kind
def test_row_42_same_seed_same_bits(kind):
    first, unseen = fit_kind(kind, max_iter=20)
    second, _ = fit_kind(kind, max_iter=20)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    np.testing.assert_array_equal(first.transform(unseen), second.transform(unseen))


def test_row_42_another_seed_is_another_embedding():
    for params in ({"init": "random"}, {"max_pairs": 500}):
        assert not np.array_equal(
            embed(X60, random_state=0, **params), embed(X60, random_state=1, **params)
        )
        generator = np.random.RandomState(0)
        first, second = (embed(X60, random_state=generator, **params) for _ in range(2))
        assert not np.array_equal(first, second)


@pytest.mark.parametrize(("init", "random_state"), [("classical", 0), ("random", None)])
@pytest.mark.parametrize("kind", ["rows", "sparse distances", "links", "neighbors", "few pairs"])
def test_row_43_global_random_states_are_untouched(kind, init, random_state):
    numpy_before, torch_before = np.random.get_state(), torch.get_rng_state()
    estimator, unseen = fit_kind(kind, init=init, random_state=random_state, max_iter=5)
    estimator.transform(unseen)
    estimator.score(unseen)
    numpy_after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(numpy_before, numpy_after, strict=True))
    assert torch.equal(torch_before, torch.get_rng_state())


def test_row_43_no_seed_means_a_fresh_one():
    np.random.seed(0)
    first = PreserveDistances(init="random", max_iter=0).fit(X60).embedding_
    np.random.seed(0)
    second = PreserveDistances(init="random", max_iter=0).fit(X60).embedding_
    assert not np.array_equal(first, second)


def test_row_44_set_output_keeps_names_and_index():
    polars = pytest.importorskip("polars")
    frame = pd.DataFrame(X60, columns=list("abcde"), index=np.arange(60) * 7)
    estimator = PreserveDistances(random_state=0).set_output(transform="pandas")
    out = estimator.fit_transform(frame)
    assert out.columns.tolist() == ["preservedistances0", "preservedistances1"]
    assert (out.index == frame.index).all()
    assert (estimator.transform(frame.iloc[5:9]).index == frame.index[5:9]).all()
    out = estimator.set_output(transform="polars").fit_transform(frame)
    assert isinstance(out, polars.DataFrame)
    names = [f"item {k}" for k in range(60)]
    distances = pd.DataFrame(D60, columns=names, index=names)
    estimator.set_params(metric="precomputed").set_output(transform="pandas")
    out = estimator.fit_transform(distances)
    assert out.index.tolist() == names
    assert estimator.feature_names_in_.tolist() == names


def test_row_45_pipeline_with_memory_and_grid_search(tmp_path):
    pipeline = make_pipeline(
        StandardScaler(), PreserveDistances(random_state=0, max_iter=40), memory=str(tmp_path)
    )
    grid = {
        "preservedistances__loss": ["squared", skmde.HuberLoss(0.5)],
        "preservedistances__n_neighbors": [None, 7],
    }
    search = GridSearchCV(pipeline, grid, n_jobs=2, cv=2, error_score="raise").fit(X60)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) == 4
    again = clone(search.best_estimator_).fit(X60)
    np.testing.assert_array_equal(again.transform(UNSEEN), search.transform(UNSEEN))
    inner = GridSearchCV(
        PreserveDistances(loss=skmde.HuberLoss(), random_state=0),
        {"loss__threshold": [0.1, 2.0]},
        cv=2,
        error_score="raise",
    ).fit(X60)
    assert len(set(inner.cv_results_["mean_test_score"])) == 2


@pytest.mark.parametrize("params", [{}, {"n_neighbors": 8}])
def test_row_47_grid_search_slices_both_axes_of_distances(params):
    grid = {"loss": ["squared", "sammon"]}
    options = {"cv": 3, "error_score": "raise"}
    raw = GridSearchCV(PreserveDistances(random_state=0, **params), grid, **options).fit(X60)
    given = GridSearchCV(
        PreserveDistances(metric="precomputed", random_state=0, **params), grid, **options
    )
    pairs = np.indices((60, 60)).reshape(2, -1)
    stored = sp.coo_array((D60.ravel(), pairs), shape=(60, 60)).tocsr()
    for X in (D60, stored):
        given.fit(X)
        for name in ("split0_test_score", "split1_test_score", "split2_test_score"):
            np.testing.assert_allclose(given.cv_results_[name], raw.cv_results_[name], atol=0.01)
        assert given.best_estimator_.n_features_in_ == 60


def test_row_47_grid_search_slices_both_axes_of_a_graph():
    search = GridSearchCV(
        PreserveDistances(metric="graph", random_state=0),
        {"loss": ["squared", "absolute"]},
        cv=3,
        error_score="raise",
    )
    for X in (D60, sp.csr_array(D60)):
        search.fit(X)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("params", "pairwise"),
    [
        ({}, False),
        ({"metric": "manhattan"}, False),
        ({"metric": pairwise_distances}, False),
        ({"n_neighbors": 5}, False),
        ({"metric": "precomputed"}, True),
        ({"metric": "precomputed", "n_neighbors": 5}, True),
        ({"metric": "graph"}, True),
    ],
)
def test_row_47_the_pairwise_tag(params, pairwise):
    assert get_tags(PreserveDistances(**params)).input_tags.pairwise is pairwise


@pytest.mark.parametrize("kind", [name for name in KINDS if "sparse" not in name])
def test_row_48_read_only_memory_maps(kind, tmp_path):
    X, unseen, params = KINDS[kind]
    if sp.issparse(X):
        pytest.skip("see the next test")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "unseen.npy", unseen)
    before = (tmp_path / "X.npy").read_bytes(), (tmp_path / "unseen.npy").read_bytes()
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    unseen_mapped = np.load(tmp_path / "unseen.npy", mmap_mode="r")
    estimator, expected = fit(mapped, max_iter=20, **params), fit(X, max_iter=20, **params)
    np.testing.assert_array_equal(estimator.embedding_, expected.embedding_)
    np.testing.assert_array_equal(estimator.transform(unseen_mapped), expected.transform(unseen))
    assert estimator.score(unseen_mapped) == expected.score(unseen)
    after = (tmp_path / "X.npy").read_bytes(), (tmp_path / "unseen.npy").read_bytes()
    assert after == before


def read_only(X):
    X = X.copy()
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.flags.writeable = False
    return X


@every_kind
def test_row_48_read_only_arrays(kind):
    X, unseen, params = KINDS[kind]
    init, weights = read_only(RNG.standard_normal((60, 2))), read_only(1.0 + (D60 < 2))
    frozen = read_only(X), read_only(unseen)
    weights = weights if "n_neighbors" not in params else None
    estimator = fit(frozen[0], weights, init=init, max_iter=20, **params)
    expected = fit(X, weights, init=init.copy(), max_iter=20, **params)
    np.testing.assert_array_equal(estimator.embedding_, expected.embedding_)
    np.testing.assert_array_equal(estimator.transform(frozen[1]), expected.transform(unseen))


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "callable"])
def test_row_49_pickled_here(kind):
    estimator, unseen = fit_kind(kind, max_iter=20)
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.transform(unseen), estimator.transform(unseen))
    np.testing.assert_array_equal(again.edges_, estimator.edges_)
    assert again.score(unseen) == estimator.score(unseen)


@pytest.mark.parametrize("params", [{}, {"metric": "cosine"}])
def test_row_55_pairs_are_sampled_where_there_are_too_many(params):
    n = 20_000  # a table of its distances would take 1.6 GB in float32
    X = np.random.default_rng(0).standard_normal((n, 4)).astype(np.float32)
    PreserveDistances(max_pairs=100, max_iter=1, random_state=0, **params).fit(X[:500])
    tracemalloc.start()
    try:
        estimator = fit(X, max_pairs=50_000, max_iter=3, **params)
        estimator.transform(X[:300] + 0.01)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(estimator.edges_) == 50_000
    assert peak < 1.2e8
