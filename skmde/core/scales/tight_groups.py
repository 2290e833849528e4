r"""Groups of items that short original distances hold together, and variables that suit them.

A loss of the relative error weighs a pair by about delta^-2. A pair at a distance of 1e-6 of the
map is then 1e12 times as stiff as the others: the steps that suit the pair hardly move its two
items, and the steps that suit the rest tear the pair apart. A solver stalls. So each tight group
moves as one item, and the offsets of its items from their mean get a unit of their own.

The *stiffness* of a pair is that of the parabola with the same growth from d = delta to 2 delta:

    k = 2 |w| |l(delta, 2 delta) - l(delta, delta)| / delta^2.

It is 2 w for the squared loss, and 2 w / delta^2 for the loss of Kamada and Kawai. A pair is tight
if its stiffness is far above all that holds an item otherwise: the loosest pairs times the number
of an item's pairs. It also has to hold its items if they are as far apart as those of other pairs,
so the same with a typical distance in place of 2 delta must be above the others. This leaves out
losses such as the absolute one, whose force on a pair is bounded: the other pairs can tear it.

Tight pairs are taken in levels of stiffness. The groups of a level are the connected components of
its pairs and of all tighter ones, so groups are nested.

Let P_l replace each item of a group of level l by the mean of the group; P_0 is the identity. The
variables are Z with X = C Z and

    C = sum_l S_l (P_l - P_{l+1}) + P_L,

where S_l holds one length for each group, by which all its offsets have the stiffness of the rest.
C is symmetric, keeps the mean of all items, and costs a few passes over the items of the groups. If
an item of a group is fixed, P_l replaces each item by the fixed one.

Penalties make a pair tight by its weight alone. Its length is then the distance d at which its pull
w p'(d) balances R, the pull of an item's other pairs at the typical distance, and its stiffness is
R / d. Only a few items count: if weights have a wide spectrum, no pairs stand out.

If some pairs are under losses and others under penalties, or under several losses, then the pairs
under penalties add their pull, at the typical distance, to what holds an item otherwise.

X is in the units of the embedding; so is Z, but for the offsets in tight groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import torch

from skmde._linalg.components import component_labels
from skmde._linalg.scaling import root_mean_square
from skmde.core.objectives.edge_term import Edges
from skmde.core.objectives.edges import known_deviations
from skmde.core.scales.typical_scale import growth, pulls_at_typical_distance
from skmde.functions.base import Loss, Penalty

_TIGHT = 100.0  # stiffness of a tight pair, relative to all that holds an item otherwise
_LEVEL = 1e3  # ratio of the stiffnesses of two levels
_MOST_LEVELS = 8
_SAMPLE = 100_000  # pairs from which the stiffness of the loosest ones is estimated
_MOST_ITEMS = 0.1  # share of the items that huge weights of penalties hold together
_BLOCK = 1 << 20  # pairs that are looked at in one pass
_LARGE = 1e300  # stiffness that stands for an infinite one
_SHORTEST = 1e-14  # unit of offsets, relative to an embedding; float64 resolves no shorter ones


@dataclass(frozen=True)
class Level:
    """The groups of one level of stiffness.

    Attributes
    ----------
    items : torch.Tensor of shape (k,), int64
        The free items of all groups, one group after the other.
    groups : torch.Tensor of shape (k,), int64
        The group of each of these items.
    offsets : torch.Tensor of shape (n_groups + 1,), int64
        The start of each group in `items`.
    lengths, sizes, reaches : torch.Tensor of shape (n_groups, 1), float64
        The unit of the offsets from the group's mean, a typical size of them, and a size that they
        cannot have in a good embedding.
    fixed : torch.Tensor of shape (n_groups, 1), int64
        A fixed item of the group, or -1.
    """

    items: torch.Tensor
    groups: torch.Tensor
    offsets: torch.Tensor
    lengths: torch.Tensor
    sizes: torch.Tensor
    reaches: torch.Tensor
    fixed: torch.Tensor

    def to(self, device: torch.device) -> Level:
        """The same groups on another device."""
        return Level(*(getattr(self, field.name).to(device) for field in fields(self)))

    def centers(self, X: torch.Tensor) -> torch.Tensor:
        """For each of the items, the mean or the fixed item of its group."""
        means = self._means(X[self.items])
        return torch.where(self.fixed < 0, means, X[self.fixed[:, 0]])[self.groups]

    def contraction(self, offsets: torch.Tensor) -> torch.Tensor:
        """Factors of the items' offsets that shrink groups which are torn apart; shape (k, 1)."""
        size = self._means((offsets**2).sum(dim=1, keepdim=True)).sqrt()
        factors = torch.where(size > self.reaches.to(size), self.sizes.to(size) / size, 1.0)
        return factors[self.groups]

    def _means(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.segment_reduce(rows, "mean", offsets=self.offsets, axis=0)


@dataclass(frozen=True)
class TightGroups:
    """Nested groups of items, and the map between embeddings and the solver's variables.

    Attributes
    ----------
    levels : tuple of Level
        From the tightest groups to the loosest.
    tight : float
        The stiffness from which a pair may be tight.
    """

    levels: tuple[Level, ...]
    tight: float

    def outside(self, Z: torch.Tensor) -> torch.Tensor:
        """C Z: the difference of two embeddings, or the variables' gradient, from Z.

        The gradient with respect to Z is C times that with respect to X.
        """
        return self._scaled(Z, lambda level, offsets: level.lengths.to(Z)[level.groups])

    def inside(self, X: torch.Tensor) -> torch.Tensor:
        """The inverse of `outside`."""
        return self._scaled(X, lambda level, offsets: 1 / level.lengths.to(X)[level.groups])

    def contracted(self, X: torch.Tensor) -> torch.Tensor:
        """An embedding whose tight groups are not torn apart.

        The variables of a group suit it near its own size only: from a random start, a solver
        would need very many steps to bring it together.
        """
        return self._scaled(X, Level.contraction)

    def together(self, X: torch.Tensor) -> torch.Tensor:
        """P_L X: the items of a group at its mean, or at its fixed item."""
        return self._scaled(X, lambda level, offsets: torch.zeros_like(offsets))

    @property
    def shortest(self) -> float:
        """The smallest unit of an offset."""
        return min(float(level.lengths.min()) for level in self.levels)

    def to(self, device: torch.device) -> TightGroups:
        """The same groups on another device."""
        return TightGroups(tuple(level.to(device) for level in self.levels), self.tight)

    def _scaled(
        self, X: torch.Tensor, factors: Callable[[Level, torch.Tensor], torch.Tensor]
    ) -> torch.Tensor:
        found, rest = torch.zeros_like(X), X.clone()
        for level in self.levels:
            centers = level.centers(rest)
            offsets = rest[level.items] - centers
            found[level.items] += factors(level, offsets) * offsets
            rest[level.items] = centers
        return found + rest


def find_tight_groups(edges: Edges, n_items: int, fixed: np.ndarray) -> TightGroups | None:
    """The tight groups of a problem.

    Parameters
    ----------
    edges : EdgeList or AllPairs
    n_items : int
    fixed : ndarray of int
        Items with given coordinates.

    Returns
    -------
    groups : TightGroups or None
        None if no pair is tight.
    """
    is_fixed = np.zeros(n_items, dtype=bool)
    is_fixed[fixed] = True
    if edges.deviations is None:
        return _groups_by_weight(edges, is_fixed)
    if len(edges.segments) > 1:
        return _groups_of_mix(edges, is_fixed)
    function, deviations, weights = edges.segments[0].function, edges.deviations, edges.weights
    assert isinstance(function, Loss)
    p = len(edges)
    some = slice(None, None, -(-p // _SAMPLE))
    typical = root_mean_square(deviations[some].double().cpu().numpy())
    built_in = function.kernel_parameters() is not None
    # A callable may hold a parameter for each pair, so it gets all of them.
    part = some if built_in else slice(None)
    sample = _stiffness(function, weights[part], deviations[part], typical)
    every = None if built_in else sample
    sample = sample[:, (sample > 0).all(axis=0)]
    if not sample.size:
        return None
    # A single far item has one of n / 2 pairs. Its pairs are the loosest.
    loosest = np.sort(sample, axis=1)[:, sample.shape[1] // n_items]
    per_item = _pairs_per_item(p, n_items)
    tight = per_item * loosest * [_TIGHT, 1.0]
    pairs = _pairs_above(edges, typical, tight, every)
    pairs = pairs.where(~is_fixed[pairs.items].all(axis=1))
    if not len(pairs.items):
        return None
    rest = per_item * float(sample[0, sample[0] < tight[0]].mean())
    return _grouped(pairs, float(tight[0]), is_fixed, rest).to(edges.device)


def _pairs_per_item(p: int, n_items: int) -> float:
    """Mean number of pairs of an item, but at least 1: an item without pairs is in no group."""
    return max(2 * p / n_items, 1.0)


def _grouped(pairs: _Pairs, tight: float, is_fixed: np.ndarray, rest: float) -> TightGroups:
    n_levels = 1 + int(math.log(pairs.stiffness.max() / tight, _LEVEL))
    limits = tight * _LEVEL ** np.arange(min(n_levels, _MOST_LEVELS))
    levels = _levels(pairs, limits[::-1], is_fixed, rest)
    return TightGroups(tuple(level for level in levels if len(level.items)), tight)


def _groups_by_weight(edges: Edges, is_fixed: np.ndarray) -> TightGroups | None:
    """The tight groups of a problem with penalties."""
    weights = edges.weights.double().cpu().numpy()
    largest = np.abs(weights).max(initial=0.0)
    # Pulls differ from weights by a factor for each function; most problems end here.
    if not weights.max(initial=0.0) > _TIGHT * np.median(np.abs(weights)) or largest == 0:
        return None
    n_items, p = len(is_fixed), len(edges)
    pulls = np.concatenate(
        [
            pulls_at_typical_distance(segment.function, edges.weights[segment.start : segment.stop])
            for segment in edges.segments
        ]
    )
    per_item = _pairs_per_item(p, n_items)
    rest = per_item * float(np.median(np.abs(pulls)))
    found = np.flatnonzero((weights > 0) & (pulls >= _TIGHT * rest))
    pairs = edges.pairs_at(found)
    found, pairs = (x[~is_fixed[pairs].all(axis=1)] for x in (found, pairs))
    if not 0 < len(np.unique(pairs)) <= max(2, _MOST_ITEMS * n_items) or rest == 0:
        return None
    lengths = np.concatenate(
        [
            _lengths(segment.function, weights[own], pulls[own], rest)
            for segment in edges.segments
            for own in [found[(found >= segment.start) & (found < segment.stop)]]
        ]
    )
    stiffness = rest / lengths
    return _grouped(_Pairs(pairs, stiffness, lengths), rest, is_fixed, rest).to(edges.device)


def _groups_of_mix(edges: Edges, is_fixed: np.ndarray) -> TightGroups | None:
    """The tight groups of a problem with several losses, or with losses and penalties."""
    known = known_deviations(edges)
    assert known is not None and edges.deviations is not None
    n_items, p = len(is_fixed), len(edges)
    typical = root_mean_square(known[:: -(-len(known) // _SAMPLE)].double().cpu().numpy())
    if not typical > 0:
        return None
    stiffness, lengths = np.zeros((2, p)), edges.deviations.double().cpu().numpy()
    is_loss = np.zeros(p, dtype=bool)
    for segment in edges.segments:
        own, function = slice(segment.start, segment.stop), segment.function
        w = edges.weights[own]
        if isinstance(function, Loss):
            is_loss[own] = True
            stiffness[:, own] = _stiffness(function, w, edges.deviations[own], typical)
        else:
            pulls = pulls_at_typical_distance(function, w, typical)
            stiffness[:, own] = np.abs(pulls) / typical / typical
    losses = stiffness[:, is_loss & (stiffness > 0).all(axis=0)]
    if not losses.size:
        return None
    per_item = _pairs_per_item(int(is_loss.sum()), n_items)
    others = stiffness[0, ~is_loss]
    pull = 2 * len(others) / n_items * float(np.median(others)) if len(others) else 0.0
    loosest = np.sort(losses, axis=1)[:, losses.shape[1] // n_items]
    tight = (per_item * loosest + pull) * [_TIGHT, 1.0]
    loose = losses[0, losses[0] < tight[0]]
    rest = pull + per_item * (float(loose.mean()) if len(loose) else float(loosest[0]))
    _tighten_by_weight(edges, n_items, stiffness, lengths, rest, typical)
    found = np.flatnonzero((stiffness >= tight[:, None]).all(axis=0))
    pairs = edges.pairs_at(found)
    free = ~is_fixed[pairs].all(axis=1)
    if not free.any():
        return None
    tight_pairs = _Pairs(pairs, stiffness[0, found], lengths[found]).where(free)
    return _grouped(tight_pairs, float(tight[0]), is_fixed, rest).to(edges.device)


def _tighten_by_weight(
    edges: Edges,
    n_items: int,
    stiffness: np.ndarray,
    lengths: np.ndarray,
    rest: float,
    typical: float,
) -> None:
    """Write the stiffness and lengths of pairs that penalties make tight; 0 for the other ones."""
    weights = edges.weights.double().cpu().numpy()
    for segment in edges.segments:
        own, function = slice(segment.start, segment.stop), segment.function
        if isinstance(function, Loss):
            continue
        k, w = stiffness[0, own].copy(), weights[own]
        heavy = np.flatnonzero((w > 0) & (k >= _TIGHT * rest))
        stiffness[:, own] = 0.0
        items = np.unique(edges.pairs_at(segment.start + heavy))
        if not 0 < len(items) <= max(2, _MOST_ITEMS * n_items):
            continue
        found = _lengths(function, w[heavy], typical * k[heavy], typical * rest, typical)
        stiffness[:, segment.start + heavy] = typical * rest / found
        lengths[segment.start + heavy] = found


def _lengths(
    penalty: Penalty | Loss, w: np.ndarray, pulls: np.ndarray, rest: float, unit: float = 1.0
) -> np.ndarray:
    """Distances at which pairs pull with the force of the rest; 1e-14 units to 1 unit."""
    if penalty.kernel_parameters() is None:  # as if it were quadratic
        return (unit * rest / pulls).clip(unit * _SHORTEST, unit)
    assert isinstance(penalty, Penalty)
    d = unit * torch.from_numpy(np.geomspace(_SHORTEST, 1.0, 200))
    forces = (penalty.slope(d) * d).numpy()
    found: np.ndarray = d.numpy()[np.argmax(w[:, None] * forces >= rest, axis=1)]
    return found


def _stiffness(function: Loss, w: torch.Tensor, delta: torch.Tensor, typical: float) -> np.ndarray:
    """Stiffness of pairs, and that at a typical distance; shape (2, p), float64.

    It is 0 for pairs at distance 0.
    """
    found = []
    for d in (2 * delta, (2 * delta).clamp(min=typical)):
        span = torch.where(delta > 0, d - delta, 1.0).double()
        k = 2 * (growth(function, w, delta, d).double().abs() / span / span)
        found.append(torch.nan_to_num(k, nan=0.0, posinf=_LARGE))
    return torch.stack(found).cpu().numpy()


def _candidates(edges: Edges, typical: float, limits: np.ndarray) -> np.ndarray:
    """Positions of pairs that may be tight, under a built-in loss.

    The stiffness of a built-in loss is a monotonic function of the original distance, so a table of
    it for the heaviest pair says which distances are out of question.
    """
    delta, function = edges.deviations, edges.segments[0].function
    assert delta is not None and isinstance(function, Loss)
    shortest = min(
        float(torch.where(block > 0, block, math.inf).min()) for block in delta.split(_BLOCK)
    )
    grid = torch.from_numpy(np.geomspace(shortest, float(delta.max()), 50))
    heaviest = max(float(edges.weights.max()), -float(edges.weights.min()))
    k = _stiffness(function, torch.full_like(grid, heaviest), grid, typical)
    able = np.flatnonzero((k >= 0.99 * limits[:, None]).all(axis=0))
    if not len(able):
        return able
    low, high = grid[max(able[0] - 1, 0)], grid[min(able[-1] + 1, len(grid) - 1)]
    near = (delta >= 0.99 * float(low)) & (delta <= 1.01 * float(high))
    return torch.nonzero(near)[:, 0].cpu().numpy()


class _Pairs(NamedTuple):
    """Pairs (i, j), their stiffness and their original distances."""

    items: np.ndarray
    stiffness: np.ndarray
    lengths: np.ndarray

    def where(self, kept: np.ndarray) -> _Pairs:
        return _Pairs(*(array[kept] for array in self))


def _pairs_above(
    edges: Edges, typical: float, limits: np.ndarray, stiffness: np.ndarray | None
) -> _Pairs:
    """The pairs whose stiffness is at least its limit, at both distances.

    `stiffness` is that of all pairs, or None for a built-in loss.
    """
    assert edges.deviations is not None
    if stiffness is None:
        positions = _candidates(edges, typical, limits)
        function = edges.segments[0].function
        assert isinstance(function, Loss)
        blocks = [np.empty((2, 0))]
        for start in range(0, len(positions), _BLOCK):
            own = torch.from_numpy(positions[start : start + _BLOCK]).to(edges.device)
            pairs = edges.weights[own], edges.deviations[own]
            blocks.append(_stiffness(function, *pairs, typical))
        stiffness = np.concatenate(blocks, axis=1)
    else:
        positions = np.arange(len(edges))
    above = (stiffness >= limits[:, None]).all(axis=0)
    found = positions[above]
    lengths = edges.deviations[torch.from_numpy(found).to(edges.device)].double().cpu().numpy()
    return _Pairs(edges.pairs_at(found), stiffness[0, above], lengths)


def _levels(
    pairs: _Pairs, limits: np.ndarray, is_fixed: np.ndarray, rest: float
) -> Iterator[Level]:
    """The levels, from the tightest; `rest` is the stiffness of all that is not tight."""
    n = len(is_fixed)
    inner, sizes, held = np.arange(n), np.ones(n), is_fixed
    for limit in limits:
        labels = component_labels(pairs.items[pairs.stiffness >= limit], n)
        labels = np.zeros(n, dtype=np.int64) if labels is None else labels
        n_groups = labels.max() + 1
        i, j = pairs.items.T
        between = (labels[i] == labels[j]) & (inner[i] != inner[j])
        i, j, group = i[between], j[between], labels[i[between]]
        # The stiffness of a group is the trace of the pairs' Laplacian over the offsets of its
        # parts: for each pair of two parts, one over the size of each part that is not fixed.
        share = np.where(held, 0.0, 1 / sizes)
        trace = np.bincount(
            group, pairs.stiffness[between] * (share[inner[i]] + share[inner[j]]), n_groups
        )
        longest = np.zeros(n_groups)
        np.maximum.at(longest, group, pairs.lengths[between])
        _, first = np.unique(inner, return_index=True)
        n_parts = np.bincount(labels[first], minlength=n_groups)
        fixed = np.full(n_groups, -1)
        fixed[labels[is_fixed]] = np.flatnonzero(is_fixed)
        modes = np.bincount(labels[first][~held], minlength=n_groups) - (fixed < 0)
        split = modes > 0
        lengths = np.ones(n_groups)
        lengths[split] = np.sqrt(rest * modes[split] / trace[split]).clip(_SHORTEST, 1.0)
        items = np.flatnonzero(split[labels] & ~is_fixed)
        items = items[np.argsort(labels[items], kind="stable")]
        kept, groups, counts = np.unique(labels[items], return_inverse=True, return_counts=True)
        columns = lengths, longest, n_parts * longest, fixed
        yield Level(
            torch.from_numpy(items),
            torch.from_numpy(groups.astype(np.int64)),
            torch.from_numpy(np.concatenate([[0], np.cumsum(counts)])),
            *(torch.from_numpy(column[kept][:, None]) for column in columns),
        )
        inner, sizes, held = labels, np.bincount(labels).astype(float), fixed >= 0
