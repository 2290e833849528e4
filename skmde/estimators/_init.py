"""Where a solve begins: the starting points that ``init`` names.

All are of shape (n_samples, n_components), float32, and about unit size in each column: the
scale on which the default penalties act.
"""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA

from skmde.core.eigen import fix_signs, laplacian_embedding, small_laplacian_embedding
from skmde.preprocessing.graphs import connected_components, pack_components

_SMALL = 50  # items up to which an eigendecomposition of the whole Laplacian costs nothing
_WORK = 1e8  # edges times iterations: half a second


def quadratic_start(graph, n_components, n_threads):
    """Standardized spectral embedding of each connected component, packed side by side.

    Parameters
    ----------
    graph : sparse matrix of shape (n_samples, n_samples)
        Symmetric, positive weights.
    n_components : int
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    X : ndarray of shape (n_samples, n_components), float32

    References
    ----------
    Monograph, chapter 3 (quadratic MDE problems) and section 5.1 (starting points).
    """
    n_parts, labels = connected_components(graph)
    if n_parts == 1:
        return _part_layout(graph, n_components, n_threads)
    X = np.zeros((graph.shape[0], n_components), dtype=np.float32)
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    for part in np.split(order, np.cumsum(sizes)[:-1]):
        if part.size > 1:
            X[part] = _part_layout(graph[part][:, part], n_components, n_threads)
    return _unit_size(pack_components(X, labels))


def _part_layout(graph, n_components, n_threads):
    n = graph.shape[0]
    if n <= max(_SMALL, n_components + 1):
        return small_laplacian_embedding(graph.toarray(), n_components)
    upper = graph.tocoo()
    keep = upper.row < upper.col
    edges = np.stack([upper.row[keep], upper.col[keep]], axis=1)
    max_iter = int(np.clip(_WORK / edges.shape[0], 50, 500))
    X, _ = laplacian_embedding(
        edges,
        n,
        n_components,
        weights=upper.data[keep].astype(np.float32),
        max_iter=max_iter,
        n_threads=n_threads,
    )
    return X.numpy()


def pca_start(X, n_components, random_state):
    """First principal components of the data, each scaled to about unit size.

    Columns beyond the rank of the data hold seeded noise of a hundredth of that size.
    """
    n_pca = min(n_components, *X.shape)
    scores = PCA(n_pca, random_state=random_state).fit_transform(_centred(X))
    start = np.zeros((X.shape[0], n_components))
    start[:, :n_pca] = fix_signs(scores)
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    start = _unit_size(start)
    flat = np.ptp(start, axis=0) <= 1e-6
    start[:, flat] = 0.01 * rng.standard_normal((X.shape[0], int(flat.sum())))
    return start.astype(np.float32)


def _centred(X):
    """Data of unit size around its mean, so that no scale of it can overflow a square."""
    if not isinstance(X, np.ndarray):
        X = X.toarray() if X.shape[0] * X.shape[1] < 1 << 24 else X
    if not isinstance(X, np.ndarray):
        return X
    X = X - X.mean(axis=0, dtype=np.float64)
    return X / (np.abs(X).max() or 1.0)


def random_start(n_samples, n_components, random_state):
    """Standard normal entries."""
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    return rng.standard_normal((n_samples, n_components), dtype=np.float32)


def given_start(init, n_samples, n_components):
    """An array from the user, checked."""
    start = np.array(init, dtype=np.float32)
    if start.shape != (n_samples, n_components):
        raise ValueError(
            f"init must have shape ({n_samples}, {n_components}), one row per sample and one "
            f"column per component; got {start.shape}."
        )
    if not np.isfinite(start).all():
        raise ValueError("init holds NaN or infinite entries.")
    return start


def separate_coincident(X, random_state):
    """Move rows that coincide apart, by a seeded 1e-4 of the embedding's size.

    No force acts between two items in the same place, so they could never part.
    """
    _, first, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse.ravel()] != np.arange(X.shape[0]))
    if again.size == 0:
        return X
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    size = float(np.abs(X - X.mean(axis=0)).max()) or 1.0
    X = X.copy()
    X[again] += (1e-4 * size) * rng.standard_normal((again.size, X.shape[1])).astype(X.dtype)
    return X


def _unit_size(X):
    X = X - X.mean(axis=0, dtype=np.float64)
    rms = np.sqrt(np.mean(X.astype(np.float64) ** 2))
    return (X / rms if rms > 0 else X).astype(np.float32)
