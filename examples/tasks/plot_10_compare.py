"""
Compare two maps
================

Two programs, two parameters or two seeds give two maps of the same data. This page answers three
questions: which of them keeps more of the data, where they differ, and whether the difference is
more than chance. :doc:`/metrics`, :doc:`/judging` and :doc:`/plotting` explain each function.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skmde import PreserveNeighbors
from skmde.inspection import stability
from skmde.metrics import align, compare, embedding_report, item_recall, procrustes_distance
from skmde.plotting import CompareEmbeddingsDisplay, EmbeddingDisplay

n_samples = 500
X, digits = load_digits(return_X_y=True)
X, digits = X[:n_samples], digits[:n_samples]
components = PCA(2, svd_solver="full").fit_transform(X)
estimator = PreserveNeighbors(random_state=0).fit(X)
neighbors = estimator.embedding_

# %%
# Which keeps more?
# -----------------
# :func:`skmde.metrics.embedding_report` takes any array, so the maps may come from any program.
# :func:`skmde.metrics.compare` puts the reports side by side; a star marks the best of each row.
# Recall and trustworthiness are local; triplets, ``distance_correlation`` and stress are global.
# A map often wins in one kind and loses in the other, as here. What counts depends on what the
# map is for.

reports = [embedding_report(embedding, X, digits) for embedding in (components, neighbors)]
table = compare(*reports, names=["PCA", "neighbours"])
print(table)

# %%
# Where do they differ?
# ---------------------
# Coordinates cannot be compared as they are: a map may be rotated, reflected and shifted.
# :func:`skmde.metrics.align` lays one over the other. The display does so, and draws a line for
# each of the items that moved most.

display = CompareEmbeddingsDisplay.from_embeddings(
    components, neighbors, digits, titles=("PCA", "neighbours"), color_name="digit", n_lines=15
)
display.figure_.set_size_inches(10, 4.8)
farthest = np.argsort(-display.distances_)[:5]
print("moved most:", farthest, "which are the digits", digits[farthest])

# %%
# The recall of each item shows in which parts of a map neighbours are lost.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
recalls = {}
for ax, (name, embedding) in zip(
    axes, {"PCA": components, "neighbours": neighbors}.items(), strict=True
):
    recalls[name] = item_recall(X, embedding)
    EmbeddingDisplay.from_embedding(
        embedding, recalls[name], color_as="number", color_name="recall", ax=ax
    )
    ax.set_title(f"{name}: mean recall {recalls[name].mean():.2f}")

# %%
# More than chance?
# -----------------
# Fits to other samples of the data say how much a map differs from itself.
# :func:`skmde.inspection.stability` fits again, three times without a tenth of the rows, and says
# which share of its neighbours in the map an item keeps. Differences between two maps that are no
# larger than this need no explanation.

stable = stability(estimator, X, n=3)
print(stable)
print(f"neighbours kept, mean over items: {np.nanmean(stable.kept_neighbors):.2f}")

# %%
# For two maps with one unit, as of two seeds, the mean squared distance after alignment is a single
# number. Divided by the variance of the map it has no unit: 0 is the same map, and two maps of one
# size can differ by 2 at most. Here are maps from two random starts.

random_starts = [
    PreserveNeighbors(init="random", random_state=seed).fit_transform(X) for seed in (1, 2)
]
between = procrustes_distance(*random_starts) / random_starts[1].var(axis=0).sum()
print(f"difference of two random starts: {between:.2f}")
moved = np.linalg.norm(align(*random_starts) - random_starts[1], axis=1)
print(f"median movement of an item: {np.median(moved):.1f}")
recall_random = [item_recall(X, embedding).mean() for embedding in random_starts]
print("recall of the two:", np.round(recall_random, 3))

# %%
# Both keep as many neighbours, but put the groups elsewhere. So the places of groups relative to
# each other are not to be read from such a map.
#
# What can go wrong
# -----------------
# - *Items in another order.* Row i must be the same item in both maps. Nothing can check it for
#   you.
# - *Different data.* Judge both maps by the same X and the same metric: ``embedding_report(...,
#   metric="cosine")``.
# - *One figure.* No single number says that a map is better. Look at a local one and a global one.
# - *Accuracy of labels that the map has used* (``target_weight``) is no measure of quality.
# - *Stress of maps of neighbours.* Their distances are not meant to be those of the data.

plt.show()
