"""
Maps over time
==============

A table comes anew each month: the same customers with new figures, some of them gone, others new.
Each month can have a map of its own. But a map may be turned, mirrored, and have its groups
elsewhere, so two of them cannot be compared by eye. This page shows four ways to keep maps
together, and what each of them costs:

======================================  ============================================================
way                                     use it
======================================  ============================================================
:func:`~skmde.metrics.align`            maps that are there already, also of other programs
start from the last map, then align     items that change much, and maps as good as single ones
soft anchors at the last map            the usual case: items move only if their data do
one problem for all months              all months are there at once, none of them comes first
======================================  ============================================================

To show new rows on an old map that does not change, none of this is needed: see
:doc:`plot_04_new_data`. The same works for tables that differ by place or by version, and for
maps of one table under several parameters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skmde import MDE, AnchoredMDE, Cauchy, DistortionTerm, Log1p, PreserveNeighbors
from skmde.metrics import align, neighborhood_recall
from skmde.plotting import EmbeddingDisplay
from skmde.preprocessing import all_edges, edges_from_graph

# %%
# The tables
# ----------
# Handwritten digits stand for customers. There are five months. Each month the pixels get a little
# noise, twenty digits leave, and twenty join. Fifteen fives turn into threes from the first month
# to the last: these are the items that a series of maps should show on their way.

n_items, n_months, n_movers = 300, 5, 15
digits, classes = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
everyone = rng.permutation(len(digits))[: n_items + 20 * (n_months - 1)]
is_five, is_three = classes[everyone] == 5, classes[everyone] == 3
movers = np.flatnonzero(is_five[:n_items])[:n_movers]
aims = rng.choice(np.flatnonzero(is_three), len(movers))

# Items that are there in a month, and their rows. Those that leave are no movers.
leave = rng.permutation(np.setdiff1d(np.arange(n_items), movers))
tables, items = [], []
for month in range(n_months):
    there = np.setdiff1d(np.arange(n_items + 20 * month), leave[: 20 * month])
    rows = digits[everyone].copy()
    part = month / (n_months - 1)
    rows[movers] = (1 - part) * rows[movers] + part * rows[aims]
    tables.append(rows[there] + rng.normal(size=rows[there].shape))
    items.append(there)
print([len(table) for table in tables], "items in each month")

# %%
# Each month alone, then aligned
# ------------------------------
# ``align`` finds the rotation, the reflection and the shift that lay one map over another. It needs
# the same items in both, so it gets those that are in both months; ``fit_transform`` of each month
# gives rows in the order of its table.


def in_both(month):
    """Rows of the items that a month shares with the one before: there, and in this one."""
    _, before, now = np.intersect1d(items[month - 1], items[month], return_indices=True)
    return before, now


def laid_over(embedding, month, last):
    """An embedding, turned and shifted so that its items are nearest to those of the last one."""
    before, now = in_both(month)
    with_one = np.column_stack([embedding, np.ones(len(embedding))])
    turned = align(embedding[now], last[before])
    # The items that are new get the same turn and shift: least squares finds them exactly.
    return with_one @ np.linalg.lstsq(with_one[now], turned, rcond=None)[0]


first = PreserveNeighbors(random_state=0).fit_transform(tables[0])
alone = [first]
for month in range(1, n_months):
    embedding = PreserveNeighbors(random_state=0).fit_transform(tables[month])
    alone.append(laid_over(embedding, month, alone[-1]))

# %%
# Start from the last map
# -----------------------
# The problem has many local minima, and the start decides which groups lie where. ``init`` takes
# an array. Items of the last month start where they were, and ``transform`` of the last month's
# estimator says where the others start.

fitted = PreserveNeighbors(random_state=0).fit(tables[0])
started = [first]
for month in range(1, n_months):
    before, now = in_both(month)
    start = fitted.transform(tables[month])
    start[now] = fitted.embedding_[before]
    fitted = PreserveNeighbors(init=start, random_state=0).fit(tables[month])
    started.append(laid_over(fitted.embedding_, month, started[-1]))

# %%
# Soft anchors at the last map
# ----------------------------
# :class:`~skmde.AnchoredMDE` with an ``anchor_weight`` pulls each item towards its last place, as
# one more neighbour of that weight would. Rows of NaN are items without a last place. The
# penalties are those of :class:`~skmde.PreserveNeighbors`. So the map stays where the data stay,
# and nothing has to be turned.

anchored = [first]
for month in range(1, n_months):
    before, now = in_both(month)
    last = np.full((len(tables[month]), 2), np.nan)
    last[now] = anchored[-1][before]
    estimator = AnchoredMDE(
        attractive_penalty=Log1p(2.0),
        repulsive_penalty=Cauchy(),
        repulsion="all",
        n_neighbors=15,
        anchor_weight=1.0,
        random_state=0,
    )
    anchored.append(estimator.fit_transform(tables[month], last))

# %%
# One problem for all months
# --------------------------
# If all months are there, none has to come first. The items of all months are the items of one
# problem: neighbours of a month attract each other, all pairs of a month repel each other, and an
# item attracts itself in the next month. The number of repulsive pairs grows with the square of
# the items of a month, so this is for a few thousand of them.

offsets = np.cumsum([0, *map(len, tables)])
terms = []
for table, offset in zip(tables, offsets, strict=False):
    graph = PreserveNeighbors(random_state=0).fit(table).graph_
    pairs, weights = edges_from_graph(graph)
    terms.append(DistortionTerm(pairs + offset, Log1p(2.0), weights=weights))
    pairs = all_edges(len(table))
    terms.append(DistortionTerm(pairs + offset, Cauchy(), weights=-np.ones(len(pairs))))
for month in range(1, n_months):
    before, now = in_both(month)
    pairs = np.column_stack([before + offsets[month - 1], now + offsets[month]])
    terms.append(DistortionTerm(pairs, "quadratic", weights=np.full(len(pairs), 0.5)))
problem = MDE(offsets[-1], 2, terms)
joint = np.split(problem.embed(np.vstack(started), random_state=0).numpy(), offsets[1:-1])

# %%
# What each way costs
# -------------------
# *Recall* is the share of the 15 nearest items of a month that are nearest in its map. *Steps* are
# the median distances that an item moves from a month to the next, as a part of the size of the
# map: of the items that have only noise, and, from the first month to the last, of the movers.
# Good maps have a high recall, small steps of the others, and large ones of the movers.


def measured(maps):
    """Recall, step of the others in a month, and way of the movers in all months."""
    recall = np.mean([neighborhood_recall(X, Z) for X, Z in zip(tables, maps, strict=True)])
    size = np.sqrt(np.mean([Z.var(axis=0).sum() for Z in maps]))
    steps = []
    for month in range(1, n_months):
        before, now = in_both(month)
        step = np.linalg.norm(maps[month][now] - maps[month - 1][before], axis=1)
        steps.append(np.median(step[~np.isin(items[month][now], movers)]))
    ends = [maps[k][np.searchsorted(items[k], movers)] for k in (0, -1)]
    way = np.median(np.linalg.norm(ends[1] - ends[0], axis=1))
    return recall, np.mean(steps) / size, way / size


ways = {
    "aligned": alone,
    "start from the last": started,
    "soft anchors": anchored,
    "one problem": joint,
}
figures = {name: measured(maps) for name, maps in ways.items()}
for name, (recall, step, way) in figures.items():
    print(f"{name:20} recall {recall:.2f}, step of the others {step:.2f}, way of movers {way:.2f}")

# %%
# The maps of all ways keep about as many neighbours. They differ in how far items move without a
# reason. Alignment can turn a map, but it cannot put a group elsewhere. A start from the last map
# keeps the groups in their places. Soft anchors and the joint problem also hold the single items,
# and the movers with them: a larger ``anchor_weight``, or weight of the links, holds all items
# more firmly, at a lower recall. In a long series, compare maps with the first one as well: small
# steps add up.
#
# The pictures
# ------------
# The months by soft anchors. Crosses are the movers, on their way from the fives to the threes.

class_of = classes[everyone]
limits = [min(Z.min() for Z in anchored) - 1, max(Z.max() for Z in anchored) + 1]
figure, axes = plt.subplots(1, n_months, figsize=(10.8, 2.6), layout="constrained")
for month, ax in enumerate(axes):
    Z = anchored[month]
    EmbeddingDisplay.from_embedding(Z, class_of[items[month]], labels="map", ax=ax)
    ax.plot(*Z[np.searchsorted(items[month], movers)].T, "kx", markersize=5)
    ax.set(xlim=limits, ylim=limits, title=f"month {month + 1}")

# %%
# The way of each item from the first month to the last, under each of the four: movers are black.

stayers = np.intersect1d(items[0], items[-1])
figure, axes = plt.subplots(1, 4, figsize=(10.8, 3.1), layout="constrained")
for ax, (name, maps) in zip(axes, ways.items(), strict=True):
    ends = np.stack([maps[k][np.searchsorted(items[k], stayers)] for k in (0, -1)])
    moves = np.isin(stayers, movers)
    ax.plot(*ends[:, ~moves].transpose(2, 0, 1), color="#56B4E9", linewidth=0.6)
    ax.plot(*ends[:, moves].transpose(2, 0, 1), color="black", linewidth=0.9)
    ax.scatter(*ends[1].T, s=4, color="#0072B2", zorder=3)
    ax.set(title=name, aspect="equal", xticks=[], yticks=[])

# %%
# What can go wrong
# -----------------
# - *Rows in another order.* Row i of two tables must not be taken for the same item if it is not:
#   match items by a key, as ``in_both`` does.
# - *Each month scaled by itself.* A change of all customers then vanishes. Fit the scaler to the
#   first month, or to all.
# - *Few items in common.* With none there is nothing to align. Give both tables to one fit, or
#   anchor a few items to which you give a meaning: :doc:`plot_07_fixed_points`.
# - *Maps of different size.* Under one set of penalties, tables of about as many items have maps of
#   about the same size. For others, ``align(..., scaling=True)`` scales as well.
# - *Movement that means nothing.* An item may move because its neighbours do. See how far items
#   move between two fits of one month: :func:`skmde.inspection.stability`.
#
# Maps of one table under several parameters can be kept together in the same ways.
# :class:`~skmde.plotting.CompareEmbeddingsDisplay` draws two of them, and :doc:`plot_10_compare`
# compares them by numbers.

plt.show()
