"""The nodes nearest by path length, compared with shortest paths between all nodes."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra
from sparse_arrays import random_sparse

from skmde.preprocessing import path_neighbors
from skmde.preprocessing.graphs.adjacency import as_adjacency
from skmde.preprocessing.graphs.near_nodes import NearNodes

N = 120


def random_graph(weighted, seed=0):
    A = random_sparse((N, N), 0.02, seed)
    A = sp.csr_array(A.maximum(A.T))
    if not weighted:
        A.data[:] = 0.7
    return A


def all_paths(A):
    D = dijkstra(as_adjacency(A)[0])
    np.fill_diagonal(D, np.inf)
    return D


GRAPHS = pytest.mark.parametrize("weighted", [True, False])


@GRAPHS
@pytest.mark.parametrize("k", [1, 2, 7, N - 1])
def test_they_are_the_first_of_all_paths(weighted, k):
    A = random_graph(weighted)
    D = all_paths(A)
    indices, distances = path_neighbors(A, k, random_state=0)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :k], rtol=1e-12)
    there = indices >= 0
    assert (there == np.isfinite(distances)).all()
    of_indices = np.take_along_axis(D, np.where(there, indices, 0), axis=1)
    np.testing.assert_allclose(of_indices[there], distances[there], rtol=1e-12)
    assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in indices)


@GRAPHS
def test_limits_on_the_length(weighted):
    A = random_graph(weighted)
    D = all_paths(A)
    limit = float(np.median(D[np.isfinite(D)]))
    each = limit * np.random.default_rng(1).uniform(0.2, 1.2, N)
    for most in (limit, each):
        near = np.where(np.sort(D, axis=1)[:, :5] <= np.reshape(most, (-1, 1)), 1.0, np.nan)
        _, distances = path_neighbors(A, 5, max_distance=most, random_state=0)
        np.testing.assert_array_equal(np.isfinite(distances), np.isfinite(near))
        every = NearNodes(as_adjacency(A)[0], 0).of_nodes(None, most)
        assert every.nnz == (np.reshape(most, (-1, 1)) >= D).sum()


@GRAPHS
def test_a_node_outside_of_the_graph_finds_what_it_would_find_inside(weighted):
    A = random_graph(weighted)
    graph, own = as_adjacency(A)[0], np.arange(N)
    near = NearNodes(graph, 0)
    inside = near.of_nodes(4)
    outside = near.of_rows(graph, 4, skipped=own, owners=own.astype(np.uint64))
    assert (inside != outside).nnz == 0


def test_paths_do_not_lead_through_a_node_that_is_left_out():
    chain = as_adjacency(np.diag(np.ones(4), 1))[0]
    rows = sp.csr_array(([1.0, 1.0], [1, 3], [0, 2]), shape=(1, 5))
    owners = np.zeros(1, np.uint64)
    whole = NearNodes(chain, 0).of_rows(rows, 5, owners=owners).toarray()
    assert whole.tolist() == [[2, 1, 2, 1, 2]]
    part = NearNodes(chain, 0).of_rows(rows, 5, skipped=np.array([1]), owners=owners)
    assert part.toarray().tolist() == [[0, 0, 2, 1, 2]]


def test_edges_of_length_0():
    A = sp.csr_array(([0.0, 0.0, 1.0], ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
    indices, distances = path_neighbors(A, 3)
    assert indices.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert distances.tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 1, 1]]


def test_ties_are_broken_evenly_and_by_seed():
    n = 400
    star = sp.csr_array((np.ones(n - 1), (np.zeros(n - 1, int), np.arange(1, n))), shape=(n, n))
    indices, _ = path_neighbors(star, 5, random_state=0)
    chosen = np.bincount(indices[1:].ravel(), minlength=n)
    assert chosen[0] == n - 1 and chosen[1:].max() < 20  # 4 on average
    assert chosen[1:].mean() == pytest.approx(4.0, abs=0.1)
    for jobs in (1, 2):
        np.testing.assert_array_equal(
            path_neighbors(star, 5, random_state=0, n_jobs=jobs)[0], indices
        )
    assert (path_neighbors(star, 5, random_state=1)[0] != indices).any()
