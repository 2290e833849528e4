"""Objectives as sums of terms, and what a solver asks of a term."""

import pytest
import torch
from core_problems import minimize, objective_of

from skmde import Centered
from skmde.core.kernels.backend import CompiledBackend
from skmde.core.objectives.base import PairTerm, Term
from skmde.core.objectives.total import Total
from skmde.core.solvers.base import solve
from skmde.core.solvers.lbfgs import LBFGS

EDGES = [[0, 1], [1, 2], [0, 2]]


class Ridge:
    """A term of a few lines: the mean square of the coordinates, times a number."""

    def __init__(self, strength):
        self.strength = strength

    def value_and_gradient(self, X):
        return self.strength * (X**2).mean(), 2 * self.strength / X.numel() * X


def pair_term(dtype=torch.float64):
    return objective_of(EDGES, 3, 2, "squared", dtype=dtype, deviations=[1.0, 1.0, 1.0])


def total(*terms):
    return Total(terms, CompiledBackend())


def test_terms_add_up():
    X = torch.tensor([[0.0, 1.0], [2.0, 0.5], [1.0, -1.0]], dtype=torch.float64)
    parts = [pair_term(), Ridge(0.3), Ridge(0.2)]
    value, gradient = total(*parts).value_and_gradient(X)
    expected = [part.value_and_gradient(X) for part in parts]
    assert float(value) == pytest.approx(sum(float(v) for v, _ in expected), rel=1e-14)
    torch.testing.assert_close(gradient, sum(g for _, g in expected), rtol=1e-14, atol=0)


def test_one_term_keeps_its_bits():
    X = torch.randn(3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    term = pair_term()
    (value, gradient), (expected, slope) = (f.value_and_gradient(X) for f in (total(term), term))
    assert value == expected
    assert torch.equal(gradient, slope)


def test_solution_of_two_terms_is_between_theirs():
    # Edges of a triangle would have length 1; the ridge pulls them to shorter ones.
    start = torch.tensor([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]], dtype=torch.float64)
    found = minimize(total(pair_term(), Ridge(0.5)), Centered(), start, tol=1e-9)
    lengths = pair_term().distances(found.X)
    assert found.converged
    # d minimises (d - 1)^2 + 0.5 d^2 / 6: items at distance d from each other have a mean square
    # of d^2 / 6 in each coordinate.
    torch.testing.assert_close(lengths, torch.full((3,), 1 / (1 + 0.5 / 6), dtype=torch.float64))


def test_terms_and_questions_about_pairs():
    assert isinstance(pair_term(), PairTerm)
    assert isinstance(Ridge(1.0), Term)
    assert not isinstance(Ridge(1.0), PairTerm)


def test_an_objective_has_a_term():
    with pytest.raises(ValueError, match="no terms; pass at least one"):
        total()


def test_solver_names_the_term_and_what_it_lacks():
    class Needy(LBFGS):
        requires = ("value_and_gradient", "sampled_gradient")

    with pytest.raises(
        TypeError, match=r"^Ridge is not compatible with solver Needy: missing sampled_gradient\.$"
    ):
        solve(Needy(), total(Ridge(1.0)), Centered(), torch.ones(3, 2))
    with pytest.raises(TypeError, match="missing value_and_gradient"):
        solve(LBFGS(), total(object()), Centered(), torch.ones(3, 2))
