"""Where each item would be placed, were it a new one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skmde._utils.device import cpu_by_default
from skmde.inspection.given import (
    as_matrix_of_graph,
    check_rows,
    checked_items,
    judged,
    root_mean_square_radius,
)


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOut:
    """Where items are placed by all others; :func:`leave_one_out` returns it.

    Attributes
    ----------
    items : ndarray of int of shape (k,)
        The items.
    coordinates : ndarray of shape (k, n_components)
        Where each of them would be placed; NaN for samples of weight 0, which are placed so anyway,
        and for those whose given weights do not have a positive sum.
    displacement : ndarray of shape (k,)
        Distance from there to the place in the embedding, divided by `radius`.
    radius : float
        Root mean square distance of the items from their mean.

    See Also
    --------
    leave_one_out : Place each item among all others, as `transform` places an unseen one.
    """

    items: np.ndarray
    coordinates: np.ndarray
    displacement: np.ndarray
    radius: float

    def __repr__(self) -> str:
        median = np.nanmedian(self.displacement)
        return f"LeaveOneOut({len(self.items)} items, median displacement {median:.3g})"


def leave_one_out(estimator, X, items=None):
    """Place each item among all others, as `transform` places an unseen one.

    An item of large displacement lies where the optimisation left it, and not where its neighbours
    would place it: such a place is not to be trusted. An anchored item lies where it was told to;
    a large displacement says that this does not agree with the data.

    Parameters
    ----------
    estimator : object
        A fitted estimator of this package. Of :class:`~skmde.QuadraticMDE`, one with the weights
        "laplacian", "normalized_laplacian", "lle" or "precomputed".
    X : array-like, sparse matrix or networkx graph
        What the estimator was fitted to.
    items : array-like of int or bool, default=None
        Indices of the items to place, or a mask of them; None means all.

    Returns
    -------
    LeaveOneOut
        Their coordinates and displacements.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If the estimator has no such placement, or X does not have its number of rows.

    See Also
    --------
    stability :
        Fit again with other seeds, or to other samples, and see which items stay in place.
    forces_on : The pairs that pull and push an item most strongly.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.4.2 (incremental embedding).
    Z. Liu, R. Ma, Y. Zhong, *Assessing and improving reliability of neighbor embedding methods: a
    map-continuity perspective*, Nature Communications 16, 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmde import PreserveDistances
    >>> from skmde.inspection import leave_one_out
    >>> X = load_iris().data
    >>> estimator = PreserveDistances(random_state=0).fit(X)
    >>> leave_one_out(estimator, X, [0, 1, 2]).coordinates.shape
    (3, 2)
    """
    estimator = judged(estimator)
    embedding = np.asarray(estimator.embedding_, dtype=np.float64)
    with cpu_by_default():
        X = estimator._checked_unseen(as_matrix_of_graph(estimator, X))
        check_rows(X, len(embedding))
        items = checked_items(items, len(embedding))
        coordinates = estimator._leave_one_out(X, items)
    radius = root_mean_square_radius(embedding)
    away = np.linalg.norm(coordinates - embedding[items], axis=1)
    return LeaveOneOut(items, coordinates, away / (radius or 1.0), radius)
