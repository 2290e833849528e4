"""Private random generators: the global states of numpy and torch are never used."""

from __future__ import annotations

from numbers import Integral

import numpy as np

__all__ = ["private_generator"]


def private_generator(random_state):
    """A generator of one's own.

    Parameters
    ----------
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None
        An int gives the same generator each time; None a different one each time. A
        `RandomState` seeds the generator with one draw; a `Generator` is used as it is.

    Returns
    -------
    generator : numpy.random.Generator
    """
    if random_state is None or isinstance(random_state, Integral | np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, dtype=np.uint64))
    raise ValueError(
        "random_state must be an integer, a RandomState, a Generator or None, "
        f"got {random_state!r}."
    )
