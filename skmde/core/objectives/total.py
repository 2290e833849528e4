"""An objective as the sum of its terms.

The value is the sum of the terms' values, the gradient the sum of their gradients. All terms have
the same units. The usual single term is the average distortion (monograph, section 2.2.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from skmde.core.kernels.backend import Backend
from skmde.core.objectives.base import Term


class Total:
    """The objective that solvers minimise: a sum of terms.

    To add a term (for example, a pull towards the origin), write one class with the method
    ``value_and_gradient(X)``; see :class:`~skmde.core.objectives.base.Term`.

    Parameters
    ----------
    terms : sequence of Term
        At least one. All terms take embeddings of the same shape.
    backend : Backend
        The backend of the tensors.

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
            raise ValueError("The objective has no terms; pass at least one.")
        self.terms = tuple(terms)
        self.backend = backend

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        """Sum of the terms' values at `X`, and sum of their gradients."""
        value, gradient = self.terms[0].value_and_gradient(X)
        for term in self.terms[1:]:
            more, slope = term.value_and_gradient(X)
            value, gradient = value + more, gradient + slope
        return value, gradient
