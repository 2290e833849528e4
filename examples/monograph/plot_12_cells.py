"""
Single cells in space
=====================

Redoes figures 12.1 to 12.8 of the monograph (chapter 12). The items are blood cells, described by
50 principal components of their gene expression, and the embedding has three components. The type
of a cell and the health of its donor are held out.

The monograph's file of 44,721 cells is not public under a stable name, so the cells are made by
code: counts of 600 genes in 1200 cells of eight types, from healthy and from ill donors, whose
monocytes differ most.
"""

import importlib.util

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from skmde import Log1p, PreserveNeighbors
from skmde.metrics import align, distortion_by_group, knn_accuracy
from skmde.plotting import EmbeddingDisplay

N_CELLS = 1200

# %%
# Cells
# -----
#
# Types that share an ancestor share marker genes, and a fifth of the cells is on the way from one
# to another of them. Illness shifts the expression of 40 genes, by an amount that depends on the
# type. Counts are Poisson numbers with the total of each cell. The preparation is the usual one:
# scale to equal totals, take logarithms, and keep 50 principal components.

TYPES = {  # ancestor, share of the cells, effect of illness
    "CD4 T": ("T", 0.22, 0.4),
    "CD8 T": ("T", 0.15, 0.6),
    "NK": ("T", 0.11, 0.6),
    "B": ("B", 0.12, 0.3),
    "plasma": ("B", 0.05, 0.3),
    "monocyte": ("M", 0.21, 1.6),
    "dendritic": ("M", 0.06, 0.8),
    "platelet": ("P", 0.08, 0.3),
}


def made_cells(n, n_genes=600, seed=0):
    rng = np.random.default_rng(seed)
    names = np.array(list(TYPES))
    ancestor = {a: rng.normal(size=n_genes) * (rng.random(n_genes) < 0.15) for a in "TBMP"}
    own = {t: rng.normal(size=n_genes) * (rng.random(n_genes) < 0.12) for t in names}
    illness = rng.normal(size=n_genes) * (rng.random(n_genes) < 40 / n_genes)
    which = rng.choice(names, size=n, p=[share for _, share, _ in TYPES.values()])
    ill = rng.random(n) < 0.6
    base = rng.normal(size=n_genes) * 1.2
    mixed = rng.random(n) < 0.2  # cells on the way to another type of their ancestor
    log_rate = np.empty((n, n_genes))
    for k, kind in enumerate(which):
        a, _, effect = TYPES[kind]
        kin = rng.choice([t for t in names if TYPES[t][0] == a])
        share = rng.uniform(0.1, 0.6) if mixed[k] else 0.0
        mark = (1 - share) * own[kind] + share * own[kin]
        log_rate[k] = base + ancestor[a] + 0.9 * mark + effect * illness * ill[k]
    rate = np.exp(log_rate + 0.15 * rng.normal(size=log_rate.shape))
    total = rng.lognormal(np.log(900), 0.4, size=n)
    counts = rng.poisson(rate / rate.sum(axis=1, keepdims=True) * total[:, None])
    return counts, which, np.where(ill, "ill donor", "healthy donor")


counts, kind, health = made_cells(N_CELLS)
logs = np.log1p(counts / counts.sum(axis=1, keepdims=True) * 900)
X = PCA(min(50, len(logs) - 1), random_state=0).fit_transform(logs)
print(f"{counts.shape[0]} cells, {counts.shape[1]} genes, {(counts == 0).mean():.0%} zeros")

# %%
# Two embeddings
# --------------
#
# The first is quadratic, of the pairs of 15 nearest neighbours (figure 12.2). The second starts
# there. It adds as many dissimilar pairs, and is standardized, with the penalties of the
# :doc:`images <plot_08_images_repulsion>` (figure 12.3).

quadratic = PreserveNeighbors(
    3, n_neighbors=15, attractive_penalty="quadratic", repulsive_penalty=None, random_state=0
).fit(X)
model = PreserveNeighbors(
    3,
    n_neighbors=15,
    attractive_penalty=Log1p(1.5),
    repulsive_penalty="log",
    repulsion="sampled",
    repulsive_fraction=1.0,
    constraint="standardized",
    init=quadratic.embedding_,
    random_state=0,
    max_iter=600,
    tol=1e-4,
).fit(X)
Y = model.embedding_


def in_space(panels):
    """Panels of three axes."""
    figure = plt.figure(figsize=(5.2 * len(panels), 4.6), layout="constrained")
    for k, (title, (Z, color, options)) in enumerate(panels.items(), start=1):
        ax = figure.add_subplot(1, len(panels), k, projection="3d")
        EmbeddingDisplay.from_embedding(Z, color, ax=ax, **options)
        ax.set_title(title)
    plt.show()


in_space(
    {
        "Similar pairs only": (quadratic.embedding_, kind, {"labels": "none"}),
        "Similar and dissimilar pairs": (Y, kind, {"labels": "legend"}),
    }
)
for name, one in {"quadratic": quadratic, "standardized": model}.items():
    accuracy = knn_accuracy(one.embedding_, kind)
    print(f"{name:13} distortion {one.distortion_:.3f}, type from 10 neighbours {accuracy:.3f}")

# %%
# The monograph finds that similar cells are near each other. So they are here. The quadratic
# embedding draws groups of types as single spots; with dissimilar pairs their cells can be told
# apart.

# %%
# Health of the donors
# --------------------
#
# The monograph finds that cells of healthy donors are nearer to each other than to those of ill
# donors, and the reverse (figure 12.4). It compares the average distortions of similar pairs: 0.19
# between cells of healthy donors, 0.18 between those of ill ones, 0.21 between the two. We do the
# same.

distortions = model.distortions()
attract = distortions.weights > 0
pairs, values = distortions.pairs[attract], distortions.values[attract]
by_health = distortion_by_group(values, pairs, health)
print("average distortion of similar pairs")
print(f"  within healthy {by_health.mean[0, 0]:.3f}, within ill {by_health.mean[1, 1]:.3f}")
print(f"  between the two {by_health.mean[0, 1]:.3f}")

in_space(
    {
        "By health of the donor": (Y, health, {"palette": ["#0072B2", "#D55E00"]}),
        "A tenth of the similar pairs": (
            Y,
            kind,
            {
                "labels": "none",
                "edges": pairs,
                "show_edges": "sample",
                "max_edges": len(pairs) // 10,
            },
        ),
    }
)

# %%
# Cells of healthy and ill donors part most where the type reacts most, in the monocytes. The lines
# on the right (figure 12.5) join cells that are neighbours in the data. Nearly all of them are
# short.

# %%
# Pairs that are kept badly
# -------------------------
#
# Figure 12.1 is the distribution of the distortions. Figure 12.6 draws the pairs with the largest
# ones. The monograph finds that most of them join two types.

worst = pairs[np.argsort(-values)[: min(1000, len(pairs) // 50)]]
two = (kind[worst[:, 0]] != kind[worst[:, 1]]).mean()
overall = (kind[pairs[:, 0]] != kind[pairs[:, 1]]).mean()

figure = plt.figure(figsize=(10.5, 4.5), layout="constrained")
ax = figure.add_subplot(1, 2, 1)
ax.plot(np.sort(values), np.linspace(0, 1, len(values)), lw=2, color="#0072B2")
ax.set(xlabel="distortion of a similar pair", ylabel="share of the pairs")
ax.spines[["top", "right"]].set_visible(False)
ax = figure.add_subplot(1, 2, 2, projection="3d")
EmbeddingDisplay.from_embedding(Y, kind, edges=worst, show_edges="all", labels="none", ax=ax)
ax.set_title(f"The {len(worst)} most distorted pairs")
plt.show()
print(f"two types: {overall:.1%} of all similar pairs, {two:.1%} of the worst {len(worst)}")

# %%
# Beside other methods
# --------------------
#
# The monograph shows UMAP and t-SNE of the same cells (figures 12.7 and 12.8), in space as well.
# Here they are in the plane, where they are mostly used, beside PCA and the default of
# :class:`~skmde.PreserveNeighbors`.

flat = {
    "PCA": X[:, :2],
    "t-SNE": TSNE(init="pca", max_iter=500, random_state=0).fit_transform(X),
    "skmde, default": PreserveNeighbors(random_state=0).fit_transform(X),
}
if importlib.util.find_spec("umap"):
    import umap

    flat["UMAP"] = umap.UMAP(random_state=0, n_jobs=1).fit_transform(X)
else:
    print("UMAP is left out: umap-learn is not installed.")
figure = plt.figure(figsize=(10.6, 1.1 * 10.6 / len(flat)), layout="constrained")
axes = figure.subplots(1, len(flat), subplot_kw={"xticks": [], "yticks": []})
for ax, (name, Z) in zip(axes, flat.items(), strict=True):
    Z = align(Z, flat["skmde, default"], scaling=True)
    ax.set_title(f"{name}\ntype from 10 neighbours {knn_accuracy(Z, kind):.3f}", fontsize=9)
    EmbeddingDisplay.from_embedding(Z, kind, labels="map", ax=ax)
plt.show()
