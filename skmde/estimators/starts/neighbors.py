"""Starting points for neighbour embeddings.

All have shape (n_samples, n_components), dtype float32 and a scale of about 1 in each column, for
which the default penalties are made.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from skmde._linalg.csgraph import with_short_indices
from skmde._linalg.frame import Frame
from skmde._linalg.principal import principal_scores
from skmde._utils.validation import check_not_masked
from skmde.core.spectral.classical import landmark_mds
from skmde.core.spectral.laplacian import laplacian_embedding
from skmde.estimators.samples.counted import entries
from skmde.preprocessing.graphs.components import connected_components, pack_components

_LANDMARKS = 30
_SIZES = 24  # steps of a factor of sqrt(2) that the size of a starting point may grow or shrink
# Far items: at most this share of all, and this many times farther out than the median; the start
# is computed anew at most so many times.
_FEW, _FAR, _TRIALS = 0.03, 4.0, 3
_WILD = 1e15  # relative to the given numbers; beyond, squares overflow float32
_ENOUGH_FOR_DEVICE = 200_000  # stored entries; for fewer, the CPU is as fast
_WORK = 2e8  # stored entries times steps; takes one or two seconds


def named_start(
    name,
    X,
    neighbors,
    graph,
    n_components,
    *,
    sums_all,
    spare_room,
    is_nearly_flat,
    n_threads,
    random_state,
    device=None,
):
    """The starting point that the parameter `init` names.

    Parameters
    ----------
    name : {"auto", "quadratic", "pca", "isomap", "random"}
    X : ndarray or sparse matrix, or None
        Rows of data; None for precomputed distances.
    neighbors : NeighborPairs
    graph : csr_array of shape (n_samples, n_samples)
        Weights of all attractive pairs.
    n_components : int
    sums_all : bool
        Whether all pairs repel.
    spare_room : bool
        Whether a few far items may not squeeze the others.
    is_nearly_flat : bool
        Whether the data are known to fit into the embedding, but for noise.
    n_threads : int
        The result does not depend on it.
    random_state : RandomState
    device : torch.device, default=None
        One with float64, where principal components of dense rows and eigenvectors are computed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_components), float32
    """
    if name == "auto":
        name = "pca" if sums_all and X is not None else "quadratic"
        if is_nearly_flat:
            name = "isomap"
    if name == "random":
        return random_start(graph.shape[0], n_components, random_state)
    if name == "pca":
        seed = random_state.randint(np.iinfo(np.int32).max)

        def start(kept):
            rows = X if kept is None else entries(X, kept)
            return pca_start(rows, n_components, np.random.RandomState(seed), device)
    else:
        is_quadratic = name == "quadratic"
        whole = graph if is_quadratic else neighbors.lengths()
        embed = partial(quadratic_start, device=device) if is_quadratic else isomap_start

        def start(kept):
            part = whole if kept is None else whole[kept][:, kept]
            return embed(part, n_components, n_threads)

    return without_far_items(start, graph) if spare_room else start(None)


def at_best_size(start, distortion):
    """The starting point at the size of least distortion, within a factor of sqrt(2).

    A start of this size is near its solution if its shape is. From a smaller one, momentum would
    expand loose parts of the map before the whole.

    Parameters
    ----------
    start : ndarray of shape (n_samples, n_components), float32
    distortion : callable
        Takes a starting point and returns its average distortion.
    """
    best, least = start, distortion(start)
    for factor in (np.float32(np.sqrt(2)), np.float32(np.sqrt(0.5))):
        for _ in range(_SIZES):
            trial = best * factor
            value = distortion(trial)
            if not value < least:
                break
            best, least = trial, value
    return best


def quadratic_start(graph, n_components, n_threads, device=None):
    """Standardized spectral embedding of each connected component, packed side by side.

    Parameters
    ----------
    graph : sparse matrix of shape (n_samples, n_samples)
        Symmetric, positive weights.
    n_components : int
    n_threads : int
        The result does not depend on it.
    device : torch.device, default=None
        One with float64, where eigenvectors are computed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_components), float32

    References
    ----------
    Monograph, chapter 3 (quadratic problems) and section 6.1.3 (initial iterate).
    """
    n_parts, labels = connected_components(graph)
    if n_parts == 1:
        return _part_layout(graph, n_components, n_threads, device)
    X = np.zeros((graph.shape[0], n_components), dtype=np.float32)
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    for part in np.split(order, np.cumsum(sizes)[:-1]):
        if part.size > 1:
            X[part] = _part_layout(graph[part][:, part], n_components, n_threads, device)
    X = _unit_size(pack_components(X, labels))
    # Equal components in a row may be a saddle point; noise moves the start off it.
    return _unit_size(X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape))


def _part_layout(graph, n_components, n_threads, device):
    options = {"max_iter": int(np.clip(_WORK / graph.nnz, 60, 1000)), "n_threads": n_threads}
    device = device if graph.nnz >= _ENOUGH_FOR_DEVICE else None
    return laplacian_embedding(graph, n_components, device=device, **options)


def without_far_items(start, graph):
    """A starting point in which a few far items do not squeeze all others together.

    One far item can take a component to itself, and so can a loose end of the graph. If few items
    have more than half of the sum of squares of a component, they are left out, the start of the
    others is computed again, and the far ones start at the mean of their neighbours.

    Parameters
    ----------
    start : callable
        Takes indices of items, or None for all, and returns their starting point.
    graph : csr_array of shape (n_samples, n_samples)
        Weights of neighbours.

    Returns
    -------
    X : ndarray of shape (n_samples, n_components), float32
    """
    n = graph.shape[0]
    X, kept = start(None), np.arange(n)
    for _ in range(_TRIALS):
        far = _dominant(X[kept], int(_FEW * n))
        if not far.any():
            break
        kept = kept[~far]
        X = np.zeros_like(X)
        X[kept] = start(kept)
    if len(kept) < n:
        left = np.setdiff1d(np.arange(n), kept)
        weights = sp.csr_array(graph[left])
        sums = np.asarray(weights[:, kept].sum(axis=1))
        X[left] = (weights @ X) / np.where(sums > 0, sums, 1.0)[:, None]
        X[left] += 1e-3 * np.random.default_rng(0).standard_normal(X[left].shape)
    return X.astype(np.float32)


def _dominant(X, few):
    """Whether an item is one of few that have more than half of a component's sum of squares."""
    far = np.zeros(len(X), dtype=bool)
    if few == 0:
        return far
    squares = (X - np.median(X, axis=0)).astype(np.float64) ** 2
    for column in squares.T:
        top = np.argpartition(column, -few)[-few:]
        if column[top].sum() > 0.5 * column.sum():
            far[top] = column[top] > _FAR**2 * np.median(column)
    return far


def isomap_start(lengths, n_components, n_threads):
    """Landmark Isomap: classical scaling of path lengths, separately for each component.

    Landmarks are chosen one after the other, each farthest from those before.

    Parameters
    ----------
    lengths : csr_array of shape (n_samples, n_samples)
        Distances of neighbours, symmetric, above 0.
    n_components : int
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    X : ndarray of shape (n_samples, n_components), float32
        Its root mean square is 1; components are side by side.

    References
    ----------
    V. de Silva, J. Tenenbaum, *Global versus local methods in nonlinear dimensionality reduction*,
    2002. Monograph, section 3.2 (historical examples).
    """
    n_parts, labels = connected_components(lengths)
    X = np.zeros((lengths.shape[0], n_components))
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    for part in np.split(order, np.cumsum(sizes)[:-1]):
        if part.size > 1:
            own = lengths if n_parts == 1 else lengths[part][:, part]
            landmarks, distances = _farthest_landmarks(own)
            X[part] = landmark_mds(distances, landmarks, n_components, n_threads=n_threads)
    X = _unit_size(X if n_parts == 1 else pack_components(X, labels))
    # A component may be flat, or lie in a row with equal ones; noise moves the start off a saddle.
    return _unit_size(X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape))


def _farthest_landmarks(lengths):
    """Landmarks, and their path lengths to all items of a connected graph."""
    n, lengths = lengths.shape[0], with_short_indices(lengths)
    # An end of the graph: the item farthest from the one with the longest edges.
    first = np.argmax(lengths.sum(axis=1) / np.diff(lengths.indptr))
    landmark = np.argmax(dijkstra(lengths, indices=first))
    landmarks, rows, nearest = [], [], np.full(n, np.inf)
    for _ in range(min(_LANDMARKS, n)):
        landmarks.append(landmark)
        rows.append(dijkstra(lengths, indices=landmark))
        nearest = np.minimum(nearest, rows[-1])
        landmark = np.argmax(nearest)
    return np.array(landmarks), np.stack(rows)


def pca_start(X, n_components, random_state, device=None):
    """First principal components of the data, scaled to a root mean square of 1.

    Columns beyond the rank of the data hold seeded noise of standard deviation 0.01.
    """
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    start = _unit_size(principal_scores(X, n_components, rng, device))
    flat = np.ptp(start, axis=0) <= 1e-6
    start[:, flat] = 0.01 * rng.standard_normal((X.shape[0], int(flat.sum())))
    return start


def random_start(n_samples, n_components, random_state):
    """Standard normal entries."""
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    return rng.standard_normal((n_samples, n_components), dtype=np.float32)


def checked_start(init, n_samples, n_components):
    """A copy of the user's array in float64, checked to be finite."""
    check_not_masked(init, "init", "give each sample starting coordinates")
    if np.iscomplexobj(init):
        raise ValueError("init holds complex numbers; give real ones.")
    try:
        start = np.array(init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must hold numbers: {error}.") from error
    if start.shape != (n_samples, n_components):
        raise ValueError(
            f"init must have shape ({n_samples}, {n_components}), one row per sample and one "
            f"column per component; got {start.shape}."
        )
    wrong = np.count_nonzero(~np.isfinite(start))
    if wrong:
        raise ValueError(
            f"init holds {wrong} entries that are NaN or infinite; replace them, or pass the name "
            "of a starting point."
        )
    return start


def check_not_wild(start, *given):
    """Raise an error if a starting point is too large for the given numbers: squares overflow."""
    largest = np.abs(start).max()
    size = max(float(np.abs(numbers).max(initial=0.0)) for numbers in given)
    if largest > _WILD * (size or 1.0):
        raise ValueError(
            f"init holds values up to {largest:.3g}, but the given distances or coordinates are "
            f"at most {size:.3g}; scale init to them."
        )


def given_start(init, n_samples, n_components, *, movable=True):
    """The user's array, checked; float32.

    If `movable`, it is centred. If its root mean square is then below 1e-4 or above 1e4, where
    penalties are flat or infinite, it is scaled to 1.
    """
    start = checked_start(init, n_samples, n_components)
    largest = np.abs(start).max()
    if movable:
        frame = Frame.centered(start)
        shape = frame.inside(start)
        rms = frame.length * np.sqrt(np.mean(shape**2))
        if not 1e-4 <= rms <= 1e4:
            return _unit_size(shape)
        return (start - start.mean(axis=0)).astype(np.float32)
    if largest > np.finfo(np.float32).max:
        raise ValueError(
            f"init holds entries as large as {largest:.3g}, beyond the range of float32; scale it."
        )
    return start.astype(np.float32)


def _unit_size(X):
    X = X - X.mean(axis=0, dtype=np.float64)
    rms = np.sqrt(np.mean(X.astype(np.float64) ** 2))
    return (X / rms if rms > 0 else X).astype(np.float32)
