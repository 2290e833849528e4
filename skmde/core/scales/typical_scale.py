r"""The unit of an average distortion: what the tolerance of a solver is relative to.

The unit must follow every factor of the weights, of the functions, and of the original distances
with the functions' own lengths. It must not depend on a starting point, so that the tolerance means
the same for a good start and a bad one. Therefore it is taken from the pairs alone:

- Losses. The length is the root mean square of the original distances delta_k. The value is the
  mean of |w_k| |l(delta_k, 2 delta_k) - l(delta_k, delta_k)|: the average distortion of an
  embedding that is twice too large. For the squared loss it is the mean of |w_k| delta_k^2. A tight
  pair, whose stiffness 2 |l| / delta_k^2 is far above that of the others, counts at most as much as
  a mean other pair. It has variables of its own (``tight_groups.py``), in which its gradient is
  like that of the others. By its weight alone, a solve would end before the others moved. If the
  constraint fixes the unit and the delta_k are shorter than its distances, the factor that makes
  them as long replaces 2.
- Penalties. The length is 1, and the value is the mean of |w_k p'(1)|. A penalty fixes the size of
  an embedding by its own parameters, and for every built-in one they are of order 1 by default. A
  barrier, which is infinite at 1, names another distance.
- Both. The length is that of the losses, and the penalties count as |w_k p'(L)| L at this length L.

A few items with huge weights must not decide when the others are solved. So an item whose share of
the value is above 100 times the median item's counts as if it had that much.

Likewise, distances above 10 times the median count as if they had that length: the pairs of one
far outlier must not decide when the map of all others is solved. Where some pairs are tight, their
variables have that effect.

The value of a loss is negligible if it is at most that of an embedding whose distances are all too
large by 1e-4 (float32 resolves little more), or by 1e-10 if some pairs are tight. The value of a
penalty does not tell how good an embedding is, nor does a sum with penalties.

The first step of a solver needs no precise unit. It is one over the mean of |w_k|, times a power of
the length, where all functions are built in, so that it is 1 for weights of 1 in the unit length.

Weights and original distances are in the units of the embedding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from skmde._linalg.reductions import dot
from skmde.constraints import Constraint
from skmde.core.kernels.torch_reference import block_size, by_block
from skmde.core.objectives.edge_term import Edges
from skmde.core.objectives.total import Total
from skmde.core.solvers.scale import Scale
from skmde.functions.base import Loss, Penalty

# Pairs of one built-in function that are looked at. A callable may hold a parameter for each pair,
# so it gets all of its pairs.
_MOST = 100_000
# Relative error of the distances of an embedding that is as good as exact: without tight pairs, and
# with them. If one item is far, all others may be its tight pairs.
_EXACT = 1e-4, 1e-10
_LONG = 10.0  # longest distance in the unit, relative to the median one
_MOST_OF_AN_ITEM = 100.0  # largest share of an item in the unit, relative to the median item


@torch.no_grad()
def typical_scale(
    edges: Edges, constraint: Constraint, n_components: int, tight: float = math.inf
) -> Scale:
    """The unit of the average distortion of some pairs.

    Parameters
    ----------
    edges : EdgeList or AllPairs
    constraint : Constraint
        If it fixes the unit of the embedding, distances of about sqrt(2 m) count.
    n_components : int
        Dimension m of the embedding.
    tight : float, default=inf
        Stiffness from which a pair is tight.

    Returns
    -------
    scale : Scale
        If the functions give no positive finite number, the value is the mean of the |w_k|, or 1 if
        that is 0.
    """
    shortest = math.sqrt(2 * n_components) if constraint.fixes_unit else 0.0
    length, factor, exact = 1.0, 2.0, _EXACT[tight < math.inf]
    longest = _longest_usual_distance(edges) if tight == math.inf else math.inf
    if edges.deviations is not None:
        rms = _root_mean_square(edges, longest)
        length = max(rms, shortest)
        length = length if 0 < length < math.inf else 1.0
        factor = max(2.0, length / rms) if rms > 0 else 2.0
    value = weight = negligible = 0.0
    pairs, parts = [], []
    for segment in edges.segments:
        function = segment.function
        n = segment.stop - segment.start
        own = slice(segment.start, segment.stop, _stride(function, n))
        w = edges.weights[own]
        share = n / len(w)
        if isinstance(function, Penalty):
            grown = _pulls(function, w, length)
            negligible = math.inf
        else:
            assert edges.deviations is not None
            delta = edges.deviations[own].clamp(max=longest)
            grown = growth(function, w, delta, factor * delta)
            negligible += share * _total(growth(function, w, delta, (1 + exact) * delta))
            if tight < math.inf:
                span = (factor - 1) * delta.double()
                loose = ~(2 * grown.double().abs() >= tight * span**2)
                w, grown = _limited(w, loose), _limited(grown, loose)
        value += share * _total(grown)
        weight += share * _total(w)
        pairs.append(edges.pairs_at(np.arange(own.start, own.stop, own.step)))
        parts.append(share * grown.double().abs().cpu().numpy())
    value *= _part_of_usual_items(np.concatenate(pairs), np.concatenate(parts))
    means = [total / len(edges) for total in (value, weight)]
    return Scale(
        next((x for x in means if 0 < x < math.inf), 1.0),
        length,
        _stiffness([segment.function for segment in edges.segments], means[1], length),
        math.inf if edges.deviations is None else negligible / len(edges),
    )


def _stiffness(
    functions: Sequence[Penalty | Loss], mean_weight: float, length: float
) -> float | None:
    """Mean weight times a power of the length; None unless all functions give the power."""
    powers = [
        0.0 if isinstance(function, Penalty) else None if degree is None else degree - 2
        for function in functions
        for degree in [function.degree]
    ]
    built_in = all(function.kernel_parameters() is not None for function in functions)
    if not built_in or powers[0] is None or len(set(powers)) > 1:
        return None
    stiffness = mean_weight * length ** powers[0]
    return stiffness if 0 < stiffness < math.inf else None


def _longest_usual_distance(edges: Edges) -> float:
    """10 times the median original distance above 0, from a sample of the pairs."""
    if edges.deviations is None:
        return math.inf
    some = edges.deviations[:: -(-len(edges) // _MOST)]
    some = some[some > 0]
    return _LONG * float(some.median()) if len(some) else math.inf


def _root_mean_square(edges: Edges, longest: float) -> float:
    """Root mean square of the original distances, from the pairs that are looked at."""
    assert edges.deviations is not None
    squares = 0.0
    n_known = 0
    for segment in edges.segments:
        if isinstance(segment.function, Penalty):
            continue
        n = segment.stop - segment.start
        delta = edges.deviations[segment.start : segment.stop : _stride(segment.function, n)]
        delta = delta.clamp(max=longest)
        squares += n / len(delta) * float(dot(delta.double(), delta.double()))
        n_known += n
    return math.sqrt(squares / n_known)


def _stride(function: Penalty | Loss, n: int) -> int:
    return 1 if function.kernel_parameters() is None else -(-n // _MOST)


def unit_of_attraction(average: Total, X: torch.Tensor, penalty: Penalty) -> float:
    """Unit of the average distortion of pairs that attract each other, at an embedding.

    A penalty that is not homogeneous may have an offset p(0), which is not distortion.

    Parameters
    ----------
    average : Total
    X : torch.Tensor of shape (n_items, n_components)
        Coordinates, with the origin amid the anchors.
    penalty : Penalty

    Returns
    -------
    unit : float
        1 if the distortion has no usable number.
    """
    total, gradient = average.value_and_gradient(X)
    value = float(total)
    if penalty.degree is None:
        # The sum of w p'(d) d has no offset and no cancellation, but for a penalty like a logarithm
        # it is much smaller than the distortion.
        least, _ = average.value_and_gradient(torch.zeros_like(X))
        value = max(float(dot(gradient, X)) / 4, value - float(least))
    return value if 0 < value < math.inf else 1.0


def _part_of_usual_items(pairs: np.ndarray, values: np.ndarray) -> float:
    """Factor by which a sum over pairs shrinks if no item has much more of it than the median."""
    by_item = np.bincount(pairs.ravel(), np.repeat(values, 2))
    total = by_item.sum()
    if not 0 < total < math.inf:
        return 1.0
    limited = by_item.clip(max=_MOST_OF_AN_ITEM * np.median(by_item[by_item > 0]))
    return float(limited.sum() / total)


def _limited(x: torch.Tensor, loose: torch.Tensor) -> torch.Tensor:
    """Absolute values; those of tight pairs are at most the mean of the loose ones."""
    x = x.double().abs()
    limit = x[loose].mean() if bool(loose.any()) else math.inf
    return torch.where(loose, x, x.clamp(max=limit))


def _total(x: torch.Tensor) -> float:
    x = x.double()
    return float(dot(x.abs(), torch.ones_like(x)))


def _pulls(function: Penalty | Loss, w: torch.Tensor, length: float = 1.0) -> torch.Tensor:
    """Derivatives of weighted penalties at the usual distance, times the distance."""
    assert isinstance(function, Penalty)
    w = _exact(function, w)
    typical = function.typical_distance
    if isinstance(typical, torch.Tensor):
        d = typical.to(w)
    else:
        d = torch.full_like(w, length if typical == 1.0 else typical)
    block = block_size(function, w.device, len(w))
    pulls = d * by_block(lambda f, d, w, _: f.weighted_slope(d, w), function, d, w, None, block)
    return pulls if length == 1.0 else length * pulls


def pulls_at_typical_distance(
    function: Penalty | Loss, w: torch.Tensor, length: float = 1.0
) -> np.ndarray:
    """Derivatives of weighted penalties at the distance that is typical of them; float64.

    Parameters
    ----------
    function : Penalty
    w : torch.Tensor of shape (p,)
        Weights.
    length : float, default=1.0
        The unit of length, for penalties that name no distance of their own. The derivatives are
        multiplied by it.

    Returns
    -------
    pulls : ndarray of shape (p,)
    """
    pulls: np.ndarray = _pulls(function, w, length).double().cpu().numpy()
    return pulls


def growth(
    function: Penalty | Loss, w: torch.Tensor, delta: torch.Tensor, d: torch.Tensor
) -> torch.Tensor:
    """Growth of weighted losses from the distance delta to d; 0 where delta = 0.

    Parameters
    ----------
    function : Loss
    w, delta, d : torch.Tensor of shape (p,)
        Weights, original distances, and distances.

    Returns
    -------
    growth : torch.Tensor of shape (p,)
    """
    assert isinstance(function, Loss)
    used = delta > 0
    delta, d = (_exact(function, torch.where(used, x, 1.0)) for x in (delta, d))
    block = block_size(function, w.device, len(w))

    def values(d: torch.Tensor) -> torch.Tensor:
        return by_block(lambda f, d, _, delta: f.value(delta, d), function, d, w, delta, block)

    grown = values(d) - values(delta)
    return torch.where(used, w * grown, 0.0)


def _exact(function: Penalty | Loss, x: torch.Tensor) -> torch.Tensor:
    """Numbers in float64, but for functions of the user, whose parameters may be float32."""
    return x if function.kernel_parameters() is None else x.double()
