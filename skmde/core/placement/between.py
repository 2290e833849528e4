"""Search for starts between anchors, for losses that are infinite at an anchor.

Such a loss, as the fractional one, has a pole at each anchor, and a local minimum in nearly every
space between anchors. Newton's method stays in the space of its start. On a line, the spaces are
the gaps between neighbouring anchors, and the middle of each is tried. In more dimensions, points
at several lengths and directions from the best ones are tried, since they may lie behind a pole.

The results of a row depend on that row only. Lengths are in radii of the embedding.
"""

from __future__ import annotations

import numpy as np

from skmde.core.placement.losses import AnchoredLoss
from skmde.core.placement.newton import Floats, values_at

_KEPT = 5  # points of each row from which Newton's method starts
_LENGTHS = 0.5 * 0.6 ** np.arange(8)  # of the steps, one after the other
_DIRECTIONS = 8  # tried at each length


def starts_between(objective: AnchoredLoss, starts: Floats) -> Floats:
    """Good starts of each row, one from each of several regions.

    Parameters
    ----------
    objective : AnchoredLoss
    starts : ndarray of shape (s, q, m)
        Starts to search from.

    Returns
    -------
    ndarray of shape (5, q, m)
    """
    if starts.shape[2] == 1:
        return _in_gaps(objective, starts)
    values = values_at(objective, starts)
    order = np.argsort(values, axis=0, kind="stable")[:_KEPT]
    rows = np.arange(starts.shape[1])
    points, values = starts[order, rows], values[order, rows]
    directions = _directions(starts.shape[2])
    for step, length in enumerate(_LENGTHS):
        # Another turn at each length, so that all directions are tried.
        moves = length * directions[step % len(directions)]
        trials = points[:, None] + moves[None, :, None]
        found = values_at(objective, trials.reshape(-1, *starts.shape[1:]))
        found = found.reshape(trials.shape[:3])
        least = found.argmin(axis=1)
        at = np.arange(len(points))[:, None], least, rows
        better = found[at] < values
        points = np.where(better[..., None], trials[at], points)
        values = np.where(better, found[at], values)
    return points


def _in_gaps(objective: AnchoredLoss, starts: Floats) -> Floats:
    places = np.unique(objective.anchors[:, 0])
    ends = np.array([places[0] - 0.5, places[0] - 0.05, places[-1] + 0.05, places[-1] + 0.5])
    middles = np.concatenate([0.5 * (places[1:] + places[:-1]), ends])
    q = starts.shape[1]
    trials = np.concatenate([starts, np.broadcast_to(middles[:, None, None], (len(middles), q, 1))])
    order = np.argsort(values_at(objective, trials), axis=0, kind="stable")[:_KEPT]
    found: Floats = trials[order, np.arange(q)]
    return found


def points_around(n_rows: int, m: int) -> Floats:
    """Fixed starts all over the embedding, the same for each row: shape (s, n_rows, m)."""
    if m == 1:
        points = np.linspace(-1.5, 1.5, 32)[:, None]
    elif m == 2:
        angles = 2 * np.pi * np.arange(8) / 8
        points = 0.7 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    else:
        points = 0.4 * np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
        points = np.concatenate([points, np.zeros((len(points), m - 3))], axis=1)
    found: Floats = np.broadcast_to(points[:, None], (len(points), n_rows, m))
    return found


def _directions(m: int) -> Floats:
    """Sets of unit vectors, shape (4, 8, m)."""
    normal = np.random.default_rng(0).standard_normal((4, _DIRECTIONS // 2, m))
    normal /= np.sqrt(np.square(normal).sum(axis=2, keepdims=True))
    if m == 2:
        angles = np.pi * (np.arange(4)[:, None] / 4 + np.arange(_DIRECTIONS // 2)) * 2 / _DIRECTIONS
        normal = np.stack([np.cos(angles), np.sin(angles)], axis=2)
    return np.concatenate([normal, -normal], axis=1)
