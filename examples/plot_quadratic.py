"""
One problem, many methods
=========================

Principal components, kernel PCA, locally linear embedding, Laplacian eigenmaps, spectral embedding,
Isomap and maximum variance unfolding are one problem, ::

    minimise  tr X^T L X   over embeddings X of mean 0 with X^T X = n I,

and differ in the matrix L alone, that is, in the weights of the pairs (Agrawal, Ali and Boyd,
*Minimum-Distortion Embedding*, chapter 3). Here :class:`skmde.QuadraticMDE` solves it for each of
them on a rolled-up strip: those that know distances in space see the roll from the side, those
that know neighbours unroll it. Columns are standardized, so that every embedding is as wide as it
is high.

For the last, the extra ``mvu`` has to be installed. It takes longer and gets fewer samples.
"""

import argparse
import importlib.util
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from skmde import QuadraticMDE
from skmde.plotting import EmbeddingDisplay

COLOURS = "viridis"
METHODS = {  # parameters, and L
    "pca": ({}, r"$L = -YY^T$"),
    "kernel_pca": ({"kernel": "rbf", "gamma": 0.01}, r"$L = -JKJ$"),
    "lle": ({"n_neighbors": 12}, r"$L = (I-W)^T(I-W)$"),
    "laplacian": ({"n_neighbors": 12}, r"$L = D-W$"),
    "normalized_laplacian": ({"n_neighbors": 12}, r"$L = I-D^{-1/2}WD^{-1/2}$"),
    "isomap": ({"n_neighbors": 12}, r"$L = \frac{1}{2}\,J\Delta J$"),
    "mvu": ({"n_neighbors": 4}, r"$L = -G$"),
}
EVEN = [0.7548776662466927, 0.5698402909980532]  # steps whose multiples fill the unit square evenly
FEW = 250  # samples for maximum variance unfolding, which takes longer


class Roll(NamedTuple):
    """A strip, rolled up: samples (n, 3), and where they are along it and across it."""

    X: np.ndarray
    along: np.ndarray
    across: np.ndarray


def rolled_strip(n_samples=900, turns=1.1, width=28.0, seed=0):
    """Samples that are even on the strip, and any first of them, too."""
    start = np.random.default_rng(seed).random(2)
    u, v = ((start + np.arange(n_samples)[:, None] * EVEN) % 1).T
    first, last = 1.5 * np.pi, (1.5 + 2 * turns) * np.pi
    # the arc of the spiral r = angle up to an angle is about half of its square
    along = first**2 / 2 + u * (last**2 - first**2) / 2
    angle = np.sqrt(2 * along)
    X = np.stack([angle * np.cos(angle), width * v, angle * np.sin(angle)], axis=1)
    return Roll(X, along, width * v)


def embeddings(roll):
    """Each method, its fitted estimator, and where its samples were along the strip."""
    for weights, (parameters, _) in METHODS.items():
        n = len(roll.X)
        if weights == "mvu":
            if importlib.util.find_spec("cvxpy") is None:
                print('mvu is left out: pip install "skmde[mvu]"')
                continue
            n = FEW
        estimator = QuadraticMDE(weights=weights, random_state=0, **parameters)
        yield weights, estimator.fit(roll.X[:n]), roll.along[:n]


def draw_roll(ax, roll, style):
    ax.scatter(*roll.X.T, c=roll.along, s=9, **style)
    ax.view_init(elev=14, azim=-62)
    ax.set_box_aspect(np.ptp(roll.X, axis=0), zoom=1.35)
    ax.set_axis_off()
    ax.set_title(f"{len(roll.X)} samples of a strip,\nrolled up", fontsize=10)


def main():
    parser = argparse.ArgumentParser(description="Draw one strip by many spectral methods.")
    parser.add_argument("--output", type=Path, help="picture to write, not show")
    parser.add_argument("--seed", type=int, default=0, help="of the samples")
    args = parser.parse_args()

    roll = rolled_strip(seed=args.seed)
    style = {"cmap": COLOURS, "linewidths": 0}
    figure = plt.figure(figsize=(10.5, 5.8), layout="constrained")
    draw_roll(figure.add_subplot(2, 4, 1, projection="3d"), roll, style)
    for place, (weights, estimator, along) in enumerate(embeddings(roll), start=2):
        ax = figure.add_subplot(2, 4, place)
        title = f'weights="{weights}"\n{METHODS[weights][1]}'
        options = {"color_as": "number", "cmap": COLOURS, "labels": "none"}
        ax.set_title(title, fontsize=10)
        EmbeddingDisplay.from_estimator(estimator, along, ax=ax, **options)
        values = " ".join(f"{value:.4g}" for value in estimator.eigenvalues_)
        print(f"{weights:22} eigenvalues {values}, distortion {estimator.distortion_:.4g}")
    if args.output is None:
        plt.show()
        return
    figure.savefig(args.output, dpi=90)
    print(f"Picture: {args.output}")


if __name__ == "__main__":
    main()
