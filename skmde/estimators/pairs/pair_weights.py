"""Which pairs of a source of original distances count, and how much."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.validation import check_magnitude, check_not_masked
from skmde.estimators.base.embedding import as_host_array
from skmde.estimators.pairs.distances import GraphDistances, RowDistances, chains, entries_at
from skmde.preprocessing.graphs.adjacency import as_adjacency
from skmde.preprocessing.pairs.sampling import all_edges

_ALL_PATHS = 50_000_000


def selected_pairs(source, pair_weights, max_pairs, rng):
    """The pairs of a problem, and their weights.

    Parameters
    ----------
    source : RowDistances, MatrixDistances, GraphDistances or NeighborPaths
    pair_weights : array-like or sparse matrix of shape (n, n), or None
        Pairs of weight 0 are left out.
    max_pairs : float
        If there are more, so many are drawn.
    rng : numpy.random.Generator

    Returns
    -------
    pairs : Pairs
    weights : ndarray of shape (p,), float64, or None

    Raises
    ------
    ValueError
        If no pair is left.
    """
    if pair_weights is None:
        pairs, weights = source.pairs(max_pairs, rng), None
    else:
        pairs, weights = _weighted(source, pair_weights, max_pairs, rng)
    if len(pairs.distances) == 0:
        raise ValueError(
            "No pair of two samples has a distance and a weight above 0, so there is nothing to "
            f"preserve ({pairs.n_unreachable} pairs have no distance). Give more distances, or "
            "raise max_path_length or pair_weights."
        )
    return pairs, weights


def _weighted(source, pair_weights, max_pairs, rng):
    n = source.n_items
    matrix = _checked_weights(pair_weights, n)
    if isinstance(source, RowDistances):
        upper = sp.triu(matrix, 1, format="coo")
        kept = np.flatnonzero(upper.data > 0)
        if len(kept) > max_pairs:
            kept = kept[rng.choice(len(kept), int(max_pairs), replace=False, shuffle=False)]
            kept.sort()
        edges = np.stack([upper.row[kept], upper.col[kept]], axis=1).astype(np.int32)
        pairs, weights = source.of_pairs(edges), upper.data[kept]
    else:
        paths = isinstance(source, GraphDistances)
        if not paths:
            source.restrict(matrix)
        # Which pairs have a path is known after the search: draw from those with a weight then.
        few = n * (n - 1) // 2 <= _ALL_PATHS
        pairs = source.pairs(np.inf if paths and few else max_pairs, rng)
        edges = all_edges(n) if pairs.edges is None else pairs.edges
        weights = entries_at(matrix, edges[:, 0], edges[:, 1])
        kept = np.flatnonzero(weights > 0)
        if len(kept) > max_pairs:
            kept = kept[rng.choice(len(kept), int(max_pairs), replace=False, shuffle=False)]
            kept.sort()
        edges, weights = edges[kept], weights[kept]
        pairs = pairs._replace(edges=edges, distances=pairs.distances[kept])
    if len(edges) == n * (n - 1) // 2:
        return pairs._replace(edges=None), weights
    return pairs._replace(labels=chains(edges, n)), weights


def _checked_weights(pair_weights, n):
    """The weights as a symmetric sparse matrix; an entry that is not stored is 0."""
    advice = "set the weight of a pair that is to be left out to 0"
    check_not_masked(pair_weights, "pair_weights", advice)
    weights = as_host_array(pair_weights)
    if not sp.issparse(weights):
        weights = np.asarray(weights)
        weights = weights.astype(np.float64) if weights.dtype.kind == "O" else weights
    if weights.shape != (n, n):
        raise ValueError(
            f"pair_weights must be square, of shape ({n}, {n}), one row and column for each "
            f"sample; got {weights.shape}."
        )
    values = weights.data if sp.issparse(weights) else weights
    if values.dtype.kind not in "fiub":
        raise ValueError(f"pair_weights must hold real numbers; got dtype {values.dtype}.")
    if not np.isfinite(values).all():
        raise ValueError(
            "pair_weights must hold finite numbers, and has some that are NaN or infinite; "
            f"{advice}."
        )
    if (values < 0).any():
        raise ValueError(
            f"pair_weights must not be negative, got {values.min()}: a pair that repels has no "
            "original distance. Set the weight of a pair that is to be left out to 0."
        )
    check_magnitude(values, "pair_weights")
    return as_adjacency(weights, quantity="weight")[0]
