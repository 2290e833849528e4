"""Changes of unit: there and back, for numbers of any size and offset."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skmde._linalg.frame import Frame, Unit

POINTS = np.random.default_rng(0).normal(size=(20, 3))
EXPONENTS = st.integers(-90, 90)


@given(EXPONENTS, st.floats(-100, 100), st.sampled_from([Frame.around, Frame.by_powers_of_two]))
def test_points_have_size_one_inside_and_come_back(exponent, offset, fit):
    points = 10.0**exponent * (POINTS + offset)
    frame = fit(points)
    inside = frame.inside(points)
    np.testing.assert_allclose(inside.mean(axis=0), 0, atol=1e-12)
    assert 0.2 < np.abs(inside).max() < 2
    back = frame.outside(inside)
    np.testing.assert_allclose(back, points, rtol=0, atol=1e-14 * np.abs(points).max())


@given(EXPONENTS)
def test_what_is_inside_does_not_depend_on_the_unit(exponent):
    expected = Frame.by_powers_of_two(POINTS).inside(POINTS)
    points = 2.0 ** (3 * exponent) * POINTS
    np.testing.assert_array_equal(Frame.by_powers_of_two(points).inside(points), expected)


def test_largest_deviation_becomes_one():
    frame = Frame.around(np.array([[1.0, 5.0], [3.0, 5.0]]))
    np.testing.assert_array_equal(frame.origin, [2.0, 5.0])
    assert frame.length == pytest.approx(1.0)
    np.testing.assert_allclose(frame.inside(np.array([3.0, 6.0])), [1.0, 1.0], rtol=1e-15)


@pytest.mark.parametrize("value", [0.0, 7.5])
def test_a_single_point_is_the_origin(value):
    point = np.full((1, 2), value)
    for frame in (Frame.around(point), Frame.by_powers_of_two(point)):
        np.testing.assert_array_equal(frame.inside(point), np.zeros((1, 2)))
        np.testing.assert_array_equal(frame.outside(np.zeros((1, 2))), point)


def test_unit_is_the_largest_magnitude_of_values_that_count():
    values = np.array([1.0, -8.0, np.inf, 2.0])
    unit = Unit.largest(values, where=np.isfinite(values))
    assert unit.size == 8.0
    np.testing.assert_array_equal(unit.inside(values), [0.125, -1.0, np.inf, 0.25])
    np.testing.assert_array_equal(unit.outside(unit.inside(values)), values)
    assert Unit.largest(np.zeros(3)) == Unit.largest(np.zeros(0)) == Unit()


def test_unit_of_a_function_follows_from_its_degree():
    unit = Unit(3.0)
    assert unit.power(2) == 9.0 and unit.power(0.5) == np.sqrt(3.0)
    assert Unit(1e200).power(2) == np.inf and Unit(1e-200).power(2) == 0.0
    assert Unit().power(None) == 1.0
