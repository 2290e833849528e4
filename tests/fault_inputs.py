"""Kinds of input that the tests of faults share."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch


class HasArray:
    """An object that numpy can read, and nothing else."""

    def __init__(self, X):
        self.X = X

    def __array__(self, dtype=None, copy=None):
        return np.array(self.X, dtype=dtype)


# An array of floats in everything that holds the same numbers.
CONTAINERS = {
    "frame": pd.DataFrame,
    "frame of nullable numbers": lambda X: pd.DataFrame(X).astype("Float64"),
    "lists": lambda X: X.tolist(),
    "list of tensors": lambda X: [torch.tensor(row) for row in X],
    "tensor": torch.tensor,
    "tensor with gradient": lambda X: torch.tensor(X, requires_grad=True),
    "object with an array": HasArray,
    "columns first": np.asfortranarray,
    "objects": lambda X: X.astype(object),
    "other byte order": lambda X: X.astype(">f8"),
    "masked array without a mask": lambda X: np.ma.masked_array(X, mask=False),
}

SQUARE = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))

# What is no matrix of numbers, and what the error says of it.
NOT_NUMBERS = {
    "lists": ([["a", "b"], ["c", "d"]], "numeric"),
    "objects": (np.full((2, 2), "a", dtype=object), "could not convert string"),
    "frame": (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), "its column 'a' has dtype"),
    "dates": (np.full((2, 2), "2020-01-01", dtype="M8[D]"), "numbers; got dtype datetime64"),
    "complex": (SQUARE + 1j, "Complex data not supported"),
    "masked": (np.ma.masked_greater(SQUARE, 1.0), "masked entries"),
    "ragged": ([[1, 2], [3]], "inhomogeneous"),
    "one-dimensional": (SQUARE[:, 0], "Expected 2D array"),
    "three-dimensional": (SQUARE[None], "dim 3"),
    "no rows": (SQUARE[:0], "0 sample"),
    "no columns": (SQUARE[:, :0], "0 feature"),
    "None": (None, "Expected 2D array"),
}


def sparse_forms(X):
    """X in every way that scipy stores it, by name."""
    X = X.toarray() if sp.issparse(X) else X  # nothing is shared
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    unsorted = sp.csr_array(X)
    unsorted.indices[:2] = unsorted.indices[[1, 0]]
    unsorted.data[:2] = unsorted.data[[1, 0]]
    unsorted.has_sorted_indices = False
    coo = sp.coo_array(X)
    halves = sp.coo_array(
        (np.tile(coo.data / 2, 2), (np.tile(coo.row, 2), np.tile(coo.col, 2))), shape=X.shape
    )
    return {
        "csr_array": sp.csr_array(X),
        "csr_matrix": sp.csr_matrix(X),
        "csc_array": sp.csc_array(X),
        "coo_array": coo,
        "coo_matrix": sp.coo_matrix(X),
        "lil_array": sp.lil_array(X),
        "int64 indices": wide,
        "unsorted": unsorted,
        "halves": halves,
    }
