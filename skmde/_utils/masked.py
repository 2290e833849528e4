"""Masked arrays: what is behind a mask would be read as if it were known."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_not_masked(values: Any, name: str, advice: str) -> None:
    """An error where an array has masked entries.

    Parameters
    ----------
    values : object
        What the caller gave. A list or tuple is looked into, as far as its own entries go.
    name : str
        Of the argument.
    advice : str
        What to do instead, an imperative.

    Raises
    ------
    ValueError
        If some are masked. An array whose mask hides nothing is like any other.
    """
    arrays = values if isinstance(values, list | tuple) else [values]
    masked = sum(np.ma.count_masked(a) for a in arrays if isinstance(a, np.ma.MaskedArray))
    if masked:
        raise ValueError(
            f"{name} is a masked array with {masked} masked entries, which would be missing "
            f"values; {advice}."
        )
