"""Penalties with a threshold distance at which their form changes (monograph, section 4.1).

`Hinge` and `Barrier` override the ``weighted_`` methods: their weighted distortion is not w p(d).

The docstring of each class gives p. The slope p'(d) / d and the curvature p''(d) are implemented
in closed form, written to avoid overflow and cancellation from d = 0 to 1e20. Distances are in
units of the embedding.
"""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np
import torch

from skmde._utils.validation import check_not_masked
from skmde.functions import kinds
from skmde.functions.base import Penalty
from skmde.functions.stable import Tensor, finite, floored


class Huber(Penalty):
    """Huber penalty: d^2 below the threshold t, and t (2 d - t) above it.

    Parameters
    ----------
    threshold : float, default=0.5
        Above 0, in units of the embedding.

    See Also
    --------
    Quadratic :
        Quadratic penalty, d^2. With a standardization constraint it gives spectral embeddings.
    Linear : Linear penalty, d.
    Log1p : Log-one-plus penalty, log(1 + d^exponent).
    HuberLoss :
        Huber loss of the residual: r^2 up to the threshold t, and t (2 abs(r) - t) beyond.

    Notes
    -----
    This is the monograph's definition. PyMDE's penalty of this name is half as large.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

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

    See Also
    --------
    Hinge : Hinge distortion, max(0, w (d - (threshold - sign(w) margin))).
    Sigmoid :
        Sigmoid penalty, 1 / (1 + exp(-scale (d - threshold))): bounded, so outliers cost little.
    LogisticLoss :
        Logistic loss, log((1 + exp(abs(delta - d))) / 2): nearly linear far from d = delta.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

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

    See Also
    --------
    Logistic : Logistic penalty, log(1 + exp(scale (d - threshold))).
    Log1p : Log-one-plus penalty, log(1 + d^exponent).

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

    See Also
    --------
    Logistic : Logistic penalty, log(1 + exp(scale (d - threshold))).
    Barrier : Placement barrier, w d - log(d - rho): attracts, and keeps distances above rho.

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
    rho : float or array-like of shape (p,)
        At least 0, in units of the embedding. Distances must stay above rho. An array holds a
        number for each of the p pairs, in the order in which they are given to :class:`skmde.MDE`.

    See Also
    --------
    Hinge : Hinge distortion, max(0, w (d - (threshold - sign(w) margin))).
    Log : Logarithmic penalty, log(1 - exp(-d^exponent)): a barrier for repulsion.
    AnchoredMDE : Minimum-distortion embedding in which some samples have given coordinates.

    Notes
    -----
    The weighted value is plus infinity where d <= rho. All other distortion functions are finite.
    A solver must start where all distances are above rho, and shortens a step that leaves this
    region. Slope and curvature are finite everywhere, because d - rho is floored at 1e-7.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> import torch
    >>> from skmde import Barrier
    >>> Barrier(rho=1.0).weighted_value(torch.tensor([0.5, 2.0]), torch.tensor([3.0, 3.0]))
    tensor([inf, 6.])

    Discs of different radii, which may not overlap:

    >>> from skmde import MDE
    >>> radii = torch.tensor([1.0, 2.0, 3.0])
    >>> edges = torch.tensor([[0, 1], [0, 2], [1, 2]])
    >>> barrier = Barrier(radii[edges].sum(dim=1))
    >>> X = MDE(3, 2, edges, barrier).embed(10 * torch.eye(3)[:, :2])
    >>> torch.pdist(X).round(decimals=2)
    tensor([4., 5., 6.])
    """

    _kind: ClassVar[int] = kinds.BARRIER
    _kernel_arguments: ClassVar[tuple[str, ...]] = ("rho",)

    def __init__(self, rho: Any) -> None:
        self.rho = rho

    def __repr__(self) -> str:
        if self.varies_by_pair:
            return f"Barrier(rho=<{np.size(self._array())} numbers>)"
        return str(super().__repr__())

    @property
    def varies_by_pair(self) -> bool:
        return not isinstance(self.rho, numbers.Number | str | None)

    def of_pairs(self, positions: np.ndarray, n_pairs: int) -> Barrier:
        if not self.varies_by_pair:
            return self
        rho = self._array()
        if rho.shape != (n_pairs,):
            raise ValueError(
                f"Barrier: rho must be a number, or one number for each of the {n_pairs} pairs; "
                f"got an array of shape {rho.shape}."
            )
        return type(self)(torch.from_numpy(rho[positions]))

    def validate(self) -> None:
        if not self.varies_by_pair:
            self._require("rho", at_least=0)
            return
        rho = self._array()
        bad = rho[~(np.isfinite(rho) & (rho >= 0))] if rho.dtype.kind in "fiu" else rho.ravel()
        if rho.ndim != 1 or bad.size or rho.dtype.kind not in "fiu":
            got = f"{bad[0]!r} among them" if rho.ndim == 1 and bad.size else f"shape {rho.shape}"
            raise ValueError(
                "Barrier: rho must be a finite number, at least 0, or hold one for each pair; got "
                f"{got}."
            )

    def kernel_parameters(self) -> tuple[int, float, float] | None:
        if self.varies_by_pair:
            self.validate()
            return None
        return super().kernel_parameters()

    def _array(self) -> np.ndarray:
        rho = self.rho.detach().cpu() if isinstance(self.rho, Tensor) else self.rho
        check_not_masked(rho, "rho", "give every pair a number")
        return np.asarray(rho)

    def _comparable_parameters(self) -> dict[str, Any]:
        return {"rho": tuple(self._array().tolist()) if self.varies_by_pair else self.rho}

    def _beyond(self, d: Tensor) -> Tensor:
        """The distances above rho."""
        if self.varies_by_pair:
            return d - torch.as_tensor(self.rho).to(d)
        return d - self.rho

    @property
    def typical_distance(self) -> Any:  # type: ignore[override]
        return (torch.as_tensor(self.rho) if self.varies_by_pair else self.rho) + 10.0

    def value(self, d: Tensor) -> Tensor:
        return self.weighted_value(d, torch.ones_like(d))

    def slope(self, d: Tensor) -> Tensor:
        return self.weighted_slope(d, torch.ones_like(d))

    def curvature(self, d: Tensor) -> Tensor:
        return floored(self._beyond(d)) ** -2

    def weighted_value(self, d: Tensor, w: Tensor) -> Tensor:
        beyond = self._beyond(d)
        inside = finite(w * d - torch.log(floored(beyond)))
        return torch.where(beyond > 0, inside, torch.inf)

    def weighted_slope(self, d: Tensor, w: Tensor) -> Tensor:
        return finite((w - 1 / floored(self._beyond(d))) / floored(d))

    def weighted_curvature(self, d: Tensor, w: Tensor) -> Tensor:
        return self.curvature(d).expand(torch.broadcast_shapes(d.shape, w.shape))
