"""Extension of an embedding by new samples; the fitted samples keep their coordinates."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np

from skmde._utils.sklearn_compat import check_is_fitted
from skmde._utils.warn import warn
from skmde._views.facts import counted
from skmde.estimators.base.input import InputMixin, as_output
from skmde.estimators.base.typing import Data
from skmde.exceptions import ConvergenceWarning
from skmde.preprocessing.graphs.adjacency import is_networkx


class GrowingMixin(InputMixin):
    """The method ``extend``.

    An estimator implements ``_extend(X)`` for checked X. The new samples are appended to the fitted
    samples.
    """

    def extend(self, X: Data) -> Self:
        """Add samples to the embedding; the fitted samples keep their coordinates.

        The fitted samples are anchored. The coordinates of the new samples minimise the average
        distortion of all pairs that contain a new sample. Unlike in `transform`, new samples
        influence each other: a group of samples unlike all fitted ones gets a region of its own.
        Afterwards all samples are fitted samples: the rows of X are appended to `embedding_`, whose
        previous rows are identical to the last bit, and `transform` uses all samples.

        Attributes that describe the problem and its solution (the pairs with their weights and
        distances, the distortion, the iterations) refer to the problem solved here.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New samples. If `fit` takes distances, weights or the edges of a graph, X holds those
            between the new samples and all samples, the fitted ones first: shape
            (n_new, n_samples + n_new). If `fit` takes a pair (indices, distances), X is such a pair
            with one row for each new sample.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X does not match the training data, if the array given to `fit` was modified
            afterwards, or if this needs more memory than `memory_limit` allows.

        Warns
        -----
        UserWarning
            If no chain of pairs connects some of the new samples to the fitted ones.

        References
        ----------
        Monograph, section 2.4.2 (incremental embedding).
        """
        check_is_fitted(self)
        self._check_not_compact()
        with self._all_or_nothing() as grown:
            n_fixed = len(self.embedding_)
            X = grown._checked_further(X)
            grown._check_memory_of_extension(X)
            n_loose, n_parts = grown._extend(X)
            grown._solved_under = f"anchored, {counted(n_fixed, 'fixed item')}"
        if n_loose:
            warn(
                f"No chain of pairs connects {n_loose} new samples, in {n_parts} connected "
                "components, to the fitted samples, so their position is undetermined. Raise "
                "n_neighbors, or fit all samples again.",
            )
        return self

    def _extend(self, X):
        """Embed the rows of X; return the numbers of unconnected samples and components."""
        raise NotImplementedError

    def _checked_further(self, X):
        if self._is_neighbor_tables(X) or is_networkx(X) or not self._is_precomputed():
            return self._checked_unseen(X)
        X = self._validated(X, reset=True, min_samples=1)
        n = len(self.embedding_)
        if X.shape[1] != n + X.shape[0]:
            raise ValueError(
                f"With metric={self.metric!r} X must have {n + X.shape[0]} columns, for the {n} "
                f"fitted samples and then the {X.shape[0]} new samples; got shape {X.shape}."
            )
        return X

    def _coordinates_with(self, X):
        """The starting point: fitted samples, and new ones placed independently of each other."""
        n = len(self.embedding_)
        if self._is_neighbor_tables(X):
            indices, distances = X
            X = np.where(indices < n, indices, -1), distances
        elif self._is_precomputed():
            X = X[:, :n]  # columns of the fitted samples
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            further = self._coordinates(X)
        return np.concatenate([self.embedding_.astype(np.float64), further])

    def _joined(self, further):
        """The fitted rows, unchanged to the last bit, followed by the new rows."""
        old = self.embedding_
        return np.concatenate([old, as_output(further, old)])
