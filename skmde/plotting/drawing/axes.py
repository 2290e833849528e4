"""Axes to draw on: matplotlib, imported here on first use, new figures, and their theme."""

from __future__ import annotations

import numpy as np

from skmde.plotting.drawing.theme import THEMES, theme_of_background

POINTS_PER_INCH = 72


def require_matplotlib():
    """Import matplotlib's pyplot.

    Returns
    -------
    module
        ``matplotlib.pyplot``.

    Raises
    ------
    ImportError
        If matplotlib is not installed. The message names the extra that installs it.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "skmde.plotting draws with matplotlib, which is not installed; install it by "
            'pip install "skmde[plot]".'
        ) from error
    return plt


def open_axes(ax, theme, *, size=(6.4, 6.0), projection=None):
    """The axes to draw on, and their theme.

    Parameters
    ----------
    ax : matplotlib Axes or None
        None makes a new figure, which pyplot knows and shows.
    theme : {"auto", "light", "dark"}
        "auto" follows the background of the figure.
    size : tuple of (float, float)
        Width and height of a new figure, in inches.
    projection : {None, "3d"}
        Kind of the axes.

    Returns
    -------
    ax : matplotlib Axes
    theme : Theme
    """
    ((ax,), theme) = open_panels(ax, theme, 1, size=size, projection=projection)
    return ax, theme


def open_panels(ax, theme, n_panels, *, size, projection=None, stacked=False):
    """As `open_axes`, for several axes beside or below each other.

    Parameters
    ----------
    ax : matplotlib Axes, sequence of them, or None
        One axes gives its place to all panels.
    theme, size, projection
        As for `open_axes`.
    n_panels : int
    stacked : bool
        Whether the panels are below each other.

    Returns
    -------
    axes : ndarray of matplotlib Axes of shape (n_panels,)
    theme : Theme
    """
    plt = require_matplotlib()
    if theme != "auto" and theme not in THEMES:
        raise ValueError(f'theme must be "auto", "light" or "dark"; got {theme!r}.')
    shape = (n_panels, 1) if stacked else (1, n_panels)
    if ax is None:
        figure = plt.figure(figsize=size, layout="constrained")
        axes = figure.subplots(*shape, squeeze=False, subplot_kw={"projection": projection}).ravel()
    else:
        axes = np.ravel(np.asarray(ax, dtype=object))
        if n_panels > 1 and len(axes) == 1:
            axes = _divided(axes[0], shape, projection)
    if len(axes) != n_panels:
        raise ValueError(
            f"This display has {n_panels} panels; pass one axes or {n_panels}. Got {len(axes)}."
        )
    for panel in axes:
        if not hasattr(panel, "transData"):
            raise TypeError(f"ax must be a matplotlib Axes; got {type(panel).__name__}.")
        if (projection == "3d") != (panel.name == "3d"):
            raise ValueError(
                f"An embedding with {3 if projection else 'one or two'} components needs axes of "
                f"projection={projection!r}; got {panel.name!r}."
            )
    background = axes[0].figure.get_facecolor()
    chosen = theme_of_background(background) if theme == "auto" else THEMES[theme]
    if theme != "auto" or ax is None:
        axes[0].figure.set_facecolor(chosen.background)
    for panel in axes:
        _apply(chosen, panel)
    return axes, chosen


def _divided(ax, shape, projection):
    """Axes in the place of one axes, which is removed."""
    place = ax.get_subplotspec()
    if place is None:
        raise ValueError("ax must lie in a grid, as those of plt.subplots do, to be divided.")
    figure = ax.figure
    ax.remove()
    grid = place.subgridspec(*shape)
    return np.array([figure.add_subplot(cell, projection=projection) for cell in grid])


def _apply(theme, ax):
    """Colours of the theme for an axes: background, frame, ticks and texts."""
    ax.set_facecolor(theme.background)
    ax.tick_params(which="both", colors=theme.muted, labelcolor=theme.muted, labelsize=9)
    for spine in ax.spines.values():
        spine.set_color(theme.frame)
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_color(theme.text)


def set_diagram(ax, xlabel, ylabel, title=None):
    """Label an axes that is a diagram, without the upper and right sides of its frame."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_axisbelow(True)
    if title:
        ax.set_title(title, fontsize=9, loc="left", color=ax.xaxis.label.get_color())


def add_legend(ax, theme, **options):
    """The legend of a diagram, in the theme's colours; texts are literal."""
    legend = ax.legend(frameon=False, fontsize=9, labelcolor=theme.text, **options)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def lay_out(ax):
    """Let the figure's layout decide the sizes of its axes now, and not first when it is drawn."""
    figure = root_figure(ax)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def size_in_points(ax):
    """Width and height of an axes, in points."""
    ax.apply_aspect()
    box = ax.get_window_extent()
    return np.array([box.width, box.height]) * (POINTS_PER_INCH / ax.figure.dpi)


def area_in_points(ax):
    """Width times height of an axes, in square points."""
    return float(size_in_points(ax).prod())


def root_figure(ax):
    """The figure of an axes, also if it lies in a subfigure."""
    figure = ax.figure
    while figure.figure is not figure:
        figure = figure.figure
    return figure


def add_note(ax, note, theme):
    """A small text below the lower right corner of the axes."""
    if not note:
        return None
    options = {"ha": "right", "va": "top", "fontsize": 8, "color": theme.muted}
    place = {"xycoords": "axes fraction", "textcoords": "offset points"}
    return ax.annotate(note, (1, 0), xytext=(0, -4), **place, **options)
