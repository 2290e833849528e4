"""Where a solve for given distances begins."""

from __future__ import annotations

import numpy as np

from skmde.core.classical import landmark_mds

_LANDMARKS = 300
_LENGTHS = 1 << 22  # distances from the landmarks to all items
_SIZED_BY = 1 << 17  # pairs that a starting point's size is taken from


def landmark_start(originals, labels, n_components, rng, n_threads):
    """Classical scaling from random landmarks, of each connected part by itself.

    Parameters
    ----------
    originals : object of :mod:`skmde.estimators._original_distances`
    labels : ndarray of shape (n,), int, or None
        The part of each item; None if there is one.
    n_components : int
    rng : numpy.random.Generator
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    X : ndarray of shape (n, n_components), float64
        In units of the distances; every part is centred.
    """
    n = originals.n_items
    X = np.zeros((n, n_components))
    parts = [np.arange(n)]
    if labels is not None:
        order = np.argsort(labels, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    for part in parts:
        if len(part) == 1:
            continue
        count = min(len(part), max(20, min(_LANDMARKS, _LENGTHS // n)))
        chosen = np.sort(rng.choice(len(part), count, replace=False, shuffle=False))
        distances = originals.from_items(part[chosen])[:, part]
        X[part] = landmark_mds(distances, chosen, n_components, n_threads=n_threads)
    return X


def filled_out(X, rng):
    """Columns without any spread get a hundredth of the others', at random.

    A column of zeros would stay so: no force acts along it.
    """
    flat = np.ptp(X, axis=0) <= 1e-6 * np.ptp(X, axis=0).max(initial=0.0)
    size = np.sqrt(np.mean(X**2))
    X[:, flat] = 0.01 * size * rng.standard_normal((len(X), int(flat.sum())))
    return X


def sized(X, pairs):
    """X times the number that brings its distances nearest to the original ones."""
    n, p = len(X), len(pairs.distances)
    some = np.arange(0, p, -(-p // _SIZED_BY))
    i, j = _triangle(some, n) if pairs.edges is None else pairs.edges[some].T
    delta = pairs.distances[some].astype(np.float64)
    d = np.sqrt(((X[i] - X[j]) ** 2).sum(axis=1))
    unit = delta.max(initial=0.0)
    if not (unit > 0 and d.max(initial=0.0) > 0):
        return X
    return X * (unit * ((delta / unit * d).sum() / (d**2).sum()))


def _triangle(numbers, n):
    """Pairs of given numbers, in the order of all pairs."""
    rows = np.arange(n)
    before = rows * (2 * n - rows - 1) // 2
    i = np.searchsorted(before, numbers, side="right") - 1
    return i, numbers - before[i] + i + 1
