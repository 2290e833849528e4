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
    if isinstance(metric, str) and metric == "precomputed":
        closest = partial(_closest_given, sp.csr_array(X) if sp.issparse(X) else X)
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
    if edges:
        warn(
            f"The graph of neighbours has {len(parts)} connected components; every two are joined "
            "by their closest pair of samples. Raise n_neighbors to avoid this.",
        )
    return np.array(edges, dtype=np.intp).reshape(-1, 2), np.array(lengths, dtype=np.float64)


def _closest_given(X, part, other):
    """The closest pair of two components by given distances, the mean of both directions."""
    if not sp.issparse(X):
        with np.errstate(over="ignore"):
            return _least(0.5 * X[np.ix_(part, other)] + 0.5 * X[np.ix_(other, part)].T)
    halves = X[part][:, other].tocoo(), X[other][:, part].T.tocoo()
    places = np.concatenate([half.row * np.int64(len(other)) + half.col for half in halves])
    lengths = np.concatenate([half.data for half in halves])
    if not len(lengths):
        return 0, 0, np.inf
    places, inverse, counts = np.unique(places, return_inverse=True, return_counts=True)
    lengths = np.bincount(inverse, lengths / counts[inverse])
    least = int(lengths.argmin())
    return *divmod(int(places[least]), len(other)), lengths[least]


def _least(D):
    """Row, column and value of the smallest entry."""
    i, j = divmod(int(D.argmin()), D.shape[1])
    return i, j, D[i, j]
