"""What a problem says of an embedding: gradient, forces, and multipliers of constraints."""

import numpy as np
import pytest
import torch
from core_problems import Sphere, random_graph

from skmde import MDE, Anchored, QuadraticMDE

N = 40
EDGES = random_graph(np.random.default_rng(0), N, 150)
WEIGHTS = np.random.default_rng(1).gamma(2.0, size=len(EDGES))


def solved(distortion="quadratic", constraint=None, m=2, **options):
    problem = MDE(N, m, EDGES, distortion, constraint, weights=WEIGHTS)
    problem.embed(random_state=0, max_iter=1000, tol=1e-8, **options)
    assert problem.result.converged
    return problem


def test_multiplier_of_a_quadratic_problem_has_the_smallest_eigenvalues_of_the_laplacian():
    problem = solved(constraint="standardized")
    L = np.zeros((N, N))
    for (i, j), w in zip(EDGES, WEIGHTS, strict=True):
        L[[i, j], [i, j]] += w
        L[[i, j], [j, i]] -= w
    smallest = np.linalg.eigvalsh(L)[1:3] * N / len(EDGES)
    dual = problem.dual_
    np.testing.assert_allclose(np.linalg.eigvalsh(dual), smallest, rtol=1e-6)
    assert float(dual.trace()) == pytest.approx(problem.value)
    assert torch.equal(dual, dual.T)


def test_multiplier_is_that_of_the_estimator_of_quadratic_problems():
    rows = np.random.default_rng(2).normal(size=(N, 3))
    model = QuadraticMDE(n_neighbors=5).fit(rows)
    graph = model.graph_.tocoo()
    upper = graph.row < graph.col
    edges = np.stack([graph.row[upper], graph.col[upper]], axis=1)
    problem = MDE(N, 2, edges, "quadratic", "standardized", weights=graph.data[upper])
    problem.embed(model.embedding_, max_iter=0)
    np.testing.assert_allclose(problem.dual_, model.dual_, atol=1e-6 * np.abs(model.dual_).max())


def test_multiplier_of_a_standardized_problem_balances_the_gradient():
    problem = solved("cubic", "standardized", m=3)
    balanced = 2 / N * problem.X @ problem.dual_
    torch.testing.assert_close(problem.gradient(), balanced, rtol=0, atol=1e-7)


def test_multiplier_of_an_anchored_problem_is_the_force_that_holds_each_anchor():
    values = np.random.default_rng(3).normal(size=(3, 2))
    problem = solved(constraint=Anchored([7, 2, 30], values))
    gradient = problem.gradient()
    assert torch.equal(problem.dual_, -gradient[[2, 7, 30]])
    # No force acts on the whole, so those that hold the anchors have the sum 0.
    torch.testing.assert_close(problem.dual_.sum(dim=0), torch.zeros(2).double(), rtol=0, atol=1e-6)


def test_other_constraints_have_no_multiplier():
    assert MDE(N, 2, EDGES, "quadratic", "standardized").dual_ is None  # not solved yet
    centred = solved(lambda d: (d - 1) ** 2)
    assert centred.dual_ is None
    assert float(centred.gradient().norm()) < 1e-6
    sphere = MDE(N, 2, EDGES, "quadratic", Sphere())
    sphere.embed(random_state=0, max_iter=0)
    assert sphere.dual_ is None


def test_forces_pull_towards_the_other_item_and_push_away():
    problem = MDE(3, 2, [[1, 0], [1, 2]], "squared", deviations=[1.0, 4.0])
    X = [[0.0, 0.0], [3.0, 0.0], [3.0, 2.0]]
    # of pairs (0, 1), too long by 2, and (1, 2), too short by 2
    assert problem.forces(X).tolist() == [[4.0, 0.0], [0.0, -4.0]]
    gradient = [[-2.0, 0.0], [2.0, 2.0], [0.0, -2.0]]
    assert problem.gradient(X).tolist() == gradient
    anchored = MDE(
        3, 2, [[1, 0], [1, 2]], "squared", Anchored([1], [[3.0, 0.0]]), deviations=[1.0, 4.0]
    )
    assert anchored.gradient(X).tolist() == gradient
    assert anchored.gradient(X, projected=True).tolist() == [gradient[0], [0.0, 0.0], gradient[2]]


def test_gradient_of_an_embedding_that_requires_a_gradient_is_a_plain_tensor():
    problem = MDE(N, 2, EDGES, "log1p")
    X = torch.randn(N, 2, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert not problem.gradient(X).requires_grad and not problem.forces(X).requires_grad
    assert problem.gradient(X).dtype == problem.forces(X).dtype == torch.float32


@pytest.mark.parametrize("method", ["gradient", "forces"])
def test_derivatives_ask_for_an_embedding_where_there_is_none(method):
    with pytest.raises(ValueError, match=r"call embed\(\) first, or pass X"):
        getattr(MDE(N, 2, EDGES, "log1p"), method)()
