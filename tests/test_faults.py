"""Inputs that break other embedding libraries: the whole list of faults, for every estimator.

A test for each row of the list, over all entries of ``fault_cases.CASES`` that the row applies to.
``tests/estimators`` goes deeper into what is particular to each estimator.
"""

import pickle
import re
import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from fault_cases import CASES, assert_finite, coordinates, n_distinct, over
from fault_inputs import CONTAINERS, NOT_NUMBERS, sparse_forms
from fault_processes import needs_posix, run_all
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skmde
from skmde import Anchored
from skmde.functions.registry import NAMED_LOSSES as LOSSES, resolve_loss, resolve_penalty
from skmde.penalties import PENALTIES

RNG = np.random.default_rng(0)
X60 = RNG.standard_normal((60, 5))
UNSEEN = RNG.standard_normal((20, 5))
D60 = cdist(X60, X60)
TO60 = cdist(UNSEEN, X60)
NEAREST = NearestNeighbors(n_neighbors=7).fit(X60)
GRAPH = NEAREST.kneighbors_graph(mode="distance")
TABLES = NEAREST.kneighbors()[::-1]

FITTED = {}


def fitted(case):
    """The case fitted to `X60`, which no test changes."""
    key = id(case)
    if key not in FITTED:
        FITTED[key] = case.fit(X60)
    return FITTED[key]


@over()
def test_row_01_one_sample(case):
    with pytest.raises(ValueError, match=r"1 sample.*(minimum of 2|at least 2)"):
        case.fit(X60[:1])


@over()
@pytest.mark.parametrize("n", [2, 3])
def test_row_02_two_and_three_samples(case, n):
    estimator = case.fit(X60[:n])
    assert_finite(case.found(estimator), n)
    assert_finite(case.ask(estimator, UNSEEN), 20)


@over()
def test_row_03_hardly_more_samples_than_neighbours(case):
    for n, params in ((4, {}), (5, {}), (6, {}), (20, {"n_neighbors": 19})):
        Y = case.found(case.fit(X60[:n], **params))
        assert_finite(Y, n)
        if not case.classifies:
            assert Y.std() > 0.1
        if case.distinct:
            assert n_distinct(Y) == n


@over(lambda case: case.has("n_neighbors"))
@pytest.mark.parametrize("n_neighbors", [20, 500])
def test_row_04_too_many_neighbours_are_clamped_with_one_warning(case, n_neighbors):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator = case.make(n_neighbors=n_neighbors).fit(X60[:20], case.y(X60[:20]))
    (warning,) = (w for w in caught if "n_neighbors" in str(w.message))
    assert warning.category is UserWarning
    assert f"n_neighbors={n_neighbors}" in str(warning.message)
    expected = case.fit(X60[:20], n_neighbors=19)
    np.testing.assert_array_equal(case.found(estimator), case.found(expected))
    assert_finite(case.ask(estimator, UNSEEN), 20)


@over(lambda case: case.has("n_components"))
def test_row_05_as_many_components_as_fit(case):
    def targets(m):
        y = case.y(X60[:10])
        return None if y is None else np.where(np.isnan(y[:, :1]), np.nan, RNG.random((10, m)))

    X = RNG.standard_normal((10, 12))
    Y = case.found(case.fit(X, y=targets(9), n_components=9))
    assert Y.shape == (10, 9)
    assert_finite(Y)
    if case.bounded_components:
        for m in (10, 11):
            with pytest.raises(ValueError, match=f"n_components={m} must be less.*at most 9"):
                case.fit(X, n_components=m)
    else:
        assert case.found(case.fit(X, y=targets(30), n_components=30)).shape == (10, 30)


@over(lambda case: case.pairs_are_neighbors)
def test_row_06_one_neighbour_is_another_sample(case):
    estimator = case.fit(X60, n_neighbors=1)
    assert_finite(case.found(estimator), 60)
    nearest = (D60 + np.diag(np.full(60, np.inf))).argmin(axis=1)
    wanted = {tuple(sorted(pair)) for pair in enumerate(nearest.tolist())}
    if case.y(X60) is not None:  # pairs of two anchors say nothing
        wanted = {pair for pair in wanted if pair[0] % 6 or pair[1] % 6}
    assert {tuple(sorted(pair)) for pair in case.pairs(estimator).tolist()} == wanted


@over()
def test_row_07_twenty_samples_with_defaults(case):
    estimator = case.fit(X60[:20], quiet=False)
    assert_finite(case.found(estimator), 20)
    assert_finite(case.ask(estimator, UNSEEN), 20)


@over()
def test_row_08_all_rows_equal(case):
    for params in ({}, {"metric": "cosine"}):
        estimator = case.fit(np.ones((20, 3)), X60[:20], **params)
        assert_finite(case.found(estimator), 20)
        assert_finite(case.ask(estimator, np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]])), 2)
        if case.distinct:
            assert n_distinct(case.found(estimator)) == 20


@over()
def test_row_09_one_column_and_a_constant_column(case):
    for X in (X60[:, :1], np.zeros((20, 1)), np.c_[X60, np.full(60, 1e6)]):
        estimator = case.fit(X, X60[: len(X)])
        assert_finite(case.found(estimator), len(X))
    with_constant = case.fit(np.c_[X60, np.zeros(60)], **case.smooth)
    np.testing.assert_allclose(
        case.found(with_constant), case.found(case.fit(X60, **case.smooth)), atol=1e-5
    )


@over()
def test_row_10_copies_stay_together(case):
    X = np.repeat(X60[[0, 2, 3]], 30, axis=0)
    group = np.repeat(np.arange(3), 30)
    estimator = case.fit(X)
    near = NearestNeighbors(n_neighbors=4).fit(case.found(estimator))
    assert (group[near.kneighbors(return_distance=False)] == group[:, None]).all()
    i, j = case.pairs(estimator).T
    assert (i != j).all()
    if case.pairs_are_neighbors:
        assert (group[i] == group[j]).all()


@over(lambda case: case.keeps_distances)
def test_row_11_copies_are_at_distance_zero(case):
    X = np.repeat(X60[:5], 2, axis=0)
    pairs = free_pairs(case, X, case.found(case.fit(X)))
    assert np.linalg.norm(pairs[:, 0] - pairs[:, 1], axis=1).max() < 1e-4 * D60.max()
    assert n_distinct(pairs[:, 0]) == len(pairs)


def free_pairs(case, X, Y):
    """Coordinates of rows 0 and 1, 2 and 3, ..., but for pairs that hold an anchored row."""
    y = case.y(X)
    free = np.ones(len(X) // 2, dtype=bool) if y is None else np.isnan(y).reshape(-1, 4).all(axis=1)
    return Y.reshape(len(X) // 2, 2, -1)[free]


@over(lambda case: "graph" in case.precomputed)
def test_row_12_stored_zeros_are_edges(case):
    rows = np.repeat(X60[:20], 2, axis=0)
    graph = KNeighborsTransformer(n_neighbors=4).fit_transform(rows)
    assert (graph.data == 0).sum() == 80  # itself and its copy
    estimator = case.fit(graph, rows, metric="precomputed", **of_stored(case))
    pairs = {tuple(sorted(pair)) for pair in case.pairs(estimator).tolist()}
    assert {(k, k + 1) for k in range(0, 40, 2)} <= pairs
    assert all(i != j for i, j in pairs)
    if case.keeps_distances and case.y(rows) is None:
        together = case.found(estimator).reshape(20, 2, 2)
        assert np.linalg.norm(together[:, 0] - together[:, 1], axis=1).max() < 0.01


def of_stored(case):
    """All neighbours that a graph stores."""
    return {} if case.make().n_neighbors is None else {"n_neighbors": None}


@over()
def test_row_13_points_on_a_line_keep_their_order(case):
    order = RNG.permutation(120)
    line = np.linspace(0, 1, 120)[order]
    X = np.outer(line, [1.0, 2.0, 0.0])
    where = np.empty(120)
    where[order] = case.along(case.found(case.fit(X)))
    where = where if where[0] < where[-1] else -where
    # neighbours on the line may change coordinates, no more
    assert np.diff(where).min() > -0.03 * np.ptp(where)


@over(lambda case: case.has("init"))
def test_row_14_an_initial_array_with_coincident_rows(case):
    for init in (np.zeros((60, 2)), np.repeat(UNSEEN[:, :2], 3, axis=0)):
        before = init.copy()
        Y = case.found(case.fit(X60, init=init))
        assert_finite(Y, 60)
        assert n_distinct(Y) == 60
        np.testing.assert_array_equal(Y, case.found(case.fit(X60, init=init)))
        np.testing.assert_array_equal(init, before)


@over(lambda case: case.keeps_distances and case.has("loss"))
@pytest.mark.parametrize("loss", LOSSES)
def test_row_15_an_original_distance_of_zero(case, loss):
    X = X60[:12].copy()
    X[1] = X[2] = X[0]
    estimator = case.fit(X, loss=loss, max_iter=30)
    assert_finite(case.found(estimator), 12)
    assert np.isfinite(estimator.distortion_)
    assert_finite(case.ask(estimator, UNSEEN), 20)


@pytest.mark.parametrize("name", [*PENALTIES, *(f"{name} loss" for name in LOSSES)])
def test_row_16_embedding_distances_of_zero_and_of_absurd_size(name):
    d = torch.tensor([0.0, 1e-20, 1.0, 1e20], dtype=torch.float64)
    if name.endswith(" loss"):
        function = resolve_loss(name.removesuffix(" loss"))
        arguments = [(torch.full_like(d, delta), d) for delta in (0.0, 1.0)]
    else:
        function = skmde.Barrier(0.5) if name == "barrier" else resolve_penalty(name)
        arguments = [(d[2:] if name == "barrier" else d,)]  # only defined beyond its radius
    for given in arguments:
        assert torch.isfinite(function.value(*given)).all()
        assert torch.isfinite(function.slope(*given)).all()


@over()
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_row_17_what_is_not_finite(case, bad):
    broken = np.where(RNG.random(X60.shape) < 0.1, bad, X60)
    for X in (broken, sp.csr_array(broken)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            case.fit(X, X60)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            case.ask(fitted(case), X)


@over()
def test_row_18_scale_and_place_of_the_data(case):
    plain = case.fit(X60, **case.smooth)
    for size, shift in ((1e25, 0.0), (1e-25, 0.0), (1.0, 1e8)):
        changed = case.fit(size * X60 + shift, size * X60, **case.smooth)
        # distances keep their units, and so do the coordinates of anchors
        unit = size if case.has("loss") or case.y is coordinates else 1.0
        np.testing.assert_allclose(case.found(changed) / unit, case.found(plain), rtol=0, atol=1e-3)
        np.testing.assert_allclose(
            case.ask(changed, size * UNSEEN + shift) / unit,
            case.ask(plain, UNSEEN),
            rtol=0,
            atol=1e-3,
        )


@over()
def test_row_18_data_whose_squares_are_no_numbers(case):
    estimator = fitted(case)
    before = dict(vars(estimator))
    for size, word in ((1e101, "larger unit"), (1e300, "larger unit"), (1e-103, "smaller unit")):
        with pytest.raises(ValueError, match=f"X: the largest absolute value .*{word}"):
            case.fit(size * X60, X60)
    with pytest.raises(ValueError, match="larger unit"):
        case.ask(estimator, 1e200 * UNSEEN)
    assert vars(estimator) == before
    assert_finite(case.ask(estimator, 1e-200 * UNSEEN), 20)
    if case.has("constraint", "init"):
        with pytest.raises(ValueError, match=r"values of the anchors: the largest .*larger unit"):
            case.fit(X60, constraint=Anchored([0, 1], [[0.0, 0.0], [1e200, 0.0]]))


@over()
def test_row_19_bytes_do_not_wrap_around(case):
    counts = RNG.integers(0, 256, (60, 5))
    unseen = counts[:, ::-1].copy()
    plain = case.fit(counts.astype(float), **case.smooth)
    for convert in (
        lambda A: A.astype(np.uint8),
        lambda A: torch.tensor(A, dtype=torch.uint8),
    ):
        estimator = case.fit(convert(counts), counts.astype(float), **case.smooth)
        np.testing.assert_array_equal(case.found(estimator), case.found(plain))
        np.testing.assert_array_equal(
            case.ask(estimator, convert(unseen)), case.ask(plain, unseen.astype(float))
        )


@over()
def test_row_20_cosine_of_zero_rows_and_of_opposite_rows(case):
    X = np.concatenate([X60[:40], -X60[:10], np.zeros((3, 5))])
    estimator = case.fit(X, metric="cosine")
    assert_finite(case.found(estimator), 53)
    assert_finite(case.ask(estimator, np.concatenate([X, -X])), 106)
    np.testing.assert_allclose(case.ask(estimator, X[:50]), case.found(estimator)[:50], atol=1e-9)


@over()
def test_row_21_jaccard_of_zero_rows(case):
    X = RNG.random((40, 12)) < 0.3
    X[:4] = False
    estimator = case.fit(X, X60[:40], metric="jaccard")
    assert_finite(case.found(estimator), 40)
    assert_finite(case.ask(estimator, X[:6]), 6)


@over()
def test_row_22_containers_of_numbers(case):
    expected = fitted(case)
    coordinates, answers = case.found(expected), case.ask(expected, UNSEEN)
    for name, wrap in CONTAINERS.items():
        estimator = case.fit(wrap(X60), X60)
        np.testing.assert_array_equal(case.found(estimator), coordinates, err_msg=name)
        np.testing.assert_array_equal(case.ask(estimator, wrap(UNSEEN)), answers, err_msg=name)
    polars = pytest.importorskip("polars")
    estimator = case.fit(polars.DataFrame(X60, schema=list("abcde")), X60)
    np.testing.assert_array_equal(case.found(estimator), coordinates)
    assert estimator.feature_names_in_.tolist() == list("abcde")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@over()
def test_row_22_tensors_on_a_gpu(case):
    estimator = case.fit(torch.tensor(X60, device="cuda"), X60)
    np.testing.assert_array_equal(case.found(estimator), case.found(fitted(case)))


@over()
@pytest.mark.parametrize("what", NOT_NUMBERS)
def test_row_23_what_is_no_matrix_of_numbers(case, what):
    X, message = NOT_NUMBERS[what]
    with pytest.raises(ValueError, match=message):
        case.fit(X, X60)


@over(lambda case: case.has("init"))
def test_row_23_masked_arrays_to_start_from(case):
    hidden = np.ma.masked_array(X60[:, :2], mask=X60[:, :2] > 2.0)
    with pytest.raises(ValueError, match="init is a masked array"):
        case.fit(X60, init=hidden)
    if case.has("constraint"):
        with pytest.raises(ValueError, match="values of anchors is a masked array"):
            case.fit(X60, constraint=Anchored(np.arange(60), hidden))


@over()
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_row_24_sparse_data_is_as_good_as_dense(case, metric):
    X, unseen = (np.where(np.abs(A) > 0.5, A, 0.0) for A in (X60, UNSEEN))
    dense = case.fit(X, metric=metric, **case.smooth)
    for name, form in sparse_forms(X).items():
        estimator = case.fit(form, X, metric=metric, **case.smooth)
        np.testing.assert_allclose(
            case.found(estimator), case.found(dense), atol=2e-3, err_msg=name
        )
        np.testing.assert_allclose(
            case.ask(estimator, sparse_forms(unseen)[name]),
            case.ask(dense, unseen),
            atol=2e-3,
            err_msg=name,
        )


@over(lambda case: "graph" in case.precomputed)
def test_row_25_a_sparse_matrix_holds_distances_only_if_asked(case):
    as_data = case.fit(GRAPH, X60, **case.smooth)
    as_dense = case.fit(GRAPH.toarray(), X60, **case.smooth)
    np.testing.assert_allclose(case.found(as_data), case.found(as_dense), atol=2e-3)
    as_distances = case.fit(GRAPH, X60, metric="precomputed", **case.smooth, **of_stored(case))
    assert not np.allclose(case.found(as_data), case.found(as_distances), atol=2e-3)


def same_data(case):
    """The kinds of input in which `case` reads the seven nearest neighbours of `X60`."""
    kinds = {"matrix": (D60, TO60), "graph": (GRAPH, TO60), "tables": (TABLES, TO60)}
    return [kinds[kind] for kind in sorted(case.precomputed)]


@over(lambda case: case.precomputed)
def test_row_26_data_distances_and_graphs_are_one(case):
    raw = case.fit(X60, n_neighbors=7, **case.smooth)
    for X, _ in same_data(case):
        given = case.fit(X, X60, metric="precomputed", n_neighbors=7, **case.smooth)
        np.testing.assert_allclose(case.found(given), case.found(raw), atol=1e-4)


@over(lambda case: "graph" in case.precomputed)
def test_row_27_what_a_graph_stores_is_used(case):
    with_self = KNeighborsTransformer(n_neighbors=7).fit_transform(X60)
    assert with_self.nnz == GRAPH.nnz + 60
    unequal = sp.lil_array(GRAPH)
    unequal[0] = 0  # no neighbours of its own
    unequal[1, 2:] = D60[1, 2:]  # nearly all
    unequal = unequal.tocsr()
    unequal.eliminate_zeros()
    found = []
    for graph in (GRAPH, with_self, unequal):
        estimator = case.fit(graph, X60, metric="precomputed", **of_stored(case))
        assert_finite(case.found(estimator), 60)
        found.append(case.found(estimator))
        if not case.pairs_are_neighbors:
            continue
        stored = np.triu((graph + graph.T).toarray(), 1) != 0
        if case.y(X60) is not None:
            stored[::6, ::6] = False  # pairs of two anchors say nothing
        pairs = np.zeros((60, 60), dtype=bool)
        pairs[tuple(np.sort(case.pairs(estimator), axis=1).T)] = True
        np.testing.assert_array_equal(pairs, stored)
    np.testing.assert_array_equal(found[1], found[0])


@over(lambda case: "tables" in case.precomputed)
def test_row_28_missing_neighbours_are_masked(case):
    indices, distances = (table.copy() for table in TABLES)
    few = case.fit(
        (indices[:, :5].copy(), distances[:, :5].copy()),
        X60,
        metric="precomputed",
        **of_stored(case),
    )
    indices[:, 5:], distances[:, 5:] = -1, np.nan
    masked = case.fit((indices, distances), X60, metric="precomputed", **of_stored(case))
    np.testing.assert_array_equal(case.found(masked), case.found(few))


@over(lambda case: "matrix" in case.precomputed)
def test_row_29_negative_and_asymmetric_distances(case):
    negative = D60.copy()
    negative[2, 5] = negative[5, 2] = -1.0
    with pytest.raises(ValueError, match=r"must not be negative, got -1\.0"):
        case.fit(negative, X60, metric="precomputed")
    symmetric = case.fit(D60, X60, metric="precomputed", **case.smooth)
    with pytest.raises(ValueError, match="must not be negative"):
        case.ask(symmetric, -D60[:3])
    lopsided = D60 * np.where(np.triu(np.ones((60, 60))) > 0, 1.5, 0.5)
    before = lopsided.copy()
    with pytest.warns(UserWarning, match="not symmetric") as caught:
        mean = case.make(metric="precomputed", **case.smooth).fit(lopsided, case.y(X60))
    assert len(caught) == 1
    np.testing.assert_allclose(case.found(mean), case.found(symmetric), atol=1e-4)
    np.testing.assert_array_equal(lopsided, before)


@over(lambda case: "matrix" in case.precomputed)
def test_row_30_infinite_distances_are_left_out(case):
    D = D60.copy()
    D[:30, 30:] = D[30:, :30] = np.inf
    before = D.copy()
    estimator = case.fit(D, X60, metric="precomputed")
    np.testing.assert_array_equal(D, before)
    assert_finite(case.found(estimator), 60)
    if case.pairs_are_neighbors or case.has("loss"):
        i, j = case.pairs(estimator).T
        assert ((i < 30) == (j < 30)).all()
    unseen = D[:4].copy()
    unseen[0] = np.inf
    kept = unseen.copy()
    assert_finite(case.ask(estimator, unseen), 4)
    np.testing.assert_array_equal(unseen, kept)


@over(lambda case: "graph" in case.precomputed)
def test_row_31_a_sample_without_edges(case):
    graph = sp.block_diag([GRAPH, sp.csr_array((2, 2))]).tocsr()
    rows = np.concatenate([X60, UNSEEN[:2]])
    y = case.y(rows)
    if y is not None:
        y[60:] = np.nan
    estimator = case.fit(graph, rows, y=y, metric="precomputed", **of_stored(case))
    assert_finite(case.found(estimator), 62)
    if case.distinct:
        assert n_distinct(case.found(estimator)) == 62
    if case.warns_of_parts:
        with pytest.warns(
            UserWarning, match=r"connected (part|component)|No chain|no path between them"
        ):
            case.make(metric="precomputed", **of_stored(case)).fit(graph, y)


@over()
@pytest.mark.parametrize("n_blobs", [2, 4])
def test_row_32_blobs_far_apart(case, n_blobs):
    centres = 100.0 * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])[:n_blobs] @ np.eye(2, 5)
    X = np.concatenate([X60[:20] + centre for centre in centres])
    blob = np.repeat(np.arange(n_blobs), 20)
    # one component for each direction in which the blobs are apart
    params = {}
    if case.has("n_components") and case.y(X) is None:
        params = {"n_components": n_blobs - 1 if n_blobs > 2 else 2}
    Y = case.found(case.fit(X, **params))
    assert_finite(Y, 20 * n_blobs)
    if case.distinct:
        assert n_distinct(Y) == 20 * n_blobs
    near = NearestNeighbors(n_neighbors=2).fit(Y).kneighbors(return_distance=False)
    if not case.classifies:
        assert (blob[near] == blob[:, None]).all()


@over()
def test_row_33_unseen_rows_do_not_see_each_other(case):
    estimator = fitted(case)
    together = case.ask(estimator, UNSEEN)
    assert_finite(together, 20)
    alone = np.concatenate([case.ask(estimator, row[None]) for row in UNSEEN])
    order = RNG.permutation(20)
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-7)
    np.testing.assert_allclose(
        case.ask(estimator, UNSEEN[order]), together[order], rtol=0, atol=1e-7
    )


@over()
def test_row_34_training_rows_among_unseen_rows(case):
    estimator = fitted(case)
    together = case.ask(estimator, np.concatenate([UNSEEN[:10], X60, UNSEEN[10:]]))
    np.testing.assert_allclose(together[10:-10], case.found(estimator), rtol=0, atol=1e-7)
    np.testing.assert_allclose(
        np.concatenate([together[:10], together[-10:]]),
        case.ask(estimator, UNSEEN),
        rtol=0,
        atol=1e-7,
    )


@over()
def test_row_35_wrong_width_and_no_fit(case):
    new, estimator = case.make(), fitted(case)
    with pytest.raises(NotFittedError, match="not fitted"):
        case.ask(new, UNSEEN)
    with pytest.raises(ValueError, match=r"4 features.*expecting 5"):
        case.ask(estimator, UNSEEN[:, :4])
    if hasattr(new, "score"):
        with pytest.raises(NotFittedError, match="not fitted"):
            new.score(UNSEEN, [0] * 20)
        with pytest.raises(ValueError, match=r"4 features.*expecting 5"):
            estimator.score(UNSEEN[:, :4], [0] * 20)


@over()
def test_row_36_more_rows_than_training(case, monkeypatch):
    many = RNG.standard_normal((700, 5))
    answer = case.ask(fitted(case), many)
    assert_finite(answer, 700)
    np.testing.assert_allclose(answer[690:], case.ask(fitted(case), many[690:]), rtol=0, atol=1e-7)
    # in blocks, whatever the kind of input
    monkeypatch.setattr(skmde._utils.rows, "_ENTRIES", 1)
    np.testing.assert_allclose(case.ask(fitted(case), many), answer, rtol=0, atol=1e-7)
    sparse = sp.coo_array(np.where(np.abs(many) > 0.5, many, 0.0))
    np.testing.assert_allclose(
        case.ask(fitted(case), sparse), case.ask(fitted(case), sparse.toarray()), atol=1e-7
    )
    if "matrix" in case.precomputed:
        estimator, rows = case.fit(D60, X60, metric="precomputed"), np.tile(TO60, (5, 1))
        expected = np.tile(case.ask(estimator, TO60), (5, 1))
        np.testing.assert_allclose(case.ask(estimator, rows), expected, atol=1e-7)
    if "tables" in case.precomputed:
        indices, distances = (np.tile(table[:20], (5, 1)) for table in TABLES)
        estimator = case.fit(TABLES, X60, metric="precomputed", **of_stored(case))
        expected = case.ask(estimator, (indices[:20], distances[:20]))
        answer = case.ask(estimator, (indices, distances))
        np.testing.assert_allclose(answer, np.tile(expected, (5, 1)), atol=1e-7)


@over(lambda case: not case.has("init"))  # others take seconds to place so many
def test_row_36_memory_does_not_grow_with_the_number_of_rows(case):
    X = np.random.default_rng(0).standard_normal((500, 3))
    estimator = case.fit(X)
    rows = np.random.default_rng(1).standard_normal((40_000, 3))  # 160 MB of distances
    case.ask(estimator, rows[:300])
    tracemalloc.start()
    try:
        case.ask(estimator, rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6


@over()
def test_row_37_one_row_takes_milliseconds(case):
    estimator = fitted(case)
    assert_finite(case.ask(estimator, UNSEEN[:1]), 1)
    seconds = []
    for row in UNSEEN:
        start = time.process_time()
        case.ask(estimator, row[None])
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.05  # of processor time: other programs do not count
    with pytest.raises(ValueError, match="Reshape your data"):
        case.ask(estimator, UNSEEN[0])


@over()
@pytest.mark.parametrize("factor", [10.0, 1e30, 1e98])
def test_row_38_a_row_far_outside(case, factor):
    assert_finite(case.ask(fitted(case), factor * UNSEEN), 20)


@over(lambda case: case.precomputed)
def test_row_39_distances_of_unseen_samples(case):
    raw = case.fit(X60, n_neighbors=7, **case.smooth)
    expected = case.ask(raw, UNSEEN)
    graph = NEAREST.kneighbors_graph(UNSEEN, mode="distance")
    for X, full in same_data(case):
        estimator = case.fit(X, X60, metric="precomputed", n_neighbors=7, **case.smooth)
        for unseen in (full, graph, sp.coo_array(graph)):
            np.testing.assert_allclose(case.ask(estimator, unseen), expected, atol=1e-3)
        with pytest.raises(ValueError, match=r"59 features.*expecting 60"):
            case.ask(estimator, full[:, :59])


@over(lambda case: case.y is coordinates or case.has("constraint", "init"))
def test_row_40_every_row_anchored(case):
    values = RNG.standard_normal((60, 2))
    if case.y(X60) is None:
        estimator = case.fit(X60, constraint=Anchored(np.arange(60), values))
    else:
        estimator = case.fit(X60, y=values)
    np.testing.assert_array_equal(case.found(estimator), values)
    assert len(estimator.history_["value"]) == 1  # the starting point


@over(lambda case: case.classifies)
def test_row_40_every_row_labelled(case):
    known = np.arange(60) % 3
    np.testing.assert_array_equal(case.found(case.fit(X60, y=known)), np.eye(3)[known])


WRONG_ANCHORS = [
    ([3, 3], [[0.0, 0.0], [1.0, 1.0]], "3"),
    ([3, 60], [[0.0, 0.0], [1.0, 1.0]], "60"),
    ([3, 4], [[0.0, np.nan], [1.0, 1.0]], r"(?i)nan|finite"),
]


@over(lambda case: case.y is coordinates or case.has("constraint", "init"))
@pytest.mark.parametrize(("anchors", "values", "message"), WRONG_ANCHORS)
def test_row_41_anchors_that_make_no_problem(case, anchors, values, message):
    with pytest.raises(ValueError, match=message):
        if case.y(X60) is None:
            case.make(constraint=Anchored(anchors, values)).fit(X60)
        else:
            case.make().fit(X60, anchors=anchors, anchor_values=values)


@over()
def test_row_42_same_seed_same_bits(case):
    estimator = case.fit(X60)
    np.testing.assert_array_equal(case.found(estimator), case.found(fitted(case)))
    np.testing.assert_array_equal(case.ask(estimator, UNSEEN), case.ask(fitted(case), UNSEEN))
    for n_jobs in (1, 2):
        again = case.found(case.fit(X60, n_jobs=n_jobs))
        np.testing.assert_array_equal(again, case.found(estimator))


def test_row_42_same_bits_for_any_number_of_threads(processes):
    one, four = (processes[threads]["bits"] for threads in ("1", "4"))
    assert len(one) == sum(1 + len(case.ways) for case in CASES.values())
    assert one == four
    assert processes["2"]["bits with n_jobs=2"] == one


@over()
@pytest.mark.parametrize("random_state", [0, None])
def test_row_43_global_random_states_are_untouched(case, random_state):
    numpy_before, torch_before = np.random.get_state(), torch.get_rng_state()
    estimator = case.fit(X60, random_state=random_state)
    case.ask(estimator, UNSEEN)
    numpy_after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(numpy_before, numpy_after, strict=True))
    assert torch.equal(torch_before, torch.get_rng_state())


@over(lambda case: case.answer == "transform")
def test_row_44_set_output_keeps_names_and_index(case):
    polars = pytest.importorskip("polars")
    frame = pd.DataFrame(X60, columns=list("abcde"), index=np.arange(60) * 7)
    estimator = case.make().set_output(transform="pandas")
    out = estimator.fit_transform(frame, case.y(X60))
    prefix = type(estimator).__name__.lower()
    names = [f"{prefix}{k}" for k in range(2)]
    assert out.columns.tolist() == names
    assert (out.index == frame.index).all()
    assert (estimator.transform(frame.iloc[5:9]).index == frame.index[5:9]).all()
    assert estimator.feature_names_in_.tolist() == list("abcde")
    out = estimator.set_output(transform="polars").fit_transform(frame, case.y(X60))
    assert isinstance(out, polars.DataFrame)
    assert out.columns == names


@over()
def test_row_45_pipeline_with_memory_and_grid_search(case, tmp_path):
    def spread(estimator, X, y=None):
        return float(np.std(getattr(estimator, answer)(X)))

    answer, y = case.answer, case.y(X60)
    if y is not None:
        y = np.arange(60) % 3 if y.ndim == 1 else X60[:, :2]  # folds without a gap
    pipeline = make_pipeline(StandardScaler(), case.make(), memory=str(tmp_path))
    name = pipeline.steps[-1][0]
    search = GridSearchCV(
        pipeline,
        {f"{name}__n_neighbors": [5, 7]},
        scoring=spread,
        n_jobs=2,
        cv=2,
        error_score="raise",
    ).fit(X60, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    again = clone(search.best_estimator_).fit(X60, y)
    np.testing.assert_array_equal(case.ask(again, UNSEEN), case.ask(search, UNSEEN))


@over()
def test_row_45_clone_keeps_every_parameter(case):
    names = case.make().get_params(deep=False)
    assert len(names) > 5
    given = {name: [name] for name in names}  # nothing is looked at before fit
    estimator = type(case.estimator)(**given)
    assert all(getattr(estimator, name) is value for name, value in given.items())
    assert clone(estimator).get_params(deep=False) == given
    for name in {"loss", "attractive_penalty"} & set(names):
        function = skmde.HuberLoss(2.0) if name == "loss" else skmde.Huber(2.0)
        copy = getattr(clone(case.make(**{name: function})), name)
        assert copy is not function
        assert copy == function


@over(lambda case: case.y(X60) is None)
@pytest.mark.parametrize(
    "y",
    [np.array(["a"] * 60), np.arange(7), [None] * 60, "labels", np.full(60, np.nan)],
    ids=["strings", "seven", "None", "a string", "NaN"],
)
def test_row_46_y_is_ignored(case, y):
    estimator = case.make().fit(X60, y)
    np.testing.assert_array_equal(case.found(estimator), case.found(fitted(case)))
    if hasattr(estimator, "score"):
        assert estimator.score(UNSEEN, y) == estimator.score(UNSEEN)


@over(lambda case: case.y(X60) is not None or case.has("target_weight"))
def test_row_46_y_that_is_asked_for(case):
    estimator = case.make()
    if case.has("target_weight"):
        estimator.set_params(target_weight=0.5)
    y = case.y(X60) if case.y(X60) is not None else np.arange(60) % 3
    for wrong in (y[:7], np.concatenate([y, y])):
        with pytest.raises(ValueError, match=rf"{len(wrong)}"):
            clone(estimator).fit(X60, wrong)
    if y.ndim == 2:
        with pytest.raises(ValueError, match="must hold numeric coordinates"):
            clone(estimator).fit(X60, np.full((60, 2), "a"))
    else:
        text = np.array([None if np.isnan(label) else f"class {label:.0f}" for label in y])
        by_name, by_number = (clone(estimator).fit(X60, labels) for labels in (text, y))
        np.testing.assert_array_equal(case.found(by_name), case.found(by_number))


@over(lambda case: "matrix" in case.precomputed)
def test_row_47_grid_search_slices_both_axes(case):
    def spread(estimator, X, y=None):
        return float(np.std(case.ask(estimator, X)))

    y = case.y(X60)
    if y is not None:
        y = np.arange(60) % 3 if y.ndim == 1 else X60[:, :2]
    options = {
        "param_grid": {"n_neighbors": [5, 7]},
        "scoring": spread,
        "cv": 3,
        "error_score": "raise",
    }
    raw = GridSearchCV(case.make(**case.smooth), **options).fit(X60, y)
    given = GridSearchCV(case.make(metric="precomputed", **case.smooth), **options).fit(D60, y)
    for name in ("split0_test_score", "split1_test_score", "split2_test_score"):
        np.testing.assert_allclose(given.cv_results_[name], raw.cv_results_[name], atol=1e-3)


@over()
def test_row_48_read_only_memory_maps(case, tmp_path):
    np.save(tmp_path / "X.npy", X60)
    np.save(tmp_path / "unseen.npy", UNSEEN)
    before = (tmp_path / "X.npy").read_bytes()
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    unseen = np.load(tmp_path / "unseen.npy", mmap_mode="r")
    estimator = case.fit(X)
    np.testing.assert_array_equal(case.found(estimator), case.found(fitted(case)))
    np.testing.assert_array_equal(case.ask(estimator, unseen), case.ask(fitted(case), UNSEEN))
    if case.has("init"):
        started = (case.fit(X, init=A[:, :2]) for A in (X, X60))
        np.testing.assert_array_equal(*map(case.found, started))
    assert (tmp_path / "X.npy").read_bytes() == before
    for data in (sp.csr_array(X60), sp.csc_array(X60)):
        for array in (data.data, data.indices, data.indptr):
            array.flags.writeable = False
        assert_finite(case.ask(case.fit(data, X60), data), 60)


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """What fresh processes say of all estimators."""
    return run_all(tmp_path_factory.mktemp("processes"))


def test_row_49_pickled_in_one_process_and_used_in_another(processes):
    assert processes["1"]["written"] == list(CASES)
    assert processes["2"]["read"] == list(CASES)


@over()
def test_row_49_pickled_here(case):
    again = pickle.loads(pickle.dumps(fitted(case)))
    np.testing.assert_array_equal(case.ask(again, UNSEEN), case.ask(fitted(case), UNSEEN))


@needs_posix
def test_row_50_fit_fork_and_fit_in_the_child(processes):
    assert processes["2"]["forked"] == dict.fromkeys(CASES, True)


def test_row_51_a_default_fit_prints_and_warns_nothing(processes):
    assert processes["4"]["quiet"] == list(CASES)
    assert processes["4"]["output"] == ""


@over(lambda case: case.has("device"))
def test_row_52_devices(case):
    missing = () if torch.cuda.is_available() else ("cuda", torch.device("cuda"))
    for device in ("cpu", torch.device("cpu"), "cpu:0", *(("auto",) if missing else ())):
        np.testing.assert_array_equal(
            case.found(case.fit(X60, device=device)), case.found(fitted(case))
        )
    for device in ("gpu", "meta", *missing):
        with pytest.raises(ValueError, match="is not available; this machine has"):
            case.fit(X60, device=device)


def test_row_53_a_cache_folder_that_cannot_be_written(processes):
    assert processes["no cache"]["finite"] == list(CASES)


@needs_posix
def test_row_54_ctrl_c_during_a_long_fit(processes):
    said = processes["2"]["interrupted"]
    assert said == dict.fromkeys(CASES, "KeyboardInterrupt, as before, works")
    assert processes["2"]["children"] == 0


@over(lambda case: case.large)
def test_row_55_pairs_that_would_not_fit_in_memory(case):
    n = 20_000  # a table of its distances takes 3.2 GB
    X = np.random.default_rng(0).random((n, 2))
    case.fit(X[:500], **case.large)
    tracemalloc.start()
    try:
        estimator = case.fit(X, **case.large)
        assert_finite(case.ask(estimator, X[:300] + 0.001), 300)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.6e9


@over()
def test_row_55_an_error_up_front(case, monkeypatch):
    monkeypatch.setattr("skmde.estimators.planning.mixin.available_memory", lambda: 1e3)
    with pytest.raises(ValueError, match=r"needs about .* of memory .* the limit is 1 kB"):
        case.fit(X60)


def test_every_row_has_a_test():
    numbers = {
        int(row)
        for name in globals()
        if name.startswith("test_row")
        for row in re.findall(r"_(\d\d)(?=_)", name)
    }
    assert numbers == set(range(1, 56))
