"""How much memory the pairs of a problem may take before they are solved in batches."""

from __future__ import annotations

from skmde._utils.device import physical_memory

_BYTES_PER_PAIR = 100  # at the peak, while a problem is built and its pairs are sorted
_SHARE = 0.5  # of this machine's memory; what is free now would make results depend on the moment


def exceeds_budget(n_pairs: int) -> bool:
    """Whether so many pairs exceed the budget: half of this machine's memory, at 100 bytes each."""
    return _BYTES_PER_PAIR * n_pairs > _SHARE * physical_memory()
