"""Which part of a map is shown, and what the frame says of the rest."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pictures import boxes, drawn_colors

from skmde.plotting import EmbeddingDisplay
from skmde.plotting.drawing.view import directions_outside, view_of


def _normal(n, m=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


def test_a_view_holds_all_shown_points_and_is_not_too_narrow():
    X = _normal(100) * [1.0, 1e-3]
    view = view_of(X, "robust")
    assert (view.low < X.min(axis=0)).all() and (X.max(axis=0) < view.high).all()
    width, height = view.high - view.low
    assert width / height < 1.7


@pytest.mark.parametrize(("size", "fills"), [((9, 5), True), ((6, 8), True), ((12, 3), False)])
def test_maps_on_given_axes_fill_them_unless_they_are_very_long(size, fills):
    figure = plt.figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, 2) if fills else [figure.subplots()]
    ratios = []
    for k, ax in enumerate(axes):
        X = _normal(60) * [1.0, 1.0 + k]
        EmbeddingDisplay.from_embedding(X, ax=ax)
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        assert left < X[:, 0].min() and X[:, 1].max() < top
        ratios.append((right - left) / (top - bottom))
    if fills:
        assert ratios == pytest.approx([ratios[0]] * 2, rel=0.05)
    else:
        assert ratios[0] < 1.7


def test_markers_of_equal_panels_have_equal_sizes():
    figure = plt.figure(figsize=(12, 6), layout="constrained")
    sizes = []
    for ax in figure.subplots(1, 2):
        display = EmbeddingDisplay.from_embedding(
            _normal(900), np.arange(900) % 3, labels="map", ax=ax
        )
        sizes.append(display.points_[0].get_sizes()[0])
    assert sizes[0] == pytest.approx(sizes[1], rel=0.1)


def test_arrows_at_the_frame_count_the_points_in_their_direction():
    islands = np.repeat([[500.0, 0.0], [0.0, -400.0], [300.0, 300.0]], [3, 2, 1], axis=0)
    X = np.concatenate([_normal(200), islands])
    display = EmbeddingDisplay.from_embedding(X)
    assert display.n_outside_ == 6
    assert len(drawn_colors(display)) == 200
    assert display.ax_.get_xlim()[1] < 10
    arrows = {text.get_text(): text.xy for text in display.ax_.texts if text.arrow_patch}
    assert set(arrows) == {"1", "2", "3"}
    for count, place in (("3", (1.0, 0.5)), ("2", (0.5, 0.0)), ("1", (1.0, 1.0))):
        assert arrows[count] == pytest.approx(place)
    assert display.ax_.texts[-1].get_text() == "6 of 206 points outside the view"
    display.figure_.draw_without_rendering()
    left, bottom, right, top = display.ax_.get_window_extent().extents
    for box in boxes([text for text in display.ax_.texts if text.arrow_patch]):
        assert left < box[0] and box[2] < right and bottom < box[1] and box[3] < top
    everything = display.plot(view="all")
    assert everything.n_outside_ == 0 and everything.ax_.get_xlim()[1] > 500


@pytest.mark.parametrize("m", [1, 3])
def test_points_outside_are_counted_with_one_or_three_components(m):
    X = np.concatenate([_normal(50, m), np.full((2, m), 900.0)])
    display = EmbeddingDisplay.from_embedding(X, np.arange(52) % 2)
    assert display.n_outside_ == 2
    assert len(drawn_colors(display)) == 50 if m == 1 else display.ax_.get_zlim()[1] < 10
    assert display.ax_.texts[-1].get_text() == "2 of 52 points outside the view"


@settings(max_examples=40)
@given(angle=st.floats(0, 2 * np.pi), distance=st.floats(2, 1e9))
def test_an_arrow_points_to_its_island(angle, distance):
    X = np.concatenate([2 * np.random.default_rng(0).random((60, 2)) - 1, np.zeros((1, 2))])
    view = view_of(X, "all")._replace(outside=np.arange(61) == 60)
    X[60] = distance * np.array([np.cos(angle), np.sin(angle)])
    (place,), count = directions_outside(X, view)
    assert count.tolist() == [1]
    assert max(abs(place - 0.5)) == pytest.approx(0.5)
    way = (place - 0.5) / np.linalg.norm(place - 0.5)
    assert way @ [np.cos(angle), np.sin(angle)] > np.cos(np.pi / 16) - 0.05


def test_edges_and_labels_of_points_outside_are_left_out_and_counted():
    X = np.concatenate([_normal(30), [[999.0, 0.0]]])
    display = EmbeddingDisplay.from_embedding(
        X, edges=[[0, 1], [0, 30]], show_edges="all", annotate=[0, 30]
    )
    assert len(display.edges_.get_segments()) == 1
    assert [label.get_text() for label in display.labels_] == ["0"]
    assert "1 label outside the view" in display.ax_.texts[-1].get_text()
