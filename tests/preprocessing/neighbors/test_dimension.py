"""The intrinsic dimension of data whose dimension is known."""

import numpy as np
import pytest

from skmde.preprocessing import intrinsic_dimension, nearest_neighbors


def distances_of(X, k=15):
    _, distances, _ = nearest_neighbors(X, k)
    return distances


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_uniform_data_in_a_space_of_more_dimensions(dimension):
    rng = np.random.default_rng(0)
    flat = rng.random((3000, dimension)) @ rng.normal(size=(dimension, 8))
    assert intrinsic_dimension(distances_of(flat)) == pytest.approx(dimension, rel=0.15)


def test_a_curve_has_one_dimension():
    t = 20 * np.random.default_rng(0).random(1000)
    curve = np.stack([np.cos(t), np.sin(t), 0.1 * t], axis=1)
    assert intrinsic_dimension(distances_of(curve)) == pytest.approx(1, rel=0.15)


def test_estimate_by_hand():
    # mean of log(4 / 1) and log(4 / 2), and mean of log(9 / 3) alone
    distances = np.array([[1.0, 4.0, 2.0], [9.0, np.inf, 3.0]])
    want = 1 / np.mean([np.log(8) / 2, np.log(3)])
    assert intrinsic_dimension(distances) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1e20, 1e300])
def test_the_unit_does_not_matter(unit):
    distances = np.random.default_rng(0).random((50, 10)) + 0.1
    assert intrinsic_dimension(distances * unit) == pytest.approx(
        intrinsic_dimension(distances), rel=1e-9
    )


def test_order_zeros_and_missing_neighbours_do_not_matter():
    rng = np.random.default_rng(0)
    distances = rng.random((50, 6)) + 0.1
    want = intrinsic_dimension(distances)
    more = np.concatenate([distances, np.zeros((50, 2)), np.full((50, 1), np.inf)], axis=1)
    before = more.copy()
    assert intrinsic_dimension(rng.permuted(more, axis=1)) == pytest.approx(want, rel=1e-12)
    np.testing.assert_array_equal(more, before)
    alone = np.concatenate([distances, [[0, 0, 0, 0, 0, 3.0]], np.zeros((1, 6))])
    assert intrinsic_dimension(alone) == pytest.approx(want, rel=1e-12)
    assert intrinsic_dimension(distances.astype(np.float32)) == pytest.approx(want, rel=1e-5)
    assert intrinsic_dimension(distances.tolist()) == want


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "distances",
    [
        np.zeros((4, 3)),
        np.ones((4, 3)),
        np.full((4, 3), np.inf),
        np.array([[2.0, 0.0], [np.inf, 1.0]]),
        np.ones((4, 1)),
        np.ones((4, 0)),
        np.ones((0, 3)),
    ],
    ids=str,
)
def test_undefined(distances):
    assert np.isnan(intrinsic_dimension(distances))
