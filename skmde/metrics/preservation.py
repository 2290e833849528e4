"""How well an embedding preserves the neighbourhoods and the distance order of the data.

Each score is between 0 and 1, and 1 is best. No score depends on the scale of the embedding. For
large data, `sample` limits the number of items that are scored. Pairs at infinite precomputed
distance have no distance, and are left out: see `gaps`.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy.sparse import issparse
from sklearn.manifold import trustworthiness as _trustworthiness
from sklearn.metrics.pairwise import (
    euclidean_distances,
    paired_cosine_distances,
    paired_distances,
    paired_euclidean_distances,
    paired_manhattan_distances,
)
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_consistent_length, check_random_state, gen_batches

from skmde._utils.sklearn_compat import check_array
from skmde.metrics.alignment import as_embedding, as_matrix
from skmde.metrics.gaps import (
    CHUNK_NUMBERS,
    checked_distances,
    draw_known,
    has_gaps,
    mean_excess,
    rank_score,
    recall_of_known,
)

_PAIRED = {
    "euclidean": paired_euclidean_distances,
    "l2": paired_euclidean_distances,
    "manhattan": paired_manhattan_distances,
    "l1": paired_manhattan_distances,
    "cityblock": paired_manhattan_distances,
    "cosine": paired_cosine_distances,
}


def _paired_correlation(a, b):
    return paired_cosine_distances(*(rows - rows.mean(axis=1, keepdims=True) for rows in (a, b)))


def _paired_canberra(a, b):
    size = np.abs(a) + np.abs(b)
    return np.divide(np.abs(a - b), size, out=np.zeros_like(a), where=size > 0).sum(axis=1)


# of dense rows
_PAIRED_DENSE = {
    "chebyshev": lambda a, b: np.abs(a - b).max(axis=1),
    "correlation": _paired_correlation,
    "canberra": _paired_canberra,
    "hamming": lambda a, b: (a != b).mean(axis=1),
    "sqeuclidean": lambda a, b: np.square(a - b).sum(axis=1),
}


def neighborhood_recall(
    X, embedding, n_neighbors=15, metric="euclidean", *, sample=None, random_state=None
):
    """Fraction of the nearest neighbours in the data that are also neighbours in the embedding.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_items, n_features) or (n_items, n_items)
        The data, or their distances if ``metric="precomputed"``. In a sparse distance matrix, the
        stored entries are the neighbours, including stored zeros. In a dense one, infinity marks
        pairs without a distance, which count neither in the data nor in the embedding.
    embedding : array-like of shape (n_items, n_components)
        The embedding. Row i is the same item as row i of X.
    n_neighbors : int, default=15
        Number of neighbours. An item is not its own neighbour, but a duplicate of it can be.
    metric : str or callable, default="euclidean"
        Distance between rows of X: any metric of `sklearn.neighbors.NearestNeighbors`. Distances
        in the embedding are Euclidean.
    sample : int, default=None
        Number of randomly sampled items whose neighbours are compared; None means all items. The
        neighbours themselves are searched among all items.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.

    Returns
    -------
    float
        The fraction.

    See Also
    --------
    trustworthiness : Weights each false neighbour by its rank in the data.

    Examples
    --------
    >>> from skmde.metrics import neighborhood_recall
    >>> X = [[0.0], [1.0], [3.0], [7.0]]
    >>> neighborhood_recall(X, [[0.0], [1.0], [9.0], [7.0]], n_neighbors=1)
    0.75
    """
    (recall,) = recall_curve(X, embedding, [n_neighbors], metric, sample, random_state)
    return recall


def recall_curve(X, embedding, numbers, metric, sample, random_state):
    """`neighborhood_recall` for several numbers of neighbours, by one search."""
    rows = sampled_rows(len(as_embedding(embedding, "embedding")), sample, random_state)
    shares = recall_by_item(X, embedding, numbers, metric, rows)
    for k, (_, there) in zip(numbers, shares, strict=True):
        if not there.any():
            raise ValueError(
                f"No item of X has more than n_neighbors={k} finite distances to others; take "
                "fewer neighbours."
            )
    return [float(hits.sum() / there.sum()) for hits, there in shares]


def recall_by_item(X, embedding, numbers, metric, rows):
    """For each number of neighbours: how many true ones were found, and how many there are.

    Returns
    -------
    list of tuple of ndarrays of int of shape (n_rows,)
        Of the items `rows`.
    """
    X, embedding = checked_pair(X, embedding, metric)
    for n_neighbors in numbers:
        check_n_neighbors(n_neighbors, len(embedding))
    if has_gaps(X, metric):
        return recall_of_known(X, as_floats(embedding, "euclidean"), numbers, rows)
    most = max(numbers)
    true = nearest_rows(as_floats(X, metric), rows, most, metric)
    found = nearest_rows(as_floats(embedding, "euclidean"), rows, most, "euclidean")
    # -1 marks a neighbour that a sparse matrix does not store. `found` never contains it.
    if not (true >= 0).any():
        raise ValueError("X stores no neighbour of any item; store one or more distances.")
    counts = []
    for k in numbers:
        hits = [np.isin(a[:k], b[:k]).sum() for a, b in zip(true, found, strict=True)]
        counts.append((np.array(hits), (true[:, :k] >= 0).sum(axis=1)))
    return counts


def item_recall(
    X, embedding, n_neighbors=15, metric="euclidean", *, sample=None, random_state=None
):
    """`neighborhood_recall` of each item: how many of its neighbours the embedding keeps.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_items, n_features) or (n_items, n_items)
        The data, or their distances; as for :func:`neighborhood_recall`.
    embedding : array-like of shape (n_items, n_components)
        The embedding.
    n_neighbors : int, default=15
        Number of neighbours.
    metric : str or callable, default="euclidean"
        Distance between rows of X.
    sample : int, default=None
        Number of randomly sampled items; others get NaN. The time grows with the number of items
        times the number of sampled ones.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.

    Returns
    -------
    ndarray of shape (n_items,)
        A share from 0 to 1; NaN for items that are not sampled, have no neighbour or, of distances
        with gaps, have no more than `n_neighbors` finite ones.

    See Also
    --------
    neighborhood_recall :
        Fraction of the nearest neighbours in the data that are also neighbours in the embedding.
    skmde.inspection.point_report :
        How far to trust the place of each item: a table with one row for each.

    Examples
    --------
    >>> from skmde.metrics import item_recall
    >>> item_recall([[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [9.0], [7.0]], n_neighbors=1)
    array([1., 1., 0., 1.])
    """
    n = len(as_embedding(embedding, "embedding"))
    random = check_random_state(random_state)
    rows = sampled_rows(n, sample, random)
    ((hits, there),) = recall_by_item(X, embedding, [n_neighbors], metric, rows)
    shares = np.full(n, np.nan)
    shares[rows] = np.divide(hits, there, out=np.full(len(rows), np.nan), where=there > 0)
    return shares


def trustworthiness(
    X, embedding, n_neighbors=15, metric="euclidean", *, sample=5000, random_state=None
):
    """Trustworthiness of the neighbourhoods in the embedding.

    This calls :func:`sklearn.manifold.trustworthiness`, whose memory grows with the square of the
    number of items. If there are more than ``sample`` items, it is computed on a random sample.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_items, n_features) or (n_items, n_items)
        The data, or their distances if ``metric="precomputed"``, infinity for pairs without one.
    embedding : array-like of shape (n_items, n_components)
        The embedding.
    n_neighbors : int, default=15
        Size of a neighbourhood. It must be less than half the number of items in the sample.
    metric : str or callable, default="euclidean"
        Distance between rows of X: any metric of `sklearn.metrics.pairwise_distances`.
    sample : int, default=5000
        Largest number of items to use, sampled at random; None means all items.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.

    Returns
    -------
    float
        1 if the neighbours of each item in the embedding are also its neighbours in the data. Each
        false neighbour decreases the score, the more so the larger its rank in the data.

    See Also
    --------
    neighborhood_recall : Fraction of the true neighbours that are found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from skmde.metrics import trustworthiness
    >>> X = load_iris().data
    >>> round(trustworthiness(X, PCA(2).fit_transform(X)), 2)
    0.99
    """
    X, embedding = checked_pair(X, embedding, metric)
    X, embedding, _ = _sampled(X, embedding, metric, sample, random_state)
    X, embedding = as_floats(X, metric), as_floats(embedding, "euclidean")
    if has_gaps(X, metric):
        _check_half(n_neighbors, len(embedding))
        return rank_score(X, embedding, n_neighbors, torn=False)
    metric = _checked_metric(metric)
    return float(_trustworthiness(X, embedding, n_neighbors=n_neighbors, metric=metric))


def continuity(X, embedding, n_neighbors=15, metric="euclidean", *, sample=5000, random_state=None):
    """Continuity of the neighbourhoods of the data: trustworthiness, with the roles exchanged.

    With the rank r(i, j) of item j among the items nearest to i in the embedding, it is

    1 - 2 / (n k (2 n - 3 k - 1)) sum over i, and over the k items j nearest to i in the data, of
    max(r(i, j) - k, 0). Items at equal distances share their ranks: the mean over all orders
    counts.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_items, n_features) or (n_items, n_items)
        The data, or their distances if ``metric="precomputed"``, infinity for pairs without one.
    embedding : array-like of shape (n_items, n_components)
        The embedding.
    n_neighbors : int, default=15
        Size of a neighbourhood, k. It must be less than half the number of items in the sample.
    metric : str or callable, default="euclidean"
        Distance between rows of X: any metric of `sklearn.neighbors.NearestNeighbors`.
    sample : int, default=5000
        Largest number of items to use, sampled at random; None means all items.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.

    Returns
    -------
    float
        1 if the neighbours of each item in the data are also its neighbours in the embedding. Each
        torn neighbour decreases the score, the more so the larger its rank in the embedding.

    See Also
    --------
    trustworthiness : Asks the same of the neighbours in the embedding.

    References
    ----------
    J. Venna, S. Kaski,
    *Neighborhood preservation in nonlinear projection methods*, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from skmde.metrics import continuity
    >>> X = load_iris().data
    >>> round(continuity(X, PCA(2).fit_transform(X)), 2)
    0.99
    """
    X, embedding = checked_pair(X, embedding, metric)
    X, embedding, _ = _sampled(X, embedding, metric, sample, random_state)
    X, embedding = as_floats(X, metric), as_floats(embedding, "euclidean")
    n, k = len(embedding), n_neighbors
    _check_half(k, n)
    if has_gaps(X, metric):
        return rank_score(X, embedding, k, torn=True)
    near = nearest_rows(X, np.arange(n), k, metric)
    excess = 0.0
    for rows in gen_batches(n, max(1, CHUNK_NUMBERS // n)):
        D = euclidean_distances(embedding[rows], embedding)
        D[np.arange(len(D)), np.arange(n)[rows]] = -1.0  # the item itself comes first
        there = near[rows] >= 0
        reach = np.where(there, np.take_along_axis(D, near[rows], axis=1), -1.0)
        D.sort(axis=1)
        for d, r in zip(D, reach, strict=True):
            closer, as_close = (np.searchsorted(d, r, side=side) - 1 for side in ("left", "right"))
            excess += mean_excess(closer, as_close, k)[r >= 0].sum()
    return float(1 - 2 / (n * k * (2 * n - 3 * k - 1)) * excess)


def _check_half(k, n):
    check_integer(k, "n_neighbors")
    if not 1 <= k < n / 2:
        raise ValueError(
            f"n_neighbors={k}, but it must be at least 1 and less than half the number of items, "
            f"{n / 2:g}."
        )


def triplet_accuracy(X, embedding, n_triplets=200_000, metric="euclidean", *, random_state=None):
    """Fraction of random triplets of items whose order of distances is preserved.

    A triplet (i, j, k) is preserved if the comparison of the distances from i to j and from i to k
    has the same result in the data and in the embedding. Triplets with equal distances in the data
    are ignored.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_items, n_features) or (n_items, n_items)
        The data, or their distances if ``metric="precomputed"``, infinity for pairs without one.
    embedding : array-like of shape (n_items, n_components)
        The embedding.
    n_triplets : int, default=200000
        Number of triplets of distinct items to sample.
    metric : str or callable, default="euclidean"
        "euclidean", "manhattan", "cosine", "precomputed", "chebyshev", "correlation",
        "canberra", "hamming", or a function of two rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the triplets.

    Returns
    -------
    float
        The fraction. It is about 0.5 for an embedding that is unrelated to the data.

    See Also
    --------
    distance_correlation :
        Rank correlation of the distances in the data and in the embedding (Spearman's rho).
    neighborhood_recall :
        Fraction of the nearest neighbours in the data that are also neighbours in the embedding.

    Examples
    --------
    >>> from skmde.metrics import triplet_accuracy
    >>> triplet_accuracy([[0.0], [1.0], [3.0]], [[0.0], [10.0], [30.0]], random_state=0)
    1.0
    """
    X, embedding = checked_pair(X, embedding, metric)
    n = len(embedding)
    if n < 3:
        raise ValueError(f"A triplet needs 3 items; the embedding has {n}.")
    check_integer(n_triplets, "n_triplets")
    if n_triplets < 1:
        raise ValueError(f"n_triplets must be at least 1; got {n_triplets}.")
    random = check_random_state(random_state)
    if has_gaps(X, metric):
        i, j, k = draw_known(X, n_triplets, 2, random)
    else:
        i, j, k = (random.randint(n - used, size=n_triplets) for used in range(3))
        j += j >= i
        # k was drawn among the items other than i and j.
        k += k >= np.minimum(i, j)
        k += k >= np.maximum(i, j)
    order = np.sign(pair_distances(X, i, j, metric) - pair_distances(X, i, k, metric))
    kept = order == np.sign(pair_distances(embedding, i, j) - pair_distances(embedding, i, k))
    if not order.any():
        raise ValueError("All sampled triplets have equal distances in X: there is no order.")
    return float(np.mean(kept[order != 0]))


def _sampled(X, embedding, metric, sample, random_state):
    """At most `sample` items of both, and their indices."""
    rows = sampled_rows(len(embedding), sample, random_state, at_most=True)
    if len(rows) < len(embedding):
        X = X[rows][:, rows] if _is_precomputed(metric) else X[rows]
        embedding = embedding[rows]
    return X, embedding, rows


def checked_pair(X, embedding, metric):
    """Validate X (an array of numbers or a CSR matrix) and the embedding."""
    missing = isinstance(metric, str) and metric == "nan_euclidean"  # it skips missing entries
    precomputed = _is_precomputed(metric)  # may have gaps
    X = check_array(
        X if issparse(X) else as_matrix(X, "X"),
        accept_sparse="csr",
        input_name="X",
        ensure_all_finite=False if precomputed else "allow-nan" if missing else True,
    )
    embedding = as_embedding(embedding, "embedding")
    check_consistent_length(X, embedding)
    if precomputed and X.shape[0] != X.shape[1]:
        raise ValueError(
            f'metric="precomputed" needs a square matrix of distances; X has shape {X.shape}.'
        )
    return checked_distances(X) if precomputed else X, embedding


def as_floats(X, metric):
    """X as floats, shifted and scaled where distances would otherwise lose precision."""
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)
    if not issparse(X) and isinstance(metric, str) and metric in ("euclidean", "l2"):
        # scikit-learn computes |x|^2 - 2 x^T y + |y|^2, which cancels if X has a large offset.
        low, high = X.min(axis=0), X.max(axis=0)
        size, extent = np.max(np.abs([low, high])), np.max(high - low)
        if size > 100 * extent:
            X, size = X - (low / 2 + high / 2), extent / 2
        if size > 0 and not 1e-10 < size < 1e10:
            X = X / size
    return X


def _checked_metric(metric):
    """A name unchanged, or a function that raises an error where the caller's gives no distance."""
    if not callable(metric):
        return metric

    def checked(a, b):
        found = metric(a, b)
        value = np.asarray(found)
        if value.shape != () or value.dtype.kind not in "fiub" or not 0 <= value < np.inf:
            raise ValueError(
                "metric must return one number, the distance of two rows, which is finite and at "
                f"least 0; it returned {found!r} for {a!r} and {b!r}."
            )
        return float(value)

    return checked


def _is_precomputed(metric):
    return isinstance(metric, str) and metric == "precomputed"


def check_n_neighbors(n_neighbors, n_items, what="items"):
    check_integer(n_neighbors, "n_neighbors")
    if not 1 <= n_neighbors < n_items:
        most = n_items - 1
        raise ValueError(
            f"n_neighbors={n_neighbors}, but it must be from 1 to {most}"
            + (f" for {n_items} items." if what == "items" else f", the number of {what}.")
        )


def check_integer(number, name):
    if not isinstance(number, Integral) or isinstance(number, bool):
        raise ValueError(f"{name} must be an integer; got {number!r}.")


def sampled_rows(n_items, sample, random_state, at_most=False):
    """Indices of the sampled rows, in ascending order."""
    if sample is None or (at_most and sample >= n_items):
        return np.arange(n_items)
    check_integer(sample, "sample")
    if sample < 1:
        raise ValueError(f"sample must be at least 1, or None for all items; got {sample}.")
    # A sample larger than the data means all items, so callers need not check the size.
    sample = min(sample, n_items)
    return np.sort(check_random_state(random_state).choice(n_items, sample, replace=False))


def nearest_rows(X, rows, n_neighbors, metric):
    """Nearest neighbours of the given rows; -1 where a sparse matrix stores too few."""
    if issparse(X) and _is_precomputed(metric):
        found = np.full((len(rows), n_neighbors), -1, dtype=np.intp)
        for at, row in enumerate(rows):
            stored = slice(X.indptr[row], X.indptr[row + 1])
            columns, distances = X.indices[stored], X.data[stored]
            order = columns[np.lexsort((columns, distances))]
            order = order[order != row][:n_neighbors]
            found[at, : len(order)] = order
        return found
    metric = _checked_metric(metric)
    search = NearestNeighbors(n_neighbors=n_neighbors + 1, metric=metric).fit(X)
    found = search.kneighbors(X[rows], return_distance=False)
    # The row itself is removed by index. If it has many duplicates, it may not be in the result.
    others = found != rows[:, None]
    others[others.all(axis=1), -1] = False
    return found[others].reshape(len(rows), n_neighbors)


def pair_distances(X, a, b, metric="euclidean"):
    """Distances between rows a[k] and b[k] of X, in float64."""
    if _is_precomputed(metric):
        n = X.shape[0]
        if issparse(X) and X.nnz < n * (n - 1):
            raise ValueError(
                f"X stores {X.nnz} distances, but of {n} items all {n * (n - 1)} are compared "
                "here. Pass a dense matrix; of a graph, the lengths of its shortest paths "
                "(scipy.sparse.csgraph.shortest_path)."
            )
        return np.asarray(X[a, b], dtype=np.float64).ravel()
    known = _PAIRED if issparse(X) else _PAIRED | _PAIRED_DENSE
    if not callable(metric) and metric not in known:
        dense = issparse(X) and metric in _PAIRED_DENSE
        raise ValueError(
            f"metric={metric!r} is not supported here{' for sparse X' * dense}; use one of "
            f"{', '.join(known)}, precomputed, or a function of two rows."
        )
    metric = _checked_metric(metric)
    width = X.nnz / X.shape[0] if issparse(X) else X.shape[1]
    distances = np.empty(len(a))
    for piece in gen_batches(len(a), max(1, int(CHUNK_NUMBERS / max(width, 1)))):
        left, right = X[a[piece]].astype(np.float64), X[b[piece]].astype(np.float64)
        if callable(metric):
            distances[piece] = paired_distances(left, right, metric=metric)
        else:
            distances[piece] = known[metric](left, right)
    return distances
