"""Free items that cannot follow their anchors, because the pull of the penalty has faded.

Penalties have lengths of their own, mostly 1. The pull p'(d) of some of them fades at larger
distances: that of log(1 + d) as 1 / d, that of a sigmoid exponentially. Where anchors are many such
lengths apart, the gradient of a free item is next to 0 wherever it is, so that a solve ends near
its start. No start and no tolerance changes that; another unit or another penalty does.
"""

from __future__ import annotations

import numpy as np
import torch

from skmde._utils.warn import warn

_FADED = 0.05  # of the largest pull at shorter distances
# A power of the distance has no length: its pull fades by less than _FADED over this range if the
# power is more than 0.35.
_SHORTER = np.geomspace(1e-2, 1.0, 31)
_N_LENGTHS = 200


def warn_if_out_of_reach(edges, weights, X, penalty, anchors):
    """Warn if most pairs of a free item and an anchor are too long for the penalty.

    Parameters
    ----------
    edges, weights : ndarrays of shape (p, 2) and (p,)
        Pairs; those of positive weight attract.
    X : ndarray of shape (n, m)
        The solution.
    penalty : Penalty or None
        The penalty of pairs that attract.
    anchors : ndarray of shape (n_anchors,)

    Warns
    -----
    UserWarning
        If the pull has faded over more than half of these pairs, and half of them are shorter than
        the extent of the anchors.
    """
    anchored = np.zeros(len(X), dtype=bool)
    anchored[anchors] = True
    edges = edges[(weights > 0) & (anchored[edges[:, 0]] != anchored[edges[:, 1]])]
    if not len(edges):
        return
    X = np.asarray(X, np.float64)
    lengths = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    if np.median(lengths) > np.linalg.norm(np.ptp(X[anchors], axis=0)):
        return  # free items are far from all anchors, as those that repulsion drives away
    count = np.count_nonzero(has_faded(penalty, lengths))
    if count > len(edges) / 2:
        warn(
            f"Free samples may stay near where they started: {count} of the {len(edges)} pairs "
            f"that join one to an anchor are so long that the pull of {penalty!r} has faded to "
            "less than a twentieth of its largest. Most penalties have the length 1; half of these "
            f"pairs are longer than {np.median(lengths):.3g}. Divide the coordinates of the "
            "anchors by about this number, or use a penalty whose pull does not fade, such as "
            "'huber', 'linear' or 'quadratic'."
        )


def has_faded(penalty, lengths):
    """Whether a penalty's pull at each distance is less than `_FADED` of that at shorter ones.

    Parameters
    ----------
    penalty : Penalty
    lengths : ndarray of shape (p,)

    Returns
    -------
    faded : ndarray of shape (p,), bool
        False for a penalty that holds one parameter for each pair.
    """
    some = lengths[(lengths > 0) & np.isfinite(lengths)]
    none = np.zeros(len(lengths), dtype=bool)
    if not len(some):
        return none
    grid = np.geomspace(some.min(), some.max(), _N_LENGTHS)
    d = torch.from_numpy(np.outer(grid, _SHORTER).ravel())
    try:
        slope = penalty.slope(d).detach().numpy()
    except Exception:  # a user's function may raise anything
        return none
    pull = np.maximum(slope * d.numpy(), 0.0).reshape(len(grid), -1)  # a barrier pushes
    faded = pull[:, -1] < _FADED * pull.max(axis=1)
    at = np.searchsorted(grid, lengths).clip(max=_N_LENGTHS - 1)
    return faded[at] & (lengths > 0)
