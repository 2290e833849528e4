"""Metrics, their parameters and the forms of rows that all estimators accept."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)

CELLS = "skmde.preprocessing.neighbors.index._SMALL_DENSE"
RNG = np.random.default_rng(0)
X = RNG.random((60, 30)) * (RNG.random((60, 30)) < 0.3)
X[:, 0] += 0.1
HOLES = np.where(RNG.random(X.shape) < 0.03, np.nan, X)
ANCHORS = np.full((60, 2), np.nan)
ANCHORS[:5] = RNG.standard_normal((5, 2))
LABELS = np.full(60, -1)
LABELS[:10] = [0, 1] * 5

BY_DISTANCES = {
    "neighbors": (PreserveNeighbors(max_iter=20, random_state=0), None),
    "distances": (PreserveDistances(max_iter=20, random_state=0), None),
    "laplacian": (QuadraticMDE(random_state=0), None),
    "isomap": (QuadraticMDE(weights="isomap", random_state=0), None),
    "anchored": (AnchoredMDE(max_iter=20, random_state=0), ANCHORS),
    "labels": (AnchoredClassifier(), LABELS),
}
BY_ROWS = {
    "pca": (QuadraticMDE(weights="pca", random_state=0), None),
    "kernel_pca": (QuadraticMDE(weights="kernel_pca", random_state=0), None),
    "lle": (QuadraticMDE(weights="lle", random_state=0), None),
}
ALL = {**BY_DISTANCES, **BY_ROWS}


def placed(estimator, y, rows, unseen, **parameters):
    fitted = type(estimator)(**{**estimator.get_params(deep=False), **parameters}).fit(rows, y)
    place = fitted.predict_proba if isinstance(fitted, AnchoredClassifier) else fitted.transform
    return place(unseen)


@pytest.mark.parametrize("name", ALL)
def test_wide_sparse_rows_then_dense_ones(name, monkeypatch):
    estimator, y = ALL[name]
    unseen = X[:4] + 0.05
    expected = placed(estimator, y, X, unseen)
    for cells in (1 << 25, 0):
        monkeypatch.setattr(CELLS, cells)
        for rows in (np.asarray, sp.csr_array):
            for form in (np.asarray, sp.csr_array, sp.csc_matrix):
                found = placed(estimator, y, rows(X), form(unseen))
                np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", BY_DISTANCES)
def test_rows_with_missing_values_as_their_distances(name):
    estimator, y = BY_DISTANCES[name]
    table = pairwise_distances(HOLES, metric="nan_euclidean")
    unseen = HOLES[:4] + 0.05
    to_table = pairwise_distances(unseen, HOLES, metric="nan_euclidean")
    found = placed(estimator, y, HOLES, unseen, metric="nan_euclidean")
    expected = placed(estimator, y, table, to_table, metric="precomputed")
    if name == "neighbors":  # the signs and the pieces of its start are another's
        assert np.isfinite(found).all() and found.shape == expected.shape
    else:
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", BY_ROWS)
def test_rows_with_missing_values_are_refused_where_entries_count(name):
    estimator, y = BY_ROWS[name]
    with pytest.raises(ValueError, match="NaN"):
        placed(estimator, y, HOLES, HOLES, metric="nan_euclidean")


def test_principal_components_of_missing_values_are_no_start():
    with pytest.raises(ValueError, match="init='pca' needs rows without missing values"):
        PreserveNeighbors(metric="nan_euclidean", init="pca").fit(HOLES)


@pytest.mark.parametrize("name", BY_DISTANCES)
def test_parameters_of_precomputed_distances_are_refused(name):
    estimator, y = BY_DISTANCES[name]
    table = pairwise_distances(X)
    with pytest.raises(ValueError, match=r"metric='precomputed' takes no parameters.*'p'"):
        placed(estimator, y, table, table, metric="precomputed", metric_params={"p": 3})


def test_parameters_of_graphs_are_refused():
    ring = sp.csr_array(np.roll(np.eye(6), 1, axis=1))
    with pytest.raises(ValueError, match=r"metric='graph' takes no parameters.*'p'"):
        PreserveDistances(metric="graph", metric_params={"p": 3}).fit(ring + ring.T)


@pytest.mark.parametrize("name", ["laplacian", "isomap", "labels"])
def test_metrics_that_fit_the_data_are_euclidean_distances_of_mapped_rows(name):
    estimator, y = BY_DISTANCES[name]
    rows = RNG.standard_normal((60, 5)) * [1, 2, 3, 1, 1]
    unseen = rows[:4] + 0.1
    deviations = rows.std(axis=0, ddof=1)
    found = placed(estimator, y, rows, unseen, metric="seuclidean")
    expected = placed(estimator, y, rows / deviations, unseen / deviations)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", BY_DISTANCES)
@pytest.mark.filterwarnings("ignore::UserWarning")  # the groups are not connected
def test_rows_that_share_nothing_have_a_finite_place(name):
    estimator, y = BY_DISTANCES[name]
    rows = np.zeros((60, 12))
    rows[:30, :6] = RNG.random((30, 6)) < 0.6
    rows[30:59, 6:] = RNG.random((29, 6)) < 0.6
    unseen = np.zeros((2, 12))
    unseen[1, 3] = 1.0
    found = placed(estimator, y, rows, unseen, metric="jaccard")
    assert np.isfinite(found).all()
