r"""Losses of the error relative to the original distance delta (monograph, section 4.2).

The fractional losses depend only on the ratio d / delta, so scaling both distances by the same
factor does not change them. A pair with delta = 0 (two identical items) has no relative error. Its
absolute error is used instead: `WeightedSquaredLoss` gives d^2, the fractional losses give d.
Identical items therefore still attract each other, as strongly as an ordinary pair at unit
distance. Scale the original distances to order one, as the estimators do.

Slopes and curvatures are derivatives with respect to d, in closed form. The divisor d of a
slope has a floor in proportion to delta, as in ``residual_losses.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch

from skmde.functions import kinds
from skmde.functions.base import Loss
from skmde.functions.stable import Tensor, finite, floored, residual_and_divisor


class WeightedSquaredLoss(Loss):
    """Weighted squared loss, kappa(delta) (delta - d)^2.

    A decreasing kappa gives large original distances less weight than `SquaredLoss` does.

    Parameters
    ----------
    kappa : {"kamada_kawai", "sammon"} or callable, default="kamada_kawai"
        The weight kappa(delta). "kamada_kawai" is 1 / delta^2 (graph drawing of Kamada and
        Kawai). "sammon" is 1 / delta (Sammon's mapping). A callable must be an elementwise
        function of a tensor of original distances. Both names are also valid as names of losses:
        ``"sammon"`` means ``WeightedSquaredLoss("sammon")``.

    See Also
    --------
    SquaredLoss : Squared loss, (delta - d)^2: raw stress.
    FractionalLoss : Fractional loss, max(delta / d, d / delta) - 1: a barrier at d = 0.

    Notes
    -----
    Where delta is exactly 0 and kappa is not finite, kappa is replaced by 1.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1 (examples of
    losses).

    Examples
    --------
    >>> import torch
    >>> from skmde import WeightedSquaredLoss
    >>> WeightedSquaredLoss().value(torch.tensor([2.0, 0.0]), torch.tensor([4.0, 3.0]))
    tensor([1., 9.])
    """

    _kind: ClassVar[int] = kinds.WEIGHTED_SQUARED
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("_power",)

    def __init__(self, kappa: str | Callable[[Tensor], Tensor] = "kamada_kawai") -> None:
        self.kappa = kappa

    def validate(self) -> None:
        named = isinstance(self.kappa, str) and self.kappa in ("kamada_kawai", "sammon")
        if not (named or callable(self.kappa)):
            raise ValueError(
                'WeightedSquaredLoss: kappa must be "kamada_kawai", "sammon" or a callable '
                f"kappa(delta); got {self.kappa!r}."
            )

    @property
    def degree(self) -> float | None:  # type: ignore[override]
        return None if callable(self.kappa) else 2 - self._power

    @property
    def _power(self) -> int:
        return 2 if self.kappa == "kamada_kawai" else 1

    def kernel_parameters(self) -> tuple[int, float, float] | None:
        if callable(self.kappa):
            return None
        return super().kernel_parameters()

    def _times_kappa(self, delta: Tensor, x: Tensor) -> Tensor:
        """kappa(delta) x. A named kappa, which may overflow, is not formed by itself."""
        if callable(self.kappa):
            kappa = self.kappa(delta)
            return torch.where((delta == 0) & ~torch.isfinite(kappa), 1.0, kappa) * x
        unit = _one_if_zero(delta)
        return x / unit / unit if self._power == 2 else x / unit

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        r = d - delta
        if self.kappa == "kamada_kawai":
            return finite((r / _one_if_zero(delta)) ** 2)
        return finite(self._times_kappa(delta, r) * r)

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        r, divisor = residual_and_divisor(delta, d)
        return finite(self._times_kappa(delta, 2 * (r / divisor)))

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        return finite(self._times_kappa(delta, torch.full_like(d, 2.0)))


def _one_if_zero(delta: Tensor) -> Tensor:
    """Divisor of the relative error; it is 1 where delta = 0, which gives the absolute error."""
    return torch.where(delta == 0, 1.0, delta)


def _ratio_terms(delta: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """Divisor delta, and d floored at D_FLOOR delta, so that the ratio d / delta has the floor."""
    unit = _one_if_zero(delta)
    return unit, torch.maximum(d, kinds.D_FLOOR * unit)


class FractionalLoss(Loss):
    """Fractional loss, max(delta / d, d / delta) - 1: a barrier at d = 0.

    For d below 1e-7 delta the value is constant, about 1e7. A pair with delta = 0 has the value d.

    See Also
    --------
    SoftFractionalLoss :
        Soft fractional loss: `FractionalLoss` with a softmax in place of the maximum.
    WeightedSquaredLoss : Weighted squared loss, kappa(delta) (delta - d)^2.

    Notes
    -----
    The loss is not differentiable at d = delta. Its slope there is defined as 0.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1 (examples of losses).

    Examples
    --------
    >>> import torch
    >>> from skmde import FractionalLoss
    >>> FractionalLoss().value(torch.tensor([2.0, 2.0, 0.0]), torch.tensor([1.0, 6.0, 3.0]))
    tensor([1., 2., 3.])
    """

    degree = 0
    _kind: ClassVar[int] = kinds.FRACTIONAL

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        unit, near = _ratio_terms(delta, d)
        # |d - delta| / min(d, delta) is the same number without cancellation near d = delta.
        ratio = finite((near - unit).abs() / torch.minimum(near, unit))
        return torch.where(delta == 0, d, ratio)

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        unit, near = _ratio_terms(delta, d)
        sides = torch.where(d < delta, -unit / near / near / near, 1 / unit / near)
        sides = torch.where(d == delta, 0.0, finite(sides))
        return torch.where(delta == 0, 1 / floored(d), sides)

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        unit, near = _ratio_terms(delta, d)
        return torch.where(d < delta, finite(2 * (unit / near / near / near)), 0.0)


def _log_cosh(y: Tensor) -> Tensor:
    """log(cosh(y)), exact near 0 and beyond the overflow of cosh."""
    y = y.abs()
    small = torch.log1p(2 * torch.sinh(y.clamp(max=1) / 2) ** 2)
    large = y + torch.log1p(torch.expm1(-2 * y) / 2)
    return torch.where(y < 1, small, large)


class SoftFractionalLoss(Loss):
    """Soft fractional loss: `FractionalLoss` with a softmax in place of the maximum.

    The loss is (1 / gamma) log((exp(gamma delta / d) + exp(gamma d / delta)) / (2 exp(gamma))). It
    is smooth, and still a barrier at d = 0 with the same floor. A pair with delta = 0 has the
    value d.

    Parameters
    ----------
    gamma : float, default=10.0
        Above 0. For large gamma the loss approaches the fractional loss, for small gamma
        (delta / d + d / delta - 2) / 2.

    See Also
    --------
    FractionalLoss : Fractional loss, max(delta / d, d / delta) - 1: a barrier at d = 0.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1 (examples of losses).

    Examples
    --------
    >>> import torch
    >>> from skmde import SoftFractionalLoss
    >>> SoftFractionalLoss().value(torch.tensor([2.0, 2.0]), torch.tensor([2.0, 6.0]))
    tensor([0.0000, 1.9307])
    """

    degree = 0
    _kind: ClassVar[int] = kinds.SOFT_FRACTIONAL
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("gamma",)

    def __init__(self, gamma: float = 10.0) -> None:
        self.gamma = gamma

    def validate(self) -> None:
        self._require("gamma", above=0)

    def _exponent(self, unit: Tensor, near: Tensor) -> Tensor:
        """gamma (u - 1/u) / 2 for the ratio u = d / delta."""
        return self.gamma * ((near - unit) / unit + (near - unit) / near) / 2

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        unit, near = _ratio_terms(delta, d)
        # The logarithm of a sum of two exponentials is their mean exponent plus a log cosh. With
        # u = d / delta, the mean exponent is (u + 1/u) / 2, in units of gamma. Less 1, it is
        # (d - delta)^2 / (2 d delta). Both terms are squares near d = delta, so nothing cancels.
        mean = (near - unit) / unit * ((near - unit) / near) / 2
        soft = finite(mean + _log_cosh(self._exponent(unit, near)) / self.gamma)
        return torch.where(delta == 0, d, soft)

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        unit, near = _ratio_terms(delta, d)
        v = unit / near
        pull = torch.tanh(self._exponent(unit, near)) * (1 + v * v)
        soft = ((near - unit) / near * (1 + v) + pull) / 2 / unit / near
        return torch.where(delta == 0, 1 / floored(d), finite(soft))

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        unit, near = _ratio_terms(delta, d)
        v = unit / near
        y = self._exponent(unit, near)
        down = torch.sigmoid(-2 * y)
        # An infinite spread times a softmax weight of 0 would be NaN.
        spread = finite((1 + v * v) / unit)
        bend = self.gamma * torch.sigmoid(2 * y) * down * spread * spread
        soft = finite(finite(2 * v / near / near) * down + bend)
        return torch.where(delta == 0, 0.0, soft)
