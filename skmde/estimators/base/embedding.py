"""The base class of the estimators: fitted state, output column names, versions of saved files."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

import skmde
from skmde._utils.sklearn_compat import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    check_is_fitted,
    wants_pandas,
)
from skmde._utils.validation import check_magnitude
from skmde._utils.warn import warn
from skmde.estimators.base.callbacks import FitCallbacksMixin
from skmde.estimators.base.input import InputMixin
from skmde.estimators.base.typing import Data
from skmde.estimators.judging.mixin import JudgingMixin
from skmde.estimators.planning.mixin import PlanningMixin
from skmde.estimators.representation.mixin import RepresentationMixin
from skmde.preprocessing.graphs.adjacency import is_networkx


class BaseEmbedding(
    InputMixin,
    FitCallbacksMixin,
    PlanningMixin,
    JudgingMixin,
    RepresentationMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Base class of the estimators; not for direct use."""

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "embedding_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _callbacks(self):
        return () if self.callbacks is None else list(self.callbacks)

    def _solver_options(self, more_callbacks=()):
        return {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "memory_size": self.memory_size,
            "callbacks": [*self._callbacks(), *more_callbacks],
            "verbose": self.verbose,
            "checkpoint": self._open_checkpoint,
        }

    def _check_parameters(self):
        """Check what scikit-learn's check of single parameters does not cover."""
        if isinstance(self.n_components, bool):
            raise ValueError(
                f"n_components must be an integer, not a bool; got {self.n_components}."
            )
        if isinstance(self.callbacks, dict | str) or getattr(self.callbacks, "ndim", 1) != 1:
            raise ValueError(
                f"callbacks must be a list of functions that take the solver's state; got "
                f"{self.callbacks!r}."
            )
        for callback in self._callbacks():
            if not callable(callback):
                raise ValueError(
                    f"callbacks must be a list of functions that take the solver's state; got "
                    f"{callback!r} in the list."
                )

    def _check_size(self, n, constraint):
        m = self.n_components
        if n < 2:
            raise ValueError(f"X has {n} sample; at least 2 are required.")
        constraint.validate(n, m)
        check_magnitude(constraint.fixed_coordinates, "values of the anchors")
        if m > max(n - 1, 2):
            raise ValueError(
                f"n_components={m} must be less than the number of samples, n_samples={n}; use at "
                f"most {max(n - 1, 2)}."
            )

    def fit_transform(self, X: Data, y: Any = None, **fit_params: Any) -> np.ndarray:
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
            The embedding of the rows of X, in the float dtype of X. After
            ``set_output(transform="pandas")``, a frame; its index are the nodes if X is a networkx
            graph, and that of X if X is a frame.

        Raises
        ------
        Exception
            As for `fit`.
        """
        return self._with_node_names(self.fit(X, y, **fit_params).embedding_, X)

    def _with_node_names(self, embedding: np.ndarray, X: Any) -> Any:
        """A frame whose index are the nodes, if X is a networkx graph and the output is pandas'.

        scikit-learn names the columns, and takes the index of an X that is a frame.
        """
        if not (is_networkx(X) and wants_pandas(self)):
            return embedding
        import pandas as pd

        # A node may be a tuple, as those of a grid are.
        return pd.DataFrame(embedding, index=pd.Index(list(X.nodes), tupleize_cols=False))

    def __getstate__(self):
        state = super().__getstate__()
        return {**state, "_skmde_version": skmde.__version__}

    def __setstate__(self, state):
        state = dict(state)
        version = state.pop("_skmde_version", "unknown")
        if _series(version) != _series(skmde.__version__):
            warn(
                f"This {type(self).__name__} was saved by skmde {version} and is loaded by "
                f"skmde {skmde.__version__}, which may not be compatible; fit it again.",
            )
        super().__setstate__(state)

    def compact(self) -> Self:
        """Discard the training data to reduce memory use and file size.

        The embedding and all fitted attributes are kept. `transform` and all other methods that
        take unseen samples raise an error until `fit` is called again.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        """
        check_is_fitted(self)
        self.__dict__.pop(self._training_data_attribute, None)
        return self


def _series(version):
    """The version prefix shared by compatible releases: 1 for 1.4.2, 0.3 for 0.3.1."""
    parts = version.split(".")
    return parts[:2] if parts[0] == "0" else parts[:1]
