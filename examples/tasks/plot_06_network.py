"""
Lay out a network
=================

A network has nodes and links, and no coordinates. A layout puts nodes near each other that few
links separate. skmde has three: one keeps the lengths of shortest paths, one keeps neighbours
together, and one solves the spectral problem. They take a networkx graph or a sparse matrix.
"""

# %%
# A small network: keep path lengths
# ----------------------------------
#
# The characters of *Les Misérables* are linked if they appear together. The distance of two
# characters is the length of the shortest path: one for a link, two for a friend of a friend. The
# loss "kamada_kawai" is that of the classical method of this name: it counts relative errors, so
# that short paths are kept as carefully as long ones. It is the choice for up to a few hundred
# nodes.
#
# The graph's attribute "weight" is the number of common chapters. It is large for characters who
# are close, so it is not a length. ``metric_params={"weight": ...}`` names the attribute with
# lengths. Here each link gets the length 1.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from skmde import PreserveDistances, PreserveNeighbors, QuadraticMDE
from skmde.plotting import EmbeddingDisplay

novel = nx.les_miserables_graph()
nx.set_edge_attributes(novel, 1.0, "length")
by_paths = PreserveDistances(
    loss="kamada_kawai", metric="graph", metric_params={"weight": "length"}, random_state=0
).fit(novel)
print(f"{len(novel)} nodes, stress of the path lengths {by_paths.stress_:.2f}")

# %%
# The same network: keep neighbours
# ---------------------------------
#
# :class:`~skmde.PreserveNeighbors` with ``metric="graph"`` lets linked nodes attract each other
# and all nodes repel each other. It makes groups tighter and the space between them wider.
# ``QuadraticMDE(weights="precomputed")`` is the spectral layout: it is fast and has one solution,
# but piles up nodes of small groups. It takes a matrix of weights, in which links may count by
# chapters.

by_links = PreserveNeighbors(
    metric="graph", metric_params={"weight": "length"}, max_iter=1000, random_state=0
).fit(novel)

chapters = nx.to_scipy_sparse_array(novel, weight="weight", dtype=float)
spectral = QuadraticMDE(weights="precomputed").fit(chapters)

# %%
# Rows of the embedding are in the order of the graph's nodes, so
# ``pandas.DataFrame(by_paths.embedding_, index=list(novel))`` finds places by name. ``edges`` with ``show_edges="all"``
# draws the links, and ``annotate`` the names of some nodes.

characters = list(novel)
number = {name: k for k, name in enumerate(characters)}
links = np.array([(number[a], number[b]) for a, b in novel.edges])
group = np.empty(len(characters), int)
for k, members in enumerate(nx.community.greedy_modularity_communities(novel)):
    group[[number[name] for name in members]] = k
leading = {"Valjean", "Javert", "Fantine", "Myriel", "Marius", "Cosette", "Gavroche"}

figure = plt.figure(figsize=(10.5, 4), layout="constrained")
axes = figure.subplots(1, 3, subplot_kw={"xticks": [], "yticks": []})  # frames of one shape
titles = ["path lengths", "neighbours", "spectral"]
for ax, fitted, title in zip(axes, (by_paths, by_links, spectral), titles, strict=True):
    ax.set_title(title)
    EmbeddingDisplay.from_embedding(
        fitted.embedding_,
        group,
        names=characters,
        annotate=[name in leading for name in characters],
        edges=links,
        show_edges="all",
        labels="none",
        ax=ax,
    )

# %%
# How to read it
# --------------
#
# Colours are communities that networkx finds from the links; no layout has seen them. In the first
# panel a distance means a number of steps. In the second only what is near means something: how
# far two groups are apart does not. In the third, the outlying nodes are those that are the
# hardest to reach from the rest.
#
# Two figures: the rank correlation of distances on the picture with path lengths, and the share of
# links that join a node with one of its nearest in the picture.

from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr


def figures(fitted, graph, length):
    """Rank correlation with path lengths, and share of links to the nearest in the picture."""
    paths = np.asarray(nx.floyd_warshall_numpy(graph, weight=length))
    d = pdist(fitted.embedding_)
    correlation = spearmanr(squareform(paths, checks=False), d).statistic
    order = np.argsort(squareform(d), axis=1)[:, 1:]
    linked = paths == 1
    kept = [linked[i, order[i, : linked[i].sum()]].mean() for i in range(len(paths))]
    return correlation, np.mean(kept)


for fitted, title in zip((by_paths, by_links, spectral), titles, strict=True):
    correlation, kept = figures(fitted, novel, "length")
    print(f"{title:13} path lengths {correlation:.2f}, links kept {kept:.2f}")

# %%
# A larger network
# ----------------
#
# Here are 1000 nodes in eight groups. A node has about ten links in its group and one to others.
# All path lengths are nearly the same: most pairs are three or four steps apart. A picture of all
# of them shows a disc. Keeping neighbours shows the groups.

sizes = [125] * 8
inside, between = 10 / 125, 1 / 875
chances = np.full((8, 8), between) + (inside - between) * np.eye(8)
groups = nx.stochastic_block_model(sizes, chances, seed=0)
matrix = nx.to_scipy_sparse_array(groups, dtype=float)  # a sparse matrix of lengths will do, too
block = np.repeat(np.arange(8), 125)

all_paths = PreserveDistances(
    loss="kamada_kawai", metric="graph", max_pairs=100_000, random_state=0
).fit(matrix)
neighbors = PreserveNeighbors(metric="graph", random_state=0).fit(matrix)

figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
EmbeddingDisplay.from_estimator(all_paths, block, labels="none", ax=axes[0])
EmbeddingDisplay.from_estimator(neighbors, block, labels="none", ax=axes[1])
axes[0].set_title("path lengths, 100,000 of 499,500 pairs")
axes[1].set_title("neighbours")

from skmde.metrics import knn_accuracy

for title, fitted in (("path lengths", all_paths), ("neighbours", neighbors)):
    print(
        f"{title:13} nearest nodes of the same group {knn_accuracy(fitted.embedding_, block):.2f}"
    )

# %%
# From a table of edges, with some nodes fixed
# --------------------------------------------
#
# Networks often come as a table with a row for each edge. ``networkx.from_pandas_edgelist`` makes a
# graph of it, in which an edge that is listed twice counts once.
# (``scipy.sparse.coo_array`` would add up the lengths.) To fix nodes, give
# :class:`~skmde.AnchoredMDE` an array of places, with NaN for free nodes, in the order of
# the graph's nodes. Places are in the units of the lengths.

import pandas as pd

from skmde import AnchoredMDE

roads = pd.DataFrame(
    [("Ulm", "Munich", 140), ("Munich", "Passau", 190), ("Ulm", "Stuttgart", 90),
     ("Stuttgart", "Mainz", 210), ("Mainz", "Fulda", 150), ("Fulda", "Jena", 190),
     ("Jena", "Passau", 370), ("Stuttgart", "Fulda", 260)],
    columns=["from", "to", "km"],
)  # fmt: skip
network = nx.from_pandas_edgelist(roads, "from", "to", edge_attr="km")
fixed = {"Munich": (0.0, 0.0), "Mainz": (-230.0, 210.0), "Jena": (0.0, 310.0)}
places = pd.DataFrame(np.nan, index=list(network), columns=["x", "y"])
places.loc[list(fixed)] = list(fixed.values())

placed = AnchoredMDE(
    loss="kamada_kawai", metric="graph", metric_params={"weight": "km"}, random_state=0
).fit(network, places)
print(pd.DataFrame(placed.embedding_, index=list(network), columns=["x", "y"]).round(0))

# %%
# Which one
# ---------
#
# - **Up to some hundred nodes**, a path, a grid or a tree:
#   ``PreserveDistances(loss="kamada_kawai", metric="graph")``.
# - **Many nodes in groups**: ``PreserveNeighbors(metric="graph")``. A smaller
#   ``repulsive_weight`` makes the groups tighter.
# - **Links of different weight**: ``PreserveNeighbors(metric="affinity")`` on the matrix of
#   weights, or the spectral layout.
#
# What can go wrong
# -----------------
#
# - **Weights are taken for lengths.** "weight" of an edge is its length by default. If it says how
#   strong a link is, use another attribute, or ``1 / weight``.
# - **Directions are lost.** Both classes take links as having no direction.
# - **Parts without a link between them** are laid out one by one and put side by side. How far
#   they are apart means nothing. ``n_unreachable_`` of PreserveDistances counts such pairs.
# - **Hubs.** A node that is linked to everything makes all paths short, and the layout a ball.
#   Leave it out, or look at the network without it.
# - **Edges hide the nodes** of a large network: ``show_edges="sample"`` draws some of them.
#
# :doc:`/preserve_distances` and :doc:`/neighborhoods` have more on graphs; :ref:`another page
# <sphx_glr_gallery_plot_graphs.py>` draws graphs of many shapes.
plt.show()
