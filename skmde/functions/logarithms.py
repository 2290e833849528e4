"""Penalties with logarithmic growth at large distances or near 0 (monograph, section 4.1).

The docstring of each class gives p. The slope p'(d) / d and the curvature p''(d) are implemented
in closed form, written to avoid overflow and cancellation from d = 0 to 1e20. Distances are in
units of the embedding.
"""

from __future__ import annotations

from typing import ClassVar

import torch

from skmde.functions import kinds
from skmde.functions.base import Penalty
from skmde.functions.stable import (
    Tensor,
    base_of_power,
    floored,
    reciprocal_power,
    saturation,
    split_at_one,
)


class Log1p(Penalty):
    """Log-one-plus penalty, log(1 + d^exponent).

    It behaves like a power at small distances and like a logarithm at large ones, so a few distant
    neighbours cost little. With exponent 2 it is the attraction of t-SNE, LargeVis and UMAP.

    Parameters
    ----------
    exponent : float, default=1.5
        Above 0.

    See Also
    --------
    Huber : Huber penalty: d^2 below the threshold t, and t (2 d - t) above it.
    Log : Logarithmic penalty, log(1 - exp(-d^exponent)): a barrier for repulsion.
    LogRatio : Log-ratio penalty, log(d^exponent / (1 + d^exponent)): a barrier for repulsion.
    Cauchy : Cauchy penalty, -1 / (1 + (d / scale)^2): bounded repulsion.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> import torch
    >>> from skmde import Log1p
    >>> Log1p(exponent=2.0).value(torch.tensor([0.0, 1.0, 1e20]))
    tensor([ 0.0000,  0.6931, 92.1034])
    """

    _kind: ClassVar[int] = kinds.LOG1P
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("exponent",)

    def __init__(self, exponent: float = 1.5) -> None:
        self.exponent = exponent

    def validate(self) -> None:
        self._require("exponent", above=0)

    def value(self, d: Tensor) -> Tensor:
        a = self.exponent
        _, large = split_at_one(d)
        return torch.log1p(reciprocal_power(d, a)) + a * torch.log(large)

    def slope(self, d: Tensor) -> Tensor:
        a = self.exponent
        d = base_of_power(d, a - 2)
        power = torch.where(d <= 1, d ** (a - 2), d**-2)
        return a * power / (1 + reciprocal_power(d, a))

    def curvature(self, d: Tensor) -> Tensor:
        a = self.exponent
        # Both factors have the same floor: for exponent 1, the slope diverges where the other
        # factor vanishes.
        return self.slope(d) * (a - 1 - a * saturation(base_of_power(d, a - 2), a))


class Log(Penalty):
    """Logarithmic penalty, log(1 - exp(-d^exponent)): a barrier for repulsion.

    The value tends to minus infinity as d tends to 0, and quickly to 0 as d grows. It is constant
    below `D_FLOOR` = 1e-7. It is the default where a sample of the pairs repels.

    Parameters
    ----------
    exponent : float, default=1.0
        Above 0.

    See Also
    --------
    InversePower : Inverse power penalty, -1 / d^exponent: a barrier for repulsion.
    LogRatio : Log-ratio penalty, log(d^exponent / (1 + d^exponent)): a barrier for repulsion.
    Cauchy : Cauchy penalty, -1 / (1 + (d / scale)^2): bounded repulsion.
    Log1p : Log-one-plus penalty, log(1 + d^exponent).

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> import torch
    >>> from skmde import Log
    >>> Log().value(torch.tensor([0.0, 1.0, 1e20]))
    tensor([-16.1181,  -0.4587,   0.0000])
    """

    _smooth_outside_core: ClassVar[bool] = True
    _kind: ClassVar[int] = kinds.LOG
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("exponent",)

    def __init__(self, exponent: float = 1.0) -> None:
        self.exponent = exponent

    def validate(self) -> None:
        self._require("exponent", above=0)

    def value(self, d: Tensor) -> Tensor:
        d = floored(d)
        t = d**self.exponent
        # d^a may underflow where its logarithm does not. The clamps keep the unused branches of
        # `where` finite: automatic differentiation would turn an infinity there into NaN.
        tiny = self.exponent * torch.log(d) - t / 2
        small = torch.log(-torch.expm1(-t.clamp(min=1e-8)))
        large = torch.log1p(-torch.exp(-t.clamp(min=0.7)))
        return torch.where(t < 1e-8, tiny, torch.where(t < 0.7, small, large))

    def _bernoulli(self, d: Tensor) -> tuple[Tensor, Tensor]:
        """t = d^a and t / (e^t - 1). For t >= 1000 the ratio is 0 in every dtype."""
        t = (d**self.exponent).clamp(max=1000)
        return t, torch.where(t < 1e-8, 1 - t / 2, t / torch.expm1(t))

    def slope(self, d: Tensor) -> Tensor:
        d = floored(d)
        _, ratio = self._bernoulli(d)
        return self.exponent * ratio / d**2

    def curvature(self, d: Tensor) -> Tensor:
        a = self.exponent
        t, ratio = self._bernoulli(floored(d))
        return self.slope(d) * (a - 1 - a * (ratio + t))


class LogRatio(Penalty):
    """Log-ratio penalty, log(d^exponent / (1 + d^exponent)): a barrier for repulsion.

    This is the repulsion of LargeVis and UMAP. The value is constant below `D_FLOOR` = 1e-7.

    Parameters
    ----------
    exponent : float, default=2.0
        Above 0.

    See Also
    --------
    Log : Logarithmic penalty, log(1 - exp(-d^exponent)): a barrier for repulsion.
    InversePower : Inverse power penalty, -1 / d^exponent: a barrier for repulsion.
    Log1p : Log-one-plus penalty, log(1 + d^exponent).

    Examples
    --------
    >>> import torch
    >>> from skmde import LogRatio
    >>> LogRatio().value(torch.tensor([0.1, 1.0, 10.0]))
    tensor([-4.6151, -0.6931, -0.0100])
    """

    _smooth_outside_core: ClassVar[bool] = True
    _kind: ClassVar[int] = kinds.LOG_RATIO
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("exponent",)

    def __init__(self, exponent: float = 2.0) -> None:
        self.exponent = exponent

    def validate(self) -> None:
        self._require("exponent", above=0)

    def value(self, d: Tensor) -> Tensor:
        d = floored(d)
        a = self.exponent
        small, _ = split_at_one(d)
        return a * torch.log(small) - torch.log1p(reciprocal_power(d, a))

    def slope(self, d: Tensor) -> Tensor:
        d = floored(d)
        a = self.exponent
        power = torch.where(d <= 1, d**-2, d ** (-a - 2))
        return a * power / (1 + reciprocal_power(d, a))

    def curvature(self, d: Tensor) -> Tensor:
        a = self.exponent
        return -self.slope(d) * (1 + a * saturation(floored(d), a))
