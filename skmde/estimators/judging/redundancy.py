"""Fits without some of the pairs: random ones, for the check for redundancy, or the worst ones.

An embedding should not need all of its pairs. If the average distortion of pairs that were held out
is much above that of the pairs that were used, there may be too few pairs. Pairs whose distortion
is much above that of others may be wrong, and spoil the embedding (monograph, section 2.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class RedundancyCheck:
    """Average distortions of pairs that a fit used and of pairs that it did not.

    Attributes
    ----------
    used : float
        Average distortion of the pairs that attract, or have an original distance, and were used.
    held_out : float
        Average distortion of those that were held out.
    n_used, n_held_out : int
        Their numbers.
    """

    used: float
    held_out: float
    n_used: int
    n_held_out: int

    @property
    def ratio(self) -> float:
        """The average of the pairs that were held out, divided by that of those that were used."""
        return self.held_out / self.used if self.used else np.nan


class HeldOutPairs(NamedTuple):
    """Pairs that a fit leaves out.

    Attributes
    ----------
    edges : ndarray of int of shape (k, 2)
    weights : ndarray of shape (k,) or None
    distances : ndarray of shape (k,) or None
        Original distances, in the units of the data.
    """

    edges: np.ndarray
    weights: np.ndarray | None = None
    distances: np.ndarray | None = None


class HoldOut:
    """A choice of the pairs that a fit leaves out; each fit asks once.

    Parameters
    ----------
    share : float
        Between 0 and 1.
    random_state : RandomState

    Attributes
    ----------
    pairs : HeldOutPairs
        The pairs that were left out.
    """

    pairs: HeldOutPairs

    def __init__(self, share, random_state):
        is_real = isinstance(share, Real) and not isinstance(share, bool)
        if not (is_real and 0 < share < 1):
            raise ValueError(
                f"holdout is the share of the pairs that are left out, above 0 and below 1; got "
                f"{share!r}."
            )
        self._share, self._random_state = share, random_state

    def chosen(self, counts, edges):
        """A mask of pairs that are left out, of those that count.

        Parameters
        ----------
        counts : ndarray of bool of shape (p,)
        edges : ndarray of int of shape (p, 2)
            The pairs.
        """
        among = np.flatnonzero(counts)
        if len(among) < 2:
            raise ValueError(f"There are {len(among)} pairs, too few to hold some of them out.")
        wanted = min(max(1, round(self._share * len(among))), len(among) - 1)
        mask = np.zeros(len(counts), dtype=bool)
        mask[self._random_state.choice(among, wanted, replace=False)] = True
        return mask


class Refit(NamedTuple):
    """An estimator that was fitted without some pairs.

    Attributes
    ----------
    estimator : object
        The fitted estimator.
    pairs : ndarray of int of shape (k, 2)
        The pairs that were left out, those of highest distortion first.
    distortions : ndarray of shape (k,)
        Their distortions before.
    """

    estimator: Any
    pairs: np.ndarray
    distortions: np.ndarray


class DroppedPairs:
    """Given pairs that a fit leaves out.

    Parameters
    ----------
    edges : ndarray of int of shape (k, 2)
        Pairs in either order.

    Attributes
    ----------
    pairs : HeldOutPairs
        The pairs that were left out.
    """

    pairs: HeldOutPairs

    def __init__(self, edges):
        self._edges = edges

    def chosen(self, counts, edges):
        """A mask of pairs that are left out, of those that count; see `HoldOut`."""
        n = 1 + int(max(self._edges.max(initial=0), edges.max(initial=0)))
        left, every = (np.sort(part, axis=1).astype(np.int64) for part in (self._edges, edges))
        mask = np.isin(every[:, 0] * n + every[:, 1], left[:, 0] * n + left[:, 1]) & counts
        if mask.sum() == counts.sum():
            raise ValueError("No pair would be left; leave out a smaller fraction.")
        return mask


def worst_pairs(found, fraction):
    """The pairs of highest distortion of those that attract or have an original distance.

    Parameters
    ----------
    found : Distortions
    fraction : float
        Share of these pairs, above 0 and below 1; at least one pair.

    Returns
    -------
    worst : ndarray of int
        Positions in ``found.pairs``, the highest distortion first.
    """
    is_real = isinstance(fraction, Real) and not isinstance(fraction, bool)
    if not (is_real and 0 < fraction < 1):
        raise ValueError(
            f"fraction is the share of the pairs that are left out, above 0 and below 1; got "
            f"{fraction!r}."
        )
    among = np.flatnonzero(found.weights > 0)
    if len(among) < 2:
        raise ValueError(f"There are {len(among)} pairs, too few to leave some of them out.")
    wanted = min(max(1, round(fraction * len(among))), len(among) - 1)
    return among[np.argsort(-found.values[among], kind="stable")[:wanted]]


def without_pairs(graph, edges):
    """A symmetric graph without some of its pairs."""
    ones = np.ones(len(edges), graph.dtype)
    one_way = sp.coo_array((ones, edges.T), shape=graph.shape)
    left = sp.csr_array(graph - graph.multiply(one_way + one_way.T))
    left.eliminate_zeros()
    return left
