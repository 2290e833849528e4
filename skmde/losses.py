"""Losses: distortion functions that compare d with an original distance delta (section 4.2).

The distortion l(delta, d) of a pair is 0 at d = delta and increases on both sides. Most losses
depend only on the residual d - delta; the fractional losses depend only on the ratio d / delta.
This module exports the public names; the classes are defined in ``skmde/functions/``.
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
