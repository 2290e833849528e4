r"""Classical multidimensional scaling from landmarks: a start for problems given by distances.

With D the squared distances of L landmarks to all n items, J = I - 1 1^T / L and
B = -J D_L J / 2 for the landmarks' own part D_L, the landmarks are placed at the leading
eigenvectors of B, each times the root of its eigenvalue (Torgerson 1952). Every item follows from
its distances to the landmarks alone (de Silva and Tenenbaum 2004):

    x = -1/2 Lambda^{-1/2} V^T (squared distances of x - mean squared distances of the landmarks)

With all items as landmarks this is classical scaling itself. Sums are taken in fixed pieces, so
the result is the same for any number of threads.
"""

from __future__ import annotations

import numpy as np

from skmde._linalg.lobpcg import Space
from skmde._linalg.signs import fix_signs
from skmde.core.spectral.spectrum import QuadraticForm, smallest_eigenpairs

Matrix = np.ndarray

_MAX_ITER = 100
_FLAT = 1e-10  # part of the largest eigenvalue below which a direction is rounding


def landmark_mds(
    distances: Matrix, landmarks: Matrix, n_components: int, *, n_threads: int = 1
) -> Matrix:
    """Coordinates whose distances are about those given.

    Parameters
    ----------
    distances : ndarray of shape (L, n)
        Finite distances from the landmarks to all items.
    landmarks : ndarray of shape (L,), int
        Which items the landmarks are.
    n_components : int
        Columns of the result; those without a positive eigenvalue are zero.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    X : ndarray of shape (n, n_components), float64
        In the units of the distances, centred; directions in order of decreasing variance, signs
        fixed by rule.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding* (2021), section 3.2 (classical
    multidimensional scaling). de Silva and Tenenbaum, *Sparse multidimensional scaling using
    landmark points* (2004).
    """
    n_landmarks, n = distances.shape
    X = np.zeros((n, n_components))
    unit = float(distances.max(initial=0.0))
    if not unit > 0.0:
        return X
    squares = (distances / unit) ** 2
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
    X[:, kept] = unit * placed.T
    return fix_signs(X - X.mean(axis=0))


def _leading(B: Matrix, count: int, n_threads: int) -> tuple[Matrix, Matrix]:
    """The largest eigenvalues of B, decreasing, and unit eigenvectors as rows."""
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
