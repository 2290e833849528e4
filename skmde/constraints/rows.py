"""Constraints on single rows, which hold for unseen rows as well.

A set acts on rows if it is a product of one and the same set for each row: a sphere, a box, a disc,
an annulus, numbers of at least 0. A mean or a covariance is a property of all rows together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from skmde.constraints.base import Constraint

_ROWS = 24  # rows from which it is found out whether a set acts on rows
_FACTORS = (0.1, 1.0, 10.0)  # of their size, since a set may be inactive for some sizes
_RTOL = 1e-9


def project_rows(constraint: Constraint, X: np.ndarray) -> np.ndarray:
    """The nearest points of a set, for rows in float64."""
    projected = constraint.project(torch.from_numpy(np.ascontiguousarray(X, dtype=np.float64)))
    found: np.ndarray = projected.detach().cpu().numpy()
    return found


def holds_each_row(constraint: Constraint, X: np.ndarray) -> bool:
    """Whether a set acts on rows, by what it says of itself or else by projections.

    Parameters
    ----------
    constraint : Constraint
    X : ndarray of shape (n, m)
        Rows on the scale of the embedding.
    """
    if constraint.acts_on_rows is False:
        return False
    some = np.asarray(X, dtype=np.float64)[:: -(-len(X) // _ROWS)]
    return all(_acts_alike(constraint, factor * some) for factor in _FACTORS)


def _acts_alike(constraint: Constraint, X: np.ndarray) -> bool:
    try:
        together = project_rows(constraint, X)
        reverse = project_rows(constraint, X[::-1])[::-1]
        alone = np.concatenate([project_rows(constraint, row[None]) for row in X])
    except (ValueError, IndexError, RuntimeError):  # the set needs more rows, or certain ones
        return False
    size = _RTOL * max(float(np.abs(X).max()), float(np.abs(together).max()))
    return all(
        part.shape == X.shape and bool((np.abs(part - together) <= size).all())
        for part in (reverse, alone)
    )
