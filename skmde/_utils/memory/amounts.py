"""How much memory there is, and texts for amounts of it."""

from __future__ import annotations

import os
import re
from numbers import Real
from pathlib import Path

_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_BINARY = {"k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
_CGROUP = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"


def available_memory() -> float:
    """Bytes that this process can still use without swapping; infinity if the system tells none.

    It is what the machine has left, and what the limit of a container leaves, whichever is less.
    Operating systems grant more memory than there is and kill the process that uses it; Python then
    raises no MemoryError, and all results are lost.
    """
    return min(_of_machine(), _of_container())


def _of_machine() -> float:
    try:
        with open("/proc/meminfo") as lines:
            found = dict(line.split(":", 1) for line in lines)
        return 1024.0 * int(found["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:  # systems that tell the size of the memory, but not what is left
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _of_container() -> float:
    try:
        limit, used = (float(Path(path).read_text()) for path in _CGROUP)
        return limit - used  # "max" is no number
    except (OSError, ValueError):
        return float("inf")


def as_bytes(amount: object, name: str = "memory_limit") -> float:
    """Convert a number of bytes, or a text such as "4GB" or "512 MiB", to bytes.

    Raises
    ------
    ValueError
        If it is neither, or not above 0.
    """
    if isinstance(amount, str):
        match = _AMOUNT.fullmatch(amount)
        if match is None or (match[3] and not match[2]):
            raise ValueError(
                f"{name} must be a number of bytes, or a text such as '4GB' or '512MiB'; got "
                f"{amount!r}."
            )
        units = _BINARY if match[3] else _UNITS
        amount = float(match[1]) * units[match[2].lower()]
    if isinstance(amount, bool) or not isinstance(amount, Real) or not float(amount) > 0:
        raise ValueError(f"{name} must be above 0 bytes; got {amount!r}.")
    return float(amount)


def as_text(n_bytes: float) -> str:
    """An amount of memory with three digits, such as "1.52 GB"."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= 0.9995 * size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes / 1e3:.3g} kB"
