"""Starting points in which items that belong apart do not coincide.

Coincident items exert no force on each other. If they also have the same distances to all others,
as the leaves of a star have, no force ever separates them: a solver keeps them together. So items
whose places are equal, up to rounding, are moved apart by seeded noise. Items that their original
distance holds together stay together, since for them a common place is the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skmde._linalg.components import component_labels
from skmde._linalg.frame import Frame
from skmde._utils.random import private_generator

_SAME = 1e-6  # distance of coincident items, relative to the size of the embedding
_NOISE = 1e-4  # that moves them apart
_WIDTH = 1.0 + 1e-6  # of a cell, with rounding errors


def separate_coincident(
    X: np.ndarray,
    random_state: Any,
    distances: np.ndarray | None = None,
    pairs_at: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Add seeded noise of 1e-4 of the embedding's size to rows that coincide up to rounding.

    Parameters
    ----------
    X : ndarray of shape (n, m)
    random_state : int, RandomState or Generator
    distances : ndarray of shape (p,), default=None
        Original distances of pairs. Items whose distance is 0 up to rounding stay together.
    pairs_at : callable, default=None
        Takes positions in `distances` and returns the pairs there, shape (k, 2).

    Returns
    -------
    X : ndarray of shape (n, m)
        The same array if no item has to move.
    """
    n, m = X.shape
    Y = X.astype(np.float64)
    frame = Frame.around(Y)
    Y = frame.inside(Y) / _SAME
    near = _with_others_near(Y)
    firsts = [near[_first_in_cell(Y[near] + shift / (m + 1))] for shift in range(m + 1)]
    if all((first == near).all() for first in firsts):
        return X
    names = np.arange(n)
    if distances is not None and pairs_at is not None:
        nearest = np.flatnonzero(distances <= _SAME * distances.max(initial=0.0))
        labels = component_labels(pairs_at(nearest), n)
        names = np.zeros_like(names) if labels is None else labels
    again = near[np.any([names[first] != names[near] for first in firsts], axis=0)]
    if again.size == 0:
        return X
    noise = private_generator(random_state).standard_normal((again.size, m))
    # Items that stay together get the same noise.
    _, first, inverse = np.unique(names[again], return_index=True, return_inverse=True)
    X = X.copy()
    X[again] += ((_NOISE * frame.length) * noise[first[inverse.ravel()]]).astype(X.dtype)
    return X


def _with_others_near(Y: np.ndarray) -> np.ndarray:
    """Some rows, in order, among them all that share a cell with another row.

    Rows are sorted by a column and cut where the next one is more than 1 away, then each part by
    the next column. In most starting points, nearly all rows are soon alone in their part.
    """
    rows, parts = np.arange(len(Y)), np.zeros(len(Y), np.intp)
    for column in Y.T:
        values = column[rows]
        order = np.lexsort((values, parts)) if parts.any() else np.argsort(values)
        rows, values, parts = rows[order], values[order], parts[order]
        cuts = (np.diff(values) > _WIDTH) | (np.diff(parts) > 0)
        parts = np.concatenate([[0], np.cumsum(cuts)])[: len(rows)]
        shared = np.bincount(parts)[parts] > 1
        rows, parts = rows[shared], parts[shared]
    return np.sort(rows)


def _first_in_cell(Y: np.ndarray) -> np.ndarray:
    """The first row in the same cell of a grid of width 1 as each row, shape (n,).

    Two rows a fraction apart may be on both sides of a boundary. Of m + 1 grids in which the
    boundaries of each column differ, at most m have one between two rows that are less than
    1 / (m + 1) apart.
    """
    cells = np.floor(Y).astype(np.int64)
    # Two cells have the same name with a chance of 2^-63; then a row moves that need not.
    names = cells @ np.random.default_rng(0).integers(2**63, size=cells.shape[1])
    _, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    return first[inverse.ravel()]
