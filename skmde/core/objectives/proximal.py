"""A pull towards given coordinates: the proximal term of the stochastic method.

    q(X) = (s / 2) ||X - Z||_F^2,        grad q(X) = s (X - Z)

(monograph, section 6.2). X and Z are in the units of the embedding, the stiffness s in those of the
objective over their square.
"""

from __future__ import annotations

import torch

from skmde._linalg.reductions import add_multiple, dot


class Proximal:
    """The term ``(stiffness / 2) ||X - center||^2`` of an objective.

    Parameters
    ----------
    center : torch.Tensor of shape (n_items, n_components)
        The embedding Z that the term pulls to.
    stiffness : float
        At least 0.
    """

    def __init__(self, center: torch.Tensor, stiffness: float) -> None:
        self.center = center
        self.stiffness = stiffness

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        """Value and gradient at `X`."""
        moved = add_multiple(X.contiguous(), self.center, -1.0)
        return (0.5 * self.stiffness) * dot(moved, moved), self.stiffness * moved
