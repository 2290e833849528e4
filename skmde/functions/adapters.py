"""Penalties and losses that wrap a callable, and losses of another distance."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from skmde.functions.base import Loss, Penalty
from skmde.functions.stable import Tensor, finite, floored, floored_below


class CallablePenalty(Penalty):
    """A penalty that wraps a callable f(d) of torch tensors, such as an `nn.Module`.

    Parameters
    ----------
    function : callable
        Elementwise: takes a tensor of distances and returns a tensor of the same shape. The
        distances are at least `D_FLOOR`, so a barrier such as ``lambda d: -1 / d`` is finite.
    """

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self.function = function

    def validate(self) -> None:
        _require_callable(self)

    def _unclamped(self, d: Tensor) -> Tensor:
        x = floored(d)
        return _result(self.function, "d", x)

    def value(self, d: Tensor) -> Tensor:
        return finite(self._unclamped(d))


class CallableLoss(Loss):
    """A loss that wraps a callable f(delta, d) of torch tensors, such as an `nn.Module`.

    Parameters
    ----------
    function : callable
        Elementwise: takes tensors of original and embedding distances and returns a tensor of the
        same shape. The embedding distances are at least `D_FLOOR` min(delta, 1), or `D_FLOOR` where
        delta = 0.
    """

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.function = function

    def validate(self) -> None:
        _require_callable(self)

    def _unclamped(self, delta: Tensor, d: Tensor) -> Tensor:
        x = floored_below(delta, d)
        return _result(self.function, "delta, d", delta, x)

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        return finite(self._unclamped(delta, d))


class LossOfDistance(Loss):
    """A loss of a distance that is a function g of the Euclidean one, such as an arc of its chord.

    The loss of a pair at the Euclidean distance d is l(delta, g(d)).

    Parameters
    ----------
    loss : Loss or Penalty
        The loss l; a penalty does not depend on delta.
    constraint : Constraint
        Its `own_distance` returns g(d), g'(d) and g''(d) for a tensor d, where g(0) = 0.
    """

    def __init__(self, loss: Loss | Penalty, constraint: Any) -> None:
        self.loss = loss
        self.constraint = constraint

    def validate(self) -> None:
        self.loss.validate()

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        return self._of("value", delta, self.constraint.own_distance(d)[0])

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        g, first, _ = self.constraint.own_distance(d)
        ratio = torch.where(d > 0, g / torch.where(d > 0, d, 1.0), first)
        return finite(self._of("slope", delta, g) * ratio * first)

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        g, first, second = self.constraint.own_distance(d)
        bend = self._of("slope", delta, g) * g * second
        return finite(self._of("curvature", delta, g) * first**2 + bend)

    def _of(self, name: str, delta: Tensor, g: Tensor) -> Tensor:
        method: Callable[..., Tensor] = getattr(self.loss, name)
        return method(g) if isinstance(self.loss, Penalty) else method(delta, g)


def _require_callable(adapter: CallablePenalty | CallableLoss) -> None:
    if not callable(adapter.function) or inspect.isclass(adapter.function):
        raise ValueError(
            f"{type(adapter).__name__}: function must be a callable (not a class); "
            f"got {adapter.function!r}."
        )


def _called(function: Callable[..., Any], names: str, *arguments: Tensor) -> Any:
    try:
        return function(*arguments)
    except RuntimeError as error:
        if "numpy()" not in str(error):
            raise
        raise TypeError(
            f"{function!r} uses numpy, which torch cannot differentiate; use torch operations, "
            "such as torch.log1p(d) instead of np.log1p(d)."
        ) from error
    except (TypeError, ValueError) as error:
        # An error raised inside the user's function must reach the user unchanged.
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise
        raise TypeError(
            f"{function!r} cannot be called as a distortion function f({names}), which takes "
            f"{'a torch tensor' if len(arguments) == 1 else 'two torch tensors'} of distances and "
            f"returns a tensor of the same shape ({error})."
        ) from error


def _result(function: Callable[..., Any], arguments: str, *distances: Tensor) -> Tensor:
    """Result of the user's callable; raises an error that explains an invalid result."""
    y, d = _called(function, arguments, *distances), distances[-1]
    if not isinstance(y, torch.Tensor):
        raise TypeError(
            f"{function!r} returned {type(y).__name__}; a distortion function f({arguments}) "
            "must return a torch tensor, computed with torch operations."
        )
    if y.shape != d.shape:
        raise ValueError(
            f"{function!r} returned a tensor of shape {tuple(y.shape)} for distances of shape "
            f"{tuple(d.shape)}; a distortion function f({arguments}) must be elementwise."
        )
    if d.requires_grad and not y.requires_grad:
        raise ValueError(
            f"The result of {function!r} carries no gradient: it is constant, or the function "
            "calls detach, numpy or item. Compute the result from d with torch operations."
        )
    return y
