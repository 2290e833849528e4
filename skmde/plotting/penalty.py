"""Distortion functions and their slopes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from skmde.plotting.drawing.arguments import read_numbers
from skmde.plotting.drawing.axes import (
    add_legend,
    open_panels,
    require_matplotlib,
    set_diagram,
)
from skmde.plotting.drawing.texts import one_line
from skmde.plotting.drawing.theme import palette_for

_N_DISTANCES = 601
_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


class PenaltyDisplay:
    """Distortion functions f(d), and their slopes f'(d) / d, over the embedding distance d.

    The slope is what the solver multiplies the difference of two items by: where it is positive,
    the items attract each other; where it is negative, they repel each other.

    Parameters
    ----------
    names : list of str
        Names of the functions.
    distances : ndarray of shape (n_distances,)
        Embedding distances.
    values, slopes : ndarray of shape (n_functions, n_distances)
        The functions and their slopes.
    deviation : float or None
        Original distance of the losses; None if there are none.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes of shape (2,)
        What was drawn on: the panel of the values beside that of the slopes.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        The curves of the values, then those of the slopes.
    legend_ : matplotlib Legend
        Names of the functions.

    See Also
    --------
    skmde.Penalty : Base class of penalties p(d), functions of the embedding distance alone.
    skmde.Loss :
        Base class of losses l(delta, d), which compare d with an original distance delta.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from skmde import Huber
    >>> from skmde.plotting import PenaltyDisplay
    >>> display = PenaltyDisplay.from_functions(["log1p", "quadratic", Huber(0.3)])
    >>> display.names
    ['log1p', 'quadratic', 'Huber(threshold=0.3)']
    """

    def __init__(self, names, distances, values, slopes, deviation=None):
        self.names = names
        self.distances = distances
        self.values = values
        self.slopes = slopes
        self.deviation = deviation

    @classmethod
    def from_functions(cls, functions, *, weights=None, deviation=None, distances=None, **options):
        """Draw distortion functions.

        Parameters
        ----------
        functions : str, Penalty, Loss, callable, or list or dict of them
            One function or several. The keys of a dict are their names.
        weights : array-like of shape (n_functions,), default=None
            Weights that the functions are multiplied by; below 0 for pairs that repel. 1 if None.
        deviation : float, default=None
            Original distance of a pair, for losses. If it is given, names and callables are losses,
            otherwise penalties. An instance of a loss takes 1.0 if it is None.
        distances : array-like of shape (n_distances,), default=None
            Embedding distances, at least 0, in ascending order. None is 0 to 3 times `deviation`.
        **options : dict
            Arguments of `plot`.

        Returns
        -------
        PenaltyDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If there is no function, a name is unknown, or a number is out of range.
        """
        require_matplotlib()
        import torch

        from skmde.functions.base import Loss
        from skmde.functions.registry import resolve_loss, resolve_penalty

        if isinstance(functions, Mapping):
            names, given = [str(name) for name in functions], list(functions.values())
        else:
            given = list(functions) if isinstance(functions, list | tuple) else [functions]
            names = [_name_of(function) for function in given]
        if not given:
            raise ValueError("functions is empty; pass a distortion function or more.")
        w = np.ones(len(given)) if weights is None else np.atleast_1d(weights)
        w = read_numbers(w, "weights", len(given), "function")
        if deviation is not None:
            (deviation,) = read_numbers([deviation], "deviation")
            if deviation < 0:
                raise ValueError(f"deviation must be at least 0; got {deviation:g}.")
        are_losses = deviation is not None
        resolved = [
            (resolve_loss if are_losses or isinstance(function, Loss) else resolve_penalty)(
                function
            )
            for function in given
        ]
        delta = 1.0 if deviation is None else float(deviation)
        if distances is None:
            distances = np.linspace(0.0, 3.0 * (delta or 1.0), _N_DISTANCES)
        d = read_numbers(distances, "distances")
        if len(d) < 2 or d[0] < 0 or (np.diff(d) <= 0).any():
            raise ValueError("distances must be two numbers or more, at least 0 and ascending.")
        at = torch.as_tensor(d)
        values, slopes = [], []
        for function, weight in zip(resolved, w, strict=True):
            if isinstance(function, Loss):
                deltas = torch.full_like(at, delta)
                value, slope = function.value(deltas, at), function.slope(deltas, at)
                value, slope = weight * value, weight * slope
            else:
                each = torch.full_like(at, weight)
                value, slope = function.weighted_value(at, each), function.weighted_slope(at, each)
            values.append(_finite(value, names[len(values)]))
            slopes.append(_finite(slope, names[len(slopes)]))
        has_losses = any(isinstance(function, Loss) for function in resolved)
        display = cls(names, d, np.array(values), np.array(slopes), delta if has_losses else None)
        return display.plot(**options)

    def plot(self, ax=None, *, theme="auto", palette=None):
        """Draw the functions and their slopes.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of two, default=None
            Where to draw. One axes gives its place to two; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            Colours of the page. "auto" follows the background of the figure.
        palette : list of colours, default=None
            Colours of the functions; None takes an accessible palette.

        Returns
        -------
        PenaltyDisplay
            The display, with the attributes of what was drawn.
        """
        axes, theme = open_panels(ax, theme, 2, size=(9.6, 4.0))
        n = len(self.names)
        colors = list(palette_for(theme, n) if palette is None else palette)
        self.lines_ = []
        panels = (("distortion  $f(d)$", self.values), ("slope  $f\\,'(d)\\,/\\,d$", self.slopes))
        for panel, (label, curves) in zip(axes, panels, strict=True):
            panel.axhline(0, color=theme.frame, linewidth=0.8)
            if self.deviation is not None:
                panel.axvline(self.deviation, color=theme.frame, linewidth=0.8, linestyle=":")
            for k, (name, curve) in enumerate(zip(self.names, curves, strict=True)):
                style = {"color": colors[k % len(colors)], "linewidth": 1.9}
                style["linestyle"] = _DASHES[(k // len(colors) if n > len(colors) else k) % 4]
                self.lines_ += panel.plot(self.distances, curve, label=" " + name, **style)
            set_diagram(panel, "embedding distance $d$", label)
            panel.set_xlim(self.distances[0], self.distances[-1])
            panel.set_ylim(*_range_of_curves(curves))
        self.legend_ = add_legend(
            axes[1], theme, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0
        )
        for text, name in zip(self.legend_.get_texts(), self.names, strict=True):
            text.set_text(one_line(name, 48))
        self.ax_, self.figure_ = axes, axes[0].figure
        return self


def _name_of(function):
    if isinstance(function, str):
        return function
    if hasattr(function, "get_params") or not callable(function):
        return repr(function)
    return getattr(function, "__name__", type(function).__name__)


def _finite(curve, name):
    """Numbers of a curve, which has gaps (NaN) where it is not finite, such as at d = 0."""
    numbers = curve.detach().numpy()
    finite = np.isfinite(numbers)
    if not finite.any():
        raise ValueError(
            f"{one_line(name, 48)} or its slope is not finite at any distance; draw a function "
            "that is."
        )
    return np.where(finite, numbers, np.nan)


def _range_of_curves(curves):
    """Limits that show all curves but for steep parts, such as those of barriers at 0.

    Of a curve, they include the middle eight tenths of its numbers, and half as much on either
    side. A curve that is far steeper than most does not hide these.
    """
    low, high = np.nanquantile(curves, [0.1, 0.9], axis=1)
    spread = high - low
    low = np.maximum(np.nanmin(curves, axis=1), low - 0.5 * spread)
    high = np.minimum(np.nanmax(curves, axis=1), high + 0.5 * spread)
    most = 4 * np.median(high - low)
    bottom = max(low.min(), np.median(low) - most)
    top = min(high.max(), np.median(high) + most)
    margin = 0.05 * (top - bottom) or 0.5
    return bottom - margin, top + margin
