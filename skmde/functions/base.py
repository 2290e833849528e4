"""Distortion functions: the base classes of penalties and losses.

Consider a pair of items with embedding distance d. A *penalty* p and a weight w give the distortion
w p(d). A *loss* l and an original distance delta give the distortion l(delta, d). See chapter 4 of
the monograph. A distortion function stores its parameters and no data. It works elementwise on
torch tensors of any floating dtype and device. In addition to its value it provides

    slope(d) = p'(d) / d        and        curvature(d) = p''(d).

The gradient of p(||x_i - x_j||) with respect to x_i is ``slope * (x_i - x_j)``, so no division is
needed if p' vanishes at 0. Where the slope of a penalty diverges, distances below `D_FLOOR` are
replaced by `D_FLOOR`; for losses, this floor is in proportion to a delta below 1. Results that
overflow their dtype are clamped to its largest finite number.

d and delta are in units of the embedding.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator

from skmde.functions.stable import Tensor, finite, floored, floored_below


def _derivative(function: Callable[[Tensor], Tensor], d: Tensor, order: int) -> Tensor:
    """First or second derivative at d, by automatic differentiation."""
    # A solver runs under no_grad or inference_mode; differentiation must work inside both.
    with torch.inference_mode(False), torch.enable_grad():
        x = d.detach().clone().requires_grad_()
        y = function(x)
        for remaining in reversed(range(order)):
            if not y.requires_grad:
                return torch.zeros_like(d)
            (y,) = torch.autograd.grad(
                y.sum(), x, create_graph=remaining > 0, materialize_grads=True
            )
    return y


class DistortionFunction(BaseEstimator):
    """Common base of penalties and losses: validation, equality and arguments of the kernels.

    As in scikit-learn, the constructor only stores its arguments. Therefore `clone`, `set_params`
    and a grid search over ``attractive_penalty__exponent`` work. Treat an instance as immutable
    once it is in use.
    """

    # Every built-in function sets both in its class body: the integer that identifies it in the
    # compiled kernels, and the names of the parameters that the kernels take, in order.
    _kind: ClassVar[int | None] = None
    _kernel_arguments: ClassVar[tuple[str, ...]] = ()

    def validate(self) -> None:
        """Check the parameters. This happens when a function is used, not when it is constructed.

        Raises
        ------
        ValueError
            If a parameter is out of range. The message names the class, the parameter, its value
            and the rule.
        """

    def kernel_parameters(self) -> tuple[int, float, float] | None:
        """Arguments that select this function in the compiled kernels.

        Returns
        -------
        tuple of (int, float, float), or None
            The kind and its two parameters (see ``kinds.py``). None unless the class itself is
            built in: a subclass may compute something else, so it is evaluated in torch.
        """
        # Looked up in the class itself, so that a subclass does not inherit the fast kernel.
        kind = vars(type(self)).get("_kind")
        if kind is None:
            return None
        self.validate()
        a, b = [*(float(getattr(self, name)) for name in self._kernel_arguments), 0.0, 0.0][:2]
        return kind, a, b

    @property
    def varies_by_pair(self) -> bool:
        """Whether a parameter holds a number for each pair, so that all pairs belong together."""
        return False

    def of_pairs(self, positions: np.ndarray, n_pairs: int) -> Self:
        """The function of some of the pairs.

        Parameters
        ----------
        positions : ndarray of int of shape (k,)
            Positions of these pairs in the list of all.
        n_pairs : int
            Number of all pairs.

        Returns
        -------
        DistortionFunction
            Itself, unless a parameter holds a number for each pair.

        Raises
        ------
        ValueError
            If a parameter does not hold a number for each of the pairs.
        """
        return self

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
        return self._comparable_parameters() == other._comparable_parameters()

    def __hash__(self) -> int:
        return hash((type(self), tuple(self._comparable_parameters().values())))

    def _comparable_parameters(self) -> dict[str, Any]:
        return self.get_params(deep=False)


class Penalty(DistortionFunction):
    """Base class of penalties p(d), functions of the embedding distance alone.

    A subclass must define `value`. If it does not define `slope` and `curvature`, they are computed
    by automatic differentiation. The distortion of a pair with weight w is w p(d). Since p
    increases with d, the pair attracts if w > 0 and repels if w < 0. A function that depends on w
    in another way overrides the ``weighted_`` methods.

    See Also
    --------
    Loss : Base class of losses l(delta, d), which compare d with an original distance delta.
    Quadratic :
        Quadratic penalty, d^2. With a standardization constraint it gives spectral embeddings.
    push_and_pull :
        Return the penalties of a problem in which some pairs attract and others repel.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

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

    #: The degree k of homogeneity, p(s d) = s^k p(d), or None if p is not homogeneous.
    degree: float | None = None

    #: A distance at which the derivative has its typical magnitude: the solver's tolerance is
    #: relative to it.
    typical_distance: float = 1.0

    @property
    def smooth_length(self) -> float | None:
        """Length on which p varies, if p is a smooth function of d^2; otherwise None.

        Then sums over all pairs of items can be computed on a lattice.
        """
        return None

    #: Whether p is smooth but for short distances: p has no kink, and outside any ball it is a
    #: smooth function of d^2 on the length of the ball's radius. Then sums over all pairs of items
    #: can be computed on a lattice and over close pairs. Only read for built-in classes.
    _smooth_outside_core: ClassVar[bool] = False

    @property
    def smooth_outside_core(self) -> bool:
        """Whether p is smooth but for short distances."""
        return self._smooth_outside_core and self.kernel_parameters() is not None

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
        d = floored(d)
        return finite(_derivative(self._unclamped, d, 1) / d)

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
        return finite(_derivative(self._unclamped, floored(d), 2))

    def _unclamped(self, d: Tensor) -> Tensor:
        """The function to differentiate. Clamping an overflow would make its derivative NaN."""
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

    A subclass must define `value`. If it does not define `slope` and `curvature` (derivatives with
    respect to d), they are computed by automatic differentiation. A loss is 0 at d = delta and
    never negative. delta = 0 means that the two items are identical; a loss must be finite there.
    The distortion of a pair with weight w is w l(delta, d).

    See Also
    --------
    Penalty : Base class of penalties p(d), functions of the embedding distance alone.
    SquaredLoss : Squared loss, (delta - d)^2: raw stress.
    MDE : A minimum-distortion embedding problem.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.2 (losses).

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

    #: The degree k of homogeneity, l(s delta, s d) = s^k l(delta, d) for delta > 0, or None if l is
    #: not homogeneous. If l is homogeneous, an estimator may change the unit of length without
    #: changing the problem.
    degree: float | None = None

    def value(self, delta: Tensor, d: Tensor) -> Tensor:
        """Loss at the given distances.

        Parameters
        ----------
        delta, d : torch.Tensor
            Original and embedding distances, at least 0, of the same shape and dtype.

        Returns
        -------
        torch.Tensor of the shape and dtype of d
            Value of l(delta, d).
        """
        raise NotImplementedError(f"{type(self).__name__} must define value(delta, d).")

    def slope(self, delta: Tensor, d: Tensor) -> Tensor:
        """Derivative with respect to d, divided by d.

        Parameters
        ----------
        delta, d : torch.Tensor
            Original and embedding distances, at least 0, of the same shape and dtype.

        Returns
        -------
        torch.Tensor of the shape and dtype of d
            Value of l'(delta, d) / d, finite at d = 0.
        """
        d = floored_below(delta, d)
        return finite(_derivative(lambda x: self._unclamped(delta, x), d, 1) / d)

    def curvature(self, delta: Tensor, d: Tensor) -> Tensor:
        """Second derivative with respect to d.

        Parameters
        ----------
        delta, d : torch.Tensor
            Original and embedding distances, at least 0, of the same shape and dtype.

        Returns
        -------
        torch.Tensor of the shape and dtype of d
            Value of l''(delta, d), finite at d = 0.
        """
        d = floored_below(delta, d)
        return finite(_derivative(lambda x: self._unclamped(delta, x), d, 2))

    def _unclamped(self, delta: Tensor, d: Tensor) -> Tensor:
        """The function to differentiate. Clamping an overflow would make its derivative NaN."""
        return self.value(delta, d)
