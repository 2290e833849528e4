"""The picture of an embedding."""

from __future__ import annotations

import numpy as np

from skmde.plotting.drawing.arguments import (
    attracting_edges,
    fitted_embedding,
    last_step,
    pair_distortions,
    read_edges,
    read_embedding,
    read_integer,
    read_items,
    read_names,
    read_numbers,
)
from skmde.plotting.drawing.axes import require_matplotlib
from skmde.plotting.drawing.colors import read_coloring
from skmde.plotting.drawing.map import Map

_EDGES = (None, "all", "sample", "worst")
_LABELS = ("legend", "map", "none")


class EmbeddingDisplay:
    """Picture of an embedding with one, two or three components.

    Use :meth:`from_estimator` or :meth:`from_embedding`; they check and store what is drawn, and
    draw it. :meth:`plot` draws it again, on other axes or in another way.

    Parameters
    ----------
    embedding : ndarray of shape (n_items, n_components)
        Positions of the items.
    coloring : Classes, Numbers or None, default=None
        What the points are coloured by.
    color_name : str, default=None
        Title of the legend or of the colour bar.
    names : list of str, default=None
        Texts of the items.
    edges : ndarray of int of shape (n_edges, 2), default=None
        Pairs of items.
    distortions : ndarray of shape (n_edges,), default=None
        Distortion of each pair.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What was drawn on.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    points_ : list of matplotlib artists
        The points.
    legend_, colorbar_ : matplotlib Legend and Colorbar, or None
        What explains the colours.
    labels_ : list of matplotlib Annotation
        Names of classes, then those of annotated items.
    n_outside_ : int
        Number of points outside the view.

    See Also
    --------
    CompareEmbeddingsDisplay : Two embeddings of the same items.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from skmde import PreserveNeighbors
    >>> from skmde.plotting import EmbeddingDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = PreserveNeighbors(random_state=0).fit(X)
    >>> display = EmbeddingDisplay.from_estimator(estimator, y, color_name="species")
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ['0', '1', '2']
    """

    def __init__(
        self,
        embedding,
        *,
        coloring=None,
        color_name=None,
        names=None,
        edges=None,
        distortions=None,
    ):
        self.embedding = embedding
        self.coloring = coloring
        self.color_name = color_name
        self.names = names
        self.edges = edges
        self.distortions = distortions

    @classmethod
    def from_estimator(cls, estimator, color_by=None, *, show_edges=None, edges=None, **options):
        """Draw the embedding of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with the attribute `embedding_`, or a pipeline that ends in one.
        color_by : array-like of shape (n_items,), default=None
            As for `from_embedding`.
        show_edges : {None, "all", "sample", "worst"}, default=None
            As for `plot`.
        edges : array-like of int of shape (n_edges, 2), default=None
            Pairs of items. If None and edges are to be drawn, they are the pairs of the estimator
            that attract; for "worst", its method `distortions` says how badly each is kept.
        **options : dict
            Further arguments of `from_embedding`.

        Returns
        -------
        EmbeddingDisplay
            The display, drawn.
        """
        require_matplotlib()
        embedding = fitted_embedding(estimator)
        if edges is None and show_edges == "worst":
            pairs, values, weights = pair_distortions(estimator)
            edges, options["distortions"] = pairs[weights > 0], values[weights > 0]
        elif edges is None and show_edges is not None:
            edges = attracting_edges(last_step(estimator))
        return cls.from_embedding(
            embedding, color_by, show_edges=show_edges, edges=edges, **options
        )

    @classmethod
    def from_embedding(
        cls,
        embedding,
        color_by=None,
        *,
        color_as="auto",
        color_name=None,
        names=None,
        edges=None,
        distortions=None,
        **options,
    ):
        """Draw an embedding.

        Parameters
        ----------
        embedding : array-like of shape (n_items, n_components)
            Positions of the items, with 1, 2 or 3 components.
        color_by : array-like of shape (n_items,), default=None
            Class or number of each item. None and NaN mean that it is missing.
        color_as : {"auto", "class", "number"}, default="auto"
            Whether `color_by` holds classes or numbers. "auto" takes floats that are not all whole
            as numbers, and everything else as classes.
        color_name : str, default=None
            Title of the legend or of the colour bar.
        names : array-like of shape (n_items,), default=None
            Texts of the items, for `annotate`. If None, their positions are shown.
        edges : array-like of int of shape (n_edges, 2), default=None
            Pairs of items, for `show_edges`.
        distortions : array-like of shape (n_edges,), default=None
            Distortion of each pair, for ``show_edges="worst"``.
        **options : dict
            Arguments of `plot`.

        Returns
        -------
        EmbeddingDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If a shape is wrong, a position is not finite, or there are more than 3 components.
        ImportError
            If matplotlib is not installed.
        """
        require_matplotlib()
        X = read_embedding(embedding)
        n = len(X)
        edges = None if edges is None else read_edges(edges, n)
        if distortions is not None:
            if edges is None:
                raise ValueError("distortions needs edges, the pairs that have them.")
            distortions = read_numbers(distortions, "distortions", len(edges), "pair of edges")
        display = cls(
            X,
            coloring=read_coloring(color_by, n, color_as),
            color_name=color_name,
            names=read_names(names, n),
            edges=edges,
            distortions=distortions,
        )
        return display.plot(**options)

    def plot(
        self,
        ax=None,
        *,
        theme="auto",
        labels="legend",
        palette=None,
        max_classes=20,
        cmap=None,
        marker_size=None,
        alpha=None,
        density="auto",
        view="robust",
        show_edges=None,
        max_edges=2000,
        annotate=None,
    ):
        """Draw the embedding.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; of ``projection="3d"`` for three components. None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            Colours of the page. "auto" follows the background of the figure.
        labels : {"legend", "map", "none"}, default="legend"
            Whether the names of the classes are in a legend or at their densest places on the map.
            With "none", nothing explains the colours, not even the colour bar of numbers.
        palette : list or dict of colours, default=None
            Colours of the classes, in order or by name. None takes an accessible palette of 6, 10
            or 20 colours.
        max_classes : int, default=20
            If there are more classes, the largest have colours and the rest is "other". The
            palettes have 20 colours; for more classes pass a `palette` of your own, too.
        cmap : str or matplotlib Colormap, default=None
            Colours of numbers; None is viridis.
        marker_size : float, default=None
            Area of a marker, in square points; None suits the number of points.
        alpha : float, default=None
            Opacity of a marker; None suits the number of points.
        density : {"auto", True, False}, default="auto"
            Whether one or two components are drawn as an image of the density of the points. "auto"
            means for more than 20,000 points.
        view : {"robust", "all"}, default="robust"
            "robust" leaves a few points outside that are far from all others, which would shrink
            the rest; arrows with their numbers point to them.
        show_edges : {None, "all", "sample", "worst"}, default=None
            Which edges are drawn: all, `max_edges` at random, or the `max_edges` with the largest
            distortions.
        max_edges : int, default=2000
            Number of edges of "sample" and "worst".
        annotate : array-like of int or bool, default=None
            Items whose names are written beside them, or a mask of them. The first have precedence
            where there is no room for all.

        Returns
        -------
        EmbeddingDisplay
            The display, with the attributes of what was drawn.

        Raises
        ------
        ValueError
            If an argument is not one of those above.
        ImportError
            If matplotlib is not installed.
        """
        for name, value, allowed in (
            ("labels", labels, _LABELS),
            ("show_edges", show_edges, _EDGES),
            ("density", density, ("auto", True, False)),
        ):
            if not any(type(value) is type(a) and value == a for a in allowed):
                hint = "; classes of items go to color_by" if np.ndim(value) else ""
                raise ValueError(f"{name} must be one of {allowed}; got {value!r}{hint}.")
        classes = getattr(self.coloring, "names", [None])
        max_classes = read_integer(max_classes, "max_classes", 1)
        n_strips = min(len(classes), max_classes)
        drawn = Map(self.embedding, ax, theme, view, n_strips)
        drawn.draw_points(
            self.coloring,
            palette=palette,
            max_classes=max_classes,
            cmap=cmap,
            size=marker_size,
            alpha=alpha,
            density=density,
        )
        if show_edges is not None:
            drawn.draw_edges(*self._shown_edges(show_edges, max_edges), show_edges == "worst")
        drawn.explain_colors(labels, self.color_name)
        drawn.draw_outside()
        # labels come last, when everything else has its place
        on_map = labels == "map" and self.embedding.shape[1] > 1
        self.labels_ = drawn.name_classes() if on_map else []
        if annotate is not None:
            items = read_items(annotate, len(self.embedding), "annotate")
            texts = [i if self.names is None else self.names[i] for i in items]
            self.labels_ += drawn.name_items(items, texts)
        drawn.write_note()
        self.ax_, self.figure_ = drawn.ax, drawn.ax.figure
        self.points_, self.n_outside_ = drawn.points, int(drawn.view.outside.sum())
        self.legend_, self.colorbar_ = drawn.legend, drawn.colorbar
        self.edges_ = drawn.edges
        return self

    def _shown_edges(self, show_edges, max_edges):
        """The pairs to draw, the worst of them first, and the number of all."""
        if self.edges is None:
            raise ValueError(f"show_edges={show_edges!r} needs edges; pass pairs of items.")
        max_edges = read_integer(max_edges, "max_edges", 1)
        n_edges = len(self.edges)
        if show_edges == "worst":
            if self.distortions is None:
                raise ValueError(
                    'show_edges="worst" needs distortions, one for each pair of edges; pass them, '
                    'or use "sample".'
                )
            chosen = np.argsort(-self.distortions, kind="stable")[:max_edges]
        elif show_edges == "sample" and n_edges > max_edges:
            chosen = np.random.default_rng(0).choice(n_edges, max_edges, replace=False)
        else:
            chosen = np.arange(n_edges)
        return self.edges[chosen], n_edges
