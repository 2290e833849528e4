r"""The potential of each item in the repulsion of all pairs, and its first two derivatives.

With factors s_j of the items and the repulsive penalty p, the potential of item i is

    phi_i(x) = -sum_{j != i} s_j p(||x - x_j||)        at x = x_i.

The energy of the repulsion, R = -sum_{i < j} s_i s_j p(d_ij), is the sum of s_i phi_i / 2. So
s_i phi_i / 2 is the share of item i (``objectives/repulsion.py`` has the energy).

For many items, the sum is that of the frozen field (``placement/field.py``), whose own term is
subtracted; it differs from the exact sum as that field does. Lengths are in the units of the
embedding; numbers are float64.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch

from skmde.core.placement.field import FrozenField
from skmde.core.placement.newton import Floats
from skmde.functions.base import Penalty

# For fewer items, exact sums are as fast as the field.
_EXACT = 2500
_BLOCK = 1 << 20  # pairs that are evaluated at once
# Penalties that are larger at distance 0 would lose digits where an item's own term cancels.
_LARGEST_OWN = 1e3


class Potentials(NamedTuple):
    """The potential of each item.

    Attributes
    ----------
    value : ndarray of shape (n,)
    gradient : ndarray of shape (n, m)
    hessian : ndarray of shape (n, m, m)
    """

    value: Floats
    gradient: Floats
    hessian: Floats


def item_potentials(
    X: Floats,
    penalty: Penalty,
    factors: Floats | None = None,
    n_threads: int = 1,
    *,
    with_derivatives: bool = True,
) -> Potentials:
    """The potential of each item in the repulsion of all others.

    Parameters
    ----------
    X : ndarray of shape (n, m), float64
        The embedding.
    penalty : Penalty
        The repulsive penalty.
    factors : ndarray of shape (n,), default=None
        Factors s of the items; None means 1.
    n_threads : int, default=1
        The result does not depend on it.
    with_derivatives : bool, default=True
        Whether the gradient and the Hessian are needed; otherwise they may stay 0.
    """
    n, m = X.shape
    s = np.ones(n) if factors is None else np.asarray(factors, dtype=np.float64)
    found = Potentials(np.zeros(n), np.zeros((n, m)), np.zeros((n, m, m)))
    if n > _EXACT and _is_bounded(penalty) and FrozenField.exists(penalty, m):
        field = FrozenField(X, s, penalty, n_threads)
        field.add(X, found.value, np.zeros(n), found.gradient, found.hessian)
        zero = torch.zeros(1, dtype=torch.float64)
        found.value[:] += s * float(penalty.value(zero))
        found.hessian[:] += float(penalty.slope(zero)) * s[:, None, None] * np.eye(m)
        return found
    rows = max(1, _BLOCK // n)
    for start in range(0, n, rows):
        _add_exactly(X, penalty, s, slice(start, min(start + rows, n)), found, with_derivatives)
    return found


def _is_bounded(penalty: Penalty) -> bool:
    """Whether the penalty and its slope are of moderate size at distance 0."""
    zero = torch.zeros(1, dtype=torch.float64)
    own = abs(float(penalty.value(zero))), abs(float(penalty.slope(zero)))
    return max(own) < _LARGEST_OWN and all(map(math.isfinite, own))


def _add_exactly(
    X: Floats,
    penalty: Penalty,
    s: Floats,
    rows: slice,
    found: Potentials,
    with_derivatives: bool,
) -> None:
    """Write the potentials of some items."""
    difference = X[rows, None, :] - X[None, :, :]
    d = np.sqrt(np.square(difference).sum(axis=2))
    at = np.arange(len(d)), np.arange(rows.start, rows.stop)
    d[at] = 1.0  # not used: an item does not repel itself
    factors = -np.broadcast_to(s, d.shape).copy()
    factors[at] = 0.0
    tensor = torch.from_numpy(d)
    found.value[rows] = (factors * penalty.value(tensor).numpy()).sum(axis=1)
    if not with_derivatives:
        return
    slope = factors * penalty.slope(tensor).numpy()
    bend = factors * penalty.curvature(tensor).numpy() - slope
    bend /= np.where(d > 0, d, 1.0) ** 2  # where d is 0, the differences are
    found.gradient[rows] = np.einsum("ij,ijk->ik", slope, difference)
    eye = np.eye(X.shape[1])
    found.hessian[rows] = slope.sum(axis=1)[:, None, None] * eye
    found.hessian[rows] += np.einsum("ij,ijk,ijl->ikl", bend, difference, difference)
