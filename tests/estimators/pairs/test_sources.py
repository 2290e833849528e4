"""Sources of pairs offer the same methods, and keep what these promise."""

import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sparse_arrays import stored

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors, QuadraticMDE
from skmde.estimators.pairs.anchored import AffinityPairs, DistancePairs, WeightedPairs
from skmde.estimators.pairs.base import DistanceSource, PairSource
from skmde.estimators.pairs.matrix_distances import MatrixDistances
from skmde.estimators.pairs.neighbors import NeighborPairs
from skmde.estimators.pairs.path_distances import GraphDistances, NeighborPaths
from skmde.estimators.pairs.row_distances import RowDistances
from skmde.estimators.spectral.gram import AllPaths
from skmde.losses import SquaredLoss
from skmde.penalties import Quadratic
from skmde.preprocessing.neighbors.tables import NeighborTables

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
NEW, FURTHER = RNG.standard_normal((6, 3)), RNG.standard_normal((5, 3))
BOTH = np.concatenate([X, FURTHER])
D = pairwise_distances(X)


def near(distances):
    """The entries that a sparse matrix of distances stores."""
    return sp.csr_array(np.where(distances < 2, distances, 0))


def row_forms():
    return X, NEW, FURTHER


def matrix_forms():
    return D, pairwise_distances(NEW, X), pairwise_distances(FURTHER, BOTH)


def sparse_forms():
    return tuple(near(part) for part in matrix_forms())


SEARCH = dict.fromkeys(("metric_params", "n_jobs", "device"), None)
SEARCH.update(algorithm="auto", random_state=0)


def tables(X, metric="euclidean", **options):
    return NeighborTables(X, 5, metric=metric, **SEARCH, **options)


def paths(X):
    return NeighborPaths(tables(X), None, None, 0)


def neighbors(X, metric="euclidean"):
    return NeighborPairs(X, 5, None, metric=metric, **SEARCH)


# how a source is made; the fitted, unseen and further items in the form it takes
DISTANCES = {
    "rows": (lambda X: RowDistances(X, "euclidean", None, None), row_forms),
    "matrix": (MatrixDistances, matrix_forms),
    "sparse matrix": (MatrixDistances, sparse_forms),
    "graph": (lambda X: GraphDistances(X, None, None, 0), sparse_forms),
    "paths": (paths, row_forms),
}
PAIRS = {
    "neighbors": (neighbors, row_forms),
    "matrix of neighbors": (lambda X: neighbors(X, "precomputed"), matrix_forms),
    "affinities": (AffinityPairs, sparse_forms),
}


def methods(protocol):
    return {
        name: member
        for name, member in vars(protocol).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


def parameters(method):
    return [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in inspect.signature(method).parameters.values()
    ]


@pytest.mark.parametrize(
    ("protocol", "cls"),
    [
        *((PairSource, cls) for cls in (NeighborPairs, AffinityPairs)),
        *(
            (DistanceSource, cls)
            for cls in (RowDistances, MatrixDistances, GraphDistances, NeighborPaths, AllPaths)
        ),
    ],
)
def test_a_source_has_the_methods_of_its_protocol(protocol, cls):
    assert {"pairs", "of_unseen", "extended", "drop_training_state"} <= methods(protocol).keys()
    for name, method in methods(protocol).items():
        assert parameters(getattr(cls, name)) == parameters(method), name


def test_what_both_protocols_have_is_called_alike():
    for name in ("of_unseen", "extended", "drop_training_state"):
        assert parameters(getattr(PairSource, name)) == parameters(getattr(DistanceSource, name))


def test_anchored_pairs_of_either_kind_are_called_alike():
    names = methods(WeightedPairs).keys()
    assert names == methods(DistancePairs).keys()
    for name in names:
        first, second = getattr(WeightedPairs, name), getattr(DistancePairs, name)
        assert parameters(first) == parameters(second), name
    weighted = WeightedPairs(neighbors(X), (Quadratic(), None), 1.0, "sampled", 1.0)
    distances = DistancePairs(DISTANCES["rows"][0](X), SquaredLoss(), None)
    for pairs in (weighted, distances):
        assert {"source", "functions", "separates"} <= {*vars(pairs), *vars(type(pairs))}


@pytest.mark.parametrize("name", DISTANCES)
def test_a_source_of_distances_keeps_what_unseen_and_further_items_need(name):
    make, forms = DISTANCES[name]
    given, unseen, further = forms()
    source = make(given)
    assert source.n_items == len(X)
    assert source.is_euclidean == (name == "rows")
    pairs = source.pairs(np.inf, np.random.default_rng(0))
    every = source.from_items(np.arange(len(X)))
    i, j = np.triu_indices(len(X), 1) if pairs.edges is None else pairs.edges.T
    np.testing.assert_allclose(pairs.distances, every[i, j])
    landmarks = source.choose_landmarks(7, np.random.default_rng(0), np.arange(10, 30))
    assert len(landmarks) == 7
    assert np.isin(landmarks, np.arange(10, 30)).all()
    there, twin = source.of_unseen(unseen)
    assert there.shape == (len(NEW), 7)
    assert (twin == -1).all()
    size = len(pickle.dumps(source))
    source.drop_training_state()
    assert len(pickle.dumps(source)) <= size
    np.testing.assert_array_equal(source.of_unseen(unseen)[0], there)
    larger = source.extended(further)
    assert (source.n_items, larger.n_items) == (len(X), len(BOTH))
    added = larger.pairs_from(len(X), np.inf, np.random.default_rng(0))
    assert (added.edges.max(axis=1) >= len(X)).all()
    assert len(added.distances) == len(added.edges) > 0
    np.testing.assert_array_equal(source.of_unseen(unseen)[0], there)


@pytest.mark.parametrize("name", DISTANCES)
def test_pairs_of_weight_zero_are_left_out(name):
    make, forms = DISTANCES[name]
    source = make(forms()[0])
    weights = np.where((np.arange(40) % 2)[:, None] == np.arange(40) % 2, 3.0, 0.0)
    np.fill_diagonal(weights, 0)
    pairs = source.pairs(np.inf, np.random.default_rng(0), sp.csr_array(weights))
    assert len(pairs.weights) == len(pairs.edges) == len(pairs.distances) > 0
    assert (pairs.edges.sum(axis=1) % 2 == 0).all()
    assert (pairs.weights == 3).all()
    assert (pairs.labels[::2] != pairs.labels[1::2]).all()
    few = make(forms()[0]).pairs(50, np.random.default_rng(0), sp.csr_array(weights))
    assert 0 < len(few.edges) == len(few.weights) <= 50


@pytest.mark.parametrize("name", PAIRS)
def test_a_source_of_weights_keeps_what_unseen_and_further_items_need(name):
    make, forms = PAIRS[name]
    given, unseen, further = forms()
    source = make(given)
    graph = source.pairs()
    assert source.n_items == graph.shape[0] == len(X)
    assert abs(graph - graph.T).max() == 0
    indices, weights, twin = source.of_unseen(unseen)
    assert indices.shape == weights.shape
    assert ((weights > 0) == (indices >= 0)).all()
    assert (twin == -1).all()
    source.drop_training_state()
    for before, after in zip((indices, weights), source.of_unseen(unseen)[:2], strict=True):
        np.testing.assert_array_equal(before, after)
    larger = source.extended(further)
    assert larger.n_items == larger.pairs().shape[0] == len(BOTH)
    assert source.n_items == len(X)


def test_neighbors_lose_their_graph_but_a_copy_that_grows_does_not():
    source = neighbors(X)
    source.drop_training_state()
    assert source.pairs() is None
    assert source.extended(FURTHER).pairs().nnz > 0
    assert source.pairs() is None


def with_distance(gap):
    """Distances of three fitted items to all, if their copies are so far away from them."""
    rows = D[:3].copy()
    rows[np.arange(3), np.arange(3)] = gap * np.where(D[:3] > 0, D[:3], np.inf).min(axis=1)
    return rows


GRAPH = near(D)
PLACES = np.full((40, 2), np.nan)
PLACES[::4] = X[::4, :2]
GIVEN = {
    "neighbors": PreserveNeighbors(metric="precomputed", max_iter=20),
    "distances": PreserveDistances(metric="precomputed", max_iter=20),
    "paths": PreserveDistances(metric="precomputed", n_neighbors=5, max_iter=20),
    "graph": PreserveDistances(metric="graph", max_iter=20),
    "anchored": AnchoredMDE(metric="precomputed"),
    "anchored, loss": AnchoredMDE(metric="precomputed", loss="squared", max_iter=20),
    "laplacian": QuadraticMDE(weights="laplacian", metric="precomputed"),
    "isomap": QuadraticMDE(weights="isomap", metric="precomputed", n_neighbors=5),
    "classical scaling": QuadraticMDE(weights="classical_mds", metric="precomputed"),
}


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize("name", GIVEN)
def test_a_given_distance_of_zero_may_have_rounding(name, scale):
    """Every source of given distances has the same rule."""
    estimator = GIVEN[name]
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    given = GRAPH * scale if name == "graph" else D * scale
    fit_params = {"y": PLACES} if name.startswith("anchored") else {}
    estimator.fit(given, **fit_params)
    for gap in (0.0, 1e-9, 5e-7):
        rows = with_distance(gap) * scale
        if name == "graph":  # in a dense matrix, 0 is no edge
            rows = stored(rows)
        found = estimator.transform(rows)
        np.testing.assert_array_equal(found, estimator.embedding_[:3])
    far = estimator.transform(with_distance(1e-3) * scale)
    assert (far != estimator.embedding_[:3]).any(axis=1).all()


@pytest.mark.parametrize(
    "estimator",
    [
        PreserveNeighbors(metric="cosine", max_iter=20, random_state=0),
        PreserveDistances(metric="cosine", n_neighbors=5, max_iter=20, random_state=0),
        QuadraticMDE(weights="laplacian", metric="cosine", random_state=0),
        QuadraticMDE(weights="lle", metric="cosine", random_state=0),
        QuadraticMDE(weights="isomap", metric="cosine", n_neighbors=5, random_state=0),
    ],
)
def test_a_row_at_distance_zero_counts_as_equal(estimator):
    """Rows of another length have the same direction."""
    rows = np.round(X, 1) * 2.0**-4
    estimator.fit(rows)
    np.testing.assert_array_equal(estimator.transform(4 * rows[:5]), estimator.embedding_[:5])


def test_tables_know_an_equal_row_that_is_not_at_distance_zero():
    rows = np.concatenate([np.zeros((1, 3)), X])
    found = tables(rows, "cosine")
    _, distances, twin = found.of_unseen(np.concatenate([rows[:3], NEW]), 5)
    assert distances[0, 0] == 1  # as from any row
    assert twin.tolist() == [0, 1, 2] + [-1] * len(NEW)


def test_tables_that_need_not_grow_do_not_keep_the_rows():
    growing, fixed = tables(X), tables(X, grows=False)
    for there, here in zip(growing.of_unseen(NEW, 3), fixed.of_unseen(NEW, 3), strict=True):
        np.testing.assert_array_equal(there, here)
    assert hasattr(growing.known, "joined")
    assert not hasattr(fixed.known, "joined")


def test_unseen_neighbors_are_within_the_distance_allowed():
    found = tables(X, max_distance=0.7)
    indices, distances, _ = found.of_unseen(NEW, 5)
    nearest = np.sort(pairwise_distances(NEW, X), axis=1)[:, :5]
    np.testing.assert_allclose(distances, np.where(nearest <= 0.7, nearest, np.inf))
    np.testing.assert_array_equal(indices >= 0, nearest <= 0.7)
