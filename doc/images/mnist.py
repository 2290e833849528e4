"""
The picture of the landing page: 70,000 handwritten digits in the plane
=======================================================================

Draws MNIST, embedded by :class:`skmde.PreserveNeighbors` with its defaults. The file of ``--data``
has the arrays ``X`` of shape (70000, 784) and ``y``::

    python doc/images/mnist.py --data mnist70k.npz --output doc/images/mnist.jpg
"""

import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from skmde import PreserveNeighbors
from skmde.plotting import EmbeddingDisplay


def main():
    parser = argparse.ArgumentParser(description="Embed MNIST and draw it.")
    parser.add_argument("--data", type=Path, required=True, help=".npz with X and y")
    parser.add_argument("--map", type=Path, help=".npy to keep the embedding in, or to draw")
    parser.add_argument("--output", type=Path, default=Path("mnist.jpg"), help="picture to write")
    args = parser.parse_args()

    with np.load(args.data) as file:
        X, digits = file["X"], file["y"].astype(int)
    if args.map is not None and args.map.exists():
        embedding = np.load(args.map)
    else:
        start = time.perf_counter()
        embedding = PreserveNeighbors(random_state=0).fit_transform(X)
        print(f"{len(X):,} images in {time.perf_counter() - start:.1f} s")
        if args.map is not None:
            np.save(args.map, embedding)

    figure = plt.figure(figsize=(8, 8), layout="constrained")
    ax = figure.subplots()
    EmbeddingDisplay.from_embedding(embedding, digits, labels="map", theme="dark", ax=ax)
    ax.set_frame_on(False)
    figure.savefig(args.output, dpi=120)
    print(f"Picture: {args.output}")


if __name__ == "__main__":
    main()
