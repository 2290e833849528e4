"""Placement of samples by their neighbours, for an estimator whose other samples stay in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.device import cpu_by_default
from skmde._utils.rows import rows_of
from skmde._utils.sklearn_compat import check_is_fitted
from skmde._utils.threads import count_threads
from skmde.core.placement.by_neighbors import place_by_neighbors
from skmde.estimators.base.input import InputMixin
from skmde.estimators.base.typing import Data
from skmde.estimators.unseen.support import SupportMixin
from skmde.preprocessing.neighbors.known_rows import with_twins

_SCORED = 15  # nearest training samples that `score` compares


class NeighborPlacementMixin(SupportMixin, InputMixin):
    """Coordinates of samples that their neighbours attract and samples in general repel.

    ``_counted`` selects the samples of nonzero weight, ``_neighbors`` finds neighbours among them,
    ``_rule`` has the penalties, and ``_repulsive`` says which samples repel.
    """

    embedding_: np.ndarray
    _counted: Any
    _neighbors: Any
    _rule: Any
    _repulsive: Any
    n_jobs: int | None
    snapshots_: np.ndarray | None

    def _row_projection(self) -> Any:
        """The projection of rows onto the constraint, or None."""
        raise NotImplementedError

    def _coordinates(self, X):
        return self._place(X)[0]

    def _place(self, X):
        """Coordinates of unseen samples, float64, and their neighbours of nonzero weight."""
        indices, weights, twin = self._neighbors.of_unseen(self._columns(X))
        place = self._placement(indices, weights)
        return with_twins(place, twin, self._counted.rows(self.embedding_)), indices

    def _leave_one_out(self, X, items):
        """Where each of some samples would be placed, were it an unseen one; NaN for weight 0."""
        own = self._counted.positions(items)
        there = np.flatnonzero(own >= 0)
        own = own[there]
        neighbors = self._neighbors.of_others(self._columns(rows_of(X, items[there])), own)
        own_weights = self._repulsive.own_weights(own, self._counted.weights)
        coordinates = np.full((len(items), self.embedding_.shape[1]), np.nan)
        coordinates[there] = self._placement(*neighbors)(own=(own, own_weights))
        return coordinates

    def _placement(self, indices, weights):
        """A function that places rows, some or all, by their neighbours of nonzero weight."""
        counted, anchors = self._counted, self._counted.rows(self.embedding_)
        if counted.weights is not None:
            weights *= counted.weights[indices]
        penalties, n_threads = self._rule.penalties, count_threads(self.n_jobs)
        repulsion = self._repulsive.arguments(anchors, penalties[1], counted.weights, n_threads)

        def place(rows=slice(None), own=None):
            return place_by_neighbors(
                anchors,
                indices[rows],
                weights[rows],
                *penalties,
                **repulsion,
                own=own,
                project=self._row_projection(),
                n_threads=n_threads,
            )

        return place

    def _place_zero_weight(self, X):
        """Place the samples of weight 0 as `transform` places unseen ones."""
        if self._counted.items is not None:
            items, rows = self._counted.zero_weight_samples(X)
            self.embedding_[items] = self._place(rows)[0]
            if self.snapshots_ is not None:
                self.snapshots_[:, items] = self.embedding_[items]

    def _columns(self, X):
        """The part of X that refers to the samples of nonzero weight."""
        return self._counted.columns(X) if self._is_precomputed() else X

    def _support(self, X):
        return self._neighbors.support(self._columns(X))

    def _support_of_fitted(self):
        return self._neighbors.support_of_fitted()

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

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X is invalid, if it does not match the training data, or if `compact` discarded
            them.
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
