"""
All methods on the same data
============================

Every method of skmde, UMAP, and four methods of scikit-learn, on four data sets of 300 samples:
handwritten digits, a bent sheet, four groups with an outlier in 10 dimensions, and a knotted curve
in space. Under each picture is the share of the 15 nearest neighbours that it keeps (recall), how
far it can be trusted (trust, for trustworthiness), and the seconds of one core. UMAP is drawn if
the package umap-learn is installed.
"""

import importlib.util

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_s_curve
from sklearn.decomposition import PCA
from sklearn.manifold import MDS, TSNE, Isomap
from small_multiples import Data, digits, draw, knot, measured, warm_up

from skmde import PreserveDistances, PreserveNeighbors, QuadraticMDE

# %%
# The data
# --------
#
# The groups have different widths. The cross is the outlier, at twice the distance of a group from
# the middle.


def s_curve(n_samples=300):
    X, along = make_s_curve(n_samples, noise=0.05, random_state=0)
    return Data("s-curve", X, along)


def groups(n_samples=300):
    X, y = make_blobs(
        n_samples - 1, 10, centers=4, cluster_std=[0.5, 1.0, 1.5, 2.0], random_state=3
    )
    middle = X.mean(axis=0)
    far = middle + 2 * (X[y == 0].mean(axis=0) - middle)
    return Data("groups", np.vstack([X, far]), np.append(y, 4))


data_sets = [digits(300), s_curve(), groups(), knot(300)]


def compare(estimators):
    """A row of pictures for each method."""
    warm_up(estimators.values(), data_sets[0].X[:100])
    rows = []
    for name, estimator in estimators.items():
        row = []
        for data in data_sets:
            embedding, figures = measured(estimator, data.X)
            shown = name.replace("\n    ", "")
            print(f"{shown:44}{data.name:10}", figures.replace("\n", ", "))
            row.append((data, data.name, embedding, figures))
        rows.append(row)
    figure = draw(rows, left=0.55)
    axes = np.reshape(figure.axes, (len(rows), len(data_sets)))
    for (name, row), line in zip(zip(estimators, rows, strict=True), axes, strict=True):
        line[0].set_ylabel(name, fontsize=9, family="monospace")
        outlier = row[2][2][-1]
        line[2].plot(*outlier, marker="x", color="black", markersize=7, markeredgewidth=2)
    return figure


# %%
# Neighbours
# ----------

of_neighbors = {
    "PreserveNeighbors()": PreserveNeighbors(random_state=0),
    "PreserveNeighbors(\n    repulsive_weight=0.1)": PreserveNeighbors(
        repulsive_weight=0.1, random_state=0
    ),
    'PreserveNeighbors(\n    repulsion="sampled")': PreserveNeighbors(
        repulsion="sampled", random_state=0
    ),
    "sklearn TSNE()": TSNE(random_state=0),
}
if importlib.util.find_spec("umap"):
    import umap

    of_neighbors["umap UMAP()"] = umap.UMAP(random_state=0, n_jobs=1)
else:
    print("UMAP is left out: umap-learn is not installed.")
compare(of_neighbors)
plt.show()

# %%
# Distances
# ---------

compare(
    {
        'PreserveDistances(\n    loss="squared")': PreserveDistances(
            loss="squared", random_state=0
        ),
        "sklearn MDS(n_init=1)": MDS(n_init=1, init="random", random_state=0),
        "PreserveDistances(\n    n_neighbors=10)": PreserveDistances(
            n_neighbors=10, random_state=0
        ),
        "sklearn Isomap(\n    n_neighbors=10)": Isomap(n_neighbors=10),
        "PreserveDistances(\n    monotone=True)": PreserveDistances(monotone=True, random_state=0),
    }
)
plt.show()

# %%
# Eigenvectors
# ------------

compare(
    {
        f'QuadraticMDE(\n    "{weights}")': QuadraticMDE(weights=weights)
        for weights in ("laplacian", "lle", "isomap", "pca")
    }
    | {"sklearn PCA(2)": PCA(2)}
)
plt.show()

# %%
# What to see
# -----------
#
# * Of the digits, maps of neighbours keep 0.68 to 0.79 of the neighbours, distances 0.5 to 0.6, and
#   PCA 0.45. Distances through space keep the arrangement instead: they and PCA put the outlier at
#   its place. Maps of neighbours put it beside its neighbours.
# * The bent sheet is flattened by paths (``n_neighbors=10``), which is what they are for;
#   ``PreserveNeighbors()`` keeps it whole, too.
# * Groups without a link between them are parts of their own for "laplacian" and "lle": two columns
#   tell three parts apart, and all samples of a part are one point.
# * The knot is a ring for all that see neighbours or paths, and a knot seen from the side for all
#   that see distances in space. t-SNE tears it.
