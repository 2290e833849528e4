"""
Small graphs
============

Redoes figures 2.5, 2.6 and 4.4 of the monograph (sections 2.5 and 4.3.2). Each problem has 20
items, the vertices of a graph, and places them in the plane. The figures differ in the pairs, the
distortion functions and the constraint.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import skmde
from skmde.plotting import EmbeddingDisplay

ANCHOR = "#D55E00"


def draw(ax, X, edges, color_by, title, anchors=()):
    """Vertices with their edges; anchors are orange squares."""
    ax.set_title(title, fontsize=10)
    EmbeddingDisplay.from_embedding(
        X,
        color_by,
        color_as="number",
        edges=edges,
        show_edges="all",
        labels="none",
        marker_size=45,
        view="all",
        ax=ax,
    )
    ax.scatter(*X[list(anchors)].T, s=55, c=ANCHOR, marker="s", edgecolors="white", zorder=3)


# %%
# Original distances from path lengths
# ------------------------------------
#
# The first graph has 40 random edges. Every pair of vertices has an original distance
# :math:`\delta_{ij}`: the number of edges on the shortest path. The loss is :math:`(d_{ij} -
# \delta_{ij})^2`. On the left the embedding is only centred. On the right seven vertices are
# anchors (orange squares): their coordinates are given and the others are free. This is figure 2.5.

graph = nx.gnm_random_graph(20, 40, seed=4)
edges = np.array(graph.edges)
degree = [degree for _, degree in graph.degree]
anchors = skmde.Anchored(np.arange(7), np.random.default_rng(0).normal(size=(7, 2)))

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
stress = {}
for ax, (name, constraint) in zip(
    axes, {"Centred": "centered", "Seven anchors": anchors}.items(), strict=True
):
    estimator = skmde.PreserveDistances(
        metric="graph", loss="squared", constraint=constraint, random_state=0
    ).fit(graph)
    stress[name] = estimator.stress_
    fixed = range(7) if name == "Seven anchors" else ()
    title = f"{name}: average distortion {estimator.distortion_:.3f}"
    draw(ax, estimator.embedding_, edges, degree, title, fixed)
plt.show()

# %%
# The free vertices place themselves between the anchors. The fit is worse, since the anchors are at
# random places, which have nothing to do with the graph.
for name, value in stress.items():
    print(f"{name:14} stress {value:.3f}")

# %%
# One graph, two penalties
# ------------------------
#
# The second graph is complete: all 190 pairs of 20 vertices are edges of weight 1. The embedding is
# standardized, so it cannot collapse. With the penalty :math:`d^2`, the monograph finds most
# distances small and some large. With :math:`d^3` large distances cost much more, and the vertices
# lie evenly on a circle. This is figure 2.6.

complete = nx.complete_graph(20)
pairs = np.array(complete.edges)
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained")
distances = {}
for ax, penalty in zip(axes, ("quadratic", "cubic"), strict=False):
    problem = skmde.MDE(20, 2, pairs, penalty, constraint="standardized")
    X = problem.embed(random_state=0).numpy()
    distances[penalty] = problem.distances().numpy()
    title = f'"{penalty}" penalty, average {problem.value:.3f}'
    draw(ax, X, pairs, np.arctan2(X[:, 1], X[:, 0]), title)
for (penalty, d), color in zip(distances.items(), ("#0072B2", "#D55E00"), strict=True):
    axes[2].plot(np.sort(d), np.linspace(0, 1, len(d)), color=color, lw=2, label=penalty)
axes[2].set(xlabel="distance of a pair", ylabel="share of the pairs", title="All 190 distances")
axes[2].legend(frameon=False)
axes[2].spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The quadratic problem of the complete graph has many solutions. For every standardized embedding
# of n items in m dimensions the squared distances of all pairs add up to :math:`n^2 m`, so each one
# has the average :math:`2nm/(n-1)`, and the solver returns its starting point. Only a penalty such
# as the cubic one chooses between them.
print(f"average of d^2: {np.mean(distances['quadratic'] ** 2):.4f} = {2 * 20 * 2 / 19:.4f}")
for penalty, d in distances.items():
    print(f"{penalty:10} distances from {d.min():.2f} to {d.max():.2f}")

# %%
# Four layouts
# ------------
#
# Figure 4.4 has a chain, a cycle, a star and a binary tree. Original distances are path lengths
# again, the loss of a pair is :math:`(d_{ij} - \delta_{ij})^2 / \delta_{ij}^2` (in skmde
# "kamada_kawai"), and the embedding is standardized.

graphs = {
    "Chain": nx.path_graph(20),
    "Cycle": nx.cycle_graph(20),
    "Star": nx.star_graph(19),
    "Binary tree": nx.full_rary_tree(2, 20),
}
figure = plt.figure(figsize=(10.5, 3), layout="constrained")
axes = figure.subplots(1, 4, subplot_kw={"xticks": [], "yticks": []})
for ax, (name, graph) in zip(axes, graphs.items(), strict=True):
    estimator = skmde.PreserveDistances(
        metric="graph", loss="kamada_kawai", constraint="standardized", random_state=0
    ).fit(graph)
    steps = nx.single_source_shortest_path_length(graph, nx.center(graph)[0])
    title = f"{name}, average {estimator.distortion_:.3f}"
    color = [steps[node] for node in graph]
    draw(ax, estimator.embedding_, np.array(graph.edges), color, title)
plt.show()

# %%
# The standardization makes each picture as wide as it is high. This bends the chain; without it,
# the chain would be a straight line, in which all path lengths are kept.
# :ref:`sphx_glr_gallery_plot_graphs.py` draws larger graphs.
