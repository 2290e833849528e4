"""Estimators do what a constraint of the user's own says of itself, and assume nothing else."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.datasets import load_digits

from skmde import Anchored, Centered, Constraint, PreserveDistances, PreserveNeighbors, Standardized
from skmde.core.problem import MDE

X = load_digits().data[:120]
WILD = 1e6 * np.random.default_rng(0).standard_normal((120, 2)) + 1e7


def copy_of(kind, *promises):
    """A constraint of the mathematics of another's, that says of itself only what is asked for."""

    class Copy(Constraint):
        def __init__(self, original):
            self.original = original

        def project(self, Z):
            return self.original.project(Z)

        def project_tangent(self, X, Z):
            return self.original.project_tangent(X, Z)

        def violation(self, X):
            return self.original.violation(X)

        def initialize(self, *args):
            return self.original.initialize(*args)

        @property
        def needs_projection(self):
            return self.original.needs_projection

    for name in promises:

        def of_original(self, name=name):
            return getattr(self.original, name)

        setattr(Copy, name, property(of_original))
    return Copy(kind)


ANCHORED = Anchored([2, 70], [[1.0 / 3.0, 0.1], [-1.0, 0.0]])
ALL = ("fixes_unit", "fixes_position", "is_free", "natural_length", "fixed_items")
ALL += ("fixed_coordinates", "restricted", "finish")


@pytest.mark.parametrize("original", [Centered(), Standardized(), ANCHORED], ids=repr)
@pytest.mark.parametrize("params", [{}, {"init": WILD}, {"metric": "graph"}], ids=["", "wild", "g"])
def test_preserve_distances_treats_a_copy_as_the_original(original, params):
    data = X
    if "metric" in params:  # two parts
        data = sp.block_diag([sp.csr_array(np.ones((60, 60)) - np.eye(60))] * 2)
    made = [
        PreserveDistances(constraint=constraint, random_state=0, max_iter=20, **params).fit(data)
        for constraint in (original, copy_of(original, *ALL))
    ]
    np.testing.assert_array_equal(made[0].embedding_, made[1].embedding_)
    assert made[0].scale_ == made[1].scale_


@pytest.mark.parametrize("original", [Centered(), Standardized(), ANCHORED], ids=repr)
@pytest.mark.parametrize("params", [{}, {"init": WILD}], ids=["", "wild"])
def test_preserve_neighbors_treats_a_copy_as_the_original(original, params):
    made = [
        PreserveNeighbors(constraint=constraint, random_state=0, max_iter=20, **params).fit(
            X, sample_weight=np.arange(120) % 5
        )
        for constraint in (original, copy_of(original, *ALL))
    ]
    np.testing.assert_array_equal(made[0].embedding_, made[1].embedding_)
    np.testing.assert_array_equal(made[0].edges_, made[1].edges_)


def test_a_set_that_fixes_the_unit_scales_the_distances():
    says, silent = (
        PreserveDistances(constraint=constraint, random_state=0).fit(X)
        for constraint in (
            copy_of(Standardized(), "fixes_unit", "natural_length"),
            copy_of(Standardized()),
        )
    )
    sizes = np.sqrt(np.mean(says.distances_**2))
    assert says.scale_ * sizes == pytest.approx(Standardized.natural_length(120, 2))
    assert silent.scale_ == 1.0


def test_a_set_that_fixes_the_unit_needs_half_the_repulsion():
    says, silent = (
        PreserveNeighbors(
            constraint=constraint, repulsion="sampled", random_state=0, max_iter=5
        ).fit(X)
        for constraint in (copy_of(Standardized(), "fixes_unit"), copy_of(Standardized()))
    )
    attractive = [np.count_nonzero(e.weights_ > 0) for e in (says, silent)]
    repulsive = [np.count_nonzero(e.weights_ < 0) for e in (says, silent)]
    assert repulsive == [round(0.5 * attractive[0]), attractive[1]]


def test_a_set_without_a_natural_length_is_told_so():
    with pytest.raises(NotImplementedError, match="must define natural_length"):
        PreserveDistances(constraint=copy_of(Standardized(), "fixes_unit")).fit(X)


def test_a_free_set_collapses_without_repulsion():
    silent = PreserveNeighbors(constraint=copy_of(Centered()), repulsive_penalty=None, max_iter=2)
    silent.fit(X)
    free = copy_of(Centered(), "is_free")
    with pytest.raises(ValueError, match="repulsive penalty a copy embedding collapses"):
        PreserveNeighbors(constraint=free, repulsive_penalty=None).fit(X)


@pytest.mark.parametrize(("promises", "free"), [((), False), (("is_free",), True)])
def test_a_free_set_gets_a_random_start_of_the_size_of_the_distances(promises, free):
    constraint = copy_of(Centered(), *promises)
    edges, deviations = [[0, 1], [1, 2]], [100.0, 200.0]
    problem = MDE(3, 2, edges, "squared", constraint, deviations=deviations)
    random = problem.embed(max_iter=0, random_state=0)
    assert (float(random.abs().max()) > 20) == free


@pytest.mark.parametrize(("promises", "free"), [((), False), (("is_free",), True)])
def test_a_free_set_has_room_for_items_that_start_in_one_place(promises, free):
    constraint = copy_of(Centered(), *promises)
    problem = MDE(3, 2, [[0, 1], [1, 2]], "squared", constraint, deviations=[1.0, 2.0])
    start = problem.embed(torch.ones(3, 2), max_iter=0)
    assert bool((start != start[0]).any()) == free
