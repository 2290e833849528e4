r"""
Maps on a sphere, a circle, a torus
===================================

The plane has an edge, and no map without an edge fits into it: a map of the Earth is cut somewhere,
and 23:50 is far from 0:10 on a line. If the data go round, let the map go round.

===============================  ================================================================
data                             map
===============================  ================================================================
distances along the Earth        ``PreserveDistances`` on ``Sphere(radius, great_circle=True)``
directions                       ``PreserveNeighbors`` on ``Sphere(radius)``, three components
one angle, such as the hour      ``PreserveNeighbors`` on ``Sphere(radius)``, two components
two angles, say hour and season  ``PreserveNeighbors`` on a product of two circles: a torus
===============================  ================================================================

:class:`~skmde.Sphere` comes with skmde. The torus is a constraint of 20 lines that this page
writes. :doc:`/constraints` has the theory of both.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist
from scipy.stats import special_ortho_group
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import haversine_distances

from skmde import Constraint, PreserveDistances, PreserveNeighbors, Sphere
from skmde.constraints import check_constraint
from skmde.metrics import neighborhood_recall

rng = np.random.default_rng(0)

# %%
# Distances along the Earth
# -------------------------
# Distances between 24 cities, each with an error of about 10%. Half of them are missing, which
# infinity says.

cities = {
    "Anchorage": (61, -150),
    "Auckland": (-37, 175),
    "Beijing": (40, 116),
    "Bogota": (5, -74),
    "Cairo": (30, 31),
    "Cape Town": (-34, 18),
    "Dakar": (15, -18),
    "Delhi": (29, 77),
    "Honolulu": (21, -158),
    "Jakarta": (-6, 107),
    "Lagos": (7, 3),
    "Lima": (-12, -77),
    "London": (52, 0),
    "Los Angeles": (34, -118),
    "Mexico City": (19, -99),
    "Moscow": (56, 38),
    "Nairobi": (-1, 37),
    "New York": (41, -74),
    "Perth": (-32, 116),
    "Reykjavik": (64, -22),
    "Santiago": (-33, -71),
    "Sao Paulo": (-24, -47),
    "Sydney": (-34, 151),
    "Tokyo": (36, 140),
}
earth = 6371.0  # its radius in km
angles = np.radians(list(cities.values()))
true = earth * haversine_distances(angles)
pairs = np.triu_indices(len(cities), 1)

measured = np.zeros_like(true)
measured[pairs] = true[pairs] * np.exp(0.1 * rng.normal(size=len(pairs[0])))
measured[pairs] = np.where(rng.random(len(pairs[0])) < 0.5, np.inf, measured[pairs])
measured += measured.T


def arcs(Z):
    """Lengths of great circles between all pairs of rows, for the radius 1."""
    units = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    return np.arccos(np.clip(units @ units.T, -1, 1))[np.triu_indices(len(Z), 1)]


# %%
# With ``great_circle=True``, the loss compares the given distances with arcs. The radius has the
# unit of the distances.

settings = {"loss": "squared", "metric": "precomputed", "random_state": 0}
globe = Sphere(earth, great_circle=True)
on_globe = PreserveDistances(3, constraint=globe, **settings).fit(measured)
in_plane = PreserveDistances(2, **settings).fit(measured)
cities_found = {}
for name, fitted, lengths in (
    ("plane", in_plane, pdist(in_plane.embedding_)),
    ("globe", on_globe, earth * arcs(on_globe.embedding_)),
):
    error = np.median(np.abs(lengths - true[pairs]))
    cities_found[name] = np.corrcoef(lengths, true[pairs])[0, 1], error
    print(
        f"{name}: stress {fitted.stress_:.2f}, correlation with the true distances "
        f"{cities_found[name][0]:.3f}, median error {error:.0f} km"
    )

# %%
# Arcs know nothing of north, so the globe may be turned or mirrored. A rotation lays it over the true
# one for the picture. Lines lead from the true places to those that were found.


def to_longitude(Z):
    """Longitude and latitude of rows, in radians."""
    return np.arctan2(Z[:, 1], Z[:, 0]), np.arcsin(Z[:, 2] / np.linalg.norm(Z, axis=1))


latitude, longitude = angles.T
directions = np.stack(
    [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)],
    axis=1,
)
found = on_globe.embedding_ @ orthogonal_procrustes(on_globe.embedding_, directions)[0]

figure = plt.figure(figsize=(10.8, 3.9), layout="constrained")
panels = figure.add_gridspec(1, 2, width_ratios=[1, 1.7])
ax = figure.add_subplot(panels[0])
ax.scatter(*in_plane.embedding_.T, s=12)
for name, (x, y) in zip(cities, in_plane.embedding_, strict=True):
    ax.annotate(name, (x, y), (3, 2), textcoords="offset points", fontsize=7)
ax.margins(0.2, 0.08)  # room for the names
ax.set(aspect="equal", xticks=[], yticks=[])
ax.set_title("in the plane", fontsize=10)
ax = figure.add_subplot(panels[1], projection="mollweide")
for true_place, place in zip(
    zip(longitude, latitude, strict=True), zip(*to_longitude(found), strict=True), strict=True
):
    if abs(true_place[0] - place[0]) < np.pi:  # else the line would cross the whole picture
        ax.plot(*zip(true_place, place, strict=True), color="grey", linewidth=0.8)
ax.scatter(longitude, latitude, s=22, facecolors="none", edgecolors="black", label="true")
ax.scatter(*to_longitude(found), s=12, zorder=3, label="found")
for name, x, y in zip(cities, longitude, latitude, strict=True):
    ax.annotate(name, (x, y), (4, 3), textcoords="offset points", fontsize=7)
ax.set_title("on the globe", fontsize=10)
ax.set(xticklabels=[], yticklabels=[])
ax.grid(alpha=0.3)
_ = ax.legend(loc="lower right", fontsize=8)

# %%
# Rows that have a direction
# --------------------------
# A satellite has 30 light sensors, and nobody knows where they point. Each row has their readings
# for one direction of the sun. Directions are points of a sphere, so the rows lie on a bent sphere in
# 30 dimensions.

n_rows, n_new = 400, 200
sun, sensors = (rng.normal(size=(size, 3)) for size in (n_rows + n_new, 30))
sun, sensors = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (sun, sensors))
readings = np.maximum(sun @ sensors.T, 0) + 0.03 * rng.normal(size=(n_rows + n_new, 30))
X, X_new, sun, sun_new = *np.split(readings, [n_rows]), *np.split(sun, [n_rows])

# %%
# Penalties have lengths of their own, about 1, and all pairs repel, so the radius matters. On a small
# sphere repulsion crowds everything; on a large one the map has room to tear. The recall of neighbours
# needs no true directions, and says which radius to take. The plane, free space and three principal
# components are there to compare with.

maps = {
    "plane": PreserveNeighbors(random_state=0),
    "space": PreserveNeighbors(3, random_state=0),
    "PCA, 3": PCA(3),
}
for radius in (1.0, 2.0, 4.0, 8.0):
    sphere = Sphere(radius)
    maps[f"radius {radius:g}"] = PreserveNeighbors(3, constraint=sphere, random_state=0)

sun_found = {}
for name, estimator in maps.items():
    Z = estimator.fit_transform(X)
    lengths = arcs(Z) if "radius" in name else pdist(Z)
    correlation = np.corrcoef(lengths, arcs(sun))[0, 1]
    sun_found[name] = neighborhood_recall(X, Z), correlation
    print(f"{name:9} recall {sun_found[name][0]:.2f}, correlation with angles {correlation:.3f}")

# %%
# Three free components have room for a sphere, too. It is then an uneven one.
#
# ``transform`` places new rows on the sphere. If the direction of a few rows is known, a rotation
# turns the map into a sun compass.

off = {}
for name in ("radius 2", "PCA, 3"):
    turn = orthogonal_procrustes(maps[name].transform(X[:10]), sun[:10])[0]  # ten known directions
    placed = maps[name].transform(X_new) @ turn
    placed /= np.linalg.norm(placed, axis=1, keepdims=True)
    angle = np.arccos(np.clip((placed * sun_new).sum(axis=1), -1, 1))
    off[name] = np.median(np.degrees(angle))
    print(f"direction of new rows by {name}: off by {off[name]:.1f} degrees, in the median")

# %%
# Colours are the true directions: near directions have similar colours. The plane has to cut the
# sphere open. On the sphere of radius 8 the map is cut in the same way, and covers one side only.

figure = plt.figure(figsize=(10.8, 3.0), layout="constrained")
for k, name in enumerate(["plane", "radius 2", "radius 8"]):
    Z = maps[name].embedding_
    projection = None if name == "plane" else "mollweide"
    ax = figure.add_subplot(1, 3, k + 1, projection=projection)
    places = Z.T if name == "plane" else to_longitude(Z)
    ax.scatter(*places, c=(sun + 1) / 2, s=12)
    ax.set_title(
        "{}: recall {:.2f}, correlation {:.2f}".format(name, *sun_found[name]), fontsize=10
    )
    if name == "plane":
        ax.set(aspect="equal", xticks=[], yticks=[])
    else:
        ax.set(xticklabels=[], yticklabels=[])
        ax.grid(alpha=0.3)

# %%
# A circle: one angle
# -------------------
# In two components the sphere is a circle. Sensors of a house (temperatures, light, noise) each
# peak at some hour. The angle on the circle is the hour, up to its zero and its direction.


def house(n, hour, season, rng):
    """Readings of 24 sensors, each of which peaks at some hour and in some season."""
    peaks = rng.uniform(0, 2 * np.pi, size=(2, 24))
    x = np.exp(np.cos(hour[:, None] - peaks[0]) + np.cos(season[:, None] - peaks[1]))
    return x / x.max(axis=0) + 0.03 * rng.normal(size=x.shape)


def angle_between(a, b):
    """The angles between two lists of angles, at most pi."""
    return np.abs((a - b + np.pi) % (2 * np.pi) - np.pi)


def hours_off(angle, hour):
    """Mean error in hours, for the best zero and direction."""
    errors = []
    for turned in (angle, -angle):
        zero = np.angle(np.mean(np.exp(1j * (hour - turned))))
        errors.append(angle_between(hour, turned + zero).mean() * 12 / np.pi)
    return min(errors)


hour = rng.uniform(0, 2 * np.pi, 300)
day = house(300, hour, np.zeros(300), np.random.default_rng(0))
on_circle = PreserveNeighbors(2, constraint=Sphere(2.0), random_state=0).fit_transform(day)
ring = PreserveNeighbors(2, random_state=0).fit_transform(day)
hours = {
    name: hours_off(np.arctan2(Z[:, 1], Z[:, 0]), hour)
    for name, Z in (("circle", on_circle), ("plane", ring))
}
print({name: f"off by {error:.1f} hours" for name, error in hours.items()})

# %%
# The plane has room for a ring, so it shows the circle too. The constraint makes an angle of it.
#
# If the angle is *known*, no map has to find it. An hour, a weekday or a compass bearing goes into the
# data as two columns, cosine and sine. A column of hours would put 23:50 far from 0:10:


def as_circle(values, period):
    """Two columns for a periodic one."""
    angle = 2 * np.pi * np.asarray(values) / period
    return np.column_stack([np.cos(angle), np.sin(angle)])


late, early = as_circle([23 + 5 / 6, 1 / 6], period=24)
print(f"distance of 23:50 and 0:10: {np.linalg.norm(late - early):.2f}, of noon and midnight: 2")


# %%
# A torus: two angles
# -------------------
# During a year the readings depend on the hour and on the season. Both go round: the rows lie on a
# torus, a product of two circles. A map on it has four components, two for each circle. The
# constraint is one class. Both of its projections are those of a circle, taken twice.


class Torus(Constraint):
    """Each consecutive pair of columns on a circle about 0, with a radius for each pair."""

    acts_on_rows = True  # asks the same of each row, so `transform` places new rows on it

    def __init__(self, radii=(1.0, 1.0)):
        self.radii = radii

    def validate(self, n_items, n_components):
        if n_components != 2 * len(self.radii) or min(self.radii) <= 0:
            raise ValueError("Torus needs a radius above 0 for each two components.")

    def _circles(self, Z):
        radii = torch.as_tensor(self.radii, dtype=Z.dtype, device=Z.device)
        return Z.reshape(len(Z), len(self.radii), 2), radii[:, None]

    def project(self, Z):
        circles, radii = self._circles(Z)
        norms = torch.linalg.vector_norm(circles, dim=2, keepdim=True)
        pole = torch.zeros_like(circles)
        pole[..., 0] = 1  # the middle is equally far from the whole circle: take this point
        return (radii * torch.where(norms > 0, circles / norms, pole)).reshape(Z.shape)

    def project_tangent(self, X, Z):
        circles, radii = self._circles(X)
        normals, moves = circles / radii, self._circles(Z)[0]
        return (moves - normals * (normals * moves).sum(dim=2, keepdim=True)).reshape(Z.shape)


torus = Torus((1.5, 1.5))
check_constraint(torus, n_items=20, n_components=4)

# %%
# The start matters more than in the plane: a map that is wound round the wrong way cannot unwind.
# Four principal components mix the two circles. So turn them by random rotations, and take the one
# that is nearest to the torus, which ``violation`` of the constraint measures. More than three
# components sample the pairs that repel, unless ``repulsion="all"`` says otherwise.

n_year = 400
hour, season = rng.uniform(0, 2 * np.pi, size=(2, n_year))
year = house(n_year, hour, season, rng)

start = PCA(4).fit_transform(year)
start *= 1.5 / (np.sqrt(2) * start.std(axis=0))
rotations = special_ortho_group.rvs(4, size=1000, random_state=0)
start = min(
    (start @ rotation for rotation in rotations),
    key=lambda Z: torus.violation(torch.from_numpy(Z)),
)
on_torus = PreserveNeighbors(4, constraint=torus, init=start, repulsion="all", random_state=0).fit(
    year
)
flat = PreserveNeighbors(random_state=0).fit(year)

# %%
# Distances on the torus are those of the two angles: the root of their squares. The plane has to
# compare with Euclidean ones.


def torus_distances(first, second):
    """Distances of all pairs of rows that are given by two angles."""
    i, j = np.triu_indices(len(first), 1)
    return np.hypot(angle_between(first[i], first[j]), angle_between(second[i], second[j]))


first, second = np.arctan2(on_torus.embedding_[:, 1::2], on_torus.embedding_[:, ::2]).T
torus_found = {}
for name, fitted, lengths in (
    ("plane", flat, pdist(flat.embedding_)),
    ("torus", on_torus, torus_distances(first, second)),
):
    correlation = np.corrcoef(lengths, torus_distances(hour, season))[0, 1]
    torus_found[name] = neighborhood_recall(year, fitted.embedding_), correlation
    print(f"{name}: recall {torus_found[name][0]:.2f}, correlation {correlation:.2f}")

# %%
# The torus, unrolled to a square of the two angles: opposite edges are one. One angle is the hour, the
# other the season. Which is which, and where they begin, the map cannot know. In the plane both
# colours are in pieces.

figure, axes = plt.subplots(1, 4, figsize=(10.8, 3.1), layout="constrained")
unrolled = np.column_stack([first, second])
for k, (color, angle) in enumerate((("hour", hour), ("season", season))):
    for ax, places, name in ((axes[k], unrolled, "torus"), (axes[2 + k], flat.embedding_, "plane")):
        ax.scatter(*places.T, c=angle, cmap="twilight", s=8)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.set_title(f"{name}, by {color}", fontsize=10)

# %%
# Data that do not go round
# -------------------------
# Handwritten digits have nothing of a sphere. A sphere of a suitable radius keeps as many neighbours as
# the plane, and no more. Its picture has no border, and is harder to draw.

digits = load_digits().data[:400]
digits_found = {}
for name, options in {
    "plane": {"n_components": 2},
    "sphere": {"n_components": 3, "constraint": Sphere(3.0)},
    "space": {"n_components": 3},
}.items():
    Z = PreserveNeighbors(random_state=0, **options).fit_transform(digits)
    digits_found[name] = neighborhood_recall(digits, Z)
    print(f"digits, {name}: recall {digits_found[name]:.2f}")

# %%
# What is not there
# -----------------
# - *Hyperbolic space*, which has room for trees. The distance of two points depends on where they lie
#   in the disc, or on a form that is not the Euclidean one. Distortion functions of skmde take
#   Euclidean distances, and ``own_distance`` of a constraint is a function of these. For trees see
#   the rings of :doc:`plot_14_own_functions`, or path lengths in three components.
# - *Arcs for penalties.* ``PreserveNeighbors`` takes chords, on the sphere as on the torus. Near
#   neighbours have chords as long as their arcs, so little is lost.
# - *Arcs on the torus for given distances.* On the sphere an arc is a function of its chord; on the
#   torus it is not, since two arcs make one distance.
#
# What can go wrong
# -----------------
# - *A radius that is too large.* The map has room to lie on one side, cut open as in the plane.
#   Compare the recall of a few radii.
# - *A radius in other units.* With ``great_circle=True`` it is a length in the unit of the
#   distances. If the longest distance is known to be that of opposite points, divide it by pi.
# - *A start that is wound wrongly.* Try several, and keep the one with the lowest ``distortion_``;
#   compare it only between fits on sets of the same size.
# - *Euclidean distances of the coordinates*, such as those of a clustering: they are chords. For arcs
#   use the angle between rows.

plt.show()
