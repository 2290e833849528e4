"""Penalties: distortion functions for weighted pairs (monograph, section 4.1).

A pair with weight w and embedding distance d has the distortion w p(d). Every p increases with d,
so a pair attracts if w > 0 and repels if w < 0. This module exports the public names; the classes
are defined in ``skmde/functions/``.
"""

from __future__ import annotations

from skmde.functions.logarithms import Log, Log1p, LogRatio
from skmde.functions.powers import Cauchy, Cubic, InversePower, Linear, Power, Quadratic
from skmde.functions.registry import PENALTIES, push_and_pull
from skmde.functions.thresholds import Barrier, Hinge, Huber, Logistic, Sigmoid

__all__ = [
    "PENALTIES",
    "Barrier",
    "Cauchy",
    "Cubic",
    "Hinge",
    "Huber",
    "InversePower",
    "Linear",
    "Log",
    "Log1p",
    "LogRatio",
    "Logistic",
    "Power",
    "Quadratic",
    "Sigmoid",
    "push_and_pull",
]
