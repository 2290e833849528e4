r"""Repulsion that is so steep at close range that a few pairs hold nearly all of the force.

A pair repels with the force p'(d), and p' ~ d^-q near d = 0. In m dimensions, the distances of
random pairs have a density proportional to d^(m-1) there. So the mean square of their forces is the
integral of p'(d)^2 d^(m-1), which diverges at 0 if 2 q > m. Such a penalty is *stiff*: the few
closest pairs hold nearly the whole gradient and curvature. A quasi-Newton method then spends its
iterations on these pairs and throws single items far out, while the rest of the map hardly moves.
In the plane, ``InversePower`` is stiff (q = 1 + exponent), and the penalties that are logarithmic
near 0 are not (q = 1). On a line, these are stiff as well.

The remedy is a start of the right size, since the forces of close pairs fall with the scale of the
embedding. `balancing_scale` finds the scale at which attraction and repulsion balance. Distances
are in the units of the embedding.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from skmde.functions.base import Penalty

# Distances between which the growth of the force is measured; above the floor of the barriers.
_NEAR, _FAR = 1e-3, 1e-2
# A penalty may reach its rate q only in the limit.
_MARGIN = 0.1
# Share of the pairs that repel, the closest ones, that do not count for the scale. Otherwise the
# single closest pair would decide it.
_CLOSEST = 0.05
_MAX_PAIRS = 50_000  # pairs of each kind that are looked at
# Excess over the least distortion, relative to that and to the excess of the start.
_REST = 0.01
_SCALES = np.geomspace(1.0, 1e4, 100)


def is_stiff(penalty: Penalty, n_components: int) -> bool:
    """Whether the mean square of the forces of random pairs diverges at distance 0."""
    d = torch.tensor([_NEAR, _FAR])
    near, far = (penalty.slope(d) * d).abs().tolist()
    if not 0 < far <= near < math.inf:
        return False
    rate = math.log(near / far) / math.log(_FAR / _NEAR)
    return 2 * rate > n_components + _MARGIN


@torch.no_grad()
def balancing_scale(
    X: np.ndarray,
    edges: np.ndarray,
    weights: np.ndarray,
    penalties: tuple[Penalty, Penalty],
    repulsion: str | None = None,
    repulsive_weight: float = 1.0,
) -> float:
    """The factor of X, at least 1, at which attraction and repulsion balance.

    It is the smallest factor with nearly the least distortion that a factor can give. The closest
    pairs are left out of this distortion.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Starting point.
    edges : ndarray of shape (p, 2), int
        Pairs.
    weights : ndarray of shape (p,)
        Negative for pairs that repel.
    penalties : pair of Penalty
        Attractive and repulsive.
    repulsion, repulsive_weight
        Repulsion of all pairs; see :class:`skmde.MDE`.

    Returns
    -------
    scale : float
        1 if no pair attracts or no pair repels.
    """
    attract, repel = penalties
    pulls, pull_weights = _some(edges, weights, weights > 0)
    pushes, push_weights = _some(edges, weights, weights < 0)
    closeness, others = _distances(X, pulls), _without_closest(_distances(X, pushes))
    every, n_pairs = torch.zeros(0), len(X) * (len(X) - 1) / 2
    if repulsion is not None and repulsive_weight > 0:
        # By rank of the coordinates, so that the order of the items does not matter.
        ranked = X[np.lexsort(X.T[::-1])]
        drawn = np.random.default_rng(0).integers(len(X), size=(2, _MAX_PAIRS))
        drawn = drawn[:, drawn[0] != drawn[1]].T
        every = _without_closest(_distances(ranked, drawn))
    if len(pulls) == 0 or len(others) + len(every) == 0:
        return 1.0
    total = float(weights[weights > 0].sum())

    def distortion(scale: float) -> float:
        value = float((pull_weights * attract.value(scale * closeness)).sum())
        if len(others):
            value += float(push_weights.sum() * repel.value(scale * others).double().mean())
        if len(every):
            energy = -n_pairs * float(repel.value(scale * every).double().mean())
            if repulsion == "normalized":
                energy = total * math.log(2 * energy) if energy > 0 else math.nan
            value += repulsive_weight * energy
        return value

    values = np.array([distortion(scale) for scale in _SCALES])
    if not np.isfinite(values).all():
        return 1.0
    # A distortion may tend to a limit from above, so the smallest value may be at infinity.
    least = values.min()
    limit = least + _REST * min(values[0] - least, abs(least))
    return float(_SCALES[np.argmax(values <= limit)])


def _some(
    edges: np.ndarray, weights: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, torch.Tensor]:
    """At most `_MAX_PAIRS` of the chosen edges, with weights that have the sum of all."""
    indices = np.flatnonzero(chosen)
    indices = indices[:: -(-len(indices) // _MAX_PAIRS) or 1]
    own = weights[indices].astype(np.float64)
    total = float(weights[chosen].sum(dtype=np.float64))
    return edges[indices], torch.from_numpy(own * (total / (own.sum() or 1.0)))


def _distances(X: np.ndarray, pairs: np.ndarray) -> torch.Tensor:
    """Embedding distances of pairs, float32, as the parameters of a user's module are."""
    i, j = pairs.T
    return torch.from_numpy(np.linalg.norm(X[i] - X[j], axis=1).astype(np.float32))


def _without_closest(d: torch.Tensor) -> torch.Tensor:
    """Distances, without the share `_CLOSEST` of the smallest ones."""
    return torch.sort(d).values[int(_CLOSEST * len(d)) :]
