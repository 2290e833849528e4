"""Conversion of the caller's X to checked arrays, and of results to the dtype of X."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from skmde._utils.ranks.together import agreed_seed
from skmde._utils.rows import as_csr
from skmde._utils.sklearn_compat import check_array, validate_data
from skmde._utils.validation import as_host_array, check_magnitude, check_not_masked
from skmde.estimators.base.atomic import AtomicFitMixin
from skmde.estimators.base.nested_parameters import NestedParametersMixin
from skmde.preprocessing.graphs.adjacency import as_adjacency, is_networkx, refuse_edge_table
from skmde.preprocessing.neighbors.metrics.fitted import skips_missing
from skmde.preprocessing.neighbors.metrics.parameters import refuse_parameters


class InputMixin(NestedParametersMixin, AtomicFitMixin):
    """Input checks of estimators with a parameter `metric`; not for direct use."""

    # values of `metric` for which X is square: one row and one column for each sample
    _square_metrics: tuple[str, ...] = ("precomputed",)
    _signed_metrics: tuple[str, ...] = ()  # those of them whose numbers may be negative

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        signed = any(self._metric_is(metric) for metric in self._signed_metrics)
        tags.input_tags.positive_only = self._is_precomputed() and not signed
        tags.input_tags.allow_nan = not self._is_precomputed() and skips_missing(self.metric)
        return tags

    def _metric_is(self, name):
        return isinstance(self.metric, str) and self.metric == name

    def _is_precomputed(self):
        return any(self._metric_is(metric) for metric in self._square_metrics)

    def _finite_values(self):
        """Which values of X must be finite, as `check_array` takes it."""
        if self._is_precomputed():
            return False  # an infinite distance marks an unconnected pair
        return "allow-nan" if skips_missing(self.metric) else True

    def _random_state(self):
        """A RandomState; never numpy's global one."""
        if self.random_state is None:
            # None: seeded by the operating system
            checkpoint = self._open_checkpoint
            seed = agreed_seed(None if checkpoint is None else checkpoint.seed())
            return np.random.RandomState(seed)
        return check_random_state(self.random_state)

    def _checked_input(self, X):
        """Check X for `fit`; convert a networkx graph to a sparse matrix."""
        parameters = dict(self.metric_params or {})
        named = is_networkx(X) and self._metric_is("graph")
        attribute = parameters.pop("weight", "weight") if named else "weight"
        if self._is_precomputed():
            refuse_parameters(self.metric, parameters)
        if self._is_neighbor_tables(X):
            X = checked_neighbor_tables(X)
            check_magnitude(X[1], "distances of neighbours")
            n = len(X[0])
        elif is_networkx(X) and self._is_precomputed() and not self._metric_is("precomputed"):
            quantity = "length" if self._metric_is("graph") else "weight"
            X, _ = as_adjacency(X, quantity=quantity, attribute=attribute)
            n = X.shape[0]
            check_magnitude(X, "weights of the graph")
        else:
            self._refuse_networkx(X)
            if self._metric_is("graph") or self._metric_is("affinity"):
                refuse_edge_table(X, self.metric)
            return self._validated(X, reset=True)
        self.n_features_in_ = n
        self.__dict__.pop("feature_names_in_", None)
        return X

    def _refuse_networkx(self, X):
        if is_networkx(X):
            raise ValueError(
                f"X is a networkx graph, but this {type(self).__name__} cannot tell whether its "
                "weights are distances. Pass its matrix, networkx.to_scipy_sparse_array(X), with "
                "parameters for which X is a matrix of weights or distances."
            )

    def _checked_unseen(self, X):
        """Check X for `transform`."""
        self._check_not_compact()
        if is_networkx(X):
            raise ValueError(
                "X is a networkx graph, but unseen samples must be rows with one column for each "
                "fitted sample. Fit the larger graph again, or pass the samples' rows of its "
                "matrix; for metric='graph', the lengths of paths to the fitted nodes."
            )
        if not self._is_neighbor_tables(X):
            X = self._validated(X, reset=False)
            # As `fit` reads a matrix: no edge where a dense one has 0.
            return as_csr(X) if self._metric_is("graph") and not sp.issparse(X) else X
        X = checked_neighbor_tables(X)
        check_magnitude(X[1], "distances of neighbours", small=False)
        return X

    # name of the attribute that holds the training data
    _training_data_attribute: str

    def _is_compact(self):
        return not hasattr(self, self._training_data_attribute)

    def _check_not_compact(self):
        if self._is_compact():
            raise ValueError(
                f"compact() discarded the training data of this {type(self).__name__}, so it "
                "cannot place unseen samples. Fit it again, or copy it before calling compact()."
            )

    def _is_neighbor_tables(self, X):
        """Whether X is a pair (indices, distances) of neighbour tables."""
        return self._metric_is("precomputed") and isinstance(X, tuple)

    def _validated(self, X, *, reset, min_samples=None):
        """Convert X to an array or sparse matrix of numbers and check it.

        Integers stay integers, because the neighbour search converts them to floats block by block.
        """
        X, finite = as_host_array(X), self._finite_values()
        if reset and self._is_precomputed() and getattr(X, "ndim", 2) == 1:
            raise ValueError(
                f"Expected 2D array, got 1D array instead: with metric={self.metric!r} X must be a "
                "square matrix. If it is the result of scipy.spatial.distance.pdist, pass "
                "scipy.spatial.distance.squareform(X)."
            )
        try:
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=["csr", "csc", "coo"],
                dtype="numeric",
                ensure_min_samples=min_samples or (2 if reset else 1),
                ensure_all_finite=finite,
            )
        except ValueError as error:
            if reset or not self._is_precomputed() or "features, but" not in str(error):
                raise
            raise ValueError(
                f"{error} With metric={self.metric!r} X must hold the distances to all training "
                "samples, inf where there is none."
            ) from None
        if X.dtype.kind not in "fiub":
            X = _as_numbers(X, finite)
        check_magnitude(X, "X", small=reset)
        return X


def _as_numbers(X, finite):
    """Objects as float64, if they are numbers, such as decimals."""
    try:
        if X.dtype.kind != "O":
            raise TypeError("dates, durations and text have no unit")
        numbers = X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must hold numbers; got dtype {X.dtype} ({error}). Convert it first."
        ) from error
    return check_array(numbers, ensure_all_finite=finite)


def has_missing(X):
    """Whether rows contain NaN."""
    values = X.data if sp.issparse(X) else X
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def checked_neighbor_tables(X):
    """Convert a pair (indices, distances) of neighbour tables to arrays and check them."""
    if len(X) != 2:
        raise ValueError(
            "If X is a tuple, it must be a pair (indices, distances) of neighbour tables; got "
            f"{len(X)} entries. Pass an array for a matrix of distances."
        )
    check_not_masked(X, "X", "mark a missing neighbour with the index -1")
    tables = tuple(np.asarray(as_host_array(table)) for table in X)
    for name, table in zip(("indices", "distances"), tables, strict=True):
        if table.ndim != 2 or table.dtype.kind not in "fiu" or table.size == 0:
            raise ValueError(
                f"X is a pair (indices, distances) of neighbour tables, so {name} must be numbers "
                f"of shape (n_samples, k); got dtype {table.dtype} and shape {table.shape}."
            )
    if tables[0].shape != tables[1].shape:
        raise ValueError(
            "X is a pair (indices, distances) of neighbour tables, so both must have the same "
            f"shape (n_samples, k); got {tables[0].shape} and {tables[1].shape}."
        )
    return tables


def output_dtype(X):
    """Float dtype of an embedding of X: float32 if X has that dtype, else float64."""
    if isinstance(X, tuple):
        X = X[1]
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    return np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)


def as_output(values, X):
    """Convert coordinates to the dtype of an embedding of X.

    Raises
    ------
    ValueError
        If the coordinates overflow this dtype.
    """
    dtype = output_dtype(X)
    largest = np.abs(values).max(initial=0.0)
    if largest > np.finfo(dtype).max:
        raise ValueError(
            f"The embedding has coordinates of up to {largest:.3g}, which overflow {dtype}; pass X "
            "as float64, or use a larger unit."
        )
    return values.astype(dtype, copy=False)
