r"""Penalties: distortion functions derived from weights (monograph, section 4.1).

A pair with weight w and embedding distance d has the distortion w p(d). Every p increases with d,
so a pair with w > 0 attracts and one with w < 0 repels. Penalties that go to minus infinity as d
goes to 0 (`Log`, `InversePower`, `LogRatio`) are barriers: with w < 0 they keep items apart.

Each class states p; its slope p'(d) / d and curvature p''(d) are in closed form, in the arrangement
that neither overflows nor cancels from d = 0 to 1e20. Below, E stands for d, or for the floored
distance where a power of d with a negative exponent would diverge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from skmde import _kinds
from skmde._distortion import Penalty, Tensor, finite, floored, resolve_penalty

__all__ = [
    "PENALTIES",
    "Barrier",
    "Cubic",
    "Hinge",
    "Huber",
    "InversePower",
    "Linear",
    "Log",
    "Log1p",
    "LogRatio",
    "Logistic",
    "Power",
    "Quadratic",
    "Sigmoid",
    "push_and_pull",
]


def _base_of_power(d: Tensor, exponent: float) -> Tensor:
    """d, floored if d to the given exponent diverges at 0."""
    return floored(d) if exponent < 0 else d


def _reciprocal_power(d: Tensor, exponent: float) -> Tensor:
    """min(d, 1/d) to the given positive exponent: at most 1, so it never overflows."""
    return torch.minimum(d, 1 / d) ** exponent


class Linear(Penalty):
    """Linear penalty, d.

    Examples
    --------
    >>> import torch
    >>> from skmde import Linear
    >>> Linear().value(torch.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """

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

    _kind: ClassVar[int] = _kinds.CUBIC

    def value(self, d: Tensor) -> Tensor:
        return finite(d * d * d)

    def slope(self, d: Tensor) -> Tensor:
        return finite(3 * d)

    def curvature(self, d: Tensor) -> Tensor:
        return finite(6 * d)


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
        return u.clamp(min=0) + torch.log1p(torch.exp(-u.abs()))

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
        z = _reciprocal_power(d, self.exponent)
        return torch.log1p(z) + self.exponent * torch.log(d.clamp(min=1))

    def slope(self, d: Tensor) -> Tensor:
        a = self.exponent
        z = _reciprocal_power(d, a)
        return a * torch.where(d <= 1, _base_of_power(d, a - 2) ** (a - 2), d**-2) / (1 + z)

    def curvature(self, d: Tensor) -> Tensor:
        a = self.exponent
        z = _reciprocal_power(d, a)
        share = torch.where(d <= 1, z, 1.0) / (1 + z)
        return self.slope(d) * (a - 1 - a * share)


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
        # d^a may underflow where its logarithm does not.
        tiny = self.exponent * torch.log(d) - t / 2
        small = torch.log(-torch.expm1(-t))
        large = torch.log1p(-torch.exp(-t))
        return torch.where(t < 1e-8, tiny, torch.where(t < 0.7, small, large))

    def _bernoulli(self, d: Tensor) -> tuple[Tensor, Tensor]:
        """t = d^a and t / (e^t - 1); from t = 1000 on, the ratio is 0 in every dtype."""
        t = (d**self.exponent).clamp(max=1000)
        return t, torch.where(t < 1e-8, 1.0, t / torch.expm1(t))

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
        z = _reciprocal_power(d, self.exponent)
        return self.exponent * torch.log(d.clamp(max=1)) - torch.log1p(z)

    def slope(self, d: Tensor) -> Tensor:
        d = floored(d)
        a = self.exponent
        z = _reciprocal_power(d, a)
        return a * torch.where(d <= 1, d**-2, d ** (-a - 2)) / (1 + z)

    def curvature(self, d: Tensor) -> Tensor:
        a = self.exponent
        z = _reciprocal_power(floored(d), a)
        share = torch.where(d <= 1, z, 1.0) / (1 + z)
        return -self.slope(d) * (1 + a * share)


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


PENALTIES: dict[str, type[Penalty]] = {
    "linear": Linear,
    "quadratic": Quadratic,
    "cubic": Cubic,
    "power": Power,
    "huber": Huber,
    "logistic": Logistic,
    "log1p": Log1p,
    "log": Log,
    "inverse_power": InversePower,
    "log_ratio": LogRatio,
    "sigmoid": Sigmoid,
    "hinge": Hinge,
    "barrier": Barrier,
}

# What `resolve_penalty` accepts by name.
NAMED: dict[str, Callable[[], Penalty]] = dict(PENALTIES)


def push_and_pull(attractive: Any = "log1p", repulsive: Any = "log") -> tuple[Penalty, Penalty]:
    """The two penalties of a problem in which some pairs attract and others repel.

    For users of PyMDE, whose ``PushAndPull`` this replaces: the result is a valid ``distortion``
    of `skmde.MDE`, which applies the first penalty where weights are positive and the second
    where they are negative.

    Parameters
    ----------
    attractive : str, Penalty or callable, default="log1p"
        Penalty of pairs with positive weights.
    repulsive : str, Penalty or callable, default="log"
        Penalty of pairs with negative weights.

    Returns
    -------
    tuple of (Penalty, Penalty)
        The attractive and the repulsive penalty.

    Raises
    ------
    ValueError
        If a name is unknown or a parameter is out of range.
    TypeError
        If an argument is a class or cannot be called.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1.

    Examples
    --------
    >>> from skmde import Huber, push_and_pull
    >>> push_and_pull(Huber(threshold=1.0))
    (Huber(threshold=1.0), Log())
    """
    return resolve_penalty(attractive), resolve_penalty(repulsive)
