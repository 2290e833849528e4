"""Points in two dimensions: markers that suit their number, or an image of their density."""

from __future__ import annotations

import numpy as np

from skmde.plotting.drawing.axes import area_in_points, size_in_points

MOST_MARKERS = 20_000  # of more points, an image shows the density
_RASTERIZED = 3_000  # more markers become an image in vector formats
_COVERED = 0.16  # share of the axes that markers would cover side by side
_SMALLEST, _LARGEST = 1.6, 64.0  # areas of a marker, in square points
_PIXELS_PER_AREA = 2.6  # of a square point, at most
_FAINTEST = 0.45  # opacity of a pixel with one point


def marker_size(n_points, ax):
    """Area of a marker, in square points: large for few points, small for many."""
    return float(np.clip(_COVERED * area_in_points(ax) / n_points, _SMALLEST, _LARGEST))


def marker_alpha(n_points):
    """Opacity of a marker: the more points, the more of them overlap."""
    return float(np.clip(1.1 - 0.08 * np.log10(max(n_points, 1)), 0.5, 0.95))


def draw_markers(ax, X, colors, theme, *, size=None, alpha=None, **style):
    """One marker for each point, in random order, so that no class covers the others.

    Parameters
    ----------
    ax : matplotlib Axes
    X : ndarray of shape (n_points, n_components)
        Two or three components.
    colors : ndarray of shape (n_points, 4)
        RGBA.
    theme : Theme
    size, alpha : float or None
        Area of a marker in square points, and opacity; None chooses by the number of points.
    **style : dict
        Passed to ``scatter``.

    Returns
    -------
    matplotlib PathCollection
    """
    n = len(X)
    order = np.random.default_rng(0).permutation(n)
    style = {
        "s": marker_size(max(n, 1), ax) if size is None else size,
        "alpha": marker_alpha(n) if alpha is None else alpha,
        "linewidths": 0.5 if n <= 300 else 0,
        "edgecolors": theme.background if n <= 300 else "none",
        "rasterized": n > _RASTERIZED,
        "zorder": 2,
        **style,
    }
    return ax.scatter(*X[order].T, c=colors[order], **style)


def draw_density(ax, X, colors, low, high, faintest=_FAINTEST):
    """An image of the number of points in each pixel, and of their mean colour.

    A pixel is the more opaque, the more points it holds, by rank among the pixels. So dense and
    sparse parts can be seen in one picture.

    Parameters
    ----------
    ax : matplotlib Axes
    X : ndarray of shape (n_points, 2)
    colors : ndarray of shape (n_points, 4)
        RGBA.
    low, high : ndarray of shape (2,)
        Limits of the image; points outside are left out.
    faintest : float
        Opacity of a pixel with the fewest points.

    Returns
    -------
    matplotlib AxesImage
    """
    sides = high - low if ax.get_aspect() == 1 else size_in_points(ax)
    sides = sides / sides.max()
    n_pixels = min(_PIXELS_PER_AREA * area_in_points(ax), 2.0 * len(X))
    shape = np.maximum(np.sqrt(n_pixels / sides.prod()) * sides, 16).astype(int)
    image = density_image(X, colors, low, high, shape, faintest)
    extent = (low[0], high[0], low[1], high[1])
    return ax.imshow(image, extent=extent, origin="lower", aspect=ax.get_aspect(), zorder=2)


def density_image(X, colors, low, high, shape, faintest=_FAINTEST):
    """RGBA of each pixel of `draw_density`.

    Parameters
    ----------
    X, colors, low, high, faintest
        As there.
    shape : tuple of (int, int)
        Width and height, in pixels.

    Returns
    -------
    ndarray of float of shape (height, width, 4)
    """
    width, height = shape
    cells = np.floor((X - low) * (np.array(shape) / (high - low))).astype(np.int64)
    cells = np.minimum(cells, np.array(shape) - (X == high))  # the upper end belongs to the image
    inside = ((cells >= 0) & (cells < shape)).all(axis=1)
    pixel = cells[inside, 1] * width + cells[inside, 0]
    counts = np.bincount(pixel, minlength=width * height)
    # colours are mixed as light is, in proportion to the square of their numbers
    light = colors[inside, :3].astype(np.float64) ** 2
    sums = [np.bincount(pixel, channel, minlength=width * height) for channel in light.T]
    filled = counts > 0
    image = np.zeros((width * height, 4))
    image[filled, :3] = np.sqrt(np.stack(sums, axis=1)[filled] / counts[filled, None])
    levels, level, sizes = np.unique(counts[filled], return_inverse=True, return_counts=True)
    rank = (np.cumsum(sizes) - sizes) / max(len(level) - sizes[-1] if len(sizes) else 1, 1)
    image[filled, 3] = faintest + (1 - faintest) * rank[level] if len(levels) > 1 else 1.0
    return image.reshape(height, width, 4)
