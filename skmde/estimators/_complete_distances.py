"""Estimates of the distances that a matrix lacks.

A map of few items bends to the known distances. Where the plane cannot hold these, it says little
about the others. An embedding in more dimensions holds the known ones more closely, so its
distances are better estimates of the missing ones, and a map of all of them bends less
(``benchmarks/ordinal.py``, part "missing").

An ordinal solution in many dimensions is degenerate where few distances are known. So for ordinal
data, each distance is replaced by a quantile for its rank, as in an ordinal problem's start.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from skmde.core.monotone.regressions import ORDINAL, regression
from skmde.estimators._preserve_distances import PreserveDistances
from skmde.estimators.base.typing import Data, RandomState
from skmde.estimators.pairs.base import listed_edges, matrix_of_pairs

__all__ = ["complete_distances"]


def complete_distances(
    X: Data,
    n_components: int = 6,
    *,
    monotone: bool = False,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Estimate the distances that a matrix lacks by an embedding of the known ones.

    The known distances are embedded under the squared loss in more dimensions than a map will have.
    The missing distances are those of that embedding. Give the result to
    :class:`PreserveDistances` or another estimator with ``metric="precomputed"``.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_samples)
        Distances, as for :class:`PreserveDistances` with ``metric="precomputed"``: in a dense
        matrix, infinity stands for a missing distance; in a sparse one, it is not stored.
    n_components : int, default=6
        Dimension of the embedding, which should be larger than that of the map.
    monotone : bool, default=False
        Whether the order of the distances alone counts, as with
        ``PreserveDistances(monotone=True)``. Then the distances of normal points of the same ranks
        are embedded, and an estimate keeps its place among the known distances if these are
        squared, say. No estimate is beyond them.
    random_state : int, RandomState instance or None, default=None
        Seeds the starting point. With an integer, the result is the same to the last bit, for any
        number of threads.
    n_jobs : int, default=None
        Maximum number of threads. None means torch's number.

    Returns
    -------
    D : ndarray of shape (n_samples, n_samples), float64
        Symmetric, with zeros on the diagonal. Known distances are as given, in float32 precision if
        there are more than four million. Missing ones between items that no chain of known ones
        joins stay infinite.

    Raises
    ------
    ValueError
        If X is not a matrix of distances, or if a parameter is invalid.

    Warns
    -----
    UserWarning
        If X is not symmetric. The average of both directions is used.

    See Also
    --------
    PreserveDistances : Leaves out missing distances, unless they are completed before.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.spatial.distance import pdist, squareform
    >>> from skmde import complete_distances
    >>> whole = squareform(pdist(np.random.default_rng(0).random((30, 3))))
    >>> D = whole.copy()
    >>> D[0, 1] = D[1, 0] = np.inf
    >>> completed = complete_distances(D, n_components=3, random_state=0)
    >>> bool(abs(completed[0, 1] - whole[0, 1]) < 0.01)
    True
    """
    if not isinstance(monotone, bool | np.bool_):
        raise ValueError(f"monotone must be True or False, got {monotone!r}.")
    estimator = PreserveDistances(
        n_components,
        loss="squared",
        metric="precomputed",
        max_pairs=np.inf,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    rng = np.random.default_rng(0)  # draws nothing, since all pairs are taken
    _, source = estimator._original_distances(X, rng, None)
    pairs = source.pairs(np.inf, rng)
    n, edges, known = source.n_items, listed_edges(pairs, source.n_items), pairs.distances
    D = matrix_of_pairs(edges, known, n).toarray().astype(np.float64)
    if not pairs.n_unreachable:
        return D
    kept = regression(ORDINAL, known).guess if monotone and len(known) else known
    Y = estimator.fit(matrix_of_pairs(edges, kept, n)).embedding_.astype(np.float64)
    found = cdist(Y, Y)
    if monotone:
        order = np.argsort(known, kind="stable")
        found = np.interp(found, kept[order], known[order])
    if pairs.labels is not None:
        found[pairs.labels[:, None] != pairs.labels] = np.inf
    i, j = edges.T
    is_known = np.eye(n, dtype=bool)
    is_known[i, j] = is_known[j, i] = True
    return np.where(is_known, D, found)
