"""The only file that uses scikit-learn's private API or depends on its version."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty: scikit-learn before 1.9 has no callbacks."""


from sklearn.utils import validation
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.validation import check_is_fitted

from skmde._utils.ranks.together import by_all_ranks
from skmde._utils.validation import as_host_array, check_convertible

__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "Interval",
    "RenamedOptions",
    "StrOptions",
    "TransformerMixin",
    "available_if",
    "callbacks_of_running_fit",
    "check_array",
    "check_is_fitted",
    "end_fit_task",
    "fit_context",
    "has_callbacks",
    "validate_data",
    "wants_pandas",
    "weighted_fit_context",
]

Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """scikit-learn's decorator, which keeps the signature for type checkers."""
    return cast("Callable[[Method], Method]", _available_if(check))


# scikit-learn looks for NaN in the sum of all numbers. If float32 numbers of both signs overflow
# it, that warns of an invalid value, although all numbers are finite.
_quietly = np.errstate(invalid="ignore")


@_quietly
def check_array(array: Any, **options: Any) -> Any:
    """scikit-learn's function for tensors, too, and with errors that name a column of a frame."""
    check_convertible(array, options.get("input_name") or "X")
    return validation.check_array(as_host_array(array), **options)


@_quietly
def validate_data(estimator: Any, X: Any, **options: Any) -> Any:
    """scikit-learn's function, with the same additions."""
    check_convertible(X)
    return validation.validate_data(estimator, as_host_array(X), **options)


def fit_context(method: Method) -> Method:
    """Decorate `fit` with scikit-learn's check of parameters, and let ranks share its work.

    Objects passed as parameters (penalties, constraints) check themselves when they are used.
    """
    checked: Method = _fit_context(prefer_skip_nested_validation=True)(by_all_ranks(method))
    return checked


def wants_pandas(estimator: Any) -> bool:
    """Whether `set_output`, or scikit-learn's configuration, makes the output a pandas frame."""
    return bool(_get_output_config("transform", estimator)["dense"] == "pandas")


class RenamedOptions(StrOptions):
    """Some strings; the error for another one says what the names of other libraries are here.

    Parameters
    ----------
    options : set of str
    elsewhere : dict of str to str
        Names of other libraries, and the options that are the same.
    """

    def __init__(self, options: set[str], elsewhere: dict[str, str]) -> None:
        super().__init__(options)
        self.elsewhere = elsewhere

    def __str__(self) -> str:
        names = ", ".join(f"{theirs!r} is {ours!r} here" for theirs, ours in self.elsewhere.items())
        return f"{super().__str__()} ({names})"


def check_parameters(estimator: Any) -> None:
    """scikit-learn's check of single parameters, which `fit_context` makes before a fit."""
    estimator._validate_params()


def weighted_fit_context(method: Method) -> Method:
    """`fit_context` for a `fit` in which a sample of weight 2 is not the same as two copies of it.

    If the signature of an instance's `fit` names `sample_weight`, ``check_estimator`` requires
    that the two are the same, and no tag switches this off. So the `fit` of the class names the
    argument, for readers and for metadata routing. The `fit` of an instance accepts it as one of
    its further keyword arguments.
    """
    return cast(Method, _WeightedFit(method))


class _WeightedFit:
    def __init__(self, method: Callable[..., Any]) -> None:
        self._of_class, self._of_instance = fit_context(method), fit_context(method)
        signature = inspect.signature(method)
        named = [p for p in signature.parameters.values() if p.name != "sample_weight"]
        further = inspect.Parameter("fit_params", inspect.Parameter.VAR_KEYWORD)
        self._of_instance.__signature__ = (  # type: ignore[attr-defined]
            signature.replace(parameters=[*named, further])
        )

    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., Any]:
        return self._of_class if instance is None else MethodType(self._of_instance, instance)


# Attributes that `_init_callback_context` sets on an estimator. After the fit, `_fit_context`
# reads both and tears the callbacks down.
_FIT_TASK = "_callback_fit_ctx"
_OF_RUNNING_FIT = (_FIT_TASK, "_skl_callbacks_to_teardown")


def has_callbacks(estimator: Any) -> bool:
    """Whether the estimator has callbacks, set by `set_callbacks`."""
    return bool(getattr(estimator, "_skl_callbacks", None))


def end_fit_task(estimator: Any) -> None:
    """Notify the callbacks, if there are any, that the fit has ended."""
    task = getattr(estimator, _FIT_TASK, None)
    if task is not None:
        task.call_on_fit_task_end(estimator=estimator, reconstruction_attributes={})


def callbacks_of_running_fit(estimator: Any) -> dict[str, Any]:
    """The attributes, by name, that scikit-learn needs to tear down callbacks after a fit."""
    return {name: vars(estimator)[name] for name in _OF_RUNNING_FIT if name in vars(estimator)}
