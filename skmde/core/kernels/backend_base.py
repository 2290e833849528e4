"""The base class of backends, and what they exchange with terms and solvers.

``backend.py`` chooses a backend and has the notation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from skmde._utils.ranks.group import Ranks
from skmde.core.kernels import torch_reference
from skmde.functions.base import Loss, Penalty

Value = float | torch.Tensor
# Takes X and a factor; returns the sum of distortions and its gradient, both times the factor.
Sums = Callable[[torch.Tensor, float], tuple[Value, torch.Tensor]]


class Run(NamedTuple):
    """Pairs of items that share one distortion function.

    Attributes
    ----------
    function : Penalty or Loss
    i, j : torch.Tensor of shape (c,), int32
        The items of the pairs.
    weights : torch.Tensor of shape (c,)
    deviations : torch.Tensor of shape (c,) or None
        Original distances, for a loss.
    """

    function: Penalty | Loss
    i: torch.Tensor
    j: torch.Tensor
    weights: torch.Tensor
    deviations: torch.Tensor | None


class Step(NamedTuple):
    """Settings of a step of gradient descent with momentum.

    Attributes
    ----------
    size : float
        Factor of the gradient.
    momentum : float
        Share of the last move that is repeated.
    longest : float
        Longest move of an item, in the units of the embedding.
    """

    size: float
    momentum: float
    longest: float


class Backend(ABC):
    """Sums over pairs of items, and operations on the long vectors of a solver.

    Results have the same bits for any number of threads.

    Parameters
    ----------
    device : torch.device
        Device of the tensors.
    n_threads : int
        Number of threads for compiled loops.
    """

    def __init__(self, device: torch.device, n_threads: int = 1) -> None:
        self.device = device
        self.n_threads = n_threads

    @abstractmethod
    def supports(self, function: Penalty | Loss) -> bool:
        """Whether the backend can evaluate a distortion function."""

    @abstractmethod
    def edge_sums(
        self,
        runs: Sequence[Run],
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        ranks: Ranks | None = None,
    ) -> Sums:
        """Build the function that sums the distortions of all runs and computes the gradient.

        Parameters
        ----------
        runs : sequence of Run
            At least one. The backend must serve their distortion functions; see `supports`.
        n_items, n_components : int
            Shape of the embedding.
        dtype : torch.dtype
            Of the embedding.
        ranks : Ranks, optional
            They share the work of these sums and of the next ones; all of them get the whole sums.

        Returns
        -------
        sums : callable
            Takes a contiguous embedding and a factor that multiplies both results.
        """

    def all_pairs_sums(
        self,
        function: Penalty | Loss,
        weights: torch.Tensor | None,
        deviations: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        ranks: Ranks | None = None,
    ) -> Sums | None:
        """The same as `edge_sums` for all pairs of items, without a list of the pairs.

        `weights` and `deviations` are in the order of `AllPairs`.

        Returns
        -------
        sums : callable or None
            None if the backend has no such loop; the caller then uses `edge_sums`.
        """
        return None

    @abstractmethod
    def product_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        ranks: Ranks | None = None,
    ) -> Sums:
        """The same as `edge_sums` for all pairs of items; a weight is a product of items' weights.

        There is no list of the pairs or of their weights.
        """

    def lattice_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        accuracy: str,
        ranks: Ranks | None = None,
    ) -> Sums | None:
        """The same as `product_sums`, approximately, by a convolution on a lattice.

        ``lattice/convolution.py`` says how accurate the sums are, and ``lattice/far_groups.py``
        what happens if the items are too far apart for one lattice.

        Returns
        -------
        sums : callable or None
            None if the backend has no such sums for the function or for `n_components`.
        """
        return None

    def momentum_step(
        self,
        X: torch.Tensor,
        velocity: torch.Tensor,
        gains: torch.Tensor,
        gradient: torch.Tensor,
        step: Step,
    ) -> torch.Tensor:
        """The next iterate of gradient descent with momentum; updates `velocity` and `gains`."""
        return torch_reference.momentum_step(X, velocity, gains, gradient, *step)

    @abstractmethod
    def history_dots(self, H: torch.Tensor, g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Inner products of every row of `H` with `g` and with `y`, shape (n_rows, 2)."""

    @abstractmethod
    def combine(
        self, H: torch.Tensor, coefficients: np.ndarray, g: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """The vector ``coefficients @ H + scale * g``."""


def charges_of(item_weights: torch.Tensor | None, n_items: int, dtype: torch.dtype) -> torch.Tensor:
    """Factors of the items in the weights of pairs."""
    ones = torch.ones(n_items, dtype=dtype)
    return ones if item_weights is None else item_weights.to(dtype)
