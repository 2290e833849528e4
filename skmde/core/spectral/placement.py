r"""Quadratic placement: the exact solution of an anchored quadratic MDE problem.

For f_k(d) = w_k d^2 with w_k > 0 and some items anchored, the average distortion is a convex
quadratic function of the free items (monograph, introduction of chapter 3, "Anchored embeddings";
section 2.4.2). Let L be the Laplacian of the weighted graph. Split its rows and columns into free
(F) and anchored (K) items. The gradient with respect to the free items vanishes if

    L_FF X_F = -L_FK X_K.

This system has one right-hand side per component. L_FF, the *grounded Laplacian*, is symmetric and
positive definite. At the solution, each free item is the weighted mean of its neighbours.

A connected component without an anchor has no unique solution. Its items are called *loose*: they
are left out of the system and placed at the mean of the anchors.

The system is solved in float64 by conjugate gradients, preconditioned by the diagonal. Sums are
taken by numpy, in one thread and in a fixed order, so the result has the same bits for any number
of threads. If conjugate gradients converge too slowly (long chains of items), a sparse
factorisation solves the system.

Coordinates are in the units of the anchors' values. Internally they are centred and scaled by the
extent of the anchors, so anchors may have any size and offset.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from skmde._linalg.frame import Frame, Unit

_MIN_STEPS, _MAX_STEPS = 100, 3000


class QuadraticPlacement(NamedTuple):
    """The outcome of :func:`place_quadratic`.

    Attributes
    ----------
    X : ndarray of shape (n_items, m), float64
        The embedding. Rows of anchors are exactly the given values.
    residual : float
        Frobenius norm of the residual of the linear system, relative to its right-hand side.
    n_iter : int
        Number of conjugate gradient iterations.
    loose : ndarray of shape (n_items,), bool
        Whether an item is in a connected component without an anchor.
    n_loose_parts : int
        Number of connected components without an anchor.
    """

    X: np.ndarray
    residual: float
    n_iter: int
    loose: np.ndarray
    n_loose_parts: int


def place_quadratic(
    edges: np.ndarray,
    weights: np.ndarray,
    n_items: int,
    anchors: np.ndarray,
    values: np.ndarray,
    *,
    tol: float = 1e-10,
    max_steps: int | None = None,
) -> QuadraticPlacement:
    """Minimise the weighted mean of squared distances, with some items anchored.

    Parameters
    ----------
    edges : ndarray of shape (p, 2), int
        Pairs of different items. A pair of two anchors has no effect.
    weights : ndarray of shape (p,)
        Weights of the pairs, at least 0. Pairs of weight 0 are ignored.
    n_items : int
    anchors : ndarray of shape (n_anchors,), int
        Indices of distinct items; at least one.
    values : ndarray of shape (n_anchors, m)
        Coordinates of the anchors.
    tol : float
        Tolerance on the distance of a free item from the weighted mean of its neighbours, relative
        to the extent of the anchors.
    max_steps : int or None
        Maximum number of conjugate gradient iterations. If they do not converge, the system is
        factorised. None chooses a number from the size of the system.

    Returns
    -------
    placement : QuadraticPlacement

    Raises
    ------
    ValueError
        If a weight is negative or not finite.

    Examples
    --------
    Two free items between anchors at 0 and 3:

    >>> import numpy as np
    >>> from skmde.core.spectral.placement import place_quadratic
    >>> edges = np.array([[0, 1], [1, 2], [2, 3]])
    >>> anchors, values = np.array([0, 3]), np.array([[0.0], [3.0]])
    >>> place_quadratic(edges, np.ones(3), 4, anchors, values).X.ravel()
    array([0., 1., 2., 3.])
    """
    weights = np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        wrong = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise ValueError(
            f"Quadratic placement needs finite weights of at least 0; got {wrong}. With negative "
            "weights, the problem may have no solution; remove these pairs."
        )
    values = np.asarray(values, dtype=np.float64)
    frame = Frame.around(values)
    known = frame.inside(values)
    graph = _graph(edges, weights, n_items)
    loose, n_loose_parts = _loose(graph, anchors)

    X = np.zeros((n_items, values.shape[1]))
    X[anchors] = known
    free = ~loose
    free[anchors] = False
    items = np.flatnonzero(free)
    residual, n_iter = 0.0, 0
    if items.size:
        rows = graph[items]
        degrees = np.asarray(rows.sum(axis=1)).ravel()
        within = rows[:, items]
        right = rows[:, anchors] @ known
        laplacian = (sp.diags_array(degrees) - within).tocsr()
        if max_steps is None:
            max_steps = int(np.clip(2 * items.size, _MIN_STEPS, _MAX_STEPS))
        U, n_iter, converged = _conjugate_gradients(laplacian, degrees, right, tol, max_steps)
        if not converged:
            U = _factorised(laplacian, right)
        X[items] = U
        norm = _norm(right)
        residual = _norm(right - laplacian @ U) / norm if norm > 0 else 0.0
    X = frame.outside(X)
    X[anchors] = values
    return QuadraticPlacement(X, residual, n_iter, loose, n_loose_parts)


def loose_items(edges: np.ndarray, n_items: int, anchors: np.ndarray) -> tuple[np.ndarray, int]:
    """Items in connected components without an anchor.

    Parameters
    ----------
    edges : ndarray of shape (p, 2), int
    n_items : int
    anchors : ndarray of int

    Returns
    -------
    loose : ndarray of shape (n_items,), bool
    n_parts : int
        Number of connected components without an anchor.
    """
    return _loose(_graph(edges, np.ones(len(edges)), n_items), anchors)


def _loose(graph: Any, anchors: np.ndarray) -> tuple[np.ndarray, int]:
    n_parts, labels = sp.csgraph.connected_components(graph, directed=False)
    reached = np.zeros(n_parts, dtype=bool)
    reached[labels[anchors]] = True
    return ~reached[labels], int(n_parts - np.count_nonzero(reached))


def _graph(edges: np.ndarray, weights: np.ndarray, n_items: int) -> Any:
    """Symmetric adjacency matrix, with weights divided by the largest weight."""
    kept = weights > 0
    i, j = np.asarray(edges)[kept].T
    w = weights[kept]
    w = Unit.largest(w).inside(w)
    both = np.concatenate([i, j]), np.concatenate([j, i])
    return sp.coo_array((np.concatenate([w, w]), both), shape=(n_items, n_items)).tocsr()


def _conjugate_gradients(
    laplacian: Any, degrees: np.ndarray, right: np.ndarray, tol: float, max_steps: int
) -> tuple[np.ndarray, int, bool]:
    """Solve for all right-hand sides at once, each with its own step lengths.

    Two conditions must hold for convergence. Each item is within `tol` of the weighted mean of its
    neighbours; this alone misses a small error that many items share. The residual, in the norm of
    the preconditioner, is at most `tol` times the right-hand side; this alone misses errors of
    items with small weights.
    """
    U = np.zeros_like(right)
    R = right.copy()
    Z = R / degrees[:, None]
    P = Z.copy()
    rz = _column_dots(R, Z)
    enough = tol**2 * rz
    for step in range(max_steps + 1):
        if (rz <= enough).all() and np.abs(Z).max() <= tol:
            return U, step, True
        Q = laplacian @ P
        curvature = _column_dots(P, Q)
        length = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
        U += length * P
        R -= length * Q
        np.divide(R, degrees[:, None], out=Z)
        before, rz = rz, _column_dots(R, Z)
        P *= np.divide(rz, before, out=np.zeros_like(rz), where=before > 0)
        P += Z
    return U, max_steps, False


def _factorised(laplacian: Any, right: np.ndarray) -> np.ndarray:
    options = {"SymmetricMode": True}
    factors = splu(laplacian.tocsc(), permc_spec="MMD_AT_PLUS_A", options=options)
    U = factors.solve(right)
    refined: np.ndarray = U + factors.solve(right - laplacian @ U)
    return refined


def _column_dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    # not BLAS, which splits the sum by the number of its threads
    dots: np.ndarray = np.einsum("ij,ij->j", A, B)
    return dots


def _norm(A: np.ndarray) -> float:
    return float(np.sqrt(_column_dots(A, A).sum()))
