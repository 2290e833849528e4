r"""Placement of unseen items by their distances to items of a fixed embedding.

The anchored items keep their coordinates a_k. A new item with original distances delta_k to them
is placed at a minimiser of its own average distortion (monograph, section 2.4.2),

    f(x) = sum_k w_k l(delta_k, ||x - a_k||) / sum_k w_k.

New items do not interact. So an item gets the same coordinates, to the last bit, whether it is
placed alone, in any batch or in any order.

f has several local minima, for example near the mirror images of the global one. So several
starting points are tried (``starts.py``).

A loss with a kink at d = delta has its minima where kinks meet. The kink is smoothed over a length
that is divided by 10 from one solve to the next. The minima for two lengths are extrapolated to
the next length, and to length 0.

Lengths are in units of the embedding; numbers are float64.

References
----------
Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 2.4.2 (incremental embedding).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from skmde._linalg.frame import Frame
from skmde._utils.threads import run_pieces
from skmde._utils.warn import warn
from skmde.core.placement.between import points_around, starts_between
from skmde.core.placement.losses import AnchoredLoss
from skmde.core.placement.newton import Floats, RowMinimum, Rows, minimize_rows
from skmde.core.placement.starts import starts_from_distances
from skmde.core.placement.within import Projection, best_within, minimize_rows_within
from skmde.exceptions import ConvergenceWarning
from skmde.functions.base import Loss
from skmde.functions.registry import resolve_loss

# Lengths over which kinks are smoothed, one after the other, in radii of the embedding.
_SMOOTHING_LENGTHS = (1e-2, 1e-3, 1e-4, 1e-5)
# Factor on the tolerance: minima of a smoothed loss serve only as the next starting points.
_LOOSE = 1e4
# Number of starts from which a row is solved: `_MANY_RUNS` on a line and with at most `_FEW`
# anchors, since f then has more local minima, or costs less.
_RUNS, _MANY_RUNS, _FEW = 3, 9, 64
_RUNS_BETWEEN = 4  # for losses with poles, whose starts are searched for
# In radii of the embedding: bounds to which distances other than 0 are clipped, and the limit on
# an item's distance from the centre.
_SHORTEST, _LONGEST, _LIMIT = 1e-12, 1e30, 1e15
# Values that differ by less, relatively, are equal up to rounding errors.
_EQUAL = 1e-12


def _least(values: Floats) -> Rows:
    """Row index of the minimum of each column, the first of equal ones; NaN counts as infinite.

    Values that differ by rounding errors are equal: an absolute loss is constant between kinks.
    """
    values = np.where(np.isnan(values), np.inf, values)
    least = values.min(axis=0)
    return (values <= least + _EQUAL * np.abs(least)).argmax(axis=0)


def _minimize_from_best(
    objective: AnchoredLoss, starts: Floats, count: int, **options: Any
) -> tuple[list[RowMinimum], Floats]:
    """Solve each row from its `count` best starts; return the results and the best start."""
    rows = np.arange(starts.shape[1])
    values = np.stack([objective.values(start, rows) for start in starts])
    values[np.isnan(values)] = np.inf
    first = starts[_least(values), rows]
    results = []
    for _ in range(count):
        start = starts[_least(values), rows]
        radius = 0.25 * (1.0 + np.sqrt(np.square(start).cumsum(axis=1)[:, -1]))
        results.append(minimize_rows(objective, start, radius=radius, **options))
        # starts close to this one lead to the same minimum
        apart = np.square(starts - start).cumsum(axis=2)[:, :, -1]
        values[apart < 1e-4] = np.inf
    return results, first


def _sharpen(
    objective: AnchoredLoss, X: Floats, **options: Any
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Continue from a minimum of the smoothed loss to one of the loss itself."""
    step = np.zeros_like(X)
    for epsilon in _SMOOTHING_LENGTHS[1:]:
        # minima depend on epsilon almost linearly
        start = X + 0.1 * step
        radius = np.full(len(X), 10.0 * epsilon)
        found = minimize_rows(objective.smoothed(epsilon), start, radius=radius, **options)
        X, step = found.X, found.X - X
    return X, X + step / 9.0, found.converged


def _place_chunk(
    objective: AnchoredLoss, starts: Floats, max_iter: int, tol: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Place rows of which each has at least one pair; the anchors' radius must be about 1."""
    rows = np.arange(starts.shape[1])
    few = len(objective.anchors) <= _FEW or objective.has_poles
    many = len(objective.anchors) <= _FEW or starts.shape[2] == 1
    count = _MANY_RUNS if many else _RUNS
    starts = np.concatenate([starts, points_around(*starts.shape[1:])])
    if objective.has_poles:
        count = _RUNS_BETWEEN
        starts = np.concatenate([starts_between(objective, starts), starts])
    options = {"limit": _LIMIT, "max_iter": max_iter}
    if objective.smooth:
        results, _ = _minimize_from_best(objective, starts, count, tol=tol, **options)
        ends = [found.X for found in results]
        values = np.stack([found.value for found in results])
        converged = [found.converged for found in results]
    else:
        options["tol"] = _LOOSE * tol
        smoothed = objective.smoothed(_SMOOTHING_LENGTHS[0])
        results, first = _minimize_from_best(smoothed, starts, count, **options)
        found = np.stack([found.X for found in results])
        if not few:
            found = found[_least(np.stack([found.value for found in results])), rows][None]
        ends, converged = [first], [np.ones(len(first), dtype=bool)]
        for X in found:
            X, foretold, done = _sharpen(objective, X, **options)
            ends += [X, foretold]
            converged += [done, done]
        values = np.stack([objective.values(X, rows) for X in ends])
    best = _least(values)
    finite = np.isfinite(values[best, rows])
    return np.stack(ends)[best, rows], np.stack(converged)[best, rows] & finite


def _place_within(
    objective: AnchoredLoss, starts: Floats, free: Floats, project: Projection, tol: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Place rows in a set; `free` are their places without it."""
    rows = np.arange(len(free))
    radius = 0.25 * (1.0 + np.sqrt(np.square(free).cumsum(axis=1)[:, -1]))
    starts = np.concatenate([free[None], starts])
    options: dict[str, Any] = {"radius": radius, "limit": _LIMIT, "tol": tol}
    if objective.smooth:
        found = best_within(objective, starts, project, size=1.0, **options)
        return found.X, found.converged
    smoothed = objective.smoothed(_SMOOTHING_LENGTHS[0])
    options["tol"] = _LOOSE * tol
    found = best_within(smoothed, starts, project, size=1.0, **options)
    ends, converged = [found.X], found.converged
    for epsilon in _SMOOTHING_LENGTHS[1:]:
        options["radius"] = np.full(len(free), 10.0 * epsilon)
        sharper = objective.smoothed(epsilon)
        ends.append(minimize_rows_within(sharper, ends[-1], project, **options).X)
    best = _least(np.stack([objective.values(X, rows) for X in ends]))
    return np.stack(ends)[best, rows], converged


def place_by_distances(
    anchor_embedding: ArrayLike,
    deviations: ArrayLike,
    loss: Loss | str | Callable[..., torch.Tensor],
    weights: ArrayLike | None = None,
    *,
    project: Projection | None = None,
    max_iter: int = 100,
    tol: float = 1e-10,
    chunk_size: int = 256,
    n_threads: int = 1,
) -> Floats:
    """Place new items by their distances to items of a fixed embedding.

    Parameters
    ----------
    anchor_embedding : array-like of shape (n_anchors, m)
        Coordinates of the anchored items.
    deviations : array-like of shape (q, n_anchors)
        Original distances from the new items to the anchored ones, at least 0, in units of the
        embedding. A NaN or infinite distance means that there is no such pair.
    loss : Loss, str or callable
        The loss. Built-in losses are compiled. Others are evaluated in torch, which takes at least
        10 times as long.
    weights : array-like of shape (q, n_anchors), default=None
        Weights of the pairs, at least 0. A weight of 0 means that there is no such pair. None
        means that all weights are 1.
    project : callable, default=None
        The nearest points of a set in which new items are placed, for an array of rows.
    max_iter : int, default=100
        Maximum number of Newton steps of a row, from each start and for each smoothing length.
    tol : float, default=1e-10
        Tolerance: a row has converged when the norm of the gradient of its average distortion is
        at most this, in units of the loss's scale and the embedding's radius.
    chunk_size : int, default=256
        Number of rows solved together. It has no influence on the result.
    n_threads : int, default=1
        Number of threads that share the chunks. It has no influence on the result.

    Returns
    -------
    X : ndarray of shape (q, m)
        Coordinates of the new items: float64, finite. An item without pairs is placed at the
        centre of the anchors.

    Raises
    ------
    ValueError
        If shapes do not match, the embedding is not finite, a distance is negative, or a weight is
        negative or not finite.

    Warns
    -----
    ConvergenceWarning
        If some rows did not converge in ``max_iter`` steps, or no point of finite distortion was
        found.

    Notes
    -----
    Lengths may have any magnitude: they are divided by a power of 2 near the embedding's radius,
    and the loss is scaled accordingly. Only a loss evaluated in torch has a floor for distances,
    1e-7, as all losses have in the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.core.placement.by_distances import place_by_distances
    >>> triangle = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    >>> place_by_distances(triangle, [[5.0, 3.0, 4.0], [2.0, 2.0, np.nan]], "squared").round(6) + 0
    array([[4., 3.],
           [2., 0.]])
    """
    anchors, all_deviations, all_weights = _checked(anchor_embedding, deviations, weights)
    function = resolve_loss(loss)
    frame = Frame.by_powers_of_two(anchors)
    anchors, unit = frame.inside(anchors), frame.length
    q = all_deviations.shape[0]

    def inside(points: Floats) -> Floats:
        assert project is not None
        nearest: Floats = frame.inside(project(frame.outside(points)))
        return nearest

    X = np.zeros((q, anchors.shape[1]))
    converged = np.ones(q, dtype=bool)

    def solve(begin: int) -> None:
        own = slice(begin, begin + chunk_size)
        deviations = all_deviations[own]
        w = np.ones(deviations.shape) if all_weights is None else all_weights[own]
        w = np.where(np.isfinite(deviations), w, 0.0)
        most = w.max(axis=1)
        there = np.flatnonzero(most > 0.0)
        if not len(there):
            return
        w = w[there] / most[there, None]
        rows = begin + there
        # numpy's error state is local to a thread
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = np.where(w > 0.0, deviations[there] / unit, 1.0)
            deviations = np.where(deviations > 0.0, np.clip(deviations, _SHORTEST, _LONGEST), 0.0)
            objective = AnchoredLoss(anchors, deviations, w, function, unit)
            starts = starts_from_distances(anchors, deviations, w)
            X[rows], converged[rows] = _place_chunk(objective, starts, max_iter, tol)
            if project is not None:
                args = objective, starts, X[rows], inside, tol
                X[rows], converged[rows] = _place_within(*args)

    run_pieces(solve, [(begin,) for begin in range(0, q, chunk_size)], n_threads)
    if not converged.all():
        warn(
            f"{np.count_nonzero(~converged)} of {q} new items were placed where their distortion "
            f"can still decrease: {max_iter} Newton steps were not enough, or the distortion was "
            "infinite at all points tried. Use a smoother loss, or one that is finite everywhere.",
            ConvergenceWarning,
        )
    coordinates: Floats = frame.outside(X)
    return coordinates if project is None else project(coordinates)


def _checked(
    anchor_embedding: ArrayLike, deviations: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats | None]:
    """Check the arguments and convert them to float64 arrays."""
    anchors = np.asarray(anchor_embedding, dtype=np.float64)
    if anchors.ndim != 2 or anchors.size == 0:
        raise ValueError(
            f"anchor_embedding must have shape (n_anchors, m), both at least 1; got shape "
            f"{anchors.shape}."
        )
    if not np.isfinite(anchors).all():
        bad = anchors[~np.isfinite(anchors)][0]
        raise ValueError(f"anchor_embedding must be finite; got {bad}. Remove such items.")
    checked = np.asarray(deviations, dtype=np.float64)
    if checked.ndim != 2 or checked.shape[1] != len(anchors):
        raise ValueError(
            f"deviations must have one row for each new item and one column for each of the "
            f"{len(anchors)} anchored items; got shape {checked.shape}."
        )
    if (checked < 0).any():
        raise ValueError(
            f"Distances must be at least 0; got {checked[checked < 0][0]}. Use NaN for a pair "
            "without a distance."
        )
    if weights is None:
        return anchors, checked, None
    checked_weights = np.asarray(weights, dtype=np.float64)
    if checked_weights.shape != checked.shape:
        raise ValueError(
            f"weights must have the shape of deviations, {checked.shape}; got shape "
            f"{checked_weights.shape}."
        )
    good = np.isfinite(checked_weights) & (checked_weights >= 0)
    if not good.all():
        raise ValueError(
            f"Weights must be finite and at least 0; got {checked_weights[~good][0]}. Use the "
            "weight 0 to leave out a pair."
        )
    return anchors, checked, checked_weights
