"""
A fit, step by step
===================

``PreserveNeighbors().fit_transform(X)`` is one line. This page takes the line apart: it makes a map
from the public functions that the estimator is built of, and draws what each step has done.

====  ==========================  ==================================================================
step  what it does                function
====  ==========================  ==================================================================
1     find the nearest rows       :func:`~skmde.preprocessing.nearest_neighbors`
2     make a graph of weights     :func:`~skmde.preprocessing.neighbor_graph`
3     choose the functions        :func:`~skmde.preprocessing.intrinsic_dimension`, penalties
4     find a start                principal components
5     state the problem           :class:`~skmde.MDE`
6     solve it                    :meth:`MDE.embed <skmde.MDE.embed>`
7     judge the map               :mod:`skmde.metrics`
====  ==========================  ==================================================================
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skmde import MDE, Cauchy, Log1p, PreserveNeighbors, push_and_pull
from skmde.metrics import neighborhood_recall, trustworthiness
from skmde.plotting import EmbeddingDisplay
from skmde.preprocessing import (
    edges_from_graph,
    intrinsic_dimension,
    nearest_neighbors,
    neighbor_graph,
)

n_samples = 500
X, digits = load_digits(return_X_y=True)
X, digits = X[:n_samples], digits[:n_samples]

# %%
# Step 1: the nearest rows
# ------------------------
# Each row has 64 numbers, the pixels of a handwritten digit. A map can keep little of what they say.
# It keeps which rows are near each other: for each row, the 15 nearest others by Euclidean distance.

neighbors, distances, _ = nearest_neighbors(X, 15)

shown = [int(np.flatnonzero(digits == digit)[0]) for digit in (0, 4, 8)]
figure, axes = plt.subplots(3, 12, figsize=(10.8, 3.0))
figure.subplots_adjust(left=0.01, right=0.99, top=0.9, bottom=0.01, wspace=0.05, hspace=0.05)
for line, row in zip(axes, shown, strict=True):
    for ax, k in zip(line, [row, None, *neighbors[row, :10]], strict=True):
        ax.set_axis_off()
        if k is not None:
            ax.imshow(X[k].reshape(8, 8), cmap="gray_r")
axes[0, 0].set_title("row", fontsize=9)
axes[0, 2].set_title("its nearest rows", fontsize=9, loc="left")
plt.show()

# %%
# Step 2: the graph of neighbours
# -------------------------------
# Two rows are joined if one is a neighbour of the other. The weight of the pair is 2 if each is a
# neighbour of the other, and else 1. Distances are not used any more. From here on, the problem knows
# pairs and weights, and no pixels.

graph = neighbor_graph(neighbors, distances)
pairs, weights = edges_from_graph(graph)
print(f"{len(pairs)} pairs, {np.mean(weights == 2):.0%} of which have the weight 2")
print(f"{np.mean(digits[pairs[:, 0]] == digits[pairs[:, 1]]):.0%} join two images of one digit")

# %%
# Step 3: the functions
# ---------------------
# The *intrinsic dimension* says in how many directions the rows spread, by how fast the distances of
# neighbours grow. Above about 2.5 the data do not fit into the plane. Then the attraction is
# ``Log1p(2.0)``, whose pull fades with the distance, so that a few wrong pairs do not hold groups
# together. (For flat data it is ``Huber(1.0)``, whose pull does not fade.)

print(f"intrinsic dimension {intrinsic_dimension(distances):.1f}")

# %%
# Pairs of the graph attract each other. All pairs repel each other, by ``Cauchy()``, so that the map
# spreads. The attraction of a pair is stronger than its repulsion at every distance, so two rows
# alone would fall together. All the other rows, which only repel, keep neighbours apart.

d = np.linspace(0, 5, 200)
figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.plot(d, 2 * 2 * d / (1 + d**2), label="attraction, weight 2")
ax.plot(d, 2 * d / (1 + d**2), label="attraction, weight 1")
ax.plot(d, 2 * d / (1 + d**2) ** 2, label="repulsion")
ax.set(xlabel="distance in the map", ylabel="force")
_ = ax.legend()

# %%
# Step 4: the start
# -----------------
# The problem has many local minima, so the start matters. Principal components keep the large
# distances of the data. They are scaled to about 1, the length of the penalties. (Flat data start from
# Isomap.) Lines are the pairs of the graph: near rows of the data are near here, too, but so are many
# others.

start = PCA(2).fit_transform(X)
start = start / start.std()


def draw(ax, Z, title, **options):
    """A map of the digits, without a legend."""
    EmbeddingDisplay.from_embedding(Z, digits, labels="none", marker_size=9, ax=ax, **options)
    ax.set_title(title, fontsize=10)


recall = neighborhood_recall(X, start, n_neighbors=15)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
draw(axes[0], start, f"the start: recall {recall:.2f}")
draw(axes[1], start, "the start, with the graph", edges=pairs, show_edges="all")

# %%
# *Recall* is the share of the 15 nearest rows that are nearest in the map, too.
#
# Step 5: the problem
# -------------------
# Pairs, functions, weights and the repulsion of all pairs make the problem. Its *average distortion*
# is one number for every map, and the map with the smallest is sought. Minus its gradient is the
# force on each row.

problem = MDE(
    n_samples,
    2,
    pairs,
    push_and_pull(Log1p(2.0), Cauchy()),
    weights=weights,
    repulsion="all",
    repulsive_weight=1.0,
)
print(f"average distortion of the start: {problem.average_distortion(start):.2f}")
forces = -problem.gradient(start).numpy()

# %%
# Step 6: the solution
# --------------------
# ``embed`` minimises the average distortion. A function that it calls after each iteration keeps what
# the pictures show.

states = []


def keep(state):
    """Copy the map and its figures."""
    Z = np.array(state.X)
    recall = neighborhood_recall(X, Z, n_neighbors=15) if state.iteration % 10 == 0 else np.nan
    states.append((state.iteration, Z, state.value, recall))


Z = problem.embed(start, callbacks=[keep], random_state=0).numpy()
print(f"{problem.result.n_iter} iterations; {problem.result.reason}")
print(f"average distortion of the map: {problem.value:.2f}")

# %%
# Arrows in the first picture are the forces on a part of the rows at the start. Nearly all point
# outwards: in the small start, the repulsion of so many rows outweighs the attraction. It would drive
# rows away before they have found their neighbours. So the solve has four phases:
#
# - *weak repulsion*, 50 iterations: neighbours find each other, and groups are small and dense;
# - *rising repulsion*, 60 iterations: groups swell, and the map grows;
# - *full repulsion*, 75 to 150 iterations of gradient descent with momentum, which carries rows past
#   each other;
# - *L-BFGS*, which descends to the minimum, and stops when there is little to gain.
#
# Each picture has its own scale.

at = [10, 50, 70, 90, 110, 140]
figure, axes = plt.subplots(2, 4, figsize=(10.8, 5.8), layout="constrained")
draw(axes[0, 0], start, "start, with forces")
axes[0, 0].quiver(*start[::4].T, *forces[::4].T, color="black", width=0.005, zorder=3)
for ax, k in zip(axes.flat[1:], at, strict=False):
    iteration, place, _, recall = states[k - 1]
    draw(ax, place, f"iteration {iteration}: recall {recall:.2f}")
recall = neighborhood_recall(X, Z, n_neighbors=15)
draw(axes.flat[-1], Z, f"the end, {len(states)}: recall {recall:.2f}")

# %%
# The average distortion, always with the full repulsion, and the recall. Where the repulsion begins to
# rise, the first goes up and the second down: on the way to a better minimum the map gets worse. The
# last phase gains most of the neighbours.

iterations, _, values, recalls = zip(*states, strict=True)
figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
ax.plot(iterations, values, color="black")
ax.set(xlabel="iteration", ylabel="average distortion", ylim=(2, 6))
known = np.isfinite(recalls)
right = ax.twinx()
right.plot(np.array(iterations)[known], np.array(recalls)[known], "o-", markersize=3)
right.set_ylabel("recall", color="C0")
for end, name in ((50, "weak"), (110, "rising"), (185, "full")):
    ax.axvline(end, color="grey", linewidth=0.7)
    ax.annotate(f"{name} ", (end, 5.7), ha="right", fontsize=9)

# %%
# Step 7: the checks
# ------------------
# The solver says that it has ended, not that the map is good. Three questions to any map: how many
# neighbours does it keep; are near points of the map near in the data (*trustworthiness*); and what
# would a simpler map have? :func:`~skmde.metrics.embedding_report` asks more of them.

for name, embedding in (("principal components", start), ("map", Z)):
    trust = trustworthiness(X, embedding, n_neighbors=15)
    print(f"{name:20} recall {neighborhood_recall(X, embedding):.2f}, trust {trust:.3f}")

# %%
# Which pairs does the map not keep? Its longest ones. A gap that many of them cross is not as wide in
# the data. Look at their rows: if they are alike, the map has torn them apart; if they are not, the
# map is better than the graph. Here the labels tell.

worst = np.argsort(-problem.distances().numpy())[:100]
mixed = np.mean(digits[pairs[worst, 0]] != digits[pairs[worst, 1]])
print(f"of the 100 longest pairs, {mixed:.0%} join two different digits")
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
draw(axes[0], Z, "the map, with the graph", edges=pairs, show_edges="all")
draw(axes[1], Z, "the 100 longest pairs", edges=pairs[worst], show_edges="all")

# %%
# The one call
# ------------
# The estimator makes the same choices. Its problem is the same, and so are the first iterations. Then
# the maps differ in detail, since the estimator numbers the rows in another order, and momentum
# amplifies differences of rounding. By average distortion and recall the two are equally good. Two
# calls of the estimator give the same map to the last bit.

first = []
estimator = PreserveNeighbors(random_state=0, callbacks=[lambda state: first.append(state.value)])
embedding = estimator.fit_transform(X)
print("average distortion   by hand  estimator")
for k in (1, 5, 10, 20):
    print(f"iteration {k:2}           {values[k - 1]:.3f}    {first[k - 1]:.3f}")
print(f"the end                {problem.value:.3f}    {estimator.distortion_:.3f}")
recalls = [neighborhood_recall(X, embedding) for embedding in (Z, embedding)]
print("recall                 {:.3f}    {:.3f}".format(*recalls))

# %%
# What the estimator adds
# -----------------------
# Flat data, graphs, similarities, missing values, other constraints and repulsions, ``sample_weight``,
# and the search for neighbours of many rows. Above all ``transform``, which places new rows.
#
# :doc:`/user_guide` explains the choices, :doc:`/theory/problem` and :doc:`/theory/solver` the
# mathematics, :doc:`/theory/repulsion` how all pairs repel in little time. :doc:`/judging` has the
# checks, and :func:`skmde.plotting.animate` makes a film of a fit.

plt.show()
