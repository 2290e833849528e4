"""From neighbours tables to the weighted graph of the attractive edges.

A graph is a symmetric ``csr_array`` of shape (n, n), float32, with sorted indices and no
diagonal. Two rules give an edge its weight (monograph, section 4.3.1):

    mutual      2 if each of the two items is a neighbour of the other, 1 if only one is
    gaussian    exp(-(delta / sigma)^2), where delta is the distance of the two items

`edges_from_graph` lists each edge once.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._linalg.components import checked_graph
from skmde.preprocessing.neighbors.selection import check_distinct

__all__ = ["edges_from_graph", "neighbor_graph"]


def neighbor_graph(indices, distances, *, rule="mutual", sigma=None, threshold=None):
    """The symmetric weighted graph of a neighbours table.

    Parameters
    ----------
    indices : ndarray of shape (n, k), int
        Neighbours of each item, -1 for a missing entry. An item's own index is ignored.
    distances : ndarray of shape (n, k), float
        Distances of the neighbours, infinity for a missing entry. The "mutual" rule only uses
        whether they are finite.
    rule : {"mutual", "gaussian"}, default="mutual"
        The rule for the weights of the edges.
    sigma : float, default=None
        Length scale of the "gaussian" rule, in the units of `distances`; the median of the
        distances by default.
    threshold : float, default=None
        Edges with a weight below `threshold` are left out.

    Returns
    -------
    graph : csr_array of shape (n, n), float32
        Symmetric; weights are positive.

    Raises
    ------
    ValueError
        If `rule` is unknown, `sigma` is not positive, or a row has a neighbour twice.

    References
    ----------
    Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 4.3.1 (choosing
    weights).

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import neighbor_graph
    >>> indices = np.array([[1], [0], [1]])
    >>> neighbor_graph(indices, np.ones((3, 1))).toarray().tolist()
    [[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    indices = np.asarray(indices)
    distances = np.asarray(distances)
    n = len(indices)
    check_distinct(indices, distances)
    present = (indices >= 0) & np.isfinite(distances)
    present &= indices != np.arange(n, dtype=indices.dtype)[:, None]
    if rule == "mutual":
        values = np.ones(int(present.sum()), np.float32)
    elif rule == "gaussian":
        values = _gaussian(distances[present], sigma)
    else:
        raise ValueError(f'rule must be "mutual" or "gaussian", got {rule!r}.')
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    there = sp.csr_array((values, indices[present].astype(np.int32), indptr), shape=(n, n))
    back = there.T.tocsr()
    there = back.T.tocsr()  # transposing twice sorts the indices
    graph = there + back if rule == "mutual" else there.maximum(back)
    if threshold is not None:
        graph.data[graph.data < threshold] = 0
    graph.eliminate_zeros()  # entries are weights here: a distance of 0 has a positive weight
    graph.sort_indices()
    return graph


def _gaussian(distances, sigma):
    if sigma is None:
        sigma = np.median(distances) if len(distances) else 1.0
        if sigma == 0:  # more than half of the pairs coincide
            positive = distances[distances > 0]
            sigma = positive.mean() if len(positive) else 1.0
    elif not (np.isfinite(sigma) and sigma > 0):
        raise ValueError(f"sigma must be a positive number, got {sigma!r}.")
    return np.exp(-((distances / sigma) ** 2)).astype(np.float32)


def edges_from_graph(graph):
    """The edges of a symmetric graph, each listed once.

    Parameters
    ----------
    graph : sparse array of shape (n, n)
        Symmetric. Every stored entry off the diagonal is an edge.

    Returns
    -------
    edges : ndarray of shape (p, 2), int32
        Pairs ``i < j``, sorted by (i, j).
    weights : ndarray of shape (p,)
        Weights of the edges in `graph`.

    Raises
    ------
    ValueError
        If the graph is no square matrix.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from skmde.preprocessing import edges_from_graph
    >>> edges, weights = edges_from_graph(sp.csr_array(np.array([[0, 2.0], [2.0, 0]])))
    >>> edges.tolist(), weights.tolist()
    ([[0, 1]], [2.0])
    """
    graph = checked_graph(graph)
    if not graph.has_sorted_indices:
        graph = graph.sorted_indices()
    rows = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
    upper = graph.indices > rows
    edges = np.empty((int(upper.sum()), 2), np.int32)
    edges[:, 0] = rows[upper]
    edges[:, 1] = graph.indices[upper]
    return edges, graph.data[upper]
