"""Edges that join the connected components of a graph of neighbours."""

from __future__ import annotations

import numpy as np

from skmde._utils.warn import warn
from skmde.preprocessing.pairs.distances import MetricDistances


def bridges(X, labels, metric, metric_params, n_jobs):
    """The closest pair of rows of every two components, with a warning.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    labels : ndarray of shape (n,), int
        Connected component of each row, from 0.
    metric : str or callable
    metric_params : dict or None
    n_jobs : int or None

    Returns
    -------
    edges : ndarray of shape (b, 2), int
        Pairs ``i < j``.
    lengths : ndarray of shape (b,), float64
    """
    parts = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    warn(
        f"The graph of neighbours has {len(parts)} connected components; every two are joined by "
        "their closest pair of samples. Raise n_neighbors to avoid this.",
    )
    table = MetricDistances(metric, metric_params, n_jobs).fit(X)
    edges, lengths = [], []
    for k, part in enumerate(parts):
        for other in parts[k + 1 :]:
            D = table.between(part, other)
            i, j = divmod(int(D.argmin()), len(other))
            edges.append(sorted((part[i], other[j])))
            lengths.append(D[i, j])
    return np.array(edges), np.array(lengths)
