"""What all estimators share: input, fitted state, names of output columns."""

from __future__ import annotations

import contextlib
import logging
import time

import numpy as np

from skmde._sklearn_compat import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    check_is_fitted,
    validate_data,
)

logger = logging.getLogger("skmde")


class BaseEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the estimators; not for direct use."""

    _doc_link_module = "skmde"

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "embedding_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _is_precomputed(self):
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def fit_transform(self, X, y=None, **fit_params):
        """Fit the embedding of X and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `fit`.
        y : None
            Ignored.
        **fit_params : dict
            Passed to `fit`.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            The embedding of the rows of X, in X's float dtype.
        """
        return self.fit(X, y, **fit_params).embedding_

    @contextlib.contextmanager
    def _all_or_nothing(self):
        """If a fit ends early, by an error or by Ctrl-C, leave the estimator as it was."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _validated(self, X, *, reset):
        """X as an array or sparse matrix of numbers; other kinds are converted first.

        Integers stay integers: how they become floats is the neighbour search's business, which
        does it a block at a time.
        """
        return validate_data(
            self,
            as_host_array(X),
            reset=reset,
            accept_sparse=["csr", "csc", "coo"],
            dtype="numeric",
            ensure_min_samples=2 if reset else 1,
            # an infinite distance stands for a pair that is not connected
            ensure_all_finite=not self._is_precomputed(),
        )

    def _check_fitted(self):
        check_is_fitted(self)


def as_host_array(X):
    """A tensor, on whatever device, as a numpy array; everything else as it is."""
    if hasattr(X, "detach") and hasattr(X, "cpu"):
        return X.detach().cpu().numpy()
    return X


def output_dtype(X):
    """Float dtype of an embedding of X: X's own, or float64 for numbers that are not floats."""
    if isinstance(X, tuple):
        X = X[1]
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    return np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)


@contextlib.contextmanager
def stage(name):
    """Log how long a stage of a fit took: attributes ``stage`` and ``seconds`` of the record."""
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    logger.info("%s: %.3f s", name, seconds, extra={"stage": name, "seconds": seconds})
