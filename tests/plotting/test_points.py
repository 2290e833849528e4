"""Images of the density of many points."""

import numpy as np
import pytest

from skmde.plotting import EmbeddingDisplay
from skmde.plotting.drawing.points import density_image

RED, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)


def _image(X, colors, shape=(4, 2)):
    X = np.asarray(X, float)
    return density_image(X, np.array(colors), np.zeros(2), np.array([4.0, 2.0]), shape)


def test_a_pixel_has_the_colour_of_its_points():
    image = _image([[0.5, 0.5], [3.9, 1.9]], [RED, BLUE])
    np.testing.assert_allclose(image[0, 0], RED)
    np.testing.assert_allclose(image[1, 3], BLUE)
    assert (image[..., 3] > 0).sum() == 2


def test_colours_are_mixed_as_light():
    image = _image([[0.5, 0.5]] * 4, [RED, RED, BLUE, BLUE])
    np.testing.assert_allclose(image[0, 0], [np.sqrt(0.5), 0.0, np.sqrt(0.5), 1.0])


def test_dense_pixels_are_more_opaque():
    X = [[0.5, 0.5]] + [[1.5, 0.5]] * 5 + [[2.5, 0.5]] * 300
    opacity = _image(X, [RED] * len(X))[0, :, 3]
    assert 0 < opacity[0] < opacity[1] < opacity[2] == 1
    assert opacity[3] == 0


def test_points_on_the_border_are_inside_and_beyond_it_outside():
    image = _image([[0, 0], [4, 2], [4, 0], [-0.1, 1], [4.1, 1], [1, 2.1]], [RED] * 6)
    opaque = image[..., 3] > 0
    assert opaque.sum() == 3 and opaque[0, 0] and opaque[1, 3] and opaque[0, 3]


def test_no_point_makes_an_empty_image():
    assert not _image(np.empty((0, 2)), np.empty((0, 4))).any()


def test_each_point_lies_in_its_pixel():
    rng = np.random.default_rng(0)
    X = rng.random((500, 2)) * [4.0, 2.0]
    image = _image(X, np.tile(RED, (500, 1)), shape=(40, 20))
    expected, _, _ = np.histogram2d(X[:, 1], X[:, 0], (20, 40), ((0, 2), (0, 4)))
    np.testing.assert_array_equal(image[..., 3] > 0, expected > 0)


@pytest.mark.parametrize("color_by", ["class", "number"])
def test_many_points_are_one_image(color_by):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 2), dtype=np.float32)
    values = rng.integers(0, 12, len(X)) if color_by == "class" else X[:, 0]
    display = EmbeddingDisplay.from_embedding(X, values)
    (image,) = display.points_
    height, width, _ = image.get_array().shape
    assert 300 < min(height, width) and max(height, width) < 1000
    assert display.n_outside_ == 0


def test_many_points_of_one_component_are_one_image_of_strips():
    x = np.random.default_rng(0).standard_normal((30_000, 1))
    display = EmbeddingDisplay.from_embedding(x, np.arange(30_000) % 3)
    (image,) = display.points_
    assert image.get_extent() == [*display.ax_.get_xlim(), *display.ax_.get_ylim()]
    assert display.ax_.get_aspect() == "auto"
    opaque = (image.get_array()[..., 3] > 0).any(axis=1)
    assert np.flatnonzero(np.diff(opaque.astype(int)) == 1).size == 3  # one strip a class


def test_points_in_space_are_sampled_when_there_are_very_many():
    X = np.random.default_rng(0).random((60_000, 3))
    display = EmbeddingDisplay.from_embedding(X)
    (points,) = display.points_
    assert len(points._offsets3d[0]) == 50_000
    assert display.ax_.texts[-1].get_text() == "50,000 of 60,000 points drawn"
