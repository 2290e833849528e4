"""The only file that touches scikit-learn's private parts, or asks which version it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar, cast

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
        """Estimators take no callbacks of scikit-learn's."""


from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "Interval",
    "StrOptions",
    "TransformerMixin",
    "callbacks_of_running_fit",
    "check_is_fitted",
    "end_fit_task",
    "fit_context",
    "has_callbacks",
    "validate_data",
    "weighted_fit_context",
]

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(method: Method) -> Method:
    """scikit-learn's check of parameters around `fit`.

    Parameter objects inside an estimator (penalties, constraints) check themselves when used.
    """
    checked: Method = _fit_context(prefer_skip_nested_validation=True)(method)
    return checked


def weighted_fit_context(method: Method) -> Method:
    """`fit_context` for a `fit` that takes a sample of weight 2 for something else than two copies.

    ``check_estimator`` requires that the two are the same if the signature of an instance's `fit`
    names `sample_weight`, and no tag tells it otherwise. So the class's `fit` names the argument,
    for readers and for metadata routing; an instance's takes it among further keywords.
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


# What `_init_callback_context` sets on an estimator; `_fit_context` looks for both after the fit
# and takes the callbacks down.
_FIT_TASK = "_callback_fit_ctx"
_OF_RUNNING_FIT = (_FIT_TASK, "_skl_callbacks_to_teardown")


def has_callbacks(estimator: Any) -> bool:
    """Whether `set_callbacks` gave the estimator any."""
    return bool(getattr(estimator, "_skl_callbacks", None))


def end_fit_task(estimator: Any) -> None:
    """Tell the callbacks, if there are any, that the fit has come to its end."""
    task = getattr(estimator, _FIT_TASK, None)
    if task is not None:
        task.call_on_fit_task_end(estimator=estimator, reconstruction_attributes={})


def callbacks_of_running_fit(estimator: Any) -> dict[str, Any]:
    """The attributes, by name, that scikit-learn needs to take callbacks down after a fit."""
    return {name: vars(estimator)[name] for name in _OF_RUNNING_FIT if name in vars(estimator)}
