"""Which points are so far from the others that a picture leaves them outside."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from skmde._views.far_points import far_points


def _normal(n, m=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


@pytest.mark.parametrize("n", [20, 200, 20_000])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_normal_and_uniform_points_are_all_shown(n, m):
    for X in (_normal(n, m), np.random.default_rng(0).random((n, m))):
        assert not far_points(X).any()


@settings(max_examples=40)
@given(
    n=st.integers(20, 300),
    far=st.integers(1, 3),
    distance=st.floats(20, 1e12),
    seed=st.integers(0, 99),
)
def test_a_few_far_islands_are_outside_and_nothing_else(n, far, distance, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    way = rng.normal(size=(1, 2))
    island = distance * way / np.linalg.norm(way) + 0.01 * rng.random((min(far, n // 20), 2))
    outside = far_points(np.concatenate([X, island]))
    assert outside.tolist() == [False] * n + [True] * len(island)


@settings(max_examples=40)
@given(shift=st.floats(-1e6, 1e6), unit=st.floats(1e-6, 1e6))
def test_shift_and_unit_do_not_change_what_is_far(shift, unit):
    X = np.concatenate([_normal(50), [[30.0, 0.0], [0.0, -40.0]]])
    np.testing.assert_array_equal(far_points(X), far_points(unit * (X + shift)))


def test_two_groups_of_a_similar_size_are_both_shown():
    X = np.concatenate([_normal(100), 1000.0 + _normal(10)])
    assert not far_points(X).any()


def test_a_group_that_leaves_the_rest_a_third_of_the_width_is_shown():
    X = np.random.default_rng(0).random((1000, 2))
    X[:20, 0] += 1.5
    assert not far_points(X).any()
    X[:20, 0] += 2.0
    assert far_points(X).tolist() == [True] * 20 + [False] * 980
