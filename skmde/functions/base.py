"""Distortion functions: the base classes of penalties and losses.

A pair of items at embedding distance d has the distortion w p(d) (a *penalty* p, from a weight w)
or l(delta, d) (a *loss* l, from an original distance delta); monograph, chapter 4. A function is a
parameter object: it holds numbers, never data, and works elementwise on torch tensors of any
floating dtype and device. Besides its value it has

    slope(d) = p'(d) / d        and        curvature(d) = p''(d).

The gradient of p(||x_i - x_j||) in x_i is ``slope * (x_i - x_j)``, so no division is needed where
p' vanishes at 0. Where the slope diverges, distances below `D_FLOOR` count as `D_FLOOR`. Results
too large for their dtype are clamped to its largest finite number.

d and delta are in units of the embedding.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import ClassVar

import torch
from sklearn.base import BaseEstimator

from skmde.functions.stable import Tensor, finite, floored


def _derivative(function: Callable[[Tensor], Tensor], d: Tensor, order: int) -> Tensor:
    """First or second derivative at ``floored(d)``, by automatic differentiation."""
    # A solver runs without gradients, or in inference mode; this must work inside both.
    with torch.inference_mode(False), torch.enable_grad():
        x = floored(d.detach()).requires_grad_()
        y = function(x)
        for remaining in reversed(range(order)):
            if not y.requires_grad:
                return torch.zeros_like(d)
            (y,) = torch.autograd.grad(
                y.sum(), x, create_graph=remaining > 0, materialize_grads=True
            )
    return y


class DistortionFunction(BaseEstimator):
    """What penalties and losses share: parameters, their check, equality, the kernel's arguments.

    The constructor only stores its arguments, as in any scikit-learn object, so `clone`,
    `set_params` and a grid search over ``attractive_penalty__exponent`` work. Treat an instance
    as immutable once it is in use.
    """

    # Set in the class body of every built-in function: the integer the compiled kernels know it
    # by, and the parameters that they take, in order.
    _kind: ClassVar[int | None] = None
    _kernel_arguments: ClassVar[tuple[str, ...]] = ()

    def validate(self) -> None:
        """Check the parameters; functions are validated when used, not when constructed.

        Raises
        ------
        ValueError
            If a parameter is out of range; the message names class, parameter, value and rule.
        """

    def kernel_parameters(self) -> tuple[int, float, float] | None:
        """Arguments that make the compiled kernel compute this function.

        Returns
        -------
        tuple of (int, float, float), or None
            Kind and its two parameters (see ``kinds.py``). None for anything but a
            built-in class itself: a subclass may have other mathematics, and is evaluated in
            torch.
        """
        # Looked up in the class itself, so that a subclass does not inherit the fast kernel.
        kind = vars(type(self)).get("_kind")
        if kind is None:
            return None
        self.validate()
        a, b = [*(float(getattr(self, name)) for name in self._kernel_arguments), 0.0, 0.0][:2]
        return kind, a, b

    def _require(
        self, name: str, *, above: float | None = None, at_least: float | None = None
    ) -> None:
        """Raise ValueError unless the parameter is a finite number in the given range."""
        value = getattr(self, name)
        rule = "a finite number"
        if above is not None:
            rule += f" above {above:g}"
        if at_least is not None:
            rule += f", at least {at_least:g}"
        number = math.nan
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            number = float(value)
        good = (
            math.isfinite(number)
            and (above is None or number > above)
            and (at_least is None or number >= at_least)
        )
        if not good:
            raise ValueError(f"{type(self).__name__}: {name} must be {rule}; got {value!r}.")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.get_params(deep=False) == other.get_params(deep=False)

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.get_params(deep=False).values())))


class Penalty(DistortionFunction):
    """Base class of penalties p(d), functions of the embedding distance alone.

    A subclass defines `value`; `slope` and `curvature` follow by automatic differentiation
    unless it defines them as well. The pair's weight w multiplies from outside, and its sign says
    whether w p(d) attracts or repels: p itself increases with d in both cases. A function that
    depends on w in another way overrides the ``weighted_`` methods.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1.

    Examples
    --------
    >>> import torch
    >>> from skmde import Penalty
    >>> class SquareRoot(Penalty):
    ...     def __init__(self, offset=1.0):
    ...         self.offset = offset
    ...
    ...     def value(self, d):
    ...         return (d + self.offset).sqrt()
    >>> SquareRoot().value(torch.tensor([0.0, 3.0]))
    tensor([1., 2.])
    >>> SquareRoot().slope(torch.tensor([3.0]))
    tensor([0.0833])
    """

    #: The k for which p(s d) = s^k p(d), or None.
    degree: float | None = None

    def value(self, d: Tensor) -> Tensor:
        """Penalty at the given distances.

        Parameters
        ----------
        d : torch.Tensor
            Embedding distances, at least 0.

        Returns
        -------
        torch.Tensor of the shape and dtype of d
            Value of p(d).
        """
        raise NotImplementedError(f"{type(self).__name__} must define value(d).")

    def slope(self, d: Tensor) -> Tensor:
        """Derivative divided by the distance.

        Parameters
        ----------
        d : torch.Tensor
            Embedding distances, at least 0.

        Returns
        -------
        torch.Tensor of the shape and dtype of d
            Value of p'(d) / d, finite at d = 0.
        """
        return finite(_derivative(self._unclamped, d, 1) / floored(d))

    def curvature(self, d: Tensor) -> Tensor:
        """Second derivative.

        Parameters
        ----------
        d : torch.Tensor
            Embedding distances, at least 0.

        Returns
        -------
        torch.Tensor of the shape and dtype of d
            Value of p''(d), finite at d = 0.
        """
        return finite(_derivative(self._unclamped, d, 2))

    def _unclamped(self, d: Tensor) -> Tensor:
        """What is differentiated: the derivative of a clamped overflow would be NaN."""
        return self.value(d)

    def weighted_value(self, d: Tensor, w: Tensor) -> Tensor:
        """Distortion of pairs with weights w.

        Parameters
        ----------
        d, w : torch.Tensor
            Embedding distances and weights, of shapes that broadcast.

        Returns
        -------
        torch.Tensor
            Value of w p(d).
        """
        return finite(w * self.value(d))

    def weighted_slope(self, d: Tensor, w: Tensor) -> Tensor:
        """Slope of the distortion of pairs with weights w.

        Parameters
        ----------
        d, w : torch.Tensor
            Embedding distances and weights, of shapes that broadcast.

        Returns
        -------
        torch.Tensor
            Value of w p'(d) / d.
        """
        return finite(w * self.slope(d))

    def weighted_curvature(self, d: Tensor, w: Tensor) -> Tensor:
        """Second derivative of the distortion of pairs with weights w.

        Parameters
        ----------
        d, w : torch.Tensor
            Embedding distances and weights, of shapes that broadcast.

        Returns
        -------
        torch.Tensor
            Value of w p''(d).
        """
        return finite(w * self.curvature(d))


class Loss(DistortionFunction):
    """Base class of losses l(delta, d), which compare d with an original distance delta.

    A subclass defines `value`; `slope` and `curvature` (derivatives in d) follow by automatic
    differentiation unless it defines them as well. A loss is 0 at d = delta and nowhere negative.
    delta = 0 means that the two items are the same; a loss stays finite there. Weights of pairs
    multiply from outside.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2.

    Examples
    --------
    >>> import torch
    >>> from skmde import Loss
    >>> class SquaredLog(Loss):
    ...     def value(self, delta, d):
    ...         return torch.log((1 + d) / (1 + delta)) ** 2
    >>> SquaredLog().value(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 3.0]))
    tensor([0.0000, 0.4805])
    """

    #: The k for which l(s delta, s d) = s^k l(delta, d) wherever delta > 0, or None. Where there
    #: is one, an estimator may change the unit of length without changing the problem.
    degree: float | None = None

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        """Loss at the given distances.

        Parameters
        ----------
        delta, d : torch.Tensor
            Original and embedding distances, at least 0, of one shape and dtype.

        Returns
        -------
        torch.Tensor of the shape and dtype of d
            Value of l(delta, d).
        """
        raise NotImplementedError(f"{type(self).__name__} must define value(delta, d).")

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        """Derivative in d, divided by d.

        Parameters
        ----------
        delta, d : torch.Tensor
            Original and embedding distances, at least 0, of one shape and dtype.

        Returns
        -------
        torch.Tensor of the shape and dtype of d
            Value of l'(delta, d) / d, finite at d = 0.
        """
        return finite(_derivative(lambda x: self._unclamped(delta, x), d, 1) / floored(d))

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        """Second derivative in d.

        Parameters
        ----------
        delta, d : torch.Tensor
            Original and embedding distances, at least 0, of one shape and dtype.

        Returns
        -------
        torch.Tensor of the shape and dtype of d
            Value of l''(delta, d), finite at d = 0.
        """
        return finite(_derivative(lambda x: self._unclamped(delta, x), d, 2))

    def _unclamped(self, delta: Tensor, d: Tensor) -> Tensor:
        """What is differentiated: the derivative of a clamped overflow would be NaN."""
        return self.value(delta, d)
