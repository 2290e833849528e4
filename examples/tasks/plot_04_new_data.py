"""
Place new data and find outliers
================================

A fitted map is a model: new rows get places in it, and the old ones stay where they are. Use it to
show this week's data on last month's map, to embed a sample and place millions of other rows, or
to find rows that are unlike everything seen so far.
"""

# %%
# A map of digits without the fours
# ---------------------------------
#
# We fit a map to 1000 handwritten digits, none of them a four. New data come in three kinds:
# digits that the map knows, fours, and images that are no digits at all: the pixels of digits in
# random order. The digits are shuffled first, because those of one writer follow each other.

import copy

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skmde import PreserveNeighbors

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
known = rng.permutation(np.flatnonzero(y != 4))
old, held_out = known[:1000], known[1000:]
fours = np.flatnonzero(y == 4)

new = {
    "known digits": X[held_out],
    "fours": X[fours],
    "mixed pixels": rng.permuted(X[held_out[:100]], axis=1),
}

estimator = PreserveNeighbors(random_state=0).fit(X[old])
before = estimator.embedding_.copy()

# %%
# Place new rows
# --------------
#
# ``transform`` puts each row where its own average distortion is least. Rows do not influence each
# other: a row has the same place alone or among a million others. New digits land among their
# like:

from sklearn.neighbors import KNeighborsClassifier

places = {kind: estimator.transform(rows) for kind, rows in new.items()}
by_place = KNeighborsClassifier(10).fit(estimator.embedding_, y[old])
accuracy = by_place.score(places["known digits"], y[held_out])
print(f"new digits whose 10 nearest on the map are mostly of their class: {accuracy:.1%}")

alone = estimator.transform(new["known digits"][:1])
print("one row alone has the same place:", np.array_equal(alone, places["known digits"][:1]))

# %%
# Every row gets a place, mixed pixels too. The picture alone does not tell which places mean
# something.

from skmde.plotting import EmbeddingDisplay

figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
EmbeddingDisplay.from_estimator(estimator, y[old], labels="map", ax=axes[0])
axes[0].set_title("1000 digits, no fours")
axes[1].scatter(*before.T, s=6, color="silver", label="old")
for kind, at in places.items():
    axes[1].scatter(*at.T, s=9, label=kind)
axes[1].set(title="new rows", aspect="equal", xticks=[], yticks=[])
axes[1].set(xlim=axes[0].get_xlim(), ylim=axes[0].get_ylim())
axes[1].spines[:].set_color("lightgrey")
_ = axes[1].legend(loc="upper left", markerscale=2, frameon=False)

# %%
# Find outliers
# -------------
#
# ``score_samples`` measures how well the training data support a row: about 1 if the row is as
# near to training rows as these are to each other, and towards 0 if it is far from all of them.
# ``is_supported`` compares this with a threshold, below which a share ``contamination`` of the
# training rows would fall. ``predict_support`` says the same with 1 and -1, as scikit-learn's
# outlier detectors do.

contamination = 0.05
support = {kind: estimator.score_samples(rows) for kind, rows in new.items()}
for kind, rows in new.items():
    outliers = ~estimator.is_supported(rows, contamination=contamination)
    print(
        f"{kind:13} median support {np.median(support[kind]):.2f}, outliers {outliers.mean():.0%}"
    )

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
bins = np.linspace(0.3, 1.1, 41)
for kind, values in support.items():
    ax.hist(values, bins, density=True, alpha=0.6, label=kind)
ax.set(
    xlabel="support (score_samples)", ylabel="density", title="Which rows the map has a place for"
)
_ = ax.legend(frameon=False)

# %%
# How to read it
# --------------
#
# Of the known digits, about 5% are called outliers, as asked for. Nearly all images that are no
# digits are outliers. Most fours are outliers too; the others look much like a known digit.
# Support is measured in the data, not on the map, so it does not depend on how the picture came
# out.
#
# Outliers among the training rows themselves are those of lowest support if each is scored without
# itself. A simple way is two halves: fit to one, and score the other.

# %%
# Extend the map
# --------------
#
# ``transform`` has no region for fours, and puts them between the others. ``extend`` adds rows to
# the map. They also attract each other, so a new group gets a region of its own. The old rows stay
# where they are, to the last bit.

extended = copy.deepcopy(estimator).extend(X[fours])
print("old rows have not moved:", np.array_equal(extended.embedding_[:1000], before))


def purity(points):
    """Share of the 10 nearest others of a four that are fours."""
    everything = np.vstack([before, points])
    search = KNeighborsClassifier(11).fit(everything, np.arange(len(everything)) >= 1000)
    nearest = search.kneighbors(points, return_distance=False)[:, 1:]
    return np.mean(nearest >= 1000)


print(
    f"nearest others of a four that are fours: {purity(places['fours']):.0%} by transform, ", end=""
)
print(f"{purity(extended.embedding_[1000:]):.0%} by extend")

labels = np.concatenate([y[old], y[fours]])
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
by_transform = np.vstack([before, places["fours"]])
EmbeddingDisplay.from_embedding(by_transform, labels, labels="map", ax=axes[0])
EmbeddingDisplay.from_estimator(extended, labels, labels="map", ax=axes[1])
axes[0].set_title("fours placed by transform")
_ = axes[1].set_title("fours added by extend")

# %%
# A map that grows month by month
# -------------------------------
#
# Call ``extend`` once for each batch. The rows of all batches are in ``embedding_``, in the order
# in which they came. A pipeline has no method ``extend`` or ``is_supported``: its last step has,
# and the steps before it prepare the rows.

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

months = np.array_split(rng.permutation(len(X))[:900], 3)
pipeline = make_pipeline(MinMaxScaler(), PreserveNeighbors(random_state=0)).fit(X[months[0]])
prepare, growing = pipeline[:-1], pipeline[-1]
first = growing.embedding_.copy()
for month in months[1:]:
    rows = prepare.transform(X[month])
    strange = ~growing.is_supported(rows, contamination=0.05)
    growing.extend(rows)
    print(f"{len(growing.embedding_)} rows; {strange.mean():.0%} of the new ones were outliers")
print("the first month has not moved:", np.array_equal(growing.embedding_[:300], first))

# %%
# What can go wrong
# -----------------
#
# - **Different preparation.** New rows must be scaled as the old ones were. Put the scaler and the
#   estimator into one pipeline, as on :ref:`the page on tables
#   <sphx_glr_gallery_tasks_plot_01_table.py>`.
# - **A threshold is no test.** The share of outliers is ``contamination`` only for rows from the
#   distribution of the training data. Outliers that lie within the known groups are not found.
# - **Most rows are new.** Old rows decide where new ones may go. Fit again when the new ones are
#   the majority.
# - **The map drifts out of use.** Watch the share of outliers in each batch; if it rises, the old
#   map no longer describes the data.
#
# :doc:`/judging` has more on support, :doc:`/user_guide` on growing maps, and :doc:`/large` on
# maps of a sample.
plt.show()
