"""Scores of unseen samples by their neighbours among the training samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.device import cpu_by_default
from skmde._utils.sklearn_compat import check_is_fitted
from skmde.estimators.base.input import InputMixin
from skmde.estimators.base.typing import Data

_SCORED = 15  # nearest training samples that `score` compares


class NeighborScoresMixin(InputMixin):
    """``score_samples`` and ``score`` of an estimator that places samples by their neighbours.

    ``_counted`` selects the samples of nonzero weight, and ``_neighbors`` finds neighbours among
    them.
    """

    embedding_: np.ndarray
    _counted: Any
    _neighbors: Any

    def _place(self, X: Any) -> tuple[Any, Any]:
        """Coordinates of unseen samples, and their neighbours among those of nonzero weight."""
        raise NotImplementedError

    def _columns(self, X: Any) -> Any:
        """The part of X that refers to the samples of nonzero weight."""
        raise NotImplementedError

    def score_samples(self, X: Data) -> np.ndarray:
        """Measure how well the training data support each sample.

        The neighbour distance of a sample is the distance to the farthest of its nearest training
        samples. The support is the mean neighbour distance of these training samples, divided by
        the neighbour distance of the sample: the inverse of the simplified local outlier factor.
        For a sample of low support, the coordinates given by `transform` are not meaningful.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `transform`.

        Returns
        -------
        support : ndarray of shape (n_new,)
            1 for a sample that is at least as close to the training samples as they are to each
            other. It decreases with the distance; 0 for a sample without neighbours.

        References
        ----------
        E. Schubert, A. Zimek, H.-P. Kriegel, *Local outlier detection reconsidered*, 2014.
        """
        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            return self._neighbors.support(self._columns(X))

    def score(self, X: Data, y: Any = None) -> float:
        """Share of the nearest training samples that are also nearest in the embedding.

        For every row of X, the 15 training samples nearest to it are compared with the 15 training
        samples nearest to its coordinates in the embedding (see `transform`). The score is the mean
        share that both sets have in common. 1 is best; a random embedding scores
        ``15 / n_samples``. The number 15 does not depend on `n_neighbors`, and the score does not
        depend on the scale of the penalties. So a grid search can use it to compare numbers of
        neighbours, weights of repulsion, penalties, dimensions and constraints.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `transform`. Use unseen samples to avoid an optimistic score.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        # Imported here because it loads a tenth of scikit-learn, which a fit does not need.
        from sklearn.neighbors import NearestNeighbors

        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            coordinates, _ = self._place(X)
            indices = self._neighbors.nearest(self._columns(X), _SCORED)
        anchors = self._counted.rows(self.embedding_)
        k = min(indices.shape[1], len(anchors))
        search = NearestNeighbors(n_neighbors=k).fit(anchors)
        near = search.kneighbors(coordinates, return_distance=False)
        valid = indices >= 0
        common = (indices[:, :, None] == near[:, None, :]).any(axis=2) & valid
        return float(np.mean(common.sum(axis=1) / np.maximum(valid.sum(axis=1), 1)))
