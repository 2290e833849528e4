"""
Millions of samples as counts
=============================

A map of millions of samples, from a few thousand summaries. Many samples say nearly the same, so
they are first put into groups, by k-means or by a grid. The means of the groups are embedded, with
the numbers of their samples as weights. `transform` then places every sample.

The time of the solve, and the memory of the neighbour search, are those of the summaries. k-means
suits data of any dimension, and its groups hold similar numbers of samples. A grid over a few
coordinates gives rare kinds of samples groups of their own, and needs one pass over the data, which
may be larger than memory. The numbers then differ by factors of thousands. Since the weights of the
two samples of a pair are multiplied, the square roots of such numbers are better weights. If its
cells are wide, a grid breaks kinds into several pieces. A random sample of the data in place of
groups is faster still, and holds few samples of rare kinds.
"""

import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import MiniBatchKMeans

from skmde import PreserveNeighbors
from skmde.metrics import knn_accuracy
from skmde.plotting import EmbeddingDisplay

JUDGED = 500  # samples of each kind, at most, that the accuracy is for


def cells(n_samples, n_kinds=14, n_markers=8, seed=0):
    """Samples like those of a flow cytometer: kinds of cells, some common and some rare.

    Returns
    -------
    X : ndarray of float32 of shape (n_samples, n_markers)
        Markers of each cell.
    kind : ndarray of int of shape (n_samples,)
        Each kind is about two thirds as common as the one before; the last is 0.1% of all.
    """
    rng = np.random.default_rng(seed)
    share = 0.65 ** np.arange(n_kinds)
    kind = rng.choice(n_kinds, n_samples, p=share / share.sum())
    centers = rng.normal(scale=1.6, size=(n_kinds, n_markers))
    drift = rng.normal(scale=0.7, size=(n_kinds, n_markers))  # a kind is an elongated cloud
    along = rng.normal(size=(n_samples, 1))
    noise = rng.normal(scale=0.35, size=(n_samples, n_markers))
    return (centers[kind] + along * drift[kind] + noise).astype(np.float32), kind


def by_kmeans(X, n_groups):
    """Means of groups, and their numbers of samples as weights."""
    options = {"init": "random", "n_init": 1, "max_iter": 10, "batch_size": 16384}
    kmeans = MiniBatchKMeans(n_groups, random_state=0, **options).fit(X)
    counts = np.bincount(kmeans.labels_, minlength=n_groups)
    return kmeans.cluster_centers_[counts > 0], counts[counts > 0]


def by_grid(X, step):
    """Means of the samples of each cell of a grid, and square roots of their numbers."""
    cell = np.floor(X / step).astype(np.int32)
    _, group, counts = np.unique(cell, axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()
    sums = [np.bincount(group, weights=column) for column in X.T]
    return (np.stack(sums, axis=1) / counts[:, None]).astype(X.dtype), np.sqrt(counts)


def by_sampling(X, n_samples):
    """A random sample, for comparison."""
    rows = np.random.default_rng(0).choice(len(X), n_samples, replace=False)
    return X[rows], None


def main():
    parser = argparse.ArgumentParser(description="Embed many samples through summaries.")
    parser.add_argument("--n-samples", type=int, default=30_000)
    parser.add_argument("--n-groups", type=int, default=1000)
    parser.add_argument("--step", type=float, default=2.2, help="of the grid")
    parser.add_argument("--output", type=Path, help="picture to write, not show")
    args = parser.parse_args()

    X, kind = cells(args.n_samples)
    ways = {
        "k-means": lambda: by_kmeans(X, args.n_groups),
        "grid": lambda: by_grid(X, args.step),
        "random sample": lambda: by_sampling(X, args.n_groups),
    }
    judged = np.concatenate([np.flatnonzero(kind == k)[:JUDGED] for k in np.unique(kind)])
    figure = plt.figure(figsize=(10.5, 4), layout="constrained")
    axes = figure.subplots(1, 3, subplot_kw={"xticks": [], "yticks": []})  # frames of one shape
    for ax, (name, summarize) in zip(axes, ways.items(), strict=True):
        start = time.perf_counter()
        summaries, weights = summarize()
        estimator = PreserveNeighbors(max_iter=1000, random_state=0)
        estimator.fit(summaries, sample_weight=weights)
        fitted = time.perf_counter()
        embedding = estimator.transform(X)
        end = time.perf_counter()
        accuracy = knn_accuracy(embedding[judged], kind[judged])
        title = (
            f"{name}: {len(X):,} samples, {len(summaries):,} summaries\n"
            f"fit {fitted - start:.1f} s, transform {end - fitted:.1f} s, "
            f"accuracy {accuracy:.3f}"
        )
        print(title.replace("\n", ": "))
        ax.set_title(title, fontsize=9)
        EmbeddingDisplay.from_embedding(embedding, kind, labels="map", ax=ax)
    if args.output is None:
        plt.show()
        return
    figure.savefig(args.output, dpi=90)
    print(f"Picture: {args.output}")


if __name__ == "__main__":
    main()
