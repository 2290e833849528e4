"""Unseen items near their neighbours: how often a search finds a better place."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skmde.core.placement.by_neighbors import place_by_neighbors
from skmde.core.placement.distortion import AnchoredDistortion
from skmde.core.placement.newton import minimize_rows
from skmde.core.placement.starts import is_barrier, starts_in_gaps
from skmde.functions.registry import PENALTIES, resolve_penalty
from skmde.penalties import Power

N, Q, K = 100, 60, 7


def case(m):
    """Anchors in m dimensions, and neighbours in m + 2."""
    rng = np.random.default_rng(m)
    X = rng.standard_normal((N + Q, m + 2))
    known, unseen = X[:N], X[N:]
    anchors = 5.0 * (known[:, :m] - known[:, :m].mean(axis=0))
    return anchors, np.argsort(cdist(unseen, known), axis=1)[:, :K]


def share_of_better_places(m, attractive, repulsive, weight=0.03):
    """Share of the rows for which a search finds a value that is 1% lower."""
    anchors, neighbors = case(m)
    attractive, repulsive = resolve_penalty(attractive), resolve_penalty(repulsive)
    weights, everyone = np.ones((Q, K)), np.arange(N)
    placed = place_by_neighbors(
        anchors, neighbors, weights, attractive, repulsive, everyone, weight, neighbors_repel=True
    )
    size = np.sqrt((anchors**2).sum(axis=1).max())
    objective = AnchoredDistortion(anchors, 1e-10 * size)
    objective.add_terms(neighbors, weights, attractive)
    objective.add_terms(np.tile(everyone, (Q, 1)), np.full((Q, N), -weight), repulsive)
    values = objective.values(placed, np.arange(Q))
    rng = np.random.default_rng(0)
    spread = [anchors + s * size * rng.standard_normal(anchors.shape) for s in (0.001, 0.01, 0.1)]
    points = np.concatenate([*spread, size * rng.uniform(-1, 1, (400, m))])
    if m == 1:
        line = np.sort(anchors, axis=0)
        within = [line[:-1] + part * np.diff(line, axis=0) for part in (0.1, 0.5, 0.9)]
        points = np.concatenate([points, *within])
    least = np.empty(Q)
    for row in range(Q):

        class Copies:
            def expand(self, points, rows, row=row):
                return objective.expand(points, np.full(len(points), row))

        found = objective.values(points, np.full(len(points), row))
        found[~np.isfinite(found)] = np.inf
        best = np.argsort(found)[:16]
        options = {"radius": np.full(16, 0.01 * size), "limit": 100 * size, "scale": size}
        refined = minimize_rows(Copies(), points[best], **options).value
        least[row] = min(found[best[0]], np.nanmin(refined))
    return np.mean(values > least + 0.01 * np.abs(least))


@pytest.mark.parametrize("attractive", ["quadratic", "huber", "log1p", Power(0.5)], ids=str)
@pytest.mark.parametrize("repulsive", ["cauchy", "sigmoid", "log"])
@pytest.mark.parametrize("m", [2, 3])
def test_in_the_plane_and_in_space_few_rows_have_a_better_place(m, attractive, repulsive):
    assert share_of_better_places(m, attractive, repulsive) <= 0.05


@pytest.mark.parametrize("repulsive", ["log", "inverse_power", "log_ratio"])
def test_on_a_line_nearly_all_rows_are_in_the_best_gap(repulsive):
    assert share_of_better_places(1, "log1p", repulsive) <= 0.02


def test_all_gaps_of_few_items():
    found = starts_in_gaps(np.array([0.0, 1.0, 3.0, 7.0]), np.zeros((3, 2)))[..., 0]
    assert {0.5, 2.0, 5.0} <= set(found[:, 0])
    assert found.min() < 0.0
    assert found.max() > 7.0
    np.testing.assert_array_equal(found[:, 0], found[:, 1])


def test_gaps_of_many_items_are_wide_or_around_points():
    places = np.sort(np.random.default_rng(0).random(1000))
    places[500:] += 0.5  # the widest gap
    points = np.array([[0.25, 1.25]])
    found = starts_in_gaps(places, points)[..., 0]
    assert len(found) <= 5 * 130 + 6
    around = np.searchsorted(places, points)[0]
    for row in range(2):
        gaps = np.searchsorted(places, found[:, row])
        assert set(range(around[row] - 2, around[row] + 4)) <= set(gaps)
        assert 500 in gaps


def test_which_penalties_are_barriers():
    named = set(PENALTIES) - {"barrier"}  # which has no default for its length
    barriers = {name for name in named if is_barrier(resolve_penalty(name))}
    assert barriers == {"log", "inverse_power", "log_ratio"}
