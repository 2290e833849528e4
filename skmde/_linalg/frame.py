"""Changes of unit: coordinates relative to a center, in multiples of a unit length.

A solver works on coordinates of order one near the origin, whatever the unit and the offset of its
input. A `Frame` converts coordinates to this form (`inside`) and back (`outside`). Every change of
unit of an embedding uses a `Frame`.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    def around(cls, points: np.ndarray) -> Frame:
        """Frame with the mean of the points as center and the largest deviation as unit.

        Parameters
        ----------
        points : ndarray of shape (k, m)
            Finite; k is at least 1.
        """
        scale = float(np.abs(points).max()) or 1.0
        scaled = points / scale
        center = scaled.mean(axis=0)
        return cls(center, float(np.abs(scaled - center).max()) or 1.0, scale)

    @classmethod
    def by_powers_of_two(cls, points: np.ndarray) -> Frame:
        """Frame with the mean as center and the radius as unit, in powers of 2.

        `unit` and `scale` are rounded to powers of 2. Then only the subtraction of the center has a
        rounding error.
        """
        scale = _power_of_two(float(np.abs(points).max()))
        center = (points / scale).mean(axis=0)
        radius = np.sqrt(np.square(points / scale - center).sum(axis=1).max())
        return cls(center, _power_of_two(float(radius)), scale)

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


def _power_of_two(x: float) -> float:
    return float(2.0 ** np.clip(np.round(np.log2(x)), -1000, 1000)) if x > 0.0 else 1.0
