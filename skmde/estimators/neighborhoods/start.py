"""The starting point of a neighbour embedding, by the parameter `init` and the problem."""

from __future__ import annotations

import numpy as np

from skmde._utils.threads import count_threads
from skmde._utils.validation import as_host_array
from skmde.core.scales.precision import is_far
from skmde.core.starts.coincident import separate_coincident
from skmde.core.starts.stiff_repulsion import balancing_scale, is_stiff
from skmde.estimators.base.input import has_missing
from skmde.estimators.starts.neighbors import given_start, named_start


def starting_point(
    init,
    X,
    counted,
    neighbors,
    graph,
    edges,
    weights,
    *,
    rule,
    repulsive_weight,
    constraint,
    n_components,
    n_jobs,
    random_state,
    device=None,
):
    """The starting point: given, or named and at a size that suits the problem.

    Parameters
    ----------
    init : str or array-like of shape (n_samples, n_components)
    X : ndarray or sparse matrix, or None
        Rows of the samples of nonzero weight; None if there are none.
    counted : PositiveWeightSamples
    neighbors : PairSource
    graph : csr_array of shape (n_items, n_items)
        Weights of all attractive pairs.
    edges, weights : ndarrays of shape (p, 2) and (p,)
        Pairs of the problem.
    rule : RepulsionRule
    repulsive_weight : float
    constraint : Constraint
    n_components : int
    n_jobs : int or None
    random_state : RandomState
    device : torch.device, default=None
        Where principal components are computed.

    Returns
    -------
    start : ndarray of shape (n_items, n_components)
        float32, or float64 if the problem is to be solved in float64.
    """
    stiff = constraint.is_free and rule.repulsive is not None
    stiff = stiff and is_stiff(rule.repulsive, n_components)
    if not isinstance(init, str):
        init = counted.rows(as_host_array(init), "init")
        movable = not constraint.fixes_position
        start = given_start(init, graph.shape[0], n_components, movable=movable)
    else:
        rows = None if X is None or has_missing(X) else X
        if rows is None and init == "pca":
            raise ValueError(
                "init='pca' needs rows without missing values, but X has NaN; use "
                "init='quadratic', 'isomap', 'random' or an array."
            )
        start = named_start(
            init,
            rows,
            neighbors,
            graph,
            n_components,
            sums_all=rule.sums_all,
            spare_room=rule.sums_all or stiff,
            is_nearly_flat=rule.is_nearly_flat,
            n_threads=count_threads(n_jobs),
            random_state=random_state,
            device=device,
        )
        if stiff:
            kind = rule.kind if rule.sums_all else None
            problem = edges, weights, rule.penalties, kind, repulsive_weight
            start = start * np.float32(balancing_scale(start, *problem))
    if is_far(constraint.fixed_coordinates, 1.0):
        start = start.astype(np.float64)  # then the problem is solved in float64
    return separate_coincident(start, random_state)
