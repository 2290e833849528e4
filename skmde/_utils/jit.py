"""Compilation of the project's CPU kernels: one decorator, one policy.

Every kernel releases the GIL, so that plain threads can run it in parallel. It is cached on disk,
so that only the first process compiles it. If the cache cannot be written or read (a read-only
installation, a sandbox, a full disk), the kernel is compiled in memory instead.

``fastmath=True`` is never used: it also lets the compiler assume that no NaN or infinity occurs
and delete the checks for them. `REASSOCIATE` lists the flags that allow the compiler to vectorise
a sum but keep NaN and infinity intact.
"""

from __future__ import annotations

import contextlib
import gc
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

# Types of global variables whose values numba compiles into the machine code.
_CONSTANTS = (bool, int, float, complex, str, bytes, tuple, np.generic)

_UNREADABLE = (OSError, EOFError, ValueError, pickle.PickleError)


def jit(**options: Any) -> Callable[[_F], _F]:
    """Compile a function with numba, without the GIL and with a cache on disk where possible.

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
    # Several copies of a helper function may exist, each optimised differently. When machine code
    # is loaded, it is linked to any of them. Only inlined helpers give the same bits in every
    # process.
    options.setdefault("forceinline", True)

    def decorate(function: _F) -> _F:
        dispatcher = numba.njit(**options)(function)
        # RuntimeError: numba found no folder for a cache. OSError: a source file cannot be read, so
        # a stale entry could not be recognised. AttributeError: a future version of numba.
        with contextlib.suppress(RuntimeError, OSError, AttributeError):
            dispatcher._cache = _Cache(function)
        return dispatcher

    return decorate


class _Cache(FunctionCache):
    """numba's cache on disk, with two differences.

    A disk error does not stop the program: a kernel that cannot be read is compiled, and one that
    cannot be written is not cached. And an entry becomes stale when *any* file or constant that
    its machine code depends on changes; numba checks the file of the outermost function only.
    """

    # Tests in tests/_utils/test_jit.py cover each private part of numba that is used here:
    # - `_source_stamp`: test_kernel_is_compiled_anew_when_a_file_that_it_calls_into_changes and
    #   test_kernel_is_compiled_anew_when_a_constant_changes; numba alone would run the old code;
    # - `load_overload`: test_broken_cache_files_are_compiled_over; numba alone raises an error;
    # - `save_overload`: test_kernels_run_when_the_cache_folder_vanishes_after_import, and
    #   test_caches_on_a_disk_that_takes_nothing (tests/test_fault_injection.py); numba alone
    #   raises an error.

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _stamp(function))

    def load_overload(self, *args: Any) -> Any:
        # numba fills its registries here. The garbage collector, which finds nothing to collect
        # among so many new objects, makes a first fit half as slow again (benchmarks/digits.py);
        # test_loading_a_kernel_leaves_the_garbage_collector_as_it_was.
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super().load_overload(*args)
        except _UNREADABLE:
            with contextlib.suppress(OSError):
                self.flush()  # numba cannot save over a broken index
            return None
        finally:
            if collecting:
                gc.enable()

    def save_overload(self, *args: Any) -> None:
        with contextlib.suppress(*_UNREADABLE):
            super().save_overload(*args)


def _stamp(function: Callable[..., Any]) -> str:
    """Digest of the source files and the constants that a kernel's machine code depends on.

    Raises
    ------
    OSError
        If a source file cannot be read.
    """
    found = {_digest(Path(__file__))}  # the flags above
    _collect(function, found, set())
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def _collect(function: Any, found: set[str], seen: set[int]) -> None:
    function = getattr(function, "py_func", function)  # a dispatcher's Python function
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
