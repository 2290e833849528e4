"""Nearest neighbours: one function and one index, with several search algorithms.

All neighbours tables have the same form: `indices` (int32, -1 for a missing entry) and `distances`
(float64, infinity for a missing entry, in the units of the metric). Each row is sorted by
(distance, index). A row is never its own neighbour. It is identified by its index, not by
distance 0, so copies of a row are its neighbours.

The search algorithms (`algorithm`):

- "exact": compares all pairs, with a compiled loop for metrics of Euclidean form and scikit-learn's
  pairwise distances for all other metrics.
- "faiss": inverted lists, for dense rows and metrics of Euclidean form, if faiss is installed. It
  finds about 98 % of the neighbours, and at least 95 % where that is possible: the effort rises
  until so many neighbours of some rows are found. Rows that are likely to lose most of theirs are
  searched again.
- "pynndescent": nearest-neighbour descent, for any metric that pynndescent supports. It finds
  about 99 % of the neighbours, and compiles for half a minute.
- "torch": compares all pairs on `device`, and finds the same neighbours as "exact".
- "auto": "exact" where that is fast, else the fastest of the others. From about 1,000 rows of at
  most 15 features on, a ball tree replaces "exact" under metrics without Euclidean form.
"""

from __future__ import annotations

import numpy as np

from skmde.preprocessing.neighbors.index import ALGORITHMS, NeighborIndex, check_rows
from skmde.preprocessing.neighbors.metrics.fitted import largest_distance
from skmde.preprocessing.neighbors.metrics.names import check_metric
from skmde.preprocessing.neighbors.metrics.parameters import refuse_parameters
from skmde.preprocessing.neighbors.precomputed import precomputed_neighbors
from skmde.preprocessing.neighbors.radius import all_within, trim
from skmde.preprocessing.neighbors.selection import checked_limits, clamp_neighbors, drop_far
from skmde.preprocessing.pairs.distances import MetricDistances

__all__ = ["ALGORITHMS", "NeighborIndex", "nearest_neighbors"]


def nearest_neighbors(
    X,
    n_neighbors,
    *,
    metric="euclidean",
    metric_params=None,
    algorithm="auto",
    max_distance=None,
    random_state=None,
    n_jobs=None,
    device=None,
):
    """The nearest other rows of each row.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Data. For ``metric="precomputed"``: distances, a graph, or a pair of tables; see
        :func:`~skmde.preprocessing.precomputed_neighbors`.
    n_neighbors : int or None
        Number of neighbours of each row, limited to the number of other rows. None requires
        `max_distance` and takes all rows within that distance. For precomputed distances, None
        alone takes all of them.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn or pynndescent, a function of two rows, or "precomputed". A
        function that breaks the triangle inequality is slower, as all pairs are compared. Rows
        may contain NaN for "nan_euclidean" and for functions. Under "dice", "hellinger" and
        "jaccard", rows at distance 1 share nothing, and are no neighbours.
    metric_params : dict, default=None
        Further arguments of the metric. The variances of "seuclidean" and the covariance of
        "mahalanobis" are those of `X`, unless they are given as V (or VI, the inverse).
    algorithm : {"auto", "exact", "faiss", "pynndescent", "torch"}, default="auto"
        Search algorithm. "exact" compares all pairs. "faiss" and "pynndescent" are approximate.
        "torch" compares all pairs on `device`. "auto" chooses the fastest one. For many rows of at
        most 15 features it may also take scikit-learn's ball tree, which finds the same neighbours
        as "exact" if the metric keeps the triangle inequality. For a function of two rows, this is
        tried on a sample of the rows; "exact" compares all pairs in any case.
    max_distance : float or array-like of shape (n_samples,), default=None
        Neighbours beyond this distance (in the units of the metric) are left out. An array holds a
        limit for each row.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the approximate searches.
    n_jobs : int, default=None
        Number of threads. None uses as many as torch.
    device : str or torch.device, default=None
        Device of the "torch" algorithm; see :class:`NeighborIndex`.

    Returns
    -------
    indices : ndarray of shape (n_samples, k), int32
        Sorted by (distance, index); -1 where there is no neighbour.
    distances : ndarray of shape (n_samples, k), float64
        In the units of the metric; infinity where there is no neighbour.
    index : NeighborIndex or None
        Finds the neighbours of unseen rows. None for precomputed distances.

    Raises
    ------
    ValueError
        If the metric, a parameter of it or the algorithm is unknown, the algorithm or the metric
        does not support the data, or the metric returns no number or a negative one.

    Warns
    -----
    UserWarning
        If `n_neighbors` exceeds the number of other rows, if rows seem to be degrees where
        "haversine" needs radians, or if "mahalanobis" has too few rows to tell distances apart.

    See Also
    --------
    NeighborIndex :
        Index that finds the nearest training rows of training rows and of unseen rows.
    neighbor_graph : The symmetric weighted graph of a neighbours table.
    precomputed_neighbors : The nearest other items of each item.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import nearest_neighbors
    >>> indices, distances, index = nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> indices.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    if isinstance(metric, str) and metric == "precomputed":
        refuse_parameters(metric, metric_params)
        return *precomputed_neighbors(X, n_neighbors, max_distance=max_distance), None
    if n_neighbors is None and max_distance is None:
        raise ValueError("n_neighbors and max_distance are both None. Set at least one of them.")
    check_metric(metric)
    X = check_rows(X, metric)
    max_distance = checked_limits(max_distance, X.shape[0])
    k = clamp_neighbors(1 if n_neighbors is None else n_neighbors, X.shape[0])
    index = NeighborIndex(
        metric=metric,
        metric_params=metric_params,
        algorithm=algorithm,
        n_neighbors=k,
        random_state=random_state,
        n_jobs=n_jobs,
        device=device,
    ).fit(X)
    if n_neighbors is None:
        if index.algorithm_ == "exact":
            table = MetricDistances(metric, metric_params, n_jobs).fit(X)
            largest = largest_distance(metric) or np.inf
            most = min(np.max(max_distance), np.nextafter(largest, 0.0))
            indices, distances = all_within(table, most)
        else:
            indices, distances = index.radius_neighbors(np.max(max_distance))
        if np.ndim(max_distance):
            indices, distances = trim(*drop_far(indices, distances, max_distance))
    else:
        indices, distances = index.kneighbors(None, k)
        if max_distance is not None:
            indices, distances = drop_far(indices, distances, max_distance)
    return indices, distances, index
