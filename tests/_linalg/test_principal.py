"""Principal components as a starting point."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import torch
from sklearn.decomposition import PCA

from skmde._linalg.principal import principal_scores
from skmde.estimators.starts.neighbors import pca_start

RNG = np.random.default_rng(0)


def data(n, d):
    """Correlated columns of clearly different variances, far from the origin."""
    spectrum = 3.0 ** -np.arange(d)
    return (RNG.standard_normal((n, d)) * spectrum) @ np.linalg.qr(RNG.standard_normal((d, d)))[
        0
    ] + 9


@pytest.mark.parametrize("shape", [(100, 5), (20, 200), (300, 90), (2, 1), (3, 7), (5000, 12)])
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_those_of_scikit_learn(shape, sparse):
    X = data(*shape)
    m = min(2, *shape)
    scores = principal_scores(sp.csr_array(X) if sparse else X, m, np.random.default_rng(0))
    expected = PCA(m).fit_transform(X)
    expected *= np.linalg.norm(scores) / np.linalg.norm(expected)
    expected *= np.sign((scores * expected).sum(axis=0))
    np.testing.assert_allclose(scores, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("shape", [(300, 5), (300, 90), (40, 200)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_of_a_device_are_those_of_the_cpu(monkeypatch, shape, dtype):
    X = data(*shape).astype(dtype)
    expected = principal_scores(X, 2, np.random.default_rng(0))
    monkeypatch.setattr("skmde._linalg.principal.is_cpu", lambda device: False)
    monkeypatch.setattr("skmde._linalg.principal._DEVICE_ENTRIES", 100 * shape[1])
    scores = principal_scores(X, 2, np.random.default_rng(0), torch.device("cpu"))
    np.testing.assert_allclose(scores, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["f8", ">f8", ">i4", "u4", "g"])
def test_a_device_takes_every_dtype_and_memory_that_is_only_read(monkeypatch, dtype):
    X = np.round(10 * data(100, 5)).astype(dtype)
    X = (X - X.min()).astype(dtype)
    X.flags.writeable = False
    expected = principal_scores(X, 2, np.random.default_rng(0))
    monkeypatch.setattr("skmde._linalg.principal.is_cpu", lambda device: False)
    scores = principal_scores(X, 2, np.random.default_rng(0), torch.device("cpu"))
    np.testing.assert_allclose(scores, expected, atol=1e-9 * np.abs(expected).max())


def test_many_rows_are_sampled(monkeypatch):
    X = data(3000, 80)
    expected = PCA(2).fit_transform(X)
    monkeypatch.setattr("skmde._linalg.principal._MAX_ENTRIES", 80 * 1000)
    scores = principal_scores(X, 2, np.random.default_rng(0))
    for k in range(2):
        assert abs(np.corrcoef(scores[:, k], expected[:, k])[0, 1]) > 0.99


def test_start_has_unit_size_and_no_empty_column():
    X = np.outer(np.arange(50.0), [1.0, 2.0, -1.0])  # of rank 1
    start = pca_start(X, 3, np.random.RandomState(0))
    assert start.dtype == np.float32
    assert start.shape == (50, 3)
    assert np.all(np.ptp(start, axis=0) > 0)
    assert np.ptp(start[:, 0]) > 50 * np.ptp(start[:, 1:], axis=0).max() / 3
    np.testing.assert_array_equal(start, pca_start(X, 3, np.random.RandomState(0)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(5, 3), (6, 90), (90, 6), (90, 90)])
def test_equal_rows_have_scores_of_zero(shape, sparse, monkeypatch):
    monkeypatch.setattr("skmde._linalg.principal._SMALL", 8)
    X = np.zeros(shape)
    scores = principal_scores(sp.csr_array(X) if sparse else X, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(scores, np.zeros((shape[0], 2)))
    assert np.isfinite(pca_start(X, 2, np.random.RandomState(0))).all()


def test_more_components_than_features():
    start = pca_start(data(30, 2), 5, np.random.RandomState(0))
    assert start.shape == (30, 5)
    assert np.isfinite(start).all()


def test_global_output_format_does_not_reach_here():
    X = data(30, 4)
    expected = pca_start(X, 2, np.random.RandomState(0))
    with sklearn.config_context(transform_output="pandas"):
        np.testing.assert_array_equal(pca_start(X, 2, np.random.RandomState(0)), expected)
