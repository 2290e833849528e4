"""A metric, made ready for one set of training rows."""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.sparse as sp

from skmde._utils.warn import warn
from skmde.preprocessing.neighbors.metrics.linear import linear_form
from skmde.preprocessing.neighbors.metrics.names import check_metric, euclidean_form
from skmde.preprocessing.neighbors.metrics.parameters import plain_metric

__all__ = ["FittedMetric", "largest_distance", "skips_missing"]

# These metrics read a row as a distribution.
_NONNEGATIVE = frozenset(
    "hellinger jensen-shannon jensen_shannon symmetric-kl symmetric_kl symmetric_kullback_liebler "
    "kantorovich wasserstein kantorovich-1d kantorovich_1d wasserstein-1d wasserstein_1d sinkhorn "
    "circular_kantorovich circular_wasserstein".split()
)
# Rows at this distance have no feature in common.
_NOTHING_SHARED = {"dice": 1.0, "hellinger": 1.0, "jaccard": 1.0}


def skips_missing(metric):
    """Whether rows may contain NaN, because the metric can skip it."""
    return callable(metric) or metric == "nan_euclidean"


def largest_distance(metric):
    """The distance of rows that share nothing, or None if the metric has no such distance."""
    return None if callable(metric) else _NOTHING_SHARED.get(metric)


class FittedMetric:
    """A metric, with the parameters that depend on data taken from the training rows.

    Parameters
    ----------
    metric : str or callable
    metric_params : dict or None
    X : ndarray or csr_array of shape (n, d)
        Training rows, in the form in which they are searched.

    Attributes
    ----------
    name : str or callable
        The metric of the rows that :meth:`rows` returns.
    params : dict
        Its parameters.
    depends_on_rows : bool
        Whether other training rows would give other distances.
    form : str or None
        Its Euclidean form; None if the searches for Euclidean distances do not support it.
    """

    def __init__(self, metric, metric_params, X):
        check_metric(metric)
        self.metric = metric
        plain, params = plain_metric(metric, metric_params, X.shape[1])
        if callable(metric):
            _check_function(metric, params, X)
        self._check_rows(X)
        if metric == "haversine":
            _warn_of_degrees(X)
        self.depends_on_rows = not params and metric in ("seuclidean", "mahalanobis")
        self._map, self.name, self.params = linear_form(plain, params, X)
        self.form = euclidean_form(self.name, self.params)
        if sp.issparse(X) and self.form == "correlation":
            self.form = None  # rows minus their means are not sparse

    @property
    def is_of_rows(self):
        """Whether the distances are those of the rows themselves, without a map."""
        return self._map is None

    def rows(self, X):
        """Rows, mapped so that their distances under `name` are those under the metric."""
        return X if self._map is None else self._map.apply(X)

    def unseen_rows(self, X):
        """The same for rows that are not training rows, after a check of their values."""
        self._check_rows(X)
        return self.rows(X)

    def _check_rows(self, X):
        if callable(self.metric):
            return
        values = X.data if sp.issparse(X) else X
        if self.metric in _NONNEGATIVE and values.size and values.min() < 0:
            raise ValueError(
                f"Negative values in data: metric={self.metric!r} needs rows of numbers that are "
                f"at least 0, such as counts or probabilities; got {values.min()}. Choose another "
                "metric, or transform the data."
            )
        if self.metric == "haversine" and X.shape[1] != 2:
            raise ValueError(
                "metric='haversine' needs 2 features, the latitude and the longitude in radians; "
                f"got {X.shape[1]}."
            )


def _warn_of_degrees(X):
    if X.shape[1] != 2:
        return
    latitude, longitude = (abs(X[:, [i]]).max() for i in (0, 1))
    if latitude > np.pi / 2 + 1e-6 or longitude > 2 * np.pi + 1e-6:
        warn(
            "metric='haversine' needs the latitude, then the longitude, in radians, but their "
            f"absolute values are up to {latitude:.4g} and {longitude:.4g}. Are they degrees? "
            "Convert them with numpy.radians, or swap the columns.",
        )


def _check_function(metric, params, X):
    """Raise an error if a function does not return one number."""
    if X.shape[0] < 2:
        return
    first, second = (X[[i]].toarray()[0] if sp.issparse(X) else np.array(X[i]) for i in (0, 1))
    value = metric(first.astype(np.float64), second.astype(np.float64), **params)
    is_array = isinstance(value, np.ndarray | np.generic)
    if isinstance(value, Real) or (is_array and value.ndim == 0 and value.dtype.kind in "fiub"):
        return
    kind = type(value).__name__
    size = f" of length {len(value)}" if isinstance(value, tuple | list) else ""
    raise ValueError(
        f"The metric must return one number, the distance of two rows; it returned a {kind}{size}. "
        "If it returns a gradient, too, pass a function that returns the distance alone."
    )
