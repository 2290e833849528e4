"""Compilation of the project's CPU kernels: one decorator, one policy.

Every kernel releases the GIL, so that pieces of work run on plain threads, and is cached on
disk, so that only the first process ever compiles. Where no cache can be written or read (a
read-only installation, a sandbox, a full disk) the kernel is compiled in memory instead.

``fastmath=True`` is never used: it also promises that no NaN or infinity occurs, and the
compiler then deletes the checks for them. `REASSOCIATE` names the flags that let a sum be
vectorised and leaves NaN and infinity alone.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache

_F = TypeVar("_F", bound=Callable[..., Any])

REASSOCIATE = {"contract", "reassoc", "arcp", "nsz"}
CONTRACT = {"contract", "nsz"}

# What every kernel depends on: the flags above, and the constants that kernels take by value.
_ALWAYS = (Path(__file__), Path(__file__).with_name("_kinds.py"))

_UNREADABLE = (OSError, EOFError, ValueError, pickle.PickleError)


def jit(**options: Any) -> Callable[[_F], _F]:
    """Compile a function with numba: no GIL, and cached on disk where that is possible.

    Parameters
    ----------
    **options
        Passed to :func:`numba.njit`, for example ``fastmath=REASSOCIATE``.

    Returns
    -------
    decorator : callable
        Turns a Python function into its compiled dispatcher.
    """
    options.setdefault("nogil", True)
    options.setdefault("error_model", "numpy")

    def decorate(function: _F) -> _F:
        dispatcher = numba.njit(**options)(function)
        # RuntimeError: numba found no folder for a cache. AttributeError: a numba to come.
        with contextlib.suppress(RuntimeError, AttributeError):
            dispatcher._cache = _Cache(function)
        return dispatcher

    return decorate


class _Cache(FunctionCache):
    """numba's cache on disk, with two differences.

    A fault of the disk is not one of the program: what cannot be read is compiled, and what
    cannot be written is forgotten. And an entry goes stale when *any* file that its machine code
    came from changes, where numba looks at the file of the outermost function only.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _stamp(function))

    def load_overload(self, *args: Any) -> Any:
        # numba makes so many objects here that Python's garbage collector, which finds nothing to
        # collect, took more than half of the time.
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super().load_overload(*args)
        except _UNREADABLE:
            with contextlib.suppress(OSError):
                self.flush()  # or nothing could ever be saved over a broken index
            return None
        finally:
            if collecting:
                gc.enable()

    def save_overload(self, *args: Any) -> None:
        with contextlib.suppress(*_UNREADABLE):
            super().save_overload(*args)


def _stamp(function: Callable[..., Any]) -> str:
    """Digest of the source files that a kernel is compiled from."""
    files = set(_ALWAYS)
    _collect_files(function, files, set())
    return hashlib.sha256("".join(map(_digest, sorted(files))).encode()).hexdigest()


def _collect_files(function: Any, files: set[Path], seen: set[int]) -> None:
    function = getattr(function, "py_func", function)  # of a dispatcher
    code = getattr(function, "__code__", None)
    if code is None or id(code) in seen:
        return
    seen.add(id(code))
    files.add(Path(code.co_filename))
    for name in code.co_names:
        _collect_files(function.__globals__.get(name), files, seen)


@cache
def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:  # code without a file of its own, in an archive
        return ""
