"""Unseen, added and weighted samples under every choice of neighbours, weights and pairs."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from skmde import PreserveNeighbors
from skmde.inspection import leave_one_out
from skmde.preprocessing.graphs.adjacency import as_adjacency

X = load_digits(return_X_y=True)[0][:110]
N, M = 100, 110
D = pairwise_distances(X)
S = np.exp(-D / 20)
NEAR = sp.csr_array(np.where(np.argsort(np.argsort(D, axis=1), axis=1) < 5, D, 0))
G = as_adjacency(sp.csr_array(NEAR.maximum(NEAR.T)))[0]
LIMITS = np.random.default_rng(0).uniform(20, 35, M)
LEAST = np.random.default_rng(0).uniform(0.2, 0.4, M)
PAIRS = np.stack([np.arange(50), np.arange(50, 100)], axis=1)
CASES = {
    "similarities": (S, {"metric": "affinity"}),
    "sparse similarities": (sp.csr_array(np.where(S > 0.3, S, 0)), {"metric": "affinity"}),
    "similarities as weights": (S, {"metric": "affinity", "weights": "affinity"}),
    "function of similarities": (S, {"metric": "affinity", "weights": np.sqrt}),
    "least similarity": (S, {"metric": "affinity", "n_neighbors": None, "min_affinity": 0.3}),
    "least similarities": (S, {"metric": "affinity", "min_affinity": LEAST}),
    "edges": (G, {"metric": "graph", "n_neighbors": None}),
    "paths": (G, {"metric": "graph"}),
    "short paths": (G, {"metric": "graph", "max_distance": 30.0, "n_neighbors": None}),
    "limited paths": (G, {"metric": "graph", "max_distance": LIMITS}),
    "exponential of paths": (G, {"metric": "graph", "weights": "exponential"}),
    "uniform": (X, {"weights": "uniform"}),
    "exponential": (X, {"weights": "exponential", "weights_width": 20.0}),
    "function": (X, {"weights": np.reciprocal}),
    "limits": (X, {"max_distance": LIMITS}),
    "limits alone": (X, {"max_distance": LIMITS, "n_neighbors": None}),
    "limits of distances": (D, {"max_distance": LIMITS, "metric": "precomputed"}),
    "far": (X, {"repulsion": "far"}),
    "far along paths": (G, {"metric": "graph", "repulsion": "far"}),
    "given": (X, {"repulsion": "given"}),
}
EVERY = pytest.mark.parametrize("name", CASES)
SOME = pytest.mark.parametrize(
    "name", ["similarities as weights", "least similarities", "paths", "limits", "far", "given"]
)


def parts(name):
    """The estimator, training data, unseen rows, rows to add, and arguments of `fit`."""
    data, params = CASES[name]
    params = {"n_neighbors": 6, "max_iter": 15, "random_state": 0, **params}
    for limit in ("max_distance", "min_affinity"):
        if np.ndim(params.get(limit)):
            params[limit] = params[limit][:N]
    given = {"dissimilar_pairs": PAIRS} if name == "given" else {}
    estimator = PreserveNeighbors(**params)
    if params.get("metric") is None:
        return estimator, data[:N], data[N:], data[N:], given
    return estimator, data[:N][:, :N], data[N:][:, :N], data[N:], given


@EVERY
def test_unseen_samples_are_placed_one_by_one(name):
    estimator, data, unseen, _, given = parts(name)
    estimator.fit(data, **given)
    placed = estimator.transform(unseen)
    assert np.isfinite(placed).all()
    again = np.concatenate([estimator.transform(unseen[[k]]) for k in (9, 2, 5)])
    np.testing.assert_allclose(again, placed[[9, 2, 5]], atol=1e-7)
    known = estimator.transform(data[:7])
    np.testing.assert_array_equal(known, estimator.embedding_[:7])
    assert 0 <= estimator.score(unseen) <= 1
    support = estimator.score_samples(unseen)
    assert ((support >= 0) & (support <= 1)).all()
    assert estimator.is_supported(unseen).dtype == bool
    out = leave_one_out(estimator, data)
    assert np.isfinite(np.asarray(getattr(out, "displacement", out))).all()


@EVERY
def test_samples_are_added(name):
    estimator, data, _, further, given = parts(name)
    estimator.fit(data, **given)
    before = estimator.embedding_.copy()
    estimator.extend(further)
    assert estimator.embedding_.shape == (M, 2)
    np.testing.assert_array_equal(estimator.embedding_[:N], before)
    assert estimator.graph_.shape == (M, M)
    known = estimator.transform(CASES[name][0][[3, 105]])
    np.testing.assert_array_equal(known, estimator.embedding_[[3, 105]])


@pytest.mark.parametrize("name", ["similarities", "least similarity", "edges", "paths"])
def test_neighbors_after_an_extension_are_those_of_a_fit(name):
    estimator, data, _, further, _ = parts(name)
    whole = clone(estimator).set_params(max_iter=0).fit(CASES[name][0])
    extended = estimator.set_params(max_iter=0).fit(data).extend(further)
    np.testing.assert_array_equal(extended.graph_.toarray(), whole.graph_.toarray())


@SOME
def test_pickles_and_clones(name):
    estimator, data, unseen, _, given = parts(name)
    with_all = clone(estimator).set_params(max_iter=2)
    assert repr(with_all.set_params(max_iter=15)) == repr(estimator)
    estimator.set_params(max_iter=2).fit(data, **given)
    loaded = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(loaded.transform(unseen), estimator.transform(unseen))


@SOME
def test_samples_of_weight_0_do_not_matter(name):
    estimator, data, _, _, given = parts(name)
    weights = np.ones(N)
    weights[:5] = 0
    kept = np.arange(5, N)
    if "limit" in name or name == "least similarities":
        for limit in ("max_distance", "min_affinity"):
            if np.ndim(getattr(estimator, limit)):
                less = clone(estimator).set_params(**{limit: getattr(estimator, limit)[kept]})
    else:
        less = clone(estimator)
    fewer = data[kept] if estimator.metric == "euclidean" else data[kept][:, kept]
    fewer_given = {"dissimilar_pairs": PAIRS[5:] - 5} if given else {}
    expected = less.fit(fewer, **fewer_given).embedding_
    found = estimator.fit(data, sample_weight=weights, **given).embedding_
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[5:], expected)


def test_a_fitted_node_is_known_by_its_edges_in_one_or_in_both_directions():
    upper = sp.triu(G[:N][:, :N], format="csr")
    fitted = PreserveNeighbors(metric="graph", random_state=0, max_iter=5).fit(upper)
    for rows in (upper, G[:N][:, :N]):
        np.testing.assert_array_equal(fitted.transform(rows[:20]), fitted.embedding_[:20])


def test_a_limit_of_an_unseen_sample_is_that_of_the_nearest():
    line = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    limits = np.array([1.0, 1, 1, 2, 2, 2])
    fitted = PreserveNeighbors(n_neighbors=3, max_distance=limits, random_state=0).fit(line)
    indices, weights, _ = fitted._neighbors.of_unseen(np.array([[1.4], [11.4]]))
    assert np.sort(indices[weights > 0]).tolist() == [1, 2, 3, 4, 5]
