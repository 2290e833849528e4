"""Quadratic problems of local reconstructions: locally linear embedding.

Each item is approximated by an affine combination of its neighbours, with weights W, and
L = (I - W)^T (I - W). The same rule places unseen items: the weights that reconstruct a row from
its neighbours combine the coordinates of the neighbours. A training item without neighbours has a
row of zeros in I - W. An unseen item without neighbours is placed at the mean.

:class:`skmde.estimators.spectral.laplacian.QuadraticProblem` documents the interface.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from skmde._linalg.scaling import Scaling
from skmde._utils.threads import one_blas_thread
from skmde.core.spectral.laplacian import part_contrasts
from skmde.core.spectral.spectrum import QuadraticForm
from skmde.estimators.spectral.laplacian import (
    QuadraticProblem,
    check_pairs,
    standardized_columns,
)
from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.neighbors.index import as_searched
from skmde.preprocessing.neighbors.known_rows import with_twins

_RIDGE = 1e-3  # of the trace of the local Gram matrix, as in scikit-learn
_SHIFT = 1e-10  # relative to the largest eigenvalue; makes L regular, so that it can be factored
_FACTORED = 20_000  # L is factored up to this number of items
_BLOCK_ENTRIES = 1 << 17  # differences, so that a block stays in the cache


class LocallyLinearProblem(QuadraticProblem):
    """Locally linear embedding.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    neighbors : NeighborTables
        Of the rows of X.
    n_components : int
    """

    can_leave_out = True

    def __init__(self, X, neighbors, n_components):
        self._reconstruction = Reconstruction(X, neighbors)
        self.neighbors = neighbors
        W = self._reconstruction.of_training()
        n = self.n_items = len(neighbors.indices)
        reconstructed = (np.diff(W.indptr) > 0).astype(np.float64)
        residual = sp.csr_array(sp.diags_array(reconstructed, format="csr") - W)
        L = sp.csr_array(residual.T @ residual)
        L = sp.csr_array((L + L.T) / 2)
        self.graph = sp.csr_array(sp.diags_array(L.diagonal(), format="csr") - L)
        self.graph.eliminate_zeros()
        self.graph.sort_indices()
        check_pairs(self.graph)
        self.n_pairs = self.graph.nnz // 2
        _, labels = connected_components(self.graph)
        ones = np.ones(n)
        self.component_eigenvectors = part_contrasts(labels, ones, n_components)
        bound = float(np.asarray(abs(L).sum(axis=1)).max())
        self.form = QuadraticForm(
            apply=lambda V: np.ascontiguousarray((L @ V.T).T),
            null=np.concatenate([ones[None] / np.sqrt(n), self.component_eigenvectors]),
            bound=bound,
            precondition=_inverse_preconditioner(L, bound)
            if n <= _FACTORED
            else _diagonal_preconditioner(L),
        )

    def embedding_columns(self, vectors, values):
        return standardized_columns(vectors)

    def place_others(self, X, own, embedding):
        return self._reconstruction.place_others(X, own, embedding)

    def place(self, X, embedding, eigenvalues):
        return self._reconstruction.place(X, embedding)


def _inverse_preconditioner(L, bound):
    # a small shift would magnify the rounding errors of items without edges
    shift = np.where(L.diagonal() > 0, _SHIFT * bound, bound)
    shifted = sp.csc_array(L + sp.diags_array(shift))
    factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    return lambda R: np.ascontiguousarray(factors.solve(np.ascontiguousarray(R.T)).T)


def _diagonal_preconditioner(L):
    diagonal = L.diagonal()
    diagonal[diagonal <= 0] = 1.0  # of items without edges
    return lambda R: R / diagonal


class Reconstruction:
    """Rows as affine combinations of their neighbours among the training rows.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training rows.
    neighbors : NeighborTables
    """

    def __init__(self, X, neighbors):
        self.neighbors = neighbors
        self._scaling = Scaling.fit(X, shift=not sp.issparse(X), scale=True)
        self._rows = self._scaling.apply(X, np.float64)
        self._block = max(1, _BLOCK_ENTRIES // (neighbors.indices.shape[1] * X.shape[1]))

    def of_training(self):
        """The weights of the training rows: csr_array of shape (n, n)."""
        indices = self.neighbors.indices
        n, there = len(indices), indices >= 0
        weights = self._weights(self._rows, indices)
        starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        return sp.csr_array((weights[there], indices[there], starts), shape=(n, n))

    def place(self, X, embedding):
        """Coordinates of unseen rows."""
        indices, _, twin = self.neighbors.of_unseen(X)
        coordinates = self._combinations(X, indices, embedding)
        return with_twins(coordinates.__getitem__, twin, embedding)

    def place_others(self, X, own, embedding):
        """Coordinates of the training rows `own`, as if they were unseen."""
        indices, _ = self.neighbors.of_others(X, own)
        return self._combinations(X, indices, embedding)

    def _combinations(self, X, indices, embedding):
        rows = as_searched(X, dense=not sp.issparse(self._rows))
        weights = self._weights(self._scaling.apply(rows, np.float64), indices)
        # rows without neighbours stay at the mean, 0
        coordinates = np.zeros((len(indices), embedding.shape[1]))
        for column in range(indices.shape[1]):
            coordinates += weights[:, [column]] * embedding[indices[:, column]]
        return coordinates

    def _weights(self, X, indices):
        """Weights of the neighbours; 0 where the index is -1."""
        q, k = indices.shape
        out = np.empty((q, k))
        with one_blas_thread():  # the last bits of a product depend on the threads
            for start in range(0, q, self._block):
                part = slice(start, start + self._block)
                near, own = self._rows[indices[part].ravel()], X[part]
                if sp.issparse(near):
                    near, own = near.toarray(), own.toarray()
                differences = near.reshape(-1, k, X.shape[1])  # indexing has copied them
                differences -= own[:, None]
                out[part] = barycenter_weights(differences, indices[part] >= 0)
        return out


def barycenter_weights(differences, there):
    """Weights of the affine combinations of neighbours that are nearest to each item.

    Parameters
    ----------
    differences : ndarray of shape (q, k, d)
        Neighbours minus the item. Entries of missing neighbours are set to 0 in place.
    there : ndarray of shape (q, k), bool
        Which neighbours exist.

    Returns
    -------
    weights : ndarray of shape (q, k)
        Each row sums to 1, or to 0 without neighbours. Missing neighbours have weight 0.

    References
    ----------
    Saul and Roweis, *An introduction to locally linear embedding* (2001). The ridge is that of
    scikit-learn.
    """
    if not there.all():
        differences[~there] = 0.0
    G = differences @ differences.transpose(0, 2, 1)
    k = G.shape[1]
    trace = np.trace(G, axis1=1, axis2=2)
    ridge = _RIDGE * np.where(trace > 0, trace, 1.0)
    G[:, np.arange(k), np.arange(k)] += ridge[:, None]
    # G has no entries that couple a missing neighbour to others, so its weight is 0
    weights = np.linalg.solve(G, there[:, :, None].astype(np.float64))[:, :, 0]
    total = weights.sum(axis=1, keepdims=True)
    total[~there.any(axis=1)] = 1.0
    normalised: np.ndarray = weights / total
    return normalised
