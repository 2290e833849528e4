"""The distortions of the pairs of an embedding, and their averages by item."""

from __future__ import annotations

import numpy as np

from skmde.plotting.drawing.arguments import (
    pair_distortions,
    read_edges,
    read_integer,
    read_items,
    read_names,
    read_numbers,
)
from skmde.plotting.drawing.axes import (
    add_legend,
    open_panels,
    require_matplotlib,
    set_diagram,
)
from skmde.plotting.drawing.texts import one_line, place_labels
from skmde.plotting.drawing.view import numbers_range


class DistortionDisplay:
    """Histogram of the distortions of pairs, and their averages by item.

    The second panel has the items in descending order of their averages, so that those that the
    embedding keeps badly are at its left end, where the logarithmic axis gives them room.

    Parameters
    ----------
    distortions : ndarray of shape (n_pairs,)
        Distortion of each pair.
    edges : ndarray of int of shape (n_pairs, 2), default=None
        The pairs of items. If None, there is no panel of items.
    weights : ndarray of shape (n_pairs,), default=None
        Weights of the pairs: those below 0 repel and are drawn apart.
    n_items : int, default=None
        Number of items.
    names : list of str, default=None
        Texts of the items.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes of shape (n_panels,)
        What was drawn on: one axes, or two if there are edges.
    figure_ : matplotlib Figure
        The figure of the axes.
    item_distortions_ : ndarray of shape (n_items,) or None
        Average distortion of the pairs of each item; NaN for an item without a pair.
    worst_ : ndarray of int
        The items with the largest averages, largest first.
    labels_ : list of matplotlib Annotation
        Their names.

    See Also
    --------
    ShepardDisplay : Distances in an embedding against original distances, pair by pair.
    skmde.metrics.Distortions :
        The distortions of an embedding; the method `distortions` of an estimator returns it.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from skmde.plotting import DistortionDisplay
    >>> edges = [[0, 1], [1, 2], [2, 3], [0, 3]]
    >>> display = DistortionDisplay.from_distortions([0.1, 0.2, 0.9, 1.3], edges)
    >>> display.item_distortions_
    array([0.7 , 0.15, 0.55, 1.1 ])
    """

    def __init__(self, distortions, edges=None, *, weights=None, n_items=None, names=None):
        self.distortions = distortions
        self.edges = edges
        self.weights = weights
        self.n_items = n_items
        self.names = names

    @classmethod
    def from_estimator(cls, estimator, **options):
        """Draw the distortions of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with the method `distortions`, which returns an object with the
            attributes `pairs`, `values` and `weights`.
        **options : dict
            Further arguments of `from_distortions`.

        Returns
        -------
        DistortionDisplay
            The display, drawn.
        """
        require_matplotlib()
        edges, values, weights = pair_distortions(estimator)
        options = {"weights": weights, **options}
        return cls.from_distortions(values, edges, **options)

    @classmethod
    def from_distortions(
        cls, distortions, edges=None, *, weights=None, n_items=None, names=None, **options
    ):
        """Draw the distortions of pairs.

        Parameters
        ----------
        distortions : array-like of shape (n_pairs,)
            Distortion of each pair, such as those of :meth:`skmde.MDE.distortions`.
        edges : array-like of int of shape (n_pairs, 2), default=None
            The pairs of items. If None, there is no panel of items.
        weights : array-like of shape (n_pairs,), default=None
            Weights of the pairs. Pairs with weights below 0, which repel, are drawn apart.
        n_items : int, default=None
            Number of items; None is one more than the largest item of `edges`.
        names : array-like of shape (n_items,), default=None
            Texts of the items. If None, their positions are shown.
        **options : dict
            Arguments of `plot`.

        Returns
        -------
        DistortionDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the lengths differ, or there is no pair.
        """
        require_matplotlib()
        values = read_numbers(distortions, "distortions")
        if not len(values):
            raise ValueError("distortions is empty; pass the distortion of a pair or more.")
        if weights is not None:
            weights = read_numbers(weights, "weights", len(values), "pair")
        if edges is not None:
            largest = np.max(np.asarray(edges), initial=0) + 1 if n_items is None else n_items
            edges = read_edges(edges, int(largest))
            n_items = int(largest)
            if len(edges) != len(values):
                raise ValueError(
                    f"edges has {len(edges)} pairs, but distortions has {len(values)} numbers; "
                    "pass one for each pair."
                )
            names = read_names(names, n_items)
        display = cls(values, edges, weights=weights, n_items=n_items, names=names)
        return display.plot(**options)

    def plot(self, ax=None, *, theme="auto", bins=60, n_worst=8, highlight=None):
        """Draw the histogram, and the items' averages.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, default=None
            Where to draw, one axes for each panel. One axes gives its place to two; None makes a
            new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            Colours of the page. "auto" follows the background of the figure.
        bins : int, default=60
            Number of bars.
        n_worst : int, default=8
            Number of items with the largest averages that are named.
        highlight : array-like of int or bool, default=None
            Items to point out among the averages, or a mask of them.

        Returns
        -------
        DistortionDisplay
            The display, with the attributes of what was drawn.
        """
        bins, n_worst = read_integer(bins, "bins", 1), read_integer(n_worst, "n_worst", 0)
        n_panels = 1 if self.edges is None else 2
        axes, theme = open_panels(ax, theme, n_panels, size=(4.8 * n_panels, 3.8))
        self._draw_histogram(axes[0], theme, bins)
        self.item_distortions_, self.worst_, self.labels_ = None, np.empty(0, dtype=int), []
        if n_panels == 2:
            self.item_distortions_ = self._averages()
            self._draw_items(axes[1], theme, n_worst, highlight)
        self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_histogram(self, ax, theme, bins):
        values = self.distortions
        low, high = numbers_range(values)
        edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
        repel = np.zeros(len(values), bool) if self.weights is None else self.weights < 0
        groups = [("attract", ~repel, theme.point), ("repel", repel, theme.accent)]
        groups = [group for group in groups if group[1].any()]
        for name, chosen, color in groups:
            style = {"color": color, "alpha": 0.85 if len(groups) == 1 else 0.65}
            label = name if len(groups) > 1 else "_"
            ax.hist(values[chosen], edges, label=label, **style)
        if self._is_skewed(edges):
            ax.set_yscale("log")
            ax.set_ylim(bottom=0.7)
        mean = values.mean()
        line = {"color": theme.text, "linewidth": 1, "linestyle": (0, (4, 3))}
        at_mean = ax.axvline(mean, label=f"average {mean:.4g}", **line)
        margin = 0.03 * (edges[-1] - edges[0])
        ax.set_xlim(edges[0] - margin, edges[-1] + margin)  # the average may be far outside
        beyond = int(((values < low) | (values > high)).sum())
        outside = f"; {beyond:,} outside, up to {values[np.abs(values).argmax()]:.3g}"
        title = f"{len(values):,} pairs{outside if beyond else ''}"
        set_diagram(ax, "distortion of a pair", "number of pairs", title)
        ax.tick_params(which="minor", color=theme.frame)
        legend = add_legend(ax, theme, loc="upper right")
        at_mean.set_ydata([0.0, 0.98 - _make_room(ax, len(legend.get_texts()))])

    def _is_skewed(self, edges):
        """Whether most bars would be too low to be seen beside the highest one."""
        counts, _ = np.histogram(self.distortions, edges)
        return np.median(counts[counts > 0], axis=0) < 0.02 * counts.max()

    def _averages(self):
        ends = self.edges.ravel()
        counts = np.bincount(ends, minlength=self.n_items)
        sums = np.bincount(ends, np.repeat(self.distortions, 2), minlength=self.n_items)
        return np.divide(sums, counts, out=np.full(self.n_items, np.nan), where=counts > 0)

    def _draw_items(self, ax, theme, n_worst, highlight):
        averages = self.item_distortions_
        order = np.argsort(-averages, kind="stable")  # NaN comes last
        order = order[: int(np.isfinite(averages).sum())]
        rank = np.zeros(len(averages), dtype=int)
        rank[order] = np.arange(1, len(order) + 1)
        ax.plot(rank[order], averages[order], color=theme.point, linewidth=1.6, zorder=2)
        floor = min(averages[order].min(), 0.0)
        fill = {"color": theme.point, "alpha": 0.18, "linewidth": 0}
        ax.fill_between(rank[order], averages[order], floor, **fill)
        ax.set_xscale("log")
        ax.set_xlim(0.85, 1.1 * max(len(order), 2))
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        # of many items, the powers of ten are labels enough
        minor = lambda x, _: f"{x:.0f}" if len(order) < 10 and 1 < x == round(x) else ""  # noqa: E731
        ax.xaxis.set_minor_formatter(minor)
        dots = {"marker": "o", "linestyle": "", "color": theme.accent, "zorder": 3}
        if highlight is not None:
            items = read_items(highlight, len(averages), "highlight")
            items = items[rank[items] > 0]
            ax.plot(rank[items], averages[items], markersize=3.5, **dots)
        title = f"{len(order):,} items"
        set_diagram(ax, "rank of an item, the worst first", "average distortion of an item", title)
        ax.tick_params(which="minor", color=theme.frame)
        self.worst_ = order[:n_worst]
        places = np.stack([rank[self.worst_], averages[self.worst_]], axis=1)
        ax.plot(*places.T, markersize=4, **dots)
        names = range(self.n_items) if self.names is None else self.names
        texts = [one_line(names[i], 24) for i in self.worst_]
        if texts:
            self.labels_ = place_labels(ax, places, texts, theme, obstacles=(places, 2.0))


def _make_room(ax, n_lines):
    """Raise the upper limit, so that a legend lies above all bars; return its share of the axis."""
    share = 0.02 + 0.065 * n_lines
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        ax.set_ylim(low, high * (high / low) ** (share / (1 - share)))
    else:
        ax.set_ylim(low, high + (high - low) * share / (1 - share))
    return share
