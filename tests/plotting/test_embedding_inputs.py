"""Unusual and wrong input of the picture of an embedding."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from matplotlib.colors import to_rgb
from pictures import color_of, drawn_colors, legend_texts, pixels

from skmde.plotting import EmbeddingDisplay
from skmde.plotting.drawing.theme import LIGHT


def _normal(n, m=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


def _draw(*arguments, **options):
    display = EmbeddingDisplay.from_embedding(*arguments, **options)
    pixels(display)  # nothing fails or warns later, when the picture is saved
    return display


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color_by": [1, 2]}, "color_by has 2 values, but the embedding has 4 items"),
        ({"color_by": np.zeros((4, 3))}, "for each item; got shape"),
        ({"color_by": "abcd", "color_as": "number"}, "one class or number for each item"),
        (
            {"color_by": list("abcd"), "color_as": "number"},
            "needs numbers; color_by has .*\"a\"|'a'",
        ),
        ({"color_by": [None, 1, "b", 2], "color_as": "number"}, "needs numbers; color_by has 'b'"),
        ({"color_by": [1] * 4, "color_as": "colour"}, 'must be "auto", "class" or "number"'),
        ({"color_by": np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0])}, "color_by is a masked array"),
        ({"names": ["a"]}, "names has 1 texts, but there are 4 items"),
        (
            {"edges": [[0, 4]], "show_edges": "all"},
            "edges has items from 0 to 4, but",
        ),
        ({"edges": [[0, 1, 2]], "show_edges": "all"}, r"shape \(n_edges, 2\); got shape \(1, 3\)"),
        ({"edges": [[0.0, 1.5]], "show_edges": "all"}, "dtype float64"),
        ({"show_edges": "all"}, "show_edges='all' needs edges"),
        ({"edges": [[0, 1]], "show_edges": "worst"}, 'show_edges="worst" needs distortions'),
        (
            {"edges": [[0, 1]], "distortions": [1.0, 2.0]},
            "distortions has 2 numbers, but",
        ),
        ({"edges": [[0, 1]], "distortions": [np.nan]}, "1 numbers that are NaN or infinite"),
        ({"distortions": [1.0]}, "distortions needs edges"),
        ({"edges": [[0, 1]], "show_edges": "all", "max_edges": 0}, "max_edges must be an integer"),
        ({"show_edges": "some"}, "show_edges must be one of"),
        ({"labels": "on"}, "labels must be one of"),
        ({"labels": [0, 1, 1]}, "classes of items go to color_by"),
        ({"density": 1}, "density must be one of"),
        ({"theme": "night"}, 'theme must be "auto", "light" or "dark"; got \'night\''),
        ({"view": "near"}, 'view must be "robust" or "all"'),
        ({"annotate": [4]}, "annotate has positions from 4 to 4"),
        ({"annotate": [True, False]}, "annotate must hold positions of items"),
        ({"annotate": [0.5]}, "annotate must hold positions of items"),
        ({"color_by": list("abcd"), "palette": "viridis"}, "palette must be a list of colours"),
        ({"color_by": list("abcd"), "palette": ["nocolour"]}, "does not know as a colour"),
        ({"color_by": list("abcd"), "palette": []}, "palette is empty"),
        ({"color_by": list("abcd"), "max_classes": 0}, "max_classes must be an integer"),
        ({"color_by": list("abcd"), "max_classes": 2.5}, "max_classes must be an integer"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingDisplay.from_embedding(_normal(4), **options)


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        (np.full((3, 2), np.nan), "embedding contains NaN"),
        ([[0.0, np.inf], [1.0, 2.0]], "embedding contains infinity"),
        (_normal(5, 4), "1 to 3 components; embedding has 4"),
        (np.zeros(5), "Expected 2D array, got 1D array"),
        (np.zeros((0, 2)), r"0 sample\(s\)"),
        (np.zeros((5, 0)), r"0 feature\(s\)"),
        (sp.csr_array(np.eye(3)), "embedding is a sparse matrix"),
        (1e307 * np.eye(3), r"up to 1.0e\+307, and .* would overflow. .* embedding / abs"),
        (1e-300 * np.eye(3), r"up to 1.0e-300, and .* would vanish"),
        ([["a", "b"], ["c", "d"]], r"could not convert|Unable to convert"),
    ],
    ids=[
        "nan",
        "inf",
        "4-d",
        "1-d array",
        "empty",
        "no columns",
        "sparse",
        "huge",
        "tiny",
        "texts",
    ],
)
def test_wrong_embeddings_are_refused(embedding, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingDisplay.from_embedding(embedding)


def test_axes_of_the_wrong_kind_are_refused():
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes; got str"):
        EmbeddingDisplay.from_embedding(_normal(4), ax="axes")
    with pytest.raises(ValueError, match="has 1 panel"):
        EmbeddingDisplay.from_embedding(_normal(4), ax=[None, None])


@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 15])
def test_points_that_are_all_equal_have_a_view_around_them(n, n_components):
    display = _draw(np.full((n, n_components), 7.0), np.arange(n) % 2, annotate=[0])
    low, high = display.ax_.get_xlim()
    assert low < 7.0 < high
    assert len(display.labels_) == 1


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_units_of_the_embedding_do_not_change_the_picture(unit):
    X, y = _normal(40), np.arange(40) % 3
    expected = pixels(EmbeddingDisplay.from_embedding(X, y))
    found = pixels(EmbeddingDisplay.from_embedding(unit * X, y))
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_tensors_integers_and_data_frames_are_embeddings():
    X = np.arange(8).reshape(4, 2)
    expected = drawn_colors(EmbeddingDisplay.from_embedding(X.astype(float)))
    for given in (X, X.tolist(), torch.tensor(X), torch.tensor(X, dtype=torch.float32)):
        assert drawn_colors(EmbeddingDisplay.from_embedding(given)) == expected


@pytest.mark.parametrize(("labels", "kind"), [("legend", int), ("legend", str), ("map", str)])
def test_300_classes(labels, kind):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(300), rng.zipf(1.5, 900) % 300])
    display = _draw(rng.normal(size=(300, 2))[y], [kind(each) for each in y], labels=labels)
    notes = " ".join(text.get_text() for text in display.ax_.texts)
    if labels == "legend":
        assert len(legend_texts(display)) == 20
        assert legend_texts(display)[-1] == "other (281 classes)"
    else:
        assert 10 <= len(display.labels_) <= 19
        assert "grey: other (281 classes)" in notes


def test_labels_of_mixed_types_are_told_apart_by_their_texts():
    y = [1, "1", "b", 2.5, None, float("nan"), True, ("a", 1)]
    X = _normal(8)
    display = _draw(X, y)
    names = ["1", "2.5", "('a', 1)", "True", "b", "missing"]
    assert legend_texts(display) == names
    assert color_of(display, X[0]) == color_of(display, X[1])


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), np.datetime64("NaT")])
def test_missing_labels_are_grey_and_behind(missing):
    X = _normal(6)
    y = np.array(["a", missing, "b", "a", missing, "b"], dtype=object)
    display = _draw(X, y)
    assert legend_texts(display) == ["a", "b", "missing"]
    behind, front = display.points_
    assert behind.get_zorder() < front.get_zorder()
    assert len(behind.get_offsets()) == 2
    np.testing.assert_allclose(color_of(display, X[1]), color_of(display, X[4]))


def test_labels_that_are_all_missing():
    assert legend_texts(_draw(_normal(3), [None, None, None])) == ["missing"]
    assert legend_texts(_draw(_normal(3), [np.nan, np.nan, np.nan])) == ["missing"]
    for missing in (np.nan, None):
        numbers = _draw(_normal(3), [missing] * 3, color_as="number")
        assert numbers.colorbar_ is not None and len(numbers.points_) == 1


def test_numbers_that_are_missing_are_counted_below_the_picture():
    display = _draw(_normal(4), [0.5, np.nan, 1.5, np.nan])
    assert [text.get_text() for text in display.ax_.texts] == ["2 without a number"]
    assert (display.colorbar_.vmin, display.colorbar_.vmax) == (0.5, 1.5)


@pytest.mark.parametrize("value", [0.5, 0.0, -3.25, 1e30])
def test_constant_numbers_have_a_colour_bar_around_them(value):
    display = _draw(_normal(5), np.full(5, value), color_as="number")
    assert display.colorbar_.vmin < value < display.colorbar_.vmax
    assert len(set(drawn_colors(display).values())) == 1


def test_far_numbers_do_not_shrink_the_colours_of_the_rest():
    values = np.append(np.linspace(0.0, 1.0, 99), 1e6)
    display = _draw(_normal(100), values)
    assert display.colorbar_.vmax == 1.0
    assert display.colorbar_.extend == "max"
    infinite = _draw(_normal(3), [0.5, np.inf, 1.0])
    assert (infinite.colorbar_.vmax, infinite.colorbar_.extend) == (1.0, "max")


TEXTS = {
    "html": "<script>alert('x')</script> & <b>bold</b>",
    "mathematics": r"$\frac{1}{2}$ and $\unknown{",
    "one dollar": "5 $ a piece",
    "underscore": "_hidden",
    "accents": "Ångström, Ünïcödé, Žluťoučký kůň, Ελλάδα",
    "lines": "two\nlines\tand a tab",
    "control": "a\x00b\x1b[31m",
    "surrogate": "half \ud800 pair",
    "percent": "100 %s %d {0} \\n",
    "empty": "",
}
SHOWN = {
    "lines": "two lines and a tab",
    "control": "a b [31m",
    "surrogate": "half pair",
    "html": "<script>alert('x')</…<b>bold</b>",
    "accents": "Ångström, Ünïcödé, Ž…kůň, Ελλάδα",
}


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_are_shown_as_they_are(kind):
    text, shown = TEXTS[kind], SHOWN.get(kind, TEXTS[kind])
    X = _normal(12)
    y = np.array(["other one", text] * 6, dtype=object)
    display = _draw(X, y, color_name=text or "x")
    assert shown in legend_texts(display)
    on_map = EmbeddingDisplay.from_embedding(X, y, labels="map")
    assert shown in {label.get_text() for label in on_map.labels_}
    named = _draw(X[:, :1], y, names=y, annotate=[1])
    assert [label.get_text() for label in named.labels_] == [shown]
    strips = [label.get_text() for label in named.ax_.get_yticklabels()]
    assert shown in strips


def test_a_label_of_10000_characters_is_cut():
    long = "word " * 2000
    display = _draw(_normal(4), [long, long + "!", "b", "c"], names=[long] * 4, annotate=[0])
    texts = [*legend_texts(display), display.labels_[0].get_text()]
    assert max(map(len, texts)) <= 32
    assert texts[-1].startswith("word word") and "…" in texts[-1]
    # they differ beyond the cut, and stay two classes
    assert len(texts) == 5
    width = display.legend_.get_window_extent().width
    assert width < 0.6 * display.figure_.bbox.width


def test_missing_labels_in_a_list_of_texts_are_missing():
    display = _draw(_normal(3), ["a", float("nan"), "b"])
    assert legend_texts(display) == ["a", "b", "missing"]


def test_missing_and_other_have_greys_of_their_own():
    X = _normal(63)
    y = np.array([*np.repeat(np.arange(30), 2), None, None, None], dtype=object)
    display = _draw(X, y)
    assert legend_texts(display)[-2:] == ["other (11 classes)", "missing"]
    greys = [color_of(display, X[k]) for k in (58, 62)]
    assert greys[0] != greys[1]
    np.testing.assert_allclose(greys[1], to_rgb(LIGHT.missing), atol=1e-4)
