"""Where ranks work together: inside a fit, which each of them has called with the same arguments.

Outside of a fit, nothing is shared, so a rank may call any other method alone. Inside, callbacks
are called apart from the others: what they call is not shared either.
"""

from __future__ import annotations

import contextlib
import inspect
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

import skmde

if TYPE_CHECKING:
    from skmde._utils.ranks.group import Ranks

__all__ = ["agreed_seed", "all_called", "by_all_ranks", "check_result", "current_ranks", "together"]

Method = TypeVar("Method", bound=Callable[..., Any])

# What may differ between ranks: none of these changes the result.
_OWN = ("callbacks", "n_jobs", "verbose")

_ALONE = object()
_current: ContextVar[Any] = ContextVar("skmde_ranks", default=None)


def current_ranks() -> Ranks | None:
    """The ranks that work together now; None outside of a fit, and without a group."""
    found = _current.get()
    return None if found is _ALONE else found


def group() -> Ranks | None:
    """The ranks of the initialised default group; None if there is no other rank."""
    # A group exists only if the program has imported torch.distributed.
    dist: Any = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return None
    if dist.get_world_size() == 1:
        return None
    from skmde._utils.ranks.group import Ranks

    return Ranks(dist)


@contextlib.contextmanager
def together(held: Callable[[], Mapping[str, Any]]) -> Iterator[Ranks | None]:
    """Let all ranks work together, if there is a group, after a check that they hold the same.

    Parameters
    ----------
    held : callable
        Returns data and parameters by name. It is called only if there is a group.

    Raises
    ------
    ValueError
        On all ranks, with one message, if their data or parameters differ, or if they ask for a
        checkpoint.
    """
    outer = _current.get()
    ranks = current_ranks() if outer is not None else group()
    if ranks is None:
        yield None
        return
    everything = {"versions": _versions(), **held()}
    check_same(ranks, everything)
    if everything.get("checkpoint") is not None:
        raise ValueError(
            "checkpoint is not None, but the ranks of a torch.distributed group have no common "
            "checkpoint; pass checkpoint=None."
        )
    token = _current.set(ranks)
    try:
        yield ranks
    finally:
        _current.reset(token)


def by_all_ranks(fit: Method) -> Method:
    """Decorate the `fit` of an estimator: the ranks of a group share its work."""
    signature = inspect.signature(fit)

    @wraps(fit)
    def shared(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        def held() -> dict[str, Any]:
            given = dict(signature.bind(estimator, *args, **kwargs).arguments)
            given.pop("self", None)
            return {"the estimator": type(estimator), **estimator.get_params(deep=False), **given}

        if _current.get() is None and group() is None:
            return fit(estimator, *args, **kwargs)
        with together(held):
            return fit(estimator, *args, **kwargs)

    return cast(Method, shared)


def check_same(ranks: Ranks, held: Mapping[str, Any]) -> None:
    """Raise the same ValueError on all ranks if they hold different things."""
    # Imported here because few processes are ranks.
    from skmde._utils.ranks.fingerprint import fingerprint

    mine = {name: fingerprint(_compared(name, x)) for name, x in held.items() if name not in _OWN}
    everyones = ranks.told(mine)
    names = sorted({name for prints in everyones for name in prints}, key=list(everyones[0]).index)
    differ = [name for name in names if len({prints.get(name) for prints in everyones}) > 1]
    if differ:
        raise ValueError(
            f"The {ranks.size} ranks of the torch.distributed group hold different data or "
            f"parameters: {', '.join(differ)}. Call fit on all ranks with the same data and the "
            "same parameters."
        )


def check_result(X: Any) -> None:
    """Raise an error on all ranks that work together if their results differ."""
    ranks = current_ranks()
    if ranks is None:
        return
    from skmde._utils.ranks.fingerprint import fingerprint
    from skmde._utils.ranks.group import different_results

    if len(set(ranks.told(fingerprint(X)))) > 1:
        raise different_results()


def agreed_seed(random_state: Any) -> Any:
    """The given seed; if it is None, and ranks work together, one that rank 0 has drawn."""
    ranks = current_ranks()
    if random_state is not None or ranks is None:
        return random_state
    return int(ranks.told(int(np.random.default_rng().integers(2**31)))[0])


def all_called(callbacks: Sequence[Callable[[Any], Any]]) -> list[Callable[[Any], Any]]:
    """The callbacks of a solve, so that all ranks stop if those of one rank stop or fail.

    Each rank may have callbacks of its own, or none.
    """
    ranks = current_ranks()
    if ranks is None or not any(ranks.told(bool(callbacks))):
        return list(callbacks)

    def call(state: Any) -> bool:
        stops, failure = False, None
        token = _current.set(_ALONE)
        try:
            answers = [callback(state) for callback in callbacks]
            stops = any(isinstance(x, bool | np.bool_) and bool(x) for x in answers)
        except BaseException as error:  # Ctrl-C, too: the others must not wait
            failure = error
        finally:
            _current.reset(token)
        told = ranks.told([stops, failure is not None])
        if failure is not None:
            raise failure
        failed = [rank for rank, (_, fails) in enumerate(told) if fails]
        if failed:
            raise RuntimeError(f"A callback raised an error on rank {failed[0]}, so all ranks end.")
        return any(stopped for stopped, _ in told)

    return [call]


def _compared(name: str, value: Any) -> Any:
    """What counts of a parameter: of a device, its kind."""
    if name != "device" or value is None:
        return value
    return str(value).split(":")[0]


def _versions() -> list[str]:
    libraries = [skmde, np, sys.modules["torch"]]
    return [*(library.__version__ for library in libraries), platform.python_version()]
