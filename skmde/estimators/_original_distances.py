"""Where original distances come from: rows under a metric, a matrix, or paths in a graph.

Each class answers three questions for `PreserveDistances`: which pairs there are and how far apart
they are, how far some items are from all others (for the starting point), and how far unseen items
are from some fitted ones (for `transform`). After ``choose_anchors``, only the last is left, and
only for those fitted items: that is the state that is kept.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from skmde.estimators._base import as_host_array
from skmde.estimators._known_rows import KnownRows
from skmde.preprocessing._adjacency import as_adjacency
from skmde.preprocessing.distances import MetricDistances
from skmde.preprocessing.graphs import connected_components
from skmde.preprocessing.neighbors import nearest_neighbors
from skmde.preprocessing.path_lengths import path_lengths
from skmde.preprocessing.paths import shortest_paths
from skmde.preprocessing.precomputed import (
    distances_to_training,
    precomputed_queries,
    symmetric_distances,
)
from skmde.preprocessing.sampling import all_edges, sample_edges

_BLOCK_ENTRIES = 1 << 20
_MAX_LENGTHS = 1 << 24  # path lengths kept for placing unseen items
_FEW_PAIRS = 1 << 22
_ALL_PATHS = 50_000_000
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
        self._table = MetricDistances(metric, metric_params, n_jobs).fit(X)
        self._known = KnownRows(X)
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

    def _in_kept_dtype(self, n_pairs, take):
        found = take(kept_dtype(n_pairs))
        # beyond the range of float32, or below it
        return found if _fits(found) else take(np.float64)

    @property
    def is_euclidean(self):
        return self._table.is_euclidean

    def from_items(self, items):
        """Distances from some items to all: shape (L, n)."""
        return self._table.between(items, slice(None))

    def choose_anchors(self, most, rng):
        """Choose the items that place unseen ones, and forget what is not needed for that."""
        anchors = _choose(self.n_items, most, rng)
        self._table = self._table.restricted(anchors)
        return anchors

    def of_unseen(self, X):
        """Distances from unseen rows to the anchors, and the fitted row that each equals, or -1."""
        return self._table.from_rows(X, slice(None)), self._known.find(X)


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
            there = _entries(weights, rows, columns) > 0
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
        return Pairs(edges, found, _chains(edges, n), missing)

    def from_items(self, items):
        """Distances from some items to all: path lengths if some are not given."""
        if not sp.issparse(self._matrix):
            rows = self._matrix[items].astype(np.float64)
            if np.isfinite(rows).all():
                return rows
            self._matrix, _ = as_adjacency(_finite_entries(self._matrix), quantity="distance")
        return path_lengths(self._matrix, items)

    def choose_anchors(self, most, rng):
        """Choose the items that place unseen ones, and forget what is not needed for that."""
        self._matrix = None
        self._anchors = _choose(self.n_items, most, rng)
        return self._anchors

    def of_unseen(self, X):
        """Distances from unseen items to the anchors, and the fitted item that each is, or -1.

        An item is a fitted one if it is given the same row, or a distance of 0.
        """
        X = distances_to_training(X, self.n_items)
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

    def from_items(self, items):
        """Path lengths from some items to all."""
        return path_lengths(self._matrix, items)


class NeighborPaths(GraphDistances):
    """Lengths of shortest paths in the graph of nearest neighbours, as in Isomap."""

    def __init__(self, X, n_neighbors, max_path_length, *, n_jobs, verbose, **search):
        indices, distances, self._index = nearest_neighbors(X, n_neighbors, n_jobs=n_jobs, **search)
        n, k = indices.shape
        there = indices >= 0
        rows = np.repeat(np.arange(n), k)[there.ravel()]
        entries = distances[there], (rows, indices[there])
        graph = sp.csr_array(entries, shape=(n, n))
        super().__init__(graph, max_path_length, n_jobs, verbose)
        self._known = None if self._index is None else KnownRows(X)
        self._k = k

    def choose_anchors(self, most, rng):
        """Choose the items that place unseen ones, and keep the path lengths from them."""
        anchors = _choose(self.n_items, min(most, max(50, _MAX_LENGTHS // self.n_items)), rng)
        self._lengths = path_lengths(self._matrix, anchors)
        self._matrix = None
        return anchors

    def of_unseen(self, X):
        """Lengths of the shortest paths over a row's neighbours; the row that it equals, or -1."""
        if self._index is None:
            indices, distances = precomputed_queries(X, self._k, n_train=self.n_items)
            twin = np.where(distances[:, 0] == 0, indices[:, 0], -1)
        else:
            indices, distances = self._index.kneighbors(X, self._k)
            twin = self._known.find(X)
        D = np.full((len(indices), len(self._lengths)), np.inf)
        for column in range(indices.shape[1]):
            over = self._lengths[:, indices[:, column]].T + distances[:, column, None]
            np.minimum(D, np.where(indices[:, column, None] >= 0, over, np.inf), out=D)
        return D, twin


def original_distances(
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
        :func:`~skmde.preprocessing.neighbors.nearest_neighbors`.

    Returns
    -------
    originals : RowDistances, MatrixDistances, GraphDistances or NeighborPaths
    """
    paths = {"n_jobs": n_jobs, "verbose": verbose}
    named = metric if isinstance(metric, str) else None
    if named == "graph":
        return GraphDistances(X, max_path_length, **paths)
    if n_neighbors is not None:
        search.update(metric=metric, metric_params=metric_params)
        return NeighborPaths(X, n_neighbors, max_path_length, **paths, **search)
    if named == "precomputed":
        return MatrixDistances(X)
    return RowDistances(X, metric, metric_params, n_jobs)


def weighted_pairs(originals, pair_weights, max_pairs, rng):
    """The pairs of a problem, and their weights.

    Parameters
    ----------
    originals : RowDistances, MatrixDistances, GraphDistances or NeighborPaths
    pair_weights : array-like or sparse matrix of shape (n, n), or None
        Pairs of weight 0 are left out.
    max_pairs : float
        If there are more, so many are drawn.
    rng : numpy.random.Generator

    Returns
    -------
    pairs : Pairs
    weights : ndarray of shape (p,), float64, or None

    Raises
    ------
    ValueError
        If no pair is left.
    """
    if pair_weights is None:
        pairs, weights = originals.pairs(max_pairs, rng), None
    else:
        pairs, weights = _weighted(originals, pair_weights, max_pairs, rng)
    if len(pairs.distances) == 0:
        raise ValueError(
            "No pair of two samples has a distance and a weight above 0, so there is nothing to "
            f"preserve ({pairs.n_unreachable} pairs have no distance). Give more distances, or "
            "raise max_path_length or pair_weights."
        )
    return pairs, weights


def _weighted(originals, pair_weights, max_pairs, rng):
    n = originals.n_items
    matrix = _checked_weights(pair_weights, n)
    if isinstance(originals, RowDistances):
        upper = sp.triu(matrix, 1, format="coo")
        kept = np.flatnonzero(upper.data > 0)
        if len(kept) > max_pairs:
            kept = kept[rng.choice(len(kept), int(max_pairs), replace=False, shuffle=False)]
            kept.sort()
        edges = np.stack([upper.row[kept], upper.col[kept]], axis=1).astype(np.int32)
        pairs, weights = originals.of_pairs(edges), upper.data[kept]
    else:
        paths = isinstance(originals, GraphDistances)
        if not paths:
            originals.restrict(matrix)
        # Which pairs have a path is known after the search: draw from those with a weight then.
        few = n * (n - 1) // 2 <= _ALL_PATHS
        pairs = originals.pairs(np.inf if paths and few else max_pairs, rng)
        edges = all_edges(n) if pairs.edges is None else pairs.edges
        weights = _entries(matrix, edges[:, 0], edges[:, 1])
        kept = np.flatnonzero(weights > 0)
        if len(kept) > max_pairs:
            kept = kept[rng.choice(len(kept), int(max_pairs), replace=False, shuffle=False)]
            kept.sort()
        edges, weights = edges[kept], weights[kept]
        pairs = pairs._replace(edges=edges, distances=pairs.distances[kept])
    if len(edges) == n * (n - 1) // 2:
        return pairs._replace(edges=None), weights
    return pairs._replace(labels=_chains(edges, n)), weights


def _checked_weights(pair_weights, n):
    """The weights as a symmetric sparse matrix; an entry that is not stored is 0."""
    weights = as_host_array(pair_weights)
    if not sp.issparse(weights):
        weights = np.asarray(weights)
        weights = weights.astype(np.float64) if weights.dtype.kind == "O" else weights
    if weights.shape != (n, n):
        raise ValueError(
            f"pair_weights must be square, of shape ({n}, {n}), one row and column for each "
            f"sample; got {weights.shape}."
        )
    values = weights.data if sp.issparse(weights) else weights
    if values.dtype.kind not in "fiub":
        raise ValueError(f"pair_weights must hold real numbers; got dtype {values.dtype}.")
    if not np.isfinite(values).all():
        raise ValueError(
            "pair_weights must hold finite numbers, and has some that are NaN or infinite; set the "
            "weight of a pair that is to be left out to 0."
        )
    if (values < 0).any():
        raise ValueError(
            f"pair_weights must not be negative, got {values.min()}: a pair that repels has no "
            "original distance. Set the weight of a pair that is to be left out to 0."
        )
    return as_adjacency(weights, quantity="weight")[0]


def root_mean_square(values, weights=None):
    """Root of the (weighted) mean square, in float64, for numbers of any size."""
    largest = float(values.max(initial=0.0))
    if not largest > 0:
        return 0.0
    total = 0.0
    for start in range(0, len(values), _BLOCK_ENTRIES):
        part = slice(start, start + _BLOCK_ENTRIES)
        squares = (values[part].astype(np.float64) / largest) ** 2
        total += float((squares if weights is None else squares * weights[part]).sum())
    return largest * float(np.sqrt(total / len(values)))


def scaled(values, factor, dtype):
    """``values * factor`` as an array of `dtype`, rounded once."""
    out = np.empty(values.shape, dtype)
    return np.multiply(values, factor, out=out, casting="unsafe")


def kept_dtype(n_pairs):
    """float64, but float32 for so many pairs that memory counts."""
    return np.float64 if n_pairs <= _FEW_PAIRS else np.float32


def _fits(found):
    largest = found.max(initial=0.0)
    return found.dtype == np.float64 or largest == 0 or _RANGE[0] < largest < _RANGE[1]


def _in_kept_dtype(found):
    cast = found.astype(kept_dtype(len(found)), copy=False)
    return cast if _fits(cast) else found.astype(np.float64, copy=False)


def _choose(n_items, most, rng):
    return np.sort(rng.choice(n_items, min(n_items, most), replace=False, shuffle=False))


def _rows_of(matrix):
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _entries(matrix, rows, columns):
    """Entries of a sparse matrix; scipy takes no empty lists of places."""
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


def _finite_entries(matrix):
    """A dense matrix's finite entries off the diagonal as a sparse one, zeros included."""
    there = np.isfinite(matrix)
    np.fill_diagonal(there, False)
    rows, columns = np.nonzero(there)
    return sp.csr_array((matrix[rows, columns], (rows, columns)), shape=matrix.shape)


def _chains(edges, n):
    """Labels of the components that the pairs make of n items, or None if there is one."""
    if len(edges) == 0:
        return np.arange(n)
    ones = np.ones(len(edges), np.int8)
    n_parts, labels = connected_components(sp.csr_array((ones, edges.T), shape=(n, n)))
    return labels if n_parts > 1 else None


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
