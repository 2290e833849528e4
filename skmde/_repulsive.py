"""Penalties that keep items apart (monograph, section 4.1.2), and the hinge.

`Log`, `InversePower` and `LogRatio` are barriers: they increase from minus infinity at d = 0, so
with a weight w < 0 the distortion w p(d) falls from plus infinity. Below `D_FLOOR` = 1e-7 they keep
their value at the floor. `Hinge` and `Barrier` depend on w in other ways than by a factor.

Each class states p; its slope p'(d) / d and curvature p''(d) are in closed form, in the arrangement
that neither overflows nor cancels from d = 0 to 1e20. Distances are in units of the embedding.
"""

from __future__ import annotations

from typing import ClassVar

import torch

from skmde import _kinds
from skmde._attractive import reciprocal_power, saturation, split_at_one
from skmde._distortion import Penalty, Tensor, finite, floored


class Log(Penalty):
    """Logarithmic penalty, log(1 - exp(-d^exponent)): a barrier, to repel with.

    It goes to minus infinity as d goes to 0 and to 0, quickly, as d grows. Below `D_FLOOR` = 1e-7
    it keeps its value at the floor.

    Parameters
    ----------
    exponent : float, default=1.0
        Above 0.

    Examples
    --------
    >>> import torch
    >>> from skmde import Log
    >>> Log().value(torch.tensor([0.0, 1.0, 1e20]))
    tensor([-16.1181,  -0.4587,   0.0000])
    """

    _kind: ClassVar[int] = _kinds.LOG
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("exponent",)

    def __init__(self, exponent: float = 1.0) -> None:
        self.exponent = exponent

    def validate(self) -> None:
        self._require("exponent", above=0)

    def value(self, d: Tensor) -> Tensor:
        d = floored(d)
        t = d**self.exponent
        # d^a may underflow where its logarithm does not. The clamps keep the branches that are
        # not taken away from infinity, which automatic differentiation would turn into NaN.
        tiny = self.exponent * torch.log(d) - t / 2
        small = torch.log(-torch.expm1(-t.clamp(min=1e-8)))
        large = torch.log1p(-torch.exp(-t.clamp(min=0.7)))
        return torch.where(t < 1e-8, tiny, torch.where(t < 0.7, small, large))

    def _bernoulli(self, d: Tensor) -> tuple[Tensor, Tensor]:
        """t = d^a and t / (e^t - 1); from t = 1000 on, the ratio is 0 in every dtype."""
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


class InversePower(Penalty):
    """Inverse power penalty, -1 / d^exponent: a barrier, to repel with.

    Below `D_FLOOR` = 1e-7 it keeps its value at the floor. Unconstrained problems can send single
    items far away under it; the standardization constraint prevents that.

    Parameters
    ----------
    exponent : float, default=1.0
        Above 0. Near the floor, float32 holds the slope up to exponent 3; beyond, it is clamped.

    Notes
    -----
    PyMDE's class is called ``InvPower``.

    Examples
    --------
    >>> import torch
    >>> from skmde import InversePower
    >>> InversePower(exponent=2.0).value(torch.tensor([0.5, 2.0]))
    tensor([-4.0000, -0.2500])
    """

    _kind: ClassVar[int] = _kinds.INVERSE_POWER
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("exponent",)

    def __init__(self, exponent: float = 1.0) -> None:
        self.exponent = exponent

    def validate(self) -> None:
        self._require("exponent", above=0)

    def value(self, d: Tensor) -> Tensor:
        return finite(-(floored(d) ** -self.exponent))

    def slope(self, d: Tensor) -> Tensor:
        return finite(self.exponent * floored(d) ** (-self.exponent - 2))

    def curvature(self, d: Tensor) -> Tensor:
        return finite(-(self.exponent + 1) * self.slope(d))


class LogRatio(Penalty):
    """Log-ratio penalty, log(d^exponent / (1 + d^exponent)): a barrier, to repel with.

    The repulsion of LargeVis and UMAP. Below `D_FLOOR` = 1e-7 it keeps its value at the floor.

    Parameters
    ----------
    exponent : float, default=2.0
        Above 0.

    Examples
    --------
    >>> import torch
    >>> from skmde import LogRatio
    >>> LogRatio().value(torch.tensor([0.1, 1.0, 10.0]))
    tensor([-4.6151, -0.6931, -0.0100])
    """

    _kind: ClassVar[int] = _kinds.LOG_RATIO
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


class Hinge(Penalty):
    """Hinge distortion, max(0, w (d - (threshold - sign(w) margin))).

    A pair that attracts (w > 0) costs nothing up to threshold - margin, one that repels (w < 0)
    nothing from threshold + margin on. `value` and `slope` without a weight are those of w = 1.

    Parameters
    ----------
    threshold : float, default=1.0
        Above 0; in units of the embedding.
    margin : float, default=None
        At least 0; None is half the threshold.

    Notes
    -----
    In PyMDE, not in the monograph. At a kink the slope is 0.

    Examples
    --------
    >>> import torch
    >>> from skmde import Hinge
    >>> d, w = torch.tensor([0.2, 1.0, 1.0, 2.0]), torch.tensor([1.0, 1.0, -1.0, -1.0])
    >>> Hinge().weighted_value(d, w)
    tensor([0.0000, 0.5000, 0.5000, 0.0000])
    """

    _kind: ClassVar[int] = _kinds.HINGE
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("threshold", "_margin")

    def __init__(self, threshold: float = 1.0, margin: float | None = None) -> None:
        self.threshold = threshold
        self.margin = margin

    def validate(self) -> None:
        self._require("threshold", above=0)
        if self.margin is not None:
            self._require("margin", at_least=0)

    @property
    def _margin(self) -> float:
        return self.threshold / 2 if self.margin is None else self.margin

    def value(self, d: Tensor) -> Tensor:
        return self.weighted_value(d, torch.ones_like(d))

    def slope(self, d: Tensor) -> Tensor:
        return self.weighted_slope(d, torch.ones_like(d))

    def curvature(self, d: Tensor) -> Tensor:
        return torch.zeros_like(d)

    def _excess(self, d: Tensor, w: Tensor) -> Tensor:
        """Signed distance from the kink; it costs where it has the sign of w."""
        return d - (self.threshold - torch.sign(w) * self._margin)

    def weighted_value(self, d: Tensor, w: Tensor) -> Tensor:
        return finite((w * self._excess(d, w)).clamp(min=0))

    def weighted_slope(self, d: Tensor, w: Tensor) -> Tensor:
        active = torch.sign(self._excess(d, w)) * torch.sign(w) > 0
        return finite(torch.where(active, w / floored(d), 0.0))


class Barrier(Penalty):
    """Placement barrier, w d - log(d - rho): attracts, but keeps items farther apart than rho.

    For Euclidean placement and sphere packing, with weights w > 0. `value` and `slope` without a
    weight are those of w = 1.

    Parameters
    ----------
    rho : float
        At least 0; smallest distance allowed, in units of the embedding.

    Notes
    -----
    The weighted value is plus infinity where d <= rho, the one exception to the rule that
    distortion functions are finite: a solver must start inside and steps back from such a point.
    Slope and curvature are finite everywhere (d - rho is floored at 1e-7).

    Examples
    --------
    >>> import torch
    >>> from skmde import Barrier
    >>> Barrier(rho=1.0).weighted_value(torch.tensor([0.5, 2.0]), torch.tensor([3.0, 3.0]))
    tensor([inf, 6.])
    """

    _kind: ClassVar[int] = _kinds.BARRIER
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("rho",)

    def __init__(self, rho: float) -> None:
        self.rho = rho

    def validate(self) -> None:
        self._require("rho", at_least=0)

    def value(self, d: Tensor) -> Tensor:
        return self.weighted_value(d, torch.ones_like(d))

    def slope(self, d: Tensor) -> Tensor:
        return self.weighted_slope(d, torch.ones_like(d))

    def curvature(self, d: Tensor) -> Tensor:
        return floored(d - self.rho) ** -2

    def weighted_value(self, d: Tensor, w: Tensor) -> Tensor:
        inside = finite(w * d - torch.log(floored(d - self.rho)))
        return torch.where(d > self.rho, inside, torch.inf)

    def weighted_slope(self, d: Tensor, w: Tensor) -> Tensor:
        return finite((w - 1 / floored(d - self.rho)) / floored(d))

    def weighted_curvature(self, d: Tensor, w: Tensor) -> Tensor:
        return self.curvature(d).expand(torch.broadcast_shapes(d.shape, w.shape))
