"""The method ``distortions`` of estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skmde._utils.device import cpu_by_default
from skmde._utils.sklearn_compat import check_is_fitted
from skmde.estimators.judging.problem import SolvedProblem

if TYPE_CHECKING:
    from skmde.metrics.distortions import Distortions


class JudgingMixin:
    """What an estimator says of its embedding.

    An estimator implements ``_solved_problem``.
    """

    def _solved_problem(self) -> SolvedProblem:
        """The problem that was solved last, at the embedding."""
        raise NotImplementedError

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
        Monograph, section 2.5 (validation).
        """
        check_is_fitted(self)
        with cpu_by_default():
            return self._solved_problem().distortions()
