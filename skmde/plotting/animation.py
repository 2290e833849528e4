"""How an embedding came about: its snapshots as a film."""

from __future__ import annotations

from html import escape
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from skmde.metrics.alignment import align as align_with
from skmde.plotting.drawing.arguments import fitted_attribute, last_step, read_embedding
from skmde.plotting.drawing.axes import lay_out, require_matplotlib
from skmde.plotting.drawing.colors import read_coloring
from skmde.plotting.drawing.map import Map
from skmde.plotting.drawing.texts import one_line, set_literal
from skmde.plotting.drawing.view import View, view_of

_HOLD = 1.0  # seconds for which the last picture stays
_KINDS = {
    "seconds": "a positive number",
    "frames_per_second": "a positive integer",
}
_OPTIONS = {
    "palette": None,
    "max_classes": 20,
    "cmap": None,
    "marker_size": None,
    "alpha": None,
    "density": "auto",
}
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ background: {background}; color: {text}; font-family: sans-serif; }}</style>
</head><body>
{body}
</body></html>
"""


def animate(
    snapshots,
    color_by=None,
    *,
    align=True,
    seconds=8.0,
    frames_per_second=20,
    title=None,
    color_as="auto",
    color_name=None,
    ax=None,
    theme="auto",
    labels="legend",
    view="robust",
    **options,
):
    """Make a film of the snapshots of an embedding.

    All pictures have the same axes. Between two snapshots, the points move in straight lines.

    Parameters
    ----------
    snapshots : estimator, MDE, SolveResult, or array-like of (n_snapshots, n_items, n_components)
        A fitted estimator with ``snapshots_``, or a pipeline that ends in one; a problem that was
        solved with `snapshot_every`, or its result; or the snapshots themselves, as an array, a
        list of arrays, or a list of pairs (iteration, array). They have 1 to 3 components.
    color_by : array-like of shape (n_items,), default=None
        Class or number of each item, as for :class:`EmbeddingDisplay`.
    align : bool, default=True
        Whether each snapshot is rotated, reflected and shifted onto the next one. Those of an
        estimator never are, since they have the orientation of its embedding.
    seconds : float, default=8.0
        Duration. The last picture stays for one second more.
    frames_per_second : int, default=20
        Number of pictures a second.
    title : str, default=None
        Text before the number of the iteration.
    color_as : {"auto", "class", "number"}, default="auto"
        As for :class:`EmbeddingDisplay`.
    color_name : str, default=None
        Title of the legend or of the colour bar.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure, which pyplot does not show.
    theme : {"auto", "light", "dark"}, default="auto"
        Colours of the page. "auto" follows the background of the figure.
    labels : {"legend", "none"}, default="legend"
        Whether something explains the colours.
    view : {"robust", "all"}, default="robust"
        Whether the view leaves out a few points that are far from all others.
    **options : dict
        `palette`, `max_classes`, `cmap`, `marker_size`, `alpha` and `density`, as for
        :meth:`EmbeddingDisplay.plot`.

    Returns
    -------
    EmbeddingAnimation
        The film. Its method `save` writes a GIF, an MP4 or an HTML file.

    Raises
    ------
    ValueError
        If there are no snapshots, or only one; if their shapes differ or a coordinate is not
        finite; or if an option is wrong.
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    EmbeddingDisplay : Picture of an embedding with one, two or three components.
    CompareEmbeddingsDisplay :
        Two embeddings of the same items, the second one aligned with the first.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from skmde import PreserveNeighbors
    >>> from skmde.plotting import animate
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = PreserveNeighbors(snapshot_every=5, random_state=0).fit(X)
    >>> film = animate(estimator, y, color_name="species")
    >>> film.save("iris.gif")  # doctest: +SKIP
    """
    require_matplotlib()
    for name, value in (("seconds", seconds), ("frames_per_second", frames_per_second)):
        kind = Real if name == "seconds" else Integral
        if isinstance(value, bool) or not isinstance(value, kind) or not 0 < value < 1e6:
            raise ValueError(f"{name} must be {_KINDS[name]}; got {value!r}.")
    if labels not in ("legend", "none"):
        raise ValueError(f'labels must be "legend" or "none"; got {labels!r}.')
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise TypeError(
            f"animate() got an unexpected keyword argument {unknown[0]!r}; the further options "
            f"are {', '.join(_OPTIONS)}."
        )
    frames, iterations = _read_snapshots(snapshots, align)
    return EmbeddingAnimation(
        frames,
        iterations,
        coloring=read_coloring(color_by, frames.shape[1], color_as),
        color_name=color_name,
        title=title,
        seconds=float(seconds),
        frames_per_second=int(frames_per_second),
        ax=ax,
        theme=theme,
        labels=labels,
        view=view,
        options={**_OPTIONS, **options},
    )


class EmbeddingAnimation:
    """A film of an embedding, made by :func:`animate`; not for direct use.

    Parameters
    ----------
    frames : ndarray of shape (n_snapshots, n_items, n_components)
        The snapshots.
    iterations : ndarray of int of shape (n_snapshots,) or None
        Number of iterations before each.
    coloring : Classes, Numbers or None
        What the points are coloured by.
    color_name, title : str or None
        As for :func:`animate`.
    seconds : float
        As for :func:`animate`.
    frames_per_second : int
        As for :func:`animate`.
    ax : matplotlib Axes or None
        As for :func:`animate`.
    theme, labels, view : str
        As for :func:`animate`.
    options : dict
        How the points are drawn.

    Attributes
    ----------
    frames, iterations
        As above; the frames are aligned.
    n_pictures : int
        Number of pictures, without those for which the last one stays.
    ax_, figure_ : matplotlib Axes and Figure
        What is drawn on.

    See Also
    --------
    animate : Make a film of the snapshots of an embedding.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from skmde.plotting import animate
    >>> film = animate([np.eye(4, 2), 2 * np.eye(4, 2)], seconds=2, frames_per_second=10)
    >>> film.n_pictures
    20
    """

    def __init__(
        self,
        frames,
        iterations,
        *,
        coloring,
        color_name,
        title,
        seconds,
        frames_per_second,
        ax,
        theme,
        labels,
        view,
        options,
    ):
        plt = require_matplotlib()
        self.frames, self.iterations, self.title = frames, iterations, title
        self.frames_per_second = frames_per_second
        self.n_pictures = max(2, round(seconds * frames_per_second))
        self._coloring, self._options, self._labels = coloring, dict(options), labels
        self._options["size"] = self._options.pop("marker_size")
        self._view = _common_view(frames, view)
        n_classes, most = len(getattr(coloring, "names", [None])), self._options["max_classes"]
        n_strips = min(n_classes, most) if isinstance(most, Integral) else 1
        drawn = Map(frames[-1], ax, theme, self._view, n_strips)
        self._theme, self.ax_, self.figure_ = drawn.theme, drawn.ax, drawn.ax.figure
        drawn.draw_points(coloring, **self._options)
        drawn.explain_colors(labels, color_name)
        drawn.write_note()
        self._points = drawn.points
        self._write_title(len(frames) - 1)
        if ax is None:  # the axes must not move from one picture to the next
            lay_out(self.ax_)
            self.figure_.set_layout_engine("none")
            plt.close(self.figure_)

    def draw(self, picture):
        """Draw a picture of the film on the axes.

        Parameters
        ----------
        picture : int
            Number of the picture, from 0; beyond the last one, it is the last one.

        Returns
        -------
        list of matplotlib artists
            The points.
        """
        last = len(self.frames) - 1
        time = min(picture / (self.n_pictures - 1), 1.0) * last
        index = min(int(time), last - 1)
        part = time - index
        X = (1 - part) * self.frames[index] + part * self.frames[index + 1]
        for artist in self._points:
            artist.remove()
        drawn = Map(X, self.ax_, self._theme.name, self._view)
        drawn.draw_points(self._coloring, **self._options)
        if X.shape[1] == 1 and drawn.entries:  # the names of strips are ticks, which are new
            drawn.explain_colors(self._labels, None)
        self._points = drawn.points
        self._write_title(index + int(part == 1.0))
        return self._points

    def _write_title(self, index):
        if self.iterations is None:
            text = f"{index + 1} of {len(self.frames)}"
        else:
            text = f"iteration {self.iterations[index]:,}"
        if self.title:
            text = f"{one_line(self.title, 60)}, {text}"
        title = self.ax_.set_title("", fontsize=10, color=self._theme.muted)
        set_literal(title, text)

    def animation(self):
        """The film as matplotlib has it, such as for other writers.

        Returns
        -------
        matplotlib.animation.FuncAnimation
            All pictures, and the last one for a second more.
        """
        from matplotlib.animation import FuncAnimation

        n = self.n_pictures + round(_HOLD * self.frames_per_second)
        interval = 1000 / self.frames_per_second
        return FuncAnimation(
            self.figure_, self.draw, frames=n, init_func=lambda: [], interval=interval, blit=False
        )

    def save(self, path, *, dpi=100):
        """Write the film to a file.

        Parameters
        ----------
        path : str or path-like
            The suffix says how: ".gif", ".mp4", or ".html", a page that works by itself, with
            buttons. An MP4 file is written by the program ffmpeg: the one that matplotlib finds,
            or else that of the package imageio-ffmpeg.
        dpi : float, default=100
            Pixels per inch; a new figure is 6.4 inches wide.

        Raises
        ------
        ValueError
            If the suffix is another one.
        RuntimeError
            If there is no ffmpeg.
        """
        from matplotlib import animation, rc_context

        path = Path(path)
        kind, settings = path.suffix.lower(), {}
        if kind == ".html":
            path.write_text(self._page(dpi), encoding="utf-8")
            return
        if kind == ".gif":
            writer = animation.PillowWriter(fps=self.frames_per_second)
        elif kind == ".mp4":
            settings = _settings_of_ffmpeg()
            writer = animation.FFMpegWriter(fps=self.frames_per_second)
        else:
            raise ValueError(f"path must end in .gif, .mp4 or .html; got {str(path)!r}.")
        with rc_context(settings):
            self.animation().save(path, writer=writer, dpi=dpi)

    def _page(self, dpi):
        return _PAGE.format(
            title=escape(self.title or "Embedding"),
            background=self._theme.background,
            text=self._theme.text,
            body=self._player(dpi),
        )

    def _player(self, dpi=100):
        """HTML with all pictures, and buttons."""
        from matplotlib import rc_context

        # matplotlib drops pictures beyond a limit, 20 MB by default
        with rc_context({"animation.embed_limit": 2**20, "savefig.dpi": dpi}):
            return self.animation().to_jshtml(fps=self.frames_per_second)

    def _repr_html_(self):
        return self._player(72)


def _settings_of_ffmpeg():
    """matplotlib's settings under which it finds the program ffmpeg."""
    from matplotlib.animation import writers

    if writers.is_available("ffmpeg"):
        return {}
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return {"animation.ffmpeg_path": get_ffmpeg_exe()}
    except (ImportError, RuntimeError) as error:  # not installed, or without the program
        raise RuntimeError(
            "An MP4 file is written by the program ffmpeg, which was not found. Install the "
            "package that brings it, pip install imageio-ffmpeg, or the program itself (apt "
            "install ffmpeg, brew install ffmpeg or conda install ffmpeg); or save a .gif or "
            ".html file."
        ) from error


def _read_snapshots(source, align):
    """Snapshots as an array of float64, and their iterations if they are known."""
    is_estimator = hasattr(source, "fit")
    if is_estimator:
        advice = "Fit with snapshot_every=5, say, on an estimator that has this parameter."
        own = last_step(source)
        taken = fitted_attribute(own, "snapshots_", advice)
        numbers = getattr(own, "snapshot_iterations_", None)
    else:
        taken, numbers = _raw_snapshots(source)
    if len(taken) < 2:
        raise ValueError(
            f"A film needs at least two snapshots; got {len(taken)}. Use a smaller snapshot_every; "
            "a problem that is solved exactly, without iterations, has one at most."
        )
    frames = []
    for index, frame in enumerate(taken):
        if np.ndim(frame) != 2:
            raise ValueError(
                "snapshots must have the shape (n_snapshots, n_items, n_components); snapshot "
                f"{index} has {np.ndim(frame)} dimensions instead of 2."
            )
        X = read_embedding(frame, f"snapshots[{index}]")
        if frames and X.shape != frames[0].shape:
            raise ValueError(
                f"All snapshots must have the same shape; snapshot 0 has {frames[0].shape} and "
                f"snapshot {index} has {X.shape}."
            )
        frames.append(X)
    if align and not is_estimator:
        for index in range(len(frames) - 2, -1, -1):
            frames[index] = align_with(frames[index], frames[index + 1])
    return np.stack(frames), None if numbers is None else np.asarray(numbers)


def _raw_snapshots(source):
    """Snapshots of a problem, a result or a history, or given as such, and their iterations."""
    if isinstance(source, str | dict):
        raise TypeError(f"snapshots must be an estimator or arrays; got {one_line(repr(source))}.")
    if hasattr(source, "embed") and getattr(source, "result", None) is None:
        raise ValueError("The problem is not solved; call embed(snapshot_every=5) first.")
    result = getattr(source, "result", source)
    history = getattr(result, "history", result)
    taken = getattr(history, "snapshots", None)
    if taken is not None and not taken:
        raise ValueError("The problem has no snapshots; solve it with embed(snapshot_every=5).")
    given = source if taken is None else taken
    if not hasattr(given, "__len__"):
        raise TypeError(f"snapshots must be an estimator or arrays; got {one_line(repr(source))}.")
    if len(given) and all(
        isinstance(item, tuple) and len(item) == 2 and np.ndim(item[0]) == 0 for item in given
    ):
        return [X for _, X in given], [number for number, _ in given]
    return given, None


def _common_view(frames, view):
    """The limits that show every frame."""
    views = [view_of(X, view) for X in frames]
    low = np.min([each.low for each in views], axis=0)
    high = np.max([each.high for each in views], axis=0)
    return View(low, high, np.zeros(frames.shape[1], dtype=bool))
