"""Steep repulsion of close pairs, and the scale at which it balances attraction."""

import numpy as np
import pytest
import torch

from skmde import MDE, Cauchy, InversePower, Linear, Log, Log1p, LogRatio, Penalty, Quadratic
from skmde.core.starts.stiff_repulsion import balancing_scale, is_stiff

RNG = np.random.default_rng(0)
N = 300
X = RNG.standard_normal((N, 2)).astype(np.float32)
PAIRS = np.stack(np.triu_indices(N, 1), axis=1)
EDGES = PAIRS[RNG.permutation(len(PAIRS))[:6000]]
WEIGHTS = np.where(np.arange(6000) < 1000, 1.0, -1.0)


class OwnInverse(Penalty):
    """-1 / d, without a compiled kernel."""

    def value(self, d):
        return -1 / d


@pytest.mark.parametrize(
    ("penalty", "stiff_up_to"),
    [
        (InversePower(0.5), 2),
        (InversePower(1.0), 3),
        (InversePower(3.0), 7),
        (OwnInverse(), 3),
        (Log(), 1),
        (LogRatio(4.0), 1),
        (Cauchy(), 0),
        (Linear(), 0),
        (Quadratic(), 0),
    ],
    ids=repr,
)
def test_forces_are_stiff_if_their_mean_square_diverges(penalty, stiff_up_to):
    assert [is_stiff(penalty, m) for m in range(1, 10)] == [m <= stiff_up_to for m in range(1, 10)]


@pytest.mark.parametrize("repulsion", [None, "all", "normalized"])
def test_no_other_scale_has_a_much_smaller_distortion(repulsion):
    # a penalty of which no pair dominates the sum, so that the closest ones hardly matter
    penalties = Log1p(2.0), Cauchy()
    edges, weights = (EDGES, WEIGHTS) if repulsion is None else (EDGES[:1000], WEIGHTS[:1000])
    problem = MDE(N, 2, edges, penalties, weights=weights, repulsion=repulsion)
    small = X / 20
    scale = balancing_scale(small, edges, weights, penalties, repulsion, 1.0)
    values = [problem.average_distortion(small * s) for s in np.geomspace(1, 1e4, 60)]
    assert scale > 2
    assert problem.average_distortion(small * scale) < min(values) + 0.03 * abs(min(values))


def test_the_scale_has_no_unit_and_is_never_below_1():
    penalties = Log1p(), InversePower()
    scale = balancing_scale(X, EDGES, WEIGHTS, penalties)
    assert balancing_scale(X / 10, EDGES, WEIGHTS, penalties) == pytest.approx(10 * scale, rel=0.1)
    assert balancing_scale(1e3 * X, EDGES, WEIGHTS, penalties) == 1.0


def test_the_closest_pair_does_not_decide():
    near = X.copy()
    near[EDGES[-1, 0]] = near[EDGES[-1, 1]] + np.float32(1e-6)
    scales = [balancing_scale(Y, EDGES, WEIGHTS, (Log1p(), InversePower(2.0))) for Y in (X, near)]
    assert scales[1] == pytest.approx(scales[0], rel=0.2)


def test_the_order_of_the_items_does_not_matter():
    order = RNG.permutation(N)
    rank = np.argsort(order)
    scales = [
        balancing_scale(Y, edges, np.ones(len(edges)), (Log1p(2.0), InversePower()), "all", 1.0)
        for Y, edges in ((X, EDGES), (X[order], rank[EDGES]))
    ]
    assert scales[0] == scales[1] > 1


def test_without_attraction_or_repulsion_the_scale_is_1():
    penalties = Log1p(), InversePower()
    assert balancing_scale(X, EDGES, np.abs(WEIGHTS), penalties) == 1.0
    assert balancing_scale(X, EDGES, -np.abs(WEIGHTS), penalties) == 1.0
    assert balancing_scale(X, EDGES, np.abs(WEIGHTS), penalties, "all", 0.0) == 1.0


def test_a_distortion_that_is_not_finite_leaves_the_start_as_it_is():
    class Broken(Penalty):
        def value(self, d):
            return torch.full_like(d, torch.nan)

    assert balancing_scale(X, EDGES, WEIGHTS, (Log1p(), Broken())) == 1.0
