"""Every metric, by every search and on both sides of every threshold of size.

The thresholds, by the module that holds them: the numbers of pairs up to which "auto" compares all
pairs, and from which it takes a tree, and of cells, features and nonzeros up to which sparse rows
are made dense (index); the rows
from which faiss is used (table); the work from which torch uses its device (torch); the numbers of
sparse rows that are made dense at once (sparse); the numbers of pairs that are compared at once
(pairwise); and the neighbours up to which a list is sorted by insertion (selection).
"""

import importlib.util

import numpy as np
import pytest
import scipy.sparse as sp
from neighbor_tables import by_definition
from scipy.spatial.distance import cdist
from sklearn.neighbors import VALID_METRICS
from slowly import slow

from skmde.preprocessing.neighbors.metrics.names import agrees_with_pynndescent, for_sklearn
from skmde.preprocessing.neighbors.search import NeighborIndex, nearest_neighbors
from skmde.preprocessing.pairs.distances import MetricDistances

HERE = "skmde.preprocessing.neighbors"
K = 5
PARAMETERS = {
    "minkowski": {"p": 3},
    "weighted_minkowski": {"p": 3, "w": np.arange(1.0, 7.0)},
}
# Names that only pynndescent has. Those that compile for seconds (spearmanr) or solve a
# program for each pair (kantorovich) are left out.
OF_PYNNDESCENT = (
    "circular_kantorovich hellinger jensen_shannon kantorovich_1d kulsinski linf "
    "matching sokalmichener standardised_euclidean symmetric_kl taxicab tsss "
    "wasserstein_1d weighted_minkowski"
)
METRICS = sorted({*VALID_METRICS["brute"], *OF_PYNNDESCENT.split()} - {"precomputed"})
# Their definitions take seconds for a few rows.
SLOW = {"circular_kantorovich", "symmetric_kl", "tsss", "wasserstein_1d"}
BOOLEAN = set(
    "dice jaccard kulsinski matching rogerstanimoto russellrao sokalmichener sokalsneath "
    "yule".split()
)
# Searches with limits at which all sizes take the other way.
SEARCHES = {
    "exact": ("exact", {}),
    "few pairs at once": ("exact", {"backends.pairwise._BLOCK_ENTRIES": 50}),
    "sorted lists": ("exact", {"selection._FEW": 2}),
    "faiss": ("faiss", {}),
    "faiss of few rows": ("faiss", {"backends.table._ENOUGH_FOR_FAISS": 1 << 10}),
    "torch": ("torch", {"backends.torch._FEW": 0}),
    "torch of few rows": ("torch", {}),
    "auto": ("auto", {}),
    "auto of few features": ("auto", {"index._MANY_FOR_TREE": 0}),
    "auto of many rows": (
        "auto",
        {"index._CHEAP_EUCLIDEAN": 0, "index._AS_SLOW_AS_COMPILING": 1e99},
    ),
}
FORMS = {
    "dense": (np.asarray, np.asarray, {}),
    "sparse": (sp.csr_array, sp.csr_array, {}),
    "sparse then dense": (sp.csr_array, np.asarray, {}),
    "dense then sparse": (np.asarray, sp.csr_array, {}),
    "mostly zero": (
        sp.csr_array,
        sp.csr_array,
        {"index._MANY_FEATURES": 0, "index._MOSTLY_ZERO": 1.0},
    ),
    "wide sparse": (sp.csr_array, sp.csr_array, {"index._SMALL_DENSE": 0}),
    "wide sparse then dense": (sp.csr_array, np.asarray, {"index._SMALL_DENSE": 0}),
    "wide sparse in pieces": (
        sp.csr_array,
        sp.csr_array,
        {"index._SMALL_DENSE": 0, "backends.sparse._BLOCK_NUMBERS": 100},
    ),
}


def rows_for(metric):
    """Rows and unseen rows, with zeros, on which the metric is defined."""
    rng = np.random.default_rng(3)
    n = 80
    d = 2 if metric == "haversine" else 6
    rows = rng.random((n + 6, d)) * (rng.random((n + 6, d)) < 0.6)
    rows[:, 0] += 0.1
    if metric in BOOLEAN or metric == "hamming":
        rows = (rng.random((n + 6, 10)) < 0.4).astype(float)
        rows[:, 0], rows[:, 1] = 1.0, 0.0  # no row is all zeros or all ones
    return rows[:n], rows[n:]


def closest(D, k):
    """The values of the k smallest entries of each row. Ties have no order among searches."""
    return np.sort(D, axis=1)[:, :k]


def truth(metric):
    """Distances of the training rows and of the unseen ones, by SciPy or by one pair at a time."""
    rows, unseen = rows_for(metric)
    name = {"l1": "cityblock", "manhattan": "cityblock", "taxicab": "cityblock"}.get(metric, metric)
    name = {"l2": "euclidean", "linf": "chebyshev", "nan_euclidean": "euclidean"}.get(name, name)
    name = "euclidean" if name == "standardised_euclidean" else name  # its variances are 1
    extra = dict(PARAMETERS.get(metric, {}))
    if name == "seuclidean":
        extra = {"V": rows.var(axis=0, ddof=1)}
    if name == "mahalanobis":
        extra = {"VI": np.linalg.inv(np.cov(rows.T))}
    if name == "weighted_minkowski":
        name = "minkowski"
    if name == "sokalmichener":
        name = "rogerstanimoto"
    if name == "haversine":
        function, extra = for_haversine, {}
    elif name in VALID_METRICS["brute"]:
        data = (rows != 0, unseen != 0) if name in BOOLEAN else (rows, unseen)
        return cdist(data[0], data[0], name, **extra), cdist(data[1], data[0], name, **extra)
    else:
        function = for_sklearn(name)
    order = tuple(extra.values())
    tables = [[[function(a, b, *order) for b in rows] for a in part] for part in (rows, unseen)]
    return tuple(np.nan_to_num(table) for table in tables)  # NaN, of equal rows alone, is 0


def for_haversine(a, b):
    (x, u), (y, v) = a, b
    inner = np.sin((x - y) / 2) ** 2 + np.cos(x) * np.cos(y) * np.sin((u - v) / 2) ** 2
    return 2 * np.arcsin(np.sqrt(inner))


def is_euclidean(metric):
    return metric in ("euclidean l2 sqeuclidean cosine correlation seuclidean mahalanobis".split())


@pytest.mark.parametrize(
    "metric",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in METRICS],
)
def test_all_searches_sizes_and_forms_agree(metric, monkeypatch):
    rows, unseen = rows_for(metric)
    among, to_rows = truth(metric)
    params = {"metric_params": PARAMETERS.get(metric)}
    expected = by_definition(among, K)[1]
    nothing = 1.0 if metric in ("dice", "hellinger", "jaccard") else np.inf
    finite = np.where(expected < nothing, expected, np.inf)
    finite_unseen = closest(np.where(to_rows < nothing, to_rows, np.inf), K)
    close = {"rtol": 1e-4, "atol": 1e-5}
    for form, (train, query, limits) in FORMS.items():
        for search, (algorithm, further) in SEARCHES.items():
            wide = form.startswith("wide")
            if algorithm in ("faiss", "torch") and (wide or not is_euclidean(metric)):
                continue
            if algorithm == "faiss" and not importlib.util.find_spec("faiss"):
                continue
            with monkeypatch.context() as patch:
                for name, value in {**limits, **further}.items():
                    patch.setattr(f"{HERE}.{name}", value)
                how = {"metric": metric, "algorithm": algorithm, "random_state": 0, **params}
                _, found, index = nearest_neighbors(train(rows), K, **how)
                np.testing.assert_allclose(found, finite, **close, err_msg=f"{form}, {search}")
                indices, found = index.kneighbors(query(unseen), K)
                np.testing.assert_allclose(found, finite_unseen, **close, err_msg=form)
                there = np.take_along_axis(to_rows, indices, axis=1)
                np.testing.assert_allclose(there[indices >= 0], found[indices >= 0], **close)
        with monkeypatch.context() as patch:
            for name, value in limits.items():
                patch.setattr(f"{HERE}.{name}", value)
            table = MetricDistances(metric, **params).fit(train(rows))
            np.testing.assert_allclose(
                table.from_rows(query(unseen), slice(None)), to_rows, **close
            )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sparse", [False, *slow(True)])
def test_pynndescent_is_asked_only_for_the_same_distances(metric, sparse):
    """Above the thresholds, its functions replace those of scikit-learn."""
    from pynndescent.distances import named_distances
    from pynndescent.sparse import sparse_named_distances, sparse_need_n_features

    rows, _ = rows_for(metric)
    index = NeighborIndex(metric=metric, metric_params=PARAMETERS.get(metric), algorithm="exact")
    plain = index.fit(rows)._metric
    if plain.form is not None:
        assert plain.form in ("euclidean", "sqeuclidean", "cosine", "correlation")
        return
    if not agrees_with_pynndescent(plain.name, plain.params, sparse):
        return
    function = (sparse_named_distances if sparse else named_distances)[plain.name]
    rows = plain.rows(rows).astype(np.float32)
    further = list(plain.params.values())
    if sparse and plain.name in sparse_need_n_features:
        further.append(rows.shape[1])  # as pynndescent itself does
    among, _ = truth(metric)
    for i, j in [(0, 1), (2, 3), (4, 4), (5, 9)]:
        parts = [(np.flatnonzero(row).astype(np.int32), row[row != 0]) for row in rows[[i, j]]]
        pair = [part for both in parts for part in both] if sparse else [rows[i], rows[j]]
        found = function(*pair, *further)
        np.testing.assert_allclose(found, among[i, j], rtol=1e-3, atol=1e-3, err_msg=f"{i}, {j}")
