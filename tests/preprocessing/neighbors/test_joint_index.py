"""Rows that join an index get the neighbours that a search among all rows finds."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from skmde.preprocessing.neighbors.joint_index import JointIndex, joined_rows
from skmde.preprocessing.neighbors.search import NeighborIndex, nearest_neighbors

X = np.random.default_rng(0).standard_normal((130, 6))
QUERIES = np.random.default_rng(1).standard_normal((9, 6))
SEARCH = {"metric_params": None, "algorithm": "auto", "random_state": 0, "n_jobs": None}


def search(**options):
    return {**SEARCH, "metric": "euclidean", "device": None, **options}


@pytest.mark.parametrize(
    "metric", ["euclidean", "cosine", "manhattan", "canberra", "seuclidean", "mahalanobis"]
)
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array])
def test_in_several_steps_as_at_once(metric, form):
    options = search(metric=metric)
    indices, distances, index = nearest_neighbors(form(X[:80]), 7, **options)
    for stop in (81, 95, 130):
        indices, distances, index = joined_rows(
            index, (indices, distances), form(X[:stop]), 7, **options
        )
        fits = metric in ("seuclidean", "mahalanobis")  # all rows give the metric its parameters
        assert isinstance(index, JointIndex) is not fits and index.n_samples_ == stop
        whole = nearest_neighbors(form(X[:stop]), 7, **options)
        np.testing.assert_array_equal(indices, whole[0])
        np.testing.assert_allclose(distances, whole[1], rtol=1e-6)
        assert indices.dtype == np.int32 and distances.dtype == np.float64
    found = pickle.loads(pickle.dumps(index)).kneighbors(form(QUERIES), 7)
    wanted = whole[2].kneighbors(form(QUERIES), 7)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6)
    alone = index.kneighbors(form(QUERIES)[4:5], 7)
    np.testing.assert_array_equal(alone[1][0], found[1][4])


def test_old_rows_are_searched_anew_only_where_it_pays(monkeypatch):
    searched = []
    fit = NeighborIndex.fit

    def spy(self, rows):
        searched.append(len(rows))
        return fit(self, rows)

    monkeypatch.setattr(NeighborIndex, "fit", spy)
    options = search()
    indices, distances, index = nearest_neighbors(X[:50], 5, **options)
    for stop in (60, 70, 130):
        indices, distances, index = joined_rows(index, (indices, distances), X[:stop], 5, **options)
    # ten further rows; ten and the twenty since the first search; more than the first had
    assert searched == [50, 10, 10, 20, 130]
    assert isinstance(index, NeighborIndex)


def test_copies_keep_their_order_and_few_rows_leave_coordinates():
    rows = np.repeat(X[:2], 3, axis=0)
    options = search()
    first = nearest_neighbors(rows[:4], 3, **options)
    indices, _, _ = joined_rows(first[2], first[:2], rows, 3, **options)
    assert indices[:3].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3]]
    assert indices[3:, :2].tolist() == [[4, 5], [3, 5], [3, 4]]
    with pytest.warns(UserWarning, match="larger than the number of other rows"):
        two = nearest_neighbors(X[:2], 5, **options)
    with pytest.warns(UserWarning, match="larger than the number of other rows"):
        indices, _, _ = joined_rows(two[2], two[:2], X[:5], 5, **options)
    assert sorted(indices[0].tolist()) == [1, 2, 3, 4]


def test_within_a_distance_all_rows_are_searched():
    options = search(max_distance=1.5)
    first = nearest_neighbors(X[:80], None, **options)
    joined = joined_rows(first[2], first[:2], X, None, **options)
    np.testing.assert_array_equal(joined[0], nearest_neighbors(X, None, **options)[0])


def test_approximate_indices_join():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((600, 5)).astype(np.float32)
    options = search(algorithm="faiss")
    first = nearest_neighbors(rows[:500], 10, **options)
    assert first[2].algorithm_ == "faiss"
    indices, _, _ = joined_rows(first[2], first[:2], rows, 10, **options)
    exact = nearest_neighbors(rows, 10, **search(algorithm="exact"))[0]
    recall = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(indices, exact, strict=True)])
    assert recall > 0.95
