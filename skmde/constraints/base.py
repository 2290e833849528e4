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

FILLED = 0.9  # part of a set that a starting point takes which is shrunk to fit


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
    has_boundary : bool
        Whether `project_tangent` projects onto a cone, as for a box or a disc, and not onto a
        space. At a point of the boundary, the directions along which an embedding stays in the set
        are a cone. The gradient is then projected with the opposite sign, since a step goes along
        minus the gradient. If False, `project_tangent` only receives gradients.
    has_own_distance : bool
        Whether the embedding distance of two items is `own_distance`, and not Euclidean: the length
        of an arc within the set.

    See Also
    --------
    Centered : Mean 0.
    Standardized : Mean 0, uncorrelated columns of unit variance.
    Anchored : Given coordinates for some items.
    Box : Coordinates between bounds.
    NonNegative : Coordinates of at least 0.
    Disc : Items within a distance of a point.
    Sphere : Items at a distance from the origin.
    SameCoordinate : Groups of items that share a coordinate.

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
    has_boundary: bool = False
    has_own_distance: bool = False

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
        """Projection onto the tangent space of the set, or onto its tangent cone.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            A feasible embedding.
        Z : torch.Tensor of shape (n_items, n_components)
            Gradient at X of a function of the distances between items. If the set
            `has_boundary`, a direction, such as minus the gradient.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            The part of Z along which X stays in the set to first order.
        """
        raise NotImplementedError(f"{type(self).__name__} must define project_tangent(X, Z).")

    def project_gradient(self, X: Tensor, gradient: Tensor) -> Tensor:
        """The projected gradient G: minus the steepest direction along which X stays in the set.

        X is stationary where it vanishes.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            A feasible embedding.
        gradient : torch.Tensor of shape (n_items, n_components)
            Gradient at X.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            The projection of `gradient` onto the tangent space. If the set `has_boundary`, minus
            the projection of minus the gradient onto the tangent cone.
        """
        if self.has_boundary:
            return -self.project_tangent(X, -gradient)
        return self.project_tangent(X, gradient)

    def held(self, Z: Tensor) -> Tensor:
        """The parts of an embedding that a step to Z presses against the boundary.

        Parameters
        ----------
        Z : torch.Tensor of shape (n_items, n_components)
            Any matrix: the end of a step.

        Returns
        -------
        torch.Tensor of bool, of shape (n_items, 1) or (n_items, n_components)
            True for rows, or for coordinates, that the projection of Z moves. The default marks
            rows. Only asked of a set that `has_boundary`.
        """
        return (self.project(Z) != Z).any(dim=1, keepdim=True)

    def project_face(self, X: Tensor, Z: Tensor, held: Tensor) -> Tensor:
        """Projection onto the directions in which the held parts move along the boundary.

        The solver makes quasi-Newton steps in these directions, and in all others steps along minus
        the gradient. The directions must be a space, on which `project_tangent` at X removes
        nothing from the held parts.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            A feasible embedding.
        Z : torch.Tensor of shape (n_items, n_components)
            Any matrix.
        held : torch.Tensor of bool
            A result of `held`.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            The default sets the held parts to 0. A set with a curved boundary does better to
            remove from a held row its part along the normal of the boundary. Only asked of a set
            that `has_boundary`.
        """
        return torch.where(held, torch.zeros_like(Z), Z)

    def arrange(self, X: Tensor) -> Tensor:
        """A starting point that is moved to where the set is, and shrunk if it is too large.

        The projection of a start that is outside would flatten it against the boundary.

        Parameters
        ----------
        X : torch.Tensor of shape (n_items, n_components)
            A starting point, whose position does not matter. It is projected afterwards.

        Returns
        -------
        torch.Tensor of shape (n_items, n_components)
            The default is X. X must be returned as it is if it is in the set.
        """
        return X

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
            The default is the projection of standard normal numbers, moved to the set by
            `arrange`.
        """
        Z = standard_normal(n_items, n_components, generator, dtype, device)
        return self.project(self.arrange(Z))

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

    def diameter(self, n_components: int) -> float:
        """Longest distance of two items in the set.

        Parameters
        ----------
        n_components : int
            Dimension of the embedding.

        Returns
        -------
        float
            Infinite by default, for a set without a size. An estimator warns if original distances
            are mostly longer.
        """
        return math.inf

    def own_distance(self, d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Distance of two items within a set that `has_own_distance`, with two derivatives.

        Parameters
        ----------
        d : torch.Tensor
            Euclidean distances, at least 0.

        Returns
        -------
        distance, first, second : torch.Tensor of the shape of d
            The default is d itself.
        """
        return d, torch.ones_like(d), torch.zeros_like(d)

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


def row_norms(X: Tensor) -> Tensor:
    """Euclidean norms of the rows, shape (n, 1), without overflow or underflow of squares."""
    largest = X.abs().amax(dim=1, keepdim=True)
    unit = torch.where(largest > 0, largest, 1.0)
    return unit * torch.linalg.vector_norm(X / unit, dim=1, keepdim=True)


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
