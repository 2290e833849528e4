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

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import scipy.sparse as sp

import skmde
from skmde.plotting import EmbeddingDisplay

ANCHOR = "#D55E00"
NIGHT = "#0B0E14"  # behind a network
MOST_EDGES = 100_000  # of a network that are drawn
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


def draw_small(ax, drawing):
    """Nodes are coloured by their number of steps from the middle, anchors orange."""
    steps = nx.single_source_shortest_path_length(drawing.graph, nx.center(drawing.graph)[0])
    ax.set_title(drawing.title, fontsize=8.5)
    EmbeddingDisplay.from_embedding(
        drawing.coordinates,
        [steps[node] for node in drawing.graph],
        color_as="number",
        edges=np.array(drawing.graph.edges),
        show_edges="all",
        labels="none",
        marker_size=42,
        view="all",
        ax=ax,
    )
    anchors = drawing.coordinates[np.asarray(drawing.anchors, int)]
    ax.scatter(*anchors.T, s=46, c=ANCHOR, marker="s", edgecolors="white", zorder=3)


def draw_characters(ax, seed):
    """Characters of Les Misérables, coloured by community."""
    graph = nx.convert_node_labels_to_integers(nx.les_miserables_graph(), label_attribute="name")
    for _, _, edge in graph.edges(data=True):
        edge["weight"] = 1  # it is a number of chapters, not a length
    drawing = by_paths("Characters of Les Misérables", graph, "kamada_kawai", seed=seed)
    community = np.empty(len(graph), dtype=int)
    for k, members in enumerate(nx.community.greedy_modularity_communities(graph)):
        community[list(members)] = k
    names = [name for _, name in graph.nodes(data="name")]
    EmbeddingDisplay.from_embedding(
        drawing.coordinates,
        community,
        names=names,
        annotate=[name in NAMED for name in names],
        edges=np.array(graph.edges),
        show_edges="all",
        labels="none",
        ax=ax,
    )
    ax.set_title(drawing.title, fontsize=10)
    print(drawing.title.replace("\n", ": "))


def draw_graphs(seed):
    figure = plt.figure(figsize=(10, 12), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[5, 6])
    for ax, drawing in zip(above.subplots(2, 4).flat, monograph_drawings(seed), strict=True):
        draw_small(ax, drawing)
        print(drawing.title.replace("\n", ": "))
    draw_characters(below.subplots(), seed)
    return figure


def draw_network(path, estimator, edges, section):
    """Nodes by section, alone and with their edges, on a dark page."""
    figure = plt.figure(figsize=(15, 7.4), layout="constrained", facecolor=NIGHT)
    n, p = f"{len(section):,} nodes", f"{len(edges):,} edges"
    loss = f'"{estimator.loss}" loss, stress {estimator.stress_:.3f}'
    titles = f"{n}, {loss}", f"The same with its {p}"
    options = {"color_name": "section", "max_classes": 10, "theme": "dark"}
    options |= {"density": False, "marker_size": 2.5, "alpha": 0.7}
    panels = figure.subplots(1, 2, sharex=True, sharey=True)  # frames of one shape
    for ax, title in zip(panels, titles, strict=True):
        EmbeddingDisplay.from_estimator(estimator, section, ax=ax, **options)
        ax.set_title(title, color="white")
        options |= {"edges": edges, "show_edges": "sample", "max_edges": MOST_EDGES}
        options |= {"labels": "none"}
    figure.savefig(path, dpi=90)


def main():
    parser = argparse.ArgumentParser(description="Draw graphs, and a network if one is given.")
    parser.add_argument("--output", type=Path, help="picture to write, not show")
    parser.add_argument("--data", type=Path, help="network to draw: .npz with edges and section")
    parser.add_argument(
        "--network-output", type=Path, default=Path("network.png"), help="its picture"
    )
    parser.add_argument("--seed", type=int, default=0, help="random_state of all drawings")
    args = parser.parse_args()

    figure = draw_graphs(args.seed)
    if args.output is None:
        plt.show()
    else:
        figure.savefig(args.output, dpi=90)
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
