"""Plans of memory: what they say, what they change, and what they refuse."""

import logging

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

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
    few = sp.random_array((2000, 2000), density=0.005, random_state=0)
    many = sp.random_array((2000, 2000), density=0.05, random_state=0)
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
