"""Soft anchors: a pull toward given coordinates instead of fixing samples there."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from labels import label
from sklearn.base import clone

from skmde import AnchoredMDE, SquaredLoss

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
ANCHORS = np.sort(RNG.choice(60, 12, replace=False))
VALUES = RNG.standard_normal((12, 2)) + 5.0
Y = np.full((60, 2), np.nan)
Y[ANCHORS] = VALUES

PARAMS = [
    {},
    {"attractive_penalty": "huber"},
    {"attractive_penalty": "linear"},
    {"attractive_penalty": "log1p", "repulsive_penalty": "log"},
    {"attractive_penalty": "quadratic", "repulsive_penalty": "inverse_power"},
    {"attractive_penalty": lambda d: d**2 / (1 + d)},
    {"loss": "squared"},
    {"loss": "huber"},
    {"loss": "kamada_kawai"},
]
BY_PARAMS = pytest.mark.parametrize("params", PARAMS, ids=label)


def fit(weight, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = AnchoredMDE(
            random_state=0, anchor_weight=weight, tol=1e-8, max_iter=3000, **params
        )
        return estimator.fit(X, Y)


def numeric_gradient(estimator, pairs_only):
    """Of the average distortion, pulls included or not, by what the attributes say."""
    import torch

    from skmde.functions.registry import resolve_loss, resolve_penalty

    coordinates = torch.tensor(estimator.embedding_, dtype=torch.float64, requires_grad=True)
    i, j = torch.tensor(estimator.edges_.T.astype(np.int64))
    # squares first: a distance of 0 has no gradient
    d = ((coordinates[i] - coordinates[j]) ** 2).sum(dim=1).clamp_min(1e-300).sqrt()
    w = torch.tensor(estimator.weights_, dtype=torch.float64)
    if estimator.loss is not None:
        values = resolve_loss(estimator.loss).value(torch.tensor(estimator.distances_), d)
    else:
        values = resolve_penalty(estimator.attractive_penalty).value(d)
        if estimator.repulsive_penalty is not None:
            away = resolve_penalty(estimator.repulsive_penalty).value(d)
            values = torch.where(w > 0, values, away)
    total = (w * values).sum()
    n_terms = len(d) + len(ANCHORS)
    pull = ((coordinates[ANCHORS] - torch.tensor(VALUES)) ** 2).sum()
    value = (total + estimator.anchor_weight * pull) / n_terms
    (total / n_terms if pairs_only else value).backward()
    return float(value.detach()), coordinates.grad.numpy()


# the linear penalty has no gradient where samples coincide
@pytest.mark.parametrize("params", [p for p in PARAMS if "linear" not in p.values()], ids=label)
def test_the_solution_balances_pairs_and_pulls(params):
    estimator = fit(0.7, **params)
    value, gradient = numeric_gradient(estimator, pairs_only=False)
    assert estimator.distortion_ == pytest.approx(value, rel=1e-6)
    assert np.abs(gradient).max() < 1e-5
    assert estimator.residual_norm_ == pytest.approx(np.linalg.norm(gradient), abs=1e-5)
    assert np.abs(estimator.embedding_[ANCHORS] - VALUES).max() > 1e-3
    _, of_pairs = numeric_gradient(estimator, pairs_only=True)
    np.testing.assert_allclose(estimator.forces_, -of_pairs[ANCHORS], atol=2e-5)


@BY_PARAMS
def test_strong_pulls_fix_and_weak_ones_only_place(params):
    fixed = fit(None, **params)
    strong = fit(1e6, **params)
    assert np.abs(strong.embedding_[ANCHORS] - VALUES).max() < 1e-3
    weights = [0.01, 1.0, 100.0]
    apart = [np.abs(fit(w, **params).embedding_[ANCHORS] - VALUES).max() for w in weights]
    # under "linear" weak pulls leave all samples in one place, wherever that is
    assert apart[0] > (1 - 1e-4) * apart[1] > apart[2]
    assert fixed.embedding_.shape == strong.embedding_.shape


@pytest.mark.parametrize("weight", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("params", [p for p in PARAMS if "linear" not in p.values()], ids=label)
def test_stiff_pulls_are_solved_like_fixed_coordinates(params, weight):
    hard = AnchoredMDE(random_state=0, **params).fit(X, Y)
    stiff = clone(hard).set_params(anchor_weight=weight).fit(X, Y)
    assert stiff.n_iter_ <= 2 * hard.n_iter_ + 20
    assert np.abs(stiff.embedding_[ANCHORS] - VALUES).max() < 100 / weight + 1e-8
    if not {"loss", "repulsive_penalty"} & params.keys():  # one minimum
        np.testing.assert_allclose(stiff.embedding_, hard.embedding_, atol=100 / weight + 1e-3)


def test_quadratic_pull_is_a_pair_with_a_fixed_sample():
    """The phantom's problem, spelled out as one with anchors that do not move."""
    soft = fit(0.7, metric="euclidean")
    n, k = len(X), len(ANCHORS)
    graph = sp.lil_array((n + k, n + k))
    i, j = soft.edges_.T
    graph[i, j] = soft.weights_
    graph[ANCHORS, n + np.arange(k)] = 0.7
    graph = sp.csr_array(graph + graph.T)
    hard = AnchoredMDE(metric="affinity").fit(graph, anchors=n + np.arange(k), anchor_values=VALUES)
    np.testing.assert_allclose(hard.embedding_[:n], soft.embedding_, atol=1e-9)
    assert hard.distortion_ == pytest.approx(soft.distortion_, rel=1e-9)
    np.testing.assert_allclose(hard.forces_, soft.forces_, atol=1e-12)


def test_scale_and_offset_of_the_places_cost_nothing():
    small = fit(0.7)
    moved = clone(small).fit(X, 1e6 * Y - 3e6)
    np.testing.assert_allclose(moved.embedding_, 1e6 * small.embedding_ - 3e6, atol=1e-3)
    for unit in (1e-8, 1e8):
        params = {"loss": SquaredLoss(), "anchor_weight": 0.7, "random_state": 0, "tol": 0}
        scaled = AnchoredMDE(**params).fit(unit * X, unit * Y)
        plain = AnchoredMDE(**params).fit(X, Y)
        np.testing.assert_allclose(scaled.embedding_ / unit, plain.embedding_, atol=1e-4)


def test_transform_and_extension_take_the_fitted_coordinates():
    estimator = fit(0.7)
    np.testing.assert_array_equal(estimator.transform(X[:7]), estimator.embedding_[:7])
    before = estimator.embedding_.copy()
    estimator.extend(RNG.standard_normal((5, 3)))
    np.testing.assert_array_equal(estimator.embedding_[:60], before)
    assert estimator.embedding_.shape == (65, 2)


def test_samples_without_a_chain_to_an_anchor_are_counted():
    graph = sp.lil_array((6, 6))
    graph[[0, 1, 3, 4], [1, 2, 4, 5]] = 1.0
    graph = sp.csr_array(graph + graph.T)
    estimator = AnchoredMDE(metric="affinity", anchor_weight=1.0)
    with pytest.warns(UserWarning, match="3 free samples"):
        estimator.fit(graph, [1.0, np.nan, 3.0, np.nan, np.nan, np.nan])
    assert estimator.n_loose_ == 3
    np.testing.assert_allclose(estimator.embedding_[3:], 2.0)
    # x0 - x1 + (x0 - 1) = 0, 2 x1 = x0 + x2, x2 - x1 + (x2 - 3) = 0
    np.testing.assert_allclose(estimator.embedding_[:3].ravel(), [1.5, 2.0, 2.5])


@pytest.mark.parametrize("weight", [0, -1.0, np.nan, np.inf, "1"])
def test_wrong_weights(weight):
    with pytest.raises(ValueError, match="anchor_weight"):
        AnchoredMDE(anchor_weight=weight).fit(X, Y)
