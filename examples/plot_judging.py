"""
Which points of a map can be trusted, and which labels are wrong?
==================================================================

Two per cent of the labels of handwritten digits are swapped. The map does not use the labels, but
``estimator.distortions()`` finds the wrong ones: items whose neighbours have other labels.

Then each point is coloured by how far it can be trusted: by the share of its neighbours that the
map keeps, and by how far it moves when a tenth of the data is left out.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from skmde import PreserveNeighbors
from skmde.inspection import point_report, stability
from skmde.metrics import embedding_report
from skmde.plotting import EmbeddingDisplay


def swapped(labels, share, seed=0):
    """Labels of which a share is wrong, and a mask of the wrong ones."""
    rng = np.random.default_rng(seed)
    wrong = rng.choice(len(labels), round(share * len(labels)), replace=False)
    given = labels.copy()
    given[wrong] = (given[wrong] + rng.integers(1, 10, len(wrong))) % 10
    return given, np.isin(np.arange(len(labels)), wrong)


def draw(embedding, table, is_wrong):
    """Three maps: suspicious labels, neighbours that are kept, and stability."""
    figure = plt.figure(figsize=(10.5, 4), layout="constrained")
    titles = {
        "label_disagreement": "neighbours with another label\n(rings: labels that are wrong)",
        "recall": "neighbours\nthat the map keeps",
        "displacement": "movement\nwithout a tenth of the data",
    }
    panels = figure.subplots(1, 3, sharex=True, sharey=True)  # frames of one shape
    for ax, (name, title) in zip(panels, titles.items(), strict=True):
        display = EmbeddingDisplay.from_embedding(embedding, table[name], color_as="number", ax=ax)
        if name == "label_disagreement":
            rings = {"s": 50, "facecolors": "none", "edgecolors": "#D55E00", "zorder": 3}
            display.ax_.scatter(*embedding[is_wrong].T, **rings)
        ax.set_title(title)
    return figure


def main():
    parser = argparse.ArgumentParser(description="Find wrong labels, and judge points.")
    parser.add_argument("--output", type=Path, help="picture to write, not show")
    parser.add_argument("--samples", type=int, default=1797)
    parser.add_argument("--fits", type=int, default=5)
    args = parser.parse_args()

    X, labels = load_digits(return_X_y=True)
    X, labels = X[: args.samples], labels[: args.samples]
    given, is_wrong = swapped(labels, 0.02)
    estimator = PreserveNeighbors(random_state=0).fit(X)
    print(embedding_report(estimator, X, labels))

    disagreement = estimator.distortions().label_disagreement(given)
    print(f"wrong labels are found with an AUC of {roc_auc_score(is_wrong, disagreement):.4f}")
    check = estimator.redundancy_check(X)
    print(f"pairs that a fit has not seen have {check.ratio:.2f} times the distortion of others")
    stable = stability(estimator, X, n=args.fits)
    print(stable)

    table = point_report(estimator, X, given, stability=stable)
    print(table)
    figure = draw(estimator.embedding_, table, is_wrong)
    if args.output is None:
        plt.show()
        return
    figure.savefig(args.output, dpi=150)
    print(f"Picture: {args.output}")


if __name__ == "__main__":
    main()
