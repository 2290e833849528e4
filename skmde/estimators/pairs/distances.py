"""The source of original distances that the parameters of an estimator select."""

from __future__ import annotations

from skmde.estimators.pairs.matrix_distances import MatrixDistances
from skmde.estimators.pairs.path_distances import GraphDistances, NeighborPaths
from skmde.estimators.pairs.row_distances import RowDistances
from skmde.preprocessing.neighbors.tables import NeighborTables


def distance_source(
    X, metric, metric_params, n_neighbors, max_path_length, *, n_jobs, verbose, **search
):
    """The source of distances that `metric` and `n_neighbors` select.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Checked input.
    metric : str or callable
    metric_params : dict or None
    n_neighbors : int or None
        If given, distances are path lengths in the graph of nearest neighbours.
    max_path_length : float or None
        Pairs with longer paths are left out.
    n_jobs : int or None
    verbose : int
    **search : dict
        Further arguments of :func:`~skmde.preprocessing.nearest_neighbors`.

    Returns
    -------
    source : DistanceSource
    """
    paths = {"n_jobs": n_jobs, "verbose": verbose}
    named = metric if isinstance(metric, str) else None
    if named == "graph":
        return GraphDistances(X, max_path_length, **paths)
    if n_neighbors is not None:
        search.update(metric=metric, metric_params=metric_params, n_jobs=n_jobs)
        tables = NeighborTables(X, n_neighbors, **search)
        return NeighborPaths(tables, max_path_length, **paths)
    if named == "precomputed":
        return MatrixDistances(X)
    return RowDistances(X, metric, metric_params, n_jobs)
