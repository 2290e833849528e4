"""A search for a better local minimum near one.

Order alone leaves many local minima, which random starts reach again and again. So an embedding is
disturbed many times, and the best of what it then descends to is kept and disturbed in turn. Every
other time, a fifth of the items get random places, or all items get a random coordinate in one
dimension more. The two lead out of different minima.

A descent is quick and not precise; a solver finishes the best one.
"""

from __future__ import annotations

import numpy as np
import torch

from skmde._linalg.reductions import column_means, gram

# An embedding is disturbed at most so often, and for at most so many pairs in all.
_MOST, _PAIRS_IN_ALL = 100, 60_000
_EXACT = 1e-9  # squared stress that is as good as none

_DISTURBED = 0.2  # of the items
_HEIGHT = 0.5  # of a further coordinate, relative to the size of the embedding
_BETTER = 1e-5  # least relative gain


def is_small(n_pairs):
    """Whether there are so few pairs that a search pays off."""
    return 0 < n_pairs <= _PAIRS_IN_ALL


def better_minimum(descend, n_pairs, X, rng):
    """The best embedding that a search from a solution finds.

    Parameters
    ----------
    descend : callable
        Takes a starting point of any dimension; returns the embedding that it leads to and its
        squared stress.
    n_pairs : int
        Number of pairs; the more, the less often an embedding is disturbed.
    X : ndarray of shape (n, m)
    rng : numpy.random.Generator

    Returns
    -------
    X : ndarray of shape (n, m), or None
        None if no other embedding is better.
    """
    X, value = descend(X)
    better = None
    for number in range(min(_MOST, _PAIRS_IN_ALL // n_pairs)):
        if value < _EXACT:
            break
        disturb = _partly_random if number % 2 == 0 else _lifted
        other, reached = descend(disturb(descend, X, rng))
        if reached < (1 - _BETTER) * value:
            X, value, better = other, reached, other
    return better


def _partly_random(descend, X, rng):
    """An embedding in which some items have random places."""
    n, m = X.shape
    X = X - X.mean(axis=0)
    moved = rng.choice(n, max(1, round(_DISTURBED * n)), replace=False)
    X[moved] = rng.standard_normal((len(moved), m)) * np.sqrt(np.square(X).mean())
    return X


def _lifted(descend, X, rng):
    """An embedding with a random further coordinate, solved there and projected."""
    X = X - X.mean(axis=0)
    size = np.sqrt(np.square(X).sum(axis=1).mean())
    height = _HEIGHT * size * rng.standard_normal(len(X))
    return flattened(descend, np.column_stack([X, height]), X.shape[1])


def flattened(descend, X, m):
    """A starting point in m dimensions from one in more: solved there and projected, one by one."""
    for dimension in range(X.shape[1], m, -1):
        X = _principal_part(descend(X)[0], dimension - 1)
    return X


def _principal_part(X, m):
    """The coordinates of rows on their first m principal axes."""
    X = torch.from_numpy(np.ascontiguousarray(X))
    X = X - column_means(X)
    _, axes = np.linalg.eigh(gram(X, X).numpy())
    return np.ascontiguousarray(X.numpy() @ axes[:, ::-1][:, :m])
