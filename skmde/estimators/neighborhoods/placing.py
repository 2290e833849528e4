"""Placement of samples by their neighbours, for an estimator whose other samples stay in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.rows import rows_of
from skmde._utils.threads import count_threads
from skmde.core.placement.by_neighbors import place_by_neighbors
from skmde.estimators.base.neighbor_scores import NeighborScoresMixin
from skmde.preprocessing.neighbors.known_rows import with_twins


class NeighborPlacementMixin(NeighborScoresMixin):
    """Coordinates of samples that their neighbours attract and samples in general repel.

    ``_counted`` selects the samples of nonzero weight, ``_neighbors`` finds neighbours among them,
    ``_rule`` has the penalties, and ``_repulsive`` says which samples repel.
    """

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
        counted, anchors = self._counted, self._counted.rows(self.embedding_)
        indices, weights, twin = self._neighbors.of_unseen(self._columns(X))
        if counted.weights is not None:
            weights *= counted.weights[indices]
        penalties, n_threads = self._rule.penalties, count_threads(self.n_jobs)
        repulsion = self._repulsive.arguments(anchors, penalties[1], counted.weights, n_threads)

        def coordinates(rows):
            return place_by_neighbors(
                anchors,
                indices[rows],
                weights[rows],
                *penalties,
                **repulsion,
                project=self._row_projection(),
                n_threads=n_threads,
            )

        return with_twins(coordinates, twin, anchors), indices

    def _leave_one_out(self, X, items):
        """Where each of some samples would be placed, were it an unseen one; NaN for weight 0."""
        counted, anchors = self._counted, self._counted.rows(self.embedding_)
        own = counted.positions(items)
        there = np.flatnonzero(own >= 0)
        own = own[there]
        indices, weights = self._neighbors.of_others(self._columns(rows_of(X, items[there])), own)
        if counted.weights is not None:
            weights *= counted.weights[indices]
        penalties, n_threads = self._rule.penalties, count_threads(self.n_jobs)
        repulsion = self._repulsive.arguments(anchors, penalties[1], counted.weights, n_threads)
        coordinates = np.full((len(items), anchors.shape[1]), np.nan)
        coordinates[there] = place_by_neighbors(
            anchors,
            indices,
            weights,
            *penalties,
            **repulsion,
            own=(own, self._repulsive.own_weights(own, counted.weights)),
            project=self._row_projection(),
            n_threads=n_threads,
        )
        return coordinates

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
