"""What a solve of a scaling problem gives an estimator, in units of the embedding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skmde.core.monotone.regressions import Curve


@dataclass
class Solution:
    """An embedding that was solved for.

    Attributes
    ----------
    embedding : ndarray of shape (n, m), float64
    value, residual_norm : float
        What the solver minimised, and the norm of its projected gradient.
    distortion, stress : float
        Average distortion, and normalised stress.
    n_iter : int
    converged : bool
    reason : str
    history : dict of ndarray
    snapshots : list of tuple of (int, ndarray of shape (n, m))
    disparities : ndarray of shape (p,), or None
        If the original distances are known up to a function: its values.
    curve : Curve or None
        That function.
    """

    embedding: np.ndarray
    value: float
    residual_norm: float
    distortion: float
    stress: float
    n_iter: int
    converged: bool
    reason: str
    history: dict[str, np.ndarray]
    snapshots: list[tuple[int, np.ndarray]]
    disparities: np.ndarray | None = None
    curve: Curve | None = None

    def after(self, before):
        """The solution with the history of an earlier one; the way between is one iteration."""
        begin, skipped = before.history["seconds"][-1], before.n_iter + 1
        own = {**self.history, "seconds": begin + self.history["seconds"]}
        return replace(
            self,
            n_iter=skipped + self.n_iter,
            history={name: np.append(before.history[name], own[name]) for name in own},
            snapshots=before.snapshots + [(skipped + number, X) for number, X in self.snapshots],
        )

    def describe(self, estimator):
        """Set the fitted attributes that describe the solve."""
        estimator.stress_, estimator.distortion_ = self.stress, self.distortion
        estimator.residual_norm_, estimator.n_iter_ = self.residual_norm, self.n_iter
        estimator.converged_, estimator.stop_reason_ = self.converged, self.reason
        estimator.history_ = self.history
