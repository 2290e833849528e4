"""Interfaces of the sources of pairs, and helpers that they share.

A :class:`PairSource` gives pairs that attract each other, with weights. A :class:`DistanceSource`
gives pairs with original distances. An estimator calls ``pairs`` and then ``drop_training_state``
in a fit, ``of_unseen`` in `transform`, and ``extended`` in `extend`. A source keeps no random
generator: each method that draws takes one.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from skmde._linalg.components import component_labels
from skmde.estimators.samples.support import LandmarkTables
from skmde.preprocessing.pairs.sampling import all_edges

_FEW_PAIRS = 1 << 22
_RANGE = (1e-30, 1e30)  # of distances in float32, with a margin


class Pairs(NamedTuple):
    """Pairs of items.

    Attributes
    ----------
    edges : ndarray of shape (p, 2), int32, or None
        Pairs ``i < j``; None if all pairs are present, in the order of
        :func:`~skmde.preprocessing.all_edges`.
    distances : ndarray of shape (p,), float64, or float32 if there are many pairs; or None
        Original distances; None for pairs that have weights only.
    labels : ndarray of shape (n,), int, or None
        Connected component of each item; None if all items are connected by pairs.
    n_unreachable : int
        Number of pairs that are left out because they have no distance.
    weights : ndarray of shape (p,) or None
        Weights of the pairs; None if all are 1.
    """

    edges: np.ndarray | None
    distances: np.ndarray | None
    labels: np.ndarray | None = None
    n_unreachable: int = 0
    weights: np.ndarray | None = None


class PairSource(Protocol):
    """Pairs that attract each other: of training items, and of unseen with training items.

    Attributes
    ----------
    n_items : int
        Number of fitted items.
    """

    n_items: int

    def pairs(self) -> sp.csr_array:
        """Pairs of the training items. Not available after `drop_training_state`.

        Returns
        -------
        graph : csr_array of shape (n, n)
            Weights of the pairs: symmetric, without a diagonal.
        """

    def of_unseen(self, X) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of unseen items with training items.

        A row of the result depends on that row of X alone.

        Parameters
        ----------
        X : ndarray, sparse matrix or pair of ndarray
            Unseen items, q rows, in the form in which the fitted ones were given.

        Returns
        -------
        indices : ndarray of shape (q, k), int
            Training items; -1 where a row has fewer than k.
        weights : ndarray of shape (q, k)
            Weights of the pairs; 0 where there is none. The caller may write to it.
        twin : ndarray of shape (q,), int
            The fitted item that each row equals, -1 where it equals none.
        """

    def extended(self, X) -> PairSource:
        """The source of the fitted items and of further ones; this one stays as it is.

        Parameters
        ----------
        X : ndarray, sparse matrix or pair of ndarray
            Further items; of precomputed numbers, with a column for each item, further ones last.

        Returns
        -------
        source : PairSource
        """

    def drop_training_state(self) -> None:
        """Keep only what `of_unseen` and `extended` need."""


class DistanceSource(Protocol):
    """Original distances: between training items, and from unseen to training items.

    Attributes
    ----------
    n_items : int
        Number of fitted items.
    is_euclidean : bool
        Whether distances are Euclidean distances of rows, so that classical scaling is PCA.
    """

    n_items: int
    is_euclidean: bool

    def pairs(self, max_pairs, rng, weights=None) -> Pairs:
        """Pairs of the training items that have a distance.

        Parameters
        ----------
        max_pairs : float
            If there are more pairs, `max_pairs` of them are sampled uniformly, without
            replacement.
        rng : numpy.random.Generator
        weights : csr_array of shape (n, n), default=None
            Symmetric weights, at least 0; pairs of weight 0 are left out.

        Returns
        -------
        pairs : Pairs
            With weights if `weights` are given.
        """

    def pairs_from(self, first, max_pairs, rng) -> Pairs:
        """Pairs with at least one item whose index is `first` or larger.

        Parameters
        ----------
        first : int
        max_pairs : float
            As for `pairs`.
        rng : numpy.random.Generator

        Returns
        -------
        pairs : Pairs
            Without labels.
        """

    def from_items(self, items) -> np.ndarray:
        """Distances from some training items to all training items.

        Parameters
        ----------
        items : ndarray of shape (k,), int

        Returns
        -------
        D : ndarray of shape (k, n), float64
            Infinite where there is no distance.
        """

    def choose_landmarks(self, most, rng, among=None) -> np.ndarray:
        """Choose the training items whose distances place unseen items.

        Parameters
        ----------
        most : int
            Largest number of landmarks; the source may choose fewer.
        rng : numpy.random.Generator
        among : ndarray of int, default=None
            Items to choose from; None means all.

        Returns
        -------
        landmarks : ndarray of int
            In ascending order.
        """

    def of_unseen(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Distances from unseen items to the landmarks; call `choose_landmarks` first.

        A row of the result depends on that row of X alone.

        Parameters
        ----------
        X : ndarray, sparse matrix or pair of ndarray
            Unseen items, q rows, in the form in which the fitted ones were given.

        Returns
        -------
        D : ndarray of shape (q, n_landmarks), float64
            Infinite where there is no distance. The caller may write to it.
        twin : ndarray of shape (q,), int
            The fitted item that each row equals, -1 where it equals none.
        """

    def landmark_tables(self) -> LandmarkTables:
        """The landmarks nearest to each landmark; call `choose_landmarks` first."""

    def extended(self, X) -> DistanceSource:
        """The source of the fitted items and of further ones; this one stays as it is.

        Parameters
        ----------
        X : ndarray, sparse matrix or pair of ndarray
            Further items; of precomputed numbers, with a column for each item, further ones last.

        Returns
        -------
        source : DistanceSource
        """

    def drop_training_state(self) -> None:
        """Keep only what `of_unseen` and `extended` need."""


def kept_dtype(n_pairs):
    """float64; float32 for many pairs, to save memory."""
    return np.float64 if n_pairs <= _FEW_PAIRS else np.float32


def is_in_range(found):
    """Whether distances are within the range of their dtype."""
    largest = found.max(initial=0.0)
    return found.dtype == np.float64 or largest == 0 or _RANGE[0] < largest < _RANGE[1]


def in_kept_dtype(found):
    """Distances in the dtype of `kept_dtype`, or in float64 if they are out of its range."""
    cast = found.astype(kept_dtype(len(found)), copy=False)
    return cast if is_in_range(cast) else found.astype(np.float64, copy=False)


def sample_items(n_items, most, rng, among=None):
    """At most `most` random items, of all or of those in `among`, in ascending order."""
    if among is not None:
        return among[sample_items(len(among), most, rng)]
    return np.sort(rng.choice(n_items, min(n_items, most), replace=False, shuffle=False))


def sample_at_most(numbers, max_pairs, rng):
    """The indices of pairs, or `max_pairs` random ones of them, in ascending order."""
    if len(numbers) <= max_pairs:
        return numbers
    kept = rng.choice(len(numbers), int(max_pairs), replace=False, shuffle=False)
    return np.sort(numbers[kept])


def with_weights(pairs, weights, n):
    """The pairs with weights, and with labels of their connected components."""
    if len(pairs.edges) == n * (n - 1) // 2:
        return pairs._replace(edges=None, weights=weights)
    return pairs._replace(labels=component_labels(pairs.edges, n), weights=weights)


def listed_edges(pairs, n):
    """The edges of pairs, as a list also where all pairs are present."""
    return all_edges(n) if pairs.edges is None else pairs.edges


def matrix_of_pairs(edges, values, n):
    """A symmetric sparse matrix that stores a value for each pair, zeros included."""
    both = np.concatenate([edges, edges[:, ::-1]])
    return sp.csr_array((np.tile(values, 2), (both[:, 0], both[:, 1])), shape=(n, n))


def selection(pairs, kept, n):
    """Some of the listed pairs, with labels of their connected components."""
    edges = pairs.edges[kept]
    parts = (None if part is None else part[kept] for part in (pairs.distances, pairs.weights))
    distances, weights = parts
    labels = component_labels(edges, n)
    return pairs._replace(edges=edges, distances=distances, weights=weights, labels=labels)


def of_positive_weight(pairs, weights, max_pairs, rng):
    """The pairs whose weight in a symmetric sparse matrix is positive."""
    n = weights.shape[0]
    edges = listed_edges(pairs, n)
    values = entries_at(weights, edges[:, 0], edges[:, 1])
    kept = sample_at_most(np.flatnonzero(values > 0), max_pairs, rng)
    pairs = pairs._replace(edges=edges[kept], distances=pairs.distances[kept])
    return with_weights(pairs, values[kept], n)


def row_indices(matrix):
    """The row of each stored entry of a csr_array."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def entries_at(matrix, rows, columns):
    """Entries of a sparse matrix; scipy does not accept empty lists of positions."""
    if len(rows) == 0:
        return np.empty(0)
    return np.asarray(matrix[rows, columns]).ravel()
