"""What all estimators share: input, fitted state, names of output columns."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils import check_random_state

import skmde
from skmde._utils.device import cpu_by_default
from skmde._utils.sklearn_compat import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    callbacks_of_running_fit,
    check_is_fitted,
    end_fit_task,
    validate_data,
)
from skmde._utils.validation import check_magnitude, check_not_masked
from skmde._utils.warn import warn
from skmde.estimators.base.callbacks import FitCallbacksMixin
from skmde.estimators.base.typing import Data
from skmde.preprocessing.graphs.adjacency import as_adjacency, is_networkx

logger = logging.getLogger("skmde")


class InputMixin:
    """What estimators with a parameter `metric` do with their input; not for direct use."""

    # values of `metric` under which X is square: one row and one column for each sample
    _square: tuple[str, ...] = ("precomputed",)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.positive_only = self._is_precomputed()
        return tags

    def _is(self, metric):
        return isinstance(self.metric, str) and self.metric == metric

    def _is_precomputed(self):
        return any(self._is(metric) for metric in self._square)

    def _random_state(self):
        """A RandomState; numpy's global one is never used."""
        if self.random_state is None:
            return np.random.RandomState()  # seeded by the system
        return check_random_state(self.random_state)

    @contextlib.contextmanager
    def _all_or_nothing(self):
        """A copy to fit, which this estimator becomes unless it ends by an error or by Ctrl-C.

        Until then, the estimator answers as it did before: in other threads, and in callbacks.
        """
        # Fits that are interrupted would leave an estimator half fitted. Held by
        # `assert_fit_fails`, `test_while_it_is_fitted_again_it_answers_as_before` and
        # `test_what_a_callback_writes_to_the_estimator_is_kept` (tests/test_fault_injection.py) and
        # `test_a_failing_callback_is_taken_down_and_leaves_the_estimator`
        # (tests/estimators/base/test_callbacks.py).
        before, fitted = dict(self.__dict__), object.__new__(type(self))
        fitted.__dict__.update(before)
        try:
            with cpu_by_default():
                yield fitted
                end_fit_task(fitted)
        except BaseException:
            self.__dict__.update(callbacks_of_running_fit(fitted))
            raise
        # what a callback wrote, and the fit did not
        absent = object()
        written = {
            name: value
            for name, value in self.__dict__.items()
            if value is not before.get(name, absent)
            and vars(fitted).get(name, absent) is before.get(name, absent)
        }
        self.__dict__ = {**vars(fitted), **written}

    def _checked_input(self, X):
        """X as `fit` takes it, checked; a networkx graph as a sparse matrix."""
        if self._is_pair(X):
            X = checked_pair(X)
            check_magnitude(X[1], "distances of neighbours")
            n = len(X[0])
        elif is_networkx(X) and self._is_precomputed() and not self._is("precomputed"):
            X, _ = as_adjacency(X, quantity="length" if self._is("graph") else "weight")
            n = X.shape[0]
            check_magnitude(X, "weights of the graph")
        else:
            self._refuse_networkx(X)
            return self._validated(X, reset=True)
        self.n_features_in_ = n
        self.__dict__.pop("feature_names_in_", None)
        return X

    def _refuse_networkx(self, X):
        if is_networkx(X):
            raise ValueError(
                f"X is a networkx graph, which this {type(self).__name__} does not take, as it "
                "cannot tell what its weights mean. Pass its matrix, "
                "networkx.to_scipy_sparse_array(X), where weights or distances are asked for."
            )

    def _checked_unseen(self, X):
        """X as `transform` takes it, checked."""
        self._check_not_compact()
        if is_networkx(X):
            raise ValueError(
                "Unseen samples are rows, with one column for each fitted sample, not a graph. Fit "
                "the larger graph anew, or pass their rows of its matrix: for metric='graph' the "
                "lengths of the paths to the fitted nodes."
            )
        if not self._is_pair(X):
            return self._validated(X, reset=False)
        X = checked_pair(X)
        check_magnitude(X[1], "distances of neighbours", small=False)
        return X

    # the attribute that knows the training data
    _source: str

    def _is_compact(self):
        return not hasattr(self, self._source)

    def _check_not_compact(self):
        if self._is_compact():
            raise ValueError(
                f"This {type(self).__name__} has forgotten its training data, as compact() was "
                "called, so it takes no unseen samples. Fit it again, or keep a copy that is not "
                "compact."
            )

    def _is_pair(self, X):
        """Whether X is a pair (indices, distances) of neighbour tables."""
        return self._is("precomputed") and isinstance(X, tuple)

    def _validated(self, X, *, reset, min_samples=None):
        """X as an array or sparse matrix of numbers; other kinds are converted first.

        Integers stay integers: how they become floats is the neighbour search's business, which
        does it a block at a time.
        """
        check_not_masked(X, "X", "fill them or leave their rows out")
        X = as_host_array(X)
        try:
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=["csr", "csc", "coo"],
                dtype="numeric",
                ensure_min_samples=min_samples or (2 if reset else 1),
                # an infinite distance stands for a pair that is not connected
                ensure_all_finite=not self._is_precomputed(),
            )
        except ValueError as error:
            if reset or not self._is_precomputed() or "features, but" not in str(error):
                raise
            raise ValueError(
                f"{error} With metric={self.metric!r} X holds the distances to all training "
                "samples, inf where there is none."
            ) from None
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X must hold numbers; got dtype {X.dtype}. Convert it first.")
        check_magnitude(X, "X", small=reset)
        return X


class BaseEmbedding(
    InputMixin,
    FitCallbacksMixin,
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
        }

    def _check_parameters(self):
        """What scikit-learn's check of one parameter at a time cannot see."""
        if isinstance(self.n_components, bool):
            raise ValueError(
                f"n_components must be an integer, not a truth value; got {self.n_components}."
            )
        if isinstance(self.callbacks, dict | str) or getattr(self.callbacks, "ndim", 1) != 1:
            raise ValueError(
                f"callbacks must be a list of functions of the solver's state; got "
                f"{self.callbacks!r}."
            )
        for callback in self._callbacks():
            if not callable(callback):
                raise ValueError(
                    f"callbacks must be a list of functions of the solver's state; got "
                    f"{callback!r} among them."
                )

    def _check_size(self, n, constraint):
        m = self.n_components
        if n < 2:
            raise ValueError(f"X holds {n} sample; at least 2 are required.")
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
            The embedding of the rows of X, in X's float dtype.
        """
        return self.fit(X, y, **fit_params).embedding_

    def __getstate__(self):
        state = super().__getstate__()
        return {**state, "_skmde_version": skmde.__version__}

    def __setstate__(self, state):
        state = dict(state)
        version = state.pop("_skmde_version", "unknown")
        if _series(version) != _series(skmde.__version__):
            warn(
                f"This {type(self).__name__} was saved by skmde {version} and is read by "
                f"skmde {skmde.__version__}, which may not understand it; fit it again.",
            )
        super().__setstate__(state)

    def compact(self) -> Self:
        """Forget the training data, so that the estimator takes less memory and smaller files.

        The embedding and all attributes stay; `transform` and what else takes unseen samples are
        errors from now on, until `fit` is called again.

        Returns
        -------
        self : object
            The estimator.
        """
        check_is_fitted(self)
        self.__dict__.pop(self._source, None)
        return self


def _series(version):
    """What releases that read each other's estimators have in common: 1 of 1.4.2, 0.3 of 0.3.1."""
    parts = version.split(".")
    return parts[:2] if parts[0] == "0" else parts[:1]


def as_host_array(X):
    """A tensor, on whatever device, as a numpy array; everything else as it is."""
    if isinstance(X, torch.Tensor):
        X = X.detach().cpu()
        # numpy has no bfloat16
        return (X.float() if X.dtype == torch.bfloat16 else X).numpy()
    return X


def checked_pair(X):
    """The pair (indices, distances) of neighbour tables as arrays, one row for each sample."""
    if len(X) != 2:
        raise ValueError(
            "A tuple given as X must be a pair (indices, distances) of neighbour tables; got "
            f"{len(X)} entries. For a matrix of distances pass an array."
        )
    tables = tuple(np.asarray(as_host_array(table)) for table in X)
    for name, table in zip(("indices", "distances"), tables, strict=True):
        if table.ndim != 2 or table.dtype.kind not in "fiu" or table.size == 0:
            raise ValueError(
                f"X is a pair (indices, distances) of neighbour tables; the {name} must be numbers "
                f"of shape (n_samples, k), got dtype {table.dtype} and shape {table.shape}."
            )
    return tables


def output_dtype(X):
    """Float dtype of an embedding of X: X's own, or float64 for numbers that are not floats."""
    if isinstance(X, tuple):
        X = X[1]
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    return np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)


def as_output(values, X):
    """Coordinates in the dtype that an embedding of X has.

    Raises
    ------
    ValueError
        If they are too large for it.
    """
    dtype = output_dtype(X)
    largest = np.abs(values).max(initial=0.0)
    if largest > np.finfo(dtype).max:
        raise ValueError(
            f"The embedding reaches as far as {largest:.3g}, which {dtype} does not hold; pass X "
            "as float64, or use a larger unit."
        )
    return values.astype(dtype, copy=False)


def physical_memory():
    """Bytes of memory that this machine has; infinite where the system does not say."""
    # Systems grant more memory than there is and end the process that uses it: there is no
    # MemoryError, and all that was computed is lost. Held by `test_row_55_an_error_up_front`
    # (tests/test_faults.py) and `test_matrices_that_would_not_fit_in_memory_are_refused`
    # (tests/estimators/test_quadratic_faults.py).
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return float("inf")


@contextlib.contextmanager
def stage(name):
    """Log how long a stage of a fit took: attributes ``stage`` and ``seconds`` of the record."""
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    logger.info("%s: %.3f s", name, seconds, extra={"stage": name, "seconds": seconds})
