"""An index of pynndescent that can be read from files mapped into memory.

In a module of its own, since importing pynndescent takes seconds.
"""

from __future__ import annotations

import numpy as np
from pynndescent import NNDescent

__all__ = ["DescentIndex"]

# Every search writes into the first two, and so does reading a file, which searches once to
# compile. That search, for dense rows under some metrics, compiles for writable rows only.
_WRITABLE = ("_visited", "search_rng_state", "_raw_data")


class DescentIndex(NNDescent):
    """`NNDescent` that writes into nothing that it is read from.

    Arrays that joblib maps into memory, as `joblib.load(file, mmap_mode="r")` and its worker
    processes do, are read-only: compiled code that writes into them ends the process.
    """

    def __setstate__(self, state):
        own = {name: np.array(state[name]) for name in _WRITABLE if _is_array(state[name])}
        super().__setstate__({**state, **own})


def _is_array(value):
    return isinstance(value, np.ndarray)
