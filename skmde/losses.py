r"""Losses: distortion functions that compare d with an original distance delta (section 4.2).

A pair has the distortion l(delta, d), which is 0 at d = delta and grows on both sides. Most losses
are a function of the residual r = d - delta; the fractional ones depend on the ratio d / delta
alone, and do not change when both distances are scaled alike.

A pair with delta = 0 (two items that are the same) has no relative error, so the losses that
divide by delta judge such a pair by its absolute error: `WeightedSquaredLoss` gives it d^2, the
fractional losses give it d. Its copies still attract each other, with the strength of an ordinary
pair at unit distance; scale the original distances to order one, as the estimators do.

Slopes and curvatures are derivatives in d, in closed form. As in the penalties, distances below
`D_FLOOR` count as `D_FLOOR` where a slope would diverge.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ClassVar

import torch

from skmde import _kinds
from skmde._distortion import Loss, Tensor, finite, floored

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


class SquaredLoss(Loss):
    """Squared loss, (delta - d)^2: classical stress.

    Examples
    --------
    >>> import torch
    >>> from skmde import SquaredLoss
    >>> SquaredLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 3.0]))
    tensor([0., 4.])
    """

    degree = 2
    _kind: ClassVar[int] = _kinds.SQUARED

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        return finite((d - delta) ** 2)

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        d = floored(d)
        return finite(2 * ((d - delta) / d))

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        return torch.full_like(d, 2.0)


class WeightedSquaredLoss(Loss):
    """Weighted squared loss, kappa(delta) (delta - d)^2.

    With a decreasing kappa, large original distances matter less than in `SquaredLoss`.

    Parameters
    ----------
    kappa : {"kamada_kawai", "sammon"} or callable, default="kamada_kawai"
        1 / delta^2 (graph drawing after Kamada and Kawai), 1 / delta (Sammon's mapping), or an
        elementwise function of a tensor of original distances. Both names are also names of
        losses: ``"sammon"`` stands for ``WeightedSquaredLoss("sammon")``.

    Notes
    -----
    Where delta = 0 and kappa is not finite, kappa is 1. Only an exact 0 is treated so.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.1.

    Examples
    --------
    >>> import torch
    >>> from skmde import WeightedSquaredLoss
    >>> WeightedSquaredLoss().value(torch.tensor([2.0, 0.0]), torch.tensor([4.0, 3.0]))
    tensor([1., 9.])
    """

    _kind: ClassVar[int] = _kinds.WEIGHTED_SQUARED
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
        """kappa(delta) x, without forming kappa where it may overflow and the product does not."""
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
        d = floored(d)
        return finite(self._times_kappa(delta, 2 * ((d - delta) / d)))

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        return finite(self._times_kappa(delta, torch.full_like(d, 2.0)))


class HuberLoss(Loss):
    """Huber loss of the residual: r^2 up to the threshold t, and t (2 abs(r) - t) beyond.

    Parameters
    ----------
    threshold : float, default=1.0
        Above 0; in units of the embedding.

    Examples
    --------
    >>> import torch
    >>> from skmde import HuberLoss
    >>> HuberLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([1.5, 4.0]))
    tensor([0.2500, 5.0000])
    """

    _kind: ClassVar[int] = _kinds.HUBER_LOSS
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
        d = floored(d)
        return 2 * (d - delta).clamp(min=-self.threshold, max=self.threshold) / d

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        return 2.0 * ((d - delta).abs() <= self.threshold).to(d.dtype)


class AbsoluteLoss(Loss):
    """Absolute loss, abs(delta - d): robust scaling, indifferent to a few wrong distances.

    Notes
    -----
    Not differentiable at d = delta, where its slope is taken to be 0.

    Examples
    --------
    >>> import torch
    >>> from skmde import AbsoluteLoss
    >>> AbsoluteLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([0.5, 4.0]))
    tensor([0.5000, 3.0000])
    """

    degree = 1
    _kind: ClassVar[int] = _kinds.ABSOLUTE

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        return (d - delta).abs()

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        return torch.sign(d - delta) / floored(d)

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        return torch.zeros_like(d)


class LogisticLoss(Loss):
    """Logistic loss, log((1 + exp(abs(delta - d))) / 2): about linear far from the target.

    Notes
    -----
    Not differentiable at d = delta, where its slope is taken to be 0. PyMDE's loss of this name
    is larger by log 2, so it is not 0 at the target.

    Examples
    --------
    >>> import torch
    >>> from skmde import LogisticLoss
    >>> LogisticLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 101.0]))
    tensor([ 0.0000, 99.3069])
    """

    _kind: ClassVar[int] = _kinds.LOGISTIC_LOSS

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        r = (d - delta).abs()
        return r + torch.log1p(torch.expm1(-r) / 2)

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        r = d - delta
        return torch.sign(r) * torch.sigmoid(r.abs()) / floored(d)

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        r = d - delta
        return torch.sigmoid(r) * torch.sigmoid(-r)


def _one_if_zero(delta: Tensor) -> Tensor:
    """Divisor of a relative error; 1 makes it the absolute error, where there is no other."""
    return torch.where(delta == 0, 1.0, delta)


def _ratio_terms(delta: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """Divisor delta, and d no smaller than D_FLOOR delta: a function of the ratio floors that."""
    unit = _one_if_zero(delta)
    return unit, torch.maximum(d, _kinds.D_FLOOR * unit)


class FractionalLoss(Loss):
    """Fractional loss, max(delta / d, d / delta) - 1: a barrier at d = 0.

    Below d = 1e-7 delta it keeps its value at that distance, 1e7. A pair with delta = 0 has the
    value d.

    Notes
    -----
    Not differentiable at d = delta, where its slope is taken to be 0.

    Examples
    --------
    >>> import torch
    >>> from skmde import FractionalLoss
    >>> FractionalLoss().value(torch.tensor([2.0, 2.0, 0.0]), torch.tensor([1.0, 6.0, 3.0]))
    tensor([1., 2., 3.])
    """

    degree = 0
    _kind: ClassVar[int] = _kinds.FRACTIONAL

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        unit, near = _ratio_terms(delta, d)
        # |r| / min(d, delta) is the same number without the cancellation near the target.
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


class SoftFractionalLoss(Loss):
    """Soft fractional loss: `FractionalLoss` with a softmax in place of the maximum.

    (1 / gamma) log((exp(gamma delta / d) + exp(gamma d / delta)) / (2 exp(gamma))): smooth, still
    a barrier at d = 0, where it has the same floor. A pair with delta = 0 has the value d.

    Parameters
    ----------
    gamma : float, default=10.0
        Above 0. Large: close to the fractional loss. Small: close to half of
        delta / d + d / delta - 2.

    Examples
    --------
    >>> import torch
    >>> from skmde import SoftFractionalLoss
    >>> SoftFractionalLoss().value(torch.tensor([2.0, 2.0]), torch.tensor([2.0, 6.0]))
    tensor([0.0000, 1.9307])
    """

    degree = 0
    _kind: ClassVar[int] = _kinds.SOFT_FRACTIONAL
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
        # The logarithm of a sum of two exponentials is their mean exponent (u + 1/u) / 2 plus a log
        # cosh, and (u + 1/u) / 2 - 1 is (d - delta)^2 / (2 d delta). Both terms are squares near
        # the target, so nothing cancels there.
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
        # Clamped, since the softmax weights that multiply it may be 0.
        spread = finite((1 + v * v) / unit)
        bend = self.gamma * torch.sigmoid(2 * y) * down * spread * spread
        soft = finite(finite(2 * v / near / near) * down + bend)
        return torch.where(delta == 0, 0.0, soft)


def _log_cosh(y: Tensor) -> Tensor:
    """log(cosh(y)), exact near 0 and beyond the overflow of cosh."""
    y = y.abs()
    small = torch.log1p(2 * torch.sinh(y.clamp(max=1) / 2) ** 2)
    large = y + torch.log1p(torch.expm1(-2 * y) / 2)
    return torch.where(y < 1, small, large)


class PowerLoss(Loss):
    """Power loss, abs(delta - d)^exponent.

    Parameters
    ----------
    exponent : float, default=2.0
        At least 1, so that the slope at the target is finite.

    Examples
    --------
    >>> import torch
    >>> from skmde import PowerLoss
    >>> PowerLoss(exponent=1.5).value(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 5.0]))
    tensor([0., 8.])
    """

    _kind: ClassVar[int] = _kinds.POWER_LOSS
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
        d = floored(d)
        r = d - delta
        # One factor r is divided by d first: for a >= 2 the rest alone may be as large as needed.
        if a >= 2:
            return finite(a * (r.abs() ** (a - 2) * (r / d)))
        return finite(a * torch.sign(r) * r.abs() ** (a - 1) / d)

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        a = self.exponent
        r = (d - delta).abs()
        # Between 1 and 2 the curvature diverges at the target.
        base = floored(r) if a < 2 else r
        return finite(a * (a - 1) * base ** (a - 2))


class CubicLoss(PowerLoss):
    """Cubic loss, abs(delta - d)^3.

    Examples
    --------
    >>> import torch
    >>> from skmde import CubicLoss
    >>> CubicLoss().value(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 3.0]))
    tensor([0., 8.])
    """

    _kind: ClassVar[int] = _kinds.POWER_LOSS
    exponent: float = 3.0

    def __init__(self) -> None:
        pass


LOSSES: dict[str, type[Loss]] = {
    "squared": SquaredLoss,
    "weighted_squared": WeightedSquaredLoss,
    "huber": HuberLoss,
    "absolute": AbsoluteLoss,
    "logistic": LogisticLoss,
    "fractional": FractionalLoss,
    "soft_fractional": SoftFractionalLoss,
    "power": PowerLoss,
    "cubic": CubicLoss,
}

# What `resolve_loss` accepts by name.
NAMED: dict[str, Callable[[], Loss]] = {
    **LOSSES,
    "sammon": functools.partial(WeightedSquaredLoss, "sammon"),
    "kamada_kawai": functools.partial(WeightedSquaredLoss, "kamada_kawai"),
}
