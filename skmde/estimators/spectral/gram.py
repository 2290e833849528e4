"""Quadratic problems of inner products, with L = -B for a centred Gram matrix B.

The columns of the embedding are sqrt(n) times the leading unit eigenvectors u of B, with
eigenvalues mu. An unseen item with inner products b to the training items has coordinates
sqrt(n) b^T u / mu. This is Nystrom's extension, which is exact for a Gram matrix of vectors. The
eigenvalues of the problem are those of L, -mu, in squared units of the data.

:class:`skmde.estimators.spectral.laplacian.QuadraticProblem` documents the interface.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from skmde._linalg.frame import Unit
from skmde._linalg.lobpcg import Space
from skmde._linalg.scaling import Scaling, unit_rows
from skmde._linalg.symmetry import symmetric_matrix
from skmde._utils.threads import count_threads
from skmde._utils.warn import warn
from skmde.core.spectral.spectrum import QuadraticForm
from skmde.estimators.pairs.matrix_distances import MatrixDistances
from skmde.estimators.pairs.path_distances import NeighborPaths
from skmde.estimators.pairs.row_distances import RowDistances
from skmde.estimators.spectral.bridges import bridges
from skmde.estimators.spectral.laplacian import QuadraticProblem, standardized_columns
from skmde.preprocessing.graphs.adjacency import as_adjacency
from skmde.preprocessing.graphs.components import connected_components
from skmde.preprocessing.neighbors.known_rows import KnownRows, with_twins
from skmde.preprocessing.neighbors.tables import NeighborTables

_SHIFT_FREE = ("linear", "rbf", "laplacian")  # kernels that are shift-invariant after centring
_COPIES = 3  # n x n matrices at the peak of a fit
_FAR = 2.0  # distance of unconnected items, relative to the largest distance


class GramProblem(QuadraticProblem):
    """Kernel PCA, and problems that reduce to it.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric; overwritten with the centred matrix.
    unit : float
        The divisor of K, in squared units of the data.
    n_jobs : int or None
    """

    def __init__(self, K, unit, n_jobs):
        self.n_items = n = len(K)
        self.squared_unit = unit
        self.n_pairs = n * (n - 1) // 2
        self.component_eigenvectors = np.empty((0, n))
        # Rounding error of centring a constant matrix; infinite if K is zero.
        self.rounding = 4 * np.finfo(float).eps * n * float(np.abs(K).max()) or np.inf
        self._column_means = K.mean(axis=0)
        self._mean = self._column_means.mean()
        K -= self._column_means
        K -= self._column_means[:, None]
        K += self._mean
        space = Space(n, count_threads(n_jobs))
        self.form = QuadraticForm(
            apply=lambda V: -space.products(V, K),
            null=np.full((1, n), 1 / np.sqrt(n)),
            bound=float(max(np.abs(row).sum() for row in K)),
            precondition=lambda R: R,
        )

    def embedding_columns(self, vectors, values):
        return standardized_columns(vectors)

    def nystrom_coordinates(self, K, embedding, eigenvalues):
        """Coordinates of items whose inner products to the training items are the rows of K.

        K is in units of the problem, and the eigenvalues are in squared units of the data.
        """
        eigenvalues = eigenvalues / self.squared_unit
        K = K - self._column_means - K.mean(axis=1, keepdims=True) + self._mean
        usable = eigenvalues < 0
        coordinates = np.zeros((len(K), len(eigenvalues)))
        coordinates[:, usable] = (K @ embedding[:, usable]) / -eigenvalues[usable]
        return coordinates


class KernelProblem(GramProblem):
    """Kernel PCA of rows of data, or of a matrix of inner products.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    kernel : str or callable
    parameters : dict
        Parameters of the kernel.
    n_jobs : int or None
    """

    def __init__(self, X, kernel, parameters, n_jobs):
        self._kernel, self._parameters, self._n_jobs = kernel, parameters, n_jobs
        self._known = KnownRows(X)
        shift = isinstance(kernel, str) and kernel in _SHIFT_FREE and not sp.issparse(X)
        self._scaling = Scaling.fit(X, shift=shift, scale=False)
        self._X = None if self._is_given() else self._prepared_rows(X)
        if self._X is X:
            self._X = X.copy()  # the user may change X after fit
        K = self._products(X)
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                "With kernel='precomputed', X holds the kernel of all pairs of samples and must be "
                f"square; got shape {K.shape}."
            )
        K = symmetric_matrix(K, "values of the kernel")
        self._unit = Unit.largest(K)
        K = self._unit.inside(K)
        super().__init__(K, self._unit.size, n_jobs)

    def _is_given(self):
        return isinstance(self._kernel, str) and self._kernel == "precomputed"

    def _prepared_rows(self, X):
        """Rows shifted to the origin, where products keep their digits, or scaled to length 1."""
        if isinstance(self._kernel, str) and self._kernel == "cosine":
            return unit_rows(X, np.float64)[0]  # scikit-learn does not scale very short rows
        return X if self._scaling.center is None else self._scaling.apply(X, np.float64)

    def _products(self, X):
        if self._is_given():
            dense = X.toarray() if hasattr(X, "toarray") else X
            return np.array(dense, dtype=np.float64)
        named = not callable(self._kernel)
        with np.errstate(over="ignore", invalid="ignore"):
            K = pairwise_kernels(
                self._prepared_rows(X),
                self._X,
                metric=self._kernel,
                filter_params=named,
                n_jobs=None,
                **self._parameters,
            )
        K = np.asarray(K, dtype=np.float64)
        wrong = np.count_nonzero(~np.isfinite(K))
        if wrong:
            raise ValueError(
                f"The kernel {self._kernel!r} returned {wrong} values that are NaN or infinite; "
                "choose another kernel, or scale the data."
            )
        return K

    def place(self, X, embedding, eigenvalues):
        products = self._unit.inside(self._products(X))
        coordinates = self.nystrom_coordinates(products, embedding, eigenvalues)
        return with_twins(coordinates.__getitem__, self._known.find(X), embedding)


class DistanceProblem(GramProblem):
    """Classical scaling: B = -J D J / 2 for squared distances D, with J = I - 1 1^T / n.

    Parameters
    ----------
    source : DistanceSource
    n_jobs : int or None
    """

    def __init__(self, source, n_jobs):
        n = source.n_items
        D = source.from_items(np.arange(n))
        source.choose_landmarks(n, np.random.default_rng(0))  # all items, in order
        source.drop_training_state()
        self._originals = source
        there = np.isfinite(D)
        self._unit = Unit.largest(D, where=there)
        if not there.all():
            warn(
                f"{np.count_nonzero(~there) // 2} pairs of samples have no distance and no path "
                f"between them; their distance is set to {_FAR:g} times the largest distance. "
                "Raise n_neighbors, or give more distances.",
            )
        super().__init__(self._inner(D), self._unit.power(2), n_jobs)

    def _inner(self, D):
        D = np.where(np.isfinite(D), self._unit.inside(D), _FAR)
        D *= D
        D *= -0.5
        return D

    def place(self, X, embedding, eigenvalues):
        D, twin = self._originals.of_unseen(X)
        coordinates = self.nystrom_coordinates(self._inner(D), embedding, eigenvalues)
        return with_twins(coordinates.__getitem__, twin, embedding)


class AllPaths(NeighborPaths):
    """All path lengths in the graph of nearest neighbours.

    Connected components are joined by their closest pairs, if there are distances between them.
    Tables of neighbours hold no others.
    """

    def __init__(self, X, n_neighbors, *, metric, metric_params, n_jobs, verbose, **search):
        search.update(metric=metric, metric_params=metric_params, n_jobs=n_jobs)
        tables = NeighborTables(X, n_neighbors, **search)
        super().__init__(tables, None, n_jobs, verbose)
        n_parts, labels = connected_components(self._matrix)
        if n_parts == 1 or isinstance(X, tuple):
            return
        edges, lengths = bridges(X, labels, metric, metric_params, n_jobs)
        there = self._matrix.tocoo()
        if not len(edges):
            return
        rows, columns = np.concatenate([[there.row, there.col], edges.T], axis=1)
        values = np.concatenate([there.data, lengths])
        graph = sp.csr_array((values, (rows, columns)), shape=there.shape)
        self._matrix, _ = as_adjacency(graph)

    def from_items(self, items):
        self._lengths = super().from_items(items)
        return self._lengths

    def choose_landmarks(self, most, rng, among=None):
        return np.arange(self.n_items)


def distance_problem(X, precomputed, metric, metric_params, n_jobs):
    """Classical scaling of rows under a metric, or of given distances."""
    source = MatrixDistances(X) if precomputed else RowDistances(X, metric, metric_params, n_jobs)
    return DistanceProblem(source, n_jobs)
