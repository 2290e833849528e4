"""
How strongly the points of a map repel
======================================

:class:`skmde.PreserveNeighbors` lets all pairs of points repel, with a weight. The weight sets
whether a map keeps the shape of the data whole or gives each neighbourhood room. Drawn are the
handwritten digits and a rolled-up sheet with a hole, each at three weights, with an attraction that
fades with the distance. Printed is how well each map keeps the 15 nearest neighbours (recall) and
the lengths of paths along the data (Spearman correlation with distances in the map). It is printed
for the defaults, too: they recognise that the sheet is flat, and hold it together by an attraction
that does not fade.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra
from scipy.stats import spearmanr
from sklearn.datasets import load_digits, make_swiss_roll

from skmde import Log1p, PreserveNeighbors
from skmde.metrics import neighborhood_recall
from skmde.plotting import EmbeddingDisplay
from skmde.preprocessing import nearest_neighbors

WEIGHTS = (0.005, 0.1, 1.0)


def sheet_with_hole(n=5000, seed=0):
    """A rolled-up sheet without its middle, and how far along it each point is."""
    X, t = make_swiss_roll(n, noise=0.1, random_state=seed)
    along, across = np.abs(t - np.median(t)), np.abs(X[:, 1] - np.median(X[:, 1]))
    kept = (along > 0.12 * np.ptp(t)) | (across > 0.25 * np.ptp(X[:, 1]))
    return X[kept], t[kept]


def lengths_of_paths(X, sources, n_neighbors=15):
    """Path lengths along the graph of neighbours, from some rows to all."""
    indices, distances, _ = nearest_neighbors(X, n_neighbors, random_state=0)
    rows = np.repeat(np.arange(len(X)), n_neighbors)
    graph = sp.csr_array((distances.ravel(), (rows, indices.ravel())), shape=(len(X), len(X)))
    return dijkstra(graph, directed=False, indices=sources)


def kept(X, Y, paths, sources):
    """Recall of 15 neighbours, and the correlation of distances in the map with path lengths."""
    distances = np.linalg.norm(Y[sources][:, None] - Y, axis=2)
    there = np.isfinite(paths) & (paths > 0)
    recall = neighborhood_recall(X, Y, n_neighbors=15)
    return recall, spearmanr(paths[there], distances[there]).statistic


def draw(rows):
    """One row of panels for each data set."""
    figure = plt.figure(figsize=(3.4 * len(WEIGHTS), 3.5 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), len(WEIGHTS))
    for line, (color_by, panels) in zip(axes, rows, strict=True):
        for ax, (title, Y) in zip(line, panels, strict=True):
            ax.set_title(title, fontsize=10)
            EmbeddingDisplay.from_embedding(Y, color_by, labels="none", ax=ax)
    return figure


def main():
    parser = argparse.ArgumentParser(description="Maps with repulsion of three weights.")
    parser.add_argument("--output", type=Path, help="picture to write, not show")
    parser.add_argument("--seed", type=int, default=0, help="random_state of the maps")
    args = parser.parse_args()

    X, digits = load_digits(return_X_y=True)
    sheet, along = sheet_with_hole()
    rows = []
    for name, data, color_by in (("digits", X, digits), ("sheet with a hole", sheet, along)):
        sources = np.arange(0, len(data), len(data) // 100)
        paths = lengths_of_paths(data, sources)
        panels = []
        for weight in (*WEIGHTS, None):
            attraction = Log1p(2.0) if weight else "auto"
            model = PreserveNeighbors(
                attractive_penalty=attraction, repulsive_weight=weight, random_state=args.seed
            )
            Y = model.fit_transform(data)
            recall, length = kept(data, Y, paths, sources)
            shown = f"{name}, weight {model.repulsive_weight_:.3g}"
            figures = f"recall {recall:.2f}, path lengths {length:.2f}"
            print(f"{shown}{'' if weight else ' (default)'}: {figures}")
            if weight:
                panels.append((f"{shown}\n{figures}", Y))
        rows.append((color_by, panels))
    figure = draw(rows)
    if args.output is None:
        plt.show()
        return
    figure.savefig(args.output, dpi=80)
    print(f"Picture: {args.output}")


if __name__ == "__main__":
    main()
