"""Edges that join the connected components of a graph of neighbours."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from skmde._utils.warn import warn
from skmde.preprocessing.pairs.distances import MetricDistances


def bridges(X, labels, metric, metric_params, n_jobs):
    """The closest pair of items of every two components, with a warning.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Rows; or distances, for the metric "precomputed". Then infinite distances, and those that a
        sparse matrix does not store, are no pairs.
    labels : ndarray of shape (n,), int
        Connected component of each item, from 0.
    metric : str or callable
    metric_params : dict or None
    n_jobs : int or None

    Returns
    -------
    edges : ndarray of shape (b, 2), int
        Pairs ``i < j``; none for two components without a distance between them.
    lengths : ndarray of shape (b,), float64
    """
    parts = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    edges, lengths = _joining(X, parts, labels, metric, metric_params, n_jobs)
    if len(edges):
        warn(
            f"The graph of neighbours has {len(parts)} connected components; every two are joined "
            "by their closest pair of samples. Raise n_neighbors to avoid this.",
        )
    return edges, lengths


def _joining(X, parts, labels, metric, metric_params, n_jobs):
    """Edges and lengths as `bridges` returns them."""
    if isinstance(metric, str) and metric == "precomputed":
        if sp.issparse(X):
            return _closest_stored(sp.coo_array(X), labels)
        closest = partial(_closest_given, X)
    else:
        table = MetricDistances(metric, metric_params, n_jobs).fit(X)

        def closest(part, other):
            return _least(table.between(part, other))

    edges, lengths = [], []
    for k, part in enumerate(parts):
        for other in parts[k + 1 :]:
            i, j, length = closest(part, other)
            if np.isfinite(length):
                edges.append(sorted((part[i], other[j])))
                lengths.append(length)
    return np.array(edges, dtype=np.intp).reshape(-1, 2), np.array(lengths, dtype=np.float64)


def _closest_given(X, part, other):
    """The closest pair of two components by given distances, the mean of both directions."""
    with np.errstate(over="ignore"):
        return _least(0.5 * X[np.ix_(part, other)] + 0.5 * X[np.ix_(other, part)].T)


def _closest_stored(X, labels):
    """The closest pair of every two components between which distances are stored."""
    # without a loop over pairs of components: there may be one component for each item
    kept = (labels[X.row] != labels[X.col]) & np.isfinite(X.data)
    ends, lengths = np.stack([X.row, X.col], axis=1)[kept].astype(np.int64), X.data[kept]
    if not len(ends):
        return np.empty((0, 2), np.intp), np.empty(0)
    back = labels[ends[:, 0]] > labels[ends[:, 1]]
    ends[back] = ends[back, ::-1]
    pairs, inverse, counts = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.ravel()
    lengths = np.bincount(inverse, lengths / counts[inverse])
    groups = labels[pairs]
    order = np.lexsort([lengths, groups[:, 1], groups[:, 0]])
    groups = groups[order]
    first = np.append(True, (groups[1:] != groups[:-1]).any(axis=1))
    chosen = order[first]
    return np.sort(pairs[chosen], axis=1).astype(np.intp), lengths[chosen]


def _least(D):
    """Row, column and value of the smallest entry."""
    i, j = divmod(int(D.argmin()), D.shape[1])
    return i, j, D[i, j]
