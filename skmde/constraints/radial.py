r"""Sets of rows that are given by a radius: a disc, or ball, and a sphere.

Let n be the unit vector from the centre to the row x, and z the row of a direction. A sphere's
tangent space at x is orthogonal to n, so z - (n . z) n is its projection. A row inside a disc may
move anywhere. On the boundary it may move along it, and inwards, so only a part of z that points
outwards is removed: z - max(n . z, 0) n.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import torch

from skmde._utils.validation import as_host_array
from skmde.constraints.base import FILLED, Constraint, row_norms

Tensor = torch.Tensor

_ROUNDING = 8.0  # rounding errors within which a row is on the boundary


class Disc(Constraint):
    """Embeddings whose items are within a radius of a point: a disc, or a ball.

    Parameters
    ----------
    radius : float, default=1.0
        Above 0, in the units of the embedding.
    center : array-like of shape (n_components,), default=None
        None is the origin.

    Raises
    ------
    ValueError
        If the radius is not a positive number, or the centre not a point of the embedding's
        dimension. The error is raised at the first use, not by the constructor.

    See Also
    --------
    Box : Embeddings whose coordinates are between bounds.
    Sphere :
        Embeddings whose items are at a distance from the origin: on a circle, or on a sphere.

    Notes
    -----
    Distances do not depend on the position of an embedding. So a starting point that is not in the
    disc is moved to its centre. If it is too large, it is shrunk to nine tenths of the radius.

    Examples
    --------
    >>> import torch
    >>> from skmde import Disc
    >>> Disc(radius=5.0).project(torch.tensor([[6.0, 8.0], [1.0, 2.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """

    has_boundary = True
    acts_on_rows = True

    def __init__(self, radius: float = 1.0, center: Any = None) -> None:
        self.radius = radius
        self.center = center

    def project(self, Z: Tensor) -> Tensor:
        Y, norms = self._offsets(Z)
        outside = norms > self.radius
        center = self._center(Z)
        return torch.where(outside, center + Y * (self.radius / norms), Z)

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        Y, norms = self._offsets(X)
        on_boundary = norms >= self.radius * (1 - self._rounding(X))
        normals = Y / torch.where(on_boundary, norms, 1.0)
        outwards = (normals * Z).sum(dim=1, keepdim=True).clamp(min=0)
        return torch.where(on_boundary, Z - outwards * normals, Z)

    def held(self, Z: Tensor) -> Tensor:
        return self._offsets(Z)[1] > self.radius

    def project_face(self, X: Tensor, Z: Tensor, held: Tensor) -> Tensor:
        Y, norms = self._offsets(X)
        normals = Y / torch.where(norms > 0, norms, 1.0)
        return torch.where(held, _without(Z, normals), Z)

    def arrange(self, X: Tensor) -> Tensor:
        if bool((self._offsets(X)[1] <= self.radius * (1 + self._rounding(X))).all()):
            return X
        Y = X - X.mean(dim=0)
        longest = row_norms(Y).max()
        shrunk = torch.where(longest > self.radius, FILLED * self.radius / longest, 1.0)
        return self._center(X) + shrunk * Y

    def validate(self, n_items: int, n_components: int) -> None:
        _check_radius(self.radius, self)
        if self.center is None:
            return
        center = self._center_array()
        if center.shape != (n_components,) or not np.isfinite(center).all():
            raise ValueError(
                f"center of a Disc must hold {n_components} finite numbers, one for each component "
                f"of the embedding; got {self.center!r}."
            )

    def diameter(self, n_components: int) -> float:
        return 2.0 * self.radius

    def finish(self, X: Tensor) -> Tensor:
        return self.project(X)

    def _center_array(self) -> np.ndarray:
        try:
            return np.asarray(as_host_array(self.center), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"center of a Disc must hold numbers: {error}.") from error

    def _center(self, like: Tensor) -> Any:
        if self.center is None:
            return 0.0
        return torch.from_numpy(self._center_array()).to(like)

    def _rounding(self, X: Tensor) -> float:
        """Relative error of the lengths of rows from the centre."""
        far = 0.0 if self.center is None else float(np.abs(self._center_array()).max())
        return _ROUNDING * (1 + far / self.radius) * torch.finfo(X.dtype).eps

    def _offsets(self, Z: Tensor) -> tuple[Tensor, Tensor]:
        """Rows from the centre, and their lengths of shape (n, 1)."""
        self.validate(*Z.shape)
        Y = Z - self._center(Z)
        return Y, row_norms(Y)


class Sphere(Constraint):
    """Embeddings whose items are at a distance from the origin: on a circle, or on a sphere.

    Parameters
    ----------
    radius : float, default=1.0
        Above 0, in the units of the embedding.
    great_circle : bool, default=False
        Whether the embedding distance of two items is the length of the great circle between them,
        and not that of the chord. Original distances are then compared with great circles, by
        :class:`skmde.PreserveDistances` and by :class:`skmde.MDE` with `deviations`.

    Raises
    ------
    ValueError
        If the radius is not a positive number, `great_circle` is not a bool, or there is only one
        component. The error is raised at the first use, not by the constructor.

    See Also
    --------
    Disc : Embeddings whose items are within a radius of a point: a disc, or a ball.

    Notes
    -----
    A chord of length d belongs to the great circle of length 2 r arcsin(d / (2 r)). The slope of
    the arcsine is infinite at 1, where two items are opposite each other. So the arcsine goes on
    along its tangent from ``1 - eps**0.75``, where eps is the precision: in float64, the distance
    of two opposite items is too short by 1e-6 of the radius. A solve with great circles is in
    float64.

    Examples
    --------
    >>> import torch
    >>> from skmde import Sphere
    >>> Sphere(radius=5.0).project(torch.tensor([[6.0, 8.0], [0.0, 2.0]]))
    tensor([[3., 4.],
            [0., 5.]])
    """

    acts_on_rows = True

    def __init__(self, radius: float = 1.0, great_circle: bool = False) -> None:
        self.radius = radius
        self.great_circle = great_circle

    @property
    def has_own_distance(self) -> bool:  # type: ignore[override]
        """Whether distances are great circles."""
        return bool(self.great_circle)

    def project(self, Z: Tensor) -> Tensor:
        self.validate(*Z.shape)
        norms = row_norms(Z)
        # The origin is equally far from every point of the sphere: any of them is nearest.
        pole = torch.zeros_like(Z)
        pole[:, 0] = self.radius
        return torch.where(norms > 0, Z * (self.radius / norms), pole)

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        return _without(Z, X / self.radius)

    def validate(self, n_items: int, n_components: int) -> None:
        _check_radius(self.radius, self)
        if not isinstance(self.great_circle, bool | np.bool_):
            raise ValueError(
                f"great_circle of a Sphere must be True or False; got {self.great_circle!r}."
            )
        if n_components < 2:
            raise ValueError(
                "A Sphere needs n_components of at least 2: in one dimension it is two points, "
                "between which items cannot move."
            )

    def own_distance(self, d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if not self.great_circle:
            return super().own_distance(d)
        diameter = 2 * self.radius
        u = d / diameter
        last = 1 - torch.finfo(d.dtype).eps ** 0.75
        near = u.clamp(max=last)
        # Beyond the diameter, which is no distance of the sphere, the slope is 1.
        arc = torch.asin(near) + (u.clamp(max=1) - near) / math.sqrt(1 - last**2)
        beyond = (d - diameter).clamp(min=0)
        cosine = torch.sqrt((1 - near) * (1 + near))
        first = torch.where(u > 1, 1.0, 1 / cosine)
        second = torch.where(u > last, 0.0, near / cosine**3 / diameter)
        return diameter * arc + beyond, first, second

    def diameter(self, n_components: int) -> float:
        return (math.pi if self.great_circle else 2.0) * self.radius

    def finish(self, X: Tensor) -> Tensor:
        return self.project(X)


def _without(Z: Tensor, normals: Tensor) -> Tensor:
    """The rows of Z without their parts along unit normals."""
    return Z - (normals * Z).sum(dim=1, keepdim=True) * normals


def _check_radius(radius: Any, constraint: Constraint) -> None:
    is_number = isinstance(radius, numbers.Real) and not isinstance(radius, bool)
    if not (is_number and 0 < float(radius) < np.inf):
        raise ValueError(
            f"radius of a {type(constraint).__name__} must be a finite number above 0; got "
            f"{radius!r}."
        )
