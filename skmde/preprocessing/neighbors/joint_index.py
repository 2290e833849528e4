"""Neighbours after rows are added, without a second search among the old rows."""

from __future__ import annotations

import numpy as np

from skmde.preprocessing.neighbors.search import NeighborIndex, nearest_neighbors
from skmde.preprocessing.neighbors.selection import sort_rows

__all__ = ["JointIndex", "joined_rows"]


class JointIndex:
    """Search over the rows of two indexes. The rows of the second are numbered after the first's.

    Parameters
    ----------
    first, second : NeighborIndex
        Indexes with the same metric.
    """

    def __init__(self, first, second):
        self.first, self.second = first, second
        self.n_samples_ = first.n_samples_ + second.n_samples_

    def kneighbors(self, X, k):
        """The nearest training rows of each row; see :meth:`NeighborIndex.kneighbors`."""
        far = _shifted(self.second.kneighbors(X, k), self.first.n_samples_)
        return _nearest(k, self.first.kneighbors(X, k), far)


def joined_rows(index, tables, X, n_neighbors, **search):
    """Neighbours tables and index of all rows, given those of the first n rows.

    Parameters
    ----------
    index : NeighborIndex or JointIndex
        Index of the first n rows.
    tables : pair of ndarray of shape (n, k)
        Indices and distances of the neighbours of the first n rows.
    X : ndarray or sparse matrix of shape (n + q, d)
        The first n rows, followed by the added rows.
    n_neighbors : int or None
    **search : dict
        Other arguments of :func:`~skmde.preprocessing.nearest_neighbors`, the same as for the
        first rows.

    Returns
    -------
    indices, distances, index
        As :func:`~skmde.preprocessing.nearest_neighbors` returns them.
    """
    base = index.first if isinstance(index, JointIndex) else index
    n, n_base = index.n_samples_, base.n_samples_
    k = n_neighbors
    too_few = k is None or k > tables[0].shape[1]
    # The further rows alone would give the metric other parameters.
    if too_few or X.shape[0] > 2 * n_base or base.metric_depends_on_rows:
        return nearest_neighbors(X, n_neighbors, **search)
    options = {name: search[name] for name in ("metric", "metric_params", "n_jobs", "device")}
    options.update(n_neighbors=k, random_state=search["random_state"])
    further = NeighborIndex(**options).fit(X[n:])
    recent = further if n == n_base else NeighborIndex(**options).fit(X[n_base:])
    among = _shifted(further.kneighbors(None, k), n)
    back = _shifted(further.kneighbors(X[:n], k), n)
    near = _nearest(k, index.kneighbors(X[n:], k), among)
    first = _nearest(k, tables, back)
    joined = (np.concatenate(parts) for parts in zip(first, near, strict=True))
    return *joined, JointIndex(base, recent)


def _shifted(tables, offset):
    indices, distances = tables
    return np.where(indices >= 0, indices + np.int32(offset), np.int32(-1)), distances


def _nearest(k, first, second):
    """The k nearest neighbours of two tables for the same rows."""
    indices, distances = (np.hstack(parts) for parts in zip(first, second, strict=True))
    indices, distances = sort_rows(indices, distances)
    return indices[:, :k], distances[:, :k]
