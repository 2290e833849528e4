"""Penalties with a threshold distance at which their form changes (monograph, section 4.1).

`Hinge` and `Barrier` override the ``weighted_`` methods: their weighted distortion is not w p(d).

The docstring of each class gives p. The slope p'(d) / d and the curvature p''(d) are implemented
in closed form, written to avoid overflow and cancellation from d = 0 to 1e20. Distances are in
units of the embedding.
"""

from __future__ import annotations

from typing import ClassVar

import torch

from skmde.functions import kinds
from skmde.functions.base import Penalty
from skmde.functions.stable import Tensor, finite, floored


class Huber(Penalty):
    """Huber penalty: d^2 below the threshold t, and t (2 d - t) above it.

    Parameters
    ----------
    threshold : float, default=0.5
        Above 0, in units of the embedding.

    Notes
    -----
    This is the monograph's definition. PyMDE's penalty of this name is half as large.

    Examples
    --------
    >>> import torch
    >>> from skmde import Huber
    >>> Huber(threshold=1.0).value(torch.tensor([0.5, 2.0]))
    tensor([0.25, 3.00])
    """

    _kind: ClassVar[int] = kinds.HUBER
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("threshold",)

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold

    def validate(self) -> None:
        self._require("threshold", above=0)

    def value(self, d: Tensor) -> Tensor:
        t = self.threshold
        return finite(torch.where(d < t, d * d, t * (2 * d - t)))

    def slope(self, d: Tensor) -> Tensor:
        t = self.threshold
        return torch.where(d < t, 2.0, 2 * t / floored(d))

    def curvature(self, d: Tensor) -> Tensor:
        return 2.0 * (d < self.threshold).to(d.dtype)


class Logistic(Penalty):
    """Logistic penalty, log(1 + exp(scale (d - threshold))).

    Parameters
    ----------
    threshold : float, default=0.0
        At least 0, in units of the embedding. Distances below the threshold cost little.
    scale : float, default=3.0
        Above 0. Slope of the nearly linear part above the threshold.

    Examples
    --------
    >>> import torch
    >>> from skmde import Logistic
    >>> Logistic(threshold=1.0).value(torch.tensor([1.0, 100.0]))
    tensor([  0.6931, 297.0000])
    """

    _kind: ClassVar[int] = kinds.LOGISTIC
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("threshold", "scale")

    def __init__(self, threshold: float = 0.0, scale: float = 3.0) -> None:
        self.threshold = threshold
        self.scale = scale

    def validate(self) -> None:
        self._require("threshold", at_least=0)
        self._require("scale", above=0)

    def _argument(self, d: Tensor) -> Tensor:
        return self.scale * (d - self.threshold)

    def value(self, d: Tensor) -> Tensor:
        u = self._argument(d)
        return torch.logaddexp(u, torch.zeros_like(u))

    def slope(self, d: Tensor) -> Tensor:
        return self.scale * torch.sigmoid(self._argument(d)) / floored(d)

    def curvature(self, d: Tensor) -> Tensor:
        u = self._argument(d)
        # sigmoid(-u) is 1 - sigmoid(u) without the cancellation.
        return self.scale**2 * torch.sigmoid(u) * torch.sigmoid(-u)


class Sigmoid(Penalty):
    """Sigmoid penalty, 1 / (1 + exp(-scale (d - threshold))): bounded, so outliers cost little.

    Parameters
    ----------
    threshold : float, default=1.0
        At least 0, in units of the embedding. The penalty is one half at this distance.
    scale : float, default=1.0
        Above 0. Steepness at the threshold.

    Notes
    -----
    This penalty is from PyMDE, not from the monograph.

    Examples
    --------
    >>> import torch
    >>> from skmde import Sigmoid
    >>> Sigmoid().value(torch.tensor([1.0, 1e20]))
    tensor([0.5000, 1.0000])
    """

    _kind: ClassVar[int] = kinds.SIGMOID
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("threshold", "scale")

    def __init__(self, threshold: float = 1.0, scale: float = 1.0) -> None:
        self.threshold = threshold
        self.scale = scale

    def validate(self) -> None:
        self._require("threshold", at_least=0)
        self._require("scale", above=0)

    def _argument(self, d: Tensor) -> Tensor:
        return self.scale * (d - self.threshold)

    def _density(self, d: Tensor) -> Tensor:
        u = self._argument(d)
        return torch.sigmoid(u) * torch.sigmoid(-u)

    def value(self, d: Tensor) -> Tensor:
        return torch.sigmoid(self._argument(d))

    def slope(self, d: Tensor) -> Tensor:
        return self.scale * self._density(d) / floored(d)

    def curvature(self, d: Tensor) -> Tensor:
        return -(self.scale**2) * self._density(d) * torch.tanh(self._argument(d) / 2)


class Hinge(Penalty):
    """Hinge distortion, max(0, w (d - (threshold - sign(w) margin))).

    An attracting pair (w > 0) costs nothing if d <= threshold - margin. A repelling pair (w < 0)
    costs nothing if d >= threshold + margin. `value` and `slope` are those of w = 1.

    Parameters
    ----------
    threshold : float, default=1.0
        Above 0, in units of the embedding.
    margin : float, default=None
        At least 0. None means half the threshold.

    Notes
    -----
    This penalty is from PyMDE, not from the monograph. Its slope at the kink is defined as 0.

    Examples
    --------
    >>> import torch
    >>> from skmde import Hinge
    >>> d, w = torch.tensor([0.2, 1.0, 1.0, 2.0]), torch.tensor([1.0, 1.0, -1.0, -1.0])
    >>> Hinge().weighted_value(d, w)
    tensor([0.0000, 0.5000, 0.5000, 0.0000])
    """

    _kind: ClassVar[int] = kinds.HINGE
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
        """Signed distance from the kink; a pair has a cost where its sign is that of w."""
        return d - (self.threshold - torch.sign(w) * self._margin)

    def weighted_value(self, d: Tensor, w: Tensor) -> Tensor:
        return finite((w * self._excess(d, w)).clamp(min=0))

    def weighted_slope(self, d: Tensor, w: Tensor) -> Tensor:
        active = torch.sign(self._excess(d, w)) * torch.sign(w) > 0
        return finite(torch.where(active, w / floored(d), 0.0))


class Barrier(Penalty):
    """Placement barrier, w d - log(d - rho): attracts, and keeps distances above rho.

    It serves Euclidean placement and sphere packing, with weights w > 0. `value` and `slope` are
    those of w = 1.

    Parameters
    ----------
    rho : float
        At least 0, in units of the embedding. Distances must stay above rho.

    Notes
    -----
    The weighted value is plus infinity where d <= rho. All other distortion functions are finite.
    A solver must start where all distances are above rho, and shortens a step that leaves this
    region. Slope and curvature are finite everywhere, because d - rho is floored at 1e-7.

    Examples
    --------
    >>> import torch
    >>> from skmde import Barrier
    >>> Barrier(rho=1.0).weighted_value(torch.tensor([0.5, 2.0]), torch.tensor([3.0, 3.0]))
    tensor([inf, 6.])
    """

    _kind: ClassVar[int] = kinds.BARRIER
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("rho",)

    def __init__(self, rho: float) -> None:
        self.rho = rho

    def validate(self) -> None:
        self._require("rho", at_least=0)

    @property
    def typical_distance(self) -> float:  # type: ignore[override]
        return self.rho + 10.0

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
