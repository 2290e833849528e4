"""Weights of samples; those of weight 0 count for nothing, as if they were not there."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from skmde.estimators.base.embedding import as_host_array
from skmde.estimators.samples.supervision import checked_sample_weight


class CountedSamples:
    """Which samples are embedded, and how much the pairs of each count.

    Parameters
    ----------
    n_samples : int
    sample_weight : array-like of shape (n_samples,), default=None
    anchors : array-like of int, default=()
        Samples that are embedded whatever they weigh.

    Attributes
    ----------
    n_samples : int
        All of them.
    items : ndarray of int, or None
        Those that are embedded, in ascending order; None if all are.
    weights : ndarray of shape (n_items,), or None
        Of those, relative to their mean; None if all are the same.
    """

    def __init__(self, n_samples, sample_weight=None, anchors=()):
        self.n_samples, self.items, self.weights = n_samples, None, None
        if sample_weight is None:
            return
        weights = checked_sample_weight(sample_weight, n_samples)
        there = weights > 0
        there[np.asarray(anchors, dtype=np.intp)] = True
        if not there.all():
            self.items = np.flatnonzero(there)
            if len(self.items) < 2:
                raise ValueError(
                    f"By sample_weight {len(self.items)} sample counts; at least 2 are required."
                )
            weights = weights[there]
        if (weights != weights[0]).any():
            self.weights = weights / weights.mean()

    @property
    def n_items(self):
        """How many are embedded."""
        return self.n_samples if self.items is None else len(self.items)

    def rows(self, X, name="X"):
        """Entries of these samples, of any kind of container; tensors as arrays."""
        if self.items is None:
            return X
        X = as_host_array(X)
        if not hasattr(X, "__getitem__"):
            X = np.asarray(X)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if n != self.n_samples:
            raise ValueError(f"{name} has {n} entries, but there are {self.n_samples} samples.")
        return entries(X, self.items)

    def columns(self, X):
        """What rows say of these samples: a table of distances to all, or neighbour tables."""
        if self.items is None:
            return X
        if isinstance(X, tuple):
            indices, distances = X
            position = np.full(self.n_samples, -1)
            position[self.items] = np.arange(len(self.items))
            there = (indices >= 0) & (indices < self.n_samples)
            return np.where(there, position[np.where(there, indices, 0)], indices), distances
        return (X.tocsc() if sp.issparse(X) else X)[:, self.items]

    def square(self, X):
        """The same of the tables of these samples themselves."""
        if self.items is None:
            return X
        if isinstance(X, tuple):
            return self.columns(tuple(table[self.items] for table in X))
        return self.columns(entries(X, self.items))

    def constraint(self, constraint):
        """The constraint for these samples alone."""
        return constraint if self.items is None else constraint.restricted(self.items)

    def among_all(self, numbers):
        """Numbers of samples, of these as numbers of all."""
        return numbers if self.items is None else self.items[numbers].astype(numbers.dtype)

    def graph(self, graph):
        """A sparse graph of these samples as one of all."""
        if self.items is None:
            return graph
        graph = graph.tocoo()
        entries = graph.data, (self.items[graph.row], self.items[graph.col])
        return sp.csr_array(entries, shape=(self.n_samples, self.n_samples))

    def spread(self, coordinates):
        """Coordinates of these samples as coordinates of all, the others at the mean."""
        if self.items is None:
            return coordinates
        shape = self.n_samples, coordinates.shape[1]
        if isinstance(coordinates, torch.Tensor):
            everywhere = coordinates.new_empty(shape)
        else:
            everywhere = np.empty(shape, coordinates.dtype)
        everywhere[:] = coordinates.mean(0)
        everywhere[self.items] = coordinates
        return everywhere

    def others(self, X):
        """Those that are not embedded, and what X, checked input, says of them."""
        items = np.setdiff1d(np.arange(self.n_samples), self.items)
        if isinstance(X, tuple):
            return items, tuple(table[items] for table in X)
        return items, entries(X, items)

    def with_further(self, n_further):
        """The same with further samples, of mean weight."""
        further = CountedSamples(self.n_samples + n_further)
        if self.items is not None:
            new = np.arange(self.n_samples, further.n_samples)
            further.items = np.concatenate([self.items, new])
        if self.weights is not None:
            further.weights = np.concatenate([self.weights, np.ones(n_further)])
        return further


def entries(X, items):
    """Some entries, or rows, of a sequence, frame, array or sparse matrix."""
    if isinstance(X, list | tuple):
        return [X[item] for item in items]
    if hasattr(X, "iloc"):
        return X.iloc[items]
    return (X.tocsr() if sp.issparse(X) else X)[items]
