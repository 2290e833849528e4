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
    "check_is_fitted",
    "fit_context",
    "validate_data",
]

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(method: Method) -> Method:
    """scikit-learn's check of parameters around `fit`.

    Parameter objects inside an estimator (penalties, constraints) check themselves when used.
    """
    checked: Method = _fit_context(prefer_skip_nested_validation=True)(method)
    return checked
