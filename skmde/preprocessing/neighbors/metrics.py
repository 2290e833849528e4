"""What is known about metrics: which are Euclidean in disguise, and what leaves them unchanged.

A metric of *Euclidean form* is a function of the squared Euclidean distance of suitably prepared
rows, so the fast searches serve it:

    euclidean, l2, minkowski (p = 2)   sqrt(s)
    sqeuclidean                        s
    cosine                             s / 2 of rows of length 1
    correlation                        the same, after subtracting each row's mean

A row without a direction (all zeros; constant for correlation) is at distance 1 from every
other row under the last two.
"""

from __future__ import annotations

import inspect

import numpy as np

__all__ = [
    "check_metric",
    "euclidean_form",
    "for_sklearn",
    "from_squared",
    "homogeneity",
    "is_angular",
    "is_boolean",
    "is_shift_invariant",
    "known_to_pynndescent",
    "known_to_sklearn",
]

_SHIFT_INVARIANT = frozenset(
    "euclidean l2 sqeuclidean manhattan l1 cityblock chebyshev minkowski seuclidean "
    "mahalanobis".split()
)
_HOMOGENEITY = dict.fromkeys(
    "euclidean l2 manhattan l1 cityblock chebyshev minkowski".split(), 1
) | {"sqeuclidean": 2}
_BOOLEAN = frozenset(
    "dice jaccard rogerstanimoto russellrao sokalmichener sokalsneath yule".split()
)


def euclidean_form(metric, metric_params):
    """ "euclidean", "sqeuclidean", "cosine" or "correlation" for a metric of that form, or None."""
    if callable(metric):
        return None
    params = dict(metric_params or {})
    if metric == "minkowski" and float(params.pop("p", 2)) != 2:
        return None
    if params:
        return None
    if metric in ("euclidean", "l2", "minkowski"):
        return "euclidean"
    return metric if metric in ("sqeuclidean", "cosine", "correlation") else None


def is_angular(form):
    """Whether rows are scaled to length 1 first."""
    return form in ("cosine", "correlation")


def is_shift_invariant(metric):
    """Whether adding one vector to all rows changes no distance."""
    return not callable(metric) and metric in _SHIFT_INVARIANT


def homogeneity(metric):
    """The power of a factor of the data by which distances grow, or None if there is none."""
    return None if callable(metric) else _HOMOGENEITY.get(metric)


def is_boolean(metric):
    """Whether scikit-learn reads the data as true and false."""
    return not callable(metric) and metric in _BOOLEAN


def from_squared(form, squared):
    """Distances from squared Euclidean distances of prepared rows."""
    if form == "euclidean":
        return np.sqrt(squared)
    return squared if form == "sqeuclidean" else squared / 2


def known_to_sklearn(metric):
    """Whether `sklearn.metrics.pairwise_distances` takes the metric."""
    if callable(metric):
        return True
    from sklearn.neighbors import VALID_METRICS

    return metric in VALID_METRICS["brute"] and metric != "precomputed"


def for_sklearn(metric):
    """The metric in a form that `sklearn.metrics.pairwise_distances` takes."""
    if known_to_sklearn(metric):
        return metric
    from pynndescent.distances import named_distances

    return named_distances[metric]


def known_to_pynndescent(metric, sparse):
    """Whether pynndescent can search under the metric."""
    if callable(metric):
        return hasattr(metric, "py_func")
    from pynndescent.distances import named_distances
    from pynndescent.sparse import sparse_named_distances

    return metric in (sparse_named_distances if sparse else named_distances)


def check_metric(metric, sparse=False):
    """Raise ValueError for a metric that neither scikit-learn nor pynndescent names.

    A class can be called, and is no metric: a TypeError.
    """
    if inspect.isclass(metric):
        raise TypeError(
            f"metric is the class {metric.__name__}; give a name, such as 'euclidean', or a "
            "function of two rows that returns their distance."
        )
    if (
        euclidean_form(metric, None)
        or known_to_sklearn(metric)
        or known_to_pynndescent(metric, sparse)
    ):
        return
    from pynndescent.distances import named_distances
    from sklearn.neighbors import VALID_METRICS

    names = sorted({"precomputed", *VALID_METRICS["brute"], *named_distances})
    raise ValueError(f"Unknown metric {metric!r}. Use a callable or one of {', '.join(names)}.")
