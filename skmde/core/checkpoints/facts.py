"""What tells one problem from another, as short texts by name.

Numbers and names are told by themselves, arrays by their dtype, shape and a digest of their bytes.
Two problems are the same if all their texts are.

The texts are part of the file of a checkpoint, and errors quote them, so they say what a value is.
A function is told by its name: its code may be another after an edit that changes no result. What
it does shows in the value and the gradient at the starting point. Ranks compare more, and at once
(``_utils/ranks/fingerprint.py``).
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

Facts = dict[str, str]
_MARK = " #"  # before a digest
_FEW = 8  # entries of a list that are told one by one


def digest(*arrays: Any) -> str:
    """A text for some arrays: dtypes, shapes, and a digest of all bytes."""
    found, kinds = hashlib.sha256(), []
    for array in arrays:
        if isinstance(array, torch.Tensor):
            array = array.detach().cpu().numpy()
        array = np.asarray(array)
        kinds.append(f"{array.dtype} of shape {array.shape}")
        if array.dtype == object:  # its bytes are addresses
            array = np.asarray([described(own) for own in array.ravel()])
        array = np.ascontiguousarray(array)
        found.update(kinds[-1].encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return f"{', '.join(kinds)}{_MARK}{found.hexdigest()[:16]}"


def described(value: Any) -> str:
    """A text for a parameter of any kind, the same in each process.

    A function is told by its name alone, and an object without parameters by that of its class.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, torch.device):
        return repr(str(value))
    if isinstance(value, np.random.RandomState):
        return digest(*(part for part in value.get_state() if not isinstance(part, str)))
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {described(own)}' for key, own in value.items())}}}"
    if isinstance(value, list | tuple) and len(value) <= _FEW:
        return f"[{', '.join(described(own) for own in value)}]"
    if sp.issparse(value):
        return of_data(value)
    if isinstance(value, list | tuple | torch.Tensor) or hasattr(value, "__array__"):
        return digest(value)
    if inspect.isclass(value) or inspect.isroutine(value):
        return str(getattr(value, "__qualname__", value))
    parameters = value.get_params(deep=False) if hasattr(value, "get_params") else {}
    own = ", ".join(f"{name}={described(one)}" for name, one in parameters.items())
    return f"{type(value).__qualname__}({own})"


def of_data(X: Any) -> str:
    """A text for the data that an estimator is fitted to."""
    if isinstance(X, tuple):
        return digest(*X)
    if not sp.issparse(X):
        return digest(X)
    rows = X.tocsr()
    return f"sparse of shape {rows.shape}, {digest(rows.indptr, rows.indices, rows.data)}"


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Which facts are not the same, each as the end of a sentence."""
    return [
        _difference(name, before.get(name, "missing"), now.get(name, "missing"))
        for name in dict.fromkeys([*now, *before])
        if before.get(name) != now.get(name)
    ]


def _difference(name: str, before: str, now: str) -> str:
    kinds = [text.rpartition(_MARK)[0] for text in (before, now)]
    if all(kinds) and kinds[0] == kinds[1]:
        return f"{name} differ"
    shown = (kind or text for kind, text in zip(kinds, (before, now), strict=True))
    return "{} was {}, is {}".format(name, *shown)
