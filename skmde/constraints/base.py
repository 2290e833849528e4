"""Base class of constraint sets, and what its subclasses share.

Tensors keep their dtype and device, and no argument is written to. The set and every embedding
are in the units of the embedding.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from sklearn.base import BaseEstimator

Tensor = torch.Tensor


class Constraint(BaseEstimator):
    """Base class of constraint sets.

    A subclass must define `project` and `project_tangent`; everything else has a default built on
    them. Its constructor only stores its arguments, under their own names, so that it can be
    cloned and searched over. :func:`skmde.constraints.check_constraint` tests the mathematics.

    See Also
    --------
    Centered : Mean 0.
    Standardized : Mean 0, uncorrelated columns of unit variance.
    Anchored : Some items in given coordinates.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.4 (constraints), chapter 5
    (tangents and stationarity), section 6.1 (projections).

    Examples
    --------
    Embeddings on the unit sphere:

    >>> import torch
    >>> from skmde import Constraint
    >>> class UnitSphere(Constraint):
    ...     def project(self, Z):
    ...         return Z / Z.norm(dim=1, keepdim=True)
    ...
    ...     def project_tangent(self, X, Z):
    ...         return Z - (X * Z).sum(dim=1, keepdim=True) * X
    >>> sphere = UnitSphere()
    >>> sphere.project(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    >>> from skmde.constraints import check_constraint
    >>> check_constraint(sphere, n_items=10, n_components=3)
    """

    #: Whether a step along tangents leaves the set, so that the solver has to project after it.
    needs_projection: bool = True

    @property
    def name(self) -> str:
        """Name of the set in messages and results: the class's, in lower case."""
        return type(self).__name__.lower()

    def project(self, Z: Tensor) -> Tensor:
        """Closest point of the set.

        Parameters
        ----------
        Z : torch.Tensor of shape (n_items, n_components)
            Any matrix.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            A feasible X that minimises the Frobenius norm of X - Z.
        """
        raise NotImplementedError(f"{type(self).__name__} must define project(Z).")

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        """Projection of a gradient onto the tangent space of the set.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            A feasible embedding.
        Z : torch.Tensor of shape (n_items, n_components)
            Gradient at X of a function of the distances between items.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            The part of Z along which X stays in the set to first order.
        """
        raise NotImplementedError(f"{type(self).__name__} must define project_tangent(X, Z).")

    def initialize(
        self,
        n_items: int,
        n_components: int,
        generator: np.random.Generator,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> Tensor:
        """Random feasible embedding.

        Parameters
        ----------
        n_items, n_components : int
            Shape of the embedding.
        generator : numpy.random.Generator
            Source of the random numbers: the same on every device.
        dtype : torch.dtype
            Type of the embedding.
        device : torch.device or str
            Where to put it.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            The projection of standard normal numbers.
        """
        return self.project(normal(n_items, n_components, generator, dtype, device))

    def violation(self, X: Tensor) -> float:
        """How far an embedding is from the set.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            An embedding.

        Returns
        -------
        float
            Frobenius norm of X - project(X) over that of project(X); 0 means feasible.
        """
        closest = self.project(X)
        return ratio(float((X - closest).norm()), float(closest.norm()))

    def validate(self, n_items: int, n_components: int) -> None:
        """Check that the set has a point of this shape.

        Parameters
        ----------
        n_items, n_components : int
            Shape of the embedding.

        Raises
        ------
        ValueError
            If it has none, or if a parameter is wrong. The default accepts any shape.
        """


def normal(
    n_items: int,
    n_components: int,
    generator: np.random.Generator,
    dtype: torch.dtype,
    device: torch.device | str,
) -> Tensor:
    """Standard normal numbers, the same on every device."""
    numbers = generator.standard_normal((n_items, n_components))
    return torch.from_numpy(numbers).to(device=device, dtype=dtype)


def ratio(difference: float, size: float) -> float:
    """Relative difference; 0 / 0 is 0, and anything else over 0 is infinite."""
    if difference == 0:
        return 0.0
    return difference / size if size > 0 else math.inf
