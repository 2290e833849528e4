r"""Placement of unseen items by their neighbours: anchored incremental embedding.

The training embedding does not change. A new item x is attracted by its neighbours among the
training items, with weights w_k. It is repelled by a set R of training items: a sample that was
drawn at fit, or all of them. It is placed at a minimiser of its own average distortion
(monograph, section 2.4.2),

    f(x) = (sum_k w_k p_a(||x - x_k||) - w_R sum_{r in R} p_r(||x - x_r||)) / (sum_k w_k + w_R |R|).

If R is a sample, a neighbour of x does not repel it. New items do not interact. So an item gets
the same coordinates, to the last bit, whether it is placed alone, in any batch or in any order.

Lengths are in units of the embedding; numbers are float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmde._utils.jit import jit
from skmde._utils.threads import run_pieces
from skmde._utils.warn import warn
from skmde.core.placement.distortion import AnchoredDistortion
from skmde.core.placement.field import FrozenField
from skmde.core.placement.newton import Floats, RowMinimum, Rows, minimize_rows, values_at
from skmde.core.placement.starts import is_barrier, starts_from_neighbors, starts_in_gaps
from skmde.core.placement.within import Projection, best_within
from skmde.exceptions import ConvergenceWarning
from skmde.functions.base import Penalty

# Floor of distances, in radii of the embedding. Penalties have another floor of their own.
_FLOOR = 1e-10
# Limit on an item's distance from the embedding's centre, in radii but at least 100 units.
_LEASH = 100.0
# Further starts under a barrier, by the number of components: it parts a line, and in more
# dimensions a row finds a way around it.
_FURTHER_RUNS = {1: 7, 2: 3, 3: 3}


@jit()
def _drop_neighbors(neighbors: Any, weights: Any, slots: Any, out: Any) -> None:
    """Set the weights ``out`` to 0 for repulsive items that are neighbours of the row."""
    for r in range(neighbors.shape[0]):
        for e in range(neighbors.shape[1]):
            slot = slots[neighbors[r, e]]
            if weights[r, e] > 0.0 and slot >= 0:
                out[r, slot] = 0.0


def _best_start(
    objective: AnchoredDistortion, starts: Floats, values: Floats, size: float
) -> tuple[Floats, Floats]:
    """The start of each row with the lowest value, and this value.

    A barrier may be infinite at all starts. Then points at increasing distances in a fixed
    direction are tried until the value is finite.
    """
    q, m = starts.shape[1:]
    rows = np.arange(q)
    lowest = values.argmin(axis=0)
    best, least = starts[lowest, rows], values[lowest, rows]
    direction = 1.0 / (1.0 + 0.6180339887498949 * np.arange(m))
    direction /= np.sqrt(np.cumsum(direction**2)[-1])
    reach = 1e-3 * size
    while reach <= _LEASH / 2 * size:
        rows = np.flatnonzero(~np.isfinite(least))
        if not rows.size:
            break
        trial = starts[0][rows] + reach * direction
        value = objective.values(trial, rows)
        better = value < least[rows]
        least[rows[better]] = value[better]
        best[rows[better]] = trial[better]
        reach *= 2.0
    return best, least


def _place_chunk(
    anchors: Floats,
    size: float,
    indices: Rows,
    weights: Floats,
    penalties: tuple[Penalty, Penalty | None],
    repulsion: tuple[Rows, Floats, Rows] | None,
    neighbors_repel: bool,
    field: FrozenField | None,
    own: tuple[Rows, Floats] | None,
    center: Floats,
    project: Projection | None,
    max_iter: int,
    tol: float,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Place rows that all have a neighbour; the origin is the anchors' centre."""
    attractive, repulsive = penalties
    objective = AnchoredDistortion(anchors, _FLOOR * size)
    objective.add_terms(indices, weights, attractive)
    if repulsion is not None and repulsive is not None:
        items, strengths, slots = repulsion
        rows = (indices.shape[0], 1)
        repulsive_weights = np.tile(strengths, rows)
        if not neighbors_repel:
            _drop_neighbors(indices, weights, slots, repulsive_weights)
        objective.add_terms(np.tile(items, rows), repulsive_weights, repulsive)
    if field is not None:
        objective.add_field(field, center)
    if own is not None and repulsive is not None:
        # cancels the repulsion by the item itself
        objective.add_terms(own[0][:, None], own[1][:, None], repulsive)
    starts, spread = starts_from_neighbors(anchors, indices, weights)
    barred = repulsive is not None and is_barrier(repulsive)
    barred &= repulsion is not None or field is not None
    if barred and anchors.shape[1] == 1:
        repelling = anchors if repulsion is None else anchors[repulsion[0]]
        gaps = starts_in_gaps(repelling[:, 0], starts[:, :, 0])
        starts = np.concatenate([starts, gaps])
    values = values_at(objective, starts)
    start, least = _best_start(objective, starts, values, max(size, 1.0))
    # A gradient has the unit of the distortion, over that of lengths.
    tols = tol / size * np.where(np.isfinite(least), np.abs(least), 0.0)
    radius, limit = np.maximum(spread, 1e-2 * size), _LEASH * max(size, 1.0)
    options: dict[str, Any] = {"scale": size, "tol": tols, "max_iter": max_iter}
    found = minimize_rows(objective, start, radius=radius, limit=limit, **options)
    if barred and anchors.shape[1] in _FURTHER_RUNS:
        options.update(radius=radius, limit=limit)
        _improve_from_others(objective, starts, values, start, found, 1e-9 * size, options)
    if project is not None:
        found = best_within(
            objective,
            np.concatenate([found.X[None], starts]),
            project,
            size=size,
            radius=radius,
            limit=limit,
            tol=tol,
        )
    # If a distortion decreases without bound, a row would end at the limit: keep its start.
    away = (found.X**2).sum(axis=1) > (0.99 * limit) ** 2
    found.X[away] = start[away]
    return found.X, found.converged & ~away


def _improve_from_others(
    objective: AnchoredDistortion,
    starts: Floats,
    values: Floats,
    start: Floats,
    found: RowMinimum,
    apart: float,
    options: dict[str, Any],
) -> None:
    """Replace the minima that are higher than those from the next best starts."""
    rows = np.arange(len(start))
    for _ in range(_FURTHER_RUNS[start.shape[1]]):
        values[np.square(starts - start).sum(axis=2) <= apart**2] = np.inf
        start = starts[values.argmin(axis=0), rows]
        found.improve(minimize_rows(objective, start, **options))


def _unit(attractive: Penalty, size: float) -> float:
    """A power of two near the size of the embedding; 1 if the penalty has a length of its own.

    A penalty has a floor of distances, which must not depend on the unit of the embedding.
    """
    if attractive.degree is None or attractive.kernel_parameters() is None:
        return 1.0
    return float(2.0 ** round(math.log2(size)))


def place_by_neighbors(
    anchor_embedding: ArrayLike,
    neighbor_indices: ArrayLike,
    neighbor_weights: ArrayLike,
    attractive: Penalty,
    repulsive: Penalty | None = None,
    repulsive_indices: ArrayLike | None = None,
    repulsive_weight: float | Floats = 0.0,
    *,
    neighbors_repel: bool = False,
    field: FrozenField | None = None,
    own: tuple[Rows, Floats] | None = None,
    project: Projection | None = None,
    max_iter: int = 100,
    tol: float = 1e-10,
    chunk_size: int = 1024,
    n_threads: int = 1,
) -> Floats:
    """Place new items among the items of a fixed embedding (monograph, section 2.4.2).

    Parameters
    ----------
    anchor_embedding : array-like of shape (n_train, m)
        The training embedding, finite.
    neighbor_indices : array-like of int of shape (q, k)
        The training items that attract each new item; -1 where one is missing.
    neighbor_weights : array-like of shape (q, k)
        Their weights, at least 0. A weight of 0 means that there is no such pair.
    attractive : Penalty
        Penalty of the attractive pairs.
    repulsive : Penalty or None, default=None
        Penalty of the repulsive pairs; None for attraction only.
    repulsive_indices : array-like of int of shape (R,), default=None
        The training items that repel each new item, unless they are its neighbours. An item that
        is given twice repels twice as strongly.
    repulsive_weight : float or ndarray of shape (R,), default=0.0
        Strength of repulsion: the weight of a repulsive pair is minus this. It is one number for
        all repulsive items, or one for each.
    neighbors_repel : bool, default=False
        Whether repulsive items that are neighbours of a new item repel it, too.
    field : FrozenField, default=None
        Repulsion of all training items.
    own : tuple of ndarrays of shape (q,), default=None
        The training item that each new item is, and the weight with which that item repels it in
        what is given; this repulsion is left out.
    project : callable, default=None
        The nearest points of a set in which new items are placed, for an array of rows.
    max_iter : int, default=100
        Maximum number of Newton steps of a row.
    tol : float, default=1e-10
        Tolerance: a row has converged when the norm of the gradient of its average distortion is
        at most this times the distortion of its start, divided by the radius of the embedding.
    chunk_size : int, default=1024
        Number of rows solved together. It has no influence on the result.
    n_threads : int, default=1
        Number of threads that share the chunks. It has no influence on the result.

    Returns
    -------
    X : ndarray of shape (q, m)
        Coordinates of the new items, float64. An item without neighbours is placed at the centre of
        the training embedding. An item whose distortion decreases without bound stays among its
        neighbours.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or an index too large.

    Warns
    -----
    ConvergenceWarning
        If some rows did not converge in ``max_iter`` steps, or no point of finite distortion was
        found.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.core.placement.by_neighbors import place_by_neighbors
    >>> from skmde.penalties import Quadratic
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> neighbors, weights = [[0, 1, -1], [0, 1, 3]], [[1.0, 3.0, 0.0], [1.0, 2.0, 1.0]]
    >>> place_by_neighbors(square, neighbors, weights, Quadratic())
    array([[0.75, 0.  ],
           [0.5 , 0.25]])
    """
    anchors = np.array(anchor_embedding, dtype=np.float64, order="C")
    indices = np.array(neighbor_indices, dtype=np.int64, order="C")
    weights = np.array(neighbor_weights, dtype=np.float64, order="C")
    if indices.size and indices.max() >= anchors.shape[0]:
        raise ValueError(
            f"neighbor_indices must be below the number of training items, {anchors.shape[0]}; "
            f"got {indices.max()}."
        )
    weights[indices < 0] = 0.0
    indices[indices < 0] = 0
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        bad = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise ValueError(
            f"The weights of neighbours must be finite and at least 0; got {bad}. Use "
            "repulsive_indices for training items that repel."
        )
    center = anchors.mean(axis=0)
    anchors -= center
    size = float(np.sqrt((anchors**2).sum(axis=1).max()))
    if not size > 0.0:
        size = 1.0
    repels = field is not None or (repulsive is not None and bool(np.any(repulsive_weight)))
    unit = 1.0 if repels else _unit(attractive, size)
    anchors, size = anchors / unit, size / unit

    def inside(points: Floats) -> Floats:
        assert project is not None
        nearest: Floats = (project(unit * points + center) - center) / unit
        return nearest

    repulsion: tuple[Rows, Floats, Rows] | None = None
    if repulsive is not None and repulsive_indices is not None and np.any(repulsive_weight):
        given = np.asarray(repulsive_indices, dtype=np.int64)
        items, slot = np.unique(given, return_inverse=True)
        slots = np.full(anchors.shape[0], -1)
        slots[items] = np.arange(items.size)
        strengths = np.bincount(slot, np.broadcast_to(repulsive_weight, given.shape))
        repulsion = items, -strengths.astype(np.float64), slots

    X = np.zeros((indices.shape[0], anchors.shape[1]))
    converged = np.ones(indices.shape[0], dtype=bool)
    attracted = np.flatnonzero((weights > 0).any(axis=1))
    chunks = [attracted[i : i + chunk_size] for i in range(0, attracted.size, chunk_size)]

    def solve(rows: Rows) -> None:
        X[rows], converged[rows] = _place_chunk(
            anchors,
            size,
            indices[rows],
            weights[rows],
            (attractive, repulsive),
            repulsion,
            neighbors_repel,
            field,
            None if own is None else (own[0][rows], own[1][rows]),
            center,
            None if project is None else inside,
            max_iter,
            tol,
        )

    run_pieces(solve, [(rows,) for rows in chunks], n_threads)
    if not converged.all():
        warn(
            f"{np.count_nonzero(~converged)} of {converged.size} new items were placed where "
            f"their distortion can still decrease: {max_iter} Newton steps were not enough, "
            "repulsion outweighs attraction at any distance, or the distortion was infinite at all "
            "points tried. Use a smoother penalty, one that attracts more strongly, or one that is "
            "finite everywhere.",
            ConvergenceWarning,
        )
    X = unit * X + center
    return X if project is None else project(X)
