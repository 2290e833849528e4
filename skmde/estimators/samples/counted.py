"""Samples of nonzero weight, which are the embedded ones.

An estimator searches neighbours, samples pairs and solves for these samples only, with indices from
0. This module converts between these indices and those of the full data.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from skmde._utils.validation import as_host_array
from skmde.estimators.samples.supervision import checked_sample_weight


class PositiveWeightSamples:
    """The samples of nonzero weight, and their weights.

    Parameters
    ----------
    n_samples : int
        Number of all samples.
    sample_weight : array-like of shape (n_samples,), default=None
        None means equal weights.
    fixed_items : array-like of int, default=()
        Indices of samples that are embedded even if their weight is 0.

    Attributes
    ----------
    n_samples : int
        Number of all samples.
    items : ndarray of int of shape (n_items,), or None
        Indices of the samples of nonzero weight, and of the fixed ones, in the full data, in
        ascending order; None if they are all samples.
    weights : ndarray of shape (n_items,), or None
        Their weights, divided by the mean; None if all weights are equal.
    """

    def __init__(self, n_samples, sample_weight=None, fixed_items=()):
        self.n_samples, self.items, self.weights = n_samples, None, None
        if sample_weight is None:
            return
        weights = checked_sample_weight(sample_weight, n_samples)
        counts = weights > 0
        counts[np.asarray(fixed_items, dtype=np.intp)] = True
        if not counts.all():
            self.items = np.flatnonzero(counts)
            if len(self.items) < 2:
                raise ValueError(
                    f"sample_weight has {len(self.items)} nonzero entry; at least 2 are required."
                )
            weights = weights[counts]
        if (weights != weights[0]).any():
            self.weights = weights / weights.mean()

    @property
    def n_items(self):
        """Number of samples of nonzero weight."""
        return self.n_samples if self.items is None else len(self.items)

    def rows(self, X, name="X"):
        """The entries of X for these samples; X is a container with one entry for each sample."""
        if self.items is None:
            return X
        X = as_host_array(X)
        # some sparse formats have no items, in some versions of scipy
        if not (sp.issparse(X) or hasattr(X, "__getitem__")):
            X = np.asarray(X)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if n != self.n_samples:
            raise ValueError(f"{name} has {n} entries, but there are {self.n_samples} samples.")
        return entries(X, self.items)

    def columns(self, X):
        """The columns of X for these samples.

        X is a matrix of distances to all samples, or a pair (indices, distances) of neighbour
        tables. In neighbour tables, each index becomes the index among these samples, and -1 for
        other samples.
        """
        if self.items is None:
            return X
        if isinstance(X, tuple):
            indices, distances = X
            position = np.full(self.n_samples, -1)
            position[self.items] = np.arange(len(self.items))
            there = (indices >= 0) & (indices < self.n_samples)
            return np.where(there, position[np.where(there, indices, 0)], indices), distances
        return (X.tocsc() if sp.issparse(X) else X)[:, self.items]

    def rows_and_columns(self, X):
        """The rows and the columns of X for these samples; X as for `columns`."""
        if self.items is None:
            return X
        if isinstance(X, tuple):
            return self.columns(tuple(table[self.items] for table in X))
        return self.columns(entries(X, self.items))

    def constraint(self, constraint):
        """The constraint restricted to these samples."""
        return constraint if self.items is None else constraint.restricted(self.items)

    def weigh_pairs(self, edges, weights):
        """Multiply the weights of pairs by those of their samples, and drop pairs of weight 0.

        Raises
        ------
        ValueError
            If no pair is left.
        """
        if self.weights is None:
            return edges, weights
        weights = (weights * self.weights[edges].prod(axis=1)).astype(np.float32)
        edges, weights = edges[weights != 0], weights[weights != 0]
        if len(edges) == 0:
            raise ValueError(
                "The weights of all pairs are 0 after multiplication by sample_weight: only a few "
                "samples have a weight that is not negligible compared with the largest, and they "
                "are not neighbours. Give more samples a larger weight."
            )
        return edges, weights

    def positions(self, items):
        """Indices in the full data, as indices among these samples; -1 for others."""
        if self.items is None:
            return np.asarray(items)
        position = np.full(self.n_samples, -1)
        position[self.items] = np.arange(len(self.items))
        return position[items]

    def among_all(self, indices):
        """Indices among these samples, as indices in the full data."""
        return indices if self.items is None else self.items[indices].astype(indices.dtype)

    def graph_among_all(self, graph):
        """A sparse graph of these samples, as a graph of all samples."""
        if self.items is None:
            return graph
        graph = graph.tocoo()
        entries = graph.data, (self.items[graph.row], self.items[graph.col])
        return sp.csr_array(entries, shape=(self.n_samples, self.n_samples))

    def fill_with_mean(self, coordinates):
        """Coordinates of all samples; other samples get the mean of these samples."""
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

    def zero_weight_samples(self, X):
        """Indices of the samples of weight 0, and their rows of X, the checked input."""
        items = np.setdiff1d(np.arange(self.n_samples), self.items)
        if isinstance(X, tuple):
            return items, tuple(table[items] for table in X)
        return items, entries(X, items)

    def with_further(self, n_further):
        """These samples and further ones, which have the mean weight."""
        further = PositiveWeightSamples(self.n_samples + n_further)
        if self.items is not None:
            new = np.arange(self.n_samples, further.n_samples)
            further.items = np.concatenate([self.items, new])
        if self.weights is not None:
            further.weights = np.concatenate([self.weights, np.ones(n_further)])
        return further


def entries(X, items):
    """The given entries or rows of a sequence, data frame, array or sparse matrix."""
    if isinstance(X, list | tuple):
        return [X[item] for item in items]
    if hasattr(X, "iloc"):
        return X.iloc[items]
    return (X.tocsr() if sp.issparse(X) else X)[items]
