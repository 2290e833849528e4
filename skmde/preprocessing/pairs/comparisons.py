"""Edges from data other than distances: neighbours of neighbours, rankings and comparisons.

These are the methods of section 4.3.3 of the monograph:

    neighbours at distance two   pairs with a common neighbour attract each other too, half as
                                 strongly as neighbours
    rankings                     delta_ij = an increasing function of the mean over the rankings of
                                 |rank of i - rank of j|
    triplets                     w_ij = number of triplets in which i and j are the most similar
                                 pair, minus the number in which they are another pair

Pairs are ``i < j``, sorted by (i, j). Ranks are positions. Weights have no unit.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde.preprocessing.graphs.adjacency import as_adjacency
from skmde.preprocessing.pairs.sampling import all_edges

__all__ = ["deviations_from_rankings", "neighbors_at_distance_two", "weights_from_triplets"]

_BLOCK = 1 << 18


def neighbors_at_distance_two(graph, weight=0.5):
    """Add to a neighbour graph an edge between any two nodes with a common neighbour.

    Parameters
    ----------
    graph : sparse or dense matrix of shape (n, n), or networkx graph
        Weights of the edges between neighbours. Each entry that a sparse matrix stores is an
        edge. An entry in one direction is enough for an edge.
    weight : float, default=0.5
        Weight of the new edges. The monograph uses half the weight of neighbours, which is 1
        there. A node with m edges causes up to m (m - 1) / 2 new edges: one node that is a
        neighbour of all others makes the graph complete.

    Returns
    -------
    graph : csr_array of shape (n, n), float64
        Symmetric, without diagonal, with sorted indices. The given edges keep their weights.

    Raises
    ------
    ValueError
        If the matrix is not square, or a weight is negative, NaN or, for `weight`, infinite.

    Warns
    -----
    UserWarning
        If the two directions of an edge differ in weight; their average is used.

    See Also
    --------
    neighbor_graph : The symmetric weighted graph of a neighbours table.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.3.3 (other methods).

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import neighbors_at_distance_two
    >>> chain = np.diag(np.ones(3), 1)
    >>> neighbors_at_distance_two(chain).toarray()[0].tolist()
    [0.0, 1.0, 0.5, 0.0]
    """
    if not (np.isfinite(weight) and weight >= 0):
        raise ValueError(f"weight must be a non-negative number, got {weight!r}.")
    near, _ = as_adjacency(graph, quantity="weight")
    n = near.shape[0]
    step = sp.csr_array((np.ones(near.nnz, np.int32), near.indices, near.indptr), shape=(n, n))
    two = (step @ step).tocoo()
    codes = two.row.astype(np.int64) * n + two.col
    rows = np.repeat(np.arange(n), np.diff(near.indptr))
    # The diagonal is included, so that a node gets no edge to itself.
    old = np.sort(np.concatenate([rows * n + near.indices, np.arange(n) * (n + 1)]))
    new = np.ones(len(codes), bool)
    if n:
        new = old[np.minimum(np.searchsorted(old, codes), len(old) - 1)] != codes
    values = np.concatenate([near.data, np.full(new.sum(), float(weight))])
    ends = (
        np.concatenate([rows.astype(np.int32), two.row[new]]),
        np.concatenate([near.indices, two.col[new]]),
    )
    graph = sp.coo_array((values, ends), shape=(n, n)).tocsr()
    graph.sort_indices()
    return graph


def deviations_from_rankings(ranks, edges=None, *, function=None):
    """Original distances from rankings: the mean difference of the ranks of two items.

    Parameters
    ----------
    ranks : array-like of shape (n_rankings, n_items)
        The position of each item in each ranking: 1 for the first item, and equal numbers for
        ties. Any other numbers in the same order may be used. NaN where a ranking leaves out an
        item.
    edges : array-like of shape (n_edges, 2), int, default=None
        The pairs to consider; all pairs by default.
    function : callable, default=None
        An increasing function, for example ``numpy.sqrt``. It is applied to the array of mean
        differences of ranks. The identity by default.

    Returns
    -------
    edges : ndarray of shape (p, 2), int32
        The pairs of which at least one ranking contains both items, in the given order.
    deviations : ndarray of shape (p,), float64
        Original distances: mean differences of ranks, after `function`.

    Raises
    ------
    ValueError
        If `ranks` is not a matrix, contains infinity or ranks no pair; if an item of an edge is
        out of range; if `function` returns a negative, infinite or NaN value or another shape.

    See Also
    --------
    weights_from_triplets :
        Weights from comparisons: "i and j are more similar to each other than either is to k".
    skmde.PreserveDistances : Minimum-distortion embedding that preserves original distances.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.3.3 (other methods).

    Examples
    --------
    >>> from skmde.preprocessing import deviations_from_rankings
    >>> edges, deviations = deviations_from_rankings([[1, 2, 3], [1, 3, 2]])
    >>> edges.tolist(), deviations.tolist()
    ([[0, 1], [0, 2], [1, 2]], [1.5, 1.5, 1.0])
    """
    ranks = np.asarray(ranks, dtype=np.float64)
    if ranks.ndim != 2:
        raise ValueError(
            f"ranks must be a matrix of shape (n_rankings, n_items), got shape {ranks.shape}."
        )
    if np.isinf(ranks).any():
        raise ValueError("ranks contains infinity. Use NaN for an item that a ranking leaves out.")
    n = ranks.shape[1]
    edges = all_edges(n) if edges is None else _checked_items(edges, n, 2, "edges")
    deviations = np.empty(len(edges))
    by_item = np.ascontiguousarray(ranks.T)
    step = max(1, _BLOCK // max(len(ranks), 1))
    for start in range(0, len(edges), step):
        i, j = edges[start : start + step].T
        apart = np.abs(by_item[i] - by_item[j])
        ranked = ~np.isnan(apart)
        total = apart.sum(axis=1, where=ranked)
        count = ranked.sum(axis=1)
        deviations[start : start + step] = np.where(count, total / np.maximum(count, 1), np.nan)
    known = ~np.isnan(deviations)
    if not known.any():
        raise ValueError(
            f"None of the {len(ranks)} rankings contains both items of any of the {len(edges)} "
            f"pairs (n_items={n}). Give rankings of two items or more."
        )
    if not known.all():
        edges, deviations = edges[known], deviations[known]
    if function is not None:
        deviations = _applied(function, deviations)
    return edges, deviations


def weights_from_triplets(triplets, n_items):
    """Weights from comparisons: "i and j are more similar to each other than either is to k".

    A comparison (i, j, k) adds 1 to the weight of the pair (i, j), and -1 to the weights of the
    pairs (i, k) and (j, k).

    Parameters
    ----------
    triplets : array-like of shape (n_triplets, 3), int
        Items i, j and k of each comparison, numbered from 0. A comparison may occur repeatedly.
    n_items : int
        Number of items.

    Returns
    -------
    edges : ndarray of shape (p, 2), int32
        The pairs that occur in a comparison.
    weights : ndarray of shape (p,), float64
        Positive for similar pairs, negative for dissimilar ones; 0 where comparisons cancel.

    Raises
    ------
    ValueError
        If `triplets` has another shape or contains non-integers, if an item is out of range, or if
        a comparison contains an item twice.

    See Also
    --------
    deviations_from_rankings :
        Original distances from rankings: the mean difference of the ranks of two items.
    skmde.MDE : A minimum-distortion embedding problem.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.3.3 (other methods).

    Examples
    --------
    >>> from skmde.preprocessing import weights_from_triplets
    >>> edges, weights = weights_from_triplets([[0, 1, 2], [1, 0, 3]], 4)
    >>> edges.tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3]]
    >>> weights.tolist()
    [2.0, -1.0, -1.0, -1.0, -1.0]
    """
    n = int(n_items)
    triplets = _checked_items(triplets, n, 3, "triplets")
    i, j, k = triplets.T.astype(np.int64)
    low = np.concatenate([np.minimum(i, j), np.minimum(i, k), np.minimum(j, k)])
    high = np.concatenate([np.maximum(i, j), np.maximum(i, k), np.maximum(j, k)])
    votes = np.repeat([1.0, -1.0, -1.0], len(triplets))
    codes, pair = np.unique(low * n + high, return_inverse=True)
    edges = np.stack([codes // n, codes % n], axis=1) if n else np.empty((0, 2))
    weights = np.bincount(pair, weights=votes, minlength=len(codes))
    # Without triplets, np.bincount returns integers.
    return edges.astype(np.int32), weights.astype(np.float64)


def _checked_items(rows, n_items, width, name):
    """`rows` as an int32 array; raise ValueError unless each row has distinct valid items."""
    rows = np.asarray(rows)
    if rows.size == 0:
        return np.empty((0, width), np.int32)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(f"{name} must be an array of shape (n, {width}), got {rows.shape}.")
    if rows.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers (indices of items), got dtype {rows.dtype}.")
    for item in (rows.min(), rows.max()):
        if not 0 <= item < n_items:
            raise ValueError(
                f"{name} contains item {int(item)}, which is out of range for {n_items} items. "
                "Items are numbered from 0."
            )
    for a in range(width):
        for b in range(a):
            twice = np.flatnonzero(rows[:, a] == rows[:, b])
            if len(twice):
                raise ValueError(
                    f"Row {twice[0]} of {name} contains an item twice: {rows[twice[0]].tolist()}. "
                    "Remove the row."
                )
    return rows.astype(np.int32)


def _applied(function, deviations):
    result = np.asarray(function(deviations), dtype=np.float64)
    if result.shape != deviations.shape:
        raise ValueError(
            f"function must return one number for each of {len(deviations)} deviations, got shape "
            f"{result.shape}."
        )
    wrong = np.flatnonzero(~(result >= 0) | np.isinf(result))
    if len(wrong):
        raise ValueError(
            "function must return non-negative finite numbers, got "
            f"{result[wrong[0]]} for the mean difference of ranks {deviations[wrong[0]]}."
        )
    return result
