"""An index of pynndescent that can be loaded from memory-mapped files.

The module is separate from the search because importing pynndescent takes seconds.
"""

from __future__ import annotations

import numpy as np
from pynndescent import NNDescent

__all__ = ["DescentIndex"]

# Each search writes into the first two arrays. Loading an index runs one search to compile it. For
# dense rows, some metrics compile only if the rows, the third array, are writable.
_WRITABLE = ("_visited", "search_rng_state", "_raw_data")


class DescentIndex(NNDescent):
    """`NNDescent` that copies the arrays it writes into when it is loaded.

    Arrays that joblib maps into memory, in `joblib.load(file, mmap_mode="r")` and in its worker
    processes, are read-only. Compiled code that writes into them crashes the process.
    """

    def __setstate__(self, state):
        own = {name: np.array(state[name]) for name in _WRITABLE if _is_array(state[name])}
        super().__setstate__({**state, **own})


def _is_array(value):
    return isinstance(value, np.ndarray)
