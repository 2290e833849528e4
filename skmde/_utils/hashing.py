"""splitmix64 (Steele, Lea and Flood, 2014): random-looking numbers of 64 bits, for kernels."""

from __future__ import annotations

import numpy as np

from skmde._utils.jit import jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # the step between its states: 2**64 / the golden ratio


@jit(inline="always")
def splitmix64(z):
    """The finaliser: a bijection of uint64 in which each bit of `z` changes half of the bits."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
