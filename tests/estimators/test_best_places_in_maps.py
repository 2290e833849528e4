"""Unseen rows in fitted maps, with their clumps and gaps: how often a search finds a better place.

The search knows all gaps of a line and all anchors, and starts Newton's method at the best points.
"""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from slowly import slow

import skmde.estimators.neighborhoods.placing as estimator_module
from skmde import PreserveNeighbors
from skmde.core.placement.distortion import AnchoredDistortion
from skmde.core.placement.newton import minimize_rows
from skmde.penalties import Power

N, Q = 300, 80
X = load_digits().data[: N + Q]
PARTS = [0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98]  # of a gap
LINES = [
    {"repulsion": "sampled", "repulsive_penalty": "log"},
    {"repulsion": "all", "repulsive_penalty": "log_ratio"},
    *slow(
        {"repulsion": "sampled", "repulsive_penalty": "inverse_power"},
        {"repulsion": "sampled", "repulsive_penalty": "log_ratio"},
        {"repulsion": "all", "repulsive_penalty": "log"},
        {"repulsion": "all", "repulsive_penalty": "inverse_power"},
    ),
]
CUSPS = [
    {"attractive_penalty": Power(0.5), "repulsion": "sampled", "repulsive_penalty": name}
    for name in ("log", "inverse_power", "log_ratio")
]


class Objective:
    """The average distortion that a call of `place_by_neighbors` minimises, about the centre."""

    def __init__(self, anchors, indices, weights, attractive, repulsive, **repulsion):
        anchors = np.asarray(anchors, np.float64)
        self.center = anchors.mean(axis=0)
        self.anchors = np.ascontiguousarray(anchors - self.center)
        self.size = np.sqrt((self.anchors**2).sum(axis=1).max())
        self.repelling = self.anchors
        self.whole = AnchoredDistortion(self.anchors, 1e-10 * self.size)
        self.whole.add_terms(np.asarray(indices, np.int64), weights, attractive)
        if "field" in repulsion:
            self.whole.add_field(repulsion["field"], self.center)
            return
        items = np.asarray(repulsion["repulsive_indices"])
        strengths = np.tile(np.broadcast_to(repulsion["repulsive_weight"], items.shape), (Q, 1))
        if not repulsion["neighbors_repel"]:
            near = np.where(weights > 0, indices, -1)
            strengths = np.where((items == near[:, :, None]).any(axis=1), 0.0, strengths)
        self.whole.add_terms(np.tile(items, (Q, 1)), -strengths, repulsive)
        self.repelling = self.anchors[items]

    def least(self, row):
        """The least value of a row that the search finds."""
        size, m = self.size, self.anchors.shape[1]
        rng = np.random.default_rng(0)
        normal = [s * size * rng.standard_normal(self.anchors.shape) for s in (0.001, 0.01, 0.1)]
        points = [*(self.anchors + moves for moves in normal), self.anchors]
        points.append(size * rng.uniform(-1, 1, (400, m)))
        if m == 1:
            line = np.unique(self.repelling, axis=0)
            points += [line[:-1] + part * np.diff(line, axis=0) for part in PARTS]
            points += [line[:1] - 0.01 * size, line[-1:] + 0.01 * size]
        points = np.concatenate(points)
        values = self.whole.values(points, np.full(len(points), row))
        values[~np.isfinite(values)] = np.inf
        best = np.argsort(values)[:16]
        whole = self.whole

        class Row:
            def expand(self, points, rows):
                return whole.expand(points, np.full(len(points), row))

        options = {"radius": np.full(16, 0.01 * size), "limit": 100 * size, "scale": size}
        refined = minimize_rows(Row(), points[best], **options).value
        return min(values[best[0]], np.nanmin(refined))


def share_of_better_places(monkeypatch, **params):
    """Share of unseen rows for which the search finds a value that is 1% lower."""
    calls, place = [], estimator_module.place_by_neighbors

    def recorded(*args, project, n_threads, **options):
        found = place(*args, project=project, n_threads=n_threads, **options)
        calls.append((args, options, found))
        return found

    fitted = PreserveNeighbors(random_state=0, **params).fit(X[:N])
    with monkeypatch.context() as patch:
        patch.setattr(estimator_module, "place_by_neighbors", recorded)
        fitted.transform(X[N:])
    ((args, options, placed),) = calls
    assert len(placed) == Q
    objective = Objective(*args, **options)
    values = objective.whole.values(placed - objective.center, np.arange(Q))
    least = np.array([objective.least(row) for row in range(Q)])
    return np.mean(values > least + 0.01 * np.abs(least))


@pytest.mark.parametrize("params", LINES, ids=lambda params: "-".join(params.values()))
def test_on_a_line_rows_are_in_the_best_gap(params, monkeypatch):
    assert share_of_better_places(monkeypatch, n_components=1, **params) <= 0.02


@pytest.mark.parametrize("params", CUSPS, ids=lambda params: params["repulsive_penalty"])
@pytest.mark.parametrize("m", [2, 3])
def test_among_cusps_and_barriers_few_rows_have_a_better_place(params, m, monkeypatch):
    assert share_of_better_places(monkeypatch, n_components=m, **params) <= 0.02
