"""Figures of maps of one data set, on the same sampled rows for every map.

recall15, recall50
    Share of a row's nearest rows in the data that are among its nearest in the map.
trustworthiness, continuity
    As scikit-learn's trustworthiness, with 15 neighbours, and the same with data and map exchanged.
accuracy
    Share of rows whose class is the most frequent one among their 10 nearest in the map.
triplets
    Share of random triplets (a row and two others) of which the nearer one is the same in the map.
distances, paths
    Spearman correlation of distances in the map with those in the data, and with the path lengths
    along the graph of 15 neighbours, or along the links of a network. Pairs that no path connects
    are left out.
area
    Median of the distances from the median point, divided by their 99.9th percentile: small if a
    few points far out take up the page.
links
    Of a network: share of a node's links (at most 15 of them) that are among its 15 nearest.
common
    Share of the 15 nearest in the map that a second map, with another seed, has too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from _map_data import SAMPLES, Items
from scipy.sparse.csgraph import dijkstra
from scipy.stats import spearmanr
from sklearn.metrics import pairwise_distances

from skmde.preprocessing import nearest_neighbors

K = 15
VOTERS = 10
TARGETS = 300  # other ends of distances and of triplets, for each sampled row
SOURCES = 200  # rows from which paths are followed
BLOCK = 50  # rows whose distances to all others are held at a time


class Judge:
    """Figures of maps of one data set.

    Parameters
    ----------
    items : Items
    """

    def __init__(self, items: Items) -> None:
        rng = np.random.default_rng(0)
        self.items, self.n = items, items.X.shape[0]
        self.rows = np.sort(rng.choice(self.n, min(SAMPLES, self.n), replace=False))
        self.targets = rng.integers(self.n, size=(len(self.rows), TARGETS))
        self.graph = self._graph()
        sources = np.linspace(0, len(self.rows) - 1, min(SOURCES, len(self.rows))).astype(int)
        self.sources = np.unique(sources)
        paths = []
        for start in range(0, len(self.sources), BLOCK):
            part = self.sources[start : start + BLOCK]
            lengths = dijkstra(self.graph, indices=self.rows[part])
            paths.append(np.take_along_axis(lengths, self.targets[part], axis=1))
        self.paths = np.concatenate(paths)
        if items.metric != "precomputed":
            self._compare_rows()

    def _graph(self) -> Any:
        """The network, or the 15-neighbour graph, with lengths above 0."""
        items = self.items
        if items.metric == "precomputed":
            return items.X
        indices, distances, _ = nearest_neighbors(
            items.X, min(K, self.n - 1), metric=items.metric, random_state=0
        )
        there = indices >= 0
        near = np.repeat(np.arange(self.n), there.sum(axis=1))
        lengths = np.maximum(distances[there].astype(np.float64), 1e-12)
        shape = (self.n, self.n)
        directed = scipy.sparse.csr_array((lengths, (near, indices[there])), shape=shape)
        return directed.maximum(directed.T).tocsr()

    def _compare_rows(self) -> None:
        """Ranks of all rows by their distance to each sampled one; 0 is the nearest other."""
        ranks, near, distances = [], [], []
        for block in _blocks(len(self.rows)):
            rows = self.rows[block]
            D = pairwise_distances(self.items.X[rows], self.items.X, metric=self.items.metric)
            D[np.arange(len(rows)), rows] = np.inf
            order = np.argsort(D, axis=1, kind="stable")
            rank = np.empty(order.shape, dtype=np.int32)
            np.put_along_axis(rank, order, np.arange(self.n, dtype=np.int32)[None], axis=1)
            ranks.append(rank)
            near.append(order[:, :50])
            distances.append(np.take_along_axis(D, self.targets[block], axis=1))
        self.ranks, self.near = np.concatenate(ranks), np.concatenate(near)
        self.distances = np.concatenate(distances)

    def __call__(self, X: np.ndarray, second: np.ndarray | None = None) -> dict[str, float]:
        """Figures of a map, by name; `second` is a map of the same data with another seed."""
        X = np.asarray(X, dtype=np.float64)
        near, reverse, across = self._around(X)
        figures = {"paths": _spearman(self.paths, across[self.sources])}
        if self.items.labels is not None:
            figures["accuracy"] = self._accuracy(near)
        if self.items.metric == "precomputed":
            figures["links"] = self._links(near)
        else:
            figures.update(self._preservation(near, reverse, across))
        radii = np.linalg.norm(X - np.median(X, axis=0), axis=1)
        figures["area"] = float(np.median(radii) / np.quantile(radii, 0.999))
        if second is not None:
            other = self._around(np.asarray(second, dtype=np.float64))[0]
            figures["common"] = _shared(near[:, :K], other[:, :K])
        return figures

    def _around(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nearest rows in the map, ranks in it of the nearest in the data, and distances."""
        near, reverse, across = [], [], []
        for block in _blocks(len(self.rows)):
            rows = self.rows[block]
            D = pairwise_distances(X[rows], X)
            across.append(np.take_along_axis(D, self.targets[block], axis=1))
            D[np.arange(len(rows)), rows] = np.inf
            order = np.argsort(D, axis=1, kind="stable")
            near.append(order[:, :50])
            if self.items.metric != "precomputed":
                rank = np.empty(order.shape, dtype=np.int32)
                np.put_along_axis(rank, order, np.arange(self.n, dtype=np.int32)[None], axis=1)
                reverse.append(np.take_along_axis(rank, self.near[block, :K], axis=1))
        ranks = np.concatenate(reverse) if reverse else np.empty((0, K))
        return np.concatenate(near), ranks, np.concatenate(across)

    def _accuracy(self, near: np.ndarray) -> float:
        labels = np.asarray(self.items.labels)
        votes = labels[near[:, :VOTERS]]
        counts = (votes[:, :, None] == np.arange(labels.max() + 1)).sum(axis=1)
        return float(np.mean(counts.argmax(axis=1) == labels[self.rows]))

    def _links(self, near: np.ndarray) -> float:
        shares = []
        for row, close in zip(self.rows, near[:, :K], strict=True):
            linked = self.graph.indices[self.graph.indptr[row] : self.graph.indptr[row + 1]]
            shares.append(np.isin(close, linked).sum() / min(len(linked), K))
        return float(np.mean(shares))

    def _preservation(
        self, near: np.ndarray, reverse: np.ndarray, across: np.ndarray
    ) -> dict[str, float]:
        forward = np.take_along_axis(self.ranks, near[:, :K], axis=1)
        half = TARGETS // 2
        nearer = self.distances[:, :half] < self.distances[:, half : 2 * half]
        in_map = across[:, :half] < across[:, half : 2 * half]
        itself = self.targets == self.rows[:, None]
        valid = ~itself[:, :half] & ~itself[:, half : 2 * half]
        valid &= self.distances[:, :half] != self.distances[:, half : 2 * half]
        return {
            "recall15": _shared(self.near[:, :K], near[:, :K]),
            "recall50": _shared(self.near, near),
            "trustworthiness": self._trust(forward),
            "continuity": self._trust(reverse),
            "triplets": float(np.mean((nearer == in_map)[valid])),
            "distances": _spearman(self.distances, across),
        }

    def _trust(self, ranks: np.ndarray) -> float:
        excess = np.maximum(ranks + 1.0 - K, 0.0).sum(axis=1).mean()
        return float(1 - 2 / (K * (2 * self.n - 3 * K - 1)) * excess)

    def positions(self) -> np.ndarray:
        """A number for each item to colour it by: its class, or how far along the shape it is."""
        if self.items.labels is not None:
            return np.asarray(self.items.labels, dtype=float)
        lengths = dijkstra(self.graph, indices=0)
        lengths = dijkstra(self.graph, indices=np.argmax(np.where(np.isinf(lengths), -1, lengths)))
        return np.where(np.isinf(lengths), 0.0, lengths)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, n, BLOCK))


def _shared(first: np.ndarray, second: np.ndarray) -> float:
    """Mean share of each line of the first that is in the same line of the second."""
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(first, second, strict=True)]))


def _spearman(lengths: np.ndarray, distances: np.ndarray) -> float:
    used = np.isfinite(lengths) & (lengths > 0) & np.isfinite(distances)
    return float(spearmanr(lengths[used], distances[used]).statistic)
