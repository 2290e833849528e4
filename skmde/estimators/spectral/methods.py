"""The historical methods by name, and the functions that build their quadratic problems.

To add a method, write a subclass of `QuadraticProblem` (``laplacian.py``) in its own file and add
one row to `METHODS` (monograph, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skmde._utils.rows import count_rows
from skmde.estimators.pairs.neighbors import holds_neighbors, many_neighbors
from skmde.estimators.planning.costs import (
    expected_neighbors,
    graph_stages,
    laplacian_stages,
    matrix_stages,
    principal_stages,
)
from skmde.estimators.planning.plan import Stage
from skmde.estimators.planning.sizes import Size
from skmde.estimators.spectral.gram import (
    AllPaths,
    DistanceProblem,
    KernelProblem,
    distance_problem,
)
from skmde.estimators.spectral.laplacian import GivenWeightsProblem, LaplacianProblem
from skmde.estimators.spectral.locally_linear import LocallyLinearProblem
from skmde.estimators.spectral.principal import PrincipalProblem
from skmde.estimators.spectral.unfolding import UnfoldingProblem, import_cvxpy
from skmde.preprocessing.neighbors.metrics.names import euclidean_form
from skmde.preprocessing.neighbors.tables import NeighborTables


def _stages_of_neighbors(size, parameters, products=False):
    rows = not parameters._is_precomputed()
    k = expected_neighbors(size, parameters.n_neighbors, many_neighbors, rows=rows)
    return laplacian_stages(size, k, parameters.n_components, rows=rows, products=products)


class Method(NamedTuple):
    """One of the values of the parameter `weights`.

    Attributes
    ----------
    build : callable
        ``build(X, parameters)`` returns a `QuadraticProblem`. X is the checked input, and
        `parameters` an object with the parameters of :class:`~skmde.QuadraticMDE` as attributes.
    is_gram : bool, default=False
        Whether L is minus a Gram matrix. Then eigenvalues are minus variances, only negative ones
        belong to directions of the data, and unseen rows are compared with all training rows.
    takes_distances : bool, default=False
        Whether ``metric="precomputed"`` is supported.
    takes_neighbors : bool, default=False
        Whether precomputed distances may be a sparse graph or a pair of neighbour tables.
    computes_with_rows : bool, default=False
        Whether more than the distances of the rows is used, so that no entry may be missing.
    places_by_neighbors : bool, default=False
        Whether an unseen sample is placed by its neighbours, whose tables the problem then has.
    stages : callable, default=_stages_of_neighbors
        ``stages(size, parameters)`` returns the stages of a plan of memory.
    """

    build: Callable[[Any, Any], Any]
    stages: Callable[[Size, Any], tuple[Stage, ...]] = _stages_of_neighbors
    is_gram: bool = False
    takes_distances: bool = False
    takes_neighbors: bool = False
    computes_with_rows: bool = False
    places_by_neighbors: bool = False


def _laplacian(X, parameters, normalized=False):
    neighbors = _neighbors(X, parameters)
    return LaplacianProblem(neighbors, parameters.n_components, normalized, parameters.n_jobs)


def _pca(X, parameters):
    return PrincipalProblem(X, parameters.n_jobs)


def _kernel_pca(X, parameters):
    if callable(parameters.kernel):
        kernel_parameters = parameters.kernel_params or {}
    else:
        gamma = 1 / X.shape[1] if parameters.gamma is None else parameters.gamma
        kernel_parameters = {
            "gamma": gamma,
            "degree": parameters.degree,
            "coef0": parameters.coef0,
        }
    return KernelProblem(X, parameters.kernel, kernel_parameters, parameters.n_jobs)


def _locally_linear(X, parameters):
    return LocallyLinearProblem(X, _neighbors(X, parameters), parameters.n_components)


def _classical_mds(X, parameters):
    metric = parameters.metric, parameters.metric_params
    given = parameters._is_precomputed()
    if not given and euclidean_form(*metric) == "euclidean":
        # The doubly centred matrix is that of the inner products of the centred rows, and so is
        # Nystrom's extension their projection.
        return PrincipalProblem(X, parameters.n_jobs)
    return distance_problem(X, given, *metric, parameters.n_jobs)


def _isomap(X, parameters):
    search = _search(X, parameters)
    paths = AllPaths(X, n_jobs=parameters.n_jobs, verbose=parameters.verbose, **search)
    return DistanceProblem(paths, parameters.n_jobs)


def _unfolding(X, parameters):
    import_cvxpy()  # raise an error before the work begins
    metric = parameters.metric, parameters.metric_params
    neighbors = _neighbors(X, parameters)
    return UnfoldingProblem(X, neighbors, *metric, parameters.n_jobs, parameters.verbose)


def _given_weights(X, parameters):
    return GivenWeightsProblem(X, parameters.n_components, parameters.n_jobs)


def _search(X, parameters):
    """Arguments of the search for neighbours."""
    n_neighbors = parameters.n_neighbors
    as_stored = parameters._is_precomputed() and holds_neighbors(X)
    if n_neighbors is None and not as_stored:
        n_neighbors = many_neighbors(count_rows(X))
    return {
        "n_neighbors": n_neighbors,
        "metric": parameters.metric,
        "metric_params": parameters.metric_params,
        "algorithm": parameters.neighbors_algorithm,
        "random_state": parameters._random_state().randint(np.iinfo(np.int32).max),
    }


def _neighbors(X, parameters):
    return NeighborTables(X, grows=False, n_jobs=parameters.n_jobs, **_search(X, parameters))


def _stages_of_classical_mds(size, parameters):
    given = parameters._is_precomputed()
    if not given and euclidean_form(parameters.metric, parameters.metric_params) == "euclidean":
        return principal_stages(size)
    return matrix_stages(size, paths=False, given=given)


def _stages_of_unfolding(size, parameters):
    return (*_stages_of_neighbors(size, parameters), *matrix_stages(size, paths=False))


METHODS: dict[str, Method] = {
    "laplacian": Method(
        _laplacian,
        takes_distances=True,
        takes_neighbors=True,
        places_by_neighbors=True,
    ),
    "normalized_laplacian": Method(
        partial(_laplacian, normalized=True),
        takes_distances=True,
        takes_neighbors=True,
        places_by_neighbors=True,
    ),
    "pca": Method(
        _pca, lambda size, _: principal_stages(size), is_gram=True, computes_with_rows=True
    ),
    "kernel_pca": Method(
        _kernel_pca,
        lambda size, _: matrix_stages(size, paths=False),
        is_gram=True,
        computes_with_rows=True,
    ),
    "lle": Method(
        _locally_linear,
        partial(_stages_of_neighbors, products=True),
        computes_with_rows=True,
        places_by_neighbors=True,
    ),
    "classical_mds": Method(
        _classical_mds, _stages_of_classical_mds, is_gram=True, takes_distances=True
    ),
    "isomap": Method(
        _isomap,
        lambda size, _: matrix_stages(size, paths=True),
        is_gram=True,
        takes_distances=True,
        takes_neighbors=True,
    ),
    "mvu": Method(_unfolding, _stages_of_unfolding, is_gram=True, places_by_neighbors=True),
    "precomputed": Method(
        _given_weights, lambda size, parameters: graph_stages(size, parameters.n_components)
    ),
}
