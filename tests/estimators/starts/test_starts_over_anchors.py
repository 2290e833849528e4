"""Every start lies over the anchors, whichever way they are given."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist, squareform

from skmde import MDE, Anchored, AnchoredMDE, PreserveDistances, PreserveNeighbors

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
KNOWN = np.arange(4)
TURN = np.array([[-0.6, 0.8], [0.8, 0.6]])  # with a reflection
OPTIONS = {"random_state": 0, "n_jobs": 1}


def points(seed, offset=0.0):
    """40 points of the plane, the corners of a square first."""
    P = np.random.default_rng(seed).uniform(size=(40, 2))
    P[:4] = CORNERS
    return P + offset


def anchored(P):
    return Anchored(KNOWN, P[KNOWN])


def targets(P):
    y = np.full(P.shape, np.nan)
    y[KNOWN] = P[KNOWN]
    return y


def by_constraint(P, **params):
    D = squareform(pdist(P))
    estimator = PreserveDistances(loss="squared", metric="precomputed", constraint=anchored(P))
    return estimator.set_params(**OPTIONS, **params).fit(D).embedding_


def by_constraint_and_weights(P, **params):
    estimator = PreserveDistances(loss="squared", constraint=anchored(P), **OPTIONS, **params)
    return estimator.fit(P, pair_weights=np.ones((40, 40))).embedding_


def by_targets(P, **params):
    D = squareform(pdist(P))
    estimator = AnchoredMDE(loss="squared", metric="precomputed", **OPTIONS, **params)
    return estimator.fit(D, targets(P)).embedding_


def by_soft_targets(P, **params):
    return by_targets(P, anchor_weight=1.0, **params)


def by_problem(P, init=None, max_iter=300, edges=None):
    deviations = pdist(P)
    problem = MDE(40, 2, edges, "squared", anchored(P), deviations=deviations, n_jobs=1)
    return problem.embed(init, max_iter=max_iter, random_state=0).numpy()


def by_problem_of_edges(P, **params):
    return by_problem(P, edges=np.stack(np.triu_indices(40, 1), axis=1), **params)


def by_neighbors(P, **params):
    estimator = PreserveNeighbors(constraint=anchored(P), **OPTIONS, **params)
    return estimator.fit(P).embedding_


def by_neighbors_of_targets(P, **params):
    estimator = AnchoredMDE(
        repulsive_penalty="log", attractive_penalty="log1p", **OPTIONS, **params
    )
    return estimator.fit(P, targets(P)).embedding_


DISTANCES = [
    by_constraint,
    by_constraint_and_weights,
    by_targets,
    by_soft_targets,
    by_problem,
    by_problem_of_edges,
]
ALL = [*DISTANCES, by_neighbors, by_neighbors_of_targets]


@pytest.mark.parametrize("embed", DISTANCES)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_exact_distances_are_recovered(embed, offset):
    for seed in range(5):
        P = points(seed, offset)
        np.testing.assert_allclose(embed(P), P, atol=2e-3, rtol=0)


@pytest.mark.parametrize("embed", ALL)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_start_that_is_turned_against_the_anchors_is_turned_back(embed, offset):
    P = points(1)
    found = embed(P + offset, init=P @ TURN + 3.0, max_iter=0)
    np.testing.assert_allclose(found, P + offset, atol=1e-5, rtol=0)


@pytest.mark.parametrize("embed", ALL)
def test_a_start_over_the_anchors_stays(embed):
    P = points(2)
    P[4:] += 0.1
    np.testing.assert_allclose(embed(P, init=P, max_iter=0), P, atol=1e-6, rtol=0)


@pytest.mark.parametrize("make", [PreserveDistances, AnchoredMDE])
def test_parts_are_laid_over_their_own_anchors(make):
    P = points(3)
    D = np.full((40, 40), np.inf)
    for part in (np.arange(0, 40, 2), np.arange(1, 40, 2)):
        D[np.ix_(part, part)] = squareform(pdist(P[part]))
    known = np.array([4, 5, 10, 11, 20, 21])
    start = P @ TURN
    start[1::2] = P[1::2] @ TURN.T + 2.0
    params = {"loss": "squared", "metric": "precomputed", "init": start, "max_iter": 0}
    if make is PreserveDistances:
        constraint = Anchored(known, P[known])
        found = make(constraint=constraint, **params, **OPTIONS).fit(D).embedding_
    else:
        given = {"anchors": known, "anchor_values": P[known]}
        found = make(**params, **OPTIONS).fit(D, **given).embedding_
    np.testing.assert_allclose(found, P, atol=1e-5)


@pytest.mark.parametrize("make", [PreserveDistances, AnchoredMDE])
def test_extended_samples_join_the_map_as_it_lies(make):
    P = points(4, 1e3)
    if make is PreserveDistances:
        estimator = make(loss="squared", constraint=anchored(P), **OPTIONS).fit(P[:30])
    else:
        estimator = make(loss="squared", **OPTIONS).fit(P[:30], targets(P)[:30])
    np.testing.assert_allclose(estimator.extend(P[30:]).embedding_, P, atol=2e-3, rtol=0)


def test_the_start_of_a_problem_is_not_modified():
    P = points(5)
    start = torch.from_numpy(P @ TURN)
    before = start.clone()
    by_problem(P, init=start, max_iter=3)
    assert torch.equal(start, before)
