"""The size of X, as far as a plan of memory depends on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from skmde._utils.memory.mapped import is_on_disk
from skmde.preprocessing.graphs.adjacency import is_networkx


@dataclass(frozen=True)
class Size:
    """The size of X.

    Attributes
    ----------
    n_samples, n_features : int
        For neighbour tables, their number of columns counts as the number of features.
    n_stored : int or None
        Number of stored entries of a sparse matrix, or twice the number of edges of a graph; None
        for a dense array.
    itemsize : int
        Bytes of an entry.
    on_disk : bool
        Whether X is a mapped file, as are copies of its rows: its pages need no memory.
    """

    n_samples: int
    n_features: int
    n_stored: int | None = None
    itemsize: int = 8
    on_disk: bool = False

    @property
    def n_bytes(self) -> float:
        """Bytes of a copy of X; an entry of a sparse matrix has an index, too."""
        if self.n_stored is not None:
            return float(self.n_stored) * (self.itemsize + 4)
        return float(self.n_samples) * self.n_features * self.itemsize

    def joined(self, n_fitted: int, *, rows: bool) -> Self:
        """The size of fitted items together with further ones, whose size this is.

        Parameters
        ----------
        n_fitted : int
        rows : bool
            Whether X has rows or neighbour tables, and not a column for each item.
        """
        n, stored = n_fitted + self.n_samples, self.n_stored
        if rows:
            stored = None if stored is None else int(stored * n / max(self.n_samples, 1))
            return replace(self, n_samples=n, n_stored=stored)
        stored = None if stored is None else 2 * stored
        return replace(self, n_samples=n, n_features=n, n_stored=stored)

    @classmethod
    def of(cls, X: Any) -> Self:
        """The size of X, of a checked X, or of a dense X of a given shape.

        Parameters
        ----------
        X : array-like, sparse matrix, networkx graph, pair of arrays, or tuple of two int
            A pair of integers is the shape (n_samples, n_features).

        Raises
        ------
        ValueError
            If X is a tuple of other numbers, or has not two dimensions.
        """
        if is_networkx(X):
            n = X.number_of_nodes()
            return cls(n, n, 2 * X.number_of_edges())
        if isinstance(X, tuple) and all(np.ndim(x) == 0 for x in X):
            if len(X) != 2 or not all(isinstance(x, Integral) and int(x) >= 1 for x in X):
                raise ValueError(
                    f"A shape must be two positive integers, (n_samples, n_features); got {X!r}."
                )
            return cls(int(X[0]), int(X[1]))
        if isinstance(X, tuple):
            return cls(len(X[0]), np.shape(X[0])[1])
        itemsize = 4 if getattr(X, "dtype", None) == np.float32 else 8
        if sp.issparse(X):
            return cls(X.shape[0], X.shape[1], X.nnz, itemsize)
        shape = tuple(X.shape if hasattr(X, "shape") else np.shape(X))
        if len(shape) != 2:
            raise ValueError(
                "A plan needs X as fit takes it, with 2 dimensions, or its shape as a tuple "
                f"(n_samples, n_features); got an X of shape {shape}."
            )
        return cls(int(shape[0]), int(shape[1]), None, itemsize, is_on_disk(X))
