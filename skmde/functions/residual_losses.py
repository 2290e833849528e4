r"""Losses that depend only on the residual r = d - delta (monograph, section 4.2).

The distortion l(delta, d) of a pair is 0 at d = delta and increases on both sides.

Slopes and curvatures are derivatives with respect to d, in closed form. The divisor d of a
slope has a floor, `D_FLOOR` min(delta, 1). The residual has none, so that the sign of a slope is
right for any two distances.
"""

from __future__ import annotations

from typing import ClassVar

import torch

from skmde.functions import kinds
from skmde.functions.base import Loss
from skmde.functions.stable import Tensor, finite, floored_below, residual_and_divisor


class SquaredLoss(Loss):
    """Squared loss, (delta - d)^2: raw stress.

    See Also
    --------
    WeightedSquaredLoss : Weighted squared loss, kappa(delta) (delta - d)^2.
    HuberLoss :
        Huber loss of the residual: r^2 up to the threshold t, and t (2 abs(r) - t) beyond.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1 (examples of losses).

    Examples
    --------
    >>> import torch
    >>> from skmde import SquaredLoss
    >>> SquaredLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 3.0]))
    tensor([0., 4.])
    """

    degree = 2
    _kind: ClassVar[int] = kinds.SQUARED

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        return finite((d - delta) ** 2)

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        r, divisor = residual_and_divisor(delta, d)
        return finite(2 * (r / divisor))

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        return torch.full_like(d, 2.0)


class AbsoluteLoss(Loss):
    """Absolute loss, abs(delta - d): robust against a few wrong distances.

    See Also
    --------
    HuberLoss :
        Huber loss of the residual: r^2 up to the threshold t, and t (2 abs(r) - t) beyond.
    LogisticLoss :
        Logistic loss, log((1 + exp(abs(delta - d))) / 2): nearly linear far from d = delta.
    SquaredLoss : Squared loss, (delta - d)^2: raw stress.

    Notes
    -----
    The loss is not differentiable at d = delta. Its slope there is defined as 0.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1 (examples of losses).

    Examples
    --------
    >>> import torch
    >>> from skmde import AbsoluteLoss
    >>> AbsoluteLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([0.5, 4.0]))
    tensor([0.5000, 3.0000])
    """

    degree = 1
    _kind: ClassVar[int] = kinds.ABSOLUTE

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        return (d - delta).abs()

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        _, divisor = residual_and_divisor(delta, d)
        return torch.sign(d - delta) / divisor

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        return torch.zeros_like(d)


class HuberLoss(Loss):
    """Huber loss of the residual: r^2 up to the threshold t, and t (2 abs(r) - t) beyond.

    Parameters
    ----------
    threshold : float, default=1.0
        Above 0, in units of the embedding.

    See Also
    --------
    AbsoluteLoss : Absolute loss, abs(delta - d): robust against a few wrong distances.
    SquaredLoss : Squared loss, (delta - d)^2: raw stress.
    Huber : Huber penalty: d^2 below the threshold t, and t (2 d - t) above it.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1 (examples of losses).

    Examples
    --------
    >>> import torch
    >>> from skmde import HuberLoss
    >>> HuberLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([1.5, 4.0]))
    tensor([0.2500, 5.0000])
    """

    _kind: ClassVar[int] = kinds.HUBER_LOSS
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("threshold",)

    def __init__(self, threshold: float = 1.0) -> None:
        self.threshold = threshold

    def validate(self) -> None:
        self._require("threshold", above=0)

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        t = self.threshold
        r = (d - delta).abs()
        return finite(torch.where(r <= t, r * r, t * (2 * r - t)))

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        r, divisor = residual_and_divisor(delta, d)
        return 2 * r.clamp(min=-self.threshold, max=self.threshold) / divisor

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        return 2.0 * ((d - delta).abs() <= self.threshold).to(d.dtype)


class LogisticLoss(Loss):
    """Logistic loss, log((1 + exp(abs(delta - d))) / 2): nearly linear far from d = delta.

    See Also
    --------
    AbsoluteLoss : Absolute loss, abs(delta - d): robust against a few wrong distances.
    HuberLoss :
        Huber loss of the residual: r^2 up to the threshold t, and t (2 abs(r) - t) beyond.
    Logistic : Logistic penalty, log(1 + exp(scale (d - threshold))).

    Notes
    -----
    The loss is not differentiable at d = delta. Its slope there is defined as 0. PyMDE's
    loss of this name is larger by log 2, so it is not 0 at d = delta.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1 (examples of losses).

    Examples
    --------
    >>> import torch
    >>> from skmde import LogisticLoss
    >>> LogisticLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 101.0]))
    tensor([ 0.0000, 99.3069])
    """

    _kind: ClassVar[int] = kinds.LOGISTIC_LOSS

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        r = (d - delta).abs()
        return r + torch.log1p(torch.expm1(-r) / 2)

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        r = d - delta
        _, divisor = residual_and_divisor(delta, d)
        return torch.sign(r) * torch.sigmoid(r.abs()) / divisor

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        r = d - delta
        return torch.sigmoid(r) * torch.sigmoid(-r)


class PowerLoss(Loss):
    """Power loss, abs(delta - d)^exponent.

    Parameters
    ----------
    exponent : float, default=2.0
        At least 1, so that the slope at d = delta is finite.

    See Also
    --------
    AbsoluteLoss : Absolute loss, abs(delta - d): robust against a few wrong distances.
    SquaredLoss : Squared loss, (delta - d)^2: raw stress.
    CubicLoss : Cubic loss, abs(delta - d)^3.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1 (examples of losses).

    Examples
    --------
    >>> import torch
    >>> from skmde import PowerLoss
    >>> PowerLoss(exponent=1.5).value(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 5.0]))
    tensor([0., 8.])
    """

    _kind: ClassVar[int] = kinds.POWER_LOSS
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("exponent",)

    def __init__(self, exponent: float = 2.0) -> None:
        self.exponent = exponent

    def validate(self) -> None:
        self._require("exponent", at_least=1)

    @property
    def degree(self) -> float:  # type: ignore[override]
        return self.exponent

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        return finite((d - delta).abs() ** self.exponent)

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        a = self.exponent
        r, divisor = residual_and_divisor(delta, d)
        # Dividing one factor r by d first avoids an overflow of |r|^(a - 1). The remaining power
        # |r|^(a - 2) is finite at r = 0 only if a >= 2.
        if a >= 2:
            return finite(a * (r.abs() ** (a - 2) * (r / divisor)))
        return finite(a * torch.sign(r) * r.abs() ** (a - 1) / divisor)

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        a = self.exponent
        r = (d - delta).abs()
        # For an exponent between 1 and 2 the curvature diverges at d = delta.
        base = floored_below(delta, r) if a < 2 else r
        return finite(a * (a - 1) * base ** (a - 2))


class CubicLoss(PowerLoss):
    """Cubic loss, abs(delta - d)^3.

    See Also
    --------
    SquaredLoss : Squared loss, (delta - d)^2: raw stress.
    PowerLoss : Power loss, abs(delta - d)^exponent.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1 (examples of losses).

    Examples
    --------
    >>> import torch
    >>> from skmde import CubicLoss
    >>> CubicLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 3.0]))
    tensor([0., 8.])
    """

    _kind: ClassVar[int] = kinds.POWER_LOSS
    exponent: float = 3.0

    def __init__(self) -> None:
        pass
