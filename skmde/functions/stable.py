"""Building blocks of the distortion functions that neither overflow nor cancel.

Distances below `D_FLOOR` count as `D_FLOOR` where a function or one of its derivatives would
diverge. Results too large for their dtype are clamped to its largest finite number.
"""

from __future__ import annotations

import torch

from skmde.functions.kinds import D_FLOOR

Tensor = torch.Tensor


def floored(d: Tensor) -> Tensor:
    """Distances, none below `D_FLOOR`."""
    return d.clamp(min=D_FLOOR)


def finite(x: Tensor) -> Tensor:
    """Clamp infinities to the largest finite number; NaN stays, since it means a fault."""
    limit = torch.finfo(x.dtype).max
    return x.clamp(min=-limit, max=limit)


def base_of_power(d: Tensor, exponent: float) -> Tensor:
    """d, floored if d to the given exponent diverges at 0."""
    return floored(d) if exponent < 0 else d


def split_at_one(d: Tensor) -> tuple[Tensor, Tensor]:
    """min(d, 1) and max(d, 1), of which one at a time depends on d.

    At d = 1 automatic differentiation must find one branch only, hence neither `clamp` nor
    `minimum`.
    """
    return torch.where(d <= 1, d, 1.0), torch.where(d <= 1, 1.0, d)


def reciprocal_power(d: Tensor, exponent: float) -> Tensor:
    """min(d, 1/d) to the given positive exponent: at most 1, so it never overflows."""
    small, large = split_at_one(d)
    return (small / large) ** exponent


def saturation(d: Tensor, exponent: float) -> Tensor:
    """d^a / (1 + d^a) for the exponent a."""
    z = reciprocal_power(d, exponent)
    return torch.where(d <= 1, z, 1.0) / (1 + z)
