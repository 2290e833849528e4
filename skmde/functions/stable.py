"""Building blocks of the distortion functions that avoid overflow and cancellation.

Where a function or one of its derivatives would diverge, distances below `D_FLOOR` are replaced by
`D_FLOOR`. Results that overflow their dtype are clamped to its largest finite number.
"""

from __future__ import annotations

import torch

from skmde.functions.kinds import D_FLOOR, D_TINY

Tensor = torch.Tensor


def floored(d: Tensor) -> Tensor:
    """Distances, clamped to at least `D_FLOOR`."""
    return d.clamp(min=D_FLOOR)


def residual_and_divisor(delta: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """d - delta, and d floored at the fraction `D_FLOOR` of delta, or at `D_FLOOR` if delta > 1.

    The floor does not reach the residual, so the sign of the quotient is right for any delta.
    """
    d = d.clamp(min=D_TINY)
    return d - delta, torch.maximum(d, D_FLOOR * delta.clamp(max=1))


def floored_below(delta: Tensor, length: Tensor) -> Tensor:
    """Distances or residuals at which a loss that diverges at length 0 is evaluated.

    They have the floor of `residual_and_divisor` where delta > 0, and `D_FLOOR` where delta = 0.
    """
    fraction = D_FLOOR * delta.clamp(min=D_TINY / D_FLOOR, max=1)
    floor = torch.where(delta > 0, fraction, D_FLOOR)
    # At the floor, automatic differentiation must see the length alone. This rules out `maximum`.
    return torch.where(length < floor, floor, length)


def finite(x: Tensor) -> Tensor:
    """Clamp infinities to the largest finite number. NaN is kept, because it indicates a fault."""
    limit = torch.finfo(x.dtype).max
    return x.clamp(min=-limit, max=limit)


def base_of_power(d: Tensor, exponent: float) -> Tensor:
    """d, floored if the exponent is negative, since the power then diverges at 0."""
    return floored(d) if exponent < 0 else d


def split_at_one(d: Tensor) -> tuple[Tensor, Tensor]:
    """min(d, 1) and max(d, 1), of which only one depends on d.

    At d = 1 automatic differentiation must see only one branch. This rules out `clamp` and
    `minimum`.
    """
    return torch.where(d <= 1, d, 1.0), torch.where(d <= 1, 1.0, d)


def reciprocal_power(d: Tensor, exponent: float) -> Tensor:
    """min(d, 1/d) to a positive exponent. It is at most 1, so it cannot overflow."""
    small, large = split_at_one(d)
    return (small / large) ** exponent


def saturation(d: Tensor, exponent: float) -> Tensor:
    """d^a / (1 + d^a) for the exponent a."""
    z = reciprocal_power(d, exponent)
    return torch.where(d <= 1, z, 1.0) / (1 + z)
