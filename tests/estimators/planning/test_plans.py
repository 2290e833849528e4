"""Plans of memory: what they say, what they change, and what they refuse."""

import logging

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sparse_arrays import random_sparse

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)
from skmde._utils.memory.amounts import as_bytes, as_text, available_memory

ESTIMATORS = [PreserveNeighbors, PreserveDistances, QuadraticMDE, AnchoredMDE, AnchoredClassifier]


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).standard_normal((300, 5))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_plan_is_of_a_shape_or_of_data(cls, X):
    plan = cls().plan(X)
    assert plan.stages == cls().plan(X.shape).stages
    assert plan.n_bytes == max(stage.n_bytes for stage in plan.stages)
    assert plan.fits
    for stage in plan.stages:
        assert stage.name in str(plan) and stage.what in plan._repr_html_()
    larger = [cls().plan((n, 5)).n_bytes for n in (1000, 10_000, 100_000)]
    assert larger == sorted(larger) and larger[0] < larger[-1]


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_fit_without_room_is_refused_before_it_begins(cls, X):
    estimator = cls(memory_limit="1 MB")
    y = np.arange(300) % 3
    with pytest.raises(ValueError, match=r"needs about .*B of memory .* limit is 1 MB.*To lower"):
        estimator.fit(X, y)
    assert not hasattr(estimator, "n_features_in_")


def test_fewer_pairs_are_sampled_if_a_given_limit_has_no_room_for_all(X):
    whole = PreserveDistances(max_iter=5, random_state=0)
    least = PreserveDistances(max_pairs=20_000, max_iter=5, random_state=0).plan(X).n_bytes
    limited = PreserveDistances(memory_limit=least, max_iter=5, random_state=0).fit(X)
    n_pairs = len(limited.distances_)
    assert 10_000 < n_pairs < 30_000
    assert limited.plan(X).fits and "sampled" in str(limited.plan(X))
    by_hand = PreserveDistances(max_pairs=n_pairs, max_iter=5, random_state=0).fit(X)
    np.testing.assert_array_equal(limited.embedding_, by_hand.embedding_)
    roomy = PreserveDistances(memory_limit="1 GB", max_iter=5, random_state=0).fit(X)
    np.testing.assert_array_equal(roomy.embedding_, whole.fit(X).embedding_)


def test_a_plan_counts_what_x_stores():
    few = random_sparse((2000, 2000), 0.005, seed=0)
    many = random_sparse((2000, 2000), 0.05, seed=0)
    graph = nx.cycle_graph(500)
    for estimator in (
        PreserveNeighbors(metric="precomputed"),
        PreserveDistances(metric="precomputed"),
        QuadraticMDE(weights="precomputed"),
    ):
        assert estimator.plan(few).n_bytes < estimator.plan(many).n_bytes
    tables = np.zeros((500, 7), int), np.ones((500, 7))
    assert "7 given neighbours" in str(PreserveNeighbors(metric="precomputed").plan(tables))
    assert "2 given neighbours" in str(PreserveNeighbors(metric="graph").plan(graph))
    assert PreserveNeighbors(n_neighbors=50).plan((9000, 9)).n_bytes > 1.5 * (
        PreserveNeighbors(n_neighbors=15).plan((9000, 9)).n_bytes
    )


def test_a_plan_does_not_count_rows_on_the_disk(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((20_000, 300)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    in_memory = PreserveNeighbors().plan((20_000, 300)).n_bytes
    assert PreserveNeighbors().plan(X).n_bytes < in_memory - 0.5 * X.nbytes


def test_the_plan_is_logged(X, caplog):
    with caplog.at_level(logging.INFO, "skmde"):
        PreserveNeighbors(max_iter=2, random_state=0).fit(X)
    planned = [r.getMessage() for r in caplog.records if r.getMessage().startswith("plan: ")]
    assert [text.split(",")[0] for text in planned] == [
        f"plan: {name}" for name in ("neighbors", "edges", "init", "solve")
    ]


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("4GB", 4e9), ("1.5 gb", 1.5e9), ("512 MiB", 2.0**29), ("2t", 2e12), ("100", 100), (7e6, 7e6)],
)
def test_amounts_of_memory(text, n_bytes):
    assert as_bytes(text) == n_bytes


@pytest.mark.parametrize("amount", ["", "GB", "4 GBytes", "-1GB", "3ib", 0, -5, np.nan])
def test_amounts_that_are_none(amount, X):
    with pytest.raises(ValueError, match="memory_limit must be"):
        PreserveNeighbors(memory_limit=amount).fit(X)


def test_a_shape_must_be_two_integers():
    with pytest.raises(ValueError, match=r"\(n_samples, n_features\); got \(10,\)"):
        PreserveNeighbors().plan((10,))
    with pytest.raises(ValueError, match=r"two positive integers"):
        PreserveNeighbors().plan((10, 2.5))


@pytest.mark.parametrize("wrong", ["abc", None, np.arange(5), np.zeros((2, 2, 2))])
def test_an_x_without_two_dimensions_has_no_plan(wrong):
    with pytest.raises(ValueError, match=r"with 2 dimensions.*got an X of shape \("):
        PreserveNeighbors().plan(wrong)


@pytest.mark.parametrize(
    ("cls", "params"),
    [
        (QuadraticMDE, {"weights": "umap"}),
        (PreserveNeighbors, {"n_neighbors": "a"}),
        (PreserveNeighbors, {"n_components": 0}),
        (PreserveDistances, {"max_pairs": 0}),
    ],
)
def test_a_plan_of_invalid_parameters_is_refused(cls, params):
    (name,) = params
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {cls.__name__}"):
        cls(**params).plan((100, 5))


def test_texts_of_amounts():
    assert [as_text(x) for x in (999, 1.5e6, 2.342e9, 1e12)] == [
        "0.999 kB",
        "1.5 MB",
        "2.34 GB",
        "1 TB",
    ]
    assert available_memory() > 1e6


def test_an_extension_without_room_is_refused_before_it_begins(X):
    D = np.linalg.norm(X[:, None] - X, axis=2)
    nearest = np.argsort(D[:, :200], axis=1)[:, 1:8]
    tables = nearest, np.take_along_axis(D, nearest, axis=1)
    anchored = AnchoredMDE(loss="squared", max_iter=2)
    y = {"anchors": [0, 1, 2], "anchor_values": X[:3, :2]}
    for estimator, fitted, further, more in (
        (PreserveNeighbors(max_iter=2), X[:200], X[200:], {}),
        (PreserveNeighbors(metric="precomputed", max_iter=2), D[:200, :200], D[200:], {}),
        (PreserveNeighbors(metric="precomputed", max_iter=2), D[:200, :200], tables, {}),
        (PreserveDistances(max_iter=2), X[:200], X[200:], {}),
        (PreserveDistances(metric="precomputed", max_iter=2), D[:200, :200], D[200:], {}),
        (anchored, X[:200], X[200:], y),
        (AnchoredMDE(max_iter=2), X[:200], X[200:], y),
    ):
        if isinstance(further, tuple):
            fitted = tuple(table[:200] for table in tables)
            further = tuple(table[200:] for table in tables)
        fitted = estimator.set_params(random_state=0).fit(fitted, **more)
        before = fitted.embedding_
        estimator.set_params(memory_limit="1 MB")
        with pytest.raises(ValueError, match=r"extension needs about .* limit is 1 MB.*transform"):
            estimator.extend(further)
        assert fitted.embedding_ is before
        assert len(estimator.set_params(memory_limit="1 GB").extend(further).embedding_) == 300


def test_an_extension_samples_fewer_pairs_if_a_given_limit_has_no_room_for_all(X):
    whole = PreserveDistances(max_iter=5, random_state=0).fit(X[:200])
    limited = PreserveDistances(max_iter=5, random_state=0).fit(X[:200])
    limited.set_params(memory_limit=15e6 + 10_000 * 130 + 50_000).extend(X[200:])
    n_pairs = len(limited.distances_)
    assert 8_000 < n_pairs < 12_000 < len(whole.extend(X[200:]).distances_)
    by_hand = PreserveDistances(max_iter=5, random_state=0).fit(X[:200])
    by_hand.set_params(max_pairs=n_pairs).extend(X[200:])
    np.testing.assert_array_equal(limited.embedding_, by_hand.embedding_)


def test_the_plan_of_an_extension_counts_new_pairs(X):
    """A few rows join many: their pairs count, not those of all."""
    estimator = PreserveDistances(max_pairs=np.inf)
    all_of_them = estimator.plan((5000, 5)).n_bytes
    estimator.embedding_ = np.zeros((4990, 2))
    few = estimator._planned(estimator._size_with(X[:10]), 4990).n_bytes
    assert few < all_of_them / 10


def test_more_fitted_entries_of_a_graph_count(X):
    graph = random_sparse((200, 200), 0.3, seed=0)
    graph = sp.csr_array(graph + graph.T)
    estimator = PreserveNeighbors(metric="precomputed", max_iter=2, random_state=0).fit(graph)
    further = sp.csr_array(([1.0, 1.0], ([0, 0], [3, 7])), shape=(1, 201))
    plan = estimator._planned(estimator._size_with(further), 200)
    assert "given neighbours of 201 items" in str(plan) and "0.0" not in str(plan)
    assert plan.n_bytes > 0.9 * estimator.plan(graph).n_bytes
