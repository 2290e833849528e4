"""Base class of constraint sets, and what its subclasses share.

Tensors keep their dtype and device, and no argument is written to. The set and every embedding
are in the units of the embedding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator

Tensor = torch.Tensor


class Constraint(BaseEstimator):
    """Base class of constraint sets.

    A subclass must define `project` and `project_tangent`; everything else has a default built on
    them. Its constructor only stores its arguments, under their own names, so that it can be
    cloned and searched over. :func:`skmde.constraints.check_constraint` tests the mathematics.

    Attributes
    ----------
    needs_projection : bool
        Whether a step along tangents leaves the set, so that the solver has to project after it.
    is_free : bool
        Whether the set holds every embedding of mean 0. An estimator then chooses the unit that it
        solves in, moves parts that no pair joins, and needs forces that keep the items apart.
    fixes_unit : bool
        Whether all embeddings of the set have the same root mean square of all pairs' distances,
        which `natural_length` returns. Original distances are then scaled to this length.
    fixes_position : bool
        Whether an embedding of the set may leave it when its mean is subtracted. If False, an
        estimator subtracts the mean of a starting point, and scales it if its size is far off.

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

    # The defaults promise nothing, so that they hold for any set.
    needs_projection: bool = True
    is_free: bool = False
    fixes_unit: bool = False
    fixes_position: bool = True

    @property
    def name(self) -> str:
        """Name of the set in messages and results: the class's, in lower case."""
        return type(self).__name__.lower()

    @property
    def fixed_items(self) -> Any:
        """Items whose coordinates the set gives: distinct indices in ascending order; (n_fixed,).

        An estimator embeds them whatever they weigh.
        """
        return np.empty(0, dtype=np.int64)

    @property
    def fixed_coordinates(self) -> Any:
        """Their coordinates, float64: shape (n_fixed, n_components)."""
        return np.empty((0, 0))

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

    def natural_length(self, n_items: int, n_components: int) -> float:
        """Root mean square of all pairs' distances, for a set with `fixes_unit`.

        Parameters
        ----------
        n_items, n_components : int
            Shape of the embedding.

        Returns
        -------
        float
            The same for every embedding of the set.

        Raises
        ------
        NotImplementedError
            If the set does not define it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no natural length: a constraint with fixes_unit = True "
            "must define natural_length(n_items, n_components)."
        )

    def restricted(self, items: Any) -> Constraint:
        """The constraint on some of the items, which are embedded without the others.

        Parameters
        ----------
        items : ndarray of int of shape (n_some,)
            Indices of the items, in ascending order. They include all `fixed_items`.

        Returns
        -------
        Constraint
            The set for items ``0, ..., n_some - 1``. The default is this set, as is right where
            no item is named.
        """
        return self

    def finish(self, X: Tensor) -> Tensor:
        """What the set does to a solution that was computed in float32.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            The solution, converted to float64.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            A set that gives coordinates puts them in to the last digit. The default is X.
        """
        return X


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
