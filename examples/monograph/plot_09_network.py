"""
A co-authorship network by field
================================

Redoes figures 9.3 and 9.7 to 9.10 of the monograph (chapter 9). The items are authors, two of them
are adjacent if they have published together, and the embedding keeps the lengths of shortest paths.
The fields of the authors are held out: they only colour the map.

The monograph's network has 44,682 authors with an h-index of 50 or more. Here a network is made by
code: 900 authors in five fields, where each field has groups that publish together and a few
authors have very many co-authors. If the environment variable ``SKMDE_DATA`` names a folder with
``debian_dependencies.npz``, the network of the 56,936 packages of Debian 12 is embedded instead,
with its sections as fields.
"""

import importlib.util
import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.colors import ListedColormap
from scipy.sparse.csgraph import connected_components
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier

from skmde import PreserveDistances
from skmde.metrics import align
from skmde.plotting import EmbeddingDisplay
from skmde.preprocessing import all_edges, shortest_paths

FILE = Path(os.environ.get("SKMDE_DATA", ""), "debian_dependencies.npz")
N_AUTHORS = 900
NIGHT = "#0B0E14"
GLOW = ListedColormap(plt.get_cmap("magma")(np.linspace(0.3, 1, 256)))
MOST_ROWS = 2000  # of t-SNE and UMAP, which need all distances

# %%
# The network
# -----------
#
# ``TIES`` says how often two fields work together, relative to two authors of one field. Artificial
# intelligence is near computer science, which is near electrical engineering; physics and biology
# have few ties with the rest.

FIELDS = {
    "biology": "#B07AE0",
    "physics": "#F0A030",
    "electrical engineering": "#58C05A",
    "computer science": "#4CC9E8",
    "artificial intelligence": "#F25555",
}
TIES = np.array(
    [
        [1.0, 0.04, 0.01, 0.02, 0.06],
        [0.04, 1.0, 0.08, 0.02, 0.01],
        [0.01, 0.08, 1.0, 0.08, 0.04],
        [0.02, 0.02, 0.08, 1.0, 0.16],
        [0.06, 0.01, 0.04, 0.16, 1.0],
    ]
)


def made_network(n, groups_per_field=6, n_links=4.5, seed=0):
    """Edges and fields of authors; within a field most links are within a group."""
    rng = np.random.default_rng(seed)
    field = rng.choice(len(FIELDS), size=n, p=[0.28, 0.2, 0.14, 0.19, 0.19])
    group = rng.integers(groups_per_field, size=n)
    activity = rng.pareto(2.5, size=n) + 0.4  # a few authors have very many co-authors
    same = group[:, None] == group
    near = (group[:, None] - group) % groups_per_field == 1  # groups of a field form a ring
    rate = TIES[np.ix_(field, field)] * 0.06
    inside = field[:, None] == field
    rate = np.where(inside, np.where(same, 1.0, np.where(near | near.T, 0.12, 0.02)), rate)
    rate *= np.outer(activity, activity)
    rate *= n_links / (rate.sum() / n / 2) / 2
    i, j = np.nonzero(np.triu(rng.random((n, n)) < rate, 1))
    graph = sp.coo_array((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()
    _, label = connected_components(graph, directed=False)
    kept = label == np.bincount(label).argmax()  # the largest component
    return graph[kept][:, kept].tocoo(), np.array(list(FIELDS))[field[kept]]


full = bool(os.environ.get("SKMDE_DATA")) and FILE.exists()
if full:
    with np.load(FILE) as data:
        edges, field = data["edges"], data["section"].astype(str)
    graph = sp.coo_array((np.ones(len(edges)), edges.T), shape=(len(field), len(field)))
    palette = {}
else:
    graph, field = made_network(N_AUTHORS)
    edges = np.stack(graph.nonzero(), axis=1)
    palette = {"palette": FIELDS}
degree = np.bincount(edges.ravel(), minlength=len(field))
percentile = np.argsort(np.argsort(degree, kind="stable")) / len(degree)
print(f"{len(field)} nodes, {len(edges)} edges, up to {degree.max()} of one node")

# %%
# Path lengths
# ------------
#
# Original distances are path lengths. They are whole numbers, and a few values have nearly all
# pairs (figure 9.3): 4, 5 and 6 have 90 percent of the monograph's.

model = PreserveDistances(metric="graph", loss="absolute", max_pairs=2_000_000, random_state=0).fit(
    graph
)
lengths = model.distances_
counts = np.bincount(lengths.astype(int))[1:] / len(lengths)

figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.6), layout="constrained")
axes[0].bar(np.arange(1, len(counts) + 1), counts, color="#0072B2")
axes[0].set(xlabel="path length", ylabel="share of the pairs", title="Original distances")
values = np.sort(np.abs(model.distortions().values))
axes[1].plot(values, np.linspace(0, 1, len(values)), color="#0072B2", lw=2)
axes[1].set(xlabel="distortion", ylabel="share of the pairs", title="Distortions of the embedding")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
print(f"average distortion {model.distortion_:.3f}; the monograph's network: 1.45")

# %%
# The embedding
# -------------
#
# The loss is :math:`|d_{ij} - \delta_{ij}|`, and the embedding is only centred. In figures 9.7 to
# 9.9 the monograph's map has the authors with many co-authors near its centre, and the fields are
# grouped, with similar ones near each other. Backgrounds are dark, as there.

Y = model.embedding_
style = {"theme": "dark", "marker_size": 3 if full else 9, "density": False, "alpha": 0.85}


def dark_page(columns, shared=False, width=10.5):
    figure = plt.figure(figsize=(width, width / columns), facecolor=NIGHT, layout="constrained")
    ticks = {"xticks": [], "yticks": []}  # frames of one shape
    return figure.subplots(1, columns, sharex=shared, sharey=shared, subplot_kw=ticks)


axes = dark_page(3, shared=True)
for ax, title in zip(axes, ("By number of links", "With links", "By field"), strict=True):
    ax.set_title(title, color="white")
EmbeddingDisplay.from_embedding(Y, field, ax=axes[2], labels="legend", **style, **palette)
EmbeddingDisplay.from_embedding(
    Y, percentile, color_as="number", cmap=GLOW, labels="none", ax=axes[0], **style
)
EmbeddingDisplay.from_embedding(
    Y,
    percentile,
    color_as="number",
    cmap=GLOW,
    labels="none",
    edges=edges,
    show_edges="sample",
    max_edges=2500 if not full else 50_000,
    ax=axes[1],
    **style,
)
plt.show()

radius = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
print("median distance from the centre, by number of links (a quarter of the nodes each):")
quarters = np.array_split(np.argsort(-degree, kind="stable"), 4)
print("  ".join(f"{np.median(radius[q]):.2f}" for q in quarters))

# %%
# The same is seen here: nodes with many links are nearer to the centre, and fields that work
# together lie side by side.

# %%
# Beside other methods
# --------------------
#
# The monograph gives t-SNE and UMAP the path lengths, too, and finds that both group the fields but
# lose the global structure (figure 9.10). PCA needs coordinates; its counterpart for distances is
# classical scaling, the embedding that :class:`~skmde.PreserveDistances` starts from.

rows = np.sort(np.random.default_rng(0).permutation(len(field))[:MOST_ROWS])
if full:
    from scipy.sparse.csgraph import dijkstra

    matrix = dijkstra(graph.tocsr(), directed=False, indices=rows, unweighted=True)[:, rows]
else:
    paths = shortest_paths(graph)
    matrix = np.zeros((len(field), len(field)))
    i, j = all_edges(len(field)).T
    matrix[i, j] = matrix[j, i] = paths.distances

centred = matrix**2 - (matrix**2).mean(axis=0)
values, vectors = np.linalg.eigh(-(centred - centred.mean(axis=1, keepdims=True)) / 2)
maps = {
    "skmde": Y[rows],
    "classical scaling (PCA)": vectors[:, -2:] * np.sqrt(values[-2:]),
    "t-SNE": TSNE(metric="precomputed", init="random", random_state=0).fit_transform(matrix),
}
if importlib.util.find_spec("umap"):
    import umap

    by_neighbors = umap.UMAP(metric="precomputed", random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the map has no way back to the distances
        maps["UMAP"] = by_neighbors.fit_transform(matrix)
else:
    print("UMAP is left out: umap-learn is not installed.")

upper = np.triu_indices(len(rows), 1)
for ax, (name, Z) in zip(dark_page(len(maps)), maps.items(), strict=True):
    Z = align(Z, Y[rows], scaling=True)
    ax.set_title(name, color="white")
    EmbeddingDisplay.from_embedding(Z, field[rows], labels="none", ax=ax, **style, **palette)
    d = np.linalg.norm(Z[upper[0]] - Z[upper[1]], axis=1)
    kept = np.corrcoef(d, matrix[upper])[0, 1]
    known = KNeighborsClassifier(10).fit(Z[::2], field[rows][::2])
    accuracy = known.score(Z[1::2], field[rows][1::2])
    print(
        f"{name:24} correlation with path lengths {kept:.2f}, field from neighbours {accuracy:.2f}"
    )
plt.show()

# %%
# The map of path lengths keeps them best. t-SNE and UMAP group the fields more tightly: they keep
# neighbours, and this is what their maps are for. To get such a map with skmde, take
# ``PreserveNeighbors(metric="graph")``.
