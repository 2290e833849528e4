"""The only file that touches scikit-learn's private parts, or asks which version it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

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
]

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(method: Method) -> Method:
    """scikit-learn's check of parameters around `fit`.

    Parameter objects inside an estimator (penalties, constraints) check themselves when used.
    """
    checked: Method = _fit_context(prefer_skip_nested_validation=True)(method)
    return checked


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
