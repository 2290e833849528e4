"""The function `explore`: checks what it is given, and puts the page's data together."""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde.metrics.fitted import embedding_of
from skmde.plotting.explorer.columns import (
    Column,
    class_column,
    color_column,
    table_columns,
    text_column,
)
from skmde.plotting.explorer.packing import pack
from skmde.plotting.explorer.page import ExplorerPage, render
from skmde.plotting.explorer.sheets import make_sheets

MOST_COMPONENTS = 10
MOST_EDGES = 20_000


def explore(
    embedding: Any,
    *,
    labels: Any = None,
    hover: Any = None,
    images: Any = None,
    edges: Any = None,
    color_by: Any = None,
    title: str = "Embedding",
    height: int = 600,
) -> ExplorerPage:
    """Return an embedding as one HTML file, to move about in, search and select.

    The page works without a network and without Python, by mouse, keyboard and touch. Drag and
    wheel move and zoom the map; the item under the pointer shows its texts and its image; search
    finds items by their texts; a lasso selects items, lists them, and gives their indices as a
    file; the legend shows and hides classes. The page is light or dark as the system is. The key
    "?" lists all keys. The map is drawn by regl-scatterplot.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_components), or fitted estimator
        Coordinates, or an estimator with an attribute ``embedding_``, or a pipeline that ends in
        one. With one component, the items are spread vertically, which means nothing. With 3 to 10,
        the page draws two at a time and lets its user choose them.
    labels : array-like of shape (n_samples,), default=None
        The class of each item: numbers, texts, or a mixture. Classes are told apart by their text.
        None and NaN are the class "(missing)". The 20 largest classes have colours of their own,
        the others share a grey. Class names are written on the map.
    hover : array-like of shape (n_samples,), mapping or data frame, default=None
        A text for each item, or several columns. They are shown with the item, and searched.
    images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3 or 4), \
            default=None
        An image of each item, grey, RGB or RGBA. uint8 is used as it is; of other numbers the
        smallest is black and the largest white. Images of more than 96 pixels are made smaller.
    edges : array-like of shape (n_edges, 2), or sparse matrix of shape (n_samples, n_samples), \
            default=None
        Pairs of items to connect by lines. Of more than 20,000, evenly chosen ones are drawn.
    color_by : list, mapping, data frame or array-like of shape (n_samples,), default=None
        Further colourings that can be chosen: names of columns of `hover`, or arrays. Floats, and
        integers with more than 20 different values, are coloured as numbers; all else as classes.
    title : str, default="Embedding"
        Heading of the page.
    height : int, default=600
        Height in a notebook, in pixels.

    Returns
    -------
    page : ExplorerPage
        Shows itself in a notebook; ``page.save("map.html")`` writes the file.

    Raises
    ------
    ValueError
        If the embedding has no rows, no finite numbers or more than 10 components, or if another
        argument does not have one value for each row.
    ImportError
        If `images` is given and Pillow is not installed; it comes with ``skmde[plot]``.

    See Also
    --------
    EmbeddingDisplay : Picture of an embedding with one, two or three components.
    ExplorerPage : An embedding as a page, as `skmde.plotting.explore` returns it.

    Notes
    -----
    The file contains all that it is given. Texts are shown as texts: HTML in them does nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmde import QuadraticMDE
    >>> from skmde.plotting import explore
    >>> digits = load_digits()
    >>> embedding = QuadraticMDE(weights="pca").fit_transform(digits.data)
    >>> page = explore(embedding, labels=digits.target, color_by={"ink": digits.data.sum(axis=1)})
    >>> page.save("digits.html")  # doctest: +SKIP
    """
    X, names = _coordinates(embedding)
    n = len(X)
    columns: list[Column] = []
    colorings: list[int] = []
    if labels is not None:
        name = str(getattr(labels, "name", None) or "label")
        columns.append(class_column("labels", name, labels, n))
        colorings.append(0)
    table = table_columns(hover)
    for name, column in _color_columns(color_by, table, n):
        colorings.append(len(columns))
        columns.append(column)
        if table is not None and isinstance(color_by, list | tuple):
            table.pop(name, None)
    if table is not None:
        columns += [text_column(f"hover[{k!r}]", k, v, n) for k, v in table.items()]
    elif hover is not None:
        columns.append(text_column("hover", "", hover, n))

    about, sheets = (None, []) if images is None else make_sheets(images, n)
    data = {
        "n": n,
        "components": [pack(x) for x in _within_unit_square(X)],
        "names": names,
        "columns": columns,
        "colorings": colorings,
        "images": about,
        "edges": None if edges is None else _edges(edges, n),
    }
    # a lone surrogate cannot be written as UTF-8
    heading = str(title).encode("utf-8", "replace").decode()
    return ExplorerPage(render(heading, data, sheets), height)


def _coordinates(embedding: Any) -> tuple[np.ndarray, list[str]]:
    embedding = embedding_of(embedding)
    if isinstance(embedding, np.ma.MaskedArray) and np.ma.is_masked(embedding):
        raise ValueError("embedding has masked entries. Leave out the rows that have them.")
    array = np.asarray(embedding)
    if array.dtype.kind not in "buif" and array.dtype != object:
        raise ValueError(f"embedding has entries of type {array.dtype}; expected real numbers.")
    try:
        X = array.astype(np.float64) if array.shape else None
    except (TypeError, ValueError):
        X = None
    if X is None:
        raise ValueError(
            "embedding is neither an array of numbers nor an estimator with an attribute "
            f"embedding_; a {type(embedding).__name__} was given."
        )
    if X.ndim != 2:
        raise ValueError(
            f"embedding has shape {X.shape}; expected (n_samples, n_components). One component "
            "is embedding.reshape(-1, 1)."
        )
    if 0 in X.shape:
        raise ValueError(f"embedding has shape {X.shape}: there is nothing to show.")
    if X.shape[1] > MOST_COMPONENTS:
        raise ValueError(
            f"embedding has {X.shape[1]} components, but at most {MOST_COMPONENTS} can be shown. "
            "Embed the data first, for example with skmde.PreserveNeighbors."
        )
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        raise ValueError(
            f"embedding has NaN or infinite coordinates in {bad.sum()} of {len(X)} rows, the first "
            f"of them row {bad.argmax()}. Leave those rows out, of the other arguments as well."
        )
    columns = getattr(embedding, "columns", None)
    if columns is not None:
        return X, [str(name) for name in columns]
    return X, [f"component {k + 1}" for k in range(X.shape[1])]


def _within_unit_square(X: np.ndarray) -> list[np.ndarray]:
    """Return each component, centred, in one unit that brings all of them to [-1, 1]."""
    X = X / (np.abs(X).max() or 1.0)
    low, high = X.min(axis=0), X.max(axis=0)
    X = X - (low + high) / 2
    X /= np.abs(X).max() or 1.0
    components = list(X.T.astype(np.float32))
    if len(components) == 1:
        # spread evenly whatever the order of the items: multiples of the golden ratio
        share = np.arange(len(X)) * 0.6180339887498949 % 1
        components.append((0.3 * (share - 0.5) if len(X) > 1 else share).astype(np.float32))
    return components


def _color_columns(color_by: Any, table: dict[str, Any] | None, n: int) -> list[tuple[str, Column]]:
    if color_by is None:
        return []
    named = table_columns(color_by)
    if named is None:
        named = _named_colorings(color_by, table, n)
    return [(k, color_column(f"color_by[{k!r}]", k, values, n)) for k, values in named.items()]


def _named_colorings(color_by: Any, table: dict[str, Any] | None, n: int) -> dict[str, Any]:
    if isinstance(color_by, str):
        color_by = [color_by]
    if isinstance(color_by, list | tuple):
        entries = list(color_by)
        if entries and all(isinstance(entry, str) for entry in entries):
            unknown = [entry for entry in entries if table is None or entry not in table]
            if not unknown:
                return {entry: table[entry] for entry in entries}  # type: ignore[index]
            if len(entries) != n:
                known = "is no table" if table is None else f"has the columns {list(table)}"
                raise ValueError(
                    f"color_by names {unknown[0]!r}, but hover {known}. Give names of columns of "
                    "hover, or arrays."
                )
        elif entries and all(
            hasattr(entry, "__len__") and not isinstance(entry, str | bytes) for entry in entries
        ):
            return {
                str(getattr(entry, "name", None) or f"color {k + 1}"): entry
                for k, entry in enumerate(entries)
            }
    return {str(getattr(color_by, "name", None) or "color"): color_by}


def _edges(edges: Any, n: int) -> dict[str, Any]:
    if hasattr(edges, "tocoo"):
        if edges.shape != (n, n):
            raise ValueError(f"edges has shape {edges.shape}, but has to be ({n}, {n}) or (m, 2).")
        matrix = edges.tocoo()
        pairs = np.column_stack([matrix.row, matrix.col])[matrix.data != 0]
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    else:
        pairs = np.asarray(edges)
        if pairs.size == 0:
            pairs = np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"edges has shape {pairs.shape}; expected (n_edges, 2), one pair of items a row."
        )
    if pairs.dtype.kind not in "iu":
        raise ValueError(
            f"edges has entries of type {pairs.dtype}; expected integers, the indices of items."
        )
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < n):
        raise ValueError(
            f"edges has indices from {pairs.min()} to {pairs.max()}, but items are numbered from "
            f"0 to {n - 1}."
        )
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    total = len(pairs)
    if total > MOST_EDGES:
        pairs = pairs[np.linspace(0, total - 1, MOST_EDGES).astype(np.int64)]
    return {"pairs": pack(pairs.astype(np.uint32).ravel()), "drawn": len(pairs), "total": total}
