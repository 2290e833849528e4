"""A small picture of an embedding, as SVG: dots in the colour of the text around it.

It shows at most 1,000 items, evenly spaced in their order, and takes about 10 bytes for each,
whatever the number of items. It needs neither a plotting library nor a script.
"""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from skmde._views.far_points import far_points

_MOST = 1000  # items
_SIDE = 220  # pixels of the longer side, with the margins
_LONGEST = 1.6  # the longer side, in units of the shorter one
_STRIP = 0.25  # height of a strip of points with one component, in units of its length
_UNITS = 4  # of a coordinate in a pixel
_MARGIN = 8  # pixels
_LAYERS = 10  # dots of different layers add up where they overlap, and dots of one do not
_GOLDEN = 0.6180339887498949


def every(n: int) -> int:
    """The k for which every k-th of n items is shown."""
    return max(-(-n // _MOST), 1)


def thumbnail(embedding: Any) -> str:
    """The picture, with a line of text below it if it leaves something out.

    Parameters
    ----------
    embedding : ndarray or torch.Tensor of shape (n_items, n_components)
        The first two components are shown. Items whose coordinates are not finite are left out.

    Returns
    -------
    str
        Empty if there is nothing to show.
    """
    n, m = embedding.shape
    step = every(n)
    shown = embedding[::step, :2]
    if hasattr(shown, "detach"):  # a tensor, perhaps on a GPU
        shown = shown.detach().cpu()
    X = np.asarray(shown, dtype=np.float64)
    X = X[np.isfinite(X).all(axis=1)]
    if not len(X):
        return ""
    X = X / (np.abs(X).max() or 1.0)  # so that no difference overflows
    far = far_points(X)
    drawn = _on_a_strip(X[~far]) if m == 1 else X[~far]
    left_out = [
        f"every {_ordinal(step)} item" if step > 1 else "",
        f"components 1 and 2 of {m}" if m > 2 else "",
        "without points far from all others" if far.any() else "",
    ]
    text = html.escape("; ".join(filter(None, left_out)))
    return f"<figure>{_svg(drawn, m)}<figcaption>{text}</figcaption></figure>"


def _on_a_strip(X: np.ndarray) -> np.ndarray:
    """One component: a strip, as thick as the points are dense."""
    x = X[:, 0]
    n_bins = int(np.clip(2 * np.sqrt(len(x)), 8, 60))
    counts, edges = np.histogram(x, n_bins)
    cell = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, n_bins - 1)
    spread = (np.arange(len(x)) * _GOLDEN) % 1.0 - 0.5
    length = float(np.ptp(x)) or 1.0
    return np.stack([x, _STRIP * length * spread * counts[cell] / counts.max()], axis=1)


def _svg(X: np.ndarray, n_components: int) -> str:
    low, high = X.min(axis=0), X.max(axis=0)
    longest = float((high - low).max()) or 1.0
    least = longest * (_STRIP if n_components == 1 else 1 / _LONGEST)
    size = np.maximum(high - low, least)
    scale = (_SIDE - 2 * _MARGIN) / longest
    width, height = np.ceil(size * scale + 2 * _MARGIN).astype(int)
    middle = (low + high) / 2
    from_middle = (X - middle) * scale * np.array([1.0, -1.0])  # upwards, as in a diagram
    dots = np.rint(_UNITS * (from_middle + np.array([width, height]) / 2)).astype(int)
    dot = _UNITS * (5.0 if len(X) <= 150 else 3.2)
    paths = "".join(
        f'<path d="{"".join(f"M{x} {y}h0" for x, y in dots[layer::_LAYERS].tolist())}"/>'
        for layer in range(min(_LAYERS, len(dots)))
    )
    return (
        f'<svg role="img" aria-label="the embedding" width="{width}" height="{height}" '
        f'viewBox="0 0 {_UNITS * width} {_UNITS * height}" fill="none" stroke="currentColor" '
        f'stroke-linecap="round" stroke-width="{dot:g}" stroke-opacity="0.5">'
        f'<rect width="100%" height="100%" stroke-width="{_UNITS}" stroke-opacity="0.25"/>'
        f"{paths}</svg>"
    )


def _ordinal(number: int) -> str:
    if number % 100 not in (11, 12, 13) and number % 10 in (1, 2, 3):
        return f"{number:,}{('st', 'nd', 'rd')[number % 10 - 1]}"
    return f"{number:,}th"
