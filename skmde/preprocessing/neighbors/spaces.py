"""From data to the rows that are searched, and from their distances back to the units of the data.

A space belongs to one metric and one set of training rows. It prepares rows (shifts and scales
them, or scales each to length 1, or converts them to booleans), and it converts values between
prepared rows to distances between rows of the data.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._linalg.scaling import Scaling, unit_rows
from skmde.preprocessing.neighbors.metrics.names import (
    from_squared,
    homogeneity,
    is_boolean,
    is_shift_invariant,
)

__all__ = ["AngularSpace", "MetricSpace", "VectorSpace"]


class VectorSpace:
    """Euclidean and squared Euclidean distance. Values between rows are squared distances.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Training rows.
    form : {"euclidean", "sqeuclidean"}
    dtype : numpy dtype or None
        None means no loss of precision: float32 where that is exact, else float64.
    """

    def __init__(self, X, form, dtype):
        self.form = form
        self.scaling = Scaling.fit(X, shift=True, scale=True)
        if dtype is None:
            exact = self.scaling.center is None and X.dtype == np.float32
            small = X.dtype.kind in "uib" and X.dtype.itemsize <= 2
            dtype = np.float32 if exact or small else np.float64
        self.dtype = dtype

    def rows(self, X, dtype=None):
        """Prepared rows, and None: no row is without a direction in this space."""
        return self.scaling.apply(X, dtype or self.dtype), None

    def distances(self, squared):
        """Distances in the units of the data."""
        power = 1 if self.form == "euclidean" else 2
        return from_squared(self.form, squared) * self.scaling.unit**power


class AngularSpace:
    """Cosine and correlation distance. Values between rows are squared distances.

    Parameters
    ----------
    form : {"cosine", "correlation"}
    dtype : numpy dtype
    """

    def __init__(self, form, dtype):
        self.form = form
        self.dtype = dtype

    def rows(self, X, dtype=None):
        """Rows of length 1, and a mask of the rows that have no direction."""
        return unit_rows(X, dtype or self.dtype, center=self.form == "correlation")

    def distances(self, squared):
        """Distances, between 0 and 2."""
        return from_squared(self.form, squared)


class MetricSpace:
    """Any other metric. Values between rows are distances up to a constant factor.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Training rows.
    metric : str or callable
    dtype : numpy dtype
    """

    def __init__(self, X, metric, dtype):
        self.degree = homogeneity(metric)
        self.scaling = Scaling.fit(
            X, shift=is_shift_invariant(metric), scale=self.degree is not None
        )
        self.dtype = np.dtype(bool) if is_boolean(metric) else dtype

    def rows(self, X, dtype=None):
        """Prepared rows, and None: no row is without a direction in this space."""
        if self.dtype == bool:
            return (X.astype(bool) if sp.issparse(X) else X != 0), None
        return self.scaling.apply(X, self.dtype), None

    def distances(self, values):
        """Distances in the units of the metric."""
        return values * self.scaling.unit ** (self.degree or 0)
