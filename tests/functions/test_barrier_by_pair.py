"""A barrier with a radius for each pair."""

import pickle
import re

import numpy as np
import pytest
import torch
from sklearn.base import clone

from skmde import MDE, AnchoredMDE, Barrier
from skmde.core.objectives.edges import EdgeList

RADII = np.array([0.1, 0.5, 0.3, 0.2])
EDGES = np.array([[2, 3], [0, 1], [3, 1], [0, 2]])
X = 3 * np.random.default_rng(0).normal(size=(4, 2))


@pytest.mark.parametrize("form", [np.array, list, torch.tensor, lambda rho: rho.astype(np.float32)])
def test_each_pair_has_its_own_radius_in_the_callers_order(form):
    weights = np.array([1.0, 2.0, 0.5, 3.0])
    problem = MDE(4, 2, EDGES, Barrier(form(RADII)), weights=weights)
    d = np.linalg.norm(X[EDGES[:, 0]] - X[EDGES[:, 1]], axis=1)
    want = weights * d - np.log(d - RADII)
    np.testing.assert_allclose(problem.distortions(X), want, rtol=1e-6)
    assert problem.average_distortion(X) == pytest.approx(want.mean(), rel=1e-6)
    slopes = weights - 1 / (d - RADII)
    np.testing.assert_allclose(problem.forces(X).norm(dim=1), np.abs(slopes), rtol=1e-5)


def test_equal_radii_are_one_radius():
    weights = np.random.default_rng(1).gamma(2.0, size=6)
    one = MDE(4, 2, None, Barrier(0.5), weights=weights)
    many = MDE(4, 2, None, Barrier(np.full(6, 0.5)), weights=weights)
    torch.testing.assert_close(many.gradient(X), one.gradient(X))
    for problem in (one, many):
        problem.embed(X, max_iter=1000)
        assert problem.result.converged
    assert many.value == pytest.approx(one.value)


def test_radii_follow_the_pairs_of_each_sign():
    weights = np.array([1.0, -1.0, 2.0, -3.0])
    edges = EdgeList.build(EDGES, 4, (Barrier(RADII), "log"), weights=weights)
    assert edges.segments[0].function.rho.tolist() == [0.3, 0.1]  # of the pairs (1, 3) and (2, 3)


def test_discs_of_different_radii_touch_but_do_not_overlap():
    rng = np.random.default_rng(2)
    radii = rng.uniform(0.5, 2.0, 12)
    i, j = np.triu_indices(12, 1)
    least = radii[i] + radii[j]
    problem = MDE(12, 2, None, Barrier(least), weights=np.full(66, 50.0))
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(3)), axis=-1).reshape(12, 2)
    problem.embed(5.0 * grid, max_iter=1000)
    gaps = problem.distances().numpy() - least
    assert gaps.min() > 0 and np.sort(gaps)[12] < 0.1


def test_barriers_by_pair_are_compared_cloned_pickled_and_shown():
    barrier = Barrier(RADII)
    assert barrier == Barrier(RADII.copy()) == clone(barrier) == pickle.loads(pickle.dumps(barrier))
    assert hash(barrier) == hash(Barrier(list(RADII)))
    assert barrier != Barrier(2 * RADII) and barrier != Barrier(0.1)
    assert repr(barrier) == "Barrier(rho=<4 numbers>)" and repr(Barrier(0.1)) == "Barrier(rho=0.1)"


@pytest.mark.parametrize(
    ("rho", "message"),
    [
        (RADII[:3], r"one number for each of the 4 pairs; got an array of shape \(3,\)"),
        (RADII[:, None], r"got shape \(4, 1\)"),
        (
            -RADII,
            f"at least 0, or hold one for each pair; got {re.escape(repr(-RADII[0]))} among them",
        ),
        ([0.1, np.nan, 0.1, 0.1], "nan"),
        (["a", "b", "c", "d"], f"got {re.escape(repr(np.str_('a')))} among them"),
        (np.ma.array(RADII, mask=RADII > 0.4), "rho is a masked array with 1"),
        ("0.1", "rho must be a finite number"),
        (None, "rho must be a finite number"),
    ],
)
def test_radii_that_make_no_sense_are_refused(rho, message):
    with pytest.raises(ValueError, match=message):
        MDE(4, 2, EDGES, Barrier(rho))


def test_estimators_refuse_radii_of_other_pairs():
    graph = np.ones((5, 5)) - np.eye(5)
    y = np.array([0.0, 3.0, np.nan, np.nan, np.nan])
    with pytest.raises(ValueError, match="one number for each of the"):
        AnchoredMDE(metric="affinity", attractive_penalty=Barrier(RADII)).fit(graph, y)
