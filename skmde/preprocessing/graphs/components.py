"""Connected components of a graph, and a layout that puts their embeddings side by side."""

from __future__ import annotations

import numpy as np

from skmde._linalg.components import connected_components

__all__ = ["connected_components", "pack_components"]


def pack_components(X, labels, *, gap=0.5, rescale=True):
    """Arrange separately embedded components side by side, without overlap.

    Each component is centred and scaled, so that its area (with one column, its length) is
    proportional to its number of nodes: its root mean square distance from its mean becomes
    ``size ** (1 / m)``, with ``m = min(n_columns, 2)``. Each component gets a bounding box with a
    margin. In the first two columns, the boxes are packed in horizontal rows, the tallest box
    first, to fill about a square. With one column, the boxes follow each other on the line. The
    result is deterministic.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns), float
        Embeddings of the components.
    labels : ndarray of shape (n,), int
        The component of each row, numbered from 0.
    gap : float, default=0.5
        Half the free space between two components. The unit is the size of a component of one
        node. With ``rescale=False``, the unit is the root mean square radius of the largest
        component.
    rescale : bool, default=True
        False keeps the size of each component.

    Returns
    -------
    X : ndarray of shape (n, n_columns)
        A new array of the same type, with column means 0.

    See Also
    --------
    connected_components : The connected components of an undirected graph.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import pack_components
    >>> X = pack_components(np.zeros((4, 2)), np.arange(4))
    >>> len(np.unique(X, axis=0))
    4
    """
    X = np.asarray(X)
    labels = np.asarray(labels)
    n_columns = X.shape[1]
    sizes = np.bincount(labels)
    n_components = len(sizes)
    if n_components <= 1:
        return X - X.mean(axis=0)
    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    Z = X[order].astype(np.float64)
    member = labels[order]

    Z -= (np.add.reduceat(Z, starts) / sizes[:, None])[member]
    plane = min(n_columns, 2)
    spread = np.sqrt(np.add.reduceat((Z**2).sum(axis=1), starts) / sizes)
    if rescale:
        wanted = np.where(sizes > 1, sizes ** (1 / plane), 0.0)
        factors = np.divide(wanted, spread, out=np.zeros(n_components), where=spread > 0)
        Z *= factors[member][:, None]
    else:
        gap *= spread.max() or 1.0

    low = np.minimum.reduceat(Z, starts)[:, :plane] - gap
    high = np.maximum.reduceat(Z, starts)[:, :plane] + gap
    corners = _shelves(high - low)
    Z[:, :plane] += (corners - low)[member]
    Z -= Z.mean(axis=0)
    packed = np.empty(X.shape, np.result_type(X.dtype, np.float32))
    packed[order] = Z
    return packed


def draw_together(X, labels, gap):
    """Move components towards each other as far as they do not touch.

    Components that no edge joins repel each other without end. Their arrangement is kept: all
    centers move towards the mean of all nodes by the same factor. The factor is the smallest for
    which the circles around the components keep a distance of `gap`; it is at most 1.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns), float
        An embedding.
    labels : ndarray of shape (n,), int
        The component of each row, numbered from 0.
    gap : float
        Least distance of two circles.

    Returns
    -------
    X : ndarray of shape (n, n_columns), float64
        A new array with column means 0.
    """
    X = np.asarray(X, dtype=np.float64)
    X = X - X.mean(axis=0)
    sizes = np.bincount(labels)
    if len(sizes) <= 1:
        return X
    sums = [np.bincount(labels, column) for column in X.T]
    centers = np.stack(sums, axis=1) / sizes[:, None]
    radii = np.zeros(len(sizes))
    np.maximum.at(radii, labels, np.linalg.norm(X - centers[labels], axis=1))
    factor = 0.0
    for k in range(len(sizes) - 1):
        distances = np.linalg.norm(centers[k + 1 :] - centers[k], axis=1)
        room = radii[k + 1 :] + radii[k] + gap
        factor = max(
            factor,
            float(np.divide(room, distances, out=np.ones_like(room), where=distances > room).max()),
        )
        if factor >= 1.0:
            return X
    return X + (factor - 1.0) * centers[labels]


def _shelves(boxes):
    """Lower corners of boxes that are packed in rows (shelves), the tallest box first."""
    n, plane = boxes.shape
    corners = np.zeros((n, plane))
    if plane == 1:
        corners[:, 0] = np.cumsum(boxes[:, 0]) - boxes[:, 0]
        return corners
    order = np.argsort(-boxes[:, 1], kind="stable")
    width, height = boxes[order, 0], boxes[order, 1]
    ends = np.cumsum(width)
    room = max(width.max(), 1.1 * np.sqrt((width * height).sum()))
    start, level = 0, 0.0
    while start < n:
        before = ends[start] - width[start]
        stop = max(start + 1, int(np.searchsorted(ends, before + room, side="right")))
        corners[order[start:stop], 0] = ends[start:stop] - width[start:stop] - before
        corners[order[start:stop], 1] = level
        level += height[start]
        start = stop
    return corners
