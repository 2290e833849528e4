"""
The number of components
========================

``n_components`` is the dimension of the embedding: 2 for a picture on paper, 3 for one to turn, 1 for
an order of the rows, more for features of another model. This page measures what 1, 2, 3, 5 and 10
components keep.

=====================================  ===========================================================
you want                               take
=====================================  ===========================================================
a picture                              2, and 3 if the data have holes, crossings or closed surfaces
an order of rows, a colour, a sort     1
features for a classifier              a few of ``PreserveNeighbors``; compare with the columns
distances that can be relied on        :class:`~skmde.PreserveDistances`: as many as its stress asks
=====================================  ===========================================================
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from small_multiples import digits, knot, warm_up

from skmde import PreserveDistances, PreserveNeighbors
from skmde.metrics import neighborhood_recall, trustworthiness
from skmde.plotting import EmbeddingDisplay

# %%
# One, two and three components
# -----------------------------
# The intrinsic dimension of the digits is about 5. The knot is a closed curve in space, which seen from
# any side crosses itself. One component lays the digits in a row of groups, and has to fold the knot;
# the height of a point means nothing there. In two and three, the knot is a ring, since neighbours
# alone know nothing of a knot.

n_samples = 400
data_sets = [digits(n_samples), knot()]
figure = plt.figure(figsize=(10.8, 7), layout="constrained")
panels = figure.add_gridspec(2, 3)
for i, data in enumerate(data_sets):
    for j in range(3):
        Z = PreserveNeighbors(j + 1, random_state=0).fit_transform(data.X)
        ax = figure.add_subplot(panels[i, j], projection="3d" if j == 2 else None)
        EmbeddingDisplay.from_embedding(Z, data.color_by, labels="none", marker_size=9, ax=ax)
        recall = neighborhood_recall(data.X, Z)
        ax.set_title(f"{data.name}, {j + 1}: recall {recall:.2f}", fontsize=10)

# %%
# What more components keep
# -------------------------
# Three figures, for the digits: the *recall* of the 15 nearest rows, the *trustworthiness* of the
# map, and the *accuracy* with which the 10 nearest training rows on the map tell the digit of 200 rows
# that the map has not seen. Principal components are there to compare with. By default,
# ``PreserveNeighbors`` lets all pairs repel in up to three components, and a sample of them in more;
# ``repulsion="all"`` lets all repel in any number.

dimensions = [1, 2, 3, 5, 10]
pixels, classes = load_digits(return_X_y=True)
X, y = pixels[:n_samples], classes[:n_samples]
X_new, y_new = pixels[n_samples : n_samples + 200], classes[n_samples : n_samples + 200]


def estimators(m):
    """What to compare in m components."""
    return {
        "neighbours": PreserveNeighbors(m, random_state=0, max_iter=500),
        "neighbours, all repel": PreserveNeighbors(m, repulsion="all", random_state=0),
        "distances": PreserveDistances(m, loss="squared", random_state=0),
        "principal components": PCA(m),
    }


warm_up(estimators(5).values(), X[:100])
found, stress = {}, {}
for m in dimensions:
    for name, estimator in estimators(m).items():
        begin = time.process_time()
        Z = estimator.fit_transform(X)
        seconds = time.process_time() - begin
        if name == "distances":
            stress[m] = estimator.stress_
        classifier = KNeighborsClassifier(10).fit(Z, y)
        found[name, m] = (
            neighborhood_recall(X, Z),
            trustworthiness(X, Z, n_neighbors=15),
            classifier.score(estimator.transform(X_new), y_new),
            seconds,
        )
        print(
            "{:2} {:22} recall {:.2f}, trust {:.3f}, accuracy {:.2f}, {:.1f} s".format(
                m, name, *found[name, m]
            )
        )
accuracy = KNeighborsClassifier(10).fit(X, y).score(X_new, y_new)
print(f"accuracy of the 64 columns: {accuracy:.2f}")

figure, axes = plt.subplots(1, 3, figsize=(10.8, 3.4), layout="constrained")
for k, (ax, title) in enumerate(zip(axes, ("recall", "trustworthiness", "accuracy"), strict=True)):
    for name in estimators(2):
        ax.plot(dimensions, [found[name, m][k] for m in dimensions], "o-", label=name)
    ax.set(title=title, xlabel="components", xscale="log")
    ax.set_xticks(dimensions, dimensions)
    ax.minorticks_off()
axes[2].axhline(accuracy, color="grey", linewidth=0.8)
_ = axes[0].legend(fontsize=8)

# %%
# The neighbours of the digits fit into two components nearly as well as into ten. Even one tells the
# classes; it is the row of groups in the picture. Sampled repulsion, the default from 4 components on,
# keeps fewer neighbours and forms tighter groups, at no cost to the classes.
#
# Distances are different: each component keeps more of them. Two are far too few, and with ten,
# ``PreserveDistances`` keeps more neighbours than ``PreserveNeighbors``. Seconds grow little with the
# number of components.
#
# Why two components are too few for distances
# --------------------------------------------
# Points that all have the same distance from each other need one dimension fewer than their number: two
# need a line, three a triangle in the plane, four a tetrahedron in space, and m + 1 of them need m
# dimensions. Rows of many columns, unlike each other in many ways, are like that, so the plane cannot
# keep their distances, whatever the method.

simplex = np.eye(11)  # 11 rows at equal distances
stress = {"digits": stress, "11 rows at equal distances": {}}
for m in dimensions:
    equal = PreserveDistances(m, loss="squared", random_state=0).fit(simplex)
    stress["11 rows at equal distances"][m] = equal.stress_
for name, values in stress.items():
    print(name, {m: round(value, 2) for m, value in values.items()})

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for name, values in stress.items():
    ax.plot(values.keys(), values.values(), "o-", label=name)
ax.set(xlabel="components", ylabel="stress", ylim=(0, None))
ax.set_xticks(dimensions)
_ = ax.legend()

# %%
# The *stress* is the error of the distances as a part of them. It is 0 for the simplex at 10
# components, and not before. The elbow of such a curve is a classical way to choose the number.
#
# What can go wrong
# -----------------
# - *More components than the data need.* They cost time, and add noise to a classifier.
# - *A picture of the first two of ten components.* They are no map; fit two.
# - *Components that are taken for factors.* The axes of a map may be turned at will. Only principal
#   components and ``constraint="standardized"`` have an order or a scale.
# - *Three components on paper.* A picture in space shows one side. Turn it, or draw two components in
#   place of three.

plt.show()
