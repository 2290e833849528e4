"""Random priorities of pairs of nodes, for a uniform sample of pairs that are found one by one.

The priority of a pair is a hash of the pair and a seed. So searches on several threads agree on it
without shared state, and the sample does not depend on the order in which pairs are found.
"""

from __future__ import annotations

import numpy as np

from skmde._utils.jit import jit

__all__ = ["KEEP_ALL", "priorities", "priority"]

KEEP_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)  # the threshold that every priority meets


@jit()
def _mixed(z):
    # the finaliser of splitmix64, a bijection
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit()
def priority(i, j, keys):
    """The priority of one pair; see :func:`priorities`. A smaller number is a higher priority."""
    return _mixed(_mixed((np.uint64(i) << np.uint64(32) | np.uint64(j)) + keys[0]) + keys[1])


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
