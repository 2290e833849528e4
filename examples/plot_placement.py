"""
Placing a circuit, and packing discs
====================================

Two placement problems, with :class:`skmde.AnchoredMDE`.

The first is that of circuit design: the cells of a chip are joined by wires, the pads on its rim
are fixed, and the cells are placed so that wires are short. With the quadratic penalty each cell
is at the mean of what it is wired to, and the cells crowd in the middle; the solution is exact.
Other penalties pull harder at long wires ("cubic"), or no harder beyond a short length (Huber's);
they are convex, too, so there is one best value. The arrows are the forces with which the wires
pull at the pads.

The second packs discs of one size. Every pair of them attracts each other, but a barrier keeps
their centres farther apart than a diameter (Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*,
section 4.1.2). The solver starts with them far apart, and no step ever lets two of them touch.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.collections import PatchCollection
from matplotlib.patches import Circle
from scipy.spatial.distance import pdist

from skmde import AnchoredMDE, Barrier, Huber
from skmde.plotting import EmbeddingDisplay

PARTS = {"cell": "#0072B2", "pad": "#D55E00"}
FORCE, DISC = "#009E73", "#56B4E9"


def netlist(side=12, seed=0):
    """Wires between the cells of a chip, and pads on its rim.

    Cells are joined to a few others nearby, as in a circuit made of blocks; pads to one cell each.

    Returns
    -------
    wires : csr_array of shape (n, n)
        Symmetric; the number of wires between two items.
    pads : ndarray of int
        The items that are pads.
    coordinates : ndarray of shape (n_pads, 2)
        Where they are, on the rim of the unit square.
    """
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*2 * [np.linspace(0.1, 0.9, side)]), axis=-1).reshape(-1, 2)
    cells = grid + rng.normal(scale=0.3 / side, size=grid.shape)
    steps = np.linspace(0, 1, side // 2, endpoint=False)
    rim = [(t, 0.0) for t in steps] + [(1.0, t) for t in steps]
    rim += [(1.0 - t, 1.0) for t in steps] + [(0.0, 1.0 - t) for t in steps]
    coordinates = np.array(rim)
    n_cells, n = len(cells), len(cells) + len(coordinates)
    distance = np.linalg.norm(cells[:, None] - cells, axis=2)
    chance = 0.6 * np.exp(-((distance * side / 1.6) ** 2))
    i, j = np.nonzero(np.triu(rng.uniform(size=chance.shape) < chance, 1))
    chain = np.arange(n_cells - 1)  # one clock line through all cells
    nearest = np.linalg.norm(coordinates[:, None] - cells, axis=2).argmin(axis=1)
    pads = np.arange(n_cells, n)
    ends = np.concatenate([i, chain, pads]), np.concatenate([j, chain + 1, nearest])
    number = np.concatenate([np.ones(len(i)), np.full(len(chain), 0.05), np.full(len(pads), 4.0)])
    wires = sp.coo_array((number, ends), shape=(n, n)).tocsr()
    return wires + wires.T, pads, coordinates


def place_circuit(wires, pads, coordinates, penalty):
    """The fitted estimator."""
    estimator = AnchoredMDE(metric="affinity", attractive_penalty=penalty, max_iter=1000)
    return estimator.fit(wires, anchors=pads, anchor_values=coordinates)


def pack_discs(n_discs=61, diameter=1.0, pull=1.0):
    """Discs that attract each other: their centres, and the shortest distance of every iterate.

    The first disc stays at the origin. The more they are pulled, the nearer they come.
    """
    rows = int(np.ceil(np.sqrt(n_discs)))
    start = 2.0 * diameter * np.stack(np.divmod(np.arange(n_discs), rows), axis=1)
    start[1::2, 0] += 0.3 * diameter  # not in perfect balance
    attraction = pull * (np.ones((n_discs, n_discs)) - np.eye(n_discs))
    shortest = [pdist(start).min()]
    estimator = AnchoredMDE(
        metric="affinity",
        attractive_penalty=Barrier(diameter),
        init=start,
        max_iter=2000,
        callbacks=[lambda state: shortest.append(pdist(state.X).min()) and False],
    )
    estimator.fit(attraction, anchors=[0], anchor_values=start[:1])
    return estimator.embedding_, np.array(shortest)


def draw_circuit(ax, estimator, title):
    X, pads = estimator.embedding_, estimator.anchors_
    part = np.where(np.isin(np.arange(len(X)), pads), "pad", "cell")
    options = {"palette": PARTS, "labels": "none", "show_edges": "all", "view": "all"}
    EmbeddingDisplay.from_estimator(estimator, part, marker_size=22, ax=ax, **options)
    arrows = 0.15 * estimator.forces_ / np.linalg.norm(estimator.forces_, axis=1).max()
    style = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.006, "zorder": 4}
    ax.quiver(*X[pads].T, *arrows.T, color=FORCE, **style)
    ax.set(xlim=(-0.16, 1.16), ylim=(-0.16, 1.16))  # room for the arrows
    ax.set_title(title, fontsize=10)


def draw_discs(ax, centers, diameter, title):
    EmbeddingDisplay.from_embedding(centers, marker_size=3, view="all", ax=ax)
    discs = [Circle(center, diameter / 2) for center in centers]
    ax.add_collection(PatchCollection(discs, facecolor=DISC, edgecolor="white", linewidth=0.6))
    reach = np.abs(centers - centers.mean(axis=0)).max() + 0.7 * diameter
    middle = centers.mean(axis=0)
    ax.set(xlim=middle[0] + [-reach, reach], ylim=middle[1] + [-reach, reach])
    ax.set_title(title, fontsize=10)


def main():
    parser = argparse.ArgumentParser(description="Place a circuit, and pack discs.")
    parser.add_argument("--output", type=Path, help="picture to write, not show")
    parser.add_argument("--seed", type=int, default=0, help="of the circuit")
    args = parser.parse_args()

    figure = plt.figure(figsize=(9.6, 10.2), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    wires, pads, coordinates = netlist(seed=args.seed)
    for ax, penalty in zip(axes, ("quadratic", "cubic", Huber(0.1)), strict=False):
        estimator = place_circuit(wires, pads, coordinates, penalty)
        ends = estimator.embedding_[estimator.edges_]
        lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        title = (
            f"{penalty!r} penalty\nwires {lengths @ estimator.weights_:.1f} in all, "
            f"longest {lengths.max():.2f}"
        )
        print(title.replace("\n", ": "))
        draw_circuit(ax, estimator, title)

    diameter = 1.0
    centers, shortest = pack_discs(diameter=diameter)
    title = (
        f"{len(centers)} discs of diameter {diameter:g}\nshortest distance "
        f"{shortest[-1]:.4f}, on the way {shortest.min():.4f}"
    )
    print(title.replace("\n", ": "))
    draw_discs(axes[3], centers, diameter, title)
    if args.output is None:
        plt.show()
        return
    figure.savefig(args.output, dpi=90)
    print(f"Picture: {args.output}")


if __name__ == "__main__":
    main()
