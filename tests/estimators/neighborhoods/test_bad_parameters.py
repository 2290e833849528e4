"""Parameters of neighbourhoods that contradict each other, and what the errors say."""

import numpy as np
import pytest
import scipy.sparse as sp

from skmde import PreserveNeighbors

X = np.random.default_rng(0).standard_normal((30, 3))
S = np.exp(-np.linalg.norm(X[:, None] - X, axis=2))
G = sp.csr_array(np.diag(np.ones(29), 1))
LIMITS = np.ones(30)


@pytest.mark.parametrize(
    ("data", "params", "given", "message"),
    [
        (S, {"metric": "affinity", "weights": "exponential"}, {}, "needs distances"),
        (X, {"weights": "affinity"}, {}, "takes similarities as weights"),
        (X, {"weights_width": 2.0}, {}, "width of weights='exponential', but weights is 'count'"),
        (X, {"weights": lambda d: d[:1]}, {}, "one number for each of an array of"),
        (X, {"weights": np.negative}, {}, "finite numbers of at least 0; got -"),
        (X, {"weights": np.zeros_like}, {}, "all pairs have the weight 0"),
        (X, {"weights": "exponential", "weights_width": 1e-9}, {}, "increase weights_width"),
        (S, {"metric": "affinity", "max_distance": 2.0}, {}, "use min_affinity"),
        (S, {"metric": "affinity", "max_distance": LIMITS}, {}, "an array limits distances"),
        (X, {"min_affinity": 0.1}, {}, "limits similarities.*use max_distance"),
        (
            S,
            {"metric": "affinity", "min_affinity": 7.0},
            {},
            "min_affinity=7.0; reduce it",
        ),
        (S, {"metric": "affinity", "init": "isomap"}, {}, "'isomap' needs distances"),
        (S, {"metric": "affinity", "init": "pca"}, {}, "metric='affinity' gives none"),
        (G, {"metric": "graph", "init": "pca"}, {}, "metric='graph' gives none"),
        (G, {"metric": "graph", "metric_params": {"p": 3}}, {}, "p"),
        (-G, {"metric": "graph"}, {}, "lengths must not be negative"),
        (sp.csr_array((30, 30)), {"metric": "graph"}, {}, "No two samples are neighbours"),
        (X, {"max_distance": LIMITS[:5]}, {}, r"one entry for each of the 30 samples.*\(5,\)"),
        (X, {"max_distance": -LIMITS}, {}, "must not be negative or NaN; entry 0 is -1"),
        (X, {"max_distance": LIMITS * np.nan}, {}, "must not be negative or NaN"),
        (X, {"max_distance": 1e-9 * LIMITS}, {}, "No two samples are neighbours"),
        (X, {"repulsion": "given"}, {}, "there are none: pass dissimilar_pairs"),
        (
            X,
            {"repulsion": "given"},
            {"dissimilar_pairs": [(0, 1)], "dissimilar_weights": 0},
            "there are none",
        ),
        (X, {"repulsion": "given", "repulsive_fraction": 2.0}, {}, "only dissimilar_pairs repel"),
        (
            X,
            {"repulsive_penalty": None},
            {"dissimilar_pairs": [(0, 1)]},
            "repulsive_penalty is None; give a penalty",
        ),
        (X, {}, {"dissimilar_pairs": [(0, 30)]}, "index 30, but there are 30 samples"),
        (X, {}, {"dissimilar_pairs": [(0, 0)]}, "joins item 0 to itself"),
        (X, {}, {"dissimilar_pairs": [0, 1, 2]}, r"shape \(n_edges, 2\)"),
        (X, {}, {"dissimilar_pairs": [(0.5, 1)]}, "must be integers"),
        (
            X,
            {},
            {"dissimilar_pairs": [(0, 1)], "dissimilar_weights": [1, 2]},
            r"one for each of the 1 pairs.*\(2,\)",
        ),
        (
            X,
            {},
            {"dissimilar_pairs": [(0, 1)], "dissimilar_weights": -1},
            "at least 0; got -1",
        ),
        (X, {}, {"outlier_pairs": [(0, 1)], "outlier_weights": np.inf}, "must be finite"),
        (X, {"n_neighbors": 1}, {"outlier_pairs": [[0, 0]]}, "joins item 0"),
    ],
)
def test_errors(data, params, given, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        PreserveNeighbors(**params).fit(data, **given)


def test_outliers_that_are_no_neighbours():
    far = np.argsort(S, axis=1)[:, 0]
    with pytest.raises(ValueError, match="None of the 1 outlier_pairs is a pair of neighbours"):
        PreserveNeighbors(n_neighbors=2).fit(X, outlier_pairs=[(0, far[0])])


@pytest.mark.parametrize("name", ["weights", "weights_width", "min_affinity", "max_distance"])
def test_names_are_checked_as_by_scikit_learn(name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of PreserveNeighbors must be"):
        PreserveNeighbors(**{name: "wide"}).fit(X)
