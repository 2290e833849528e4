"""What an attractive and a repulsive penalty must be.

A pair that repels has a negative weight w and the distortion w p(d). The distortion falls as the
pair moves apart only if p increases with d. That of a pair that attracts falls as the pair moves
together only if p does so, too. Distances are in units of the embedding.
"""

from __future__ import annotations

from itertools import pairwise

import torch

from skmde._utils.warn import warn
from skmde.functions.base import Penalty

_DISTANCES = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)
_FINE = torch.logspace(-3, 6, 37)  # a spring at rest within them rises somewhere
_USUAL = 1.0  # distance of neighbours, about
_NOTICEABLE = 0.01  # fall, relative to the range of the values


def check_repulsive(penalty: Penalty, kind: str) -> None:
    """Check that a penalty can repel.

    Parameters
    ----------
    penalty : Penalty
    kind : {"all", "normalized", "sampled", "far", "given"}
        Which pairs repel. If all do, compiled code sums the penalty.

    Raises
    ------
    ValueError
        If the penalty falls with the distance, or is not fit for the kind.
    """
    values = penalty.value(torch.tensor(_DISTANCES)).detach().tolist()
    steps = [later - earlier for earlier, later in pairwise(values)]
    if max(steps) <= 0 and min(steps) < 0:
        near, far = values[0], values[-1]
        raise ValueError(
            "A repulsive penalty must increase with the distance, as -1 / d does: pairs that repel "
            f"have a negative weight. {penalty!r} falls from {near:.3g} at distance "
            f"{_DISTANCES[0]:g} to {far:.3g} at {_DISTANCES[-1]:g}, so these pairs would attract "
            "each other. Change its sign."
        )
    if kind in ("sampled", "far", "given"):
        return
    if penalty.kernel_parameters() is None:
        raise ValueError(
            f"repulsion={kind!r} sums over all pairs of items in compiled code, so its penalty "
            f"must be a built-in one; got {penalty!r}. Use one of those, or repulsion='sampled'."
        )
    if kind == "normalized" and not max(values) < 0:
        raise ValueError(
            f"repulsion='normalized' takes the logarithm of minus the sum of penalties, so the "
            f"repulsive penalty must be below 0, as that of 'cauchy' is, also at distance "
            f"{_DISTANCES[-1]:g}; got {penalty!r}."
        )


def check_attractive(penalty: Penalty) -> None:
    """Check that a penalty can attract.

    A function that has a minimum, such as that of a spring, does so from there on.

    Parameters
    ----------
    penalty : Penalty

    Raises
    ------
    ValueError
        If the penalty falls with the distance, wherever it changes.

    Warns
    -----
    UserWarning
        If it falls from the usual distance of neighbours on and never rises again.
    """
    try:
        with torch.no_grad():
            found = penalty.value(_FINE).double()
    except Exception:  # a user's function may raise anything; the solve tells
        return
    known = torch.isfinite(found)
    if found.shape != _FINE.shape or int(known.sum()) < 2:
        return
    d, values = _FINE[known].tolist(), found[known].tolist()
    steps = [later - earlier for earlier, later in pairwise(values)]
    if max(steps) <= 0 and min(steps) < 0:
        raise ValueError(
            "An attractive penalty must increase with the distance, as d ** 2 does: pairs that "
            f"attract have a positive weight. {penalty!r} falls from {values[0]:.3g} at distance "
            f"{d[0]:.3g} to {values[-1]:.3g} at {d[-1]:.3g}, so these pairs would repel each "
            "other. Change its sign."
        )
    far = [value for distance, value in zip(d, values, strict=True) if distance >= _USUAL]
    falls = all(later <= earlier for earlier, later in pairwise(far))
    if falls and far and far[0] - far[-1] > _NOTICEABLE * (max(values) - min(values)):
        warn(
            f"The attractive penalty {penalty!r} falls from {far[0]:.3g} at distance {_USUAL:g} to "
            f"{far[-1]:.3g} at {d[-1]:.3g} and never rises again, so pairs that are that far apart "
            "repel each other. Use a penalty that does not fall."
        )
