"""How the solver converged: average distortion and residual norm, iteration by iteration."""

from __future__ import annotations

import numpy as np

from skmde.plotting.drawing.arguments import fitted_attribute, last_step, read_numbers
from skmde.plotting.drawing.axes import open_panels, require_matplotlib, set_diagram

_AXES = {"iteration": "iteration", "seconds": "seconds"}


class ConvergenceDisplay:
    """Average distortion and norm of the projected gradient, iteration by iteration.

    Parameters
    ----------
    value : ndarray of shape (n_iter + 1,)
        Average distortion, from the starting point on.
    residual_norm : ndarray of shape (n_iter + 1,)
        Frobenius norm of the projected gradient.
    seconds : ndarray of shape (n_iter + 1,), default=None
        Seconds since the solver began.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes of shape (2,)
        What was drawn on: the panel of the distortion above that of the residual norm.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        The two curves.

    See Also
    --------
    DistortionDisplay : Histogram of the distortions of pairs, and their averages by item.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from skmde import PreserveNeighbors
    >>> from skmde.plotting import ConvergenceDisplay
    >>> X, _ = load_iris(return_X_y=True)
    >>> estimator = PreserveNeighbors(random_state=0).fit(X)
    >>> display = ConvergenceDisplay.from_estimator(estimator)
    >>> len(display.value) == len(estimator.history_["value"])
    True
    """

    def __init__(self, value, residual_norm, seconds=None):
        self.value = value
        self.residual_norm = residual_norm
        self.seconds = seconds

    @classmethod
    def from_estimator(cls, estimator, **options):
        """Draw the history of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with the attribute `history_`.
        **options : dict
            Arguments of `plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        require_matplotlib()
        advice = "Only problems that are solved by iterations have a history."
        return cls.from_history(
            fitted_attribute(last_step(estimator), "history_", advice), **options
        )

    @classmethod
    def from_history(cls, history, **options):
        """Draw a history.

        Parameters
        ----------
        history : dict of array-like
            With "value" and "residual_norm", and maybe "seconds", of every iteration, as
            ``estimator.history_`` and ``problem.result.history.as_arrays()``.
        **options : dict
            Arguments of `plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If a list is missing or empty, or the lengths differ.
        """
        require_matplotlib()
        if hasattr(history, "as_arrays"):
            history = history.as_arrays()
        missing = [name for name in ("value", "residual_norm") if name not in history]
        if missing:
            raise ValueError(
                f"history has no {missing[0]!r}; pass a dict with the lists 'value' and "
                "'residual_norm', one number an iteration."
            )
        n = np.size(history["value"])
        if not n:
            raise ValueError("history is empty: the solver did not begin; fit first.")
        columns = [
            read_numbers(history[name], f"history[{name!r}]", n, "iteration", finite=False)
            for name in ("value", "residual_norm", "seconds")
            if name in history
        ]
        # where a number overflowed, the curve has a gap
        return cls(*(np.where(np.isfinite(c), c, np.nan) for c in columns)).plot(**options)

    def plot(self, ax=None, *, theme="auto", x="iteration"):
        """Draw the two curves.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of two, default=None
            Where to draw. One axes gives its place to two; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            Colours of the page. "auto" follows the background of the figure.
        x : {"iteration", "seconds"}, default="iteration"
            What the horizontal axis shows.

        Returns
        -------
        ConvergenceDisplay
            The display, with the attributes of what was drawn.
        """
        if x not in _AXES:
            raise ValueError(f'x must be "iteration" or "seconds"; got {x!r}.')
        if x == "seconds" and self.seconds is None:
            raise ValueError('x="seconds" needs seconds, which the history does not have.')
        axes, theme = open_panels(ax, theme, 2, size=(5.6, 5.0), stacked=True)
        at = np.arange(len(self.value)) if x == "iteration" else self.seconds
        curves = (("average distortion", self.value), ("residual norm", self.residual_norm))
        self.lines_ = []
        for panel, (name, values) in zip(axes, curves, strict=True):
            style = {"color": theme.point, "linewidth": 1.5, "marker": "o"}
            style["markersize"] = 3 if len(at) <= 40 else 0
            self.lines_ += panel.plot(at, values, **style)
            set_diagram(panel, "", name)
            panel.margins(x=0.02)
            panel.grid(axis="y", color=theme.frame, linewidth=0.5, alpha=0.7)
        if (self.residual_norm > 0).any():
            axes[1].set_yscale("log", nonpositive="mask")
            axes[1].tick_params(which="minor", color=theme.frame)
        axes[0].tick_params(labelbottom=False)
        axes[1].set_xlabel(_AXES[x])
        self._mark_last(axes[0], at, theme)
        self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _mark_last(self, ax, at, theme):
        """The number at the end of the curve of the average distortion."""
        ax.plot(at[-1:], self.value[-1:], marker="o", markersize=5, color=theme.accent)
        ax.annotate(
            f"{self.value[-1]:.4g}",
            (at[-1], self.value[-1]),
            xytext=(0, 6),
            textcoords="offset points",
            ha="right",
            fontsize=9,
            color=theme.text,
        )
