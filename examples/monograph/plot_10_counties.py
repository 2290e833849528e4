"""
Counties and an election
========================

Redoes figures 10.1 to 10.7 of the monograph (chapter 10): counties described by features such as
income, age and work, embedded in the plane. The share of votes for one party is held out: it only
colours the maps, and shows whether they make sense.

By default the country is made up: 1200 counties with 34 features that follow from how urban, how
wealthy and how northern a county is. If the environment variable ``SKMDE_DATA`` names a folder with
``counties3220.npz``, the counties are those of the United States, with the features of table 10.1
from the American Community Survey, and the election is that of 2016.
"""

import importlib.util
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsRegressor

from skmde import Log, Log1p, PreserveNeighbors
from skmde.metrics import align, knn_r2
from skmde.plotting import EmbeddingDisplay

FILE = Path(os.environ.get("SKMDE_DATA", ""), "counties3220.npz")
N_COUNTIES = 1200


# %%
# The data
# --------
#
# Each feature of the made-up country is a curve of three causes, plus noise. The vote follows from
# the same causes in another way, and is not among the features.


def made_country(n, seed=0):
    """Features, votes and places of counties; towns are urban, the countryside is not."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(0, 2 * np.pi, 4 * n), np.sqrt(rng.random(4 * n))
    place = np.column_stack([1.6 * radius * np.cos(angle), radius * np.sin(angle)])
    coast = 1 + 0.12 * np.sin(3 * angle + 1) + 0.06 * np.sin(7 * angle)
    place = (place * coast[:, None])[:n]
    towns = rng.uniform([-1.2, -0.7], [1.2, 0.7], size=(14, 2))
    sizes = rng.pareto(1.2, size=14) + 0.5
    near = np.linalg.norm(place[:, None] - towns, axis=2)
    urban = np.log((sizes * np.exp(-near / 0.09)).sum(axis=1) + 0.02) + 0.25 * rng.normal(size=n)
    urban = (urban - urban.mean()) / urban.std()
    wealth = 0.45 * urban + np.sin(2 * place[:, 0]) + 0.5 * rng.normal(size=n)
    north = place[:, 1] / 0.45 + 0.2 * rng.normal(size=n)
    causes = np.column_stack([urban, wealth / wealth.std(), north])
    loads = rng.normal(size=(34, 3)) * rng.choice([0.3, 1, 2], size=(34, 3))
    bends = rng.normal(size=(34, 3)) * 0.8
    X = np.tanh((causes @ loads.T + bends[:, 0]) / 2) + 0.35 * np.maximum(causes @ bends.T, 0)
    X += 0.3 * rng.normal(size=X.shape)
    lean = 1.1 * urban - 0.5 * causes[:, 1] + 0.6 * np.abs(north) - 0.9
    return X, 1 / (1 + np.exp(-lean - 0.35 * rng.normal(size=n))), place


if os.environ.get("SKMDE_DATA") and FILE.exists():
    with np.load(FILE, allow_pickle=False) as data:
        X, share, names = data["X"].copy(), data["democratic_share"], data["name"]
        column = {str(name): k for k, name in enumerate(data["columns"])}
    for name in ("Men", "Women", "Employed"):  # counts become shares
        X[:, column[name]] /= X[:, column["TotalPop"]]
    for name in ("TotalPop", "VotingAgeCitizen"):
        X[:, column[name]] = np.log(X[:, column[name]])
    for name in ("Income", "IncomeErr", "IncomePerCap", "IncomePerCapErr"):
        X[:, column[name]] = np.log(X[:, column[name]])
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    place = None
else:
    X, share, place = made_country(N_COUNTIES)
    names = np.array([f"county {k}" for k in range(len(X))])
X = (X - X.mean(axis=0)) / X.std(axis=0)
known = ~np.isnan(share)
print(f"{len(X)} counties, {X.shape[1]} features")

# %%
# PCA and MDE
# -----------
#
# The monograph takes the 15 nearest neighbours of each county, and as many dissimilar pairs, drawn
# at random. The attraction is :math:`\log(1 + d^2)`, the repulsion the logarithmic penalty with
# exponent 0.5, and the embedding is centred. It finds that PCA shows some of the vote (figure 10.1)
# and MDE separates the regions better (figure 10.2).

model = PreserveNeighbors(
    n_neighbors=15,
    attractive_penalty=Log1p(2.0),
    repulsive_penalty=Log(0.5),
    repulsion="sampled",
    max_iter=1000,
    random_state=0,
).fit(X)
Y = model.embedding_
similar = int((model.weights_ > 0).sum())
print(f"{similar} similar pairs, average distortion {model.distortion_:.3f}")


def page(maps, **options):
    """Maps side by side, each with the R2 of the share from 10 neighbours in the map."""
    width = min(5.2, 10.6 / len(maps))  # of one map; wider figures would be shrunk on the page
    size = (width * len(maps), 0.9 * width)
    figure = plt.figure(figsize=size, layout="constrained")
    ticks = {"xticks": [], "yticks": []}  # frames of one shape
    axes = figure.subplots(1, len(maps), squeeze=False, subplot_kw=ticks)
    for ax, (name, Z) in zip(axes.flat, maps.items(), strict=True):
        last = ax is axes.flat[-1]
        r2 = knn_r2(Z[known], share[known])
        ax.set_title(f"{name}, R2 of the share {r2:.2f}")
        EmbeddingDisplay.from_embedding(
            Z,
            share,
            color_as="number",
            color_name="share of the vote",
            cmap="RdBu",
            labels="legend" if last else "none",
            marker_size=8,
            ax=ax,
            **options,
        )
    plt.show()


page({"PCA": align(PCA(2).fit_transform(X), Y, scaling=True), "MDE": Y})

# %%
# R2 says how well the share follows from the 10 neighbours in the map. On the counties of the
# United States it is 0.43 for PCA and 0.56 for MDE
# (``benchmarks/results/monograph_counties.json``).

# %%
# A closer look
# -------------
#
# Figures 10.3 and 10.4 name counties where the map is most democratic and most republican. We find
# these places by averages over 30 neighbours in the map.

smooth = KNeighborsRegressor(30).fit(Y[known], share[known]).predict(Y)
figure, axes = plt.subplots(1, 2, figsize=(10.5, 5), layout="constrained")
for ax, best, title in zip(
    axes, (smooth.argmax(), smooth.argmin()), ("Largest shares", "Smallest shares"), strict=True
):
    close = np.argsort(np.linalg.norm(Y - Y[best], axis=1))[:60]
    low, high = Y[close].min(axis=0), Y[close].max(axis=0)
    reach = 0.55 * (high - low).max()
    shown = [str(name).split(",")[0].removesuffix(" County") for name in names]
    EmbeddingDisplay.from_embedding(
        Y,
        share,
        color_as="number",
        cmap="RdBu",
        names=shown,
        annotate=close[::5],
        labels="none",
        marker_size=28,
        ax=ax,
    )
    centre = (low + high) / 2
    ax.set(xlim=centre[0] + reach * np.array([-1, 1]), ylim=centre[1] + reach * np.array([-1, 1]))
    ax.set_title(f"{title}: {smooth[best]:.0%} on average")
plt.show()

# %%
# The country
# -----------
#
# Figures 10.5 and 10.6 colour the country by the two coordinates of the embedding, and by the vote.
# Here each spot has the colour of its nearest county. (The outlines of real counties are not part
# of the data: ``benchmarks/monograph.py counties --shapes`` draws them.)

if place is not None:
    grid = np.stack(np.meshgrid(np.linspace(-2, 2, 500), np.linspace(-1.3, 1.3, 325)), axis=2)
    spots = grid.reshape(-1, 2)
    distance, nearest = KNeighborsRegressor(1).fit(place, np.zeros(len(place))).kneighbors(spots)
    land = (distance[:, 0] < 0.11).reshape(grid.shape[:2])
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 2.9), layout="constrained")
    panels = {
        "First coordinate": (Y[:, 0], "viridis"),
        "Second coordinate": (Y[:, 1], "viridis"),
        "Share of the vote": (share, "RdBu"),
    }
    for ax, (title, (value, cmap)) in zip(axes, panels.items(), strict=True):
        picture = np.where(land, value[nearest[:, 0]].reshape(land.shape), np.nan)
        limits = np.quantile(value, [0.02, 0.98])
        ax.imshow(picture, origin="lower", cmap=cmap, vmin=limits[0], vmax=limits[1])
        ax.set_title(title)
        ax.set_axis_off()
    plt.show()

# %%
# Both coordinates change smoothly over the country, although the embedding was given no places:
# counties that lie side by side have similar features.

# %%
# Beside other methods
# --------------------
#
# The monograph finds that the maps of UMAP and t-SNE broadly resemble that of MDE and are a little
# more dispersed (figure 10.7). They are turned to lie as it does.

others = {"t-SNE": TSNE(init="pca", max_iter=500, random_state=0).fit_transform(X)}
if importlib.util.find_spec("umap"):
    import umap

    others["UMAP"] = umap.UMAP(random_state=0, n_jobs=1).fit_transform(X)
else:
    print("UMAP is left out: umap-learn is not installed.")
others["skmde, default"] = PreserveNeighbors(random_state=0).fit_transform(X)
page({name: align(Z, Y, scaling=True) for name, Z in others.items()})
