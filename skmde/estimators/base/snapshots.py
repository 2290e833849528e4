"""Snapshots of an iterative fit: the embedding after every so many iterations."""

from __future__ import annotations

from typing import Self

import numpy as np

from skmde.estimators.base.embedding import BaseEmbedding


class SnapshotsMixin(BaseEmbedding):
    """The attributes ``snapshots_`` and ``snapshot_iterations_``; not for direct use."""

    def _solver_options(self, more_callbacks=()):
        options = super()._solver_options(more_callbacks)
        return {**options, "snapshot_every": self.snapshot_every}

    def _check_parameters(self):
        super()._check_parameters()
        if isinstance(self.snapshot_every, bool):
            raise ValueError(
                f"snapshot_every must be a number of iterations or None, not a bool; got "
                f"{self.snapshot_every}."
            )

    def _keep_snapshots(self, taken, embedding_of=np.asarray):
        """Store the iterates of a solve, and the embedding as the last one.

        Parameters
        ----------
        taken : sequence of tuple of (int, ndarray)
            Iteration and iterate of each snapshot of the solver.
        embedding_of : callable
            Does with an iterate what was done with the solution: rows, units and moves.
        """
        self.snapshots_ = self.snapshot_iterations_ = None
        if self.snapshot_every is None:
            return
        earlier = [(number, X) for number, X in taken if number < self.n_iter_]
        numbers = [*(number for number, _ in earlier), self.n_iter_]
        self.snapshot_iterations_ = np.array(numbers, dtype=np.int64)
        self.snapshots_ = np.empty((len(numbers), *self.embedding_.shape), self.embedding_.dtype)
        for frame, (_, X) in zip(self.snapshots_, earlier, strict=False):
            frame[:] = embedding_of(X)
        self.snapshots_[-1] = self.embedding_

    def compact(self) -> Self:
        """Discard the training data and the snapshots to reduce memory use and file size.

        The embedding and all other fitted attributes are kept; `snapshots_` is then None.
        `transform` and all other methods that take unseen samples raise an error until `fit` is
        called again.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        """
        super().compact()
        self.snapshots_ = self.snapshot_iterations_ = None
        return self
