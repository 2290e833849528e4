"""
Densities
=========

A group of near rows and a group of far ones may look the same on a map. Each row has the same
number of neighbours, and by default their weights do not depend on how far they are. So a map
spreads dense regions and draws thin ones together. UMAP and t-SNE do the same; umap-learn has an
option against it, densMAP. skmde has no such option, but three ways:

- colour or size the points by the density of the data, which changes nothing on the map;
- let the weight of two neighbours fall with their distance, which restores most densities;
- keep distances: :class:`~skmde.PreserveDistances`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

from skmde import PreserveDistances, PreserveNeighbors
from skmde.metrics import neighborhood_recall
from skmde.plotting import EmbeddingDisplay
from skmde.preprocessing import nearest_neighbors

# %%
# Two tables
# ----------
# Four Gaussian groups in ten dimensions, whose widths are 0.5, 1, 2 and 4, and handwritten digits.

n_each, n_digits = 150, 600
rng = np.random.default_rng(0)
centers = rng.normal(size=(4, 10))
centers *= 25 / np.linalg.norm(centers, axis=1, keepdims=True)
widths = np.repeat([0.5, 1.0, 2.0, 4.0], n_each)
groups = np.repeat(centers, n_each, axis=0) + widths[:, None] * rng.normal(size=(4 * n_each, 10))
digits = load_digits().data[:n_digits]


def radius(Z):
    """Mean distance to the 15 nearest neighbours, by its logarithm: large where rows are thin."""
    return np.log(nearest_neighbors(Z, 15)[1].mean(axis=1))


# %%
# Weights that fall with the distance
# -----------------------------------
# ``weights`` takes a function of the distances of neighbours. Half the distance, twice the weight:
# neighbours that are near pull more, and end up nearer. The median makes the weights about 1, as
# those of the default are; the repulsion is measured against them. The floor is for copies of a
# row. ``weights="exponential"`` falls faster.


def by_distance(distances):
    """Weights inversely proportional to the distance, of median 1."""
    typical = np.median(distances)
    return typical / np.maximum(distances, 1e-3 * typical)


ways = {
    "default": PreserveNeighbors(random_state=0),
    "UMAP's repulsion": PreserveNeighbors(repulsive_weight=0.1, random_state=0),
    "by distance": PreserveNeighbors(weights=by_distance, random_state=0),
    "exponential": PreserveNeighbors(weights="exponential", random_state=0),
    "distances": PreserveDistances(loss="squared", random_state=0),
}

# %%
# *Density* is the rank correlation of the radius in the map with that in the data: 1 if all regions
# are as dense in relation to each other as in the data. *Recall* is the share of neighbours kept.

maps, densities, recalls = {}, {}, {}
for data, X in (("groups", groups), ("digits", digits)):
    for way, estimator in ways.items():
        maps[data, way] = estimator.fit_transform(X)
        densities[data, way] = spearmanr(radius(X), radius(maps[data, way])).statistic
        recalls[data, way] = neighborhood_recall(X, maps[data, way])
        print(
            f"{data}, {way:17} density {densities[data, way]:.2f}, recall {recalls[data, way]:.2f}"
        )

# %%
# Weights by the distance restore most of the densities, and cost no neighbours, or few. Keeping
# distances restores those of the four groups, but not those of the digits: the plane has no room
# for the distances of so many dimensions, and near digits end up on each other.
#
# The pictures
# ------------
# The four groups, by their widths. By default they look alike. With weights by the distance, wider
# groups are wider. Under ``"exponential"`` the widest group hardly holds together: it surrounds the
# others.

panels = ("default", "by distance", "exponential", "distances")
figure, axes = plt.subplots(1, 4, figsize=(10.8, 3), layout="constrained")
for ax, way in zip(axes, panels, strict=True):
    names = [f"width {width:g}" for width in widths]
    EmbeddingDisplay.from_embedding(maps["groups", way], names, labels="map", ax=ax)
    ax.set_title(f"{way}: density {densities['groups', way]:.2f}")

# %%
# The digits, coloured by the radius in the data: dark is dense. Such a colour shows the densities on
# any map, whatever its points do, and is the safest way.

figure, axes = plt.subplots(1, 3, figsize=(10.8, 3.4), layout="constrained")
for ax, way in zip(axes, ("default", "by distance", "exponential"), strict=True):
    EmbeddingDisplay.from_embedding(
        maps["digits", way], radius(digits), color_name="log radius", color_as="number", ax=ax
    )
    ax.set_title(f"{way}: density {densities['digits', way]:.2f}")

# %%
# What can go wrong
# -----------------
# - *Densities are compared across gaps.* Only the distances of neighbours are used. The space between
#   groups says as little as in any map of neighbours.
# - *Density of many dimensions.* Distances grow with the dimension, so a radius compares regions of
#   one table, and not two tables.
# - *Rows in a few places.* If most rows have copies, the median distance is 0. Embed the distinct
#   rows, with their numbers as ``sample_weight``.
# - *A lambda as weights* cannot be saved by pickle; a named function of a module can.
# - *Thin groups that fall apart.* Under ``"exponential"`` far neighbours hardly attract. Raise
#   ``weights_width``, the distance at which the weight has fallen to 0.37.
#
# ``sample_weight`` is something else: it says how much a row counts. ``max_distance`` may hold a limit
# for each row, beyond which others are no neighbours. :doc:`/neighborhoods` has both.

plt.show()
