"""
Keep distances: a map from a matrix with gaps
=============================================

Sometimes there are no columns, only distances: journey times between places, dissimilarities that
people judged, genetic distances. :class:`~skmde.PreserveDistances` draws a map whose distances are
as near as can be to those of the matrix. The matrix may have gaps, and some of its entries may
count for more than others.
"""

# %%
# A matrix of journey times
# -------------------------
#
# The data are made by code: hours of travel between 25 cities, which grow with the distance and
# vary from journey to journey. Half of the pairs were never travelled. Each of the others is the
# mean of one to twenty journeys, so some are known well and some badly.

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist, squareform

CITIES = {  # latitude and longitude
    "Amsterdam": (52.4, 4.9), "Athens": (38.0, 23.7), "Barcelona": (41.4, 2.2),
    "Belgrade": (44.8, 20.5), "Berlin": (52.5, 13.4), "Bucharest": (44.4, 26.1),
    "Budapest": (47.5, 19.0), "Copenhagen": (55.7, 12.6), "Hamburg": (53.6, 10.0),
    "Kyiv": (50.5, 30.5), "Lisbon": (38.7, -9.1), "London": (51.5, -0.1), "Madrid": (40.4, -3.7),
    "Milan": (45.5, 9.2), "Munich": (48.1, 11.6), "Naples": (40.9, 14.3), "Oslo": (59.9, 10.8),
    "Paris": (48.9, 2.4), "Prague": (50.1, 14.4), "Rome": (41.9, 12.5), "Sofia": (42.7, 23.3),
    "Stockholm": (59.3, 18.1), "Vienna": (48.2, 16.4), "Warsaw": (52.2, 21.0),
    "Zurich": (47.4, 8.5),
}  # fmt: skip
names = list(CITIES)
latitude, longitude = np.radians(list(CITIES.values())).T
where = np.column_stack([longitude * np.cos(np.radians(48)), latitude])  # flat enough for Europe
kilometres = 6371 * pdist(where)

rng = np.random.default_rng(0)
n_journeys = rng.choice([1, 2, 20], len(kilometres))
speed = 100.0  # kilometres an hour
hours = kilometres / speed * rng.lognormal(0.0, 0.25 / np.sqrt(n_journeys))
travelled = rng.random(len(kilometres)) < 0.5

D = squareform(np.where(travelled, hours, np.inf))
weights = squareform(np.where(travelled, n_journeys, 0))
print(f"{len(names)} cities, {travelled.sum()} of {len(travelled)} pairs known")
row = [names.index(name) for name in ("Amsterdam", "Athens", "Barcelona", "Belgrade", "Berlin")]
print(D[np.ix_(row, row)].round(1))

# %%
# The map
# -------
#
# With ``metric="precomputed"``, X is the matrix. A gap is infinite in a dense matrix (``np.inf``,
# not NaN, which is refused), and is not stored in a sparse one. For a matrix with NaN, write
# ``np.where(np.isnan(D), np.inf, D)``, or ``D.fillna(np.inf)`` of a data frame. The squared loss suits errors like
# these. The default, "absolute", is better where a few entries are grossly wrong.

from skmde import PreserveDistances, complete_distances

options = {"loss": "squared", "metric": "precomputed", "random_state": 0}
plain = PreserveDistances(**options).fit(D)
print(f"stress of the known pairs: {plain.stress_:.3f}")

# %%
# Fill the gaps first
# -------------------
#
# With so many gaps the solver can end in a local minimum, where a city is on the wrong side of the
# others. :func:`~skmde.complete_distances` estimates the missing entries, by an embedding in more
# dimensions, where items can pass each other. The map of the completed matrix is a good start for
# another one, which keeps the known pairs alone. The stress of the known pairs shows the gain.

completed = complete_distances(D, random_state=0)
filled = PreserveDistances(**options).fit(completed)
restarted = PreserveDistances(init=filled.embedding_, **options).fit(D)
print(f"stress of the known pairs, from the better start: {restarted.stress_:.3f}")

# %%
# ``n_init=10`` is another way: it solves the problem from ten starts and keeps the best. On these
# data both find the same map.
#
# Weights
# -------
#
# ``pair_weights`` says how much a pair counts. The mean of twenty journeys has a twentieth of the
# variance of one journey, so the number of journeys is the right weight. A pair of weight 0 is
# left out, which is another way to write a gap.

weighted = PreserveDistances(init=filled.embedding_, **options).fit(D, pair_weights=weights)

finite = np.where(np.isinf(D), 0.0, D)  # any number will do where the weight is 0
by_zeros = PreserveDistances(init=filled.embedding_, **options).fit(finite, pair_weights=weights)
same = np.allclose(by_zeros.embedding_, weighted.embedding_, atol=1e-3)
print("weights of 0 and infinite distances give the same map:", same)

# %%
# Compare with the truth
# ----------------------
#
# A map from distances has no north: turned and mirrored maps are equally good.
# :func:`~skmde.metrics.align` lays one over another. Here we know where the cities are, so we can
# also measure how far off the pairs are that nobody travelled.

from skmde.metrics import align, normalized_stress

truth = where * 6371 / speed  # in hours
missing = ~travelled
maps = {"gaps left out": plain, "better start": restarted, "weighted": weighted}
aligned = {}
for title, fitted in maps.items():
    X = align(fitted.embedding_, truth)
    error = np.linalg.norm(X - truth, axis=1).mean()
    unseen = normalized_stress(pdist(truth)[missing], pdist(X)[missing])
    print(
        f"{title:13} mean error {error:.1f} hours, stress of the pairs not travelled {unseen:.3f}"
    )
    aligned[f"{title}: off by {error:.1f} hours"] = X

# %%
# The picture has the first and the last of them, without a start and weights, and with both.

from skmde.plotting import EmbeddingDisplay, ShepardDisplay

figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
first, *_, last = aligned
options = {"names": names, "annotate": range(len(names)), "view": "all"}
for ax, title in zip(axes, (first, last), strict=True):
    ax.set_title(title)
    EmbeddingDisplay.from_embedding(aligned[title], ax=ax, **options)
    ax.plot(*np.stack([truth, aligned[title]]).transpose(2, 0, 1), color="silver", zorder=0.5)

# %%
# How to read it
# --------------
#
# The blue points are the cities on the map; the grey lines lead to where they should be. One unit
# of the map is an hour. In the first panel Athens is on the wrong side of the others: this is a
# local minimum, and the better start ends elsewhere.
#
# ``stress_`` is the relative error of the known distances. With few known pairs it can be small
# for a wrong map as well: in the plane each city needs at least three known distances, and more if
# they are noisy.
#
# The Shepard diagram shows every pair. In a perfect map all of them lie on the dashed line. Those
# far off it are the entries to doubt.

figure, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
ShepardDisplay.from_estimator(weighted, ax=ax)

drawn = pdist(weighted.embedding_)[travelled]
pairs = np.argwhere(np.triu(np.isfinite(D), 1))
for k in np.argsort(-np.abs(drawn - weighted.distances_))[:3]:
    start, end = (names[city] for city in pairs[k])
    journeys = n_journeys[travelled][k]
    print(f"{start} to {end}: {weighted.distances_[k]:.1f} hours by {journeys} journeys, "
          f"{drawn[k]:.1f} on the map")  # fmt: skip

# %%
# Which items fit badly? ``distortions`` has the losses of the pairs. With the squared loss and
# weights of 1, the root of an item's average is its root mean square error, in hours here. The
# reports of :mod:`skmde.metrics` need a matrix without gaps.

per_city = np.sqrt(restarted.distortions().by_item())
for city in np.argsort(-per_city)[:3]:
    print(f"{names[city]}: off by {per_city[city]:.1f} hours on average over its known pairs")

# %%
# What can go wrong
# -----------------
#
# - **NaN or -1 for a gap.** NaN is refused with an error. So is a negative number. A zero is a
#   distance of zero: it pulls two items together.
# - **Similarities instead of distances.** Large must mean far. For similarities, use
#   ``PreserveNeighbors(metric="affinity")``.
# - **Two halves that differ.** The way there takes longer than the way back. The average is taken,
#   with a warning. If only one of the two is known, it counts alone. Weights are averaged, too.
# - **Groups without a known distance between them.** Each group is laid out by itself, and they
#   are put side by side. ``n_unreachable_`` counts the pairs that were left out, so look for
#   groups with ``scipy.sparse.csgraph.connected_components`` if it is large.
# - **Ranks or grades instead of distances.** ``monotone=True`` keeps their order alone.
#
# :doc:`/preserve_distances` has all losses, starts and weights, and :ref:`the page on fixed points
# <sphx_glr_gallery_tasks_plot_07_fixed_points.py>` puts some cities where they are.
plt.show()
