"""Every pair of items, without lists of them.

Pair (i, j), i < j, is number ``i (2 n - i - 1) / 2 + j - i - 1``: the order of rows of a triangle,
and of ``scipy.spatial.distance.pdist``. Knowing that, the kernel reads no index and gathers
nothing, so a pair costs a fraction of what an edge does, in time and memory.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.kernels import numba_edges
from skmde.core.objectives.edges import (
    Distortion,
    EdgeList,
    Segment,
    as_deviations,
    as_weights,
    resolve_functions,
)
from skmde.functions.base import Loss, Penalty

_PAIRS_PER_PIECE = 1 << 17
_MAX_PIECES = 16
_SMALL = 1 << 14  # numbers; below it a sum of pieces is not worth sharing


class AllPairs:
    """All pairs of items under one distortion function; stands in for an `EdgeList`.

    Parameters
    ----------
    n_items : int
        Number of items, at least 2.
    function : Penalty or Loss
        The function of every pair.
    weights : torch.Tensor of shape (p,) or None
        None means 1 for each pair.
    deviations : torch.Tensor of shape (p,) or None
        Original distances, for losses; in the units of the embedding.
    dtype : torch.dtype
    device : torch.device
    """

    order = None  # nothing is moved

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
        """Check the arguments, which are those of :class:`skmde.MDE`.

        Pairs that attract and pairs that repel, with a function each, need lists: then an
        `EdgeList` is what is built.

        Raises
        ------
        ValueError
            If there is no pair, or a weight or deviation is missing, not finite or of the wrong
            length.
        """
        p = n_items * (n_items - 1) // 2
        if p == 0:
            raise ValueError("one item makes no pair; at least 2 items are required.")
        w, delta = as_weights(weights, p), as_deviations(deviations, p)
        attract, repel = resolve_functions(distortion, w, delta)
        device = device or torch.device("cpu")
        signs = {1} if w is None or attract is repel else set(np.sign(w))
        if signs >= {-1, 1}:
            pairs = np.stack(np.triu_indices(n_items, 1), axis=1)
            return EdgeList.build(
                pairs, n_items, distortion, weights=weights, dtype=dtype, device=device
            )
        # copies: the caller may write to his arrays, or may not let us write to them
        w_tensor, delta_tensor = (
            None if x is None else torch.tensor(x, dtype=dtype, device=device) for x in (w, delta)
        )
        function = repel if -1 in signs else attract
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
        # for whoever cannot do without lists: a user's callable, another device
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
        """The same pairs under another function."""
        arguments = self.given_weights, self.deviations, self.dtype, self.device
        return AllPairs(self.n_items, function, *arguments)

    @property
    def has_kernel(self) -> bool:
        """Whether `AllPairsTerm` can evaluate the function on this device."""
        return self.device.type == "cpu" and self.function.kernel_parameters() is not None

    def to_callers_order(self, values: torch.Tensor) -> torch.Tensor:
        """The values: they are in that order."""
        return values


class AllPairsTerm:
    """Average distortion and gradient over all pairs, under a built-in function, on the CPU.

    Has the interface of :class:`~skmde.core.objectives.edge_term.Objective`, and gives the same
    numbers but for rounding.

    Parameters
    ----------
    pairs : AllPairs
    n_components : int
    dtype : torch.dtype
        Of the embedding: float32 or float64.
    n_threads : int
        The outcome does not depend on it.
    """

    def __init__(
        self, pairs: AllPairs, n_components: int, *, dtype: torch.dtype, n_threads: int = 1
    ) -> None:
        self.edges = pairs
        self.n_items = pairs.n_items
        self.n_components = n_components
        self.n_threads = n_threads
        self.device = pairs.device
        kernel = pairs.function.kernel_parameters()
        assert kernel is not None
        self._kind, *parameters = kernel
        nothing = np.empty(0, torch.empty(0, dtype=dtype).numpy().dtype)
        self._params = np.array(parameters, nothing.dtype)
        w, t = pairs.given_weights, pairs.deviations
        self._w = nothing if w is None else w.numpy()
        self._t = nothing if t is None else t.numpy()
        self._pieces = _pieces(self.n_items)
        length = self.n_items * n_components
        self._parts = np.zeros((len(self._pieces), length), nothing.dtype)
        self._bounds = even_pieces(0, length, 1 if length <= _SMALL else 8)

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float, torch.Tensor]:
        """Average distortion and its gradient at `X`, shape (n_items, n_components)."""
        n, m = X.shape
        columns = X.T.contiguous().numpy()
        parts = self._parts

        def add(number: int, start: int, stop: int) -> float:
            G = parts[number].reshape(m, n)
            arguments = self._kind, self._params, columns, self._w, self._t
            return float(numba_edges.triangle(*arguments, start, stop, G))

        totals = run_pieces(add, self._pieces, self.n_threads)
        scale = 1.0 / len(self.edges)
        flat = torch.empty(m * n, dtype=X.dtype)
        out = flat.numpy()
        run_pieces(
            lambda start, stop: numba_edges.collect(parts, scale, start, stop, out),
            self._bounds,
            self.n_threads,
        )
        return sum(totals) * scale, flat.view(m, n).T.contiguous()


def _pieces(n_items: int) -> list[tuple[int, int, int]]:
    """Runs of rows with about as many pairs each; how many depends on the problem alone."""
    rows = np.arange(n_items + 1)
    before = rows * (2 * n_items - rows - 1) // 2
    n_pairs = int(before[-1])
    count = min(max(1, n_pairs // _PAIRS_PER_PIECE), _MAX_PIECES)
    bounds = np.searchsorted(before[:-1], np.linspace(0, n_pairs, count + 1)).tolist()
    return [(k, start, stop) for k, (start, stop) in enumerate(pairwise(bounds))]
