"""Free items that cannot follow their anchors, because the pull of the penalty has faded.

Penalties have lengths of their own, mostly 1. The pull p'(d) of some of them fades at larger
distances: that of log(1 + d) as 1 / d, that of a sigmoid exponentially. Where anchors are many such
lengths apart, the gradient of a free item is next to 0 wherever it is, so that a solve ends near
its start. No start and no tolerance changes that; another unit or another penalty does.

A long pair alone is no sign of that. A penalty whose pull fades gives up some pairs for others: at
its best place, a sample between several far anchors may be at one of them. So what counts is
whether any chain of pairs within reach joins a sample to an anchor.
"""

from __future__ import annotations

import numpy as np
import torch

from skmde._linalg.components import component_labels
from skmde._utils.warn import warn

_FADED = 0.05  # of the largest pull at shorter distances
_MANY = 0.1  # of the free samples that pairs join to anchors
# A power of the distance has no length: its pull fades by less than _FADED over this range if the
# power is more than 0.35.
_SHORTER = np.geomspace(1e-2, 1.0, 31)
_N_LENGTHS = 200


def warn_if_out_of_reach(edges, weights, X, penalty, anchors):
    """Warn if many free items are joined to anchors by pairs too long for the penalty alone.

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
        If more than a tenth of the free items that chains of pairs join to anchors are joined by no
        chain of pairs over which the pull has not faded, and half of the pairs of a free item and
        an anchor are shorter than the extent of the anchors.
    """
    anchored = np.zeros(len(X), dtype=bool)
    anchored[anchors] = True
    edges = edges[weights > 0]
    mixed = anchored[edges[:, 0]] != anchored[edges[:, 1]]
    if not mixed.any():
        return
    X = np.asarray(X, np.float64)
    lengths = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    if np.median(lengths[mixed]) > np.linalg.norm(np.ptp(X[anchors], axis=0)):
        return  # free items are far from all anchors, as those that repulsion drives away
    faded = has_faded(penalty, lengths)
    if not faded.any():
        return
    joined = _joined_to(anchored, edges) & ~anchored
    beyond = joined & ~_joined_to(anchored, edges[~faded])
    if beyond.sum() > _MANY * joined.sum():
        typical = np.median(lengths[faded & mixed])
        warn(
            f"Free samples may stay near where they started: the pairs that join {beyond.sum()} of "
            f"the {joined.sum()} to anchors are so long that the pull of {penalty!r} has faded to "
            "less than a twentieth of its largest. Most penalties have the length 1; half of these "
            f"pairs are longer than {typical:.3g}. Divide the coordinates of the anchors by about "
            "this number, or use a penalty whose pull does not fade, such as 'huber', 'linear' or "
            "'quadratic'."
        )


def _joined_to(anchored, edges):
    """Whether a chain of pairs joins each item to an anchor."""
    labels = component_labels(edges, len(anchored))
    if labels is None:
        return np.ones(len(anchored), dtype=bool)
    return np.isin(labels, labels[anchored])


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
