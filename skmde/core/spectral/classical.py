r"""Classical multidimensional scaling (MDS) from landmarks; a starting point for other problems.

Classical MDS is a quadratic MDE problem (monograph, section 3.2). Let D_L be the squared distances
among L landmarks, J = I - 1 1^T / L and B = -J D_L J / 2. The coordinates of the landmarks are the
leading eigenvectors V of B, each multiplied by the square root of its eigenvalue in Lambda
(Torgerson 1952). The coordinates of any item follow from its distances to the landmarks (de Silva
and Tenenbaum 2004):

    x = -1/2 Lambda^{-1/2} V^T (squared distances of x - mean squared distances of the landmarks)

If all items are landmarks, this is classical MDS. Coordinates are in the units of the distances.
Sums are taken in fixed pieces, so the result is the same for any number of threads.
"""

from __future__ import annotations

import numpy as np

from skmde._linalg.frame import Unit
from skmde._linalg.lobpcg import Space
from skmde._linalg.signs import fix_signs
from skmde.core.spectral.spectrum import QuadraticForm, smallest_eigenpairs

Matrix = np.ndarray

_MAX_ITER = 100
_FLAT = 1e-10  # eigenvalues below this fraction of the largest are rounding error


def landmark_mds(
    distances: Matrix, landmarks: Matrix, n_components: int, *, n_threads: int = 1
) -> Matrix:
    """Coordinates whose distances approximate the given ones.

    Parameters
    ----------
    distances : ndarray of shape (L, n)
        Finite distances from the landmarks to all items.
    landmarks : ndarray of shape (L,), int
        Indices of the landmarks.
    n_components : int
        Number of columns of the result. Columns without a positive eigenvalue are zero.
    n_threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    X : ndarray of shape (n, n_components), float64
        Centred coordinates, in the units of the distances. Columns are in order of decreasing
        variance, and their signs are fixed by rule.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding* (2021), section 3.2 (classical
    multidimensional scaling). de Silva and Tenenbaum, *Sparse multidimensional scaling using
    landmark points* (2004).
    """
    n_landmarks, n = distances.shape
    X = np.zeros((n, n_components))
    if not distances.any():
        return X
    unit = Unit.largest(distances)
    squares = unit.inside(distances) ** 2
    own = squares[:, landmarks]
    means = own.mean(axis=1)
    B = -0.5 * (own - means[:, None] - means + means.mean())
    values, vectors = _leading(B, min(n_components, n_landmarks - 1), n_threads)
    kept = np.flatnonzero(values > _FLAT * values[:1])
    if kept.size == 0:
        return X
    space = Space(n, n_threads)
    projection = np.ascontiguousarray(-0.5 * vectors[kept] / np.sqrt(values[kept])[:, None])
    squares -= means[:, None]
    placed = np.empty((kept.size, n))
    space.combine(projection, squares, placed)
    X[:, kept] = unit.outside(placed.T)
    return fix_signs(X - X.mean(axis=0))


def _leading(B: Matrix, count: int, n_threads: int) -> tuple[Matrix, Matrix]:
    """The largest eigenvalues of B, decreasing, and their unit eigenvectors as rows."""
    n = len(B)
    space = Space(n, n_threads)
    form = QuadraticForm(
        apply=lambda V: -space.products(V, B),
        null=np.full((1, n), 1 / np.sqrt(n)),
        bound=float(np.abs(B).sum(axis=1).max()),
        precondition=lambda R: R,
    )
    found = smallest_eigenpairs(
        form, count, "auto", tol=None, max_iter=_MAX_ITER, n_threads=n_threads
    )
    return -found.values, found.vectors
