"""Which pairs of a neighbour embedding repel, how strongly, and under which penalties.

Estimators have four parameters: `repulsion`, `repulsive_weight`, `repulsive_fraction` and the
penalties. Each may be left to the rule here. ``doc/maps.rst`` shows the maps and figures that
the rule was chosen by.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from skmde.functions.base import Penalty
from skmde.functions.logarithms import Log, Log1p
from skmde.functions.powers import Cauchy
from skmde.functions.registry import resolve_penalty
from skmde.functions.repulsive import check_attractive, check_repulsive
from skmde.functions.thresholds import Huber

# Data whose intrinsic dimension exceeds that of the embedding by less than _FLAT fit into it. Noise
# adds to the dimension of such data; up to _NOISY, path lengths still tell their shape.
_FLAT, _NOISY = 0.5, 1.0
# Least weight of a pair of such data that repels. In a map whose attraction and repulsion balance,
# the square of the length of an edge is about the weight times n_samples / n_neighbors. Edges are
# to be longer than the threshold of the attraction: shorter ones are springs, which draw the short
# side of an elongated shape together more than its long side, up to a line. A larger weight tears
# many samples with noise apart. Figures are from 20 shapes of 30 to 20,000 samples.
_FLAT_WEIGHT = 0.05
_WEIGHT_OF_NEIGHBORS = 30.0


class RepulsionRule(NamedTuple):
    """The repulsion of a neighbour embedding; `for_data` makes the choices that the data decide.

    Attributes
    ----------
    kind : {"all", "normalized", "sampled", "far", "given", "none"}
    attractive : Penalty or None
        None leaves it to the data.
    repulsive : Penalty or None
        None for the kind "none".
    weight : float or None
        Weight of a pair that repels; None leaves it to the data.
    fraction : float
        Number of repulsive pairs for each attractive one, for the kinds "sampled" and "far".
    is_flat : bool
        Whether the data are known to fit into the embedding.
    is_nearly_flat : bool
        Whether they are, or would be but for noise.
    """

    kind: str
    attractive: Penalty | None
    repulsive: Penalty | None
    weight: float | None
    fraction: float
    is_flat: bool = False
    is_nearly_flat: bool = False

    @property
    def penalties(self) -> tuple[Penalty | None, Penalty | None]:
        return self.attractive, self.repulsive

    @property
    def sums_all(self) -> bool:
        """Whether all pairs repel."""
        return self.kind in ("all", "normalized")

    @property
    def for_extension(self) -> RepulsionRule:
        """The rule for further samples, which have no given or far pairs: pairs are sampled."""
        return self._replace(kind="sampled") if self.kind in ("far", "given") else self

    def for_data(
        self, dimension: float, n_components: int, n_samples: int, n_neighbors: int
    ) -> RepulsionRule:
        """The rule with all choices made, for data of an intrinsic dimension.

        The attraction ``Log1p(2.0)`` fades with the distance. So repulsion can tear data apart,
        which pays off if they do not fit into the embedding. Data that fit are to stay whole: the
        pull of ``Huber(1.0)`` does not fade.

        Parameters
        ----------
        dimension : float
            NaN if it is unknown.
        n_components, n_samples, n_neighbors : int
        """
        excess = dimension - n_components
        is_flat = self.kind == "all" and excess < _FLAT
        attractive, weight = self.attractive, self.weight
        if attractive is None:
            attractive = Huber(1.0) if is_flat else Log1p(2.0)
        if weight is None:
            least = max(_FLAT_WEIGHT, _WEIGHT_OF_NEIGHBORS * n_neighbors / n_samples)
            weight = min(1.0, least) if is_flat else 1.0
        nearly = self.sums_all and excess < _NOISY
        return self._replace(
            attractive=attractive, weight=weight, is_flat=is_flat, is_nearly_flat=nearly
        )


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
    repulsion : {"auto", "all", "normalized", "sampled", "far", "given"}
    attractive, repulsive : str, Penalty, callable or None
        "auto" chooses the penalties that belong to the kind of repulsion and to the data. None as
        the repulsive penalty means that no pairs repel.
    weight, fraction : float or None
    n_components : int
    fixes_unit : bool
        Whether the constraint fixes the unit of the embedding.

    Raises
    ------
    ValueError
        If the parameters contradict each other, or a penalty does not attract or repel.
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
    if kind == "given" and fraction is not None:
        raise ValueError(
            f"repulsive_fraction={fraction!r} is the number of sampled repulsive pairs, but with "
            "repulsion='given' only dissimilar_pairs repel. Leave repulsive_fraction at None."
        )
    if kind == "none":
        repel = None
    else:
        repel = given or (Cauchy() if sums_all else Log())
        check_repulsive(repel, kind)
    attract = None if _is_auto(attractive) else resolve_penalty(attractive)
    if attract is not None:
        check_attractive(attract)
    elif not sums_all:
        attract = Log1p()
    if fraction is None:
        fraction = 0.5 if fixes_unit else 1.0
    return RepulsionRule(kind, attract, repel, weight, fraction)


def _is_auto(penalty: Any) -> bool:
    return isinstance(penalty, str) and penalty == "auto"
