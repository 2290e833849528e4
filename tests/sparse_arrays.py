"""Sparse arrays for tests."""

import numpy as np
import scipy.sparse as sp


def random_sparse(shape, density, seed):
    """A CSR array of numbers between 0 and 1 at random places, the same with each version of scipy.

    Older versions of scipy's `random_array` take the seed as `random_state`, newer ones as `rng`.
    """
    random = np.random.default_rng(seed)
    size = shape[0] * shape[1]
    places = random.choice(size, round(density * size), replace=False)
    A = np.zeros(size)
    A[places] = 1.0 - random.random(len(places))  # above 0
    return sp.csr_array(A.reshape(shape))


def stored(rows):
    """A CSR array that stores all entries of a dense one, zeros included."""
    at = np.indices(rows.shape).reshape(2, -1)
    return sp.csr_array((rows.ravel(), tuple(at)), shape=rows.shape)
