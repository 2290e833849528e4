"""Penalties that are powers of the distance or rational in it (monograph, section 4.1).

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
    finite,
    floored,
    reciprocal_power,
    saturation,
    split_at_one,
)


class Linear(Penalty):
    """Linear penalty, d.

    See Also
    --------
    Huber : Huber penalty: d^2 below the threshold t, and t (2 d - t) above it.
    Power : Power penalty, d^exponent.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> import torch
    >>> from skmde import Linear
    >>> Linear().value(torch.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """

    degree = 1
    _kind: ClassVar[int] = kinds.LINEAR

    def value(self, d: Tensor) -> Tensor:
        return d.clone()

    def slope(self, d: Tensor) -> Tensor:
        return 1 / floored(d)

    def curvature(self, d: Tensor) -> Tensor:
        return torch.zeros_like(d)


class Quadratic(Penalty):
    """Quadratic penalty, d^2. With a standardization constraint it gives spectral embeddings.

    See Also
    --------
    Huber : Huber penalty: d^2 below the threshold t, and t (2 d - t) above it.
    Cubic : Cubic penalty, d^3.
    QuadraticMDE : Quadratic minimum-distortion embedding (spectral embedding), solved globally.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> import torch
    >>> from skmde import Quadratic
    >>> Quadratic().value(torch.tensor([0.0, 3.0]))
    tensor([0., 9.])
    """

    degree = 2
    _kind: ClassVar[int] = kinds.QUADRATIC

    def value(self, d: Tensor) -> Tensor:
        return finite(d * d)

    def slope(self, d: Tensor) -> Tensor:
        return torch.full_like(d, 2.0)

    def curvature(self, d: Tensor) -> Tensor:
        return torch.full_like(d, 2.0)


class Cubic(Penalty):
    """Cubic penalty, d^3.

    See Also
    --------
    Quadratic :
        Quadratic penalty, d^2. With a standardization constraint it gives spectral embeddings.
    Power : Power penalty, d^exponent.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> import torch
    >>> from skmde import Cubic
    >>> Cubic().value(torch.tensor([0.0, 2.0]))
    tensor([0., 8.])
    """

    degree = 3
    _kind: ClassVar[int] = kinds.CUBIC

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
        Above 0. A larger exponent increases the cost of large distances and decreases that of
        small ones.

    See Also
    --------
    Linear : Linear penalty, d.
    Quadratic :
        Quadratic penalty, d^2. With a standardization constraint it gives spectral embeddings.
    Cubic : Cubic penalty, d^3.
    InversePower : Inverse power penalty, -1 / d^exponent: a barrier for repulsion.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> import torch
    >>> from skmde import Power
    >>> Power(exponent=1.5).value(torch.tensor([0.0, 4.0]))
    tensor([0., 8.])
    """

    _kind: ClassVar[int] = kinds.POWER
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
        return finite(a * base_of_power(d, a - 2) ** (a - 2))

    def curvature(self, d: Tensor) -> Tensor:
        a = self.exponent
        return finite(a * (a - 1) * base_of_power(d, a - 2) ** (a - 2))


class InversePower(Penalty):
    """Inverse power penalty, -1 / d^exponent: a barrier for repulsion.

    The value is constant below `D_FLOOR` = 1e-7. In unconstrained problems it may push single items
    far away; the standardization constraint prevents that.

    Parameters
    ----------
    exponent : float, default=1.0
        Above 0. With an exponent above 3, the slope near the floor overflows float32 and is
        clamped.

    See Also
    --------
    Log : Logarithmic penalty, log(1 - exp(-d^exponent)): a barrier for repulsion.
    LogRatio : Log-ratio penalty, log(d^exponent / (1 + d^exponent)): a barrier for repulsion.
    Cauchy : Cauchy penalty, -1 / (1 + (d / scale)^2): bounded repulsion.

    Notes
    -----
    PyMDE calls this class ``InvPower``.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> import torch
    >>> from skmde import InversePower
    >>> InversePower(exponent=2.0).value(torch.tensor([0.5, 2.0]))
    tensor([-4.0000, -0.2500])
    """

    _smooth_outside_core: ClassVar[bool] = True
    _kind: ClassVar[int] = kinds.INVERSE_POWER
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


class Cauchy(Penalty):
    """Cauchy penalty, -1 / (1 + (d / scale)^2): bounded repulsion.

    It is the negative of t-SNE's kernel. Where all pairs repel, it is the default, together with
    the attraction ``Log1p(exponent=2.0)``. It is no barrier: it rises from -1 at d = 0, most
    steeply at scale / sqrt(3), and tends to 0 like an inverse square.

    Parameters
    ----------
    scale : float, default=1.0
        Above 0, in units of the embedding. The penalty is -1 / 2 at this distance. t-SNE's kernel
        has scale 1.

    See Also
    --------
    Log1p : Log-one-plus penalty, log(1 + d^exponent).
    Log : Logarithmic penalty, log(1 - exp(-d^exponent)): a barrier for repulsion.

    Notes
    -----
    This penalty is neither in PyMDE nor in the monograph.

    References
    ----------
    van der Maaten and Hinton, *Visualizing Data using t-SNE*, JMLR 9 (2008), section 3.3.

    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> import torch
    >>> from skmde import Cauchy
    >>> Cauchy(scale=2.0).value(torch.tensor([0.0, 2.0, 6.0]))
    tensor([-1.0000, -0.5000, -0.1000])
    """

    _smooth_outside_core: ClassVar[bool] = True
    _kind: ClassVar[int] = kinds.CAUCHY
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("scale",)

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def validate(self) -> None:
        self._require("scale", above=0)

    def _unit(self, d: Tensor) -> float:
        """The scale. It must not become 0 in the dtype of d, because 0 / 0 is NaN."""
        return max(self.scale, torch.finfo(d.dtype).tiny)

    @property
    def smooth_length(self) -> float | None:
        return self.scale if self.kernel_parameters() is not None else None

    def value(self, d: Tensor) -> Tensor:
        u = d / self._unit(d)
        z = reciprocal_power(u, 2)
        return -torch.where(u <= 1, 1.0, z) / (1 + z)

    def slope(self, d: Tensor) -> Tensor:
        unit = self._unit(d)
        u = d / unit
        _, large = split_at_one(u)
        # The square is taken last, so that it underflows or overflows only if the slope does.
        root = 1 / large / (unit * large) / (1 + reciprocal_power(u, 2))
        return finite(2 * root * root)

    def curvature(self, d: Tensor) -> Tensor:
        return finite(self.slope(d) * (1 - 4 * saturation(d / self._unit(d), 2)))
