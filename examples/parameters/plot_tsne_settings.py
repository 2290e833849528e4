"""
t-SNE and UMAP from parts
=========================

The settings of t-SNE and UMAP (perplexity, exaggeration, min_dist) belong to three parts of the
problem: the weights of neighbours, the repulsion, and the starting point. This page sets each part
with the means of skmde, for those who know these settings, or have read a paper that uses them.

===========================  =======================================================================
setting there                here
===========================  =======================================================================
perplexity                   ``n_neighbors``, about as large; or the weights of t-SNE, below
exaggeration (lasting)       ``repulsion="normalized", repulsive_weight=1 / exaggeration``
early exaggeration           built in: the repulsion rises from weak to its full weight
learning rate, momentum      not needed: a line search finds the steps
perplexity annealing         ``init`` from the fit of a larger ``n_neighbors``, below
multiscale affinities        the sum of two graphs of weights, below
UMAP's min_dist, spread      ``repulsive_weight``, and the attraction's exponent
start from a sample          ``init=sample_map.transform(X)``, below
===========================  =======================================================================
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from skmde import MDE, Cauchy, Log1p, PreserveNeighbors
from skmde.metrics import neighborhood_recall, triplet_accuracy
from skmde.plotting import EmbeddingDisplay
from skmde.preprocessing import edges_from_graph, nearest_neighbors

n_samples = 400
X, digits = load_digits(return_X_y=True)
X, digits = X[:n_samples], digits[:n_samples]

# %%
# Perplexity
# ----------
# t-SNE gives the neighbours of each item weights by a Gaussian. Its width is such that the weights
# are spread over about *perplexity* neighbours: the exponential of their entropy is that number.
# Both directions of a pair are then averaged. In code, for many neighbours at once:


def affinities(X, perplexity):
    """The weights of t-SNE: symmetric, of sum 1."""
    k = min(len(X) - 1, 3 * perplexity)
    neighbors, distances, _ = nearest_neighbors(X, k)
    squares = distances**2
    low, high = np.full((2, len(X), 1), [[[-30.0]], [[30.0]]])  # logarithms of precisions
    for _ in range(50):
        middle = (low + high) / 2
        logits = -np.exp(middle) * (squares - squares[:, :1])
        logits -= logsumexp(logits, axis=1, keepdims=True)
        entropy = -np.sum(np.exp(logits) * logits, axis=1, keepdims=True)
        too_wide = entropy > np.log(perplexity)
        low, high = np.where(too_wide, middle, low), np.where(too_wide, high, middle)
    from_item = np.repeat(np.arange(len(X)), k)
    P = csr_array((np.exp(logits).ravel(), (from_item, neighbors.ravel())), shape=(len(X),) * 2)
    return (P + P.T) / (2 * len(X))


# %%
# With these weights, the repulsion "normalized" and the penalties of its kernel, the problem is that
# of t-SNE. Its *early exaggeration* is a first solve, in which the repulsion has a fourth of its
# weight, so that groups find together. The Kullback-Leibler divergence, which t-SNE minimises, judges
# both solutions; the lower one is the better minimum.

P = affinities(X, 30)
pairs, weights = edges_from_graph(P)
tsne_penalties = Log1p(2.0), Cauchy()
start = PCA(2).fit_transform(X)
start *= 0.1 / start.std()  # a small start: items can pass each other


def solved(pairs, weights):
    """t-SNE of weights: first with the early exaggeration, then without."""
    Z = start
    for exaggeration in (4, 1):
        problem = MDE(
            len(X),
            2,
            pairs,
            tsne_penalties,
            weights=weights,
            repulsion="normalized",
            repulsive_weight=1 / exaggeration,
        )
        Z = problem.embed(Z, random_state=0).numpy()
    return Z


ours = solved(pairs, weights)
theirs = TSNE(perplexity=30, init="pca", random_state=0).fit_transform(X)


def divergence(P, Z):
    """Kullback-Leibler divergence of the kernel of a map from affinities."""
    Q = squareform(1 / (1 + pdist(Z, "sqeuclidean")))
    stored = P.tocoo()
    p, q = stored.data, (Q / Q.sum())[stored.row, stored.col]
    return np.sum(p * np.log(p / q))


divergences = {"skmde": divergence(P, ours), "scikit-learn": divergence(P, theirs)}
print({name: round(value, 3) for name, value in divergences.items()})

# %%
# Is it worth it? The default weights are 2 for neighbours of each other and 1 for the other pairs, and
# need no widths. With 15 neighbours they keep as many of the 15 nearest as a perplexity of 30.

maps = {
    "perplexity 30": ours,
    "15 neighbours": PreserveNeighbors(repulsion="normalized", random_state=0).fit_transform(X),
    "30 neighbours": PreserveNeighbors(
        n_neighbors=30, repulsion="normalized", random_state=0
    ).fit_transform(X),
}

# %%
# Exaggeration
# ------------
# A lasting exaggeration by 4 multiplies all attractions by 4. It is the same to divide the repulsion
# by 4. Groups become tighter, and the map is like one of UMAP.

maps["exaggeration 4"] = PreserveNeighbors(
    repulsion="normalized", repulsive_weight=1 / 4, random_state=0
).fit_transform(X)

# %%
# Large and small neighbourhoods
# ------------------------------
# A large perplexity arranges the groups, a small one the items in a group. There are two ways to have
# both. *Annealing* fits with many neighbours, and starts from that map with few. *Multiscale*
# weights are the mean of two graphs.

broad = PreserveNeighbors(n_neighbors=100, repulsion="normalized", random_state=0)
maps["annealing"] = PreserveNeighbors(
    init=broad.fit_transform(X), repulsion="normalized", random_state=0
).fit_transform(X)

both = (affinities(X, 100) + affinities(X, 10)) / 2
maps["multiscale"] = solved(*edges_from_graph(both))

# %%
# Start from a sample
# -------------------
# In a large table, a map of a sample arranges the groups, and all rows start from their places on it.
# The array is a start as any other: the fit then moves all rows.

sample_map = PreserveNeighbors(repulsion="normalized", random_state=0).fit(X[::4])
maps["from a sample"] = PreserveNeighbors(
    init=sample_map.transform(X), repulsion="normalized", random_state=0
).fit_transform(X)

# %%
# The maps
# --------
# *Recall* is the share of the 15 nearest neighbours that is kept, *triplets* the share of triplets of
# items of which the nearer two are the same in data and map.

figures = {}
figure, axes = plt.subplots(2, 4, figsize=(10.8, 6), layout="constrained")
for ax, (name, Z) in zip(axes.flat, {**maps, "scikit-learn": theirs}.items(), strict=False):
    figures[name] = neighborhood_recall(X, Z), triplet_accuracy(X, Z, random_state=0)
    print(f"{name:15} recall {figures[name][0]:.2f}, triplets {figures[name][1]:.2f}")
    EmbeddingDisplay.from_embedding(Z, digits, labels="none", ax=ax)
    ax.set_title("{}: {:.2f}, {:.2f}".format(name, *figures[name]))

# %%
# How to read it
# --------------
# The first and the last map have one objective, and about the same divergence. The settings differ less
# than one would think: all maps but the exaggerated one keep about as many neighbours. More
# neighbours, or two scales, keep a few more triplets, at the cost of neighbours. Where the groups lie
# comes from the start.
#
# UMAP
# ----
# UMAP attracts by :math:`\log(1 + a d^{2b})`. With its default ``min_dist=0.1``, b is 0.9 and a is
# 1.58: this is ``Log1p(1.8)`` in another unit of length. A smaller ``min_dist`` makes b smaller,
# so neighbours come closer. Its repulsion is that of sampled pairs, about as strong as
# ``repulsive_weight=0.1``; more is ``spread``. So ::
#
#     PreserveNeighbors(attractive_penalty=Log1p(1.8), repulsive_weight=0.1)
#
# has most of the looks of UMAP's maps. :doc:`/maps` compares the two on many data sets.
#
# What can go wrong
# -----------------
# - *A perplexity of more than a third of the items.* There are not enough neighbours; lower it.
# - *A divergence that is compared between perplexities.* Each has another scale. Compare by recall and
#   triplets.
# - *A large exaggeration* draws groups to dots. Beyond 4, neighbours are lost.
#
# :doc:`/migrating` has all parameters, and :doc:`/theory/repulsion` the reason why "normalized" is
# t-SNE.

plt.show()
