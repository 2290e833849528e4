r"""Maximum variance unfolding: the Gram matrix of greatest variance with the neighbours' distances.

    maximise  tr G   subject to   G positive semidefinite,  1^T G 1 = 0,
                                  G_ii - 2 G_ij + G_jj = delta_ij^2  for all pairs of neighbours

(monograph, section 3.2). This semidefinite program is solved by cvxpy, an optional extra, with the
interior-point method of Clarabel: 40 items take a second and 80 a quarter of a minute, and twice
as many some 40 times as long. Beyond 100 items, and where rigid neighbourhoods leave it no
interior, the first-order method SCS takes over: it keeps the distances, but its variance may be
some percent off.

Then L = -G, as in PCA. There is no natural product of an unseen item with the training items, so it
is placed as in locally linear embedding: by the combination of its neighbours that reconstructs
its row.
"""

from __future__ import annotations

import importlib
import warnings

import numpy as np

from skmde.estimators._quadratic_bridges import bridges
from skmde.estimators._quadratic_gram import GramProblem
from skmde.estimators._quadratic_local import Reconstruction
from skmde.exceptions import ConvergenceWarning
from skmde.preprocessing.graphs import connected_components
from skmde.preprocessing.weights import edges_from_graph, neighbor_graph

_FEW = 100  # items for the interior-point method
_MAX_ITER = 5_000
_ISOMETRY = 1e-4  # of the largest squared distance
_PRECISION = 1e-5  # of the solver, relative to the largest eigenvalue


class UnfoldingProblem(GramProblem):
    """Maximum variance unfolding.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    neighbors : Neighbors
        Of the rows of X.
    metric : str or callable
    metric_params : dict or None
    n_jobs : int or None
    verbose : int
    """

    def __init__(self, X, neighbors, metric, metric_params, n_jobs, verbose):
        self._reconstruction = Reconstruction(X, neighbors)
        self.graph = graph = neighbor_graph(neighbors.indices, neighbors.distances)
        edges, _ = edges_from_graph(graph)
        lengths = _edge_lengths(neighbors, edges)
        n_parts, labels = connected_components(graph)
        if n_parts > 1:  # they could be moved apart without end
            between, gaps = bridges(X, labels, metric, metric_params, n_jobs)
            edges, lengths = np.concatenate([edges, between]), np.concatenate([lengths, gaps])
        unit = float(np.sqrt(np.mean(lengths**2))) or 1.0
        K = widest_gram((lengths / unit) ** 2, edges, neighbors.n_items, verbose)
        super().__init__(K, unit**2, n_jobs)
        self.rounding = _PRECISION * self.form.bound

    def place(self, X, embedding, eigenvalues):
        return self._reconstruction.place(X, embedding)


def _edge_lengths(neighbors, edges):
    """Distances of the edges, from the tables of either end."""
    n = neighbors.n_items
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
    """The centred Gram matrix of greatest trace in which given pairs have given squared distances.

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
    """
    cp = import_cvxpy()
    G = cp.Variable((n_items, n_items), PSD=True)
    i, j = edges.T
    own = cp.diag(G)
    problem = cp.Problem(
        cp.Maximize(cp.trace(G) / n_items),
        [cp.sum(G) == 0, own[i] + own[j] - 2 * G[i, j] == squares],
    )
    with warnings.catch_warnings():
        # what was found is measured below
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        if n_items <= _FEW:
            try:
                problem.solve(solver=cp.CLARABEL, verbose=bool(verbose))
            except cp.error.SolverError:
                G.value = None  # no interior
        if G.value is None:
            problem.solve(solver=cp.SCS, eps=1e-5, max_iters=_MAX_ITER, verbose=bool(verbose))
    if G.value is None:
        raise ValueError(
            "No points have the distances of these neighbours (the semidefinite program is "
            f"{problem.status}); use metric='euclidean'."
        )
    found = (G.value + G.value.T) / 2
    own = np.diag(found)
    error = float(np.abs(own[i] + own[j] - 2 * found[i, j] - squares).max())
    if error > _ISOMETRY * squares.max():
        warnings.warn(
            f"The semidefinite program ended with status {problem.status!r}, and squared distances "
            f"of neighbours are off by up to {error / squares.max():.1g} of the largest. Use fewer "
            "samples or neighbours.",
            ConvergenceWarning,
            stacklevel=7,
        )
    return found


def import_cvxpy():
    """The module cvxpy, or an error that says what to install."""
    try:
        return importlib.import_module("cvxpy")
    except ImportError as error:
        raise ImportError(
            "weights='mvu' solves a semidefinite program with cvxpy, which is not installed: "
            "pip install 'skmde[mvu]'."
        ) from error
