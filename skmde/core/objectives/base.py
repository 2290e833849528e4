"""What solvers see of an objective, and what a new term of it has to offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch

from skmde.core.kernels.backend import Backend


@runtime_checkable
class Term(Protocol):
    """One summand of an objective: a function of the embedding with a gradient."""

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        """Value at an embedding, and gradient.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            The embedding.

        Returns
        -------
        value : float or scalar tensor
            A tensor where a device computed it, so that nothing waits for the device.
        gradient : torch.Tensor of X's shape
        """
        ...


@runtime_checkable
class PairTerm(Term, Protocol):
    """A term that is a mean over pairs of items, so that single pairs can be asked about."""

    def distances(self, X: torch.Tensor) -> torch.Tensor:
        """Embedding distances of the pairs, in the caller's order: shape (p,)."""
        ...

    def distortions(self, X: torch.Tensor) -> torch.Tensor:
        """Weighted distortions of the pairs, in the caller's order: shape (p,)."""
        ...


class Objective(Term, Protocol):
    """What a solver minimises: a term that knows the backend of its tensors."""

    backend: Backend
