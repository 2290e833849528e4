"""Units: a common factor of weights, functions or distances changes no step of a solve.

A factor that is a power of 2 has no rounding error, so that embeddings must be equal to the bit.
"""

import numpy as np
import pytest
import torch
from kernel_cases import LOSSES, PENALTIES

from skmde import MDE, AbsoluteLoss, Anchored, Barrier, HuberLoss, LogisticLoss
from skmde.constraints import Centered, Standardized
from skmde.core.objectives.edges import EdgeList
from skmde.core.scales.typical_scale import typical_scale
from skmde.losses import LOSSES as NAMED_LOSSES, PowerLoss, SquaredLoss
from skmde.penalties import PENALTIES as NAMED_PENALTIES

N = 24
POINTS = np.random.default_rng(0).random((N, 3))
EDGES = np.stack(np.triu_indices(N, 1), axis=1)
DELTA = np.linalg.norm(POINTS[EDGES[:, 0]] - POINTS[EDGES[:, 1]], axis=1)
NEAR = np.where(DELTA < 0.5, 1.0, -1.0)
FACTORS = [2.0**-40, 2.0**-20, 2.0**20, 2.0**40]


def solved(distortion, constraint=None, *, tol=1e-5, edges=EDGES, **options):
    problem = MDE(N, 2, edges, distortion, constraint, **options)
    problem.embed(random_state=0, tol=tol, max_iter=60)
    return problem


def assert_same(problem, plain, value, length=1.0):
    assert problem.result.n_iter == plain.result.n_iter > 0
    assert problem.result.status is plain.result.status
    assert torch.equal(problem.X, length * plain.X)
    assert problem.value == value * plain.value
    assert problem.residual_norm == value / length * plain.residual_norm


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("constraint", [None, "standardized"])
@pytest.mark.parametrize("loss", sorted(NAMED_LOSSES))
def test_a_common_factor_of_the_weights_of_a_loss_changes_nothing(loss, constraint, factor):
    weights = 1 / DELTA**2
    plain = solved(loss, constraint, weights=weights, deviations=DELTA)
    other = solved(loss, constraint, weights=factor * weights, deviations=DELTA)
    assert_same(other, plain, factor)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("constraint", [None, "standardized", Anchored([0, 1], POINTS[:2, :2])])
@pytest.mark.parametrize("penalty", sorted(set(NAMED_PENALTIES) - {"barrier"}))
def test_a_common_factor_of_the_weights_of_a_penalty_changes_nothing(penalty, constraint, factor):
    functions = (penalty, "log")
    plain = solved(functions, constraint, weights=NEAR)
    other = solved(functions, constraint, weights=factor * NEAR)
    assert_same(other, plain, factor)


@pytest.mark.parametrize("factor", FACTORS[1:3])
@pytest.mark.parametrize("edges", [EDGES, None])
def test_a_factor_of_a_function_of_the_user_changes_nothing(edges, factor):
    def loss(unit):
        return lambda delta, d: unit * ((delta - d) ** 2 / delta + 7.0)

    def penalties(unit):
        return lambda d: unit * torch.log1p(d**2), lambda d: unit * torch.log(d / (1 + d))

    for make, data in ((loss, {"deviations": DELTA}), (penalties, {"weights": NEAR})):
        plain = solved(make(1.0), edges=edges, **data)
        assert_same(solved(make(factor), edges=edges, **data), plain, factor)


# Losses with lengths of their own, as functions of the unit of length, and their degrees.
WITH_LENGTHS = [
    (lambda s: SquaredLoss(), 2),
    (lambda s: AbsoluteLoss(), 1),
    (lambda s: PowerLoss(3.0), 3),
    (lambda s: HuberLoss(0.1 * s), 2),
    (lambda s: lambda delta, d: torch.sqrt(1 + ((delta - d) / (0.1 * s)) ** 2), 0),
]


@pytest.mark.parametrize("unit", FACTORS)
@pytest.mark.parametrize("make", WITH_LENGTHS, ids=lambda case: repr(case[0](1.0))[:20])
def test_the_unit_of_length_changes_nothing(make, unit):
    function, degree = make
    plain = solved(function(1.0), deviations=DELTA)
    other = solved(function(unit), deviations=unit * DELTA)
    assert_same(other, plain, unit**degree, unit)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-6, 1e6])
@pytest.mark.parametrize("loss", [HuberLoss(1.0), LogisticLoss()], ids=repr)
def test_distances_far_below_or_above_the_length_of_a_loss_are_solved(loss, unit):
    delta = np.linalg.norm(POINTS[EDGES[:, 0], :2] - POINTS[EDGES[:, 1], :2], axis=1)
    problem = MDE(N, 2, EDGES, loss, deviations=unit * delta)
    problem.embed(unit * (POINTS[:, :2] + 0.1 * POINTS[:, [2, 0]]))
    assert problem.result.n_iter > 3
    np.testing.assert_allclose(problem.distances() / unit, delta, atol=1e-3)


@pytest.mark.parametrize("function", [*LOSSES, *PENALTIES], ids=repr)
def test_the_unit_of_every_function_is_moderate(function):
    # Otherwise the tolerance would be useless: a solve would end at once, or never.
    is_loss = function in LOSSES
    w = np.ones(len(EDGES))
    scale = DELTA / np.sqrt(np.mean(DELTA**2))
    for sign in (1.0,) if is_loss or isinstance(function, Barrier) else (1.0, -1.0):
        edges = EdgeList.build(
            EDGES, N, function, weights=sign * w, deviations=scale if is_loss else None
        )
        for constraint in (Centered(), Standardized()):
            found = typical_scale(edges, constraint, 2)
            assert 0.01 < found.gradient < 100


def test_the_unit_of_a_loss_is_its_average_at_twice_the_distances():
    w = np.linspace(0.5, 2.0, len(EDGES))
    edges = EdgeList.build(EDGES, N, "squared", weights=w, deviations=DELTA, dtype=torch.float64)
    found = typical_scale(edges, Centered(), 2)
    assert found.value == pytest.approx(np.mean(w * DELTA**2))
    assert found.length == pytest.approx(np.sqrt(np.mean(DELTA**2)))
    assert found.step == pytest.approx(1 / np.mean(w))


@pytest.mark.parametrize("unit", FACTORS)
def test_the_first_step_follows_every_unit(unit):
    def step(distortion, w, s):
        edges = EdgeList.build(
            EDGES, N, distortion, weights=w / DELTA, deviations=s * DELTA, dtype=torch.float64
        )
        return typical_scale(edges, Centered(), 2).step

    for loss, degree in (("squared", 2), ("absolute", 1), ("fractional", 0)):
        plain = step(loss, 1.0, 1.0)
        assert step(loss, unit, 1.0) == pytest.approx(plain / unit)
        assert step(loss, 1.0, unit) == pytest.approx(plain * unit ** (2 - degree))
    own = step(lambda delta, d: (delta - d) ** 2, 1.0, 1.0)
    assert step(lambda delta, d: unit * (delta - d) ** 2, 1.0, 1.0) == pytest.approx(own / unit)


def test_zero_distances_and_weights_leave_a_unit():
    for arguments in ({"deviations": np.zeros(len(EDGES))}, {"weights": np.zeros(len(EDGES))}):
        edges = EdgeList.build(
            EDGES, N, "squared" if "deviations" in arguments else "log1p", **arguments
        )
        found = typical_scale(edges, Centered(), 2)
        assert found.value == found.length == 1.0


def test_a_sample_of_many_pairs_stands_for_all(monkeypatch):
    arguments = {"weights": 1 / DELTA, "deviations": DELTA, "dtype": torch.float64}
    edges = EdgeList.build(EDGES, N, "huber", **arguments)
    whole = typical_scale(edges, Centered(), 2)
    monkeypatch.setattr("skmde.core.scales.typical_scale._MOST", 100)
    part = typical_scale(edges, Centered(), 2)
    assert part != whole
    assert part.value == pytest.approx(whole.value, rel=0.3)
    assert part.length == pytest.approx(whole.length, rel=0.3)


@pytest.mark.parametrize("size", [1e-2, 1.0])
@pytest.mark.parametrize("kind", ["all", "normalized"])
def test_a_common_factor_of_weights_and_repulsion_changes_nothing(kind, size):
    near = DELTA < 0.4
    start = size * POINTS[:, :2]

    def solved(factor):
        problem = MDE(
            N,
            2,
            EDGES[near],
            ("log1p", "cauchy"),
            weights=factor * (0.5 + DELTA[near]),
            repulsion=kind,
            repulsive_weight=0.05 * factor if kind == "all" else 1.0,
        )
        problem.embed(start, max_iter=40)
        return problem

    plain = solved(1.0)
    for factor in FACTORS:
        other = solved(factor)
        assert other.result.n_iter == plain.result.n_iter
        assert other.value / factor == pytest.approx(plain.value, rel=1e-6)
        np.testing.assert_allclose(other.X, plain.X, atol=1e-5)


@pytest.mark.parametrize("factor", FACTORS)
def test_pairs_that_all_repel_have_the_unit_of_their_weights(factor):
    # Without a pair that attracts, the steps of the rising repulsion need another unit.
    def found(factor):
        return solved(
            ("log1p", "cauchy"),
            weights=-factor * DELTA,
            repulsion="all",
            repulsive_weight=0.01 * factor,
        )

    assert_same(found(factor), found(1.0), factor)
