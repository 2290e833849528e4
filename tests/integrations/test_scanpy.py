"""Embeddings into scanpy's ``obsm``, from its components, its genes and its neighbours."""

import anndata
import numpy as np
import pytest
import scanpy as sc
import scipy.sparse as sp
from matplotlib import pyplot as plt

from skmde import PreserveDistances, PreserveNeighbors, mde
from skmde.metrics import knn_accuracy


@pytest.fixture
def cells():
    """Seven hundred blood cells that come with scanpy, with components, neighbours and a UMAP."""
    return sc.datasets.pbmc68k_reduced()


def kinds(cells):
    return cells.obs["bulk_labels"].cat.codes.to_numpy()


def test_components_into_obsm(cells):
    cells.obsm["X_mde"] = PreserveNeighbors(random_state=0).fit_transform(cells.obsm["X_pca"])
    assert cells.obsm["X_mde"].dtype == np.float32
    ours, theirs = (knn_accuracy(cells.obsm[key], kinds(cells)) for key in ("X_mde", "X_umap"))
    assert ours > theirs - 0.05


def test_the_helper_of_scvi_tools_into_obsm(cells):
    cells.obsm["X_mde"] = mde(cells.obsm["X_pca"], seed=0)
    np.testing.assert_allclose(np.cov(cells.obsm["X_mde"].T, bias=True), np.eye(2), atol=1e-4)
    assert knn_accuracy(cells.obsm["X_mde"], kinds(cells)) > 0.7


def test_distances_in_obsp_are_the_neighbours(cells):
    sc.pp.neighbors(cells, n_neighbors=15, use_rep="X_pca")
    # scanpy counts the cell itself
    given = PreserveNeighbors(metric="precomputed", random_state=0).fit(cells.obsp["distances"])
    found = PreserveNeighbors(n_neighbors=14, init="quadratic", random_state=0)
    found.fit(cells.obsm["X_pca"])
    assert abs(given.graph_ - found.graph_).max() == 0
    np.testing.assert_allclose(given.embedding_, found.embedding_, atol=1e-3)


def test_distances_that_came_with_the_data(cells):
    given = PreserveNeighbors(metric="precomputed", random_state=0)
    cells.obsm["X_mde"] = given.fit_transform(cells.obsp["distances"])
    assert knn_accuracy(cells.obsm["X_mde"], kinds(cells)) > 0.7
    # as the lengths of a graph's edges, between whose nodes paths are short or long
    graph = PreserveDistances(metric="graph", random_state=0)
    assert np.isfinite(graph.fit_transform(cells.obsp["distances"])).all()


def test_views_of_cells(cells):
    train, unseen = cells[:600], cells[600:]
    assert unseen.is_view
    estimator = PreserveNeighbors(random_state=0).fit(train.obsm["X_pca"])
    coordinates = estimator.transform(unseen.obsm["X_pca"])
    assert type(coordinates) is np.ndarray
    np.testing.assert_array_equal(coordinates, estimator.transform(cells.obsm["X_pca"][600:]))


def test_genes_dense_sparse_and_as_a_frame(cells):
    dense = PreserveNeighbors(random_state=0).fit_transform(cells.X)
    cells.layers["sparse"] = sp.csr_matrix(cells.X)
    sparse = PreserveNeighbors(random_state=0).fit_transform(cells.layers["sparse"])
    np.testing.assert_allclose(sparse, dense, atol=1e-3)
    assert sp.issparse(cells.raw.X)
    assert PreserveNeighbors(random_state=0).fit_transform(cells.raw.X).shape == (700, 2)

    estimator = PreserveNeighbors(random_state=0).set_output(transform="pandas")
    cells.obsm["X_mde"] = estimator.fit_transform(cells.to_df())
    assert cells.obsm["X_mde"].index.equals(cells.obs_names)
    assert estimator.feature_names_in_.tolist() == cells.var_names.tolist()


def test_a_file_keeps_the_embedding(cells, tmp_path):
    cells.obsm["X_mde"] = mde(cells.obsm["X_pca"], seed=0)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    read = anndata.read_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(read.obsm["X_mde"], cells.obsm["X_mde"])


def test_scanpy_draws_the_embedding(cells):
    cells.obsm["X_mde"] = mde(cells.obsm["X_pca"], seed=0)
    _, ax = plt.subplots()
    sc.pl.embedding(cells, basis="X_mde", color="bulk_labels", ax=ax, show=False)
    drawn = np.concatenate([np.asarray(part.get_offsets()) for part in ax.collections])
    assert np.isin(cells.obsm["X_mde"][:, 0], drawn[:, 0].astype(np.float32)).all()
