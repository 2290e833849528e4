"""The unit of an objective, in which a solver measures gradients and its first step.

Let an objective E(X) have values of about `value` and embeddings of about `length`. Then
e(Z) = E(length Z) / value has no unit, and neither have its gradient, a tolerance for that
gradient, and a step of length 1. For a factor c, the objective c E has the unit c `value`, so a
solver makes the same steps for both and stops at the same iterate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Typical value of an objective, and typical length of an embedding.

    Attributes
    ----------
    value, length : float, default=1.0
        Positive; in the units of the objective and of the embedding.
    stiffness : float, optional
        Typical second derivative, from which the first step follows; None means
        ``value / length**2``.
    negligible : float, default=inf
        Value of an embedding that is as good as exact, in the units of the objective; infinite if
        values do not tell how good an embedding is.
    """

    value: float = 1.0
    length: float = 1.0
    stiffness: float | None = None
    negligible: float = math.inf

    @property
    def gradient(self) -> float:
        """The unit of the gradient."""
        return self.value / self.length

    @property
    def step(self) -> float:
        """Factor from the gradient to the first step."""
        if self.stiffness is not None:
            return 1.0 / self.stiffness
        return self.length / self.gradient
