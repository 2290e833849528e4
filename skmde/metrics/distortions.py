"""The distortions of an embedding, pair by pair, and what they say of items, segments and groups.

The average distortion is E(X) = (1/N) [sum_k f_k(d_k) + sum_i t_i] (monograph, section 2.3), with
the distortions f_k(d_k) of listed pairs, and the shares t_i of the items in terms that have no list
of pairs, such as the repulsion of all pairs. N is the number of pairs that the average is over.
Section 2.6 of the monograph says what to look for: pairs of high distortion, and groups of items
whose pairs have a higher average distortion than others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from skmde.metrics.alignment import as_array, known_codes
from skmde.metrics.preservation import check_integer
from skmde.metrics.stress import GroupDistortion, distortion_by_group, memberships

_BLOCK = 1 << 22  # pairs that are summed at a time


class SegmentDistortion(NamedTuple):
    """Distortion of one kind of pairs.

    Attributes
    ----------
    mean : float
        Average distortion; NaN if there is no pair.
    total : float
        Sum of the distortions.
    n_pairs : int
        Number of pairs. For terms without a list of pairs, the number of items that have a share.

    See Also
    --------
    Distortions :
        The distortions of an embedding; the method `distortions` of an estimator returns it.
    """

    mean: float
    total: float
    n_pairs: int


class GroupComparison(NamedTuple):
    """Average distortions of the pairs that touch two groups.

    Attributes
    ----------
    first, second : float
        Average distortions.
    difference : float
        First minus second. Below 0, the embedding is more faithful to the first group.
    ratio : float
        First divided by second.

    See Also
    --------
    distortion_by_group : Mean distortion within and between groups of items.
    """

    first: float
    second: float
    difference: float
    ratio: float


@dataclass(frozen=True, eq=False, repr=False)
class GroupAverages:
    """Average distortion of the pairs that touch each group: those with an item in it.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        The groups, in ascending order; numbers of columns if the groups overlap.
    mean : ndarray of shape (n_groups,)
        Average distortion of the pairs that have at least one item in the group; NaN if none has.
    n_pairs : ndarray of shape (n_groups,)
        Number of these pairs.
    between : GroupDistortion
        Average distortion of the pairs between any two groups.

    See Also
    --------
    distortion_by_group : Mean distortion within and between groups of items.
    """

    groups: np.ndarray
    mean: np.ndarray
    n_pairs: np.ndarray
    between: GroupDistortion

    def __repr__(self) -> str:
        means = ", ".join(f"{g}: {v:.3g}" for g, v in zip(self.groups, self.mean, strict=True))
        return f"GroupAverages({means})"

    def compare(self, first, second) -> GroupComparison:
        """Compare two groups (monograph, section 2.6, checking for bias).

        Equal averages do not show that an embedding is fair: the distortion functions themselves
        may be biased.

        Parameters
        ----------
        first, second : object
            Two of `groups`.

        Returns
        -------
        GroupComparison
            The averages of both, their difference and ratio.

        Raises
        ------
        ValueError
            If one of them is not a group.
        """
        one, other = (float(self.mean[self._position(group)]) for group in (first, second))
        return GroupComparison(one, other, one - other, one / other if other else np.nan)

    def _position(self, group):
        found = np.flatnonzero(self.groups == group)
        if not len(found):
            raise ValueError(f"{group!r} is not a group; the groups are {self.groups.tolist()}.")
        return found[0]


@dataclass(frozen=True, eq=False, repr=False)
class Distortions:
    """The distortions of an embedding; the method `distortions` of an estimator returns it.

    Attributes
    ----------
    pairs : ndarray of int of shape (p, 2)
        The listed pairs of items.
    values : ndarray of shape (p,)
        Their distortions, multiplied by their weights.
    weights : ndarray of shape (p,)
        Their weights: above 0 for pairs that attract each other or have an original distance,
        below 0 for pairs that repel each other.
    n_items : int
        Number of items.
    n_counted : int
        Number of pairs that the average distortion is over.
    terms : dict of str to ndarray of shape (n_items,)
        Terms without a list of pairs, as the share of each item in the sum of distortions:
        "repulsion of all pairs" and "pulls of anchors". Half of the repulsion of two items belongs
        to each of them. For normalized repulsion the shares are in proportion to that.
    distances : ndarray of shape (p,), or None
        Original distances of the pairs, in the units of the embedding; None if the pairs have
        weights only.

    See Also
    --------
    distortion_by_group : Mean distortion within and between groups of items.
    skmde.plotting.DistortionDisplay :
        Histogram of the distortions of pairs, and their averages by item.
    """

    pairs: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    n_items: int
    n_counted: int
    terms: dict[str, np.ndarray] = field(default_factory=dict)
    distances: np.ndarray | None = None

    def __repr__(self) -> str:
        listed = f"{len(self.pairs)} pairs of {self.n_items} items"
        return f"Distortions({listed}, average {self.average:.4g})"

    @property
    def average(self) -> float:
        """The average distortion: `distortion_` of the estimator, up to rounding."""
        return self._total() / self.n_counted if self.n_counted else 0.0

    def _total(self):
        terms = sum(float(term.sum()) for term in self.terms.values())
        return float(self.values.sum(dtype=np.float64)) + terms

    def by_segment(self) -> dict[str, SegmentDistortion]:
        """Distortions of the pairs that attract, those that repel, and the terms without pairs.

        Returns
        -------
        dict of str to SegmentDistortion
            "attract", "repel", and the names of `terms`. The totals sum to
            ``average * n_counted``.
        """
        segments = {}
        for name, kept in (("attract", self.weights > 0), ("repel", self.weights < 0)):
            own = self.values[kept]
            segments[name] = _segment(float(own.sum(dtype=np.float64)), len(own))
        for name, term in self.terms.items():
            segments[name] = _segment(float(term.sum()), int(np.count_nonzero(term)))
        return segments

    def by_item(self, segment=None) -> np.ndarray:
        """Average distortion of the listed pairs of each item.

        Parameters
        ----------
        segment : {"attract", "repel"}, default=None
            Which of the pairs; None means all of them.

        Returns
        -------
        ndarray of shape (n_items,)
            NaN for an item without such a pair.
        """
        if segment not in (None, "attract", "repel"):
            raise ValueError(f"segment must be 'attract', 'repel' or None; got {segment!r}.")
        sums, counts = self._item_sums(segment)
        return _means(sums, counts)

    def shares(self) -> np.ndarray:
        """The part of the average distortion that belongs to each item.

        A pair belongs to each of its items by half.

        Returns
        -------
        ndarray of shape (n_items,)
            The shares sum to `average`.
        """
        sums, _ = self._item_sums(None)
        return (sums / 2 + sum(self.terms.values())) / max(self.n_counted, 1)

    def _item_sums(self, segment):
        sums, counts = np.zeros(self.n_items), np.zeros(self.n_items, dtype=np.int64)
        sign = {None: 0, "attract": 1, "repel": -1}[segment]
        for block in _blocks(len(self.pairs)):
            pairs, values = self.pairs[block], self.values[block]
            if sign:
                kept = sign * self.weights[block] > 0
                pairs, values = pairs[kept], values[kept]
            for items in pairs.T:
                sums += np.bincount(items, values, minlength=self.n_items)
                counts += np.bincount(items, minlength=self.n_items)
        return sums, counts

    def by_group(self, labels) -> GroupAverages:
        """Average distortion of the listed pairs that touch each group of items.

        This is the check for bias of the monograph, section 2.6: whether the embedding is more
        faithful to the pairs of one group than to those of another.

        Parameters
        ----------
        labels : array-like of shape (n_items,), or {array-like, sparse matrix} of shape \
                (n_items, n_groups)
            Group of each item, None or NaN for items of no group; a matrix of 0 and 1 for groups
            that overlap. See :func:`distortion_by_group`.

        Returns
        -------
        GroupAverages
            An average for each group, and for each two groups.
        """
        names, member = memberships(labels, "labels")
        self._check_labels(member, "labels")
        n_groups = len(names)
        sums, counts = np.zeros(n_groups), np.zeros(n_groups, dtype=np.int64)
        totals, numbers = np.zeros((n_groups, n_groups)), np.zeros((n_groups, n_groups), np.int64)
        for block in _blocks(len(self.pairs)):
            pairs, values = self.pairs[block], self.values[block]
            part = distortion_by_group(values, pairs, labels)
            totals += np.where(part.n_pairs > 0, part.mean, 0.0) * part.n_pairs
            numbers += part.n_pairs
            touched = member[pairs[:, 0]] + member[pairs[:, 1]]
            repeated = np.repeat(values, np.diff(touched.indptr))
            sums += np.bincount(touched.indices, repeated, minlength=n_groups)
            counts += np.bincount(touched.indices, minlength=n_groups)
        between = GroupDistortion(names, _means(totals, numbers), numbers)
        return GroupAverages(names, _means(sums, counts), counts, between)

    def label_disagreement(self, y, n_neighbors=15) -> np.ndarray:
        """Share of the pairs that attract each item whose other item has another label.

        Items whose label is wrong have a high share, whether the embedding used the labels or not.
        If pairs have original distances, only the shortest pairs of each item count.

        Parameters
        ----------
        y : array-like of shape (n_items,)
            Label of each item; None and NaN mark items without one, whose pairs do not count.
        n_neighbors : int, default=15
            Number of pairs of each item that count, if pairs have original distances.

        Returns
        -------
        ndarray of shape (n_items,)
            Between 0 and 1, weighted by the weights of the pairs; NaN for an item without a label,
            or without a pair that attracts it to one with a label.

        Examples
        --------
        >>> import numpy as np
        >>> from skmde.metrics import Distortions
        >>> pairs = np.array([[0, 1], [0, 2], [1, 2]])
        >>> found = Distortions(pairs, np.ones(3), np.array([2.0, 1.0, 1.0]), 3, 3)
        >>> found.label_disagreement(["a", "a", "b"]).round(2)
        array([0.33, 0.33, 1.  ])
        """
        _, codes = known_codes(as_array(y, "y"), "y")
        self._check_labels(codes, "y")
        check_integer(n_neighbors, "n_neighbors")
        if n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1; got {n_neighbors}.")
        differ, total = np.zeros(self.n_items), np.zeros(self.n_items)
        blocks = _blocks(len(self.pairs))
        listed = (self._both_ways(block) for block in blocks)
        parts = listed if self.distances is None else iter([self._shortest(n_neighbors)])
        for items, others, weights in parts:
            weights = np.where((codes[items] >= 0) & (codes[others] >= 0), weights, 0.0)
            unlike = weights * (codes[items] != codes[others])
            differ += np.bincount(items, unlike, minlength=self.n_items)
            total += np.bincount(items, weights, minlength=self.n_items)
        return _means(differ, total)

    def _both_ways(self, block):
        """Items, other items and weights of some pairs that attract, each pair in both ways."""
        first, second = self.pairs[block].T
        weights = np.maximum(self.weights[block], 0.0)
        ends = np.concatenate([first, second]), np.concatenate([second, first])
        return *ends, np.tile(weights, 2)

    def _shortest(self, k):
        """The same for the k shortest pairs of each item."""
        columns = [np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0), np.empty(0)]
        for block in _blocks(len(self.pairs)):
            further = *self._both_ways(block), np.tile(self.distances[block], 2)
            columns = [np.append(*both) for both in zip(columns, further, strict=True)]
            order = np.lexsort((columns[3], columns[0]))
            items = columns[0][order]
            first = np.searchsorted(items, np.arange(self.n_items))
            kept = order[np.arange(len(items)) - first[items] < k]
            columns = [column[kept] for column in columns]
        return columns[:3]

    def _check_labels(self, labels, name):
        if labels.shape[0] != self.n_items:
            raise ValueError(
                f"{name} has {labels.shape[0]} entries, but there are {self.n_items} items; pass "
                "one entry for each item."
            )

    def high_distortion_pairs(self, n=10) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of highest distortion (monograph, section 2.6).

        Parameters
        ----------
        n : int, default=10
            Number of pairs; all of them if there are fewer.

        Returns
        -------
        pairs : ndarray of int of shape (n, 2)
            The pairs, the one of highest distortion first.
        values : ndarray of shape (n,)
            Their distortions.
        """
        best = _largest(self.values, n)
        return self.pairs[best], self.values[best]

    def high_distortion_items(self, n=10, segment=None) -> tuple[np.ndarray, np.ndarray]:
        """The items whose pairs have the highest average distortion.

        Parameters
        ----------
        n : int, default=10
            Number of items; all of those that have a pair if there are fewer.
        segment : {"attract", "repel"}, default=None
            As for `by_item`.

        Returns
        -------
        items : ndarray of int of shape (n,)
            The items, the one of highest distortion first.
        values : ndarray of shape (n,)
            Their average distortions.
        """
        values = self.by_item(segment)
        there = np.flatnonzero(~np.isnan(values))
        best = there[_largest(values[there], n)]
        return best, values[best]


def _segment(total, n):
    return SegmentDistortion(total / n if n else np.nan, total, n)


def _means(sums, counts):
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def _blocks(n_pairs):
    return [slice(start, start + _BLOCK) for start in range(0, n_pairs, _BLOCK)]


def _largest(values, n):
    """Positions of the n largest values, in descending order; equal ones in their own order."""
    check_integer(n, "n")
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    n = min(n, len(values))
    if not n:
        return np.empty(0, dtype=np.intp)
    least = np.partition(values, len(values) - n)[len(values) - n]
    kept = np.flatnonzero(values >= least)
    return kept[np.argsort(-values[kept], kind="stable")][:n]
