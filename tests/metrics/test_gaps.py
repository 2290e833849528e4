"""Measures of distances that are not all known: infinite entries of a distance matrix."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from skmde import PreserveDistances, metrics

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.standard_normal((60, 4)) * [4, 2, 1, 0.5]
NEAR = ROWS[:, :2]
D = squareform(pdist(ROWS))


def _with_gaps(share, seed=1):
    lost = np.triu(np.random.default_rng(seed).random(D.shape) < share, 1)
    gaps = D.copy()
    gaps[lost | lost.T] = np.inf
    return gaps


SCORES = {
    "recall": lambda X: metrics.neighborhood_recall(X, NEAR, 5, "precomputed"),
    "trustworthiness": lambda X: metrics.trustworthiness(X, NEAR, 5, "precomputed"),
    "continuity": lambda X: metrics.continuity(X, NEAR, 5, "precomputed"),
    "triplets": lambda X: metrics.triplet_accuracy(X, NEAR, 50_000, "precomputed", random_state=0),
    "correlation": lambda X: metrics.distance_correlation(
        X, NEAR, 50_000, "precomputed", random_state=0
    ),
}


@pytest.mark.parametrize("name", SCORES)
def test_one_gap_changes_little(name):
    one = D.copy()
    one[3, 40] = one[40, 3] = np.inf
    assert SCORES[name](one) == pytest.approx(SCORES[name](D), abs=0.01)


@pytest.mark.parametrize("name", SCORES)
def test_unknown_pairs_have_no_say(name):
    """Where the embedding errs only in pairs that are not known, the score is 1."""
    away = NEAR.copy()
    away[0] += 100.0
    X = squareform(pdist(NEAR))
    X[0, 1:] = X[1:, 0] = np.inf
    call = {
        "recall": lambda: metrics.neighborhood_recall(X, away, 5, "precomputed"),
        "trustworthiness": lambda: metrics.trustworthiness(X, away, 5, "precomputed"),
        "continuity": lambda: metrics.continuity(X, away, 5, "precomputed"),
        "triplets": lambda: metrics.triplet_accuracy(X, away, 5000, "precomputed"),
        "correlation": lambda: metrics.distance_correlation(X, away, 5000, "precomputed"),
    }[name]
    assert call() == pytest.approx(1.0)


def test_scores_of_known_pairs_by_their_definitions():
    X, k = _with_gaps(0.4), 5
    E = squareform(pdist(NEAR))
    hits = false = torn = bounds = 0.0
    for i in range(60):
        known = np.flatnonzero(np.isfinite(X[i]) & (np.arange(60) != i))
        m = len(known) + 1
        own, found = known[np.argsort(X[i, known])], known[np.argsort(E[i, known])]
        hits += len(set(own[:k]) & set(found[:k])) / k / 60
        false += sum(max(list(own).index(j) + 1 - k, 0) for j in found[:k])
        torn += sum(max(list(found).index(j) + 1 - k, 0) for j in own[:k])
        bounds += k * (2 * m - 3 * k - 1) / 2
    assert SCORES["recall"](X) == pytest.approx(hits)
    assert SCORES["trustworthiness"](X) == pytest.approx(1 - false / bounds)
    assert SCORES["continuity"](X) == pytest.approx(1 - torn / bounds)
    i, j = np.nonzero(np.isfinite(np.triu(X, 1)) & np.triu(np.ones(X.shape, bool), 1))
    assert SCORES["correlation"](X) == pytest.approx(spearmanr(X[i, j], E[i, j])[0], abs=0.01)


def test_a_report_of_what_was_fitted_to_gaps():
    X = _with_gaps(0.4)
    estimator = PreserveDistances(metric="precomputed", max_iter=50, random_state=0).fit(X)
    report = metrics.embedding_report(estimator, X)
    assert list(report.measures)[:3] == ["recall_5", "recall_15", "trustworthiness"]
    assert 0.9 < report["triplets"] < 1 and report["stress"] < 0.2
    known = np.isfinite(X).sum(axis=1) - 1
    assert report.measures["recall_5"].chance == pytest.approx(np.mean(5 / known))
    short = metrics.quality_report(X, estimator.embedding_, metric="precomputed")
    assert short["knn_recall15"] == report["recall_15"]
    with pytest.raises(ValueError, match=r"zadu=.*needs rows"):
        metrics.embedding_report(estimator, X, zadu=["mrre"])


def test_one_direction_and_the_diagonal():
    one, both = D.copy(), D.copy()
    one[3, 40] = np.inf
    np.fill_diagonal(one, np.nan)
    for name, score in SCORES.items():
        assert score(one) == score(both), name


def test_mostly_gaps():
    """Triplets and pairs are drawn among those that are known, however few."""
    X = np.full(D.shape, np.inf)
    np.fill_diagonal(X, 0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        X[i, j] = X[j, i] = D[i, j]
    E = squareform(pdist(NEAR))
    report = metrics.embedding_report(NEAR, X, metric="precomputed")
    assert {"recall_1", "trustworthiness"} <= set(report.measures)
    i, j = np.triu_indices(3, 1)
    rho = spearmanr(D[i, j], E[i, j])[0]
    assert report["distance_correlation"] == pytest.approx(rho, abs=0.02)
    recall = metrics.item_recall(X, NEAR, 1, "precomputed")
    assert np.isfinite(recall[:3]).all() and np.isnan(recall[3:]).all()


def test_errors_say_what_to_do():
    nan = D.copy()
    nan[3, 40] = np.nan
    few = np.full(D.shape, np.inf)
    few[0, 1] = few[1, 0] = 1.0
    for name, score in SCORES.items():
        for wrong in (nan, csr_array(nan)):
            with pytest.raises(ValueError, match=r"contain NaN.*Use infinity"):
                score(wrong)
        if name != "correlation":
            with pytest.raises(ValueError, match=r"finite distance|known distance"):
                score(few)
    with pytest.raises(ValueError, match="no finite distance"):
        metrics.embedding_report(NEAR, np.full(D.shape, np.inf), metric="precomputed")
    with pytest.raises(ValueError, match="Use infinity for a pair without"):
        metrics.normalized_stress(nan, D)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        metrics.trustworthiness(nan, NEAR)


def test_infinite_entries_of_a_sparse_matrix_are_no_neighbours():
    near = np.where(np.sort(D, axis=1)[:, [6]] >= D, D, 0)
    graph = csr_array(near)
    stored = csr_array(near)
    stored.data[stored.indices == 5] = np.inf
    graph.data[graph.indices == 5] = 0
    graph.eliminate_zeros()
    assert SCORES["recall"](stored) == SCORES["recall"](graph)
