"""Errors for keyword arguments of other libraries: they name the corresponding parameter here."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def suggest_renamed(
    ours: Mapping[str, Sequence[str]], needless: Mapping[str, str] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a method so that its error for an unknown argument suggests the right parameter.

    The method's signature does not change.

    Parameters
    ----------
    ours : mapping from str to sequence of str
        For each argument of another library, the parameters with the same effect. The error
        names those that the method has.
    needless : mapping from str to str
        For each argument of another library that has no counterpart, the reason.
    """
    reasons = needless or {}

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        own = [name for name in inspect.signature(method).parameters if name != "self"]

        @functools.wraps(method)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in own:
                    known = [other for other in ours.get(name, ()) if other in own]
                    raise TypeError(
                        f"{type(args[0]).__name__}.{method.__name__}() got an unexpected keyword "
                        f"argument {name!r}: {_advice(name, own, known, reasons.get(name))}."
                    )
            return method(*args, **kwargs)

        return checked

    return decorate


def _advice(name: str, own: list[str], known: list[str], reason: str | None) -> str:
    if not known and reason is None:
        known = difflib.get_close_matches(name, own, n=1, cutoff=0.75)
    if known:
        return f"use {', '.join(known)}"
    if reason is not None:
        return f"there is no such thing here, as {reason}"
    return f"there is no such thing here; the parameters are {', '.join(own)}"
