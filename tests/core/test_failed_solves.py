"""Warnings and errors of a solve: where it has failed, and only there."""

import numpy as np
import pytest
import torch
from core_problems import push_and_pull_weights, random_graph

from skmde import MDE, Anchored, PreserveNeighbors
from skmde.exceptions import ConvergenceWarning
from skmde.losses import LOSSES

EDGES = np.array([[3, 1], [0, 1], [2, 0], [3, 2], [1, 2]])


def small(distortion="quadratic", constraint=None, **arguments):
    return MDE(4, 2, EDGES, distortion, constraint, **arguments)


def larger(constraint=None):
    rng = np.random.default_rng(0)
    edges = random_graph(rng, 80, 400)
    weights = push_and_pull_weights(rng, len(edges))
    return MDE(80, 2, edges, ("log1p", "log"), constraint, weights=weights)


CYCLE = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [0, 2], [1, 3]])
HOPS = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 2.0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_the_best_embedding_of_a_cycle_is_no_reason_to_warn(loss):
    # The square is the best embedding under the absolute and the fractional loss, which have kinks
    # there; the others only change its size.
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    problem = MDE(4, 2, CYCLE, loss, deviations=HOPS)
    problem.embed(square)
    problem.embed(problem.X)
    side = problem.distances()[:4]
    np.testing.assert_allclose(side, side[0], rtol=1e-3)


@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("penalty", ["quadratic", "cubic", "log1p", "huber", "linear"])
def test_attraction_alone_warns_of_the_collapse(penalty, factor):
    edges = random_graph(np.random.default_rng(0), 30, 60)
    problem = MDE(30, 2, edges, penalty, weights=np.full(len(edges), factor))
    with pytest.warns(ConvergenceWarning, match="collapsed.*Add repulsion"):
        problem.embed(random_state=0)


@pytest.mark.filterwarnings("error:The embedding collapsed")
def test_an_embedding_that_is_held_apart_does_not_warn_of_a_collapse():
    larger(constraint="standardized").embed(random_state=0)
    larger().embed(1e3 * np.random.default_rng(0).normal(size=(80, 2)))
    small("quadratic", Anchored([0], [[1.0, 0.0]])).embed(random_state=0)
    spring = MDE(3, 2, [[0, 1], [1, 2], [0, 2]], lambda d: (d - 1) ** 2)
    spring.embed(100 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    assert spring.value < 1e-6
    same = MDE(3, 2, [[0, 1], [1, 2], [0, 2]], "squared", deviations=np.zeros(3))
    same.embed(random_state=0)


@pytest.mark.parametrize("constraint", [None, "standardized", Anchored([0], [[1.0, 0.0]])])
def test_a_function_that_is_nan_is_an_error(constraint):
    for function, data in (
        (lambda d: torch.sqrt(d - 100), {}),
        (lambda delta, d: torch.log(d - 100), {"deviations": np.ones(5)}),
    ):
        problem = small(function, constraint, **data)
        with pytest.raises(ValueError, match=r"distortion is NaN.*Check that the distortion func"):
            problem.embed(random_state=0)
        assert problem.X is None


@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e12])
def test_running_out_of_iterations_warns_while_more_of_them_gain_much(factor, capfd):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 5))
    i, j = np.triu_indices(60, 1)
    delta = factor * np.linalg.norm(points[i] - points[j], axis=1)
    problem = MDE(60, 2, None, "squared", deviations=delta)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3, while.*last iteration.*Increase"):
        problem.embed(max_iter=3, random_state=0)
    assert not problem.result.converged
    reason = problem.result.reason
    assert reason.startswith("max_iter=3 iterations were done; the residual norm, ")
    assert reason.endswith(" of its unit, is above tol=1e-05")
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", ["absolute", "logistic", "squared"])
def test_running_out_of_iterations_near_the_end_does_not_warn(loss):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 5))
    i, j = np.triu_indices(60, 1)
    delta = np.linalg.norm(points[i] - points[j], axis=1)
    problem = MDE(60, 2, None, loss, deviations=delta)
    problem.embed(points[:, :2], max_iter=200, tol=0.0)
    assert problem.result.n_iter > 20


@pytest.mark.filterwarnings("error")
def test_no_iterations_and_an_exact_embedding_do_not_warn():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2))
    i, j = np.triu_indices(30, 1)
    delta = np.linalg.norm(points[i] - points[j], axis=1)
    problem = MDE(30, 2, None, "squared", deviations=delta)
    problem.embed(random_state=0, max_iter=0)
    # The distortion falls by orders of magnitude to the end, but is tiny.
    problem.embed(points + 1e-3 * rng.normal(size=(30, 2)), max_iter=8, tol=0.0)
    assert problem.result.n_iter == 8
    assert problem.value < 1e-9


@pytest.mark.filterwarnings("ignore:The solve ended at max_iter")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-30, 1e-10, 1e-4, 1e4, 1e10, 1e30])
@pytest.mark.parametrize(
    "functions",
    [("log1p", "log"), ("quadratic", "log"), ("huber", "inverse_power"), ("logistic", "log_ratio")],
)
def test_a_start_of_another_size_is_no_solution_under_penalties(functions, size, dtype):
    rng = np.random.default_rng(0)
    edges = random_graph(rng, 60, 300)
    weights = push_and_pull_weights(rng, len(edges)).astype(dtype)
    start = rng.normal(size=(60, 2)).astype(dtype)
    problem = MDE(60, 2, edges, functions, weights=weights)
    plain = problem.average_distortion(problem.embed(start))
    other = problem.average_distortion(problem.embed(np.float64(size) * start))
    assert problem.result.n_iter > 10
    assert other < 1.1 * plain


@pytest.mark.parametrize("length", [1e-9, 1e9])
def test_a_start_that_suits_the_length_of_a_penalty_keeps_its_size(length):
    def spring(d):
        return (d / length - 1) ** 2

    triangle = length * np.array([[0.0, 0.0], [1.1, 0.0], [0.5, 0.8]])
    problem = MDE(3, 2, [[0, 1], [1, 2], [0, 2]], spring)
    problem.embed(triangle)
    np.testing.assert_allclose(problem.distances() / length, 1.0, atol=0.2)


@pytest.mark.parametrize("size", [1e-10, 1e-3])
def test_a_tiny_start_warns_of_the_collapse_to_a_point(size):
    edges = random_graph(np.random.default_rng(0), 30, 60)
    start = size * np.random.default_rng(0).normal(size=(30, 2))
    with pytest.warns(ConvergenceWarning, match="collapsed.*nothing holds"):
        MDE(30, 2, edges, "log1p").embed(start)


@pytest.mark.parametrize("weight", [1e-3, 1e-10])
@pytest.mark.parametrize("kind", ["all", "normalized"])
def test_repulsion_that_is_too_weak_warns_of_the_collapse(kind, weight):
    points = np.random.default_rng(0).uniform(size=(100, 2))
    model = PreserveNeighbors(repulsion=kind, repulsive_weight=weight, random_state=0)
    with pytest.warns(ConvergenceWarning, match="collapsed.*the repulsion does not hold"):
        model.fit(points)


@pytest.mark.filterwarnings("error:The embedding collapsed")
@pytest.mark.parametrize("weight", [None, 0.05, 1.0])
def test_flat_data_that_are_held_apart_do_not_warn_of_a_collapse(weight):
    points = np.random.default_rng(0).uniform(size=(100, 2))
    PreserveNeighbors(repulsive_weight=weight, random_state=0).fit(points)
