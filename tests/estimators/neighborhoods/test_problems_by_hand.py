"""Every choice of neighbours, weights and dissimilar pairs, against an MDE of the same pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances
from sparse_arrays import random_sparse

from skmde import MDE, PreserveNeighbors, push_and_pull
from skmde.preprocessing import (
    edges_from_graph,
    nearest_neighbors,
    neighbor_graph,
    pair_distances,
    path_neighbors,
    precomputed_neighbors,
    sample_dissimilar,
    sample_far,
)

X = load_digits(return_X_y=True)[0][:120].astype(np.float32)
N, K, SEED = len(X), 6, 0
D = pairwise_distances(X).astype(np.float64)
S = np.exp(-D / 20)
pytestmark = pytest.mark.filterwarnings("ignore:The solve ended")
START = np.random.default_rng(1).standard_normal((N, 2))
RING = sp.csr_array(np.roll(np.diag(np.linspace(1, 2, N)), 1, axis=1))
CHORDS = random_sparse((N, N), 0.01, seed=2)
G = sp.csr_array((RING + CHORDS).maximum((RING + CHORDS).T))
DRAW = np.iinfo(np.int32).max


def draws():
    """Seeds that the estimator draws: of the neighbours, and of the repulsive pairs."""
    random_state = np.random.RandomState(SEED)
    return [random_state.randint(DRAW) for _ in range(2)]


def tables(data, **options):
    return nearest_neighbors(data, K, **options)[:2]


def fitted(data, fit_params=None, **params):
    params = {"n_neighbors": K, "repulsion": "sampled", "max_iter": 15, **params}
    estimator = PreserveNeighbors(init=START, random_state=SEED, **params)
    return estimator.fit(data, **(fit_params or {}))


def by_hand(edges, weights, dtype=np.float64, **options):
    """The coordinates of the solution, as an estimator gives them for data of a dtype."""
    functions = options.pop("functions", push_and_pull("log1p", "log"))
    problem = MDE(N, 2, edges, functions, weights=weights, **options)
    problem.embed((START - START.mean(axis=0)).astype(np.float32), max_iter=15)
    return problem.constraint.finish(problem.X.double()).numpy().astype(dtype)


def with_sampled(graph, sample=sample_dissimilar, *further):
    edges, weights = edges_from_graph(graph)
    repel = sample(N, len(edges), edges, *further, random_state=draws()[1])
    ones = np.ones(len(repel), np.float32)
    return np.concatenate([edges, repel]), np.concatenate([weights, -ones])


def check(estimator, edges, weights, **options):
    np.testing.assert_array_equal(estimator.edges_, edges)
    np.testing.assert_array_equal(estimator.weights_, weights)
    expected = by_hand(edges, weights, estimator.embedding_.dtype, **options)
    np.testing.assert_array_equal(estimator.embedding_, expected)


def test_similarities():
    graph = neighbor_graph(*precomputed_neighbors(1 / S, K))
    check(fitted(S, metric="affinity"), *with_sampled(graph))
    check(fitted(sp.csr_array(S), metric="affinity"), *with_sampled(graph))


def test_similarities_as_weights():
    near = precomputed_neighbors(1 / S, K)
    mean = np.mean(1.0 / near[1])
    graph = neighbor_graph(*near, rule=lambda d: 1.0 / (d * mean))
    check(fitted(S, metric="affinity", weights="affinity"), *with_sampled(graph))
    by_function = fitted(S, metric="affinity", weights=lambda s: s / mean)
    np.testing.assert_allclose(by_function.weights_, with_sampled(graph)[1], rtol=1e-6)


def test_neighbors_along_paths():
    graph = neighbor_graph(*path_neighbors(G, K, random_state=draws()[0]))
    check(fitted(G, metric="graph"), *with_sampled(graph))
    # path lengths are distinct here, so the first of all paths are the same neighbours
    paths = dijkstra(G)
    check(
        fitted(G, metric="graph"), *with_sampled(neighbor_graph(*precomputed_neighbors(paths, K)))
    )


def test_edges_of_a_graph():
    graph = G.copy()
    graph.data = np.full(graph.nnz, 2, np.float32)
    check(fitted(G, metric="graph", n_neighbors=None), *with_sampled(graph))


def test_paths_up_to_a_length():
    paths = dijkstra(G)
    graph = neighbor_graph(*precomputed_neighbors(paths, None, max_distance=1.2))
    check(fitted(G, metric="graph", n_neighbors=None, max_distance=1.2), *with_sampled(graph))


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"weights": "uniform"}, {"rule": "uniform"}),
        ({"weights": "exponential"}, {"rule": "exponential"}),
        ({"weights": "exponential", "weights_width": 15.0}, {"rule": "exponential", "width": 15.0}),
        ({"weights": np.reciprocal}, {"rule": np.reciprocal}),
    ],
)
def test_weights_of_neighbors(params, rule):
    check(fitted(X, **params), *with_sampled(neighbor_graph(*tables(X), **rule)))


def test_exponential_weights_of_paths_and_of_all_pairs():
    near = path_neighbors(G, K, random_state=draws()[0])
    edges, weights = edges_from_graph(neighbor_graph(*near, rule="exponential"))
    functions = push_and_pull("log1p", "cauchy")
    estimator = fitted(
        G,
        metric="graph",
        weights="exponential",
        repulsion="all",
        constraint="standardized",
        attractive_penalty="log1p",
        repulsive_weight=0.5,
    )
    options = {"constraint": "standardized", "repulsion": "all", "repulsive_weight": 0.5}
    check(estimator, edges, weights, functions=functions, **options)


def test_a_limit_for_each_sample():
    limits = np.random.default_rng(3).uniform(25, 40, N)
    for k in (K, None):
        indices, distances, _ = nearest_neighbors(X, k, max_distance=limits)
        assert (distances[indices >= 0] <= np.repeat(limits, (indices >= 0).sum(axis=1))).all()
        estimator = fitted(X, n_neighbors=k, max_distance=limits)
        check(estimator, *with_sampled(neighbor_graph(indices, distances)))
        graph = (D <= limits[:, None]) & ~np.eye(N, dtype=bool)
        if k is None:
            np.testing.assert_array_equal(estimator.graph_.toarray(), graph.astype(int) + graph.T)


def test_a_least_similarity_for_each_sample():
    least = np.random.default_rng(3).uniform(0.1, 0.25, N)
    graph = (S >= least[:, None]) & ~np.eye(N, dtype=bool)
    estimator = fitted(S, metric="affinity", n_neighbors=None, min_affinity=least)
    np.testing.assert_array_equal(estimator.graph_.toarray(), graph.astype(int) + graph.T)
    check(estimator, *with_sampled(estimator.graph_))


def test_far_pairs():
    graph = neighbor_graph(*tables(X))
    edges, weights = with_sampled(graph, sample_far, lambda pairs: pair_distances(X, pairs))
    estimator = fitted(X, repulsion="far")
    check(estimator, edges, weights)
    lengths = D[tuple(edges[weights < 0].T)]
    assert np.mean(lengths > np.quantile(D, 0.7)) > 0.9
    same = fitted(D, repulsion="far", metric="precomputed")
    np.testing.assert_array_equal(same.edges_, edges)
    similar = fitted(S, repulsion="far", metric="affinity")
    np.testing.assert_array_equal(similar.edges_, edges)


def test_given_dissimilar_pairs_take_the_place_of_sampled_ones():
    edges, weights = edges_from_graph(neighbor_graph(*tables(X)))
    pairs = np.stack([np.arange(60), np.arange(60, 120)], axis=1)
    strengths = np.linspace(0, 2, 60)
    given = {"dissimilar_pairs": pairs[:, ::-1], "dissimilar_weights": strengths}
    estimator = fitted(X, given, repulsion="given", repulsive_weight=0.5)
    negative = -(strengths.astype(np.float32) * 0.5)[1:].astype(np.float32)
    every = np.concatenate([edges, pairs[1:]]), np.concatenate([weights, negative])
    check(estimator, *every)


@pytest.mark.parametrize("repulsion", ["sampled", "all"])
def test_given_dissimilar_pairs_are_added_to_others(repulsion):
    graph = neighbor_graph(*tables(X))
    pairs, options = np.array([[3, 100], [4, 50]]), {}
    edges, weights = with_sampled(graph) if repulsion == "sampled" else edges_from_graph(graph)
    if repulsion == "all":
        options = {"repulsion": "all", "functions": push_and_pull("log1p", "cauchy")}
    edges = np.concatenate([edges, pairs])
    weights = np.append(weights, np.float32([-3, -3]))
    estimator = fitted(
        X,
        {"dissimilar_pairs": pairs, "dissimilar_weights": 3},
        repulsion=repulsion,
        constraint="standardized",
        attractive_penalty="log1p",
        repulsive_weight=1.0,
        repulsive_fraction=1.0 if repulsion == "sampled" else None,
    )
    check(estimator, edges, weights, constraint="standardized", **options)


def test_outlier_pairs_count_for_less():
    graph = neighbor_graph(*tables(X))
    edges, weights = edges_from_graph(graph)
    outliers, factors = np.concatenate([edges[:3][:, ::-1], [[0, 119]]]), [0.0, 0.5, 0.25, 1.0]
    assert graph[0, 119] == 0
    weights[:3] *= np.float32([0.0, 0.5, 0.25])
    kept = weights > 0
    given = {"outlier_pairs": outliers, "outlier_weights": factors}
    estimator = fitted(X, given, repulsion="all", constraint="standardized", repulsive_weight=1.0,
                       attractive_penalty="log1p")  # fmt: skip
    options = {"repulsion": "all", "functions": push_and_pull("log1p", "cauchy")}
    check(estimator, edges[kept], weights[kept], constraint="standardized", **options)


@pytest.mark.parametrize("k", [None, K])
def test_a_graph_that_joins_all_pairs_is_a_matrix_of_distances(k):
    distinct = pairwise_distances(X + 0.01 * np.random.default_rng(0).standard_normal(X.shape))
    by_paths = fitted(distinct, metric="graph", n_neighbors=k)
    by_distances = fitted(distinct, metric="precomputed", n_neighbors=k)
    np.testing.assert_array_equal(by_paths.edges_, by_distances.edges_)
    np.testing.assert_array_equal(by_paths.embedding_, by_distances.embedding_)
