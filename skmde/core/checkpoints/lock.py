"""A lock on a file, which the operating system releases when its owner ends, however it ends."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from skmde._utils.warn import warn

_BUSY = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, ``<path>.lock`` beside it, or raise at once.

    Raises
    ------
    BlockingIOError
        If another process, or another thread of this one, holds it.
    OSError
        If the folder does not exist, or cannot be written to.

    Warns
    -----
    UserWarning
        If the file system has no locks.
    """
    beside = path.with_name(path.name + ".lock")
    handle = _acquired(beside, path)
    try:
        yield
    finally:
        # Deleted while it is locked, where the system allows that: a process that has opened the
        # file by now sees that it is no longer the one of this name.
        with contextlib.suppress(OSError):
            beside.unlink()
        os.close(handle)
        if os.name == "nt":  # only a closed file can be deleted
            with contextlib.suppress(OSError):
                beside.unlink()


def _acquired(beside: Path, path: Path) -> int:
    while True:
        handle = _opened(beside, path)
        try:
            _lock(handle)
        except OSError as error:
            if error.errno in _BUSY:
                os.close(handle)
                raise BlockingIOError(
                    error.errno,
                    "another fit is writing this checkpoint; wait until it ends, or give each fit "
                    "a path of its own",
                    str(path),
                ) from None
            warn(
                f"The file system of {path} has no locks ({error.strerror}), so nothing keeps two "
                "fits from writing this checkpoint. Give each fit a path of its own."
            )
            return handle
        if _is_still_at(handle, beside):
            return handle
        os.close(handle)


def _opened(beside: Path, path: Path) -> int:
    try:
        return os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
    except FileNotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, "the folder of the checkpoint does not exist; make it first", str(path)
        ) from None
    except OSError as error:
        raise type(error)(
            error.errno,
            f"the folder of the checkpoint cannot be written to ({error.strerror}); give a path in "
            "another one",
            str(path),
        ) from None


def _is_still_at(handle: int, beside: Path) -> bool:
    try:
        there = os.stat(beside)
    except FileNotFoundError:
        return False
    return os.name == "nt" or os.path.samestat(os.fstat(handle), there)


if os.name == "nt":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
