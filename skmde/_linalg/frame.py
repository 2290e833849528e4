"""Changes of unit: coordinates relative to a center, in multiples of a unit length.

A solver works on numbers of about size 1 near the origin, whatever the unit and the offset of the
coordinates that it is given. A `Frame` says how the two are related. Every change of center and
unit of an embedding goes through it, forth (`inside`) and back (`outside`). Rows of data have a
frame of their own, :class:`~skmde._linalg.scaling.Scaling`. Lengths alone are divided by a unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


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
        scale = float(np.abs(points).max()) or 1.0
        return cls((points / scale).mean(axis=0), 1.0, scale)

    @classmethod
    def around(cls, points: np.ndarray) -> Frame:
        """The mean of some points, with the largest deviation of a coordinate from it as unit."""
        frame = cls.centered(points)
        return replace(frame, unit=float(np.abs(frame.inside(points)).max()) or 1.0)

    @classmethod
    def by_powers_of_two(cls, points: np.ndarray) -> Frame:
        """Frame with the mean as center and the radius as unit, in powers of 2.

        `unit` and `scale` are rounded to powers of 2. Then only the subtraction of the center has a
        rounding error.
        """
        scale = _nearest_power_of_two(float(np.abs(points).max()))
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
    return float(2.0 ** np.clip(np.round(np.log2(x)), -1000, 1000)) if x > 0.0 else 1.0
