"""Warnings that name the line of the user's own call.

``warnings.warn`` counts frames, and their number differs between ``fit``, ``fit_transform`` and
``Pipeline.fit``, and changes with every decorator. Here frames are told by their modules.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType

# Between the user's call and the warning: this package, those that call its estimators, and the
# standard library's wrappers, threads and unpicklers.
_PASSED = frozenset(
    "skmde sklearn joblib torch skops contextlib functools threading concurrent multiprocessing "
    "copy pickle".split()
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the innermost frame that is the user's.

    Filters by module and the rule "once per location" apply to that frame's module and line, as
    with :func:`warnings.warn`. In a thread or process that has no frame of the user's, the warning
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
    # an example in a docstring runs under the name of its module
    return package in _PASSED and not frame.f_code.co_filename.startswith("<doctest")
