"""The Shepard diagram: distances in the embedding against original distances."""

from __future__ import annotations

import numpy as np

from skmde._linalg.frame import Unit
from skmde.metrics.alignment import as_array
from skmde.metrics.fitted import metric_of
from skmde.metrics.stress import normalized_stress
from skmde.plotting.drawing.arguments import (
    fitted_attribute,
    last_step,
    read_integer,
    read_numbers,
)
from skmde.plotting.drawing.axes import (
    add_legend,
    open_axes,
    require_matplotlib,
    set_diagram,
)
from skmde.plotting.drawing.points import draw_density, draw_markers
from skmde.plotting.drawing.view import numbers_range

_MOST_MARKERS = 3_000  # of more pairs, an image shows the density
_MOST_BINS = 25  # of original distances, for the median and the band
_FEWEST = 8  # pairs of a bin


class ShepardDisplay:
    """Distances in an embedding against original distances, pair by pair.

    In a perfect embedding, all pairs lie on the line. The median and the band show how far the
    embedding keeps short and long distances.

    Parameters
    ----------
    distances : ndarray of shape (n_pairs,)
        Original distances.
    embedding_distances : ndarray of shape (n_pairs,)
        Distances in the embedding.
    scale : float
        Slope of the line: embedding distance of a pair whose original distance is 1.
    n_infinite : int, default=0
        Number of pairs left out, whose original distance is infinite.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What was drawn on.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    pairs_ : matplotlib PathCollection or AxesImage
        The pairs.
    line_, median_ : matplotlib Line2D
        The line of perfect embeddings, and the medians.
    band_ : matplotlib FillBetweenPolyCollection
        From the tenth to the ninetieth percentile of the pairs.
    stress_ : float
        :func:`skmde.metrics.normalized_stress`.

    See Also
    --------
    DistortionDisplay : Histogram of the distortions of pairs, and their averages by item.
    skmde.metrics.normalized_stress :
        Relative error of the embedding distances after optimal scaling.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from skmde import PreserveDistances
    >>> from skmde.plotting import ShepardDisplay
    >>> X, _ = load_iris(return_X_y=True)
    >>> estimator = PreserveDistances(random_state=0).fit(X)
    >>> display = ShepardDisplay.from_estimator(estimator)
    >>> bool(display.stress_ < 0.1)
    True
    """

    def __init__(self, distances, embedding_distances, *, scale, n_infinite=0):
        self.distances = distances
        self.embedding_distances = embedding_distances
        self.scale = scale
        self.n_infinite = n_infinite

    @classmethod
    def from_estimator(cls, estimator, X=None, **options):
        """Draw the distances of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator. If it has the attributes `edges_` and `distances_`, its own pairs
            are drawn.
        X : {array-like, sparse matrix} of shape (n_items, n_features), default=None
            The data, for all other estimators; see `from_embedding`. The metric is that of the
            estimator, unless `options` has another one.
        **options : dict
            Further arguments of `from_embedding` if X is given, else of `from_distances`.

        Returns
        -------
        ShepardDisplay
            The display, drawn.
        """
        require_matplotlib()
        estimator = last_step(estimator)
        embedding = fitted_attribute(estimator, "embedding_")
        if X is not None:
            return cls.from_embedding(X, embedding, **_with_metric(options, estimator))
        distances = fitted_attribute(estimator, "distances_", "Pass X, the data.")
        edges = fitted_attribute(estimator, "edges_", "Pass X, the data.")
        # A fitted function takes the place of the scale.
        monotone = getattr(estimator, "disparities_", None) is not None
        scale = None if monotone else getattr(estimator, "scale_", None)
        return cls.from_distances(
            distances, _lengths(embedding, edges), **{"scale": scale, **options}
        )

    @classmethod
    def from_embedding(
        cls,
        X,
        embedding,
        *,
        metric="euclidean",
        metric_params=None,
        max_pairs=200_000,
        random_state=0,
        **options,
    ):
        """Draw the distances of rows of data and of an embedding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_items, n_features)
            The data; with ``metric="precomputed"``, the square matrix of original distances.
        embedding : array-like of shape (n_items, n_components)
            The embedding, of any dimension.
        metric : str or callable, default="euclidean"
            Distance between rows of X.
        metric_params : dict, default=None
            Further arguments of the metric.
        max_pairs : int, default=200_000
            If there are more pairs of items, as many are drawn at random.
        random_state : int, RandomState instance or None, default=0
            Seed of the sample.
        **options : dict
            Further arguments of `from_distances`.

        Returns
        -------
        ShepardDisplay
            The display, drawn.
        """
        require_matplotlib()
        # Imported here, as it loads the search of neighbours
        from skmde.metrics.alignment import as_embedding
        from skmde.preprocessing import pair_distances, sample_edges

        Y = as_embedding(embedding, "embedding")
        n = len(Y)
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if rows != n:
            raise ValueError(
                f"X has {rows} rows and embedding {n}; row i must be the same item in both."
            )
        if n < 2:
            raise ValueError("A Shepard diagram needs two items or more; embedding has 1.")
        edges = sample_edges(n, read_integer(max_pairs, "max_pairs", 1), random_state)
        if metric == "precomputed":
            table = as_array(X, "X")
            if table.shape != (n, n):
                raise ValueError(
                    f'metric="precomputed" needs the distances of all pairs, of shape ({n}, {n}); '
                    f"X has shape {table.shape}."
                )
            distances = table[edges[:, 0], edges[:, 1]]
        else:
            distances = pair_distances(X, edges, metric=metric, metric_params=metric_params)
        return cls.from_distances(distances, _lengths(Y, edges), **options)

    @classmethod
    def from_distances(cls, distances, embedding_distances, *, scale=None, **options):
        """Draw distances of pairs of items.

        Parameters
        ----------
        distances : array-like of shape (n_pairs,)
            Original distances. Pairs at infinite distance are left out.
        embedding_distances : array-like of shape (n_pairs,)
            Distances of the same pairs in the embedding.
        scale : float, default=None
            Slope of the line of perfect embeddings; None takes the one that fits best.
        **options : dict
            Arguments of `plot`.

        Returns
        -------
        ShepardDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the lengths differ, or a distance is negative or NaN.
        """
        require_matplotlib()
        delta = as_array(distances, "distances")
        finite = ~np.isinf(delta) if delta.dtype.kind == "f" else np.ones(delta.shape, dtype=bool)
        d = read_numbers(embedding_distances, "embedding_distances", delta.size, "pair")
        delta = read_numbers(delta[finite], "distances")
        if not len(delta):
            raise ValueError("distances has no pair at a finite distance; pass one or more.")
        for name, values in (("distances", delta), ("embedding_distances", d)):
            if values.min(initial=0) < 0:
                raise ValueError(f"{name} must be at least 0; got {values.min():g}.")
        d = d[finite]
        if scale is None:
            units = Unit.largest(delta), Unit.largest(d)  # squares neither overflow nor vanish
            inside, other = (unit.inside(a) for unit, a in zip(units, (delta, d), strict=True))
            square = float(np.sum(inside**2))
            slope = float(np.sum(inside * other)) / square if square > 0 else 1.0
            scale = slope * (units[1].size / units[0].size) if square > 0 else 1.0
        display = cls(delta, d, scale=float(scale), n_infinite=int((~finite).sum()))
        return display.plot(**options)

    def plot(self, ax=None, *, theme="auto"):
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            Colours of the page. "auto" follows the background of the figure.

        Returns
        -------
        ShepardDisplay
            The display, with the attributes of what was drawn.
        """
        from matplotlib.colors import to_rgba

        ax, theme = open_axes(ax, theme, size=(5.6, 5.0))
        delta, d = self.distances, self.embedding_distances
        pairs = np.stack([delta, d], axis=1)
        high = np.array([numbers_range(values)[1] for values in (delta, d)])
        high = np.where(high > 0, 1.03 * high, 1.0)
        ax.set(xlim=(0, high[0]), ylim=(0, high[1]))
        colors = np.tile(to_rgba(theme.point), (len(pairs), 1))
        if len(pairs) > _MOST_MARKERS:
            self.pairs_ = draw_density(ax, pairs, colors, np.zeros(2), high, faintest=0.06)
        else:
            size = float(np.clip(2000 / len(pairs), 9, 36))
            style = {"size": size, "alpha": 0.85 if len(pairs) < 100 else 0.55, "linewidths": 0}
            self.pairs_ = draw_markers(ax, pairs, colors, theme, **style)
        end = min(high[0], high[1] / self.scale) if self.scale > 0 else high[0]
        label = "perfect" if np.isclose(self.scale, 1) else f"perfect, scale {self.scale:.3g}"
        line = {"color": theme.text, "linewidth": 1.0, "linestyle": (0, (4, 3)), "zorder": 3}
        (self.line_,) = ax.plot([0, end], [0, end * self.scale], label=label, **line)
        at, low, middle, top = self._bands()
        names = ("10% to 90% of pairs", "median") if len(at) > 1 else ("_", "_")  # not to be seen
        band = {"color": theme.accent, "alpha": 0.16, "linewidth": 0, "zorder": 3}
        self.band_ = ax.fill_between(at, low, top, label=names[0], **band)
        style = {"color": theme.accent, "linewidth": 1.6, "zorder": 4}
        (self.median_,) = ax.plot(at, middle, label=names[1], **style)
        set_diagram(ax, "original distance", "distance in the embedding")
        add_legend(ax, theme, loc="upper left")
        self.stress_ = normalized_stress(delta, d)
        notes = [f"{len(pairs):,} pairs, normalised stress {self.stress_:.3f}"]
        beyond = int((pairs > high).any(axis=1).sum())
        notes += [f"{beyond:,} outside the view"] if beyond else []
        notes += [f"{self.n_infinite:,} at infinite distance"] if self.n_infinite else []
        ax.set_title("; ".join(notes), fontsize=9, loc="left", color=theme.muted)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _bands(self):
        """Mean distances of pairs in equal ranges of original distances, and their quantiles."""
        delta, d = self.distances, self.embedding_distances
        low, high = numbers_range(delta)
        n_bins = int(np.clip(np.sqrt(len(delta)) / 4, 1, _MOST_BINS))
        edges = np.linspace(low, high, n_bins + 1)
        place = np.clip(np.searchsorted(edges, delta, side="right") - 1, 0, n_bins - 1)
        order = np.argsort(place, kind="stable")
        pieces = np.split(order, np.searchsorted(place[order], np.arange(1, n_bins)))
        enough = min(_FEWEST, max(len(piece) for piece in pieces))
        kept = [piece for piece in pieces if len(piece) >= enough]
        quantiles = [np.quantile(d[piece], [0.1, 0.5, 0.9]) for piece in kept]
        return np.array([delta[piece].mean() for piece in kept]), *np.array(quantiles).T


def _lengths(X, edges):
    """Euclidean lengths of pairs, in blocks."""
    X, edges = np.asarray(X, dtype=np.float64), np.asarray(edges)
    pieces = np.array_split(edges, max(len(edges) // 1_000_000, 1))
    return np.concatenate([np.linalg.norm(X[i] - X[j], axis=1) for i, j in (p.T for p in pieces)])


def _with_metric(options, estimator):
    """Options with the metric of an estimator, if they name none."""
    if "metric" in options:
        return options
    metric = metric_of(estimator)
    if metric is None or metric == "graph":
        raise ValueError(
            f"This {type(estimator).__name__} was fitted to a graph or to weights, which are not "
            'distances of all pairs. Pass rows of data with metric="euclidean", for example, or a '
            'matrix of distances with metric="precomputed".'
        )
    return {"metric": metric, **options}
