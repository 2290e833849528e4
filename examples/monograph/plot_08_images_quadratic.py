"""
Images, first part: a quadratic problem and its outliers
========================================================

Redoes figures 8.1 to 8.4 of the monograph (chapter 8): handwritten digits as a quadratic problem of
the pairs of 15 nearest neighbours, in the plane and in space, and the pairs that the embedding
keeps badly.

By default the images are the 1797 digits of scikit-learn, of 8 x 8 pixels. If the environment
variable ``SKMDE_DATA`` names a folder with ``mnist70k.npz``, they are the 70,000 of MNIST, as in
the monograph.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skmde import PreserveNeighbors
from skmde.metrics import knn_accuracy
from skmde.plotting import EmbeddingDisplay

FILE = Path(os.environ.get("SKMDE_DATA", ""), "mnist70k.npz")

if os.environ.get("SKMDE_DATA") and FILE.exists():
    with np.load(FILE) as data:
        X, digit = data["X"].astype(np.float32), data["y"].astype(int)
else:
    X, digit = load_digits(return_X_y=True)
side = int(X.shape[1] ** 0.5)
print(f"{len(X)} images of {side} x {side} pixels")

# %%
# The problem
# -----------
#
# Pairs of neighbours attract each other with the penalty :math:`d^2`. The weight of a pair is 2 if
# each is a neighbour of the other, else 1, as in the monograph. No pairs repel; the embedding is
# standardized instead, so that it cannot collapse. This is a Laplacian embedding.

models = {}
for m in (2, 3):
    models[m] = PreserveNeighbors(
        m, n_neighbors=15, attractive_penalty="quadratic", repulsive_penalty=None, random_state=0
    ).fit(X)
    accuracy = knn_accuracy(models[m].embedding_, digit, sample=2000, random_state=0)
    print(
        f"m = {m}: {len(models[m].edges_)} pairs, average distortion {models[m].distortion_:.4f}; "
        f"accuracy of 10 neighbours {accuracy:.1%}"
    )

figure = plt.figure(figsize=(10.5, 4.9), layout="constrained")
for k, (m, model) in enumerate(models.items(), start=1):
    ax = figure.add_subplot(1, 2, k, projection="3d" if m == 3 else None)
    labels = "map" if m == 2 else "legend"
    EmbeddingDisplay.from_embedding(model.embedding_, digit, ax=ax, labels=labels)
    ax.set_title(f"{m} components")
plt.show()

# %%
# The monograph finds that the same digits are near each other in both embeddings. So they are here.
# Some digits lie far out in narrow arms and the others share the middle, which is usual for
# spectral embeddings. On MNIST the accuracy of 10 neighbours is 77 % in the plane and 92 % in space
# (``benchmarks/results/monograph_images.json``).

# %%
# Distortions
# -----------
#
# The average is low, and a few pairs carry much of it. Figure 8.3 is the distribution of the
# distortions. Its axis is logarithmic here.

distortions = models[2].distortions()
order = np.argsort(-distortions.values)
values = distortions.values[order]

figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.plot(np.maximum(values[::-1], 1e-8), np.linspace(0, 1, len(values)), lw=2, color="#0072B2")
ax.axvline(models[2].distortion_, color="#D55E00", lw=1.2, ls="--")
ax.text(models[2].distortion_ * 1.15, 0.06, "average", color="#D55E00")
ax.set(xscale="log", xlabel="distortion of a pair", ylabel="share of the pairs")
ax.set_xlim(left=np.quantile(values, 0.02))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
share = values[: len(values) // 100].sum() / values.sum()
print(f"1 % of the pairs have {share:.0%} of the sum of distortions")

# %%
# Outliers
# --------
#
# Figure 8.4 shows the five pairs with the largest distortions, a column each. The monograph sees
# pairs of two digits there, and images that are hardly legible. To find such pairs is a use of an
# embedding in its own right: they are either wrong neighbours, or images between two kinds.

pairs = distortions.pairs[order]
figure, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for column, pair in zip(axes.T, pairs[:5], strict=True):
    for ax, image in zip(column, pair, strict=True):
        ax.imshow(X[image].reshape(side, side), cmap="gray_r")
        ax.set_title(f"labelled {digit[image]}", fontsize=10)
        ax.set_axis_off()
plt.show()

count = min(1000, len(pairs) // 100)
different = digit[pairs[:, 0]] != digit[pairs[:, 1]]
print(f"two different digits: {different.mean():.1%} of all pairs of neighbours,")
print(f"{different[:count].mean():.1%} of the {count} pairs with the largest distortions")
