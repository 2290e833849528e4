"""Changes of unit: coordinates relative to a center, and lengths, in multiples of a unit.

A solver works on numbers of about size 1 near the origin, whatever the unit and the offset of what
it is given. A `Frame` says how the coordinates of an embedding change, a `Unit` how numbers without
an origin do: lengths, inner products, weights. Both convert forth (`inside`) and back (`outside`).

Rows of data have :class:`~skmde._linalg.scaling.Scaling`, because they may be sparse, are converted
in blocks, and stay as they are if they lose no digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Unit:
    """A unit without a center.

    Attributes
    ----------
    size : float, default=1.0
        Number that becomes 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde._linalg.frame import Unit
    >>> unit = Unit.largest(np.array([1.0, 4.0]))
    >>> unit.inside(np.array([1.0, 4.0]))
    array([0.25, 1. ])
    >>> unit.outside(0.25)
    1.0
    """

    size: float = 1.0

    @classmethod
    def largest(cls, values: np.ndarray, where: Any = True) -> Unit:
        """The largest magnitude as unit, so that squares stay in range; 1 if all are 0.

        Parameters
        ----------
        values : ndarray
        where : ndarray of bool, default=True
            The values that count; these are finite.
        """
        high = float(values.max(where=where, initial=0.0))
        low = float(values.min(where=where, initial=0.0))
        return cls(max(high, -low) or 1.0)

    def inside(self, x: Any) -> Any:
        """Convert numbers x to this unit."""
        return x / self.size

    def outside(self, z: Any) -> Any:
        """Convert numbers z of this unit back."""
        return self.size * z

    def power(self, degree: float) -> float:
        """Unit of the values of a function: ``f(outside(z)) = power(degree) * f(z)``.

        The function is homogeneous of this degree. The result may be 0 or infinite. For unit 1 it
        is 1 for any function, so the degree is not read and may be None.
        """
        if self.size == 1.0:
            return 1.0
        with np.errstate(over="ignore", under="ignore"):
            return float(np.float64(self.size) ** degree)


@dataclass(frozen=True)
class Frame:
    """A center and a unit of length.

    Attributes
    ----------
    center : ndarray of shape (m,), or float
        Point that becomes the origin, in multiples of `scale`.
    unit : float
        Length that becomes 1, in multiples of `scale`.
    scale : float, default=1.0
        Coordinates are divided by it first, so that sums and squares do not overflow or underflow.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde._linalg.frame import Frame
    >>> frame = Frame(center=np.array([10.0, 20.0]), unit=5.0)
    >>> frame.inside(np.array([[15.0, 20.0]]))
    array([[1., 0.]])
    >>> frame.outside(np.array([[1.0, 0.0]]))
    array([[15., 20.]])
    """

    center: Any
    unit: float
    scale: float = 1.0

    @classmethod
    def centered(cls, points: np.ndarray) -> Frame:
        """The mean of some points, with their largest coordinate as unit.

        Parameters
        ----------
        points : ndarray of shape (k, m)
            Finite; k is at least 1.
        """
        scale = Unit.largest(points).size
        return cls((points / scale).mean(axis=0), 1.0, scale)

    @classmethod
    def around(cls, points: np.ndarray) -> Frame:
        """The mean of some points, with the largest deviation of a coordinate from it as unit."""
        frame = cls.centered(points)
        return replace(frame, unit=Unit.largest(frame.inside(points)).size)

    @classmethod
    def by_powers_of_two(cls, points: np.ndarray) -> Frame:
        """Frame with the mean as center and the radius as unit, in powers of 2.

        `unit` and `scale` are rounded to powers of 2. Then only the subtraction of the center has a
        rounding error.
        """
        scale = _nearest_power_of_two(Unit.largest(points).size)
        center = (points / scale).mean(axis=0)
        radius = np.sqrt(np.square(points / scale - center).sum(axis=1).max())
        return cls(center, _nearest_power_of_two(float(radius)), scale)

    @property
    def length(self) -> float:
        """The length that becomes 1."""
        return self.scale * self.unit

    @property
    def origin(self) -> Any:
        """The coordinates that become 0."""
        return self.scale * self.center

    def inside(self, X: Any) -> Any:
        """Convert coordinates X to this frame."""
        return (X / self.scale - self.center) / self.unit

    def outside(self, Z: Any) -> Any:
        """Convert coordinates Z of this frame back."""
        return self.origin + self.length * Z


def _nearest_power_of_two(x: float) -> float:
    """The power of 2 nearest to x on a logarithmic scale; 1 for 0."""
    return float(2.0 ** np.clip(np.round(np.log2(x)), -1000, 1000)) if x > 0.0 else 1.0
