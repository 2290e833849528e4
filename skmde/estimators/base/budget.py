"""How many pairs a problem may have before it is solved in batches."""

from __future__ import annotations

# The same on all machines, since the embedding depends on it. L-BFGS takes about a second for an
# iteration with so many pairs on two cores.
_MOST_PAIRS = 200_000_000


def exceeds_budget(n_pairs: int) -> bool:
    """Whether `solver="auto"` takes so many pairs in batches."""
    return n_pairs > _MOST_PAIRS
