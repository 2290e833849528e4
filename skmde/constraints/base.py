"""Base class of constraint sets, and helpers of its subclasses.

Results have the dtype and device of the arguments, and no argument is modified. All lengths are
in units of the embedding.
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

    A subclass must define `project` and `project_tangent`. All other methods have defaults based
    on these two. Its constructor only stores its arguments under their own names, so that the
    constraint can be cloned and its parameters can be searched over.
    :func:`skmde.constraints.check_constraint` tests the mathematics.

    Attributes
    ----------
    needs_projection : bool
        Whether a step along a tangent leaves the set, so that the solver has to project after it.
    is_free : bool
        Whether the set contains every embedding of mean 0. An estimator then chooses the unit in
        which it solves and arranges the connected components, and it requires forces that keep
        the items apart.
    fixes_unit : bool
        Whether the root mean square of the distances of all pairs is the same in all embeddings of
        the set. `natural_length` returns it, and original distances are scaled to it.
    fixes_position : bool
        Whether an embedding may leave the set when its mean is subtracted. If False, an estimator
        subtracts the mean of a starting point, and rescales it if its size is far off.
    acts_on_rows : bool or None
        Whether the set asks the same of each row, and nothing of several rows together, as a
        sphere, a box or a disc does. Then `transform` and `extend` place unseen rows within the
        set. None means that an estimator finds out by projections, and warns when it places unseen
        rows that the set cannot hold. False means that unseen rows are placed freely, without a
        warning.

    See Also
    --------
    Centered : Mean 0.
    Standardized : Mean 0, uncorrelated columns of unit variance.
    Anchored : Given coordinates for some items.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.4 (constraints), chapter 5
    (stationarity conditions), section 6.1.2 (projection onto constraints).

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

    # These defaults are correct for any set, since they make no assumption about it.
    needs_projection: bool = True
    is_free: bool = False
    fixes_unit: bool = False
    fixes_position: bool = True
    acts_on_rows: bool | None = None

    @property
    def name(self) -> str:
        """Name of the set in messages and results: the name of the class in lower case."""
        return type(self).__name__.lower()

    @property
    def fixed_items(self) -> Any:
        """Items with given coordinates: distinct indices, ascending, of shape (n_fixed,).

        An estimator embeds these items whatever their sample weights.
        """
        return np.empty(0, dtype=np.int64)

    @property
    def fixed_coordinates(self) -> Any:
        """Coordinates of the fixed items: float64, shape (n_fixed, n_components)."""
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
            The feasible X that minimises the Frobenius norm of X - Z, or one of them.
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
            Source of the random numbers, which are the same on every device.
        dtype : torch.dtype
            Dtype of the embedding.
        device : torch.device or str
            Device of the embedding.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            The default is the projection of standard normal numbers.
        """
        return self.project(standard_normal(n_items, n_components, generator, dtype, device))

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
        return relative_difference(float((X - closest).norm()), float(closest.norm()))

    def validate(self, n_items: int, n_components: int) -> None:
        """Check that the set contains an embedding of this shape.

        Parameters
        ----------
        n_items, n_components : int
            Shape of the embedding.

        Raises
        ------
        ValueError
            If it contains none, or if a parameter is invalid. The default accepts any shape.
        """

    def natural_length(self, n_items: int, n_components: int) -> float:
        """Root mean square of the distances of all pairs, for a set with `fixes_unit`.

        Parameters
        ----------
        n_items, n_components : int
            Shape of the embedding.

        Returns
        -------
        float
            The value, which is the same for every embedding of the set.

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
        """The same constraint for a subset of the items, embedded without the others.

        Parameters
        ----------
        items : ndarray of int of shape (n_some,)
            Indices of the items, in ascending order. They include all `fixed_items`.

        Returns
        -------
        Constraint
            The constraint for the items of the subset, renumbered ``0, ..., n_some - 1``. The
            default is this constraint itself, which is correct if it refers to no single items.
        """
        return self

    def dual(self, X: Tensor, gradient: Tensor) -> Tensor | None:
        """The multiplier of the constraint, the dual variable of its Lagrangian.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            An embedding of the set.
        gradient : torch.Tensor of shape (n_items, n_components)
            Gradient of the average distortion at X.

        Returns
        -------
        torch.Tensor or None
            The default is None: no multiplier is known, or it is 0.
        """
        return None

    def finish(self, X: Tensor) -> Tensor:
        """Correct a solution that was computed in float32.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            The solution, converted to float64.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            The default is X. A set that fixes coordinates sets them to their exact values.
        """
        return X


def standard_normal(
    n_items: int,
    n_components: int,
    generator: np.random.Generator,
    dtype: torch.dtype,
    device: torch.device | str,
) -> Tensor:
    """Standard normal numbers, the same on every device."""
    numbers = generator.standard_normal((n_items, n_components))
    return torch.from_numpy(numbers).to(device=device, dtype=dtype)


def relative_difference(difference: float, size: float) -> float:
    """Relative difference; 0 / 0 is 0, and anything else over 0 is infinite."""
    if difference == 0:
        return 0.0
    return difference / size if size > 0 else math.inf
