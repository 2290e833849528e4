"""Fingerprints of data and parameters, by which ranks see whether they hold the same ones.

A fingerprint covers all that may change a result, such as the code of a function. It need not be
legible, and two processes of the same versions compare it at once. A checkpoint has other needs
(``core/checkpoints/facts.py``): its texts are read by users, and by a later process.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

_DEEPEST = 20  # of objects within objects


def fingerprint(value: Any) -> str:
    """A digest of a value. Equal values have equal digests, also in different processes.

    Arrays, tensors, matrices, generators, functions and objects are told apart by what they hold.
    A device counts by its kind: ranks may have a GPU each. Of what cannot be looked into, the type
    counts.
    """
    digest = hashlib.blake2b(digest_size=16)
    _add(digest, value, 0)
    return digest.hexdigest()


def _add(digest: Any, value: Any, depth: int) -> None:
    def note(*parts: Any) -> None:
        for part in parts:
            digest.update(repr(part).encode() + b"\0")

    def add(*values: Any) -> None:
        for x in values:
            _add(digest, x, depth + 1)

    kind = type(value)
    note(kind.__module__, kind.__qualname__)
    if depth > _DEEPEST:
        return
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.dtype):
        note(value)
    elif isinstance(value, torch.dtype | np.generic):
        note(str(value))
    elif isinstance(value, torch.device):
        note(value.type)
    elif isinstance(value, np.ndarray):
        note(value.dtype.str, value.shape)
        if value.dtype.hasobject:
            add(*value.ravel().tolist())
        else:
            digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
    elif isinstance(value, torch.Tensor):
        host = value.detach().cpu()
        add(host.float().numpy() if host.dtype == torch.bfloat16 else host.numpy())
    elif sp.issparse(value):
        rows = sp.coo_array(value)
        add(value.shape, rows.row.astype(np.int64), rows.col.astype(np.int64), rows.data)
    elif isinstance(value, Mapping):
        add(*(pair for pair in sorted(value.items(), key=lambda pair: str(pair[0]))))
    elif isinstance(value, set | frozenset):
        add(*sorted(value, key=repr))
    elif isinstance(value, list | tuple):
        add(*value)
    elif isinstance(value, np.random.RandomState):
        add(value.get_state(legacy=False))
    elif isinstance(value, np.random.Generator):
        add(value.bit_generator.state)
    elif isinstance(value, partial):
        add(value.func, value.args, value.keywords)
    elif isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        note(value.__module__, value.__qualname__)
        add(value.__code__, value.__defaults__, value.__kwdefaults__, cells)
    elif isinstance(value, types.CodeType):
        note(value.co_code, value.co_names)
        add(value.co_consts)
    elif isinstance(value, type | types.BuiltinFunctionType):
        note(value.__module__, value.__qualname__)
    elif isinstance(value, types.MethodType):
        add(value.__func__, value.__self__)
    elif hasattr(value, "to_numpy"):  # data frames
        add(list(getattr(value, "columns", ())), value.to_numpy())
    elif hasattr(value, "nodes") and hasattr(value, "edges"):  # networkx
        add(list(value.nodes), [list(edge) for edge in value.edges(data=True)])
    else:
        for name, x in sorted(getattr(value, "__dict__", {}).items()):
            if not isinstance(getattr(kind, name, None), cached_property):
                add(name, x)
