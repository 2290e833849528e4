"""Rows that lose many neighbours in the few lists that are visited are searched again."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from skmde.preprocessing.neighbors.search import nearest_neighbors

K = 10


@pytest.fixture
def search(monkeypatch):
    pytest.importorskip("faiss")
    faiss = pytest.importorskip("skmde.preprocessing.neighbors.backends.faiss")
    monkeypatch.setattr(faiss, "_ROWS_PER_LIST", 16)
    rng = np.random.default_rng(4)
    X = rng.standard_normal((4000, 10)) @ rng.standard_normal((10, 40))
    return faiss.FaissSearch(X.astype(np.float32), K)


def recall(squared, X):
    """Share of the nearest rows of each row that are found."""
    squares = cdist(X.astype(np.float64), X.astype(np.float64), "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    return (squared <= np.partition(squares, K - 1)[:, K - 1 : K] * (1 + 1e-5)).mean(axis=1)


def test_rows_with_small_margins_lost_more_and_are_searched_again(search):
    everyone = np.arange(4000, dtype=np.int32)
    short = search._shorten(search.rows)
    _, once, margins = search._in_lists(search.rows, short, K, everyone, search._n_visited, None)
    once = recall(once, search.rows)
    small = margins < search._doubt
    assert 0.02 < small.mean() < 0.12
    assert (1 - once[small]).mean() > 2 * (1 - once[~small]).mean()
    again = recall(search.search(search.rows, K, everyone, None)[1], search.rows)
    assert again[small].mean() > 0.99
    assert again.mean() > 0.97
    assert again.min() >= 0.5


def test_a_search_goes_on_while_more_lists_replace_most_neighbors(search):
    everyone = np.arange(4000, dtype=np.int32)
    search._n_visited, search._doubt = 1, 0.0
    once = recall(search.search(search.rows, K, everyone, None)[1], search.rows)
    search._doubt = np.inf
    again = recall(search.search(search.rows, K, everyone, None)[1], search.rows)
    assert (again < 0.5).mean() < 0.1 * (once < 0.5).mean()
    assert (again >= once).all()


def test_a_row_finds_the_same_alone_and_in_company(search):
    some, nobody = search.rows[::40] + np.float32(0.01), np.full(100, -1, np.int32)
    together = search.search(some, K, nobody, None)
    for row in (0, 37, 99):
        alone = search.search(some[row : row + 1], K, nobody[:1], None)
        for found, values in zip(alone, together, strict=True):
            np.testing.assert_array_equal(found[0], values[row])


def test_copies_and_searches_of_all_lists_leave_no_doubt(search):
    own, rows = np.arange(50, dtype=np.int32), search.rows[:50]
    n_lists = search._index.nlist
    margins = search._in_lists(rows, search._shorten(rows), K, own, n_lists, None)[2]
    assert (margins == np.inf).all()
    copies = np.repeat(rows[:1], 300, axis=0)
    search = type(search)(np.concatenate([copies, search.rows]), K)
    own = own[: K + 2]
    margins = search._in_lists(copies[: K + 2], search._shorten(copies[: K + 2]), K, own, 2, None)
    assert not (margins[2] < search._doubt).any()


def test_tight_groups_far_from_the_rest_keep_their_neighbors():
    """Their rows have the same projections, up to the rounding of these."""
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    X = np.vstack([1e-7 * rng.standard_normal((700, 3)), 5 + rng.standard_normal((200, 3))])
    _, D, _ = nearest_neighbors(X, 8, algorithm="exact")
    _, found, _ = nearest_neighbors(X, 8, algorithm="faiss")
    assert (found <= D[:, -1:] * (1 + 1e-5)).mean() > 0.95
