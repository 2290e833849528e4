"""Texts of the user, shown as they are, and labels that do not overlap.

A text may be anything: long, of several lines, with dollar signs (which matplotlib would read as
mathematics) or a leading underscore (which its legends leave out). It is shown literally, in one
line, and cut where it is too long.
"""

from __future__ import annotations

import numpy as np

from skmde.plotting.drawing.axes import POINTS_PER_INCH, root_figure

LONGEST = 32  # characters of a label
_ANGLES = np.radians([0, 180, 90, 270, 45, 135, 315, 225, 22, 158, 338, 202, 67, 113, 293, 247])
_RINGS = (1.0, 1.6, 2.4, 3.4, 4.6, 6.0)  # distances of a label from its point, in lines of text
_GAP = 2.0  # points between a marker and its label


def one_line(text, longest=LONGEST):
    """A text without breaks and control characters, with an ellipsis for its middle if it is long.

    Both ends are kept, as names that begin alike often end differently.
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    if len(line) <= longest:
        return line
    n_last = longest // 3 + 1
    return f"{line[: longest - n_last - 1].rstrip()}…{line[-n_last:].lstrip()}"


def set_literal(artist, text):
    """Show a text as it is: no mathematics, no special meaning of its first character."""
    artist.set_parse_math(False)
    artist.set_usetex(False)
    artist.set_text(text)


def place_labels(ax, points, texts, theme, *, obstacles=None, taken=None, **style):
    """Write labels at points so that they overlap neither each other nor the frame.

    Parameters
    ----------
    ax : matplotlib Axes
    points : ndarray of shape (n_labels, 2)
        In units of the data; of an axes in three dimensions, projected ones.
    texts : list of str
        The first ones have precedence.
    theme : Theme
    obstacles : tuple of (ndarray of shape (n_obstacles, 2), float), default=None
        Points that no label may cover, and the radius of their markers, in points. If None, a label
        may cover any points, and best lies on its own, as names of classes do.
    taken : list of ndarray of shape (4,), default=None
        Boxes of earlier labels, in pixels: left, bottom, right and top. Those of the new ones are
        appended.
    **style : dict
        Passed to matplotlib's texts.

    Returns
    -------
    artists : list of matplotlib Annotation
        Labels for which there is no room are left out.
    """
    from matplotlib.patheffects import withStroke
    from matplotlib.text import Text

    halo = [withStroke(linewidth=2.6, foreground=theme.background)]
    style = {"fontsize": 9, "color": theme.text, "path_effects": halo, "zorder": 6, **style}
    figure = root_figure(ax)
    figure.draw_without_rendering()  # the layout decides where the points are
    unit = figure.dpi / POINTS_PER_INCH
    frame = ax.get_window_extent()
    pixels = ax.transData.transform(points)
    markers, gap = np.empty((0, 2)), None
    if obstacles is not None:
        markers, gap = ax.transData.transform(obstacles[0]), (obstacles[1] + _GAP) * unit
    taken, artists = [] if taken is None else taken, []
    for point, pixel, text in zip(points, pixels, texts, strict=True):
        artist = ax.annotate(
            "",
            point,
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": theme.muted,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 2,
                "visible": False,
            },
            **style,
        )
        set_literal(artist, text)
        box = Text.get_window_extent(artist)  # without the line to the point
        size = np.array([box.width, box.height])
        found = _free_place(pixel, size, gap, taken, markers, frame)
        if found is None:
            artist.remove()
            continue
        offset, box = found
        artist.set_position(tuple(offset / unit))
        artist.arrow_patch.set_visible(np.hypot(*offset) > 0.5 * size[0] + 1.2 * size[1])
        taken.append(box)
        artists.append(artist)
    return artists


def _free_place(pixel, size, gap, taken, markers, frame):
    """The first offset of a label's centre, in pixels, at which it covers nothing."""
    offsets = [np.zeros(2)] if gap is None else []
    for ring in _RINGS:
        reach = size / 2 + (ring - 1.0) * size[1] + (gap or 0.0)
        offsets += [reach * [np.cos(angle), np.sin(angle)] for angle in _ANGLES]
    corners = np.array(frame.extents).reshape(2, 2)
    others = np.array(taken).reshape(-1, 4)
    radius = 0.5 * (gap or 0.0)
    for offset in offsets:
        low, high = pixel + offset - size / 2, pixel + offset + size / 2
        if (low < corners[0]).any() or (high > corners[1]).any():
            continue
        apart = (others[:, 2:] <= low).any(axis=1) | (others[:, :2] >= high).any(axis=1)
        covered = ((markers > low - radius) & (markers < high + radius)).all(axis=1)
        if apart.all() and not covered.any():
            return offset, np.concatenate([low, high])
    return None
