"""Compilation of the project's CPU kernels: one decorator, one policy.

Every kernel releases the GIL, so that pieces of work run on plain threads, and is cached on
disk, so that only the first process ever compiles. Where no cache can be written (a read-only
installation, a sandbox) the kernel is compiled in memory instead.

``fastmath=True`` is never used: it also promises that no NaN or infinity occurs, and the
compiler then deletes the checks for them. `REASSOCIATE` names the flags that let a sum be
vectorised and leaves NaN and infinity alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

_F = TypeVar("_F", bound=Callable[..., Any])

REASSOCIATE = {"contract", "reassoc", "arcp", "nsz"}
CONTRACT = {"contract", "nsz"}


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
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no folder that it could write a cache to
            return numba.njit(**options)(function)

    return decorate
