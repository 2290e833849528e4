"""Names of the built-in distortion functions, and conversion of user input to instances."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch

from skmde.functions.adapters import CallableLoss, CallablePenalty
from skmde.functions.base import DistortionFunction, Loss, Penalty
from skmde.functions.logarithms import Log, Log1p, LogRatio
from skmde.functions.powers import Cauchy, Cubic, InversePower, Linear, Power, Quadratic
from skmde.functions.relative_losses import FractionalLoss, SoftFractionalLoss, WeightedSquaredLoss
from skmde.functions.residual_losses import (
    AbsoluteLoss,
    CubicLoss,
    HuberLoss,
    LogisticLoss,
    PowerLoss,
    SquaredLoss,
)
from skmde.functions.thresholds import Barrier, Hinge, Huber, Logistic, Sigmoid

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
    "cauchy": Cauchy,
    "sigmoid": Sigmoid,
    "hinge": Hinge,
    "barrier": Barrier,
}

LOSSES: dict[str, type[Loss]] = {
    "squared": SquaredLoss,
    "weighted_squared": WeightedSquaredLoss,
    "huber": HuberLoss,
    "absolute": AbsoluteLoss,
    "logistic": LogisticLoss,
    "fractional": FractionalLoss,
    "soft_fractional": SoftFractionalLoss,
    "power": PowerLoss,
    "cubic": CubicLoss,
}

# The names that `resolve_loss` accepts; those of `resolve_penalty` are the keys of PENALTIES.
NAMED_LOSSES: dict[str, Callable[[], Loss]] = {
    **LOSSES,
    "sammon": functools.partial(WeightedSquaredLoss, "sammon"),
    "kamada_kawai": functools.partial(WeightedSquaredLoss, "kamada_kawai"),
}


def resolve_penalty(penalty: Any) -> Penalty:
    """Return a validated penalty for a name, an instance or a callable.

    Raises
    ------
    ValueError
        If the name is unknown or a parameter is out of range.
    TypeError
        If it is a class, a loss, or an object that is not callable.

    Examples
    --------
    >>> resolve_penalty("log1p")
    Log1p()
    """
    return _resolve(penalty, "penalty", PENALTIES, Penalty, CallablePenalty)


def resolve_loss(loss: Any) -> Loss:
    """Return a validated loss for a name, an instance or a callable.

    Raises the same errors as `resolve_penalty`.

    Examples
    --------
    >>> resolve_loss("sammon")
    WeightedSquaredLoss(kappa='sammon')
    """
    return _resolve(loss, "loss", NAMED_LOSSES, Loss, CallableLoss)


def _resolve(
    given: Any, noun: str, makers: Mapping[str, Callable[[], Any]], base: Any, adapter: Any
) -> Any:
    if isinstance(given, str):
        given = _named(given, noun, makers)
    elif inspect.isclass(given):
        usable = issubclass(given, (DistortionFunction, torch.nn.Module))
        advice = (
            f"pass an instance, e.g. {example_call(given)}"
            if usable
            else f"pass a name, an instance of {base.__name__} or a callable of torch tensors"
        )
        raise TypeError(f"{noun} is the class {given.__name__}; {advice}.")
    if isinstance(given, DistortionFunction):
        if not isinstance(given, base):
            other = "loss" if noun == "penalty" else "penalty"
            raise TypeError(
                f"{given!r} is a {other}; pass a {noun} instead. Penalties take weights, losses "
                "take original distances."
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


def _named(name: str, noun: str, makers: Mapping[str, Callable[[], Any]]) -> Any:
    """An instance of a built-in function with its default parameters."""
    if name not in makers:
        close = difflib.get_close_matches(name, makers, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        if noun == "loss" and name in PENALTIES:
            hint = f" {name!r} is a penalty, for pairs with weights."
        elif noun == "penalty" and name in NAMED_LOSSES:
            hint = f" {name!r} is a loss, for pairs with original distances (deviations)."
        raise ValueError(
            f"unknown {noun} {name!r}; known names: {', '.join(sorted(makers))}.{hint}"
        )
    required = _required(makers[name])
    if required:
        raise ValueError(
            f"the {noun} {name!r} cannot be given by name, because {' and '.join(required)} has no "
            f"default; pass an instance, {example_call(makers[name])}."
        )
    return makers[name]()


def _required(maker: Any) -> list[str]:
    """Arguments without a default."""
    parameters = inspect.signature(maker).parameters.values()
    by_position = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.default is p.empty and p.kind in by_position]


def example_call(maker: Any) -> str:
    """Constructor call to show in error messages."""
    return f"{maker.__name__}({', '.join(f'{name}=...' for name in _required(maker))})"


def push_and_pull(attractive: Any = "log1p", repulsive: Any = "log") -> tuple[Penalty, Penalty]:
    """Return the penalties of a problem in which some pairs attract and others repel.

    This replaces ``PushAndPull`` of PyMDE. The result is a valid ``distortion`` of `skmde.MDE`,
    which applies the first penalty to pairs with positive weights and the second to pairs with
    negative weights.

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

    See Also
    --------
    MDE : A minimum-distortion embedding problem.
    PreserveNeighbors : Minimum-distortion embedding that keeps nearest neighbours together.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1 (penalties).

    Examples
    --------
    >>> from skmde import Huber, push_and_pull
    >>> push_and_pull(Huber(threshold=1.0))
    (Huber(threshold=1.0), Log())
    """
    return resolve_penalty(attractive), resolve_penalty(repulsive)
