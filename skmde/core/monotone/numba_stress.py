"""Compiled loops of the stress with free disparities: distances, regression, forces.

All numbers are float64. Pairs are in the order of the regression, so that the loops read and write
contiguous memory; only the rows of X are looked up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.jit import CONTRACT, REASSOCIATE, jit
from skmde.core.kernels.numba_edges import scatter, squared_lengths

_FEW = 16  # numbers that are sorted by insertion


@jit(fastmath=CONTRACT)
def distances(X: Any, i: Any, j: Any, out: Any) -> None:
    """Embedding distances of pairs."""
    squared_lengths(X, i, j, out)
    for k in range(out.shape[0]):
        out[k] = np.sqrt(out[k])


@jit(fastmath=REASSOCIATE)
def sums_of_squares(d: Any, targets: Any, w: Any) -> Any:
    """Weighted sums of squared residuals and of squared distances; an empty `w` means 1."""
    errors = squares = 0.0
    if w.shape[0]:
        for k in range(d.shape[0]):
            e = d[k] - targets[k]
            errors += w[k] * e * e
            squares += w[k] * d[k] * d[k]
        return errors, squares
    for k in range(d.shape[0]):
        e = d[k] - targets[k]
        errors += e * e
        squares += d[k] * d[k]
    return errors, squares


@jit(fastmath=CONTRACT)
def add_forces(
    X: Any, i: Any, j: Any, d: Any, targets: Any, w: Any, part: float, slope: Any, G: Any
) -> None:
    """Add the gradient of sum w ((d - target)^2 - part d^2) / 2 to G, for constant targets."""
    for k in range(d.shape[0]):
        s = 1.0 - part - targets[k] / d[k] if d[k] > 0.0 else 0.0
        slope[k] = w[k] * s if w.shape[0] else s
    scatter(X, i, j, slope, G)


@jit()
def isotonic(y: Any, w: Any, out: Any, values: Any, masses: Any, ends: Any) -> None:
    """Weighted isotonic regression, by pooling of adjacent violators; an empty `w` means 1.

    `values`, `masses` and `ends` are memory for the blocks, of the length of `y`.
    """
    n = y.shape[0]
    last = -1  # of the blocks
    for k in range(n):
        value, mass = y[k], w[k] if w.shape[0] else 1.0
        while last >= 0 and values[last] >= value:
            total = masses[last] + mass
            if total > 0.0:
                value = (masses[last] * values[last] + mass * value) / total
            mass = total
            last -= 1
        last += 1
        values[last], masses[last], ends[last] = value, mass, k + 1
    start = 0
    for b in range(last + 1):
        for k in range(start, ends[b]):
            out[k] = values[b]
        start = ends[b]


@jit()
def order_within(bounds: Any, d: Any, order: Any) -> None:
    """Positions that sort `d` within each stretch ``bounds[b]:bounds[b + 1]``.

    `order` holds the positions of an earlier call, or all in ascending order. Numbers that are
    already sorted, and short stretches, take linear time.
    """
    for b in range(bounds.shape[0] - 1):
        start, stop = bounds[b], bounds[b + 1]
        if stop - start < 2:
            continue
        if stop - start <= _FEW:
            for k in range(start + 1, stop):
                own, q = order[k], k
                while q > start and d[order[q - 1]] > d[own]:
                    order[q] = order[q - 1]
                    q -= 1
                order[q] = own
            continue
        for k in range(start + 1, stop):
            if d[order[k]] < d[order[k - 1]]:
                order[start:stop] = start + np.argsort(d[start:stop], kind="mergesort")
                break


@jit()
def means_within(bounds: Any, d: Any, w: Any, means: Any) -> None:
    """Weighted mean of `d` in each stretch ``bounds[b]:bounds[b + 1]``."""
    for b in range(bounds.shape[0] - 1):
        total = mass = plain = 0.0
        for k in range(bounds[b], bounds[b + 1]):
            weight = w[k] if w.shape[0] else 1.0
            total += weight * d[k]
            mass += weight
            plain += d[k]
        means[b] = total / mass if mass > 0.0 else plain / (bounds[b + 1] - bounds[b])


@jit()
def disparities(d: Any, levels: Any, out: Any, blocks: Any) -> None:
    """Isotonic regression of distances, some of whose original distances are equal.

    `levels` has the weights; the bounds of stretches of equal original distances; the weights of
    these; and the ranks of `d` in them, as `order` in `order_within`. Without ranks, the pairs of a
    stretch have one disparity. `blocks` is memory: the last three arguments of `isotonic`.
    """
    w, bounds, mass, ranks = levels
    values, masses, ends = blocks
    n_levels = bounds.shape[0] - 1
    if n_levels == d.shape[0]:
        isotonic(d, w, out, values, masses, ends)
    elif ranks.shape[0]:
        order_within(bounds, d, ranks)
        ordered = np.empty_like(d)
        isotonic(d[ranks], w[ranks] if w.shape[0] else w, ordered, values, masses, ends)
        out[ranks] = ordered
    else:
        means, targets = np.empty(n_levels), np.empty(n_levels)
        means_within(bounds, d, w, means)
        isotonic(means, mass, targets, values, masses, ends)
        for b in range(n_levels):
            out[bounds[b] : bounds[b + 1]] = targets[b]
