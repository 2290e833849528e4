"""The parameters of each metric, and the metrics that are another one under a second name."""

from __future__ import annotations

import inspect

import numpy as np

from skmde.preprocessing.neighbors.metrics.names import known_to_sklearn

__all__ = ["known_parameters", "plain_metric", "refuse_parameters"]

# Other names of the same metrics. pynndescent and scikit-learn share few of them.
_SAME = {
    "cityblock": "manhattan",
    "linf": "chebyshev",
    "linfinity": "chebyshev",
    "linfty": "chebyshev",
    "taxicab": "manhattan",
    "wminkowski": "minkowski",
    "weighted_minkowski": "minkowski",
}
_OF_SKLEARN = {
    **dict.fromkeys("cityblock cosine euclidean haversine l1 l2 manhattan".split(), ()),
    "mahalanobis": ("V", "VI"),
    "minkowski": ("p", "w"),
    "nan_euclidean": ("missing_values",),
    "seuclidean": ("V",),
}
_OF_SCIPY = ("w",)
# Names of pynndescent without which all distances are 0.
_NEEDED = dict.fromkeys("kantorovich sinkhorn wasserstein".split(), "cost")


def known_parameters(metric):
    """The names of a metric's parameters; None for a function, which checks its own."""
    if callable(metric):
        return None
    metric = _SAME.get(metric, metric)
    if metric in _OF_SKLEARN:
        return _OF_SKLEARN[metric]
    if known_to_sklearn(metric):
        return _OF_SCIPY
    from pynndescent.distances import named_distances

    function = named_distances[metric]
    return tuple(inspect.signature(getattr(function, "py_func", function)).parameters)[2:]


def refuse_parameters(metric, metric_params):
    """Raise ValueError if a metric takes no parameters, but some are given."""
    if metric_params:
        raise ValueError(
            f"metric={metric!r} takes no parameters, got metric_params with "
            f"{sorted(metric_params)}. Remove metric_params, or compute the distances with them."
        )


def plain_metric(metric, metric_params, n_features):
    """Check the parameters of a metric, and rename it if a simpler name says the same.

    Parameters
    ----------
    metric : str or callable
    metric_params : dict or None
    n_features : int
        Number of features of the data.

    Returns
    -------
    metric : str or callable
    params : dict

    Raises
    ------
    ValueError
        If the metric has no parameter of this name, or cannot have this value.
    """
    params = dict(metric_params or {})
    known = known_parameters(metric)
    if known is None:
        return metric, params
    unused = sorted(set(params) - set(known))
    if unused:
        takes = f"Its parameters are {', '.join(known)}." if known else "It has no parameters."
        raise ValueError(
            f"metric={metric!r} has no parameter {unused[0]!r}. {takes} Remove {unused[0]!r} from "
            "metric_params, or choose another metric."
        )
    needed = _NEEDED.get(metric)
    if needed is not None and needed not in params:
        raise ValueError(
            f"metric={metric!r} needs metric_params with {needed!r}, a matrix of the costs between "
            f"all pairs of the {n_features} features."
        )
    metric = _SAME.get(metric, metric)
    if "w" in params:
        params["w"] = _checked_vector(params["w"], "w", n_features, zero=True)
    if metric == "standardised_euclidean":
        if "sigma" not in params:
            return "euclidean", params  # of variances 1; pynndescent's own default is two numbers
        variances = _checked_vector(params["sigma"], "sigma", n_features, zero=False)
        return "seuclidean", {"V": variances}
    if metric == "minkowski":
        return _plain_minkowski(params)
    return metric, params


def _plain_minkowski(params):
    given = params.pop("p", 2)
    p = float(given) if np.ndim(given) == 0 and is_numeric(given) else np.nan
    if not p > 0:
        raise ValueError(f"metric='minkowski' needs a positive p, got p={given!r}.")
    # Weights of the largest difference only say which features count, as in SciPy.
    if np.isinf(p) and "w" in params:
        params["w"] = (params["w"] > 0).astype(np.float64)
    if "w" not in params and p in (1, 2, np.inf):
        return {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}[p], params
    return "minkowski", {"p": p, **params}


def is_numeric(values):
    """Whether a parameter is a real number or a dense array of them."""
    try:
        return np.asarray(values).dtype.kind in "fiub"
    except ValueError:  # rows of several lengths
        return False


def as_floats(values, name):
    """A parameter as an array of float64; raise ValueError if it does not hold numbers."""
    if not is_numeric(values):
        raise ValueError(
            f"metric_params[{name!r}] must be a dense array of numbers, got {values!r}."
        )
    return np.asarray(values, np.float64)


def _checked_vector(values, name, n_features, *, zero):
    values = as_floats(values, name)
    if values.shape != (n_features,):
        raise ValueError(
            f"metric_params[{name!r}] must hold one number for each of the {n_features} features, "
            f"got shape {values.shape}."
        )
    bad = ~np.isfinite(values) | (values < 0 if zero else values <= 0)
    if bad.any():
        least = "at least 0" if zero else "positive"
        raise ValueError(
            f"metric_params[{name!r}] must be finite and {least}, got {values[bad][0]} for feature "
            f"{np.flatnonzero(bad)[0]}."
        )
    return values


def checked_variances(values, n_features):
    """The parameter V of "seuclidean": one positive number for each feature."""
    return _checked_vector(values, "V", n_features, zero=False)
