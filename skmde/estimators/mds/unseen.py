"""Unseen samples, which are placed by their distances to some of the fitted ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from skmde._utils.device import cpu_by_default
from skmde._utils.rows import blocks_of_rows, rows_of
from skmde._utils.sklearn_compat import TransformerMixin, check_is_fitted
from skmde._utils.threads import count_threads
from skmde._utils.workers import by_workers
from skmde.core.placement.by_distances import place_by_distances
from skmde.estimators.base.input import as_output
from skmde.estimators.base.typing import Data
from skmde.estimators.pairs.stress import stress_ratio, sums_of_squares
from skmde.estimators.unseen.support import SupportMixin
from skmde.preprocessing.neighbors.known_rows import with_twins

_ROWS_AT_ONCE = 1000  # that are placed as if they were unseen


class UnseenByDistancesMixin(SupportMixin, TransformerMixin):  # set_output applies to transform
    """The methods ``transform`` and ``score``, and those of the support; not for direct use.

    An estimator has a source of distances to its landmarks, a loss and its unit, and a scale of the
    distances or a curve that gives their disparities.
    """

    _curve = None

    def transform(self: Any, X: Data) -> np.ndarray:
        """Place unseen samples; the coordinates of the training samples do not change.

        The coordinates of a sample minimise the average loss of its distances to the landmarks, at
        most 1000 training samples that `fit` chose. Unseen samples do not influence each other, so
        the result for a row does not depend on the rest of X. A sample that equals a training
        sample, or is given at distance 0 from one, gets the coordinates of that sample. A sample
        without any distance is placed at the centre. If `pair_weights` splits the training samples
        into parts without a pair between them, only the part of the nearest landmark is used.

        If the constraint acts on rows one by one, as a sphere or a box does, the samples are placed
        within it; other constraints are ignored here.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples; for ``metric="precomputed"`` and ``"graph"``, their distances to the training
            samples, of shape (n_new, n_samples), infinite or not stored where there is none. For
            "graph", the lengths of edges to some training samples are enough: shortest paths are
            completed through the graph. There, 0 in a dense matrix is no edge, as in `fit`; a
            sparse one can store an edge of length 0.

        Returns
        -------
        embedding : ndarray of shape (n_new, n_components)
            Coordinates, in the float dtype of X.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X is invalid, if it does not match the training data, or if `compact` discarded
            them.

        Warns
        -----
        UserWarning
            If a constraint of your own cannot be held by unseen rows; see
            :attr:`Constraint.acts_on_rows`.

        References
        ----------
        Monograph, section 2.4.2 (incremental embedding).
        """
        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            return as_output(by_workers(self._coordinates, X), X)

    def _coordinates(self, X):
        project = self._row_projection()
        return np.concatenate([self._place(part, project)[0] for part in self._blocks(X)])

    def _support(self, X):
        source, tables = self._distance_source, self._distance_source.landmark_tables()
        parts = [tables.support(source.of_unseen(part)[0]) for part in self._blocks(X)]
        return np.concatenate(parts)

    def _support_of_fitted(self):
        return self._distance_source.landmark_tables().support_of_fitted()

    def _blocks(self, X):
        return blocks_of_rows(X, len(self._landmarks))

    def _leave_one_out(self, X, items):
        """Where each of some samples would be placed, were it an unseen one."""
        project = self._row_projection()
        parts = np.array_split(items, max(1, len(items) // _ROWS_AT_ONCE))
        return np.concatenate([self._place(rows_of(X, own), project, own)[0] for own in parts])

    def _place(self, X, project, own=None):
        """Coordinates of unseen samples, float64, and their scaled distances to the landmarks.

        With `own`, the samples are fitted ones, which are placed as if they were not.
        """
        D, twin = self._distance_source.of_unseen(X)
        if own is not None:
            D[own[:, None] == self._landmarks] = np.inf
            twin = np.full(len(own), -1)
        if self._parts is not None:
            nearest = self._parts[D.argmin(axis=1)]
            D[self._parts != nearest[:, None]] = np.inf
        D = self._targets(D)

        def coordinates(rows):
            # The units of the fit, because the loss of a pair at distance 0 depends on them.
            unit = self._unit
            landmarks = unit.inside(self.embedding_[self._landmarks].astype(np.float64))
            deviations, n_threads = unit.inside(D[rows]), count_threads(self.n_jobs)
            options = {"n_threads": n_threads}
            if project is not None:
                options["project"] = lambda Z: unit.inside(project(unit.outside(Z)))
            return unit.outside(place_by_distances(landmarks, deviations, self._loss, **options))

        return with_twins(coordinates, twin, self.embedding_), D

    def score(self: Any, X: Data, y: Any = None) -> float:
        """Minus the normalised stress of unseen samples; 0 is best.

        The samples are placed by `transform`. Their distances to the landmarks in the embedding are
        compared with the original distances, or with their disparities. The score has no units and
        does not depend on the loss, so a grid search can use it to compare losses, dimensions and
        constraints.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `transform`.
        y : None
            Ignored.

        Returns
        -------
        score : float
            At most 0.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X is invalid, if it does not match the training data or has no distance to a
            landmark, or if `compact` discarded the training data.
        """
        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            landmarks = self.embedding_[self._landmarks].astype(np.float64)
            project = self._row_projection()
            placed = (self._place(part, project) for part in self._blocks(X))
            own = self._own_distance()
            sums = [sums_of_squares(coordinates, landmarks, D, own) for coordinates, D in placed]
        errors, squares, n_pairs = np.sum(sums, axis=0)
        if not n_pairs:
            raise ValueError(
                "X has no distance to the training samples that place unseen samples; give rows "
                "with such distances."
            )
        return -stress_ratio(errors, squares)

    def _targets(self, distances):
        """Original distances in units of the embedding, or their disparities."""
        return distances * self.scale_ if self._curve is None else self._curve(distances)
