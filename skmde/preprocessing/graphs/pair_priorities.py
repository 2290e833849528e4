"""Random priorities of pairs of nodes, for a uniform sample of pairs that are found one by one.

The priority of a pair is a hash of the pair and a seed. So searches on several threads agree on it
without shared state, and the sample does not depend on the order in which pairs are found.
"""

from __future__ import annotations

import numpy as np

from skmde._utils.jit import jit
from skmde._utils.random import splitmix64

__all__ = ["KEEP_ALL", "priorities", "priority"]

KEEP_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)  # the threshold that every priority meets


@jit()
def priority(i, j, keys):
    """The priority of one pair; see :func:`priorities`. A smaller number is a higher priority."""
    pair = np.uint64(i) << np.uint64(32) | np.uint64(j)
    return splitmix64(splitmix64(pair + keys[0]) + keys[1])


@jit()
def priorities(sources, targets, keys):
    """A pseudo-random 64-bit number for each pair. Different pairs have different numbers.

    In any set of pairs, the pairs with the smallest numbers are a uniform sample. The sample does
    not depend on the order of the pairs.

    Parameters
    ----------
    sources, targets : (p,) int32 arrays
    keys : (2,) uint64 array
        The seed.

    Returns
    -------
    numbers : (p,) uint64 array
    """
    numbers = np.empty(len(sources), np.uint64)
    for k in range(len(sources)):
        numbers[k] = priority(sources[k], targets[k], keys)
    return numbers
