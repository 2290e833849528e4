"""What tests of several displays ask of a picture."""

import io
import warnings

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.text import Text


def pixels(display):
    """RGB of the picture, as it would be saved; a warning of matplotlib is an error."""
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.savefig(buffer, dpi=50, format="png")
    buffer.seek(0)
    return plt.imread(buffer)[..., :3]


def legend_texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def legend_colors(display):
    return [to_rgba(handle.get_color()) for handle in display.legend_.legend_handles]


def drawn_colors(display):
    """Colour without opacity, and position, of each marker."""
    found = []
    for points in display.points_:
        offsets = np.asarray(points.get_offsets())
        colors = np.broadcast_to(points.get_facecolors()[:, :3], (len(offsets), 3))
        found += zip(map(tuple, np.round(offsets, 6)), map(tuple, np.round(colors, 4)), strict=True)
    return dict(found)


def color_of(display, position):
    return drawn_colors(display)[tuple(np.round(np.asarray(position, float), 6))]


def boxes(artists):
    """Left, bottom, right and top of texts, in pixels."""
    return np.array([Text.get_window_extent(artist).extents for artist in artists])


def overlaps(one, other):
    return bool(
        (one[0] < other[2]) and (other[0] < one[2]) and (one[1] < other[3]) and (other[1] < one[3])
    )
