"""Properties of metrics: Euclidean form, invariance to shifts, homogeneity, boolean data.

A metric of *Euclidean form* is a function of the squared Euclidean distance s of suitably prepared
rows, so the fast searches support it:

    euclidean, l2, minkowski (p = 2)   sqrt(s)
    sqeuclidean                        s
    cosine                             s / 2, of rows of length 1
    correlation                        the same, after subtracting each row's mean

Under the last two metrics, a row without a direction (all zeros; for correlation, constant) has
distance 1 from every other row.
"""

from __future__ import annotations

import functools
import inspect

import numba
import numpy as np

__all__ = [
    "agrees_with_pynndescent",
    "check_metric",
    "euclidean_form",
    "for_sklearn",
    "from_squared",
    "homogeneity",
    "is_angular",
    "is_boolean",
    "is_shift_invariant",
    "is_squared",
    "known_to_pynndescent",
    "known_to_sklearn",
]

_SHIFT_INVARIANT = frozenset(
    "euclidean l2 sqeuclidean manhattan l1 cityblock chebyshev minkowski seuclidean "
    "mahalanobis".split()
)
_HOMOGENEITY = (
    dict.fromkeys("euclidean l2 manhattan l1 cityblock chebyshev minkowski".split(), 1)
    | dict.fromkeys("braycurtis canberra correlation hellinger".split(), 0)
    | {"sqeuclidean": 2}
)
_BOOLEAN = frozenset(
    "dice jaccard kulsinski matching rogerstanimoto russellrao sokalmichener sokalsneath "
    "yule".split()
)


# Squares of Euclidean distances up to a factor; the first two are those of vectors of length 1.
_SQUARED = frozenset(["cosine", "correlation", "sqeuclidean"])
_SIMILARITIES = frozenset(["direct_cosine", "dot", "inner_product", "true_angular"])


def euclidean_form(metric, metric_params):
    """The form ("euclidean", "sqeuclidean", "cosine", "correlation"), or None for other metrics."""
    if callable(metric):
        return None
    params = dict(metric_params or {})
    if metric == "minkowski" and np.array_equal(params.get("p"), 2):
        del params["p"]
    if params:
        return None
    if metric in ("euclidean", "l2", "minkowski"):
        return "euclidean"
    return metric if metric in ("sqeuclidean", "cosine", "correlation") else None


def is_angular(form):
    """Whether the rows of this form are scaled to length 1."""
    return form in ("cosine", "correlation")


def is_shift_invariant(metric):
    """Whether adding one vector to all rows changes no distance."""
    return not callable(metric) and metric in _SHIFT_INVARIANT


def is_squared(metric):
    """Whether the metric is the square of a distance.

    Then its roots add up along paths, and a dimension estimated from its values is half of that of
    the data.
    """
    return not callable(metric) and metric in _SQUARED


def homogeneity(metric):
    """The degree p of a homogeneous metric, d(c x, c y) = c^p d(x, y) for c > 0, or None."""
    return None if callable(metric) else _HOMOGENEITY.get(metric)


def is_boolean(metric):
    """Whether scikit-learn converts the data to booleans for this metric."""
    return not callable(metric) and metric in _BOOLEAN


def from_squared(form, squared):
    """Distances from squared Euclidean distances of prepared rows."""
    if form == "euclidean":
        return np.sqrt(squared)
    return squared if form == "sqeuclidean" else squared / 2


def known_to_sklearn(metric):
    """Whether `sklearn.metrics.pairwise_distances` accepts the metric."""
    if callable(metric):
        return True
    from sklearn.neighbors import VALID_METRICS

    return metric in VALID_METRICS["brute"] and metric != "precomputed"


def for_sklearn(metric):
    """The metric as a name or function that `sklearn.metrics.pairwise_distances` accepts."""
    if known_to_sklearn(metric):
        return metric
    return _of_pynndescent(metric)


@functools.cache
def _of_pynndescent(metric):
    """The compiled function of a metric, for rows of float64.

    pynndescent 0.5 compiles some functions for float32 alone, and sums in float32 there.
    """
    from pynndescent.distances import named_distances

    function = named_distances[metric]
    if getattr(function, "_can_compile", True):
        return function
    return numba.njit(fastmath=function.targetoptions.get("fastmath", False))(function.py_func)


def known_to_pynndescent(metric, sparse):
    """Whether pynndescent supports the metric."""
    if callable(metric):
        # For sparse rows, pynndescent calls a function with indices and values.
        return hasattr(metric, "py_func") and not sparse
    from pynndescent.distances import named_distances
    from pynndescent.sparse import sparse_named_distances

    return metric in (sparse_named_distances if sparse else named_distances)


def agrees_with_pynndescent(metric, params, sparse):
    """Whether pynndescent finds neighbours under the metric that the exact search would find."""
    if "w" in params:  # it has no weights
        return False
    if not callable(metric) and (metric == "russellrao" or (sparse and metric == "correlation")):
        return False  # it gives equal rows, or two rows of zeros, the distance 0
    return known_to_pynndescent(metric, sparse)


def check_metric(metric):
    """Raise ValueError if neither scikit-learn nor pynndescent has a metric of this name.

    A class is callable but is not a metric, and raises TypeError.
    """
    if inspect.isclass(metric):
        raise TypeError(
            f"metric is the class {metric.__name__}. Pass a name, such as 'euclidean', or a "
            "function of two rows that returns their distance."
        )
    if not callable(metric) and metric in _SIMILARITIES:
        raise ValueError(
            f"metric={metric!r} is no distance: it may be negative, or grow with the similarity. "
            'Use "cosine", which has the same neighbours for rows of length 1.'
        )
    if (
        euclidean_form(metric, None)
        or known_to_sklearn(metric)
        or known_to_pynndescent(metric, sparse=False)
    ):
        return
    from pynndescent.distances import named_distances
    from sklearn.neighbors import VALID_METRICS

    names = sorted({"precomputed", *VALID_METRICS["brute"], *named_distances} - _SIMILARITIES)
    raise ValueError(f"Unknown metric {metric!r}. Use a callable or one of {', '.join(names)}.")
