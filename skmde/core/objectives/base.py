"""Protocols of an objective and of its terms.

An objective is a real function of the embedding X. For an MDE problem it is the average distortion
E(X) (monograph, section 2.2.2), possibly with further terms. A solver needs its value and its
gradient, of X's shape. The objective fixes the units of both.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch

from skmde.core.kernels.backend import Backend


@runtime_checkable
class Term(Protocol):
    """One summand of an objective: a differentiable function of the embedding."""

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        """Value and gradient at an embedding.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            The embedding.

        Returns
        -------
        value : float or scalar tensor
            A tensor if it was computed on a GPU, so that nothing waits for the GPU.
        gradient : torch.Tensor of X's shape
        """
        ...


@runtime_checkable
class PairTerm(Term, Protocol):
    """A term that is a mean over pairs of items. It also offers numbers of single pairs."""

    def distances(self, X: torch.Tensor) -> torch.Tensor:
        """Embedding distances of the pairs, in the caller's order, shape (p,)."""
        ...

    def distortions(self, X: torch.Tensor) -> torch.Tensor:
        """Weighted distortions of the pairs, in the caller's order, shape (p,)."""
        ...


class Objective(Term, Protocol):
    """The function that a solver minimises: a term with the backend of its tensors."""

    backend: Backend
