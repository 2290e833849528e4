"""
From the map back to the data, and maps as functions
====================================================

Two wishes: what would a row look like that lies *here* on the map? And can a map be a function,
such as a neural network, that places rows without the training data? skmde has no inverse
transform and no parametric map as estimators. This page makes the first by a regressor of
scikit-learn, and the second by a network of torch that minimises the average distortion, and
measures what they are worth.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmde import MDE, Cauchy, Log1p, PreserveNeighbors
from skmde.preprocessing import edges_from_graph

# %%
# A map of handwritten digits; a part of the digits is held out.

n_train = 1000
images, classes = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(images, classes, train_size=n_train, random_state=0)
estimator = PreserveNeighbors(random_state=0).fit(X)
places, places_new = estimator.embedding_, estimator.transform(X_new)

# %%
# From the map to the data
# ------------------------
# The regressor learns images from places. The mean of the nearest images is a good one: it needs no
# training, and each prediction is a mean of real rows. To measure it, place images that the map
# has not seen, and compare what comes back with them. R² is the share of the variance that comes
# back; two principal components give the figure to compare with.

inverse = KNeighborsRegressor(10, weights="distance").fit(places, X)


def share_back(predicted):
    """Share of the variance of the held-out images that comes back."""
    return 1 - np.sum((X_new - predicted) ** 2) / np.sum((X_new - X.mean(axis=0)) ** 2)


pca = PCA(2).fit(X)
back = {
    "map": share_back(inverse.predict(places_new)),
    "PCA": share_back(pca.inverse_transform(pca.transform(X_new))),
}
print({name: round(share, 2) for name, share in back.items()})

# %%
# A walk over the map shows what its directions are about. Here it leads from the middle of one
# class to that of another. Where the walk crosses empty space, the image is a mixture that no row
# is like: the distance to the nearest place says so.

start, end = (places[y == digit].mean(axis=0) for digit in (0, 6))
walk = np.linspace(start, end, 12)
pictures = inverse.predict(walk).reshape(-1, 8, 8)
gaps = NearestNeighbors(n_neighbors=1).fit(places).kneighbors(walk)[0].ravel()

figure = plt.figure(figsize=(10.8, 5.4), layout="constrained")
panels = figure.add_gridspec(3, 12)
ax = figure.add_subplot(panels[:2, 3:9])
ax.scatter(*places.T, c=y, s=6, cmap="tab10")
ax.plot(*walk.T, "ko-", markersize=4)
ax.set(title="a walk over the map", aspect="equal", xticks=[], yticks=[])
for k, (picture, gap) in enumerate(zip(pictures, gaps, strict=True)):
    ax = figure.add_subplot(panels[2, k])
    ax.imshow(picture, cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"{gap:.1f}", fontsize=9)

# %%
# The numbers are distances to the nearest place. Believe images whose distance is about that
# of neighbours on the map.
#
# From the data to the map
# ------------------------
# ``transform`` searches the training rows. A function needs none, and can be given away without
# them. There are two ways to one. The first learns the places of the map, as any regressor would.
# (The targets are scaled, since the loss of a network expects numbers of about 1.)

regressors = {
    "mean of 10 neighbours": KNeighborsRegressor(10),
    "network, by places": TransformedTargetRegressor(
        make_pipeline(
            StandardScaler(), MLPRegressor(hidden_layer_sizes=128, max_iter=200, random_state=0)
        ),
        transformer=StandardScaler(),
    ),
}
placed = {"transform": (places, places_new)}
for name, regressor in regressors.items():
    placed[name] = places, regressor.fit(X, places).predict(X_new)

# %%
# The second learns no places. :class:`~skmde.MDE` is the problem that the estimator has solved, and
# its average distortion can be differentiated by torch. So a network can minimise it: the
# coordinates are not free, but are the network's output. This is what parametric UMAP does.

pairs, weights = edges_from_graph(estimator.graph_)
problem = MDE(len(X), 2, pairs, (Log1p(2.0), Cauchy()), weights=weights, repulsion="all")

n_steps = 400
with torch.random.fork_rng():
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2)
    )
rows, rows_new = (torch.tensor(part / 16, dtype=torch.float32) for part in (X, X_new))
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(n_steps):
    optimizer.zero_grad()
    distortion = problem.average_distortion(network(rows))
    distortion.backward()
    optimizer.step()
print(f"average distortion: network {distortion.item():.2f}, map {estimator.distortion_:.2f}")
with torch.no_grad():
    placed["network, by distortion"] = network(rows).numpy(), network(rows_new).numpy()

# %%
# Two figures for the held-out digits: the share of their 15 nearest training images that are nearest
# on the map, and the share whose class is that of the 10 nearest.

in_data = NearestNeighbors(n_neighbors=15).fit(X).kneighbors(X_new, return_distance=False)
recall, accuracy = {}, {}
for name, (old, new) in placed.items():
    on_map = NearestNeighbors(n_neighbors=15).fit(old).kneighbors(new, return_distance=False)
    recall[name] = np.mean([np.isin(a, b).mean() for a, b in zip(in_data, on_map, strict=True)])
    accuracy[name] = KNeighborsClassifier(10).fit(old, y).score(new, y_new)
    print(f"{name:22} recall {recall[name]:.2f}, classes {accuracy[name]:.3f}")

figure, axes = plt.subplots(1, 4, figsize=(10.8, 3.1), layout="constrained")
for ax, (name, (old, new)) in zip(axes, placed.items(), strict=True):
    ax.scatter(*old.T, s=4, color="lightgrey")
    ax.scatter(*new.T, c=y_new, s=7, cmap="tab10")
    ax.set(title=f"{name}: recall {recall[name]:.2f}", aspect="equal", xticks=[], yticks=[])

# %%
# ``transform`` is best: it minimises the average distortion of each row. Of the two networks, the
# one that minimises the distortion of all rows keeps more neighbours, and tells the classes as well
# as the other. A network that learns places is smooth, so it draws lines across the gaps of a map
# that was made without it.
#
# Which one
# ---------
# - **Place new rows**: ``transform``. It is fast: the page on :doc:`large data </large>` has figures.
# - **Give a map away without its data**, or run it where there is no Python: a network that
#   minimises the distortion. For many rows, draw batches of pairs and repel within each batch.
# - **Principal components** have an exact inverse, and places that are linear in the data. With ten
#   components PCA brings back more of the digits than any map does.
#
# What can go wrong
# -----------------
# - *The mean of unlike rows.* Between two groups the mean of ten neighbours mixes them. Fewer neighbours
#   give sharper images and a lower R².
# - *Points outside the map.* The regressor returns the nearest border. Look at the distances.
# - *Judged on the training rows* any network is good. Hold rows out.

plt.show()
