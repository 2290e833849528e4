"""The average distortion over all pairs of items, without a list of the pairs.

For n items there are p = n (n - 1) / 2 pairs, and

    E(X) = (1/p) sum_{i < j} f_ij(||x_i - x_j||)

(monograph, section 2.3; the gradient is in chapter 5). Distances are in the units of the embedding.

The position of pair (i, j), i < j, is ``i (2 n - i - 1) / 2 + j - i - 1``. This is the order of the
rows of the upper triangle, as in ``scipy.spatial.distance.pdist``. The kernel derives i and j from
the position and reads no indices. A pair therefore costs a fraction of the time and memory of an
edge.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch

from skmde._utils.ranks.together import current_ranks
from skmde.core.kernels.backend import Backend, Run, Sums
from skmde.core.objectives.edges import (
    Distortion,
    EdgeList,
    Segment,
    as_deviations,
    as_weights,
    resolve_functions,
    runs_of,
)
from skmde.functions.base import Loss, Penalty


def pairs_at(positions: np.ndarray, n_items: int) -> np.ndarray:
    """The pairs (i, j) at some positions in the list of all pairs, shape (k, 2), int64."""
    rows = np.arange(n_items)
    before = rows * (2 * n_items - rows - 1) // 2
    i = np.searchsorted(before, positions, side="right") - 1
    # The last row has no pairs, and starts where the triangle ends.
    return np.stack([i, positions - before[i] + i + 1], axis=1)


class AllPairs:
    """All pairs of items, with one distortion function; used in place of an `EdgeList`.

    Parameters
    ----------
    n_items : int
        Number of items, at least 2.
    function : Penalty or Loss
        The distortion function of every pair.
    weights : torch.Tensor of shape (p,) or None
        None means 1 for each pair.
    deviations : torch.Tensor of shape (p,) or None
        Original distances, for losses; in the units of the embedding.
    dtype : torch.dtype
    device : torch.device
    """

    order = None  # the pairs are stored in the caller's order

    def __init__(
        self,
        n_items: int,
        function: Penalty | Loss,
        weights: torch.Tensor | None,
        deviations: torch.Tensor | None,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.n_items = n_items
        self.function = function
        self.given_weights = weights
        self.deviations = deviations
        self.dtype = dtype
        self.device = device

    def __len__(self) -> int:
        return self.n_items * (self.n_items - 1) // 2

    @classmethod
    def build(
        cls,
        n_items: int,
        distortion: Distortion | tuple[Distortion | None, Distortion | None],
        *,
        weights: Any = None,
        deviations: Any = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ) -> AllPairs | EdgeList:
        """Check the arguments and build the pairs; see :class:`skmde.MDE` for the parameters.

        Returns
        -------
        pairs : AllPairs or EdgeList
            An `EdgeList` if some pairs attract and others repel, under two different functions.

        Raises
        ------
        ValueError
            If there are fewer than two items; if the weights or deviations are missing, not finite
            or of the wrong length.
        """
        p = n_items * (n_items - 1) // 2
        if p == 0:
            raise ValueError("n_items is 1, so there are no pairs; at least 2 items are required.")
        w, delta = as_weights(weights, p), as_deviations(deviations, p)
        attract, repel = resolve_functions(distortion, w, delta)
        device = device or torch.device("cpu")
        signs = {1} if w is None or attract is repel else set(np.sign(w))
        if signs >= {-1, 1}:
            pairs = np.stack(np.triu_indices(n_items, 1), axis=1)
            return EdgeList.build(
                pairs, n_items, distortion, weights=weights, dtype=dtype, device=device
            )
        # copies, because the caller's arrays may be read-only, or change later
        w_tensor, delta_tensor = (
            None if x is None else torch.tensor(x, dtype=dtype, device=device) for x in (w, delta)
        )
        function = (repel if -1 in signs else attract).of_pairs(np.arange(p), p)
        return cls(n_items, function, w_tensor, delta_tensor, dtype, device)

    @property
    def segments(self) -> tuple[Segment, ...]:
        return (Segment(0, len(self), self.function),)

    @property
    def weights(self) -> torch.Tensor:
        if self.given_weights is None:
            return torch.ones((), dtype=self.dtype, device=self.device).expand(len(self))
        return self.given_weights

    @cached_property
    def _pairs(self) -> torch.Tensor:
        # lists of the pairs, for torch: callables, and GPUs
        n = self.n_items
        return torch.triu_indices(n, n, 1, dtype=torch.int32, device=self.device)

    @property
    def i(self) -> torch.Tensor:
        return self._pairs[0]

    @property
    def j(self) -> torch.Tensor:
        return self._pairs[1]

    def to(
        self, *, dtype: torch.dtype | None = None, device: torch.device | None = None
    ) -> AllPairs:
        """The same pairs with weights and deviations of another dtype, or on another device."""
        w, t = (
            None if x is None else x.to(device=device, dtype=dtype)
            for x in (self.given_weights, self.deviations)
        )
        moved = AllPairs(
            self.n_items, self.function, w, t, dtype or self.dtype, device or self.device
        )
        if moved.device == self.device and "_pairs" in self.__dict__:
            moved.__dict__["_pairs"] = self._pairs
        return moved

    def under(self, function: Penalty | Loss) -> AllPairs:
        """The same pairs with another distortion function."""
        arguments = self.given_weights, self.deviations, self.dtype, self.device
        return AllPairs(self.n_items, function, *arguments)

    def with_functions(self, change: Callable[[Penalty | Loss], Penalty | Loss]) -> AllPairs:
        """The same pairs with what a function makes of their distortion function."""
        return self.under(change(self.segments[0].function))

    def pairs_at(self, positions: np.ndarray) -> np.ndarray:
        """The pairs at some positions, shape (k, 2), int64."""
        return pairs_at(positions, self.n_items)

    def runs(self) -> list[Run]:
        """The pairs as runs, the input of backends."""
        return runs_of(self)

    def to_callers_order(self, values: torch.Tensor) -> torch.Tensor:
        """The values, unchanged: they are already in that order."""
        return values


class AllPairsTerm:
    """The average distortion over all pairs, by a loop that needs no list of the pairs.

    The numbers are those of an :class:`~skmde.core.objectives.edge_term.EdgeTerm`, up to rounding
    error.

    Parameters
    ----------
    pairs : AllPairs
    sums : callable
        From :meth:`~skmde.core.kernels.backend.Backend.all_pairs_sums`.
    backend : Backend
    """

    def __init__(self, pairs: AllPairs, sums: Sums, backend: Backend) -> None:
        self.edges = pairs
        self.backend = backend
        self._sums = sums

    @classmethod
    def build(
        cls, pairs: AllPairs, n_components: int, *, dtype: torch.dtype, backend: Backend
    ) -> AllPairsTerm | None:
        """The term, or None if the backend has no such loop for the distortion function.

        Parameters
        ----------
        pairs : AllPairs
        n_components : int
        dtype : torch.dtype
            Of the embedding: float32 or float64.
        backend : Backend
        """
        w, delta, n = pairs.given_weights, pairs.deviations, pairs.n_items
        shape = n, n_components, dtype, current_ranks()
        sums = backend.all_pairs_sums(pairs.function, w, delta, *shape)
        return None if sums is None else cls(pairs, sums, backend)

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        """Average distortion and its gradient at `X`, shape (n_items, n_components)."""
        return self._sums(X, 1.0 / len(self.edges))
