"""Unseen items are placed where a search over the whole embedding finds nothing better."""

import functools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skmde.core.placement.by_distances import place_by_distances
from skmde.core.placement.losses import AnchoredLoss
from skmde.core.placement.newton import minimize_rows
from skmde.functions.registry import NAMED_LOSSES, resolve_loss

N_ANCHORS, N_ROWS = 80, 100
POINTS = {1: 2001, 2: 61, 3: 15}  # of the grid, along each axis
ALLOWED = 0.02  # share of rows for which the search may find a value that is 1% lower


@functools.cache
def case(m):
    """Anchors in m dimensions, of about unit radius, and distances of far more dimensions."""
    X = load_digits().data[: N_ANCHORS + N_ROWS]
    known, unseen = X[:N_ANCHORS], X[N_ANCHORS:]
    D = cdist(X, known)
    Y = PCA(m, random_state=0).fit_transform(known)
    Y *= D[:N_ANCHORS].mean() / cdist(Y, Y).mean()
    size = np.sqrt((Y**2).sum(axis=1).max())
    assert len(unseen) == N_ROWS
    return Y / size, D[N_ANCHORS:] / size


def least_of_grid(objective, m):
    """The least value of each row near the best points of a grid."""
    axis = np.linspace(-1.6, 1.6, POINTS[m])
    grid = np.stack(np.meshgrid(*[axis] * m), axis=-1).reshape(-1, m)
    rows, best = np.arange(N_ROWS), np.empty((5, N_ROWS, m))
    for row in rows:
        values = objective.values(grid, np.full(len(grid), row))
        best[:, row] = grid[np.argsort(values)[:5]]
    least = np.full(N_ROWS, np.inf)
    smooth = objective if objective.smooth else objective.smoothed(1e-5)
    for start in best:
        found = minimize_rows(smooth, start, radius=np.full(N_ROWS, 0.01), limit=100.0)
        for X in (start, found.X):
            least = np.fmin(least, objective.values(np.ascontiguousarray(X), rows))
    return least


@pytest.mark.parametrize("name", NAMED_LOSSES)
@pytest.mark.parametrize("m", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_no_point_of_a_grid_is_better(name, m):
    anchors, deviations = case(m)
    loss = resolve_loss(name)
    objective = AnchoredLoss(anchors, deviations, np.ones(deviations.shape), loss)
    placed = place_by_distances(anchors, deviations, loss)
    values = objective.values(placed, np.arange(N_ROWS))
    assert np.mean(values > 1.01 * least_of_grid(objective, m)) <= ALLOWED


@pytest.mark.parametrize("name", ["fractional", "soft_fractional", "cubic", "absolute"])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_a_row_is_placed_alone_as_in_a_batch(name, m):
    anchors, deviations = case(m)
    together = place_by_distances(anchors, deviations[:8], name)
    alone = [place_by_distances(anchors, row[None], name)[0] for row in deviations[:8]]
    np.testing.assert_array_equal(together, alone)
