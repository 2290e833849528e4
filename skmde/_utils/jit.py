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
import hashlib
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.caching import FunctionCache

_F = TypeVar("_F", bound=Callable[..., Any])

REASSOCIATE = {"contract", "reassoc", "arcp", "nsz"}
CONTRACT = {"contract", "nsz"}

# What numba compiles into the code by value.
_CONSTANTS = (bool, int, float, complex, str, bytes, tuple, np.generic)

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
    # Machine code that calls a helper is linked, when it is loaded, to any copy of it, and copies
    # are optimised differently: only inlined helpers give the same bits in every process.
    options.setdefault("forceinline", True)

    def decorate(function: _F) -> _F:
        dispatcher = numba.njit(**options)(function)
        # RuntimeError: numba found no folder for a cache. OSError: a source file cannot be read, so
        # nobody could say when an entry is stale. AttributeError: a numba to come.
        with contextlib.suppress(RuntimeError, OSError, AttributeError):
            dispatcher._cache = _Cache(function)
        return dispatcher

    return decorate


class _Cache(FunctionCache):
    """numba's cache on disk, with two differences.

    A fault of the disk is not one of the program: what cannot be read is compiled, and what
    cannot be written is forgotten. And an entry goes stale when *any* file or constant that its
    machine code came from changes; numba looks at the file of the outermost function only.
    """

    # Each private part of numba is held by tests of tests/_utils/test_jit.py:
    # - `_source_stamp`: test_kernel_is_compiled_anew_when_a_file_that_it_calls_into_changes and
    #   test_kernel_is_compiled_anew_when_a_constant_changes, which would run old code;
    # - `load_overload`: test_broken_cache_files_are_compiled_over, where numba raises;
    # - `save_overload`: test_kernels_run_when_the_cache_folder_vanishes_after_import, where it does
    #   too; and test_caches_on_a_disk_that_takes_nothing (tests/test_fault_injection.py).

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _stamp(function))

    def load_overload(self, *args: Any) -> Any:
        try:
            return super().load_overload(*args)
        except _UNREADABLE:
            with contextlib.suppress(OSError):
                self.flush()  # or nothing could ever be saved over a broken index
            return None

    def save_overload(self, *args: Any) -> None:
        with contextlib.suppress(*_UNREADABLE):
            super().save_overload(*args)


def _stamp(function: Callable[..., Any]) -> str:
    """Digest of all that a kernel's machine code comes from: source files, and constants by value.

    Raises
    ------
    OSError
        If a source file cannot be read.
    """
    found = {_digest(Path(__file__))}  # the flags above
    _collect(function, found, set())
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def _collect(function: Any, found: set[str], seen: set[int]) -> None:
    function = getattr(function, "py_func", function)  # of a dispatcher
    code = getattr(function, "__code__", None)
    if code is None or id(code) in seen:
        return
    seen.add(id(code))
    found.add(_digest(Path(code.co_filename)))
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            if value.__name__.split(".")[0] == __name__.split(".")[0]:
                found.add(_digest(Path(str(value.__file__))))
        elif isinstance(value, np.ndarray):
            found.add(f"{name} = {value.dtype} {value.shape} {value.tobytes()!r}")
        elif isinstance(value, _CONSTANTS):
            found.add(f"{name} = {value!r}")
        else:
            _collect(value, found, seen)


@cache
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
