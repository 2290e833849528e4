r"""Placing unseen items by their distances to items of a fixed embedding.

The anchored items stay where they are, at a_k. A new item, at original distances delta_k from
them, goes to a minimiser of its own average distortion (monograph, section 2.4.2),

    f(x) = sum_k w_k l(delta_k, ||x - a_k||) / sum_k w_k.

New items do not see each other, so an item is placed the same alone, in any batch and in any
order, to the last bit.

f has several minima: wrong ones are near the mirror images of the right one. So a few starts are
tried (``starts.py``).

A loss with a kink at d = delta has its minima where kinks meet. It is rounded over a length that
is divided by 10 from one solve to the next; the minima for two lengths foretell that for the next,
and that for length 0.

Lengths are in units of the embedding, numbers in float64.

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
from skmde.core.placement.losses import AnchoredLoss
from skmde.core.placement.newton import Floats, RowMinimum, Rows, minimize_rows
from skmde.core.placement.starts import starts_from_distances
from skmde.exceptions import ConvergenceWarning
from skmde.functions.base import Loss
from skmde.functions.registry import resolve_loss

# Kinks are rounded over these parts of the embedding's radius, one after the other.
_ROUNDINGS = (1e-2, 1e-3, 1e-4, 1e-5)
# Minima of a rounded loss only lead to the next ones.
_LOOSE = 1e4
# Starts from which a row is solved; with few anchors there are more minima, and time for more.
_RUNS, _MANY_RUNS, _FEW = 2, 9, 64
# In radii of the embedding: shorter distances are 0 or this, longer ones this, and no item goes
# farther from the centre than the limit.
_SHORTEST, _LONGEST, _LIMIT = 1e-12, 1e30, 1e15


def _least(values: Floats) -> Rows:
    """For each column the row of its least number; one that is none counts as infinite."""
    return np.where(np.isnan(values), np.inf, values).argmin(axis=0)


def _minimize_from_best(
    objective: AnchoredLoss, starts: Floats, count: int, **options: Any
) -> tuple[list[RowMinimum], Floats]:
    """Solve each row from its `count` best starts; the results, and the best start."""
    rows = np.arange(starts.shape[1])
    values = np.stack([objective.values(start, rows) for start in starts])
    values[np.isnan(values)] = np.inf
    first = starts[_least(values), rows]
    results = []
    for _ in range(count):
        start = starts[_least(values), rows]
        radius = 0.25 * (1.0 + np.sqrt(np.square(start).cumsum(axis=1)[:, -1]))
        results.append(minimize_rows(objective, start, radius=radius, **options))
        # what is close to this start leads to the same place
        apart = np.square(starts - start).cumsum(axis=2)[:, :, -1]
        values[apart < 1e-4] = np.inf
    return results, first


def _sharpen(
    objective: AnchoredLoss, X: Floats, **options: Any
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """From a minimum of the rounded loss to one of the loss itself."""
    step = np.zeros_like(X)
    for epsilon in _ROUNDINGS[1:]:
        # minima are about linear in epsilon
        start = X + 0.1 * step
        radius = np.full(len(X), 10.0 * epsilon)
        found = minimize_rows(objective.smoothed(epsilon), start, radius=radius, **options)
        X, step = found.X, found.X - X
    return X, X + step / 9.0, found.converged


def _place_chunk(
    objective: AnchoredLoss, starts: Floats, max_iter: int, tol: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Place rows that all have a pair; the anchors' radius is about 1."""
    rows = np.arange(starts.shape[1])
    few = len(objective.anchors) <= _FEW
    count = _MANY_RUNS if few else _RUNS
    options = {"limit": _LIMIT, "max_iter": max_iter}
    if objective.smooth:
        results, _ = _minimize_from_best(objective, starts, count, tol=tol, **options)
        ends = [found.X for found in results]
        values = np.stack([found.value for found in results])
        converged = [found.converged for found in results]
    else:
        options["tol"] = _LOOSE * tol
        rounded = objective.smoothed(_ROUNDINGS[0])
        results, first = _minimize_from_best(rounded, starts, count, **options)
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


def place_by_distances(
    anchor_embedding: ArrayLike,
    deviations: ArrayLike,
    loss: Loss | str | Callable[..., torch.Tensor],
    weights: ArrayLike | None = None,
    *,
    max_iter: int = 100,
    tol: float = 1e-10,
    chunk_size: int = 256,
    n_threads: int = 1,
) -> Floats:
    """Place new items by their distances to items of a fixed embedding.

    Parameters
    ----------
    anchor_embedding : array-like of shape (n_anchors, m)
        Where the anchored items are.
    deviations : array-like of shape (q, n_anchors)
        Original distances of the new items from the anchored ones, at least 0, in the units of the
        embedding; a pair whose distance is NaN or infinite does not exist.
    loss : Loss, str or callable
        What is minimised. Built-in losses are compiled; others are evaluated in torch, which takes
        some 10 times as long or more.
    weights : array-like of shape (q, n_anchors), default=None
        Weights of the pairs, at least 0; a pair of weight 0 does not exist. None: all are 1.
    max_iter : int, default=100
        Newton steps that a row may try from each of its starts, and for each rounding of kinks.
    tol : float, default=1e-10
        A row is done where the norm of the gradient of its average distortion is at most this,
        with the radius of the embedding and the scale of the loss as units.
    chunk_size : int, default=256
        Rows solved together. It has no influence on the result.
    n_threads : int, default=1
        Threads that share the chunks. It has no influence on the result either.

    Returns
    -------
    X : ndarray of shape (q, m)
        Where the items are, float64, finite. An item without pairs is at the centre of the anchors.

    Raises
    ------
    ValueError
        If shapes do not match, the embedding is not finite, a distance is negative, or a weight is
        negative or not finite.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` came first for some rows, or no place of finite distortion was found.

    Notes
    -----
    Numbers of any size are fine, since lengths are scaled by a power of 2 near the radius of the
    embedding, and the loss with them. Only a loss evaluated in torch stops, as all do, at
    distances below 1e-7.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.core.placement.by_distances import place_by_distances
    >>> triangle = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    >>> place_by_distances(triangle, [[5.0, 3.0, 4.0], [2.0, 2.0, np.nan]], "squared").round(6) + 0
    array([[4., 3.],
           [2., 0.]])
    """
    anchors, deltas, strengths = _checked(anchor_embedding, deviations, weights)
    function = resolve_loss(loss)
    frame = Frame.by_powers_of_two(anchors)
    anchors, unit = frame.inside(anchors), frame.length
    q = deltas.shape[0]
    X = np.zeros((q, anchors.shape[1]))
    converged = np.ones(q, dtype=bool)

    def solve(begin: int) -> None:
        delta = deltas[begin : begin + chunk_size]
        w = np.ones(delta.shape) if strengths is None else strengths[begin : begin + chunk_size]
        w = np.where(np.isfinite(delta), w, 0.0)
        most = w.max(axis=1)
        there = np.flatnonzero(most > 0.0)
        w = w[there] / most[there, None]
        rows = begin + there
        # an error state of numpy is one of the thread
        with np.errstate(over="ignore", invalid="ignore"):
            delta = np.where(w > 0.0, delta[there] / unit, 1.0)
            delta = np.where(delta > 0.0, np.clip(delta, _SHORTEST, _LONGEST), 0.0)
            objective = AnchoredLoss(anchors, delta, w, function, unit)
            starts = starts_from_distances(anchors, delta, w)
            X[rows], converged[rows] = _place_chunk(objective, starts, max_iter, tol)

    run_pieces(solve, [(begin,) for begin in range(0, q, chunk_size)], n_threads)
    if not converged.all():
        warn(
            f"{np.count_nonzero(~converged)} of {q} new items were placed where their distortion "
            f"can still decrease: {max_iter} Newton steps were not enough, or the distortion was "
            "infinite wherever it was tried. A smoother loss, or one that is finite everywhere, "
            "can be minimised more closely.",
            ConvergenceWarning,
        )
    coordinates: Floats = frame.outside(X)
    return coordinates


def _checked(
    anchor_embedding: ArrayLike, deviations: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats | None]:
    """The arguments as float64 arrays, or an error."""
    anchors = np.asarray(anchor_embedding, dtype=np.float64)
    if anchors.ndim != 2 or anchors.size == 0:
        raise ValueError(
            f"anchor_embedding must have shape (n_anchors, m), neither of them 0; got shape "
            f"{anchors.shape}."
        )
    if not np.isfinite(anchors).all():
        bad = anchors[~np.isfinite(anchors)][0]
        raise ValueError(f"anchor_embedding must be finite; got {bad}. Remove such items.")
    deltas = np.asarray(deviations, dtype=np.float64)
    if deltas.ndim != 2 or deltas.shape[1] != len(anchors):
        raise ValueError(
            f"deviations must have one row for each new item and one column for each of the "
            f"{len(anchors)} anchored items; got shape {deltas.shape}."
        )
    if (deltas < 0).any():
        raise ValueError(
            f"Distances must be at least 0; got {deltas[deltas < 0][0]}. Mark a pair "
            "without a distance with NaN."
        )
    if weights is None:
        return anchors, deltas, None
    strengths = np.asarray(weights, dtype=np.float64)
    if strengths.shape != deltas.shape:
        raise ValueError(
            f"weights must have the shape of deviations, {deltas.shape}; got shape "
            f"{strengths.shape}."
        )
    good = np.isfinite(strengths) & (strengths >= 0)
    if not good.all():
        raise ValueError(
            f"Weights must be finite and at least 0; got {strengths[~good][0]}. Give a pair "
            "that does not count the weight 0."
        )
    return anchors, deltas, strengths
