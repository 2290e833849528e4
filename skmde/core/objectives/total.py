"""An objective as the sum of its terms."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from skmde.core.kernels.backend import Backend
from skmde.core.objectives.base import Term


class Total:
    """The sum of terms, which solvers minimise.

    A new part of the objective (repulsion by all non-neighbours, a proximal term) is one class with
    ``value_and_gradient(X)``; see :class:`~skmde.core.objectives.base.Term`.

    Parameters
    ----------
    terms : sequence of Term
        One at least; all of embeddings of one shape.
    backend : Backend
        Of the tensors.

    Examples
    --------
    >>> import torch
    >>> from skmde.core.kernels.backend import choose_backend
    >>> from skmde.core.objectives.total import Total
    >>> class Size:
    ...     def value_and_gradient(self, X):
    ...         return float((X**2).sum()), 2 * X
    >>> total = Total([Size(), Size()], choose_backend(torch.device("cpu")))
    >>> value, gradient = total.value_and_gradient(torch.ones(2, 1))
    >>> value, gradient.ravel().tolist()
    (4.0, [4.0, 4.0])
    """

    def __init__(self, terms: Sequence[Term], backend: Backend) -> None:
        if not terms:
            raise ValueError("An objective has no terms; give one at least.")
        self.terms = tuple(terms)
        self.backend = backend

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        """Sum of the terms' values at `X`, and of their gradients."""
        value, gradient = self.terms[0].value_and_gradient(X)
        for term in self.terms[1:]:
            more, slope = term.value_and_gradient(X)
            value, gradient = value + more, gradient + slope
        return value, gradient
