"""Conversion of graphs in several forms to a symmetric sparse array.

Three forms are accepted: a sparse matrix of any format, a dense matrix, and a networkx graph
(recognised by its attributes; networkx is not imported). These are the edges:

- Sparse: the stored entries, including zeros, but not infinities. Zeros in the DIA and BSR formats
  are no edges, since these formats pad with zeros. Duplicate entries are added, as everywhere in
  scipy.
- Dense: the entries that are neither zero nor infinite.
- networkx: the graph's edges. An edge without a "weight" (or another named attribute) has length
  1. Of parallel edges, the shortest counts.

If the numbers are weights, infinity is an error: only an infinite length means that there is no
edge.

Graphs are undirected: an edge in one direction counts as an edge. Loops are dropped. The caller's
object is not modified.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.sparse as sp

from skmde._linalg.symmetry import warn_of_asymmetry
from skmde._utils.rows import as_csr
from skmde._utils.validation import ROUNDING
from skmde._utils.warn import warn

__all__ = ["as_adjacency", "is_networkx", "is_unweighted", "with_further_rows"]

_PADDED = ("bsr", "dia")


def as_adjacency(graph, *, quantity="length", attribute="weight"):
    """The symmetric adjacency matrix of a graph.

    Parameters
    ----------
    graph : sparse or dense matrix of shape (n, n), or networkx graph
        See the module's documentation.
    quantity : str, default="length"
        Meaning of the numbers on the edges: "length", "distance" or "weight".
    attribute : str, default="weight"
        The attribute of a networkx graph's edges that holds the numbers.

    Returns
    -------
    adjacency : csr_array of shape (n, n), float64
        Symmetric, without diagonal entries or duplicates. Its indices are int32 and sorted. Edges
        of length 0 are stored.
    names : list or None
        The nodes of a networkx graph, in its order; None for a matrix.

    Raises
    ------
    ValueError
        If a matrix is not square, or a number is negative, NaN or not real, or a weight infinite.

    Warns
    -----
    UserWarning
        If the two directions of an edge differ; their average is used. If no edge of a networkx
        graph has the attribute, but all have another one that is a number.
    """
    names = None
    if is_networkx(graph):
        names, triple = _from_networkx(graph, quantity, attribute)
        n = len(names)
    elif sp.issparse(graph):
        n, triple = _checked_size(graph.shape), _from_sparse(graph, quantity)
    else:
        matrix = np.asarray(graph)
        n, triple = _checked_size(matrix.shape), _from_dense(matrix, quantity)
    rows, columns, values = triple
    kept = rows != columns
    if quantity != "weight":
        kept &= values != np.inf
    rows, columns, values = rows[kept], columns[kept], values[kept]
    if quantity != "weight" and len(values):
        rounding = (values < 0) & (values >= -ROUNDING * values.max())
        values = np.where(rounding, 0.0, values)
    _check_values(rows, columns, values, quantity, names)
    low, high, values = _one_direction(n, rows, columns, values, quantity)
    both = (np.concatenate([low, high]), np.concatenate([high, low]))
    adjacency = sp.coo_array((np.concatenate([values, values]), both), shape=(n, n)).tocsr()
    adjacency.sort_indices()
    return adjacency, names


def is_networkx(graph):
    """Whether an object has the attributes of a networkx graph."""
    return hasattr(graph, "nodes") and hasattr(graph, "edges")


def refuse_edge_table(table, metric):
    """Raise an error if a data frame has a row for each edge, and no matrix of a graph.

    Parameters
    ----------
    table : object
        The caller's argument; what is no data frame, or is square, is left to other checks.
    metric : str
        Name of the estimator's metric, for the message.

    Raises
    ------
    ValueError
        If it is a data frame that is not square.
    """
    shape = getattr(table, "shape", ())
    if not hasattr(table, "columns") or len(shape) != 2 or shape[0] == shape[1]:
        return
    raise ValueError(
        f"With metric={metric!r}, X must be a networkx graph or a square matrix, got a table of "
        f"shape {tuple(shape)}. From a table with a row for each edge, make a graph: "
        "networkx.from_pandas_edgelist(X, source, target, edge_attr=...), with the names of its "
        "columns."
    )


def is_unweighted(adjacency):
    """Whether all edges have the same positive length.

    Parameters
    ----------
    adjacency : csr_array
        As :func:`as_adjacency` returns it.

    Returns
    -------
    unweighted : bool
    """
    lengths = adjacency.data
    return len(lengths) > 0 and bool(lengths[0] > 0) and bool((lengths == lengths[0]).all())


def with_further_rows(graph, X):
    """Add nodes to a graph.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        The graph.
    X : sparse or dense matrix of shape (q, n + q)
        The edges of the q further nodes: first those to the n old nodes, then those to each other.

    Returns
    -------
    graph : csr_array of shape (n + q, n + q)
        The rows of `X` below those of `graph`. :func:`as_adjacency` makes it symmetric.
    """
    old, further = sp.coo_array(graph), sp.coo_array(as_csr(X))
    q, n = further.shape
    rows = np.append(old.row, further.row + (n - q))
    columns = np.append(old.col, further.col)
    data = np.append(old.data, further.data)
    return sp.coo_array((data, (rows, columns)), shape=(n, n)).tocsr()


def _checked_size(shape):
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            "A graph's adjacency matrix must be square, with one row and one column per node and "
            f"inf where there is no edge; got shape {tuple(shape)}."
        )
    return shape[0]


def _from_sparse(graph, quantity):
    padded = graph.format in _PADDED
    coo = sp.coo_array(graph)
    values = _as_real(coo.data, quantity)
    rows, columns = coo.row, coo.col
    if padded:
        stored = values != 0
        rows, columns, values = rows[stored], columns[stored], values[stored]
    codes = rows.astype(np.int64) * graph.shape[1] + columns
    if len(codes) and not (codes[1:] > codes[:-1]).all():
        codes, values = _merged(codes, values, np.add)
        rows, columns = codes // graph.shape[1], codes % graph.shape[1]
    return rows, columns, values


def _from_dense(matrix, quantity):
    rows, columns = np.nonzero(matrix)
    return rows, columns, _as_real(matrix[rows, columns], quantity)


def _from_networkx(graph, quantity, attribute):
    names = list(graph.nodes)
    number = {name: k for k, name in enumerate(names)}
    edges = list(graph.edges(data=attribute, default=None))
    if edges and all(edge[2] is None for edge in edges):
        _check_attribute(graph, quantity, attribute)
    edges = [(*edge[:2], 1 if edge[2] is None else edge[2]) for edge in edges]
    rows = np.array([number[edge[0]] for edge in edges], np.int64)
    columns = np.array([number[edge[1]] for edge in edges], np.int64)
    values = _as_real(np.array([edge[2] for edge in edges]), quantity)
    if len(edges) and graph.is_multigraph():
        if not graph.is_directed():  # parallel edges may name their ends in either order
            rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
        codes, values = _merged(rows * len(names) + columns, values, np.minimum)
        rows, columns = codes // len(names), codes % len(names)
    return names, (rows, columns, values)


def _check_attribute(graph, quantity, attribute):
    """Raise an error or warn if no edge has the attribute."""
    shared = None
    for *_, data in graph.edges(data=True):
        numbers = {key for key, value in data.items() if isinstance(value, Real)}
        shared = numbers if shared is None else shared & numbers
    others = ", ".join(repr(key) for key in sorted(shared or (), key=str))
    if attribute != "weight":
        raise ValueError(
            f"No edge of the graph has the attribute {attribute!r}."
            + (f" All edges have {others}." if others else " The edges have no numbers.")
        )
    if others:
        name = min(shared, key=str)
        warn(
            f"The edges of the graph have no 'weight', so each counts as {quantity} 1; they have "
            f"{others}. To use it, pass networkx.to_scipy_sparse_array(X, weight={name!r}), or "
            f"with metric='graph' metric_params={{'weight': {name!r}}}."
        )


def _as_real(values, quantity):
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    if values.dtype.kind == "O":
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            pass
    raise ValueError(
        f"Edge {quantity}s must be real numbers, got dtype {values.dtype}. Convert them to float."
    )


def _merged(codes, values, function):
    """Sort the codes, drop duplicates, and combine the values of equal codes by a ufunc."""
    order = np.argsort(codes, kind="stable")
    codes, values = codes[order], values[order]
    first = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    return codes[first], function.reduceat(values, first)


def _check_values(rows, columns, values, quantity, names):
    wrong = np.flatnonzero(~((values >= 0) & (values != np.inf)))
    if not len(wrong):
        return
    at = wrong[0]
    ends = [int(rows[at]), int(columns[at])]
    if names is not None:
        ends = [names[end] for end in ends]
    where = f"between nodes {ends[0]!r} and {ends[1]!r}"
    weights = quantity == "weight"
    if not values[at] < 0:
        what = "NaN" if np.isnan(values[at]) else "infinity"
        none = "0" if weights else "infinity"
        raise ValueError(
            f"The edge {quantity} {where} is {what}. Leave out edges that do not exist, or set "
            f"them to {none}."
        )
    advice = (
        "Leave such edges out."
        if weights
        else "Are these similarities? Convert them to distances first."
    )
    raise ValueError(
        f"Negative values in data: edge {quantity}s must not be negative, got {values[at]} "
        f"{where}. {advice}"
    )


def _one_direction(n, rows, columns, values, quantity):
    """Each edge once, with ``low < high``; average the values if both directions are stored."""
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    codes = low.astype(np.int64) * n + high
    order = np.argsort(codes, kind="stable")
    codes, values = codes[order], values[order]
    new = np.ones(len(codes), bool)
    np.not_equal(codes[1:], codes[:-1], out=new[1:])
    first = np.flatnonzero(new)
    again = np.flatnonzero(~new)  # an edge is stored at most twice, once in each direction
    there, back = values[again - 1], values[again]
    gap = np.abs(there - back).max(initial=0.0)
    warn_of_asymmetry(f"edge {quantity}s", gap, np.maximum(there, back).max(initial=0.0))
    values[again - 1] = np.where(there == back, there, there / 2 + back / 2)
    codes = codes[first]
    low = (codes // n).astype(np.int32)
    return low, (codes - low.astype(np.int64) * n).astype(np.int32), values[first]
