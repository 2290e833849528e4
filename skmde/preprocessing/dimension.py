"""The intrinsic dimension of data, from the distances of nearest neighbours."""

from __future__ import annotations

import numpy as np


def intrinsic_dimension(distances):
    r"""Maximum-likelihood estimate of the intrinsic dimension.

    In d dimensions, the number of neighbours within a distance T grows as :math:`T^d`. So the mean
    of :math:`\log(T_k / T_j)` over the neighbours j of an item, where T_k is the distance of the
    farthest, is 1 / d. The estimate is one over the mean of that over all items. It does not
    depend on the unit of the distances.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        Distances of each item's neighbours, in any order; infinity for a missing entry. Distances
        of 0 are left out.

    Returns
    -------
    dimension : float
        NaN if no item has two neighbours at different distances above 0.

    See Also
    --------
    nearest_neighbors : The nearest other rows of each row.
    skmde.PreserveNeighbors : Minimum-distortion embedding that keeps nearest neighbours together.

    References
    ----------
    E. Levina, P. Bickel, *Maximum likelihood estimation of intrinsic dimension*, 2004, with the
    mean of D. MacKay and Z. Ghahramani, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.preprocessing import intrinsic_dimension, nearest_neighbors
    >>> flat = np.random.default_rng(0).random((1000, 2)) @ np.ones((2, 5))
    >>> _, distances, _ = nearest_neighbors(flat, 15)
    >>> round(intrinsic_dimension(distances))
    1
    """
    distances = np.asarray(distances, dtype=np.float64)
    used = np.isfinite(distances) & (distances > 0)
    farthest = np.where(used, distances, 0.0).max(axis=1, initial=0.0)
    unit = farthest.max(initial=0.0)
    if not unit > 0:
        return np.nan
    ratios = np.divide(
        (farthest / unit)[:, None], distances / unit, out=np.ones_like(distances), where=used
    )
    counts = used.sum(axis=1) - 1  # the farthest neighbour itself has the logarithm 0
    enough = counts > 0
    means = np.log(ratios[enough]).sum(axis=1) / counts[enough]
    mean = means.mean() if len(means) else 0.0
    return float(1 / mean) if mean > 0 else np.nan
