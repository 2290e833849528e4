"""What the functions of this package are given: a fitted estimator, its data, and items."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.rows import count_rows
from skmde._utils.sklearn_compat import check_is_fitted
from skmde.estimators.base.input import checked_neighbor_tables
from skmde.metrics.fitted import is_estimator, last_step, metric_of, read_items
from skmde.preprocessing.graphs.adjacency import as_adjacency, is_networkx


def judged(estimator):
    """The fitted estimator that holds the embedding; that of a classifier is within it.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    TypeError
        If it is no estimator.
    ValueError
        If it is a pipeline, or an estimator of another package.
    """
    if not is_estimator(estimator) and not isinstance(estimator, type):
        raise TypeError(
            "estimator must be a fitted estimator of skmde; got an object of type "
            f"{type(estimator).__name__}."
        )
    if hasattr(estimator, "steps"):
        raise ValueError(
            "estimator is a pipeline, whose last step is judged by the data that it was fitted to: "
            "pass pipeline[-1], and pipeline[:-1].transform(X) as X."
        )
    check_is_fitted(estimator)
    if not hasattr(estimator, "_solved_problem"):
        raise ValueError(
            f"{type(estimator).__name__} is not an estimator of skmde, so the pairs behind its "
            "embedding are not known. skmde.metrics judges any embedding."
        )
    return last_step(estimator)


def as_given(X):
    """X in a form of which rows can be counted and taken: lists become arrays."""
    return X if hasattr(X, "shape") or isinstance(X, tuple) or is_networkx(X) else np.asarray(X)


def as_matrix_of_graph(estimator, X):
    """The matrix of a networkx graph, as the estimator reads it; anything else unchanged."""
    if not is_networkx(X):
        return X
    parameters = getattr(estimator, "metric_params", None) or {}
    quantity = "length" if estimator.metric == "graph" else "weight"
    attribute = parameters.get("weight", "weight")
    return as_adjacency(X, quantity=quantity, attribute=attribute)[0]


def check_rows(X, n):
    """Raise an error unless X has a row for each of the n fitted items."""
    n_rows = len(X) if is_networkx(X) else count_rows(X)
    if n_rows != n:
        raise ValueError(
            f"X has {n_rows} rows, but the estimator was fitted to {n}; pass the data that it was "
            "fitted to."
        )


def checked_items(items, n):
    """Indices of items as an array; all of them for None."""
    if items is None:
        return np.arange(n)
    chosen = read_items(items, n, "items")
    if not len(chosen):
        raise ValueError("items selects no item; select one or more, or pass None for all.")
    return chosen


def root_mean_square_radius(embedding):
    """Root mean square distance of the items from their mean."""
    centred = embedding - embedding.mean(axis=0)
    return float(np.sqrt(np.mean(np.sum(centred**2, axis=1))))


def data_of_neighbors(estimator, X, metric):
    """The data and the metric that tell the neighbours of the items.

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    X : array-like, sparse matrix, networkx graph, or pair of neighbour tables
        What it was fitted to.
    metric : str, callable or None
        None means that of the estimator.

    Returns
    -------
    tuple of (X, metric), or None
        None if X holds weights, which are no distances. Edges of a graph, and neighbours in
        tables, are the stored entries of a sparse matrix of distances.
    """
    metric = metric_of(estimator) if metric is None else metric
    if metric is None:
        return None
    if isinstance(X, tuple):
        return _matrix_of_tables(*checked_neighbor_tables(X)), "precomputed"
    if isinstance(metric, str) and metric == "graph":
        X = as_matrix_of_graph(estimator, X)
        return as_adjacency(X)[0], "precomputed"
    return X, metric


def _matrix_of_tables(indices, distances):
    there = (indices >= 0) & np.isfinite(distances)
    rows = np.repeat(np.arange(len(indices)), indices.shape[1])[there.ravel()]
    entries = distances[there], (rows, indices[there])
    return sp.csr_array(entries, shape=(len(indices), len(indices)))
