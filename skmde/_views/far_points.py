"""Points that a picture leaves outside, because they would shrink the rest to a dot.

A point is far if, along some axis, it is beyond the middle nine tenths of the points by more than
twice their length.
"""

from __future__ import annotations

import numpy as np

_FEWEST = 10  # of fewer points, none is far
_FAR = 2.0  # lengths of the middle nine tenths


def far_points(X: np.ndarray) -> np.ndarray:
    """Which points are so far from the others that a view should not include them.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_columns)
        Positions, or numbers in one column.

    Returns
    -------
    ndarray of bool of shape (n_items,)
    """
    n = len(X)
    if n < _FEWEST:
        return np.zeros(n, dtype=bool)
    # the quantiles of tenths that are themselves positions, so that one far point moves neither
    first, last = int(np.ceil(0.05 * (n - 1))), int(np.floor(0.95 * (n - 1)))
    middle = np.partition(X, [first, last], axis=0)[[first, last]]
    reach = _FAR * (middle[1] - middle[0]).max()
    if not reach > 0:
        return np.zeros(n, dtype=bool)
    far: np.ndarray = ((X < middle[0] - reach) | (X > middle[1] + reach)).any(axis=1)
    return far
