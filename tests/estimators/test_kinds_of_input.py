"""Kinds of input that are refused with an error of our own, and what it must say."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from scipy.spatial.distance import cdist
from sklearn.base import clone

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors, QuadraticMDE
from skmde.exceptions import ConvergenceWarning
from skmde.metrics import center, neighborhood_recall
from skmde.preprocessing import (
    nearest_neighbors,
    neighbor_graph,
    pair_distances,
    precomputed_neighbors,
    precomputed_queries,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
COORDINATES = np.where(np.arange(30)[:, None] < 4, X[:, :2], np.nan)
MAP = X[:, :2]
PAIRS = np.array([[0, 1], [2, 5]])
FITTED = QuadraticMDE(weights="pca").fit(X[:, :2])
TAKES_ROWS = {
    "PreserveNeighbors": lambda data: PreserveNeighbors().fit(data),
    "PreserveDistances": lambda data: PreserveDistances().fit(data),
    "QuadraticMDE": lambda data: QuadraticMDE().fit(data),
    "AnchoredMDE": lambda data: AnchoredMDE().fit(data, COORDINATES),
    "transform": lambda data: FITTED.transform(data),
    "nearest_neighbors": lambda data: nearest_neighbors(data, 3),
    "pair_distances": lambda data: pair_distances(data, PAIRS),
    "center": center,
    "neighborhood_recall": lambda data: neighborhood_recall(data, MAP, 3),
}
EVERY = pytest.mark.parametrize("take", TAKES_ROWS.values(), ids=TAKES_ROWS)
DATES = pd.date_range("2020-01-01", periods=30)
COLUMNS = {
    "dates": DATES,
    "zoned": DATES.tz_localize("UTC"),
    "periods": DATES.to_period("D"),
    "days": [datetime.date(2020, 1, 1)] * 30,
    "durations": pd.to_timedelta(range(30), unit="s"),
    "classes": pd.Categorical(["red", "blue"] * 15),
    "text": ["red", "blue"] * 15,
    "some_text": [1, "red"] * 15,
    "dicts": [{"a": 1}] * 30,
    "lists": [[1, 2]] * 30,
    "missing": pd.Series([1, pd.NA] * 15, dtype=object),
    "complex": X[:, 0] * 1j,
}
ADVICE = {
    **dict.fromkeys(("dates", "zoned", "days"), "days since a start"),
    "durations": "divide it by a unit of time",
    "complex": "real and its imaginary part",
}


@EVERY
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_that_holds_no_numbers_is_named(take, kind):
    column = pd.Series(COLUMNS[kind])
    frame = pd.DataFrame({"a": X[:, 0], "when": column})
    advice = ADVICE.get(kind, "OneHotEncoder")
    with pytest.raises(
        ValueError, match=rf"must hold numbers, but its column 'when' .*{advice}"
    ) as e:
        take(frame)
    assert f"has dtype {column.dtype}" in str(e.value)


@EVERY
def test_dates_in_other_frames_are_no_numbers_either(take):
    pl = pytest.importorskip("polars")
    days = [datetime.datetime(2020, 1, 1) + datetime.timedelta(k) for k in range(30)]
    gaps = [datetime.timedelta(k) for k in range(30)]
    for column in (days, gaps, ["red", "blue"] * 15, [[1, 2]] * 30):
        frame = pl.DataFrame({"a": X[:, 0], "when": column})
        with pytest.raises(ValueError, match="must hold numbers, but its column 'when' has dtype"):
            take(frame)


def test_columns_of_one_name_are_told_apart():
    frame = pd.DataFrame([[1.0, "red"]] * 30, columns=["a", "a"])
    with pytest.raises(ValueError, match=r"its column 'a' has dtype \w+ and holds 'red'"):
        PreserveNeighbors().fit(frame)


def test_columns_that_hold_numbers_of_any_type_are_taken():
    whole = np.round(X * 10).astype(int)
    frame = pd.DataFrame(
        {
            "int": pd.array(whole[:, 0], dtype="Int8"),
            "text": whole[:, 1].astype(str),
            "classes": pd.Categorical(whole[:, 2]),
            "sparse": pd.arrays.SparseArray(whole[:, 0]),
            "objects": pd.Series(list(whole[:, 1]), dtype=object),
        }
    )
    numbers = np.column_stack([whole, whole[:, :2]])
    for how in ({}, {"metric": "manhattan"}):
        estimator = PreserveNeighbors(max_iter=3, random_state=0, **how)
        np.testing.assert_array_equal(
            estimator.fit_transform(frame), estimator.fit_transform(numbers)
        )


@EVERY
@pytest.mark.parametrize("make", [list, tuple], ids=["list", "tuple"])
def test_several_arrays_are_not_rows(take, make):
    for parts in (
        [X, X],
        [sp.csr_array(X)] * 2,
        [X.tolist(), X.tolist()],
        [pd.DataFrame(X)] * 2,
    ):
        with pytest.raises(
            ValueError, match=f"is a {make.__name__} of 2 arrays of shapes.*must be"
        ):
            take(make(parts))


@pytest.mark.parametrize("make", [PreserveNeighbors, PreserveDistances, QuadraticMDE, AnchoredMDE])
def test_tables_of_neighbors_in_a_list_get_advice(make):
    indices, distances, _ = nearest_neighbors(X, 4)
    y = COORDINATES if make is AnchoredMDE else None
    with pytest.raises(ValueError, match=r"list of 2 arrays .* tables must be a tuple"):
        make(metric="precomputed").fit([indices, distances], y)
    with pytest.raises(ValueError, match=r"list of 2 arrays .* tables must be a tuple"):
        precomputed_neighbors([indices, distances])


def test_a_neighbor_that_is_repeated_in_a_row_is_an_error():
    indices, distances, _ = nearest_neighbors(X, 4)
    fitted = PreserveNeighbors(metric="precomputed", max_iter=2).fit((indices, distances))
    indices[7, 3] = indices[7, 0]
    takes = {
        "fit": lambda t: PreserveNeighbors(metric="precomputed").fit(t),
        "transform": fitted.transform,
        "quadratic": lambda t: QuadraticMDE(metric="precomputed").fit(t),
        "anchored": lambda t: AnchoredMDE(metric="precomputed").fit(t, COORDINATES),
        "neighbors": precomputed_neighbors,
        "queries": lambda t: precomputed_queries(t, n_train=30),
        "graph": lambda t: neighbor_graph(*t),
    }
    for take in takes.values():
        with pytest.raises(ValueError, match=f"Row 7 .* the neighbour {indices[7, 0]} twice"):
            take((indices, distances))
    # Missing neighbours may share an index, and by either mark.
    indices[7, 3] = -1
    distances[8, 3], indices[8, 3] = np.inf, indices[8, 0]
    for take in takes.values():
        take((indices, distances))


@pytest.mark.parametrize("name", ["PreserveNeighbors", *list(TAKES_ROWS)[5:]])
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int32], ids=str
)
def test_tensors_are_read_as_their_numbers(name, dtype):
    numbers = np.round(8 * X)  # exact in all of these
    tensor = torch.from_numpy(numbers).to(dtype)
    if dtype.is_floating_point:
        tensor.requires_grad_()
    takes = {**TAKES_ROWS, "PreserveNeighbors": lambda data: rows_of_map(data)}
    found, expected = takes[name](tensor), takes[name](numbers)
    if name == "nearest_neighbors":
        found, expected = found[1], expected[1]
    np.testing.assert_allclose(found, expected)


def rows_of_map(data):
    return PreserveNeighbors(max_iter=0, random_state=0).fit(data).embedding_


def test_distances_and_tables_may_be_tensors():
    D = torch.cdist(torch.from_numpy(X), torch.from_numpy(X)).requires_grad_()
    expected = precomputed_neighbors(D.detach().numpy(), 4)
    for given in (D, tuple(map(torch.from_numpy, expected))):
        for found, wanted in zip(precomputed_neighbors(given, 4), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_coordinates_of_anchors_may_be_any_columns_of_numbers():
    values = np.round(8 * X[:5, :2])
    expected = AnchoredMDE().fit(X, anchors=np.arange(5), anchor_values=values).embedding_
    nullable = pd.DataFrame(values.astype(int)).astype("Int64")
    for given in (nullable, pd.DataFrame(values).astype("Float64"), values.astype(object)):
        found = AnchoredMDE().fit(X, anchors=np.arange(5), anchor_values=given).embedding_
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=r"values must be numbers.*dtype object"):
        AnchoredMDE().fit(X, anchors=[0], anchor_values=np.array([["a", "b"]], dtype=object))


GRAPH = np.round(np.maximum(20 - 16 * cdist(X, X), 0)) * (1 - np.eye(30))
FITTED_ON_SPARSE = {
    "neighbors": (PreserveNeighbors(max_iter=3, random_state=0), None),
    "distances": (PreserveDistances(max_iter=3, random_state=0), None),
    "lle": (QuadraticMDE(weights="lle"), None),
    "pca": (QuadraticMDE(weights="pca"), None),
    "laplacian": (QuadraticMDE(), None),
    "anchored": (AnchoredMDE(random_state=0), COORDINATES),
    "affinity": (AnchoredMDE(metric="affinity"), COORDINATES),
    "weights": (QuadraticMDE(weights="precomputed"), None),
}


@pytest.mark.parametrize("case", FITTED_ON_SPARSE)
@pytest.mark.parametrize("dtype", ["float16", ">f8", ">f4", ">i4", "int8", "bool"])
def test_dense_rows_of_any_dtype_meet_a_sparse_fit(case, dtype):
    """scipy has no sparse arrays of half precision, nor of the other order of bytes."""
    estimator, y = FITTED_ON_SPARSE[case]
    rows = GRAPH if case in ("affinity", "weights") else np.round(np.abs(8 * X))
    fitted = clone(estimator).fit(sp.csr_array(rows), y)
    unseen = rows[:5].astype(bool) if dtype == "bool" else rows[:5]
    found = fitted.transform(unseen.astype(dtype))
    np.testing.assert_array_equal(found, fitted.transform(unseen.astype(np.float64)))
    if hasattr(fitted, "extend") and case != "affinity":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # too few iterations
            further = clone(estimator).fit(sp.csr_array(rows), y).extend(unseen.astype(dtype))
        assert np.isfinite(further.embedding_).all()


@EVERY
def test_masked_entries_are_refused_everywhere(take):
    masked = np.ma.masked_array(X, mask=X > 1.5)
    with pytest.raises(ValueError, match=r"is a masked array with .* masked entries"):
        take(masked)


def test_masked_or_unequal_tables_are_refused():
    indices, distances, _ = nearest_neighbors(X, 4)
    fitted = PreserveNeighbors(metric="precomputed", max_iter=2).fit((indices, distances))
    takes = {
        "fit": PreserveNeighbors(metric="precomputed").fit,
        "quadratic": QuadraticMDE(metric="precomputed").fit,
        "transform": fitted.transform,
        "neighbors": precomputed_neighbors,
        "queries": lambda t: precomputed_queries(t, n_train=30),
    }
    hidden = np.ma.masked_array(indices, mask=indices > 25)
    for take in takes.values():
        with pytest.raises(ValueError, match=r"masked entries.* index -1"):
            take((hidden, distances))
        with pytest.raises(ValueError, match=r"same shape .*\(30, 4\) and \(30, 3\)"):
            take((indices, distances[:, :3]))


@pytest.mark.parametrize(
    "fit",
    [
        lambda data: PreserveDistances(metric="graph").fit(data),
        lambda data: PreserveNeighbors(metric="graph").fit(data),
        lambda data: AnchoredMDE(metric="affinity").fit(data, COORDINATES),
    ],
)
def test_a_table_of_edges_is_told_how_to_become_a_graph(fit):
    edges = pd.DataFrame({"from": ["Ulm", "Jena"], "to": ["Jena", "Kiel"], "km": [350.0, 560.0]})
    with pytest.raises(ValueError, match=r"table of shape \(2, 3\).*from_pandas_edgelist"):
        fit(edges)
    with pytest.raises(ValueError, match="from_pandas_edgelist"):
        fit(edges[["km"]])


@pytest.mark.parametrize(
    "estimator",
    [
        PreserveNeighbors(metric="graph", max_iter=20, random_state=0),
        PreserveDistances(metric="graph", max_iter=20, random_state=0),
        AnchoredMDE(metric="graph", loss="squared", max_iter=20, random_state=0),
    ],
)
def test_a_dense_zero_is_no_edge_in_transform_as_in_fit(estimator):
    """As in scipy.sparse.csgraph; only a sparse matrix can store an edge of length 0."""
    rng = np.random.default_rng(0)
    places, further = rng.standard_normal((40, 2)), rng.standard_normal((5, 2))
    between = np.linalg.norm(places[:, None] - places, axis=2)
    unseen = np.linalg.norm(further[:, None] - places, axis=2)
    graph, zeros = (np.where(D < 1.0, D, 0.0) for D in (between, unseen))
    anchors = {"anchors": [0, 1, 2], "anchor_values": places[:3]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator = clone(estimator)
        estimator.fit(graph, **anchors if isinstance(estimator, AnchoredMDE) else {})
    found = estimator.transform(zeros)
    for same in (np.where(unseen < 1.0, unseen, np.inf), sp.csr_array(zeros)):
        np.testing.assert_allclose(estimator.transform(same), found, atol=1e-9)
    np.testing.assert_array_equal(estimator.transform(graph[:4]), estimator.embedding_[:4])
    at_node_7 = sp.csr_array(([0.0], ([0], [7])), shape=(1, 40))
    np.testing.assert_array_equal(estimator.transform(at_node_7)[0], estimator.embedding_[7])
    assert estimator.transform(zeros.astype(np.float32)).dtype == np.float32
