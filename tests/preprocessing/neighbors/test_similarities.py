"""Similarities in place of distances, and the warning where one is taken for the other."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors
from skmde.preprocessing import precomputed_neighbors

X = load_digits(return_X_y=True)[0][:60]
D = pairwise_distances(X)
S = np.exp(-D / 20)
PARAMS = {"n_neighbors": 5, "init": "quadratic", "repulsive_weight": 1.0, "max_iter": 5,
          "attractive_penalty": "log1p", "random_state": 0}  # fmt: skip
FUNCTIONS = {
    "reciprocal": lambda s: 1 / s,
    "negative logarithm": lambda s: 1 - np.log(s),
    "one minus": lambda s: 2 - s,
    "square root of the reciprocal": lambda s: s**-0.5,
}


def embedding(data, **params):
    return PreserveNeighbors(**{**PARAMS, **params}).fit(data).embedding_


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), name=st.sampled_from(sorted(FUNCTIONS)), k=st.integers(1, 8))
def test_they_equal_any_decreasing_function_of_them(seed, name, k):
    rng, n = np.random.default_rng(seed), 15
    ranks = np.zeros((n, n))
    ranks[np.triu_indices(n, 1)] = rng.permutation(n * (n - 1) // 2)
    similarities = (1 + ranks + ranks.T) / 200  # distinct, so far that rounding keeps the order
    np.fill_diagonal(similarities, 2)
    distances = FUNCTIONS[name](similarities)
    np.fill_diagonal(distances, 0)
    options = {"n_neighbors": k, "repulsion": "sampled"}
    found = embedding(similarities, metric="affinity", **options)
    np.testing.assert_array_equal(found, embedding(distances, metric="precomputed", **options))


def test_defaults_do_not_depend_on_the_unit_or_on_increasing_functions():
    defaults = {"random_state": 0, "max_iter": 20, "metric": "affinity"}
    expected = PreserveNeighbors(**defaults).fit(S).embedding_
    for other in (S * 1e-90, S * 1e90, np.sqrt(S), S + 3):
        np.testing.assert_array_equal(PreserveNeighbors(**defaults).fit(other).embedding_, expected)
    by_weight = PreserveNeighbors(weights="affinity", **defaults)
    one, two = (by_weight.fit(part).weights_ for part in (S, 2.0**40 * S))
    np.testing.assert_array_equal(one, two)


def test_forms_of_input_are_equal():
    expected = embedding(S, metric="affinity")
    for form in (sp.csr_array(S), sp.coo_matrix(S), S.tolist(), np.asfortranarray(S)):
        np.testing.assert_array_equal(embedding(form, metric="affinity"), expected)
    diagonal = S.copy()
    np.fill_diagonal(diagonal, np.nan)
    np.testing.assert_array_equal(embedding(diagonal, metric="affinity"), expected)


def test_0_and_less_are_never_neighbours():
    signed = np.where(S > 0.3, S, -S)
    n_positive = ((signed > 0).sum(axis=1) - 1).clip(max=5)
    fitted = PreserveNeighbors(**PARAMS, metric="affinity").fit(signed)
    assert (signed[tuple(fitted.edges_[fitted.weights_ > 0].T)] > 0).all()
    assert (fitted.graph_ > 0).sum(axis=1).min() >= n_positive.min()
    zeros = sp.csr_array(np.where(S > 0.3, S, 0))
    np.testing.assert_array_equal(embedding(zeros, metric="affinity"), fitted.embedding_)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.where(np.eye(60, k=1) + np.eye(60, k=-1) > 0, np.inf, S), "NaN or infinity"),
        (-(D**2), r"(?s)No similarity .* above 0.*pass -X with metric=.precomputed"),
        (S[:, :50], "square|features"),
    ],
)
def test_bad_similarities(bad, message):
    with pytest.raises(ValueError, match=message):
        embedding(bad, metric="affinity")


def test_a_warning_says_that_both_directions_differ():
    other = S.copy()
    other[0, 1] = 0.9
    with pytest.warns(UserWarning, match="similarities are not symmetric"):
        embedding(other, metric="affinity")


def zero_diagonal(matrix):
    """A sparse matrix whose diagonal stores zeros."""
    matrix = sp.csr_array(matrix)
    matrix.setdiag(1.0)
    matrix.setdiag(0.0)
    return matrix


NEAR = kneighbors_graph(X, 8, mode="distance")
NEAR = sp.csr_array(NEAR.maximum(NEAR.T))
SIMILAR = NEAR.copy()
SIMILAR.data = np.exp(-SIMILAR.data / 20)
WITH_SELF = sp.csr_array(SIMILAR + sp.eye_array(60))


@pytest.mark.parametrize("data", [D, D**2, zero_diagonal(NEAR)], ids=["D", "squares", "sparse"])
def test_distances_for_similarities_are_noticed(data):
    with pytest.warns(UserWarning, match="looks like a matrix of distances.*precomputed"):
        embedding(data, metric="affinity")


@pytest.mark.parametrize("data", [S, X @ X.T + 1e5 * np.eye(60), WITH_SELF])
def test_similarities_for_distances_are_noticed(data):
    with pytest.warns(UserWarning, match="looks like a matrix of similarities.*affinity"):
        precomputed_neighbors(data, 3)


def test_every_estimator_notices_them():
    places = np.full((60, 2), np.nan)
    places[:5] = X[:5, 20:22] + np.arange(5)[:, None]
    for estimator in (
        PreserveNeighbors(metric="precomputed", max_iter=1),
        PreserveDistances(metric="precomputed", max_iter=1),
        AnchoredMDE(metric="precomputed", max_iter=1),
    ):
        with pytest.warns(UserWarning, match="looks like a matrix of similarities"):
            estimator.fit(S, places)


def fill(matrix, value):
    matrix = matrix.copy()
    np.fill_diagonal(matrix, value)
    return matrix


@pytest.mark.parametrize(
    ("metric", "data"),
    [
        ("precomputed", fill(D, np.inf)),
        ("precomputed", fill(D, 1e6)),
        ("precomputed", fill(D, 1.0)),
        ("precomputed", np.ones((60, 60)) - np.eye(60)),
        ("precomputed", NEAR),
        ("affinity", fill(S, 0.0)),
        ("affinity", S),
        ("affinity", zero_diagonal(SIMILAR)),
        ("affinity", SIMILAR),
        ("affinity", WITH_SELF),
    ],
)
def test_what_is_right_gives_no_warning(metric, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="The solve ended")
        embedding(data, metric=metric)
