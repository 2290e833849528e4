"""The search algorithms by name.

A new algorithm is a subclass of :class:`~skmde.preprocessing.neighbors.backends.base.RowSearch` in
a file of its own, and one row of `SEARCHES`. Libraries are imported only when a search is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import scipy.sparse as sp

# With fewer rows, faiss writes warnings to stderr and is not faster than the exact search.
_ENOUGH_FOR_FAISS = 64


class SearchOptions(NamedTuple):
    """The options that a search is built with.

    Attributes
    ----------
    metric : str or callable, or None
        None for metrics of Euclidean form: the rows are prepared, so that the search uses squared
        Euclidean distances.
    metric_params : dict or None
    n_neighbors : int
        Typical number of neighbours of a query.
    seed : int
    device : str
        A device that torch knows.
    """

    metric: Any
    metric_params: Any
    n_neighbors: int
    seed: int
    device: str


class SearchKind(NamedTuple):
    """A search algorithm.

    Attributes
    ----------
    build : callable
        Takes rows and `SearchOptions`, returns a `RowSearch`.
    is_approximate : bool
        Whether the search is approximate. Then float32 rows are precise enough for it.
    needs_dense_euclidean : bool
        Whether the search supports only dense rows and metrics of Euclidean form.
    uses_device : bool
        Whether the search runs on the device of the index.
    is_public : bool
        Whether a user may name it. "auto" takes the others where they find the same neighbours.
    """

    build: Callable[[Any, SearchOptions], Any]
    is_approximate: bool = False
    needs_dense_euclidean: bool = False
    uses_device: bool = False
    is_public: bool = True


def _exact(rows, options):
    if options.metric is not None:
        from skmde.preprocessing.neighbors.backends.pairwise import PairwiseSearch

        return PairwiseSearch(rows, options.metric, options.metric_params)
    if sp.issparse(rows):
        from skmde.preprocessing.neighbors.backends.pairwise import PairwiseSparseSearch

        return PairwiseSparseSearch(rows)
    from skmde.preprocessing.neighbors.backends.exact import ExactSearch

    return ExactSearch(rows)


def _ball_tree(rows, options):
    from skmde.preprocessing.neighbors.backends.trees import TreeSearch

    return TreeSearch(rows, options.metric, options.metric_params)


def _faiss(rows, options):
    from skmde.preprocessing.neighbors.backends.faiss import FaissSearch, import_faiss

    import_faiss()
    if len(rows) < _ENOUGH_FOR_FAISS:
        return _exact(rows, options)
    return FaissSearch(rows, min(options.n_neighbors, len(rows) - 1))


def _pynndescent(rows, options):
    from skmde.preprocessing.neighbors.backends.descent import DescentSearch

    metric = options.metric or "sqeuclidean"
    params = options.metric_params if options.metric else None
    return DescentSearch(rows, metric, params, options.n_neighbors, options.seed)


def _torch(rows, options):
    from skmde.preprocessing.neighbors.backends.torch import TorchSearch

    return TorchSearch(rows, options.device)


SEARCHES: dict[str, SearchKind] = {
    "exact": SearchKind(_exact),
    "ball_tree": SearchKind(_ball_tree, is_public=False),
    "faiss": SearchKind(_faiss, is_approximate=True, needs_dense_euclidean=True),
    "pynndescent": SearchKind(_pynndescent, is_approximate=True),
    "torch": SearchKind(_torch, needs_dense_euclidean=True, uses_device=True),
}
