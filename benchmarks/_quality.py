"""Quality figures of several embeddings of one data set, on the same sampled rows.

Run as a process of its own by ``mnist.py`` with the path of a JSON file; prints one JSON line.
The definitions are those of the project's reference measurements:

knn_recall15
    Share of the 15 true neighbours of 1000 random rows that are among their 15 neighbours in
    the embedding.
knn_accuracy
    10-nearest-neighbour classifier trained on the embedding of the training rows, scored on
    that of the test rows.
trustworthiness
    scikit-learn's, with 15 neighbours, on 5000 random rows.
triplet
    Share of 200,000 random triplets whose order of distances is kept.
average_distortion
    Mean of w log(1 + d^1.5) over neighbours and w log(1 - exp(-d)) over the sampled other pairs
    (the defaults of skmde and of PyMDE), on an edge list that is given.

Everything here is numpy and scikit-learn, so that no program is judged by its own code.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

NEIGHBORS = 15


def nearest(data: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The 15 nearest neighbours of each of `rows`, without the row itself."""
    finder = NearestNeighbors(n_neighbors=NEIGHBORS + 1, n_jobs=-1).fit(data)
    found = finder.kneighbors(data[rows], return_distance=False)
    # a row may come second to its duplicate, so it is removed by index and not by rank
    keep = found != rows[:, None]
    keep[keep.all(axis=1), -1] = False
    return found[keep].reshape(len(rows), NEIGHBORS)


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Mean share of the entries of each row of `a` that are in the same row of `b`."""
    return float((a[:, :, None] == b[:, None, :]).any(axis=2).mean())


def lengths(data: np.ndarray, i: np.ndarray, j: np.ndarray, block: int = 50_000) -> np.ndarray:
    """Squared distances of pairs of rows."""
    out = np.empty(len(i))
    for start in range(0, len(i), block):
        part = slice(start, start + block)
        difference = data[i[part]].astype(np.float32) - data[j[part]].astype(np.float32)
        out[part] = np.einsum("ij,ij->i", difference, difference)
    return out


def average_distortion(X: np.ndarray, edges: np.ndarray, weights: np.ndarray) -> float:
    """Average distortion under the default penalties, in float64."""
    X = X.astype(np.float64)
    d = np.sqrt(((X[edges[:, 0]] - X[edges[:, 1]]) ** 2).sum(axis=1))
    attract = weights > 0
    near, far = d[attract], np.maximum(d[~attract], 1e-12)
    total = weights[attract] @ np.log1p(near**1.5)
    total += weights[~attract] @ np.log(-np.expm1(-far))
    return float(total / len(edges))


class Judge:
    """Holds the sampled rows and pairs, so that every embedding is asked the same."""

    def __init__(self, data: np.ndarray, labels: np.ndarray, test: np.ndarray) -> None:
        rng = np.random.default_rng(20)
        n = len(data)
        self.labels, self.test = labels, test
        self.rows = rng.choice(n, size=min(1000, n), replace=False)
        self.some = rng.choice(n, size=min(5000, n), replace=False)
        self.triplets = rng.integers(n, size=(3, 200_000))
        self.sample = data[self.some].astype(np.float32)
        self.true = nearest(data.astype(np.float32), self.rows)
        self.order = self._order(data)

    def _order(self, data: np.ndarray) -> np.ndarray:
        i, j, k = self.triplets
        return np.sign(lengths(data, i, j) - lengths(data, i, k))

    def figures(self, X: np.ndarray) -> dict[str, float]:
        """All figures of one embedding that need no edges."""
        classifier = KNeighborsClassifier(n_neighbors=10)
        out = {
            "knn_recall15": overlap(self.true, nearest(X, self.rows)),
            "trustworthiness": float(
                trustworthiness(self.sample, X[self.some], n_neighbors=NEIGHBORS)
            ),
            "triplet": float((self._order(X) == self.order).mean()),
        }
        if self.test.any() and not self.test.all():
            classifier.fit(X[~self.test], self.labels[~self.test])
            out["knn_accuracy"] = float(classifier.score(X[self.test], self.labels[self.test]))
        return out


def main() -> None:
    with open(sys.argv[1]) as file:
        spec: dict[str, Any] = json.load(file)
    embeddings = {name: np.load(path)["embedding"] for name, path in spec["embeddings"].items()}
    judge = Judge(np.load(spec["data"]), np.load(spec["labels"]), np.load(spec["test"]))
    figures = {name: judge.figures(X) for name, X in embeddings.items()}
    distortion: dict[str, dict[str, float]] = {}
    for owner in spec["edges_of"]:
        with np.load(spec["embeddings"][owner]) as arrays:
            edges, weights = arrays["edges"], arrays["weights"].astype(np.float64)
        distortion[owner] = {
            name: average_distortion(embeddings[name], edges, weights) for name in spec["edges_of"]
        }
    print(json.dumps({"figures": figures, "average_distortion": distortion}))


if __name__ == "__main__":
    main()
