"""Selection and weights of the pairs of a source of original distances."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.validation import as_host_array, check_magnitude, check_not_masked
from skmde.preprocessing.graphs.adjacency import as_adjacency


def selected_pairs(source, pair_weights, max_pairs, rng):
    """The pairs of a problem, and their weights.

    Parameters
    ----------
    source : DistanceSource
    pair_weights : array-like or sparse matrix of shape (n, n), or None
        Pairs of weight 0 are left out.
    max_pairs : float
        If there are more pairs, `max_pairs` of them are sampled.
    rng : numpy.random.Generator

    Returns
    -------
    pairs : Pairs

    Raises
    ------
    ValueError
        If no pair is left.
    """
    weights = None if pair_weights is None else _checked_weights(pair_weights, source.n_items)
    pairs = source.pairs(max_pairs, rng, weights)
    if len(pairs.distances) == 0:
        raise ValueError(
            "No pair of samples has both a distance and a positive weight "
            f"({pairs.n_unreachable} pairs have no distance). Give more distances, or "
            "raise max_path_length or pair_weights."
        )
    return pairs


def _checked_weights(pair_weights, n):
    """The weights as a symmetric sparse matrix; an entry that is not stored is 0."""
    advice = "set the weight of a pair to 0 to leave it out"
    check_not_masked(pair_weights, "pair_weights", advice)
    weights = as_host_array(pair_weights)
    if not sp.issparse(weights):
        weights = np.asarray(weights)
        weights = weights.astype(np.float64) if weights.dtype.kind == "O" else weights
    if weights.shape != (n, n):
        raise ValueError(
            f"pair_weights must have shape ({n}, {n}), one row and one column for each "
            f"sample; got {weights.shape}."
        )
    values = weights.data if sp.issparse(weights) else weights
    if values.dtype.kind not in "fiub":
        raise ValueError(f"pair_weights must hold real numbers; got dtype {values.dtype}.")
    if not np.isfinite(values).all():
        raise ValueError(f"pair_weights must be finite, but contains NaN or infinity; {advice}.")
    if (values < 0).any():
        raise ValueError(
            f"pair_weights must not be negative; got {values.min()}. Set the weight of a pair to 0 "
            "to leave it out."
        )
    check_magnitude(values, "pair_weights")
    return as_adjacency(weights, quantity="weight")[0]
