"""
Handwritten digits in the plane
===============================

Embeds scikit-learn's 1797 handwritten digits (8 x 8 pixels, 64 columns) with
:class:`skmde.PreserveNeighbors` and with scikit-learn's t-SNE, draws both, and prints how long each
took and how well each kept the neighbourhoods: *trustworthiness* is 1 if the 15 nearest points in
the plane are neighbours in the data too. The average distortion is the number that
PreserveNeighbors minimises: neighbours attract each other, and all pairs repel each other. t-SNE
minimises another objective, so the two numbers cannot be compared.
"""

import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE, trustworthiness

from skmde import PreserveNeighbors
from skmde.plotting import EmbeddingDisplay

N_NEIGHBORS = 15  # of trustworthiness


def timed_fit(estimator, X):
    start = time.perf_counter()
    embedding = estimator.fit_transform(X)
    return embedding, time.perf_counter() - start


def draw(panels, digits):
    """One map a panel, each digit's number where its points are densest."""
    figure = plt.figure(figsize=(10, 5.2), layout="constrained")
    axes = figure.subplots(1, len(panels))
    for ax, (title, embedding) in zip(axes, panels, strict=True):
        ax.set_title(title)
        EmbeddingDisplay.from_embedding(embedding, digits, labels="map", ax=ax)
    return figure


def main():
    parser = argparse.ArgumentParser(description="Embed and draw handwritten digits.")
    parser.add_argument("--output", type=Path, help="picture to write, not show")
    parser.add_argument("--seed", type=int, default=0, help="random_state of both estimators")
    args = parser.parse_args()

    X, digits = load_digits(return_X_y=True)
    print(f"scikit-learn's handwritten digits: {X.shape[0]} images, {X.shape[1]} pixels each\n")

    mde = PreserveNeighbors(random_state=args.seed)
    _, first_seconds = timed_fit(mde, X)
    embeddings = {
        "skmde PreserveNeighbors": (*timed_fit(mde, X), f"{mde.distortion_:.4f}"),
        "scikit-learn TSNE": (*timed_fit(TSNE(random_state=args.seed), X), "-"),
    }

    print(f"{'':24}{'seconds':>9}{'average distortion':>20}{'trustworthiness':>17}")
    panels = []
    for name, (embedding, seconds, distortion) in embeddings.items():
        kept = trustworthiness(X, embedding, n_neighbors=N_NEIGHBORS)
        print(f"{name:24}{seconds:>9.2f}{distortion:>20}{kept:>17.4f}")
        panels.append((f"{name}: {seconds:.2f} s, trustworthiness {kept:.3f}", embedding))
    print(
        f"\nskmde's first fit took {first_seconds:.2f} s: it also loads the compiled kernels, and"
        "\ncompiles them once after installation."
    )
    figure = draw(panels, digits)
    if args.output is None:
        plt.show()
        return
    figure.savefig(args.output, dpi=120)
    print(f"Picture: {args.output}")


if __name__ == "__main__":
    main()
