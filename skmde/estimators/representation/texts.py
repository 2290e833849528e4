"""Sentences about pairs, distortion functions and constraints."""

from __future__ import annotations

import numpy as np

from skmde._views.facts import counted


def penalty_facts(weights, penalties, repulsion):
    """Facts about pairs with weights.

    Parameters
    ----------
    weights : ndarray of shape (p,)
        Below 0 for pairs that repel.
    penalties : tuple (attractive, repulsive) or None
        None if they are not known any more.
    repulsion : tuple (kind, weight) or None
        The repulsion of all pairs.
    """
    attractive, repulsive = penalties or (None, None)
    n_repel = int(np.count_nonzero(weights < 0))
    n_attract = int(np.count_nonzero(weights > 0))
    if repulsion is not None:
        kind, weight = repulsion
        pairs = "all pairs, normalized" if kind == "normalized" else "all pairs"
        repel = f"{pairs}{_under(repulsive)}, weight {weight:.3g}"
        if n_repel:
            repel += f"; {n_repel:,} of them again"
    else:
        repel = counted(n_repel, "pair") + _under(repulsive) if n_repel else "no pairs"
    return {"attract": counted(n_attract, "pair") + _under(attractive), "repel": repel}


def distance_facts(n_pairs, n_items, loss):
    """Facts about pairs with original distances.

    Parameters
    ----------
    n_pairs, n_items : int
    loss : Loss or None
        None if it is not known any more.
    """
    n_all = n_items * (n_items - 1) // 2
    pairs = f"all {n_all:,}" if n_pairs == n_all else f"{n_pairs:,} of {n_all:,}"
    return {"pairs": pairs} | ({} if loss is None else {"loss": repr(loss)})


def constraint_text(constraint):
    """The name of a constraint, with the number of items that it fixes."""
    n_fixed = len(constraint.fixed_items)
    return constraint.name + (f", {counted(n_fixed, 'fixed item')}" if n_fixed else "")


def _under(penalty):
    return "" if penalty is None else f" under {penalty!r}"
