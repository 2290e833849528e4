"""Spectral embeddings against dense eigendecompositions."""

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from core_problems import random_graph

from skmde._linalg.signs import fix_signs
from skmde.core.spectral import laplacian as laplacian_module
from skmde.core.spectral.laplacian import laplacian_embedding
from skmde.preprocessing import nearest_neighbors, neighbor_graph


def adjacency(edges, n, weights=None):
    w = np.ones(len(edges)) if weights is None else weights
    A = sp.coo_array((w, (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    return A + A.T


def laplacian(A):
    A = A.toarray()
    return np.diag(A.sum(axis=1)) - A


def bottom_eigenvectors(A, m):
    """Values and vectors of the Laplacian beyond the constant one, in columns of norm sqrt(n)."""
    values, vectors = np.linalg.eigh(laplacian(A))
    return values[1 : m + 1], np.sqrt(A.shape[0]) * vectors[:, 1 : m + 1]


def angle(X, Y):
    """Sine of the largest angle between the spaces that two standardized matrices span."""
    cosines = np.linalg.svd(X.astype(np.float64).T @ Y / len(X), compute_uv=False)
    return np.sqrt(max(0.0, 1 - cosines.min() ** 2))


def check_standardized(X):
    n, m = X.shape
    np.testing.assert_allclose(X.T.astype(np.float64) @ X / n, np.eye(m), atol=1e-5)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-5)


# 30 items are decomposed as a whole, 200 go through LOBPCG, 45 components of 300 through L-BFGS.
SHAPES = [(30, 1), (30, 3), (200, 1), (200, 2), (200, 5), (200, 22), (300, 45)]


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_subspace_is_that_of_the_bottom_eigenvectors(n, m, weighted):
    rng = np.random.default_rng(m)
    edges = random_graph(rng, n, 8 * n)
    A = adjacency(edges, n, rng.gamma(2.0, size=len(edges)) if weighted else None)
    X = laplacian_embedding(A, m)
    assert X.shape == (n, m) and X.dtype == np.float32
    check_standardized(X)
    values, Y = bottom_eigenvectors(A, m)
    rayleigh = np.diag(X.T @ laplacian(A) @ X) / n
    np.testing.assert_allclose(rayleigh, values, rtol=0.02)
    assert rayleigh.sum() <= (1 + 2e-3) * values.sum()
    if n <= 50:
        np.testing.assert_allclose(X, fix_signs(Y), atol=1e-4)


def test_columns_are_eigenvectors_in_order_of_their_eigenvalues():
    # A grid of 5 by 23: its eigenvalues are known and far apart.
    graph = networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(5, 23))
    A = adjacency(np.array(graph.edges), 115)
    X = laplacian_embedding(A, 3).astype(np.float64)
    rayleigh = np.diag(X.T @ laplacian(A) @ X) / 115
    want = [2 - 2 * np.cos(k * np.pi / 23) for k in (1, 2, 3)]
    np.testing.assert_allclose(rayleigh, want, rtol=2e-3)
    assert angle(X, bottom_eigenvectors(A, 3)[1]) < 0.02
    np.testing.assert_allclose(np.abs(X), np.abs(bottom_eigenvectors(A, 3)[1]), atol=0.05)


@pytest.mark.parametrize("n", [40, 300])
def test_a_path_keeps_its_order(n):
    rng = np.random.default_rng(0)
    item = rng.permutation(n)
    path = adjacency(np.stack([item[:-1], item[1:]], axis=1), n)
    X = laplacian_embedding(path, 2, max_iter=1000)
    steps = np.diff(X[item, 0])
    assert (steps > 0).all() or (steps < 0).all()


def test_vectors_on_a_few_vertices_of_low_degree_are_found():
    # A clique with two long tails: the bottom eigenvectors live on the tails.
    clique = [(i, j) for i in range(60) for j in range(i + 1, 60)]
    tails = [(0, 60), *((k, k + 1) for k in range(60, 79))]
    tails += [(1, 80), *((k, k + 1) for k in range(80, 99))]
    A = adjacency(np.array(clique + tails), 100)
    X = laplacian_embedding(A, 2)
    assert angle(X, bottom_eigenvectors(A, 2)[1]) < 0.02


def test_large_sparse_graphs_come_close_to_the_optimum():
    rng = np.random.default_rng(2)
    n = 800
    A = adjacency(random_graph(rng, n, 6000), n)
    X = laplacian_embedding(A, 2)
    values, _ = bottom_eigenvectors(A, 2)
    assert np.trace(X.T @ laplacian(A) @ X) / n <= 1.002 * values.sum()
    check_standardized(X)


@pytest.mark.parametrize(("n", "m"), [(40, 2), (40_000, 2), (500, 22), (500, 45)])
def test_bits_do_not_depend_on_threads_and_no_global_state_is_touched(n, m):
    rng = np.random.default_rng(3)
    A = adjacency(random_graph(rng, n, 5 * n), n)
    np.random.seed(0)
    state = np.random.get_state()[1].copy()
    runs = [laplacian_embedding(A, m, max_iter=6, n_threads=k) for k in (1, 1, 2, 4)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])
    np.testing.assert_array_equal(np.random.get_state()[1], state)


@pytest.mark.parametrize("n", [20, 120])
def test_loops_of_an_adjacency_matrix_do_not_count(n):
    rng = np.random.default_rng(5)
    A = adjacency(random_graph(rng, n, 5 * n), n)
    looped = sp.csr_array(A + sp.diags_array(rng.gamma(2.0, size=n)))
    before = looped.copy()
    np.testing.assert_allclose(laplacian_embedding(looped, 2), laplacian_embedding(A, 2), atol=1e-3)
    assert (looped != before).nnz == 0


def test_fewer_items_than_columns_leave_columns_of_zeros():
    A = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(laplacian_embedding(A, 3), [[1, 0, 0], [-1, 0, 0]], atol=1e-6)
    np.testing.assert_array_equal(laplacian_embedding(sp.csr_array((1, 1)), 2), [[0, 0]])


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_kinds_of_sparse_matrices_give_the_same(kind):
    rng = np.random.default_rng(6)
    A = adjacency(random_graph(rng, 90, 400), 90)
    np.testing.assert_allclose(
        laplacian_embedding(kind(A), 2), laplacian_embedding(A, 2), atol=1e-6
    )


@pytest.mark.parametrize("m", [1, 2, 5])
def test_a_device_computes_the_embedding_of_the_cpu(monkeypatch, m):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3)) * [3, 2, 1]
    graph = neighbor_graph(*nearest_neighbors(X, 10)[:2])
    expected = laplacian_embedding(graph, m, max_iter=200)
    monkeypatch.setattr(laplacian_module, "is_cpu", lambda device: False)
    runs = [
        laplacian_embedding(graph, m, max_iter=200, device=torch.device("cpu")) for _ in range(2)
    ]
    np.testing.assert_array_equal(*runs)
    np.testing.assert_allclose(runs[0], expected, atol=1e-4)
