"""Embeddings that grow: further samples join those that are there, which stay where they are."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np

from skmde._utils.sklearn_compat import check_is_fitted
from skmde._utils.warn import warn
from skmde.estimators.base.input import InputMixin, as_output
from skmde.estimators.base.typing import Data
from skmde.exceptions import ConvergenceWarning
from skmde.preprocessing.graphs.adjacency import is_networkx


class GrowingMixin(InputMixin):
    """The method ``extend``.

    An estimator says how in ``_extend(X)``, whose X is checked, and whose rows come after those of
    the fitted samples.
    """

    def extend(self, X: Data) -> Self:
        """Add samples to the embedding; those that it has stay where they are.

        The coordinates of the further samples minimise the average distortion of all pairs that
        have one of them, with the samples that were there anchored. Unlike in `transform`, they see
        each other: a group of samples that has no like yet gets a region of its own. In the end the
        estimator is as if fitted to all samples: `embedding_` has the rows of X below the old ones,
        which are the same to the last bit, and `transform` places samples among all.

        Attributes that describe a problem and its solution (the pairs and what belongs to them, the
        distortion, the iterations) are those of the problem solved here.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples. Where fit takes distances, weights or the edges of a graph, these of the
            further samples to all, old ones first: shape (n_new, n_samples + n_new); of a pair
            (indices, distances) the tables of the further samples.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X does not fit the training data, or the array given to `fit` was changed since.

        Warns
        -----
        UserWarning
            If no chain of pairs joins some of the further samples to the old ones.

        References
        ----------
        Monograph, section 2.4.2 (incremental embedding).
        """
        check_is_fitted(self)
        self._check_not_compact()
        with self._all_or_nothing() as grown:
            n_loose, n_parts = grown._extend(grown._checked_further(X))
        if n_loose:
            warn(
                f"No chain of pairs joins {n_loose} further samples, in {n_parts} connected parts, "
                "to the embedding: nothing says where among the old samples they belong. Raise "
                "n_neighbors, or fit all samples anew.",
            )
        return self

    def _extend(self, X):
        """Embed the rows of X; the numbers of samples and parts without a chain of pairs."""
        raise NotImplementedError

    def _checked_further(self, X):
        if self._is_pair(X) or is_networkx(X) or not self._is_precomputed():
            return self._checked_unseen(X)
        X = self._validated(X, reset=True, min_samples=1)
        n = len(self.embedding_)
        if X.shape[1] != n + X.shape[0]:
            raise ValueError(
                f"With metric={self.metric!r} X holds rows of {X.shape[0]} further samples, with a "
                f"column for each of the {n} fitted samples and then for each of themselves: "
                f"{n + X.shape[0]} columns; got shape {X.shape}."
            )
        return X

    def _coordinates_with(self, X):
        """Where a solve begins: old samples, and each further one as if it were the only one."""
        n = len(self.embedding_)
        if self._is_pair(X):
            indices, distances = X
            X = np.where(indices < n, indices, -1), distances
        elif self._is_precomputed():
            X = X[:, :n]  # what each knows of the old ones
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            further = self._coordinates(X)
        return np.concatenate([self.embedding_.astype(np.float64), further])

    def _joined(self, further):
        """The embedding with the old rows as they were, bit for bit, and further ones."""
        old = self.embedding_
        return np.concatenate([old, as_output(further, old)])
