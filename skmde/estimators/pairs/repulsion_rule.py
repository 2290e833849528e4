"""Which pairs of a neighbour embedding repel, how strongly, and under which penalties.

Estimators have four parameters: `repulsion`, `repulsive_weight`, `repulsive_fraction` and the
penalties. Each may be left to the rule here. ``doc/maps.rst`` shows the maps and figures that
the rule was chosen by.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skmde.functions.base import Penalty
from skmde.functions.logarithms import Log, Log1p
from skmde.functions.powers import Cauchy
from skmde.functions.registry import resolve_penalty
from skmde.functions.repulsive import check_repulsive

# Data whose dimension is that of the embedding keep their shape if repulsion is this weak. The
# weight grows to 1 over this many further dimensions.
_WEAKEST, _RAMP = 0.005, 0.6
# Least total weight of the pairs of an item that repel, for each component. With less, the
# attraction of neighbours draws few samples together to one point. More components need more,
# because a neighbour graph of more dimensions is tied more closely.
_LEAST_TOTAL = 2.5


class RepulsionRule(NamedTuple):
    """The repulsion of a neighbour embedding, with all choices made but the weight.

    Attributes
    ----------
    kind : {"all", "normalized", "sampled", "none"}
    attractive : Penalty
    repulsive : Penalty or None
        None for the kind "none".
    weight : float or None
        Weight of a pair that repels; None leaves it to the data, see `weight_for`.
    fraction : float
        Number of repulsive pairs for each attractive one, for the kind "sampled".
    """

    kind: str
    attractive: Penalty
    repulsive: Penalty | None
    weight: float | None
    fraction: float

    @property
    def penalties(self) -> tuple[Penalty, Penalty | None]:
        return self.attractive, self.repulsive

    @property
    def sums_all(self) -> bool:
        """Whether all pairs repel."""
        return self.kind in ("all", "normalized")

    def weight_for(self, dimension: float, n_components: int, n_samples: int) -> float:
        """The weight, for data of an intrinsic dimension."""
        if self.weight is not None:
            return self.weight
        if self.kind != "all" or np.isnan(dimension):
            return 1.0
        excess = np.clip((dimension - n_components) / _RAMP, 0.0, 1.0)
        weakest = min(1.0, max(_WEAKEST, _LEAST_TOTAL * n_components / n_samples))
        return float(weakest ** (1.0 - excess))


def repulsion_rule(
    repulsion: str,
    attractive: Any,
    repulsive: Any,
    weight: float | None,
    fraction: float | None,
    *,
    n_components: int,
    fixes_unit: bool,
) -> RepulsionRule:
    """Resolve the parameters of an estimator.

    Parameters
    ----------
    repulsion : {"auto", "all", "normalized", "sampled"}
    attractive, repulsive : str, Penalty, callable or None
        "auto" chooses the penalties that belong to the kind of repulsion. None as the repulsive
        penalty means that no pairs repel.
    weight, fraction : float or None
    n_components : int
    fixes_unit : bool
        Whether the constraint fixes the unit of the embedding.

    Raises
    ------
    ValueError
        If the parameters contradict each other.
    """
    given = None if repulsive is None or _is_auto(repulsive) else resolve_penalty(repulsive)
    kind = repulsion
    if repulsive is None:
        kind = "none"
    elif kind == "auto":
        smooth = given is None or given.smooth_length is not None
        plain = fraction is None and not fixes_unit and n_components <= 3
        kind = "all" if plain and smooth else "sampled"
    sums_all = kind in ("all", "normalized")
    if sums_all and fraction is not None:
        raise ValueError(
            f"repulsive_fraction={fraction!r} is the number of sampled repulsive pairs, but with "
            f"repulsion={repulsion!r} all pairs repel. Leave repulsive_fraction at None, or set "
            "repulsion='sampled'."
        )
    if kind == "none":
        repel = None
    else:
        repel = given or (Cauchy() if sums_all else Log())
        check_repulsive(repel, kind)
    if _is_auto(attractive):
        attract: Penalty = Log1p(2.0) if sums_all else Log1p()
    else:
        attract = resolve_penalty(attractive)
    if fraction is None:
        fraction = 0.5 if fixes_unit else 1.0
    return RepulsionRule(kind, attract, repel, weight, fraction)


def _is_auto(penalty: Any) -> bool:
    return isinstance(penalty, str) and penalty == "auto"
