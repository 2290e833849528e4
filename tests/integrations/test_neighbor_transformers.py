"""Neighbours found by scikit-learn's and pynndescent's transformers."""

import numpy as np
import pytest
from pynndescent import PyNNDescentTransformer
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsTransformer,
    RadiusNeighborsTransformer,
)
from sklearn.pipeline import make_pipeline

from skmde import PreserveNeighbors


@pytest.fixture(scope="module")
def untied(digits):
    """Digits between which no two distances are equal, so that every search finds the same."""
    noise = np.random.default_rng(0).normal(scale=0.01, size=digits[0].shape)
    return digits[0] + noise


def after(transformer, **params):
    return make_pipeline(
        transformer, PreserveNeighbors(metric="precomputed", random_state=0, **params)
    )


@pytest.mark.parametrize(
    "transformer",
    [
        KNeighborsTransformer(n_neighbors=10),
        KNeighborsTransformer(n_neighbors=11, mode="connectivity"),  # counts the row itself
        PyNNDescentTransformer(n_neighbors=10, random_state=0),
    ],
    ids=["distance", "connectivity", "pynndescent"],
)
def test_neighbours_are_those_that_the_estimator_finds(transformer, untied, digits):
    pipeline = after(transformer).fit(untied[:500])
    direct = PreserveNeighbors(n_neighbors=10, init="quadratic", random_state=0).fit(untied[:500])
    different = abs(pipeline[-1].graph_ - direct.graph_)
    assert different.nnz < 0.02 * direct.graph_.nnz

    # the neighbours of unseen rows come by the same way
    y = digits[1]
    scores = [
        KNeighborsClassifier(5)
        .fit(model.transform(untied[:500]), y[:500])
        .score(model.transform(untied[500:]), y[500:])
        for model in (pipeline, direct)
    ]
    assert abs(scores[0] - scores[1]) <= 0.05


def test_neighbours_within_a_radius(untied):
    pipeline = after(RadiusNeighborsTransformer(radius=25.0)).fit(untied[:500])
    direct = PreserveNeighbors(max_distance=25.0, init="quadratic", random_state=0).fit(
        untied[:500]
    )
    assert abs(pipeline[-1].graph_ - direct.graph_).max() == 0
    np.testing.assert_allclose(pipeline[-1].embedding_, direct.embedding_, atol=1e-3)
    # rows with no neighbour within the radius are among these
    unseen = pipeline.transform(untied[500:])
    np.testing.assert_allclose(unseen, direct.transform(untied[500:]), atol=1e-2)


def test_a_cached_search_serves_many_embeddings(digits, tmp_path):
    X, _ = digits
    pipeline = make_pipeline(
        KNeighborsTransformer(n_neighbors=15),
        PreserveNeighbors(metric="precomputed", random_state=0),
        memory=str(tmp_path),
    )
    first = pipeline.fit_transform(X)
    pipeline.set_params(preserveneighbors__attractive_penalty="huber")
    assert not np.array_equal(pipeline.fit_transform(X), first)
    assert any(tmp_path.rglob("output.pkl"))
