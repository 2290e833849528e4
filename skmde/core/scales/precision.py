"""Where float32 is precise enough to solve a problem, and where float64 is needed.

float32 takes about half the time and memory. It keeps seven digits of a coordinate. So it resolves
a distance to a thousandth only if the distance is at least 1e-4 of the size of the embedding. This
module is the one place that decides. All lengths are in one unit, that of the solver.
"""

from __future__ import annotations

import numpy as np
import torch

from skmde.functions.kinds import D_TINY

_SHORTEST = 1e-4  # part of the longest distance that float32 resolves to a thousandth
_SMALLEST_UNIT = 1e-2  # beyond, rounding of steep losses of few pairs outweighs all others
_FAR = 100.0  # float32 then resolves a 100,000th of the length
_SIZES = (1e-6, 1e6)  # sizes of an embedding that leave float32 enough range
_LEAST = 1e-30  # longest original distance that is far above the zero of losses, D_TINY
_WEIGHTS = (1e-12, 1e12)  # largest weights that leave float32 enough range


def resolves(distances: np.ndarray | torch.Tensor | None) -> bool:
    """Whether float32 resolves the shortest positive distance in an embedding.

    Parameters
    ----------
    distances : ndarray or torch.Tensor, or None
        Original distances; at least 0. Pairs at distance 0 need no resolution. None means that
        there are none.

    Returns
    -------
    enough : bool
    """
    if distances is None:
        return True
    if isinstance(distances, torch.Tensor):
        distances = distances.cpu().numpy()
    longest = distances.max(initial=0.0)
    shortest = distances.min(initial=longest, where=distances > 0)
    return bool(shortest >= _SHORTEST * longest)


def suits_float32(weights: torch.Tensor, deviations: torch.Tensor | None) -> bool:
    """Whether float32 suffices for pairs of these weights and original distances."""
    if not (has_moderate_weights(weights) and resolves(deviations)):
        return False
    longest = 0.0 if deviations is None else float(deviations.max())
    return longest == 0 or is_moderate(longest)


def resolves_units(shortest: float) -> bool:
    """Whether float32 resolves offsets of this unit, at the scale of the whole embedding."""
    return shortest >= _SMALLEST_UNIT


def is_moderate(size: float) -> bool:
    """Whether an embedding of this size is within the range of float32, with its squares."""
    return _SIZES[0] < size < _SIZES[1]


def has_moderate_weights(weights: np.ndarray | torch.Tensor | None) -> bool:
    """Whether the largest weight, times distortions and slopes, is within the range of float32.

    Parameters
    ----------
    weights : ndarray or torch.Tensor, or None
        May be negative. None means that all are 1.

    Returns
    -------
    enough : bool
        Also true if all weights are 0.
    """
    if weights is None or not len(weights):
        return True
    largest = max(float(weights.max()), -float(weights.min()))
    return largest == 0 or _WEIGHTS[0] < largest < _WEIGHTS[1]


def check_above_zero(longest: float) -> None:
    """Check that losses tell original distances from 0.

    Parameters
    ----------
    longest : float
        The longest original distance, in the unit of the solver.

    Raises
    ------
    ValueError
        If it is above 0 and below 1e-30.
    """
    if 0 < longest < _LEAST:
        raise ValueError(
            f"deviations: the longest original distance is {longest:.3g}, but must be at least "
            f"{_LEAST:g}, because losses take distances below {D_TINY:g} for 0. Use a smaller unit "
            "of length, also for lengths of the loss and for given coordinates."
        )


def is_far(coordinates: np.ndarray, length: float) -> bool:
    """Whether fixed items are so far from the origin that float32 does not resolve the length."""
    return float(np.abs(coordinates).max(initial=0.0)) > _FAR * length
