"""The repulsion of all pairs, as a user of `MDE` sees it."""

import math

import numpy as np
import pytest
import torch
from all_pairs_cases import exact_energy, scattered
from core_problems import random_graph

from skmde import MDE, penalties
from skmde.core import problem as problem_module
from skmde.core.kernels.backend import CompiledBackend
from skmde.core.objectives import repulsion as module
from skmde.core.objectives.repulsion import NormalizedRepulsion, Repulsion

PAIR = penalties.Log1p(2.0), penalties.Cauchy()


def problem(n, m=2, distortion=PAIR, **arguments):
    rng = np.random.default_rng(0)
    edges = random_graph(rng, n, 4 * n)
    weights = rng.gamma(1.0, size=len(edges))
    return MDE(n, m, edges, distortion, weights=weights, **arguments)


def value_and_gradient(mde, X):
    value, gradient = mde._objective(torch.float64).value_and_gradient(torch.as_tensor(X))
    return float(value), gradient.numpy()


@pytest.mark.parametrize("n", [400, 1000, 1001, 2501])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_all_equals_a_sum_over_all_pairs(n, m):
    X = scattered(n, 12, m)
    s = np.random.default_rng(1).gamma(1.0, size=n)
    s[:5] = 0.0
    plain = problem(n, m)
    energy, forces = exact_energy(X, s)
    value, gradient = value_and_gradient(plain, X)
    rho = 0.3 / len(plain.edges)
    mde = problem(n, m, repulsion="all", repulsive_weight=0.3, item_weights=s, accuracy="precise")
    got, slopes = value_and_gradient(mde, X)
    assert got - value == pytest.approx(-rho * energy, rel=1e-5)
    np.testing.assert_allclose(
        slopes - gradient, -rho * forces, atol=1e-4 * rho * abs(forces).max()
    )
    mde.embed(X, max_iter=0)  # it centres the start, which moves it relative to the lattice
    G = gradient - rho * forces
    assert mde.value == pytest.approx(got, rel=1e-7)
    assert mde.residual_norm == pytest.approx(np.linalg.norm(G - G.mean(axis=0)), rel=1e-3)


@pytest.mark.parametrize("n", [400, 2600])
def test_normalized_is_the_logarithm_and_has_the_gradient_at_the_effective_weight(n):
    X = scattered(n, 12)
    X -= X.mean(axis=0)
    mde = problem(n, repulsion="normalized", repulsive_weight=0.7)
    mde.embed(X, max_iter=0)
    X = mde.X.numpy()
    value, gradient = value_and_gradient(mde, X)
    plain, _ = value_and_gradient(problem(n), X)
    energy = -exact_energy(X)[0]
    weights = mde._edges.weights.numpy()
    want = 0.7 * weights.mean() * math.log(2 * energy)
    assert value - plain == pytest.approx(want, rel=1e-4)
    effective = mde.effective_repulsive_weight()
    assert effective == pytest.approx(0.7 * weights.sum() / energy, rel=1e-3)
    same = problem(n, repulsion="all", repulsive_weight=effective)
    _, slopes = value_and_gradient(same, X)
    np.testing.assert_allclose(gradient, slopes, atol=1e-10 * abs(slopes).max())
    same.embed(X, max_iter=0)
    assert same.effective_repulsive_weight() == pytest.approx(effective)


def test_no_list_of_all_pairs_above_the_size_for_exact_sums(monkeypatch):
    # such a list would need gigabytes for penalties without a lattice
    monkeypatch.setattr(torch, "triu_indices", None)
    for m, penalty in ((2, penalties.Log()), (3, penalties.Cauchy())):
        distortion = penalties.Log1p(), penalty
        mde = problem(3000, m, distortion, repulsion="all", item_weights=np.ones(3000))
        value, _ = value_and_gradient(mde, scattered(3000, 12, m))
        assert np.isfinite(value)


def test_other_penalties_equal_a_list_of_all_pairs():
    n = 60
    X = scattered(n, 6)
    mde = problem(n, distortion=(penalties.Log1p(), penalties.Log()), repulsion="all")
    pairs = MDE(n, 2, None, penalties.Log())
    value, gradient = value_and_gradient(mde, X)
    plain, slopes = value_and_gradient(problem(n, distortion=mde._edges.segments[0].function), X)
    more, forces = value_and_gradient(pairs, X)
    factor = len(pairs.edges) / len(mde.edges)
    assert value == pytest.approx(plain - factor * more, rel=1e-10)
    np.testing.assert_allclose(gradient, slopes - factor * forces, atol=1e-12)


def test_accuracy_chooses_the_lattice():
    n = module._EXACT + 100
    X = scattered(n, 12)
    exact = exact_energy(X)[0] / len(problem(n).edges)
    plain = value_and_gradient(problem(n), X)[0]
    errors = {}
    for accuracy in ("fast", "precise"):
        got, _ = value_and_gradient(problem(n, repulsion="all", accuracy=accuracy), X)
        errors[accuracy] = abs((plain - got) / exact - 1)
    assert errors["precise"] < 1e-6 < errors["fast"] < 1e-3


def test_energies_that_are_not_positive():
    sums = CompiledBackend().product_sums(penalties.Cauchy(), None, 2, 1, torch.float64)
    term = NormalizedRepulsion(sums, 1.0)
    assert term.value(0.0) == -math.inf
    assert math.isnan(term.value(math.nan))
    assert math.isnan(term.slope(0.0))
    assert math.isnan(term.slope(-1.0))
    assert Repulsion(sums, 2.0).value(-3.0) == -6.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"repulsion": "every"}, "repulsion must be 'all', 'normalized' or None; got 'every'"),
        ({"repulsion": "all", "distortion": "cubic"}, "needs a pair .* of penalties; got 'cubic'"),
        ({"repulsion": "all", "distortion": ("log1p", None)}, "needs a pair .*'log1p', None"),
        (
            {"repulsion": "all", "distortion": ("log1p", lambda d: -torch.exp(-d))},
            "must be a built-in one",
        ),
        ({"accuracy": "exact"}, "accuracy must be 'fast' or 'precise'; got 'exact'"),
        ({"repulsive_weight": -1.0}, "repulsive_weight must be a finite number.*got -1.0"),
        ({"repulsive_weight": math.nan}, "repulsive_weight must be a finite number.*got nan"),
        ({"repulsive_weight": math.inf}, "repulsive_weight must be a finite number.*got inf"),
        ({"repulsive_weight": "1"}, "repulsive_weight must be a finite number.*got '1'"),
        ({"repulsive_weight": True}, "repulsive_weight must be a finite number.*got True"),
        ({"item_weights": np.ones(19)}, r"for each of the 20 items; got an array of shape \(19,\)"),
        ({"item_weights": ["a"] * 20}, "a number for each of the 20 items.*dtype <U1"),
        ({"item_weights": np.linspace(1, -1, 20)}, "at least 0; got -0.0526.* for item 10"),
        ({"item_weights": [1.0] * 19 + [math.nan]}, "got nan for item 19"),
        ({"item_weights": [math.inf] * 20}, "got inf for item 0"),
    ],
)
def test_bad_arguments(arguments, message):
    arguments = {"distortion": PAIR, **arguments}
    with pytest.raises(ValueError, match=message):
        problem(20, **arguments)


def test_effective_weight_needs_repulsion_and_an_embedding():
    with pytest.raises(ValueError, match="repulsion is None"):
        problem(20).effective_repulsive_weight()
    with pytest.raises(ValueError, match="no embedding yet"):
        problem(20, repulsion="all").effective_repulsive_weight()


def test_item_weights_move_to_the_device(monkeypatch):
    monkeypatch.setattr(problem_module, "resolve_device", torch.device)
    mde = problem(20, repulsion="all", item_weights=np.ones(20), device="cpu")
    assert mde.to("meta")._repulsion.item_weights.device.type == "meta"
