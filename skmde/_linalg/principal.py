"""Leading principal components, with the same bits for any number of threads.

LAPACK and BLAS split long sums among threads, so the last bits of a decomposition depend on the
number of threads. Here sums are computed in a fixed order, and LAPACK has small matrices and one
thread. Data with many samples and many features is decomposed by subspace
iteration (Halko, Martinsson and Tropp, 2011, algorithm 4.4) with a seeded start and additional
directions. If there are many rows, a sample of them is used. The result is precise enough for
initial coordinates.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from skmde._linalg.reductions import gram
from skmde._linalg.scaling import Scaling
from skmde._linalg.signs import fix_signs
from skmde._utils.device import as_tensor, is_cpu
from skmde._utils.threads import one_blas_thread

_SMALL = 64  # features or samples up to which the result is exact
_SPARE = 10
_N_ITERATIONS = 12
_MAX_ENTRIES = 1 << 22  # in the sample of rows from which the directions are computed
_BLOCK_ROWS = 4096  # at most, and dense blocks have at most this many bytes in float64
_BLOCK_BYTES = 1 << 22
_DEVICE_ENTRIES = 1 << 25  # of a block of rows on a device


def principal_scores(X, n_components, rng, device=None):
    """Coordinates of the rows of X along the directions of largest variance.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    n_components : int
    rng : numpy.random.Generator
    device : torch.device, default=None
        A device with float64 that computes the products of dense rows; the scores are the same up
        to rounding error.

    Returns
    -------
    scores : ndarray of shape (n, n_components), float64
        The columns have decreasing variance and signs fixed by a rule. The unit is about the
        spread of the data. Columns beyond the rank of the data are zero up to rounding error.
    """
    if sp.issparse(X):
        X = sp.csr_array(X)
    scaling = Scaling.fit(X, shift=not sp.issparse(X), scale=True)
    Z = scaling.apply(_some_rows(X, rng), np.float64)
    mean = np.asarray(Z.mean(axis=0)).ravel()
    on_device = not (device is None or is_cpu(device) or sp.issparse(X))
    if on_device:
        Z = torch.from_numpy(Z).to(device)
        mean = Z.mean(dim=0)
    directions = _directions(Z, mean, n_components, rng)
    del Z  # up to 34 MB
    scores = np.zeros((X.shape[0], n_components))
    step = _BLOCK_ROWS
    if not sp.issparse(X):
        step = min(step, max(1, _BLOCK_BYTES // (8 * X.shape[1])))
    if on_device:
        step = max(1, _DEVICE_ENTRIES // X.shape[1])
    for start in range(0, X.shape[0], step):
        rows = X[start : start + step]
        if on_device:
            block = _scaled_there(rows, scaling, device)
        else:
            block = scaling.apply(rows, np.float64)
        found = _host(_times(block, mean, directions))
        scores[start : start + step, : found.shape[1]] = found
    return fix_signs(scores)


def _some_rows(X, rng):
    entries = X.nnz if sp.issparse(X) else X.size
    n_rows = max(256, X.shape[0] * _MAX_ENTRIES // max(entries, 1))
    if n_rows >= X.shape[0]:
        return X
    return X[np.sort(rng.choice(X.shape[0], n_rows, replace=False, shuffle=False))]


def _scaled_there(X, scaling, device):
    """Rows, scaled in float64 on a device."""
    Z = as_tensor(X, device).double()
    if scaling.center is not None:
        Z -= torch.from_numpy(scaling.center).to(device)
    return Z.div_(scaling.unit)


def _directions(Z, mean, n_components, rng):
    n, d = Z.shape
    if d <= _SMALL:
        basis = _like(np.eye(d), Z)
    elif n <= _SMALL:
        basis = _orthonormal(_times_transposed(Z, mean, _like(np.eye(n), Z)))
    else:
        basis = _orthonormal(_like(rng.standard_normal((d, n_components + _SPARE)), Z))
        for _ in range(_N_ITERATIONS):
            basis = _orthonormal(_times_transposed(Z, mean, _times(Z, mean, basis)))
    scores = _times(Z, mean, basis)
    _, vectors = _eigen(_gram(scores, scores))
    return _product(basis, _like(vectors[:, ::-1][:, :n_components], Z))


def _like(array, Z):
    """An array of numpy where `Z` is."""
    if isinstance(Z, torch.Tensor):
        return torch.from_numpy(np.ascontiguousarray(array)).to(Z)
    return array


def _host(array):
    return array.cpu().numpy() if isinstance(array, torch.Tensor) else array


def _eigen(matrix):
    """Eigenvalues and eigenvectors of a symmetric matrix, on the host."""
    with one_blas_thread():
        return np.linalg.eigh(_host(matrix))


def _times(Z, mean, V):
    """(Z - mean) V."""
    product = Z @ V if sp.issparse(Z) else _product(Z, V)
    return product - _product(mean[None], V)


def _times_transposed(Z, mean, Y):
    """(Z - mean)^T Y."""
    product = Z.T @ Y if sp.issparse(Z) else _gram(Z, Y)
    return product - mean[:, None] * Y.sum(axis=0)


def _orthonormal(B):
    """Orthonormal basis of the span of the columns of B, with as many columns as its rank."""
    squared, vectors = _eigen(_gram(B, B))
    kept = squared > 1e-14 * squared.max(initial=0.0)
    return _product(B, _like(vectors[:, kept] / np.sqrt(squared[kept]), B))


def _product(A, B):
    if isinstance(A, torch.Tensor):
        return A @ B
    return np.einsum("ij,kj->ik", A, np.ascontiguousarray(B.T))


def _gram(A, B):
    if isinstance(A, torch.Tensor):
        return A.T @ B
    return gram(torch.from_numpy(A), torch.from_numpy(np.ascontiguousarray(B))).numpy()
