"""Forms of X and y that scikit-learn and its neighbours hand over."""

import warnings

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.neighbors import KNeighborsRegressor

from skmde import PreserveDistances, PreserveNeighbors, QuadraticMDE
from skmde.estimators.samples.supervision import target_pairs
from skmde.preprocessing import shortest_paths
from skmde.preprocessing.graphs.adjacency import as_adjacency
from skmde.preprocessing.neighbors.precomputed import precomputed_neighbors

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
D = squareform(pdist(X))
ESTIMATORS = [
    PreserveDistances(metric="precomputed", max_iter=5, random_state=0),
    PreserveNeighbors(metric="precomputed", max_iter=5, random_state=0),
    QuadraticMDE(weights="isomap", metric="precomputed"),
    QuadraticMDE(metric="precomputed"),
]


def names(estimator):
    return f"{type(estimator).__name__}-{getattr(estimator, 'weights', '')}"


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=names)
@pytest.mark.parametrize("value", [1.0, -1e-7, -1.0, np.nan, np.inf])
def test_diagonal_of_distances_does_not_count(estimator, value):
    table = D.copy()
    np.fill_diagonal(table, value)
    given = table.copy()
    found = estimator.fit_transform(table)
    np.testing.assert_array_equal(table, given)
    np.testing.assert_array_equal(found, estimator.fit_transform(D))


@pytest.mark.parametrize("value", [1.0, -1e-7, -1.0, np.nan])
def test_stored_diagonal_of_a_graph_does_not_count(value):
    graph = sp.csr_array(np.where(D < 1.5, D, 0.0))
    loops = sp.csr_array(graph + sp.diags_array(np.full(40, value)))
    expected = precomputed_neighbors(graph, 3)
    found = precomputed_neighbors(loops, 3)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=names)
def test_negative_rounding_errors_are_zero_and_larger_ones_an_error(estimator):
    table, zero = D.copy(), D.copy()
    table[0, 1] = table[1, 0] = -1e-7
    zero[0, 1] = zero[1, 0] = 0.0
    np.testing.assert_array_equal(estimator.fit_transform(table), estimator.fit_transform(zero))
    table[0, 1] = table[1, 0] = -1e-3
    with pytest.raises(ValueError, match="similarities"):
        estimator.fit(table)


def test_negative_rounding_errors_of_edges_are_zero():
    lengths = np.array([[0.0, 2.0, -1e-7], [2.0, 0.0, 1.0], [-1e-7, 1.0, 0.0]])
    assert as_adjacency(lengths)[0].toarray().tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    with pytest.raises(ValueError, match="must not be negative"):
        as_adjacency(lengths, quantity="weight")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=names)
def test_condensed_distances_get_advice(estimator):
    with pytest.raises(ValueError, match=r"1D array.*distance\.squareform\(X\)"):
        estimator.fit(pdist(X))


def test_condensed_distances_get_advice_in_functions():
    with pytest.raises(ValueError, match=r"convert them with scipy\.spatial\.distance\.squareform"):
        precomputed_neighbors(pdist(X))


def ring(attribute):
    graph = nx.Graph()
    for i in range(12):
        graph.add_edge(i, (i + 1) % 12, **{attribute: 1.0 + i})
    return graph


def test_edge_attribute_of_a_networkx_graph_has_any_name():
    how = {"metric": "graph", "max_iter": 50, "random_state": 0}
    expected = PreserveDistances(**how).fit_transform(ring("weight"))
    named = PreserveDistances(metric_params={"weight": "length"}, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
        np.testing.assert_array_equal(named.fit_transform(ring("length")), expected)
    with pytest.raises(ValueError, match=r"No edge .* attribute 'length'.* All edges have 'cost'"):
        named.fit(ring("cost"))
    with pytest.raises(ValueError, match="takes no parameters"):
        named.fit(nx.to_scipy_sparse_array(ring("weight")))


def test_edges_without_weights_but_with_other_numbers_are_warned_of():
    with pytest.warns(UserWarning, match=r"no 'weight', so each counts .* they have 'length'"):
        adjacency, _ = as_adjacency(ring("length"))
    assert (adjacency.data == 1).all()
    plain = nx.cycle_graph(5)
    nx.set_edge_attributes(plain, "red", "color")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_adjacency(plain)


def frames():
    pl = pytest.importorskip("polars")
    numbers = (X * 100).round()
    whole = pd.DataFrame(numbers.astype(int))
    yield pl.DataFrame(numbers).with_columns(pl.all().cast(pl.Decimal(10, 3))), numbers
    yield whole.astype("Int64"), numbers
    yield whole.astype("category"), numbers
    yield whole.astype(str), numbers
    yield whole.astype(object), numbers


def test_frames_are_read_as_their_numbers():
    for frame, numbers in frames():
        for estimator in (
            PreserveDistances(max_iter=5, random_state=0),
            PreserveNeighbors(max_iter=5, random_state=0),
            QuadraticMDE(),
        ):
            np.testing.assert_array_equal(
                estimator.fit_transform(frame), estimator.fit_transform(numbers)
            )


def test_durations_and_complex_numbers_are_refused():
    times = pd.DataFrame({"a": pd.to_timedelta(range(9), unit="s")})
    for bad in (times, X * 1j):
        with pytest.raises(ValueError, match=r"must hold numbers.* a unit of time|Complex"):
            PreserveNeighbors().fit(bad)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing", "sequential"])
def test_backends_of_joblib(backend):
    estimator = PreserveNeighbors(max_iter=5, random_state=0)
    expected = estimator.fit_transform(X)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        np.testing.assert_array_equal(estimator.fit_transform(X), expected)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_paths_by_backends_of_joblib(backend, monkeypatch):
    """That of processes does not return its results one by one."""
    monkeypatch.setattr("skmde.preprocessing.graphs.shortest_paths._CHUNK", 20)
    graph = sp.csr_array(np.where(D < 1.5, D, 0.0))
    expected = shortest_paths(graph)
    some = shortest_paths(graph, max_pairs=150, random_state=0)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = shortest_paths(graph)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        found = shortest_paths(graph, max_pairs=150, random_state=0)
        np.testing.assert_array_equal(found[1], some[1])


def test_several_targets_are_all_kept():
    rows = RNG.standard_normal((120, 5))
    y = RNG.standard_normal((120, 2))
    how = {"target_weight": 20.0, "max_iter": 100, "random_state": 0}
    map_ = PreserveNeighbors(**how).fit_transform(rows, y)
    for target in y.T:
        model = KNeighborsRegressor(5).fit(map_[::2], target[::2])
        assert model.score(map_[1::2], target[1::2]) > 0.4


def test_similar_samples_have_all_targets_in_common():
    classes = RNG.integers(0, 2, (200, 2))
    names = np.array([["a", "b"], ["x", "y"]], dtype=object)
    numbers = RNG.standard_normal(200)
    labelled = np.column_stack([names[0][classes[:, 0]], names[1][classes[:, 1]]])
    for y in (classes, labelled, labelled.tolist(), pd.DataFrame(labelled)):
        alike, differing = target_pairs(y, 200, 6, 1.0, np.random.default_rng(0))
        assert (classes[alike[:, 0]] == classes[alike[:, 1]]).all()
        assert (classes[differing[:, 0]] != classes[differing[:, 1]]).any(axis=1).all()
    mixed = pd.DataFrame({"name": labelled[:, 0], "number": numbers})
    mixed.loc[:9, "number"] = np.nan
    alike, differing = target_pairs(mixed, 200, 6, 1.0, np.random.default_rng(0))
    assert alike.min() >= 10 and differing.min() >= 10
    assert (labelled[alike[:, 0], 0] == labelled[alike[:, 1], 0]).mean() > 0.95
    gaps = np.abs(np.diff(numbers[alike], axis=1)), np.abs(np.diff(numbers[differing], axis=1))
    assert gaps[0].mean() < gaps[1].mean() / 5
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        target_pairs(classes, 100, 6, 1.0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="All targets are known for 0 of the 4 samples"):
        unknown = [[1.5, np.nan], [np.nan, 0.5], [2.5, np.nan], [np.nan, 1.5]]
        target_pairs(unknown, 4, 6, 1.0, np.random.default_rng(0))
