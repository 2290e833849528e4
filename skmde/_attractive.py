"""Penalties that grow with the distance: for pairs that attract (monograph, section 4.1.1).

Each class states p; its slope p'(d) / d and curvature p''(d) are in closed form, in the arrangement
that neither overflows nor cancels from d = 0 to 1e20. Distances are in units of the embedding.
"""

from __future__ import annotations

from typing import ClassVar

import torch

from skmde import _kinds
from skmde._distortion import Penalty, Tensor, finite, floored


def _base_of_power(d: Tensor, exponent: float) -> Tensor:
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


class Linear(Penalty):
    """Linear penalty, d.

    Examples
    --------
    >>> import torch
    >>> from skmde import Linear
    >>> Linear().value(torch.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """

    degree = 1
    _kind: ClassVar[int] = _kinds.LINEAR

    def value(self, d: Tensor) -> Tensor:
        return d.clone()

    def slope(self, d: Tensor) -> Tensor:
        return 1 / floored(d)

    def curvature(self, d: Tensor) -> Tensor:
        return torch.zeros_like(d)


class Quadratic(Penalty):
    """Quadratic penalty, d^2: with a standardization constraint, the spectral embeddings.

    Examples
    --------
    >>> import torch
    >>> from skmde import Quadratic
    >>> Quadratic().value(torch.tensor([0.0, 3.0]))
    tensor([0., 9.])
    """

    degree = 2
    _kind: ClassVar[int] = _kinds.QUADRATIC

    def value(self, d: Tensor) -> Tensor:
        return finite(d * d)

    def slope(self, d: Tensor) -> Tensor:
        return torch.full_like(d, 2.0)

    def curvature(self, d: Tensor) -> Tensor:
        return torch.full_like(d, 2.0)


class Cubic(Penalty):
    """Cubic penalty, d^3.

    Examples
    --------
    >>> import torch
    >>> from skmde import Cubic
    >>> Cubic().value(torch.tensor([0.0, 2.0]))
    tensor([0., 8.])
    """

    degree = 3
    _kind: ClassVar[int] = _kinds.CUBIC

    def value(self, d: Tensor) -> Tensor:
        return finite(d * d * d)

    def slope(self, d: Tensor) -> Tensor:
        return 3 * d

    def curvature(self, d: Tensor) -> Tensor:
        return 6 * d


class Power(Penalty):
    """Power penalty, d^exponent.

    Parameters
    ----------
    exponent : float, default=2.0
        Above 0. The larger it is, the more large distances cost, and the less small ones do.

    Examples
    --------
    >>> import torch
    >>> from skmde import Power
    >>> Power(exponent=1.5).value(torch.tensor([0.0, 4.0]))
    tensor([0., 8.])
    """

    _kind: ClassVar[int] = _kinds.POWER
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("exponent",)

    def __init__(self, exponent: float = 2.0) -> None:
        self.exponent = exponent

    def validate(self) -> None:
        self._require("exponent", above=0)

    @property
    def degree(self) -> float:  # type: ignore[override]
        return self.exponent

    def value(self, d: Tensor) -> Tensor:
        return finite(d**self.exponent)

    def slope(self, d: Tensor) -> Tensor:
        a = self.exponent
        return finite(a * _base_of_power(d, a - 2) ** (a - 2))

    def curvature(self, d: Tensor) -> Tensor:
        a = self.exponent
        return finite(a * (a - 1) * _base_of_power(d, a - 2) ** (a - 2))


class Huber(Penalty):
    """Huber penalty: d^2 below the threshold t, and t (2 d - t) from there on.

    Parameters
    ----------
    threshold : float, default=0.5
        Above 0; in units of the embedding.

    Notes
    -----
    PyMDE's penalty of this name is one half of this one, which is the monograph's.

    Examples
    --------
    >>> import torch
    >>> from skmde import Huber
    >>> Huber(threshold=1.0).value(torch.tensor([0.5, 2.0]))
    tensor([0.25, 3.00])
    """

    _kind: ClassVar[int] = _kinds.HUBER
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
        At least 0; distances below it cost little. In units of the embedding.
    scale : float, default=3.0
        Above 0; slope of the nearly linear part beyond the threshold.

    Examples
    --------
    >>> import torch
    >>> from skmde import Logistic
    >>> Logistic(threshold=1.0).value(torch.tensor([1.0, 100.0]))
    tensor([  0.6931, 297.0000])
    """

    _kind: ClassVar[int] = _kinds.LOGISTIC
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


class Log1p(Penalty):
    """Log-one-plus penalty, log(1 + d^exponent).

    A power for small distances, a logarithm for large ones: neighbours may lie apart at little
    cost. With exponent 2 it is the attraction of t-SNE, LargeVis and UMAP.

    Parameters
    ----------
    exponent : float, default=1.5
        Above 0.

    Examples
    --------
    >>> import torch
    >>> from skmde import Log1p
    >>> Log1p(exponent=2.0).value(torch.tensor([0.0, 1.0, 1e20]))
    tensor([ 0.0000,  0.6931, 92.1034])
    """

    _kind: ClassVar[int] = _kinds.LOG1P
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
        power = torch.where(d <= 1, _base_of_power(d, a - 2) ** (a - 2), d**-2)
        return a * power / (1 + reciprocal_power(d, a))

    def curvature(self, d: Tensor) -> Tensor:
        a = self.exponent
        return self.slope(d) * (a - 1 - a * saturation(d, a))


class Sigmoid(Penalty):
    """Sigmoid penalty, 1 / (1 + exp(-scale (d - threshold))): bounded, so outliers cost little.

    Parameters
    ----------
    threshold : float, default=1.0
        At least 0; distance at which the penalty is one half. In units of the embedding.
    scale : float, default=1.0
        Above 0; steepness at the threshold.

    Notes
    -----
    Not in the monograph; PyMDE has it.

    Examples
    --------
    >>> import torch
    >>> from skmde import Sigmoid
    >>> Sigmoid().value(torch.tensor([1.0, 1e20]))
    tensor([0.5000, 1.0000])
    """

    _kind: ClassVar[int] = _kinds.SIGMOID
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
