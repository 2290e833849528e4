"""Light and dark: the colours of the page, and the palettes of classes and numbers.

The palettes were found by a search that keeps colours apart for normal vision and for the three
kinds of colour blindness (simulated as by Machado, Oliveira and Fernandes, 2009), and from the
background and the grey of "other". tests/plotting/test_colors.py measures this. A palette of few
colours keeps them further apart than one of many, so the number of classes chooses the palette.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Theme(NamedTuple):
    """Colours of a picture.

    Parameters
    ----------
    name : str
    background, text, muted, frame : str
        Behind everything; titles and labels; what is less important; frames and grids.
    point, accent : str
        Points without a class, and what a picture points out.
    other, missing : str
        Points of classes without a colour of their own, and without a class.
    palettes : tuple of tuple of str
        Palettes of 6, 10 and 20 colours.
    shades : tuple of (float, float)
        The part of the colour map of numbers that differs from the background.
    """

    name: str
    background: str
    text: str
    muted: str
    frame: str
    point: str
    accent: str
    other: str
    missing: str
    palettes: tuple
    shades: tuple


def _palettes(*texts):
    return tuple(tuple(text.split()) for text in texts)


LIGHT = Theme(
    name="light",
    background="#FFFFFF",
    text="#1B1F26",
    muted="#646B78",
    frame="#C9CDD4",
    point="#2C6CB0",
    accent="#C3142D",
    other="#C4C4C4",
    missing="#DEDEDE",
    palettes=_palettes(
        "#15528D #F38D00 #1B8D83 #A60028 #874CE3 #4BA7FD",
        "#0A598B #FF880E #48846B #D94027 #9F4EED #38B4FD #B886BA #613B02 #89B57E #261274",
        "#0F74EA #FCA80E #29192F #70702A #18C6FD #451898 #F84A87 #8E0058 #878CC7 #57331A "
        "#4350B5 #97C086 #918B29 #925580 #CBA4D6 #646AB1 #804C4C #5FA5A7 #349667 #504672",
    ),
    shades=(0.0, 0.9),
)
DARK = Theme(
    name="dark",
    background="#14171C",
    text="#E8EAEE",
    muted="#9AA2B1",
    frame="#434A57",
    point="#6FB1F2",
    accent="#FF6B70",
    other="#565B63",
    missing="#3C4048",
    palettes=_palettes(
        "#2F8FB3 #C08407 #36C292 #D8232B #7E55E7 #96D1FA",
        "#4498CE #FC7F17 #177E2B #C26983 #852DBB #A3B3FB #FDC1CA #B6A893 #F8F264 #876BFD",
        "#1E55C1 #DCF5D1 #B0781B #35BABB #987BFE #B71466 #9BD32E #3F81BE #20EDFC #156A06 "
        "#868291 #ACA058 #7D55F3 #5C9EDB #9FB5F0 #F1B288 #7B409B #D35E6C #F5D99B #D19D8D",
    ),
    shades=(0.16, 1.0),
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def palette_for(theme, n_classes):
    """The smallest palette of a theme that has a colour for each class, or the largest one."""
    fitting = [palette for palette in theme.palettes if len(palette) >= n_classes]
    return fitting[0] if fitting else theme.palettes[-1]


def theme_of_background(color):
    """The theme that suits a background: dark if the colour's luminance is below that of 50% grey.

    Parameters
    ----------
    color : tuple of float
        RGBA. A transparent background counts as light.
    """
    red, green, blue, alpha = color
    luminance = np.dot([0.2126, 0.7152, 0.0722], np.square([red, green, blue]))
    return DARK if alpha > 0.5 and luminance < 0.21 else LIGHT
