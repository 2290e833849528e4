"""Quadratic problems: their interface, and the problems of graphs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._linalg.symmetry import symmetric_matrix
from skmde._utils.threads import count_threads
from skmde.core.spectral.laplacian import laplacian_form
from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.graphs.weights import neighbor_graph
from skmde.preprocessing.neighbors.known_rows import KnownRows, with_twins


class QuadraticProblem:
    """What :class:`~skmde.QuadraticMDE` solves.

    Subclasses have

    - ``form``: the quadratic form whose bottom eigenvectors are computed
      (:mod:`skmde.core.spectral.spectrum`);
    - ``component_eigenvectors``: known unit eigenvectors of eigenvalue 0, which separate connected
      components; shape (s, n) with s at most `n_components`; the form leaves them out;
    - ``embedding_columns(vectors, values)``: columns of the embedding, as rows, from unit
      eigenvectors of the form;
    - ``n_items``, ``n_pairs`` (p), ``graph`` (sparse weights, or None);
    - ``squared_unit``: eigenvalues of the problem divided by those of the form;
    - ``place(X, embedding, eigenvalues)``: coordinates of unseen items, float64;
    - ``place_others(X, own, embedding)``: the same for the training items `own`, as if they were
      unseen, if ``can_leave_out`` is true;
    - ``neighbors``: tables of nearest neighbours, by which `place` goes, or None.
    """

    graph = None
    squared_unit = 1.0
    can_leave_out = False
    neighbors = None

    def drop_training_state(self):
        """Drop what `place` does not need."""
        self.form = self.component_eigenvectors = None


class LaplacianProblem(QuadraticProblem):
    """The graph of nearest neighbours, with weights 2 (mutual) and 1.

    Parameters
    ----------
    neighbors : NeighborTables
    n_components : int
    normalized : bool
        Whether the embedding is D^{-1/2} times the eigenvectors of D^{-1/2} L D^{-1/2}.
    n_jobs : int or None
    """

    can_leave_out = True

    def __init__(self, neighbors, n_components, normalized, n_jobs):
        self.neighbors = neighbors
        self.graph = neighbor_graph(neighbors.indices, neighbors.distances)
        self.n_items = len(neighbors.indices)
        check_pairs(self.graph)
        self.n_pairs = self.graph.nnz // 2
        self.form, self.component_eigenvectors, self._divisors = graph_form(
            self.graph, n_components, normalized, n_jobs
        )

    def embedding_columns(self, vectors, values):
        return standardized_columns(vectors, self._divisors)

    def place(self, X, embedding, eigenvalues):
        indices, distances, twin = self.neighbors.of_unseen(X)
        coordinates = self._means(indices, distances, embedding)
        return with_twins(coordinates.__getitem__, twin, embedding)

    def place_others(self, X, own, embedding):
        return self._means(*self.neighbors.of_others(X, own), embedding)

    def _means(self, indices, distances, embedding):
        """Weighted means of the coordinates of neighbours."""
        there = indices >= 0
        mutual = distances <= self.neighbors.reach[indices]
        weights = np.where(there, 1.0 + mutual, 0.0)
        total = weights.sum(axis=1, keepdims=True)
        # rows without neighbours stay at the mean, 0
        coordinates = np.zeros((len(indices), embedding.shape[1]))
        for column in range(indices.shape[1]):
            coordinates += weights[:, [column]] * embedding[indices[:, column]]
        coordinates /= np.where(total > 0, total, 1.0)
        return coordinates


class GivenWeightsProblem(QuadraticProblem):
    """Weights from the caller, of any sign.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n)
    n_components : int
    n_jobs : int or None
    """

    can_leave_out = True

    def __init__(self, X, n_components, n_jobs):
        self.graph = symmetric_weights(X)
        self.n_items = self.graph.shape[0]
        check_pairs(self.graph)
        self.n_pairs = self.graph.nnz // 2
        self.form, self.component_eigenvectors, _ = graph_form(
            self.graph, n_components, False, n_jobs
        )
        self._known = KnownRows(X)

    def embedding_columns(self, vectors, values):
        return standardized_columns(vectors)

    def place_others(self, X, own, embedding):
        weights = sp.csr_array(self.graph[own])  # without a diagonal
        total = np.asarray(weights.sum(axis=1)).ravel()
        mean = (weights @ embedding) / np.where(total > 0, total, 1.0)[:, None]
        return np.where(total[:, None] > 0, mean, np.nan)

    def place(self, X, embedding, eigenvalues):
        weights = sp.csr_array(X, dtype=np.float64)
        total = np.asarray(weights.sum(axis=1)).ravel()
        size = np.asarray(abs(weights).sum(axis=1)).ravel()
        twin = np.where(size > 0, self._known.find(X), -1)
        wrong = np.flatnonzero((total <= 0) & (size > 0) & (twin < 0))
        if wrong.size:
            raise ValueError(
                f"The weights of unseen item {wrong[0]} to the training items sum to "
                f"{total[wrong[0]]:.3g} ({wrong.size} such rows). No finite coordinates are best "
                "for it; give each unseen item weights with a positive sum."
            )
        coordinates = (weights @ embedding) / np.where(size > 0, total, 1.0)[:, None]
        return with_twins(coordinates.__getitem__, twin, embedding)


def graph_form(graph, n_components, normalized, n_jobs):
    """The Laplacian of a graph as a quadratic form.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric weights of any sign, without a diagonal.
    n_components : int
        Number of columns of the embedding.
    normalized : bool
    n_jobs : int or None

    Returns
    -------
    form : QuadraticForm
    component_eigenvectors : ndarray of shape (s, n)
        Eigenvectors that separate connected components; none if there are negative weights.
    divisors : ndarray of shape (n,) or None
        Divisors of the rows of an embedding: square roots of the degrees, in units of the mean
        degree. None if not `normalized`.
    """
    labels = None
    if graph.data.min() > 0:
        n_parts, found = connected_components(graph)
        labels = found if n_parts > 1 else None
    form, roots = laplacian_form(
        graph, labels, n_components, normalized=normalized, n_threads=count_threads(n_jobs)
    )
    return form, form.null[1:], roots / np.sqrt(np.mean(roots**2)) if normalized else None


def standardized_columns(vectors, divisors=None):
    """Columns of a standardized embedding, as rows, from unit vectors."""
    rows = np.sqrt(vectors.shape[1]) * vectors
    return rows if divisors is None else rows / divisors


def symmetric_weights(X):
    """A matrix of weights as a symmetric csr_array without a diagonal or stored zeros."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X must be a square matrix, one row and one column for each item; got shape {X.shape}."
        )
    matrix = sp.csr_array(X, dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # do not change the caller's matrix
        matrix.sum_duplicates()
    if matrix.diagonal().any():
        matrix = sp.csr_array(matrix - sp.diags_array(matrix.diagonal(), format="csr"))
    matrix = symmetric_matrix(matrix, "weights")
    matrix.eliminate_zeros()  # a weight of 0 means no pair
    return matrix


def check_pairs(graph):
    if graph.nnz == 0:
        raise ValueError(
            "All pairs of samples have weight 0. Raise n_neighbors, or give more weights."
        )
