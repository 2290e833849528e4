"""Random draws from private generators. The global states of numpy and torch are never used."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np

from skmde._utils.jit import jit
from skmde._utils.ranks.together import agreed_seed

__all__ = ["GOLDEN", "distinct_integers", "private_generator", "splitmix64"]

_DRAWS = 1 << 18  # random numbers that are sorted at once


def private_generator(random_state):
    """Random generator for a ``random_state`` parameter.

    Parameters
    ----------
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None
        An int gives the same generator each time, None a different one each time. A
        `RandomState` seeds a new generator with one draw. A `Generator` is returned unchanged.

    Returns
    -------
    generator : numpy.random.Generator
    """
    if isinstance(random_state, Integral) and random_state < 0:
        raise ValueError(f"random_state must be at least 0, got {random_state}.")
    random_state = agreed_seed(random_state)
    if random_state is None or isinstance(random_state, Integral | np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, dtype=np.uint64))
    raise ValueError(
        "random_state must be an integer, a RandomState, a Generator or None, "
        f"got {random_state!r}."
    )


def distinct_integers(total, count, rng):
    """Sample `count` distinct integers from ``range(total)`` uniformly; return them sorted.

    Integers are drawn independently, so that a few more distinct ones than needed result. The
    surplus is dropped at random. The procedure treats all integers alike, so all sets of `count`
    integers are equally likely. To sort short arrays only, the range is cut into stretches. The
    number of draws in each stretch is multinomial, which leaves the distribution unchanged.
    """
    if 2 * count > total:
        keep = np.ones(total, bool)
        if count < total:
            keep[distinct_integers(total, total - count, rng)] = False
        return np.flatnonzero(keep)
    n_draws = int(-total * math.log1p(-count / total) + 5 * math.sqrt(count)) + 16
    n_stretches = 1 + n_draws // _DRAWS
    bounds = np.array([total * k // n_stretches for k in range(n_stretches + 1)])
    drawn = np.empty(n_draws, np.int64)
    n_drawn = 0
    while n_drawn < count:  # too few: draw all again, since adding to them is not uniform
        n_drawn = 0
        shares = rng.multinomial(n_draws, np.diff(bounds) / total)
        for low, high, share in zip(bounds[:-1], bounds[1:], shares, strict=True):
            part = np.sort(rng.integers(low, high, size=share))
            part = part[np.concatenate([[True], part[1:] != part[:-1]])[: len(part)]]
            drawn[n_drawn : n_drawn + len(part)] = part
            n_drawn += len(part)
    keep = np.ones(n_drawn, bool)
    keep[rng.choice(n_drawn, n_drawn - count, replace=False, shuffle=False)] = False
    return drawn[:n_drawn][keep]


# Increment between successive states of splitmix64: 2**64 / the golden ratio.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@jit(inline="always")
def splitmix64(z):
    """The finaliser of splitmix64 (Steele, Lea and Flood, 2014), for kernels.

    It is a bijection of uint64. Flipping one bit of `z` flips about half of the result's bits.
    """
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
