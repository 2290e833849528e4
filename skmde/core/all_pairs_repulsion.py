"""The repulsion of all pairs of items as a part of a problem: its parameters, objective and solver.

``objectives/repulsion.py`` has the equations. Lengths are in the units of the embedding.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from skmde._utils.validation import check_not_masked
from skmde.constraints import Constraint
from skmde.core.kernels.backend import Backend
from skmde.core.objectives.attraction_repulsion import AttractionRepulsion
from skmde.core.objectives.base import Term
from skmde.core.objectives.repulsion import (
    NormalizedRepulsion,
    Repulsion,
    RepulsiveTerm,
    energy_sums,
)
from skmde.core.solvers.base import Solver
from skmde.core.solvers.in_turn import InTurn
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.rising_repulsion import RisingRepulsion
from skmde.functions.base import Penalty
from skmde.functions.registry import resolve_penalty
from skmde.functions.repulsive import check_repulsive

KINDS = ("all", "normalized")
ACCURACIES = ("fast", "precise")

# Longest step of an item, relative to the unit of the penalties: longer steps of the quasi-Newton
# method throw items far out.
_MAX_STEP = 2.0
# After the warm start, parts of the map that hardly any pair joins drift apart without end, and
# items that cannot follow such long moves are lost on the way. So most moves are short.
_USUAL_STEP = 0.1
_LAST = 40  # iterations, at least, that are left to L-BFGS
_MIN_DECREASE = 1e-4  # of the value, at which a solve stops


@dataclass(frozen=True)
class AllPairsRepulsion:
    """The repulsion of all pairs of items.

    Parameters
    ----------
    kind : {"all", "normalized"}
    penalty : Penalty
        One that the backend supports.
    weight : float
        Weight rho.
    item_weights : torch.Tensor of shape (n_items,) or None
        Factors of the items; None means 1.
    accuracy : {"fast", "precise"}
        Accuracy of the sums over many items.
    """

    kind: str
    penalty: Penalty
    weight: float = 1.0
    item_weights: torch.Tensor | None = None
    accuracy: str = "fast"

    @classmethod
    def checked(
        cls,
        kind: Any,
        distortion: Any,
        weight: Any,
        item_weights: Any,
        accuracy: Any,
        n_items: int,
        device: torch.device,
    ) -> AllPairsRepulsion | None:
        """The repulsion for the parameters of :class:`skmde.MDE`; None if `kind` is None.

        Raises
        ------
        ValueError
            If a parameter is invalid.
        """
        if accuracy not in ACCURACIES:
            raise ValueError(f"accuracy must be 'fast' or 'precise'; got {accuracy!r}.")
        is_real = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
        number = float(weight) if is_real else math.nan
        if not 0 <= number < math.inf:
            raise ValueError(
                f"repulsive_weight must be a finite number, at least 0; got {weight!r}."
            )
        weights = _checked_item_weights(item_weights, n_items, device)
        if kind is None:
            return None
        if kind not in KINDS:
            raise ValueError(f"repulsion must be 'all', 'normalized' or None; got {kind!r}.")
        if not isinstance(distortion, tuple) or distortion[1] is None:
            raise ValueError(
                f"repulsion={kind!r} needs a pair (attractive, repulsive) of penalties; got "
                f"{distortion!r}."
            )
        penalty = resolve_penalty(distortion[1])
        check_repulsive(penalty, kind)
        return cls(kind, penalty, number, weights, accuracy)

    def to(self, device: torch.device) -> AllPairsRepulsion:
        """The same repulsion on another device."""
        moved = None if self.item_weights is None else self.item_weights.to(device)
        return replace(self, item_weights=moved)

    def term(
        self,
        n_items: int,
        n_components: int,
        n_pairs: int,
        mean_weight: float,
        *,
        dtype: torch.dtype,
        backend: Backend,
    ) -> RepulsiveTerm:
        """The term of an objective whose attraction is a mean over `n_pairs` pairs.

        Parameters
        ----------
        n_items, n_components : int
            Shape of the embedding.
        n_pairs : int
        mean_weight : float
            Sum of the weights of attractive pairs, divided by `n_pairs`.
        dtype : torch.dtype
            Of the embedding.
        backend : Backend
        """
        sums = energy_sums(
            self.penalty,
            self.item_weights,
            n_items,
            n_components,
            dtype=dtype,
            backend=backend,
            accuracy=self.accuracy,
        )
        if self.kind == "normalized":
            return NormalizedRepulsion(sums, self.weight * mean_weight)
        return Repulsion(sums, self.weight / n_pairs)

    def objective(
        self,
        pairs: Term,
        weights: torch.Tensor,
        n_items: int,
        n_components: int,
        *,
        dtype: torch.dtype,
        backend: Backend,
    ) -> AttractionRepulsion:
        """The objective of a term of pairs, whose weights are given, and this repulsion."""
        n_pairs = len(weights)
        attract = weights.clamp(min=0).double()
        mean_weight = float(attract.sum()) / n_pairs
        shape = n_items, n_components, n_pairs, mean_weight
        repulsion = self.term(*shape, dtype=dtype, backend=backend)
        if not mean_weight:  # the unit of the weights is then that of the pairs that repel
            attract = weights.abs().double()
            mean_weight = float(attract.sum()) / n_pairs
        light = _light(attract)
        by_item = self.item_weights
        item_weight = 1.0 if by_item is None else float(by_item.double().mean())
        return AttractionRepulsion(
            pairs, repulsion, n_pairs, mean_weight, backend, light, item_weight
        )

    def solver(self, lbfgs: LBFGS, constraint: Constraint) -> Solver:
        """L-BFGS with the settings for repulsion of all pairs, after a warm start.

        A constraint that fixes the unit of the embedding leaves no room for a warm start. Nor does
        a penalty that is not smooth at distance 0: the warm start carries items past each other,
        and a barrier would throw these far out.
        """
        if self.penalty.smooth_length is None:
            # The logarithm is flat where all items are far apart, so nothing would bound a step.
            return replace(lbfgs, max_step=_MAX_STEP if self.kind == "normalized" else None)
        max_iter, every = lbfgs.max_iter, lbfgs.snapshot_every
        alone = replace(lbfgs, max_step=_MAX_STEP, min_decrease=_MIN_DECREASE)
        if constraint.fixes_unit:
            return alone
        first = RisingRepulsion(lbfgs.tol, scale=lbfgs.scale)
        n_first = min(first.max_iter, 2 * max_iter // 3)
        n_more = max(0, min(first.max_more, max_iter - n_first - _LAST))
        alone = replace(alone, snapshot_every=None)
        # The normalized objective may have no minimum, which long moves reveal.
        last = replace(alone, usual_step=_USUAL_STEP) if self.kind == "all" else alone
        return InTurn(
            (replace(first, max_iter=n_first, max_more=n_more), last), max_iter, every, alone
        )


def _light(weights: torch.Tensor) -> float:
    """Weight that a tenth of the attractive pairs do not exceed; 1 if no pair attracts.

    It is 1 for a graph of neighbours, whose pairs have the weights 1 and 2.
    """
    attract = weights[weights > 0].cpu().numpy()
    if attract.size == 0:
        return 1.0
    rank = attract.size // 10
    return float(np.partition(attract, rank)[rank])


def _checked_item_weights(
    item_weights: Any, n_items: int, device: torch.device
) -> torch.Tensor | None:
    if item_weights is None:
        return None
    check_not_masked(item_weights, "item_weights", "give every item a weight")
    weights = np.asarray(item_weights)
    if weights.shape != (n_items,) or weights.dtype.kind not in "fiub":
        raise ValueError(
            f"item_weights must hold a number for each of the {n_items} items; got an array of "
            f"shape {weights.shape} and dtype {weights.dtype}."
        )
    weights = weights.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(
            f"item_weights must be finite and at least 0; got {weights[bad[0]]} for item {bad[0]}."
        )
    return torch.tensor(weights, device=device)
