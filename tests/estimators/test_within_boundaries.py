"""Estimators with sets that have a boundary or distances of their own."""

import pickle

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone

from skmde import Box, Disc, PreserveDistances, PreserveNeighbors, SameCoordinate, Sphere
from skmde.metrics import align

RNG = np.random.default_rng(0)
DATA = RNG.standard_normal((40, 3))
UNSEEN = RNG.standard_normal((6, 3))


@pytest.mark.parametrize("constraint", [Box(0.0, 2.0), Disc(1.2, [5.0, 5.0])], ids=repr)
def test_unseen_rows_are_at_the_best_places_of_the_set(constraint):
    model = PreserveDistances(loss="squared", constraint=constraint, random_state=0)
    model = pickle.loads(pickle.dumps(model.fit(DATA)))
    placed = model.transform(UNSEEN)
    assert constraint.violation(torch.from_numpy(placed)) <= 1e-14
    center = np.array([1.0, 1.0]) if isinstance(constraint, Box) else np.array([5.0, 5.0])
    side = np.linspace(-1.2, 1.2, 150)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2) + center
    grid = constraint.project(torch.from_numpy(grid)).numpy()
    known = cdist(UNSEEN, DATA)

    def loss(X):
        return ((cdist(X, model.embedding_)[:, None] - known) ** 2).mean(axis=2)

    own = np.diagonal(loss(placed))
    best = loss(grid).min(axis=0)
    assert (own <= best + 1e-6 * best).all()


def test_distances_far_longer_than_a_box_warn_and_crowd_at_its_boundary():
    model = PreserveDistances(constraint=Box(0.0, 1.0), random_state=0)
    with pytest.warns(UserWarning, match=r"about .*e\+06, but no two items of Box"):
        X = model.fit_transform(1e6 * DATA)
    assert ((X == 0) | (X == 1)).mean() > 0.9
    assert model.converged_


def test_bounds_are_in_the_units_of_the_data():
    known, large = (
        PreserveDistances(
            loss="squared", constraint=Box(-1.5 * u, 1.5 * u), max_iter=1000, random_state=0
        ).fit(u * DATA)
        for u in (1.0, 1e7)
    )
    np.testing.assert_allclose(large.embedding_ / 1e7, known.embedding_, rtol=1e-3, atol=1e-3)
    assert large.stress_ == pytest.approx(known.stress_, rel=1e-4)
    assert known.converged_ and large.converged_


def test_an_array_in_the_set_stays_where_it_is():
    start = 10.0 + RNG.uniform(0, 1, (40, 2))
    model = PreserveDistances(constraint=Box(10.0, 11.0), init=start, max_iter=0)
    with pytest.warns(UserWarning):
        model.fit(DATA)
    np.testing.assert_allclose(model.embedding_, start, rtol=1e-6)


def test_layers_are_kept_by_neighbours():
    floors = np.arange(40) % 3
    constraint = SameCoordinate(floors, component=1, values={0: 0.0, 1: 5.0, 2: 10.0})
    model = PreserveNeighbors(
        constraint=constraint, init="pca", repulsion="sampled", max_iter=50, random_state=0
    )
    X = clone(model).fit(DATA, sample_weight=np.r_[0.0, np.ones(39)]).embedding_
    np.testing.assert_array_equal(X[1:, 1], 5.0 * floors[1:])


@pytest.mark.parametrize("options", [{"repulsive_penalty": None}, {"repulsive_weight": 0}])
def test_a_box_needs_repulsion(options):
    with pytest.raises(ValueError, match="box embedding collapses to one point"):
        PreserveNeighbors(constraint=Box(), **options).fit(DATA)


# Great circles


def _places(n, seed):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return np.stack([np.arcsin(X[:, 2]), np.arctan2(X[:, 1], X[:, 0])], axis=1), X


def test_places_on_the_earth_give_the_globe_back():
    radius = 6371.0
    globe = radius * _places(30, 0)[1]
    arcs = 2 * np.arcsin(np.clip(cdist(globe, globe) / (2 * radius), 0, 1)) * radius
    model = PreserveDistances(
        3,
        metric="precomputed",
        constraint=Sphere(radius, great_circle=True),
        tol=1e-10,
        max_iter=1000,
        random_state=0,
    ).fit(arcs)
    assert model.stress_ < 1e-8
    np.testing.assert_allclose(pdist(model.embedding_), pdist(globe), rtol=1e-6)
    assert np.ptp(np.linalg.norm(model.embedding_, axis=1)) < 1e-9 * radius


def test_unseen_places_are_placed_by_great_circles():
    places, globe = _places(30, 0)
    unseen, there = _places(5, 1)
    model = PreserveDistances(
        3, metric="haversine", constraint=Sphere(great_circle=True), tol=1e-10, random_state=0
    ).fit(places)
    model = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(
        cdist(model.transform(unseen), model.embedding_), cdist(there, globe), atol=1e-4
    )
    assert -1e-4 < model.score(unseen) <= 0
    found = align(model.extend(unseen).embedding_, np.concatenate([globe, there]))
    np.testing.assert_allclose(found, np.concatenate([globe, there]), atol=1e-4)
    assert model.stress_ < 1e-4


def test_neighbours_have_no_great_circles():
    model = PreserveNeighbors(3, constraint=Sphere(great_circle=True))
    with pytest.raises(ValueError, match=r"has distances of its own.*PreserveDistances"):
        model.fit(DATA)
