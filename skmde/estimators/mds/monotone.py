"""The problem whose original distances are known up to a monotone function."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
import torch

from skmde._linalg.frame import Unit
from skmde._utils.warn import warn
from skmde.constraints import Constraint
from skmde.core.monotone.descent import Descent
from skmde.core.monotone.problem import MonotoneMDE, pair_indices
from skmde.core.monotone.regressions import (
    INTERVAL,
    ORDINAL,
    RATIO,
    Steps,
    regression,
)
from skmde.estimators.mds.metric import packed
from skmde.estimators.mds.solution import Solution
from skmde.estimators.pairs.base import Pairs, listed_edges, matrix_of_pairs
from skmde.estimators.pairs.matrix_distances import MatrixDistances
from skmde.estimators.pairs.stress import stress_ratio

KINDS = {ORDINAL, INTERVAL, RATIO}

# Distance below which items practically coincide, relative to the root mean square, and the share
# of the pairs from which such a map is degenerate.
_TOGETHER, _MANY = 1e-2, 0.05


@dataclass
class MonotoneProblem:
    """Pairs with original distances of which a function is to be kept, and a constraint.

    Attributes
    ----------
    n_items, n_components : int
    pairs : Pairs
    kind : {"ordinal", "interval", "ratio"}
    ties : {"primary", "secondary"}
    constraint : Constraint
    nothing_free : bool
        Whether all items are fixed, so that the pairs do not count.
    """

    n_items: int
    n_components: int
    pairs: Pairs
    kind: str
    ties: str
    constraint: Constraint
    nothing_free: bool = False
    scale: float = 1.0  # the curve scales the distances
    unit: Unit = field(default_factory=Unit)
    is_rugged = True  # an ordinary start leads to a poor local minimum

    def __post_init__(self):
        distances = self.pairs.distances
        low, high = distances.min(), distances.max()
        if self.kind == ORDINAL and self.ties == "primary" and low == high and len(distances) > 1:
            warn(
                f"All {len(distances)} pairs have the same distance, {low:.6g}, so there is no "
                "order to keep; ties='secondary' is used, which makes all distances as equal as "
                "possible. Give distances that differ."
            )
            self.ties = "secondary"

    def _regression(self):
        return regression(self.kind, self.pairs.distances, self.pairs.weights, self.ties)

    @property
    def length(self):
        """Typical length of a starting point."""
        return 1.0

    def descent(self):
        """A quick descent to local minima in any dimension, or None if there is none."""
        if self.kind != ORDINAL or not self.constraint.is_free or self.pairs.labels is not None:
            return None
        pairs = pair_indices(self.pairs.edges, self.n_items)
        return Descent(*pairs, self.pairs.weights, regression=self._regression())

    def first_guess(self, source):
        """A source and pairs with disparities in place of distances, from which a start is made.

        They depend on the order of the distances alone if the problem does.
        """
        if self.kind == RATIO:
            return source, self.pairs
        guess = regression(ORDINAL, self.pairs.distances).guess
        pairs = self.pairs._replace(distances=guess)
        n = self.n_items
        if pairs.n_unreachable or pairs.labels is not None:  # the source would use other pairs
            return MatrixDistances(matrix_of_pairs(listed_edges(pairs, n), guess, n)), pairs
        levels, at = np.unique(self.pairs.distances, return_index=True)
        return _Transformed(source, Steps(levels, levels, guess[at])), pairs

    def solve(self, start, options, n_jobs):
        """Solve from a starting point of any size; see :meth:`MetricProblem.solve`."""
        constraint, pairs = self.constraint, self.pairs
        problem = MonotoneMDE(
            self.n_items,
            self.n_components,
            pairs.edges,
            self._regression(),
            constraint,
            weights=pairs.weights,
            n_jobs=n_jobs,
        )
        if constraint.is_free:
            start = start / (np.sqrt(np.square(start).sum(axis=1).mean()) or 1.0)
        found = problem.embed_from(start, **options)
        result = problem.result
        distances, disparities, curve = problem.fitted(found)
        w = np.ones(1) if pairs.weights is None else pairs.weights.astype(np.float64)
        squares = float((w * distances**2).mean())
        factor = self._factor(curve, squares / float(w.mean()))
        errors = factor**2 * float((w * (distances - disparities) ** 2).mean())

        def finished(X):
            return factor * constraint.finish(torch.from_numpy(X)).numpy()

        embedding, move = packed(finished(found), pairs.labels, constraint)
        if not self.nothing_free:
            self._warn_if_degenerate(distances, disparities)
        history = result.history.as_arrays()
        if factor > 0:
            history["residual_norm"] /= factor
        return Solution(
            embedding=embedding,
            value=result.value,
            residual_norm=float(history["residual_norm"][-1]),
            distortion=0.0 if self.nothing_free else errors,
            stress=0.0 if self.nothing_free else stress_ratio(errors, factor**2 * squares),
            n_iter=result.n_iter,
            converged=result.converged,
            reason=result.reason,
            history=history,
            snapshots=[(k, finished(X) + move) for k, X in result.history.snapshots],
            disparities=factor * disparities[: 0 if self.nothing_free else None],
            curve=curve.scaled(factor),
        )

    def _factor(self, curve, mean_square):
        """Factor from the solver's unit, which is arbitrary, to that of the embedding."""
        if not self.constraint.is_free or not mean_square > 0:
            return 1.0
        if self.kind == RATIO:
            return 1.0 / curve.slope if curve.slope > 0 else 0.0
        return float(1.0 / np.sqrt(mean_square))

    def _warn_if_degenerate(self, d, disparities):
        if self.kind == RATIO:
            return
        delta = self.pairs.distances
        if np.ptp(delta) > 0 and np.ptp(disparities) <= 1e-9 * disparities.max(initial=0.0):
            warn(
                "The map is degenerate: all disparities are equal, so it keeps nothing of the "
                "distances. Check that they are distances, not similarities; use more components, "
                "or monotone=False."
            )
            return
        size = np.sqrt(np.mean(d**2))
        together = (d <= _TOGETHER * size) & (delta > delta.min())
        share = float(together.mean())
        if self.kind == ORDINAL and share > _MANY:
            warn(
                f"The map is degenerate: {100 * share:.0f}% of the pairs practically coincide, "
                "although their distances differ, as where groups are so far apart that their "
                "inner order counts for nothing. Use monotone='interval' or False, more "
                "components, or fewer pairs between the groups."
            )


def warn_if_similarities(X):
    """Warn if a matrix of distances has its largest entries on the diagonal."""
    if sp.issparse(X) or len(X) < 3:
        return
    own = np.diagonal(X)
    others = X[~np.eye(len(X), dtype=bool)]
    if others.max(where=np.isfinite(others), initial=0.0) < own.min() < np.inf:
        warn(
            f"The diagonal of X, from {own.min():.6g} on, is larger than all other entries, as in "
            "similarities. Their order is the reverse of that of distances: use the "
            "largest similarity minus X."
        )


class _Transformed:
    """A source of distances under a function; only what a starting point needs."""

    is_euclidean = False

    def __init__(self, source, curve):
        self._source, self._curve = source, curve
        self.n_items = source.n_items

    def from_items(self, items):
        D = self._curve(self._source.from_items(items))
        D[np.arange(len(items)), items] = 0.0
        return D
