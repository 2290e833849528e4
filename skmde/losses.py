"""Losses: distortion functions that compare d with an original distance delta (section 4.2).

A pair has the distortion l(delta, d), which is 0 at d = delta and grows on both sides. Most losses
are a function of the residual d - delta; the fractional ones depend on the ratio d / delta alone.
This module holds the public names; the classes are in ``skmde/functions/``.
"""

from __future__ import annotations

from skmde.functions.registry import LOSSES
from skmde.functions.relative_losses import FractionalLoss, SoftFractionalLoss, WeightedSquaredLoss
from skmde.functions.residual_losses import (
    AbsoluteLoss,
    CubicLoss,
    HuberLoss,
    LogisticLoss,
    PowerLoss,
    SquaredLoss,
)

__all__ = [
    "LOSSES",
    "AbsoluteLoss",
    "CubicLoss",
    "FractionalLoss",
    "HuberLoss",
    "LogisticLoss",
    "PowerLoss",
    "SoftFractionalLoss",
    "SquaredLoss",
    "WeightedSquaredLoss",
]
