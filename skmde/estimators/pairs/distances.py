"""Where original distances come from: rows under a metric, a matrix, or paths in a graph.

Each class answers three questions for `PreserveDistances`: which pairs there are and how far apart
they are, how far some items are from all others (for the starting point), and how far unseen items
are from some fitted ones (for `transform`). After ``choose_anchors``, only the last is left, and
only for those fitted items; and what it takes to make the source of more items (``extended``, for
`extend`), of which ``pairs_from`` gives the pairs with a further item.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from skmde._utils.known_rows import KeptRows, KnownRows
from skmde._utils.validation import check_magnitude
from skmde.preprocessing.graphs.adjacency import as_adjacency, with_further_rows
from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.graphs.path_lengths import path_lengths
from skmde.preprocessing.graphs.shortest_paths import shortest_paths
from skmde.preprocessing.neighbors.precomputed import (
    distances_to_training,
    precomputed_queries,
    symmetric_distances,
)
from skmde.preprocessing.neighbors.tables import NeighborTables
from skmde.preprocessing.pairs.distances import MetricDistances
from skmde.preprocessing.pairs.sampling import edges_from, sample_edges

_BLOCK_ENTRIES = 1 << 20
_MAX_LENGTHS = 1 << 24  # path lengths kept for placing unseen items
_FEW_PAIRS = 1 << 22
_RANGE = (1e-30, 1e30)  # of float32, with room for squares of ratios


class Pairs(NamedTuple):
    """Pairs of items.

    Attributes
    ----------
    edges : ndarray of shape (p, 2), int32, or None
        Pairs ``i < j``; None if they are all there, in the order of
        :func:`~skmde.preprocessing.all_edges`.
    distances : ndarray of shape (p,), float64, or float32 if there are many
        Original distances.
    labels : ndarray of shape (n,), int, or None
        Which items are joined by a chain of pairs; None if all are.
    n_unreachable : int
        Pairs left out because there is no distance between them.
    """

    edges: np.ndarray | None
    distances: np.ndarray
    labels: np.ndarray | None = None
    n_unreachable: int = 0


class RowDistances:
    """Distances between rows of data under a metric."""

    def __init__(self, X, metric, metric_params, n_jobs):
        self._options = metric, metric_params, n_jobs
        self._table = MetricDistances(*self._options).fit(X)
        self._known = KeptRows(X)
        self.n_items = self._table.n_samples_

    def pairs(self, max_pairs, rng):
        n = self.n_items
        if n * (n - 1) // 2 <= max_pairs:
            return Pairs(None, self._in_kept_dtype(n * (n - 1) // 2, self._table.all_pairs))
        return self.of_pairs(sample_edges(n, int(max_pairs), rng))

    def of_pairs(self, edges):
        """Distances of given pairs."""
        take = partial(self._table.pairs, edges)
        return Pairs(edges, self._in_kept_dtype(len(edges), take))

    def pairs_from(self, first, max_pairs, rng):
        """Those with an item from `first` on."""
        return self.of_pairs(edges_from(first, self.n_items, max_pairs, rng))

    def extended(self, X):
        """The same for the training rows and those of X."""
        return RowDistances(self._known.joined(X), *self._options)

    def _in_kept_dtype(self, n_pairs, take):
        found = take(kept_dtype(n_pairs))
        if not _fits(found):  # beyond the range of float32, or below it
            found = take(np.float64)
        return self._checked(found)

    def _checked(self, found, small=True):
        check_magnitude(found, f"distances under the metric {self._options[0]!r}", small=small)
        return found

    @property
    def is_euclidean(self):
        return self._table.is_euclidean

    def from_items(self, items):
        """Distances from some items to all: shape (L, n)."""
        return self._checked(self._table.between(items, slice(None)))

    def choose_anchors(self, most, rng, among=None):
        """Choose items, of those given, that place unseen ones; forget what that does not need."""
        anchors = _choose(self.n_items, most, rng, among)
        self._table = self._table.restricted(anchors)
        return anchors

    def of_unseen(self, X):
        """Distances from unseen rows to the anchors, and the fitted row that each equals, or -1."""
        D = self._checked(self._table.from_rows(X, slice(None)), small=False)
        return D, self._known.find(X)


class MatrixDistances:
    """Precomputed distances: a dense matrix, or the stored entries of a sparse one."""

    def __init__(self, X):
        self.n_items = X.shape[0]
        self._known = KnownRows(X)
        if sp.issparse(X):
            self._matrix, _ = as_adjacency(X, quantity="distance")
        else:
            self._matrix = symmetric_distances(X)

    def restrict(self, weights):
        """Leave out the pairs of weight 0, a sparse symmetric matrix."""
        if sp.issparse(self._matrix):
            rows, columns = _rows_of(self._matrix), self._matrix.indices
            there = entries_at(weights, rows, columns) > 0
            entries = self._matrix.data[there], (rows[there], columns[there])
            self._matrix = sp.csr_array(entries, shape=self._matrix.shape)
            return
        rows, columns = _rows_of(weights)[weights.data > 0], weights.indices[weights.data > 0]
        kept = np.full(self._matrix.shape, np.inf)
        kept[rows, columns] = self._matrix[rows, columns]
        self._matrix = kept

    def pairs(self, max_pairs, rng):
        n = self.n_items
        every = n * (n - 1) // 2
        if sp.issparse(self._matrix):
            upper = sp.triu(self._matrix, 1, format="coo")
            rows, columns, found = upper.row, upper.col, upper.data
        elif _all_finite(self._matrix):
            if every <= max_pairs:
                return Pairs(None, _in_kept_dtype(_condensed(self._matrix)))
            rows, columns = sample_edges(n, int(max_pairs), rng).T
            found = self._matrix[rows, columns]
            return Pairs(np.stack([rows, columns], axis=1), _in_kept_dtype(found))
        else:
            rows, columns = np.nonzero(np.triu(np.isfinite(self._matrix), 1))
            found = self._matrix[rows, columns]
        missing = every - len(found)
        if len(found) > max_pairs:
            kept = np.sort(rng.choice(len(found), int(max_pairs), replace=False, shuffle=False))
            rows, columns, found = rows[kept], columns[kept], found[kept]
        found = _in_kept_dtype(found)
        if len(found) == every:
            return Pairs(None, found)
        edges = np.stack([rows, columns], axis=1).astype(np.int32)
        return Pairs(edges, found, chains(edges, n), missing)

    def pairs_from(self, first, max_pairs, rng):
        """Those with an item from `first` on; no others are given."""
        pairs = self.pairs(max_pairs, rng)
        return pairs._replace(n_unreachable=pairs.n_unreachable - first * (first - 1) // 2)

    def extended(self, X):
        """Distances of further items to the fitted ones and each other, (q, n + q)."""
        n, q = self.n_items, X.shape[0]
        if sp.issparse(X):
            return MatrixDistances(with_further_rows(sp.coo_array((n, n)), X))
        D = np.full((n + q, n + q), np.inf, X.dtype if X.dtype.kind == "f" else np.float64)
        D[n:], D[:n, n:] = X, X[:, :n].T
        return MatrixDistances(D)

    def from_items(self, items):
        """Distances from some items to all: path lengths if some are not given."""
        if not sp.issparse(self._matrix):
            rows = self._matrix[items].astype(np.float64)
            rows[np.arange(len(items)), items] = 0.0  # whatever is stored there
            if np.isfinite(rows).all():
                return rows
            self._matrix, _ = as_adjacency(_finiteentries_at(self._matrix), quantity="distance")
        return path_lengths(self._matrix, items)

    def choose_anchors(self, most, rng, among=None):
        """Choose items, of those given, that place unseen ones; forget what that does not need."""
        self._matrix = None
        self._anchors = _choose(self.n_items, most, rng, among)
        return self._anchors

    def of_unseen(self, X):
        """Distances from unseen items to the anchors, and the fitted item that each is, or -1.

        An item is a fitted one if it is given the same row, or a distance of 0.
        """
        return self._as_given(distances_to_training(X, self.n_items))

    def _as_given(self, X):
        if sp.issparse(X):
            chosen = X[:, self._anchors].tocoo()
            D = np.full(chosen.shape, np.inf)
            D[chosen.row, chosen.col] = chosen.data
            nearest, at = _nearest_stored(X)
        else:
            D = X[:, self._anchors].astype(np.float64)
            nearest = X.argmin(axis=1)
            at = X[np.arange(len(X)), nearest]
        known = np.where(_count_nonzero(X) > 0, self._known.find(X), -1)
        return D, np.where(known >= 0, known, np.where(at == 0, nearest, -1))


class GraphDistances(MatrixDistances):
    """Lengths of shortest paths in a graph."""

    def __init__(self, graph, max_path_length, n_jobs, verbose):
        self._matrix, _ = as_adjacency(graph)
        self._graph = self._matrix
        self._known = KnownRows(graph)
        self.n_items = self._matrix.shape[0]
        self._max_path_length = max_path_length
        self._n_jobs = n_jobs
        self._verbose = verbose

    def pairs(self, max_pairs, rng):
        found = shortest_paths(
            self._matrix,
            max_length=self._max_path_length,
            max_pairs=max_pairs,
            random_state=rng,
            n_jobs=self._n_jobs,
            verbose=self._verbose,
            dtype=kept_dtype(min(max_pairs, self.n_items * (self.n_items - 1) // 2)),
        )
        n_parts, labels = connected_components(self._matrix)
        return Pairs(
            found.edges, found.distances, labels if n_parts > 1 else None, found.n_unreachable
        )

    def pairs_from(self, first, max_pairs, rng):
        """Those with an item from `first` on."""
        edges = edges_from(first, self.n_items, max_pairs, rng)
        sources, starts = np.unique(edges[:, 1], return_index=True)  # they are in their order
        starts = np.append(starts, len(edges))
        found = np.empty(len(edges))
        size = max(1, _BLOCK_ENTRIES // self.n_items)
        for k in range(0, len(sources), size):
            some = sources[k : k + size]
            own = slice(starts[k], starts[k + len(some)])
            table = path_lengths(self._matrix, some, self._n_jobs)
            found[own] = table[np.searchsorted(some, edges[own, 1]), edges[own, 0]]
        limit = np.inf if self._max_path_length is None else self._max_path_length
        joined = np.isfinite(found)
        near = joined & (found <= limit)
        return Pairs(
            edges[near],
            _in_kept_dtype(found[near]),
            n_unreachable=len(found) - int(np.count_nonzero(joined)),
        )

    def extended(self, X):
        """The graph with further nodes, whose edges X holds, (q, n + q)."""
        graph = with_further_rows(self._graph, X)
        return GraphDistances(graph, self._max_path_length, self._n_jobs, self._verbose)

    def from_items(self, items):
        """Path lengths from some items to all."""
        return path_lengths(self._matrix, items)

    def choose_anchors(self, most, rng, among=None):
        """Choose items, of those given, that place unseen ones; keep the path lengths from them."""
        most = min(most, max(50, _MAX_LENGTHS // self.n_items))
        self._anchors = _choose(self.n_items, most, rng, among)
        self._lengths = path_lengths(self._matrix, self._anchors)
        self._matrix = None
        return self._anchors

    def of_unseen(self, X):
        """Path lengths to the anchors, and the fitted item that each row is, or -1.

        Where a row does not say how far all anchors are, paths go over the items that it names,
        as those of a graph's further nodes do.
        """
        X = distances_to_training(X, self.n_items)
        D, twin = self._as_given(X)
        for r in np.flatnonzero(np.isinf(D).any(axis=1)):
            items, lengths = _finite_entries(X, r)
            if len(items):
                D[r] = (self._lengths[:, items] + lengths).min(axis=1)
        return D, twin


class NeighborPaths(GraphDistances):
    """Lengths of shortest paths in the graph of nearest neighbours, as in Isomap."""

    def __init__(self, tables, max_path_length, n_jobs, verbose):
        self._tables = tables
        n, k = tables.indices.shape
        there = tables.indices >= 0
        rows = np.repeat(np.arange(n), k)[there.ravel()]
        entries = tables.distances[there], (rows, tables.indices[there])
        graph = sp.csr_array(entries, shape=(n, n))
        super().__init__(graph, max_path_length, n_jobs, verbose)
        self._graph = self._known = None

    def extended(self, X):
        """The same for the training items and further ones."""
        tables = self._tables.extended(X)
        return NeighborPaths(tables, self._max_path_length, self._n_jobs, self._verbose)

    def of_unseen(self, X):
        """Lengths of the shortest paths over a row's neighbours; the row that it equals, or -1."""
        tables, k = self._tables, self._tables.indices.shape[1]
        if tables.index is None:
            indices, distances = precomputed_queries(X, k, n_train=self.n_items)
            twin = np.where(distances[:, 0] == 0, indices[:, 0], -1)
        else:
            indices, distances = tables.index.kneighbors(X, k)
            twin = tables.known.find(X)
        D = np.full((len(indices), len(self._lengths)), np.inf)
        for column in range(indices.shape[1]):
            over = self._lengths[:, indices[:, column]].T + distances[:, column, None]
            np.minimum(D, np.where(indices[:, column, None] >= 0, over, np.inf), out=D)
        return D, twin


def distance_source(
    X, metric, metric_params, n_neighbors, max_path_length, *, n_jobs, verbose, **search
):
    """The source of distances that `metric` and `n_neighbors` name.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Checked input.
    metric : str or callable
    metric_params : dict or None
    n_neighbors : int or None
        Replaces distances by those along shortest paths in the graph of nearest neighbours.
    max_path_length : float or None
        Pairs farther apart along paths are left out.
    n_jobs : int or None
    verbose : int
    **search : dict
        How neighbours are searched: further arguments of
        :func:`~skmde.preprocessing.nearest_neighbors`.

    Returns
    -------
    source : RowDistances, MatrixDistances, GraphDistances or NeighborPaths
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


def kept_dtype(n_pairs):
    """float64, but float32 for so many pairs that memory counts."""
    return np.float64 if n_pairs <= _FEW_PAIRS else np.float32


def _fits(found):
    largest = found.max(initial=0.0)
    return found.dtype == np.float64 or largest == 0 or _RANGE[0] < largest < _RANGE[1]


def _in_kept_dtype(found):
    cast = found.astype(kept_dtype(len(found)), copy=False)
    return cast if _fits(cast) else found.astype(np.float64, copy=False)


def _choose(n_items, most, rng, among):
    """So many items, or of those given, if there are more."""
    if among is not None:
        return among[_choose(len(among), most, rng, None)]
    return np.sort(rng.choice(n_items, min(n_items, most), replace=False, shuffle=False))


def _rows_of(matrix):
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def entries_at(matrix, rows, columns):
    """Entries of a sparse matrix; scipy takes no empty lists of positions."""
    if len(rows) == 0:
        return np.empty(0)
    return np.asarray(matrix[rows, columns]).ravel()


def _all_finite(matrix):
    """Whether a square matrix is finite off the diagonal."""
    diagonal = np.diagonal(matrix)
    infinite = np.count_nonzero(~np.isfinite(matrix)) if matrix.dtype.kind == "f" else 0
    return infinite == np.count_nonzero(~np.isfinite(diagonal))


def _condensed(matrix):
    """The entries above the diagonal, row by row."""
    n = len(matrix)
    out = np.empty(n * (n - 1) // 2, matrix.dtype)
    for i in range(n - 1):
        own = i * (2 * n - i - 1) // 2
        out[own : own + n - i - 1] = matrix[i, i + 1 :]
    return out


def _finiteentries_at(matrix):
    """A dense matrix's finite entries off the diagonal as a sparse one, zeros included."""
    there = np.isfinite(matrix)
    np.fill_diagonal(there, False)
    rows, columns = np.nonzero(there)
    return sp.csr_array((matrix[rows, columns], (rows, columns)), shape=matrix.shape)


def chains(edges, n):
    """Labels of the components that the pairs make of n items, or None if there is one."""
    if len(edges) == 0:
        return np.arange(n)
    ones = np.ones(len(edges), np.int8)
    n_parts, labels = connected_components(sp.csr_array((ones, edges.T), shape=(n, n)))
    return labels if n_parts > 1 else None


def _finite_entries(X, row):
    """Columns and values of a row's entries that are there."""
    if sp.issparse(X):
        stored = slice(X.indptr[row], X.indptr[row + 1])
        columns, values = X.indices[stored], X.data[stored]
    else:
        columns, values = np.arange(X.shape[1]), X[row]
    there = np.isfinite(values)
    return columns[there], values[there].astype(np.float64)


def _count_nonzero(X):
    """Number of entries other than 0 in each row."""
    if not sp.issparse(X):
        return np.count_nonzero(X, axis=1)
    return np.bincount(_rows_of(X), weights=X.data != 0, minlength=X.shape[0])


def _nearest_stored(X):
    """Column and value of each row's smallest stored entry; infinity where a row has none."""
    nearest, at = np.zeros(X.shape[0], np.int64), np.full(X.shape[0], np.inf)
    for r in range(X.shape[0]):
        row = slice(X.indptr[r], X.indptr[r + 1])
        if row.stop > row.start:
            best = row.start + int(np.argmin(X.data[row]))
            nearest[r], at[r] = X.indices[best], X.data[best]
    return nearest, at
