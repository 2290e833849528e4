"""What a repulsive penalty must be.

A pair that repels has a negative weight w and the distortion w p(d). The distortion falls as the
pair moves apart only if p increases with d. Distances are in units of the embedding.
"""

from __future__ import annotations

from itertools import pairwise

import torch

from skmde.functions.base import Penalty

_DISTANCES = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)


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
