"""Distortion functions: the two base classes, and what a user may give in place of an instance.

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

import difflib
import importlib
import inspect
import math
import numbers
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from sklearn.base import BaseEstimator

from skmde._kinds import D_FLOOR

Tensor = torch.Tensor


def floored(d: Tensor) -> Tensor:
    """Distances, none below `D_FLOOR`."""
    return d.clamp(min=D_FLOOR)


def finite(x: Tensor) -> Tensor:
    """Clamp infinities to the largest finite number; NaN stays, since it means a fault."""
    limit = torch.finfo(x.dtype).max
    return x.clamp(min=-limit, max=limit)


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
            Kind and its two parameters (see ``skmde/_kinds.py``). None for anything but a
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


class CallablePenalty(Penalty):
    """A penalty from any callable f(d) of torch tensors, an `nn.Module` included.

    Parameters
    ----------
    function : callable
        Elementwise: takes a tensor of distances, returns a tensor of the same shape. It is called
        with distances of at least `D_FLOOR`, so a barrier such as ``lambda d: -1 / d`` is finite.
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
    """A loss from any callable f(delta, d) of torch tensors, an `nn.Module` included.

    Parameters
    ----------
    function : callable
        Elementwise: takes tensors of original and embedding distances, returns a tensor of the
        same shape. Embedding distances are at least `D_FLOOR` when it is called.
    """

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.function = function

    def validate(self) -> None:
        _require_callable(self)

    def _unclamped(self, delta: Tensor, d: Tensor) -> Tensor:
        x = floored(d)
        return _result(self.function, "delta, d", delta, x)

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        return finite(self._unclamped(delta, d))


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
            f"{function!r} uses numpy, through which no derivative passes; compute with torch "
            "operations, such as torch.log1p(d) for np.log1p(d)."
        ) from error
    except (TypeError, ValueError) as error:
        # What a function of the user's raises in its own lines is left as it is.
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise
        raise TypeError(
            f"{function!r} cannot be called as a distortion function f({names}), which takes "
            f"{'a torch tensor' if len(arguments) == 1 else 'two torch tensors'} of distances and "
            f"returns one of the same shape ({error})."
        ) from error


def _result(function: Callable[..., Any], arguments: str, *distances: Tensor) -> Tensor:
    """The result of a user's callable, or an error that says what is wrong with it."""
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
            f"The result of {function!r} carries no gradient: it is constant, or something on the "
            "way to it (detach, numpy, item) left torch. Compute it from d with torch operations."
        )
    return y


def resolve_penalty(penalty: Any) -> Penalty:
    """The penalty that a user means by a name, an instance or a callable, validated.

    Raises
    ------
    ValueError
        If the name is unknown or a parameter is out of range.
    TypeError
        If it is a class, a loss, or nothing that can be called.

    Examples
    --------
    >>> resolve_penalty("log1p")
    Log1p()
    """
    return _resolve(penalty, "penalty", Penalty, CallablePenalty)


def resolve_loss(loss: Any) -> Loss:
    """The loss that a user means by a name, an instance or a callable, validated.

    Raises as `resolve_penalty` does.

    Examples
    --------
    >>> resolve_loss("sammon")
    WeightedSquaredLoss(kappa='sammon')
    """
    return _resolve(loss, "loss", Loss, CallableLoss)


def _resolve(given: Any, noun: str, base: Any, adapter: Any) -> Any:
    if isinstance(given, str):
        given = _named(given, noun)
    elif inspect.isclass(given):
        usable = issubclass(given, (DistortionFunction, torch.nn.Module))
        advice = (
            f"pass an instance, e.g. {_example(given)}"
            if usable
            else f"pass a name, an instance of {base.__name__} or a callable of torch tensors"
        )
        raise TypeError(f"{noun} is the class {given.__name__}; {advice}.")
    if isinstance(given, DistortionFunction):
        if not isinstance(given, base):
            other = "loss" if noun == "penalty" else "penalty"
            raise TypeError(
                f"{given!r} is a {other}, and a {noun} is needed here: penalties take weights, "
                "losses take original distances."
            )
    elif callable(given):
        given = adapter(given)
    else:
        raise TypeError(
            f"{noun} must be a name, an instance of {base.__name__} or a callable of torch "
            f"tensors; got {given!r}."
        )
    given.validate()
    return given


def _named(name: str, noun: str) -> Any:
    """An instance of a built-in function with its default parameters."""
    # By name, since this layer may not import the one above it, where the functions live.
    known = importlib.import_module({"penalty": "skmde.penalties", "loss": "skmde.losses"}[noun])
    makers = known.NAMED
    if name not in makers:
        close = difflib.get_close_matches(name, makers, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"unknown {noun} {name!r}; known names: {', '.join(sorted(makers))}.{hint}"
        )
    required = _required(makers[name])
    if required:
        raise ValueError(
            f"the {noun} {name!r} cannot be given by name, since {' and '.join(required)} has no "
            f"default; pass an instance, {_example(makers[name])}."
        )
    return makers[name]()


def _required(maker: Any) -> list[str]:
    """Arguments without a default."""
    parameters = inspect.signature(maker).parameters.values()
    by_position = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.default is p.empty and p.kind in by_position]


def _example(maker: Any) -> str:
    """How to construct an instance, for error messages."""
    return f"{maker.__name__}({', '.join(f'{name}=...' for name in _required(maker))})"
