"""Samples of PreserveNeighbors that weigh more, less or nothing."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from skmde import Anchored, PreserveNeighbors
from skmde.core.placement.by_neighbors import place_by_neighbors
from skmde.penalties import Log, Log1p, Quadratic

DATA, CLASSES = load_digits(return_X_y=True)
X, Y, UNSEEN = DATA[:300], CLASSES[:300], DATA[300:360]
KEPT = np.random.default_rng(0).random(300) < 0.4
WEIGHT = 7.0 * KEPT
SEARCH = NearestNeighbors(n_neighbors=80).fit(X)


def fit(data=X, y=None, sample_weight=WEIGHT, **params):
    estimator = PreserveNeighbors(random_state=0, n_neighbors=7, **params)
    return estimator.fit(data, y, sample_weight=sample_weight)


# Training data, and unseen rows, of every kind.
KINDS = {
    "rows": (X, UNSEEN),
    "sparse rows": (sp.coo_array(X), sp.csc_array(UNSEEN)),
    "matrix": (cdist(X, X), cdist(UNSEEN, X)),
    "graph": (
        SEARCH.kneighbors_graph(mode="distance"),
        SEARCH.kneighbors_graph(UNSEEN, mode="distance"),
    ),
    "tables": (SEARCH.kneighbors()[::-1], SEARCH.kneighbors(UNSEEN)[::-1]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_samples_of_weight_0_are_not_there(kind):
    data, unseen = KINDS[kind]
    params = {"init": "quadratic"}
    subset = fit(X[KEPT], sample_weight=None, **params)
    weighted = fit(data, **params, **({} if "rows" in kind else {"metric": "precomputed"}))
    np.testing.assert_array_equal(weighted.embedding_[KEPT], subset.embedding_)
    np.testing.assert_array_equal(weighted.edges_, np.flatnonzero(KEPT)[subset.edges_])
    assert weighted.graph_.shape == (300, 300)
    np.testing.assert_array_equal(
        weighted.graph_.toarray()[np.ix_(KEPT, KEPT)], subset.graph_.toarray()
    )
    assert weighted.graph_.sum() == subset.graph_.sum()
    np.testing.assert_allclose(weighted.transform(unseen), subset.transform(UNSEEN), atol=1e-6)
    np.testing.assert_allclose(
        weighted.score_samples(unseen), subset.score_samples(UNSEEN), atol=1e-6
    )
    assert weighted.score(unseen) == pytest.approx(subset.score(UNSEEN), abs=1e-6)
    # and then they are placed, as unseen rows are
    np.testing.assert_allclose(
        weighted.embedding_[~KEPT], subset.transform(X[~KEPT]), rtol=0, atol=1e-6
    )
    again = pickle.loads(pickle.dumps(weighted))
    np.testing.assert_array_equal(again.transform(unseen), weighted.transform(unseen))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_they_have_the_place_that_transform_gives_them(dtype):
    estimator = fit(X.astype(dtype))
    np.testing.assert_array_equal(
        estimator.transform(X.astype(dtype)), estimator.embedding_, strict=True
    )
    assert estimator.embedding_.dtype == dtype


def test_parameters_with_an_entry_for_each_sample():
    init = np.random.default_rng(1).standard_normal((300, 2))
    for whole, part in (
        (fit(y=Y, target_weight=0.5), fit(X[KEPT], Y[KEPT], None, target_weight=0.5)),
        *(
            (fit(y=wrap(Y), target_weight=0.5), fit(X[KEPT], Y[KEPT], None, target_weight=0.5))
            for wrap in (list, tuple, pd.Series, torch.tensor, lambda y: list(map(str, y)))
        ),
        (fit(init=init), fit(X[KEPT], None, None, init=init[KEPT])),
        (fit(init="pca"), fit(X[KEPT], None, None, init="pca")),
    ):
        np.testing.assert_array_equal(whole.embedding_[KEPT], part.embedding_)
    for wrong in (Y[:9], Y[KEPT]):
        with pytest.raises(ValueError, match=f"{len(wrong)}"):
            fit(y=wrong, target_weight=0.5)
    with pytest.raises(ValueError, match="init"):
        fit(init=init[KEPT])


def test_the_constraint_holds_for_those_that_count():
    standardized = fit(constraint="standardized").embedding_[KEPT]
    np.testing.assert_allclose(standardized.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(standardized.T @ standardized / KEPT.sum(), np.eye(2), atol=1e-5)
    # an anchor is where it is told, whatever it weighs
    anchors = np.array([np.flatnonzero(KEPT)[3], np.flatnonzero(~KEPT)[5]])
    coordinates = np.array([[5.0, 1.0 / 3.0], [-0.1, 2.0]])
    estimator = fit(constraint=Anchored(anchors, coordinates))
    np.testing.assert_array_equal(estimator.embedding_[anchors], coordinates)
    assert np.isfinite(estimator.embedding_).all()
    with pytest.raises(ValueError, match="item 300"):
        fit(constraint=Anchored([3, 300], coordinates))


def test_callbacks_see_a_row_for_each_sample():
    states = []
    estimator = fit(callbacks=[states.append])
    for state in states:
        assert state.X.shape == (300, 2)
    np.testing.assert_allclose(states[-1].X[KEPT], estimator.embedding_[KEPT], atol=1e-4)
    np.testing.assert_allclose(states[-1].X[~KEPT], 0.0, atol=1e-4)


def test_extend_keeps_them_out():
    weighted, subset = fit(init="quadratic"), fit(X[KEPT], sample_weight=None, init="quadratic")
    before = weighted.embedding_.copy()
    weighted.extend(UNSEEN)
    subset.extend(UNSEEN)
    np.testing.assert_array_equal(weighted.embedding_[:300], before)
    np.testing.assert_array_equal(weighted.embedding_[300:], subset.embedding_[-60:])
    further = DATA[360:380]
    np.testing.assert_array_equal(weighted.transform(further), subset.transform(further))
    distances = fit(cdist(X, X), metric="precomputed")
    distances.extend(cdist(UNSEEN, np.concatenate([X, UNSEEN])))
    np.testing.assert_allclose(distances.embedding_, weighted.embedding_, atol=1e-3)


def test_pairs_of_unseen_rows_count_by_the_weight_of_the_sample():
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 300)
    estimator = fit(sample_weight=weights, repulsive_penalty=None)
    relative = weights / weights.mean()
    distances, indices = NearestNeighbors(n_neighbors=7).fit(X).kneighbors(UNSEEN)
    reach = NearestNeighbors(n_neighbors=7).fit(X).kneighbors()[0][:, -1]
    pull = (1.0 + (distances <= reach[indices])) * relative[indices]
    wanted = place_by_neighbors(estimator.embedding_, indices, pull, Log1p())
    np.testing.assert_allclose(estimator.transform(UNSEEN), wanted, atol=1e-6)


def test_repulsion_of_items_of_different_weight():
    anchors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    args = anchors, [[0]], [[1.0]], Quadratic(), Log()
    by_weight = place_by_neighbors(*args, [1, 2], np.array([2.0, 1.0]))
    twice = place_by_neighbors(*args, [1, 1, 2], 1.0)
    np.testing.assert_array_equal(by_weight, twice)
    assert not np.allclose(by_weight, place_by_neighbors(*args, [1, 2], 1.0))


def test_a_single_sample_that_counts_is_too_few():
    alone = np.zeros(300)
    alone[4] = 1.0
    with pytest.raises(ValueError, match="sample_weight has 1 nonzero entry; at least 2"):
        fit(sample_weight=alone)
