"""The places of unseen items know no unit: not that of functions, of weights or of the anchors."""

import numpy as np
import pytest

from skmde.core.placement.by_distances import place_by_distances
from skmde.core.placement.by_neighbors import place_by_neighbors
from skmde.functions.registry import resolve_penalty

RNG = np.random.default_rng(0)
ANCHORS = {m: RNG.standard_normal((40, m)) for m in (1, 2, 3)}
ROWS, K = 12, 6
INDICES = np.stack([RNG.permutation(40)[:K] for _ in range(ROWS)])
WEIGHTS = RNG.uniform(0.5, 2.0, (ROWS, K))
FACTORS = [2.0**power for power in (-40, -20, 20, 40)]


def bowl(d):
    return d**2 / (1 + d)


def well(d):
    return (-(d**2)).exp()


def gap(delta, d):
    return (delta - d) ** 2 / (1 + delta)


@pytest.mark.parametrize("m", ANCHORS)
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("repels", [False, True])
def test_a_factor_of_the_functions_moves_no_item_placed_by_neighbors(m, factor, repels):
    def placed(factor):
        functions = [lambda d: factor * bowl(d), (lambda d: factor * well(d)) if repels else None]
        functions = [None if f is None else resolve_penalty(f) for f in functions]
        repulsion = {"repulsive_indices": np.arange(20), "repulsive_weight": 0.3} if repels else {}
        return place_by_neighbors(ANCHORS[m], INDICES, WEIGHTS, *functions, **repulsion)

    np.testing.assert_allclose(placed(factor), placed(1.0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("m", ANCHORS)
@pytest.mark.parametrize("factor", FACTORS)
def test_a_factor_of_the_weights_moves_no_item(m, factor):
    functions = resolve_penalty("log1p"), resolve_penalty("cauchy")
    repulsion = {"repulsive_indices": np.arange(20), "repulsive_weight": 0.3}
    plain = place_by_neighbors(ANCHORS[m], INDICES, WEIGHTS, *functions, **repulsion)
    repulsion["repulsive_weight"] *= factor
    found = place_by_neighbors(ANCHORS[m], INDICES, factor * WEIGHTS, *functions, **repulsion)
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-9)


@pytest.mark.parametrize("m", ANCHORS)
@pytest.mark.parametrize("factor", FACTORS)
def test_a_factor_of_the_loss_moves_no_item_placed_by_distances(m, factor):
    deviations = RNG.uniform(0.5, 2.0, (ROWS, 40))

    def placed(factor):
        return place_by_distances(ANCHORS[m], deviations, lambda *pair: factor * gap(*pair))

    np.testing.assert_allclose(placed(factor), placed(1.0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("m", ANCHORS)
@pytest.mark.parametrize("penalty", ["linear", "quadratic", "cubic", "power"])
@pytest.mark.parametrize("unit", FACTORS)
def test_places_follow_the_unit_of_the_anchors(m, penalty, unit):
    functions = resolve_penalty(penalty), None
    plain = place_by_neighbors(ANCHORS[m], INDICES, WEIGHTS, *functions)
    found = place_by_neighbors(unit * ANCHORS[m], INDICES, WEIGHTS, *functions)
    np.testing.assert_allclose(found / unit, plain, rtol=0, atol=1e-6)


@pytest.mark.parametrize("m", ANCHORS)
@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e-4])
def test_short_lengths_are_resolved_by_penalties_with_a_length_of_their_own(m, unit):
    # Far below its threshold of 1, the Huber penalty is the quadratic one.
    mean = (WEIGHTS[..., None] * ANCHORS[m][INDICES]).sum(axis=1) / WEIGHTS.sum(axis=1)[:, None]
    found = place_by_neighbors(unit * ANCHORS[m], INDICES, WEIGHTS, resolve_penalty("huber"), None)
    np.testing.assert_allclose(found / unit, mean, rtol=0, atol=1e-6)
