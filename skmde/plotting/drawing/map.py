"""A map: the points of an embedding on an axes, with what explains them."""

from __future__ import annotations

import numpy as np

from skmde.plotting.drawing.axes import (
    add_note,
    area_in_points,
    lay_out,
    open_axes,
    size_in_points,
)
from skmde.plotting.drawing.colors import Classes, Numbers, legend_entries, number_colors
from skmde.plotting.drawing.points import MOST_MARKERS, draw_density, draw_markers, marker_size
from skmde.plotting.drawing.texts import one_line, place_labels, set_literal
from skmde.plotting.drawing.view import directions_outside, fill_box, view_of

_MOST_IN_SPACE = 50_000  # matplotlib sorts the points of three components one by one
_STRIP = 0.84  # height of a strip of points with one component
_FONT_SIZE = 9
_FEW = 300  # of at most as many points, labels cover none
_SHORTEST = 1e-29  # side of a view for which matplotlib keeps units equal
_CELLS = 24  # of a side of the grid on which the densest place of a class is found


class Map:
    """The axes, limits and artists of a picture of an embedding.

    Parameters
    ----------
    X : ndarray of float64 of shape (n_items, n_components)
        With 1 to 3 components.
    ax, theme
        As for `open_axes`.
    view : {"robust", "all"} or View
        As for `view_of`, or limits that are known. On given axes, a view of two components is
        widened to their proportions, so that maps side by side have frames of one shape.
    n_strips : int, default=1
        Number of strips of points, if there is one component.
    """

    def __init__(self, X, ax, theme, view, n_strips=1):
        self.view = view_of(X, view) if isinstance(view, str) else view
        projection = "3d" if X.shape[1] == 3 else None
        size = (6.4, 1.6 + 0.34 * n_strips) if X.shape[1] == 1 else (6.4, 5.6)
        self.ax, self.theme = open_axes(ax, theme, projection=projection, size=size)
        lay_out(self.ax)
        if X.shape[1] == 2 and ax is not None and isinstance(view, str):
            self.view = fill_box(self.view, size_in_points(self.ax))
        self.X, self.entries, self.notes = X, [], []
        self.points, self.legend, self.colorbar, self.edges = [], None, None, None
        self._mappable, self.marker_area, self._taken = None, 0.0, []
        self._set_frame()

    def _set_frame(self):
        ax, (low, high) = self.ax, (self.view.low, self.view.high)
        ax.set_xlim(low[0], high[0])
        if self.X.shape[1] == 1:
            ax.set(yticks=[])
            ax.spines[["left", "right", "top"]].set_visible(False)
            return
        ax.set_ylim(low[1], high[1])
        if self.X.shape[1] == 2:
            ax.set(xticks=[], yticks=[])
            ax.set_aspect("equal", adjustable="box")
            width, height = high - low
            if min(width, height) < _SHORTEST:
                ax.set_aspect("auto")
                ax.set_box_aspect(height / width)
            return
        ax.set_zlim(low[2], high[2])
        sides = high / 2 - low / 2
        ax.set_box_aspect(sides / sides.max())  # of which squares are taken
        ax.computed_zorder = False  # lines and rings lie above the points, as in the plane
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_ticks([])
            axis.set_pane_color(self.theme.background)
            axis.line.set_color(self.theme.frame)
            axis.pane.set_edgecolor(self.theme.frame)
        ax.grid(False)
        ax.M = ax.get_proj()  # for the layout, which comes before the axes are drawn

    def draw_points(self, coloring, *, palette, max_classes, cmap, size, alpha, density):
        """Draw the points that are within the view, coloured by classes, numbers or not at all."""
        from matplotlib.colors import to_rgba

        n, theme = len(self.X), self.theme
        colors = np.tile(to_rgba(theme.point), (n, 1)).astype(np.float32)
        behind = np.zeros(n, dtype=bool)  # points of no class lie behind the others
        if isinstance(coloring, Classes):
            options = {"palette": palette, "max_classes": max_classes}
            self.entries = legend_entries(coloring, theme, **options)
            for entry in self.entries:
                colors[entry.items] = to_rgba(entry.color)
                behind |= entry.items & (not entry.is_class)
        elif isinstance(coloring, Numbers):
            values = coloring.values
            self._mappable = number_colors(values, theme, cmap)
            behind = np.isnan(values)
            colors[~behind] = self._mappable[0].to_rgba(values[~behind])
            colors[behind] = to_rgba(theme.missing)
            if behind.any():
                self.notes.append(f"{behind.sum():,} without a number")
        shown = ~self.view.outside
        m = self.X.shape[1]
        n_shown = int(shown.sum())
        if m == 3 and n_shown > _MOST_IN_SPACE:
            shown[np.random.default_rng(0).permutation(np.flatnonzero(shown))[_MOST_IN_SPACE:]] = 0
            self.notes.append(f"{_MOST_IN_SPACE:,} of {n_shown:,} points drawn")
        self.positions = self._strips() if m == 1 else self.X
        if m < 3 and (n_shown > MOST_MARKERS if density == "auto" else density):
            limits = np.transpose([self.ax.get_xlim(), self.ax.get_ylim()])
            self.points.append(draw_density(self.ax, self.positions[shown], colors[shown], *limits))
            return
        self.marker_area = marker_size(max(n_shown, 1), self.ax) if size is None else size
        for group, zorder in ((shown & behind, 1.5), (shown & ~behind, 2)):
            if group.any():
                style = {"size": self.marker_area, "alpha": alpha, "zorder": zorder}
                style |= {"depthshade": False} if m == 3 else {}
                self.points.append(
                    draw_markers(self.ax, self.positions[group], colors[group], theme, **style)
                )

    def _strips(self):
        """One component: a strip for each entry of the legend, as thick as the points are dense."""
        x = self.X[:, 0]
        groups = [entry.items for entry in self.entries] or [np.ones(len(x), dtype=bool)]
        y = np.zeros(len(x))
        for row, items in enumerate(groups):
            y[items] = -row + _STRIP * _offsets(x[items], self.view)
        self.ax.set_ylim(0.4 - len(groups), 0.6)
        return np.stack([x, y], axis=1)

    def draw_edges(self, pairs, n_edges, worst):
        """Draw lines between pairs of items, below the points or, if they are the worst, above."""
        if self.X.shape[1] == 1:
            raise ValueError("show_edges needs two or three components; the embedding has one.")
        ends = self.X[pairs]
        inside = ~self.view.outside[pairs].any(axis=1)
        lines, n = ends[inside], max(len(pairs), 1)
        style = {
            "colors": self.theme.accent if worst else self.theme.muted,
            "linewidths": 0.7 if worst or n < 500 else 0.4,
            "alpha": float(np.clip((20 if worst else 16) / np.sqrt(n), 0.06, 0.8)),
            "rasterized": n > 3000,
            "zorder": 3 if worst else 1,
        }
        if self.X.shape[1] == 3:
            from mpl_toolkits.mplot3d.art3d import Line3DCollection as Lines
        else:
            from matplotlib.collections import LineCollection as Lines
        self.edges = self.ax.add_collection(Lines(lines, **style), autolim=False)
        if len(pairs) < n_edges:
            which = "largest distortion" if worst else "at random"
            self.notes.append(f"{len(pairs):,} of {n_edges:,} edges, {which}")

    def explain_colors(self, labels, title):
        """Draw the colour bar of numbers, or the legend of classes if it is asked for."""
        if labels == "none":
            return
        if self._mappable is not None:
            mappable, extend = self._mappable
            bar = self.ax.figure.colorbar(
                mappable, ax=self.ax, extend=extend, fraction=0.045, pad=0.03, shrink=0.8, aspect=24
            )
            bar.outline.set_visible(False)
            bar.ax.tick_params(color=self.theme.muted, labelcolor=self.theme.text, labelsize=9)
            set_literal(bar.ax.yaxis.label, "" if title is None else one_line(title, 60))
            bar.ax.yaxis.label.set_color(self.theme.text)
            self.colorbar = bar
        elif self.entries and self.X.shape[1] == 1:
            self._name_strips()
        elif self.entries and labels == "legend":
            # a wide legend would leave no room for the map
            self._draw_legend(None if title is None else one_line(title))

    def _name_strips(self):
        names = [entry.name for entry in self.entries]
        self.ax.set_yticks(-np.arange(len(names)), names, parse_math=False)
        self.ax.tick_params(axis="y", length=0, labelcolor=self.theme.text)

    def _draw_legend(self, title):
        from matplotlib.lines import Line2D

        shown = ~self.view.outside
        entries = [entry for entry in self.entries if (entry.items & shown).any()]
        dots = [Line2D([], [], marker="o", linestyle="", color=e.color) for e in entries]
        rows = max(int(np.sqrt(area_in_points(self.ax)) / (1.5 * _FONT_SIZE)), 1)
        self.legend = self.ax.legend(
            dots,
            ["x"] * len(dots),
            title=title,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0.0,
            frameon=False,
            fontsize=_FONT_SIZE,
            title_fontsize=_FONT_SIZE,
            labelcolor=self.theme.text,
            handletextpad=0.2,
            labelspacing=0.35,
            ncols=-(-len(dots) // rows),
            alignment="left",
        )
        self.legend.get_title().set_color(self.theme.muted)
        self.legend.get_title().set_parse_math(False)
        for text, entry in zip(self.legend.get_texts(), entries, strict=True):
            set_literal(text, entry.name)

    def draw_outside(self):
        """Arrows at the frame, towards points outside the view, with their number."""
        outside = self.view.outside
        if not outside.any():
            return
        self.notes.append(f"{outside.sum():,} of {len(outside):,} points outside the view")
        if self.X.shape[1] == 3:
            return
        from matplotlib.patheffects import withStroke

        X = self.X
        if X.shape[1] == 1:
            X = np.concatenate([X, np.zeros_like(X)], axis=1)
            flat = self.view._replace(
                low=np.append(self.view.low, -1), high=np.append(self.view.high, 1)
            )
            places, counts = directions_outside(X, flat)
        else:
            places, counts = directions_outside(X, self.view)
        for place, count in zip(places, counts, strict=True):
            way = (place - 0.5) / np.linalg.norm(place - 0.5)
            self.ax.annotate(
                f"{count:,}",
                place,
                xycoords="axes fraction",
                xytext=-20 * way,
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=9,
                fontweight="bold",
                color=self.theme.text,
                path_effects=[withStroke(linewidth=3, foreground=self.theme.background)],
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": self.theme.text,
                    "linewidth": 1.0,
                    "shrinkA": 1,
                    "shrinkB": 0,
                },
                zorder=5,
            )

    def name_classes(self):
        """Write the name of each class where its points are densest."""
        shown = ~self.view.outside
        classes = [(e.name, self.X[e.items & shown]) for e in self.entries if e.is_class]
        largest_first = sorted(classes, key=lambda each: -len(each[1]))
        texts = [name for name, points in largest_first if len(points)]
        places = [densest_place(points, self.view) for _, points in largest_first if len(points)]
        self.notes += [f"grey: {e.name}" for e in self.entries if not e.is_class]
        return self._label(places, texts, fontsize=12, fontweight="bold")

    def name_items(self, items, texts):
        """Write texts beside items."""
        inside = ~self.view.outside[items]
        if not inside.all():
            n_outside = int((~inside).sum())
            self.notes.append(f"{n_outside:,} label{'s' * (n_outside > 1)} outside the view")
        texts = [one_line(text) for text, seen in zip(texts, inside, strict=True) if seen]
        few = len(self.X) <= _FEW  # then labels can avoid all points
        avoided = self.positions[~self.view.outside if few else items[inside]]
        radius = np.sqrt(self.marker_area) / 2
        places = self.positions[items[inside]]
        return self._label(places, texts, obstacles=(self._on_page(avoided), radius))

    def _on_page(self, places):
        """Positions in the two dimensions of the page."""
        places = np.asarray(places)
        if places.shape[1] < 3:
            return places
        from mpl_toolkits.mplot3d.proj3d import proj_transform

        return np.stack(proj_transform(*places.T, self.ax.get_proj())[:2], axis=1)

    def _label(self, places, texts, **style):
        if not texts:
            return []
        places = self._on_page(places)
        artists = place_labels(self.ax, places, texts, self.theme, taken=self._taken, **style)
        if len(artists) < len(texts):
            left_out = len(texts) - len(artists)
            self.notes.append(f"no room for {left_out:,} of {len(texts):,} labels")
        return artists

    def write_note(self):
        """Say below the axes what the picture leaves out."""
        add_note(self.ax, "; ".join(self.notes), self.theme)


def _offsets(x, view):
    """Offsets of points of a strip, between -1/2 and 1/2, in proportion to the density at them."""
    low, high = view.low[0], view.high[0]
    n_bins = int(np.clip(2 * np.sqrt(len(x)), 8, 120))
    cell = np.clip(((x - low) * (n_bins / (high - low))).astype(np.int64), 0, n_bins - 1)
    counts = np.bincount(cell, minlength=n_bins).astype(np.float64)
    smooth = np.convolve(np.pad(counts, 2, mode="edge"), [0.1, 0.2, 0.4, 0.2, 0.1], mode="valid")
    spread = np.random.default_rng(0).uniform(-0.5, 0.5, len(x))
    return spread * (smooth / smooth.max())[cell]


def densest_place(X, view):
    """The middle of the densest part of a class: the mean of its points close to the mode.

    Counts on a grid over the view are smoothed over a third of the standard deviation of the class.

    Parameters
    ----------
    X : ndarray of shape (n_points, n_components)
        Points of one class, within the view.
    view : View

    Returns
    -------
    ndarray of shape (n_components,)
    """
    grid = ((X - view.low) / (view.high - view.low) * _CELLS).astype(np.int64).clip(0, _CELLS - 1)
    cells, members = np.unique(grid, axis=0, return_inverse=True)
    counts = np.bincount(members.ravel())
    width = max(np.sqrt(grid.var(axis=0).sum()) / 3, 1.0)
    squares = ((cells[:, None] - cells[None]) ** 2).sum(axis=2)
    mode = cells[(np.exp(-squares / (2 * width**2)) @ counts).argmax()]
    return X[(np.abs(grid - mode) <= 1).all(axis=1)].mean(axis=0)
