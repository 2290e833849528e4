"""
Images, second part: attraction and repulsion
=============================================

Redoes figures 8.5 to 8.9 of the monograph (chapter 8): standardized embeddings of handwritten
digits with more and fewer dissimilar pairs, and with larger and smaller weights for them; centred
embeddings under two attractive penalties; and PCA, UMAP and t-SNE beside them.

By default the images are 1000 digits of scikit-learn. If the environment variable ``SKMDE_DATA``
names a folder with ``mnist70k.npz``, they are the 70,000 of MNIST, as in the monograph; t-SNE then
gets 5,000 of them.
"""

import importlib.util
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from skmde import Huber, Log1p, PreserveNeighbors
from skmde.metrics import align, knn_accuracy
from skmde.plotting import EmbeddingDisplay

FILE = Path(os.environ.get("SKMDE_DATA", ""), "mnist70k.npz")
N_ROWS = 1000  # digits of scikit-learn
N_TSNE = 5000

if os.environ.get("SKMDE_DATA") and FILE.exists():
    with np.load(FILE) as data:
        X, digit = data["X"].astype(np.float32), data["y"].astype(int)
else:
    X, digit = load_digits(return_X_y=True)
    X, digit = X[:N_ROWS], digit[:N_ROWS]


def accuracy(Y):
    """How many digits are those of the 10 nearest neighbours in the embedding."""
    return knn_accuracy(Y, digit[: len(Y)], sample=2000, random_state=0)


def page(maps, columns, labels="none", **options):
    """Maps side by side, with the accuracy of each."""
    rows = -(-len(maps) // columns)
    size = (10.5, 10.5 / columns * rows * 1.08)
    figure = plt.figure(figsize=size, layout="constrained")
    ticks = {"xticks": [], "yticks": []}  # frames of one shape
    axes = figure.subplots(rows, columns, squeeze=False, subplot_kw=ticks)
    for ax in axes.flat[len(maps) :]:
        ax.set_axis_off()
    for ax, (title, Y) in zip(axes.flat, maps.items(), strict=False):
        ax.set_title(f"{title}: {accuracy(Y):.1%}", fontsize=10.5)
        EmbeddingDisplay.from_embedding(Y, digit[: len(Y)], ax=ax, labels=labels, **options)
    plt.show()


# %%
# A standardized embedding
# ------------------------
#
# Similar pairs are the pairs of 15 nearest neighbours, of weight 2 if mutual and 1 else, under the
# penalty :math:`\log(1 + d^{1.5})`. As many dissimilar pairs are drawn at random, of weight -1,
# under the penalty :math:`\log(1 - e^{-d})`. Every solve starts from the quadratic embedding of the
# :doc:`first part <plot_08_images_quadratic>`; that is the default of ``init`` where repulsive
# pairs are sampled. All maps are turned to lie as the first one does.


def standardized(ratio=1.0, weight=1.0):
    """The monograph's problem with `ratio` times as many dissimilar pairs, of this weight."""
    model = PreserveNeighbors(
        n_neighbors=15,
        attractive_penalty=Log1p(1.5),
        repulsive_penalty="log",
        repulsion="sampled",
        repulsive_fraction=ratio,
        repulsive_weight=weight,
        constraint="standardized",
        tol=1e-4,
        max_iter=600,
        random_state=0,
    )
    return model.fit_transform(X)


quadratic = PreserveNeighbors(
    n_neighbors=15, attractive_penalty="quadratic", repulsive_penalty=None, random_state=0
).fit_transform(X)
base = align(standardized(), quadratic)
page({"quadratic": quadratic, "with repulsion": base}, columns=2, labels="map")

# %%
# The monograph finds the second map (figure 8.5) similar to the first, with more separation between
# the digits. The same is seen here: the arms point into the same directions, and the digits of the
# middle are apart. The figure in each title is the share of images whose digit is that of their 10
# neighbours in the map.

# %%
# The number of dissimilar pairs
# ------------------------------
#
# With few dissimilar pairs, the monograph finds digits tightly clustered; with many, the embedding
# spreads out (figure 8.6).

RATIOS = (0.1, 0.25, 0.5, 2.0, 4.0)
by_number = {f"{r:g} x pairs": align(standardized(ratio=r), base) for r in RATIOS}
page(by_number, columns=5)

# %%
# The weight of dissimilar pairs
# ------------------------------
#
# Now the number is fixed and the weight varies (figure 8.7). The monograph finds that this has a
# similar effect.

by_weight = {f"{r:g} x weight": align(standardized(weight=r), base) for r in RATIOS}
page(by_weight, columns=5)


# %%
# We can say how similar the maps are: the correlation of their coordinates, after alignment.


def correlation(A, B):
    return np.corrcoef(A.ravel(), align(B, A).ravel())[0, 1]


for r in RATIOS:
    r_map, w_map = by_number[f"{r:g} x pairs"], by_weight[f"{r:g} x weight"]
    print(f"{r:4g} times the pairs or the weight: correlation {correlation(r_map, w_map):.3f}")

# %%
# On MNIST the correlations are from 0.97 to 0.999 (``benchmarks/results/monograph_images.json``).

# %%
# Two attractions, centred
# ------------------------
#
# The constraint is now only that the mean is 0. The monograph compares the attraction log1p
# (exponent 1.5) with Huber (threshold 0.5). It finds the maps very similar, and more points between
# the classes under Huber, whose pull does not fade with the distance (figure 8.8).

centred = {}
for name, penalty in {"log1p": Log1p(1.5), "Huber": Huber(0.5)}.items():
    model = PreserveNeighbors(
        n_neighbors=15,
        attractive_penalty=penalty,
        repulsive_penalty="log",
        repulsion="sampled",
        constraint="centered",
        tol=1e-4,
        max_iter=600,
        random_state=0,
    )
    centred[f"centred, {name}"] = align(model.fit_transform(X), base, scaling=True)
page(centred, columns=2, labels="map")
print(f"correlation of the two maps: {correlation(*centred.values()):.3f}")

# %%
# Beside other methods
# --------------------
#
# The monograph shows UMAP and t-SNE (figure 8.9), and notes that UMAP's map resembles the centred
# ones. We add PCA, and the default of :class:`~skmde.PreserveNeighbors`, in which all pairs repel.
# UMAP is drawn if the package umap-learn is installed.

others = {
    "PCA": PCA(2).fit_transform(X),
    "t-SNE": TSNE(init="pca", max_iter=500, random_state=0).fit_transform(X[:N_TSNE]),
    "skmde, default": PreserveNeighbors(random_state=0).fit_transform(X),
}
if importlib.util.find_spec("umap"):
    import umap

    others["UMAP"] = umap.UMAP(random_state=0, n_jobs=1).fit_transform(X)
else:
    print("UMAP is left out: umap-learn is not installed.")
others = {name: align(Y, base[: len(Y)], scaling=True) for name, Y in others.items()}
page(others, columns=len(others), labels="map")

# %%
# Choose the number or the weight by what the map is for. With few dissimilar pairs the groups are
# tight; with many the points fill the plane evenly. :ref:`sphx_glr_gallery_plot_repulsion.py` has
# the same choice where all pairs repel.
