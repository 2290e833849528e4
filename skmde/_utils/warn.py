"""Warnings that point to the line of the user's own code.

``warnings.warn`` counts stack frames. Their number differs between ``fit``, ``fit_transform`` and
``Pipeline.fit``, and changes with every decorator. Here, a frame's module decides whether it is
the user's.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType

# Packages whose frames may lie between the user's call and the warning: this one, those that call
# its estimators, and the standard library's wrappers, threads and unpicklers.
_PASSED = frozenset(
    "skmde sklearn joblib torch skops contextlib functools threading concurrent multiprocessing "
    "copy pickle".split()
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the innermost frame of the user's code.

    Filters by module and the rule "once per location" apply to that frame's module and line, as
    with :func:`warnings.warn`. If a thread or process has no frame of the user's code, the warning
    names the line that calls this function.

    Parameters
    ----------
    message : str
    category : type of Warning, default=UserWarning
    """
    caller = sys._getframe(1)
    frame: FrameType | None = caller
    while frame is not None and _is_passed(frame):
        frame = frame.f_back
    frame = frame or caller
    warnings.warn_explicit(
        message,
        category,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__", "<string>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _is_passed(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    # a doctest runs under the name of its module, but is the user's code
    return package in _PASSED and not frame.f_code.co_filename.startswith("<doctest")
