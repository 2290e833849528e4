"""Approximate Euclidean neighbours by inverted lists.

The recipe is the well-known one (Jegou, Douze and Schmid, 2011): rows are projected to a few
principal directions and cut into lists by k-means; a query visits only the lists whose centres
are nearest, and its best candidates there are compared again in all features. Since a
projection only shortens, the projected distance is a lower bound that ends this comparison
early. How many lists and candidates the data needs is measured on a few of its own rows, whose
true neighbours are found by comparing them with all others.

Nothing here depends on the number of threads or on which other queries are asked: training is
a fixed sequence of compiled loops, and every query is answered by itself. Units: rows and
squared distances are those of the scaled rows.
"""

from __future__ import annotations

import numpy as np

from skmde.preprocessing._exact import AllPairs
from skmde.preprocessing._pieces import run_pieces
from skmde.preprocessing._search import RowSearch

__all__ = ["InvertedLists"]

_PIECE = 2048
_N_DIRECTIONS = 64

# Share of the true neighbours that must lie in the lists visited, and of those that must be
# among the candidates taken from them.
_SHARE_FOUND = 0.99
_N_MEASURED = 128
_MEASURED_NEIGHBORS = 15
_MOST_CANDIDATES_PER_NEIGHBOR = 32

# Data without structure would need most lists: beyond 16 lists, a search of all rows by all rows
# is held to this many operations, a minute or so.
_MOST_OPERATIONS = 2e12


class InvertedLists(RowSearch):
    """Inverted lists over float32 rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32
        Kept as it is, for comparisons in all features.
    rng : numpy.random.Generator
        Picks the training rows.
    n_jobs : int or None
    """

    def __init__(self, rows, rng, n_jobs):
        n, d = rows.shape
        self.rows = rows
        sample = _sample_rows(rows, 4096, rng)
        self.directions = _principal_directions(sample, rng, n_jobs) if d > _N_DIRECTIONS else None
        short = self._shorten(rows, n_jobs)
        n_lists = int(np.clip(np.sqrt(n), 1, 4096))
        self.centers = _k_means(_sample_rows(short, 64 * n_lists, rng), n_lists, n_jobs)
        labels = _nearest_lists(short, self.centers, 1, n_jobs)[:, 0]
        self.n_probes, self.candidates_per_neighbor = self._measure(short, labels, rng, n_jobs)
        self._store(short, labels)

    def _measure(self, short, labels, rng, n_jobs):
        """How many lists to visit, and how many candidates to keep for each neighbour."""
        n = len(self.rows)
        k = min(_MEASURED_NEIGHBORS, n - 1)
        some = rng.choice(n, min(_N_MEASURED, n), replace=False, shuffle=False).astype(np.int32)
        nearest, _ = AllPairs(self.rows).search(self.rows[some], k, some, n_jobs)
        to_centers = _squared_distances(short[some], self.centers)
        of_lists = np.take_along_axis(to_centers, labels[nearest], axis=1)
        ranks = (to_centers[:, None, :] < of_lists[:, :, None]).sum(axis=2)
        affordable = _MOST_OPERATIONS * len(self.centers) / (float(n) ** 2 * short.shape[1])
        n_probes = 1 + int(np.quantile(ranks, _SHARE_FOUND, method="higher"))
        n_probes = min(n_probes, max(16, int(affordable)))
        if self.directions is None:
            return n_probes, 1.0
        ranks = _ranks(short[some], short, nearest)
        wanted = 1 + np.quantile(ranks, _SHARE_FOUND, method="higher")
        return n_probes, float(np.clip(wanted / k, 2.0, _MOST_CANDIDATES_PER_NEIGHBOR))

    def _store(self, short, labels):
        self.ids = np.argsort(labels, kind="stable").astype(np.int32)
        self.starts = np.searchsorted(labels[self.ids], np.arange(len(self.centers) + 1))
        self.short = short[self.ids]

    def _shorten(self, rows, n_jobs):
        if self.directions is None:
            return rows
        return _project(rows, self.directions, n_jobs)

    def search(self, queries, k, exclude, n_jobs):
        """The (approximately) nearest rows of each query.

        Parameters
        ----------
        queries : ndarray of shape (q, d)
        k : int
        exclude : ndarray of shape (q,), int32
            The row that is the query itself, or -1.
        n_jobs : int or None

        Returns
        -------
        indices : ndarray of shape (q, k), int32
        squared : ndarray of shape (q, k), float64
        """
        queries = np.ascontiguousarray(queries, np.float32)
        short = self._shorten(queries, n_jobs)
        probes = _nearest_lists(short, self.centers, self.n_probes, n_jobs)
        # Rows of one list are asked one after another: they share candidates in the cache.
        order = np.argsort(probes[:, 0], kind="stable")
        indices, squared = self._visit(queries, short, probes, exclude, order, k, n_jobs)
        # Few rows in the lists visited, or very many neighbours wanted.
        few = np.flatnonzero(indices[:, -1] < 0)
        if len(few):
            everywhere = AllPairs(self.rows)
            indices[few], squared[few] = everywhere.search(queries[few], k, exclude[few], n_jobs)
        return indices, squared

    def _visit(self, queries, short, probes, exclude, order, k, n_jobs):
        from skmde.preprocessing._kernels import refine

        indices = np.empty((len(queries), k), np.int32)
        squared = np.empty((len(queries), k))
        # A few more than needed, since projected distances are rounded.
        width = min(int(np.ceil(self.candidates_per_neighbor * k)) + 4, len(self.rows))

        def piece(start, stop):
            these = order[start:stop]
            candidates, bounds = self._scan(short[these], probes[these], exclude[these], width)
            found = np.empty((len(these), k), np.int32)
            values = np.empty((len(these), k))
            refine(queries[these], self.rows, candidates, bounds, found, values)
            indices[these], squared[these] = found, values

        run_pieces(piece, len(order), _PIECE, n_jobs)
        return indices, squared

    def _scan(self, short, probes, exclude, width):
        """The best rows of the probed lists, with their projected squared distances."""
        from skmde.preprocessing._kernels import scan_lists

        candidates = np.full((len(short), width), -1, np.int32)
        bounds = np.full((len(short), width), np.inf, np.float32)
        # The nearest list first: it leaves few rows of the others to be taken in.
        for lists in (probes[:, :1], probes[:, 1:]):
            scan_lists(
                short,
                np.ascontiguousarray(lists),
                exclude,
                self.short,
                self.ids,
                self.starts,
                candidates,
                bounds,
            )
        return candidates, bounds


def _sample_rows(rows, size, rng):
    if len(rows) <= size:
        return rows
    return rows[np.sort(rng.choice(len(rows), size, replace=False, shuffle=False))]


def _squared_distances(a, b):
    return np.array([((b - row) ** 2).sum(axis=1) for row in a])


def _ranks(queries, rows, nearest):
    """How many rows are nearer to each query than each of its `nearest`, after projection."""
    from skmde.preprocessing._kernels import count_nearer

    values = np.array(
        [_squared_distances(q[None], rows[i])[0] for q, i in zip(queries, nearest, strict=True)]
    )
    counts = np.zeros(values.shape, np.int64)
    count_nearer(queries, rows, values, counts)
    return counts


def _project(rows, directions, n_jobs):
    from skmde.preprocessing._kernels import project

    out = np.empty((len(rows), len(directions)), np.float32)

    def piece(start, stop):
        project(rows[start:stop], directions, out[start:stop])

    run_pieces(piece, len(rows), _PIECE, n_jobs)
    return out


def _principal_directions(sample, rng, n_jobs):
    """An orthonormal basis near the leading principal subspace, by subspace iteration.

    Any basis of the subspace serves, so no eigenvectors are needed, and no LAPACK routine
    whose last bits vary with the number of threads.
    """
    centered = sample - sample.mean(axis=0)
    transposed = np.ascontiguousarray(centered.T)
    start = rng.standard_normal((_N_DIRECTIONS, sample.shape[1]))
    basis = _orthonormal(start)
    for _ in range(4):
        scores = np.ascontiguousarray(_project(centered, basis, n_jobs).T)
        basis = _orthonormal(_project(transposed, scores, n_jobs).T)
    return basis


def _orthonormal(vectors):
    """Rows made orthonormal by Gram-Schmidt, done twice; rows that vanish become zero."""
    vectors = np.array(vectors, np.float64, order="C")
    for i in range(len(vectors)):
        size = np.sqrt((vectors[i] ** 2).sum())
        for _ in range(2):
            shares = (vectors[:i] * vectors[i]).sum(axis=1)
            vectors[i] -= (shares[:, None] * vectors[:i]).sum(axis=0)
        length = np.sqrt((vectors[i] ** 2).sum())
        vectors[i] = vectors[i] / length if length > 1e-10 * size else 0.0
    return vectors.astype(np.float32)


def _nearest_lists(rows, centers, n_probes, n_jobs):
    """The indices of the nearest centres of every row, nearest first."""
    from skmde.preprocessing._kernels import scan_lists

    n_probes = min(n_probes, len(centers))
    indices = np.full((len(rows), n_probes), -1, np.int32)
    ids = np.arange(len(centers), dtype=np.int32)
    starts = np.array([0, len(centers)])

    def piece(start, stop):
        scan_lists(
            rows[start:stop],
            np.zeros((stop - start, 1), np.int32),
            np.full(stop - start, -1, np.int32),
            centers,
            ids,
            starts,
            indices[start:stop],
            np.full((stop - start, n_probes), np.inf, np.float32),
        )

    run_pieces(piece, len(rows), _PIECE, n_jobs)
    return indices


def _k_means(rows, n_lists, n_jobs):
    """Lloyd's iterations from evenly spaced rows of a random sample."""
    from skmde.preprocessing._kernels import group_means

    centers = rows[np.linspace(0, len(rows) - 1, n_lists).astype(np.int64)].copy()
    for _ in range(8):
        group_means(rows, _nearest_lists(rows, centers, 1, n_jobs)[:, 0], centers)
    return centers
