"""
Pictures of embeddings
======================

The displays of :mod:`skmde.plotting`, of scikit-learn's handwritten digits: maps by class and by
number, in light and dark, with edges, and with far islands; two maps side by side; and the diagrams
of distances, distortions, convergence and penalties. There are three pictures.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skmde import PreserveDistances, PreserveNeighbors
from skmde.plotting import (
    CompareEmbeddingsDisplay,
    ConvergenceDisplay,
    DistortionDisplay,
    EmbeddingDisplay,
    PenaltyDisplay,
    ShepardDisplay,
)


def cells(rows, columns, size):
    """A figure, and a subfigure for each picture, which may be light or dark."""
    figure = plt.figure(figsize=size, layout="constrained")
    return figure, figure.subfigures(rows, columns).ravel()


def draw_maps(estimator, X, digits):
    figure, places = cells(2, 2, (11.5, 9.6))
    axes = [place.subplots() for place in places]
    EmbeddingDisplay.from_estimator(estimator, digits, color_name="digit", ax=axes[0])
    axes[0].set_title("by class")
    brightness = X.mean(axis=1) / 16
    EmbeddingDisplay.from_estimator(
        estimator, brightness, color_name="mean brightness", theme="dark", ax=axes[1]
    )
    axes[1].set_title("by number, dark")
    EmbeddingDisplay.from_estimator(
        estimator, digits, labels="map", show_edges="sample", max_edges=3000, ax=axes[2]
    )
    axes[2].set_title("names on the map, and edges")
    islands = np.array([[900.0, 400.0]] * 5 + [[-50.0, 700.0]] * 2)
    far = np.concatenate([estimator.embedding_, islands])
    labels = [*digits, *[None] * len(islands)]
    EmbeddingDisplay.from_embedding(far, labels, theme="dark", ax=axes[3])
    axes[3].set_title("far islands do not shrink the rest")
    return figure


def draw_comparison(estimator, X, digits):
    figure = plt.figure(figsize=(11.5, 5.2), layout="constrained")
    CompareEmbeddingsDisplay.from_embeddings(
        PCA(2).fit_transform(X),
        estimator.embedding_,
        digits,
        titles=("principal components", "neighbours kept"),
        color_name="digit",
        n_lines=20,
        ax=figure.subplots(),
    )
    return figure


def draw_diagrams(estimator, X):
    """Diagrams of a second embedding, which keeps distances, and of the history of the first."""
    few = X[:500]
    distances = PreserveDistances(random_state=0).fit(few)
    i, j = distances.edges_.T
    lengths = np.linalg.norm(distances.embedding_[i] - distances.embedding_[j], axis=1)
    distortions = (lengths - distances.distances_) ** 2

    figure, places = cells(2, 2, (13.5, 9.0))
    ShepardDisplay.from_estimator(distances, ax=places[0].subplots())
    ConvergenceDisplay.from_estimator(estimator, theme="dark", ax=places[1].subplots(2, 1))
    DistortionDisplay.from_distortions(
        distortions, distances.edges_, theme="dark", ax=places[2].subplots(1, 2)
    )
    PenaltyDisplay.from_functions(
        {
            "log1p, attracts": "log1p",
            "Huber, attracts": "huber",
            "log, repels": "log",
            "Cauchy, repels": "cauchy",
        },
        weights=[1, 1, -1, -1],
        ax=places[3].subplots(1, 2),
    )
    return figure


def main():
    parser = argparse.ArgumentParser(description="Draw every display of skmde.plotting.")
    parser.add_argument("--folder", type=Path, help="where to write the pictures, not show them")
    parser.add_argument("--n-samples", type=int, default=1797, help="digits to embed")
    args = parser.parse_args()

    X, digits = (part[: args.n_samples] for part in load_digits(return_X_y=True))
    estimator = PreserveNeighbors(random_state=0).fit(X)
    figures = {
        "maps": draw_maps(estimator, X, digits),
        "compare": draw_comparison(estimator, X, digits),
        "diagrams": draw_diagrams(estimator, X),
    }
    if args.folder is None:
        plt.show()
        return
    for name, figure in figures.items():
        picture = args.folder / f"displays_{name}.png"
        figure.savefig(picture, dpi=75)
        print(f"Picture: {picture}")


if __name__ == "__main__":
    main()
