"""Placing unseen items among the items of a fixed embedding."""

import numpy as np
import pytest
import torch
from labels import label
from scipy.optimize import minimize
from slowly import slow

from skmde.core.placement.by_neighbors import place_by_neighbors as place
from skmde.exceptions import ConvergenceWarning
from skmde.functions.adapters import CallablePenalty
from skmde.penalties import (
    Barrier,
    Cauchy,
    Cubic,
    Hinge,
    Huber,
    InversePower,
    Linear,
    Log,
    Log1p,
    Logistic,
    LogRatio,
    Power,
    Quadratic,
)

CALLABLE = CallablePenalty(lambda d: torch.log1p(d**1.5))
PAIRS = [
    (Log1p(), Log()),
    (Log1p(), None),
    (Log1p(2.0), LogRatio()),
    (Log1p(2.0), Cauchy()),
    (Huber(), InversePower()),
    (Quadratic(), Log(2.0)),
    (Cubic(), Log()),
    (Logistic(), Log()),
    (CALLABLE, Log()),
    (CALLABLE, CallablePenalty(lambda d: torch.log(-torch.expm1(-d)))),
]


def scene(m, q=40, k=8, R=20, n=300, seed=0):
    """Training items in clusters; new items whose neighbours are mostly in one of them."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(5, size=n)
    anchors = 4 * rng.normal(size=(5, m))[cluster] + rng.normal(size=(n, m))
    indices = np.stack(
        [
            np.concatenate(
                [
                    rng.choice(np.flatnonzero(cluster == c), k - 2, replace=False),
                    rng.choice(np.flatnonzero(cluster != c), 2, replace=False),
                ]
            )
            for c in rng.integers(5, size=q)
        ]
    )
    weights = rng.choice([1.0, 2.0], size=(q, k))
    indices[: q // 4, 3:] = -1
    weights[: q // 4, 3:] = 0.0
    return anchors, indices, weights, rng.choice(n, size=R, replace=False)


def average_distortion(x, anchors, indices, weights, attractive, repulsive, items, weight):
    """The definition, for one item."""
    total, distortion = 0.0, 0.0
    there = indices >= 0
    terms = [(indices[there], weights[there], attractive)]
    if repulsive is not None:
        others = items[~np.isin(items, indices)]
        terms.append((others, np.full(others.size, -weight), repulsive))
    for j, w, penalty in terms:
        d = torch.from_numpy(np.linalg.norm(x - anchors[j], axis=1))
        distortion += penalty.weighted_value(d, torch.from_numpy(w)).sum().item()
        total += np.abs(w).sum()
    return distortion / total


@pytest.mark.parametrize("m", [1, 2, *slow(5)])
@pytest.mark.parametrize("attractive, repulsive", PAIRS, ids=label)
def test_places_are_minima(attractive, repulsive, m):
    anchors, indices, weights, items = scene(m, q=8)
    X = place(anchors, indices, weights, attractive, repulsive, items, 0.3)
    rng = np.random.default_rng(1)
    for x, j, w in zip(X, indices, weights, strict=True):
        rest = (anchors, j, w, attractive, repulsive, items, 0.3)
        value = average_distortion(x, *rest)
        for scale in (1e-2, 1e-4):
            for y in x + scale * rng.normal(size=(20, m)):
                # Within the floor of a kink, coordinates and values are exact to 1e-7 or so.
                assert average_distortion(y, *rest) > value - 1e-7
        starts = [np.average(anchors[j], axis=0, weights=w), *anchors[j[j >= 0]]]
        # Infinite barriers cut a line into pieces: a place there is the best of its piece, and it
        # is in a piece that looks good from the start.
        assert value <= min(average_distortion(y, *rest) for y in starts) + 1e-7
        if m > 1:
            start = min(starts[:2], key=lambda y: average_distortion(y, *rest))
            other = minimize(average_distortion, start, rest, method="Nelder-Mead", tol=1e-9)
            assert value <= other.fun + 1e-7


def test_an_item_is_placed_where_most_of_its_neighbors_are():
    # Neither the mean nor the median of the neighbours is near any of them, and the strongest
    # neighbour is in a smaller group.
    groups = np.array([[0.0, 0.0], [100.0, 300.0], [300.0, 100.0]])
    of_neighbor = np.array([0, 0, 0, 1, 1, 2, 2])
    offsets = np.linspace(-0.1, 0.1, 7)[:, None] * [1.0, -1.0]
    anchors = groups[of_neighbor] + offsets
    weights = [[1.0, 1.0, 1.0, 1.2, 1.0, 1.0, 1.0]]
    X = place(anchors, [np.arange(7)], weights, Log1p(2.0))
    assert np.linalg.norm(X[0]) < 0.2


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_quadratic_penalty_gives_weighted_means(m):
    anchors, indices, weights, _ = scene(m)
    X = place(anchors, indices, weights, Quadratic())
    expected = (weights[:, :, None] * anchors[indices]).sum(1) / weights.sum(1)[:, None]
    np.testing.assert_allclose(X, expected, atol=1e-12)


def test_the_linear_penalty_gives_geometric_medians_on_an_anchor_or_not():
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)], [0.5, 0.1]])
    indices = [[0, 1, 2, -1], [0, 1, 2, 3], [3, 2, 1, 0]]
    weights = np.array([[1.0, 1, 1, 0], [1, 1, 1, 2], [2, 1, 1, 1]])
    X = place(triangle, indices, weights, Linear())
    np.testing.assert_allclose(X[0], triangle[:3].mean(axis=0), atol=1e-8)
    np.testing.assert_allclose(X[1:], triangle[[3, 3]], atol=2e-7)


@pytest.mark.parametrize("attractive, repulsive", [*PAIRS, (Power(1.3), Log(1.3))], ids=label)
@pytest.mark.parametrize("m", [2, 5])
def test_a_row_does_not_depend_on_batch_order_chunks_or_threads(attractive, repulsive, m):
    anchors, indices, weights, items = scene(m, q=150)
    rest = (attractive, repulsive, items, 0.3)
    together = place(anchors, indices, weights, *rest)
    for r in range(0, 150, 7):
        alone = place(anchors, indices[r : r + 1], weights[r : r + 1], *rest)
        np.testing.assert_array_equal(alone[0], together[r])
    order = np.random.default_rng(2).permutation(150)
    permuted = place(anchors, indices[order], weights[order], *rest, chunk_size=41, n_threads=2)
    np.testing.assert_array_equal(permuted, together[order])
    threads = torch.get_num_threads()
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            np.testing.assert_array_equal(place(anchors, indices, weights, *rest), together)
    finally:
        torch.set_num_threads(threads)


def test_global_random_states_and_inputs_are_left_alone():
    anchors, indices, weights, items = scene(2)
    anchors = anchors.astype(np.float32)
    for array in (anchors, indices, weights, items):
        array.flags.writeable = False
    before = np.random.get_state()[1].copy(), torch.random.get_rng_state()
    X = place(anchors, indices, weights, Log1p(), Log(), items, 0.3)
    assert X.dtype == np.float64
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])
    assert torch.equal(torch.random.get_rng_state(), before[1])


def test_items_without_neighbours_are_at_the_centre():
    anchors, indices, weights, items = scene(3)
    indices[5], weights[5] = -1, 0.0
    weights[6] = 0.0
    X = place(anchors, indices, weights, Log1p(), Log(), items, 0.3)
    np.testing.assert_allclose(X[5], anchors.mean(axis=0))
    np.testing.assert_allclose(X[6], anchors.mean(axis=0))
    others = np.setdiff1d(np.arange(len(X)), [5, 6])
    rest = place(anchors, indices[others], weights[others], Log1p(), Log(), items, 0.3)
    np.testing.assert_array_equal(X[others], rest)
    assert place(anchors, indices[:0], weights[:0], Log1p()).shape == (0, 3)
    none = place(anchors, np.zeros((2, 0), dtype=int), np.zeros((2, 0)), Log1p())
    np.testing.assert_allclose(none, np.tile(anchors.mean(axis=0), (2, 1)))


def test_missing_neighbours_do_not_count():
    anchors, indices, weights, items = scene(2)
    few = place(anchors, indices[:10, :3], weights[:10, :3], Log1p(), Log(), items, 0.3)
    weights[:10, 3:] = 7.0  # their index is -1
    full = place(anchors, indices[:10], weights[:10], Log1p(), Log(), items, 0.3)
    np.testing.assert_array_equal(few, full)


@pytest.mark.parametrize("m", [1, 2, 6])
def test_one_neighbour_attracts_completely(m):
    anchors = np.random.default_rng(0).normal(size=(30, m))
    indices, weights = np.array([[4], [7]]), np.ones((2, 1))
    for penalty in (Log1p(), Linear(), Quadratic(), Huber(), Power(0.5)):
        X = place(anchors, indices, weights, penalty)
        np.testing.assert_allclose(X, anchors[[4, 7]], atol=1e-7)


def test_neighbours_that_coincide_and_a_training_set_of_one_place():
    anchors = np.zeros((6, 2))
    X = place(anchors, [[0, 1, 2]], [[1.0, 2.0, 1.0]], Log1p(), Log(), [0, 1, 2, 3], 0.1)
    # Repelled by item 3 only, so at a distance in a fixed direction.
    assert 1e-4 < np.linalg.norm(X) < 10
    again = place(anchors, [[0, 1, 2]], [[1.0, 2.0, 1.0]], Log1p(), Log(), [0, 1, 2, 3], 0.1)
    np.testing.assert_array_equal(X, again)
    alone = place(np.array([[5.0, 1.0]]), [[0]], [[1.0]], Log1p(), Log(), [0], 0.1)
    np.testing.assert_allclose(alone, [[5.0, 1.0]])


@pytest.mark.parametrize("repulsive", [Log(), InversePower(), LogRatio()], ids=label)
@pytest.mark.parametrize("m", [1, 2, 4])
def test_starting_on_top_of_a_repulsive_item_ends_beside_it(repulsive, m):
    # Mean, median and strongest neighbour all coincide with item 2, whose barrier is infinite.
    anchors = np.zeros((4, m))
    anchors[3, 0] = 9.0
    rest = (np.array([0, 1]), np.ones(2), Log1p(), repulsive, np.array([2, 3]), 0.2)
    x = place(anchors, [rest[0]], [rest[1]], *rest[2:])[0]
    assert 1e-3 < np.linalg.norm(x) < 5
    value = average_distortion(x, anchors, *rest)
    nearby = x + 1e-4 * np.random.default_rng(0).normal(size=(50, m))
    assert all(average_distortion(y, anchors, *rest) > value - 1e-12 for y in nearby)


def test_a_repulsive_item_does_not_repel_its_neighbour_and_counts_as_often_as_given():
    anchors, indices, weights, items = scene(2)
    rest = (Log1p(), Log())
    row, w = indices[20:21], weights[20:21]
    without = np.setdiff1d(items, row)
    with_neighbours = np.concatenate([without, row[0]])
    X = place(anchors, row, w, *rest, without, 0.3)
    np.testing.assert_array_equal(place(anchors, row, w, *rest, with_neighbours, 0.3), X)
    double = place(anchors, row, w, *rest, without, 0.6)
    assert np.abs(double - X).max() > 1e-6
    twice = place(anchors, row, w, *rest, np.tile(without, 2), 0.3)
    np.testing.assert_allclose(twice, double, atol=1e-9)


def test_the_embedding_may_be_anywhere():
    anchors, indices, weights, items = scene(2)
    rest = (indices, weights, Log1p(), Log(), items, 0.3)
    X = place(anchors, *rest)
    np.testing.assert_allclose(place(anchors + 1e5, *rest) - 1e5, X, atol=1e-6)


@pytest.mark.parametrize("m", [1, 2, 30])
@pytest.mark.parametrize("attractive", [Log1p(), Quadratic(), Hinge(), Barrier(0.5)], ids=label)
def test_where_nothing_holds_them_places_stay_among_the_neighbours(attractive, m):
    anchors, indices, weights, items = scene(m, q=10)
    with pytest.warns(ConvergenceWarning, match="distortion can still decrease"):
        X = place(anchors, indices, weights, attractive, Cubic(), items, 5.0)
    distance = np.linalg.norm(X - anchors.mean(axis=0), axis=1)
    radius = np.linalg.norm(anchors - anchors.mean(axis=0), axis=1).max()
    assert (distance <= 2 * radius).all()


@pytest.mark.parametrize("m", [1, 2, 4])
def test_a_barrier_around_the_neighbours_is_respected(m):
    anchors, indices, weights, _ = scene(m)
    X = place(anchors, indices, weights, Barrier(0.4))
    d = np.linalg.norm(X[:, None] - anchors[indices], axis=2)
    assert (d[indices >= 0] > 0.4).all()


def test_where_steps_run_out_there_is_a_warning():
    anchors, indices, weights, items = scene(2)
    with pytest.warns(ConvergenceWarning, match=r"of 40 new items .* 2 Newton steps"):
        place(anchors, indices, weights, Log1p(), Log(), items, 0.3, max_iter=2)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_that_make_no_sense_are_refused(bad):
    with pytest.raises(ValueError, match=r"weights of neighbours .* got"):
        place(np.zeros((3, 2)), [[0, 1]], [[1.0, bad]], Log1p())


def test_neighbours_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match=r"number of training items, 3; got 3"):
        place(np.zeros((3, 2)), [[0, 3]], [[1.0, 1.0]], Log1p())
