"""An objective in rescaled variables, which make the problem better conditioned.

For X = offset + scale * Z, the gradient in Z is scale times the gradient in X. X is in the units of
the embedding. Z has the unit X / scale.
"""

from __future__ import annotations

import torch

from skmde.core.objectives.base import Objective


class Rescaled:
    """``E(offset + scale * Z) / unit`` as a function of Z.

    Parameters
    ----------
    objective : Objective
        The function E of X.
    offset : tensor of shape (n, m)
    scale : tensor of shape (n, 1)
        Positive.
    """

    def __init__(self, objective: Objective, offset: torch.Tensor, scale: torch.Tensor) -> None:
        self.backend = objective.backend
        self._objective, self._offset, self._scale = objective, offset, scale
        self.unit = 1.0

    def from_original(self, X: torch.Tensor) -> torch.Tensor:
        """The variables Z of an embedding X."""
        return (X - self._offset) / self._scale

    def to_original(self, Z: torch.Tensor) -> torch.Tensor:
        """The embedding X of variables Z."""
        return self._offset + self._scale * Z

    def value_and_gradient(self, Z: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        """Value at `Z`, and the gradient with respect to `Z`."""
        value, gradient = self._objective.value_and_gradient(self.to_original(Z))
        return value / self.unit, gradient * (self._scale / self.unit)
