"""Two embeddings of the same items, side by side."""

from __future__ import annotations

import numpy as np

from skmde.metrics.alignment import align
from skmde.plotting.drawing.arguments import (
    fitted_embedding,
    last_step,
    read_embedding,
    read_integer,
    read_names,
)
from skmde.plotting.drawing.axes import open_panels, require_matplotlib
from skmde.plotting.drawing.colors import read_coloring
from skmde.plotting.drawing.map import Map
from skmde.plotting.drawing.texts import one_line, set_literal
from skmde.plotting.drawing.view import view_of


class CompareEmbeddingsDisplay:
    """Two embeddings of the same items, the second one aligned with the first.

    The second embedding is scaled to the size of the first, that is, to its root mean square. It is
    rotated, reflected and shifted so that it is nearest to the first (:func:`skmde.metrics.align`).
    Lines lead from the positions in the first to those in the second, for the items that moved
    most.

    Parameters
    ----------
    first, second : ndarray of shape (n_items, n_components)
        The embeddings, with two or three components; the second one is aligned.
    titles : tuple of (str, str)
        Names of the embeddings.
    coloring : Classes, Numbers or None, default=None
        What the points are coloured by.
    color_name : str, default=None
        Title of the legend or of the colour bar.
    names : list of str, default=None
        Texts of the items.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes of shape (2,)
        What was drawn on.
    figure_ : matplotlib Figure
        The figure of the axes.
    distances_ : ndarray of shape (n_items,)
        How far each item moved, in units of the first embedding.
    moved_ : ndarray of int of shape (n_lines,)
        The items that moved most, the farthest first.
    lines_ : matplotlib LineCollection
        Their lines.
    legend_, colorbar_ : matplotlib Legend and Colorbar, or None
        What explains the colours.

    See Also
    --------
    EmbeddingDisplay : Picture of an embedding with one, two or three components.
    animate : Make a film of the snapshots of an embedding.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from skmde.plotting import CompareEmbeddingsDisplay
    >>> first = np.random.default_rng(0).normal(size=(50, 2))
    >>> second = 3.0 * first @ [[0.0, 1.0], [-1.0, 0.0]]
    >>> second[7] += 5.0
    >>> display = CompareEmbeddingsDisplay.from_embeddings(first, second, n_lines=1)
    >>> display.moved_
    array([7])
    """

    def __init__(
        self,
        first,
        second,
        *,
        titles=("first", "second"),
        coloring=None,
        color_name=None,
        names=None,
    ):
        self.first = first
        self.second = second
        self.titles = titles
        self.coloring = coloring
        self.color_name = color_name
        self.names = names

    @classmethod
    def from_estimators(cls, first, second, color_by=None, *, titles=None, **options):
        """Draw the embeddings of two fitted estimators.

        Parameters
        ----------
        first, second : estimator
            Fitted estimators with the attribute `embedding_`, or pipelines that end in one.
        color_by : array-like of shape (n_items,), default=None
            As for `from_embeddings`.
        titles : tuple of (str, str), default=None
            Names of the embeddings; None takes the names of the classes.
        **options : dict
            Further arguments of `from_embeddings`.

        Returns
        -------
        CompareEmbeddingsDisplay
            The display, drawn.
        """
        require_matplotlib()
        embeddings = fitted_embedding(first), fitted_embedding(second)
        if titles is None:
            titles = type(last_step(first)).__name__, type(last_step(second)).__name__
            if titles[0] == titles[1]:
                titles = f"{titles[0]}, first", f"{titles[1]}, second"
        return cls.from_embeddings(*embeddings, color_by, titles=titles, **options)

    @classmethod
    def from_embeddings(
        cls,
        first,
        second,
        color_by=None,
        *,
        titles=("first", "second"),
        scaling=True,
        color_as="auto",
        color_name=None,
        names=None,
        **options,
    ):
        """Draw two embeddings.

        Parameters
        ----------
        first, second : array-like of shape (n_items, n_components)
            Embeddings of the same items, in the same order, with two or three components.
        color_by : array-like of shape (n_items,), default=None
            Class or number of each item.
        titles : tuple of (str, str), default=("first", "second")
            Names of the embeddings.
        scaling : bool, default=True
            Whether the second embedding is scaled to the size of the first. Use False if both have
            the same unit.
        color_as : {"auto", "class", "number"}, default="auto"
            As for :class:`EmbeddingDisplay`.
        color_name : str, default=None
            Title of the legend or of the colour bar.
        names : array-like of shape (n_items,), default=None
            Texts of the items that moved most. If None, none is written.
        **options : dict
            Arguments of `plot`.

        Returns
        -------
        CompareEmbeddingsDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the shapes differ, or there is one component.
        """
        require_matplotlib()
        X, Y = read_embedding(first, "first"), read_embedding(second, "second")
        if X.shape != Y.shape:
            raise ValueError(
                f"first has shape {X.shape} and second {Y.shape}; they must have the same items in "
                "the same order and the same number of components."
            )
        if X.shape[1] == 1:
            raise ValueError("Embeddings of two or three components are compared; got one.")
        if isinstance(titles, str) or len(titles) != 2:
            raise ValueError(f"titles must be two texts; got {titles!r}.")
        display = cls(
            X,
            align(Y * _scale_to(X, Y) if scaling else Y, X),
            titles=tuple(titles),
            coloring=read_coloring(color_by, len(X), color_as),
            color_name=color_name,
            names=read_names(names, len(X)),
        )
        return display.plot(**options)

    def plot(
        self,
        ax=None,
        *,
        theme="auto",
        n_lines=30,
        labels="legend",
        palette=None,
        max_classes=20,
        cmap=None,
        marker_size=None,
        alpha=None,
        density="auto",
        view="robust",
    ):
        """Draw both embeddings, and lines of the items that moved most.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of two, default=None
            Where to draw. One axes gives its place to two; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            Colours of the page. "auto" follows the background of the figure.
        n_lines : int, default=30
            Number of items whose way from the first to the second embedding is drawn.
        labels : {"legend", "map", "none"}, default="legend"
            Whether the names of the classes are in a legend or on the maps.
        palette : list or dict of colours, default=None
            Colours of the classes, as for :meth:`EmbeddingDisplay.plot`.
        max_classes : int, default=20
            If there are more classes, the largest have colours and the rest is "other". The
            palettes have 20 colours; for more classes pass a `palette` of your own, too.
        cmap : str or matplotlib Colormap, default=None
            Colours of numbers; None is viridis.
        marker_size, alpha : float, default=None
            Area of a marker, in square points, and opacity; None suits the number of points.
        density : {"auto", True, False}, default="auto"
            Whether the points are drawn as images of their density, as for
            :meth:`EmbeddingDisplay.plot`.
        view : {"robust", "all"}, default="robust"
            Whether points that are far from all others, in one of the embeddings, are left outside.

        Returns
        -------
        CompareEmbeddingsDisplay
            The display, with the attributes of what was drawn.
        """
        n_lines = read_integer(n_lines, "n_lines", 0)
        max_classes = read_integer(max_classes, "max_classes", 1)
        n, m = self.first.shape
        projection = "3d" if m == 3 else None
        axes, _ = open_panels(ax, theme, 2, size=(11.0, 5.2), projection=projection)
        self.distances_ = np.linalg.norm(self.second - self.first, axis=1)
        common = view_of(np.concatenate([self.first, self.second]), view)
        self.moved_ = np.argsort(-self.distances_, kind="stable")[:n_lines]
        maps = []
        for k, (panel, X) in enumerate(zip(axes, (self.first, self.second), strict=True)):
            each = common._replace(outside=common.outside[k * n : (k + 1) * n])
            drawn = Map(X, panel, theme, each)
            drawn.draw_points(
                self.coloring,
                palette=palette,
                max_classes=max_classes,
                cmap=cmap,
                size=marker_size,
                alpha=alpha,
                density=density,
            )
            drawn.draw_outside()
            set_literal(panel.title, one_line(self.titles[k], 60))
            panel.title.set_fontsize(11)
            maps.append(drawn)
        self.lines_ = self._draw_lines(maps, common.outside)
        maps[1].explain_colors(labels, self.color_name)
        for drawn in maps:
            if labels == "map":
                drawn.name_classes()
        if self.names is not None:
            maps[1].name_items(self.moved_, [self.names[i] for i in self.moved_])
        if len(self.moved_):
            moved = f"lines from the first: the {len(self.moved_)} items that moved most"
            maps[1].notes.insert(0, moved)
        for drawn in maps:
            drawn.write_note()
        self.ax_, self.figure_ = axes, axes[0].figure
        self.legend_, self.colorbar_ = maps[1].legend, maps[1].colorbar
        return self

    def _draw_lines(self, maps, outside):
        """Rings at the items that moved most, in both panels, and their ways, in the second."""
        n, m = self.first.shape
        seen = self.moved_[~(outside[:n] | outside[n:])[self.moved_]]
        theme = maps[1].theme
        ring = {"facecolors": "none", "edgecolors": theme.text, "linewidths": 0.8, "zorder": 4}
        ring["s"] = 2.2 * max(maps[1].marker_area, 6.0)
        for drawn, X in zip(maps, (self.first, self.second), strict=True):
            drawn.ax.scatter(*X[seen].T, **ring)
        if m == 3:
            from mpl_toolkits.mplot3d.art3d import Line3DCollection as Lines
        else:
            from matplotlib.collections import LineCollection as Lines
        ways = np.stack([self.first[seen], self.second[seen]], axis=1)
        lines = Lines(ways, colors=theme.text, linewidths=0.8, alpha=0.7, zorder=3)
        return maps[1].ax.add_collection(lines, autolim=False)


def _scale_to(X, Y):
    """The factor that gives Y the root mean square of X, both centred; 1 for a single position."""
    sizes = [np.linalg.norm(Z - Z.mean(axis=0)) for Z in (X, Y)]
    return sizes[0] / sizes[1] if min(sizes) > 0 else 1.0
