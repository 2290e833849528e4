"""Whether the training data support unseen samples, by a threshold from the training samples."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from skmde._utils.device import cpu_by_default
from skmde._utils.sklearn_compat import available_if, check_is_fitted
from skmde.estimators.base.typing import Data


def _has_support(estimator):
    """Whether an estimator has these methods; the AttributeError says why not."""
    reason = estimator._why_no_support()
    if reason is not None:
        raise AttributeError(reason)
    return True


class SupportMixin:
    """``score_samples``, ``is_supported`` and ``predict_support``; not for direct use.

    An estimator has the support of unseen samples and that of its training samples. One whose
    parameters leave neither says why, and does not have the methods.
    """

    def _why_no_support(self) -> str | None:
        """Why no distance says how far a sample is from the training samples; None if one does."""
        return None

    def _support(self, X: Any) -> np.ndarray:
        """The support of checked unseen samples."""
        raise NotImplementedError

    def _support_of_fitted(self) -> np.ndarray:
        """The support of training samples, each as if it were unseen."""
        raise NotImplementedError

    @available_if(_has_support)
    def score_samples(self: Any, X: Data) -> np.ndarray:
        """Measure how well the training data support each sample.

        The neighbour distance of a sample is the distance to the farthest of its nearest training
        samples. The support is the mean neighbour distance of these training samples, divided by
        the neighbour distance of the sample: the inverse of the simplified local outlier factor.
        For a sample of low support, the coordinates given by `transform` are not meaningful.
        Estimators that place a sample by its distances to landmarks, PreserveDistances and
        AnchoredMDE with a loss, take the nearest 15 of these in place of nearest training samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `transform`.

        Returns
        -------
        support : ndarray of shape (n_new,)
            1 for a sample that is at least as close to the training samples as they are to each
            other. It decreases with the distance; 0 for a sample without neighbours.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        AttributeError
            If the estimator does not compare samples by distances for its parameters.
        ValueError
            If X is invalid, if it does not match the training data, or if `compact` discarded
            them.

        References
        ----------
        E. Schubert, A. Zimek, H.-P. Kriegel,
        *Local outlier detection reconsidered*, 2014.
        """
        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            return self._support(X)

    @available_if(_has_support)
    def is_supported(self, X: Data, *, contamination: float = 0.05) -> np.ndarray:
        """Whether the training data support each sample, by a calibrated threshold.

        The threshold is the support (see `score_samples`) below which a share `contamination` of
        the training samples fall, each scored as if it were unseen; of the landmarks, where these
        place samples. So of unseen samples from the distribution of the training data, a share of
        about `contamination` is not supported, within the error of drawing both: the standard
        deviation of that share is ``sqrt(c * (1 - c) * (1 / n_samples + 1 / n_new))``, about.
        Samples of other distributions are more often unsupported; how often depends on how far off
        they are. A sample without neighbours, within `max_distance`, is never supported.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Unseen samples, as for `transform`. A training sample finds itself, so fewer of them
            are unsupported.
        contamination : float, default=0.05
            Share of the training samples that count as outliers, above 0 and at most 0.5, as for
            scikit-learn's outlier detectors.

        Returns
        -------
        supported : ndarray of bool of shape (n_new,)
            False for samples whose coordinates are not meaningful.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        AttributeError
            As for `score_samples`.
        ValueError
            As for `score_samples`, or if `contamination` is out of range.
        """
        support = self.score_samples(X)
        return (support >= self._support_threshold(contamination)) & (support > 0)

    @available_if(_has_support)
    def predict_support(self, X: Data, *, contamination: float = 0.05) -> np.ndarray:
        """`is_supported` in the form of scikit-learn's outlier detectors: 1 or -1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `is_supported`.
        contamination : float, default=0.05
            As for `is_supported`.

        Returns
        -------
        labels : ndarray of int of shape (n_new,)
            1 for samples that are supported, -1 for the others.

        Raises
        ------
        NotFittedError, AttributeError, ValueError
            As for `is_supported`.
        """
        return np.where(self.is_supported(X, contamination=contamination), 1, -1)

    def _support_threshold(self, contamination):
        """The least support of a supported sample."""
        is_real = isinstance(contamination, Real) and not isinstance(contamination, bool)
        if not (is_real and 0 < contamination <= 0.5):
            raise ValueError(
                f"contamination must be a number above 0 and at most 0.5; got {contamination!r}."
            )
        scores = np.sort(self._support_of_fitted())
        # of n + 1 exchangeable scores, one is below the r-th of the others with chance r / (n + 1)
        rank = int(contamination * (len(scores) + 1))
        return scores[rank - 1] if rank else 0.0
