r"""Repulsion of every pair of items.

With the repulsive penalty p and a factor s_i of each item (1 unless said otherwise), the *energy*
of the repulsion is

    R(X) = -sum_{i < j} s_i s_j p(||x_i - x_j||).

With a weight rho, and the sum W of the weights of the pairs that attract each other, an objective
has one of these terms, divided by the number of those pairs, as their average distortion is:

    rho R(X)                       `Repulsion`
    rho W log(2 R(X))              `NormalizedRepulsion`

The gradient of the second term is that of the first with the weight rho W / R(X). For the penalty
``Cauchy()``, 2 R(X) is the normalisation Z of t-SNE, and the second term together with the
attraction ``Log1p(2)`` is the objective of t-SNE, with exaggeration 1 / rho. With the first term,
the objective is the negative log-likelihood of a Poisson model in which pair (i, j) has the
intensity rho / (1 + d^2). The minimum over rho of that gives the second.

All pairs repel, neighbours as well; the attraction of neighbours outweighs it. Positions are in the
units of the embedding.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch

from skmde._linalg.standardize import centered
from skmde._utils.ranks.together import current_ranks
from skmde.core.kernels.backend import Backend, Sums, Value
from skmde.functions.base import Penalty

# For fewer items, exact sums over all pairs are as fast as the lattice. It is slower in three
# dimensions, and for penalties that are not smooth at distance 0.
_EXACT, _EXACT_IF_SLOW = 1000, 2500
# Within the range of float32. Items so far apart that the slope is larger have no gradient left.
_STEEPEST = 1e30


def energy_sums(
    function: Penalty,
    item_weights: torch.Tensor | None,
    n_items: int,
    n_components: int,
    *,
    dtype: torch.dtype,
    backend: Backend,
    accuracy: str = "fast",
) -> Sums:
    """The function that sums a penalty over all pairs of items and computes the gradient.

    Parameters
    ----------
    function : Penalty
        One that the backend supports.
    item_weights : torch.Tensor of shape (n_items,) or None
        Factors s of the items; None means 1.
    n_items, n_components : int
        Shape of the embedding.
    dtype : torch.dtype
        Of the embedding.
    backend : Backend
    accuracy : {"fast", "precise"}
        Accuracy of the lattice, which sums over many items.
    """
    shape, ranks = (n_items, n_components, dtype), current_ranks()
    is_slow = n_components > 2 or function.smooth_length is None
    if n_items > (_EXACT_IF_SLOW if is_slow else _EXACT):
        sums = backend.lattice_sums(function, item_weights, *shape, accuracy, ranks)
        if sums is not None:
            return sums
    return backend.product_sums(function, item_weights, *shape, ranks)


class RepulsiveTerm(ABC):
    """Repulsion of all pairs, a term of an objective.

    Parameters
    ----------
    sums : callable
        From `energy_sums`.
    factor : float
        Weight rho, divided by the number of attractive pairs; for `NormalizedRepulsion`, also
        times the sum W of their weights.
    """

    #: Whether the weight of the repulsion depends on the embedding.
    adapts: ClassVar[bool] = False

    def __init__(self, sums: Sums, factor: float) -> None:
        self._sums, self.factor = sums, factor

    def energy(self, X: torch.Tensor) -> tuple[Value, torch.Tensor]:
        """The energy R and its gradient at `X`, shape (n_items, n_components).

        The energy is a float if compiled loops computed it. Otherwise it is a scalar tensor, so
        that nothing waits for a GPU.
        """
        energy, gradient = self._sums(X.contiguous(), -1.0)
        # Forces between pairs add up to 0. On a lattice they do so only nearly.
        return energy, centered(gradient)

    @abstractmethod
    def value(self, energy: Value) -> Value:
        """The term's value for an energy R, of the same type."""

    @abstractmethod
    def slope(self, energy: Value) -> Value:
        """Derivative of the value with respect to R."""

    def value_and_gradient(self, X: torch.Tensor) -> tuple[Value, torch.Tensor]:
        """Value and gradient at `X`, shape (n_items, n_components)."""
        energy, gradient = self.energy(X)
        return self.value(energy), gradient * self.slope(energy)


class Repulsion(RepulsiveTerm):
    """Repulsion of all pairs with the same weight: rho R(X)."""

    def value(self, energy: Value) -> Value:
        return self.factor * energy

    def slope(self, energy: Value) -> Value:
        return self.factor


class NormalizedRepulsion(RepulsiveTerm):
    """Repulsion whose weight adapts to the embedding: rho W log(2 R(X))."""

    adapts = True

    def value(self, energy: Value) -> Value:
        if isinstance(energy, torch.Tensor):
            return self.factor * torch.log(2 * energy.clamp(min=0))
        if not energy > 0:
            return math.nan if math.isnan(energy) else -math.inf
        return self.factor * math.log(2 * energy)

    def slope(self, energy: Value) -> Value:
        if isinstance(energy, torch.Tensor):
            slope = (self.factor / energy).clamp(max=_STEEPEST)
            return torch.where(energy > 0, slope, math.nan)
        return min(self.factor / energy, _STEEPEST) if energy > 0 else math.nan
