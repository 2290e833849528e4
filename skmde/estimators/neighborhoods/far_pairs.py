"""Distances of any pairs of samples, by which dissimilar ones are chosen."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde.preprocessing.neighbors.similarities import similarity_distances
from skmde.preprocessing.pairs.distances import pair_distances


def lengths_of_pairs(X, metric, metric_params, neighbors, n_jobs):
    """A function from pairs of samples to their distances; infinite where none is given.

    Parameters
    ----------
    X : ndarray, sparse matrix, or pair of arrays
        Checked input.
    metric : str or callable
    metric_params : dict or None
    neighbors : PairSource
        For "graph", estimates path lengths.
    n_jobs : int or None
    """
    named = metric if isinstance(metric, str) else None
    if named == "graph":
        return neighbors.estimated_lengths
    if named == "affinity":
        return _entries(similarity_distances(X))
    if named == "precomputed":
        return _of_tables(*X) if isinstance(X, tuple) else _entries(X)

    def lengths(edges):
        options = {"metric": metric, "metric_params": metric_params, "n_jobs": n_jobs}
        return pair_distances(X, edges, **options)

    return lengths


def _entries(matrix):
    """Entries of a symmetric matrix of distances; a sparse one stores the finite ones."""
    if not sp.issparse(matrix):
        return lambda edges: matrix[edges[:, 0], edges[:, 1]].astype(np.float64)
    coo = sp.coo_array(matrix)
    return _stored(coo.row, coo.col, coo.data, matrix.shape[0])


def _of_tables(indices, distances):
    n = len(indices)
    there = (indices >= 0) & np.isfinite(distances)
    rows = np.repeat(np.arange(n), there.sum(axis=1))
    return _stored(rows, indices[there].astype(np.int64), distances[there], n)


def _stored(rows, columns, values, n):
    """Distances of listed pairs, in either order; the first of two counts."""
    kept = rows != columns
    low, high = np.minimum(rows, columns)[kept], np.maximum(rows, columns)[kept]
    codes, first = np.unique(low.astype(np.int64) * n + high, return_index=True)
    values = np.append(values[kept][first], np.inf).astype(np.float64)

    def lengths(edges):
        wanted = edges[:, 0].astype(np.int64) * n + edges[:, 1]
        at = np.searchsorted(codes, wanted)
        found = np.append(codes, -1)[at] == wanted
        return np.where(found, values[at], np.inf)

    return lengths
