"""
Drawing graphs
==============

Draws graphs by keeping the lengths of shortest paths between their nodes, with
:class:`skmde.PreserveDistances`: the graphs on 20 vertices of Agrawal, Ali and Boyd's
*Minimum-Distortion Embedding* (sections 2.5 and 4.3.2), and the characters of *Les Misérables*,
joined where they appear together. Two graphs are drawn with :class:`skmde.MDE` instead, from their
edges alone: under a constraint that keeps the nodes apart, it is enough to pull at the edges.

With ``--data FILE.npz``, a large network is drawn as well, into a second picture. The file has the
arrays ``edges``, pairs of nodes of shape (p, 2), and ``section``, the group of each node, which it
is coloured by. The network in the documentation is that of the packages of Debian 12, joined where
one depends on the other.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse as sp
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

import skmde

# The colours of Okabe and Ito, which differ for the colour-blind too.
COLOURS = ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#0072B2"]
ANCHOR = "#D55E00"
NIGHT, DUSK, PALE = "#0B0E14", "#596273", "#DDE1E8"  # behind a network; its other nodes; its text
MAX_PAIRS = 5_000_000  # of a network: a sample does where there are billions
NAMED = {"Valjean", "Javert", "Fantine", "Myriel", "Marius", "Cosette", "Gavroche"}


class Drawing(NamedTuple):
    """A graph with nodes 0, 1, ..., where they are, and what to say about it."""

    title: str
    graph: nx.Graph
    coordinates: np.ndarray
    anchors: tuple | np.ndarray = ()  # nodes whose coordinates were given


def by_paths(name, graph, loss, constraint=None, seed=0):
    """Keep the lengths of shortest paths."""
    estimator = skmde.PreserveDistances(
        metric="graph", loss=loss, constraint=constraint, random_state=seed
    )
    coordinates = estimator.fit_transform(graph)
    title = f'{name}\n"{loss}" loss, stress {estimator.stress_:.3f}'
    return Drawing(title, graph, coordinates, getattr(constraint, "anchors", ()))


def by_edges(name, graph, penalty, seed=0):
    """Keep edges short, in a standardized embedding."""
    edges = np.array(graph.edges)
    problem = skmde.MDE(len(graph), 2, edges, penalty, constraint="standardized")
    coordinates = problem.embed(random_state=seed).numpy()
    title = f'{name}\n"{penalty}" penalty, distortion {problem.value:.3f}'
    return Drawing(title, graph, coordinates)


def monograph_drawings(seed=0):
    """Eight drawings of graphs on 20 vertices."""
    simple = {
        "Chain": nx.path_graph(20),
        "Cycle": nx.cycle_graph(20),
        "Star": nx.star_graph(19),
        "Binary tree": nx.full_rary_tree(2, 20),
    }
    random = nx.gnm_random_graph(20, 40, seed=4)
    anchors = skmde.Anchored(np.arange(7), np.random.default_rng(0).normal(size=(7, 2)))
    return [
        *(by_paths(name, g, "kamada_kawai", "standardized", seed) for name, g in simple.items()),
        by_paths("40 random edges", random, "squared", seed=seed),
        by_paths("The same, seven nodes anchored", random, "squared", anchors, seed),
        by_edges("Complete graph", nx.complete_graph(20), "cubic", seed),
        by_edges("Dodecahedron", nx.dodecahedral_graph(), "quadratic", seed),
    ]


def fit_network(edges, n_nodes, seed=0):
    """The fitted estimator of a large network."""
    graph = sp.coo_array((np.ones(len(edges)), edges.T), shape=(n_nodes, n_nodes))
    estimator = skmde.PreserveDistances(
        metric="graph", loss="kamada_kawai", max_pairs=MAX_PAIRS, random_state=seed
    )
    return estimator.fit(graph)


def clean(ax, adjustable="datalim"):
    ax.set_aspect("equal", adjustable=adjustable)
    ax.set_axis_off()
    ax.margins(0.06)


def draw_edges(ax, drawing, **style):
    lines = drawing.coordinates[np.array(drawing.graph.edges)]
    ax.add_collection(LineCollection(lines, zorder=1, **style))


def draw_small(ax, drawing):
    """Nodes are coloured by their number of steps from the middle, anchors orange."""
    draw_edges(ax, drawing, colors="0.45", linewidths=0.7)
    steps = nx.single_source_shortest_path_length(drawing.graph, nx.center(drawing.graph)[0])
    steps = np.array([steps[node] for node in drawing.graph])
    style = {"s": 42, "edgecolors": "white", "linewidths": 0.7}
    limits = {"vmin": 0, "vmax": 1.15 * max(3, steps.max())}
    ax.scatter(*drawing.coordinates.T, c=steps, cmap="viridis", **limits, **style, zorder=2)
    anchors = drawing.coordinates[np.asarray(drawing.anchors, int)]
    ax.scatter(*anchors.T, c=ANCHOR, marker="s", **style, zorder=3)
    ax.set_title(drawing.title, fontsize=8.5)
    clean(ax)


def draw_characters(ax, seed):
    """Characters of Les Misérables, coloured by community."""
    graph = nx.convert_node_labels_to_integers(nx.les_miserables_graph(), label_attribute="name")
    for _, _, edge in graph.edges(data=True):
        edge["weight"] = 1  # it is a number of chapters, not a length
    drawing = by_paths("Characters of Les Misérables", graph, "kamada_kawai", seed=seed)
    draw_edges(ax, drawing, colors="0.75", linewidths=0.6)
    colour = {}
    for k, community in enumerate(nx.community.greedy_modularity_communities(graph)):
        colour |= dict.fromkeys(community, COLOURS[k % len(COLOURS)])
    degree = np.array([graph.degree[node] for node in graph])
    colours = [colour[node] for node in graph]
    style = {"s": 22 + 7 * degree, "edgecolors": "white", "linewidths": 0.7}
    ax.scatter(*drawing.coordinates.T, c=colours, **style, zorder=2)
    for node, name in graph.nodes(data="name"):
        if name not in NAMED:
            continue
        ax.annotate(
            name,
            drawing.coordinates[node],
            xytext=(0, 5 + 0.18 * degree[node]),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
            zorder=4,
        )
    ax.set_title(drawing.title, fontsize=10)
    clean(ax)
    print(drawing.title.replace("\n", ": "))


def draw_graphs(path, seed):
    figure = Figure(figsize=(16, 6.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[2, 1])
    for ax, drawing in zip(left.subplots(2, 4).flat, monograph_drawings(seed), strict=True):
        draw_small(ax, drawing)
        print(drawing.title.replace("\n", ": "))
    draw_characters(right.subplots(), seed)
    figure.savefig(path, dpi=90)


def draw_network(path, estimator, edges, section):
    """Nodes by section, alone and over the edges, which have the colour of their section."""
    names, number, sizes = np.unique(section, return_inverse=True, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[: len(COLOURS)]
    palette = to_rgba_array([DUSK] * len(names))
    palette[largest] = to_rgba_array(COLOURS[: len(largest)])

    figure = Figure(figsize=(15, 7.9), layout="constrained", facecolor=NIGHT)
    nodes_ax, edges_ax = figure.subplots(1, 2)
    coordinates = estimator.embedding_
    reach = np.quantile(np.abs(coordinates).max(axis=1), 0.999)  # a few nodes lie far out
    order = np.random.default_rng(0).permutation(len(coordinates))  # no section above another
    dots = {"c": palette[number[order]], "linewidths": 0, "rasterized": True}
    nodes_ax.scatter(*coordinates[order].T, s=2.2, **dots)
    edges_ax.scatter(*coordinates[order].T, s=0.8, alpha=0.7, **dots)
    ends = number[edges]
    colours = np.where((ends[:, 0] == ends[:, 1])[:, None], palette[ends[:, 0]], to_rgba(DUSK))
    lines = LineCollection(
        coordinates[edges], colors=colours, linewidths=0.35, alpha=0.09, zorder=0, rasterized=True
    )
    edges_ax.add_collection(lines)

    n, p = f"{len(coordinates):,} nodes", f"{len(edges):,} edges"
    loss = f'"{estimator.loss}" loss, stress {estimator.stress_:.3f}'
    for ax, title in ((nodes_ax, f"{n}, {loss}"), (edges_ax, f"The same with its {p}")):
        ax.set_title(title, color=PALE)
        clean(ax, "box")
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
    dot = {"marker": "o", "linestyle": "", "markersize": 8}
    handles = [Line2D([], [], color=palette[k], label=names[k], **dot) for k in largest]
    if len(largest) < len(names):
        handles.append(Line2D([], [], color=DUSK, label="others", **dot))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        labelcolor=PALE,
        handletextpad=0.1,
    )
    figure.savefig(path, dpi=90)


def main():
    parser = argparse.ArgumentParser(description="Draw graphs, and a network if one is given.")
    parser.add_argument("--output", type=Path, default=Path("graphs.png"), help="picture to write")
    parser.add_argument("--data", type=Path, help="network to draw: .npz with edges and section")
    parser.add_argument(
        "--network-output", type=Path, default=Path("network.png"), help="its picture"
    )
    parser.add_argument("--seed", type=int, default=0, help="random_state of all drawings")
    args = parser.parse_args()

    draw_graphs(args.output, args.seed)
    print(f"Picture: {args.output}")
    if args.data is None:
        return
    with np.load(args.data) as data:
        edges, section = data["edges"], data["section"]
    start = time.perf_counter()
    estimator = fit_network(edges, len(section), args.seed)
    print(
        f"{len(section)} nodes, {len(estimator.distances_)} path lengths: laid out in "
        f"{time.perf_counter() - start:.1f} s, stress {estimator.stress_:.4f}"
    )
    draw_network(args.network_output, estimator, edges, section)
    print(f"Picture: {args.network_output}")


if __name__ == "__main__":
    main()
