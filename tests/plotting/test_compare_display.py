"""Two embeddings side by side."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from pictures import legend_texts, pixels
from scipy.stats import ortho_group
from sklearn.manifold import Isomap

from skmde.plotting import CompareEmbeddingsDisplay


def _normal(n, m=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


def _pair(m=2, n=40):
    """An embedding, and the same turned, scaled and shifted, with two items that moved."""
    first = _normal(n, m)
    moved = first.copy()
    moved[[3, 8]] = moved[[8, 3]] + 2.0
    return first, 7.0 * moved @ ortho_group.rvs(m, random_state=0) + 100.0


@pytest.mark.parametrize("m", [2, 3])
def test_the_second_embedding_is_aligned_and_lines_show_what_moved(m):
    first, second = _pair(m)
    display = CompareEmbeddingsDisplay.from_embeddings(first, second, n_lines=2)
    assert set(display.moved_) == {3, 8}
    others = np.delete(np.arange(40), [3, 8])
    np.testing.assert_allclose(display.second[others], first[others], atol=0.4)
    distances = np.linalg.norm(display.second - display.first, axis=1)
    np.testing.assert_allclose(display.distances_, distances)
    if m == 2:
        lines = np.array(display.lines_.get_segments())
        np.testing.assert_allclose(lines[:, 0], first[display.moved_])
        np.testing.assert_allclose(lines[:, 1], display.second[display.moved_])
    note = display.ax_[1].texts[-1].get_text()
    assert note == "lines from the first: the 2 items that moved most"


def test_both_panels_have_the_same_limits_and_colours():
    y = np.arange(40) % 3
    display = CompareEmbeddingsDisplay.from_embeddings(*_pair(), y, titles=("one", "other"))
    left, right = display.ax_
    assert left.get_xlim() == right.get_xlim() and left.get_ylim() == right.get_ylim()
    assert [ax.get_title() for ax in display.ax_] == ["one", "other"]
    assert legend_texts(display) == ["0", "1", "2"]
    colors = [ax.collections[0].get_facecolors() for ax in display.ax_]
    np.testing.assert_array_equal(*colors)


def test_scaling_makes_the_sizes_equal_and_can_be_left_out():
    first = _normal(30)
    for scaling, size in ((True, 1.0), (False, 5.0)):
        display = CompareEmbeddingsDisplay.from_embeddings(first, 5.0 * first, scaling=scaling)
        spreads = [X.std(axis=0) for X in (display.second, display.first)]
        ratio = np.linalg.norm(spreads[0]) / np.linalg.norm(spreads[1])
        assert ratio == pytest.approx(size)


def test_names_are_written_beside_items_that_moved():
    display = CompareEmbeddingsDisplay.from_embeddings(
        *_pair(), names=[f"item {i}" for i in range(40)], n_lines=2
    )
    texts = {text.get_text() for text in display.ax_[1].texts}
    assert {"item 3", "item 8"} <= texts


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_saved(theme):
    display = CompareEmbeddingsDisplay.from_embeddings(
        *_pair(), np.linspace(0.1, 1, 40), theme=theme, labels="map"
    )
    picture = pixels(display)
    assert (np.abs(picture - picture[0, 0]) > 0.05).any(axis=2).mean() > 0.01
    assert display.colorbar_ is not None


def test_equal_embeddings_points_and_no_lines():
    X = _normal(12)
    display = CompareEmbeddingsDisplay.from_embeddings(X, X, n_lines=0)
    assert len(display.moved_) == 0 and display.distances_.max() < 1e-12
    point = np.ones((12, 2))
    display = CompareEmbeddingsDisplay.from_embeddings(point, X)
    np.testing.assert_allclose(display.second - display.second.mean(axis=0), X - X.mean(axis=0))


def test_estimators_are_named_by_their_classes():
    first, second = (Isomap(n_neighbors=k).fit(_normal(10, 3)) for k in (8, 9))
    display = CompareEmbeddingsDisplay.from_estimators(first, second)
    assert [ax.get_title() for ax in display.ax_] == ["Isomap, first", "Isomap, second"]


def test_axes_of_the_user():
    figure, axes = plt.subplots(1, 2)
    display = CompareEmbeddingsDisplay.from_embeddings(*_pair(), ax=axes)
    assert display.ax_.tolist() == axes.tolist() and display.figure_ is figure
    _, ax = plt.subplots()
    display = CompareEmbeddingsDisplay.from_embeddings(*_pair(3), ax=ax)
    assert [panel.name for panel in display.ax_] == ["3d", "3d"]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((_normal(3), _normal(4)), {}, r"first has shape \(3, 2\) and second \(4, 2\)"),
        ((_normal(3, 1), _normal(3, 1)), {}, "two or three components are compared; got one"),
        ((_normal(3, 4), _normal(3, 4)), {}, "first has 4"),
        ((_normal(3), [[0.0, np.nan]] * 3), {}, "second contains NaN"),
        ((_normal(3), _normal(3)), {"titles": "ab"}, "titles must be two texts"),
        ((_normal(3), _normal(3)), {"n_lines": -1}, "n_lines must be an integer"),
        ((_normal(3), _normal(3), [1, 2]), {}, "color_by has 2 values"),
    ],
    ids=["rows", "one component", "four", "nan", "titles", "n_lines", "color_by"],
)
def test_wrong_input_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        CompareEmbeddingsDisplay.from_embeddings(*arguments, **options)


def test_lines_in_space_lie_above_the_points():
    first = _normal(400, 3)
    second = first + 0.5 * _normal(400, 3, seed=1)
    display = CompareEmbeddingsDisplay.from_embeddings(first, second, np.arange(400) % 4)
    ax = display.ax_[1]
    display.figure_.draw_without_rendering()
    points = [artist for artist in ax.collections if artist is not display.lines_]
    assert not ax.computed_zorder  # else matplotlib sorts by the depth of whole collections
    assert display.lines_.get_zorder() > min(artist.get_zorder() for artist in points)


def test_integers_of_numpy_are_integers():
    first, second = _pair()
    display = CompareEmbeddingsDisplay.from_embeddings(
        first, second, n_lines=np.int64(2), max_classes=np.int32(3)
    )
    assert len(display.moved_) == 2
