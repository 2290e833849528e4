"""Orthogonal Procrustes: the rigid motion that lays some rows of an embedding over given points."""

from __future__ import annotations

import numpy as np

from skmde._linalg.frame import Frame

_RANK = 1e-6  # singular values below this part of the largest one determine no direction


def laid_over(X: np.ndarray, rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """X rotated, reflected and shifted so that some of its rows are nearest to the target.

    Distances between rows do not change. If the rows determine the motion only in part, as one or
    two points do in the plane, the motion nearest to the identity is taken. If they lie at the
    target already, the result is X itself.

    Parameters
    ----------
    X : ndarray of shape (n, m), float64
    rows : ndarray of shape (k,), int
        At least one.
    target : ndarray of shape (k, m)

    Returns
    -------
    X : ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from skmde._linalg.procrustes import laid_over
    >>> X = np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> laid_over(X, np.arange(2), np.array([[5.0, 0.0], [7.0, 0.0]])).round(6)
    array([[ 5.,  0.],
           [ 7.,  0.],
           [ 5., -1.]])
    """
    if np.array_equal(X[rows], target):
        return X
    source, goal = Frame.around(X[rows]), Frame.around(target)
    # einsum, because the bits of BLAS depend on its number of threads
    products = np.einsum("ki,kj->ij", source.inside(X[rows]), goal.inside(target))
    rotation = _nearest_rotation(products)
    return np.einsum("ki,ij->kj", X - source.origin, rotation) + goal.origin


def _nearest_rotation(products: np.ndarray) -> np.ndarray:
    """The orthogonal R of largest trace(R^T products), among several the nearest to I."""
    U, sizes, Vt = np.linalg.svd(products)
    rank = int(np.count_nonzero(sizes > _RANK * sizes[0]))
    A, B = U[:, rank:], Vt[rank:].T
    rotation: np.ndarray = U[:, :rank] @ Vt[:rank]
    if rank < len(sizes):
        left, _, right = np.linalg.svd(A.T @ B)
        rotation = rotation + A @ (left @ right) @ B.T
    return rotation
