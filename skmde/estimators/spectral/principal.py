"""Principal components as a quadratic problem, without a matrix of all pairs.

For centred rows Y, L = -Y Y^T has the eigenvalues of -Y^T Y, and its unit eigenvectors are
Y v / sigma for the unit eigenvectors v of Y^T Y. The iteration runs on vectors of samples or of
features, whichever are fewer. If they are few, it multiplies by the Gram matrix Y Y^T or Y^T Y,
which is smaller than the data and takes one pass over them. Else each step multiplies by Y and Y^T.
The projection y^T v sqrt(n) / sigma places an unseen row y: it is scikit-learn's whitened
projection up to the factor sqrt(n / (n - 1)).

Data is centred and scaled in float64. Products of large float32 data are computed in float32.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._linalg.lobpcg import Space
from skmde._linalg.scaling import Scaling
from skmde._linalg.signs import fix_signs
from skmde._utils.threads import count_threads, run_rows
from skmde.core.spectral.spectrum import QuadraticForm
from skmde.estimators.spectral.laplacian import QuadraticProblem
from skmde.preprocessing.neighbors.index import few_cells

_FEW = 4096  # samples or features; up to here, the smaller of Y Y^T and Y^T Y is stored
_BLOCK_ROWS = 4096
_PROJECTED_ROWS = 256  # rows of a block, which fits in the cache
_LARGE = 1 << 32  # multiplications; beyond, products of float32 data are in float32
_ROUNDING = {np.float32: 1e-7, np.float64: 1e-14}  # relative to the sum of eigenvalues


class PrincipalProblem(QuadraticProblem):
    """Principal component analysis.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    n_jobs : int or None
    """

    def __init__(self, X, n_jobs):
        self.n_items, self._d = X.shape
        self.n_pairs = self.n_items * (self.n_items - 1) // 2
        size = min(X.shape)
        large = max(X.shape) * size**2 > _LARGE
        self._dtype = np.float32 if X.dtype == np.float32 and large else np.float64
        self._dense = not sp.issparse(X) or few_cells(X)
        self._X = X = self._rows(X)
        self._scaling = Scaling.fit(X, shift=self._dense, scale=True)
        self._n_jobs = n_jobs
        n_threads = count_threads(n_jobs)
        self._by_samples = self.n_items < self._d
        self.component_eigenvectors = np.empty((0, size))
        null = np.empty((0, size))
        if size <= _FEW:
            C = self._products_of_samples() if self._by_samples else self._products_of_features()
            space, bound = Space(size, n_threads), float(np.trace(C))
            squares = bound + self.n_items * float(self._mean @ self._mean)
            apply = lambda V: -space.products(V, C)  # noqa: E731
        else:
            self._mean, bound = self._mean_and_squares()
            squares = bound
            apply = self._sample_product if self._by_samples else self._feature_product
        if self._by_samples:
            null = np.full((1, size), 1 / np.sqrt(size))
        # sparse rows are not centred, so rounding errors are relative to their uncentred squares
        self.rounding = _ROUNDING[self._dtype] * (bound if self._dense else squares)
        self.squared_unit = self._scaling.unit**2
        self.form = QuadraticForm(apply=apply, null=null, bound=bound, precondition=lambda R: R)

    def _rows(self, X):
        """Small sparse data is converted to dense data, which can be centred."""
        if not sp.issparse(X):
            return X
        return X.toarray() if self._dense else sp.csr_array(X)

    def _blocks(self):
        """Blocks of scaled rows, float64."""
        for start in range(0, self._X.shape[0], _BLOCK_ROWS):
            yield self._scaling.apply(self._X[start : start + _BLOCK_ROWS], np.float64)

    def _mean_and_squares(self):
        """The mean row, and the sum of all squares."""
        total, size = np.zeros(self._d), 0.0
        for Y in self._blocks():
            total += np.asarray(Y.sum(axis=0)).ravel()
            size += float(Y.multiply(Y).sum() if sp.issparse(Y) else np.einsum("ij,ij->", Y, Y))
        return total / self.n_items, size

    def _products_of_features(self):
        """Y^T Y for centred rows, in one pass that also finds their mean.

        The mean of the first block is subtracted from the rows, so that the correction is small.
        """
        C, total = np.zeros((self._d, self._d)), np.zeros(self._d)
        about = np.zeros(self._d)
        if sp.issparse(self._X):
            for Y in self._blocks():
                C += (Y.T @ Y).toarray()
                total += np.asarray(Y.sum(axis=0)).ravel()
        else:
            about = next(self._blocks()).mean(axis=0).astype(self._dtype)
            for Y in self._blocks_less(about):
                C += Y.T @ Y
                total += Y.sum(axis=0, dtype=np.float64)
        rest = total / self.n_items
        self._mean = about + rest
        return C - self.n_items * np.outer(rest, rest)

    def _products_of_samples(self):
        """Y Y^T for centred rows, which are one block."""
        self._mean, _ = self._mean_and_squares()
        if sp.issparse(self._X):
            (Y,) = self._blocks()
            K = (Y @ Y.T).toarray()
        else:
            (Y,) = self._blocks_less(self._mean.astype(self._dtype))
            K = (Y @ Y.T).astype(np.float64)
        # the mean was rounded; K is exactly centred
        means = K.mean(axis=0)
        K -= means
        K -= means[:, None]
        K += means.mean()
        return K

    def _blocks_less(self, about):
        """Blocks of rows minus the row `about`, in the dtype of products."""
        as_it_is = self._scaling.center is None and self._scaling.unit == 1
        if as_it_is and self._X.dtype == self._dtype:
            for start in range(0, self.n_items, _BLOCK_ROWS):
                yield self._X[start : start + _BLOCK_ROWS] - about
            return
        for Y in self._blocks():
            Y -= about
            yield Y.astype(self._dtype, copy=False)

    def _scores(self, V):
        """Scores of the samples for each row of V, a vector of the features."""
        shift = V @ self._mean
        parts = [np.asarray(Y @ V.T) for Y in self._blocks()]
        return np.ascontiguousarray(np.concatenate(parts).T) - shift[:, None]

    def _loadings(self, U):
        """Loadings of the features for each row of U, a vector of the samples."""
        out, start = np.zeros((len(U), self._d)), 0
        for Y in self._blocks():
            stop = start + Y.shape[0]
            out += np.asarray(Y.T @ np.ascontiguousarray(U[:, start:stop].T)).T
            start = stop
        return out - np.outer(U.sum(axis=1), self._mean)

    def _sample_product(self, U):
        return -self._scores(self._loadings(U))

    def _feature_product(self, V):
        return -self._loadings(self._scores(V))

    def embedding_columns(self, vectors, values):
        scale = 1 / np.sqrt(-values)[:, None]
        if self._by_samples:
            vectors = self._loadings(vectors) * scale
        self._projection = np.sqrt(self.n_items) * vectors * scale
        rows = self._project(self._X)
        signed = fix_signs(rows)
        self._projection *= np.where((signed * rows).sum(axis=0) < 0, -1.0, 1.0)[:, None]
        return signed.T

    def drop_training_state(self):
        super().drop_training_state()
        self._X = None

    def _project(self, X):
        X = sp.csr_array(X) if sp.issparse(X) else X
        out = np.empty((X.shape[0], len(self._projection)))
        shift = self._projection @ self._mean
        P = np.ascontiguousarray(self._projection.T)

        def piece(start, stop):
            Y = self._scaling.apply(self._rows(X[start:stop]), np.float64)
            out[start:stop] = np.asarray(Y @ P) - shift

        run_rows(piece, len(out), _PROJECTED_ROWS, self._n_jobs)
        return out

    def jacobian(self, n_components):
        """Derivatives of the coordinates of a row by its features: (n_components, d)."""
        derivatives = np.zeros((n_components, self._d))
        derivatives[: len(self._projection)] = self._projection / self._scaling.unit
        return derivatives

    def place(self, X, embedding, eigenvalues):
        coordinates = np.zeros((X.shape[0], embedding.shape[1]))
        coordinates[:, : len(self._projection)] = self._project(X)
        return coordinates
