"""How sharp the minimum of each item is."""

from __future__ import annotations

import numpy as np

from skmde._utils.device import cpu_by_default
from skmde.inspection.given import judged


def sharpness(estimator):
    """How firmly each item is held where it is: the least curvature of its own distortion.

    If one item moves and all others stay, the sum of the distortions of its pairs changes. The
    sharpness is the smallest eigenvalue of the second derivative of this sum by the coordinates of
    the item, from the curvatures p''(d) and slopes p'(d) / d of its pairs. An item of low sharpness
    can move in some direction at little cost, so its place says little. Below 0, the item alone is
    not at a minimum; constraints and fixed coordinates can cause this.

    Parameters
    ----------
    estimator : object
        A fitted estimator of this package that has the method `distortions`.

    Returns
    -------
    ndarray of shape (n_samples,)
        In units of the distortion, divided by squared units of the embedding.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If its problem has no list of pairs.

    See Also
    --------
    stability :
        Fit again with other seeds, or to other samples, and see which items stay in place.

    Examples
    --------
    The free item between two anchors is held by two pairs, each anchor by one:

    >>> from skmde import AnchoredMDE
    >>> from skmde.inspection import sharpness
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, float("nan"), 2.0]
    >>> sharpness(AnchoredMDE(n_neighbors=1).fit(X, y)).tolist()
    [4.0, 6.0, 2.0]
    """
    estimator = judged(estimator)
    with cpu_by_default():
        _, hessian = estimator._solved_problem().item_derivatives()
    return np.linalg.eigvalsh(hessian)[:, 0]
