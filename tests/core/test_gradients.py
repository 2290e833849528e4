"""What torch differentiates of a problem: its numbers, for an embedding that asks for it."""

import numpy as np
import pytest
import torch
from core_problems import random_graph

from skmde import MDE
from skmde.functions.registry import LOSSES, PENALTIES

RNG = np.random.default_rng(0)
EDGES = random_graph(RNG, 6, 12)
WEIGHTS = RNG.uniform(0.5, 2.0, len(EDGES))
DEVIATIONS = RNG.uniform(0.5, 2.0, len(EDGES))


def own(d):
    return torch.tanh(d) * d


FUNCTIONS = {
    **{name: (name, None) for name in PENALTIES if name != "barrier"},
    **{f"{name}_loss": (name, DEVIATIONS) for name in LOSSES},
    "callable": (own, None),
}


def embedding(n=6, m=2, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return torch.randn((n, m), generator=generator, dtype=dtype, requires_grad=True)


def problem_under(function, edges=EDGES, **arguments):
    distortion, deviations = FUNCTIONS[function]
    return MDE(6, 2, edges, distortion, weights=WEIGHTS, deviations=deviations, **arguments)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_numbers_of_pairs_have_the_gradients_of_finite_differences(function):
    problem = problem_under(function)
    for number in (problem.distortions, problem.average_distortion):
        assert torch.autograd.gradcheck(number, embedding(), atol=1e-4)


def test_lengths_have_the_gradients_of_finite_differences():
    problem = problem_under("huber")
    for number in (problem.distances, problem.differences):
        assert torch.autograd.gradcheck(number, embedding())


@pytest.mark.parametrize("repulsion", ["all", "normalized"])
def test_repulsion_of_all_pairs_has_a_gradient(repulsion):
    problem = MDE(
        6, 2, EDGES, ("log1p", "cauchy"), weights=WEIGHTS, repulsion=repulsion, accuracy="precise"
    )
    assert torch.autograd.gradcheck(problem.average_distortion, embedding(), atol=1e-4)


def test_all_pairs_and_another_function_have_a_gradient():
    problem = MDE(6, 2, None, "squared", deviations=np.ones(15))

    def average(X):
        return problem.average_distortion(X, lambda delta, d: own(d) * delta)

    for number in (problem.average_distortion, average):
        assert torch.autograd.gradcheck(number, embedding())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_equal_places_have_finite_gradients(function):
    problem = problem_under(function)
    for number in (problem.distances, problem.distortions, problem.average_distortion):
        X = torch.ones((6, 2), dtype=torch.float64, requires_grad=True)
        number(X).sum().backward()
        assert torch.equal(X.grad, torch.zeros_like(X))


def test_a_number_is_a_tensor_only_for_those_who_want_a_gradient():
    problem, X = problem_under("huber"), embedding()
    wanted = problem.average_distortion(X)
    plain = problem.average_distortion(X.detach())
    assert isinstance(plain, float) and wanted.shape == () and wanted.item() == plain
    with torch.no_grad():
        assert problem.average_distortion(X) == plain
        assert isinstance(problem.average_distortion(X), float)
    (wanted / 3).backward()
    total = problem.distortions(X.detach().requires_grad_()).sum()
    assert total.item() == pytest.approx(plain * len(EDGES))


def test_a_start_that_requires_a_gradient_is_a_start_like_any_other():
    problem, X = problem_under("squared_loss"), embedding()
    solved = problem.embed(X, max_iter=5)
    assert not solved.requires_grad and X.grad is None
    assert torch.equal(solved, problem.embed(X.detach(), max_iter=5))
