"""Thumbnails of embeddings: what they show, what they leave out, and their size."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch

from skmde._views.thumbnail import thumbnail

SVG = "{http://www.w3.org/2000/svg}"


def dots(picture):
    """Positions of the dots, in units of the picture's sides, from the top left."""
    root = ElementTree.fromstring(picture)
    svg = root.find("svg")
    width, height = map(int, svg.get("viewBox").split()[2:])
    found = [
        (int(x) / width, int(y) / height)
        for path in svg.findall("path")
        for x, y in re.findall(r"M(-?\d+) (-?\d+)h0", path.get("d"))
    ]
    return np.array(found), root.find("figcaption").text or ""


def test_dots_are_at_the_items_and_upwards_is_up():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0], [1.0, 1.0]])
    found, note = dots(thumbnail(X))
    assert not note
    low, high = found.min(axis=0), found.max(axis=0)
    expected = np.array([[0, 1], [1, 1], [1, 0], [0, 0], [1 / 4, 2 / 3]])
    np.testing.assert_allclose((found - low) / (high - low), expected, atol=0.01)
    assert (found > 0).all() and (found < 1).all()


@pytest.mark.parametrize("m", [1, 2, 3, 10])
def test_a_picture_of_many_items_is_small_and_says_what_it_leaves_out(m):
    X = np.random.default_rng(0).normal(size=(12_345, m)).astype(np.float32)
    picture = thumbnail(X)
    found, note = dots(picture)
    assert 900 < len(found) <= 1000
    assert len(picture) < 20_000
    assert "every 13th item" in note
    assert ("components 1 and 2" in note) == (m > 2)


def test_a_far_point_does_not_shrink_the_others():
    X = np.random.default_rng(0).random((200, 2))
    X[7] = 1e9
    found, note = dots(thumbnail(X))
    assert len(found) == 199 and "far" in note
    assert np.ptp(found, axis=0).min() > 0.5


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((3, 2)),
        np.zeros((1, 1)),
        np.array([[1e308, -1e308], [-1e308, 1e308]]),
        np.array([[5e-324, 0.0], [0.0, 5e-324]]),
        np.array([[1.0, 0.0], [2.0, 0.0]]),
        np.array([[1.0, np.nan], [2.0, 3.0]]),
        torch.ones((4, 3)),
    ],
)
def test_any_numbers_give_a_picture_with_dots_inside(X):
    found, _ = dots(thumbnail(X))
    assert len(found) == int(np.isfinite(np.asarray(X)).all(axis=1).sum())
    assert (found > 0).all() and (found < 1).all()


def test_there_is_no_picture_of_nothing():
    assert thumbnail(np.full((3, 2), np.nan)) == ""
    assert thumbnail(np.empty((0, 2))) == ""


def test_one_component_is_a_strip_that_is_thick_where_points_are_dense():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 1, 400), rng.uniform(1, 2, 40)])
    found, _ = dots(thumbnail(x[:, None]))
    dense = found[:, 0] < 0.5
    assert np.ptp(found[dense, 1]) > 2 * np.ptp(found[~dense, 1])
