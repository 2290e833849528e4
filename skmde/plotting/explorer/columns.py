"""What is known of the items, one column at a time: classes, numbers and texts.

A column of the page has a name and one of three forms: numbers; codes into a list of texts, for
classes and for texts that repeat; or one text for each item.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from skmde.plotting.explorer.packing import pack, pack_codes

MISSING = "(missing)"
EMPTY = "(empty)"
# More different integers than this are a measurement, not names of classes.
MOST_INTEGER_CLASSES = 20

Column = dict[str, Any]


def table_columns(table: Any) -> dict[str, Any] | None:
    """Return the columns of a data frame or mapping by name; None for anything else."""
    if isinstance(table, Mapping):
        return {str(name): values for name, values in table.items()}
    if hasattr(table, "columns"):
        return {str(name): table[name] for name in table.columns}
    return None


def class_column(argument: str, name: str, values: Any, n: int) -> Column:
    """Return a column of classes, whatever the type of the values."""
    texts, codes = _coded(_one_per_item(argument, values, n), _category_ranks(values))
    return {"name": name, **_classes(texts, codes)}


def color_column(argument: str, name: str, values: Any, n: int) -> Column:
    """Return numbers for floats and for many different integers, else classes."""
    array = _one_per_item(argument, values, n)
    is_measured = array.dtype.kind == "f" or (
        array.dtype.kind in "iu" and len(np.unique(array)) > MOST_INTEGER_CLASSES
    )
    if is_measured and _category_ranks(values) is None:
        return {"name": name, **_numbers(array)}
    return class_column(argument, name, values, n)


def text_column(argument: str, name: str, values: Any, n: int) -> Column:
    """Return numbers for numbers, else texts."""
    array = _one_per_item(argument, values, n)
    if array.dtype.kind in "fiu":
        return {"name": name, **_numbers(array)}
    texts, codes = _coded(array, None)
    if len(texts) > n // 2:
        return {"name": name, "texts": [texts[code] for code in codes]}
    return {"name": name, **_classes(texts, codes)}


def _category_ranks(values: Any) -> dict[str, int] | None:
    """Return the order of a pandas categorical's texts; None for anything else."""
    if str(getattr(values, "dtype", "")) != "category":
        return None
    categories = getattr(values, "cat", values).categories
    return {_text_of(value): rank for rank, value in enumerate(categories)}


def _one_per_item(argument: str, values: Any, n: int) -> np.ndarray:
    array = _as_array(values)
    if array.ndim != 1:
        raise ValueError(
            f"{argument} has shape {array.shape}, but has to be one-dimensional. "
            "Give one value for each item."
        )
    if len(array) != n:
        raise ValueError(
            f"{argument} has {len(array)} values, but the embedding has {n} rows. "
            "Give one value for each item."
        )
    return array


def _as_array(values: Any) -> np.ndarray:
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        return np.asarray(values)
    if isinstance(values, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(values)
        values = np.array(values.data, dtype=object)
        values[masked] = None
    elif isinstance(values, list | tuple):
        objects = np.empty(len(values), dtype=object)
        for k, value in enumerate(values):
            objects[k] = value
        values = objects
    array = np.asarray(values)
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    types = set(map(type, array))
    if all(issubclass(kind, bool | np.bool_) for kind in types):
        return array.astype(bool)
    numeric = (int, float, np.integer, np.floating)
    if all(issubclass(kind, numeric) for kind in types - {type(None)}) and types != {type(None)}:
        if bool in types:
            return array
        if any(issubclass(kind, float | np.floating | type(None)) for kind in types):
            return array.astype(np.float64)
        if all(abs(int(value)) < 2**63 for value in array):
            return array.astype(np.int64)
    return array


def _coded(array: np.ndarray, ranks: dict[str, int] | None) -> tuple[list[str], np.ndarray]:
    """Return the different texts in order, and the index of each value's text."""
    if array.dtype.kind in "biufSU":  # sorting is faster than a text for each value
        values, of_value = np.unique(array, return_inverse=True)
    else:
        values, of_value = array, np.arange(len(array))
    first: dict[str, int] = {}
    codes = np.array([first.setdefault(_text_of(value), len(first)) for value in values])
    texts = list(first)
    keys = _keys(texts, ranks)
    order = sorted(range(len(texts)), key=keys.__getitem__)
    return [texts[code] for code in order], np.argsort(order)[codes[of_value]]


def _classes(texts: list[str], codes: np.ndarray) -> Column:
    missing = {"missing": texts.index(MISSING)} if MISSING in texts else {}
    return {"texts": texts, "codes": pack_codes(codes, len(texts)), **missing}


def _numbers(array: np.ndarray) -> Column:
    values = np.asarray(array, dtype=np.float64)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (None, None)
    # float32 has the digits that are shown, except those of large integers and huge numbers
    small = bool((np.abs(finite) < 2**24).all())
    return {
        "numbers": pack(values.astype(np.float32) if small else values),
        "low": low,
        "high": high,
    }


def _text_of(value: Any) -> str:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return MISSING
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    elif isinstance(value, float | np.floating):
        if np.isnan(value):
            return MISSING
        if float(value).is_integer() and abs(float(value)) < 1e15:
            value = int(value)
    elif isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value):
        return MISSING
    return str(value) or EMPTY


def _keys(texts: list[str], ranks: dict[str, int] | None) -> list[tuple[Any, ...]]:
    """Return keys that sort by category, by number, or digits in texts as numbers."""
    last = [text == MISSING for text in texts]
    if ranks is not None:
        return [(end, ranks.get(text, 0)) for end, text in zip(last, texts, strict=True)]
    try:
        return [(end, 0.0 if end else float(text)) for end, text in zip(last, texts, strict=True)]
    except ValueError:
        return [(end, *_natural(text)) for end, text in zip(last, texts, strict=True)]


def _natural(text: str) -> list[tuple[int, str]]:
    parts = re.split(r"([0-9]+)", text.casefold())
    # a number is compared by its length first, since texts may have more digits than int() takes
    return [
        (len(part.lstrip("0")), part.lstrip("0")) if k % 2 else (0, part)
        for k, part in enumerate(parts)
    ]
