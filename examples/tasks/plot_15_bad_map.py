"""
Debug a bad map
===============

A solver always returns a picture. If the picture looks wrong, go through this list; each entry
links to a number that shows the cause, and to what helps.

==================================  ==============================  ==========================
the map                             likely cause                    what to do
==================================  ==============================  ==========================
follows one column                  `Unscaled columns`_             scale the columns
has tight knots                     `Duplicates`_                   embed distinct rows
has many small pieces               `Too few neighbours`_           raise ``n_neighbors``
shows groups that run together      `Too many neighbours`_          lower ``n_neighbors``
has parts whose distance is odd     `A graph in several parts`_     do not read that distance
is a dot with some far points       `Outliers`_                     find them, leave them out
changes with ``max_iter``           `Too few iterations`_           read the warning, raise it
has its groups elsewhere each time  `The starting point`_           keep the default ``init``
is a disc without any groups        `Data without neighbourhoods`_  do not draw conclusions
==================================  ==============================  ==========================

The first number to look at is the recall: the share of the 15 nearest neighbours of an item that
are also nearest in the map. An unrelated map has 15 / n.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from skmde import PreserveDistances, PreserveNeighbors
from skmde.metrics import knn_accuracy, neighborhood_recall, triplet_accuracy
from skmde.plotting import EmbeddingDisplay
from skmde.preprocessing import nearest_neighbors

n_samples = 300
X, digits = load_digits(return_X_y=True)
X, digits = X[:n_samples], digits[:n_samples]
good = PreserveNeighbors(random_state=0).fit(X)
print(f"recall {neighborhood_recall(X, good.embedding_):.2f}, by chance {15 / len(X):.2f}")
print("stopped because", good.stop_reason_)


def draw(*panels):
    """Maps side by side, each with its classes and a title."""
    figure = plt.figure(figsize=(8.4, 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), subplot_kw={"xticks": [], "yticks": []})
    for ax, (_, _, title) in zip(axes, panels, strict=True):  # before the maps take their places
        ax.set_title(title, fontsize=10)
    for ax, (embedding, classes, _) in zip(axes, panels, strict=True):
        EmbeddingDisplay.from_embedding(embedding, classes, labels="none", view="all", ax=ax)


# %%
# Unscaled columns
# ----------------
# Distances add up the columns. A column with a large unit hides all others. Look at the share of
# each column in the variance; of scikit-learn's wines one column has nearly all of it. Colours
# are the three kinds of wine.

wine = load_wine()
variances = wine.data.var(axis=0)
print(f"largest share of the variance: {variances.max() / variances.sum():.3f}")
scaled = StandardScaler().fit_transform(wine.data)
wine_maps = {
    name: PreserveNeighbors(random_state=0).fit_transform(data)
    for name, data in (("unscaled", wine.data), ("scaled", scaled))
}
panels = []
for name, embedding in wine_maps.items():
    accuracy = knn_accuracy(embedding, wine.target)
    panels.append((embedding, wine.target, f"{name}: 10 neighbours tell {accuracy:.2f}"))
draw(*panels)

# %%
# Scale columns of different units. Do not scale columns that share a unit, such as pixels: noise in
# columns of small variance would then count as much as the rest.
#
# Duplicates
# ----------
# If a row has more copies than there are neighbours, all its neighbours are copies. It is joined to
# nothing else, and the copies are a knot. Count rows whose 15 nearest neighbours are at distance 0.

copied = np.concatenate([X[:150], np.repeat(X[:5], 30, axis=0)])
_, distances, _ = nearest_neighbors(copied, 15)
print(f"rows whose neighbours are all copies: {np.mean(distances[:, -1] == 0):.2f}")

# %%
# Embed the distinct rows. ``inverse`` gives every copy the place of its row.

rows, inverse = np.unique(copied, axis=0, return_inverse=True)
with_copies = PreserveNeighbors(random_state=0).fit_transform(copied)
distinct = PreserveNeighbors(n_neighbors=15, random_state=0).fit_transform(rows)[inverse]
recall_of_distinct = {}
for name, embedding in (("with copies", with_copies), ("distinct rows", distinct)):
    recall_of_distinct[name] = neighborhood_recall(copied[:150], embedding[:150])
    print(f"{name}: recall {recall_of_distinct[name]:.3f}")

# %%
# Too few neighbours
# ------------------
# With two or three neighbours the graph falls into pieces, and so does the map. The number of
# pieces is that of the connected components of ``graph_``.
#
# Too many neighbours
# -------------------
# With a fifth of all rows as neighbours, rows of other groups are among them. Recall shows both.

by_number = {}
for k in (2, 15, 60):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # with two neighbours, the fit does not converge
        by_number[k] = PreserveNeighbors(n_neighbors=k, random_state=0).fit(X)
panels = []
for k, fitted in by_number.items():
    recall = neighborhood_recall(X, fitted.embedding_)
    n_parts, _ = connected_components(fitted.graph_)
    title = f"{k} neighbours:\nrecall {recall:.2f}, {n_parts} part{'s' * (n_parts > 1)}"
    panels.append((fitted.embedding_, digits, title))
draw(*panels)

# %%
# A graph in several parts
# ------------------------
# Parts without an edge between them only repel each other. Their distance in the map is not one
# of the data. Here the two groups of the second data set are ten times as far apart as those of
# the first; in the maps they are not.

rng = np.random.default_rng(0)
ball = rng.normal(size=(200, 5))
side = np.repeat([0, 1], 100)
gaps = {}
for gap in (20, 200):
    parts = ball.copy()
    parts[side == 1, 0] += gap
    fitted = PreserveNeighbors(random_state=0).fit(parts)
    centers = [fitted.embedding_[side == k].mean(axis=0) for k in (0, 1)]
    gaps[gap] = np.linalg.norm(centers[1] - centers[0])
    n_parts, _ = connected_components(fitted.graph_)
    print(f"gap {gap} in the data, {n_parts} parts, gap {gaps[gap]:.0f} in the map")

# %%
# If that distance matters, use :class:`~skmde.PreserveDistances`.
#
# Outliers
# --------
# :class:`~skmde.PreserveDistances` keeps all distances, so three rows that are far off make the
# rest a dot. Find them by the distance to their 15th neighbour.
# (:class:`~skmde.PreserveNeighbors` keeps such rows within the map, since only neighbours attract;
# their places there mean nothing.)

spoiled = X[:200].copy()
spoiled[:3] += 300 * np.array([[1], [2], [3]])
_, distances, _ = nearest_neighbors(spoiled, 15)
far = distances[:, -1] > 5 * np.median(distances[:, -1])
print("far rows:", np.flatnonzero(far))
all_rows = PreserveDistances(random_state=0).fit_transform(spoiled)
without = PreserveDistances(random_state=0).fit_transform(spoiled[~far])
draw(
    (all_rows, digits[:200], "all rows"),
    (without, digits[:200][~far], "without the far rows"),
)

# %%
# Too few iterations
# ------------------
# ``stop_reason_`` says why the solver stopped. A fit that ends at ``max_iter`` while the average
# distortion still falls gives a ``ConvergenceWarning``. Do not silence it; raise ``max_iter``.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    short = PreserveNeighbors(max_iter=20, random_state=0).fit(X)
print("stopped because", short.stop_reason_)
print("warning:", caught[0].message)
print(f"recall {neighborhood_recall(X, short.embedding_):.2f}")

# %%
# The starting point
# ------------------
# The problem has local minima. Maps from random starts keep as many neighbours, and put the groups
# elsewhere. The default start keeps the coarse arrangement of the data; triplets measure it.

triplets = {}
for init, seed in (("auto", 0), ("random", 0), ("random", 1)):
    fitted = PreserveNeighbors(init=init, random_state=seed).fit(X)
    recall = neighborhood_recall(X, fitted.embedding_)
    triplets[init, seed] = triplet_accuracy(X, fitted.embedding_, random_state=0)
    print(
        f"init={init!r}, seed {seed}: distortion {fitted.distortion_:.3f}, recall {recall:.2f}, "
        f"triplets {triplets[init, seed]:.2f}"
    )

# %%
# Data without neighbourhoods
# ---------------------------
# In noise of many dimensions all rows are about equally far from each other. No map keeps their
# neighbours; the recall is low, and no parameter raises it. Shuffle each column of your own data
# and fit again: the recall of the real data should be far above that.

shuffled = rng.permuted(X, axis=0)
noise = PreserveNeighbors(random_state=0).fit_transform(shuffled)
noise_recall = neighborhood_recall(shuffled, noise)
print(f"recall: data {neighborhood_recall(X, good.embedding_):.2f}, shuffled {noise_recall:.2f}")
draw((good.embedding_, digits, "digits"), (noise, digits, "each pixel shuffled"))

# %%
# Still wrong?
# ------------
# - *The metric.* Rows of counts, texts or directions want ``metric="cosine"``; see
#   :class:`~skmde.PreserveNeighbors`.
# - *The labels.* The map may be right and some labels wrong: ``distortions().label_disagreement``
#   in :doc:`/judging`.
# - *Single points.* :func:`skmde.inspection.forces_on` lists what pulls at a point, and
#   :func:`skmde.inspection.point_report` has a row for each.
# - *The wrong question.* A map of neighbours does not show distances between far groups, sizes or
#   densities of groups. :doc:`/maps` says what it shows.

plt.show()
