"""
Cluster on an embedding, and what not to conclude
=================================================

Density-based clustering works poorly in many dimensions, where all points are about equally far
apart. In a map of few dimensions it works well, so many pipelines embed first and cluster then.
This page shows how, and what such clusters do not prove: a map makes groups, also where there are
none.
"""

# %%
# Embed, then cluster
# -------------------
#
# ``repulsive_weight=0.1`` makes tight groups with space between them, which density-based
# clustering needs. HDBSCAN of scikit-learn then finds the number of clusters by itself;
# ``min_cluster_size`` is the smallest group that you would call one. The data are 1797 images of
# handwritten digits; their classes are only used afterwards.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from skmde import PreserveNeighbors
from skmde.plotting import EmbeddingDisplay

X, digits = load_digits(return_X_y=True)
estimator = PreserveNeighbors(repulsive_weight=0.1, random_state=0).fit(X)
clusterer = HDBSCAN(min_cluster_size=30, copy=True)
found = clusterer.fit_predict(estimator.embedding_)

in_data = clusterer.fit_predict(X)
for name, labels in (("on the map", found), ("on the 64 pixels", in_data)):
    agreement = adjusted_rand_score(digits, labels)
    print(
        f"{name}: {labels.max() + 1} clusters, {np.mean(labels < 0):.0%} of the images in none, "
        f"adjusted Rand index {agreement:.2f}"
    )

# %%
# HDBSCAN writes -1 for points that are in no cluster. As None, they are light grey in the picture.


def clusters(labels):
    """Names of the clusters, and None for points in none."""
    return [f"cluster {k}" if k >= 0 else None for k in labels]


figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
axes[0].set_title("clusters of HDBSCAN")
axes[1].set_title("digits")
EmbeddingDisplay.from_estimator(estimator, clusters(found), labels="map", ax=axes[0])
_ = EmbeddingDisplay.from_estimator(estimator, digits, labels="map", ax=axes[1])

# %%
# How to read it
# --------------
#
# Most clusters are one digit each. The ones are in several clusters, two of which they share with
# other digits. A table shows which:

table = np.zeros((found.max() + 1, 10), int)
np.add.at(table, (found[found >= 0], digits[found >= 0]), 1)
print("digits   " + " ".join(f"{digit:4}" for digit in range(10)))
for k, row in enumerate(table):
    print(f"cluster {k}" + " ".join(f"{n or '.':>4}" for n in row))

# %%
# What not to conclude: a map of nothing
# --------------------------------------
#
# Here are 1000 points of a single Gaussian distribution in ten dimensions. There is one group, and
# no structure in it. On the data HDBSCAN finds no cluster; on the map it finds several.

rng = np.random.default_rng(0)
nothing = rng.normal(size=(1000, 10))
map_of_nothing = PreserveNeighbors(repulsive_weight=0.1, random_state=0).fit(nothing)
clusterer = HDBSCAN(min_cluster_size=15, copy=True)
on_data = clusterer.fit_predict(nothing)
on_map = clusterer.fit_predict(map_of_nothing.embedding_)
print(f"one Gaussian: {on_data.max() + 1} clusters on the data, {on_map.max() + 1} on the map")

# %%
# What not to conclude: sizes and distances
# -----------------------------------------
#
# Next are four groups of 250 points in ten dimensions. Their centres lie on a line at 0, 10, 20
# and 100, and their standard deviations are 1, 1, 3 and 1. The map knows neighbours only. So the
# third group is not three times as wide in the map, and the fourth is not several times as far
# away.

centres, scales = np.array([0.0, 10.0, 20.0, 100.0]), np.array([1.0, 1.0, 3.0, 1.0])
group = np.repeat(np.arange(4), 250)
blobs = scales[group, None] * rng.normal(size=(1000, 10))
blobs[:, 0] += centres[group]
map_of_blobs = PreserveNeighbors(repulsive_weight=0.1, random_state=0).fit(blobs)


def widths_and_gaps(points):
    """Root mean square distance from the centre of each group, and distances of the next centre."""
    means = np.array([points[group == k].mean(axis=0) for k in range(4)])
    offsets = ((points - means[group]) ** 2).sum(axis=1)
    widths = np.sqrt([offsets[group == k].mean() for k in range(4)])
    return widths / widths[0], np.linalg.norm(np.diff(means, axis=0), axis=1)


for name, points in (("data", blobs), ("map", map_of_blobs.embedding_)):
    widths, gaps = widths_and_gaps(points)
    print(f"{name}: widths {widths.round(1)}, distances to the next {(gaps / gaps[0]).round(1)}")

names = np.array([f"at {c:.0f}, width {s:.0f}" for c, s in zip(centres, scales, strict=True)])
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
axes[0].set_title(f'one Gaussian: {on_map.max() + 1} "clusters"')
axes[1].set_title("four groups on a line")
EmbeddingDisplay.from_estimator(map_of_nothing, clusters(on_map), labels="none", ax=axes[0])
_ = EmbeddingDisplay.from_estimator(map_of_blobs, names[group], labels="map", ax=axes[1])

# %%
# Three checks
# ------------
#
# **Does a shuffled table have clusters, too?** Permute each column on its own. This keeps the
# columns and destroys what they have in common. Clusters that also appear then are made by the
# method. Compare the share of points that are in clusters, and how far the clusters are apart.
#
# **Do the clusters exist in the data?** The silhouette compares the distance of a point to its own
# cluster with that to the nearest other one; compute it on the data, not on the map. It is near 0
# for parts of one cloud.
#
# **Do they come back?** Fit halves of the data, or other seeds, and compare with
# ``adjusted_rand_score``. Clusters that change were not there.

from sklearn.metrics import silhouette_score


def cluster(data, seed=0):
    """Clusters of a map of the data."""
    fitted = PreserveNeighbors(repulsive_weight=0.1, random_state=seed).fit(data)
    return HDBSCAN(min_cluster_size=30, copy=True).fit_predict(fitted.embedding_)


def checks(data):
    """Silhouette on the data, and agreement of the clusters of a part with those of the whole."""
    labels = cluster(data)
    kept = labels >= 0
    silhouette = silhouette_score(data[kept], labels[kept]) if labels.max() > 0 else np.nan
    part = rng.permutation(len(data))[: 2 * len(data) // 3]
    return silhouette, adjusted_rand_score(labels[part], cluster(data[part]))


sample = X[:1000]
shuffled = rng.permuted(sample, axis=0)
tables = {"digits": sample, "shuffled": shuffled, "one Gaussian": nothing}
outcome = {name: checks(data) for name, data in tables.items()}
for name, (silhouette, agreement) in outcome.items():
    print(f"{name:13} silhouette {silhouette:.2f}, agreement with a part {agreement:.2f}")

# %%
# The clusters of the digits come back in a part of the data. Those of a shuffled table, and those
# of the Gaussian, do not.
#
# What can go wrong
# -----------------
#
# - **A cluster is taken for a class.** It is a dense region of a map. One class may have several
#   (digits that are written in two ways), and one region several classes.
# - **The parameters choose the number.** Vary ``min_cluster_size``, ``n_neighbors`` and
#   ``repulsive_weight``; trust what stays.
# - **Tests between clusters.** Clusters were chosen to differ in the columns that made the map. A
#   p-value for such a column is far too small, whatever the test.
# - **Points in no cluster.** HDBSCAN leaves them out. Report their share with every other figure.
# - **Two dimensions are for the eye.** For clustering alone,
#   ``PreserveNeighbors(n_components=5)``, or 10, has more room; pairs that repel are then sampled.
#   The rest of this page stays the same. Run the three checks on that embedding, and make a second
#   map in the plane for the picture.
#
# :doc:`/maps` shows what ``repulsive_weight`` does, and :doc:`/judging` which points can be
# trusted.
plt.show()
