"""Weights and distances far from all others, or in any unit, leave no item unsolved in silence."""

import numpy as np
import pytest
import torch
from core_problems import random_graph

from skmde import MDE, Anchored, PreserveDistances
from skmde.core.scales.precision import has_moderate_weights

N = 40
POINTS = np.random.default_rng(0).standard_normal((N, 4))
FIRST, SECOND = np.triu_indices(N, 1)
EDGES = np.stack([FIRST, SECOND], axis=1)
DELTA = np.linalg.norm(POINTS[FIRST] - POINTS[SECOND], axis=1)
HUGE = [1e6, 1e9, 1e12]
# Ratio of the distortions of two good solves; starts without a step are 1.2 to 2.4 times as bad.
CLOSE = 1.03


def one_heavy_pair(distortion, weights, heavy, constraint=None, **options):
    """The problem's result, and the average distortion of the pairs that are not heavy."""
    weights = weights.copy()
    weights[0] = heavy
    problem = MDE(N, 2, EDGES, distortion, constraint, weights=weights, **options)
    problem.embed(random_state=0)
    weights[0] = 0
    rest = MDE(N, 2, EDGES, distortion, constraint, weights=weights, **options)
    return problem, rest.average_distortion(problem.X)


@pytest.mark.parametrize("heavy", HUGE)
@pytest.mark.parametrize("loss", ["squared", "huber", "kamada_kawai", "sammon", "cubic"])
def test_one_huge_weight_of_a_loss_leaves_no_other_pair_unsolved(loss, heavy):
    options = {"weights": np.ones(len(FIRST)), "deviations": DELTA}
    _, wanted = one_heavy_pair(loss, heavy=100.0, **options)
    problem, found = one_heavy_pair(loss, heavy=heavy, **options)
    assert problem.result.n_iter > 5
    assert found <= CLOSE * wanted
    assert float(problem.distances()[0]) == pytest.approx(DELTA[0], rel=1e-3)


@pytest.mark.parametrize("heavy", HUGE)
@pytest.mark.parametrize(
    ("functions", "constraint"),
    [("quadratic", "standardized"), (("quadratic", "inverse_power"), None)],
)
def test_one_huge_weight_of_a_penalty_does_not_pass_for_a_solution(functions, constraint, heavy):
    weights = np.exp(-DELTA)
    if isinstance(functions, tuple):
        weights[DELTA > np.median(DELTA)] *= -1
    _, wanted = one_heavy_pair(functions, weights, 100.0, constraint)
    problem, found = one_heavy_pair(functions, weights, heavy, constraint)
    assert problem.result.n_iter > 10 and problem.result.converged
    # Local minima differ by as much; a start without a step is four times as bad.
    assert found <= 1.06 * wanted


def test_weights_over_many_powers_of_ten_are_not_called_solved_at_the_start():
    plane = POINTS[:, :2]
    deviations = np.linalg.norm(plane[FIRST] - plane[SECOND], axis=1)
    weights = np.exp(8 * np.random.default_rng(1).standard_normal(len(FIRST)))
    problem = MDE(N, 2, EDGES, "squared", weights=weights, deviations=deviations)
    problem.embed(random_state=0, max_iter=50)
    assert problem.result.n_iter > 20 or problem.value < 1e-8 * weights.mean()


@pytest.mark.parametrize("factor", [2.0**-110, 2.0**-70, 2.0**70, 2.0**100])
@pytest.mark.parametrize("loss", ["squared", "absolute", "kamada_kawai", "huber"])
def test_float32_weights_in_any_unit_are_solved_as_precisely(loss, factor):
    def solved(factor, dtype):
        weights = (factor * (1 + DELTA).astype(np.float32)).astype(dtype)
        problem = MDE(N, 2, EDGES, loss, weights=weights, deviations=DELTA.astype(np.float32))
        return problem, problem.embed(random_state=0, max_iter=60)

    _, plain = solved(1.0, np.float64)
    problem, X = solved(np.float32(factor), np.float32)
    assert problem.result.n_iter > 5
    assert torch.equal(X, plain)


@pytest.mark.parametrize("factor", [2.0**-90, 2.0**-70, 2.0**70, 2.0**100])
@pytest.mark.parametrize("loss", ["squared", "absolute", "kamada_kawai", "cubic"])
def test_float32_distances_in_any_unit_are_solved(loss, factor):
    def stress(factor):
        deviations = np.float32(factor) * DELTA.astype(np.float32)
        problem = MDE(N, 2, EDGES, loss, deviations=deviations)
        X = problem.embed(random_state=0, max_iter=60).double().numpy() / factor
        d = np.linalg.norm(X[FIRST] - X[SECOND], axis=1)
        return np.sqrt(((d - DELTA) ** 2).mean()), problem.result.n_iter

    (plain, _), (found, n_iter) = stress(1.0), stress(factor)
    assert n_iter > 5
    assert found == pytest.approx(plain, rel=0.02)


@pytest.mark.parametrize("factor", [2.0**-110, 2.0**100])
@pytest.mark.parametrize("penalty", ["log1p", "huber"])
def test_float32_weights_of_penalties_in_any_unit_are_solved_as_precisely(penalty, factor):
    def solved(factor, dtype):
        weights = (factor * np.exp(-DELTA).astype(np.float32)).astype(dtype)
        problem = MDE(N, 2, EDGES, penalty, "standardized", weights=weights)
        return problem.embed(random_state=0, max_iter=60)

    assert torch.equal(solved(np.float32(factor), np.float32), solved(1.0, np.float64))


@pytest.mark.parametrize("factor", [1e-60, 1e-30, 1e30, 1e60])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_pair_weights_beyond_float32_give_the_same_map(loss, factor):
    D = np.zeros((N, N))
    D[FIRST, SECOND] = D[SECOND, FIRST] = DELTA
    weights = 1 / (1 + D) ** 2

    def stress(factor):
        estimator = PreserveDistances(loss=loss, metric="precomputed", random_state=0)
        return estimator.fit(D, pair_weights=factor * weights).stress_

    assert stress(factor) == pytest.approx(stress(1.0), rel=0.01)


def test_which_weights_float32_takes():
    assert has_moderate_weights(None) and has_moderate_weights(np.zeros(3))
    assert has_moderate_weights(np.array([1e-40, -1.0]))
    assert not has_moderate_weights(np.array([0.0, -1e13]))
    assert not has_moderate_weights(torch.tensor([1e-13, 0.0]))


@pytest.mark.parametrize("loss", ["squared", "absolute", "kamada_kawai", "logistic"])
@pytest.mark.parametrize("factor", [1e-320, 1e-90, 1e-40])
def test_distances_that_losses_take_for_zero_are_refused(loss, factor):
    with pytest.raises(ValueError, match=r"deviations: the longest .* at least 1e-30.* unit"):
        MDE(N, 2, EDGES, loss, deviations=factor * DELTA)


@pytest.mark.parametrize("name", ["weights", "deviations"])
@pytest.mark.parametrize("edges", [EDGES, None])
def test_numbers_whose_squares_leave_float64_are_refused(name, edges):
    numbers = {"weights": np.ones(len(FIRST)), "deviations": DELTA}
    numbers[name] = numbers[name] * 1e200
    with pytest.raises(ValueError, match=f"{name}: the largest absolute value .* at most 1e"):
        MDE(N, 2, edges, "squared", **numbers)


def test_weights_whose_squares_vanish_are_refused():
    with pytest.raises(ValueError, match=r"weights: the largest absolute value .* 1e-100"):
        MDE(N, 2, EDGES, "quadratic", "standardized", weights=np.full(len(FIRST), 1e-200))
    nothing = MDE(N, 2, EDGES, "squared", deviations=np.zeros(len(FIRST)))  # zeros have no unit
    assert nothing.embed(random_state=0).abs().max() < 1e-3


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("loss", ["squared", "huber", "kamada_kawai", "sammon"])
def test_one_far_item_leaves_no_other_pair_unsolved(loss, far):
    def fitted(far):
        X = np.concatenate([[far * np.ones(4)], POINTS])
        return PreserveDistances(loss=loss, random_state=0).fit(X)

    problem = MDE(N, 2, EDGES, loss, deviations=DELTA)
    wanted = problem.average_distortion(fitted(10.0).embedding_[1:])
    other = fitted(far)
    assert other.n_iter_ > 5
    # The pairs with the far item take part in the choice of the map.
    assert problem.average_distortion(other.embedding_[1:]) <= 1.3 * wanted
    assert other.distortion_ <= 1.3 * fitted(1e2).distortion_


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e-8, 1e8, 1e100, 1e200])
@pytest.mark.parametrize("loss", ["squared", "absolute", "kamada_kawai"])
def test_a_start_of_any_size_is_solved(loss, size):
    start = np.random.default_rng(0).standard_normal((N, 2))
    problem = MDE(N, 2, EDGES, loss, deviations=DELTA)
    problem.embed(start)
    wanted = problem.value
    problem.embed(size * start)
    assert problem.result.n_iter > 5
    assert problem.value <= 1.2 * wanted  # minima differ
    unsolved = problem.embed(size * start, max_iter=0).numpy() / size
    np.testing.assert_allclose(unsolved, start - start.mean(axis=0), atol=1e-6)


def merged(edges, weights):
    """Items 0 and 1 as one item: the edges of the others, without the pair itself."""
    parts = np.where(edges <= 1, 0, edges - 1)
    kept = parts[:, 0] != parts[:, 1]
    return parts[kept], weights[kept]


def with_gradient_only(d):
    return torch.log1p(d**2)


@pytest.mark.parametrize("heavy", [1e5, *HUGE])
@pytest.mark.parametrize(
    "functions",
    [
        ("quadratic", "log"),
        ("log1p", "log"),
        ("huber", "inverse_power"),
        (with_gradient_only, "log"),
    ],
    ids=["quadratic", "log1p", "huber", "callable"],
)
@pytest.mark.parametrize("constraint", [None, "anchored"])
def test_one_huge_weight_of_a_penalty_is_solved_as_if_the_two_were_one(
    functions, constraint, heavy
):
    rng = np.random.default_rng(3)
    n = 20
    edges = random_graph(rng, n, 80)
    weights = np.where(np.arange(len(edges)) % 2, -1.0, 1.0)
    weights[(edges == [0, 1]).all(axis=1)] = heavy
    start = rng.normal(size=(n, 2))
    start[1] = start[0]
    start -= start.mean(axis=0)
    whole, one = constraint, constraint
    if constraint == "anchored":
        whole, one = Anchored([5, 9], start[[5, 9]]), Anchored([4, 8], start[[5, 9]])
    problem = MDE(n, 2, edges, functions, whole, weights=weights)
    problem.embed(start + 0.1 * rng.normal(size=(n, 2)) * (whole is None))
    assert problem.result.converged
    assert float(problem.distances()[(edges == [0, 1]).all(axis=1)]) < 1e-2
    parts, rest = merged(edges, weights)
    single = MDE(n - 1, 2, parts, functions, one, weights=rest)
    single.embed(problem.X[1:], max_iter=2000)
    weights[(edges == [0, 1]).all(axis=1)] = 0.0
    found = MDE(n, 2, edges, functions, whole, weights=weights).average_distortion(problem.X)
    assert found * len(edges) <= 1.02 * single.value * len(parts) + 1e-3
