"""Derivatives of places by features: finite differences of the placement itself."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from skmde import PreserveDistances, PreserveNeighbors
from skmde.inspection import feature_sensitivity

X = load_iris().data[::2] + np.random.default_rng(0).normal(scale=1e-3, size=(75, 4))


def _fitted(data=X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PreserveDistances(random_state=0, **parameters).fit(data)


def _place(estimator, data, item):
    return estimator._leave_one_out(data, np.array([item]))[0]


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "squared"},
        {"loss": "weighted_squared"},
        {"loss": "huber"},
        {"loss": "squared", "n_components": 1},
        {"loss": "squared", "constraint": "standardized"},
    ],
    ids=lambda parameters: " ".join(map(str, parameters.values())),
)
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_derivatives_are_finite_differences(parameters, unit):
    data = unit * X
    estimator = _fitted(data, **parameters)
    items = [3, 40]
    found = feature_sensitivity(estimator, data, items)
    for item, jacobian in zip(items, found.jacobian, strict=True):
        for feature in range(4):
            h, places = 1e-4 * unit, []
            for sign in (-1, 1):
                moved = data.copy()
                moved[item, feature] += sign * h
                places.append(_place(estimator, moved, item))
            expected = (places[1] - places[0]) / (2 * h)
            np.testing.assert_allclose(
                jacobian[:, feature], expected, atol=2e-3 * np.abs(jacobian).max()
            )


def test_importance_is_in_standard_deviations():
    found = feature_sensitivity(_fitted(loss="squared"), X)
    assert found.importance.shape == (75, 4)
    expected = np.linalg.norm(found.jacobian, axis=1) * X.std(axis=0)
    np.testing.assert_allclose(found.importance, expected)
    names = load_iris().feature_names
    assert found.top(1, names)[0][0] == "petal length (cm)"
    assert [name for name, _ in found.top()] != []
    assert repr(found) == "FeatureSensitivity(75 items, 4 features)"


def test_duplicates_have_derivatives():
    twice = np.concatenate([X, X[:3]])
    found = feature_sensitivity(_fitted(twice, loss="squared"), twice, [0, 76])
    assert np.isfinite(found.jacobian).all()


def test_what_has_no_derivative_says_so():
    with pytest.raises(ValueError, match="has a kink at d = delta"):
        feature_sensitivity(_fitted(loss="absolute", max_iter=5), X)
    with pytest.raises(ValueError, match="known for metric='euclidean'"):
        feature_sensitivity(_fitted(loss="squared", metric="manhattan", max_iter=5), X)
    with pytest.raises(ValueError, match="PreserveNeighbors have no useful derivative"):
        feature_sensitivity(PreserveNeighbors(random_state=0).fit(X), X)
    sparse = sp.csr_array(X)
    with pytest.raises(ValueError, match="need dense rows"):
        feature_sensitivity(_fitted(sparse, loss="squared", max_iter=5), sparse)
