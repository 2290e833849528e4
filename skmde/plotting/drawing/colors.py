"""What points are coloured by: classes, each with a colour, or numbers, along a colour map."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from skmde.metrics.alignment import as_array, has_fractions
from skmde.plotting.drawing.arguments import read_integer
from skmde.plotting.drawing.texts import one_line
from skmde.plotting.drawing.theme import palette_for
from skmde.plotting.drawing.view import numbers_range

MISSING = -1  # the code of an item without a class


class Classes(NamedTuple):
    """The class of each item.

    Parameters
    ----------
    names : list of str
        Distinct classes, in the order of the legend.
    codes : ndarray of int of shape (n_items,)
        Position of each item's class in `names`; -1 where it is missing.
    """

    names: list
    codes: np.ndarray


class Numbers(NamedTuple):
    """The number of each item.

    Parameters
    ----------
    values : ndarray of float64 of shape (n_items,)
        NaN where it is missing.
    """

    values: np.ndarray


class Entry(NamedTuple):
    """A group of points of one colour, with a name in the legend.

    Parameters
    ----------
    name : str
    color : str or tuple
        Any colour of matplotlib.
    items : ndarray of bool of shape (n_items,)
    is_class : bool
        False for "other" and for missing classes.
    """

    name: str
    color: object
    items: np.ndarray
    is_class: bool


def read_coloring(color_by, n_items, color_as="auto"):
    """Classes or numbers of the items.

    Parameters
    ----------
    color_by : array-like of shape (n_items,) or None
    n_items : int
    color_as : {"auto", "class", "number"}
        "auto" takes floats that are not all whole as numbers, and all else as classes.

    Returns
    -------
    Classes, Numbers or None

    Raises
    ------
    ValueError
        If the shape is wrong, or numbers are asked for and there are none.
    """
    if color_as not in ("auto", "class", "number"):
        raise ValueError(f'color_as must be "auto", "class" or "number"; got {color_as!r}.')
    if color_by is None:
        return None
    categories = getattr(getattr(color_by, "cat", color_by), "categories", None)
    values = _as_vector(color_by)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"color_by must hold one class or number for each item; got shape {values.shape}."
        )
    if len(values) != n_items:
        raise ValueError(
            f"color_by has {len(values)} values, but the embedding has {n_items} items; pass one "
            "value for each item, in the same order."
        )
    values = _as_numbers(values)
    if color_as == "number" and values.dtype.kind not in "fiub":
        seen = next(v for v in values if not (isinstance(v, numbers.Real) or _is_missing(v)))
        raise ValueError(
            f'color_as="number" needs numbers; color_by has {one_line(repr(seen))}. Pass numbers, '
            'or color_as="class".'
        )
    if color_as == "number" or (color_as == "auto" and _is_continuous(values)):
        return Numbers(values.astype(np.float64))
    return _classes(values, categories)


def _as_vector(color_by):
    """An array; of a list whose entries numpy would turn into texts, the entries themselves."""
    try:
        values = as_array(color_by, "color_by")
    except ValueError:
        if not isinstance(color_by, list | tuple):
            raise
    else:
        if not isinstance(color_by, list | tuple) or values.dtype.kind not in "US":
            return values
        if values.ndim != 1:
            return values
    values = np.empty(len(color_by), dtype=object)
    for k, value in enumerate(color_by):
        values[k] = value
    return values


def _as_numbers(values):
    """Objects that are all numbers, or missing, as floats; other arrays unchanged."""
    if values.dtype.kind != "O":
        return values
    known = [value for value in values if not _is_missing(value)]
    are_numbers = all(isinstance(value, numbers.Real | np.bool_) for value in known)
    are_flags = known and all(isinstance(value, bool | np.bool_) for value in known)
    if are_flags or not are_numbers:
        return values
    return np.array([math.nan if _is_missing(value) else float(value) for value in values])


def _is_missing(value):
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas', without pandas
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and math.isnan(value)


def _is_continuous(values):
    if values.dtype.kind != "f":
        return False
    return has_fractions(values[np.isfinite(values)])


def _classes(values, categories):
    """Classes by their texts, in the order of numbers, of categories, or of the alphabet."""
    if values.dtype.kind == "O":
        missing = np.array([_is_missing(value) for value in values], dtype=bool)
        names, found = _unique_texts([str(value) for value in values[~missing]])
    elif values.dtype.kind in "US":
        missing = np.zeros(len(values), dtype=bool)
        names, found = _unique_texts(values.astype(str).tolist())
    else:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
        if values.dtype.kind in "mM":
            missing = np.isnat(values)
        distinct, found = np.unique(values[~missing], return_inverse=True)
        is_time = values.dtype.kind == "M"  # written as dates if they are whole days
        names = np.datetime_as_string(distinct, "auto").tolist() if is_time else None
        names = [_text_of(value) for value in distinct] if names is None else names
    if categories is not None:
        rank = {str(name): k for k, name in enumerate(categories)}
        order = sorted(range(len(names)), key=lambda k: rank.get(names[k], len(rank)))
        names, found = [names[k] for k in order], np.argsort(order)[found]
    codes = np.full(len(values), MISSING)
    codes[~missing] = found
    return Classes(names, codes)


def _unique_texts(texts):
    """Distinct texts in order, and where each text is among them."""
    names = sorted(sorted(set(texts)), key=_with_numbers)
    position = {name: k for k, name in enumerate(names)}
    return names, np.array([position[text] for text in texts], dtype=np.int64)


def _with_numbers(text):
    """A key that sorts "group 2" before "group 10"."""
    parts = re.split(r"(\d{1,15})", text)  # texts and digits in turn
    return [part if k % 2 == 0 else int(part) for k, part in enumerate(parts)]


def _text_of(value):
    if isinstance(value, np.floating) and np.isfinite(value) and value == np.round(value):
        return str(int(value))
    return str(value)


def legend_entries(classes, theme, *, palette=None, max_classes=20):
    """The groups of points that get a colour.

    Parameters
    ----------
    classes : Classes
    theme : Theme
    palette : None, sequence of colours or mapping of names to colours, default=None
        None takes the theme's palette for this number of classes.
    max_classes : int, default=20
        If there are more, the largest ones have colours and the rest is "other".

    Returns
    -------
    list of Entry
        In the order of the classes, then "other", then those without a class. Groups without items
        are left out.
    """
    counts = np.bincount(classes.codes[classes.codes >= 0], minlength=len(classes.names))
    colors = _chosen_colors(classes.names, theme, palette, max_classes)
    if isinstance(colors, Mapping):
        kept = [k for k, name in enumerate(classes.names) if name in colors]
        colored = [(k, colors[classes.names[k]]) for k in kept]
    else:
        n_classes = len(classes.names)
        n_kept = n_classes if n_classes <= len(colors) else len(colors) - 1
        kept = np.sort(np.argsort(-counts, kind="stable")[:n_kept])
        colored = list(zip(kept, colors, strict=False))
    entries = [
        Entry(one_line(classes.names[k]), color, classes.codes == k, True) for k, color in colored
    ]
    n_other = len(classes.names) - len(colored)
    if n_other:
        is_kept = np.zeros(len(classes.names) + 1, dtype=bool)  # the last is of code -1
        is_kept[[*(k for k, _ in colored), MISSING]] = True
        name = f"other ({n_other} {'class' if n_other == 1 else 'classes'})"
        entries.append(Entry(name, theme.other, ~is_kept[classes.codes], False))
    if (classes.codes == MISSING).any():
        entries.append(Entry("missing", theme.missing, classes.codes == MISSING, False))
    return entries


def _chosen_colors(names, theme, palette, max_classes):
    """A list of at most `max_classes` colours, or a mapping of names to colours."""
    from matplotlib.colors import is_color_like

    max_classes = read_integer(max_classes, "max_classes", 1)
    if palette is None:
        return palette_for(theme, min(len(names), max_classes))[:max_classes]
    if isinstance(palette, str):
        raise ValueError(
            f"palette must be a list of colours, or a dict from classes to colours; got "
            f"{palette!r}. For a colour map of numbers, pass cmap."
        )
    given = isinstance(palette, Mapping)
    colors = {str(k): v for k, v in palette.items()} if given else list(palette)
    for color in colors.values() if given else colors:
        if not is_color_like(color):
            raise ValueError(f"palette has {color!r}, which matplotlib does not know as a colour.")
    if not len(colors):
        raise ValueError("palette is empty; pass a colour or more, or None.")
    return colors if given else colors[:max_classes]


def number_colors(values, theme, cmap=None):
    """A colour map with its limits, for numbers.

    Parameters
    ----------
    values : ndarray of float64 of shape (n_items,)
    theme : Theme
    cmap : str, matplotlib Colormap or None, default=None
        None is viridis, without the end that is close to the background.

    Returns
    -------
    mappable : matplotlib ScalarMappable
        Its ``to_rgba`` gives colours.
    extend : {"neither", "min", "max", "both"}
        Whether numbers are beyond the limits.
    """
    import matplotlib as mpl
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    if cmap is None:
        shades = mpl.colormaps["viridis"](np.linspace(*theme.shades, 256))
        cmap = LinearSegmentedColormap.from_list(f"skmde {theme.name}", shades)
    low, high = numbers_range(values)
    beyond = (values < low).any(), (values > high).any()
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[beyond]
    if not high > low:  # one number: it lies in the middle of the bar
        half = 0.5 * max(abs(low), 1.0)
        low, high = low - half, high + half
    return ScalarMappable(Normalize(low, high), cmap), extend
