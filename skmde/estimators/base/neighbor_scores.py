"""Scores of unseen samples by their neighbours among the training samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from skmde._utils.device import cpu_by_default
from skmde._utils.sklearn_compat import check_is_fitted
from skmde.estimators.base.input import InputMixin
from skmde.estimators.base.typing import Data


class NeighborScoresMixin(InputMixin):
    """``score_samples`` and ``score`` of an estimator that places samples by their neighbours.

    The estimator has ``_neighbors``, which finds neighbours among the samples of nonzero weight,
    and ``_counted``, which knows these.
    """

    embedding_: np.ndarray
    _counted: Any
    _neighbors: Any

    def _place(self, X: Any) -> tuple[Any, Any]:
        """Coordinates of unseen samples, and their neighbours among those of nonzero weight."""
        raise NotImplementedError

    def _columns(self, X: Any) -> Any:
        """What the rows of X say of the samples of nonzero weight."""
        raise NotImplementedError

    def score_samples(self, X: Data) -> np.ndarray:
        """How near samples are to the training samples, as these are to each other.

        The distance from a sample to the farthest of its neighbours, which are training samples, is
        compared with the same distance of these: their mean is divided by the sample's own, which
        is one over the simplified local outlier factor. Where `transform` puts a sample of low
        support says little.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `transform`.

        Returns
        -------
        support : ndarray of shape (n_new,)
            1 for a sample that is as near to training samples as they are to each other, or
            nearer; the less, the farther away; 0 for one without neighbours.

        References
        ----------
        E. Schubert, A. Zimek, H.-P. Kriegel, *Local outlier detection reconsidered*, 2014.
        """
        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            return self._neighbors.support(self._columns(X))

    def score(self, X: Data, y: Any = None) -> float:
        """Share of the nearest training samples that are nearest in the embedding, too.

        For every row of X, the `n_neighbors` training samples nearest to it are compared with
        the `n_neighbors` training samples nearest to its place in the embedding (see
        `transform`). The score is the mean share that both have in common: 1 is best, chance is
        ``n_neighbors / n_samples``. It does not depend on the penalties' scale, so it can compare
        penalties, dimensions and constraints in a grid search.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `transform`; unseen samples for an honest figure.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        check_is_fitted(self)
        with cpu_by_default():
            coordinates, indices = self._place(self._checked_unseen(X))
        anchors = self._counted.rows(self.embedding_)
        k = min(indices.shape[1], len(anchors))
        search = NearestNeighbors(n_neighbors=k).fit(anchors)
        near = search.kneighbors(coordinates, return_distance=False)
        valid = indices >= 0
        common = (indices[:, :, None] == near[:, None, :]).any(axis=2) & valid
        return float(np.mean(common.sum(axis=1) / np.maximum(valid.sum(axis=1), 1)))
