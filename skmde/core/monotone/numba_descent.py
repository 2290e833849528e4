"""A compiled descent to a local minimum of the squared stress, for few pairs; see ``descent.py``.

A search for a better local minimum needs many of them, and none precisely. This is L-BFGS as in
``core/solvers`` (Nocedal and Wright, *Numerical Optimization*, algorithm 7.4), without a constraint
and with a line search that looks for a sufficient decrease alone. For few pairs, the solver's own
work in an iteration takes many times as long as the sums over the pairs: of 27 items, a descent
took 1 ms and a solve 40 ms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import jit
from skmde.core.monotone import numba_stress

_MEMORY = 8  # steps that the quasi-Newton matrix is made of
_WINDOW = 10  # iterations over which a decrease is averaged
_SUFFICIENT = 1e-4  # part of the decrease that the slope promises
_FIRST = 0.1  # length of the first step, relative to the embedding
_TRIALS = 12  # most trials of a line search


@jit()
def _stress(X: Any, i: Any, j: Any, levels: Any, total: float, memory: Any, G: Any) -> Any:
    """Squared stress, and its gradient in G."""
    d, targets, slope, blocks = memory
    w, is_free = levels[0], levels[1].shape[0] > 0
    numba_stress.distances(X, i, j, d)
    if is_free:
        numba_stress.disparities(d, levels, targets, blocks)
    errors, squares = numba_stress.sums_of_squares(d, targets, w)
    G[:] = 0.0
    size = squares if is_free else total
    if not size > 0.0:
        return 1.0 if size == 0.0 else np.nan  # all items coincide
    value = errors / size
    part = value if is_free else 0.0
    numba_stress.add_forces(X, i, j, d, targets, w, part, slope, G)
    G *= 2.0 / size
    return value


@jit()
def _dot(a: Any, b: Any) -> Any:
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@jit()
def _direction(g: Any, S: Any, Y: Any, n_pairs: Any, v: Any) -> None:
    """The quasi-Newton direction, from the last pairs of steps and of changes of the gradient."""
    n_slots = S.shape[0]
    alpha = np.empty(n_slots)
    v[:] = g
    for k in range(n_pairs - 1, max(n_pairs - n_slots, 0) - 1, -1):
        s, y = S[k % n_slots], Y[k % n_slots]
        alpha[k % n_slots] = _dot(s, v) / _dot(s, y)
        v -= alpha[k % n_slots] * y
    if n_pairs:
        s, y = S[(n_pairs - 1) % n_slots], Y[(n_pairs - 1) % n_slots]
        v *= _dot(s, y) / _dot(y, y)
    for k in range(max(n_pairs - n_slots, 0), n_pairs):
        s, y = S[k % n_slots], Y[k % n_slots]
        v += (alpha[k % n_slots] - _dot(y, v) / _dot(s, y)) * s
    v *= -1.0


@jit()
def descend(
    X: Any,
    i: Any,
    j: Any,
    levels: Any,
    targets: Any,
    total: float,
    max_iter: int,
    least_gain: float,
) -> Any:
    """Move X, of shape (n, m), to a local minimum; return its squared stress and the iterations.

    `levels` is as for ``numba_stress.disparities``, the pairs are in its order, and `targets` is
    memory. Without bounds in `levels`, `targets` are the disparities, and `total` is the weighted
    sum of their squares. The descent ends when an iteration gains less than `least_gain` of the
    value, on average.
    """
    p, size = i.shape[0], X.size
    blocks = np.empty(p), np.empty(p), np.empty(p, np.int64)
    memory = np.empty(p), targets, np.empty(p), blocks
    x, trial, v = X.reshape(size), np.empty(size), np.empty(size)
    g, new = np.empty(size), np.empty(size)
    S, Y = np.empty((_MEMORY, size)), np.empty((_MEMORY, size))
    history = np.full(_WINDOW, np.inf)
    value = _stress(X, i, j, levels, total, memory, g.reshape(X.shape))
    n_pairs = iteration = 0
    while iteration < max_iter:
        _direction(g, S, Y, n_pairs, v)
        slope = _dot(g, v)
        if not slope < 0.0:
            if n_pairs == 0:
                break
            n_pairs = 0
            continue
        step = 1.0 if n_pairs else _FIRST * np.sqrt(_dot(x, x) / _dot(v, v))
        found = False
        for _ in range(_TRIALS):
            for k in range(size):
                trial[k] = x[k] + step * v[k]
            there = trial.reshape(X.shape)
            other = _stress(there, i, j, levels, total, memory, new.reshape(X.shape))
            if other <= value + _SUFFICIENT * step * slope:
                found = True
                break
            # The minimum of the parabola through both values and the slope.
            bottom = -0.5 * slope * step * step / (other - value - slope * step)
            step = min(max(bottom, 0.1 * step), 0.5 * step) if bottom > 0.0 else 0.1 * step
        if not found:
            if n_pairs == 0:
                break
            n_pairs = 0
            continue
        s, y = S[n_pairs % _MEMORY], Y[n_pairs % _MEMORY]
        for k in range(size):
            s[k], y[k] = trial[k] - x[k], new[k] - g[k]
            x[k], g[k] = trial[k], new[k]
        n_pairs = n_pairs + 1 if _dot(s, y) > 0.0 else 0
        value = other
        before = history[iteration % _WINDOW]
        history[iteration % _WINDOW] = value
        iteration += 1
        if before - value <= _WINDOW * least_gain * value:
            break
    return value, iteration
