"""What is on the picture of an embedding: points, colours, names, edges, limits."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from pictures import (
    boxes,
    color_of,
    drawn_colors,
    legend_colors,
    legend_texts,
    overlaps,
    pixels,
)
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.manifold import MDS, Isomap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmde.plotting import EmbeddingDisplay
from skmde.plotting.drawing.theme import DARK, LIGHT


def _normal(n, m=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


def _rgb(color):
    return tuple(np.round(to_rgba(color)[:3], 4))


class Fitted(BaseEstimator):
    """An estimator after its fit: pairs that attract, then pairs that repel."""

    def __init__(self):
        self.embedding_ = _normal(6)
        self.edges_ = np.array([[0, 1], [1, 2], [2, 3], [0, 5]])
        self.weights_ = np.array([2.0, 1.0, 1.0, -1.0])

    def fit(self, X, y=None):
        return self

    def distortions(self):
        values = np.array([1.0, 4.0, 3.0, 9.0])
        return SimpleNamespace(pairs=self.edges_, values=values, weights=self.weights_)


def test_every_point_has_the_colour_that_the_legend_gives_its_class():
    X, y = _normal(60), np.array(["b", "a", "c"] * 20)
    display = EmbeddingDisplay.from_embedding(X, y, color_name="kind")
    assert legend_texts(display) == ["a", "b", "c"]
    assert display.legend_.get_title().get_text() == "kind"
    named = dict(zip(legend_texts(display), map(_rgb, legend_colors(display)), strict=True))
    assert len(set(named.values())) == 3
    for position, label in zip(X, y, strict=True):
        assert color_of(display, position) == named[label]


def test_numbers_follow_the_colour_bar():
    X, values = _normal(50), np.linspace(-1.5, 2.5, 50)
    display = EmbeddingDisplay.from_embedding(X, values, color_name="height")
    bar = display.colorbar_
    assert bar.ax.get_ylabel() == "height"
    assert (bar.vmin, bar.vmax) == (-1.5, 2.5)
    for position, value in zip(X, values, strict=True):
        expected = bar.mappable.to_rgba(value)[:3]
        np.testing.assert_allclose(color_of(display, position), expected, atol=1e-3)
    assert display.legend_ is None


@pytest.mark.parametrize("color_by", [[0.5, 1.5, 2.0], ["a", "b", "c"]])
def test_nothing_explains_the_colours_if_no_labels_are_wanted(color_by):
    display = EmbeddingDisplay.from_embedding(_normal(3), color_by, labels="none")
    assert display.legend_ is None and display.colorbar_ is None
    assert len(display.figure_.axes) == 1 and display.labels_ == []
    assert len(set(drawn_colors(display).values())) == 3


def test_without_colours_there_is_neither_legend_nor_bar():
    display = EmbeddingDisplay.from_embedding(_normal(5))
    assert display.legend_ is None and display.colorbar_ is None
    assert set(drawn_colors(display).values()) == {_rgb(LIGHT.point)}


@pytest.mark.parametrize(
    ("color_by", "is_number"),
    [
        ([0, 1, 2, 3], False),
        ([0.0, 1.0, 2.0, 3.0], False),
        ([0.0, 0.5, 2.0, 3.0], True),
        (["0.5", "1.5", "0.5", "2"], False),
        ([True, False, True, True], False),
        ([0.5, None, 1.0, 2.0], True),
        (pd.Series([1, 2, 2, pd.NA], dtype="Int64"), False),
    ],
)
def test_floats_are_numbers_unless_all_are_whole(color_by, is_number):
    display = EmbeddingDisplay.from_embedding(_normal(4), color_by)
    assert (display.colorbar_ is not None) == is_number
    assert (display.legend_ is None) == is_number


def test_whole_floats_are_written_as_integers_and_sorted_as_numbers():
    display = EmbeddingDisplay.from_embedding(_normal(3), [10.0, 9.0, 2.0])
    assert legend_texts(display) == ["2", "9", "10"]


@pytest.mark.parametrize("kind", [np.array, list, lambda y: np.array(y, dtype=object)])
def test_texts_with_numbers_are_sorted_by_the_numbers(kind):
    y = kind(["group 10", "group 9", "a", "group 9 b", "²", "group 10"])
    display = EmbeddingDisplay.from_embedding(_normal(6), y)
    assert legend_texts(display) == ["a", "group 9", "group 9 b", "group 10", "²"]


def test_color_as_decides_what_integers_are():
    numbers = EmbeddingDisplay.from_embedding(_normal(4), [3, 1, 2, 5], color_as="number")
    assert (numbers.colorbar_.vmin, numbers.colorbar_.vmax) == (1, 5)
    classes = EmbeddingDisplay.from_embedding(_normal(2), [0.25, 0.5], color_as="class")
    assert legend_texts(classes) == ["0.25", "0.5"]


def test_categories_of_pandas_keep_their_order():
    y = pd.Categorical(["low", "high", "middle", "low"], ["low", "middle", "high"])
    assert legend_texts(EmbeddingDisplay.from_embedding(_normal(4), y)) == ["low", "middle", "high"]
    series = EmbeddingDisplay.from_embedding(_normal(4), pd.Series(y))
    assert legend_texts(series) == ["low", "middle", "high"]


def test_palette_of_the_user_by_order_and_by_name():
    X = _normal(3)
    ordered = EmbeddingDisplay.from_embedding(X, ["a", "b", "c"], palette=["red", "lime", "blue"])
    assert legend_colors(ordered) == [to_rgba(c) for c in ("red", "lime", "blue")]
    named = EmbeddingDisplay.from_embedding(X, ["a", "b", "c"], palette={"c": "red", "a": "lime"})
    assert legend_texts(named) == ["a", "c", "other (1 class)"]
    assert color_of(named, X[2]) == _rgb("red")
    assert color_of(named, X[1]) == _rgb(LIGHT.other)


def test_of_many_classes_the_largest_keep_a_colour_of_their_own():
    sizes = np.arange(1, 31)  # the class 29 is the largest
    y = np.repeat(np.arange(30), sizes)
    display = EmbeddingDisplay.from_embedding(_normal(len(y)), y)
    assert legend_texts(display) == [*(str(k) for k in range(11, 30)), "other (11 classes)"]
    colors = legend_colors(display)
    assert len(set(colors)) == 20 and colors[-1] == to_rgba(LIGHT.other)
    few = EmbeddingDisplay.from_embedding(_normal(len(y)), y, max_classes=3)
    assert legend_texts(few) == ["28", "29", "other (28 classes)"]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_theme_colours_page_frame_and_texts(theme):
    display = EmbeddingDisplay.from_embedding(_normal(9), list("abcabcabc"), theme=theme.name)
    assert display.figure_.get_facecolor() == to_rgba(theme.background)
    assert display.ax_.get_facecolor() == to_rgba(theme.background)
    colors = {to_rgba(text.get_color()) for text in display.legend_.get_texts()}
    assert colors == {to_rgba(theme.text)}
    corner = pixels(display)[1, 1]
    np.testing.assert_allclose(corner, to_rgba(theme.background)[:3], atol=0.01)


@pytest.mark.parametrize(("style", "theme"), [("default", LIGHT), ("dark_background", DARK)])
def test_theme_follows_the_style_of_given_axes(style, theme):
    with plt.style.context(style):
        _, ax = plt.subplots()
        display = EmbeddingDisplay.from_embedding(_normal(6), list("ababab"), ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert legend_colors(display)[0] == to_rgba(theme.palettes[0][0])
    assert plt.get_fignums() == [ax.figure.number]


def test_plot_draws_again_elsewhere():
    display = EmbeddingDisplay.from_embedding(_normal(8), list("abababab"))
    first = display.ax_
    figure = plt.figure()
    right = figure.subfigures(1, 2)[1]
    assert display.plot(ax=right.subplots(), labels="map") is display
    assert display.ax_ is not first and display.figure_ is right
    assert {label.get_text() for label in display.labels_} == {"a", "b"}


def test_axes_are_equal_and_hold_all_points():
    X = _normal(40) * [1.0, 3.0]
    display = EmbeddingDisplay.from_embedding(X)
    ax = display.ax_
    display.figure_.draw_without_rendering()
    units = np.abs(ax.transData.transform([[1, 1]]) - ax.transData.transform([[0, 0]]))
    assert units[0, 0] == pytest.approx(units[0, 1])
    for (low, high), column in zip((ax.get_xlim(), ax.get_ylim()), X.T, strict=True):
        assert low < column.min() and column.max() < high
    assert len(drawn_colors(display)) == 40


@pytest.mark.parametrize("n", [20, 1797, 15_000])
def test_markers_shrink_with_their_number_and_fill_the_same_area(n):
    (points,) = EmbeddingDisplay.from_embedding(_normal(n)).points_
    (area,) = points.get_sizes()
    covered = n * area / (6.4 * 5.6 * 72**2)
    assert 1.5 <= area <= 64
    assert covered < 0.25
    assert points.get_rasterized() == (n > 3000)
    assert 0.5 <= points.get_alpha() <= 0.95


def test_marker_size_and_opacity_of_the_user():
    (points,) = EmbeddingDisplay.from_embedding(_normal(9), marker_size=5, alpha=0.3).points_
    assert points.get_sizes().tolist() == [5] and points.get_alpha() == 0.3


def test_points_are_drawn_in_random_order_so_that_no_class_covers_the_others():
    y = np.repeat([0, 1], 500)
    (points,) = EmbeddingDisplay.from_embedding(_normal(1000), y).points_
    last = points.get_facecolors()[500:, :3]
    assert 200 < (last == last[0]).all(axis=1).sum() < 300


def test_many_points_become_an_image_of_their_density():
    X, y = _normal(25_000), np.arange(25_000) % 2
    display = EmbeddingDisplay.from_embedding(X, y)
    (image,) = display.points_
    assert image.get_array().shape[-1] == 4
    assert legend_texts(display) == ["0", "1"]
    assert display.ax_.get_aspect() == 1
    (markers,) = EmbeddingDisplay.from_embedding(X[:50], density=True).points_
    assert hasattr(markers, "get_extent")
    (markers,) = EmbeddingDisplay.from_embedding(X, density=False).points_
    assert len(markers.get_offsets()) == 25_000


def test_names_of_classes_lie_on_their_points():
    centers = np.array([[0, 0], [10, 0], [0, 10.0]])
    y = np.repeat([0, 1, 2], 50)
    X = centers[y] + 0.5 * _normal(150)
    display = EmbeddingDisplay.from_embedding(X, np.array(["x", "y", "z"])[y], labels="map")
    assert display.legend_ is None
    assert sorted(label.get_text() for label in display.labels_) == ["x", "y", "z"]
    for label in display.labels_:
        expected = centers["xyz".index(label.get_text())]
        assert np.linalg.norm(np.array(label.xy) - expected) < 1
        assert label.get_position() == (0, 0)


def test_names_of_items_are_beside_them_and_do_not_overlap():
    X = _normal(30)
    names = [f"The item number {i}" for i in range(30)]
    display = EmbeddingDisplay.from_embedding(X, names=names, annotate=np.arange(12))
    assert 9 <= len(display.labels_) <= 12
    assert {label.get_text() for label in display.labels_} <= set(names[:12])
    display.figure_.draw_without_rendering()
    found = boxes(display.labels_)
    for i, one in enumerate(found):
        assert not any(overlaps(one, other) for other in found[:i])
    markers = display.ax_.transData.transform(X)
    for left, bottom, right, top in found:
        inside = (markers > [left, bottom]) & (markers < [right, top])
        assert not inside.all(axis=1).any()
    frame = display.ax_.get_window_extent().extents
    assert (found[:, :2] >= frame[:2]).all() and (found[:, 2:] <= frame[2:]).all()


def test_labels_without_room_are_left_out_and_counted():
    X = np.zeros((60, 2)) + 1e-3 * _normal(60)
    X[0], X[1] = [-1, -1], [1, 1]
    names = ["a rather long name of an item"] * 60
    display = EmbeddingDisplay.from_embedding(X, names=names, annotate=range(60), view="all")
    left_out = 60 - len(display.labels_)
    assert left_out > 0
    notes = [text.get_text() for text in display.ax_.texts]
    assert f"no room for {left_out} of 60 labels" in notes


def test_items_can_be_chosen_by_a_mask_and_have_numbers_as_names():
    display = EmbeddingDisplay.from_embedding(
        _normal(5), annotate=[False, True, False, False, True]
    )
    assert [label.get_text() for label in display.labels_] == ["1", "4"]


@pytest.mark.parametrize(("show", "n_drawn"), [("all", 90), ("sample", 10), ("worst", 10)])
def test_edges_are_lines_between_their_items(show, n_drawn):
    X, rng = _normal(30), np.random.default_rng(0)
    edges, distortions = rng.integers(0, 30, (90, 2)), rng.random(90)
    display = EmbeddingDisplay.from_embedding(
        X, edges=edges, distortions=distortions, show_edges=show, max_edges=10
    )
    lines = np.array(display.edges_.get_segments())
    assert lines.shape == (n_drawn, 2, 2)
    possible = {tuple(np.round(line.ravel(), 9)) for line in X[edges]}
    assert {tuple(np.round(line.ravel(), 9)) for line in lines} <= possible
    if show == "worst":
        np.testing.assert_allclose(lines, X[edges[np.argsort(-distortions)[:10]]])
    notes = " ".join(text.get_text() for text in display.ax_.texts)
    assert ("10 of 90 edges" in notes) == (show != "all")


def test_edges_of_an_estimator_are_the_pairs_that_attract():
    estimator = Fitted()
    display = EmbeddingDisplay.from_estimator(estimator, show_edges="all")
    lines = np.array(display.edges_.get_segments())
    np.testing.assert_allclose(lines, estimator.embedding_[estimator.edges_[:3]])


def test_worst_edges_of_an_estimator_are_those_of_its_distortions():
    estimator = Fitted()
    display = EmbeddingDisplay.from_estimator(estimator, show_edges="worst", max_edges=2)
    lines = np.array(display.edges_.get_segments())
    np.testing.assert_allclose(lines, estimator.embedding_[estimator.edges_[[1, 2]]])


def test_estimators_of_scikit_learn_and_pipelines_are_drawn():
    X, y = _normal(12, 3), np.arange(12) % 3
    isomap = Isomap(n_neighbors=9).fit(X)
    assert len(drawn_colors(EmbeddingDisplay.from_estimator(isomap, y))) == 12
    estimator = Fitted()
    display = EmbeddingDisplay.from_estimator(make_pipeline(StandardScaler(), estimator))
    np.testing.assert_array_equal(display.embedding, estimator.embedding_)


def test_estimator_that_cannot_be_drawn_is_named():
    with pytest.raises(NotFittedError, match="MDS"):
        EmbeddingDisplay.from_estimator(MDS())
    with pytest.raises(ValueError, match="PCA has no attribute embedding_"):
        EmbeddingDisplay.from_estimator(PCA(2).fit(_normal(9, 3)))
    with pytest.raises(TypeError, match="must be a fitted estimator; got an object of"):
        EmbeddingDisplay.from_estimator(np.zeros((3, 2)))
    with pytest.raises(TypeError, match="must be a fitted estimator; got the class"):
        EmbeddingDisplay.from_estimator(MDS)


def test_one_component_has_a_strip_for_each_class():
    x = np.sort(_normal(60, 1), axis=0)
    y = np.repeat(["low", "high"], 30)
    display = EmbeddingDisplay.from_embedding(x, y)
    ax = display.ax_
    display.figure_.draw_without_rendering()
    names = {
        text.get_text(): tick
        for text, tick in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)
    }
    assert list(names) == ["high", "low"]
    for (position, height), _ in drawn_colors(display).items():
        label = "low" if position <= x[29, 0] + 1e-6 else "high"
        assert abs(height - names[label]) <= 0.5
    alone = EmbeddingDisplay.from_embedding(x)
    assert len(drawn_colors(alone)) == 60


def test_three_components_are_drawn_in_space():
    X, y = _normal(50, 3), np.arange(50) % 4
    edges = [[0, 1], [2, 3]]
    display = EmbeddingDisplay.from_embedding(
        X, y, edges=edges, show_edges="all", annotate=[0, 1], labels="map"
    )
    assert display.ax_.name == "3d"
    assert legend_texts(EmbeddingDisplay.from_embedding(X, y)) == ["0", "1", "2", "3"]
    assert {label.get_text() for label in display.labels_[:4]} == {"0", "1", "2", "3"}
    box = np.array(display.ax_.get_box_aspect())
    sides = np.ptp([display.ax_.get_xlim(), display.ax_.get_ylim(), display.ax_.get_zlim()], axis=1)
    np.testing.assert_allclose(box / box[0], sides / sides[0])
    with pytest.raises(ValueError, match="with 3 components"):
        EmbeddingDisplay.from_embedding(X, ax=plt.figure().subplots())
    with pytest.raises(ValueError, match="one or two components"):
        EmbeddingDisplay.from_embedding(X[:, :2], ax=plt.figure().add_subplot(projection="3d"))


@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_are_saved_without_warnings_and_are_not_empty(n_components, theme):
    X, y = _normal(80, n_components), np.arange(80) % 7
    display = EmbeddingDisplay.from_embedding(X, y, theme=theme, annotate=[1, 2, 3])
    picture = pixels(display)
    background = picture[1, 1]
    drawn = (np.abs(picture - background) > 0.05).any(axis=2)
    assert 0.005 < drawn.mean() < 0.5


def test_long_names_leave_room_for_the_map():
    classes = [f"{'long name ' * 1000}{k % 12}" for k in range(200)]
    display = EmbeddingDisplay.from_embedding(_normal(200), classes, color_name="title " * 200)
    display.figure_.draw_without_rendering()
    width = display.ax_.get_window_extent().width
    assert width > 0.4 * display.figure_.bbox.width


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_components", [2, 3])
def test_huge_and_tiny_coordinates_give_the_same_picture(n_components):
    X = np.random.default_rng(0).normal(size=(40, n_components))

    def picture(unit):
        display = EmbeddingDisplay.from_embedding(unit * X, np.arange(40) % 3)
        display.figure_.canvas.draw()
        return np.asarray(display.figure_.canvas.buffer_rgba()).copy()

    expected = picture(1.0)
    for unit in (2.0**-900, 2.0**1010):
        np.testing.assert_array_equal(picture(unit), expected)


def test_the_box_in_space_lies_within_the_picture():
    display = EmbeddingDisplay.from_embedding(_normal(50, 3), np.arange(50) % 3)
    display.figure_.draw_without_rendering()
    ax = display.ax_
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1)
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    places = np.stack(proj_transform(*corners, ax.get_proj())[:2], axis=1)
    x, y = ax.transData.transform(places).T
    figure = display.figure_.bbox
    assert figure.x0 <= x.min() and x.max() <= figure.x1
    assert figure.y0 <= y.min() and y.max() <= figure.y1


def test_numbers_are_integers_of_any_type():
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    display = EmbeddingDisplay.from_embedding(
        _normal(9),
        np.arange(9),
        edges=edges,
        show_edges="sample",
        max_edges=np.int64(2),
        max_classes=np.uint8(4),
    )
    assert len(display.edges_.get_segments()) == 2
    assert legend_texts(display)[-1] == "other (6 classes)"


def test_a_classifier_is_drawn_by_the_estimator_within_it():
    from skmde import AnchoredClassifier

    X = _normal(40, 4)
    classifier = AnchoredClassifier().fit(X, np.where(np.arange(40) < 20, np.arange(40) % 2, -1))
    display = EmbeddingDisplay.from_estimator(classifier, np.arange(40) % 2)
    np.testing.assert_array_equal(display.embedding, classifier.embedding_estimator_.embedding_)


def test_edges_of_a_graph_are_drawn():
    from skmde import QuadraticMDE

    X = _normal(30, 4)
    estimator = QuadraticMDE(n_neighbors=4).fit(X)
    display = EmbeddingDisplay.from_estimator(estimator, show_edges="all")
    assert len(display.edges_.get_segments()) == estimator.graph_.nnz // 2
    pca = QuadraticMDE(weights="pca").fit(X)
    with pytest.raises(ValueError, match="gives every two samples a weight"):
        EmbeddingDisplay.from_estimator(pca, show_edges="sample")
