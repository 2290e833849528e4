"""Candidates by cuVS's comparison of all rows, where it is installed, on CUDA devices.

cuVS selects while it multiplies, so that scores need not travel through the device's memory. That
counts for many rows with few features; for less work, its import takes longer than all else.
Versions 24.8 to 26.10 have the functions used here. They take the memory of torch's tensors, by
``__cuda_array_interface__``, and write into given ones, so nothing is copied.

- cuVS works on a stream of its own, and waits for it before it returns. It does not know torch's
  stream, so torch's work is awaited before each call. (``Resources(stream=...)`` takes the address
  of the Python number for the stream's, and crashes.)
- It works on the current device, whatever the device of the tensors.
- An index refers to the rows without owning them; they are kept here.
- Which of several rows at one distance it finds may differ from call to call. So where that can
  change a result, `misses_none` fails.
"""

from __future__ import annotations

import logging
import math

import torch

from skmde._utils.device import runs_cuvs
from skmde.preprocessing.neighbors.backends.candidates.centered import CandidateSource

__all__ = ["CuvsCandidates", "import_cuvs"]

logger = logging.getLogger(__name__)

_STEP = 1 << 15  # queries
# Estimates from the rates of GPUs. Up to this number of pairs, their scores take about a second.
_MANY_PAIRS = 1e11
# With more features, multiplying takes longer than moving scores, and torch multiplies faster.
_FEW_FEATURES = 128


def import_cuvs(device, n_pairs=math.inf, n_features=1):
    """cuVS's module for the comparison of all rows, or None where it is absent or would not help.

    Parameters
    ----------
    device : torch.device
    n_pairs : float, default=inf
        Number of queries times number of rows.
    n_features : int, default=1
    """
    if n_pairs < _MANY_PAIRS or n_features > _FEW_FEATURES or not runs_cuvs(device):
        return None
    try:
        from cuvs.neighbors import brute_force

        brute_force.build, brute_force.search  # noqa: B018
    except Exception as error:  # whatever a library that does not fit the machine raises
        logger.info("cuVS cannot be used, so torch's products find the neighbours: %s", error)
        return None
    return brute_force


class CuvsCandidates(CandidateSource):
    """Comparison of queries with all rows by cuVS; see `CandidateSource`.

    Parameters
    ----------
    rows, width, device
        As for `CandidateSource`.
    library : module
        `import_cuvs`'s answer.
    """

    def __init__(self, rows, width, device, library):
        super().__init__(rows, width, device, torch.float32)
        self.step, self._library = _STEP, library
        torch.cuda.empty_cache()  # cuVS cannot use what torch keeps for later
        self._index = self._call(library.build, self._rows, metric="sqeuclidean")

    def nearest(self, queries, own):
        queries = self._centered(queries).contiguous()
        asked = min(self.width + 1, self._n)  # a query's own row is found, too
        shape = len(queries), asked
        found = torch.empty(shape, dtype=torch.int64, device=self.device)
        squared = torch.empty(shape, dtype=torch.float32, device=self.device)
        self._call(
            self._library.search, self._index, queries, asked, neighbors=found, distances=squared
        )
        squared = torch.where(found == own[:, None], torch.inf, squared)
        lowest = torch.topk(squared, self.width, dim=1, largest=False, sorted=False)
        return found.gather(1, lowest.indices), lowest.values, (queries * queries).sum(dim=1)

    def _call(self, function, *args, **kwargs):
        with torch.cuda.device(self.device):
            torch.cuda.current_stream().synchronize()
            return function(*args, **kwargs)
