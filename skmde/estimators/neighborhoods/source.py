"""The source of neighbours that the parameters of an estimator select."""

from __future__ import annotations

import numpy as np

from skmde._utils.validation import as_host_array
from skmde.estimators.neighborhoods.paths import PathPairs
from skmde.estimators.neighborhoods.weights import NeighborWeights
from skmde.estimators.pairs.neighbors import NeighborPairs
from skmde.preprocessing.neighbors.selection import checked_limits


def neighbor_source(
    X, n_neighbors, limits, *, metric, weights, width, default, random_state, n_jobs, **search
):
    """The source of the neighbours of samples.

    Parameters
    ----------
    X : ndarray, sparse matrix, or pair of arrays
        Checked input.
    n_neighbors : int or None
    limits : float, ndarray of shape (n,), or None
        Limits of distances; see `limits_of_samples`.
    metric : str or callable
    weights : str or callable
        The rule for the weights of pairs.
    width : float or None
    default : callable
        The number of neighbours for a number of samples.
    random_state : int
    n_jobs : int or None
    **search : dict
        Further arguments of :func:`~skmde.preprocessing.nearest_neighbors`.

    Returns
    -------
    source : PairSource
    """
    named = metric if isinstance(metric, str) else None
    rule = NeighborWeights(weights, width, of_similarities=named == "affinity")
    options = {"weights": rule, "default": default}
    options.update(random_state=random_state, n_jobs=n_jobs)
    if named == "graph":
        return PathPairs(X, n_neighbors, limits, **options)
    return NeighborPairs(X, n_neighbors, limits, metric=metric, **options, **search)


def limits_of_samples(max_distance, min_affinity, counted):
    """Limits of the distances of neighbours, for all samples or for each of nonzero weight.

    Parameters
    ----------
    max_distance : float, array-like of shape (n_samples,), or None
    min_affinity : float, array-like of shape (n_samples,), or None
        Least similarity of neighbours, whose reciprocal is the limit of a distance.
    counted : PositiveWeightSamples

    Returns
    -------
    limits : float, ndarray of shape (n_items,), or None
    """
    if min_affinity is not None:
        least = checked_limits(min_affinity, counted.n_samples, "min_affinity")
        limits = np.divide(1.0, least, out=np.full(np.shape(least), np.inf), where=least != 0)
        limits = float(limits) if limits.ndim == 0 else limits
    else:
        limits = checked_limits(max_distance, counted.n_samples)
    return counted.rows(limits) if np.ndim(limits) else limits


def check_limits(max_distance, min_affinity, metric):
    """Raise an error if a limit does not fit the metric."""
    similar = isinstance(metric, str) and metric == "affinity"
    if similar and max_distance is not None:
        raise ValueError(
            f"max_distance={_shown(max_distance)} limits distances, but metric='affinity' gives "
            "similarities; use min_affinity."
        )
    if not similar and min_affinity is not None:
        raise ValueError(
            f"min_affinity={_shown(min_affinity)} limits similarities, but metric={metric!r} gives "
            "distances; use max_distance."
        )


def check_pairs(edges, max_distance, min_affinity, weights):
    """Raise an error if there is no pair of neighbours, with the reason by these parameters."""
    if len(edges):
        return
    reason = "X has no finite distance between two samples"
    if max_distance is not None:
        reason = f"no pair is within max_distance={_shown(max_distance)}; increase it"
    elif min_affinity is not None:
        reason = f"no pair is as similar as min_affinity={_shown(min_affinity)}; reduce it"
    elif weights == "exponential" or callable(weights):
        reason = "all pairs have the weight 0; increase weights_width, or see weights"
    raise ValueError(f"No two samples are neighbours: {reason}.")


def _shown(limit):
    return repr(limit) if np.ndim(as_host_array(limit)) == 0 else "an array"
