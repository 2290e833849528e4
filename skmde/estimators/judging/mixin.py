"""The methods ``distortions``, ``redundancy_check`` and ``refit_without_worst_pairs``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skmde._utils.device import cpu_by_default
from skmde._utils.sklearn_compat import check_is_fitted
from skmde.core.starts.fixed_items import has_free_item
from skmde.estimators.base.typing import Data, RandomState
from skmde.estimators.judging.problem import SolvedProblem
from skmde.estimators.judging.redundancy import (
    DroppedPairs,
    HeldOutPairs,
    HoldOut,
    RedundancyCheck,
    Refit,
    worst_pairs,
)
from skmde.estimators.pairs.base import Pairs, listed_edges, selection

if TYPE_CHECKING:
    from skmde.metrics.distortions import Distortions


class JudgingMixin:
    """What an estimator says of its embedding.

    An estimator implements ``_solved_problem``, and in a fit passes its pairs to `_hold_out`.
    """

    _holdout: HoldOut | DroppedPairs | None = None

    def _solved_problem(self) -> SolvedProblem:
        """The problem that was solved last, at the embedding."""
        raise NotImplementedError

    def _can_leave_one_out(self) -> bool:
        """Whether `_leave_one_out` places training samples; compact estimators do not."""
        return True

    def _leave_one_out(self, X: Any, items: Any) -> Any:
        """Where each of the training samples `items` of X would be placed, were it unseen."""
        raise NotImplementedError

    def _targets(self, distances: Any) -> Any:
        """Original distances, as the distortion functions take them."""
        return distances

    def distortions(self: Any) -> Distortions:
        """Distortions of the pairs of the problem that was solved last.

        They show which pairs, items and groups of items the embedding keeps badly: see
        :class:`skmde.metrics.Distortions`. If all pairs of samples repel each other, that repulsion
        has no list of pairs. Its part of the average distortion is given by item instead, in
        ``terms``, and belongs to the two items of a pair by half.

        Returns
        -------
        distortions : Distortions
            ``distortions.average`` is `distortion_`, up to the accuracy of the sums over all pairs.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If `compact` discarded what is needed, or if the problem has no list of pairs.

        References
        ----------
        Monograph, section 2.6 (validation).
        """
        check_is_fitted(self)
        with cpu_by_default():
            return self._solved_problem().distortions()

    def redundancy_check(
        self: Any,
        X: Data,
        y: Any = None,
        *,
        holdout: float = 0.1,
        random_state: RandomState = 0,
        **fit_params: Any,
    ) -> RedundancyCheck:
        """Fit without a share of the pairs, and compare the distortion of both.

        A good embedding does not need all of its pairs. A copy of this estimator is fitted to X
        without some of the pairs that attract, or that have an original distance. If the average
        distortion of the pairs that were held out is much larger than that of the pairs that were
        used, there may be too few pairs: raise `n_neighbors`, for example. Sampled pairs that repel
        are not held out. This estimator does not change.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `fit`.
        y : array-like, default=None
            As for `fit`.
        holdout : float, default=0.1
            Share of the pairs that are held out, between 0 and 1.
        random_state : int, RandomState instance or None, default=0
            Seeds the choice of these pairs.
        **fit_params : dict
            Passed to `fit`.

        Returns
        -------
        check : RedundancyCheck
            Has the averages ``used`` and ``held_out``, their ``ratio``, and the numbers of pairs.

        Raises
        ------
        ValueError
            If `holdout` is not between 0 and 1, there are too few pairs, or the weights of the
            pairs belong together, so that none can be left out.

        References
        ----------
        Monograph, section 2.6 (validation).
        """
        other, pairs = self._fitted_without(
            HoldOut(holdout, check_random_state(random_state)), X, y, fit_params
        )
        with cpu_by_default():
            problem = other._solved_problem()
            weights = np.ones(1) if problem.weights is None else problem.weights
            used = problem.distortions().values[np.broadcast_to(weights > 0, len(problem.edges))]
            known = None if pairs.distances is None else other._targets(pairs.distances)
            others = replace(
                problem, edges=pairs.edges, weights=pairs.weights, deviations=known, repulsion=None
            )
            held = others.distortions().values
        numbers = float(used.mean(dtype=np.float64)), float(held.mean(dtype=np.float64))
        return RedundancyCheck(*numbers, len(used), len(held))

    def refit_without_worst_pairs(
        self: Any, X: Data, y: Any = None, *, fraction: float = 0.01, **fit_params: Any
    ) -> Refit:
        """Fit a copy without the pairs of highest distortion.

        Of the pairs that attract, or that have an original distance, those whose distortion is far
        above that of others may be wrong: they pair items that are not alike, and hold parts of the
        map together that do not belong together. This estimator, which must be fitted to X,
        does not change.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `fit`.
        y : array-like, default=None
            As for `fit`.
        fraction : float, default=0.01
            Share of these pairs that is left out, above 0 and below 1; at least one pair.
        **fit_params : dict
            Passed to `fit`.

        Returns
        -------
        refit : Refit
            Has the fitted ``estimator``, the ``pairs`` that were left out, and their
            ``distortions`` before. A :class:`QuadraticMDE` is fitted to the remaining weights, with
            ``weights="precomputed"``.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If `fraction` is not between 0 and 1, there are too few pairs, or the weights of the
            pairs belong together, so that none can be left out.

        See Also
        --------
        distortions : Shows the pairs first.

        References
        ----------
        Monograph, section 2.6 (validation).
        """
        found = self.distortions()
        worst = worst_pairs(found, fraction)
        other, left = self._fitted_without(DroppedPairs(found.pairs[worst]), X, y, fit_params)
        other.__dict__.pop("_holdout", None)  # a further fit uses all pairs
        if len(left.edges) == 0:
            raise ValueError(
                "The pairs of highest distortion are no pairs of the problem for this X; give the "
                "X that the estimator was fitted to, and an integer random_state."
            )
        return Refit(other, found.pairs[worst], found.values[worst])

    def _fitted_without(
        self: Any, holdout: HoldOut | DroppedPairs, X: Any, y: Any, fit_params: Any
    ) -> Any:
        """A copy that is fitted without some pairs, and these pairs."""
        other = clone(self)
        other._holdout = holdout
        if hasattr(other, "checkpoint"):  # that of the fit of all pairs
            other.checkpoint = None
        return other.fit(X, y, **fit_params), holdout.pairs

    def _hold_out(
        self, edges: Any, weights: Any = None, distances: Any = None, counts: Any = True
    ) -> Any:
        """The pairs that a fit may use, as a mask; None if it may use all of them.

        Pairs that repel, and those for which `counts` is false, are not held out.
        """
        if self._holdout is None:
            return None
        attracts = True if weights is None else weights > 0
        left = self._holdout.chosen(np.broadcast_to(attracts & counts, len(edges)), edges)
        others = (None if part is None else part[left] for part in (weights, distances))
        self._holdout.pairs = HeldOutPairs(edges[left], *others)
        return ~left

    def _without_held_out(self, pairs: Pairs, n_items: int, fixed: Any) -> Pairs:
        """The pairs that a fit may use; those of two fixed items count for nothing."""
        if self._holdout is None:
            return pairs
        edges = listed_edges(pairs, n_items)
        free = has_free_item(n_items, fixed, edges)
        kept = self._hold_out(edges, pairs.weights, pairs.distances, free)
        return selection(pairs._replace(edges=edges), kept, n_items)
