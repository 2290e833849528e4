"""
Several tables of the same items
================================

Products have measurements, a description, and customers who bought them; patients have laboratory
values, notes and images. Each source says who is like whom, by a metric of its own. This page puts
them into one map, in four ways:

===========================  =======================================================================
way                          use it
===========================  =======================================================================
columns side by side         the first choice: each source is a table, or can be made one
sum of squared distances     the same for any metrics, of up to some thousand items
union of neighbours          sources that agree; of which there are only graphs, or many items
a problem of several terms   a share for each source, or a distortion function of its own
===========================  =======================================================================

The last part is about items that are missing in one of the sources.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler, normalize

from skmde import MDE, Cauchy, DistortionTerm, Log1p, PreserveNeighbors
from skmde.metrics import knn_accuracy
from skmde.plotting import EmbeddingDisplay
from skmde.preprocessing import all_edges, edges_from_graph, nearest_neighbors

# %%
# Two pairs of sources
# --------------------
# The first pair is made by code: products of three sizes and four subjects. Eight measurements
# depend on the size alone, and the words of a description on the subject alone. So each source
# knows what the other does not, and only both together tell the twelve kinds apart. Words are
# compared by the square roots of their shares (the Hellinger distance, :doc:`/inputs`).

n_products = 300
rng = np.random.default_rng(0)
size, subject = np.arange(n_products) % 3, np.arange(n_products) // 3 % 4
kind = 4 * size + subject
measured = 1.6 * rng.normal(size=(3, 8))[size] + rng.normal(size=(n_products, 8))
measured = StandardScaler().fit_transform(measured)
frequent = 1 / np.arange(1, 301)
chance = 0.6 * frequent / frequent.sum() + 0.4 * rng.dirichlet(np.full(300, 0.2), size=4)[subject]
counts = np.stack([rng.multinomial(150, row) for row in chance])
words = np.sqrt(normalize(counts.astype(float), "l1"))

# %%
# The second pair are two views of the same thing: the upper and the lower half of images of digits.
# Both know the digit, though neither knows it well.

n_digits = 300
images, digits = load_digits(return_X_y=True)
images, digits = images[:n_digits], digits[:n_digits]
upper, lower = images[:, :32], images[:, 32:]

pairs_of_sources = {"products": (measured, words), "digits": (upper, lower)}
classes = {"products": kind, "digits": digits}
alone = {
    data: [PreserveNeighbors(random_state=0).fit(source) for source in sources]
    for data, sources in pairs_of_sources.items()
}
maps = {
    (data, f"source {i + 1}"): alone[data][i].embedding_
    for data in pairs_of_sources
    for i in (0, 1)
}

# %%
# Columns side by side
# --------------------
# A source counts by the sum of its variances, which is half the mean square of its distances. The
# 300 counts of words outweigh the eight measurements, or the other way round, depending on their
# units. So each source is divided by the root of that sum. A factor of one source makes it count
# more: start with 1, and double it.


def scaled(source):
    """A table whose variances sum to 1."""
    return source / np.sqrt(source.var(axis=0).sum())


for data, sources in pairs_of_sources.items():
    joint = np.hstack([scaled(source) for source in sources])
    maps[data, "columns"] = PreserveNeighbors(random_state=0).fit_transform(joint)
unscaled = PreserveNeighbors(random_state=0).fit_transform(np.hstack([measured, counts]))
print(
    f"products, not scaled: {knn_accuracy(unscaled, kind):.2f} of the neighbours in the map agree"
)

# %%
# In a pipeline, ``ColumnTransformer`` prepares each source, and its ``transformer_weights`` hold the
# factors. Then ``transform`` places new items, too.
#
# Sum of squared distances
# ------------------------
# Squares of Euclidean distances of sources add up to those of the columns side by side. The same sum
# can be made of any metrics, such as Jaccard's for sets. Divide each square by its mean.

for data, sources in pairs_of_sources.items():
    squares = [pdist(source) ** 2 for source in sources]
    total = sum(square / square.mean() for square in squares)
    by_distances = PreserveNeighbors(metric="precomputed", random_state=0)
    maps[data, "distances"] = by_distances.fit_transform(squareform(np.sqrt(total)))

# %%
# Union of neighbours
# -------------------
# ``graph_`` holds the weights of neighbours. The sum of two graphs has the neighbours in either
# source, and pairs that both sources have count twice. Nothing has to be scaled, and a source may
# be a graph from the outset.

for data, (first, second) in alone.items():
    union = first.graph_ + second.graph_
    share = first.graph_.multiply(second.graph_).nnz / first.graph_.nnz
    print(f"{data}: {share:.0%} of the neighbours in the first source are some in the second")
    of_either = PreserveNeighbors(metric="affinity", weights="affinity", random_state=0)
    maps[data, "union"] = of_either.fit_transform(union)

# %%
# A problem of several terms
# --------------------------
# :class:`~skmde.MDE` minimises a sum of terms. Here each source is a term of its neighbours, with a
# share, and one more term lets all pairs repel each other. The list of all pairs limits this to a
# few thousand items. Another function may take the place of ``Log1p(2.0)`` in a term, or a loss that
# keeps the distances of a source: :ref:`problems-of-several-terms`.


def of_terms(first, second, share, start):
    """A map in which the neighbours of the second source have this share of the attraction."""
    everyone = all_edges(len(start))
    terms = [DistortionTerm(everyone, Cauchy(), weights=-np.ones(len(everyone)))]
    for graph, part in ((first.graph_, 1 - share), (second.graph_, share)):
        pairs, weights = edges_from_graph(graph)
        terms.append(DistortionTerm(pairs, Log1p(2.0), weights=2 * part * weights))
    return MDE(len(start), 2, terms).embed(start, random_state=0).numpy()


for data in pairs_of_sources:
    maps[data, "terms"] = of_terms(*alone[data], 0.5, maps[data, "union"])
by_share = {
    share: of_terms(*alone["products"], share, maps["products", "union"]) for share in (0.25, 0.75)
}
for share, embedding in by_share.items():
    figures = [knn_accuracy(embedding, labels) for labels in (size, subject)]
    print(f"products, share of the words {share}: size {figures[0]:.2f}, subject {figures[1]:.2f}")

# %%
# What each way keeps
# -------------------
# Of the neighbours in the map, the share that is of the same kind, or shows the same digit:

ways = ("source 1", "source 2", "columns", "distances", "union", "terms")
agreement = {(data, way): knn_accuracy(maps[data, way], classes[data]) for data, way in maps}
for way in ways:
    print(f"{way:10}", *(f"{data} {agreement[data, way]:.2f}  " for data in pairs_of_sources))

# %%
# Where the sources agree, as for the digits, all ways are better than either source. Where each
# source knows something else, columns side by side and the sum of squares tell the kinds apart: an
# item is near if it is near in *both* sources. The union puts together what is near in *either*
# source, and for the products these are other items: an item is drawn to all products of its size
# and to all of its subject, and the plane has no place for both. Shares do not help. They choose the
# source that is kept.
#
# The pictures
# ------------
# The products: colours are sizes above, and subjects below.

panels = ("source 1", "source 2", "columns", "union")
figure, axes = plt.subplots(
    2, 4, figsize=(10.8, 5.2), sharex="col", sharey="col", layout="constrained"
)
names = [("small", "medium", "large")[i] for i in size], [f"subject {i + 1}" for i in subject]
titles = {"source 1": "measurements alone", "source 2": "words alone"}
for row, labels in zip(axes, names, strict=True):
    for ax, way in zip(row, panels, strict=True):
        legend = "legend" if way == panels[-1] else "none"
        EmbeddingDisplay.from_embedding(maps["products", way], labels, labels=legend, ax=ax)
for ax, way in zip(axes[0], panels, strict=True):
    ax.set_title(titles.get(way, way))

# %%
# Items that are missing in one source
# ------------------------------------
# A third of the products now have no description. Means in place of their words would put them into
# the middle of all subjects, where they become neighbours of everybody. A table of neighbours does
# better: a product with both sources has its neighbours among those with both, and one without words
# among all products, by measurements. ``metric="precomputed"`` takes the table.

described = np.flatnonzero(rng.random(n_products) > 1 / 3)
joint = np.hstack([scaled(measured), scaled(words)])
indices, distances, _ = nearest_neighbors(scaled(measured), 15)
among, lengths, _ = nearest_neighbors(joint[described], 15)
indices[described], distances[described] = described[among], lengths

imputed = words.copy()
undescribed = np.setdiff1d(np.arange(n_products), described)
imputed[undescribed] = words[described].mean(axis=0)
partial = {
    "means": PreserveNeighbors(random_state=0).fit_transform(
        np.hstack([scaled(measured), scaled(imputed)])
    ),
    "table of neighbours": PreserveNeighbors(metric="precomputed", random_state=0).fit_transform(
        (indices, distances)
    ),
}
told = {way: knn_accuracy(Z[described], kind[described]) for way, Z in partial.items()}
for way, share in told.items():
    print(f"{way}: {share:.2f} of the neighbours of a described product are of its kind")

# %%
# What can go wrong
# -----------------
# - *A source of noise.* It adds to all distances and hides the others. Look at the map of each source
#   first, and leave out those that show nothing.
# - *A source with few distinct values.* A column of three categories, made a source of its own, has
#   hundreds of nearest neighbours at distance 0, of which a union takes arbitrary ones. Put it beside
#   the other columns.
# - *Sums of distances in place of squares.* The sources with distances that hardly differ, as those
#   of many columns do, then count for little.
# - *Rows in another order.* Row i must be the same item in all tables: join them by a key first.
# - *Tables of other items.* Two tables with the same columns and different rows are one table. For the
#   same items at several times, see :doc:`plot_16_over_time`.

plt.show()
