r"""A penalty whose core is replaced by a polynomial, so that it is smooth enough for a lattice.

Some penalties vary quickly, or are infinite, at short distances only. Such a penalty p is split at
a radius R:

    p(d) = soft(d) + core(d),    soft(d) = p(d) if d >= R, otherwise sum_k a_k (d^2 / R^2 - 1)^k.

The polynomial is the Taylor expansion of p as a function of d^2 at R^2. So the soft part has
several continuous derivatives at R, and varies on the length R. It is summed on a lattice of a few
nodes a radius. The core is 0 for d >= R. It is summed exactly, over the pairs closer than R.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from skmde.functions.base import Penalty


@dataclass(frozen=True)
class Softening:
    """The soft part of a penalty.

    Attributes
    ----------
    radius : float
    coefficients : tuple of float
        The numbers a_k.
    """

    radius: float
    coefficients: tuple[float, ...]

    @classmethod
    def of(cls, penalty: Penalty, radius: float, order: int) -> Softening:
        """The soft part with a polynomial of degree `order` in d^2."""
        # A solver runs under no_grad or inference_mode.
        with torch.inference_mode(False), torch.enable_grad():
            u = torch.ones(1, dtype=torch.float64, device="cpu", requires_grad=True)  # d^2 / R^2
            derivative = penalty.value(radius * u.sqrt())
            coefficients, factor = [derivative.item()], 1.0
            for k in range(1, order + 1):
                (derivative,) = torch.autograd.grad(derivative, u, create_graph=True)
                factor *= k
                coefficients.append(derivative.item() / factor)
        return cls(radius, tuple(coefficients))

    def values(self, squares: Any, values_of: Callable[[Any], Any]) -> Any:
        """The soft part at squared distances.

        Parameters
        ----------
        squares : array or tensor, float64
        values_of : callable
            Takes squared distances, and returns p.
        """
        square = self.radius**2
        polynomial, _ = self.polynomial(squares.clip(max=square))
        # Outside, the polynomial is p(R).
        return polynomial + (values_of(squares.clip(min=square)) - self.coefficients[0])

    def polynomial(self, squares: Any) -> tuple[Any, Any]:
        """The polynomial at squared distances, and its derivative divided by the distance."""
        y = squares / self.radius**2 - 1.0
        value, slope = y * 0.0, y * 0.0
        for a in reversed(self.coefficients):
            slope = slope * y + value
            value = value * y + a
        return value, slope * (2.0 / self.radius**2)


def softened_values(
    softening: Softening | None, values_of: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """The function of squared distances that a lattice sums."""
    if softening is None:
        return values_of
    return lambda squares: softening.values(squares, values_of)
