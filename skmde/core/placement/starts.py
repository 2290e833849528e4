r"""Starting points for the placement, where an item's average distortion may be small.

From neighbours, the starts are the neighbours' mean, their median, and single neighbours. If the
neighbours are in several places of the embedding, there may be a local minimum at each of them, and
the mean is often at none. From distances, the first start is the x that fits the squared distances.
It solves a linear problem, since

    delta_k^2 - ||a_k||^2 = ||x||^2 - 2 x^T a_k

is linear in x and ||x||^2 (classical scaling of one item, "landmark MDS"). If the anchors a_k lie
in a subspace, the fit is the projection of x onto it (the foot), and the mean residual of
delta_k^2 is the squared distance of x from the subspace (the height). Mirror images of the fit and
points near the nearest anchor are starts, too.

The results of a row depend on that row only, to the last bit.

References
----------
de Silva and Tenenbaum, Sparse multidimensional scaling using landmark points (2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skmde._utils.jit import jit
from skmde.functions.base import Penalty

_MOST_ROTATIONS = 30
_NEAR, _STEEP = 1e-6, 1e3  # a barrier has a larger force at this distance
# Neighbours that are starts in the plane and in more dimensions: further ones seldom add a minimum.
_MOST_NEIGHBORS = 15
_MOST_GAPS = 130  # of a line, in which all rows start
_PARTS = np.array([0.02, 0.1, 0.5, 0.9, 0.98])  # of a wide gap, where rows start


@jit()
def starts_from_neighbors(anchors: Any, indices: Any, weights: Any) -> Any:
    """Starts of each row, and the spread of its neighbours about their mean.

    The starts are the neighbours' weighted mean, their weighted median, the neighbour of largest
    weight, and the first 15 neighbours. On a line (m = 1), no step crosses a barrier, so every
    neighbour is a start.

    Parameters
    ----------
    anchors : ndarray of shape (n, m)
        Coordinates of the anchored items.
    indices, weights : ndarrays of shape (q, k)
        The neighbours of each row, and their weights.

    Returns
    -------
    starts : ndarray of shape (3 + min(k, 15), q, m), or (3 + k, q, 1) on a line
    spread : ndarray of shape (q,)
    """
    q, k = indices.shape
    m = anchors.shape[1]
    starts = np.zeros((3 + (k if m == 1 else min(k, _MOST_NEIGHBORS)), q, m))
    spread = np.zeros(q)
    order = np.empty(k, dtype=np.int64)
    for r in range(q):
        total, strongest = 0.0, 0
        for e in range(k):
            total += weights[r, e]
            if weights[r, e] > weights[r, strongest]:
                strongest = e
        if not total > 0.0:
            continue
        for i in range(m):
            for e in range(k):
                x = anchors[indices[r, e], i]
                starts[0, r, i] += weights[r, e] / total * x
                place = e
                while place > 0 and anchors[indices[r, order[place - 1]], i] > x:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = e
            below = 0.0
            for place in range(k):
                below += weights[r, order[place]]
                if below >= 0.5 * total:
                    starts[1, r, i] = anchors[indices[r, order[place]], i]
                    break
            starts[2, r, i] = anchors[indices[r, strongest], i]
            for e in range(starts.shape[0] - 3):
                starts[3 + e, r, i] = anchors[
                    indices[r, e if weights[r, e] > 0.0 else strongest], i
                ]
        square = 0.0
        for e in range(k):
            for i in range(m):
                u = anchors[indices[r, e], i] - starts[0, r, i]
                square += weights[r, e] / total * u * u
        spread[r] = np.sqrt(square)
    return starts, spread


def is_barrier(penalty: Penalty) -> bool:
    """Whether the force of a built-in penalty grows without bound at distance 0."""
    if penalty.kernel_parameters() is None:
        return False  # a function of the user's own may not be defined for a single pair
    near = torch.full((1,), _NEAR, dtype=torch.float64, device="cpu")
    force = abs(float(penalty.slope(near))) * _NEAR
    return force > _STEEP


def starts_in_gaps(repelling: Any, points: Any) -> Any:
    """Points of the gaps between repelling items of a line: of wide gaps, and around given points.

    No step crosses an item that repels by a barrier, and there is a minimum in every gap. It is
    near the middle of a short gap, and may be near one end of a long gap, so several points of a
    long gap are starts. Of many gaps, those are taken that are the widest of their cell of the
    line: attraction changes little within a cell, so that the widest gap has the lowest minimum.

    Parameters
    ----------
    repelling : ndarray of shape (n,)
        Places of items on the line.
    points : ndarray of shape (s, q)
        Points of each row.

    Returns
    -------
    ndarray of shape (t, q, 1)
        Five points of each gap if there are at most 130 of them; otherwise five points of at most
        130 wide gaps, and the middles of the six gaps around each of the points.
    """
    places = np.unique(repelling)
    margin = 0.05 * (places[-1] - places[0]) or 1.0
    places = np.concatenate([places[:1] - margin, places, places[-1:] + margin])
    q, widths = points.shape[1], np.diff(places)
    wide = _wide_gaps(places, widths)
    within = (places[wide] + _PARTS[:, None] * widths[wide]).ravel()
    starts = np.broadcast_to(within[:, None, None], (len(within), q, 1))
    if len(wide) == len(widths):
        return starts
    near = np.searchsorted(places, points)[None] - 1 + np.arange(-2, 4)[:, None, None]
    near = np.clip(near, 0, len(widths) - 1).reshape(-1, q)
    middles = places[near] + 0.5 * widths[near]
    return np.concatenate([starts, middles[:, :, None]])


def _wide_gaps(places: Any, widths: Any) -> Any:
    """The gaps that are the widest ones of their cells; all of them if they are few."""
    if len(widths) <= _MOST_GAPS:
        return np.arange(len(widths))
    # Half of the cells are equally long, and half of them hold equally many gaps.
    n_cells = _MOST_GAPS // 2
    by_length = (places[:-1] - places[0]) * (n_cells / (places[-1] - places[0]))
    by_rank = np.arange(len(widths)) * n_cells // len(widths)
    widest = []
    for cells in (by_length.astype(np.int64), by_rank):
        order = np.lexsort((-widths, cells))
        widest.append(order[np.flatnonzero(np.diff(cells[order], prepend=-1))])
    return np.unique(np.concatenate(widest))


@jit()
def _diagonalise(M: Any, V: Any) -> None:
    """Jacobi's method: M becomes diagonal, and the columns of V become its eigenvectors.

    A library's eigensolver is not used, since its bits may depend on the number of threads.
    """
    m = M.shape[0]
    for i in range(m):
        for j in range(m):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(_MOST_ROTATIONS):
        off, largest = 0.0, 0.0
        for i in range(m):
            largest = max(largest, abs(M[i, i]))
            for j in range(i):
                off = max(off, abs(M[i, j]))
        if not off > 1e-15 * largest:
            return
        for i in range(m):
            for j in range(i):
                if M[i, j] == 0.0:
                    continue
                theta = 0.5 * (M[j, j] - M[i, i]) / M[i, j]
                tan = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    tan = -tan
                cos = 1.0 / np.sqrt(tan * tan + 1.0)
                sin = tan * cos
                for k in range(m):
                    p, q = M[k, i], M[k, j]
                    M[k, i], M[k, j] = cos * p - sin * q, sin * p + cos * q
                for k in range(m):
                    p, q = M[i, k], M[j, k]
                    M[i, k], M[j, k] = cos * p - sin * q, sin * p + cos * q
                for k in range(m):
                    p, q = V[k, i], V[k, j]
                    V[k, i], V[k, j] = cos * p - sin * q, sin * p + cos * q


@jit()
def _triangulate(
    anchors: Any, deviations: Any, weights: Any, mean: Any, foot: Any, spread: Any, axes: Any
) -> float:
    """Fit squared distances: the item's projection onto the span of the anchors, and its height.

    The error of a squared distance grows with the distance, so long distances get lower weights.
    The function writes the weighted mean of the anchors, the projection (`foot`) relative to this
    mean, the anchors' variances along their principal axes (`spread`), and these axes. It returns
    the squared height, which may be negative.
    """
    n, m = anchors.shape
    typical = total = 0.0
    for k in range(n):
        typical += weights[k] * deviations[k] * deviations[k]
        total += weights[k]
    typical *= 0.1 / total
    share = np.empty(n)
    total = 0.0
    for k in range(n):
        square = deviations[k] * deviations[k]
        share[k] = weights[k] * (typical / (typical + square) if deviations[k] > 0.0 else 1.0)
        total += share[k]
    mean[:] = 0.0
    for k in range(n):
        share[k] /= total
        for i in range(m):
            mean[i] += share[k] * anchors[k, i]
    M, b, u = np.zeros((m, m)), np.zeros(m), np.empty(m)
    height = 0.0
    for k in range(n):
        if share[k] > 0.0:
            excess = deviations[k] * deviations[k]
            for i in range(m):
                u[i] = anchors[k, i] - mean[i]
                excess -= u[i] * u[i]
            height += share[k] * excess
            for i in range(m):
                b[i] -= 0.5 * share[k] * u[i] * excess
                for j in range(m):
                    M[i, j] += share[k] * u[i] * u[j]
    _diagonalise(M, axes)
    foot[:] = 0.0
    for i in range(m):
        spread[i] = M[i, i]
    for i in range(m):
        if spread[i] > 1e-9 * spread.max():
            along = 0.0
            for j in range(m):
                along += axes[j, i] * b[j]
            along /= spread[i]
            height -= along * along
            for j in range(m):
                foot[j] += along * axes[j, i]
    return height


@jit()
def starts_from_distances(anchors: Any, deviations: Any, weights: Any) -> Any:
    """Nine starts of each row.

    They are the fit of squared distances; its two mirror images along the two principal axes of
    least variance; the anchors' mean; the two points above and below the fit; and three points on
    the line through the fit and the nearest anchor: one on each side of the anchor, at its
    original distance, and the anchor itself.

    Parameters
    ----------
    anchors : ndarray of shape (n, m)
        Coordinates of the anchored items.
    deviations, weights : ndarrays of shape (q, n)
        Original distances, and weights. Each row needs a weight above 0.

    Returns
    -------
    ndarray of shape (9, q, m)
    """
    q, n = deviations.shape
    m = anchors.shape[1]
    starts = np.empty((9, q, m))
    foot, spread, axes = np.empty(m), np.empty(m), np.empty((m, m))
    for r in range(q):
        mean = starts[3, r]
        height = _triangulate(anchors, deviations[r], weights[r], mean, foot, spread, axes)
        height = np.sqrt(max(height, 0.0))
        order = np.argsort(spread)
        thin, next_thin = axes[:, order[0]], axes[:, order[min(1, m - 1)]]
        nearest = -1
        for k in range(n):
            if weights[r, k] > 0.0:
                if nearest < 0 or deviations[r, k] < deviations[r, nearest]:
                    nearest = k
        length = side = next_side = 0.0
        for i in range(m):
            length += (mean[i] + foot[i] - anchors[nearest, i]) ** 2
            side += foot[i] * thin[i]
            next_side += foot[i] * next_thin[i]
        length = np.sqrt(length)
        delta = deviations[r, nearest]
        for i in range(m):
            x, a = mean[i] + foot[i], anchors[nearest, i]
            step = delta * ((x - a) / length if length > 0.0 else thin[i])
            starts[0, r, i] = x
            starts[1, r, i] = x - 2.0 * side * thin[i]
            starts[2, r, i] = x - 2.0 * next_side * next_thin[i]
            starts[4, r, i] = x + height * thin[i]
            starts[5, r, i] = x - height * thin[i]
            starts[6, r, i] = a + step
            starts[7, r, i] = a - step
            starts[8, r, i] = a
    return starts
