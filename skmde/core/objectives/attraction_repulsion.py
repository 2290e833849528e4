r"""An objective of two terms: pairs that attract each other, and the repulsion of all pairs.

    E(X) = (1/p) [ sum_{(i, j)} w_ij p(d_ij) + repulsion ]

The sum runs over the p pairs of the list. ``repulsion.py`` has the second term.
"""

from __future__ import annotations

import torch

from skmde.core.kernels.backend import Backend, Value
from skmde.core.objectives.base import Term
from skmde.core.objectives.repulsion import RepulsiveTerm
from skmde.core.objectives.total import Total


class AttractionRepulsion(Total):
    """Attraction and repulsion.

    Parameters
    ----------
    attraction : Term
        The average distortion of the pairs of the list.
    repulsion : RepulsiveTerm
        The repulsion of all pairs.
    n_pairs : int
        Length p of the list.
    mean_weight : float
        Sum of the positive weights of the list, divided by p.
    backend : Backend
    light : float, default=1.0
        Weight of a light attractive pair, the unit of the weights of the list.
    item_weight : float, default=1.0
        Mean factor of an item in the repulsion.
    """

    def __init__(
        self,
        attraction: Term,
        repulsion: RepulsiveTerm,
        n_pairs: int,
        mean_weight: float,
        backend: Backend,
        light: float = 1.0,
        item_weight: float = 1.0,
    ) -> None:
        super().__init__([attraction, repulsion], backend)
        self.attraction, self.repulsion = attraction, repulsion
        self.n_pairs, self.mean_weight = n_pairs, mean_weight
        self.light, self.item_weight = light, item_weight

    def parts(self, X: torch.Tensor) -> tuple[Value, torch.Tensor, Value, torch.Tensor]:
        """Attraction, its gradient, energy of the repulsion, and the gradient of the energy."""
        return *self.attraction.value_and_gradient(X), *self.repulsion.energy(X)
