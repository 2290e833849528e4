"""From neighbours tables to the weighted graph of the attractive edges.

A graph is a symmetric ``csr_array`` of shape (n, n), float32, with sorted indices and no
diagonal. A rule gives each edge its weight (monograph, section 4.3.1):

    count         2 if each of the two items is a neighbour of the other, 1 if only one is
    uniform       1
    exponential   exp(-(delta / width)^2), where delta is the distance of the two items
    a function    what it returns for an array of distances

`edges_from_graph` lists each edge once.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._linalg.components import checked_graph
from skmde._utils.device import is_cpu, solving_device
from skmde.preprocessing.graphs.device_graphs import symmetric_graph
from skmde.preprocessing.neighbors.selection import check_distinct

__all__ = ["edges_from_graph", "neighbor_graph"]

_MANY = 100_000  # pairs, for which a device is faster than the CPU
RULES = ("count", "uniform", "exponential")


def neighbor_graph(indices, distances, *, rule="count", width=None, threshold=None):
    r"""The symmetric weighted graph of a neighbours table.

    Parameters
    ----------
    indices : ndarray of shape (n, k), int
        Neighbours of each item, -1 for a missing entry. An item's own index is ignored.
    distances : ndarray of shape (n, k), float
        Distances of the neighbours, infinity for a missing entry. The rules "count" and "uniform"
        only use whether they are finite.
    rule : {"count", "uniform", "exponential"} or callable, default="count"
        The rule for the weights of the edges. "count": 2 if each item is a neighbour of the other,
        else 1. "uniform": 1. "exponential": :math:`\exp(-\delta^2 / \sigma^2)`, with the
        distance :math:`\delta` and the width :math:`\sigma`. A function takes an array of
        distances and returns their weights, finite and at least 0.
    width : float, default=None
        Width of the rule "exponential", in the units of `distances`; the median of the distances by
        default, or the mean of those above 0 if the median is 0.
    threshold : float, default=None
        Edges with a weight below `threshold` are left out.

    Returns
    -------
    graph : csr_array of shape (n, n), float32
        Symmetric; weights are positive. If the two directions have different distances, the larger
        weight counts.

    Raises
    ------
    ValueError
        If `rule` is unknown, a function returns no weights, `width` is not positive, or a row has a
        neighbour twice.

    See Also
    --------
    nearest_neighbors : The nearest other rows of each row.
    neighbors_at_distance_two :
        Add to a neighbour graph an edge between any two nodes with a common neighbour.

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
    near = near_of_tables(indices, distances)
    if width is None and rule == "exponential":
        width = default_width(near.data)
    graph = weighted_graph(near, rule, width)
    if threshold is not None:
        graph.data[graph.data < threshold] = 0
        graph.eliminate_zeros()
    return graph


def near_of_tables(indices, distances):
    """A neighbours table as a csr_array (n, n), whose row i stores the distances from item i."""
    indices = np.asarray(indices)
    distances = np.asarray(distances)
    n = len(indices)
    check_distinct(indices, distances)
    present = (indices >= 0) & np.isfinite(distances)
    present &= indices != np.arange(n, dtype=indices.dtype)[:, None]
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    entries = distances[present], indices[present].astype(np.int32), indptr
    return sp.csr_array(entries, shape=(n, n))


def weighted_graph(near, rule, width=None, device=None):
    """The graph of neighbours with the weights of a rule; pairs of weight 0 are left out.

    Parameters
    ----------
    near : csr_array of shape (n, n)
        Row i stores the distances of the neighbours of item i, zeros included.
    rule : str or callable
    width : float or None
        Width of the rule "exponential".
    device : torch.device, default=None
        Where the two directions of many pairs are joined; the numbers are the same everywhere.

    Returns
    -------
    graph : csr_array of shape (n, n), float32
    """
    values = distance_weights(near.data, rule, width).astype(np.float32)
    if device is not None and near.nnz > _MANY and not is_cpu(solving_device(device)):
        return symmetric_graph(near, values, device, adds=rule == "count")
    there = sp.csr_array((values, near.indices, near.indptr), shape=near.shape)
    back = there.T.tocsr()
    there = back.T.tocsr()  # transposing twice sorts the indices
    graph = sp.csr_array(there + back if rule == "count" else there.maximum(back))
    graph.eliminate_zeros()  # entries are weights here: a distance of 0 has a positive weight
    graph.sort_indices()
    return graph


def distance_weights(distances, rule, width=None):
    """Weight of each distance by a rule, in one direction: "count" counts 1 for it.

    Parameters
    ----------
    distances : ndarray
    rule : str or callable
    width : float or None

    Returns
    -------
    weights : ndarray of the same shape, float64
    """
    if callable(rule):
        return _by_function(distances, rule)
    if rule in ("count", "uniform"):
        return np.ones(np.shape(distances))
    if rule == "exponential":
        if not (np.isfinite(width) and width > 0):
            raise ValueError(f"width must be a positive number, got {width!r}.")
        return np.exp(-((distances / width) ** 2))
    raise ValueError(f"rule must be one of {', '.join(RULES)} or a function, got {rule!r}.")


def default_width(distances):
    """The median of the distances; if it is 0, the mean of those above 0."""
    width = np.median(distances) if len(distances) else 1.0
    if width == 0:  # more than half of the pairs coincide
        positive = distances[distances > 0]
        width = positive.mean() if len(positive) else 1.0
    return float(width)


def _by_function(distances, function):
    weights = np.asarray(function(distances))
    if weights.shape != np.shape(distances) or weights.dtype.kind not in "fiub":
        raise ValueError(
            f"The function for the weights must return one number for each of an array of "
            f"{np.size(distances)} distances; got dtype {weights.dtype} and shape {weights.shape}."
        )
    weights = weights.astype(np.float64)
    wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
    if len(wrong):
        raise ValueError(
            "The function for the weights must return finite numbers of at least 0; got "
            f"{wrong[0]}."
        )
    return weights


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

    See Also
    --------
    deduplicate_edges : Each pair once, with its smaller item first.
    neighbor_graph : The symmetric weighted graph of a neighbours table.

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
