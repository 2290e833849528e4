r"""Minimisation within a set of each row: projected gradients for many small problems at once.

Row r minimises its own function f_r over a closed set S, which need not be convex (a sphere, an
annulus). A step is

    x+ = P(x - a g),    g = grad f_r(x),

where P is the projection onto S. Since x+ is nearest to x - a g among all points of S, it holds
g^T (x+ - x) <= -||x+ - x||^2 / (2 a). So a small enough step always decreases f_r, and a row stops
where no step moves it. The step length a is Barzilai and Borwein's, halved until f_r decreases
enough.

References
----------
Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), sections 2.4.2 (incremental
embedding) and 6.1.2 (projection onto constraints).
Barzilai and Borwein, Two-point step size gradient methods, IMA J. Numer. Anal. 8 (1988).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skmde.core.placement.newton import Floats, RowMinimum, RowObjective, values_at

Projection = Callable[[Floats], Floats]

_ENOUGH = 1e-4  # share of the decrease that a quadratic model promises
_GROWTH = 10.0  # largest factor of the step length from one iteration to the next
_DIRECTIONS = 24  # of further starts
_APART = 0.02  # of two starts, in sizes of the embedding, doubled for each further one
_RUNS = 6  # starts from which a row is solved


def minimize_rows_within(
    objective: RowObjective,
    start: Floats,
    project: Projection,
    *,
    radius: Floats,
    limit: float,
    tol: float = 1e-10,
    max_iter: int = 300,
) -> RowMinimum:
    """Minimise the function of each row over a set, from its own start.

    Parameters
    ----------
    objective : RowObjective
    start : ndarray of shape (q, m)
        Starting points in the set.
    project : callable
        The nearest points of the set, for rows of shape (B, m).
    radius : ndarray of shape (q,)
        Length of the first step, above 0.
    limit : float
        Bound on a row's distance from the origin.
    tol : float, default=1e-10
        A row stops when a step is not longer than this times its first radius.
    max_iter : int, default=300

    Returns
    -------
    minimum : RowMinimum
        A row never ends at a worse point than its start.
    """
    X = np.array(start, dtype=np.float64, order="C")
    rows = np.arange(len(X))
    first = objective.expand(X, rows)
    value, gradient, rounding = (
        np.array(part) for part in (first.value, first.gradient, first.rounding)
    )
    converged = np.isfinite(value) & np.isfinite(gradient).all(axis=1)
    rows = np.flatnonzero(converged)
    converged[:] = False
    length = np.sqrt(np.square(gradient).sum(axis=1))
    step = radius / np.where(length > 0, length, 1.0)
    n_iter = 0
    while rows.size and n_iter < max_iter:
        n_iter += 1
        a = step[rows]
        trial = project(np.ascontiguousarray(X[rows] - a[:, None] * gradient[rows]))
        moved = trial - X[rows]
        square = np.square(moved).sum(axis=1)
        found = objective.expand(np.ascontiguousarray(trial), rows)
        finite = np.isfinite(found.value) & np.isfinite(found.gradient).all(axis=1)
        finite &= np.square(trial).sum(axis=1) <= limit**2
        noise = found.rounding + rounding[rows]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            better = finite & (value[rows] - found.value >= _ENOUGH * square / a - noise)
            change = found.gradient - gradient[rows]
            bend = (change * moved).sum(axis=1)
            longer = np.where(bend > 0, square / bend, np.inf)
        step[rows] = np.where(better, np.clip(longer, a / _GROWTH, a * _GROWTH), 0.5 * a)
        short = np.sqrt(square) <= tol * radius[rows]
        accepted = rows[better]
        X[accepted] = trial[better]
        value[accepted], gradient[accepted] = found.value[better], found.gradient[better]
        rounding[accepted] = found.rounding[better]
        converged[rows[short]] = True
        rows = rows[~short]
    return RowMinimum(X, value, converged, n_iter)


def best_within(
    objective: RowObjective,
    starts: Floats,
    project: Projection,
    *,
    size: float,
    radius: Floats,
    limit: float,
    tol: float,
) -> RowMinimum:
    """The best of the minima from the best starts of each row, and from points around the origin.

    Parameters
    ----------
    objective : RowObjective
    starts : ndarray of shape (s, q, m)
        They need not be in the set.
    project : callable
    size : float
        Size of the embedding, of which the origin is the centre.
    radius : ndarray of shape (q,)
    limit, tol : float
    """
    around = _points_around(starts.shape[2], size)
    shape = len(around), *starts.shape[1:]
    starts = np.concatenate([starts, np.broadcast_to(around[:, None], shape)])
    n_starts, q, m = starts.shape
    starts = project(np.ascontiguousarray(starts.reshape(-1, m))).reshape(starts.shape)
    values = values_at(objective, starts)
    rows, best = np.arange(q), None
    options: dict[str, Any] = {"radius": radius, "limit": limit, "tol": tol}
    for run in range(min(_RUNS, n_starts)):
        start = starts[values.argmin(axis=0), rows]
        found = minimize_rows_within(objective, start, project, **options)
        if best is None:
            best = found
        else:
            best.improve(found)
        # Starts close to this one lead to the same minimum. The first ones may be single items of
        # a small group; later ones look farther away.
        apart = np.square(starts - start).sum(axis=2)
        values[apart < np.square(_APART * 2.0**run * size)] = np.inf
    assert best is not None
    return best


def _points_around(m: int, size: float) -> Floats:
    """Fixed points in all directions from the origin, since a set may be curved around it."""
    if m == 1:
        directions = np.array([[1.0], [-1.0]])
    else:
        directions = np.random.default_rng(0).standard_normal((_DIRECTIONS, m))
        directions /= np.sqrt(np.square(directions).sum(axis=1))[:, None]
    return np.concatenate([0.3 * size * directions, size * directions])
