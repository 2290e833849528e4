"""complete_distances: estimates of the distances that a matrix lacks."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata, spearmanr

from skmde import PreserveDistances, complete_distances

RNG = np.random.default_rng(0)
both = pytest.mark.parametrize("monotone", [False, True], ids=["metric", "order"])


def with_gaps(D, seed=0, share=0.1):
    """The matrix without some of its pairs, and which ones are left out."""
    held = np.random.default_rng(seed).random(len(D) * (len(D) - 1) // 2) < share
    gaps = D.copy()
    gaps[squareform(held)] = np.inf
    return gaps, held


@both
def test_a_map_of_completed_distances_knows_more_of_the_missing_ones(monotone):
    def judged(matrix):
        d = pdist(PreserveDistances(monotone=monotone, **params).fit(matrix).embedding_)
        return spearmanr(squareform(whole, checks=False)[held], d[held]).statistic

    params = {"loss": "squared", "metric": "precomputed", "random_state": 0}
    plain, kept = [], []
    for seed in range(3):
        # No plane holds these distances.
        whole = squareform(pdist(np.random.default_rng(seed).random((25, 5)), "cityblock"))
        gaps, held = with_gaps(whole, seed, 0.2)
        completed = complete_distances(gaps, monotone=monotone, random_state=0)
        full = judged(whole)
        plain.append(judged(gaps) / full)
        kept.append(judged(completed) / full)
    assert np.mean(plain) < 0.9
    assert np.mean(kept) > 0.93


@both
def test_known_distances_stay_and_exact_ones_are_found(monotone):
    whole = squareform(pdist(RNG.random((40, 3))))
    gaps, held = with_gaps(whole)
    D = complete_distances(gaps, 3, monotone=monotone, random_state=0)
    known = np.isfinite(gaps)
    assert np.array_equal(D[known], whole[known])
    assert np.array_equal(D, D.T)
    found, true = squareform(D)[held], squareform(whole)[held]
    assert np.abs(found - true).max() < (0.3 if monotone else 0.01)
    assert spearmanr(found, true).statistic > 0.97
    i, j = np.nonzero(known & ~np.eye(40, dtype=bool))
    stored = sp.csr_array((whole[i, j], (i, j)), shape=whole.shape)
    assert np.array_equal(complete_distances(stored, 3, monotone=monotone, random_state=0), D)


def test_estimates_have_the_same_place_in_any_increasing_function_of_the_distances():
    whole = squareform(pdist(RNG.random((25, 4))).round(2))
    gaps, _ = with_gaps(whole)

    def places(matrix):
        completed = complete_distances(matrix, 4, monotone=True, random_state=0)
        return rankdata(squareform(completed))

    ranks = np.full_like(gaps, np.inf)
    ranks[np.isfinite(gaps)] = rankdata(gaps[np.isfinite(gaps)], method="dense") - 1
    assert np.array_equal(places(gaps), places(gaps**3))
    assert np.array_equal(places(gaps), places(ranks))


def test_distances_of_items_that_nothing_joins_stay_infinite():
    D = squareform(pdist(RNG.random((16, 3))))
    D[:8, 8:] = D[8:, :8] = D[0, 1] = D[1, 0] = np.inf
    found = complete_distances(D, 3, random_state=0)
    assert np.isinf(found[:8, 8:]).all()
    assert np.isfinite(found[:8, :8]).all() and np.isfinite(found[8:, 8:]).all()


def test_a_complete_matrix_is_returned_as_it_is():
    D = squareform(pdist(RNG.random((9, 2))))
    assert np.array_equal(complete_distances(D), D)
    with pytest.warns(UserWarning, match="symmetric"):
        found = complete_distances(np.triu(2 * D))
    np.testing.assert_allclose(found, D)


@both
def test_a_matrix_without_distances_is_refused(monotone):
    with pytest.raises(ValueError, match="No pair of samples has"):
        complete_distances(np.full((9, 9), np.inf), monotone=monotone)


def test_bad_input_is_refused():
    D = squareform(pdist(RNG.random((9, 2))))
    with pytest.raises(ValueError, match="monotone must be True or False, got 'interval'"):
        complete_distances(D, monotone="interval")
    with pytest.raises(ValueError, match="n_components=9 must be less than"):
        complete_distances(np.where(D == D[0, 1], np.inf, D), 9)
    with pytest.raises(ValueError, match="square"):
        complete_distances(D[:5])
