"""Pairs that `fit` is given: dissimilar ones, which repel, and outliers among neighbours.

A pair of neighbours may be an outlier: two samples that look alike and are not (monograph, section
2.6 and chapter 8). Its weight can be lowered, or the pair be left out.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skmde._utils.validation import as_host_array, check_magnitude, check_not_masked
from skmde.estimators.pairs.base import entries_at
from skmde.preprocessing.pairs.sampling import checked_edges


def given_pairs(pairs, weights, name, counted):
    """Pairs of samples and their weights, checked.

    Parameters
    ----------
    pairs : array-like of int of shape (p, 2), or None
        Pairs in either order, as indices of samples.
    weights : float or array-like of shape (p,)
        Numbers of at least 0.
    name : str
        Name of the arguments: ``name_pairs`` and ``name_weights``.
    counted : PositiveWeightSamples

    Returns
    -------
    edges : ndarray of shape (p, 2), int32
        Pairs ``i < j``, as indices among the samples of nonzero weight, without pairs of others.
    weights : ndarray of shape (p,), float32
    """
    if pairs is None:
        return np.empty((0, 2), np.int32), np.empty(0, np.float32)
    names, n = (f"{name}_pairs", f"{name}_weights"), counted.n_samples
    check_not_masked(pairs, names[0], "leave masked pairs out")
    check_not_masked(weights, names[1], "give each pair a weight")
    try:
        edges = checked_edges(pairs).astype(np.int64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{names[0]} must hold two indices of samples a row: {error}") from error
    if edges.max(initial=-1) >= n:
        raise ValueError(
            f"{names[0]} holds the index {edges.max()}, but there are {n} samples, whose indices "
            "start at 0."
        )
    values = np.asarray(as_host_array(weights))
    if values.dtype.kind not in "fiub" or values.shape not in ((), (len(edges),)):
        raise ValueError(
            f"{names[1]} must be a number, or one for each of the {len(edges)} pairs; got dtype "
            f"{values.dtype} and shape {values.shape}."
        )
    values = np.broadcast_to(values.astype(np.float64), len(edges))
    wrong = values[~(np.isfinite(values) & (values >= 0))]
    if len(wrong):
        raise ValueError(f"{names[1]} must be finite and at least 0; got {wrong[0]}.")
    check_magnitude(values, names[1])
    edges = counted.positions(np.sort(edges, axis=1))
    there = (edges >= 0).all(axis=1)
    return edges[there].astype(np.int32), values[there].astype(np.float32)


def reweighted(graph, edges, factors):
    """A graph of neighbours in which the weights of some pairs are multiplied.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric weights.
    edges : ndarray of shape (p, 2)
        Pairs; those that are no neighbours do not count.
    factors : ndarray of shape (p,)

    Returns
    -------
    graph : csr_array of shape (n, n)
        Pairs of weight 0 are left out.

    Raises
    ------
    ValueError
        If none of the pairs are neighbours.
    """
    weights = entries_at(graph, edges[:, 0], edges[:, 1])
    found = np.flatnonzero(weights)
    if not len(found):
        raise ValueError(
            f"None of the {len(edges)} outlier_pairs is a pair of neighbours; graph_ of a fitted "
            "estimator holds these."
        )
    _, first = np.unique(edges[found], axis=0, return_index=True)
    found = found[first]
    changes = weights[found] * (factors[found] - 1)
    one_way = sp.coo_array((changes, edges[found].T), shape=graph.shape)
    left = sp.csr_array(graph + one_way + one_way.T).astype(graph.dtype)
    left.eliminate_zeros()
    return left


def with_dissimilar(edges, weights, dissimilar, their_weights, rule, repulsive_weight):
    """Pairs and weights with given pairs that repel at the end.

    Parameters
    ----------
    edges : ndarray of shape (p, 2)
    weights : ndarray of shape (p,)
    dissimilar : ndarray of shape (r, 2)
        Pairs that repel.
    their_weights : ndarray of shape (r,)
        At least 0.
    rule : RepulsionRule
    repulsive_weight : float
        Factor of these weights if no other pairs repel.

    Raises
    ------
    ValueError
        If there is no pair but `rule` needs one, or there are pairs but no penalty for them.
    """
    if rule.kind == "given":
        their_weights = their_weights * repulsive_weight
    negative = -their_weights.astype(weights.dtype)
    kept = negative < 0
    if rule.kind == "given" and not kept.any():
        raise ValueError(
            "repulsion='given' lets only given pairs repel, but there are none: pass "
            "dissimilar_pairs to fit, with weights above 0."
        )
    if len(dissimilar) and rule.repulsive is None:
        raise ValueError("dissimilar_pairs repel, but repulsive_penalty is None; give a penalty.")
    return np.concatenate([edges, dissimilar[kept]]), np.concatenate([weights, negative[kept]])
