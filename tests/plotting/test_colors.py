"""Palettes: colours differ for every kind of sight, and from the page."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from skmde.plotting.drawing.colors import Numbers, number_colors, read_coloring
from skmde.plotting.drawing.theme import DARK, LIGHT, palette_for, theme_of_background

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# Björn Ottosson's OKLab: Euclidean distances are differences that are seen.
TO_CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]
PALETTES = [(theme, palette) for theme in (LIGHT, DARK) for palette in theme.palettes]
IDS = [f"{theme.name}-{len(palette)}" for theme, palette in PALETTES]


def _linear(colors):
    values = np.array([to_rgb(color) for color in colors])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _seen(colors, sight):
    light = np.clip(_linear(colors) @ np.transpose(SIGHTS[sight]), 0, 1)
    return np.cbrt(light @ np.transpose(TO_CONES)) @ np.transpose(TO_LAB)


def _smallest_difference(colors, sight):
    seen = _seen(colors, sight)
    differences = np.linalg.norm(seen[:, None] - seen[None], axis=2)
    return differences[np.triu_indices(len(colors), 1)].min()


def _contrast(one, other):
    luminance = np.sort(_linear([one, other]) @ [0.2126, 0.7152, 0.0722])
    return (luminance[1] + 0.05) / (luminance[0] + 0.05)


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize(("theme", "palette"), PALETTES, ids=IDS)
def test_colours_of_a_palette_and_the_grey_of_other_differ(theme, palette, sight):
    least = {6: 0.08, 10: 0.08, 20: 0.045}[len(palette)]
    assert _smallest_difference([*palette, theme.other], sight) >= least


def test_matplotlibs_own_palette_would_not_pass():
    import matplotlib

    tab10 = matplotlib.colormaps["tab10"].colors
    assert min(_smallest_difference(tab10, sight) for sight in SIGHTS) < 0.02


@pytest.mark.parametrize(("theme", "palette"), PALETTES, ids=IDS)
def test_colours_contrast_with_the_page(theme, palette):
    assert min(_contrast(color, theme.background) for color in palette) >= 1.9


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_texts_can_be_read(theme):
    assert _contrast(theme.text, theme.background) >= 12
    assert _contrast(theme.muted, theme.background) >= 4.5
    assert _contrast(theme.accent, theme.background) >= 4.5


@pytest.mark.parametrize(
    ("n_classes", "size"), [(1, 6), (6, 6), (7, 10), (10, 10), (11, 20), (20, 20), (300, 20)]
)
def test_the_number_of_classes_chooses_the_palette(n_classes, size):
    assert len(palette_for(LIGHT, n_classes)) == size


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_colours_of_numbers_get_lighter_and_stay_apart_from_the_page(theme):
    values = np.linspace(0.0, 1.0, 50)
    mappable, extend = number_colors(values, theme)
    assert extend == "neither"
    colors = mappable.to_rgba(values)[:, :3]
    assert (np.diff(_seen(colors, "normal")[:, 0]) > 0).all()
    assert min(_contrast(color, theme.background) for color in colors) >= 1.3


@pytest.mark.parametrize(
    ("color", "theme"),
    [("white", LIGHT), ("0.6", LIGHT), ("black", DARK), ("#002b36", DARK), ("0.3", DARK)],
)
def test_theme_of_a_background(color, theme):
    assert theme_of_background((*to_rgb(color), 1.0)) is theme
    assert theme_of_background((*to_rgb(color), 0.0)) is LIGHT


def test_numbers_are_numbers_in_every_unit():
    numbers = np.random.default_rng(0).normal(size=30)
    for unit in (1e-30, 1.0, 1e30):
        assert isinstance(read_coloring(unit * numbers, 30), Numbers)


def test_days_are_written_as_dates():
    days = np.array(["2020-01-02", "2020-01-01", "NaT"], dtype="M8[ns]")
    assert read_coloring(days, 3).names == ["2020-01-01", "2020-01-02"]
