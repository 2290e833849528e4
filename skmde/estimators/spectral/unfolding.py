r"""Maximum variance unfolding: the Gram matrix of greatest variance that keeps local distances.

    maximise  tr G   subject to   G positive semidefinite,  1^T G 1 = 0,
                                  G_ii - 2 G_ij + G_jj = delta_ij^2  for all pairs of neighbours

(monograph, section 3.2). Up to 60 items, cvxpy, an optional extra, solves this semidefinite program
by the interior-point method of Clarabel. 60 items take two seconds, and twice as many take about 40
times as long.

For more items, and if rigid neighbourhoods leave the program without an interior, G = Y Y^T for
centred Y with few columns (Burer and Monteiro, 2003). With c_k = ||y_i - y_j||^2 - delta_k^2,
multipliers w and a penalty mu, these two steps alternate (augmented Lagrangian):

    minimise  -||Y||^2 + sum_k (w_k c_k + mu c_k^2 / 2)   over Y by L-BFGS,   w <- w + mu c

The problem in Y is not convex, but with enough columns every local minimum is global. If the
Laplacian L(w) has no eigenvalue below 1 on centred vectors, sum_k w_k delta_k^2 is an upper bound
of the trace. The tests use this bound. If the distances determine a rigid frame, no optimal
multipliers exist, and the variance is sensitive: errors in the squared distances of 1e-4 of the
largest may change it by a percent.

Then L = -G, as in PCA. The inner products of an unseen item with the training items are not
defined. Therefore it is placed as in locally linear embedding, by the combination of its neighbours
that reconstructs its row.
"""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import scipy.sparse as sp
import torch

from skmde._linalg.frame import Unit
from skmde._utils.threads import one_blas_thread
from skmde._utils.warn import warn
from skmde.constraints import Centered
from skmde.core.kernels.backend import choose_backend
from skmde.core.solvers.lbfgs import LBFGS
from skmde.estimators.spectral.bridges import bridges
from skmde.estimators.spectral.gram import GramProblem
from skmde.estimators.spectral.locally_linear import Reconstruction
from skmde.exceptions import ConvergenceWarning
from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.graphs.weights import edges_from_graph, neighbor_graph

_FEW = 60  # largest number of items for the interior-point method
_ISOMETRY = 1e-4  # error relative to the largest squared distance; above, a warning
_IMPOSSIBLE = 1e-2  # same error; above, an exception
_PRECISION = 1e-5  # of the solver, relative to the largest squared distance, and to eigenvalues
_RANK = 30  # columns of Y
_MAX_ITER = 10_000  # iterations of L-BFGS in total
_INNER = 300  # iterations between two updates of the multipliers
_PENALTIES = (10.0, 1e8)  # first and last, in units of the first multipliers
_HARD = 1e4  # penalty, in the same units, that enforces any feasible distances
_GROWTH = 3.0  # of the penalty, if the error was not halved


class UnfoldingProblem(GramProblem):
    """Maximum variance unfolding.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    neighbors : NeighborTables
        Neighbours of the rows of X.
    metric : str or callable
    metric_params : dict or None
    n_jobs : int or None
    verbose : int
    """

    can_leave_out = True

    def __init__(self, X, neighbors, metric, metric_params, n_jobs, verbose):
        self._reconstruction = Reconstruction(X, neighbors)
        self.neighbors = neighbors
        self.graph = graph = neighbor_graph(neighbors.indices, neighbors.distances)
        edges, _ = edges_from_graph(graph)
        lengths = _edge_lengths(neighbors, edges)
        n_parts, labels = connected_components(graph)
        if n_parts > 1:  # otherwise the variance is unbounded
            between, gaps = bridges(X, labels, metric, metric_params, n_jobs)
            edges, lengths = np.concatenate([edges, between]), np.concatenate([lengths, gaps])
        # The root mean square, because `widest_gram` expects squares that are about 1.
        unit = Unit(float(np.sqrt(np.mean(lengths**2))) or 1.0)
        squares, n = unit.inside(lengths) ** 2, len(neighbors.indices)
        # If all squares are 0, all neighbours coincide, so all items do.
        K = widest_gram(squares, edges, n, verbose) if squares.any() else np.zeros((n, n))
        super().__init__(K, unit.power(2), n_jobs)
        self.rounding = max(self.rounding, _PRECISION * self.form.bound)

    def place(self, X, embedding, eigenvalues):
        return self._reconstruction.place(X, embedding)

    def place_others(self, X, own, embedding):
        return self._reconstruction.place_others(X, own, embedding)


def _edge_lengths(neighbors, edges):
    """Distances of the edges, from the table of either item."""
    n = len(neighbors.indices)
    there = neighbors.indices >= 0
    rows = np.repeat(np.arange(n), there.sum(axis=1))
    columns, values = neighbors.indices[there], neighbors.distances[there]
    codes = np.minimum(rows, columns) * n + np.maximum(rows, columns)
    codes, first = np.unique(codes, return_index=True)
    found: np.ndarray = values[first][
        np.searchsorted(codes, edges[:, 0].astype(int) * n + edges[:, 1])
    ]
    return found


def widest_gram(squares, edges, n_items, verbose=0):
    """The centred Gram matrix of greatest trace with given squared distances of given pairs.

    Parameters
    ----------
    squares : ndarray of shape (p,)
        Squared distances, about 1.
    edges : ndarray of shape (p, 2), int
        Pairs that join all items.
    n_items : int
    verbose : int

    Returns
    -------
    G : ndarray of shape (n_items, n_items)

    Raises
    ------
    ImportError
        If cvxpy is not installed.
    ValueError
        If no points have these distances.

    Warns
    -----
    ConvergenceWarning
        If the distances are accurate to less than four digits.
    """
    G = _interior_point(squares, edges, n_items, verbose) if n_items <= _FEW else None
    if G is None:
        Y, _ = unfold(squares, edges, n_items, verbose=verbose)
        G = Y @ Y.T
    i, j = edges.T
    own = np.diag(G)
    error = float(np.abs(own[i] + own[j] - 2 * G[i, j] - squares).max() / _largest(squares))
    if error > _IMPOSSIBLE:
        raise ValueError(
            "No points with the distances of these neighbours were found (squared distances have "
            f"errors of up to {error:.1g} of the largest); use metric='euclidean', or fewer "
            "neighbours."
        )
    if error > _ISOMETRY:
        warn(
            f"Squared distances of neighbours have errors of up to {error:.1g} of the largest, "
            "because they determine a rigid frame. Use fewer neighbours, or fewer samples.",
            ConvergenceWarning,
        )
    return G


def _interior_point(squares, edges, n_items, verbose):
    """The Gram matrix by Clarabel, or None if the program has no interior."""
    cp = import_cvxpy()
    G = cp.Variable((n_items, n_items), PSD=True)
    i, j = edges.T
    own = cp.diag(G)
    problem = cp.Problem(
        cp.Maximize(cp.trace(G) / n_items),
        [cp.sum(G) == 0, own[i] + own[j] - 2 * G[i, j] == squares],
    )
    with warnings.catch_warnings():
        # the caller checks the accuracy
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        try:
            problem.solve(solver=cp.CLARABEL, verbose=bool(verbose))
        except cp.error.SolverError:
            return None
    return None if G.value is None else (G.value + G.value.T) / 2


def unfold(squares, edges, n_items, rank=_RANK, verbose=0):
    """Centred points of greatest variance whose pairs have given squared distances.

    Parameters
    ----------
    squares : ndarray of shape (p,)
        Squared distances, about 1.
    edges : ndarray of shape (p, 2), int
        Pairs that join all items.
    n_items : int
    rank : int
        Dimension of the points, at most n_items - 1.
    verbose : int

    Returns
    -------
    Y : ndarray of shape (n_items, rank)
    w : ndarray of shape (p,)
        Multipliers of the distances.
    """
    p, rank = len(edges), min(rank, n_items - 1)
    rows = np.repeat(np.arange(p), 2)
    A = sp.csr_array((np.tile([1.0, -1.0], p), (rows, edges.ravel())), shape=(p, n_items))
    At = sp.csr_array(A.T)
    # The Laplacian embedding starts spread out in all dimensions. Its weights, a little above the
    # bound, are the first multipliers.
    with one_blas_thread():
        values, vectors = np.linalg.eigh((At @ A).toarray())
    Y = vectors[:, 1 : rank + 1] / np.sqrt(values[1 : rank + 1])
    Y *= np.sqrt(squares.sum() / np.square(A @ Y).sum())
    unit = 1 / values[1]
    w, mu, most = np.full(p, 1.1 * unit), _PENALTIES[0] * unit, _PENALTIES[1] * unit

    points = torch.from_numpy(Y)
    solver = LBFGS(max_iter=_INNER, memory_size=20)
    n_iter, error = 0, np.inf
    while n_iter < _MAX_ITER and error > _PRECISION:
        lagrangian = _Lagrangian(A, At, squares, w, mu)
        found = solver.minimize(lagrangian, Centered(), points)
        points = found.X
        c = lagrangian.excess(points.numpy())[1]
        w = w + mu * c
        before, error = error, np.abs(c).max() / _largest(squares)
        if error > before / 2:
            mu = min(_GROWTH * mu, most)
        n_iter += max(found.n_iter, 1)
        if error > _IMPOSSIBLE and mu > _HARD * unit:
            break
        if verbose:
            variance = float(points.square().sum())
            print(f"{n_iter} iterations, variance {variance:.6g}, error {error:.1e}")
    return points.numpy(), w


class _Lagrangian:
    """The objective of centred Y, with the interface that a solver needs."""

    backend = choose_backend(torch.device("cpu"))

    def __init__(self, A, At, squares, w, mu):
        self._A, self._At, self._squares, self._w, self._mu = A, At, squares, w, mu

    def excess(self, Y):
        differences = self._A @ Y
        return differences, np.einsum("ij,ij->i", differences, differences) - self._squares

    def value_and_gradient(self, X):
        Y = X.numpy()
        Y = Y - Y.mean(axis=0)  # otherwise rounding errors in the mean grow exponentially
        differences, c = self.excess(Y)
        w, mu = self._w, self._mu
        value = float(((w + mu / 2 * c) * c).sum() - np.square(Y).sum())
        gradient = 2 * (self._At @ ((w + mu * c)[:, None] * differences) - Y)
        return value, torch.from_numpy(gradient)


def _largest(squares):
    return squares.max() or 1.0  # all items coincide


def import_cvxpy():
    """Import cvxpy, or raise an error that says what to install."""
    try:
        return importlib.import_module("cvxpy")
    except ImportError as error:
        raise ImportError(
            "weights='mvu' solves a semidefinite program with cvxpy, which is not installed: "
            "pip install 'skmde[mvu]'."
        ) from error
